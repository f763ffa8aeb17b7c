#!/usr/bin/python3
"""Holds docs/threads.md against the source: every atomic, every fence and every lock of the product stands in its
list, and nothing stands there that is gone.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import collections
import re

import tree

PAGE = "docs/threads.md"
FOLDERS = ("base", "include", "proto", "server", "client")
BARE = ("### Reference counts", "### Counters", "### Atomics that order nothing")  # the section, or the declaration, says why
ORDERED = ("### Other orders", "## Fences")  # what it orders; pairs with what. Else what
NEEDS = {**dict.fromkeys(BARE, "has no text"), **dict.fromkeys(ORDERED, "says: …; pairs with …. Else …")}
ITEM = re.compile(r"- (`[^`]+`(?:, `[^`]+`)*) \(`([^`]+)`\)(?:: (\S.*))?$")

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


def is_said(section, text):
    if section in BARE:
        return text is None
    return bool(text) and (section not in ORDERED or bool(re.match(r".+; pairs with .+\. Else .+", text)))


def in_page(page):
    """Heading -> [(name, file)]; an item may name several of one file, a name may carry its structure before a dot."""
    found, bad, heading, section = {"Atomics": [], "Fences": [], "Locks": []}, [], None, None
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("#"):
            section = line.strip()
        if line.startswith("## "):
            heading = line[3:].strip()
        if heading not in found or not line.startswith(("- ", "|")):
            continue
        item = ITEM.match(line)
        if not item:
            bad.append(f"{PAGE}:{number}: an item is: - `name`, `name` (`file`): text")
            continue
        names, path, text = item.groups()
        if not is_said(section, text):
            bad.append(f"{PAGE}:{number}: in this section an item {NEEDS.get(section, 'has a text')}")
        found[heading] += [(name.split(".")[-1], path) for name in re.findall(r"`([^`]+)`", names)]
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
ORDER = "x; pairs with x. Else x"
PAGE_OF_SOURCE = f"""
## Atomics
### Publications
- `a.tail` (`server/a.c`): y
- `a.next` (`server/a.c`): y
### Reference counts
- `a.head` (`server/a.c`)
### Other orders
- `a.stop` (`server/a.c`): {ORDER}
### Counters
- `a.rounds` (`server/a.c`)
### Atomics that order nothing
- `a.steps` (`server/a.c`)
## Fences
- `f` (`server/a.c`): {ORDER}
## Locks
- `a.lock` (`server/a.c`): y
"""


def found_in(source, page):
    return tree.planted(findings, {"server/a.c": source, PAGE: page})


def prove():
    assert not found_in(SOURCE, PAGE_OF_SOURCE), found_in(SOURCE, PAGE_OF_SOURCE)
    for row in re.findall(r"^- `.*\n", PAGE_OF_SOURCE, flags=re.M):
        assert found_in(SOURCE, PAGE_OF_SOURCE.replace(row, "")), f"passes without {row}"
        assert found_in(SOURCE, PAGE_OF_SOURCE.replace(row, row + row)), f"passes with {row} twice"
        other = row.replace("\n", ": y\n") if row.endswith("(`server/a.c`)\n") else re.sub(r": .*", "", row)
        assert found_in(SOURCE, PAGE_OF_SOURCE.replace(row, other)), f"passes with {other}"
        assert found_in(SOURCE, PAGE_OF_SOURCE.replace(row, row.replace("- ", "| "))), f"passes with a table's {row}"
    for order in ("x", "x; pairs with x.", "x. Else x"):
        assert found_in(SOURCE, PAGE_OF_SOURCE.replace(ORDER, order, 1)), order
    assert found_in(SOURCE.replace("atomic_bool stop;", ""), PAGE_OF_SOURCE)


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root()))
