# mypy: ignore-errors
# It stands in for parts of Python itself, which checkers do not know; what users call has annotations.
"""Handlers in a simulated world: the real server on a virtual clock, with restarts, power cuts and lost workers.

    from ergon_client.testing import effect, simulate

    def charge(context, order):
        time.sleep(0.02)
        effect("charge", order)

    simulate({"orders.charge": charge}, "orders.yaml", seeds=200)

The program `ergon-sim` (package ergon-sim, or ERGON_SIM) runs the server, and this process its workers, one step after the
other: while a handler runs no time passes, but for what it sleeps. See docs/simulation.md of Ergon's tree.
"""

import _thread
import asyncio
import contextlib
import contextvars
import functools
import gc
import inspect
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import msgpack
from ergon_client import aio, news, threads

from . import simulated

__all__ = ["Found", "effect", "simulate"]

URL = "ergon://simulated"
NAME_MAX = 48
AGAIN = 1.0  # s until a worker that was killed is there again
PATIENCE = 5.0  # s of real time: a handler that waits longer, and uses no processor meanwhile, ends the run
LIMIT = 600.0  # s of processor time: a handler that has used more ends the run
NS = 1_000_000_000


class Found(AssertionError):
    """A run did not keep what is expected; the text says which seed, and what happened."""


class Killed(BaseException):
    """Ends a handler whose process was killed, once nobody listens any more."""


class Over(BaseException):
    """The run has ended. Handlers that wait meanwhile cannot catch it as an Exception."""


process = contextvars.ContextVar("process", default=None)  # the worker whose code runs
handled = contextvars.ContextVar("handled", default=None)  # the context of the handler that runs


def effect(name: str, key: int) -> None:
    """Tells the simulation that the world outside was changed just now: `name`, for the number `key`, as "charge" for order 17.
    Outside of a simulation it does nothing."""
    if not isinstance(name, str) or len(name.encode()) >= NAME_MAX:
        raise TypeError(f"the name of an effect is a text of less than {NAME_MAX} bytes, not {name!r}")
    if not isinstance(key, int) or not 0 <= key < 1 << 64:
        raise TypeError(f"the key of an effect is a number from 0 to 2^64 - 1, not {key!r}")
    of, run, strand = process.get(), simulated.run, getattr(simulated.local, "strand", None)
    if run is not None and not run.over and not (of is not None and of.dead) and not (strand is not None and strand.dead):
        context = context_here()
        run.act("effect", context.task or "" if context else "", context.attempt if context else 0, name, key)


def context_here():
    """That of the handler which runs in this thread, or None."""
    strand = getattr(simulated.local, "strand", None)
    return strand.context if strand else handled.get()


def simulate(app: Mapping[str, Callable[..., Any]] | Callable[..., Mapping[str, Callable[..., Any]]],
             scenario: str | os.PathLike[str] | Mapping[str, Any], seeds: int = 100, *, seed: int = 1,
             outside: Callable[[], Any] | None = None, workers: int = 2, slots: int = 1,
             program: str | None = None) -> None:
    """Runs a scenario by so many seeds. Found: one did not keep what is expected; ValueError: the scenario is wrong.

    app         the handlers of each worker: a map as for work(), of functions or coroutine functions; or a function that returns
                one, called whenever a worker starts, with what `outside` returned, if that is given
    scenario    the path of a file, or a dict
    seed        the first
    outside     called for each seed: what the handlers use and outlives their workers, as a stand-in for a service
    workers     how many, at least one, each with so many `slots`
    program     ergon-sim; default: ERGON_SIM, or the one on the path"""
    if workers < 1:
        raise ValueError("at least one worker has to run the handlers")
    if seeds < 1:
        raise ValueError("at least one seed has to run")
    with (tempfile.TemporaryDirectory() as folder, Program(path_of(scenario, folder), program, folder) as child,
          simulated.system(news.log), watched()):
        for number in range(seed, seed + seeds):
            random.seed(number)
            one = Run(child, app, workers, slots, number)
            report = one.play(outside)
            if report:
                raise Found(f"seed {number}: {report.rstrip()}\nto repeat it: simulate(..., seed={number}, seeds=1)")
        if one.missing:
            warnings.warn(one.missing, stacklevel=2)


def path_of(scenario, folder):
    if not isinstance(scenario, dict):
        return os.fspath(scenario)
    path = os.path.join(folder, "scenario")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scenario, file, ensure_ascii=False)
    return path


