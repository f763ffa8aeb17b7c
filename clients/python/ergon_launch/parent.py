"""The process that starts the others, and replaces those that end, have done enough, or run old code. A process is replaced by
one that works already: it leaves when the other is ready."""

from __future__ import annotations

import argparse
import os
import selectors
import signal
import socket
import subprocess
import time
from typing import Any

from .child import USAGE, say

PAUSE = (0.1, 10.0)  # s before a process is started again that ended at once: doubled each time
AT_ONCE = 10.0  # s: one that lives longer has not ended at once
CHANGES = 0.3  # s between looks at the files
MEMORY = 1.0  # s between looks at the memory
SKIPPED = ("__pycache__", "node_modules", "site-packages", "venv")
ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)  # what a process takes as: in good order, at once, killed
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Child:
    """A process, from its start to its end."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.channel, theirs = socket.socketpair()
        with theirs:
            words = [*command, "--child", str(theirs.fileno())]
            self.process = subprocess.Popen(words, env=environment, pass_fds=[theirs.fileno()], process_group=0)
        self.channel.setblocking(False)
        self.pid, self.begun = self.process.pid, time.monotonic()
        self.is_ready = self.is_spent = False
        self._asked = 0  # of ENDS, how many it has had

    def listen(self) -> bool:
        """False: it says nothing more."""
        try:
            said = self.channel.recv(4096)
        except BlockingIOError:
            return True
        self.is_ready |= b"ready" in said
        self.is_spent |= b"spent" in said
        return bool(said)

    def end(self, level: int = 1) -> None:
        """Asks the process to end: 1 in good order, 2 at once; 3 kills it. It is asked nothing that it was asked before."""
        if level > self._asked and self.process.poll() is None:
            self._asked = level
            self.process.send_signal(ENDS[level - 1])

    def memory(self) -> int:
        """Bytes that are resident; 0: that is not known."""
        try:
            with open(f"/proc/{self.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0


class Place:
    """What one of --processes runs, and what is to replace it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.now: Child | None = None
        self.next: Child | None = None
        self.failures = 0  # in a row
        self.due: float | None = 0.0  # when a process is to be started


