"""Types of actors for work(), and calls to an actor: one class for both clients."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from .errors import Again
from .fitting import Fitting
from .options import CALL, told
from .protocol import pack
from .results import ordered
from .times import Duration, Moment, moment_of, ms_of

if TYPE_CHECKING:
    from . import serving, threads
    from .options import TaskOptions

DURATIONS = ("idle", "backoff", "backoff_max", "timeout", "window")
POLICY = ("schema", "durable", *DURATIONS, "retries", "call_retries", "messages", "mailbox", "state_max", "on_failure",
          "intensity", "supervisor", "pipeline")
UNKNOWN = 0.1  # s until a state of a schema that this host does not know is offered to a host again


class Actor:
    """A type of actors. Its public methods are those of the actors; an object is one turn, for one message.

        class Cart(ergon_client.Actor):
            reads = {"total"}

            def add(self, sku, cents):
                self.state.setdefault("items", {})[sku] = cents
                return len(self.state["items"])

            def total(self):
                return sum(self.state.get("items", {}).values())

        ergon.work(actors={"cart": Cart}, slots=16)

    `state` is the actor's, {} if it has none. What a turn leaves in it is the new state, if the method returns; if it raises,
    nothing has changed. `name` ("cart/42"), `version` and `context` are there, too. A method `step` is called by nobody: the
    server calls it again and again, unless it sleeps.

    Of the class: `schema`, the number of the form of its states, and `reads`, methods that change nothing and wait for no
    other message. The others are the server's, unless they are set: see docs/actors.md."""

    schema: int = 0
    reads: Collection[str] = ()
    durable: str | None = None
    idle: Duration | None = None
    retries: int | None = None
    call_retries: int | None = None
    backoff: Duration | None = None
    backoff_max: Duration | None = None
    timeout: Duration | None = None
    messages: int | None = None
    mailbox: None | int | str = None
    state_max: None | int | str = None
    on_failure: str | None = None
    intensity: int | None = None
    window: Duration | None = None
    supervisor: str | None = None
    pipeline: bool | None = None

    state: Any
    name: str
    version: int
    context: Any

    def __init__(self) -> None:
        self._changes: dict[str, Any] = {}

    def upgrade(self, state: Any, schema: int) -> Any:
        """The state in the form of `self.schema`, made of an older one, before the method; async if the methods are."""
        return state

    def sleep(self, duration: Duration | None = None) -> None:
        """The next step comes after so long; without a duration when the actor is woken."""
        self._changes["sleep"] = True if duration is None else ms_of(duration, "duration")

    def wake(self) -> None:
        """The next step comes now, if the actor sleeps."""
        self._changes["wake"] = True

    def stop(self, why: str) -> None:
        """The actor runs no message until actor.start."""
        self._changes["stop"] = why

    def drop(self) -> None:
        """The actor has no state any more."""
        self._changes["drop"] = True

    def call(self, to: str, method: str, *params: Any, **options: Unpack[TaskOptions]) -> Any:
        """The result of a message to another actor; in a coroutine function it is to be awaited. One call of a turn is out at a
        time, and one that would wait for this turn fails with DEADLOCK. A turn that is tried again gets the first answers."""
        return self.context._call_actor(to, method, list(params), told(options, CALL, "call()"))

    def tell(self, to: str, method: str, *params: Any, **options: Unpack[TaskOptions]) -> None:
        """Sends a message to an actor, which may be this one, when the method returns. Options are those of submit()."""
        self._changes.setdefault("tell", []).append([to, *ordered(method, params, options, "tell()")])

    def remind(self, name: str, method: str, *params: Any, after: Duration | None = None, at: Moment | None = None,
               every: Duration | None = None) -> None:
        """Puts a reminder of this actor when the method returns, in place of the one of its name: a message that comes `after` so
        long, or `at` a time (datetime), and with `every` again and again."""
        self._changes.setdefault("remind", []).append([name, method, list(params), times_of(after, at, every)])

    def forget(self, name: str) -> None:
        """Forgets a reminder of this actor when the method returns."""
        self._changes.setdefault("forget", []).append(name)

    def task(self, method: str, *params: Any, **options: Unpack[TaskOptions]) -> None:
        """Submits a task when the method returns. Options are those of submit()."""
        self._changes.setdefault("task", []).append(ordered(method, params, options, "task()"))


