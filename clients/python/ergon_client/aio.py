"""The client for asyncio: a connection that comes back, calls, and tasks that last."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from typing import Any, Self, Unpack

from . import actors as types
from . import errors, sems, serving
from . import options as known
from .address import Address, reason_of
from .errors import Broken, Closed, ErgonError, Refused, RemoteError, Unreachable
from .layers import Order as Single
from .methods import PAGE, POLL, Methods, part
from .news import Callback, News
from .options import CronOptions, MessageOptions, Result, TaskId, TaskOptions, ids_of
from .protocol import OURS, OWN, Session, Unsent, background
from .results import ordered
from .serving import AsyncHandler, Serving
from .times import Duration, Moment, Until, schedule_of, seconds_of, wait_of
from .work import LEAVE, Ready, Secret, Worker, registration, signals_to

Context = serving.Context  # of handlers that are coroutine functions
Order = tuple[str, Iterable[Any]] | tuple[str, Iterable[Any], TaskOptions] | Single

POLL_LONGEST = 45.0  # s that we wait for the server then
POLLS = 1000  # long polls on a connection at a time; the server takes 1024
GROUP = 1024  # ids in a request
PAUSE = (0.1, 10.0)  # s before a server that refuses is asked again
# Errors after which what does no harm is asked again, and those after which a long poll is.
STOPPING = ("DRAINING",)
FULL = ("DRAINING", "BUSY", "MEMORY")


def pause(attempt: int, least: float, most: float) -> float:
    """Seconds: doubled at each attempt, and the upper half by chance, so that not all clients come back at once."""
    whole = min(most, least * 2.0 ** min(attempt, 30))
    return random.uniform(whole / 2, whole)


class Client(Methods):
    """A client of one server, which shares one connection among all tasks of its event loop.

    url             ergon://host[:7466], ergons://host[:7467] (TLS), unix:///path
    token           who we are, where the listener asks for one
    ca              file of authorities, PEM; default: the system's
    cert, key       files of a client certificate with its chain, and of its key (default: in the same), PEM
    server_name     what the certificate must name; default: the host of the URL
    timeout         seconds for calls that give none; default: no limit
    connect_timeout seconds for connection, TLS and token together
    backoff         (least, most) seconds before a connection is tried again: doubled each time, half of it by chance
    in_flight       calls that are out at a time; further ones wait here for their turn
    message_max     bytes of one message from the server, which sends our work() no longer request
    on_notification called with (method, params) for what the server pushes
    on_connect, on_disconnect, on_reconnect, on_refused, on_drained
                    called with a ConnectionEvent, on the event loop: the first connection is there; it is lost, or was closed;
                    there is another; an attempt failed (with what the server said); the server is about to stop. The logger
                    "ergon_client" has a line for each: a warning, or info if all is well.

    While there is no connection calls wait for one, as long as they have time. What was in flight when the connection
    broke ends as `Broken`, for it may have run; only what does no harm when it is asked twice is asked again: `wait`,
    `watch`, `get`, `explain`, and `submit` with a `key`.
    """

    def __init__(self, url: str, *, token: str | None = None, ca: str | None = None, cert: str | None = None,
                 key: str | None = None, server_name: str | None = None, timeout: Until | None = None,
                 connect_timeout: Duration | None = 10.0, backoff: tuple[Duration, Duration] = (0.1, 10.0),
                 in_flight: int = 1000, message_max: int = 32 << 20,
                 on_notification: Callable[[str, list[Any]], Any] | None = None, on_connect: Callback | None = None,
                 on_disconnect: Callback | None = None, on_reconnect: Callback | None = None,
                 on_refused: Callback | None = None, on_drained: Callback | None = None) -> None:
        self._address = Address(url, token, ca, cert, key, server_name)
        wait_of(timeout)  # what is wrong with it is told now
        self._timeout, self._connect_timeout = timeout, wait_of(connect_timeout, "connect_timeout")
        least, most = backoff
        self._backoff = seconds_of(least, "backoff"), seconds_of(most, "backoff")
        self._message_max = message_max
        self._on_notification = on_notification
        self._news = News(url, {"connect": on_connect, "disconnect": on_disconnect, "reconnect": on_reconnect,
                                "refused": on_refused, "drained": on_drained})
        self._calls = asyncio.Semaphore(in_flight)
        self._polls = asyncio.Semaphore(POLLS)
        self._closed = False
        self._keeper: asyncio.Task[None] | None = None  # the task that connects, and what follows belongs to it
        self._up: asyncio.Future[Session]  # the future of the next session, or of the one that is up
        self._tried: asyncio.Event  # an event: the first attempt is over, or the client closed
        self._failure: ErgonError | None = None  # how that went
        self._asked_for = False  # connect() raises it
        self._announced: Session | None = None  # the session that on_connect or on_reconnect was called for
        self._worker: Worker | None = None  # who answers requests of the server
        self._spent: Serving | None = None  # of a worker that has ended: it hands back what still comes over its session

    # ---- the connection ----

    async def connect(self) -> Self:
        """Connects now, and raises what prevents it: Unreachable, Refused. Without it the first call connects, and waits."""
        self._asked_for = True
        self._start()
        try:
            await self._tried.wait()
            if self._failure is not None:
                raise self._failure
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Ends the connection; calls that are under way end as Closed."""
        if self._closed or self._keeper is None:
            self._closed = True
            return
        self._closed = True
        self._keeper.cancel()
        if not self._tried.is_set():
            self._failure = Closed()
            self._tried.set()
        if self._up.done():
            await self._up.result().finish()
        else:
            self._refuse(Closed())
        await asyncio.gather(self._keeper, return_exceptions=True)
        if self._worker is not None:
            self._worker.stop()
            await self._worker.serving.close(LEAVE)

    async def leave(self) -> None:
        """Closes the client when the process ends: the tasks that run here are handed back at once, and no callback is called."""
        self._closed = True
        if self._keeper is not None:
            self._keeper.cancel()
            if self._worker is not None:
                await self._worker.serving.close(None)
            if self._up.done():
                await self._up.result().finish()

    async def __aenter__(self) -> Self:
        return await self.connect()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _start(self) -> None:
        if self._closed:
            raise Closed
        if self._keeper is None:
            self._up = asyncio.get_running_loop().create_future()
            self._tried = asyncio.Event()
            self._keeper = background(self._keep())

    async def _keep(self) -> None:
        """Connects whenever there is no connection, as long as the client lives."""
        attempt = 0
        while True:
            try:
                session = await self._open()
            except ErgonError as error:
                self._news.refused(getattr(error, "reason", str(error)), self._asked_for and not self._tried.is_set())
                if not self._tried.is_set():
                    self._failure = errors.twin(error)
                self._tried.set()
                if isinstance(error, Refused):
                    self._refuse(errors.twin(error))
            else:
                self._tried.set()
                attempt = 0
                self._announced = session
                if session.ended is None:
                    self._up.set_result(session)
                    self._news.up()
                else:
                    self._news.refused(session.ended, False)
                try:
                    await session.over()
                except asyncio.CancelledError:
                    if not self._closed:  # the event loop ends, and nobody closed the client
                        session.drop()
                    raise
            await asyncio.sleep(pause(attempt, *self._backoff))
            attempt += 1

    async def _open(self) -> Session:
        session = None
        try:
            async with asyncio.timeout(self._connect_timeout):
                reader, writer = await self._address.dial()
                session = Session(reader, writer, self._message_max, self._told, self._asked, self._down, self._news.drained)
                await session.introduce(self._address.token)
                if self._worker is not None:
                    await self._worker.serving.begin(session)
                return session
        except BaseException as error:
            if session is not None:
                session.drop()
            if isinstance(error, TimeoutError) and not isinstance(error, ErgonError):
                why = f"no connection within {self._connect_timeout:g} s"
            elif isinstance(error, Unreachable):
                why = error.text
            elif isinstance(error, ErgonError) or not isinstance(error, (OSError, UnicodeError)):
                raise
            else:
                why = reason_of(error)
            raise Unreachable(f"{self._address.url}: {why}", why) from None

    def _down(self, session: Session) -> None:
        """A session has ended: from now on calls wait for the next one."""
        if self._worker is not None:
            self._worker.serving.lost(session)
        if session is self._announced:
            self._news.down(session.ended or "it ended", session.ended == OURS)
        if self._up.done() and not self._closed:
            self._up = asyncio.get_running_loop().create_future()

    def _refuse(self, error: ErgonError) -> None:
        """Fails the calls that wait for a connection."""
        self._up.set_exception(error)
        self._up.exception()  # there may be none
        if not self._closed:
            self._up = asyncio.get_running_loop().create_future()

    async def _session(self) -> Session:
        """The one that is up, or the next."""
        self._start()
        return await asyncio.shield(self._up)

    # ---- what the server asks and tells ----

    def _asked(self, session: Session, number: Any, method: str, params: Any) -> bool:
        serving = self._worker.serving if self._worker is not None else None
        if self._is_spent(session):
            serving = self._spent
        if serving is not None:
            serving.take(session, number, method, params)
        return serving is not None

    def _is_spent(self, session: Session) -> bool:
        return self._spent is not None and session is self._spent.session

    def _told(self, session: Session, method: str, params: list[Any]) -> None:
        match method, params:
            case "worker.cancel", [call, why, *_] if self._worker is not None:
                if why == "draining":
                    session.drain("it takes back what its workers run")
                self._worker.serving.told(session, call, why)
            case _ if self._on_notification is not None:
                self._on_notification(method, params)

    async def work(self, handlers: Mapping[str, AsyncHandler] | None = None, *,
                   actors: Mapping[str, type[types.Actor]] | None = None, slots: int = 1, name: str | None = None,
                   version: str | None = None, share: int | None = None, lease: Duration | None = None,
                   grace: Duration = 30.0, signals: bool = True, host: str | None = None, secret: Secret = None,
                   ready: Ready = None) -> None:
        """Offers the server methods, and runs them, until stop() is called, or SIGTERM or SIGINT comes (`signals`); each
        connection is told first what we offer. A client does so once at a time.

        handlers        coroutine functions by the method's name, called with a Context and the parameters. What they return
                        is the result; an ErgonError is a failure of its code, another exception one of the code FAILED;
                        Again hands the task back for so long, Permanent is not tried again. Who is cancelled
                        finds why in the Context.
        actors          subclasses of Actor by their type's name
        slots           how many run at a time
        name, version   as worker.list shows them
        share           percent of the method's tasks that workers of this version get at most
        host            where it runs, as worker.list shows it; default: the name of this machine
        secret          True, or names of methods: nobody is shown the parameters of their tasks; False: who may see parameters
                        is shown them again; default: as it was
        lease           seconds in which the server must hear of this process, and not of its kernel alone
        grace           seconds that handlers have in the end; what still runs then is cancelled, and its task
                        handed back for another worker. A second signal or stop() ends the grace.
        ready           a coroutine function, called once, when the server has what we offer; what it raises ends the work

        RemoteError: the server does not want that (DENIED: who may offer what); Refused: the token; Closed. Whatever is wrong
        later it goes on, and the logger `ergon_client` says what it is."""
        if self._worker is not None:
            raise RuntimeError("this client works already: another registration needs a client of its own")
        handlers = {**types.handlers(actors or {}), **(handlers or {})}
        params = registration(handlers, slots, name, version, share, lease, self._message_max, host, secret,
                              types.policies(actors or {}))
        self._worker = worker = Worker(handlers, slots, params, wait_of(grace, "grace"), host is not None, ready)
        try:
            with signals_to(worker.stop) if signals else contextlib.nullcontext():
                await worker.run(self._tell)
        finally:
            self._spent, self._worker = worker.serving, None

    def stop(self) -> None:
        """Ends work(): no more is taken, and it returns when all that runs has ended or its grace is over."""
        if self._worker is not None:
            self._worker.stop()

    async def _tell(self, serving: Serving) -> None:
        """What we serve, to the server of the connection that is up; those that follow are told as they open."""
        self._start()
        session = await asyncio.shield(self._up)
        if self._is_spent(session):
            session.drop()
            session = await asyncio.shield(self._up)
        try:
            await serving.begin(session)
        except ErgonError as error:
            session.drop(f"it does not take this worker: {error}")

    # ---- calls ----

    async def _once(self, method: str, params: Any, turns: asyncio.Semaphore, again: tuple[str, ...] | None) -> Any:
        """The answer, asked for again after a broken connection and after the errors of `again`, unless that is None."""
        attempt = 0
        async with turns:
            while True:
                self._start()
                session = await asyncio.shield(self._up)
                try:
                    return await session.request(method, params)
                except Unsent:
                    continue
                except Broken:
                    if self._closed:
                        raise Closed from None
                    if again is None:
                        raise
                except RemoteError as error:
                    if again is None or error.code not in again:
                        raise
                    await asyncio.sleep(pause(attempt, *PAUSE))
                    attempt += 1

    async def _within(self, timeout: Until | None, work: Coroutine[Any, Any, Any], what: str) -> Any:
        limit = wait_of(self._timeout if timeout is None else timeout)
        try:
            async with asyncio.timeout(limit):
                return await work
        except TimeoutError as error:
            if isinstance(error, ErgonError):
                raise
            raise errors.TimedOut(what, self._news.trouble) from None

    async def request(self, method: str, params: Iterable[Any] = (), *, timeout: Until | None = None,
                      again: bool = False) -> Any:
        """Calls a method with a list of parameters. `again` says that it does no harm to ask twice: then it is asked again
        after a broken connection, until it is answered or its time is over."""
        work = self._once(method, list(params), self._calls, STOPPING if again else None)
        return await self._within(timeout, work, method)

    async def call(self, method: str, *params: Any, timeout: Until | None = None, **options: Unpack[TaskOptions]) -> Any:
        """The result of a method. RemoteError: the server's error; Broken: it may have run; TimedOut, after `timeout`, the wait
        of this client: the server was told to cancel it; Refused: the token. Options are those of CallOptions."""
        # For a method of the server itself a task is its id.
        order = ordered(method, () if method.startswith(OWN) else params, options, "call()")
        if order[2]:
            return await self.request("task.call", order, timeout=timeout)
        return await self.request(method, params, timeout=timeout)

    async def notify(self, method: str, *params: Any) -> None:
        """Calls a method and wants no answer: whether it arrives is not known."""
        while True:
            self._start()
            session = await asyncio.shield(self._up)
            try:
                return await session.notify(method, list(params))
            except Unsent:
                pass

    # ---- tasks that last ----

    async def submit(self, method: str, *params: Any, answer_timeout: Until | None = None,
                     **options: Unpack[TaskOptions]) -> Task:
        """Leaves a task with the server, and returns it as a Task. Options are those of TaskOptions, such as attempt_timeout,
        retries, delay, at, after. A Task among the parameters, at any depth, is its result there, and `after`. With a `key` the
        submission is repeated after a broken connection, since the server then makes no second task."""
        order = ordered(method, params, options, "submit()")
        answer = await self.request("task.submit", order, timeout=answer_timeout, again="key" in order[2])
        return Task(self, part(answer, "id", str), answer)

    async def submit_many(self, orders: Iterable[Order], *, answer_timeout: Until | None = None,
                          **options: Unpack[TaskOptions]) -> list[Task | RemoteError]:
        """Leaves many tasks at once: each order is (method, params) or (method, params, options), with options as of submit(), or
        an Order; those given here are for all. A list with a Task or a RemoteError for each."""
        defaults = known.told(options, known.CALL, "submit_many()")
        shared: dict[str, Any] = {name: value for name, value in options.items() if name == "after"}
        packed = [ordered(method, params, {**shared, **(own[0] if own else {})}, "submit_many()")
                  for method, params, *own in orders]
        sent = await self.request("task.submit_many", [packed, defaults], timeout=answer_timeout)
        return [errors.remote_error(a["error"]) if "error" in a else Task(self, part(a, "id", str), a)
                for a in part({"list": sent}, "list", list)]

    async def cron_put(self, name: str, schedule: Duration, method: str, *params: Any, answer_timeout: Until | None = None,
                       **options: Unpack[CronOptions]) -> dict[str, Any]:
        """Submits a task by calendar: `schedule` is a text such as "*/5 * * * *" or "@daily", or a timedelta. Options are those
        of CronOptions. The server's answer: {"name", "next"}."""
        order = [name, schedule_of(schedule), *ordered(method, params, options, "cron_put()", known.CRON)]
        answer: dict[str, Any] = known.shown(await self.request("cron.put", order, timeout=answer_timeout))
        return answer

    def task(self, id: TaskId) -> Task:
        """A task that was submitted before, by its id."""
        return Task(self, known.id_of(id), {})

    def actor(self, name: str) -> ActorRef:
        """An actor, by its name, "TYPE/KEY"."""
        return ActorRef(self, name)

    async def wait(self, tasks: TaskId | Iterable[TaskId], *, any: bool = False, result: bool = True,
                   timeout: Until | None = None) -> dict[str, list[Any]]:
        """Waits until these tasks, or ids, have ended, or with `any` one of them: {"ended": [tasks as Task.get() shows them],
        "open": [ids]}. It waits across broken connections and restarts of the server, for any number of tasks. TimedOut after
        `timeout`."""
        waited: dict[str, list[Any]] = await self._within(timeout, self._wait(ids_of(tasks), any, result), "task.wait")
        return waited

    async def _wait(self, ids: list[str], any: bool, result: bool) -> dict[str, list[Any]]:
        groups = [ids[i:i + GROUP] for i in range(0, len(ids), GROUP)]
        if not groups:
            return {"ended": [], "open": []}
        if len(groups) == 1:
            return await self._wait_group(groups[0], any, result)
        waits = [asyncio.ensure_future(self._wait_group(group, any, result)) for group in groups]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED if any else asyncio.FIRST_EXCEPTION)
            answers = [wait.result() if wait.done() else {"ended": [], "open": group} for wait, group in zip(waits, groups)]
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        return {name: [each for answer in answers for each in answer[name]] for name in ("ended", "open")}

    async def _wait_group(self, ids: list[str], any: bool, result: bool) -> dict[str, list[Any]]:
        """What a request may name."""
        ended: list[Any] = []
        while True:
            answer = await self._poll("task.wait", [ids, {"timeout": POLL, "any": any, "result": result}])
            ended += part(answer, "ended", list)
            ids = part(answer, "open", list)
            if not ids or any and ended:
                break
        for task in ended:
            if result and "result" not in task:  # an answer has results of some MiB at most
                task.update(await self._result_of(task["id"]))
        return {"ended": [known.shown(task) for task in ended], "open": ids}

    async def _result_of(self, id: str) -> dict[str, Any]:
        """Of a task that the server has forgotten meanwhile there is none."""
        try:
            found = await self._once("task.get", [id, {"result": True}], self._calls, STOPPING)
        except RemoteError as error:
            if error.code != "NOT_FOUND":
                raise
            return {}
        return {name: found[name] for name in ("result", "cut") if name in found}

    async def _poll(self, method: str, params: Any) -> Any:
        while True:
            try:
                async with asyncio.timeout(POLL_LONGEST):
                    return await self._once(method, params, self._polls, FULL)
            except TimeoutError as error:
                if isinstance(error, ErgonError):
                    raise

    async def watch(self, task: TaskId, start: int = 1) -> AsyncGenerator[dict[str, Any], None]:
        """The events of a task, as they happen, from event number `start` on until it has ended: maps with `seq`, `at`, `event`,
        `attempt`, and as the case may be `reason`, `text`, `data`. None is missed or told twice, whatever the connection and
        the server do; `missed` says how many before it the server has forgotten."""
        attempt, id = 0, known.id_of(task)
        while True:
            page = await self._poll("task.watch", [id, {"from": start, "max": PAGE, "timeout": POLL}])
            missed, before = page.get("missed") or 0, start
            for event in part(page, "events", list):
                seq = part(event, "seq", int)
                if seq < start:
                    continue
                start = seq + 1
                yield known.shown({**event, "missed": missed} if missed else event)
                missed = 0
            if page.get("ended"):
                return
            attempt = 0 if start > before else attempt + 1
            if attempt > 0:  # a server that is always so quick is left in peace
                await asyncio.sleep(pause(attempt - 1, *PAUSE))

    # ---- semaphores and events ----

    async def acquire(self, name: str, *, permits: int = 1, of: int | None = None, wait: Until | None = None,
                      ttl: Duration | None = None, grace: Duration = 10.0, durable: str | None = None) -> sems.Hold:
        """Permits of a semaphore, as a Hold, which keeps them until its release(), across broken connections and restarts.

        permits   how many, 1
        of        there shall be so many in all, if there is no semaphore of that name yet
        wait      seconds to wait for them; default: as long as it takes. RemoteError DEADLINE, or TimedOut, after that
        grace     seconds for which they stay ours when the connection is lost, or this process does not renew them; 10
        ttl       seconds after which they are taken back unless they are renewed; default: none
        durable   "none": what is held does not outlive the server; default: where the server has a store, it does

        RemoteError NOT_FOUND: there is no such semaphore; BAD_PARAMS: there are not so many permits."""
        return await sems.acquire(self, name, permits=permits, of=of, wait=wait, ttl=ttl, grace=grace, durable=durable)

    def sem(self, name: str, *, permits: int = 1, of: int | None = None, wait: Until | None = None,
            ttl: Duration | None = None, grace: Duration = 10.0,
            durable: str | None = None) -> contextlib.AbstractAsyncContextManager[sems.Hold]:
        """`async with ergon.sem("gpu", of=3) as hold:`, with the options of acquire(). If the permits are lost the block is
        cancelled, and ends with RemoteError FENCED."""
        return sems.holding(self, name, permits=permits, of=of, wait=wait, ttl=ttl, grace=grace, durable=durable)

    async def event_set(self, name: str, value: Any = None) -> int:
        """Says that something has happened: the event's number, which is higher each time."""
        seq: int = part(await self.request("event.set", [name, value]), "seq", int)
        return seq

    async def event_wait(self, name: str, start: int | None = None, *, timeout: Until | None = None) -> tuple[int, Any]:
        """Waits until the number of the event is `start` or more, by default the next one: (number, its value). Whoever goes on
        from number + 1 misses none. TimedOut after `timeout` seconds."""
        news: tuple[int, Any] = await self._within(timeout, self._event_wait(name, start), "event.wait")
        return news

    async def _event_wait(self, name: str, start: int | None) -> tuple[int, Any]:
        while True:
            # First what its number is, so that none is missed while a connection is made again.
            options = {"timeout": 0} if start is None else {"timeout": POLL, "from": start}
            answer = await self._poll("event.wait", [name, options])
            seq = part(answer, "seq", int)
            if not answer.get("timeout"):
                return seq, answer.get("value")
            start = seq + 1 if start is None else start


