"""Requests that come the other way: the server asks, over whichever connection is up, and handlers of ours answer."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Unpack

from .errors import Again, Broken, Cancelled, ErgonError, RemoteError
from .failure import TEXT, error_text, error_value
from .layers import Middleware, Order, submitting
from .news import log
from .options import TaskOptions
from .protocol import Session, Unsent
from .results import ordered, orders_of

# Why a handler is cancelled whose task another worker shall have.
HANDED_BACK = ("draining", "stopping")


class Context:
    """One run of a handler, which gets it before the parameters.

    `method`; `task`, its id, and `tenant`, or None for a plain call; `turn`, what a message to an actor says of it, or {};
    `attempt`, from 1 on; `checkpoint`, what save() was last given, also by an attempt before, or None; `batch`, the id of the
    batch of which it is a member, and `callback_of`, that of the batch that has submitted it at its end, or None; `traceparent`
    and `tracestate`, the trace that it belongs to as W3C Trace Context writes it, or None;
    and `cancelled`: None, or why nobody waits for the result any more: "cancelled", "deadline", "gone" (the caller),
    "draining" (the server ends), "lost" (the connection), "stopping" (this worker ends)."""

    def __init__(self, session: Session, number: Any, method: str, told: dict[str, Any]) -> None:
        left = told.get("left")
        self.method = method
        self.task: str | None = told.get("task")
        self.attempt: int = told.get("attempt", 1)
        self.tenant: str | None = told.get("tenant")
        self.traceparent: str | None = told.get("traceparent")
        self.tracestate: str | None = told.get("tracestate")
        self.turn: dict[str, Any] = told if "actor" in told else {}
        self.checkpoint: Any = told.get("checkpoint")
        self.batch: str | None = told.get("batch")
        self.callback_of: str | None = told.get("callback_of")
        self.cancelled: str | None = None
        self._until = None if left is None else time.monotonic() + left / 1000
        self._session, self._number, self._call = session, number, told.get("call", number)
        self._work: asyncio.Future[Any] | None = None  # the asyncio task of the handler, once it runs
        self._answered = False
        self._calls, self._is_calling = 0, False  # of a turn, to actors
        self._changes: dict[str, Any] = {}  # of a turn
        self._layers: list[Middleware] = []  # round what it submits

    def __repr__(self) -> str:
        return f"<Context {self.method} {self.task or 'call'} attempt {self.attempt}>"

    @property
    def left(self) -> float | None:
        """Seconds to the deadline, or None."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def check(self) -> None:
        """Raises Cancelled once nobody waits for the result any more."""
        if self.cancelled is not None:
            raise Cancelled(self.cancelled)

    async def progress(self, done: int, total: int = 0, text: str = "") -> None:
        """Tells how far it is; whoever watches the task sees it. A total of 0 is not known."""
        await self._tell("worker.progress", [self._call, done, total, text])

    async def partial(self, value: Any) -> None:
        """Gives a part of the result to whoever watches the task. RemoteError: it is larger than the server takes."""
        await self._tell("worker.partial", [self._call, value])

    async def _call_actor(self, to: str, method: str, params: list[Any], options: dict[str, Any]) -> Any:
        """A call that this turn makes. The next attempt makes it with the same key, and gets the same answer."""
        if self._is_calling:
            raise RemoteError("BUSY", "a turn has one call out at a time: wait for its result before the next call")
        self._is_calling, self._calls = True, self._calls + 1
        options = {"key": f"{self.turn.get('calls', self.task)}/{self._calls}", **options, "turn": self._call}
        try:
            return await self._ask("actor.call", [to, method, params, options])
        finally:
            self._is_calling = False

    async def submit(self, method: str | Order, *params: Any, **options: Unpack[TaskOptions]) -> None:
        """Submits a task, or orders, when this attempt ends well: all that it submits, with its end, or nothing. Options are
        those of Client.submit(), but `after`. RemoteError: the server refuses it; the attempt fails then, whatever it returns."""
        orders = orders_of(method, params, options)
        with contextlib.ExitStack() as stack:
            for each in orders:
                stack.enter_context(submitting(self._layers, each))
            await self._send("task", [ordered(each.method, each.params, each.options, "submit()") for each in orders])

    async def tell(self, to: str, method: str, *params: Any, **options: Unpack[TaskOptions]) -> None:
        """Sends a message to an actor, as submit() does."""
        await self._send("tell", [[to, *ordered(method, params, options, "tell()")]])

    async def save(self, value: Any) -> bool:
        """Keeps a value of at most 64 KiB with the task: the `checkpoint` of its next attempts. None: there is none any more.
        False: too much is on its way to the server, and the one before stays."""
        if saved := await self._ask("worker.checkpoint", [self._call, value]):
            self.checkpoint = value
        return bool(saved)

    async def _send(self, kind: str, orders: list[Any]) -> None:
        if self.turn:
            self._changes.setdefault(kind, []).extend(orders)
        else:
            await self._ask("worker.submit", [self._call, {kind: orders}])

    async def _ask(self, method: str, params: list[Any]) -> Any:
        try:
            return await self._session.request(method, params)
        except Unsent:
            raise Broken(self._session.ended or "") from None

    async def _tell(self, method: str, params: list[Any]) -> None:
        try:
            await self._session.notify(method, params)
        except Unsent:
            pass  # nobody waits for it

    def _cancel(self, why: str) -> None:
        if self.cancelled is None:
            self.cancelled = why
            if self._work is not None and self._work is not asyncio.current_task():
                self._work.cancel()