def times_of(after: Duration | None, at: Moment | None, every: Duration | None) -> dict[str, Any]:
    """The options of a reminder."""
    wire: dict[str, Any] = {} if at is None else {"at": moment_of(at, "at")}
    given = {"in": (after, "after"), "every": (every, "every")}
    return {**wire, **{name: ms_of(*of) for name, of in given.items() if of[0] is not None}}


def methods_of(kind: type[Actor]) -> list[str]:
    """The names of its methods, in the order of their definition."""
    names = {name: None for base in reversed(kind.__mro__) for name in vars(base)}
    return [name for name in names if not name.startswith("_") and not hasattr(Actor, name) and callable(getattr(kind, name))]


def policies(actors: Mapping[str, type[Actor]]) -> dict[str, dict[str, Any]]:
    """The option `actors` of worker.register. ValueError: a class names a method that it does not have."""
    answer = {}
    for name, kind in actors.items():
        if strange := sorted(set(kind.reads) - set(methods_of(kind))):
            raise ValueError(f"reads of {kind.__name__} names {strange[0]!r}, which is no method of it")
        values = {each: getattr(kind, each) for each in POLICY}
        policy = {each: ms_of(value, each) if each in DURATIONS else value for each, value in values.items() if value is not None}
        if "state_max" in policy:
            policy["state"] = policy.pop("state_max")
        answer[name] = {**policy, "reads": sorted(kind.reads)}
    return answer


def begin(kind: type[Actor], given: Mapping[str, Any], context: Any) -> tuple[Actor, bytes]:
    """A turn, and the state that it began with; b"": that was upgraded. Again: the state is of a later schema than the class."""
    turn = kind()
    turn._changes = getattr(context, "_changes", turn._changes)
    turn.name, turn.version, turn.context, schema = given["actor"], given["version"], context, given["schema"]
    if schema > kind.schema:
        raise Again(UNKNOWN)
    turn.state = {} if given["state"] is None else given["state"]
    if given["state"] is None or schema == kind.schema:
        return turn, pack(turn.state)
    turn.state = turn.upgrade(turn.state, schema)
    return turn, b""


def finish(turn: Actor, method: str, before: bytes) -> dict[str, Any] | None:
    """The changes of a turn whose method has returned; None: there are none."""
    if method in turn.reads:
        return None
    if "drop" not in turn._changes and pack(turn.state) != before:
        turn._changes["state"] = turn.state
    return turn._changes or None


def fitting(kind: type[Actor], method: str) -> Fitting:
    is_bound = isinstance(inspect.getattr_static(kind, method), (staticmethod, classmethod))
    return Fitting(f"{kind.__name__}.{method}", getattr(kind, method), skip=0 if is_bound else 1, context=False)


def handler(kind: type[Actor], method: str) -> Callable[..., Any]:
    """What work() calls for messages of this method: a coroutine function, if the method is one."""
    fit = fitting(kind, method).fit

    def run(context: threads.Context, *params: Any) -> list[Any]:
        turn, before = begin(kind, context.turn, context)
        return [getattr(turn, method)(*fit(list(params))), finish(turn, method, before)]

    async def run_async(context: serving.Context, *params: Any) -> list[Any]:
        turn, before = begin(kind, context.turn, context)
        turn.state = await turn.state if inspect.isawaitable(turn.state) else turn.state
        return [await getattr(turn, method)(*fit(list(params))), finish(turn, method, before)]

    if inspect.iscoroutinefunction(getattr(kind, method)):
        return run_async
    if inspect.iscoroutinefunction(kind.upgrade):
        raise TypeError(f"upgrade of {kind.__name__} is a coroutine function, and its method {method} is none")
    return run


def handlers(actors: Mapping[str, type[Actor]]) -> dict[str, Callable[..., Any]]:
    return {f"{name}.{method}": handler(kind, method) for name, kind in actors.items() for method in methods_of(kind)}
