"""The client for programs that do one thing after the other, and for threads: the asyncio client on a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, cast

from . import actors as types
from . import aio, sems
from .errors import Closed, ErgonError, RemoteError
from .methods import Events, Found, Methods
from .news import Callback
from .options import MessageOptions, Result, TaskId, TaskOptions
from .threads import Threads, signals_to
from .times import Duration, Moment, Until
from .work import WorkOptions

Answer = TypeVar("Answer")
P = ParamSpec("P")


LEAVE = 1.5  # s that the end of the process waits for a client that was not closed


def blocked(work: Coroutine[Any, Any, Any]) -> RuntimeError:
    """The error of a method that would wait on the event loop on which its own work is to run."""
    work.close()
    return RuntimeError("a coroutine function must not block its client's event loop: await app.send_async(method.order(…)), or "
                        "a method of app.aio, such as app.aio.call(…)")


class Engine:
    """The thread and the event loop of one client. It knows no Client, so that one that nobody closes can be freed."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name="ergon-client", daemon=True)
        self._gate = threading.Lock()  # what is given to the loop is given before it ends, or not at all
        self._closing = self._leaving = False
        self._process = os.getpid()
        try:
            self.client = aio.Client(url, **options)
        except BaseException:
            self._loop.close()
            raise
        self._thread.start()

    def _main(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """What a coroutine returns or raises; an interrupt of this thread (control-C) cancels it."""
        if threading.current_thread() is self._thread:
            raise blocked(work)
        with self._gate:
            if self._closing:
                work.close()
                self._freeze()
                raise Closed
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
        finally:
            self._freeze()

    def _freeze(self) -> None:
        """When the process ends, threads of the background have nobody to tell it to."""
        if self._leaving and threading.current_thread().daemon:
            threading.Event().wait()

    def is_loop(self, loop: asyncio.AbstractEventLoop) -> bool:
        return loop is self._loop

    def soon(self, function: Callable[[], Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the client is closed
            self._loop.call_soon_threadsafe(function)

    def close(self) -> None:
        """Returns when it has ended, whoever closes it."""
        with self._gate:
            is_first, self._closing = not self._closing, True
        if is_first:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _end(self) -> None:
        await self.client.close()
        await settle()

    def leave(self) -> None:
        """Nobody closed the client: it was freed, or the process ends."""
        if self._process != os.getpid():  # it was forked: it has no such thread, and one that had the gate gives it to nobody
            return
        with self._gate:
            if self._closing:
                return
            self._closing = self._leaving = True
        self._loop.call_soon_threadsafe(self._begin_to_leave)
        if threading.current_thread() is not self._thread:
            self._thread.join(LEAVE)

    def _begin_to_leave(self) -> None:
        self._left = self._loop.create_task(self._leave())

    async def _leave(self) -> None:
        self._loop.set_exception_handler(lambda *_: None)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.client.leave(), LEAVE)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=0.1)
        self._loop.stop()


class Blocks:
    """What has a twin in aio, and its methods, which block here."""

    def __init__(self, engine: Engine, twin: Any) -> None:
        self._engine, self._twin = engine, twin

    def __repr__(self) -> str:
        return repr(self._twin)


def blocks(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, Answer]]) -> Callable[Concatenate[Any, P], Answer]:
    """A method of the twin, as one that blocks."""
    name = method.__name__

    @functools.wraps(method)
    def run(self: Any, /, *args: P.args, **named: P.kwargs) -> Answer:
        answer: Answer = self._engine.run(getattr(self._twin, name)(*args, **named))
        return answer
    return run


def iterates(method: Callable[Concatenate[Any, P], Events]) -> Callable[Concatenate[Any, P], Iterator[Found]]:
    """A method of a client's twin that gives one after the other, as a generator."""
    name = method.__name__

    @functools.wraps(method)
    def run(self: Any, /, *args: P.args, **named: P.kwargs) -> Iterator[Found]:
        each: Iterator[Found] = self._each(getattr(self._twin, name)(*args, **named))
        return each
    return run