class Program:
    """ergon-sim, and messages to and from it."""

    def __init__(self, scenario, program, folder):
        program = program or os.environ.get("ERGON_SIM") or shutil.which("ergon-sim")
        if program is None:
            raise FileNotFoundError("ergon-sim is not installed: install it, or say by ERGON_SIM where it is")
        path = os.path.join(folder, "errors")
        self._errors = open(path, "w+", encoding="utf-8", errors="replace")  # noqa: SIM115  # __exit__ closes it
        self._child = subprocess.Popen([program, "--remote", scenario], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=self._errors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):  # it has ended already, and what we wrote is not read
            self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait()
        self._errors.close()

    def write(self, message):
        packed = msgpack.packb(message)
        try:
            self._child.stdin.write(struct.pack(">I", len(packed)) + packed)
            self._child.stdin.flush()
        except BrokenPipeError:
            self._ended()

    def read(self):
        size = self._child.stdout.read(4)
        if len(size) < 4:
            self._ended()
        return msgpack.unpackb(self._child.stdout.read(struct.unpack(">I", size)[0]), unicode_errors="replace")

    def _ended(self):
        self._child.wait()
        self._errors.seek(0)
        raise ValueError(self._errors.read().strip() or "ergon-sim has ended")


class Loop(asyncio.BaseEventLoop):
    """An event loop that asks the simulation how late it is. What a killed process had planned does not happen."""

    def __init__(self, go_on):
        super().__init__()
        self._selector = self
        self._clock_resolution = 1e-6
        self._go_on = go_on
        self.set_exception_handler(lambda loop, context: None)

    def select(self, timeout):
        if timeout is None or timeout > 0:
            self._go_on(timeout)
        return []

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass

    def _check_closed(self):
        pass  # what is freed after the end may still ask for something, in vain

    def _refuse(self, *_, **__):
        simulated.refuse_network()

    create_connection = create_unix_connection = create_server = create_datagram_endpoint = getaddrinfo = _refuse

    def call_soon(self, callback, *args, context=None):
        handle = super().call_soon(callback, *args, context=context)
        self._drop(handle)
        return handle

    def call_at(self, when, callback, *args, context=None):
        handle = super().call_at(when, callback, *args, context=context)
        self._drop(handle)
        return handle

    def _drop(self, handle):
        of = handle._context.get(process)
        if of is not None and of.dead:
            handle.cancel()

    def bury(self):
        for handle in [*self._ready, *self._scheduled]:
            self._drop(handle)


class Wire:
    """A connection of a worker, as asyncio's writer and its transport."""

    def __init__(self, of, number):
        self._run, self.number, self.transport = of, number, self
        self.reader = asyncio.StreamReader(limit=1 << 18)
        self._open = True

    def write(self, data):
        if self._open:
            self._run.act("send", self.number, bytes(data))

    async def drain(self):
        await asyncio.sleep(0)

    def get_write_buffer_size(self):
        return 0

    def close(self):
        if self._open:
            self._open = False
            self._run.act("close", self.number)
            self.reader.feed_eof()

    abort = close

    def ended(self):
        self._open = False
        self.reader.feed_eof()


class Address:
    """The simulated server's address, in place of protocol.Address."""

    url, token = URL, None

    def __init__(self, worker):
        self._worker = worker

    async def dial(self):
        wire = simulated.run.open_wire(self._worker)
        return wire.reader, wire


# ---- what waits for ever ----

def frames(thread):
    frame = sys._current_frames().get(thread)
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_debugged(thread):
    return any(frame.f_globals.get("__name__") == "bdb" for frame in frames(thread))


def place(thread):
    """The file and line of the user's code in which the thread is."""
    known = {os.path.dirname(module.__file__) for module in (threading, asyncio, aio, simulated)}
    at = next(frame for frame in frames(thread) if os.path.dirname(frame.f_code.co_filename) not in known)
    return f"{at.f_code.co_filename}:{at.f_lineno}"


def cpu_of(thread):
    return time.clock_gettime(time.pthread_getcpuclockid(thread))


def watch(thread, over):
    """In a thread of its own: interrupts the thread of the event loop if it waits for what is not simulated."""
    last = None
    while not over.acquire(timeout=PATIENCE):
        frame = next(frames(thread))
        before, last = last, (frame, frame.f_lasti, cpu_of(thread))
        if (before and before[:2] == last[:2] and last[2] - before[2] < PATIENCE / 100
                and frame.f_code.co_filename != __file__ and not is_debugged(thread)):
            signal.pthread_kill(thread, signal.SIGURG)


def interrupt(_, frame):
    run = simulated.run
    if run is not None and frame.f_code.co_filename != __file__:
        run.refuse(f"waits for what is not simulated, as a lock from before the simulation: {place(run.thread)}")


