"""What the programs that measure have in common: options, an end on a signal, the file of results."""

import argparse
import contextlib
import json
import os
import signal
import sys


def parse(a, windows=None, window=None, pins=True):
    """Adds the options that all have to those of `a`, and reads the command line. `windows`, `window`: defaults of a program that
    measures in windows; `pins`: whether it can do so unpinned, too."""
    if windows:
        a.add_argument("--windows", type=int, default=windows, help=f"of each server in a row ({windows})")
        a.add_argument("--window", type=float, default=window, help=f"seconds ({window})")
        a.add_argument("--warm-up", type=float, default=1, help="seconds, of each server in a row (1)")
        a.add_argument("--patience", type=int, default=0,
                       help="pairs of windows to measure again in each row where others used the machine (0)")
        a.add_argument("--work", required=True, type=os.path.abspath, help=argparse.SUPPRESS)
    if pins:
        a.add_argument("--unpinned", action="store_true", help="servers and driver on any processor")
    a.add_argument("--ergon", action="append", default=[], metavar="FLAG", help="for ergond; repeat it")
    a.add_argument("--json", metavar="FILE", help="everything, each window included")
    a.add_argument("--build", required=True, type=os.path.abspath, help=argparse.SUPPRESS)
    o = a.parse_args()
    pinned = os.cpu_count() > 1 and not (pins and o.unpinned)
    o.server_on, o.driver_on = ([0], [1]) if pinned else (None, None)
    return o


@contextlib.contextmanager
def until_interrupted():
    """A signal ends what is inside, and then the program goes on with what there is."""

    def interrupted(*_):
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    try:
        yield
    except KeyboardInterrupt:
        print("interrupted: the table holds what there is", file=sys.stderr)


def end(options, report, good):
    """Writes the report where it is wanted, and ends the program."""
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=1)
    sys.exit(0 if good else 1)


def all_good(rows):
    return bool(rows) and not any("error" in row for row in rows)
