#!/usr/bin/python3
"""The server asks the system for time and chance at one place each, and keeps thread-locals in one struct: so a program may
run the server on other clocks, other chance and other threads.

First the test plants each fault in a tree of its own and expects it to be found; then it reads ours.
"""

import re

import tree

FOLDERS = ("base", "proto", "server")

# (what is looked for, its name, the files that may have it)
DOORS = (
    (re.compile(r"\b(_Thread_local|__thread|thread_local)\b"), "a thread-local",
     ("server/runtime/thread_locals.h", "server/runtime/thread_locals.c")),
    (re.compile(r"(?<![\w.>*])(clock_gettime|clock_getres|gettimeofday|timespec_get|time|clock)\s*\("), "a look at a clock",
     ("base/clock.h",)),
    (re.compile(r"(?<![\w.>*])(getrandom|getentropy|RAND_\w*bytes|rand|random|rand_r|drand48|arc4random\w*)\s*\("), "chance",
     ("base/chance.c",)),
)

# Where a look is not the server's.
EXCEPT = {
    "server/runtime/thread.c": "a thread-local",  # the stack for signals belongs to the system's thread, whatever runs on it
}


def findings(top):
    for path in tree.files(top, FOLDERS):
        code = tree.code(tree.text(top, path))
        for pattern, name, doors in DOORS:
            if path in doors or EXCEPT.get(path) == name:
                continue
            for match in pattern.finditer(code):
                line = code.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {match.group(1)}: {name}, which only {' and '.join(doors)} may have"


def prove():
    for path, source in (("server/a.c", "static _Thread_local int a;"), ("server/a.c", "static __thread int a;"),
                         ("base/a.c", "clock_gettime(CLOCK_REALTIME, &t);"), ("server/a.c", "return time(NULL);"),
                         ("server/a.c", "if (getrandom(&a, 1, 0))"), ("server/tasks/a.c", "RAND_bytes(a, 1);"),
                         ("base/clock.h", "getrandom(&a, 1, 0);")):
        assert len(tree.planted(findings, {path: source})) == 1, source
    for path, source in (("server/runtime/thread_locals.h", "extern _Thread_local struct a a;"), ("base/chance.c", "getrandom(at, 1, 0)"),
                         ("server/a.c", "a->time(a); a.clock(); clock_wall(); /* time(NULL) */ executor_clock(e);"),
                         ("tests/a.c", "time(NULL)")):
        assert not tree.planted(findings, {path: source}), source


if __name__ == "__main__":
    prove()
    tree.report(list(findings(tree.root())))
