#!/usr/bin/python3
"""Holds docs/states.md against the source: every list of states of the server stands there, each state in the
drawing and in the list of its section, in the order of the list, and no state that is gone.

Lists of states are X-macros NAME_STATES(X) and NAME_PHASES(X), and enums called x_state, x_phase or x_accepting.
First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import os
import re

import tree

PAGE = "docs/states.md"
FOLDERS = ("base", "include", "proto", "server")
ELSEWHERE = {"ergon_state"}  # of the client library, which is no part of the server

MACRO = re.compile(r"#\s*define\s+(\w+_(?:STATES|PHASES))\(X\)((?:[^\n]*\\\n)*[^\n]*)")
ENUM = re.compile(r"\benum\s+(\w+_(?:state|phase|accepting))\s*\{([^{}#]*)\}")


def without_prefix(names):
    """AO_STATE_ACTIVE, AO_STATE_FAULTED -> ACTIVE, FAULTED."""
    prefix = os.path.commonprefix(names)
    return [n[prefix.rfind("_") + 1 :] for n in names]


def lists(source):
    """(name of a list, its states in order)."""
    source = tree.code(source)
    for name, body in MACRO.findall(source):
        yield name, re.findall(r"\bX\((\w+),", body)
    for name, body in ENUM.findall(source):
        names = [n.split("=")[0].strip() for n in body.split(",") if n.strip()]
        if name not in ELSEWHERE:
            yield name, without_prefix(names)


def sections(page):
    """(name of a list, file, text of its section)."""
    for text in re.split(r"^## ", page, flags=re.M)[1:]:
        for name, path in re.findall(r"^States: `(\w+)` in `([^`]+)`", text, flags=re.M):
            yield name, path, text


def differences(name, states, path, text):
    drawing = " ".join(line for line in text.splitlines() if line.startswith("    "))
    rows = re.findall(r"^- `(\w+)`: ", text, flags=re.M)
    if rows != states:
        yield f"{PAGE}: the list of {name} has {rows}, {path} has {states}"
    for state in states:
        if not re.search(rf"\b{state}\b", drawing):
            yield f"{PAGE}: the drawing of {name} lacks {state}"


def findings(top):
    found, drawn = [], {(name, path): text for name, path, text in sections(tree.text(top, PAGE))}
    for path in tree.files(top, FOLDERS):
        for name, states in lists(tree.text(top, path)):
            text = drawn.pop((name, path), None)
            if text is None:
                found.append(f"{path}: {name} has no section in {PAGE}")
            else:
                found += differences(name, states, path, text)
    found += [f"{PAGE}: there is no {name} in {path}" for name, path in drawn]
    return found


SOURCE = """
/* X(NAME, "text") */
#define LAMP_STATES(X)      \\
    X(ON, "bright; X(no)")  \\
    X(OFF, "dark")

enum lamp_state {
#define X(name, text) LAMP_##name,
    LAMP_STATES(X)
#undef X
};
enum shop_accepting {
    DOOR_OPEN, /* come in */
    DOOR_SHUT
};
"""
PAGE_OF_SOURCE = """
## Lamp
States: `LAMP_STATES` in `server/a.c`. More.

    ON --> OFF

- `ON`: x
- `OFF`: x

## Shop
States: `shop_accepting` in `server/a.c`.

    OPEN --> SHUT

- `OPEN`: x
- `SHUT`: x
"""


def found_in(source, page):
    return tree.planted(findings, {"server/a.c": source, PAGE: page})


def prove():
    assert not found_in(SOURCE, PAGE_OF_SOURCE), found_in(SOURCE, PAGE_OF_SOURCE)
    for line in filter(None, PAGE_OF_SOURCE.splitlines()):
        if not line.startswith("##"):
            assert found_in(SOURCE, PAGE_OF_SOURCE.replace(line, "")), f"passes without {line}"
    assert found_in(SOURCE.replace('X(OFF, "dark")', 'X(DIM, "dark")'), PAGE_OF_SOURCE)
    assert found_in(SOURCE.replace("DOOR_SHUT", "DOOR_SHUT,\nDOOR_AJAR"), PAGE_OF_SOURCE)
    assert found_in("", PAGE_OF_SOURCE)


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root()))
