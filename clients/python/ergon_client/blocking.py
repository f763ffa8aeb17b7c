"""The client for programs that do one thing after the other, and for threads: the asyncio client on a thread of its own."""

import asyncio
import concurrent.futures
import contextlib
import sys
import threading

from . import aio
from .errors import Closed
from .serving import Serving


class Client:
    """A client of one server, for any number of threads, which share its connection. Its options are those of
    `aio.Client`, its methods too, but they block. Use it by `with`, or call close() in the end. A process that forks makes
    its client after that. `on_notification` is called on the client's own thread, and must not block."""

    def __init__(self, url, **options):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ergon-client", daemon=True)
        self._gate = threading.Lock()  # what is given to the loop is given before it ends, or not at all
        self._closing = False
        self._handlers = None  # threads, of who serves
        try:
            self._client = aio.Client(url, **options)
        except BaseException:
            self._loop.close()
            raise
        self._thread.start()

    def _run(self, work):
        """What a coroutine returns or raises; an interrupt of this thread (control-C) cancels it."""
        with self._gate:
            if self._closing:
                work.close()
                raise Closed
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def connect(self):
        """As aio.Client.connect(); after a failure the client is closed."""
        try:
            self._run(self._client.connect())
        except BaseException:
            self.close()
            raise
        return self

    def close(self):
        """Ends the connection; calls of other threads end as Closed. Returns when it has ended, whoever closes it."""
        with self._gate:
            is_first, self._closing = not self._closing, True
        if is_first:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        if is_first:
            self._loop.close()

    async def _end(self):
        await self._client.close()
        await settle()
        if self._handlers is not None:
            self._handlers.shutdown()

    def __enter__(self):
        return self.connect()

    def __exit__(self, *_):
        self.close()

    def _serve(self, handler, slots, begin):
        """As aio.Client._serve(). handler(method, params, gone) runs on threads of its own, one for each slot; `gone`, a
        threading.Event, is set when nobody waits for its answer any more. close() waits for it."""
        self._handlers = concurrent.futures.ThreadPoolExecutor(slots, "ergon-handler")
        self._run(self._client._serve(Serving(on_threads(self._handlers, handler), slots, begin)))

    def request(self, method, params=(), *, timeout=None, again=False):
        """As aio.Client.request()."""
        return self._run(self._client.request(method, params, timeout=timeout, again=again))

    def call(self, method, *params, timeout=None, **options):
        """As aio.Client.call()."""
        return self._run(self._client.call(method, *params, timeout=timeout, **options))

    def notify(self, method, *params):
        """As aio.Client.notify()."""
        return self._run(self._client.notify(method, *params))

    def submit(self, method, *params, timeout=None, **options):
        """As aio.Client.submit(); a Task."""
        return Task(self, self._run(self._client.submit(method, *params, timeout=timeout, **options)))

    def submit_many(self, orders, *, timeout=None, **options):
        """As aio.Client.submit_many()."""
        answers = self._run(self._client.submit_many(orders, timeout=timeout, **options))
        return [Task(self, a) if isinstance(a, aio.Task) else a for a in answers]

    def task(self, id):
        """A task that was submitted before, by its id."""
        return Task(self, self._client.task(id))

    def wait(self, ids, *, any=False, result=True, timeout=None):
        """As aio.Client.wait()."""
        return self._run(self._client.wait(ids, any=any, result=result, timeout=timeout))

    def watch(self, id, start=1):
        """As aio.Client.watch(); a generator."""
        events = self._client.watch(id, start)
        try:
            while (event := self._run(following(events))) is not None:
                yield event
        finally:
            if not sys.is_finalizing():  # the client's thread runs no more
                with contextlib.suppress(Closed):
                    self._run(ended(events))


class Task:
    """A task that the server keeps, as aio.Task, with methods that block."""

    def __init__(self, client, task):
        self._client = client
        self._task = task
        self.id = task.id
        self.said = task.said

    def __repr__(self):
        return repr(self._task)

    def wait(self, *, timeout=None):
        """As aio.Task.wait()."""
        return self._client._run(self._task.wait(timeout=timeout))

    def watch(self, start=1):
        """As aio.Client.watch(); a generator."""
        return self._client.watch(self.id, start)

    def get(self, *, result=True, history=False):
        """As aio.Task.get()."""
        return self._client._run(self._task.get(result=result, history=history))

    def explain(self):
        """As aio.Task.explain()."""
        return self._client._run(self._task.explain())

    def cancel(self):
        """As aio.Task.cancel()."""
        return self._client._run(self._task.cancel())

    def retry(self):
        """As aio.Task.retry()."""
        return self._client._run(self._task.retry())

    def forget(self):
        """As aio.Task.forget()."""
        return self._client._run(self._task.forget())


def on_threads(pool, handler):
    """A handler that blocks, as a coroutine function. Who cancels it waits until it has ended."""
    async def handle(method, params):
        gone = threading.Event()
        work = asyncio.get_running_loop().run_in_executor(pool, handler, method, params, gone)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            gone.set()
            await asyncio.wait([work])
            raise
    return handle


async def following(events):
    """The next event, or None after the last."""
    return await anext(events, None)


async def ended(events):
    await events.aclose()


async def settle():
    """Returns when nothing else runs on the loop: what close() ended has said so."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