@contextlib.contextmanager
def watched():
    """A coroutine that waits so blocks the event loop. Only a signal wakes it, and Python has these in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    over, was = _thread.allocate_lock(), signal.signal(signal.SIGURG, interrupt)
    over.acquire()
    simulated.start_thread(watch, (_thread.get_ident(), over))
    try:
        yield
    finally:
        over.release()
        signal.signal(signal.SIGURG, was)


class Strand:
    """A handler that blocks: a thread that runs only while the event loop waits for it."""

    def __init__(self, loop, context, work):
        self.context, self._loop, self._work = context, loop, work
        self._go, self._back = _thread.allocate_lock(), _thread.allocate_lock()
        self._go.acquire()
        self._back.acquire()
        self.dead = False
        self._ended = False
        self.end = loop.create_future()
        # Whoever wakes it later does so for this worker.
        self._context = contextvars.copy_context()
        simulated.run.strands.append(self)
        self._thread = simulated.start_thread(self._run, ())

    def resume(self):
        """In the loop's thread: until it waits again, or has ended."""
        if not self._ended:
            self._go.release()
            used = -1.0
            while not self._back.acquire(timeout=PATIENCE):
                before, used = used, cpu_of(self._thread)
                if (used - before < PATIENCE / 100 or used > LIMIT) and not is_debugged(self._thread):
                    self._give_up()
                    return

    def _give_up(self):
        """It waits for what never comes: its thread stays as it is."""
        self._ended = self.dead = True
        simulated.run.fail(f"the handler of {self.context.method} does not end, or waits for what is not simulated, as a lock "
                           f"from before the simulation or a file: {place(self._thread)}")

    def bury(self):
        self.dead = True
        self.resume()

    def _run(self):
        simulated.local.strand = self
        self._go.acquire()
        result = raised = None
        try:
            if not self.dead:
                result = self._work()
        except Exception as error:  # noqa: BLE001  # whatever it is fails the task
            raised = RuntimeError(repr(error)) if isinstance(error, StopIteration) else error
        except BaseException as error:  # noqa: BLE001  # sys.exit(), say: it is the handler's end
            raised = RuntimeError(repr(error))
        self._ended = True
        if not self.dead and not self.end.done():
            if raised is None:
                self.end.set_result(result)
            else:
                self.end.set_exception(raised)
        self._back.release()

    # ---- in its own thread ----

    def check(self):
        """A handler that was given up, or whose run is over, has no part in a later run."""
        if self.dead:
            raise Killed

    def wait(self):
        """Until somebody resumes it."""
        self.check()
        self._back.release()
        self._go.acquire()
        self.check()

    def sleep(self, seconds):
        self._loop.call_later(max(0.0, seconds), self.resume, context=self._context)
        self.wait()

    def do(self, coroutine):
        """The result of a coroutine, on the loop."""
        task = self._loop.create_task(coroutine, context=self._context.copy())
        task.add_done_callback(lambda _: self.resume(), context=self._context)
        self.wait()
        return task.result()


class Context(threads.Context):
    """As threads.Context, on a strand."""

    def _wait(self, work):
        return simulated.local.strand.do(work)

    _ask = _wait


def blocking(function):
    """A function that blocks, as a handler for Serving."""
    @functools.wraps(function)
    async def handle(context, *params):
        loop = asyncio.get_running_loop()
        seen = Context(context, loop)
        strand = Strand(loop, context, functools.partial(function, seen, *params))
        loop.call_soon(strand.resume)
        try:
            return await asyncio.shield(strand.end)
        except asyncio.CancelledError:
            seen.cancelling.set()
            await asyncio.wait([strand.end])
            if context.cancelled is None:
                raise
            return strand.end.result()
    return handle


def cooperative(function):
    """A coroutine function whose effects are of its task."""
    @functools.wraps(function)
    async def handle(context, *params):
        handled.set(context)
        return await function(context, *params)
    return handle


class Process:
    """A worker's, from its start until it is killed."""

    def __init__(self, number, app, slots):
        self.number, self.dead = number, False
        handlers = app() if callable(app) else app
        for name, function in handlers.items():
            if not callable(function):
                raise TypeError(f"the handler of {name} is no function: {function!r}")
        self._handlers = {name: (cooperative if inspect.iscoroutinefunction(f) else blocking)(f) for name, f in handlers.items()}
        self._slots = slots

    async def live(self):
        process.set(self)
        client = aio.Client(URL)
        client._address = Address(self.number)
        await client.work(self._handlers, slots=self._slots, name=f"worker-{self.number}", signals=False, host="")


