"""Values of MessagePack, and what annotations make of them: checkers are made once, and called for each value."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import types
import typing
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgpack  # type: ignore

from .times import parsed

Check = Callable[[Any], Any]  # what a value becomes; Misfit: it does not fit
SHOWN = 60  # characters of a value in a text


class Misfit(Exception):
    """`wanted` is what would fit, `value` what came, `where` its place within the whole, as ".items[2]"."""

    def __init__(self, wanted: str, value: Any, where: str = "") -> None:
        super().__init__(wanted)
        self.wanted, self.value, self.where = wanted, value, where

    def within(self, where: str) -> Misfit:
        return Misfit(self.wanted, self.value, where + self.where)

    def text(self, name: str) -> str:
        if self.value is dataclasses.MISSING:
            return f"{name}{self.where} is missing: {self.wanted}"
        shown = repr(self.value)
        shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"
        kind = "" if self.value is None else f"{type(self.value).__name__} "
        return f"{name}{self.where} must be {self.wanted}, not {kind}{shown}"


def lowered(value: Any) -> Any:
    """Of what MessagePack does not have: a dataclass as a map, an enum by its value, a time as a timestamp, a timedelta as
    seconds, a set as an array, a date, a Decimal and a UUID as text. TypeError: it is none of them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime):
        return msgpack.Timestamp.from_datetime(value.astimezone(UTC))
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, tuple(TEXTS)):
        return str(value)
    raise TypeError(f"can not serialize {type(value).__name__!r} object")


