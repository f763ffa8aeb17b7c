"""What handlers call of Python itself, in a simulated world: time, chance, locks and threads (see testing.py).

While a simulation goes on, the functions below stand in the place of Python's wherever a module has them as a global, also by
`from time import sleep`. Threads that are not of the simulation still get Python's own.
"""

import _thread
import asyncio
import contextlib
import datetime
import functools
import os
import queue
import random
import socket
import subprocess
import sys
import threading
import time

run = None  # the testing.Run that goes on
local = threading.local()  # .strand, in the thread of a handler that blocks


def is_simulated():
    return run is not None and (hasattr(local, "strand") or _thread.get_ident() == run.thread)


class Lock:
    """In place of threading.Lock. Conditions, events, semaphores and queues wait by it, too. Whoever waits lets others run."""

    def __init__(self):
        self._lock, self._waiting = _thread.allocate_lock(), []

    def acquire(self, blocking=True, timeout=-1):
        if not is_simulated() or not blocking:
            return self._lock.acquire(blocking, timeout)
        until = run.monotonic() + timeout
        while not self._lock.acquire(False):
            left = None if timeout < 0 else until - run.monotonic()
            if left is not None and left <= 0:
                return False
            self._wait(left)
        return True

    __enter__ = acquire

    def _wait(self, left):
        if not hasattr(local, "strand"):
            run.refuse("waits in a coroutine for a lock of threading, which stops the event loop of its worker")
        local.strand.do(self._until_released(left))

    async def _until_released(self, left):
        if not self._lock.locked():  # another one released it before this began
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await asyncio.wait([future], timeout=left)
        self._waiting.remove(future)

    def release(self):
        self._lock.release()
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    def __exit__(self, *_):
        self.release()

    def locked(self):
        return self._lock.locked()

    def _at_fork_reinit(self):
        self.__init__()


class Kind(type):
    """What is a time for Python is one for the class below."""

    def __instancecheck__(cls, value):
        return isinstance(value, cls.__base__)

    def __subclasscheck__(cls, other):
        return issubclass(other, cls.__base__)


class Datetime(datetime.datetime, metaclass=Kind):
    """In place of datetime.datetime, which asks the system for the time."""

    def __new__(cls, *args, **named):
        return cls.__base__(*args, **named)

    @classmethod
    def now(cls, tz=None):
        return cls.__base__.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.timezone.utc).replace(tzinfo=None)


def refuse_network(*_):
    run.refuse("opens a connection, which a simulation does not have: let `outside` stand in for what it calls")


# Methods that are refused, and why.
REFUSED = [
    (threading.Thread, "start",
     lambda *_: run.refuse("starts a thread, which a simulation does not have: its time would be another")),
    (subprocess.Popen, "_execute_child", lambda *_: run.refuse("starts a process, which a simulation does not have")),
    (socket.socket, "connect", refuse_network),
]


def of_now(real):
    """A function of time whose last argument is now, unless it is given."""
    def call(*args):
        given = [each for each in args if each is not None]
        if len(given) == (real is time_strftime):
            given.append(run.time() if real in (time_gmtime, time_localtime, time_ctime) else time_localtime(run.time()))
        return real(*given)
    return call


time_gmtime, time_localtime, time_ctime, time_strftime = time.gmtime, time.localtime, time.ctime, time.strftime


def choice(real, ours):
    @functools.wraps(real)
    def call(*args, **named):
        return (ours if is_simulated() else real)(*args, **named)
    return call


def replacements():
    """Pairs of what Python has, and what is in its place."""
    functions = [
        (time.time, lambda: run.time()), (time.time_ns, lambda: run.wall), (time.monotonic, lambda: run.monotonic()),
        (time.monotonic_ns, lambda: run.now), (time.perf_counter, lambda: run.monotonic()),
        (time.perf_counter_ns, lambda: run.now), (time.sleep, lambda seconds: run.sleep(seconds)),
        (os.urandom, lambda size: run.chance.randbytes(size)), (os.getrandom, lambda size, flags=0: run.chance.randbytes(size)),
        *((each, of_now(each)) for each in (time.gmtime, time.localtime, time.ctime, time.asctime, time.strftime))]
    return [(real, choice(real, ours)) for real, ours in functions] + [
        (_thread.allocate_lock, Lock), (datetime.datetime, Datetime), (queue.SimpleQueue, queue._PySimpleQueue)]


def exchange(pairs):
    """In all modules, the first of a pair becomes the second."""
    to = {id(of): by for of, by in pairs}
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if names is globals() or module is _thread or getattr(module, "__name__", "").startswith("importlib"):
            continue
        for name, value in list(names.items()):
            if id(value) in to:
                names[name] = to[id(value)]


@contextlib.contextmanager
def system(log):
    """Time, chance, locks and threads are the simulation's."""
    pairs, chance = replacements(), random.getstate()
    recursive, was = threading._CRLock, log.disabled
    exchange(pairs)
    for of, name, ours in REFUSED:
        setattr(of, name, choice(getattr(of, name), ours))
    threading._CRLock = None  # else it has a lock of its own
    log.disabled = True  # what fails is tried again, and told if it matters
    try:
        yield
    finally:
        exchange([(by, of) for of, by in pairs])
        for of, name, _ in REFUSED:
            setattr(of, name, getattr(of, name).__wrapped__)
        threading._CRLock = recursive
        random.setstate(chance)
        log.disabled = was
