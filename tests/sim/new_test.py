#!/usr/bin/python3
"""Seeds that nobody has run before: each commit has its own.  Each program runs its share.  Says how many they were, and what they reached.

usage: new_test.py PROGRAM...

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


def run(program, start, count):
    done = subprocess.run([program, "--seed", str(start), "--seeds", str(count), "--reach"], stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    ran = [line for line in lines if ": hash " in line]
    print("\n".join(line for line in lines if ": hash " not in line))
    print(f"{os.path.basename(program)}: {len(ran)} of {count} seeds from {start} passed", flush=True)
    assert done.returncode == 0, "a seed failed"
    assert len(ran) == count


if __name__ == "__main__":
    programs = sys.argv[1:]
    share = -(-int(os.environ.get("ERGON_SEEDS", SEEDS)) // len(programs))
    for number, program in enumerate(programs):
        run(program, first() + number * share, share)
