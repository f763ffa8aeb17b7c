"""The longest step of a server's loops and manager while each method of the protocol gets the largest that it may be given; prints a
table.  See README.md of the folder above.  With --check: only whether each method of PROTOCOL.md has a row."""

import argparse
import json
import os
import re
import statistics
import sys
import time

import rows
from server import LEAST_US, Broken, Server

METHODS_LEAST = 40  # fewer PROTOCOL.md has not
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")


def measure_one(server, row):
    """One try: us of its longest step by object, and of the whole."""
    run = row.run(server)
    next(run)  # up to its yield it prepares
    server.long_steps()
    began = time.monotonic()
    next(run, None)  # up to its second, or its end, it is measured
    took = (time.monotonic() - began) * 1e6
    longest = server.long_steps()
    next(run, None)
    return longest, took


def measure(server, wanted, tries):
    for row in rows.ROWS:
        if wanted and not any(w in f"{row.method} {row.what}" for w in wanted):
            continue
        seen, objects, whole = [], {}, []
        for _ in range(tries):
            longest, took = measure_one(server, row)
            seen.append(max(longest.values(), default=0))
            whole.append(took)
            for name, us in longest.items():
                objects[name] = max(objects.get(name, 0), us)
        yield {"method": row.method, "what": row.what, "bar_us": row.bar_us, "median_us": statistics.median(seen), "least_us": min(seen),
               "worst_us": max(seen), "whole_us": statistics.median(whole), "objects": objects}


def missed(r):
    return r["median_us"] > r["bar_us"]


def shown(us):
    return f"< {LEAST_US}" if us < LEAST_US else f"{us:.0f}"


def tell(r):
    objects = ", ".join(f"{name} {us:.0f}" for name, us in sorted(r["objects"].items()))
    print(f"{r['method']:19} {r['what']:62} {shown(r['median_us']):>8} {shown(r['worst_us']):>8} {r['whole_us'] / 1000:>9.1f}   {objects}"
          f"{'  MISSED' if missed(r) else ''}", flush=True)


def documented():
    """The methods that PROTOCOL.md has: the server's own, and the handlers of its tables."""
    with open(os.path.join(TOP, "proto/PROTOCOL.md"), encoding="utf-8") as f:
        text = f.read()
    handlers = text.split("### Built-in handlers\n")[1].split("\n#")[0]
    return set(re.findall(r"\*\*`([a-z]+\.[a-z_]+)", text)) | set(re.findall(r"^- `([\w.]+)", handlers, re.M))


def findings(measured, methods):
    """What is wrong with the rows, in words."""
    yield from (f"{m} of proto/PROTOCOL.md has no row in tests/bench/longest_step/rows.py" for m in sorted(methods - measured))
    yield from (f"{m} has a row in tests/bench/longest_step/rows.py, and is not in proto/PROTOCOL.md" for m in sorted(measured - methods))
    if len(methods) < METHODS_LEAST:
        yield "proto/PROTOCOL.md cannot be read: too few methods are found"


def check():
    """First it finds what is planted."""
    many = {str(n) for n in range(METHODS_LEAST)}
    assert len(list(findings(many, many))) == 0
    assert len(list(findings(many - {"1"}, many))) == len(list(findings(many | {"a"}, many))) == len(list(findings(set(), set()))) == 1
    return list(findings({row.method for row in rows.ROWS}, documented()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build-release", help="directory of the programs (build-release)")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="that are kept meanwhile (1000000)")
    parser.add_argument("--tries", type=int, default=5, help="of each row; their median counts (5)")
    parser.add_argument("--row", action="append", help="only rows in whose method and text this stands; may be repeated")
    parser.add_argument("--json", action="store_true", help="one object a row instead of the table")
    parser.add_argument("--check", action="store_true", help="measure nothing: has each method of PROTOCOL.md a row?")
    options = parser.parse_args()
    if options.check:
        wrong = check()
        print("\n".join(wrong))
        return bool(wrong)
    server = Server(options.build)
    found = []
    try:
        server.fill(options.tasks)
        if not options.json:
            print(f"{options.tasks} kept tasks; the longest step of all loops and the manager, us by the clock, of {options.tries} tries; the server goes "
                  f"{'before all others (SCHED_FIFO)' if server.goes_first else 'among others: its steps have their time in them, too'}")
            print(f"{'method':19} {'what':62} {'median':>8} {'worst':>8} {'whole, ms':>9}   objects")
        for r in measure(server, options.row, options.tries):
            found.append(r)
            if not options.json:
                tell(r)
    finally:
        server.stop()
    if options.json:
        print(json.dumps(found))
    return any(missed(r) for r in found)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Broken as e:
        sys.exit(f"longest_step: {e}")
