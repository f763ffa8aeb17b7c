"""What annotations make of values, and the texts of what does not fit."""
import dataclasses
import enum
import unittest
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    Union,
)
from uuid import UUID

import msgpack  # type: ignore
from ergon_client import App, Context, RemoteError, testing
from ergon_client.fitting import Fitting
from ergon_client.typed import Misfit, checker
from ergon_testing.immediate import copied


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Node:
    name: str
    next: Optional["Node"] = None
    tags: set[str] = dataclasses.field(default_factory=set)


class Pair(NamedTuple):
    number: int
    text: str


class Place(TypedDict):
    city: str
    zip: NotRequired[int]


Id = NewType("Id", int)
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)

SAME: list[tuple[Any, Any]] = [
    (int, 1), (float, 1.5), (str, "a"), (bytes, b"a"), (bool, True), (None, None), (Any, {"a": 1}), (object, 1), (list, [1, "a"]),
    (Sequence[int], [1]), (dict, {1: 2}), (int | None, None), (int | str, "a"), (str | datetime, "x"),
    (int | list[int], [1]), (Union[float, int], 1),  # noqa: UP007
    (Literal["a", 1], 1), (Annotated[int, "x"], 1), (Id, 1),
    (Place, {"city": "Ulm"})]
STRANGE: list[tuple[Any, Any, str]] = [
    (int, "1", " must be int, not str '1'"),
    (int, True, " must be int, not bool True"),
    (int, None, " must be int, not None"),
    (float, "1", " must be float, not str '1'"),
    (str, b"a", " must be str, not bytes b'a'"),
    (list[int], [1, "a"], "[1] must be int, not str 'a'"),
    (list[int], "a", " must be list[int], not str 'a'"),
    (dict[str, int], {"a": "b"}, "['a'] must be int, not str 'b'"),
    (dict[str, int], {1: 2}, " key 1 must be str, not int 1"),
    (tuple[int, str], [1], " must be tuple[int, str], not list [1]"),
    (int | None, "a", " must be int, not str 'a'"),
    (int | str, 1.5, " must be int or str, not float 1.5"),
    (Literal["a", 1], True, " must be one of 'a', 1, not bool True"),
    (Color, "green", " must be one of 'red', 'blue', not str 'green'"),
    (timedelta, "soon", " must be timedelta (seconds, or a text such as '5s'), not str 'soon'"),
    (datetime, "soon", " must be datetime (a timestamp, seconds since 1970, or RFC 3339), not str 'soon'"),
    (Node, {"name": "a", "next": {}}, ".next.name is missing: it belongs to Node"),
    (Pair, [1, 2], "[1] must be str, not int 2"),
    (Pair, [1], " must be Pair, not list [1]"),
    (Decimal, "much", " must be Decimal (a text), not str 'much'"),
    (date, 1, " must be date (a text), not int 1"),
    (Node, 1, " must be Node (a map), not int 1"),
    (Node, {"name": "a", "nxt": 1}, " key must be one of name, next, tags (of Node), not str 'nxt'"),
    (Place, {"city": "Ulm", "zip": "a"}, ".zip must be int, not str 'a'"),
    (int, "a" * 100, " must be int, not str '" + "a" * 59 + "…")]


class Values(unittest.TestCase):
    def test_what_fits(self) -> None:
        fitting: list[tuple[Any, Any, Any]] = [
            *[(hint, value, value) for hint, value in SAME],
            (float, 1, 1.0), (list[float], [1], [1.0]), (set[int], [1, 1], {1}), (tuple[int, str], [1, "a"], (1, "a")),
            (tuple[int, ...], [1, 2], (1, 2)), (tuple, [1], (1,)), (Mapping[str, float], {"a": 1}, {"a": 1.0}),
            (Color, "red", Color.RED), (Level, 1, Level.LOW), (timedelta, 1.5, timedelta(seconds=1.5)),
            (timedelta, "5m", timedelta(minutes=5)), (datetime, NOON.timestamp(), NOON), (datetime, "2030-01-01T12:00:00Z", NOON),
            (datetime, msgpack.Timestamp.from_datetime(NOON), NOON),
            (Pair, [1, "a"], Pair(1, "a")), (Decimal, "1.50", Decimal("1.50")), (date, "2030-01-01", date(2030, 1, 1)),
            (UUID, str(UUID(int=7)), UUID(int=7)),
            (Node, {"name": "a", "next": {"name": "b", "tags": ["x"]}}, Node("a", Node("b", None, {"x"})))]
        for hint, value, wanted in fitting:
            with self.subTest(hint=hint, value=value):
                made = checker(hint)(value)
                self.assertEqual((made, type(made)), (wanted, type(wanted)))

    def test_what_does_not_fit(self) -> None:
        for hint, value, text in STRANGE:
            with self.subTest(hint=hint, value=value), self.assertRaises(Misfit) as caught:
                checker(hint)(value)
            self.assertEqual(caught.exception.text("x"), f"x{text}")

    def test_what_goes_comes_back(self) -> None:
        for value in (Node("a", Node("b", None, {"x"})), Color.RED, NOON, timedelta(hours=1), {1}, Pair(1, "a"), Decimal("1.5"),
                      NOON.date(), UUID(int=7)):
            hint: Any = set[int] if isinstance(value, set) else type(value)
            self.assertEqual(checker(hint)(copied(value)), value)
        with self.assertRaisesRegex(TypeError, "object"):
            copied(object())


