"""One connection: messages to bytes and back, which answer belongs to which call, and who we are."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgpack  # type: ignore

from .address import READ, reason_of
from .errors import Broken, Refused, RemoteError, Unreachable, remote_error
from .options import id_of
from .times import moment_of, ms_of
from .typed import lowered

REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2
IDS = 1 << 31
DRAINING = 9  # the number of that error, which no handler can have
OURS = "the client closed it"
# Methods of the server itself, and those among them that carry values of others.
OWN = ("task.", "cron.", "queue.", "sem.", "event.", "worker.", "connection.", "server.")
CARRIERS = ("task.submit", "task.submit_many", "task.call", "cron.put", "event.set", "worker.partial", "worker.submit",
            "worker.checkpoint")


Answer = TypeVar("Answer")


class Unsent(Exception):
    """The connection ended before the message went into it."""


def pack(message: Any, default: Callable[[Any], Any] = lowered) -> bytes:
    """Text that is no UTF-8 comes as surrogates, and goes as it came. TypeError: it is not for MessagePack."""
    packed: bytes = msgpack.packb(message, use_bin_type=True, unicode_errors="surrogateescape", default=default)
    return packed


def plain(value: Any) -> Any:
    """A time or a task among the parameters of a method of the server itself."""
    if isinstance(value, timedelta):
        return ms_of(value, "a duration")
    if isinstance(value, datetime):
        return moment_of(value, "a moment")
    return id_of(value)


def hashable(key: Any) -> Any:
    return tuple(map(hashable, key)) if isinstance(key, list) else repr(key) if isinstance(key, dict) else key


def as_dict(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """A map; keys that Python cannot hash become tuples, or texts."""
    try:
        return dict(pairs)
    except TypeError:
        return {hashable(key): value for key, value in pairs}


def background(work: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
    """A task of the client's own: nobody is told if its loop ends under it, since nobody waits for it then."""
    task = asyncio.create_task(work)
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    return task