class Client(Blocks):
    """A client of one server, for any number of threads, which share its connection. Its options are those of
    `aio.Client`, its methods too, but they block. Use it by `with`, or call close() in the end. A process that forks makes
    its client after that. Callbacks (`on_notification`, `on_connect`, ...) are called on the client's own thread, and must not
    block."""

    def __init__(self, url: str, *, token: str | None = None, ca: str | None = None, cert: str | None = None,
                 key: str | None = None, server_name: str | None = None, timeout: Until | None = None,
                 connect_timeout: Duration | None = 10.0, backoff: tuple[Duration, Duration] = (0.1, 10.0),
                 in_flight: int = 1000, message_max: int = 32 << 20,
                 on_notification: Callable[[str, list[Any]], Any] | None = None, on_connect: Callback | None = None,
                 on_disconnect: Callback | None = None, on_reconnect: Callback | None = None,
                 on_refused: Callback | None = None, on_drained: Callback | None = None) -> None:
        engine = Engine(url, {name: value for name, value in locals().items() if name not in ("self", "url", "__class__")})
        super().__init__(engine, engine.client)
        weakref.finalize(self, engine.leave)

    @property
    def _client(self) -> aio.Client:
        return self._engine.client

    def connect(self) -> Self:
        """As aio.Client.connect(); after a failure the client is closed."""
        try:
            self._engine.run(self._client.connect())
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Ends the connection; calls of other threads end as Closed. Returns when it has ended, whoever closes it."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(self, *_: object) -> None:
        self.close()

    def work(self, handlers: Mapping[str, Callable[..., Any]] | None = None, *,
             actors: Mapping[str, type[types.Actor]] | None = None, **options: Unpack[WorkOptions]) -> None:
        """As aio.Client.work(), with functions that block, of which `slots` run at a time on threads of their own. What is
        cancelled finds it out by Context.cancelled, or waits for Context.cancelling: no thread is ended from outside, and one
        that goes on regardless is left alone after the grace, and ends with the process. Coroutine functions, and `ready`, run on
        the client's own event loop, which they must not block."""
        threads = Threads(options.get("slots", 1))
        functions = {**types.handlers(actors or {}), **(handlers or {})}
        served = {name: threads.handler(function) for name, function in functions.items()}
        try:
            with signals_to(lambda _: self.stop()) if options.get("signals", True) else contextlib.nullcontext():
                self._engine.run(self._client.work(served, actors=actors, **cast(WorkOptions, {**options, "signals": False})))
        finally:
            threads.close()

    def stop(self) -> None:
        """As aio.Client.stop(), from any thread, also from a handler or a signal's."""
        self._engine.soon(self._client.stop)

    request = blocks(aio.Client.request)
    call = blocks(aio.Client.call)
    notify = blocks(aio.Client.notify)
    cron_put = blocks(aio.Client.cron_put)
    wait = blocks(aio.Client.wait)
    event_set = blocks(aio.Client.event_set)
    event_wait = blocks(aio.Client.event_wait)
    task_cancel = blocks(Methods.task_cancel)
    task_retry = blocks(Methods.task_retry)
    task_forget = blocks(Methods.task_forget)
    queue_list = blocks(Methods.queue_list)
    queue_explain = blocks(Methods.queue_explain)
    queue_pause = blocks(Methods.queue_pause)
    queue_drain = blocks(Methods.queue_drain)
    queue_resume = blocks(Methods.queue_resume)
    cron_list = blocks(Methods.cron_list)
    cron_pause = blocks(Methods.cron_pause)
    cron_resume = blocks(Methods.cron_resume)
    cron_run = blocks(Methods.cron_run)
    cron_delete = blocks(Methods.cron_delete)
    batch_create = blocks(Methods.batch_create)
    batch_close = blocks(Methods.batch_close)
    batch_get = blocks(Methods.batch_get)
    batch_wait = blocks(Methods.batch_wait)
    batch_cancel = blocks(Methods.batch_cancel)
    sem_list = blocks(Methods.sem_list)
    sem_create = blocks(Methods.sem_create)
    sem_delete = blocks(Methods.sem_delete)
    sem_explain = blocks(Methods.sem_explain)
    sem_revoke = blocks(Methods.sem_revoke)
    actor_types = blocks(Methods.actor_types)
    info = blocks(Methods.info)
    whoami = blocks(Methods.whoami)
    watch = iterates(aio.Client.watch)
    task_list = iterates(Methods.task_list)
    task_events = iterates(Methods.task_events)
    worker_list = iterates(Methods.worker_list)
    actor_list = iterates(Methods.actor_list)
    batch_list = iterates(Methods.batch_list)

    def submit(self, method: str, *params: Any, answer_timeout: Until | None = None, **options: Unpack[TaskOptions]) -> Task:
        """As aio.Client.submit(); a Task."""
        return Task(self, self._engine.run(self._client.submit(method, *params, answer_timeout=answer_timeout, **options)))

    def submit_many(self, orders: Iterable[aio.Order], *, answer_timeout: Until | None = None,
                    **options: Unpack[TaskOptions]) -> list[Task | RemoteError]:
        """As aio.Client.submit_many()."""
        answers = self._engine.run(self._client.submit_many(orders, answer_timeout=answer_timeout, **options))
        return [Task(self, a) if isinstance(a, aio.Task) else a for a in answers]

    def task(self, id: TaskId) -> Task:
        """A task that was submitted before, by its id."""
        return Task(self, self._client.task(id))

    def actor(self, name: str) -> ActorRef:
        """An actor, by its name, "TYPE/KEY"."""
        return ActorRef(self, self._client.actor(name))

    def _each(self, events: Events) -> Iterator[Found]:
        try:
            while (event := self._engine.run(following(events))) is not None:
                yield event
        finally:
            if not sys.is_finalizing():  # the client's thread runs no more
                self._engine.soon(functools.partial(end, events))  # without a wait: any thread may free this, also the client's

    def acquire(self, name: str, *, permits: int = 1, of: int | None = None, wait: Until | None = None,
                ttl: Duration | None = None, grace: Duration = 10.0, durable: str | None = None) -> Hold:
        """As aio.Client.acquire(); a Hold."""
        work = self._client.acquire(name, permits=permits, of=of, wait=wait, ttl=ttl, grace=grace, durable=durable)
        return Hold(self, self._engine.run(work))

    @contextlib.contextmanager
    def sem(self, name: str, *, permits: int = 1, of: int | None = None, wait: Until | None = None,
            ttl: Duration | None = None, grace: Duration = 10.0, durable: str | None = None) -> Iterator[Hold]:
        """`with ergon.sem("gpu", of=3) as hold:`, with the options of acquire(). No thread is interrupted from outside: whether
        the permits are lost is seen by `hold.lost`, `hold.losing` or `hold.check()`, and by RemoteError FENCED at the block's
        end."""
        hold = self.acquire(name, permits=permits, of=of, wait=wait, ttl=ttl, grace=grace, durable=durable)
        try:
            yield hold
        finally:
            hold.release()
        hold.check()


