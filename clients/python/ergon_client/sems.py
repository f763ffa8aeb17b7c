"""Named semaphores of the server: permits that we hold, and keep as long as we live."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from .errors import Broken, Closed, ErgonError, RemoteError, TimedOut
from .protocol import Session, Unsent, background
from .times import Duration, Until, seconds_of, wait_of, whole_ms

if TYPE_CHECKING:
    from .aio import Client

WAIT = 24 * 3600.0  # s that the server is asked to wait at a time
ANSWER = 5.0  # s beyond the wait that we wait for the answer
LOST = ("FENCED", "NOT_FOUND", "DENIED")  # of a renewal: somebody else may have the permits
MARGIN = 1.0  # s before others may have them, at which we let go


def ms(seconds: float | None) -> int | None:
    return None if seconds is None else whole_ms(seconds)


def given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


class Hold:
    """Permits that are ours until release(). They are renewed, and resumed on another connection; where that is not possible in
    time they are lost: others may have them after their grace. `fence` is a number that grows with each hold of the semaphore:
    whoever guards what the permits are for refuses smaller ones. `lost`: None, or the error with which they were lost."""

    def __init__(self, client: Client, name: str, grace: float, ttl: float | None) -> None:
        self._client, self._ttl = client, ttl
        self._time = grace if ttl is None else min(grace, ttl)  # s that they stay ours without a word
        self._session: Session | None = None
        self._safe = 0.0  # until when they are ours for certain, by time.monotonic()
        self._keeper: asyncio.Task[None] | None = None
        self._secret: str | None = None
        self.name = name
        self.fence = self.permits = 0
        self.lost: ErgonError | None = None
        self.on_lost: Callable[[], Any] | None = None  # called once, when they are

    def __repr__(self) -> str:
        return f"<Hold {self.name} {self.fence}>"

    def _begin(self, session: Session, sent: float, answer: dict[str, Any]) -> None:
        self._session, self._secret = session, answer["hold"]
        self.fence, self.permits = answer["fence"], answer.get("permits", 0)
        self._renewed(sent)

    def _renewed(self, sent: float) -> None:
        """It counts from when we asked, which is before the server counts from."""
        self._safe = sent + self._time - min(MARGIN, self._time / 4)

    async def renew(self) -> None:
        """Their time begins anew. RemoteError FENCED: they are others' by now."""
        session = await self._client._session()
        method = "sem.renew" if session is self._session else "sem.resume"
        sent = time.monotonic()
        await session.request(method, [self.name, self._secret, given(ttl=ms(self._ttl))])
        self._session = session
        self._renewed(sent)

    async def _check(self) -> None:
        """Renews what came late. Where that fails nobody has them for long: whoever asks again is not to wait for them."""
        try:
            await self.renew()
        except BaseException as error:
            if not (isinstance(error, RemoteError) and error.code in LOST):
                asyncio.ensure_future(self.release())
            raise

    async def _keep(self) -> None:
        while self.lost is None and self._session is not None:
            await self._session.over(self._time / 3)
            try:
                async with asyncio.timeout(self._safe - time.monotonic()):
                    await self._renew_somehow()
            except TimeoutError:
                self._lose(RemoteError("FENCED", "the permits could not be renewed in time"))
            except ErgonError as error:
                self._lose(error)

    async def _renew_somehow(self) -> None:
        while True:
            try:
                return await self.renew()
            except (Unsent, Broken):
                pass
            except RemoteError as error:
                if error.code in LOST:
                    raise
            except Closed:
                raise
            except ErgonError:
                pass  # the token was refused, say: the client tries again
            await asyncio.sleep(self._time / 20)

    def _lose(self, error: ErgonError) -> None:
        self.lost = error
        if self.on_lost is not None:
            self.on_lost()

    async def release(self) -> bool:
        """Gives them back. False: they were lost, or the server has not said yet that it has them; the client goes on with that
        as long as it is connected, and without a connection they go back after their grace."""
        if self._keeper is not None:
            self._keeper.cancel()
        if self.lost is not None or self._secret is None:
            return False
        secret, self._secret = self._secret, None
        left = max(1.0, self._safe - time.monotonic())
        giving = background(self._give_back(secret, time.monotonic() + left))
        await asyncio.wait([giving], timeout=left)
        return giving.done() and giving.result()

    async def _give_back(self, secret: str, until: float) -> bool:
        """Sends that past the calls that wait for their turn, until it is done. Another connection has to come by then."""
        session, attempt = self._session, 0
        while session is not None:
            try:
                if session.ended is not None:
                    async with asyncio.timeout(until - time.monotonic()):
                        session = await self._client._session()
                return bool(await session.request("sem.release", [self.name, secret]))
            except (TimeoutError, Closed):
                break
            except RemoteError as error:
                if not error.retryable and error.code != "UNSURE":
                    break
            except (Unsent, ErgonError):
                pass
            await session.over(min(1.0, 0.1 * 2 ** attempt))
            attempt += 1
        return False


async def acquire(client: Client, name: str, *, permits: int = 1, of: int | None = None, wait: Until | None = None,
                  ttl: Duration | None = None, grace: Duration = 10.0, durable: str | None = None) -> Hold:
    """See aio.Client.acquire()."""
    limit, life, rest = wait_of(wait, "wait"), None if ttl is None else seconds_of(ttl, "ttl"), seconds_of(grace, "grace")
    until = None if limit is None else time.monotonic() + limit
    options = given(permits=permits, of=of, ttl=ms(life), grace=ms(rest), durable=durable)
    attempt = 0

    def late(answer: Any, hold: Hold, session: Session) -> None:
        """Granted to nobody."""
        with contextlib.suppress(KeyError, TypeError):
            hold._begin(session, time.monotonic(), answer)
            background(hold.release())

    while True:
        left = WAIT if until is None else max(0.0, until - time.monotonic())
        try:
            async with asyncio.timeout(None if until is None else left):
                session = await client._session()
        except TimeoutError:
            raise TimedOut("sem.acquire") from None
        hold, sent = Hold(client, name, rest, life), time.monotonic()
        try:
            left = WAIT if until is None else max(0.0, until - sent)
            order = [name, {**options, "wait": ms(left)}]
            async with asyncio.timeout(None if until is None else left + ANSWER):
                answer = await session.request("sem.acquire", order, functools.partial(late, hold=hold, session=session))
                hold._begin(session, sent, answer)
                if time.monotonic() - sent > hold._time / 3:
                    await hold._check()
            hold._keeper = asyncio.create_task(hold._keep())
            return hold
        except TimeoutError:
            raise TimedOut("sem.acquire") from None
        except (Unsent, Broken):
            continue  # whoever waited has lost the place
        except RemoteError as error:
            is_late = until is not None and time.monotonic() >= until
            if error.code == "DEADLINE" and until is None or error.code in LOST and hold._session is not None:
                continue
            if is_late or error.code not in ("BUSY", "DRAINING", "MEMORY"):
                raise
        await asyncio.sleep(min(10.0, 0.1 * 2 ** attempt, WAIT if until is None else until - time.monotonic()))
        attempt += 1


@contextlib.asynccontextmanager
async def holding(client: Client, name: str, **options: Any) -> AsyncIterator[Hold]:
    """See aio.Client.sem()."""
    hold = await acquire(client, name, **options)
    task = asyncio.current_task()
    assert task is not None
    hold.on_lost = task.cancel
    try:
        yield hold
    except asyncio.CancelledError:
        if hold.lost is None or task.uncancel() > 0:
            raise
    finally:
        hold.on_lost = None
        await hold.release()
    if hold.lost is not None:
        raise hold.lost
