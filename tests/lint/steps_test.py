#!/usr/bin/python3
"""The models of tests/model are of the code: each names its steps, and here they are compared with the C.

A model says at its head which function takes which steps, in order:

     * step: S1 server/runtime/threads/waker.c announce  store relaxed
     * step: S3 server/runtime/idle.c block  call called

What is named of a function must be all that its text does with atomics, in that order and with those memory orders; of calls,
those that are named, in order among them.  A load that ends in `own` reads what only its thread writes, or is a short cut:
no model needs it.  A model without tso.pml is of no atomics, and need not name steps.  Of a function that stands there twice, for #ifdef, the last counts.  And each other
step but a call stands in the model's own text as `/* S1 */` behind a line that does the same (STORE, FENCE, LOAD, exchange,
fetch_or, compare_exchange), in each proctype or inline in the order of the head.

The memory orders matter most where no stress can see them: this processor shows a load that overtakes a store, and no other
order.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import glob
import os
import re

import tree

STEP = re.compile(r"^ \* step: (\w+) (\S+) (\w+)  (\w+)(?: ([\w ]+))?$", re.M)
ATOMIC = re.compile(r"\batomic_(thread_fence|store|load|exchange|fetch_\w+?|compare_exchange)(?:_weak|_strong)?(?:_explicit)?\s*\(")
MARK = re.compile(r"/\* ([A-Z]\d*) \*/")
SAME = {"store": r"\bSTORE\(", "fence": r"\bFENCE\(", "load": r"\bLOAD\(|\bFREE\(|\bWAITING\(", "exchange": r"\bexchange\(",
        "fetch_or": r"\bfetch_or\(", "compare_exchange": r"\bcompare_exchange\("}


class Step:
    def __init__(self, match):
        self.name, self.path, self.function, self.kind, rest = match.groups()
        self.rest = rest.removesuffix(" own")
        self.in_model = self.kind != "call" and self.rest == rest

    def does(self):
        return f"{self.kind} {self.rest}"


def function_text(source, name):
    """The last definition; None: there is none."""
    found = None
    for match in re.finditer(rf"^(?![ \t#}}/*])[^\n;=]*\b{name}\(", source, re.M):
        brace, semicolon = source.find("\n{", match.start()), source.find(";", match.start())
        if brace >= 0 and (semicolon < 0 or brace < semicolon):
            found = source[brace : source.index("\n}", brace)]
    return found


def arguments(text, at):
    """What stands between the bracket before `at` and the one that closes it."""
    depth, end = 1, at
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[at : end - 1]


def done_by(text, calls):
    """What a function does: ["store relaxed", "fence seq_cst", "call called", ...]"""
    found = []
    for match in ATOMIC.finditer(text):
        kind = "fence" if match[1] == "thread_fence" else match[1]
        orders = re.findall(r"memory_order_(\w+)", arguments(text, match.end()))
        found.append((match.start(), " ".join([kind, *(orders or ["seq_cst"])])))
    for call in calls:
        found += [(m.start(), f"call {call}") for m in re.finditer(rf"(?<!\w){call}\(", text)]
    return [what for _, what in sorted(found)]


def compare_with_code(top, model, steps):
    functions = {}
    for step in steps:
        functions.setdefault((step.path, step.function), []).append(step)
    for (path, name), named in functions.items():
        whole = os.path.join(top, path)
        text = function_text(tree.code(tree.text(top, path)), name) if os.path.exists(whole) else None
        if text is None:
            yield f"{model}: there is no {name}() in {path}: name the function that takes step {named[0].name} now"
            continue
        does = done_by(text, {s.rest for s in named if s.kind == "call"})
        says = [s.does() for s in named]
        if does != says:
            yield (f"{model}: {name}() of {path} does [{', '.join(does)}], and the model says [{', '.join(says)}]: "
                   "if the code is right, change the model, its head, and see that it still holds (tests/model/run.sh)")


def compare_with_model(model, source, steps):
    order = [s.name for s in steps]
    by_name = {s.name: s for s in steps}
    marked = set()
    last = -1
    for number, line in enumerate(source.splitlines(), 1):
        if re.match(r"(proctype|inline|init)\b", line):
            last = -1
        for name in MARK.findall(line):
            if name not in by_name:
                yield f"{model}:{number}: step {name} is not named at the head"
                continue
            step = by_name[name]
            if not re.search(SAME.get(step.kind, "^$"), line):
                yield f"{model}:{number}: step {name} is a {step.kind} in the code, and is none here"
            if order.index(name) < last:
                yield f"{model}:{number}: step {name} comes too late: the code takes it before {order[last]}"
            last = order.index(name)
            marked.add(name)
    for step in steps:
        if step.in_model and step.name not in marked:
            yield f"{model}: step {step.name} stands at the head, and nowhere in the model"


def findings(top):
    for path in sorted(glob.glob(os.path.join(top, "tests/model/*.pml"))):
        model = os.path.relpath(path, top)
        source = tree.text(top, model)
        if os.path.basename(path) == "tso.pml":
            continue
        steps = [Step(m) for m in STEP.finditer(source)]
        if not steps and '#include "tso.pml"' in source:
            yield f"{model}: names no step of the code"
        yield from compare_with_code(top, model, steps)
        yield from compare_with_model(model, source, steps)


CODE = """static void give(struct w *w)
{
    atomic_store_explicit(&w->a, f(1), memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* atomic_load */
    if (look(w))
        g(w);
}
"""
MODEL = """/*
 * step: S1 base/a.c give  store relaxed
 * step: S2 base/a.c give  fence seq_cst
 * step: S3 base/a.c give  call look
 */
proctype p()
{
	STORE(0, A, 1); /* S1 */
	FENCE(0) /* S2 */
}
"""


def planted(code=CODE, model=MODEL):
    return tree.planted(findings, {"base/a.c": code, "tests/model/a.pml": model})


def test_ours():
    assert planted() == [], planted()
    assert "does [fence seq_cst, call look]" in planted(code=CODE.replace("    atomic_store", "    // "))[0]
    assert "store release" in planted(code=CODE.replace("relaxed", "release"))[0]
    assert "call look, fence" in planted(code=CODE.replace("memory_order_relaxed);", "memory_order_relaxed);\n    look(w);"))[0]
    assert "no take()" in planted(model=MODEL.replace("a.c give", "a.c take"))[0]
    assert "nowhere in the model" in planted(model=MODEL.replace(" /* S2 */", ""))[0]
    assert "is none here" in planted(model=MODEL.replace("FENCE(0)", "skip"))[0]
    assert "comes too late" in planted(model=MODEL.replace("1); /* S1 */", "1); /* S2 */").replace("FENCE(0) /* S2 */", "STORE(0, A, 1) /* S1 */"))[-1]
    assert "not named" in planted(model=MODEL.replace("/* S2 */", "/* S9 */"))[0]
    assert "names no step" in planted(model='#include "tso.pml"\nproctype p() { skip }\n')[0]
    assert planted(model="proctype p() { skip }\n") == []


test_ours()
tree.report(list(findings(tree.root())))
