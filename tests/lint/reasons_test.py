#!/usr/bin/python3
"""Every reason of JOB_REASONS has a test that task.explain gives it, and the document names it."""

import re
import sys

import tree


def main():
    top = tree.root()
    block = re.search(r"#define JOB_REASONS\(X\)(.*?)\n\n", tree.text(top, "server/jobs/core/states.h"), re.S)
    reasons = re.findall(r'X\(\w+,\s*"(\w+)"', block.group(1)) if block else []
    tests = tree.text(top, "tests/unit/jobs/explain_test.c")
    document = tree.text(top, "proto/PROTOCOL.md")
    found = []
    if len(reasons) < 10:
        found.append("server/jobs/core/states.h: JOB_REASONS was not understood")
    for reason in reasons:
        if not re.search(rf"TEST\(explains_{reason}\)", tests):
            found.append(f"tests/unit/jobs/explain_test.c: no test explains_{reason}")
        if f"`{reason}`" not in document:
            found.append(f"proto/PROTOCOL.md: the reason {reason} is not named")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
