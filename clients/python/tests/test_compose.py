"""What composes: results as parameters of later tasks, what a handler submits with its end, and checkpoints. Everything runs
in the test mode, and against a server."""
import asyncio
import contextlib
import dataclasses
import logging
import unittest
from collections.abc import Iterator
from typing import Any

import ergon_client
from ergon_client import RESULT, App, Context, Middleware, RemoteError, aio, testing


def setUpModule() -> None:
    logging.getLogger("ergon_client").setLevel(logging.CRITICAL)


@dataclasses.dataclass
class Letter:
    to: str
    pages: list[str]


def composed(noted: list[str]) -> App:
    app = App()

    @app.task()
    def upper(text: str) -> str:
        return text.upper()

    @app.task()
    def write(letter: Letter, copies: dict[str, str]) -> str:
        return f"{letter.to}: {letter.pages} {copies}"

    @app.task()
    def note(text: str) -> None:
        noted.append(text)

    @app.task(retries=2, backoff="1ms")
    def parent(context: Context, name: str) -> str:
        context.submit(note.order(f"{name} 1"), note.order(f"{name} 2"), delay="1ms")
        context.submit("note", f"{name} 3")
        context.tell("till/1", "take", 5)
        if context.attempt < 3:
            raise ValueError("not yet")
        return name

    @app.task()
    async def twin(context: aio.Context, name: str) -> None:
        await context.submit(note.order(name))

    @app.task()
    def late(context: Context) -> None:
        context.submit("note", "never")
        with contextlib.suppress(RemoteError):
            context.submit("note", "never", after="t1")

    @app.task()
    def unknown(context: Context) -> None:
        context.submit("note", "never")
        context.submit("gone", 1)

    @app.task(retries=3, backoff="1ms")
    def crawl(context: Context) -> list[int]:
        seen = context.checkpoint or []
        context.save([*seen, context.attempt])
        if context.attempt < 3:
            raise ValueError("not yet")
        assert context.checkpoint is not None
        context.save(None)
        return seen

    @app.actor("till")
    class Till(ergon_client.Actor):
        def take(self, cents: int) -> int:
            self.state["sum"] = self.state.get("sum", 0) + cents
            self.context.submit(note.order("till"))
            return int(self.state["sum"])
    return app


class Compose(unittest.TestCase):
    def setUp(self) -> None:
        self.noted: list[str] = []
        self.app = composed(self.noted)

    @contextlib.contextmanager
    def either(self, how: str) -> Iterator[None]:
        self.noted.clear()
        with self.subTest(how):
            if how == "immediate":
                with testing.immediate(self.app):
                    yield
            else:
                with testing.server() as url, testing.worker(self.app, url):
                    yield

    def method(self, name: str) -> Any:
        return self.app.methods[name]

    def check_noted(self, *wanted: str) -> None:
        """Those have ended that were submitted with the end of others."""
        if self.app.immediate is None:
            ids = [task["id"] for task in self.app.client.task_list(method="note")]
            self.app.client.wait(ids)
        self.assertEqual(sorted(self.noted), sorted(wanted))

    def test_results_are_parameters(self) -> None:
        upper, write = self.method("upper"), self.method("write")
        for how in ("immediate", "server"):
            with self.either(how):
                ann, ben = upper.submit("ann"), upper.submit("ben")
                letter = write.submit(Letter(ann, ["1", ben.output]), {"to": ben})
                self.assertEqual(letter.wait(), "ANN: ['1', 'BEN'] {'to': 'BEN'}")
                self.assertEqual(write.call(Letter("x", []), {"to": ann}), "x: [] {'to': 'ANN'}")
                many = self.app.client.submit_many([("upper", [ann]), upper.options(after=ann).order(ben)], after=ben)
                self.assertEqual([each.wait() for each in many if not isinstance(each, RemoteError)], ["ANN", "BEN"])
                with self.assertRaisesRegex(TypeError, "RESULT is the result of the order before"):
                    self.app.chain(upper.order(RESULT))

                async def main() -> Any:
                    async with self.of_loop() as client:
                        first = await client.submit("upper", "cat")
                        return await client.call("upper", first)
                self.assertEqual(asyncio.run(main()), "CAT")

    @contextlib.asynccontextmanager
    async def of_loop(self) -> Any:
        yield self.app.aio
        if self.app.immediate is None:
            await self.app.aclose()

    def test_a_chain_hands_its_results_on(self) -> None:
        upper, write = self.method("upper"), self.method("write")
        for how in ("immediate", "server"):
            with self.either(how):
                last = self.app.chain(upper.order("ann"), write.order(Letter(RESULT, [RESULT]), {}), upper.order(RESULT))
                self.assertEqual(last.wait(), "ANN: ['ANN'] {}")

    def test_what_an_attempt_submits_comes_with_its_end(self) -> None:
        for how in ("immediate", "server"):
            with self.either(how):
                self.assertEqual(self.method("parent").submit("a").wait(), "a")
                asyncio.run(self.run_twin("b"))
                self.app.ref("till/1").call("take", 1)
                self.check_noted("a 1", "a 2", "a 3", "b", "till", "till")

    async def run_twin(self, name: str) -> None:
        await (await self.method("twin").submit(name)).wait()
        if self.app.immediate is None:
            await self.app.aclose()

    def test_a_turn_without_a_server_shows_what_it_submits(self) -> None:
        class Order(ergon_client.Actor):
            def pay(self, cents: int) -> int:
                self.task("first", 1)
                self.context.submit("bill", cents, delay="5s")
                self.context.submit(ergon_client.Order("note", ["a"], {}), ergon_client.Order("note", ["b"], {}), keep="1h")
                self.context.tell("till/1", "take", cents)
                return cents
        result, _, changes = testing.turn(Order, None, "pay", 7)
        self.assertEqual((result, changes["tell"]), (7, [["till/1", "take", [7], {}]]))
        self.assertEqual(changes["task"], [["first", [1], {}], ["bill", [7], {"delay": 5000}], ["note", ["a"], {"keep": 3600000}],
                                           ["note", ["b"], {"keep": 3600000}]])

    def test_all_or_nothing(self) -> None:
        for how in ("immediate", "server"):
            with self.either(how):
                for why, code in (("late", "BAD_CHANGES"), ("unknown", "NO_METHOD")):
                    with self.assertRaisesRegex(RemoteError, f"^{code}"):
                        self.method(why).submit().wait()
                self.check_noted()

    def test_the_next_attempt_has_the_checkpoint(self) -> None:
        for how in ("immediate", "server"):
            with self.either(how):
                self.assertEqual(self.method("crawl").submit().wait(), [1, 2])

    def test_middleware_goes_round(self) -> None:
        class Louder(Middleware):
            @contextlib.contextmanager
            def submit(self, order: ergon_client.Order) -> Iterator[None]:
                if order.method == "note":
                    order.params[0] += "!"
                yield
        self.app.use(Louder())
        for how in ("immediate", "server"):
            with self.either(how):
                self.assertEqual(self.method("parent").submit("a").wait(), "a")
                self.app.ref("till/1").call("take", 1)  # behind the message of the parent
                self.check_noted("a 1!", "a 2!", "a 3!", "till!", "till!")


if __name__ == "__main__":
    unittest.main()
