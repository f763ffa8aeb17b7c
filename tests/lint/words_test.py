#!/usr/bin/python3
"""Words and calls that have no place here, each with the reason and what to write instead.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import fnmatch
import os
import re

import tree

# Joined here, so that this file does not find itself.
SIGNS = "|".join(("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"))
PHRASES = "|".join(("for " "now", "place" "holder", "stu" "bs?"))

# Whole text, comments included: (pattern, where, why).
WORDS = [
    (rf"\b({SIGNS}|(?i:{PHRASES}))\b", ["*"], "says that something is unfinished: finish it, or file it"),
]

# Code alone: (pattern, where, why).
LOGIC = ["proto/*", "server/runtime/*", "server/tasks/*", "server/net/*", "server/rpc/*", "server/workers/*", "server/jobs/*"]
PRODUCT = ["base/*", "include/*", "proto/*", "server/*", "client/*", "examples/*"]
CALLS = [
    (r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok)\s*\(", PRODUCT, "knows no bounds"),
    (r"\b(strerror|localtime|gmtime|asctime|ctime|readdir_r|inet_ntoa)\s*\(", PRODUCT,
     "answers in a static buffer: take the _r form"),
    (r"(?<![.>])\b(rand|random|srand|drand48)\s*\(", PRODUCT, "randomness is passed in"),
    (r"(?<![.>])\b(time|gettimeofday|getenv)\s*\(", LOGIC, "time and surroundings are passed in"),
    (r"\b__(atomic|sync)_\w+\s*\(", PRODUCT, "atomics are <stdatomic.h>, so that the lint sees them"),
    (r"(?<!asm )(?<!asm__ )\bvolatile\b", PRODUCT, "orders nothing between threads"),
    (r"#\s*pragma\s+once", ["*"], "guards are #ifndef ERGON_FOLDER_FILE_H"),
    (r"#\s*include\s+\"\.\.?/", ["*"], "include paths start at the root of the tree"),
]

SUFFIXES = (".c", ".h", ".py", ".sh", ".js", ".ts", ".go", ".toml", ".lua", ".md", ".pml", ".txt", ".cmake", ".yaml", ".yml")
FOLDERS = tree.FOLDERS + ("clients", "docs", "docker", "scripts", "cmake", "dist")


def matches(rules, path, content):
    for pattern, where, why in rules:
        if any(fnmatch.fnmatch(path, w) for w in where):
            for match in re.finditer(pattern, content):
                line = content.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: '{match.group().strip()}': {why}"


def findings(top):
    found = []
    at_root = [name for name in ("README.md", "Dockerfile", "CMakeLists.txt", "run") if os.path.exists(os.path.join(top, name))]
    for path in [*at_root, *tree.files(top, FOLDERS, SUFFIXES)]:
        content = tree.text(top, path)
        found.extend(matches(WORDS, path, content))
        if path.endswith((".c", ".h")):
            found.extend(matches(CALLS, path, tree.code(content)))
    return found


def found_in(path, content):
    return tree.planted(findings, {path: content})


def prove():
    assert found_in("docs/a.md", "this is a " + "place" "holder")
    assert found_in("server/net/a.c", "long t = time(NULL);")
    assert found_in("client/a.c", "puts(strerror(errno));")
    assert not found_in("client/a.c", "puts(strerror_r(errno, at, size)); /* strerror() would not do */")
    assert not found_in("server/main.c", "getenv(name);")
    assert found_in("server/a.c", "volatile int flag;")
    assert not found_in("server/a.c", '__asm__ volatile("pause");')


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root()))
