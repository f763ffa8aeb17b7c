#!/usr/bin/python3
"""A seed that fails becomes a short script, which fails in the same way, and passes where the server has no fault.  A script
is read as it was written, and one that is none is refused with the number of its line.

usage: shrink_test.py ERGON-SIM ERGON-SIM-WITH-A-FAULT
"""

import os
import re
import subprocess
import sys
import tempfile

LINES = 10
SEEDS = 5  # that fail: of some no script fails, since a script cannot say all that a seed does
STRANGE = ["5 c0", "c0 echo [1]", "5 c0 echo 1", "5 end", "5 end stop loudly", "5 stall store poll", "disk", "0 c0 t = echo []", "x cut 1"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [line for line in f if not line.startswith("#")]


def shrinks(good, faulty, folder):
    found = run(faulty, "--seed", "1", "--seeds", "100")
    failed = re.findall(r"^seed (\d+) failed", found.stdout, re.M)
    promise = re.search(r"^finding:\n *[\d.]+ +world +(\w+: .*`deadline`)", found.stderr, re.M)
    assert promise, found.stderr
    path = os.path.join(folder, "deadline.sim")
    shrunk = None
    for seed in failed[:SEEDS]:
        shrunk = run(faulty, "--seed", seed, "--shrink", path)
        if shrunk.returncode == 0:
            break
    assert shrunk and shrunk.returncode == 0, shrunk and shrunk.stderr
    assert 0 < len(lines_of(path)) <= LINES, lines_of(path)
    again = run(faulty, "--script", path)
    assert again.returncode == 3 and "`deadline`" in again.stderr, again.stderr
    assert run(faulty, "--script", path).stderr == again.stderr
    passes = run(good, "--script", path)
    assert passes.returncode == 0, passes.stderr
    assert run(good, "--script", path).stdout == passes.stdout


def does_not_shrink(good, folder):
    path = os.path.join(folder, "none.sim")
    none = run(good, "--seed", "1", "--shrink", path)
    assert none.returncode == 1 and "does not fail" in none.stderr, none.stderr
    assert not os.path.exists(path)


def refuses(good, folder):
    path = os.path.join(folder, "strange.sim")
    for line in STRANGE:
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"# a remark\n\n{line}\n")
        refused = run(good, "--script", path)
        assert refused.returncode == 2 and ":3: " in refused.stderr, (line, refused.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        shrinks(sys.argv[1], sys.argv[2], scratch)
        does_not_shrink(sys.argv[1], scratch)
        refuses(sys.argv[1], scratch)
