"""What the flight recorder costs a task: a server with it against one without; prints a table.  See README.md."""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

BAR = 1.01  # with : without
CONNECTIONS, IN_FLIGHT, METHOD = 64, 16, "echo"
BRIEF, LONG = 20_000, 60_000  # tasks of the two runs, whose difference has no start in it
WITH, WITHOUT = "with", "without"


class Broken(Exception):
    """The measurement could not be made."""


class Server:
    def __init__(self, options, which, wrapper=()):
        self.options = options
        build = options.build if which == WITH else options.without
        argv = [*wrapper, os.path.join(build, "server/ergond"), "--listen", "ergon://127.0.0.1:0", "--loops", "1", "--log-level", "warn"]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Broken(f"{' '.join(argv)} did not start")

    def load(self, tasks):
        argv = [os.path.join(self.options.build, "client/cli/ergon"), "--json", "--server", self.url, "bench", "-c", str(CONNECTIONS),
                "-i", str(IN_FLIGHT), "-m", METHOD, "-n", str(tasks)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Broken(done.stderr.strip())
        return json.loads(done.stdout)

    def processor_ns(self):
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as f:
            main = int(f.read().split()[0])
        total = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        return max(total, main)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def count_instructions(options, which, tasks, folder):
    out = os.path.join(folder, "callgrind")
    server = Server(options, which, ("valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"))
    try:
        server.load(tasks)
    finally:
        server.stop()
    with open(out, encoding="utf-8", errors="replace") as f:
        return int(re.findall(r"^(?:summary|totals): (\d+)", f.read(), re.M)[-1])


def instructions(options, which):
    """Of user space, a task."""
    with tempfile.TemporaryDirectory() as folder:
        brief, long = (count_instructions(options, which, n, folder) for n in (BRIEF, LONG))
    return (long - brief) / (LONG - BRIEF)


def processor_time(servers, which, tasks):
    """ns of all threads, a task."""
    before = servers[which].processor_ns()
    servers[which].load(tasks)
    return (servers[which].processor_ns() - before) / tasks


def in_turns(rounds, measure):
    """[{WITH: figure, WITHOUT: figure}], each first as often as the other."""
    turns = []
    for i in range(rounds):
        order = (WITH, WITHOUT) if i % 2 == 0 else (WITHOUT, WITH)
        figures = {which: measure(which) for which in order}
        turns.append(figures)
    return turns


def row(name, turns):
    return {"figure": name, **{which: statistics.median(t[which] for t in turns) for which in (WITH, WITHOUT)},
            "ratio": statistics.median(t[WITH] / t[WITHOUT] for t in turns)}


def measure(options):
    rows = []
    if shutil.which("valgrind"):
        rows.append(row("instructions", in_turns(options.pairs, lambda which: instructions(options, which))))
    servers = {which: Server(options, which) for which in (WITH, WITHOUT)}
    try:
        for server in servers.values():
            server.load(options.tasks // 10)
        rows.append(row("processor ns", in_turns(options.turns, lambda which: processor_time(servers, which, options.tasks))))
    finally:
        for server in servers.values():
            server.stop()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="directory of the programs (build)")
    parser.add_argument("--without", help="the same, with -DERGON_NO_RECORDER (BUILD-no-recorder)")
    parser.add_argument("--pairs", type=int, default=3, help="of runs whose instructions are counted (3)")
    parser.add_argument("--turns", type=int, default=9, help="in which processor time is measured (9)")
    parser.add_argument("--tasks", type=int, default=400_000, help="of one turn (400000)")
    parser.add_argument("--json", action="store_true", help="one object a row instead of the table")
    options = parser.parse_args()
    options.without = options.without or options.build + "-no-recorder"
    rows = measure(options)
    if options.json:
        print(json.dumps(rows))
    else:
        print(f"{METHOD}, {CONNECTIONS} connections x {IN_FLIGHT}; a task; medians")
        print(f"{'':14}  {WITH:>8}  {WITHOUT:>8}  {'ratio':>6}")
        for r in rows:
            print(f"{r['figure']:14}  {r[WITH]:>8.0f}  {r[WITHOUT]:>8.0f}  {r['ratio']:>6.4f}")
    # Processor time spreads too widely for a bar of a hundredth.
    return any(r["figure"] == "instructions" and r["ratio"] > BAR for r in rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Broken as e:
        sys.exit(f"recorder: {e}")