class Run:
    """One seed."""

    def __init__(self, child, app, workers, slots, seed):
        self._child, self._app, self._slots, self._seed = child, app, slots, seed
        self._workers = workers
        self.thread, self.chance = _thread.get_ident(), random.Random(f"bytes {seed}")
        self.now = self.wall = 0  # ns
        self._actions, self._early = [], []
        self._wires, self._processes = {}, {}
        self._report = self._failure = None
        self.missing = ""  # what may be misspelt in the scenario
        self.strands, self._kept = [], []
        self.over = False

    def play(self, outside):
        """The finding; empty: there is none."""
        self._child.write(self._seed)
        first = self._child.read()
        if isinstance(first, dict):
            [(report, self.missing)] = first.items()
            return report
        self._loop = Loop(self._go_on)
        simulated.run = self
        try:
            self._take(first)
            if outside:
                self._app = functools.partial(self._app, outside())
            for number in range(self._workers):
                self._loop.call_soon(self._start, number, context=contextvars.Context())
            self._loop.run_forever()
        except Over:
            pass
        except SystemExit as error:
            self._report = f"a coroutine raised {error!r}, which ends the process of its worker"
        finally:
            self._bury()
            simulated.run = None
        if self._failure is not None:
            raise self._failure
        return self._report

    def _bury(self):
        """What a handler does from now on is not of this world any more."""
        self.over = True
        for each in self._processes.values():
            each.dead = True
        for strand in self.strands:
            strand.bury()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of coroutines that are never awaited
            for task in asyncio.all_tasks(self._loop):
                with contextlib.suppress(Exception):
                    task.get_coro().close()
            self._kept.clear()
            gc.collect()

    # ---- the clock ----

    def monotonic(self):
        return self.now / NS

    def time(self):
        return self.wall / NS

    def sleep(self, seconds):
        strand = getattr(simulated.local, "strand", None)
        if strand is not None:
            strand.sleep(seconds)
            return
        of = process.get()
        until = self.now + round(max(0.0, seconds) * NS)  # a handler of asyncio that blocks its loop
        while self.now < until and not self.over:
            self._exchange(until)
            if of is not None and ["killed", of.number] in self._early:
                of.dead = True
            if of is not None and of.dead:
                raise Killed

    # ---- the other side ----

    def act(self, *action):
        self._actions.append(action)

    def fail(self, text):
        self.act("failed", text)

    def refuse(self, what):
        """Ends the run, for what its handler does."""
        context = context_here()
        text = f"{f'the handler of {context.method}' if context else 'code outside of a handler'} {what}"
        self.fail(text)
        raise RuntimeError(text)

    def open_wire(self, worker):
        number = len(self._wires) + 1
        self._wires[number] = wire = Wire(self, number)
        self.act("open", number, worker)
        return wire

    def _exchange(self, until):
        if self._report is not None:
            raise Over
        actions, self._actions = self._actions, []
        self._child.write([until, actions])
        message = self._child.read()
        if isinstance(message, dict):
            [(self._report, self.missing)] = message.items()
            raise Over
        self.now, self.wall, events = message
        self._early += events

    def _go_on(self, timeout):
        if not self._early:
            self._exchange(None if timeout is None else self.now + max(1, round(timeout * NS)))
        events, self._early = self._early, []
        for event in events:
            self._heed(*event)

    def _take(self, message):
        self.now, self.wall, self._early = message

    def _heed(self, kind, number, data=b""):
        if kind == "killed":
            self._kill(number)
        elif kind == "bytes":
            self._wires[number].reader.feed_data(data)
        else:
            self._wires[number].ended()

    # ---- workers ----

    def _start(self, number):
        try:
            self._processes[number] = each = Process(number, self._app, self._slots)
        except Exception as error:  # noqa: BLE001  # the run raises it
            self._fail(error)
            return
        task = self._loop.create_task(each.live())
        task.add_done_callback(self._live_ended, context=contextvars.Context())
        self._kept.append(task)

    def _live_ended(self, task):
        if not task.cancelled() and task.exception() is not None:
            self._fail(task.exception())

    def _fail(self, error):
        """A worker cannot start, or has ended: `simulate` raises why."""
        self._failure = error
        self._loop.stop()

    def _kill(self, number):
        dead = self._processes[number]
        dead.dead = True
        self._loop.bury()
        # Python closes a coroutine that it frees, and closing runs `finally`: these coroutines are kept until the run is over.
        self._kept += asyncio.all_tasks(self._loop)
        self._loop.call_later(AGAIN, self._start, number, context=contextvars.Context())