class Session:
    """A connection that is up.  All of it belongs to one event loop.

    `on_notification(session, method, params)` is called for each notification of the server, and `on_request(session, number,
    method, params)` for each request, which it refuses by returning False.  `on_end(session)` is called once, when the
    connection has ended, after all its calls have been failed; `on_drain(text)` once, when the server is about to stop.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message_max: int,
                 on_notification: Callable[[Session, str, list[Any]], None],
                 on_request: Callable[[Session, Any, str, Any], bool], on_end: Callable[[Session], None],
                 on_drain: Callable[[str], None]) -> None:
        self.limits: dict[str, int] = {}  # as server.hello told them
        self.ended: str | None = None  # why, once it has
        self._reader, self._writer = reader, writer
        self._writing = asyncio.Lock()  # one call after the other writes, so that little waits in memory
        self._calls: dict[int, asyncio.Future[Any]] = {}  # id: the future of its answer
        self._last = 0
        self._message_max = message_max
        self._on_notification, self._on_request, self._on_end = on_notification, on_request, on_end
        self._on_drain, self._draining = on_drain, False
        self._closing: str | None = None  # why the server is about to close it
        self._unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, unicode_errors="surrogateescape",
                                          object_pairs_hook=as_dict, max_buffer_size=message_max)
        self._task = background(self._receive())

    async def introduce(self, token: str | None) -> None:
        """Says how we want to be answered, and who we are.  Refused, or Unreachable. With `push` the server tells why it
        closes."""
        hello = {"errors": "map", "half_close": False, "push": True}
        asked: list[Coroutine[Any, Any, Any]] = [self.request("server.hello", [hello])]
        if token is not None:
            asked.append(self.request("server.auth", [token]))
        said, *accepted = await asyncio.gather(*asked, return_exceptions=True)
        for answer in (said, *accepted):
            if isinstance(answer, (Broken, Unsent)):
                raise Unreachable(self.ended or "the connection ended at once")
        for answer in accepted:
            if isinstance(answer, RemoteError):
                raise Refused(str(answer))
        # Another server of MessagePack-RPC need not know server.hello.
        limits = said.get("limits") if isinstance(said, dict) else None
        if isinstance(limits, dict):
            self.limits = {name: most for name, most in limits.items() if isinstance(most, int)}

    # ---- sending ----

    def _write(self, message: list[Any]) -> None:
        """Unsent: the session has ended. RemoteError: the message is too large. TypeError, ValueError, OverflowError: it is
        not for MessagePack."""
        own = message[0] != RESPONSE and message[-2].startswith(OWN) and message[-2] not in CARRIERS
        frame = pack(message, plain if own else lowered)
        most = self.limits.get("message", IDS)
        if len(frame) > most:
            # The server would close the connection over it, under all other calls.
            raise RemoteError("TOO_LARGE", f"the message has {len(frame)} bytes, and the server takes {most}")
        if self.ended is not None:
            raise Unsent
        self._writer.write(frame)

    async def _drain(self) -> None:
        """Returns when the socket has taken so much that another may write."""
        try:
            await self._writer.drain()
        except OSError:
            pass  # the receiving side ends the session, and says why

    def _next_id(self) -> int:
        while True:
            self._last = (self._last + 1) % IDS
            if self._last not in self._calls:
                return self._last

    async def request(self, method: str, params: Any, late: Callable[[Any], None] | None = None) -> Any:
        """The result.  RemoteError, Broken, or Unsent; whoever cancels this cancels the call in the server. `late(result)` is
        called if it was done all the same."""
        number, answer = -1, asyncio.get_running_loop().create_future()
        try:
            async with self._writing:
                await self._drain()  # the one before may have been given up, and what it wrote is there
                number = self._next_id()
                self._write([REQUEST, number, method, params])
                self._calls[number] = answer
                await self._drain()
            return await answer
        except asyncio.CancelledError:
            if self._calls.pop(number, None) is not None:
                if late is not None:
                    self._calls[number] = answer = asyncio.get_running_loop().create_future()
                self._write([NOTIFICATION, "server.cancel", [number]])
            answer.add_done_callback(lambda done: done.cancelled() or done.exception() or late is None or late(done.result()))
            raise

    async def notify(self, method: str, params: Any) -> None:
        await self._put([NOTIFICATION, method, params])

    async def answer(self, number: Any, error: Any, result: Any) -> None:
        """Answers a request of the server, and returns when the socket has taken that.  As _write()."""
        await self._put([RESPONSE, number, error, result])

    async def _put(self, message: list[Any]) -> None:
        async with self._writing:
            await self._drain()
            self._write(message)
            await self._drain()

    def reply(self, number: Any, error: str | None) -> None:
        """Answers it at once, from within on_request, with an error or nil."""
        if self._writer.transport.get_write_buffer_size() > self._message_max:
            raise ValueError("it asks, and does not read our answers")
        self._write([RESPONSE, number, error, None])

    # ---- receiving ----

    async def _receive(self) -> None:
        why = OURS
        try:
            while data := await self._reader.read(READ):
                self._unpacker.feed(data)
                for message in self._unpacker:
                    self._take(message)
            why = "the server closed it"
        except OSError as error:
            why = reason_of(error)
        except GeneratorExit:  # freed with its loop: nobody is there who could be told
            self.ended = why
            raise
        except (ValueError, msgpack.exceptions.UnpackException) as error:
            why = f"the server does not speak MessagePack-RPC: {error or type(error).__name__}"
        finally:
            self._end(why)

    def _take(self, message: Any) -> None:
        match message:
            case [0, number, str() as method, params]:
                if not self._on_request(self, number, method, params):
                    self.reply(number, f"NO_METHOD: a client has no method {method[:80]}")
            case [1, int() as number, error, result]:
                answer = self._calls.pop(number, None)
                if answer is None or answer.done():
                    return  # a late one, of a call that was given up
                if error is None:
                    answer.set_result(result)
                else:
                    self._fail(answer, remote_error(error))
            case [2, str() as method, list() as params]:
                if method == "server.closing":
                    self._closing = ": ".join(map(str, params))
                    if params[:1] == ["DRAINING"]:
                        self.drain(": ".join(map(str, params[1:])))
                asyncio.get_running_loop().call_soon(self._on_notification, self, method, params)  # what it raises is not ours
            case _:
                raise ValueError(f"{repr(message)[:80]} is no message")

    def _fail(self, answer: asyncio.Future[Any], error: RemoteError) -> None:
        answer.set_exception(error)
        if error.code == "DRAINING" and error.number == DRAINING and "queue" not in error.text:  # a queue may drain alone
            self.drain(error.text)

    def drain(self, text: str) -> None:
        """The server says that it is about to stop."""
        if not self._draining and self.ended is None:
            self._draining = True
            self._on_drain(text)

    def _end(self, why: str) -> None:
        if self.ended is not None:
            return
        self.ended = self._closing or why
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._writer.transport.abort()
        calls, self._calls = self._calls, {}
        for answer in calls.values():
            if not answer.done():
                answer.set_exception(Broken(self.ended))
        self._on_end(self)

    async def over(self, most: float | None = None) -> None:
        """Returns when the connection has ended, or after so many seconds."""
        await asyncio.wait([self._task], timeout=most)

    def drop(self, why: str = OURS) -> None:
        """Ends it at once; calls in flight end as Broken."""
        self._end(why)
        self._task.cancel()

    async def finish(self) -> None:
        """Ends it when what was written has gone out, if the server reads that within a second."""
        if self.ended is None:
            self._closing = OURS
            self._writer.close()
            await asyncio.wait([self._task], timeout=1)
        self.drop()
        await self.over()
