#!/usr/bin/python3
"""A run is a function of its seed: two processes, whose addresses are laid out by chance, print the same hash for each; and
other seeds are other runs.  A future of a seed is the same in a copy of the process and in a process of its own.

usage: same_test.py PROGRAM...
"""

import subprocess
import sys

SEEDS, OF_CLUSTER = 10, 3


def run(program, *options):
    done = subprocess.run([program, "--seed", "1", *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


if __name__ == "__main__":
    for program in sys.argv[1:]:
        first, second = run(program, "--seeds", str(SEEDS)), run(program, "--seeds", str(SEEDS))
        assert first == second, "\n".join(["two runs differ:", *first, *second])
        hashes = {line.split("hash ")[1].split(",")[0] for line in first}
        assert len(hashes) == SEEDS, first
        futures = run(program, "--from", "1000", "--futures", "3")
        assert [run(program, "--from", "1000", "--future", str(n)) for n in (1, 2, 3)] == [[line] for line in futures], futures
    cluster = run(sys.argv[1], "--cluster", "--seeds", str(OF_CLUSTER))
    assert cluster == run(sys.argv[1], "--cluster", "--seeds", str(OF_CLUSTER)), "\n".join(["two runs differ:", *cluster])
