"""A server and a worker for tests, or neither of them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator

from ergon_app.registry import App
from ergon_client import blocking

from .immediate import Client, Server

LEAVE = 10.0  # s that a server has to end


@contextlib.contextmanager
def immediate(app: App) -> Iterator[blocking.Client]:
    """Within this block submit(), delay() and call() of the app run the task at once, in the same thread, through its checks and
    middleware. Retries come without a wait, and so do tasks with a time; `after` and `key` are kept. Messages to its actors run
    so, too. What a submitted task came to is its Task's, or the client's that this gives."""
    was, one = app.immediate, Server(app)
    client = Client(one)
    app.immediate = one, client
    try:
        yield client
    finally:
        app.immediate = was


@contextlib.contextmanager
def server(*flags: str) -> Iterator[str]:
    """The URL of a server of one's own, which ends with this block. It is the program ERGOND, or `ergond` of the path, and has
    these further flags, as ("--store", path). RuntimeError: why it does not start."""
    program = os.environ.get("ERGOND") or shutil.which("ergond")
    if program is None:
        raise RuntimeError("there is no ergond on the path: install it, or say by ERGOND where it is")
    with tempfile.TemporaryDirectory(prefix="ergon-") as folder, open(folder + "/log", "w+", errors="replace") as said:
        url, devnull = f"unix://{folder}/socket", subprocess.DEVNULL
        with subprocess.Popen([program, "--listen", url, *flags], stdin=devnull, stdout=subprocess.PIPE, stderr=said) as child:
            try:
                if not child.stdout or not child.stdout.readline():  # it prints the URL once it listens
                    child.wait()
                    said.seek(0)
                    raise RuntimeError(f"{program} does not start: {said.read().strip()}")
                yield url
            finally:
                child.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(LEAVE)
                child.kill()


@contextlib.contextmanager
def worker(app: App, url: str | None = None, slots: int = 4) -> Iterator[App]:
    """Within this block the app works, in a thread of this process, for the server of this URL, and submits its tasks there. It
    has begun, with its crons. What prevents that is raised."""
    was, failure, begun = app.url, list[BaseException](), threading.Event()

    async def ready() -> None:
        begun.set()

    def work() -> None:
        try:
            app.work(slots=slots, signals=False, ready=ready)
        except BaseException as error:  # noqa: BLE001  # the test raises it
            failure.append(error)
        begun.set()

    app.close()
    app.url = url or was
    thread = threading.Thread(target=work, name="ergon-worker", daemon=True)
    try:
        app.client.connect()
        thread.start()
        begun.wait()
        if failure:
            raise failure[0]
        yield app
    finally:
        app.stop()
        if thread.ident is not None:
            thread.join()
        app.close()
        app.url = was
    if failure:
        raise failure[0]
