#!/usr/bin/python3
"""Each method of the server's own has a row in the table of rights (tests/e2e/roles_table.py), and stands in PROTOCOL.md, which
also says of each whether it is an administrative act."""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))
sys.dont_write_bytecode = True
import roles_table  # noqa: E402


def text(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as f:
        return f.read()


def served():
    """Name: access and whether it is an act, of each row of proto/methods.h."""
    rows = re.findall(r'X\(\w+, "([a-z]+\.[a-z_]+)", (OPEN|KNOWN|GUARDED), (\w+),', text("proto", "methods.h"))
    return {name: (access, audit) for name, access, audit in rows}


def documented_acts():
    """Method: when it is an act, by the list of PROTOCOL.md."""
    section = text("proto", "PROTOCOL.md").split("### Administrative acts\n")[1].split("\n#")[0]
    rows = re.findall(r"^- ([^:]*): (\w+)", section, re.M)
    when = {"always": roles_table.ALWAYS, "on": roles_table.REACHING, "in": roles_table.NAMED, "about": roles_table.FOREIGN}
    return {m: when[first] for cell, first in rows for m in re.findall(r"`([a-z_.]+)`", cell)}


documented = set(re.findall(r"\*\*`([a-z]+\.[a-z_]+)", text("proto", "PROTOCOL.md")))
rows, methods = roles_table.ROWS, served()
wrong = [f"{m} has no row in tests/e2e/roles_table.py" for m in sorted((documented | set(methods)) - set(rows))]
wrong += [f"{m} has a row, and is no method" for m in sorted(set(rows) - set(methods))]
wrong += [f"{m} does not stand in proto/PROTOCOL.md" for m in sorted(set(methods) - documented)]
access = {"OPEN": (roles_table.OPEN, roles_table.TARGET), "KNOWN": (roles_table.KNOWN,), "GUARDED": (roles_table.GUARDED,)}
wrong += [f"{m} is {a[0]} in proto/methods.h, and {rows[m][0]} in the table" for m, a in sorted(methods.items())
          if m in rows and rows[m][0] not in access[a[0]]]
wrong += [f"{m} is {a[1]} in proto/methods.h, and {rows[m][3]} in the table" for m, a in sorted(methods.items())
          if m in rows and rows[m][3] != a[1]]
acts = documented_acts()
wrong += [f"{m} is {a[1]} in proto/methods.h, and {acts.get(m, 'none')} among the administrative acts of proto/PROTOCOL.md"
          for m, a in sorted(methods.items()) if acts.get(m, roles_table.NEVER) != a[1]]
print("\n".join(wrong))
sys.exit(1 if wrong or len(methods) < 20 else 0)