class Part(Blocks):
    """What belongs to a client, and keeps it."""

    def __init__(self, client: Client, twin: Any) -> None:
        super().__init__(client._engine, twin)
        self._client = client


class Hold(Part):
    """Permits that are ours until release(), as sems.Hold; `losing` is a threading.Event that is set when they are lost."""

    def __init__(self, client: Client, hold: sems.Hold) -> None:
        super().__init__(client, hold)
        self.losing = threading.Event()
        self.name, self.fence, self.permits = hold.name, hold.fence, hold.permits
        hold.on_lost = self.losing.set
        if hold.lost is not None:
            self.losing.set()

    @property
    def lost(self) -> ErgonError | None:
        """None, or the error with which they were lost."""
        lost: ErgonError | None = self._twin.lost
        return lost

    def check(self) -> None:
        """Raises that error."""
        if self.lost is not None:
            raise self.lost

    renew = blocks(sems.Hold.renew)
    release = blocks(sems.Hold.release)


class Task(Part, Result):
    """A task that the server keeps, as aio.Task, with methods that block."""

    def __init__(self, client: Client, task: aio.Task) -> None:
        super().__init__(client, task)
        self.id, self.said = task.id, task.said

    wait = blocks(aio.Task.wait)
    get = blocks(aio.Task.get)
    explain = blocks(aio.Task.explain)
    change = blocks(aio.Task.change)
    run_now = blocks(aio.Task.run_now)
    cancel = blocks(aio.Task.cancel)
    retry = blocks(aio.Task.retry)
    forget = blocks(aio.Task.forget)

    def watch(self, start: int = 1) -> Iterator[dict[str, Any]]:
        """As aio.Client.watch(); a generator."""
        return self._client.watch(self.id, start)


class ActorRef(Part):
    """An actor, as aio.ActorRef, with methods that block."""

    def __init__(self, client: Client, actor: aio.ActorRef) -> None:
        super().__init__(client, actor)
        self.name = actor.name

    call = blocks(aio.ActorRef.call)
    get = blocks(aio.ActorRef.get)
    explain = blocks(aio.ActorRef.explain)
    start = blocks(aio.ActorRef.start)
    stop = blocks(aio.ActorRef.stop)
    forget = blocks(aio.ActorRef.forget)
    wake = blocks(aio.ActorRef.wake)
    drop = blocks(aio.ActorRef.drop)

    def tell(self, method: str, *params: Any, answer_timeout: Until | None = None, **options: Unpack[MessageOptions]) -> Task:
        """As aio.ActorRef.tell(); a Task."""
        return Task(self._client, self._engine.run(self._twin.tell(method, *params, answer_timeout=answer_timeout, **options)))

    def watch(self, start: int = 1) -> Iterator[dict[str, Any]]:
        """As aio.ActorRef.watch(); a generator."""
        return self._client._each(self._twin.watch(start))

    def remind(self, name: str, method: str, *params: Any, after: Duration | None = None, at: Moment | None = None,
               every: Duration | None = None) -> Task:
        """As aio.ActorRef.remind(); a Task."""
        return Task(self._client, self._engine.run(self._twin.remind(name, method, *params, after=after, at=at, every=every)))


async def following(events: Events) -> Found | None:
    """The next event, or None after the last."""
    return await anext(events, None)


def end(events: Events) -> None:
    """Ends a watch that waits for nothing; one that does is being cancelled."""
    with contextlib.suppress(StopIteration, RuntimeError):
        events.aclose().__await__().send(None)


async def settle() -> None:
    """Returns when nothing else runs on the loop: what close() ended has said so."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