def name_of(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(map(name_of, get_args(hint)))
    if hint is type(None):
        return "None"
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")


def keep(value: Any) -> Any:
    return value


def exactly(kind: type) -> Check:
    def check(value: Any) -> Any:
        if type(value) is kind:
            return value
        raise Misfit(name_of(kind), value)
    return check


def number(value: Any) -> Any:
    if type(value) is float or type(value) is int:
        return float(value)
    raise Misfit("float", value)


def moment(value: Any) -> Any:
    """A timestamp, seconds since 1970, or RFC 3339; it is in UTC, if it has no zone of its own."""
    try:
        if isinstance(value, msgpack.Timestamp):
            return value.to_datetime()
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at if at.tzinfo else at.replace(tzinfo=UTC)
        if type(value) in (int, float):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise Misfit("datetime (a timestamp, seconds since 1970, or RFC 3339)", value)


def duration(value: Any) -> Any:
    try:
        if type(value) in (int, float, str):
            return timedelta(seconds=parsed(value, "") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        pass
    raise Misfit("timedelta (seconds, or a text such as '5s')", value)


def text_of(kind: Any, made: Check) -> Check:
    def check(value: Any) -> Any:
        try:
            if isinstance(value, str):
                return made(value)
        except (ValueError, ArithmeticError):
            pass
        raise Misfit(f"{kind.__name__} (a text)", value)
    return check


TEXTS: dict[Any, Check] = {UUID: UUID, Decimal: Decimal, date: date.fromisoformat}
SIMPLE: dict[Any, Check] = {
    **{kind: text_of(kind, made) for kind, made in TEXTS.items()},
    Any: keep, object: keep, float: number, datetime: moment, timedelta: duration,
    **{kind: exactly(kind) for kind in (int, str, bytes, bool, type(None))}}
ABC = collections.abc
LISTS = (list, ABC.Sequence, ABC.MutableSequence, ABC.Iterable, ABC.Collection)
MAPS = (dict, ABC.Mapping, ABC.MutableMapping)
RECORDS: dict[Any, Check] = {}  # of classes with fields, which may be fields of their own


def checker(hint: Any) -> Check:
    """The check of an annotation; what it does not know it lets pass."""
    origin, args = get_origin(hint), get_args(hint)
    kind = origin or hint
    if hint is None or isinstance(hint, ABC.Hashable) and hint in SIMPLE:
        return SIMPLE[type(None) if hint is None else hint]
    if origin is Annotated or hasattr(hint, "__supertype__"):
        return checker(args[0] if origin is Annotated else hint.__supertype__)
    if origin is Literal:
        return one_of(args)
    if origin in (Union, types.UnionType):
        return either(hint, args)
    if kind in LISTS or kind in (set, frozenset):
        return many(name_of(hint), kind if kind in (set, frozenset) else list, checker(args[0]) if args else keep)
    if kind is tuple:
        return fixed(name_of(hint), args)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return named(kind)
    if kind in MAPS:
        return mapping(name_of(hint), *map(checker, args or (Any, Any)))
    if dataclasses.is_dataclass(kind) or typing.is_typeddict(kind):
        return record(kind)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return member(kind)
    if isinstance(kind, type):
        return instance(kind)
    return keep


def one_of(values: Any) -> Check:
    def check(value: Any) -> Any:
        for each in values:
            if each == value and type(each) is type(value):
                return each
        raise Misfit("one of " + ", ".join(map(repr, values)), value)
    return check


def member(kind: type[enum.Enum]) -> Check:
    def check(value: Any) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise Misfit("one of " + ", ".join(repr(each.value) for each in kind), value) from None
    return check


def instance(kind: type) -> Check:
    def check(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise Misfit(name_of(kind), value)
    return check


def either(hint: Any, args: tuple[Any, ...]) -> Check:
    """A value whose type is one of them is that; otherwise it is the first that it fits."""
    exact, checks = {each for each in args if each in SIMPLE}, [checker(each) for each in args if each is not type(None)]
    optional = len(checks) < len(args)

    def check(value: Any) -> Any:
        if type(value) in exact:
            return value
        for each in checks:
            try:
                return each(value)
            except Misfit:
                if optional and len(checks) == 1:
                    raise
        raise Misfit(name_of(hint), value)
    return check


def many(name: str, kind: Any, each: Check) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, list):
            raise Misfit(name, value)
        if each is keep and kind is list:
            return value
        return kind([inner(each, one, f"[{at}]") for at, one in enumerate(value)])
    return check


def fixed(name: str, args: tuple[Any, ...]) -> Check:
    if not args or args[-1] is Ellipsis:
        return many(name, tuple, checker(args[0]) if args else keep)
    checks = [checker(each) for each in args]

    def check(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(checks):
            raise Misfit(name, value)
        return tuple(inner(each, one, f"[{at}]") for at, (each, one) in enumerate(zip(checks, value)))
    return check


def named(kind: Any) -> Check:
    """A NamedTuple, of an array."""
    values = fixed(kind.__name__, tuple(get_type_hints(kind).values()))
    return lambda value: kind(*values(value))


def mapping(name: str, of_key: Check, of_value: Check) -> Check:
    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Misfit(name, value)
        if of_key is keep and of_value is keep:
            return value
        return {inner(of_key, key, f" key {key!r}"): inner(of_value, one, f"[{key!r}]") for key, one in value.items()}
    return check


def inner(check: Check, value: Any, where: str) -> Any:
    try:
        return check(value)
    except Misfit as misfit:
        raise misfit.within(where) from None


def record(kind: Any) -> Check:
    """A dataclass, or a TypedDict, of a map."""
    if kind in RECORDS:
        return RECORDS[kind]
    checks: dict[str, Check] = {}
    needed: set[str] = set()

    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Misfit(f"{kind.__name__} (a map)", value)
        if not value.keys() <= checks.keys():
            strange = next(key for key in value if key not in checks)
            raise Misfit(f"one of {', '.join(checks)} (of {kind.__name__})", strange, " key")
        for name in needed - value.keys():
            raise Misfit(f"it belongs to {kind.__name__}", dataclasses.MISSING, f".{name}")
        fields = {name: inner(checks[name], one, f".{name}") for name, one in value.items()}
        try:
            return kind(**fields)
        except (TypeError, ValueError) as error:  # its constructor refuses them
            raise Misfit(f"{kind.__name__} ({error})", value) from None
    RECORDS[kind] = check
    hints = get_type_hints(kind)
    if typing.is_typeddict(kind):
        needed |= kind.__required_keys__
        checks.update({name: checker(hint) for name, hint in hints.items()})
    else:
        fields = [field for field in dataclasses.fields(kind) if field.init]
        missing = dataclasses.MISSING
        needed |= {field.name for field in fields if field.default is missing and field.default_factory is missing}
        checks.update({field.name: checker(hints[field.name]) for field in fields})
    return check
