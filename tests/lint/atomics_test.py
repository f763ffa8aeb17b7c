#!/usr/bin/python3
"""Holds docs/threads.md against the source: every atomic, every fence and every lock of the product stands in its
table, and nothing stands there that is gone.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import collections
import re

import tree

PAGE = "docs/threads.md"
FOLDERS = ("base", "include", "proto", "server", "client")
RELAXED = "### Atomics that order nothing"  # name, file, and why that is enough

TYPE_OF_ATOMIC = r"(?:_Atomic\s*\([^;{}]*?\)|_Atomic\s+(?:(?:struct|enum|unsigned|long)\s+)*\w+|\batomic_(?:bool|flag|\w*(?:char|short|int|long|size_t|ptr_t|\d+_t)))"
TYPE_OF_LOCK = r"\b(?:pthread_(?:mutex|rwlock|spinlock|cond)_t|pthread_once_t|sem_t|mtx_t|cnd_t|once_flag)"
DECLARED = r"(?<!\()\s+(?!\()([^;(){}]+);"
FENCE = re.compile(r"\batomic_thread_fence\s*\(")
FUNCTION = re.compile(r"^[A-Za-z_][^;={}#]*?(\w+)\([^;{}]*\)\s*\n\{", re.M)


def named_types(sources):
    """Names that the tree gives to atomic types."""
    for source in sources:
        yield from re.findall(r"\btypedef\s+" + TYPE_OF_ATOMIC + r"\s+(\w+)\s*;", source)


def declared(kind, source):
    """Names of the variables and fields of a type: `T a, *b[2] = …;` gives a and b."""
    for match in re.finditer(kind + DECLARED, source, flags=re.M):
        line = source[source.rfind("\n", 0, match.start() + 1) + 1 :].lstrip()
        if line.startswith(("extern", "typedef")):
            continue
        for declarator in match.group(1).split(","):
            name = re.search(r"\w+", declarator.split("=")[0])
            if name:
                yield name.group()


def fences(source):
    """The function around each fence."""
    starts = [(m.start(), m.group(1)) for m in FUNCTION.finditer(source)]
    for match in FENCE.finditer(source):
        yield next((name for at, name in reversed(starts) if at < match.start()), "?")


def in_source(top):
    found = {"Atomics": [], "Fences": [], "Locks": []}
    sources = {path: tree.code(tree.text(top, path)) for path in tree.files(top, FOLDERS)}
    names = [rf"^\s*(?:alignas\([^)]*\)\s*)?{n}\b" for n in named_types(sources.values())]
    atomic = "(?:" + "|".join([TYPE_OF_ATOMIC, *names]) + ")"
    for path, source in sources.items():
        found["Atomics"] += [(n, path) for n in declared(atomic, source)]
        found["Fences"] += [(n, path) for n in fences(source)]
        found["Locks"] += [(n, path) for n in declared(TYPE_OF_LOCK, source)]
    return found


def in_page(page):
    """Heading -> [(name, file)]; a row may name several of one file, a name may carry its structure before a dot.
    Every cell must say something."""
    found, bad, heading, width = {"Atomics": [], "Fences": [], "Locks": []}, [], None, 5
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("## "):
            heading = line[3:].strip()
        if line.startswith("#"):
            width = 3 if line.strip() == RELAXED and heading == "Atomics" else 5
        if heading not in found or not re.match(r"\|\s*`", line):
            continue
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if "" in cells or len(cells) != width:
            bad.append(f"{PAGE}:{number}: a row has {width} cells here, and each says something")
        for name in re.findall(r"`([^`]+)`", cells[0]):
            found[heading].append((name.split(".")[-1], cells[1].strip("`")))
    return found, bad


def differences(what, source, page):
    there, here = collections.Counter(source), collections.Counter(page)
    for (name, path), n in sorted((there - here).items()):
        yield f"{path}: '{name}' is missing {n} time(s) in {PAGE}, section {what}"
    for (name, path), n in sorted((here - there).items()):
        yield f"{PAGE}: section {what} names '{name}' in {path} {n} time(s) too often"


def findings(top):
    source = in_source(top)
    page, found = in_page(tree.text(top, PAGE))
    for what in source:
        found += differences(what, source[what], page[what])
    return found


SOURCE = """
typedef _Atomic uint64_t counter;
struct a {
    alignas(64) counter rounds, steps;
    alignas(64) _Atomic uint32_t tail, head; /* _Atomic int comment; */
    _Atomic(struct ao *) next;
    atomic_bool stop;
    pthread_mutex_t lock;
};
extern _Atomic int elsewhere;
static int f(_Atomic uint32_t *p)
{
    atomic_thread_fence(memory_order_seq_cst);
    return 0;
}
"""
PAGE_OF_SOURCE = """
## Atomics
| name | file | orders | pairs with | why not weaker |
| --- | --- | --- | --- | --- |
| `a.tail` | `server/a.c` | x | x | x |
| `a.head` | `server/a.c` | x | x | x |
| `a.next` | `server/a.c` | x | x | x |
| `a.stop` | `server/a.c` | x | x | x |
### Atomics that order nothing
| name | file | why that is enough |
| --- | --- | --- |
| `a.rounds`, `steps` | `server/a.c` | y |
## Fences
| `f` | `server/a.c` | x | x | x |
## Locks
| `a.lock` | `server/a.c` | x | x | x |
"""


def found_in(source, page):
    return tree.planted(findings, {"server/a.c": source, PAGE: page})


def prove():
    assert not found_in(SOURCE, PAGE_OF_SOURCE), found_in(SOURCE, PAGE_OF_SOURCE)
    for row in re.findall(r"^\| `.*\n", PAGE_OF_SOURCE, flags=re.M):
        assert found_in(SOURCE, PAGE_OF_SOURCE.replace(row, "")), f"passes without {row}"
        assert found_in(SOURCE, PAGE_OF_SOURCE.replace(row, row + row)), f"passes with {row} twice"
    assert found_in(SOURCE, PAGE_OF_SOURCE.replace("| x | x | x |", "| x |  | x |", 1))
    for cells in ("|  |", "| y | x | x |"):  # no reason; what orders something stands in the table above
        assert found_in(SOURCE, PAGE_OF_SOURCE.replace("| y |", cells)), cells
    assert found_in(SOURCE, PAGE_OF_SOURCE.replace("| x | x | x |", "| y |", 1))
    assert found_in(SOURCE.replace("atomic_bool stop;", ""), PAGE_OF_SOURCE)


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root()))
