"""What a handler takes: its annotations are read once, and each call's parameters are checked and converted by them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from . import serving, threads
from .errors import RemoteError
from .typed import Check, Misfit, checker, keep

CONTEXTS = (serving.Context, threads.Context)
MANY = 1 << 30  # parameters that `*params` takes


class Fitting:
    """That of one function. `skip` parameters are not the caller's; with `context` a parameter of this name, or annotated as a
    Context, is the run's."""

    def __init__(self, method: str, function: Callable[..., Any], skip: int = 0, context: bool = True) -> None:
        self._method, self.signature = method, inspect.signature(function)
        try:
            hints = get_type_hints(function)
        except NameError as error:
            raise TypeError(f"an annotation of {method} is not known: {error}; its class belongs to the module") from None
        self.result = checker(hints.get("return", Any))
        self._context: str | None = None  # the parameter that gets it
        self._at = -1  # its place among the others; -1: by its name
        self._checks: list[tuple[str, Check]] = []
        self._rest: tuple[str, Check] | None = None  # of `*params`
        self._least = 0
        for each in list(self.signature.parameters.values())[skip:]:
            self._add(each, hints.get(each.name, Any), context)
        self._most = MANY if self._rest else len(self._checks)
        self._is_plain = all(check is keep for _, check in [*self._checks, *filter(None, [self._rest])])

    def _add(self, each: inspect.Parameter, hint: Any, context: bool) -> None:
        if context and (each.name == "context" or hint in CONTEXTS):
            self._context, self._at = each.name, -1 if each.kind is each.KEYWORD_ONLY else len(self._checks)
        elif each.kind is each.VAR_POSITIONAL:
            self._rest = each.name, checker(hint)
        elif each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
            self._checks.append((each.name, checker(hint)))
            self._least += each.default is each.empty
        elif each.kind is each.KEYWORD_ONLY and each.default is each.empty:
            raise TypeError(f"{self._method}: parameter {each.name!r} has no place in a message: parameters go by position")

    def wire(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The parameters of a call as its message has them. TypeError: they are no call of the function."""
        if not named:
            return list(args)
        names = [name for name, _ in self._checks]
        values = dict(zip(names, args))
        for name, value in named.items():
            if name not in names or name in values:
                raise TypeError(f"{self._method}: it has no parameter {name!r}, or {name!r} is given twice")
            values[name] = value
        defaults = self.signature.parameters
        last = max(names.index(name) for name in values)
        wire = [values.get(name, defaults[name].default) for name in names[:last + 1]]
        if inspect.Parameter.empty in wire:
            raise TypeError(f"{self._method}: parameter {names[wire.index(inspect.Parameter.empty)]!r} is missing")
        return wire + list(args[len(names):])

    def fit(self, params: list[Any]) -> list[Any]:
        """The parameters as the function has them. RemoteError BAD_PARAMS, which is not tried again, says which does not fit."""
        if not self._least <= len(params) <= self._most:
            raise RemoteError("BAD_PARAMS", f"{self._method} takes {self._described()}, not {len(params)} parameters")
        if self._is_plain:
            return params
        fitted, name = [], ""
        try:
            for (name, check), value in zip(self._checks, params):
                fitted.append(check(value))
            if self._rest is not None:
                name, check = self._rest
                fitted += [check(value) for value in params[len(self._checks):]]
        except Misfit as misfit:
            raise RemoteError("BAD_PARAMS", misfit.text(f"{self._method}: parameter {name}")) from None
        return fitted

    def run(self, function: Callable[..., Any], context: Any, params: list[Any]) -> Any:
        """What the function returns: for a coroutine function a coroutine."""
        fitted = self.fit(params)
        if self._context is None:
            return function(*fitted)
        if self._at < 0 or len(fitted) < self._at:  # what is missing before it has defaults
            return function(*fitted, **{self._context: context})
        return function(*fitted[:self._at], context, *fitted[self._at:])

    def returned(self, result: Any) -> Any:
        """The result of a task, for its caller. RemoteError PROTOCOL: it is not what the annotation says."""
        try:
            return self.result(result)
        except Misfit as misfit:
            raise RemoteError("PROTOCOL", misfit.text(f"{self._method}: the result")) from None

    def _described(self) -> str:
        names = [name if at < self._least else f"{name}=…" for at, (name, _) in enumerate(self._checks)]
        return "(" + ", ".join(names + ([f"*{self._rest[0]}"] if self._rest else [])) + ")"
