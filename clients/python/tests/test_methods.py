"""Lists, and what is done to many at once, with a server; and orders, chains and maps, with one and without."""
import asyncio
import logging
import unittest
import unittest.mock
from typing import Any

from ergon_client import (
    App,
    Client,
    Context,
    Order,
    RemoteError,
    TimedOut,
    aio,
    methods,
    testing,
)

app = App()


@app.task()
def square(number: int) -> int:
    if number < 0:
        raise ValueError("less than nothing")
    return number * number


@app.task()
def times(number: int, factor: int) -> int:
    return number * factor


@app.task()
def belongs(context: Context) -> list[str | None]:
    return [context.batch, context.callback_of]


@app.task()
async def cube(number: int) -> int:
    return number ** 3


def setUpModule() -> None:
    logging.getLogger("ergon_client").setLevel(logging.ERROR)


class Many:
    """What has to be so in either case."""

    def test_a_map(self: Any) -> None:
        self.assertEqual(square.map(range(10)), [number * number for number in range(10)])
        self.assertEqual(times.map([(2, 3), (4, 5)]), [6, 20])
        self.assertEqual(square.map([]), [])
        with self.assertRaisesRegex(RemoteError, "ValueError: less than nothing"):
            square.map([1, -1, 2])

        async def main() -> list[int]:
            try:
                return await cube.map([1, 2, 3])
            finally:
                await app.aclose()
        self.assertEqual(asyncio.run(main()), [1, 8, 27])

    def test_a_chain_and_orders(self: Any) -> None:
        self.assertEqual(app.chain(square.order(2), times.order(3, factor=4), square.order(5)).wait(timeout=30), 25)

        async def main() -> int:
            try:
                last = await app.chain_async(cube.order(2), times.order(3, 5))
                return int(await last.wait(timeout=30))
            finally:
                await app.aclose()
        self.assertEqual(asyncio.run(main()), 15)
        last = app.chain(square.order(-1), square.order(6))
        with self.assertRaisesRegex(RemoteError, "AFTER"):
            last.wait(timeout=30)
        with self.assertRaises(TypeError):
            app.chain()
        order = square.options(priority=9).order(7)
        self.assertEqual(order, Order("square", [7], {"priority": 9}))
        task: Any = app.client.submit_many([order])[0]
        self.assertEqual(task.wait(timeout=30), 49)


class Chains(unittest.TestCase):
    def test_an_order_keeps_its_own_after(self) -> None:
        with testing.immediate(app) as client:
            first = square.submit(1)
            order = square.options(after=first).order(3)
            last = app.chain(square.order(2), order)
            after = client.task(last.id).get()["options"]["after"]
            self.assertEqual((after[0], len(after), order.options["after"]), (first.id, 2, first))


