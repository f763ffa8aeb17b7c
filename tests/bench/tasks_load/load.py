"""A million kept tasks: memory of each, submissions a second, lateness, time of a start; prints a table.  See README.md."""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../peers"))
import program  # noqa: E402
from pairs import machine  # noqa: E402
from servers import Broken, Ergon  # noqa: E402

PING = b"\x94\x00\x01\xabserver.ping\x90"
START_SECONDS, SETTLE_SECONDS, AN_HOUR_MS = 60, 60, 3600_000
BARS = {"memory": 512, "submits": 200e3, "lateness": 20, "start": 5}


class Server(Ergon):
    """With the module that is late, and room for all tasks."""

    name = "ergon-load"
    store = None

    def argv(self):
        argv = [*super().argv(), "--module", self.built("tests/bench/tasks_load/late.so"), "--tasks-max", "16777216",
                "--tasks-bytes", "16g"]
        return argv + (["--store", self.store] if self.store else [])

    def call(self, method, *params):
        done = subprocess.run([self.built("client/cli/ergon"), "--json", "--timeout", "60s", "--server",
                               f"ergon://127.0.0.1:{self.port}", "call", method, *params], capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"{method}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def submit(self, options, first_ms, over_ms, durable):
        """All tasks, in batches."""
        numbers = (self.port, options.tasks, options.batch, options.connections, options.in_flight, first_ms, over_ms)
        argv = [self.built("tests/bench/tasks_load/submit_many"), *map(str, numbers), durable]

        def before():
            if options.driver_on:
                os.sched_setaffinity(0, options.driver_on)

        done = subprocess.run(argv, preexec_fn=before, capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"submit_many: {done.stderr.strip()}")
        said = json.loads(done.stdout)
        if said["refused"] > 0:
            raise Broken(f"{said['refused']} of {said['tasks']} tasks were refused: {said['error']}")
        return said

    def anonymous(self):
        with open(f"/proc/{self.pids()[0]}/smaps_rollup", encoding="ascii") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("Anonymous:"))

    def kept(self):
        """How many tasks of `late` wait for their time."""
        return next((q["delayed"] for q in self.call("queue.list") if q["method"] == "late"), 0)

    def kill(self):
        for process in self.processes.running:
            process.kill()
        self.stop()


# ---- what is measured ----

def first_answer(server, processors):
    """Seconds from the start of the process to its answer to a ping."""
    began = time.monotonic()
    server.start(processors)
    with socket.create_connection(("127.0.0.1", server.port), START_SECONDS) as s:
        s.settimeout(START_SECONDS)
        s.sendall(PING)
        if not s.recv(64):
            raise Broken("the server closed its first connection")
    return time.monotonic() - began


def delayed(options):
    """Memory, submissions, and how late the tasks are when all are due in a short time."""
    server = Server(options)
    try:
        server.start(options.server_on)
        server.call("late.report")
        before = server.anonymous()
        first = int(time.time() * 1000) + int(options.lead * 1000)
        over = int(options.tasks / options.rate * 1000)
        said = server.submit(options, first, over, "none")
        bytes_each = (server.anonymous() - before) / options.tasks
        if time.time() * 1000 > first:
            raise Broken(f"the tasks were due before all were submitted, which took {said['seconds']:.1f} s: try --lead")
        yield "bytes of a delayed task, 64 bytes of parameters", f"at most {BARS['memory']}", bytes_each, bytes_each <= BARS["memory"]
        yield (f"task.submit_many, durable: none, batches of {options.batch}: tasks a second",
               f"at least {BARS['submits']:.0f}", said["rate"], said["rate"] >= BARS["submits"])
        time.sleep(max(0, (first + over) / 1000 - time.time()) + 1)
        late = report_when_all(server, options)
        span = (late["last"] - late["first"]) / 1000
        yield f"starts a second, {options.rate:.0f} due", "", late["count"] / span, True
        for figure in ("p50", "p99", "p999", "max"):
            yield (f"lateness of a start, ms: {figure}", f"at most {BARS['lateness']}", late[figure],
                   late[figure] <= BARS["lateness"])
    finally:
        server.stop()


def report_when_all(server, options):
    until = time.monotonic() + SETTLE_SECONDS
    while True:
        open_tasks = server.kept()
        if open_tasks == 0:
            break
        if time.monotonic() > until:
            raise Broken(f"{open_tasks} tasks have not been run")
        time.sleep(0.5)
    late = json.loads(server.call("late.report"))
    if late["count"] != options.tasks:
        raise Broken(f"{late['count']} of {options.tasks} tasks were run")
    return late


def durable(options):
    """Submissions to the disk, and the start of a server that reads them back: after a stop, and after a kill."""
    server = Server(options)
    server.store = os.path.join(options.folder, "tasks.db")
    try:
        server.start(options.server_on)
        first = int(time.time() * 1000) + AN_HOUR_MS
        said = server.submit(options, first, AN_HOUR_MS, "fsync")
        yield f"task.submit_many, durable: fsync, batches of {options.batch}: tasks a second", "", said["rate"], True
        server.kill()
        for how in ("killed", "stopped"):
            seconds = first_answer(server, options.server_on)
            if server.kept() != options.tasks:
                raise Broken(f"{how}: {server.kept()} of {options.tasks} tasks came back")
            yield (f"seconds from the start of a server that was {how} to its first answer, {options.tasks} durable tasks",
                   f"at most {BARS['start']}", seconds, seconds <= BARS["start"])
            server.stop()
    finally:
        server.stop()


PARTS = {"delayed": delayed, "durable": durable}


# ---- the command ----

def measured(options):
    for part in options.part or PARTS:
        try:
            for what, bar, value, good in PARTS[part](options):
                print(f"| {what} | {bar} | {value:.4g} |" + ("" if good else " MISSED"), flush=True)
                yield {"row": what, "bar": bar, "value": value, "good": good}
        except (Broken, OSError, subprocess.SubprocessError) as broken:
            print(f"| {part} | {str(broken).splitlines()[0]} | |", flush=True)
            yield {"row": part, "error": str(broken), "good": False}


def arguments():
    a = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    a.add_argument("--part", action="append", choices=list(PARTS), help="repeat it (all)")
    a.add_argument("--tasks", type=int, default=1000000, help="(1000000)")
    a.add_argument("--rate", type=float, default=50000, help="tasks due in a second (50000)")
    a.add_argument("--lead", type=float, default=12, help="seconds between the first submission and the first task due (12)")
    a.add_argument("--batch", type=int, default=500, help="tasks of one submit_many (500)")
    a.add_argument("--connections", type=int, default=4, help="that submit (4)")
    a.add_argument("--in-flight", type=int, default=2, help="batches of each connection (2)")
    a.add_argument("--dir", metavar="FOLDER", help="where the store is; not in memory (the build directory)")
    return program.parse(a)


def main():
    options = arguments()
    options.work = options.folder = tempfile.mkdtemp(prefix="tasks-load-", dir=options.dir or options.build)
    box, rows = machine(), []
    print(f"{time.strftime('%Y-%m-%d')}, {box['processors']} x {box['model']}, {box['system']}; "
          + ("server on processor 0, driver on 1" if options.server_on else "on any processor")
          + "\n\n| row | bar | value |\n| --- | --- | --- |", flush=True)
    try:
        with program.until_interrupted():
            rows.extend(measured(options))
    finally:
        shutil.rmtree(options.folder, ignore_errors=True)
    program.end(options, {"machine": box, "rows": rows}, rows and all(row["good"] for row in rows))


main()
