"""The test mode refuses what it does not keep, and says why a server does not start."""
import asyncio
import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from typing import Any

import ergon_client
from ergon_client import Again, App, Context, ErgonError, RemoteError, aio, testing

FIXTURES = """
import ergon_client


def test_it(ergon_url, ergon_server):
    assert ergon_url != ergon_server
    with ergon_client.Client(ergon_url) as ergon:
        assert ergon.call("server.ping") == "pong"
"""


def setUpModule() -> None:
    logging.getLogger("ergon_client").setLevel(logging.CRITICAL)


class Immediate(unittest.TestCase):
    def setUp(self) -> None:
        self.app = App()

    def test_it_runs_in_the_thread_that_submits(self) -> None:
        @self.app.task()
        def where() -> int:
            return threading.get_ident()

        @self.app.task()
        async def where_async() -> int:
            await asyncio.sleep(0)
            return threading.get_ident()
        with testing.immediate(self.app) as client:
            self.assertEqual([where.submit().wait(), client.call("where_async")], [threading.get_ident()] * 2)

            async def main() -> int:
                return await (await where_async.submit()).wait()
            self.assertEqual(asyncio.run(main()), threading.get_ident())

    def test_a_coroutine_function_must_not_block(self) -> None:
        app = App()

        @app.task()
        def one() -> int:
            return 1

        @app.task()
        async def two() -> int:
            return one.submit().wait() + 1

        @app.task()
        async def three() -> int:
            return int(await (await app.send_async(one.order())).wait()) + 2
        with testing.immediate(app) as client:
            self.check_blocking(client)
        with testing.server() as url, testing.worker(app, url):
            self.check_blocking(app.client)

    def check_blocking(self, client: ergon_client.Client) -> None:
        with self.assertRaisesRegex(RemoteError, "RuntimeError: a coroutine function must not block .* await app"):
            client.call("two")
        self.assertEqual(client.call("three"), 3)

    def test_loops_that_are_closed_are_forgotten(self) -> None:
        app = App()

        async def main() -> Any:
            return await app.aio.request("server.ping")
        with testing.server() as url:
            app.url = url
            self.assertEqual([asyncio.run(main()), asyncio.run(main()), len(app._loops)], ["pong", "pong", 1])
            with ergon_client.Client(url) as client:
                self.assertEqual(client.request("server.info")["connections"]["open"], 1)
            app.close()
            self.assertEqual(len(app._loops), 0)

    def test_attempts(self) -> None:
        @self.app.task(retries=2)
        def fail(context: Context, code: str) -> None:
            if code != "AGAIN":
                raise ErgonError(code, "it fails")
            if context.attempt < 5:
                raise Again("1h")
        for code, state, attempts in (("NO_SPACE", "dead", 3), ("PERMANENT_LOSS", "failed", 1), ("DENIED", "failed", 1)):
            with testing.immediate(self.app):
                task = fail.submit(code)
            seen = task.get()
            self.assertEqual((seen["state"], seen["attempt"], seen["error"]), (state, attempts, f"{code}: it fails"))
        with testing.immediate(self.app):
            self.assertEqual(fail.submit("AGAIN").get()["attempt"], 5)  # and two retries

    def test_actors(self) -> None:
        @self.app.actor("order")
        class Order(ergon_client.Actor):
            def place(self, cents: int) -> int:
                self.state["cents"] = self.call("till/1", "take", cents)
                self.tell("till/1", "take", 1)
                self.task("note", "order")
                self.remind("late", "place", 1, after="1h")
                return int(self.state["cents"])

            def gone(self) -> None:
                self.drop()

        @self.app.actor("till")
        class Till(ergon_client.Actor):
            async def take(self, cents: int) -> int:
                self.state["sum"] = self.state.get("sum", 0) + cents
                return int(self.state["sum"])

        noted: list[str] = []
        self.app.task("note")(noted.append)
        with testing.immediate(self.app):
            order = self.app.ref("order/1")
            self.assertEqual((order.call("place", 40), noted), (40, ["order"]))
            self.assertEqual((order.get()["state"], self.app.ref("till/1").get()["state"]), ({"cents": 40}, {"sum": 41}))
            order.call("gone")
            with self.assertRaisesRegex(RemoteError, "NO_METHOD: .*actor.get"):
                order.get()

    def test_a_stopped_actor_keys_and_what_is_refused(self) -> None:
        @self.app.actor("till")
        class Till(ergon_client.Actor):
            def take(self) -> int:
                self.state["sum"] = self.state.get("sum", 0) + 1
                return int(self.state["sum"])

            def close(self) -> None:
                self.stop("closed")

            def rest(self) -> None:
                self.sleep("1h")

        @self.app.task()
        def fail() -> None:
            raise ValueError("no")
        with testing.immediate(self.app) as client:
            till = self.app.ref("till/1")
            ids = {till.tell("take", key="k").id for _ in range(2)}
            self.assertEqual((len(ids), till.call("take")), (1, 2))
            with self.assertRaisesRegex(RemoteError, "does not keep sleep"):
                till.call("rest")
            till.call("close")
            with self.assertRaisesRegex(RemoteError, "STOPPED: till/1 is stopped: closed"):
                till.call("take")
            with self.assertRaisesRegex(RemoteError, "AFTER: .* is not done"):
                client.call("fail", after=fail.submit())
            first, second = client.submit_many([("gone", []), ("fail", [], {"priority": 99})])
            self.assertEqual([getattr(each, "code", None) for each in (first, second)], ["NO_METHOD", "BAD_PARAMS"])
            with self.assertRaisesRegex(RemoteError, "no condition 'older'"):
                next(iter(client.task_list(older="1h")))

    def test_what_it_does_not_have(self) -> None:
        with testing.immediate(self.app) as client:
            for method in ("sem.acquire", "gone"):
                with self.assertRaisesRegex(RemoteError, r"NO_METHOD: testing.immediate\(\) has no .*testing.server"):
                    client.call(method)
            with self.assertRaisesRegex(RemoteError, "NO_METHOD: unknown method 'gone'"):
                client.submit("gone")
            with self.assertRaisesRegex(RemoteError, "NOT_FOUND"):
                client.task("i9").wait()


