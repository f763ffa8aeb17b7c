#!/usr/bin/python3
"""Every finding of `ergon doctor` stands in docs/operations.md, with its severity, and no other does."""

import re
import sys

import tree

FOLDER = "client/cli/doctor"
ROW = re.compile(r'\{"(\w+)",\s*"(error|warning|note)",\s*look_')


def main():
    top = tree.root()
    checks = [row for path in tree.files(top, [FOLDER], (".c",)) for row in ROW.findall(tree.text(top, path))]
    table = re.findall(r"^\| `(\w+)` \| (error|warning|note) \|", tree.text(top, "docs/operations.md"), re.M)
    found = []
    if len(checks) < 40:
        found.append(f"{FOLDER}: the tables of checks were not understood")
    found += [f"docs/operations.md: the finding {name} ({severity}) is missing" for name, severity in checks
              if (name, severity) not in table]
    found += [f"docs/operations.md: {name} ({severity}) is no finding" for name, severity in table
              if (name, severity) not in checks]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
