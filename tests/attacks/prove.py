#!/usr/bin/env python3
"""Each attack for a minute, in 256 MiB; then ten times the capacity from one principal. See docs/testing.md.

    ERGON_ATTACKS   names of attacks, and `overload`; all
    ERGON_SECONDS   how long each; 60. Before and after it the good client is measured for a quarter of that

Where there are processors enough the server has half of them, and attackers and good client the others, the attackers
behind the good client, which goes before all others there (SCHED_FIFO, where the system lets it): what a client is made
to wait for by its own machine says nothing of the server.
"""
import os
import signal
import subprocess
import sys
import tempfile

os.environ["ERGON_BUILD"] = os.path.abspath(os.environ.get("ERGON_BUILD", "build"))  # the same in a container
from attack import ATTACKS
from overload import overload
from siege import Broken, NoFigure, Siege
from walls import NoWalls, Open, walls

MEMORY = 256 << 20  # bytes
TRIES = 3  # where the generator ran late
SLOWER, MORE_MS = 3, 2  # a p99 beside an attack: at most so many times the quiet one, and so much more


def judge(figures):
    """What is wrong, in words."""
    limit = SLOWER * figures.quiet + MORE_MS
    if figures.peak > MEMORY:
        yield f"{figures.peak >> 20} MiB"
    for when in ("during", "after"):
        if getattr(figures, when) > limit:
            yield f"p99 {when} is {getattr(figures, when):.2f} ms, more than {limit:.2f}"


def split_processors():
    """Ours are the second half from now on; those of the server."""
    cpus = sorted(os.sched_getaffinity(0))
    half = len(cpus) // 2
    if half == 0:
        return cpus
    os.sched_setaffinity(0, cpus[half:])
    return cpus[:half]


def one(name, seconds, own, around):
    """True if it is borne, by a server on these processors, in these walls."""
    for left in reversed(range(TRIES)):
        try:
            with tempfile.TemporaryDirectory() as folder:
                siege = Siege(folder, ("-c", "4", "-i", "64", "-r", "1000"), seconds, max(1, seconds // 4), walls=around, first=True,
                              wrapper=("taskset", "-c", ",".join(map(str, own[:1] if name == "overload" else own))))
                figures = overload(siege) if name == "overload" else siege.run(name)
            break
        except NoFigure as e:
            print(f"{name:15} {'once more' if left else 'NO FIGURE'}: no call was lost, but {e}", flush=True)
            if not left:
                return False
        except (Broken, AssertionError, OSError, subprocess.SubprocessError) as e:
            print(f"{name:15} NOT BORNE: {' '.join(str(e).split())[:600]}", flush=True)
            return False
    print(figures.line(name), flush=True)
    wrong = list(judge(figures))
    if wrong:
        print(f"{'':15} NOT BORNE: {'; '.join(wrong)}", flush=True)
    return not wrong


def make_walls():
    try:
        around = walls(MEMORY)
        print(f"the server may take {MEMORY >> 20} MiB, {around}", flush=True)
    except NoWalls as e:
        around = Open()
        print(f"no walls can be made here ({e}): the resident memory is looked at instead, which may be {MEMORY >> 20} MiB at most", flush=True)
    return around


def main():
    seconds = int(os.environ.get("ERGON_SECONDS", "60"))
    names = os.environ.get("ERGON_ATTACKS", "").split() or [*ATTACKS, "overload"]
    unknown = [n for n in names if n not in ATTACKS and n != "overload"]
    if unknown:
        print(f"no attack is called {unknown[0]}; there are: {' '.join(ATTACKS)} overload", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):  # leaves nothing behind then either
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    around = make_walls()
    own = split_processors()
    try:
        failed = [name for name in names if not one(name, seconds, own, around)]
    finally:
        around.close()
    print(f"{len(names) - len(failed)} of {len(names)} borne" + (f"; not: {' '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
