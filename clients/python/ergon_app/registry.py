"""The registry: functions become methods of workers, with their policy beside them, and callers submit them by their names."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import inspect
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from ergon_client import actors, blocking, serving, threads
from ergon_client.aio import Client as AioClient
from ergon_client.aio import Task as AioTask
from ergon_client.aio import result_of
from ergon_client.errors import ErgonError, RemoteError
from ergon_client.fitting import Fitting
from ergon_client.layers import Middleware, Order, around, submitting
from ergon_client.options import (
    CALL,
    CRON,
    POLICY,
    CronOptions,
    Policy,
    TaskOptions,
    ids_of,
    told,
)
from ergon_client.protocol import background
from ergon_client.results import RESULT, replaced
from ergon_client.times import Duration, Until, schedule_of
from ergon_client.work import WorkOptions

P = ParamSpec("P")  # the parameters of a message
C = ParamSpec("C")  # those of the function, which may take a Context, too
R = TypeVar("R")
T = TypeVar("T")
GROUP = 1000  # tasks that a request submits
AGAIN = 1.0  # s before a cron is put again that the server could not take
Kind = TypeVar("Kind", bound=type[actors.Actor])


class Task(blocking.Task, Generic[R]):
    """A task of a method whose result has a type."""

    _fitting: Fitting

    def wait(self, *, timeout: Until | None = None) -> R:  # type: ignore[override]
        """As aio.Task.wait(), of the type that the function's annotation says."""
        return cast(R, self._fitting.returned(super().wait(timeout=timeout)))

    @property
    def output(self) -> R:
        """The task, for type checkers its result: a parameter of a task that comes after it."""
        return cast(R, self)


class AsyncTask(AioTask, Generic[R]):
    """The same for asyncio."""

    _fitting: Fitting

    async def wait(self, *, timeout: Until | None = None) -> R:
        """As aio.Task.wait(), of the type that the function's annotation says."""
        return cast(R, self._fitting.returned(await super().wait(timeout=timeout)))

    @property
    def output(self) -> R:
        """As Task.output."""
        return cast(R, self)


def groups(orders: list[Order]) -> Iterator[list[Order]]:
    """What a request takes."""
    return (orders[at:at + GROUP] for at in range(0, len(orders), GROUP))


def after(order: Order, task: Any) -> Order:
    """The order, to be run after this task, too, whose result is RESULT; None: it is the first."""
    if task is None:
        return Order(order.method, list(order.params), dict(order.options))
    params = [replaced(each, lambda one: task if one is RESULT else one) for each in order.params]
    return Order(order.method, params, {**order.options, "after": [*ids_of(order.options.get("after") or []), task]})


class Registered(Generic[P, C, R]):
    """What a function becomes by @app.task: `name`, `function`, and `policy`, the options of its submissions."""

    def __init__(self, app: App, name: str, function: Callable[..., Any], policy: dict[str, Any]) -> None:
        self.app, self.name, self.function, self.policy = app, name, function, policy
        self.fitting = Fitting(name, function)
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    def order(self, *args: P.args, **named: P.kwargs) -> Order:
        """A submission that is not sent yet, for chain() and submit_many()."""
        return Order(self.name, self.fitting.wire(args, named), dict(self.policy))

    def handler(self) -> Callable[..., Any]:
        """What work() calls: a coroutine function, if the function is one."""
        run, function = self.fitting.run, self.function

        def handle(context: Any, *params: Any) -> Any:
            return run(function, context, list(params))

        async def handle_async(context: Any, *params: Any) -> Any:
            return await run(function, context, list(params))

        return handle_async if inspect.iscoroutinefunction(function) else handle

    def _orders(self, values: Iterable[Any]) -> list[Order]:
        return [Order(self.name, list(value) if isinstance(value, tuple) else [value], dict(self.policy)) for value in values]

    def _enter(self, stack: contextlib.ExitStack, orders: list[Order]) -> None:
        for order in orders:
            stack.enter_context(submitting(self.app.layers, order))

    def _sent(self, orders: list[Order]) -> list[str]:
        """Their ids. RemoteError: one was refused."""
        for order in orders:
            if isinstance(order.task, RemoteError):
                raise order.task
        return [order.task.id for order in orders]

    def _results(self, orders: list[Order], answer: dict[str, list[Any]]) -> list[R]:
        ended = {task["id"]: task for task in answer["ended"]}
        return [cast(R, self.fitting.returned(result_of(ended[order.task.id]))) for order in orders]

    def _variant(self, more: Any) -> Self:
        told(more, CALL, "options()")  # what is wrong is refused now
        other: Any = copy.copy(self)
        other.policy = {**other.policy, **more}
        return cast(Self, other)


