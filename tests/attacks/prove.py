#!/usr/bin/env python3
"""Each attack for a minute, in 256 MiB; then ten times the capacity from one principal. See docs/testing.md.

    ERGON_ATTACKS   names of attacks, and `overload`; all
    ERGON_SECONDS   how long each; 60
"""
import os
import subprocess
import sys
import tempfile

from attack import ATTACKS
from overload import overload
from siege import Broken, NoFigure, Siege

MEMORY = 256 << 20  # bytes
TRIES = 3  # where the generator ran late
SLOWER, MORE_MS = 3, 2  # a p99 beside an attack: at most so many times the quiet one, and so much more


class Walls:
    """A memory cgroup of the second version below our own, for the servers, where we may make one."""

    def __init__(self):
        self.path, self.wrapper = None, ()
        try:
            with open("/proc/self/cgroup") as f:
                own = next(line.split("::", 1)[1].strip() for line in f if line.startswith("0::"))
            path = f"/sys/fs/cgroup{own.rstrip('/')}/ergon-attacks-{os.getpid()}"
            if not os.path.exists(os.path.join(os.path.dirname(path), "cgroup.procs")):
                return
            os.mkdir(path)
            self.path = path
            for name, value in (("memory.max", MEMORY), ("memory.swap.max", 0)):
                with open(os.path.join(path, name), "w") as f:
                    f.write(str(value))
            self.wrapper = ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', path)
        except (OSError, StopIteration):
            self.close()

    def close(self):
        if self.path:
            os.rmdir(self.path)
        self.path = None

    def __str__(self):
        if self.wrapper:
            return f"in a cgroup of {MEMORY >> 20} MiB"
        return f"no memory cgroup can be made here: the resident memory is looked at instead, which may be {MEMORY >> 20} MiB at most"


def judge(figures):
    """What is wrong, in words."""
    limit = SLOWER * figures.quiet + MORE_MS
    if figures.peak > MEMORY:
        yield f"{figures.peak >> 20} MiB"
    for when in ("during", "after"):
        if getattr(figures, when) > limit:
            yield f"p99 {when} is {getattr(figures, when):.2f} ms, more than {limit:.2f}"


def one(name, seconds, walls):
    """True if it is borne."""
    for left in reversed(range(TRIES)):
        try:
            with tempfile.TemporaryDirectory() as folder:
                if name == "overload":
                    figures = overload(folder, seconds)
                else:
                    figures = Siege(folder, ("-c", "4", "-i", "64", "-r", "1000", "-d", f"{seconds}s"), wrapper=walls.wrapper).run(name)
            break
        except NoFigure as e:
            print(f"{name:14}{'once more' if left else 'NO FIGURE'}: no call was lost, but {e}", flush=True)
            if not left:
                return False
        except (Broken, AssertionError, OSError, subprocess.SubprocessError) as e:
            print(f"{name:14}NOT BORNE: {' '.join(str(e).split())[:600]}", flush=True)
            return False
    print(figures.line(name), flush=True)
    wrong = list(judge(figures))
    if wrong:
        print(f"{'':14}NOT BORNE: {'; '.join(wrong)}", flush=True)
    return not wrong


def main():
    seconds = int(os.environ.get("ERGON_SECONDS", "60"))
    names = os.environ.get("ERGON_ATTACKS", "").split() or [*ATTACKS, "overload"]
    unknown = [n for n in names if n not in ATTACKS and n != "overload"]
    if unknown:
        print(f"no attack is called {unknown[0]}; there are: {' '.join(ATTACKS)} overload", file=sys.stderr)
        return 2
    walls = Walls()
    print(walls, flush=True)
    try:
        failed = [name for name in names if not one(name, seconds, walls)]
    finally:
        walls.close()
    print(f"{len(names) - len(failed)} of {len(names)} borne" + (f"; not: {' '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