class Servers(unittest.TestCase):
    def test_there_is_none(self) -> None:
        text = "say by ERGOND where it is"
        with unittest.mock.patch.dict(os.environ, {"PATH": ""}), self.assertRaisesRegex(RuntimeError, text):
            del os.environ["ERGOND"]
            testing.server().__enter__()

    def test_it_does_not_start(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "does not start: .*turbo"), testing.server("--turbo"):
            pass

    def test_what_prevents_a_worker_is_raised(self) -> None:
        app = App()
        app.task("task.mine")(print)
        with testing.server() as url, self.assertRaises(RemoteError), testing.worker(app, url):
            pass
        with self.assertRaisesRegex(ErgonError, "the app knows no server"), unittest.mock.patch.dict(os.environ):
            os.environ.pop("ERGON_URL", None)
            App().client.call("server.ping")

    def test_no_server_for_a_worker(self) -> None:
        with self.assertRaisesRegex(ErgonError, "UNREACHABLE"), testing.worker(App(), "unix:///nonexistent"):
            pass

    def test_crons_that_are_refused_end_the_work(self) -> None:
        app = App()
        app.cron("never", "31 of June")(app.task("june")(print))
        with testing.server() as url, self.assertRaisesRegex(RemoteError, "BAD_PARAMS"), testing.worker(app, url):
            pass

    def test_the_app_on_an_event_loop(self) -> None:
        app = App()

        @app.task()
        async def double(number: int) -> int:
            return 2 * number

        @app.task()
        def half(number: int) -> int:
            return number // 2

        async def main(url: str) -> None:
            app.url = url
            begun = asyncio.Event()

            async def ready() -> None:
                begun.set()
            work = asyncio.create_task(app.work_async(slots=2, ready=ready, signals=False))
            await begun.wait()
            self.assertEqual(await (await double.submit(4)).wait(), 8)
            async with aio.Client(url) as ergon:
                self.assertEqual(await ergon.call("half", 4), 2)
            app.stop()
            await work
            await app.aclose()
        with testing.server() as url:
            asyncio.run(main(url))

    @unittest.skipIf(importlib.util.find_spec("pytest") is None, "pytest is not installed")
    def test_the_fixtures_of_pytest(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test_it.py"), "w") as file:
                file.write(FIXTURES)
            words = ["-q", "-p", "ergon_testing.pytest_plugin", "-p", "no:cacheprovider", folder]
            environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
            ran = subprocess.run([sys.executable, "-m", "pytest", *words], check=False, env=environment, capture_output=True,
                                 text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)


if __name__ == "__main__":
    unittest.main()
