#!/usr/bin/python3
"""Each option of a task is declared in proto/job_options.h and named in the documents.

First the test leaves names out of documents of its own and expects to find that; then it reads ours.
"""

import re

import tree

TABLE = "proto/job_options.h"
ROW = re.compile(r"X\((\w+), [A-Z]+, .*?(?:0|'(\w)'), \"([a-z-]+)\", \"", re.S)
ROWS = re.compile(r"#define JOB_OPTIONS_ONCE.*#define JOB_OPTIONS\(X\)", re.S)


def rows(header):
    """(name, letter or None, flag) of each option."""
    found = [m.groups() for m in ROW.finditer(ROWS.search(header).group())]
    assert len(found) == ROWS.search(header).group().count("    X("), "a row that this test cannot read"
    return [(name, letter or None, flag) for name, letter, flag in found]


def wanted(name, letter, flag):
    """What has to stand in which document, as patterns."""
    yield "proto/PROTOCOL.md", rf"^- [^:]*`{name}`"
    yield "docs/tasks.md", rf"`{name}[`:]"
    short = f"\\fB\\-{letter}\\fR, " if letter else ""
    long = flag.replace("-", "\\-")
    yield "docs/man/ergon.1", re.escape(f"{short}\\fB\\-\\-{long}\\fR")


def findings(options, text_of):
    return [f"{document}: says nothing of the option {option[0]}: no {pattern}" for option in options
            for document, pattern in wanted(*option) if not re.search(pattern, text_of(document), re.M)]


def prove():
    planted = """#define JOB_OPTIONS_ONCE(X) \\
    X(due_by, MOMENT, 0, 1, "a, (b)", \\
      'd', "due-by", "WHEN", "when")
#define JOB_OPTIONS(X) JOB_OPTIONS_ONCE(X)"""
    good = {"proto/PROTOCOL.md": "- `a`, `due_by`: x", "docs/tasks.md": "`due_by`",
            "docs/man/ergon.1": "\\fB\\-d\\fR, \\fB\\-\\-due\\-by\\fR"}
    assert rows(planted) == [("due_by", "d", "due-by")]
    assert not findings(rows(planted), good.get)
    for document in good:
        assert findings(rows(planted), {**good, document: "due by"}.get)


if __name__ == "__main__":
    prove()
    top = tree.root()
    tree.report(findings(rows(tree.text(top, TABLE)), lambda path: tree.text(top, path)))
