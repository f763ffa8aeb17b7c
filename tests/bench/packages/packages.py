"""What a worker's registry costs, and a task's round trip in Python beside Celery and RQ; prints a table.  See README.md.

Everything runs in a network namespace of its own, where Redis has its usual port."""

import argparse
import contextlib
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
CLIENTS = os.path.join(SOURCE, "clients")
PYTHON = "/usr/bin/python3"
LANGUAGES = ("python", "node", "go")
START_SECONDS = 30
TEXT = "x" * 64


class Broken(Exception):
    """The measurement could not be made."""


class Bench:
    """What runs for all rounds: a server, two workers a language, and Redis with the peers' workers."""

    def __init__(self, options, stack, folder):
        self.options, self.stack, self.folder = options, stack, folder
        self.ergond = os.path.join(options.build, "server/ergond")
        self.ergon = os.path.join(options.build, "client/cli/ergon")
        server = self.start([self.ergond, "--listen", f"unix://{folder}/socket", "--loops", "1"], on=0, stdout=subprocess.PIPE)
        server.stdout.readline()
        self.environment = {**os.environ, "ERGON_URL": f"unix://{folder}/socket", "PYTHONPATH": f"{CLIENTS}/python:{HERE}",
                            "NODE_PATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        os.symlink(f"{CLIENTS}/node", f"{folder}/ergon-client")
        self.workers = {}

    def start(self, argv, on, **more):
        """On that processor; it ends with the benchmark."""
        pinned = ["taskset", "-c", str(on % os.cpu_count()), *argv]
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            child = subprocess.Popen(pinned, text=True, stderr=log, **{"stdout": log, **more})
        self.stack.callback(child.wait)
        self.stack.callback(child.kill)
        return child

    def start_workers(self):
        program = os.path.join(self.folder, "worker")
        build_go(self.folder, program)
        launch = os.path.join(CLIENTS, "node", "bin", "ergon-work.js")
        for name, argv in {
            "python.plain": [PYTHON, f"{HERE}/worker_plain.py"],
            "python.app": [PYTHON, "-m", "ergon_client", "work", "worker_app:app", "--slots", "16"],
            "node.plain": ["node", f"{HERE}/worker_plain.js"],
            "node.app": ["node", launch, f"{HERE}/worker_app.js", "--slots", "16"],
            "go.plain": [program, "plain"],
            "go.app": [program, "app"],
        }.items():
            self.workers[name] = self.start(argv, on=1, env=self.environment)
            self.until(lambda: self.ask("call", name, TEXT) is not None, f"a worker of {name}")

    def until(self, there, what):
        until = time.monotonic() + START_SECONDS
        while not there():
            if time.monotonic() > until:
                with open(os.path.join(self.folder, "log"), encoding="utf-8") as log:
                    raise Broken(f"{what} is not there after {START_SECONDS} s: {log.read()[-2000:]}")
            time.sleep(0.1)

    def ask(self, *words):
        done = subprocess.run(["taskset", "-c", "0", self.ergon, "--json", "--server", f"unix://{self.folder}/socket", *words],
                              capture_output=True, text=True, check=False)
        self.failure = done.stderr + done.stdout
        return json.loads(done.stdout) if done.returncode == 0 else None

    def time_of(self, name):
        """us of each call, with 16 under way."""
        said = self.ask("bench", "-c", "1", "-i", "16", "-d", f"{self.options.seconds:.0f}s", "-m", name, TEXT)
        if said is None:
            raise Broken(f"the calls of {name} failed: {self.failure}")
        return 1e6 / said["answers_per_second"]


def build_go(folder, program):
    place = os.path.join(folder, "go")
    os.mkdir(place)
    shutil.copy(os.path.join(HERE, "worker.go"), place)
    with open(os.path.join(place, "go.mod"), "w", encoding="utf-8") as file:
        file.write(f"module worker\n\ngo 1.19\n\nrequire ergon-client v0.0.0\n\nreplace ergon-client => {CLIENTS}/go\n")
    subprocess.run(["go", "build", "-o", program, "."], cwd=place, check=True)


def registries(bench):
    """A row a language: medians over the rounds, which go round all workers."""
    seen = {name: [] for name in bench.workers}
    for _ in range(bench.options.rounds):
        for name in seen:
            seen[name].append(bench.time_of(name))
    for language in LANGUAGES:
        plain, app = seen[f"{language}.plain"], seen[f"{language}.app"]
        ratios = [b / a for a, b in zip(plain, app, strict=True)]
        yield (f"{language}: the registry's worker : work()", f"{statistics.median(app):.1f} / {statistics.median(plain):.1f}",
               f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})")


def timed(once, seconds):
    """us of each, one after the other."""
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        once()
        count += 1
    return (time.perf_counter() - began) / count * 1e6


def peers(bench):
    """The round trip of one task after the other: submitted, run by a worker, its result fetched."""
    os.environ.update(bench.environment)
    sys.path[:0] = [f"{CLIENTS}/python", HERE]
    import celery_peer
    import redis
    import rq
    import rq_peer
    import worker_app
    bench.start(["redis-server", "--save", "", "--appendonly", "no"], on=0)
    store = redis.Redis()
    bench.until(lambda: is_up(store, redis.ConnectionError), "redis-server")
    bench.start([PYTHON, "-m", "celery", "-A", "celery_peer", "worker", "-c", "1", "-l", "warning"], on=1, env=bench.environment)
    bench.start([PYTHON, "-m", "rq.cli", "worker", "-q", "-w", "rq.SimpleWorker"], on=1, env=bench.environment)
    queue = rq.Queue(connection=store)

    def of_rq():
        job = queue.enqueue(rq_peer.echo, TEXT)
        while not job.is_finished:
            time.sleep(0.001)
        assert job.result == TEXT

    ways = {"ergon": lambda: worker_app.echo.submit(TEXT).wait(), "celery": lambda: celery_peer.echo.delay(TEXT).get(),
            "rq": of_rq}
    seen = {way: [] for way in ways}
    for once in ways.values():
        once()
    for _ in range(bench.options.rounds):
        for way, once in ways.items():
            seen[way].append(timed(once, bench.options.seconds))
    worker_app.app.client.close()
    gc.collect()  # results of Celery tell Redis that they go
    for way in ("celery", "rq"):
        ratios = [b / a for a, b in zip(seen["ergon"], seen[way], strict=True)]
        yield (f"a task from submission to result: {way} : Ergon's registry",
               f"{statistics.median(seen[way]):.0f} / {statistics.median(seen['ergon']):.0f}",
               f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})")


def is_up(store, refused):
    with contextlib.suppress(refused):
        return store.ping()
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="directory of the build (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement (%(default)s)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    with contextlib.ExitStack() as stack:
        bench = Bench(options, stack, stack.enter_context(tempfile.TemporaryDirectory()))
        bench.start_workers()
        print("| | us of each | ratio |\n| --- | --- | --- |")
        for row in (*registries(bench), *peers(bench)):
            print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    if os.environ.get("ERGON_APART") != "yes":  # once more, where no port is taken
        done = subprocess.run(["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", PYTHON,
                               *sys.argv], env={**os.environ, "ERGON_APART": "yes"}, check=False)
        sys.exit(done.returncode)
    try:
        main()
    except (Broken, subprocess.CalledProcessError) as error:
        sys.exit(f"packages.py: {error}")
