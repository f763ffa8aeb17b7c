#!/usr/bin/python3
"""Seeds that nobody has run before: each commit has its own.  Each program runs its share of the time, and
the first another one with several nodes (--cluster).  Says how many they were, and what they reached.

usage: new_test.py PROGRAM...

ERGON_SIM_SECONDS says how long all programs together take new seeds, ERGON_SEED which is the first, in place of the commit's.
"""

import os
import re
import subprocess
import sys
import time

SECONDS = 20
AT_ONCE, OF_CLUSTER = 25, 5
APART = 10000  # seeds between those of two programs
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def first():
    """By the commit; 1 where there is none."""
    if "ERGON_SEED" in os.environ:
        return int(os.environ["ERGON_SEED"])
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 1
    return int(asked.stdout[:8], 16) * 10 * APART if asked.returncode == 0 else 1


def add(reached, line):
    """What ergon-sim --reach printed, "kind: name COUNT name COUNT; never: name", to what others printed of this kind."""
    kind, counts, never = re.fullmatch(r"(\w+):(.*); never:(.*)", line).groups()
    sums = reached.setdefault(kind, {})
    for name, count in re.findall(r"(\w+) (\d+)", counts) + [(name, 0) for name in never.split()]:
        sums[name] = sums.get(name, 0) + int(count)


def run(command, seed, count, reached):
    done = subprocess.run([*command, "--seed", str(seed), "--seeds", str(count), "--reach"], stdout=subprocess.PIPE, text=True, check=False)
    for line in done.stdout.splitlines():
        if "; never:" in line:
            add(reached, line)
        elif ": hash " not in line:
            print(line)
    assert done.returncode == 0, "a seed failed"
    assert done.stdout.count(": hash ") == count


def run_for(seconds, command, start, reached):
    until, seed, count = time.monotonic() + seconds, start, OF_CLUSTER if "--cluster" in command else AT_ONCE
    while seed == start or (time.monotonic() < until and seed < start + APART):
        run(command, seed, count, reached)
        seed += count
    print(f"{' '.join([os.path.basename(command[0]), *command[1:]])}: {seed - start} seeds from {start} passed", flush=True)


if __name__ == "__main__":
    of_all = {}
    commands = [[path] for path in sys.argv[1:]]
    commands.append([sys.argv[1], "--cluster"])
    share = int(os.environ.get("ERGON_SIM_SECONDS", SECONDS)) / len(commands)
    for number, command in enumerate(commands):
        run_for(share, command, first() + number * APART, of_all)
    for what, found in of_all.items():
        print(what + ":", *(f"{name} {count}" for name, count in found.items() if count))
        print("  never:", *(name for name, count in found.items() if not count))
