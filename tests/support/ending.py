"""A temporary folder for servers that a test starts, and the end of both.

A server that forks, or whose user is not the test's, is not found by its parent when the test dies.  So each process has
its working directory below the folder, and is found by that.  A process beside the test waits for the end of a pipe that the
test alone holds open; then it kills by pid what still runs there, and removes the folder, however the test ended.

Root starts such servers as another user: PostgreSQL refuses root.
"""
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LIMIT = float(os.environ.get("ERGON_LIMIT", 60))  # seconds after which something that should have happened counts as missing
NAMESPACES = "namespaces"  # the file of a folder that names those to be removed with it
ROOM = 1 << 30  # bytes that have to be free in memory: a container has 64 MiB there


def account():
    """(uid, gid) that servers get; None where they get those of the test."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
            return found.pw_uid, found.pw_gid
        except KeyError:
            pass
    raise RuntimeError("there is neither a user postgres nor a user nobody, and PostgreSQL refuses root")


def as_account():
    """The arguments of subprocess that make a process one of account()."""
    found = account()
    return {} if found is None else {"user": found[0], "group": found[1], "extra_groups": []}


def own(path, mode=0o700):
    """Gives a file to account(), and to nobody else."""
    os.chmod(path, mode)
    if account() is not None:
        os.chown(path, *account())
    return path


def make_folder(*parts):
    path = os.path.join(*parts)
    os.mkdir(path)
    return own(path)


def write(path, text, mode=0o600):
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, mode)) as out:
        out.write(text)
    return own(path, mode)


def eventually(condition, what, limit=LIMIT):
    """Waits until `condition` holds, and returns what it gave."""
    end = time.monotonic() + limit
    while not (got := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what() if callable(what) else what}")
        time.sleep(0.01)
    return got


def pids_below(folder):
    """The processes whose working directory is `folder` or below it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            where = os.readlink(f"/proc/{pid}/cwd")
        except OSError:  # it has ended, or is another's
            continue
        if where == folder or where.startswith(folder + "/"):
            found.append(int(pid))
    return sorted(found)


def state_of(pid):
    """The letter in /proc: R, S, T (stopped), …; X where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def has_ended(pid):
    """A zombie has, too."""
    return state_of(pid) in "ZX"


def freeze(pids):
    """SIGSTOP; returns when they have stopped."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGSTOP)
        except ProcessLookupError:
            pass
    for pid in pids:
        eventually(lambda p=pid: state_of(p) in "TZX", f"process {pid} stops")


def kill_below(folder):
    """kill -9 for all that runs there, until nothing does.  The parents first, so that none notices that a child died."""
    def survivors():
        pids = [pid for pid in pids_below(folder) if not has_ended(pid)]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return pids

    eventually(lambda: not survivors(), f"all that ran in {folder} ended")


def forget_memory(folder):
    """A PostgreSQL that is killed leaves a segment of shared memory, which its postmaster.pid names."""
    for where, _, names in os.walk(folder):
        if "postmaster.pid" in names:
            with open(os.path.join(where, "postmaster.pid")) as f:
                lines = f.read().split("\n")
            if len(lines) > 6 and len(lines[6].split()) == 2:
                subprocess.run(["ipcrm", "-m", lines[6].split()[1]], capture_output=True, check=False)


def forget_namespaces(folder):
    try:
        with open(os.path.join(folder, NAMESPACES)) as f:
            names = f.read().split()
    except FileNotFoundError:
        return
    for name in names:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def forget_mounts(folder):
    with open("/proc/self/mounts") as f:
        paths = [line.split()[1] for line in f]
    for path in paths:
        if path.startswith(folder + "/"):
            subprocess.run(["umount", "--lazy", path], capture_output=True, check=False)


def clear(folder):
    kill_below(folder)
    forget_namespaces(folder)
    if os.path.isdir(folder):
        forget_memory(folder)
        forget_mounts(folder)
        shutil.rmtree(folder, ignore_errors=True)


class Folder:
    """A new folder with a short path: below `parent` or $ERGON_TEST_FOLDER, for what is about disks; else in memory where there
    is room, or in /tmp."""

    def __init__(self, prefix="ergon-", parent=None):
        if parent is None:
            roomy = os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > ROOM
            parent = os.environ.get("ERGON_TEST_FOLDER") or ("/dev/shm" if roomy else "/tmp")
        self.path = own(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self.guard = subprocess.Popen([sys.executable, os.path.abspath(__file__), self.path], stdin=subprocess.PIPE, cwd="/",
                                      start_new_session=True)

    def remember_namespace(self, name):
        """The network namespace is removed with the folder."""
        with open(os.path.join(self.path, NAMESPACES), "a") as f:
            f.write(name + "\n")

    def end(self):
        """Ends all that runs in the folder, and removes it.  May be called twice."""
        if self.guard.poll() is None:
            self.guard.stdin.close()
            self.guard.wait(LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def thaw(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


def needs(why_not):
    """A decorator of a test class that needs what may be missing: `why_not` is empty, or says what.  Its tests are skipped
    then; where CI is set they fail, since nobody would notice there."""
    if not why_not:
        return lambda cls: cls
    if not os.environ.get("CI"):
        return unittest.skip(why_not)

    def failing(cls):
        def refuse(_):
            raise AssertionError(why_not)
        cls.setUpClass = classmethod(refuse)
        return cls
    return failing


if __name__ == "__main__":
    sys.stdin.read()
    clear(sys.argv[1])
