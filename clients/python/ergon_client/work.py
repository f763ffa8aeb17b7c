"""A registration as a worker: it is told to the server first on each connection, and ended in good order."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any, TypedDict

from .errors import Broken, ErgonError, RemoteError, twin
from .news import log
from .protocol import Session, Unsent, background
from .serving import AsyncHandler, Serving
from .times import Duration, ms_of

LEAVE = 5.0  # s that handlers which are cancelled have to end


HOST = 64  # bytes of a host's name
Secret = None | bool | str | Iterable[str]
Ready = Callable[[], Coroutine[Any, Any, Any]] | None


class WorkOptions(TypedDict, total=False):
    """Options of aio.Client.work(), which describes them."""
    slots: int
    name: str | None
    version: str | None
    share: int | None
    lease: Duration | None
    grace: Duration
    signals: bool
    host: str | None
    secret: Secret
    ready: Ready


def registration(methods: Mapping[str, Any], slots: int, name: str | None, version: str | None, share: int | None,
                 lease: Duration | None, message: int, host: str | None, secret: Secret,
                 actors: dict[str, Any] | None = None) -> list[Any]:
    """The parameters of worker.register."""
    if secret is not None and not isinstance(secret, bool):
        secret = [secret] if isinstance(secret, str) else list(secret)
        if strange := [each for each in secret if each not in methods]:
            raise ValueError(f"secret names {strange[0]!r}, which is no method of this worker")
    options = {"slots": slots, "context": True, "name": name, "version": version, "share": share,
               "lease": None if lease is None else ms_of(lease, "lease"), "message": message,
               "host": socket.gethostname().encode()[:HOST].decode("utf-8", "ignore") if host is None else host or None,
               "secret": secret, "actors": actors or None}
    return [list(methods), {key: value for key, value in options.items() if value is not None}]


class Worker:
    """What a client works, from work() to its end."""

    def __init__(self, handlers: Mapping[str, AsyncHandler], slots: int, params: list[Any], grace: float | None,
                 is_host_asked: bool, ready: Ready) -> None:
        self.serving = Serving(handlers, slots, self._register)
        self._params, self._grace, self._is_host_asked = params, grace, is_host_asked
        self._registered, self._ready = False, ready
        self._readying: asyncio.Task[None] | None = None
        # stop() was called; or what the server has against us.
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._hurry: asyncio.Future[None] = asyncio.get_running_loop().create_future()  # stop() was called twice

    def stop(self) -> None:
        """Ends it in good order; called again, at once."""
        if not self._end.done():
            self._end.set_result(None)
        elif not self._hurry.done():
            self._hurry.set_result(None)

    async def _register(self, session: Session) -> None:
        if self._end.done():
            return
        try:
            await self._ask(session)
        except ErgonError as error:
            if not (isinstance(error, Broken) or error.retryable or self._registered or self._end.done()):
                self._end.set_exception(twin(error))
            raise
        if self._ready is not None and not self._registered:
            self._readying = background(self._begin(self._ready))
        self._registered = True

    async def _begin(self, ready: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """What ready() raises ends the work."""
        try:
            await ready()
        except Exception as error:  # noqa: BLE001  # whatever it is ends the work
            if self._end.done():
                log.warning("ergon: the work ends before it was ready: %s", error)
            else:
                self._end.set_exception(error)

    async def _ask(self, session: Session) -> None:
        """A server that knows no `host` yet is asked without. What the caller asked for is never left out."""
        try:
            await session.request("worker.register", self._params)
        except RemoteError as error:
            if self._is_host_asked or error.code != "BAD_PARAMS" or not re.search(r"\bhost\b", error.text):
                raise
            methods, options = self._params
            known = {name: value for name, value in options.items() if name != "host"}
            await session.request("worker.register", [methods, known])

    async def run(self, begin: Callable[[Serving], Coroutine[Any, Any, None]]) -> None:
        """Until stop(). begin(serving), a coroutine, returns when the server of the connection that is up has been told.
        RemoteError: the server does not want what we offer; and what begin() raises."""
        first = asyncio.create_task(begin(self.serving))
        try:
            await asyncio.wait([first, self._end], return_when=asyncio.FIRST_COMPLETED)
            if first.done():
                first.result()
            await self._end
        except BaseException:
            self._end.cancel()
            self._grace = 0
            raise
        finally:
            for each in filter(None, (first, self._readying)):
                each.cancel()
            await self._finish()

    async def _finish(self) -> None:
        leaving = asyncio.create_task(self._leave())
        await asyncio.wait([leaving, self._hurry], timeout=self._grace, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        await self.serving.close(LEAVE)

    async def _leave(self) -> None:
        """Tells the server that we take no more, and returns when no handler runs."""
        session = self.serving.session
        if session is not None and session.ended is None:
            with contextlib.suppress(ErgonError, Unsent):
                await session.request("worker.quiet", [])
        await self.serving.idle()


@contextlib.contextmanager
def signals_to(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT call it, where this is the main thread."""
    loop, added = asyncio.get_running_loop(), list[int]()
    with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
            added.append(number)
    try:
        yield
    finally:
        for each in added:
            loop.remove_signal_handler(each)
