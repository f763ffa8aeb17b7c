#!/usr/bin/python3
"""Each fault of tests/mutation can still be planted: its text stands in the code once, in the function that it names.

First the test expects to find what it planted in a tree of its own; then it reads ours.
"""

import os
import sys

import tree

sys.path.insert(0, os.path.join(tree.root(), "tests", "mutation"))
import faults  # noqa: E402

LEAST = 300  # faults


def findings(top, least=LEAST):
    try:
        known = faults.load(top)
    except faults.Misplaced as error:
        yield str(error)
        return
    names = {}
    for fault in known:
        if fault.name in names:
            yield f"{fault.origin}: [{fault.name}] has the name of {names[fault.name]}"
        names[fault.name] = fault.origin
        try:
            source = faults.source_of(top, fault)
            if fault.plant(source) == source:
                yield f"{fault.origin}: [{fault.name}] changes nothing"
        except faults.Misplaced as error:
            yield str(error)
    if len(known) < least:
        yield f"{faults.FOLDER}: {len(known)} faults, at least {least}"


CODE = "int f(int a);\n\nint f(int a)\n{\n    if (a <\n        3)\n        return g(a);\n    return 1;\n}\n\nint g(int a)\n{\n    return 1;\n}\n"


def planted(*lines):
    files = {"base/a.c": CODE, os.path.join(faults.FOLDER, "a.faults"): "\n".join(lines) + "\n"}
    return tree.planted(lambda top: findings(top, 0), files)


def test_ours():
    good = ("[one] promise", "base/a.c f", "- if (a < 3)", "+ if (a <= 3)", "- return 1;", "+ return 2;")
    assert planted(*good) == [], planted(*good)
    assert faults.parse("x", "\n".join(good))[0].plant(CODE) == CODE.replace("a <\n        3", "a <= 3").replace("return 1", "return 2", 1)
    assert "stands 2 times" in planted("[one] promise", "base/a.c", "- return 1;")[0]
    assert "stands 0 times" in planted("[one] promise", "base/a.c g", "- if (a < 3)")[0]
    assert "no function h()" in planted("[one] promise", "base/a.c h", "- return 1;")[0]
    assert "no base/b.c" in planted("[one] promise", "base/b.c h", "- return 1;")[0]
    assert "changes nothing" in planted("[one] promise", "base/a.c g", "- return 1;", "+ return 1;")[0]
    assert "has the name of" in planted(*good, "", *good)[0]
    assert "lacks the line" in planted("[one] promise")[0]


test_ours()
tree.report(list(findings(tree.root())))