class Method(Registered[P, C, R]):
    """A function that blocks. Calling it calls the function."""

    def __call__(self, *args: C.args, **named: C.kwargs) -> R:
        return cast(R, self.function(*args, **named))

    def options(self, **more: Unpack[TaskOptions]) -> Method[P, C, R]:
        """The same with further options, such as delay, at, key, after: charge.options(delay="5s").submit(order)."""
        return self._variant(more)

    def submit(self, *args: P.args, **named: P.kwargs) -> Task[R]:
        """Leaves a task with the server, with the method's policy, by the app's client."""
        return self.app.send(self.order(*args, **named))

    delay = submit

    def map(self, values: Iterable[Any]) -> list[R]:
        """The results of a task for each value, a parameter or a tuple of them, in their order. RemoteError: that of the first
        that failed, when all have ended."""
        client, orders = self.app.client, self._orders(values)
        with contextlib.ExitStack() as stack:
            self._enter(stack, orders)
            for group in groups(orders):
                for order, sent in zip(group, client.submit_many(group)):
                    order.task = sent
        return self._results(orders, client.wait(self._sent(orders)))

    def call(self, *args: P.args, **named: P.kwargs) -> R:
        """The result, as of Client.call() with the method's policy: the task is cancelled if this client goes."""
        order = self.order(*args, **named)
        with submitting(self.app.layers, order):
            answer = self.app.client.call(order.method, *order.params, **cast(TaskOptions, order.options))
        return cast(R, self.fitting.returned(answer))


class AsyncMethod(Registered[P, C, R]):
    """A coroutine function. Calling it calls the function; a submission is to be awaited."""

    def __call__(self, *args: C.args, **named: C.kwargs) -> Coroutine[Any, Any, R]:
        return cast(Coroutine[Any, Any, R], self.function(*args, **named))

    def options(self, **more: Unpack[TaskOptions]) -> AsyncMethod[P, C, R]:
        """As Method.options()."""
        return self._variant(more)

    async def submit(self, *args: P.args, **named: P.kwargs) -> AsyncTask[R]:
        """As Method.submit(), by the app's client of the event loop that runs."""
        return await self.app.send_async(self.order(*args, **named))

    delay = submit

    async def map(self, values: Iterable[Any]) -> list[R]:
        """As Method.map()."""
        client, orders = self.app.aio, self._orders(values)
        with contextlib.ExitStack() as stack:
            self._enter(stack, orders)
            for group in groups(orders):
                for order, sent in zip(group, await client.submit_many(group)):
                    order.task = sent
        return self._results(orders, await client.wait(self._sent(orders)))

    async def call(self, *args: P.args, **named: P.kwargs) -> R:
        """As Method.call()."""
        order, client = self.order(*args, **named), self.app.aio
        with submitting(self.app.layers, order):
            answer = await client.call(order.method, *order.params, **cast(TaskOptions, order.options))
        return cast(R, self.fitting.returned(answer))


class Ref(blocking.ActorRef):
    """An actor, as of Client.actor(); the app's middleware is round its messages."""

    layers: list[Middleware]

    def call(self, method: str, *params: Any, timeout: Until | None = None,  # type: ignore[override]
             **options: Any) -> Any:
        order = self._order(method, params, options)
        with submitting(self.layers, order):
            return super().call(order.method.partition(".")[2], *order.params, timeout=timeout, **cast(Any, order.options))

    def tell(self, method: str, *params: Any, answer_timeout: Until | None = None, **options: Any) -> blocking.Task:
        order = self._order(method, params, options)
        with submitting(self.layers, order):
            order.task = task = super().tell(order.method.partition(".")[2], *order.params, answer_timeout=answer_timeout,
                                             **cast(Any, order.options))
        return task

    def _order(self, method: str, params: tuple[Any, ...], options: dict[str, Any]) -> Order:
        return Order(f"{self.name.partition('/')[0]}.{method}", list(params), options)


async def put(client: AioClient, cron: list[Any]) -> None:
    """Puts a cron; a server that is busy, or whose store fails, is asked again."""
    while True:
        try:
            await client.request("cron.put", cron, again=True)
            return
        except RemoteError as error:
            if not error.retryable and error.code != "UNSURE":
                raise
        await asyncio.sleep(AGAIN)


