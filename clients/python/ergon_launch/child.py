"""A process that works. It tells its parent "ready" and "spent" by a socket, and ends in good order when that is closed. SIGTERM
ends it in good order, too, however often it comes, and SIGINT at once."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import cast

from ergon_client import App, Client, ErgonError, Middleware, Run
from ergon_client.threads import signals_to
from ergon_client.work import WorkOptions

USAGE = 2


class Counting(Middleware):
    """Calls `spent` after so many runs."""

    def __init__(self, most: int, spent: Callable[[], None]) -> None:
        self._most, self._spent, self._runs = most, spent, itertools.count(1)

    @contextlib.contextmanager
    def handle(self, run: Run) -> Iterator[None]:
        try:
            yield
        finally:
            if next(self._runs) == self._most:
                self._spent()


def load(where: str) -> App:
    """SystemExit: there is no such app."""
    module, _, name = where.partition(":")
    try:
        app = getattr(importlib.import_module(module), name or "app", None)
    except Exception as error:  # noqa: BLE001  # the app's code may raise what it likes
        if not (isinstance(error, ModuleNotFoundError) and error.name == module):
            traceback.print_exc()
        say(f"cannot load {where}: {type(error).__name__}: {error}")
        sys.exit(USAGE)
    if not isinstance(app, App):
        say(f"{where} is no ergon_client.App: name it as MODULE:APP")
        sys.exit(USAGE)
    return app


def say(text: str) -> None:
    print(f"ergon: {text}", file=sys.stderr, flush=True)


def run(args: argparse.Namespace) -> int:
    with socket.socket(fileno=args.child) as channel:
        logging.basicConfig(format="%(message)s")
        if "" not in sys.path and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        app = load(args.app)
        app.url = args.url or app.url

        def tell(what: bytes) -> None:
            with contextlib.suppress(OSError):  # the parent has gone
                channel.sendall(what + b"\n")

        async def ready() -> None:
            tell(b"ready")

        if args.max_tasks:
            app.layers.insert(0, Counting(args.max_tasks, lambda: tell(b"spent")))
        threading.Thread(target=follow, args=(channel,), daemon=True).start()
        options = {"slots": args.slots, "grace": args.grace, "name": args.name, "version": args.release, "ready": ready,
                   "signals": False}
        try:
            ending = Ending(app.client)
        except (ErgonError, OSError, ValueError) as error:
            say(f"cannot work: {error}")
            return USAGE
        try:
            with signals_to(ending.signalled):
                try:
                    app.work(**cast(WorkOptions, options))
                finally:
                    ending.is_over = True
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it leaves already
            app.close()
        except (ErgonError, TypeError, ValueError) as error:
            say(f"process {os.getpid()} cannot work: {error}")
            return 1 if isinstance(error, ErgonError) else USAGE
    return 0


class Ending:
    """The signals that end the work."""

    def __init__(self, client: Client) -> None:
        self._client, self._asked, self.is_over = client, 0, False

    def signalled(self, number: int) -> None:
        while self._client._client._worker is None and not self.is_over:  # it has not begun
            time.sleep(0.01)
        while self._asked < (2 if number == signal.SIGINT else 1):
            self._asked += 1
            self._client.stop()


def follow(channel: socket.socket) -> None:
    """Ends with the parent."""
    with contextlib.suppress(OSError):
        while channel.recv(1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
