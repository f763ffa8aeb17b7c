"""Handlers that block: the threads on which they run, and their way to the event loop and back."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import inspect
import queue
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Unpack

from . import serving
from .errors import Cancelled
from .layers import Order
from .options import TaskOptions

ENDS = (signal.SIGTERM, signal.SIGINT)


class Context:
    """One run of a handler, as serving.Context, for a thread: its methods block, and `cancelling` is a threading.Event that is
    set when nobody waits for the result any more."""

    def __init__(self, context: serving.Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context, self._loop = context, loop
        self.cancelling = threading.Event()
        self._asking: concurrent.futures.Future[Any] | None = None  # a request of this run
        self.method, self.task, self.attempt, self.tenant = context.method, context.task, context.attempt, context.tenant
        self.traceparent, self.tracestate, self.turn = context.traceparent, context.tracestate, context.turn
        self.batch, self.callback_of = context.batch, context.callback_of
        self._changes = context._changes

    def __repr__(self) -> str:
        return repr(self._context)

    @property
    def cancelled(self) -> str | None:
        """None, or why nobody waits for the result any more."""
        return self._context.cancelled

    @property
    def left(self) -> float | None:
        """Seconds to the deadline, or None."""
        return self._context.left

    @property
    def checkpoint(self) -> Any:
        """What save() was last given, by an attempt before, too, or None."""
        return self._context.checkpoint

    def check(self) -> None:
        """Raises Cancelled once nobody waits for the result any more."""
        self._context.check()

    def submit(self, method: str | Order, *params: Any, **options: Unpack[TaskOptions]) -> None:
        """As serving.Context.submit()."""
        self._ask(self._context.submit(method, *params, **options))

    def tell(self, to: str, method: str, *params: Any, **options: Unpack[TaskOptions]) -> None:
        """As serving.Context.tell()."""
        self._ask(self._context.tell(to, method, *params, **options))

    def save(self, value: Any) -> bool:
        """As serving.Context.save()."""
        return bool(self._ask(self._context.save(value)))

    def progress(self, done: int, total: int = 0, text: str = "") -> None:
        """As serving.Context.progress()."""
        self._wait(self._context.progress(done, total, text))

    def partial(self, value: Any) -> None:
        """As serving.Context.partial()."""
        self._wait(self._context.partial(value))

    def _call_actor(self, *call: Any) -> Any:
        """As serving.Context._call_actor()."""
        return self._ask(self._context._call_actor(*call))

    def _ask(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What it returns. Cancelled: nobody waits for the result of this run any more."""
        try:
            self._asking = asking = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the client has been closed
            work.close()
            raise Cancelled(self.cancelled or "stopping") from None
        if self.cancelling.is_set():
            asking.cancel()
        try:
            return asking.result()
        except concurrent.futures.CancelledError:
            raise Cancelled(self.cancelled or "cancelled") from None

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except RuntimeError:  # the client has been closed, and nobody waits for it
            work.close()


class Threads:
    """So many threads at most, begun as they are needed. The end of the process does not wait for them."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._idle = threading.Semaphore(0)
        self._work: queue.SimpleQueue[tuple[concurrent.futures.Future[Any] | None, Any]] = queue.SimpleQueue()
        self._begun = 0

    def handler(self, function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
        """A function that blocks, as a handler for Serving; a coroutine function is one."""
        if inspect.iscoroutinefunction(function):
            return function

        @functools.wraps(function)
        async def handle(context: serving.Context, *params: Any) -> Any:
            loop = asyncio.get_running_loop()
            seen = Context(context, loop)
            end = asyncio.wrap_future(self._begin(functools.partial(function, seen, *params)))
            try:
                return await asyncio.shield(end)
            except asyncio.CancelledError:
                seen.cancelling.set()
                if seen._asking is not None:
                    seen._asking.cancel()
                await asyncio.wait([end])
                if context.cancelled is None:
                    raise
                return end.result()
        return handle

    def _begin(self, work: Callable[[], Any]) -> concurrent.futures.Future[Any]:
        end: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._work.put((end, work))
        if not self._idle.acquire(blocking=False) and self._left > 0:
            self._left -= 1
            self._begun += 1
            threading.Thread(target=self._run, name="ergon-handler", daemon=True).start()
        return end

    def _run(self) -> None:
        while True:
            end, work = self._work.get()
            if work is None or end is None:
                return
            try:
                end.set_result(work())
            except Exception as raised:  # noqa: BLE001  # whatever it is fails the task
                # A StopIteration cannot stand in a future.
                end.set_exception(RuntimeError(repr(raised)) if isinstance(raised, StopIteration) else raised)
            except BaseException as raised:  # noqa: BLE001  # sys.exit(), say: it is the handler's end, and not the thread's
                end.set_exception(RuntimeError(repr(raised)))
            self._idle.release()

    def close(self) -> None:
        """They end when they have nothing to do."""
        for _ in range(self._begun):
            self._work.put((None, None))


@contextlib.contextmanager
def signals_to(stop: Callable[[int], None]) -> Iterator[None]:
    """SIGTERM and SIGINT call it with their number, where this is the main thread. Python calls handlers in that thread alone,
    and may leave it asleep when a signal comes as it begins to wait: so another thread reads which signals have come."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)

    def follow() -> None:
        while numbers := woken.recv(64):
            for number in filter(ENDS.__contains__, numbers):
                stop(number)
    reader = threading.Thread(target=follow, name="ergon-signals", daemon=True)
    reader.start()
    handlers: list[Any] = [signal.signal(number, lambda *_: None) for number in ENDS]
    before = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in zip(ENDS, handlers):
            signal.signal(number, handler)
        wakes.close()
        reader.join()
        woken.close()