class Immediately(Many, unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(testing.immediate(app))


class Served(Many, unittest.TestCase):
    client: Client
    url: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.url = cls.enterClassContext(testing.server())
        cls.enterClassContext(testing.worker(app, cls.url))
        cls.client = cls.enterClassContext(Client(cls.url, timeout=30))

    def test_more_than_a_page(self) -> None:
        later = self.client.submit_many([("square", [n]) for n in range(1100)], delay="1h")
        found = [task["id"] for task in self.client.task_list(state="delayed", method="square")]
        self.assertCountEqual(found, [task.id for task in later if not isinstance(task, RemoteError)])
        counted = self.client.task_cancel(state="delayed", dry_run=True)
        self.assertEqual(counted, {"matched": 1100, "cancelled": 1100, "dry_run": True})
        self.assertEqual(self.client.task_cancel(state="delayed", method="square", newer="10m")["cancelled"], 1100)
        self.assertEqual(self.client.task_retry(state="cancelled", method="none")["retried"], 0)
        self.assertEqual(self.client.task_forget(state="cancelled")["forgotten"], 1100)
        with self.assertRaisesRegex(RemoteError, "BAD_PARAMS"):
            self.client.task_cancel()

    def test_queues(self) -> None:
        self.assertEqual(self.client.queue_pause("times")["paused"], True)
        task = self.client.submit("times", 2, 3)
        self.assertEqual((self.client.queue_explain("times")["reason"], task.explain()["reason"]), ("paused", "paused"))
        self.assertFalse(self.client.queue_resume("times")["paused"])
        self.assertEqual(task.wait(), 6)
        self.assertTrue(self.client.queue_drain("times")["draining"])
        with self.assertRaisesRegex(RemoteError, "DRAINING"):
            self.client.submit("times", 2, 3)
        self.client.queue_resume("times")
        self.assertLessEqual({"times", "square"}, {queue["method"] for queue in self.client.queue_list()})

    def test_crons(self) -> None:
        self.client.cron_put("nightly", "@daily", "times", 6, 7)
        cron, = self.client.cron_list()
        self.assertEqual((cron["name"], cron["next"].hour, cron["params"]), ("nightly", 0, [6, 7]))
        self.client.cron_put("often", "90s", "times", 6, 7)
        self.assertEqual({cron["name"]: cron["schedule"] for cron in self.client.cron_list()}["often"], "every 90000ms")
        self.assertTrue(self.client.cron_delete("often"))
        self.assertTrue(self.client.cron_pause("nightly")["paused"])
        self.assertFalse(self.client.cron_resume("nightly")["paused"])
        self.assertEqual(self.client.task(self.client.cron_run("nightly")).wait(), 42)
        self.assertEqual([self.client.cron_delete("nightly"), self.client.cron_delete("nightly")], [True, False])

    def test_batches(self) -> None:
        batch = self.client.batch_create(on_end=("times", [6, 7]), keep="2h")
        for task in self.client.submit_many([("times", [n, n]) for n in range(3)], batch=batch):
            self.assertNotIsInstance(task, RemoteError)
        self.assertEqual(self.client.batch_close(batch)["total"], 3)
        seen = self.client.batch_get(batch, wait="30s")
        self.assertEqual((seen["state"], seen["outcome"], seen["done"]), ("ended", "done", 3))
        self.assertEqual(self.client.task(seen["on_end"]["task"]).wait(), 42)
        other = self.client.batch_create(parent=self.client.batch_create())
        self.assertEqual(self.client.batch_cancel(other)["state"], "cancelling")
        self.assertEqual([b["id"] for b in self.client.batch_list(state="open")], [self.client.batch_get(other)["parent"]])

    def test_a_batch_is_waited_for(self) -> None:
        batch = self.client.batch_create(on_end=("belongs", []))
        member = self.client.submit("belongs", batch=batch)
        self.assertEqual(member.wait(), [batch, None])
        with self.assertRaises(TimedOut), unittest.mock.patch.object(methods, "POLL", 1):  # ms: it asks again and again
            self.client.batch_wait(batch, timeout=0.2)
        self.client.batch_close(batch)
        seen = self.client.batch_wait(batch)
        self.assertEqual((seen["state"], seen["outcome"]), ("ended", "done"))
        self.assertEqual(self.client.task(seen["on_end"]["task"]).wait(), [None, batch])
        with self.assertRaisesRegex(RemoteError, "no batch"):
            self.client.batch_wait("b0000000000001")

    def test_semaphores(self) -> None:
        self.assertEqual(self.client.sem_create("gpu", 2), {"name": "gpu", "permits": 2})
        with self.client.sem("gpu") as hold:
            seen = self.client.sem_explain("gpu")
            self.assertEqual((seen["free"], seen["holders"][0]["fence"]), (1, hold.fence))
        self.assertEqual([sem["name"] for sem in self.client.sem_list()], ["gpu"])
        with self.assertRaisesRegex(RemoteError, "FENCED"):
            self.client.sem_revoke("gpu", hold.fence)
        self.assertTrue(self.client.sem_delete("gpu"))

    def test_what_happens(self) -> None:
        task = self.client.submit("square", 3)
        task.wait()
        events = self.client.task_events(after="oldest", id=task.id)
        self.assertEqual([next(events)["event"] for _ in range(3)], ["submitted", "started", "done"])
        events.close()  # type: ignore[attr-defined]

        async def main() -> list[str]:
            async with aio.Client(self.url) as ergon:
                return [task["state"] async for task in ergon.task_list(method="square", key="none")]
        self.assertEqual(asyncio.run(main()), [])

    def test_workers_actors_and_the_server(self) -> None:
        self.assertIn("square", [method for each in self.client.worker_list("square") for method in each["methods"]])
        self.assertEqual((list(self.client.worker_list("none")), list(self.client.actor_list(type="cart"))), ([], []))
        self.assertEqual(self.client.actor_types(), [])
        self.assertEqual((self.client.info()["server"], "principal" in self.client.whoami()), ("ergon", True))


if __name__ == "__main__":
    unittest.main()
