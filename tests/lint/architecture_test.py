#!/usr/bin/python3
"""docs/architecture.md names each folder of the source, and each path or file that it names in `backquotes` is there.
What a single file is for, the file says: each header begins with a comment, and so does each .c file
that does not begin with the include of the header of its own name.

First the test expects to find what it planted in a tree of its own; then it reads ours."""

import os
import re

import tree

DOCUMENT = "docs/architecture.md"
FOLDERS = ("base", "include", "proto", "server", "client", "sim")
SUFFIXES = (".c", ".h", ".sql", ".py", ".js", ".go")
NAME = re.compile(r"[\w./-]+(?:/|\.(?:c|h|sql|py|js|go|md|1))")


def unnamed(top, quoted):
    folders = {os.path.dirname(path) for path in tree.files(top, FOLDERS)}
    return [f"{DOCUMENT}: the folder {folder}/ is not named" for folder in sorted(folders) if f"{folder}/" not in quoted]


def gone(top, quoted):
    """A name with a folder is a path of the tree; one without is the name of a file somewhere in it or in the packages."""
    names = {os.path.basename(path) for path in tree.files(top, (*FOLDERS, "clients"), SUFFIXES)}
    for name in sorted({name for name in quoted if NAME.fullmatch(name)}):
        if not (os.path.exists(os.path.join(top, name)) if "/" in name else name in names):
            yield f"{DOCUMENT}: there is no {name}"


def silent(top):
    """Files that do not say what they are."""
    for path in tree.files(top, FOLDERS):
        text = tree.text(top, path).lstrip()
        own = os.path.splitext(path)[0] + ".h"
        if not text.startswith("/*") and not (path.endswith(".c") and text.startswith(f'#include "{own}"')):
            yield f"{path}: begins with no comment that says what the file is for"


def findings(top):
    quoted = set(re.findall(r"`([^`\n]+)`", tree.text(top, DOCUMENT)))
    return [*unnamed(top, quoted), *gone(top, quoted), *silent(top)]


def self_test():
    files = {
        DOCUMENT: "| `server/` | `known.c`, `server/known.h` | `make.h` is not `a b.c` |",
        "server/known.c": '#include "server/known.h"\n',
        "server/known.h": "/* What is known. */\n",
        "server/make.h": "/* What is made. */\n",
    }
    page = files[DOCUMENT]
    assert tree.planted(findings, files) == []
    assert tree.planted(findings, {**files, "base/new.h": "/* New. */"}) == [f"{DOCUMENT}: the folder base/ is not named"]
    assert tree.planted(findings, {**files, "server/a/new.h": "/* New. */"}) == [f"{DOCUMENT}: the folder server/a/ is not named"]
    for name in ("gone.c", "server/make.c", "base/known.h", "server/gone/"):
        assert tree.planted(findings, {**files, DOCUMENT: f"{page} `{name}`"}) == [f"{DOCUMENT}: there is no {name}"], name
    for path, text in (
        ("server/known.h", "#ifndef KNOWN_H\n"),
        ("server/bare.c", '#include "server/known.h"\n'),
        ("server/bare.c", "#include <stdio.h>\n"),
    ):
        assert tree.planted(findings, {**files, path: text}) == [f"{path}: begins with no comment that says what the file is for"]


if __name__ == "__main__":
    self_test()
    tree.report(findings(tree.root()))