class Decorator:
    """What App.task() returns."""

    def __init__(self, make: Callable[[Callable[..., Any]], Any]) -> None:
        self._make = make

    @overload
    def __call__(self, function: Callable[Concatenate[serving.Context, P], Coroutine[Any, Any, R]]
                 ) -> AsyncMethod[P, ..., R]: ...

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]]) -> AsyncMethod[P, P, R]: ...  # type: ignore[misc]

    @overload
    def __call__(self, function: Callable[Concatenate[threads.Context, P], R]
                 ) -> Method[P, ..., R]: ...

    @overload
    def __call__(self, function: Callable[P, R]) -> Method[P, P, R]: ...

    def __call__(self, function: Callable[..., Any]) -> Any:
        return self._make(function)


class App:
    """A program's methods and types of actors, with the server that runs them.

        app = ergon_client.App()

        @app.task(retries=3)
        def charge(order: Order, cents: int) -> Receipt: ...

        charge.submit(order, 120).wait()

    url      default: ERGON_URL, when the client is first needed. Further options are those of Client."""

    def __init__(self, url: str | None = None, **options: Any) -> None:
        self.url, self._options = url, options
        self.methods: dict[str, Registered[..., ..., Any]] = {}
        self.actors: dict[str, type[actors.Actor]] = {}
        self.crons: dict[str, list[Any]] = {}  # name: the parameters of cron.put
        self.layers: list[Middleware] = []
        self.immediate: Any = None  # the aio.Client of testing.immediate(), and the blocking one
        self._client: blocking.Client | None = None
        self._process, self._gate = 0, threading.Lock()
        self._loops: dict[tuple[asyncio.AbstractEventLoop, str], AioClient] = {}  # by the loop and the URL

    # ---- what there is ----

    @overload
    def task(self, name: str | None = None, **policy: Unpack[Policy]) -> Decorator: ...

    @overload
    def task(self, name: Callable[Concatenate[serving.Context, P], Coroutine[Any, Any, R]]) -> AsyncMethod[P, ..., R]: ...

    @overload
    def task(self, name: Callable[P, Coroutine[Any, Any, R]]) -> AsyncMethod[P, P, R]: ...  # type: ignore[misc]

    @overload
    def task(self, name: Callable[Concatenate[threads.Context, P], R]) -> Method[P, ..., R]: ...

    @overload
    def task(self, name: Callable[P, R]) -> Method[P, P, R]: ...

    def task(self, name: Any = None, **policy: Unpack[Policy]) -> Any:
        """Registers a function, or a coroutine function, under its name; `policy` are options of all its submissions. The
        parameters are checked by the annotations, and a parameter `context`, or one annotated as a Context, gets the run's."""
        if callable(name):
            return self.task()(name)
        told(policy, POLICY, "task()")

        def make(function: Callable[..., Any]) -> Any:
            kind: Any = AsyncMethod if inspect.iscoroutinefunction(function) else Method
            method = kind(self, name or function.__name__, function, dict(policy))
            self._claim(method.name)
            self.methods[method.name] = method
            return method
        return Decorator(make)

    @overload
    def actor(self, name: str | None = None) -> Callable[[Kind], Kind]: ...

    @overload
    def actor(self, name: Kind) -> Kind: ...

    def actor(self, name: Any = None) -> Any:
        """Registers a subclass of Actor, by default under the class's name in lower case."""
        if isinstance(name, type):
            return self.actor()(name)

        def make(kind: Kind) -> Kind:
            chosen = name or kind.__name__.lower()
            self._claim(chosen)
            self.actors[chosen] = kind
            return kind
        return make

    def cron(self, name: str, schedule: Duration, *params: Any, **options: Unpack[CronOptions]) -> Callable[[T], T]:
        """Above @app.task(), or a function, which it registers: puts the cron of this name when a worker of the app begins."""
        def make(of: T) -> T:
            method: Any = of if isinstance(of, Registered) else self.task()(cast(Any, of))
            wire = told({**method.policy, **options}, CRON, "cron()")
            self.crons[name] = [name, schedule_of(schedule), method.name, list(params), wire]
            return of
        return make

    def use(self, layer: Middleware) -> None:
        """Puts middleware round submissions and handlers, within that of earlier uses."""
        self.layers.append(layer)

    def _claim(self, name: str) -> None:
        if name in self.methods or name in self.actors:
            raise ValueError(f"{name!r} is registered twice")

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """All that its workers run, by names, as work() takes it."""
        own = {name: method.handler() for name, method in self.methods.items()}
        return {name: around(self.layers, handler) for name, handler in {**own, **actors.handlers(self.actors)}.items()}

    # ---- clients ----

    def address(self) -> str:
        url = self.url or os.environ.get("ERGON_URL")
        if not url:
            raise ErgonError("UNREACHABLE", "the app knows no server: App(url=…), or set ERGON_URL")
        return url

    @property
    def client(self) -> blocking.Client:
        """Its client, which is opened when it is first needed; each process has one of its own."""
        if self.immediate is not None:
            return cast(blocking.Client, self.immediate[1])
        with self._gate:
            if self._client is None or self._process != os.getpid():
                self._client, self._process = blocking.Client(self.address(), **self._options), os.getpid()
            return self._client

    @property
    def aio(self) -> AioClient:
        """That of the event loop which runs."""
        if self.immediate is not None:
            return cast(AioClient, self.immediate[0])
        loop = asyncio.get_running_loop()
        with self._gate:
            if self._client is not None and self._client._engine.is_loop(loop):  # handlers of work() run there
                return self._client._client
            self._loops = {place: client for place, client in self._loops.items() if not place[0].is_closed()}
            place = loop, self.address()
            if place not in self._loops:
                self._loops[place] = AioClient(place[1], **self._options)
            return self._loops[place]

    def chain(self, *orders: Order) -> Task[Any]:
        """Submits them, each `after` the one before, whose result is RESULT among its parameters: the Task of the last."""
        if not orders:
            raise TypeError("chain() takes at least one order, as method.order(…)")
        last: Any = None
        for order in orders:
            linked = after(order, last)
            last = self.send(linked)
            order.task = last
        return cast(Task[Any], last)

    async def chain_async(self, *orders: Order) -> AsyncTask[Any]:
        """The same by the app's client of the event loop that runs."""
        if not orders:
            raise TypeError("chain_async() takes at least one order, as method.order(…)")
        last: Any = None
        for order in orders:
            linked = after(order, last)
            last = await self.send_async(linked)
            order.task = last
        return cast(AsyncTask[Any], last)

    def send(self, order: Order) -> Task[Any]:
        """Submits an order."""
        with submitting(self.layers, order):
            client = self.client
            sent = client._engine.run(client._client.submit(order.method, *order.params, **cast(TaskOptions, order.options)))
            order.task = task = Task[Any](client, sent)
            task._fitting = self.methods[order.method].fitting
        return task

    async def send_async(self, order: Order) -> AsyncTask[Any]:
        """The same by the app's client of the event loop that runs."""
        client = self.aio
        with submitting(self.layers, order):
            sent = await client.submit(order.method, *order.params, **cast(TaskOptions, order.options))
            order.task = task = AsyncTask[Any](client, sent.id, sent.said)
            task._fitting = self.methods[order.method].fitting
        return task

    def ref(self, name: str) -> Ref:
        """An actor, by its name, "TYPE/KEY"."""
        ref = Ref(self.client, self.client._client.actor(name))
        ref.layers = self.layers
        return ref

    def close(self) -> None:
        """Closes the client, and those of event loops; the next submission opens another."""
        with self._gate:
            client, self._client, loops, self._loops = self._client, None, self._loops, {}
        for (loop, _), each in loops.items():
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(lambda closed: background(closed.close()), each)
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Closes that of the event loop which runs."""
        loop = asyncio.get_running_loop()
        with self._gate:
            closed = [self._loops.pop(place) for place in list(self._loops) if place[0] is loop]
        for client in closed:
            await client.close()

    # ---- work ----

    def work(self, **options: Unpack[WorkOptions]) -> None:
        """Runs its methods and actors, until stop(), SIGTERM or SIGINT; options are those of Client.work(). Coroutine functions
        run on the client's own event loop, the others on threads. Its crons are put when the server has the registration."""
        client = self.client
        client.work(self.handlers(), actors=self.actors, **self._with_crons(client._client, options))

    async def work_async(self, **options: Unpack[WorkOptions]) -> None:
        """The same on the event loop which runs."""
        pool, client = threads.Threads(options.get("slots", 1)), self.aio
        try:
            served = {name: pool.handler(handler) for name, handler in self.handlers().items()}
            await client.work(served, actors=self.actors, **self._with_crons(client, options))
        finally:
            pool.close()

    def _with_crons(self, client: AioClient, options: WorkOptions) -> WorkOptions:
        then = options.get("ready")

        async def ready() -> None:
            for cron in self.crons.values():
                await put(client, cron)
            if then is not None:
                await then()
        return cast(WorkOptions, {**options, "ready": ready})

    def stop(self) -> None:
        """Ends work(), from any thread."""
        if self._client is not None:
            self._client.stop()
        for (loop, _), client in list(self._loops.items()):
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(client.stop)
