#!/usr/bin/python3
"""Seeds that nobody has run before: each commit has its own.  Says how many they were, and what they reached.

usage: new_test.py ERGON-SIM

ERGON_SEEDS says how many, ERGON_SEED which is the first, in place of the commit's.
"""

import os
import subprocess
import sys

SEEDS = 300
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def first():
    """By the commit; 1 where there is none."""
    if "ERGON_SEED" in os.environ:
        return int(os.environ["ERGON_SEED"])
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 1
    return int(asked.stdout[:8], 16) * 1000 if asked.returncode == 0 else 1


if __name__ == "__main__":
    count = int(os.environ.get("ERGON_SEEDS", SEEDS))
    done = subprocess.run([sys.argv[1], "--seed", str(first()), "--seeds", str(count), "--reach"], stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    ran = [line for line in lines if ": hash " in line]
    print("\n".join(line for line in lines if ": hash " not in line))
    print(f"seeds: {len(ran)} of {count} from {first()} passed")
    assert done.returncode == 0, "a seed failed"
    assert len(ran) == count
