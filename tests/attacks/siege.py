"""A server under attack, with a good client beside the attacker: what the test and the proof have in common.

The attacker is a process of its own, comes from another address, and has another token or none. The good client is
`ergon bench` for the figures, and one connection that looks at every answer.
"""
import contextlib
import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

from walls import HERE, Open, was_killed
from harness import ERGON, LIMIT, Server, eventually  # found by walls

ELSEWHERE = "127.0.0.2"  # where the attacker comes from: what is held against its address is not held against others
BEHIND = 10  # how nice an attacker is to the good client, whose processor it may share
# Of the server, that make the attack's size count: what it may hold is no more than what a server in 256 MiB gives itself.
SMALL = ("--limits-memory", "128m", "--tasks-bytes", "64m")
FLAGS = {"silent": ("--limits-connections", "1000"), "idle": ("--limits-connections", "1000"), "decompress": ("--limits-memory", "128m"),
         "kept-bytes": SMALL, "elements": SMALL, "after": SMALL, "rate-names": SMALL, "half-read": SMALL, "worker-unread": SMALL, "worker-drips": SMALL, "worker-asks": SMALL, "worker-halves": SMALL,
         "worker-results": SMALL, "worker-silent": ("--limits-connections", "1000")}
ANONYMOUS = {"partial", "silent", "wrong-tokens", "lock-out"}  # those who have no token
NEAR = {"lock-out"}  # those who come from the good client's address
CLERKS = {"past-keys"}  # those who are of the good client's tenant, by a role that names keys
ROLES = """
roles:
  - {name: clerk, members: ["token:clerk"], methods: ["task.*", cron.put, echo], keys: ["letter-*"], tenant: good}
"""
LARGE = 15 << 20  # bytes


class Broken(AssertionError):
    """The good client was not served, or the server did not live."""


class NoFigure(Exception):
    """Nothing was lost, but the generators ran too late, so that it does not say how long calls take: the machine is busy otherwise."""


def measured(process, out, errors):
    """What `ergon bench` measured; Broken where calls were lost, NoFigure where it measured itself."""
    said = json.loads(out) if out else None
    if not said or said["errors"] or said["good"] != said["answers"] or said["lost"] or said["broken_connections"]:
        raise Broken(f"the good client was not served ({process.returncode}): {errors}{out}")
    if "every place in flight" in said.get("no_result", ""):
        raise Broken(f"the good client was served too slowly: {said['no_result']}")
    if "no_result" in said:
        raise NoFigure(said["no_result"])
    return said


