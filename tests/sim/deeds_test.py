#!/usr/bin/python3
"""Each method of PROTOCOL.md has a row in the table of sim/deeds.c, and each row is such a method.

usage: deeds_test.py ROOT
"""

import pathlib
import re
import sys

METHOD = r"(?:server|cluster|connection|task|queue|cron|sem|event|batch|worker)\.[a-z_]+"


def of_protocol(text):
    return set(re.findall(rf"\*\*`({METHOD})", text))


def of_table(text):
    return set(re.findall(rf'^    {{"({METHOD})",', text, re.M))


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    known = of_protocol("**`task.get [id]`** and **`task.put`**, not `task.event`")
    assert known == {"task.get", "task.put"}, known
    methods, rows = of_protocol((root / "proto/PROTOCOL.md").read_text()), of_table((root / "sim/deeds.c").read_text())
    assert len(methods) > 40, methods
    assert methods == rows, f"without a row: {sorted(methods - rows)}; no method: {sorted(rows - methods)}"