AsyncHandler = Callable[..., Coroutine[Any, Any, Any]]


class Handler:
    """A coroutine function, and what it takes."""

    def __init__(self, name: str, function: AsyncHandler) -> None:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"the handler of {name} is no coroutine function (async def)")
        self.function = function
        self._signature = inspect.signature(function)

    async def run(self, context: Context, params: list[Any]) -> Any:
        """Its result; what it raises, or RemoteError: the parameters do not fit."""
        try:
            self._signature.bind(context, *params)
        except TypeError as error:
            raise RemoteError("BAD_PARAMS", str(error)) from None
        return await self.function(context, *params)


class Serving:
    """Handlers, by name, answer the requests of the server, at most `slots` at a time. A connection on which more are open is
    answered BUSY; what comes while handlers of a connection that was lost still hold their slots waits for these. What a
    handler returns is the answer, and so is what it raises.

    `begin(session)`, a coroutine function, is called first on each connection, to tell the server what we serve. What it
    raises ends the connection, and the next one is tried after a pause."""

    def __init__(self, handlers: Mapping[str, AsyncHandler], slots: int,
                 begin: Callable[[Session], Coroutine[Any, Any, None]]) -> None:
        self._handlers = {name: Handler(name, function) for name, function in handlers.items()}
        self._slots, self._begin = slots, begin
        self._free = asyncio.Semaphore(slots)
        self._open: dict[Session, set[Context]] = {}  # session: the contexts of its requests that are not answered
        self._running: dict[asyncio.Task[None], Context] = {}  # task: the context of its request, until the handler has ended
        self._closed = False
        # The session that begin() was called with, and the future of how that went.
        self._begun: tuple[Session, asyncio.Future[None]] | None = None

    @property
    def session(self) -> Session | None:
        """The last one that was told."""
        return None if self._begun is None else self._begun[0]

    async def begin(self, session: Session) -> None:
        """Once for each session, whoever comes first."""
        if self._begun is None or self._begun[0] is not session:
            self._begun = session, asyncio.ensure_future(self._begin(session))
            self._begun[1].add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may ask any more
        try:
            await asyncio.shield(self._begun[1])
        except Unsent:
            raise Broken(session.ended or "it ended") from None

    def take(self, session: Session, number: Any, method: str, params: Any) -> None:
        """A request, from the session that received it."""
        if method == "worker.ping":
            session.reply(number, None)
            return
        handler = self._handlers.get(method)
        if handler is None:
            session.reply(number, f"NO_METHOD: this worker does not offer {method[:80]}")
            return
        if self._closed:
            session.reply(number, error_text(Again()))
            return
        open = self._open.setdefault(session, set())
        if len(open) >= self._slots:
            session.reply(number, "BUSY: all slots of this worker are taken")
            return
        params = [] if params is None else params if isinstance(params, list) else [params]
        told = params.pop() if params and isinstance(params[-1], dict) and "call" in params[-1] else {}
        context = Context(session, number, method, told)
        open.add(context)
        task = asyncio.create_task(self._run(context, handler, params))
        self._running[task] = context
        task.add_done_callback(self._running.pop)

    def told(self, session: Session, call: Any, why: str) -> None:
        """The server says that nobody waits for a call."""
        for context in self._open.get(session, ()):
            if context._call == call:
                context._cancel(why)

    async def _run(self, context: Context, handler: Handler, params: list[Any]) -> None:
        async with self._free:
            error, result = await self._outcome(context, handler, params)
            if not context._answered:
                await self._answer(context, error, result)

    async def _outcome(self, context: Context, handler: Handler, params: list[Any]) -> tuple[Any, Any]:
        """(error, None) or (None, result)."""
        if context.cancelled is None:
            context._work = asyncio.ensure_future(handler.run(context, params))
            await asyncio.wait([context._work])
            if not context._work.cancelled():
                raised = context._work.exception()
                if raised is None:
                    return None, context._work.result()
                if not isinstance(raised, Cancelled) or context.cancelled is None:
                    if not isinstance(raised, ErgonError):
                        log.warning("%r failed", context, exc_info=raised)
                    return error_value(raised), None
        if context.cancelled in HANDED_BACK:
            return error_text(Again()), None
        return f"CANCELLED: {context.cancelled or 'the handler was cancelled'}", None

    async def _answer(self, context: Context, error: Any, result: Any) -> None:
        """The slot is taken until the socket has the answer."""
        context._answered = True
        session, number = context._session, context._number
        try:
            try:
                await session.answer(number, error, result)
            except RemoteError as large:
                text = "{code}: {message}".format(**error) if isinstance(error, dict) else str(large)
                await session.answer(number, text, None)
            except (TypeError, ValueError, OverflowError) as raised:
                await session.answer(number, f"INTERNAL: the result is not for MessagePack: {raised}"[:TEXT], None)
        except Unsent:
            pass  # nobody waits for it any more
        finally:
            self._open.get(session, set()).discard(context)

    def lost(self, session: Session) -> None:
        """Its connection has ended."""
        for context in self._open.pop(session, ()):
            context._cancel("lost")

    async def idle(self) -> None:
        """Returns when no handler runs, but for one that asks for this."""
        while others := self._others():
            await asyncio.wait(others)

    async def close(self, wait: float | None) -> None:
        """Cancels what still runs, and gives it so many seconds. The tasks of handlers that go on are handed back, for another
        worker, and this worker ignores what these handlers return. None: the process ends, and no callback is called."""
        self._closed = True
        for contexts in self._open.values():
            for context in contexts:
                context._cancel("stopping")
        if others := self._others():
            await asyncio.wait(others, timeout=wait or 0)
        for task in self._others():
            context = self._running[task]
            if wait is not None:
                log.warning("%r does not end, and nobody waits for it", context)
            if not context._answered:
                await self._answer(context, error_text(Again()), None)
            for each in (context._work, task):
                if each is not None:
                    each.cancel()

    def _others(self) -> list[asyncio.Task[None]]:
        asking = asyncio.current_task()
        return [task for task, context in self._running.items() if context._work is not asking]