def go_first():
    """This process waits for no other of its processor; False where the system does not let it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        return True
    except OSError:
        return False


@dataclasses.dataclass
class Figures:
    quiet: float  # p99 of the good client, ms
    during: float
    after: float  # ... the attackers vanished
    answers: int
    checked: int  # rounds of calls whose answers were looked at
    longest: float  # of these rounds, s
    peak: int  # resident bytes at most
    attack: dict

    def line(self, name):
        return (f"{name:15} p99 {self.quiet:8.2f} quiet {self.during:8.2f} during {self.after:8.2f} after ms; "
                f"{self.answers} answers, {self.checked} rounds looked at, the longest of {self.longest:.2f} s; at most {self.peak / 2**20:.0f} MiB; "
                f"attacker: {', '.join(f'{v} {k}' for k, v in sorted(self.attack.items()))}")


class Checker(threading.Thread):
    """Calls one method after the other until it is told to stop, and looks at the answers; and at the end at results that
    are kept since before the attack began."""

    def __init__(self, server, token, large):
        super().__init__(daemon=True)
        self.client = server.connect()
        self.client.call("server.auth", token)
        self.large, self.done, self.longest, self.stopping, self.fault = large, 0, 0.0, threading.Event(), None
        self.kept = {self.submit("x" * 10000 + str(i), "1h"): "x" * 10000 + str(i) for i in range(20)}
        self.client.call("sem.create", "gpu", 1)
        self.client.call("sem.acquire", "gpu")
        self.start()

    def submit(self, text, keep):
        """The id of a task that has ended well."""
        task = self.client.call("task.submit", "echo", [text], {"keep": keep})["id"]
        if self.client.call("task.wait", task)["ended"][0]["result"] != text:
            raise Broken(f"task {task} ended otherwise")
        return task

    def one(self, n):
        text = f"answer {n}"
        if self.client.call("echo", text) != text:
            raise Broken(f"echo {n} was answered wrongly")
        if self.client.call("hash", "sha256", text, "hex") != hashlib.sha256(text.encode()).hexdigest():
            raise Broken(f"hash {n} was answered wrongly")
        if self.client.call("sleep", "1ms") < 1:
            raise Broken(f"sleep {n} was answered wrongly")
        self.submit(text, "1m")
        if n < self.large:
            value = os.urandom(1024) * (LARGE // 1024)
            if self.client.call("echo", value) != value:
                raise Broken(f"large echo {n} was answered wrongly")

    def run(self):
        try:
            while not self.stopping.is_set() or self.done < self.large:
                began = time.monotonic()
                self.one(self.done)
                self.longest = max(self.longest, time.monotonic() - began)
                self.done += 1
                self.stopping.wait(0.005)
            for task, text in self.kept.items():
                if self.client.call("task.get", task)["result"] != text:
                    raise Broken(f"the result of task {task} did not stay")
            gpu = self.client.call("sem.explain", "gpu")
            if (gpu["permits"], gpu["free"], gpu["waiting"]) != (1, 0, 0):
                raise Broken(f"others had a say in the good client's semaphore: {gpu}")
        except Exception as e:  # whatever it is, the siege says it
            self.fault = e

    def stop(self):
        self.stopping.set()
        self.join(LIMIT)
        self.client.close()
        if self.fault or self.is_alive():
            raise Broken(f"the good client was not served: {self.fault or 'no answer'}")


class Siege:
    """`bench` are the options of the good client's load, which lasts so many seconds under attack, and `brief` before and after it;
    `flags`, `wrapper` and `walls` are the server's. With `first` that load goes before all others of its processor. `light`: the
    attacker repeats less."""

    def __init__(self, folder, bench=(), seconds=1, brief=1, flags=(), wrapper=(), walls=None, first=False, light=False):
        self.folder, self.bench, self.seconds, self.brief, self.first, self.light = folder, bench, seconds, brief, first, light
        self.flags, self.wrapper, self.walls = flags, wrapper, walls or Open()
        self.tokens = os.path.join(folder, "tokens")
        for name, methods in (("good", "*,worker.offer.*"), ("evil", "*,worker.offer.*"), ("clerk", "server.ping")):
            with open(self.path(name), "w") as f:
                subprocess.run([ERGON, "token", name, "--methods", methods, "--file", self.tokens], stdout=f, check=True)
        with open(self.path("config"), "w") as f:
            f.write(ROLES)

    def path(self, name):
        return os.path.join(self.folder, name)

    def token(self, name):
        with open(self.path(name)) as f:
            return f.read().strip()

    @contextlib.contextmanager
    def server(self, *flags, wrapper=()):
        """Within the walls; Broken where it was killed there. It is gone at the end."""
        server = Server("--config", self.path("config"), "--tokens", self.tokens, *flags, *self.flags, wrapper=(*self.walls.wrapper(self.folder), *self.wrapper, *wrapper))
        try:
            yield server
        except Exception as e:
            if was_killed(server):
                raise Broken("the kernel killed the server (SIGKILL), as it does what takes more memory than it may") from e
            raise
        finally:
            server.discard()
            self.walls.clear()

    def load(self, server, seconds):
        """One run of the good client; its p99 in ms, and how many answers it got."""
        argv = [ERGON, "--json", "-s", server.urls[0], "--token-file", self.path("good"), "bench", "-m", "echo", "-d", f"{seconds * 1000:.0f}ms",
                *self.bench]
        done = subprocess.run(argv, capture_output=True, text=True, preexec_fn=go_first if self.first else None)
        said = measured(done, done.stdout, done.stderr)
        return said["latency_us"]["p99"] / 1000, said["good"]

    @contextlib.contextmanager
    def attacker(self, server, name):
        """From when its whole size is under way; it vanishes by kill -9 at the end. Yields what it says."""
        argv = [sys.executable, os.path.join(HERE, "attack.py"), name, "--connect", server.urls[0], "--seconds", "3600"]
        argv += ["--light"] if self.light else []
        argv += [] if name in NEAR else ["--source", ELSEWHERE]
        argv += [] if name in ANONYMOUS else ["--token", self.path("clerk" if name in CLERKS else "evil")]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.nice(BEHIND))
        try:
            yield json.loads(process.stdout.readline())
            if process.poll() is not None:
                raise Broken(f"the attacker ended by itself ({process.returncode})")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def peak(self, server):
        with open(f"/proc/{self.walls.pid(server)}/status") as f:
            return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM"))

    @contextlib.contextmanager
    def full_log(self):
        """A wrapper of a server whose log is a pipe that is full from the start, and that nobody reads."""
        pipe = self.path("log")
        os.mkfifo(pipe)
        end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        try:
            for size in (4096, 1):
                with contextlib.suppress(BlockingIOError):
                    while os.write(end, bytes(size)):
                        pass
            yield ("sh", "-c", 'exec "$@" 2>"$0"', pipe)
        finally:
            os.close(end)

    def run(self, name):
        """Figures, or Broken."""
        with contextlib.ExitStack() as stack:
            wrapper = stack.enter_context(self.full_log()) if name == "wrong-tokens" else ()
            server = stack.enter_context(self.server(*FLAGS.get(name, ()), wrapper=wrapper))
            quiet, n = self.load(server, self.brief)
            checker = Checker(server, self.token("good"), 10 if name == "partial" else 0)
            with self.attacker(server, name) as said:
                during, m = self.load(server, self.seconds)
            after, k = self.load(server, self.brief)
            checker.stop()
            if server.process.poll() is not None:
                raise Broken(f"the server died: {server.process.returncode}")
            figures = Figures(quiet, during, after, n + m + k, checker.done, checker.longest, self.peak(server), said)
            server.signal(signal.SIGTERM)
            eventually(lambda: server.process.poll() is not None, "the server stops")
            if server.process.returncode != 0:
                raise Broken(f"ergond ended with {server.process.returncode}: {server.log_text()[-2000:]}")
            return figures
