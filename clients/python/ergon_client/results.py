"""Results as parameters: a task among the parameters of a later one, at any depth, is its result there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .layers import Order
from .options import CALL, Result, told
from .typed import lowered

PLAIN = {int, float, str, bytes, bool, type(None)}


RESULT: Any = Result()  # in the orders of App.chain(): the result of the one before


def replaced(value: Any, change: Callable[[Result], Any]) -> Any:
    """The value, with change(each) in place of each Result within lists, maps, sets and dataclasses."""
    if isinstance(value, Result):
        return change(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = lowered(value)
    if isinstance(value, dict):
        return {key: replaced(each, change) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) and not set(map(type, value)) <= PLAIN:
        return [replaced(each, change) for each in value]
    return value


def ordered(method: str, params: Iterable[Any], options: Mapping[str, Any], who: str, known: frozenset[str] = CALL) -> list[Any]:
    """A submission for the server: method, parameters, options. The tasks among the parameters are `after`, too."""
    wire, ids = told(options, known, who), dict[str, None]()

    def named(task: Result) -> dict[str, str]:
        if task is RESULT:
            raise TypeError("RESULT is the result of the order before, and belongs to the later orders of a chain")
        ids[task.id] = None
        return {"$result": task.id}
    params = [replaced(each, named) for each in params]
    if ids:
        wire["after"] = list(dict.fromkeys([*wire.get("after", ()), *ids]))
    return [method, params, wire]


def orders_of(method: str | Order, params: tuple[Any, ...], options: Mapping[str, Any]) -> list[Order]:
    """Of Context.submit(): a method with parameters and options, or orders, to which the options are added."""
    orders = (method, *params) if isinstance(method, Order) else (Order(method, list(params), {}),)
    return [Order(each.method, list(each.params), {**each.options, **options}) for each in orders]
