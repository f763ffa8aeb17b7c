#!/usr/bin/python3
"""docs/architecture.md says of each source file what it is there for: by `name`, `name.c` or `name.h`, or, of a family, by `begin*`.
What ends in _private or _parts belongs to the files beside it, and need not be named.  A `name.c` or `name.h` that it names is there."""

import fnmatch
import os
import re

import tree

DOCUMENT = "docs/architecture.md"
FOLDERS = ("base", "include", "proto", "server", "client", "sim")


def findings(top):
    quoted = re.findall(r"`([^`\n]+)`", tree.text(top, DOCUMENT))
    names = {re.sub(r"\.[ch]$", "", os.path.basename(name)) for name in quoted}
    families = [name for name in names if "*" in name and name != "*"]
    there = {os.path.basename(path) for path in tree.files(top)}
    for name in sorted({os.path.basename(n) for n in quoted if re.fullmatch(r"[\w./]+\.[ch]", n)} - there):
        yield f"{DOCUMENT}: there is no {name}"
    for path in tree.files(top, FOLDERS):
        stem = os.path.basename(path)[:-2]
        if stem in names or stem.endswith(("_private", "_parts")) or any(fnmatch.fnmatch(stem, f) for f in families):
            continue
        yield f"{DOCUMENT}: {path} is not named"


def self_test():
    files = {DOCUMENT: "| `known`, `checks*.c` | what it is |", "server/known.c": "", "server/checks_one.c": "", "server/known_parts.h": ""}
    assert tree.planted(findings, files) == []
    assert tree.planted(findings, {**files, "base/stranger.h": ""}) == [f"{DOCUMENT}: base/stranger.h is not named"]
    assert tree.planted(findings, {**files, DOCUMENT: files[DOCUMENT] + "`gone.c`"}) == [f"{DOCUMENT}: there is no gone.c"]


if __name__ == "__main__":
    self_test()
    tree.report(list(findings(tree.root())))
