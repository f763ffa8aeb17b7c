#!/usr/bin/python3
"""docs/troubleshooting.md lists every finding of `ergon doctor` under its severity, and no other."""

import re
import sys

import tree

FOLDER = "client/cli/doctor"
PAGE = "docs/troubleshooting.md"
PART = re.compile(r"^### (Error|Warning|Note)s\b.*\n((?:(?!#).*\n)*)", re.M)
ROW = re.compile(r'\{"(\w+)",\s*"(error|warning|note)",\s*look_')


def main():
    top = tree.root()
    checks = [row for path in tree.files(top, [FOLDER], (".c",)) for row in ROW.findall(tree.text(top, path))]
    listed = [(name, severity.lower()) for severity, lines in PART.findall(tree.text(top, PAGE))
              for names in re.findall(r"^- (`\w+`(?:, `\w+`)*): ", lines, re.M) for name in re.findall(r"\w+", names)]
    found = []
    if len(checks) < 40:
        found.append(f"{FOLDER}: the tables of checks were not understood")
    found += [f"{PAGE}: the finding {name} ({severity}) is missing" for name, severity in checks
              if (name, severity) not in listed]
    found += [f"{PAGE}: {name} ({severity}) is no finding" for name, severity in listed
              if (name, severity) not in checks]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
