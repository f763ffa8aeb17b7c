"""The suite of the sample application examples/shop.py: run at once in this process, and by a server with a
worker. Both have to come to the same."""
import asyncio
import contextlib
import logging
import os
import sys
import unittest
from datetime import UTC, datetime
from typing import Any

from ergon_client import RemoteError, testing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
import shop
from shop import Line, Method, Order

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def setUpModule() -> None:
    logging.getLogger("ergon_client").setLevel(logging.ERROR)


class Suite:
    """What has to be so in either case."""

    def test_an_order_is_charged_at_the_second_attempt(self: Any) -> None:
        task = shop.charge.submit(Order(7, [Line("apple", 120, 2), Line("pear", 80)], until=NOON))
        self.assertEqual(task.wait(timeout=30), shop.Receipt(7, 320, NOON))
        self.assertEqual((task.get()["state"], task.get()["attempt"]), ("done", 2))

    def test_what_never_succeeds_is_not_tried_again(self: Any) -> None:
        task = shop.charge.submit(Order(8, [], Method.INVOICE))
        with self.assertRaisesRegex(RemoteError, "PERMANENT: there is nothing to pay"):
            task.wait(timeout=30)
        self.assertEqual((task.get()["state"], task.get()["attempt"]), ("failed", 1))

    def test_what_does_not_fit_is_refused(self: Any) -> None:
        task = shop.app.client.submit("charge", {"number": 9, "lines": [{"sku": "apple", "cents": "12"}]}, retries=5)
        text = r"BAD_PARAMS: charge: parameter order.lines\[0\].cents must be int, not str '12'"
        with self.assertRaisesRegex(RemoteError, text):
            task.wait(timeout=30)
        self.assertEqual(task.get()["attempt"], 1)

    def test_tasks_submit_tasks(self: Any) -> None:
        task = shop.place.submit(Order(10, [Line("fig", 50)]))
        self.assertEqual(task.wait(timeout=30), ["order 10 within 172800 s", "50"])
        self.assertIn("progress", [event["event"] for event in task.watch()])

    def test_a_key_and_an_order(self: Any) -> None:
        first = shop.ship.options(key="11").submit(11)
        self.assertEqual(shop.ship.options(key="11").submit(11).id, first.id)
        self.assertEqual(shop.ship.options(after=first).submit(12).wait(timeout=30), "order 12 within 172800 s")

    def test_a_call(self: Any) -> None:
        self.assertEqual(shop.ship.call(number=13), "order 13 within 172800 s")

    def test_a_coroutine_function(self: Any) -> None:
        async def main() -> str:
            task = await shop.write.submit(shop.Receipt(14, 999, NOON))
            try:
                return await task.wait(timeout=30)
            finally:
                await shop.app.aclose()
        self.assertEqual(asyncio.run(main()), "order 14: 9.99")

    def test_a_cart(self: Any) -> None:
        cart = shop.app.ref("cart/1")
        self.assertEqual([cart.call("add", Line("fig", 50, 3)), cart.call("total")], [1, 150])
        cart.tell("add", Line("fig", 50), key="2")
        self.assertEqual([cart.call("add", Line("fig", 50)), cart.call("total")], [3, 250])
        with self.assertRaisesRegex(RemoteError, "BAD_PARAMS: Cart.add: parameter line.sku must be str, not int 1"):
            cart.call("add", {"sku": 1, "cents": 1})


class Immediately(Suite, unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(testing.immediate(shop.app))


class Served(Suite, unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        stack.enter_context(testing.worker(shop.app, stack.enter_context(testing.server())))

    def test_the_cron_is_there(self) -> None:
        cron, = shop.app.client.request("cron.list")
        self.assertEqual((cron["name"], cron["method"], cron["schedule"]), ("tidy", "tidy", "@daily"))


if __name__ == "__main__":
    unittest.main()
