#!/usr/bin/python3
"""Counts how many places a change has to look at. Each count is written here as it is now, and may only fall.

A change that lowers a count writes the new number here, so that it cannot rise again; beside it is the aim.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import os
import re
import sys

import tree

PRODUCT = ("base", "include", "proto", "server", "client")
# What a word of our own says, the field has a word for.
NAMES = "crews?|berths?|hires?|staff|dock|holders|claims|newcomers?|newcomer_places|nameless|crowds|yield|give_way|stand_in|behind|past|line_place"
DIALECT = "who|whoever|whom|stands?|told|crews?|berths?|hires?|hired|staff|docks?|newcomers?|nameless|crowds?"

# what: (the count, the aim)
COUNTS = {
    "files of server/": (776, 410),
    ".c files of server/ with fewer than 60 lines": (35, 30),
    "files that include jobs_parts.h": (20, 10),
    "files that name an option of a task (keep_size)": (7, 5),
    "files that name a key (keep_failed)": (3, 3),
    "files that name a method (task.run_now)": (5, 5),
    "files that name a figure (feed_bytes)": (2, 2),
    "files of server/ whose name is a word of our own": (0, 0),
    "words of our own in comments of server/": (5, 200),
}


def comments(source):
    return re.findall(r"//[^\n]*|/\*.*?\*/", source, flags=re.S)


def count(top):
    """{what: [files]}, a file as often as it counts."""
    found = {what: [] for what in COUNTS}
    names, words = re.compile(rf"({NAMES})\.[ch]$"), re.compile(rf"\b(?:{DIALECT})\b", re.I)
    for path in tree.files(top, PRODUCT):
        source = tree.text(top, path)

        def add(what, times=1):
            found[what] += [path] * times

        if re.search(r"\bkeep_size\b", source):
            add("files that name an option of a task (keep_size)")
        if re.search(r"\bkeep_failed\b", source):
            add("files that name a key (keep_failed)")
        if re.search(r"\brun_now\b", source):
            add("files that name a method (task.run_now)")
        if re.search(r"\bfeed_bytes\b", source):
            add("files that name a figure (feed_bytes)")
        if "/jobs_parts.h\"" in source:
            add("files that include jobs_parts.h")
        if not path.startswith("server/"):
            continue
        add("files of server/")
        if path.endswith(".c") and source.count("\n") < 60:
            add(".c files of server/ with fewer than 60 lines")
        if names.match(os.path.basename(path)):
            add("files of server/ whose name is a word of our own")
        add("words of our own in comments of server/", sum(len(words.findall(c)) for c in comments(source)))
    return found


def findings(top, verbose=False):
    for what, files in count(top).items():
        now, (kept, aim) = len(files), COUNTS[what]
        if verbose:
            print(f"{what}: {now}, to be {aim}")
        if now > kept:
            yield f"{what}: {now}, and were {kept}: {' '.join(sorted(set(files)))}"
        elif now < kept:
            yield f"{what}: {now}, and were {kept}: write the new number in tests/lint/house_test.py"


def prove():
    planted = {"server/jobs/a.c": "#include \"server/jobs/jobs_parts.h\"\n/* Who stands there. */\nint keep_size = run_now(\"who\");\n",
               "server/crew.h": "int keep_failed;\n", "client/b.c": "int keep_size, feed_bytes;\n"}
    counted = []
    tree.planted(lambda top: counted.append({what: len(files) for what, files in count(top).items()}) or (), planted)
    assert list(counted[0].values()) == [2, 1, 1, 2, 1, 1, 1, 1, 2], counted
    assert len(tree.planted(findings, planted)) == len(COUNTS), "a count that differs is found, whether it is more or less"


if __name__ == "__main__":
    prove()
    tree.report(list(findings(tree.root(), "-v" in sys.argv)))
