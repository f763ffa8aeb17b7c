"""What something costs a task: the same load on servers that have it, and on one that does not, in turns.

Two figures: instructions of user space, by callgrind, as the difference of a long run and a brief one, so that the start of the
server is not in it; and processor time of all its threads.  Ratios are medians of those within a turn."""

import dataclasses
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

CONNECTIONS, IN_FLIGHT, METHOD = 64, 16, "echo"
BRIEF, LONG = 20_000, 60_000  # tasks of the two runs that are counted


class Broken(Exception):
    """The measurement could not be made."""


@dataclasses.dataclass(frozen=True)
class Way:
    """How a server is run."""

    name: str
    build: str  # directory of its program
    flags: tuple = ()


class Server:
    def __init__(self, way, ergon, wrapper=()):
        self.ergon = ergon
        argv = [*wrapper, os.path.join(way.build, "server/ergond"), "--listen", "ergon://127.0.0.1:0", "--loops", "1", "--log-level", "warn",
                *way.flags]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Broken(f"{' '.join(argv)} did not start")

    def ask(self, *command):
        done = subprocess.run([self.ergon, "--json", "--server", self.url, *command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Broken(done.stderr.strip())
        return json.loads(done.stdout)

    def load(self, tasks):
        return self.ask("bench", "-c", str(CONNECTIONS), "-i", str(IN_FLIGHT), "-m", METHOD, "-n", str(tasks))

    def processor_ns(self):
        total = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total

    def stop(self):
        self.process.terminate()
        self.process.wait()


def count_instructions(way, ergon, tasks, folder):
    out = os.path.join(folder, "callgrind")
    server = Server(way, ergon, ("valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"))
    try:
        server.load(tasks)
    finally:
        server.stop()
    with open(out, encoding="utf-8", errors="replace") as f:
        return int(re.findall(r"^(?:summary|totals): (\d+)", f.read(), re.M)[-1])


def instructions(way, ergon):
    """Of user space, a task."""
    with tempfile.TemporaryDirectory() as folder:
        brief, long = (count_instructions(way, ergon, n, folder) for n in (BRIEF, LONG))
    return (long - brief) / (LONG - BRIEF)


def processor_time(server, tasks):
    """ns of all threads, a task."""
    before = server.processor_ns()
    server.load(tasks)
    return (server.processor_ns() - before) / tasks


def in_turns(rounds, names, measure):
    """[{name: figure}], each first as often as the others."""
    turns = []
    for i in range(rounds):
        first = i % len(names)
        turns.append({name: measure(name) for name in [*names[first:], *names[:first]]})
    return turns


def row(figure, names, turns):
    base = names[0]
    return {"figure": figure, **{name: statistics.median(t[name] for t in turns) for name in names},
            "ratios": {name: statistics.median(t[name] / t[base] for t in turns) for name in names[1:]}}


def measure(ways, ergon, options, after=lambda servers: None):
    """The rows of both figures, or of one where there is no valgrind.  The first way is what the others are compared with;
    `after` gets {name: server}, before they stop."""
    names, by_name, rows = [w.name for w in ways], {w.name: w for w in ways}, []
    if options.pairs > 0 and shutil.which("valgrind"):
        rows.append(row("instructions", names, in_turns(options.pairs, names, lambda name: instructions(by_name[name], ergon))))
    servers = {}
    try:
        for way in ways:
            servers[way.name] = Server(way, ergon)
            servers[way.name].load(options.tasks // 10)
        rows.append(row("processor ns", names, in_turns(options.turns, names, lambda name: processor_time(servers[name], options.tasks))))
        after(servers)
    finally:
        for server in servers.values():
            server.stop()
    return rows


def add_options(parser):
    parser.add_argument("--build", default="build", help="directory of the programs (build)")
    parser.add_argument("--pairs", type=int, default=3, help="of runs whose instructions are counted (3); 0: none")
    parser.add_argument("--turns", type=int, default=9, help="in which processor time is measured (9)")
    parser.add_argument("--tasks", type=int, default=400_000, help="of one turn (400000)")
    parser.add_argument("--json", action="store_true", help="rows as JSON instead of the table")


def tell(rows, options):
    if options.json:
        print(json.dumps(rows))
        return
    names = [name for name in rows[0] if name not in ("figure", "ratios")]
    print(f"{METHOD}, {CONNECTIONS} connections x {IN_FLIGHT}; a task; medians, and the ratio to {names[0]}")
    print(" ".join([f"{'':14}", f"{names[0]:>10}", *(f"{name:>10} {'ratio':>7}" for name in names[1:])]))
    for r in rows:
        print(" ".join([f"{r['figure']:14}", f"{r[names[0]]:>10.0f}", *(f"{r[name]:>10.0f} {r['ratios'][name]:>7.4f}" for name in names[1:])]))
