"""User instructions a task, of this build and of an older one, under the same loads; prints a table.  See README.md.

Instructions are counted by callgrind, in a long run less a brief one.  The load comes from this build's programs, for both."""

import argparse
import dataclasses
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import cost

BAR = 1.01  # new : old

STORE = ("--store", "{folder}/tasks.db")
DURABLE = '{"durable":"fsync"}'
IN_MEMORY = '{"keep":0}'


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    load: cost.Load
    flags: tuple = ()
    workers: int = 0


ROWS = (
    Row("calls, 64 x 16", cost.ECHO),
    Row("calls, 1000 x 1", cost.Load(connections=1000, in_flight=1)),
    Row("in memory, 64 x 16", cost.Load(submit=IN_MEMORY)),
    Row("durable, 64 x 1", cost.Load(in_flight=1, submit=DURABLE, brief=4_000, long=12_000), STORE),
    Row("durable, 64 x 16", cost.Load(submit=DURABLE, brief=4_000, long=12_000), STORE),
    Row("two workers, 64 x 16", cost.Load(method="work"), workers=2),
)


def measured(row, options):
    """(old, new, new : old), medians."""
    builds = {"old": options.old, "new": options.build}

    def count(name):
        return cost.instructions(cost.Way(name, builds[name], row.flags, row.workers), options.build, row.load)

    turns = cost.in_turns(options.pairs, list(builds), count)
    old, new = (statistics.median(t[name] for t in turns) for name in builds)
    return old, new, statistics.median(t["new"] / t["old"] for t in turns)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="directory of this build's programs (build)")
    parser.add_argument("--old", required=True, help="directory of the older build's server")
    parser.add_argument("--pairs", type=int, default=3, help="of runs whose instructions are counted (3)")
    parser.add_argument("--row", default="", help="only rows whose name has this text")
    options = parser.parse_args()
    missed = False
    print(f"{'user instructions a task':24}{'old':>10}{'new':>10}{'ratio':>9}")
    for row in (r for r in ROWS if options.row in r.name):
        old, new, ratio = measured(row, options)
        missed |= ratio > BAR
        print(f"{row.name:24}{old:>10.0f}{new:>10.0f}{ratio:>9.4f}{'  MISSED' if ratio > BAR else ''}", flush=True)
    return missed


if __name__ == "__main__":
    try:
        sys.exit(main())
    except cost.Broken as e:
        sys.exit(f"older: {e}")