class Parent:
    """All of them. One thread; signals wake its loop."""

    def __init__(self, command: list[str], args: argparse.Namespace) -> None:
        self._command, self._args = command, args
        self._places = [Place(number) for number in range(1, args.processes + 1)]
        # Compiled files are told apart by the second in which a source was changed, and --dev is quicker.
        self._environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"} if args.dev else dict(os.environ)
        self._leaving: list[Child] = []
        self._rolling: list[Place] = []  # those that SIGHUP still has to replace
        self._stops = self._status = 0
        self._was_ready = False
        self._files: dict[str, float] = self._sources() if args.dev else {}
        self._looks = {"files": 0.0, "memory": 0.0}
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """The exit status, when no process is left."""
        woken, wakes = socket.socketpair()
        with woken, wakes, self._selector:
            for each in (woken, wakes):
                each.setblocking(False)
            self._selector.register(woken, selectors.EVENT_READ)
            self._run(woken, wakes)
        say("all processes have ended")
        return self._status

    def _run(self, woken: socket.socket, wakes: socket.socket) -> None:
        old: list[Any] = [signal.signal(number, lambda *_: None) for number in SIGNALS]
        before = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        try:
            while self._children() or not self._stops:
                self._start_due()
                for key, _ in self._selector.select(self._patience()):
                    if key.fileobj is woken:
                        for number in woken.recv(4096):
                            self._signalled(number)
                    elif not key.data.listen():
                        self._deafen(key.data)
                self._look()
        finally:
            signal.set_wakeup_fd(before)
            for number, handler in zip(SIGNALS, old):
                signal.signal(number, handler)
            for child in self._children():
                child.end(len(ENDS))
                child.process.wait()

    def _children(self) -> list[Child]:
        return [*filter(None, (each for place in self._places for each in (place.now, place.next))), *self._leaving]

    def _patience(self) -> float:
        """Seconds until something is to be done without news."""
        due = [place.due - time.monotonic() for place in self._places if place.due is not None and not self._stops]
        looks = [CHANGES] * self._args.dev + [MEMORY] * bool(self._args.max_memory)
        return max(0.0, min([60.0, *looks, *due]))

    def _signalled(self, number: int) -> None:
        if number == signal.SIGHUP and not self._stops:
            say("SIGHUP: all processes are replaced, one after the other")
            self._rolling = list(self._places)
        elif number in (signal.SIGTERM, signal.SIGINT):
            self._stops += 1
            say(signal.Signals(number).name + (": the processes end", ": the processes end at once")[self._stops > 1])
            for place in self._places:
                place.due = None
            for child in self._children():
                child.end(min(self._stops, len(ENDS)))

    # ---- processes ----

    def _spawn(self, place: Place) -> Child:
        child = Child(self._command, self._environment)
        self._selector.register(child.channel, selectors.EVENT_READ, child)
        say(f"process {place.number}: {child.pid} starts")
        return child

    def _start_due(self) -> None:
        for place in self._places:
            if place.due is not None and place.due <= time.monotonic() and not self._stops:
                place.due = None
                if place.next is None:
                    place.next = self._spawn(place)

    def _replace(self, place: Place, why: str) -> None:
        if place.now is not None and place.next is None and place.due is None:
            say(f"process {place.number}: {place.now.pid} is replaced: {why}")
            place.due = 0.0

    def _look(self) -> None:
        """At all that may have happened."""
        for place in self._places:
            if place.next is not None and place.next.is_ready:
                self._promote(place)
            self._look_for_ends(place)
            if place.now is not None and place.now.is_spent:
                self._replace(place, f"it has run {self._args.max_tasks} tasks")
        for child in [child for child in self._leaving if self._has_ended(child)]:
            self._leaving.remove(child)
            self._note_end(child, "has left")
        if self._stops:
            return
        if self._rolling and not self._leaving and all(place.next is None and place.due is None for place in self._places):
            self._replace(self._rolling.pop(0), "SIGHUP")
        now = time.monotonic()
        if self._args.max_memory and now >= self._looks["memory"]:
            self._looks["memory"] = now + MEMORY
            self._look_at_memory()
        if self._args.dev and now >= self._looks["files"]:
            self._looks["files"] = now + CHANGES
            self._look_at_files()

    def _promote(self, place: Place) -> None:
        old, place.now, place.next = place.now, place.next, None
        assert place.now is not None
        self._was_ready = True
        say(f"process {place.number}: {place.now.pid} works")
        if old is not None:
            self._leaving.append(old)
            old.end()

    def _has_ended(self, child: Child) -> bool:
        if child.process.poll() is None:
            return False
        if child.channel.fileno() >= 0:
            child.listen()
            self._deafen(child)
        return True

    def _deafen(self, child: Child) -> None:
        self._selector.unregister(child.channel)
        child.channel.close()

    def _note_end(self, child: Child, how: str) -> None:
        status = child.process.returncode
        text = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        say(f"{child.pid} {how}" + ("" if how == "has left" and not status else f" {text}"))
        if self._stops and status and child.is_ready:  # one that is still starting has nothing to end in good order
            self._status = 1

    def _look_for_ends(self, place: Place) -> None:
        for child in (place.now, place.next):
            if child is None or not self._has_ended(child):
                continue
            is_now = child is place.now
            if is_now:
                place.now = None
            else:
                place.next = None
            self._note_end(child, "has left" if self._stops else "has ended")
            if self._stops:
                continue
            if child.process.returncode == USAGE and not self._was_ready and not self._args.dev:
                self._stops, self._status = 1, USAGE
                for other in self._children():
                    other.end()
                return
            self._again(place, child)

    def _again(self, place: Place, child: Child) -> None:
        place.failures = 0 if time.monotonic() - child.begun > AT_ONCE else place.failures + 1
        if self._args.dev and not child.is_ready:
            if place.now is not None:
                place.now.is_spent = False
            say(f"process {place.number}: waits for a change of the files")
            return
        pause = 0.0 if place.failures == 0 else min(PAUSE[1], PAUSE[0] * 2.0 ** (place.failures - 1))
        if place.next is None:
            place.due = time.monotonic() + pause
            say(f"process {place.number}: starts again in {pause:g} s")

    # ---- reasons to replace one ----

    def _look_at_memory(self) -> None:
        for place in self._places:
            if place.now is not None and (held := place.now.memory()) > self._args.max_memory:
                self._replace(place, f"it has {held >> 20} MiB")

    def _look_at_files(self) -> None:
        files = self._sources()
        changed = [path for path in {**self._files, **files} if self._files.get(path) != files.get(path)]
        self._files = files
        if not changed:
            return
        say(f"{changed[0]} has changed: all processes are replaced")
        for place in self._places:
            if place.next is not None:
                place.next.end(len(ENDS))
                self._leaving.append(place.next)
                place.next = None
            place.due = 0.0

    def _sources(self) -> dict[str, float]:
        """Python files below this folder, and when they were changed."""
        found = {}
        for folder, folders, names in os.walk("."):
            folders[:] = [name for name in folders if not name.startswith(".") and name not in SKIPPED]
            for name in names:
                if name.endswith(".py"):
                    path = os.path.join(folder, name)
                    try:
                        found[os.path.relpath(path)] = os.stat(path).st_mtime
                    except OSError:
                        pass
        return found
