"""What something costs a task: the same load on servers that have it, and on one that does not, in turns.

Two figures: instructions of user space, by callgrind, as the difference of a long run and a brief one, so that the start of the
server is not in it; and processor time of all its threads.  Ratios are medians of those within a turn."""

import contextlib
import dataclasses
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

METHOD = "echo"
# Under callgrind steps are so slow that a server takes them for stuck.  It would then look into the thread by a signal, which
# would be counted, and which callgrind does not survive.
PATIENT = ("--step-limit", "1h", "--round-limit", "1h")


class Broken(Exception):
    """The measurement could not be made."""


@dataclasses.dataclass(frozen=True)
class Way:
    """How a server is run."""

    name: str
    build: str  # directory of its program
    flags: tuple = ()
    workers: int = 0  # processes that offer what is called


@dataclasses.dataclass(frozen=True)
class Load:
    """What a server is asked."""

    connections: int = 64
    in_flight: int = 16
    method: str = METHOD
    submit: str = ""      # options of the task; "": a call
    brief: int = 20_000   # tasks of the two runs whose instructions are counted
    long: int = 60_000

    def __str__(self):
        return f"{self.method}{f' submitted {self.submit}' if self.submit else ''}, {self.connections} connections x {self.in_flight}"

    def arguments(self, tasks):
        submit = ("--submit", self.submit) if self.submit else ()
        return ["bench", "-c", str(self.connections), "-i", str(self.in_flight), "-m", self.method, "-n", str(tasks), *submit]


ECHO = Load()


class Server:
    """It has a folder of its own, `{folder}` in the flags of its way, which goes with it.  `tools` is the build of what asks it."""

    def __init__(self, way, tools, load=ECHO, wrapper=()):
        self.tools, self.what, self.workers = tools, load, []
        self.folder = tempfile.TemporaryDirectory()
        argv = [*wrapper, os.path.join(way.build, "server/ergond"), "--listen", "ergon://127.0.0.1:0", "--loops", "1", "--log-level", "warn",
                *(flag.replace("{folder}", self.folder.name) for flag in way.flags)]
        self.log = os.path.join(self.folder.name, "log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=log, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Broken(f"{' '.join(argv)} did not start: {self.last_words()}")
        port = self.url.rsplit(":", 1)[1]
        for _ in range(way.workers):
            program = [os.path.join(tools, "tests/bench/peers/ergon_worker"), port, load.method, str(load.connections * load.in_flight)]
            self.workers.append(subprocess.Popen(program, stdout=subprocess.PIPE, text=True))
            if not self.workers[-1].stdout.readline():
                raise Broken(f"{' '.join(program)} did not register")

    def ask(self, *command):
        done = subprocess.run([os.path.join(self.tools, "client/cli/ergon"), "--json", "--server", self.url, *command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Broken(done.stderr.strip() or done.stdout.strip())
        return json.loads(done.stdout)

    def load(self, tasks):
        return self.ask(*self.what.arguments(tasks))

    def last_words(self):
        """Of valgrind's, which are many where it gives up, the first."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            said = log.read()
        first = re.search(r"^(valgrind|callgrind):.*", said, re.M | re.S)
        return first.group()[:600] if first else said[-600:].strip()

    def processor_ns(self):
        total = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total

    def stop(self):
        """Broken where the server did not end as it ends when it is asked to: then what was counted is not all."""
        for process in (*self.workers, self.process):
            process.terminate()
            process.wait()
        said = self.last_words()
        self.folder.cleanup()
        if self.process.returncode != 0:
            raise Broken(f"{' '.join(self.process.args)} ended with {self.process.returncode}: {said}")


def count_once(way, tools, load, tasks, folder):
    out = os.path.join(folder, "callgrind")
    way = dataclasses.replace(way, flags=(*way.flags, *PATIENT))
    server = Server(way, tools, load, ("valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"))
    try:
        server.load(tasks)
    finally:
        server.stop()
    with open(out, encoding="utf-8", errors="replace") as f:
        counted = re.findall(r"^(?:summary|totals): (\d+)", f.read(), re.M)
    if not counted:
        raise Broken(f"callgrind counted nothing of {way.name}")
    return int(counted[-1])


def count_instructions(way, tools, load, tasks, folder, tries=3):
    """callgrind gives up now and then: then it is told, and tried again."""
    try:
        return count_once(way, tools, load, tasks, folder)
    except Broken as broken:
        if tries == 1 or "valgrind" not in str(broken):
            raise
        print(f"again, {way.name}: {broken}", file=sys.stderr)
        return count_instructions(way, tools, load, tasks, folder, tries - 1)


def instructions(way, tools, load=ECHO):
    """Of user space, a task."""
    with tempfile.TemporaryDirectory() as folder:
        brief, long = (count_instructions(way, tools, load, n, folder) for n in (load.brief, load.long))
    return (long - brief) / (load.long - load.brief)


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


def measure(ways, tools, options, after=lambda servers: None):
    """The rows of both figures, or of one where there is no valgrind.  The first way is what the others are compared with;
    `after` gets {name: server}, before they stop."""
    names, by_name, rows = [w.name for w in ways], {w.name: w for w in ways}, []
    if options.pairs > 0 and shutil.which("valgrind"):
        rows.append(row("instructions", names, in_turns(options.pairs, names, lambda name: instructions(by_name[name], tools))))
    servers = {}
    with contextlib.ExitStack() as stack:
        for way in ways:
            servers[way.name] = Server(way, tools)
            stack.callback(servers[way.name].stop)
            servers[way.name].load(options.tasks // 10)
        rows.append(row("processor ns", names, in_turns(options.turns, names, lambda name: processor_time(servers[name], options.tasks))))
        after(servers)
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
    print(f"{ECHO}; a task; medians, and the ratio to {names[0]}")
    print(" ".join([f"{'':14}", f"{names[0]:>10}", *(f"{name:>10} {'ratio':>7}" for name in names[1:])]))
    for r in rows:
        print(" ".join([f"{r['figure']:14}", f"{r[names[0]]:>10.0f}", *(f"{r[name]:>10.0f} {r['ratios'][name]:>7.4f}" for name in names[1:])]))
