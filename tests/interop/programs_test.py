"""The programs of docs/coming-from.md: in Python, Node and Go with Ergon, and in Celery, RQ and BullMQ on a Redis, each says
the same.  Ours has no more lines than theirs in its language, and the page shows all of them.

Each runs with its workers in a network namespace of its own, where Redis and Ergon have their usual ports."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import interop

SOURCE = os.path.dirname(os.path.dirname(interop.HERE))
CLIENTS = os.path.join(SOURCE, "clients")
PROGRAMS = os.path.join(SOURCE, "examples", "programs")
BUILD = os.path.abspath(os.environ.get("ERGON_BUILD", "build"))
PYTHON = "/usr/bin/python3"
LIMIT = 120  # s until something has happened
# A pattern; on a busy machine an attempt may need more than its five seconds.
SAYS = {"chain": "STORE", "fan_out": "285", "retry": "index at attempt [234]", "limited": "true", "periodic": "the daily report",
        "results": "a page, fetched, resized, stored", "callback": "285",
        "saga": "book flight, book hotel, cancel hotel, cancel flight"}
PEERS = {"py": ("celery", "rq"), "js": ("bullmq",), "go": ()}


def path_of(program, stack, suffix):
    return os.path.join(PROGRAMS, f"{program}_{stack}.{suffix}")


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return sum(bool(line.strip()) for line in file)


class Room:
    """Where one program runs: Redis, ergond, and a folder."""

    def __init__(self, stack, program):
        self.stack, self.program = stack, program
        self.folder = stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(f"{self.folder}/node_modules")
        os.symlink(f"{CLIENTS}/node", f"{self.folder}/node_modules/ergon-client")
        for name in ("redis-server", "--save", ""), (f"{BUILD}/server/ergond", "--listen", "ergon://127.0.0.1:7466"):
            self.start(name[0].rsplit("/", 1)[-1], *name)
        self.until(lambda: self.ergon("ping") is not None, "ergond")

    @property
    def environment(self):
        return {**os.environ, "ERGON_URL": "ergon://127.0.0.1", "PYTHONPATH": f"{CLIENTS}/python:{PROGRAMS}",
                "NODE_PATH": f"{self.folder}/node_modules:{interop.NPM}/node_modules", "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONUNBUFFERED": "1"}

    def log_of(self, name):
        with open(f"{self.folder}/{name}.log", encoding="utf-8") as log:
            return log.read()

    def start(self, name, *argv):
        """It ends with the room."""
        with open(f"{self.folder}/{name}.log", "w", encoding="utf-8") as log:
            child = subprocess.Popen(argv, cwd=self.folder, env=self.environment, stdout=log, stderr=subprocess.STDOUT)
        self.stack.callback(child.wait)
        self.stack.callback(child.kill)
        return child

    def until(self, there, name):
        until = time.monotonic() + LIMIT
        while not there():
            if time.monotonic() > until:
                raise AssertionError(f"{name} took longer than {LIMIT} s; its log:\n{self.log_of(name)}")
            time.sleep(0.05)

    def ergon(self, *words):
        done = subprocess.run([f"{BUILD}/client/cli/ergon", "--json", *words], env=self.environment, capture_output=True,
                              text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def run(self, *argv):
        done = subprocess.run(argv, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LIMIT,
                              check=False)
        if done.returncode != 0:
            raise AssertionError(f"{argv}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def try_one(self, stack, argv, worker=None, works=lambda: True):
        """Starts the worker, and runs the program; a periodic one is its worker, or has it."""
        name, is_periodic = f"{self.program}_{stack}", self.program == "periodic"
        child = self.start(name, *(worker or argv))
        if worker is not None:
            self.until(works, name)
        if is_periodic and stack == "rq":
            self.run(*argv)
        if is_periodic:
            self.until(lambda: self.log_of(name).count(SAYS["periodic"]) >= 2, name)
        elif worker is not None:
            said = self.run(*argv)
            assert re.fullmatch(SAYS[self.program], said, re.I), f"{name} says {said!r}; its worker: {self.log_of(name)}"
        else:
            child.wait(LIMIT)
            said = [line for line in self.log_of(name).splitlines() if "node" not in line]
            assert re.fullmatch(SAYS[self.program], "\n".join(said)), f"{name} says {said}"
        if stack == "ergon":
            for number in (signal.SIGTERM, signal.SIGINT):  # at once: handlers that sleep are not waited for
                child.send_signal(number)
        else:
            child.kill()
        child.wait(LIMIT)

    def offered(self):
        return bool(self.ergon("worker", "list"))

    def ours(self):
        module, file = f"{self.program}_ergon", path_of(self.program, "ergon", "js")
        self.try_one("ergon", [PYTHON, path_of(self.program, "ergon", "py")],
                     [PYTHON, "-m", "ergon_client", "work", f"{module}:app", "--slots", "2"], self.offered)
        self.try_one("ergon", ["node", file], ["node", f"{CLIENTS}/node/bin/ergon-work.js", file, "--slots", "2"], self.offered)
        built = build_go(self.folder, self.program)
        self.try_one("ergon", [built], [built, "-work", "-slots", "2"], self.offered)

    def theirs(self):
        celery = [PYTHON, "-m", "celery", "-A", f"{self.program}_celery", "worker", "-c", "2", "-l", "warning", "-B", "-s",
                  f"{self.folder}/beat"]
        self.try_one("celery", [PYTHON, path_of(self.program, "celery", "py")], celery)
        if os.path.exists(path_of(self.program, "rq", "py")):
            self.try_one("rq", [PYTHON, path_of(self.program, "rq", "py")],
                         [PYTHON, "-m", "rq.cli", "worker", "-q", "--with-scheduler"])
        self.try_one("bullmq", ["node", path_of(self.program, "bullmq", "js")])


def build_go(folder, program):
    place = os.path.join(folder, "go")
    os.mkdir(place)
    shutil.copy(path_of(program, "ergon", "go"), place)
    with open(os.path.join(place, "go.mod"), "w", encoding="utf-8") as file:
        file.write(f"module program\n\ngo 1.19\n\nrequire ergon-client v0.0.0\n\nreplace ergon-client => {CLIENTS}/go\n")
    subprocess.run(["go", "build", "-ldflags=-s -w", "-o", os.path.join(folder, "program"), "."], cwd=place, check=True)
    return os.path.join(folder, "program")


def inside(program):
    with contextlib.ExitStack() as stack:
        room = Room(stack, program)
        room.ours()
        room.theirs()


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        apart = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--map-root-user", "sh", "-c",
                 'ip link set lo up && exec "$@"', "sh"]
        cls.running = {program: subprocess.Popen([*apart, PYTHON, __file__, program], stdout=subprocess.PIPE,
                                                 stderr=subprocess.STDOUT, text=True) for program in SAYS}

    def expect(self, program):
        said, _ = self.running[program].communicate()
        self.assertEqual(self.running[program].returncode, 0, said)

    def test_chain(self):
        self.expect("chain")

    def test_fan_out(self):
        self.expect("fan_out")

    def test_retry_with_a_timeout(self):
        self.expect("retry")

    def test_periodic(self):
        self.expect("periodic")

    def test_limited(self):
        self.expect("limited")

    def test_chain_with_results(self):
        self.expect("results")

    def test_fan_out_with_a_callback(self):
        self.expect("callback")

    def test_saga(self):
        self.expect("saga")

    def test_ours_have_no_more_lines(self):
        for program in SAYS:
            for suffix, peers in PEERS.items():
                for peer in peers:
                    path = path_of(program, peer, suffix)
                    if os.path.exists(path):
                        self.assertLessEqual(lines_of(path_of(program, "ergon", suffix)), lines_of(path), path)

    def test_the_page_shows_them(self):
        with open(os.path.join(SOURCE, "docs", "coming-from.md"), encoding="utf-8") as file:
            shown = re.findall(r"^```\w+\n(.*?)^```$", file.read(), re.M | re.S)
        for name in sorted(os.listdir(PROGRAMS)):
            with open(os.path.join(PROGRAMS, name), encoding="utf-8") as file:
                self.assertIn(file.read(), shown, f"docs/coming-from.md does not show examples/programs/{name}")


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] in SAYS:
        inside(sys.argv[1])
    else:
        interop.needs("redis-server", "go", "unshare", "ip")
        interop.needs_npm()
        unittest.main()
