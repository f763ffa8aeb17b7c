"""The memory that a server may have at most, the kernel's and the libraries' included: what goes beyond is killed.

A memory cgroup of the second version below our own, where one can be made; else a container of the image, with the
server of the build tree in it.
"""
import contextlib
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from harness import BUILD, ERGOND  # noqa: E402 (the path above)

DOCKER = os.path.join(HERE, "..", "..", "docker")
IMAGE = "ergon"
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)  # what a server's process ends with that the kernel killed


class NoWalls(Exception):
    """Such walls cannot be made here; says why."""


def was_killed(server):
    """Did the kernel kill it? Nobody here does so before a siege is over."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return server.process.wait(5) in KILLED  # whoever lost a connection may be first to notice
    return False


class Group:
    """A cgroup, in which each server is the only process."""

    def __init__(self, most):
        self.path = None
        try:
            with open("/proc/self/cgroup") as f:
                own = next(line.split("::", 1)[1].strip() for line in f if line.startswith("0::"))
            path = f"/sys/fs/cgroup{own.rstrip('/')}/ergon-attacks-{os.getpid()}"
            if not os.path.exists(os.path.join(os.path.dirname(path), "cgroup.procs")):
                raise NoWalls("no cgroup of the second version is there")
            os.mkdir(path)
            self.path = path
            for name, value in (("memory.max", most), ("memory.swap.max", 0)):
                with open(os.path.join(path, name), "w") as f:
                    f.write(str(value))
        except (OSError, StopIteration) as e:
            self.close()
            raise NoWalls(f"no cgroup can be made: {e}") from e

    def wrapper(self, _folder):
        return ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', self.path)

    def pid(self, server):
        return server.pid

    def clear(self):
        """Nothing of the last server is left."""

    def close(self):
        if self.path:
            os.rmdir(self.path)
        self.path = None

    def __str__(self):
        return "in a cgroup"


def engine(*arguments):
    """What it prints."""
    done = subprocess.run([os.path.join(DOCKER, "engine.sh"), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise NoWalls(" ".join(done.stderr.split())[:300] or f"the container engine ended with {done.returncode}")
    return done.stdout.strip()


class Container:
    """One container after the other, with the network of the machine. What is run in it are the programs of the build tree."""

    def __init__(self, most):
        self.name = f"ergon-attacks-{os.getpid()}"
        self.limit = ("--memory", str(most), "--memory-swap", str(most))
        self.image()
        said = engine("run", "--rm", *self.limit, "--entrypoint", "sh", IMAGE, "-c",
                      "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || true")
        if str(most) not in said.split():
            raise NoWalls(f"a container has another limit: {said}")

    def image(self):
        """It is made where it is missing: it brings the libraries."""
        with contextlib.suppress(NoWalls):
            engine("image", "inspect", IMAGE)
            return
        done = subprocess.run([os.path.join(DOCKER, "image_test.sh"), "build"], stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            raise NoWalls("no image can be built")

    def wrapper(self, folder):
        return (os.path.join(DOCKER, "engine.sh"), "run", "--name", self.name, "--no-healthcheck", *self.limit, "--network", "host",
                "--read-only", "--user", "0", "--volume", f"{BUILD}:{BUILD}:ro", "--volume", f"{folder}:{folder}",
                "--entrypoint", "env", IMAGE)

    def pid(self, _server):
        return int(engine("inspect", "--format", "{{.State.Pid}}", self.name))

    def clear(self):
        with contextlib.suppress(NoWalls):
            engine("rm", "--force", "--volumes", self.name)

    def close(self):
        self.clear()

    def __str__(self):
        return f"in a container of {IMAGE}, with {ERGOND}"


class Open:
    """No walls."""

    def wrapper(self, _folder):
        return ()

    def pid(self, server):
        return server.pid

    def clear(self):
        pass

    def close(self):
        pass

    def __str__(self):
        return "without walls"


def walls(most):
    """Those that can be made here. NoWalls says why there are none."""
    why = []
    for kind in (Group, Container):
        try:
            return kind(most)
        except NoWalls as e:
            why.append(str(e))
    raise NoWalls("; ".join(why))