@dataclasses.dataclass
class Sum:
    a: int
    total: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("a is negative")
        self.total = 2 * self.a


class Functions(unittest.TestCase):
    def test_the_context_is_the_runs(self) -> None:
        def first(context: Context, a: int) -> Any:
            return context, a

        def named(a: int, *, run: Context) -> Any:
            return run, a

        def last(a, context):  # type: ignore[no-untyped-def]
            return context, a

        def none(a: int) -> Any:
            return "run", a
        functions: list[Callable[..., Any]] = [first, named, last, none]
        for function in functions:
            with self.subTest(function.__name__):
                self.assertEqual(Fitting("f", function).run(function, "run", [1]), ("run", 1))

    def test_how_many_there_are(self) -> None:
        def function(a: int, b: str = "x", *rest: float) -> Any:
            return a, b, rest
        fitting = Fitting("f", function)
        self.assertEqual(fitting.run(function, None, [1, "b", 2, 3]), (1, "b", (2.0, 3.0)))
        wrong: list[tuple[list[Any], str]] = [([], r"f takes \(a, b=…, \*rest\), not 0 parameters"),
                                              ([1, "b", "c"], "f: parameter rest must be float, not str 'c'")]
        for params, text in wrong:
            with self.assertRaisesRegex(RemoteError, "BAD_PARAMS: " + text):
                fitting.fit(params)
        self.assertEqual(fitting.wire((1,), {"b": "c"}), [1, "c"])
        self.assertEqual(fitting.wire((), {"a": 1}), [1])
        for args, named in (((1,), {"a": 1}), ((1,), {"c": 1})):
            with self.assertRaises(TypeError):
                fitting.wire(args, named)

    def test_a_result_is_converted(self) -> None:
        def function() -> list[Color]:
            return []
        self.assertEqual(Fitting("f", function).returned(["red"]), [Color.RED])
        with self.assertRaisesRegex(RemoteError, r"PROTOCOL: f: the result\[0\] must be one of"):
            Fitting("f", function).returned(["green"])

    def test_fields_that_a_constructor_makes_and_values_that_it_refuses(self) -> None:
        app = App()

        @app.task()
        def double(one: Sum) -> Sum:
            return Sum(one.total)
        with testing.immediate(app) as client:
            self.assertEqual(double.submit(Sum(2)).wait().total, 8)
            text = "BAD_PARAMS: .*one must be Sum .a is negative."
            with self.assertLogs("ergon_client"), self.assertRaisesRegex(RemoteError, text):
                client.call("double", {"a": -1})

    def test_a_context_behind_defaults(self) -> None:
        app = App()

        @app.task()
        def add(a: int, b: int = 2, context: Context | None = None) -> int:
            assert context is not None
            return a + b
        with testing.immediate(app):
            self.assertEqual([add.call(1), add.call(1, 1), add.call(a=1)], [3, 2, 3])
            with self.assertRaisesRegex(TypeError, "parameter 'a' is missing"):
                add.call(b=1)  # type: ignore[call-arg]

    def test_what_cannot_be_registered(self) -> None:
        app = App()

        def needs(a: int, *, b: int) -> None:
            pass

        def strange(a: "Unknown") -> None:  # type: ignore[name-defined]  # noqa: F821
            pass
        functions: list[tuple[Callable[..., Any], str]] = [(needs, "parameter 'b' has no place"),
                                                           (strange, "an annotation of strange is")]
        for function, text in functions:
            with self.assertRaisesRegex(TypeError, text):
                app.task()(function)
        with self.assertRaisesRegex(TypeError, "attempt_timeout"):
            app.task(timeout=5)  # type: ignore[call-overload]
        with self.assertRaisesRegex(TypeError, "no option 'delay'"):
            app.task(delay=5)  # type: ignore[call-overload]
        app.task("a")(self.test_a_result_is_converted)
        with self.assertRaisesRegex(ValueError, "registered twice"):
            app.task("a")(self.test_a_result_is_converted)


if __name__ == "__main__":
    unittest.main()