class ActorRef:
    """An actor of the server, by its name."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name = client, name

    def __repr__(self) -> str:
        return f"<ActorRef {self.name}>"

    async def call(self, method: str, *params: Any, timeout: Until | None = None, **options: Unpack[MessageOptions]) -> Any:
        """The result of a message, as Client.call(). One with a `key` is sent again after a broken connection."""
        order = [self.name, *ordered(method, params, options, "call()", known.MESSAGE)]
        return await self._client.request("actor.call", order, timeout=timeout, again="key" in order[3])

    async def tell(self, method: str, *params: Any, answer_timeout: Until | None = None,
                   **options: Unpack[MessageOptions]) -> Task:
        """Leaves a message, and returns it as a Task, as Client.submit()."""
        order = [self.name, *ordered(method, params, options, "tell()", known.MESSAGE)]
        answer = await self._client.request("actor.tell", order, timeout=answer_timeout, again="key" in order[3])
        return Task(self._client, part(answer, "id", str), answer)

    async def get(self, *, state: bool = True) -> dict[str, Any]:
        """A map of `stage`, `version`, `waiting` and others, with the `state`, if the caller may see it."""
        found: dict[str, Any] = known.shown(await self._ask("actor.get", {"state": state}))
        return found

    async def explain(self) -> dict[str, Any]:
        """The same with `reason` and `text`: why it does what it does."""
        found: dict[str, Any] = known.shown(await self._ask("actor.explain", {}))
        return found

    async def watch(self, start: int = 1) -> AsyncGenerator[dict[str, Any], None]:
        """Its `version`, `stage` and `state` as soon as the version is `start` or more, and again at each change. None is missed
        but versions in between, whatever the connection and the server do. One that is dropped has version 0."""
        while True:
            answer = await self._client._poll("actor.watch", [self.name, {"from": start, "timeout": POLL}])
            version = part(answer, "version", int)
            if not answer.get("timeout"):
                start = version + 1
                yield answer

    async def start(self, *, reset: bool = False) -> str:
        """Lets it go on that is stopped, with `reset` without a state. These four answer its stage."""
        return await self._stage("actor.start", {"reset": reset})

    async def stop(self, reason: str | None = None) -> str:
        """It runs no message until it is started."""
        return await self._stage("actor.stop", {} if reason is None else {"reason": reason})

    async def remind(self, name: str, method: str, *params: Any, after: Duration | None = None, at: Moment | None = None,
                     every: Duration | None = None) -> Task:
        """Puts a reminder, in place of the one of its name: a message that comes `after` so long, or `at` a time (datetime), and
        with `every` again and again. A Task, whose `run_now` fires it."""
        order = [self.name, name, method, list(params), types.times_of(after, at, every)]
        answer = await self._client.request("actor.remind", order)
        return Task(self._client, part(answer, "id", str), answer)

    async def forget(self, name: str) -> bool:
        """Forgets a reminder; False: there is none whose turn has not begun."""
        return bool(await self._client.request("actor.forget", [self.name, name]))

    async def wake(self) -> str:
        """Ends its sleep."""
        return await self._stage("actor.wake", {})

    async def drop(self) -> str:
        """Forgets its state and its messages."""
        return await self._stage("actor.drop", {})

    async def _ask(self, method: str, options: dict[str, Any]) -> Any:
        return await self._client.request(method, [self.name, options], again=method in ("actor.get", "actor.explain"))

    async def _stage(self, method: str, options: dict[str, Any]) -> str:
        stage: str = part(await self._ask(method, options), "stage", str)
        return stage


class Task(Result):
    """A task that the server keeps. `id` names it, and `said` is what the server answered to its submission: `state`,
    `durable`, `duplicate`, `coalesced`."""

    def __init__(self, client: Client, id: str, said: dict[str, Any]) -> None:
        self._client = client
        self.id = id
        self.said = said

    def __repr__(self) -> str:
        return f"<Task {self.id}>"

    async def wait(self, *, timeout: Until | None = None) -> Any:
        """Its result, when it has ended, across broken connections and restarts of the server. RemoteError: it ended
        otherwise than done, or its result was too large to be kept; TimedOut: it goes on."""
        answer = await self._client.wait([self.id], timeout=timeout)
        return result_of(answer["ended"][0])

    def watch(self, start: int = 1) -> AsyncGenerator[dict[str, Any], None]:
        """Its events, as Client.watch() yields them."""
        return self._client.watch(self, start)

    async def get(self, *, result: bool = True, history: bool = False, params: bool = False, options: bool = False,
                  attempts: bool = False) -> dict[str, Any]:
        """All that the server knows of it; moments are datetimes. With `history` its events, with `params` its parameters, with
        `options` what it was submitted with, with `attempts` a map for each."""
        more = {"params": params, "options": options, "attempts": attempts}
        asked = {"result": result, "history": history, **{name: True for name, wanted in more.items() if wanted}}
        return await self._ask("task.get", asked, again=True)

    async def explain(self) -> dict[str, Any]:
        """Why it is where it is."""
        return await self._ask("task.explain", again=True)

    async def change(self, *, priority: int | None = None, delay: Duration | None = None,
                     at: Moment | None = None) -> dict[str, Any]:
        """Changes its priority, or when it begins, as long as it has not: {"id", "state", "priority", "due"}."""
        wire = known.told({"priority": priority, "delay": delay, "at": at}, known.CALL, "change()")
        return await self._ask("task.change", wire)

    async def run_now(self) -> dict[str, Any]:
        """Ends its wait for a time: {"id", "state", "priority", "due"}."""
        return await self._ask("task.run_now")

    async def cancel(self) -> dict[str, Any]:
        """Cancels it: {"id", "state", "cancelled"}."""
        return await self._ask("task.cancel")

    async def retry(self) -> dict[str, Any]:
        """Queues it again, if it ended otherwise than done: {"id", "state"}."""
        return await self._ask("task.retry")

    async def forget(self) -> dict[str, Any]:
        """Forgets it before its time, once it has ended: {"id", "forgotten"}."""
        return await self._ask("task.forget")

    async def _ask(self, method: str, *params: Any, again: bool = False) -> dict[str, Any]:
        answer: dict[str, Any] = known.shown(await self._client.request(method, [self.id, *params], again=again))
        return answer


def result_of(task: dict[str, Any]) -> Any:
    """The result of a task that has ended, as task.get shows it; RemoteError if it ended otherwise than done."""
    state = part(task, "state", str)
    if state == "done" and not task.get("cut"):
        return task.get("result")
    if state == "done":
        raise RemoteError("TOO_LARGE", "the result was larger than keep_size, and was not kept", data=task)
    raise errors.remote_error(task.get("error") or f"{state.upper()}: the task is {state}", task)
