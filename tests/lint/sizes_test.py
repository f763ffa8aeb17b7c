#!/usr/bin/python3
"""A file holds one idea in at most 400 lines, a function does one thing in at most 60; a file of tests, which is a list
of cases, may be twice as long.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import re
import tempfile

import tree

FILE_LINES = 400
FUNCTION_LINES = 60
WIDTH = 100

OPEN = re.compile(r"^\{\s*$")
CLOSE = re.compile(r"^\}")


def long_functions(lines):
    """(line, length) of each body that is too long: our format puts both braces in column 0."""
    opened = None
    for number, line in enumerate(lines, 1):
        if OPEN.match(line):
            opened = number
        elif CLOSE.match(line) and opened:
            if number - opened - 1 > FUNCTION_LINES:
                yield opened, number - opened - 1
            opened = None


def findings(top):
    found = []
    for path in tree.files(top):
        lines = tree.text(top, path).splitlines()
        most = FILE_LINES * (2 if path.startswith("tests/") else 1)
        if len(lines) > most:
            found.append(f"{path}:1: {len(lines)} lines in the file, at most {most}")
        for line, length in long_functions(lines):
            found.append(f"{path}:{line}: {length} lines in the function, at most {FUNCTION_LINES}")
        for number, line in enumerate(lines, 1):
            if len(line) > WIDTH:
                found.append(f"{path}:{number}: {len(line)} columns, at most {WIDTH}")
    return found


def found_in(content):
    with tempfile.TemporaryDirectory() as top:
        tree.write(top, "server/a.c", content)
        return findings(top)


def prove():
    function = "int f(void)\n{\n" + "    x();\n" * FUNCTION_LINES + "}\n"
    assert not found_in(function)
    assert found_in(function.replace("{\n", "{\n    x();\n"))
    assert not found_in("\n" * FILE_LINES)
    assert found_in("\n" * (FILE_LINES + 1))
    assert found_in("/" * (WIDTH + 1))


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root()))
