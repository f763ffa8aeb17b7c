"""The options of tasks, crons and permits: their names in Python, what they may be, and how the server is told them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from .times import Duration, Moment, Until, datetime_of, moment_of, ms_of, until_ms_of


class Result:
    """A Task, of whichever client. Among the parameters of a later one it is its result."""

    id: str


TaskId = str | Result


class Limit(TypedDict, total=False):
    """At most `max` permits of this key at a time; the task takes `take` of them (1)."""
    key: str
    max: int
    take: int


class Rate(TypedDict, total=False):
    """At most `max` starts of this key in any stretch of `per`."""
    key: str
    max: int
    per: Duration


class Common(TypedDict, total=False):
    attempt_timeout: Duration
    retries: int
    backoff: Duration
    backoff_max: Duration
    backoff_jitter: int
    priority: int
    coalesce: str
    limit: Limit
    rate: Rate
    actor: str
    tenant: str
    keep: Duration
    keep_size: int | str
    durable: str


class Policy(Common, total=False):
    """Options of all tasks of a method, beside its handler: those of TaskOptions that are not of one submission."""
    deadline: Duration


class TaskOptions(Common, total=False):
    """Options of call() and submit(): those of proto/PROTOCOL.md, but that an attempt's `timeout` is `attempt_timeout` here.

    attempt_timeout  ends one attempt, from the begin of its handler: it has failed then
    deadline         ends the whole task, with all its attempts
    delay, at        it does not begin before so long, or that moment
    retries          further attempts after a failure; 0. `backoff` before the second one, doubled before each further one, at
                     most `backoff_max`; `backoff_jitter` percent of that are random
    priority         0 to 9; 5
    key              another submission with this key is answered with the same task
    coalesce         submissions join the open run of this name
    limit, rate      see Limit and Rate
    after, after_any these tasks, or ids, must be done (have ended) first
    keep, keep_size  how long it is kept after its end, and the largest result in bytes
    durable          "none", "async", "fsync" or "replicated"
    actor            "TYPE/KEY": it is a message to this actor
    batch            the id of a batch of which it is a member: batch_create()
    tenant, traceparent, tracestate"""
    deadline: Until
    delay: Duration
    at: Moment
    key: str
    after: TaskId | Iterable[TaskId]
    after_any: TaskId | Iterable[TaskId]
    batch: str
    traceparent: str | None
    tracestate: str | None


class MessageOptions(TaskOptions, total=False):
    """Options of a message to an actor: those of a task, and `turn`, the `call` of a Context whose turn sends it by this
    client."""
    turn: int


class CronOptions(Policy, total=False):
    """Options of cron_put(): `zone` of its times, `jitter`, `overlap` ("skip", "allow", "replace"), `catch_up` ("none", "one",
    "all"), and those of each task, as of TaskOptions."""
    zone: str
    jitter: Duration
    overlap: str
    catch_up: str


def id_of(task: TaskId) -> str:
    """The id of a task, or of what is one."""
    id = task.id if isinstance(task, Result) else task
    if not isinstance(id, str):
        raise TypeError(f"a task is a Task or its id, not {task!r}")
    return id


def ids_of(tasks: TaskId | Iterable[TaskId]) -> list[str]:
    if isinstance(tasks, str) or not isinstance(tasks, Iterable):
        return [id_of(tasks)]
    return [id_of(task) for task in tasks]


def after_of(value: Any, name: str) -> list[str]:
    try:
        return ids_of(value)
    except TypeError:
        raise TypeError(f"{name} is a Task, an id, or a list of them, not {value!r}") from None


def rate_of(value: Any, name: str) -> Any:
    """The server says what else is wrong with it."""
    return {**value, "per": ms_of(value["per"], f"{name}['per']")} if isinstance(value, Mapping) and "per" in value else value


# Options that are told otherwise than they are given: name of the server, and how.
CHANGED: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "attempt_timeout": ("timeout", ms_of),
    "deadline": ("deadline", until_ms_of),
    "at": ("at", moment_of),
    "rate": ("rate", rate_of),
    **{name: (name, ms_of) for name in ("delay", "backoff", "backoff_max", "keep", "jitter")},
    **{name: (name, after_of) for name in ("after", "after_any")},
}


CALL = frozenset(TaskOptions.__annotations__)
MESSAGE = CALL | {"turn"}
CRON = frozenset(CronOptions.__annotations__)
POLICY = frozenset(Policy.__annotations__)
AMBIGUOUS = ("{who} has no option 'timeout', which might mean either: attempt_timeout= ends an attempt of the task (deadline= "
             "the whole task), answer_timeout= the wait of this client for the server's answer")


def told(options: Mapping[str, Any], known: frozenset[str], who: str) -> dict[str, Any]:
    """Options for the server; what is None was not given. TypeError, ValueError: which is wrong, and what to use."""
    wire = {}
    for name, value in options.items():
        if name not in known:
            raise TypeError(unknown(name, known, who))
        if value is not None:
            other, change = CHANGED.get(name, (name, None))
            wire[other] = change(value, name) if change is not None else value
    return wire


def unknown(name: str, known: Iterable[str], who: str) -> str:
    if name == "timeout":
        return AMBIGUOUS.format(who=who)
    near = difflib.get_close_matches(name, sorted(known), 1)
    return f"{who} has no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else f": it has {', '.join(sorted(known))}")


# Of what the server answers: moments, and durations in milliseconds.
MOMENTS = ("created", "due", "started", "ended", "deadline", "at", "next", "left", "oldest")
DURATIONS = ("timeout", "per", "every")
OPTION_DURATIONS = ("timeout", "deadline", "delay", "backoff", "backoff_max", "keep")


def shown(answer: Any) -> Any:
    """A map of the server, of a task or an event, as Python has it: moments are datetimes in UTC, durations seconds. Names with
    a unit (run_us) stay."""
    if not isinstance(answer, dict):
        return answer
    changed = {name: datetime_of(answer[name]) for name in MOMENTS if name in answer}
    changed.update({name: seconds(answer[name]) for name in DURATIONS if name in answer})
    for name in ("history", "attempts", "reminders"):
        if isinstance(answer.get(name), list):
            changed[name] = [shown(each) for each in answer[name]]
    if isinstance(answer.get("turn"), dict):
        changed["turn"] = shown(answer["turn"])
    if isinstance(answer.get("options"), dict):
        changed["options"] = options_shown(answer["options"])
    return {**answer, **changed}


def options_shown(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a task as submit() takes them."""
    options = {name: seconds(value) if name in OPTION_DURATIONS else value for name, value in wire.items()}
    if "timeout" in options:
        options["attempt_timeout"] = options.pop("timeout")
    if "at" in options:
        options["at"] = datetime_of(options["at"])
    if isinstance(options.get("rate"), dict):
        options["rate"] = {**options["rate"], "per": seconds(options["rate"].get("per"))}
    return options


def seconds(ms: Any) -> Any:
    return ms / 1000 if isinstance(ms, (int, float)) and not isinstance(ms, bool) else ms
