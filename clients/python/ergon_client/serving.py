"""Requests that come the other way: the server asks, over whichever connection is up, and a handler of ours answers."""

import asyncio
import re

from .errors import Broken, ErgonError, RemoteError
from .protocol import Unsent

CODE = re.compile(r"[A-Z_][A-Z0-9_]{0,31}")
TEXT = 4000  # characters of an error


def error_text(error):
    """What a handler raised, as an error of MessagePack-RPC: "CODE: text"."""
    if isinstance(error, ErgonError) and CODE.fullmatch(error.code):
        return f"{error.code}: {error.text[:TEXT]}"
    return f"FAILED: {type(error).__name__}: {error}"[:TEXT]


class Serving:
    """`handler(method, params)`, a coroutine function, answers the requests of the server, at most `slots` at a time; further
    ones are answered BUSY. Its result is the answer, and so is what it raises. When the connection of a request is lost, or
    the client is closed, its handler is cancelled, and the slot is taken until it has ended.

    `begin(session)`, a coroutine function, is called first on each connection, to tell the server what we serve. What it
    raises ends the connection, and the next one is tried after a pause."""

    def __init__(self, handler, slots, begin):
        self._handler, self._slots, self._begin = handler, slots, begin
        self._running = {}  # task: the session of its request
        self._begun = None  # the session that begin() was called with, and the future of how that went

    async def begin(self, session):
        """Once for each session, whoever comes first."""
        if self._begun is None or self._begun[0] is not session:
            self._begun = session, asyncio.ensure_future(self._begin(session))
            self._begun[1].add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may ask any more
        try:
            await asyncio.shield(self._begun[1])
        except Unsent:
            raise Broken(session.ended) from None

    def take(self, session, number, method, params):
        """A request, from the session that received it."""
        if len(self._running) >= self._slots:
            session.refuse(number, "BUSY: all slots of this client are taken")
            return
        params = [] if params is None else params if isinstance(params, list) else [params]
        task = asyncio.create_task(self._run(session, number, method, params))
        self._running[task] = session
        task.add_done_callback(self._running.pop)

    async def _run(self, session, number, method, params):
        error = result = None
        try:
            result = await self._handler(method, params)
        except asyncio.CancelledError:
            if session.ended is not None:
                return  # nobody waits for it
            error = "CANCELLED: the handler was cancelled"
        except Exception as raised:
            error = error_text(raised)
        try:
            await self._answer(session, number, error, result)
        except (Unsent, asyncio.CancelledError):
            pass  # nobody waits for it any more

    async def _answer(self, session, number, error, result):
        try:
            await session.answer(number, error, result)
        except RemoteError as large:
            await session.answer(number, str(large), None)
        except (TypeError, ValueError, OverflowError) as raised:
            await session.answer(number, f"INTERNAL: the result is not for MessagePack: {raised}"[:TEXT], None)

    def lost(self, session):
        """Its connection has ended."""
        for task, of in list(self._running.items()):
            if of is session and task is not asyncio.current_task():
                task.cancel()

    async def over(self):
        """Returns when no handler runs, but for one that asks for this."""
        await asyncio.gather(*(self._running.keys() - {asyncio.current_task()}), return_exceptions=True)
