"""What happens to a client's connection: callbacks for programs, log lines for people."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable
from typing import Any

AGAIN = 30.0  # s after which a refusal for the same reason has another line

log = logging.getLogger("ergon_client")


@dataclasses.dataclass(frozen=True)
class ConnectionEvent:
    """`event` is "connect", "disconnect", "reconnect", "refused" or "drained"; `address` the URL; `reason` why, or None."""
    event: str
    address: str
    reason: str | None = None


Callback = Callable[[ConnectionEvent], Any]


class News:
    """That of one client. All of it belongs to its event loop."""

    def __init__(self, address: str, callbacks: dict[str, Callback | None]) -> None:
        self.trouble: str | None = None  # why there is no connection; None: there is one, or none was tried
        self._address, self._callbacks = address, callbacks
        self._was_up = False
        self._down = 0.0  # since when there is none
        self._refusal, self._refused_at = "", 0.0  # the last one that had a line
        self._running: set[asyncio.Future[Any]] = set()  # of callbacks that are coroutine functions

    def up(self) -> None:
        """There is a connection."""
        if self._was_up:
            log.info("ergon: connected to %s again, after %.1f s", self._address, time.monotonic() - self._down)
        else:
            log.info("ergon: connected to %s", self._address)
        event, self._was_up = "reconnect" if self._was_up else "connect", True
        self.trouble, self._refusal = None, ""
        self._call(event, None)

    def down(self, reason: str, ours: bool) -> None:
        """There is none any more; `ours`: because we closed it."""
        self._down = time.monotonic()
        if ours:
            log.info("ergon: closed the connection to %s", self._address)
        else:
            self.trouble = reason
            log.warning("ergon: lost the connection to %s: %s; connecting again", self._address, reason)
        self._call("disconnect", reason)

    def refused(self, reason: str, raised: bool) -> None:
        """An attempt to connect failed. It has no line if the caller gets it as an exception; while the reason is the same,
        another only after a while."""
        self.trouble = reason
        now = time.monotonic()
        if not raised and (reason != self._refusal or now - self._refused_at >= AGAIN):
            self._refusal, self._refused_at = reason, now
            log.warning("ergon: no connection to %s: %s; trying again", self._address, reason)
        self._call("refused", reason)

    def drained(self, reason: str) -> None:
        """The server is about to stop."""
        log.warning("ergon: %s is stopping: %s", self._address, reason)
        self._call("drained", reason)

    def _call(self, event: str, reason: str | None) -> None:
        callback = self._callbacks.get(event)
        if callback is None:
            return
        try:
            work = callback(ConnectionEvent(event, self._address, reason))
            if asyncio.iscoroutine(work):
                running = asyncio.ensure_future(work)
                self._running.add(running)
                running.add_done_callback(self._called)
        except Exception:
            log.exception("ergon: on_%s failed", event)

    def _called(self, running: asyncio.Future[Any]) -> None:
        self._running.discard(running)
        if not running.cancelled() and running.exception() is not None:
            log.error("ergon: a callback failed", exc_info=running.exception())
