"""A turn of an actor without a server, for tests."""

from __future__ import annotations

import copy
from collections.abc import Coroutine, Mapping
from typing import Any, NamedTuple, Unpack

from ergon_client.actors import Actor, begin, finish, fitting
from ergon_client.layers import Order
from ergon_client.options import TaskOptions
from ergon_client.results import ordered, orders_of


class Turn(NamedTuple):
    """What turn() tells: the result, the state that the actor has then, and the other changes by their names."""

    result: Any
    state: Any
    changes: dict[str, Any]


class Answers:
    """The context of turn(): what it submits is among the changes."""

    def __init__(self, calls: Mapping[str, Any]) -> None:
        self.calls = calls
        self._changes: dict[str, Any] = {}

    def submit(self, method: str | Order, *params: Any, **options: Unpack[TaskOptions]) -> None:
        for each in orders_of(method, params, options):
            self._changes.setdefault("task", []).append(ordered(each.method, each.params, each.options, "submit()"))

    def tell(self, to: str, method: str, *params: Any, **options: Unpack[TaskOptions]) -> None:
        self._changes.setdefault("tell", []).append([to, *ordered(method, params, options, "tell()")])

    def _call_actor(self, to: str, method: str, params: list[Any], options: Any) -> Any:
        if f"{to} {method}" not in self.calls:
            raise LookupError(f"the turn calls {to} {method}{tuple(params)}: turn(…, calls={{'{to} {method}': its result}})")
        answer = self.calls[f"{to} {method}"]
        if isinstance(answer, Exception):
            raise answer
        return answer(*params) if callable(answer) else answer


def turn(kind: type[Actor], state: Any, method: str, *params: Any, schema: int | None = None, name: str = "test/1",
         calls: Mapping[str, Any] = {}) -> Turn:
    """Runs one message without a server, for tests: turn(Cart, {"items": {}}, "add", "apple", 120).state. `schema` is that of the
    state; default: the class's. What the method raises is raised. `calls` has what the actors answer that the turn calls:
    {"order/7 total": 200}, or an exception, or a function of the parameters."""
    number = 0 if state is None else kind.schema if schema is None else schema
    one, before = begin(kind, {"actor": name, "version": 0, "schema": number, "state": copy.deepcopy(state)}, Answers(calls))
    result = getattr(one, method)(*fitting(kind, method).fit(list(params)))
    if isinstance(result, Coroutine):
        raise TypeError(f"{method} is a coroutine function: await it on an object of {kind.__name__}, or test it with a server")
    changes = finish(one, method, before) or {}
    return Turn(result, None if changes.get("drop") else changes.pop("state", state), changes)
