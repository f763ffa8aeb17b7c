#!/usr/bin/python3
"""Each method of the server's own has a row in the table of rights (tests/e2e/roles_table.py), and stands in PROTOCOL.md."""
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
    """Name and access of each row of the tables in server/rpc."""
    found = {}
    for name in sorted(os.listdir(os.path.join(TOP, "server", "rpc"))):
        if name.endswith(".c"):
            found.update(re.findall(r'\{"([a-z]+\.[a-z_]+)",\s*RPC_(OPEN|GUARDED)', text("server", "rpc", name)))
    return found


documented = set(re.findall(r"\*\*`([a-z]+\.[a-z_]+)", text("proto", "PROTOCOL.md")))
rows, methods = roles_table.ROWS, served()
wrong = [f"{m} has no row in tests/e2e/roles_table.py" for m in sorted((documented | set(methods)) - set(rows))]
wrong += [f"{m} has a row, and is no method" for m in sorted(set(rows) - set(methods))]
wrong += [f"{m} does not stand in proto/PROTOCOL.md" for m in sorted(set(methods) - documented)]
wrong += [f"{m} is {a} in server/rpc, and {rows[m][0]} in the table" for m, a in sorted(methods.items())
          if m in rows and (rows[m][0] == roles_table.GUARDED) != (a == "GUARDED")]
print("\n".join(wrong))
sys.exit(1 if wrong or len(methods) < 20 else 0)
