"""Middleware goes round functions, coroutine functions and actors, in its order, and may change parameters. Its examples run."""
import asyncio
import contextlib
import logging
import os
import sys
import unittest
from collections.abc import Iterator
from typing import Any

import ergon_client
from ergon_client import App, Middleware, Order, RemoteError, Run, testing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
from errors import Errors
from metrics import Metrics
from trace_context import Trace


def setUpModule() -> None:
    logging.getLogger("ergon_client").setLevel(logging.ERROR)


def shop() -> App:
    app = App()

    @app.task(retries=1)
    def charge(cents: int) -> int:
        if cents < 0:
            raise ValueError("less than nothing")
        return cents

    @app.task()
    def place(cents: int) -> int:
        return charge.submit(cents).wait()

    @app.task()
    async def tell(cents: int) -> int:
        return cents

    @app.actor("cart")
    class Cart(ergon_client.Actor):
        def add(self, cents: int) -> int:
            self.state = (self.state or 0) + cents
            return int(self.state)
    return app


class Noting(Middleware):
    def __init__(self, name: str, noted: list[Any]) -> None:
        self.name, self.noted = name, noted

    @contextlib.contextmanager
    def submit(self, order: Order) -> Iterator[None]:
        self.noted.append((self.name, "submit", order.method, list(order.params)))
        yield
        self.noted.append((self.name, "submitted"))

    @contextlib.contextmanager
    def handle(self, run: Run) -> Iterator[None]:
        self.noted.append((self.name, "run", run.context.method))
        try:
            yield
        except Exception as error:
            self.noted.append((self.name, "raised", str(error)))
            raise
        self.noted.append((self.name, "ran", run.result))


class Layers(unittest.TestCase):
    def setUp(self) -> None:
        self.app, self.noted = shop(), list[Any]()

    def submit(self, method: str, *params: Any) -> Any:
        one: Any = self.app.methods[method]
        with testing.immediate(self.app):
            return one.submit(*params)

    def test_the_first_is_the_outermost(self) -> None:
        self.app.use(Noting("a", self.noted))
        self.app.use(Noting("b", self.noted))
        self.assertEqual(self.submit("charge", 1).wait(), 1)
        self.assertEqual(self.noted, [
            ("a", "submit", "charge", [1]), ("b", "submit", "charge", [1]), ("a", "run", "charge"), ("b", "run", "charge"), ("b",
            "ran", 1),
            ("a", "ran", 1), ("b", "submitted"), ("a", "submitted")])

    def test_a_failure_and_a_refusal_come_out_of_the_yield(self) -> None:
        self.app.use(Noting("a", self.noted))
        with self.assertRaisesRegex(RemoteError, "ValueError: less than nothing"):
            self.submit("charge", -1).wait()
        self.assertEqual([each for each in self.noted if each[1] == "raised"], [("a", "raised", "less than nothing")] * 2)
        self.noted.clear()
        self.submit("charge", "1")
        self.assertEqual([each for each in self.noted if each[1] == "raised"],
                         [("a", "raised", "BAD_PARAMS: charge: parameter cents must be int, not str '1'")])

    def test_round_a_coroutine_function_and_an_actor(self) -> None:
        self.app.use(Noting("a", self.noted))
        with testing.immediate(self.app):
            tell: Any = self.app.methods["tell"]
            self.assertEqual(asyncio.run(tell.call(1)), 1)
            self.assertEqual(self.app.ref("cart/1").call("add", 2), 2)
        self.assertEqual([each[:3] for each in self.noted if each[1] in ("submit", "run")],
                         [("a", "submit", "tell"), ("a", "run", "tell"), ("a", "submit", "cart.add"), ("a", "run", "cart.add")])

    def test_it_changes_what_is_submitted_and_what_comes_out(self) -> None:
        class Doubling(Middleware):
            @contextlib.contextmanager
            def submit(self, order: Order) -> Iterator[None]:
                order.params[0] *= 2
                order.options["key"] = "k"
                yield

            @contextlib.contextmanager
            def handle(self, run: Run) -> Iterator[None]:
                yield
                run.result += 1
        self.app.use(Doubling())
        task = self.submit("charge", 4)
        self.assertEqual((task.wait(), task.get()["key"]), (9, "k"))


class Examples(unittest.TestCase):
    def setUp(self) -> None:
        self.app = shop()

    def run_three(self) -> None:
        place: Any = self.app.methods["place"]
        with testing.immediate(self.app):
            place.submit(5)
            place.submit(-5)

    def test_metrics(self) -> None:
        metrics = Metrics()
        self.app.use(metrics)
        self.run_three()
        self.assertEqual(metrics.submitted, {"place": 2, "charge": 2})
        self.assertEqual(metrics.ended, {("place", "done"): 1, ("place", "failed"): 1, ("charge", "done"): 1, ("charge",
            "failed"): 2})
        self.assertEqual(metrics.seconds.keys(), {"place", "charge"})

    def test_errors(self) -> None:
        captured: list[Any] = []
        self.app.use(Errors(lambda error, tags, crumbs: captured.append((str(error), tags["method"], tags["attempt"], crumbs))))
        self.run_three()
        self.assertEqual(captured[:2], [("less than nothing", "charge", 1, []), ("less than nothing", "charge", 2, [])])
        self.assertEqual((captured[2][1:], len(captured)), (("place", 1, ["submit charge"]), 3))

    def test_trace(self) -> None:
        spans: list[tuple[str, str | None, str]] = []
        self.app.use(Trace(lambda own, parent, method: spans.append((own, parent, method))))
        self.run_three()
        charge, place = spans[:2]
        self.assertEqual((charge[2], place[2], charge[1]), ("charge", "place", place[0]))
        self.assertEqual(len({span[0].split("-")[1] for span in spans}), 2)
        self.assertEqual(len({span[0] for span in spans}), len(spans))


if __name__ == "__main__":
    unittest.main()
