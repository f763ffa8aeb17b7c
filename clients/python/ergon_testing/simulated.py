# mypy: ignore-errors
# It stands in for parts of Python itself, which checkers do not know; what users call has annotations.
"""What handlers call of Python itself, in a simulated world: time, chance, locks and threads (see world.py).

While a simulation goes on, the functions below stand in the place of Python's wherever a module has them as a global, also by
`from time import sleep`. Threads that are not of the simulation still get Python's own.
"""

import _thread
import asyncio
import contextlib
import datetime
import functools
import multiprocessing.process
import multiprocessing.synchronize
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
start_thread = _thread.start_new_thread


def is_simulated():
    if hasattr(local, "strand"):
        local.strand.check()
        return True
    return run is not None and _thread.get_ident() == run.thread


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
    """What is a time for Python is one for the class below. Subclasses of that are ordinary classes."""

    def __instancecheck__(cls, value):
        return isinstance(value, cls.__base__) if cls is Datetime else super().__instancecheck__(value)

    def __subclasscheck__(cls, other):
        return issubclass(other, cls.__base__) if cls is Datetime else super().__subclasscheck__(other)


class Datetime(datetime.datetime, metaclass=Kind):
    """In place of datetime.datetime, which asks the system for the time."""

    def __new__(cls, *args, **named):
        return cls.__base__(*args, **named) if cls is Datetime else super().__new__(cls, *args, **named)

    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.UTC).replace(tzinfo=None)


def refuse_network(*_, **__):
    run.refuse("opens a connection, which a simulation does not have: let `outside` stand in for what it calls")


def refuse_thread(*_, **__):
    run.refuse("starts a thread, which a simulation does not have: its time would be another")


def refuse_process(*_, **__):
    run.refuse("starts a process, which a simulation does not have")


def refuse_shared(*_, **__):
    run.refuse("makes a lock or a queue of multiprocessing, which a simulation does not have: use threading or queue")


# Methods and functions that are refused.
REFUSED = [
    (threading.Thread, "start", refuse_thread), (_thread, "start_new_thread", refuse_thread),
    (subprocess.Popen, "_execute_child", refuse_process), (multiprocessing.process.BaseProcess, "start", refuse_process),
    *((os, name, refuse_process) for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "system", "execv", "execve")),
    (multiprocessing.synchronize.SemLock, "__init__", refuse_shared),
    *((socket.socket, name, refuse_network) for name in ("connect", "connect_ex", "bind", "sendto", "sendmsg")),
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
        (_thread.allocate_lock, Lock), *plain_lock(), (datetime.datetime, Datetime), (queue.SimpleQueue, queue._PySimpleQueue)]


def plain_lock():
    """Since Python 3.13 threading.Lock is a class, and another object than allocate_lock. Ours is one, too: each goes back."""
    return [] if threading.Lock is _thread.allocate_lock else [(threading.Lock, type("Lock", (Lock,), {}))]


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
    refused = [(of, name, choice(getattr(of, name), ours)) for of, name, ours in REFUSED]
    pairs, chance = replacements() + [(ours.__wrapped__, ours) for _, _, ours in refused], random.getstate()
    recursive, was = threading._CRLock, log.disabled
    exchange(pairs)
    for of, name, ours in refused:
        setattr(of, name, ours)
    threading._CRLock = None  # else it has a lock of its own
    log.disabled = True  # what fails is tried again, and told if it matters
    try:
        yield
    finally:
        exchange([(by, of) for of, by in pairs])
        for of, name, ours in refused:
            setattr(of, name, ours.__wrapped__)
        threading._CRLock = recursive
        random.setstate(chance)
        log.disabled = was
