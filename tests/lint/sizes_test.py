#!/usr/bin/python3
"""A header shows one idea: at most 20 functions, prototypes and inline ones together. A file holds one idea, however long it is,
but none has more than 1,000 lines; a function does one thing in at most 60; a line has at most 100 columns.

Twenty is what good headers need: of raft's 37 that declare functions two have more, of nng's core (31 headers) five. The
headers in FACADES are the door of something larger, and stand here with their number and the reason.

What a client package has of the protocol fits on a few pages, and its example on one (SHORT); a line of them has at most
CLIENT_WIDTH columns.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import os
import re

import tree

FILE_LINES = 1000
FUNCTION_LINES = 60
WIDTH = 100
FUNCTIONS = 20

# header: (how many functions it may show, why)
FACADES = {
    "include/ergon/handler.h": (47, "all that a handler may ask of the server, so that a module includes one header"),
    "include/ergon/client_tasks.h": (33, "every operation on submitted tasks, for programs that link libergon"),
    "server/jobs/accessors.h": (21, "a function for each part of the jobs"),
    "include/ergon/ao.h": (21, "the life of an active object, which all of the runtime hangs on"),
}

CLIENT_WIDTH = 130
# file: how many lines it has at most
SHORT = {
    "clients/python/ergon_client/protocol.py": 300,
    "clients/python/ergon_client/serving.py": 300,
    "clients/python/ergon_client/actors.py": 200,
    "clients/python/example.py": 40,
    "clients/python/example_worker.py": 40,
    "clients/python/example_caller.py": 40,
    "clients/node/lib/protocol.js": 300,
    "clients/node/lib/serving.js": 300,
    "clients/node/example.js": 40,
    "clients/node/example_worker.js": 40,
    "clients/node/example_caller.js": 40,
    "clients/go/internal/rpc/rpc.go": 300,
    "clients/go/serving.go": 300,
    "clients/go/example/main.go": 40,
    "clients/go/example/worker/main.go": 40,
    "clients/go/example/caller/main.go": 40,
    "examples/worker/worker.c": 80,
    "examples/actor/tally.c": 25,
    "examples/actor/cart.py": 25,
    "examples/actor/twin.js": 25,
    "examples/actor/room.go": 25,
    "examples/actor/countdown.sh": 25,
}

OPEN = re.compile(r"^\{\s*$")
CLOSE = re.compile(r"^\}")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
PROTOTYPE = re.compile(r"^(?!typedef\b|return\b)[A-Za-z_][\w\s*]*[\s*]\w+\s*\([^;{}]*\)[^;{}]*;", re.M)
INLINE = re.compile(r"^static\b[^;={}]*\([^;{}]*\)\s*\{", re.M)


def functions(source):
    """How many functions a header shows."""
    code = DIRECTIVE.sub("", tree.code(source))
    return len(PROTOTYPE.findall(code)) + len(INLINE.findall(code))


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


def client_findings(top):
    for path, most in SHORT.items():
        lines = len(tree.text(top, path).splitlines()) if os.path.exists(os.path.join(top, path)) else 0
        if lines > most:
            yield f"{path}:1: {lines} lines in the file, at most {most}"
    for path in tree.files(top, ("clients",), (".py", ".js", ".ts", ".go")):
        for number, line in enumerate(tree.text(top, path).splitlines(), 1):
            if len(line.expandtabs(4)) > CLIENT_WIDTH:
                yield f"{path}:{number}: {len(line.expandtabs(4))} columns, at most {CLIENT_WIDTH}"


def findings(top):
    found = list(client_findings(top))
    for path in tree.files(top):
        source = tree.text(top, path)
        lines = source.splitlines()
        most = FACADES.get(path, (FUNCTIONS,))[0]
        if path.endswith(".h") and functions(source) > most:
            found.append(f"{path}:1: {functions(source)} functions in the header, at most {most}")
        if len(lines) > FILE_LINES:
            found.append(f"{path}:1: {len(lines)} lines in the file, at most {FILE_LINES}")
        for line, length in long_functions(lines):
            found.append(f"{path}:{line}: {length} lines in the function, at most {FUNCTION_LINES}")
        for number, line in enumerate(lines, 1):
            if len(line) > WIDTH:
                found.append(f"{path}:{number}: {len(line)} columns, at most {WIDTH}")
    return found


def found_in(content, path="server/a.c"):
    return tree.planted(findings, {path: content})


def prove():
    function = "int f(void)\n{\n" + "    x();\n" * FUNCTION_LINES + "}\n"
    assert not found_in(function)
    assert found_in(function.replace("{\n", "{\n    x();\n"))
    assert not found_in("\n" * FILE_LINES)
    assert found_in("\n" * (FILE_LINES + 1))
    assert found_in("/" * (WIDTH + 1))
    for path, most in SHORT.items():
        assert not found_in("\n" * most, path)
        assert found_in("\n" * (most + 1), path)
    assert found_in("#" * (CLIENT_WIDTH + 1), "clients/python/a.py")
    header = ("int f(void);\n" * (FUNCTIONS - 2) + "static inline struct a *g(void)\n{\n    return f();\n}\n"
              "struct a *h(int a,\n            void (*f)(int))\n    __attribute__((pure));\n"
              "typedef int type(int);\n#define CALL(f) \\\n    f();\nstruct b {\n    int (*f)(void);\n};\n/*\nint f(void);\n*/\n")
    assert functions(header) == FUNCTIONS, functions(header)
    assert not found_in(header, "server/a.h")
    assert found_in(header + "int more(void);\n", "server/a.h")


if __name__ == "__main__":
    prove()
    tree.report(findings(tree.root()))
