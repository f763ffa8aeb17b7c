"""A use of the Python package that type checkers look at, and nobody runs: what is right has no finding, and each line that ends with
the comment `error` has one."""
import asyncio
from datetime import datetime, timedelta
from typing import Any, Optional, Union, assert_type

import ergon_client
from ergon_client import ConnectionEvent, RemoteError, Task, aio
from ergon_client.testing import effect, immediate, server, simulate, turn, worker


def told(event: ConnectionEvent) -> None:
    assert_type(event.reason, Optional[str])


def double(context: Any, number: int) -> int:
    effect("double", number)
    context.progress(1, 2, "half")
    return 2 * number


async def triple(context: Any, number: int) -> int:
    if number < 0:
        raise ergon_client.Again(timedelta(seconds=5))
    return 3 * number


class Counter(ergon_client.Actor):
    reads = {"get"}

    def add(self, n: int) -> int:
        self.state = (self.state or 0) + n
        self.sleep(timedelta(hours=1))
        return int(self.state)

    def get(self) -> int:
        return int(self.state)


app = ergon_client.App("unix:///socket", timeout="5s")


@app.task(retries=3, backoff="1s")
def charge(context: ergon_client.Context, order: int, note: str = "") -> float:
    assert_type(context.attempt, int)
    return 1.5


@app.task("letters.write")
async def write(order: int) -> bytes:
    return b""


@app.cron("nightly", "@daily", 1, zone="Europe/Berlin")
@app.task()
def tidy(days: int) -> list[str]:
    return []


@app.task
def bare(order: int) -> str:
    return ""


@app.task
async def bare_async(context: aio.Context, order: int) -> str:
    return ""


@app.actor
class Typed(Counter):
    pass


def registry() -> None:
    assert_type(charge.submit(1, note="a").wait(), float)
    assert_type(charge.options(delay="5s", after=["t1"]).delay(1).wait(timeout=5), float)
    assert_type(tidy.call(days=3), list[str])
    assert_type(tidy(3), list[str])
    assert_type(bare.submit(1).wait(), str)
    bare_async.submit(1)  # error
    assert_type(app.ref("counter/1").tell("add", 1), Task)
    with immediate(app) as client, server("--store", "tasks") as url, worker(app, url, slots=2):
        assert_type(client.submit("charge", 1), Task)
    app.work(slots=4, secret=["charge"])
    charge.submit("1")  # error
    charge.submit()  # error
    charge.options(prioritee=5)  # error
    tidy("3")  # error
    app.task(delay=5)  # error
    app.work(slot=4)  # error
    write.submit(1).wait()  # error


def blocking() -> None:
    with ergon_client.Client("unix:///socket", timeout="5s", on_connect=told, backoff=(0.1, timedelta(seconds=5))) as ergon:
        assert_type(ergon, ergon_client.Client)
        task = ergon.submit("hash", b"abc", attempt_timeout=5, delay=timedelta(hours=1), at=datetime.now(), retries=3)
        assert_type(task, Task)
        after = ergon.submit("hash", b"abc", after=[task, "t1"], deadline=datetime.now(), rate={"key": "k", "max": 1, "per": "1s"})
        assert_type(ergon.wait([task, after], timeout=5), dict[str, list[Any]])
        assert_type(ergon.submit_many([("hash", [1]), ("hash", [2], {"priority": 9})]), list[Union[Task, RemoteError]])
        assert_type(ergon.event_wait("e"), tuple[int, Any])
        with ergon.sem("gpu", of=3, wait="5s") as hold:
            assert_type(hold.fence, int)
            assert_type(hold.lost, Optional[ergon_client.ErgonError])
        for event in task.watch():
            assert_type(event, dict[str, Any])
        ergon.cron_put("nightly", "@daily", "hash", 1, jitter=60, zone="Europe/Berlin")
        ergon.work({"double": double}, slots=2, lease="10s", secret=["double"])
        ergon.work(actors={"counter": Counter})
        ergon.work(actors={"counter": Counter()})  # error
        assert_type(ergon.actor("counter/1").tell("add", 1, key="k"), Task)
        assert_type(ergon.actor("counter/1").stop("enough"), str)
        assert_type(next(iter(ergon.actor("counter/1").watch())), dict[str, Any])
        assert_type(turn(Counter, 1, "add", 2).changes, dict[str, Any])
        ergon.submit("hash", timeout=5)  # error
        ergon.submit("hash", prioritee=5)  # error
        ergon.submit("hash", delay=datetime.now())  # error
        ergon.call("hash", deadline=b"5s")  # error
        ergon.wait(5)  # error
        ergon.acquire("gpu", wait=[])  # error


async def coroutines() -> None:
    assert_type(await (await write.options(key="k").submit(1)).wait(timeout=5), bytes)
    assert_type(await write.call(1), bytes)
    assert_type(await bare_async.call(1), str)
    assert_type(await write(1), bytes)
    async with aio.Client("unix:///socket", on_refused=told) as ergon:
        task = await ergon.submit("hash", b"abc", key="k", answer_timeout=5)
        assert_type(task, aio.Task)
        assert_type(await task.get(history=True), dict[str, Any])
        async for event in task.watch():
            assert_type(event, dict[str, Any])
        async with ergon.sem("gpu", of=3) as hold:
            assert_type(await hold.release(), bool)
        await ergon.work({"triple": triple})
        await ergon.work({"double": double})  # error
        ergon.submit("hash").wait()  # error


simulate({"double": double}, {"scenario": 1}, seeds=5)
asyncio.run(coroutines())
