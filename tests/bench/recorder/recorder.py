"""What the flight recorder costs a task: a server with it against one without; prints a table.  See README.md."""

import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import cost

BAR = 1.01  # with : without


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    cost.add_options(parser)
    parser.add_argument("--without", help="the same, with -DERGON_NO_RECORDER (BUILD-no-recorder)")
    options = parser.parse_args()
    ways = [cost.Way("without", options.without or options.build + "-no-recorder"), cost.Way("with", options.build)]
    rows = cost.measure(ways, options.build, options)
    cost.tell(rows, options)
    # Processor time spreads too widely for a bar of a hundredth.
    return any(r["figure"] == "instructions" and r["ratios"]["with"] > BAR for r in rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except cost.Broken as e:
        sys.exit(f"recorder: {e}")
