"""Plays a scenario of clients.py with the Python package: first with asyncio, then, where that differs, with the face that blocks."""
import asyncio
import concurrent.futures
import logging
import os
import queue
import socket
import sys
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import msgpack

import ergon_client
from ergon_client import aio, failure, serving, testing

URL = os.environ["ERGON_URL"]
CA = os.environ.get("ERGON_CA")
check = unittest.TestCase()


def ask_stage(what):
    print(what, flush=True)
    check.assertEqual(sys.stdin.readline(), "done\n")


async def fails(code, work, kind=ergon_client.ErgonError):
    """The error with which it fails."""
    with check.assertRaises(kind) as caught:
        await work
    check.assertEqual(caught.exception.code, code, caught.exception)
    return caught.exception


async def values():
    async with aio.Client(URL) as ergon:
        numbers = [0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53, 2**64 - 1]
        texts = ["x" * n for n in (0, 31, 32, 255, 256, 65535, 65536)] + ["käse", "\udcff is no UTF-8"]
        lists = [[], [1, [2, [3]]], list(range(15)), list(range(16)), list(range(70000))]
        maps = [{}, {"a": {"b": None}}, {1: 2}, {str(n): n for n in range(16)}, {n: n for n in range(70000)}]
        others = [None, True, False, 1.5, -0.0, 1e300, msgpack.ExtType(5, b"x"), msgpack.ExtType(6, bytes(300)),
                  msgpack.Timestamp(1, 2)]
        for value in [*numbers, *(-n for n in numbers[:-1]), -(2**63), *texts, *(t.encode("utf-8", "replace") for t in texts),
                      *lists, *maps, *others]:
            back = await ergon.call("echo", value)
            check.assertEqual(back, value)
            check.assertEqual(type(back), type(value))
        check.assertEqual(await ergon.call("echo", {(1, 2): 3}), {(1, 2): 3})
        check.assertEqual(await ergon.call("echo", 1, "two"), [1, "two"])
        check.assertIsNone(await ergon.call("echo"))
        check.assertEqual(await ergon.call("echo", 7, deadline="5s", priority=9), 7)
        await ergon.notify("echo", 1)
        with check.assertRaises(TypeError):
            await ergon.call("echo", object())
    with ergon_client.Client(URL) as ergon:
        check.assertEqual(ergon.call("sum", 1, 2.5), 3.5)
        check.assertEqual([t.wait() for t in ergon.submit_many([("echo", [1]), ("echo", [2], {"priority": 9})])], [1, 2])
        ergon.notify("echo", 1)


async def errors():
    async with aio.Client(URL) as ergon:
        error = await fails("NO_METHOD", ergon.call("no.such.method"), ergon_client.RemoteError)
        check.assertEqual((error.number, error.retryable, error.data), (-32601, False, None))
        check.assertIn("no.such.method", error.text)
        error = await fails("NO_SPACE", ergon.call("fail", "NO_SPACE", "the disk is full"))
        check.assertEqual((error.text, str(error)), ("the disk is full", "NO_SPACE: the disk is full"))
        for code in ("AUTH", "BROKEN", "CLOSED", "TIMEOUT", "UNREACHABLE"):  # the handler's, and not the client's own
            error = await fails(code, ergon.request("fail", [code, "its own"], again=True), ergon_client.RemoteError)
            check.assertNotIsInstance(error, OSError)
        await fails("BAD_PARAMS", ergon.call("sum", "three"))
        await fails("BAD_PARAMS", ergon.call("echo", priority=10))
        await fails("DEADLINE", ergon.call("sleep", "60s", deadline=0.02))
        await fails("NOT_FOUND", ergon.task("t0000000000001").wait())
        task = await ergon.submit("fail", "NO_SPACE", "the disk is full")
        error = await fails("NO_SPACE", task.wait(), ergon_client.RemoteError)
        check.assertEqual(error.data["state"], "failed")
        await ergon.call("queue.drain", "flaky")
        check.assertTrue((await fails("DRAINING", ergon.submit("flaky", 1))).retryable)
        check.assertEqual([(e.code, e.retryable) for e in await ergon.submit_many([("flaky", [1])])], [("DRAINING", True)])
        await ergon.call("queue.resume", "flaky")
        task = await ergon.submit("echo", "x" * 100, keep_size=10)
        await fails("TOO_LARGE", task.wait())
        await task.forget()
        await fails("NOT_FOUND", task.get())
    with check.assertRaisesRegex(ValueError, "neither"):
        aio.Client("http://localhost")


async def large():
    async with aio.Client(URL, ca=CA) as ergon:
        data = os.urandom(8 << 20)
        waiting = asyncio.create_task(ergon.call("sleep", "60s"))
        check.assertEqual(await asyncio.gather(*(ergon.call("echo", data) for _ in range(4))), [data] * 4)
        await fails("TOO_LARGE", ergon.call("echo", bytes(17 << 20)))
        check.assertFalse(waiting.done())  # the same connection
        waiting.cancel()


async def tls():
    env = os.environ
    async with aio.Client(URL, ca=CA) as ergon:
        check.assertEqual(await ergon.call("echo", 1), 1)
    for options in ({}, {"ca": CA, "server_name": "elsewhere.example"}):
        error = await fails("UNREACHABLE", aio.Client(URL, **options).connect(), ergon_client.Unreachable)
        check.assertIn("certificate", error.text)
    await fails("UNREACHABLE", aio.Client(env["ERGON_UNNAMED"], ca=env["ERGON_UNNAMED_CA"]).connect())
    async with aio.Client(env["ERGON_MUTUAL"], ca=CA, cert=env["ERGON_CERT"], key=env["ERGON_KEY"]) as ergon:
        check.assertEqual((await ergon.call("server.hello"))["principal"], "cert:ops.example")
    await fails("UNREACHABLE", aio.Client(env["ERGON_MUTUAL"], ca=CA).connect())


async def token():
    async with aio.Client(URL, token=os.environ["ERGON_TOKEN"]) as ergon:
        check.assertEqual((await ergon.call("server.hello"))["principal"], "token:alice")
    await fails("AUTH", aio.Client(URL, token="wrong").connect(), ergon_client.Refused)
    late = aio.Client(URL, token="wrong")
    await fails("AUTH", late.call("echo", 1), ergon_client.Refused)
    await late.close()
    async with aio.Client(URL) as ergon:
        await fails("AUTH", ergon.call("echo", 1), ergon_client.RemoteError)


async def cancelled(ergon, least):
    """Waits until the server has cancelled so many calls."""
    while (await ergon.call("server.info"))["tasks"]["cancelled"] < least:
        await asyncio.sleep(0.01)


async def cancel():
    async with aio.Client(URL) as ergon:
        before = (await ergon.call("server.info"))["tasks"]["cancelled"]
        error = await fails("TIMEOUT", ergon.call("sleep", "60s", timeout=0.05), TimeoutError)
        check.assertIsInstance(error, ergon_client.TimedOut)
        await cancelled(ergon, before + 1)
        calls = [asyncio.create_task(ergon.call("sleep", "60s")) for _ in range(20)]
        await ergon.call("echo", 1)
        for call in calls:
            call.cancel()
        check.assertTrue(all(isinstance(e, asyncio.CancelledError) for e in await asyncio.gather(*calls, return_exceptions=True)))
        await cancelled(ergon, before + 21)
        task = await ergon.submit("sleep", "60s")
        await fails("TIMEOUT", task.wait(timeout=0.05))
        check.assertTrue((await task.cancel())["cancelled"])
        await fails("CANCELLED", task.wait())
        check.assertEqual((await task.get())["state"], "cancelled")
    with ergon_client.Client(URL, timeout=0.05) as ergon:
        with check.assertRaises(ergon_client.TimedOut):
            ergon.call("sleep", "60s")
        check.assertEqual(ergon.call("echo", 1, timeout=60), 1)


async def times():
    """Each kind of time, and of task, is taken; what may mean two things is refused, with what to write."""
    async with aio.Client(URL, timeout="1m") as ergon:
        for hour in (3600, 3600.0, timedelta(hours=1), "60m", "1h", "3600000ms"):
            task = await ergon.submit("echo", 1, delay=hour, backoff=hour, keep=hour, rate={"key": "times", "max": 9, "per": hour})
            seen = await task.get()
            check.assertEqual(round((seen["due"] - seen["created"]).total_seconds()), 3600, hour)
            check.assertTrue((await task.cancel())["cancelled"])
        noon = datetime(2099, 5, 1, 12, tzinfo=timezone.utc)
        local = noon.astimezone().replace(tzinfo=None)  # as in Python, without a zone it is local time
        for at in (noon, local, noon.timestamp(), int(noon.timestamp()), noon.isoformat(), noon.astimezone(timezone(timedelta(hours=2)))):
            task = await ergon.submit("echo", 1, at=at, deadline=noon + timedelta(days=1))
            check.assertEqual((await task.get())["due"], noon, at)
            check.assertEqual((await task.change(delay=timedelta(0), priority=7))["priority"], 7)
            check.assertEqual(await task.wait(), 1)
        await fails("DEADLINE", ergon.call("sleep", "60s", deadline=datetime.now() - timedelta(days=1)))
        await refuses_times(ergon)
        await attempts_end(ergon)
        first = await ergon.submit("echo", 1)
        then = await ergon.submit("echo", 2, after=first)
        last = await ergon.submit("echo", 3, after=[first, then.id], after_any=then)
        check.assertEqual([t["result"] for t in (await ergon.wait(last))["ended"]], [3])
        check.assertEqual(await ergon.task(last).wait(timeout=timedelta(minutes=1)), 3)
        check.assertEqual([e["event"] async for e in ergon.watch(last)][-1], "done")
        check.assertIsNotNone((await last.get(history=True))["history"][0]["at"].tzinfo)
        check.assertEqual((await ergon.call("task.get", last))["id"], last.id)
        made = await ergon.cron_put("times", timedelta(minutes=10), "echo", 1, jitter=timedelta(minutes=1), attempt_timeout=5)
        check.assertEqual(made["name"], "times")
        cron, = [c for c in await ergon.call("cron.list") if c["name"] == "times"]
        check.assertEqual((cron["options"]["jitter"], cron["options"]["timeout"]), (60_000, 5000))
        check.assertTrue(await ergon.call("cron.delete", "times"))
        hold = await ergon.acquire("times", of=1, wait="5s", ttl=timedelta(hours=1), grace=5)
        check.assertTrue(await hold.release())
        await fails("TIMEOUT", ergon.event_wait("times", timeout=timedelta(milliseconds=20)))
    check.assertEqual([str(ergon_client.Again(each)) for each in (5, 0.25, timedelta(minutes=1), "2s", 0)],
                      ["AGAIN: 5000ms", "AGAIN: 250ms", "AGAIN: 60000ms", "AGAIN: 2000ms", "AGAIN: 0"])
    with ergon_client.Client(URL) as ergon:
        first = ergon.submit("echo", 1)
        then = ergon.submit("echo", 2, after=first, attempt_timeout=60)
        check.assertEqual(ergon.wait([first, then], timeout="50s")["open"], [])
        with check.assertRaisesRegex(TypeError, "attempt_timeout"):
            ergon.submit("echo", 1, timeout=5)


async def refuses_times(ergon):
    for kind, text, options in (
            (TypeError, "attempt_timeout=.*answer_timeout=", {"timeout": 5}), (TypeError, "did you mean 'priority'", {"prioritee": 1}),
            (ValueError, "with its unit", {"delay": "5"}), (ValueError, "delay must be", {"delay": -1}),
            (ValueError, "delay must be", {"delay": float("nan")}), (TypeError, "delay is a duration", {"delay": True}),
            (TypeError, "delay is a duration", {"delay": datetime.now()}), (TypeError, "use delay=", {"at": timedelta(1)}),
            (ValueError, "divide milliseconds by 1000", {"at": 1_900_000_000_000}), (TypeError, "after is a Task", {"after": [1]})):
        with check.assertRaisesRegex(kind, text):
            await ergon.submit("echo", 1, **options)
    with check.assertRaisesRegex(TypeError, "attempt_timeout="):
        await ergon.submit_many([("echo", [1], {"timeout": 5})])
    with check.assertRaisesRegex(TypeError, "did you mean 'deadline'"):
        await ergon.call("echo", 1, deadlin=5)
    with check.assertRaisesRegex(ValueError, "with its unit"):
        await ergon.call("echo", 1, timeout="5")


async def attempts_end(ergon):
    """What ends an attempt is not what the client waits."""
    task = await ergon.submit("sleep", "60s", attempt_timeout=0.02, retries=1, backoff=0.001, answer_timeout=60)
    error = await fails("DEADLINE", task.wait(), ergon_client.RemoteError)
    check.assertEqual(error.data["state"], "dead")
    check.assertEqual([e["event"] for e in (await task.get(history=True))["history"]].count("timed_out"), 2)


async def crowd():
    """More tasks than a request may name, and more results than an answer may have."""
    async with aio.Client(URL) as ergon:
        tasks = await ergon.submit_many([("echo", [i]) for i in range(2500)])
        answer = await ergon.wait(tasks)
        check.assertEqual(sorted(t["result"] for t in answer["ended"]), list(range(2500)))
        check.assertEqual(answer["open"], [])
        later = await ergon.submit_many([("echo", [i]) for i in range(1500)], delay=timedelta(days=1))
        answer = await ergon.wait([*later, tasks[7]], any=True)
        check.assertEqual(([t["result"] for t in answer["ended"]], len(answer["open"])), ([7], 1500))
        check.assertEqual((await ergon.wait([*later, *tasks], any=True, result=False))["open"][:1500], [t.id for t in later])
        await fails("NOT_FOUND", ergon.wait([*later, "t0000000000001"]))
        await fails("TIMEOUT", ergon.wait(later, timeout=0.02))
        check.assertEqual((await ergon.call("task.cancel", {"older": 0, "state": "delayed"}))["cancelled"], 1500)
        data = bytes(3 << 20)
        tasks = [await ergon.submit("echo", data + bytes([i]), keep_size=4 << 20) for i in range(6)]
        check.assertCountEqual([t["result"][-1] for t in (await ergon.wait(tasks))["ended"]], range(6))
        for task in tasks:
            await task.forget()
    with ergon_client.Client(URL) as ergon:
        tasks = ergon.submit_many([("echo", [i]) for i in range(1200)])
        check.assertEqual(len(ergon.wait(tasks, timeout=timedelta(minutes=1))["ended"]), 1200)


async def many():
    async with aio.Client(URL, ca=CA, in_flight=500) as ergon:  # ten times what the server takes
        methods = [("echo", i) if i % 2 else ("fail", "ODD", str(i)) for i in range(5000)]
        answers = await asyncio.gather(*(ergon.call(*m) for m in methods), return_exceptions=True)
        for i, answer in enumerate(answers):
            check.assertEqual(answer if i % 2 else answer.text, i if i % 2 else str(i))
    seen = []
    with ergon_client.Client(URL, ca=CA) as ergon:
        def work(k):
            seen.extend(ergon.call("echo", k * 100 + i) for i in range(100))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    check.assertEqual(sorted(seen), list(range(2000)))


def looks_like_progress(events):
    check.assertEqual([e["seq"] for e in events], sorted({e["seq"] for e in events}))
    check.assertEqual([e["data"] for e in events if e["event"] == "partial"], [1, 2, 3, 4, 5])
    check.assertEqual([e["event"] for e in events][-1], "done")
    check.assertEqual(sum(e["event"] == "progress" for e in events), 5)


def free_watches(ergon, task):
    """On the client's own thread, and on one that holds its gate: either may run the collector."""
    watches = [task.watch(), task.watch()]
    for events in watches:
        next(events)
    del events
    ergon._engine.soon(watches.pop)
    ergon.call("echo", 1)
    with ergon._engine._gate:
        watches.clear()


async def watch():
    async with aio.Client(URL) as ergon:
        task = await ergon.submit("progress", 5)
        looks_like_progress([event async for event in task.watch()])
        check.assertEqual(await task.wait(), 5)
        check.assertEqual([e["event"] async for e in ergon.watch(task.id, 3)][-1], "done")
        slow = await ergon.submit("sleep", "60s")
        answer = await ergon.wait([task.id, slow.id], any=True)
        check.assertEqual(([t["id"] for t in answer["ended"]], answer["open"]), ([task.id], [slow.id]))
        check.assertEqual((await slow.explain())["id"], slow.id)
        aio.POLL, usual = 10, aio.POLL  # the server answers before all have ended
        many = [await ergon.submit("sleep", f"{ms}ms") for ms in (0, 50, 100)]
        ended = (await ergon.wait([t.id for t in many]))["ended"]
        check.assertCountEqual([t["id"] for t in ended], [t.id for t in many])
        aio.POLL = usual
        await slow.cancel()
    pushed = asyncio.Queue()
    async with aio.Client(URL, on_notification=lambda method, params: pushed.put_nowait((method, params))) as ergon:
        task = await ergon.submit("progress", 5)
        await ergon.call("task.watch", task.id, {"push": True})
        check.assertEqual((await pushed.get())[0], "task.event")
    with ergon_client.Client(URL) as ergon:
        task = ergon.submit("progress", 5)
        looks_like_progress(list(task.watch()))
        for event in ergon.submit("sleep", "60s").watch():
            break  # nobody waits for the rest
        free_watches(ergon, task)
        check.assertEqual(ergon.task(task.id).wait(), 5)


async def closed():
    ergon = aio.Client(URL)
    calls = [asyncio.create_task(ergon.call("sleep", "60s")) for _ in range(3)]
    await ergon.call("echo", 1)
    await ergon.close()
    for call in calls:
        await fails("CLOSED", call, ergon_client.Closed)
    await fails("CLOSED", ergon.call("echo", 1))
    nobody = os.environ["ERGON_NOBODY"]
    check.assertTrue((await fails("UNREACHABLE", aio.Client(nobody).connect())).retryable)
    late = aio.Client(nobody)
    await fails("TIMEOUT", late.call("echo", 1, timeout=0.2))
    await late.close()
    with check.assertRaises(ergon_client.Unreachable):
        ergon_client.Client(nobody).connect()
    silent = await asyncio.start_server(lambda reader, writer: reader.read(), "127.0.0.1", 0)
    silent_url = "ergon://127.0.0.1:%d" % silent.sockets[0].getsockname()[1]
    await fails("UNREACHABLE", aio.Client(silent_url, connect_timeout=0.05).connect())
    waits = aio.Client(silent_url)
    connecting = asyncio.create_task(waits.connect())
    await asyncio.sleep(0)
    await waits.close()
    await fails("CLOSED", connecting)
    given_up = aio.Client(silent_url)
    with check.assertRaises(TimeoutError):
        await asyncio.wait_for(given_up.connect(), 0.05)
    await fails("CLOSED", given_up.call("echo", 1))
    silent.close()
    await deaf()
    await forgetful()
    blocking = ergon_client.Client(URL)
    check.assertEqual(blocking.call("echo", 1), 1)
    events = blocking.submit("sleep", "60s").watch()
    check.assertEqual(next(events)["event"], "submitted")
    blocking.close()
    blocking.close()
    for use in (lambda: blocking.call("echo", 1), lambda: list(events)):
        with check.assertRaises(ergon_client.Closed):
            use()
    closed_under_calls()
    check.assertEqual([t.name for t in threading.enumerate() if t.name == "ergon-client"], [])


async def deaf():
    """A server that greets, and reads no more: of calls that are given up no bytes wait, and a wait for permits ends."""
    over = asyncio.Event()

    async def greet(reader, writer):
        await reader.read(1 << 16)
        writer.write(msgpack.packb([1, 1, "NO_METHOD: ?", None]))
        await over.wait()
        writer.close()
    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    aio.sems.ANSWER, usual = 0.05, aio.sems.ANSWER
    async with aio.Client("ergon://127.0.0.1:%d" % server.sockets[0].getsockname()[1]) as ergon:
        await fails("TIMEOUT", ergon.acquire("s", wait=0.01))
        for _ in range(40):
            await fails("TIMEOUT", ergon.call("echo", bytes(1 << 20), timeout=0.01))
        check.assertLess((await ergon._session())._writer.transport.get_write_buffer_size(), 4 << 20)
        over.set()
    aio.sems.ANSWER = usual
    server.close()


async def forgetful():
    """Of a task that the server forgets before it is asked for the result that it left out there is none."""
    ended = [{"id": "a", "state": "done"}, {"id": "b", "state": "done", "result": 2}]

    def answer(number, method, params):
        if method == "task.wait":
            return [1, number, None, {"ended": ended, "open": []}]
        return [1, number, "NOT_FOUND: ?", None]
    server, url = await scripted(answer)
    async with aio.Client(url) as ergon:
        check.assertEqual((await ergon.wait(["a", "b"]))["ended"], ended)
    server.close()


def until_closed(ergon):
    """Calls until the client is closed; what hangs here holds up the program."""
    with check.assertRaises(ergon_client.Closed):
        while True:
            ergon.call("echo", 1)


def closed_under_calls():
    """Two threads close, and eight call meanwhile: none waits for ever."""
    for _ in range(50):
        ergon = ergon_client.Client(URL)
        ergon.call("echo", 1)
        threads = [threading.Thread(target=until_closed, args=(ergon,)) for _ in range(8)]
        threads += [threading.Thread(target=ergon.close) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


async def rubbish():
    async with asyncio.timeout(200):
        ergon = aio.Client(URL, backoff=(0.001, 0.01))
        broken = 0
        while True:
            try:
                check.assertEqual(await ergon.call("echo", "hi"), "hi")
                break
            except ergon_client.Broken as error:
                check.assertFalse(error.retryable)
                broken += 1
        check.assertGreaterEqual(broken, 5)
        check.assertEqual(await ergon.call("echo", "still"), "still")
        await fails("BROKEN", ergon.submit("echo", 1))
        await fails("BROKEN", ergon.actor("a/1").remind("r", "m", after=1))
        await fails("BROKEN", ergon.cron_put("c", "@daily", "m"))
        check.assertEqual((await ergon.submit("echo", 1, key="k")).id, "t1")  # asked again
        await ergon.close()


class Mute(Exception):
    """It has no text."""

    def __str__(self):
        raise ValueError("no text")


async def serve():
    """A server asks, and the connection is lost under two requests, and once more; at last one is open when the work ends."""
    held, why, release = [], [], asyncio.Event()

    async def hold(context):
        try:
            await context.progress(0)
            await release.wait()
        except asyncio.CancelledError:
            why.append(context.cancelled)
            raise
        held.append(1)
        if len(held) == 2:
            release.clear()
        return "held"

    async def echo(context, *params):
        return params

    async def fail(context, code, text):
        raise ergon_client.RemoteError(code, text)

    async def luckless(context):
        raise ValueError("no luck")

    async def odd(context):
        return object()

    async def again(context, ms):
        raise ergon_client.Again(ms / 1000)

    async def permanent(context, text):
        raise ergon_client.Permanent(ValueError(text))

    async def mute(context):
        raise Mute

    async def told(context):
        return [context.method, context.task, context.attempt, context.tenant, 0 < context.left < 60]

    async def steps(context):
        await context.progress(1, 2, "half")
        await context.partial([7])
        return "whole"

    async def reasons(context):
        return why

    async def quit(context):
        ergon.stop()

    def pushed(method, params):
        check.assertEqual((method, params), ("release", []))
        release.set()

    logging.disable()  # what handlers raise
    handlers = {"hold": hold, "echo": echo, "fail": fail, "raise": luckless, "odd": odd, "again": again, "permanent": permanent,
                "mute": mute, "told": told, "steps": steps, "why": reasons, "quit": quit}
    async with aio.Client(URL, backoff=(0.001, 0.01), message_max=12 << 20, on_notification=pushed) as ergon:
        with check.assertRaisesRegex(TypeError, "hold"):
            await ergon.work({"hold": lambda context: None})
        working = asyncio.create_task(ergon.work(handlers, slots=2, name="hand", version="1.2", grace=0.2))
        await asyncio.sleep(0)
        with check.assertRaisesRegex(RuntimeError, "works already"):
            await ergon.work(handlers)
        await working
        await ergon.call("worked")
    check.assertEqual(why, ["deadline", "draining", "lost", "lost", "stopping"])
    check.assertEqual(len(asyncio.all_tasks()), 1)


async def serve_on_threads():
    await asyncio.to_thread(serve_blocking)


def serve_blocking():
    """The same, with handlers that block."""
    change, free, held, why = threading.Condition(), [], [], []

    def hold(context):
        context.progress(0)
        with change:
            while not free and not context.cancelling.is_set():
                change.wait(0.01)
            if context.cancelled is not None:
                why.append(context.cancelled)
                change.notify_all()
                context.check()
            free.pop()
            held.append(1)
        return "held"

    def echo(context, *params):
        return params

    def fail(context, code, text):
        raise ergon_client.RemoteError(code, text)

    def luckless(context):
        raise ValueError("no luck")

    def odd(context):
        return object()

    def again(context, ms):
        raise ergon_client.Again(ms / 1000)

    def permanent(context, text):
        raise ergon_client.Permanent(ValueError(text))

    def mute(context):
        raise Mute

    def told(context):
        return [context.method, context.task, context.attempt, context.tenant, 0 < context.left < 60]

    def steps(context):
        context.progress(1, 2, "half")
        context.partial([7])
        return "whole"

    def reasons(context):
        with change:
            check.assertTrue(change.wait_for(lambda: len(why) == 4, 50))
            return why

    def quit(context):
        ergon.stop()

    def pushed(method, params):
        with change:
            free.extend([1, 2])
            change.notify_all()

    logging.disable()
    handlers = {"hold": hold, "echo": echo, "fail": fail, "raise": luckless, "odd": odd, "again": again, "permanent": permanent,
                "mute": mute, "told": told, "steps": steps, "why": reasons, "quit": quit}
    with ergon_client.Client(URL, backoff=(0.001, 0.01), message_max=12 << 20, on_notification=pushed) as ergon:
        ergon.work(handlers, slots=2, name="hand", version="1.2", grace=0.2)
        ergon.call("worked")
    check.assertEqual(why, ["deadline", "draining", "lost", "lost", "stopping"])
    check.assertEqual((len(held), free), (2, []))


async def tracebacks():
    """Only what is the handler's, also of causes and groups; of long ones the end."""
    async def run(handler, *params):
        work = asyncio.ensure_future(serving.Handler("x", handler).run(None, params))
        await asyncio.wait([work])
        return failure.error_value(work.exception())

    async def caused(context):
        try:
            {}["cause"]
        except KeyError as error:
            raise ergon_client.Permanent("because") from error

    async def deep(context, n):
        def down(n):
            return down(n - 1) if n else 1 / 0
        try:
            down(n)
        except ZeroDivisionError as error:
            raise ExceptionGroup("ä" * 20_000, [error, ValueError("\udcff")])

    async def inside(context):
        serving.Context(None, 1, "x", {"left": "no number"})

    said = await run(caused)
    check.assertEqual((said["code"], said["message"]), ("PERMANENT", "because"))
    check.assertRegex(said["traceback"], r"(?s)in caused.*KeyError: 'cause'.*direct cause.*in caused.*Permanent: PERMANENT: because\n$")
    check.assertNotIn("serving.py", said["traceback"])
    said = (await run(deep, 500))["traceback"]
    check.assertTrue(len(said.encode()) in range(16_000, 16_385), len(said.encode()))
    check.assertTrue(said.endswith("ValueError: ?\n    +------------------------------------\n"), said[-200:])
    check.assertIn("in inside", (await run(inside))["traceback"])
    check.assertEqual(await run(caused, 1), "BAD_PARAMS: too many positional arguments")
    check.assertEqual(failure.error_value(ergon_client.Again(5)), "AGAIN: 5000ms")


async def hosts():
    """A server from before workers told their host is asked without; what the caller asked for is not left out."""
    seen = []

    def answer(number, method, params):
        if method == "worker.register":
            seen.append(params[1])
        strange = next((name for name in ("host", "secret") if method == "worker.register" and name in params[1]), None)
        return [1, number, f"BAD_PARAMS: no option {strange!r}" if strange else None, {}]

    async def nothing(context):
        pass
    server, url = await scripted(answer)
    async with aio.Client(url) as ergon:
        working = asyncio.create_task(ergon.work({"x": nothing}))
        while len(seen) < 2:
            await asyncio.sleep(0.001)
        ergon.stop()
        await working
        check.assertEqual([each.get("host") for each in seen], [socket.gethostname(), None])
        for options in ({"secret": True}, {"secret": ["x"]}, {"host": "elsewhere"}):
            await fails("BAD_PARAMS", ergon.work({"x": nothing}, **options))
        check.assertEqual(seen[-1]["host"], "elsewhere")
        with check.assertRaisesRegex(ValueError, "'y'"):
            await ergon.work({"x": nothing}, secret=["y"])
    server.close()


async def again():
    """A client works three times, one after the other, and calls in the end."""
    async with aio.Client(URL) as ergon, aio.Client(URL) as caller:
        async def leave(context):
            ergon.stop()
            return context.method

        for _ in range(3):
            working = asyncio.create_task(ergon.work({"python.leave": leave}))
            while "open" not in [w["state"] for w in (await caller.call("worker.list", {"method": "python.leave"}))["workers"]]:
                await asyncio.sleep(0.01)
            check.assertEqual(await caller.call("python.leave"), "python.leave")
            await working
            await fails("NO_WORKER", caller.call("python.leave"))
        check.assertEqual(await ergon.call("echo", 1), 1)


async def share():
    async with aio.Client(URL) as one, aio.Client(URL) as other:
        await fails("NOT_FOUND", one.acquire("python"))
        first = await one.acquire("python", permits=2, of=3)
        await fails("DEADLINE", other.acquire("python", permits=2, wait=0))
        await fails("BAD_PARAMS", other.acquire("python", permits=4))
        given_up = asyncio.create_task(other.acquire("python", permits=3))
        waiting = asyncio.create_task(other.acquire("python", permits=2))

        async def waiters():
            return len((await one.call("sem.explain", "python"))["waiters"])
        while await waiters() < 2:
            await asyncio.sleep(0.01)
        given_up.cancel()
        while await waiters() > 1:
            await asyncio.sleep(0.01)
        check.assertFalse(waiting.done())
        check.assertTrue(await first.release())
        check.assertFalse(await first.release())
        second = await waiting
        check.assertGreater(second.fence, first.fence)
        await second.renew()
        check.assertTrue(await second.release())
        news = asyncio.create_task(other.event_wait("python", timeout=50))
        seqs = []
        while not news.done():  # it may not wait yet
            seqs.append(await one.event_set("python", {"n": len(seqs)}))
        seq, value = await news
        check.assertEqual(value, {"n": seqs.index(seq)})
        check.assertEqual((await other.event_wait("python", seqs[-1]))[0], seqs[-1])
        await fails("TIMEOUT", other.event_wait("python", timeout=0.05))
    with ergon_client.Client(URL) as ergon:
        with ergon.sem("python", of=1) as held:
            check.assertGreater(held.fence, second.fence)
            held.renew()
        check.assertEqual(ergon.event_wait("python", ergon.event_set("python"))[1], None)


async def hold():
    told = asyncio.Queue()
    options = {"permits": 2, "of": 3, "grace": 3}
    heard = {"on_notification": lambda method, _: told.put_nowait(method)}
    async with aio.Client(URL, backoff=(0.001, 0.01), in_flight=1, **heard) as ergon:
        async with ergon.sem("gpu", **options) as held:
            check.assertEqual((held.fence, held.permits), (7, 2))
            stuck = asyncio.create_task(ergon.request("stuck", again=True))
            check.assertEqual(await told.get(), "go on")
        await stuck
        with check.assertRaises(ergon_client.RemoteError) as caught:
            async with ergon.sem("gpu", **options) as held:
                await asyncio.sleep(1000)
        check.assertEqual((caught.exception.code, held.lost, held.fence), ("FENCED", caught.exception, 8))
        waiting = asyncio.create_task(ergon.acquire("gpu", **options))
        check.assertEqual(await told.get(), "give up")
        waiting.cancel()
        check.assertTrue(isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], asyncio.CancelledError))
        check.assertEqual(await ergon.event_set("e", 5), 41)
        check.assertEqual(await ergon.event_wait("e"), (43, "v"))
    await asyncio.sleep(0)
    check.assertEqual(len(asyncio.all_tasks()), 1)


async def hold_on_threads():
    await asyncio.to_thread(hold_blocking)


def hold_blocking():
    go_on = threading.Event()
    options = {"permits": 2, "of": 3, "grace": 3}

    def told(method, _):
        if method == "go on":
            go_on.set()
        else:  # on the client's own thread: nobody else can give it up
            for task in asyncio.all_tasks():
                if "acquire" in repr(task.get_coro()):
                    task.cancel()

    with ergon_client.Client(URL, backoff=(0.001, 0.01), in_flight=1, on_notification=told) as ergon:
        with ergon.sem("gpu", **options) as held:
            check.assertEqual((held.fence, held.permits), (7, 2))
            stuck = threading.Thread(target=ergon.request, args=("stuck",), kwargs={"again": True})
            stuck.start()
            check.assertTrue(go_on.wait(50))
            held.check()
        stuck.join()
        with check.assertRaises(ergon_client.RemoteError) as caught:
            with ergon.sem("gpu", **options) as held:
                check.assertTrue(held.losing.wait(50))
        check.assertEqual((caught.exception.code, held.fence), ("FENCED", 8))
        with check.assertRaises(concurrent.futures.CancelledError):
            ergon.acquire("gpu", **options)
        check.assertEqual(ergon.event_set("e", 5), 41)
        check.assertEqual(ergon.event_wait("e"), (43, "v"))


class Said(logging.Handler):
    """What happens to connections, as callbacks and as log lines."""

    def __init__(self):
        super().__init__()
        self.lines, self.events = [], asyncio.Queue()
        logger = logging.getLogger("ergon_client")
        logger.addHandler(self)
        logger.setLevel(logging.INFO)
        logger.propagate = False

    def emit(self, record):
        self.lines.append((record.levelname, record.getMessage()))

    def callbacks(self):
        return {"on_" + name: self.events.put_nowait for name in ("connect", "disconnect", "reconnect", "refused", "drained")}

    async def next(self, url):
        """The next event, and why."""
        event = await self.events.get()
        check.assertEqual(event.address, url)
        return event.event, event.reason


async def scripted(answer):
    """A server that is none, and its URL: it answers each request with the message answer(number, method, params), and closes after a
    notification."""
    async def serve(reader, writer):
        unpacker, message = msgpack.Unpacker(), [None]
        while message[0] != 2 and (data := await reader.read(1 << 16)):
            unpacker.feed(data)
            for _, number, method, params in unpacker:
                message = answer(number, method, params)
                writer.write(msgpack.packb(message))
        writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    return server, "ergon://127.0.0.1:%d" % server.sockets[0].getsockname()[1]


async def events():
    """Each event, and what a refusal says, for programs and for people."""
    said, nobody, guarded = Said(), os.environ["ERGON_NOBODY"], os.environ["ERGON_GUARDED"]
    async with aio.Client(URL, backoff=(0.001, 0.01), **said.callbacks()) as ergon:
        check.assertEqual(await said.next(URL), ("connect", None))
        await asyncio.to_thread(ask_stage, "restart")
        event, reason = await said.next(URL)
        check.assertEqual(event, "disconnect")
        check.assertTrue(reason)
        while (event := await said.next(URL))[0] == "refused":
            check.assertIn(event[1], ("connection refused", "No such file or directory", "Connection reset by peer", "the server closed it"))
        check.assertEqual(event, ("reconnect", None))
        waiting = asyncio.create_task((await ergon.submit("sleep", "60s")).wait())
        check.assertEqual(await ergon.call("server.ping"), "pong")
        await asyncio.to_thread(ask_stage, "stop")
        check.assertEqual(await said.next(URL), ("drained", "the server is shutting down"))
        waiting.cancel()
        await asyncio.to_thread(ask_stage, "restart")
        while (event := await said.next(URL))[0] != "reconnect":
            pass
        check.assertEqual(await ergon.call("server.ping"), "pong")
    check.assertEqual(await said.next(URL), ("disconnect", "the client closed it"))
    lines = [(level, text.split(URL)[0]) for level, text in said.lines]
    check.assertEqual((lines[0], lines[1]), (("INFO", "ergon: connected to "), ("WARNING", "ergon: lost the connection to ")))
    check.assertEqual(lines[-2:], [("INFO", "ergon: connected to "), ("INFO", "ergon: closed the connection to ")])
    said.lines.clear()
    ergon = aio.Client(nobody, backoff=(0.001, 0.01), **said.callbacks())
    waiting = asyncio.create_task(ergon.call("echo", 1, timeout=1))
    for _ in range(3):
        check.assertEqual(await said.next(nobody), ("refused", "connection refused"))
    check.assertIn("connection refused", (await fails("TIMEOUT", waiting)).text)
    await ergon.close()
    check.assertEqual(said.lines, [("WARNING", f"ergon: no connection to {nobody}: connection refused; trying again")])  # once
    said = Said()
    ergon = aio.Client(guarded, token="wrong", **said.callbacks())
    error = await fails("AUTH", ergon.call("echo", 1), ergon_client.Refused)
    check.assertEqual(await said.next(guarded), ("refused", str(error)))
    check.assertIn("the server refused the token: AUTH: ", said.lines[0][1])
    await ergon.close()
    await scripted_events()
    await asyncio.to_thread(events_blocking, nobody)


async def scripted_events():
    said = Said()
    server, url = await scripted(lambda *_: [2, "server.closing", ["BUSY", "too many connections"]])
    await fails("UNREACHABLE", aio.Client(url, **said.callbacks()).connect())
    check.assertEqual(await said.next(url), ("refused", "BUSY: too many connections"))
    check.assertEqual(said.lines, [])  # who connects gets it as an exception
    server.close()
    stopping = {"code": 9, "message": "DRAINING: the server is stopping"}
    server, url = await scripted(lambda number, method, _: [1, number, stopping if method == "echo" else "NO_METHOD: ?", None])

    def broken(event):
        raise ValueError(event)
    async with aio.Client(url, **{**said.callbacks(), "on_connect": broken}) as ergon:
        check.assertEqual(said.lines[1], ("ERROR", "ergon: on_connect failed"))
        await fails("DRAINING", ergon.call("echo", 1))
        await fails("DRAINING", ergon.call("echo", 1))
        check.assertEqual(await said.next(url), ("drained", "the server is stopping"))
        check.assertEqual(said.lines[2], ("WARNING", f"ergon: {url} is stopping: the server is stopping"))
    check.assertEqual((await said.next(url))[0], "disconnect")
    server.close()


def events_blocking(nobody):
    told = queue.SimpleQueue()

    async def refused(event):
        told.put((event.event, event.reason))
    ergon = ergon_client.Client(nobody, on_refused=refused)
    with check.assertRaises(ergon_client.TimedOut):
        ergon.call("echo", 1, timeout=timedelta(milliseconds=500))
    check.assertEqual(told.get(timeout=50), ("refused", "connection refused"))
    ergon.close()


async def restart():
    async with aio.Client(URL, backoff=(0.01, 0.1)) as ergon:
        task = await ergon.submit("sleep", "300ms", durable="fsync")
        later = await ergon.submit("echo", "kept", delay="100ms")
        call = asyncio.create_task(ergon.call("sleep", "60s"))
        events = []

        async def follow():
            events.extend([e async for e in task.watch()])
        watching = asyncio.create_task(follow())
        waiting = [asyncio.create_task(t.wait()) for t in (task, later)]
        await ergon.call("echo", 1)  # all of that has gone out
        await asyncio.to_thread(ask_stage, "restart")
        await fails("BROKEN", call, ergon_client.Broken)
        check.assertEqual(await ergon.call("echo", "again"), "again")
        slept, kept = await asyncio.gather(*waiting)
        check.assertGreaterEqual(slept, 300)
        check.assertEqual(kept, "kept")
        await watching
        seqs = [e["seq"] for e in events]
        check.assertEqual(seqs, sorted(set(seqs)))
        check.assertEqual((events[0]["event"], events[-1]["event"]), ("submitted", "done"))
        same = [await ergon.submit("echo", 1, key="k") for _ in range(2)]
        check.assertEqual(same[0].id, same[1].id)
        check.assertTrue(same[1].said["duplicate"])
        await fails("STORE", ergon.submit("echo", 1, durable="replicated"))
        call = asyncio.create_task(ergon.call("sleep", "60s"))
        await ergon.call("echo", 1)
        await asyncio.to_thread(ask_stage, "kill")
        await fails("BROKEN", call)
        await fails("TIMEOUT", ergon.call("echo", 1, timeout=0.2))  # it waits for a connection


class Cart(ergon_client.Actor):
    schema, reads, state_max, idle, durable = 2, {"total"}, "1k", timedelta(minutes=1), "none"

    def add(self, sku, cents):
        self.state.setdefault("items", {})[sku] = cents
        return len(self.state["items"])

    def total(self):
        self.state["never"] = "kept"
        return sum(self.state.get("items", {}).values())

    def spoil(self):
        self.state["items"] = None
        raise ergon_client.Permanent("spoiled")

    def empty(self):
        self.drop()

    def back(self):
        self.state = self.state["items"]

    def move(self, to, sku):
        self.tell(to, "add", sku, self.state["items"].pop(sku), key=sku)
        self.task("echo", sku, priority=9)

    def upgrade(self, state, schema):
        return {"items": state}

    def buy(self, sku):
        count = self.call("cart/store", "add", sku, 1)
        if getattr(self.context, "attempt", 2) == 1:
            raise RuntimeError("once more")
        return count

    def buy_mine(self):
        self.call(self.name, "add", "mine", 1)


class Twin(ergon_client.Actor):
    schema, reads = 1, {"shown"}

    async def upgrade(self, state, schema):
        return {"value": state}

    async def back(self):
        self.state = self.state["value"]

    async def report(self, value):
        self.state["value"] = value
        self.wake()

    async def ask(self, name, times):
        return await asyncio.gather(*(self.call(name, "shown", priority=7) for _ in range(times)))

    async def shown(self):
        return self.state["value"]

    async def step(self):
        self.state["steps"] = self.state.get("steps", 0) + 1
        self.state["counted"] = await self.call("counter/python", "add", 1)
        self.sleep()


async def actors():
    """A class is a type of actors: of functions that block, and of coroutine functions."""
    turn = testing.turn
    check.assertEqual(turn(Cart, {"items": {"a": 1}}, "add", "b", 2), (2, {"items": {"a": 1, "b": 2}}, {}))
    check.assertEqual(turn(Cart, {"a": 1}, "add", "b", 2, schema=1).state, {"items": {"a": 1, "b": 2}})
    check.assertEqual(turn(Cart, {"items": {}}, "empty"), (None, None, {"drop": True}))
    check.assertEqual(turn(Cart, None, "total"), (0, None, {}))
    check.assertEqual(turn(Cart, {"items": {"a": 1}}, "move", "cart/2", "a").changes,
                      {"tell": [["cart/2", "add", ["a", 1], {"key": "a"}]], "task": [["echo", ["a"], {"priority": 9}]]})
    # An upgraded state is sent, with its schema, also where it is what it was before.
    handled = lambda kind, method, schema, state, *params: ergon_client.actors.handler(kind, method)(
        SimpleNamespace(turn={"actor": "cart/1", "version": 1, "schema": schema, "state": state}), *params)
    check.assertEqual(handled(Cart, "back", 1, {"a": 1}), [None, {"state": {"a": 1}}])
    check.assertEqual(handled(Cart, "total", 1, {"a": 1}), [1, None])
    check.assertEqual(handled(Cart, "empty", 1, {"a": 1}), [None, {"drop": True}])
    check.assertEqual(handled(Cart, "add", 2, {"items": {"a": 1}}, "a", 1), [1, None])
    check.assertEqual(await handled(Twin, "back", 0, 7), [None, {"state": 7}])
    with check.assertRaisesRegex(TypeError, "upgrade of Wrong"):
        await aio.Client(URL).work(actors={"cart": type("Wrong", (Cart,), {"upgrade": Twin.upgrade})})
    with check.assertRaises(ergon_client.Again):
        turn(Cart, {}, "total", schema=3)
    with check.assertRaisesRegex(ergon_client.RemoteError, "sku"):
        turn(Cart, {}, "add")
    for answer in 7, lambda sku, cents: (sku, cents):
        check.assertEqual(turn(Cart, {}, "buy", "fig", calls={"cart/store add": answer}).result, 7 if answer == 7 else ("fig", 1))
    with check.assertRaisesRegex(LookupError, "cart/store add"):
        turn(Cart, {}, "buy", "fig")
    with check.assertRaisesRegex(KeyError, "gone"):
        turn(Cart, {}, "buy", "fig", calls={"cart/store add": KeyError("gone")})
    with check.assertRaisesRegex(ValueError, "'gone'"):
        await aio.Client(URL).work(actors={"cart": type("Wrong", (ergon_client.Actor,), {"reads": ["gone"]})})
    with ergon_client.Client(URL) as host, ergon_client.Client(URL) as ergon:
        working = asyncio.create_task(asyncio.to_thread(host.work, actors={"cart": Cart}, slots=2))
        await asyncio.to_thread(carts, ergon)
        host.stop()
        await working
    async with aio.Client(URL) as host, aio.Client(URL) as ergon:
        working = asyncio.create_task(host.work(actors={"twin": Twin}, slots=4))
        twin = ergon.actor("twin/1")
        await ready(ergon, "twin")
        await twin.call("report", 7)
        while (found := await twin.get())["state"].get("steps") != 1 or found["stage"] != "sleeping":
            await asyncio.sleep(0.01)
        check.assertEqual((found["state"], found["next"], found["turn"]), ({"value": 7, "steps": 1, "counted": 1}, None, None))
        versions = twin.watch()
        check.assertEqual((await anext(versions))["state"], {"value": 7, "steps": 1, "counted": 1})
        await twin.wake()  # the next step calls anew
        check.assertEqual((await anext(versions))["state"], {"value": 7, "steps": 2, "counted": 2})
        check.assertEqual(await ergon.actor("twin/2").call("ask", "twin/1", 1), [7])
        await fails("BUSY", ergon.actor("twin/2").call("ask", "twin/1", 2))
        await fails("BAD_PARAMS", twin.call("shown", turn=7))
        check.assertEqual(await twin.stop("enough"), "stopped")
        await fails("STOPPED", twin.call("report", 8))
        await twin.drop()
        check.assertEqual(await anext(versions), {"version": 0, "stage": "sleeping", "state": None, "state_hidden": False})
        await versions.aclose()
        await ergon.actor("twin/2").drop()  # with its step, which sleeps
        host.stop()
        await working


async def ready(ergon, kind):
    while kind not in [each["type"] for each in await ergon.call("actor.types")]:
        await asyncio.sleep(0.01)


def carts(ergon):
    while "cart" not in [each["type"] for each in ergon.call("actor.types")]:
        time.sleep(0.01)
    cart = ergon.actor("cart/42")
    check.assertEqual([cart.call("add", "apple", 120), cart.call("add", "pear", 80, key="line-2"), cart.call("total")], [1, 2, 200])
    check.assertEqual(cart.call("add", "pear", 1000, key="line-2"), 2)
    check.assertEqual(cart.tell("add", "plum", 1, keep="1m").wait(), 3)
    for wrong in ("spoil",), ("add", 1), ("add", "x" * 2000, 1):
        with check.assertRaises(ergon_client.RemoteError):
            cart.call(*wrong)
    found = cart.get()
    check.assertEqual((found["state"], found["version"], found["schema"]), ({"items": {"apple": 120, "pear": 80, "plum": 1}}, 3, 2))
    check.assertEqual([(next(cart.watch())["version"], next(cart.watch(3))["state"]["items"]["plum"])], [(3, 1)])
    cart.call("move", "cart/43", "plum")
    while ergon.actor("cart/43").call("total") != 1:
        time.sleep(0.01)
    bought = ergon.actor("cart/44").tell("buy", "fig", keep="1m", retries=1, backoff="1ms")
    check.assertEqual((bought.wait(), ergon.actor("cart/store").get()["version"]), (1, 1))
    with check.assertRaisesRegex(ergon_client.RemoteError, "DEADLOCK: cart/42 calls cart/42"):
        cart.call("buy_mine")
    check.assertEqual((cart.call("empty"), cart.get()["state"], cart.explain()["reason"]), (None, None, "sleep"))
    check.assertEqual([cart.stop("closed"), cart.start(), cart.wake(), cart.drop()], ["stopped", "sleeping", "sleeping", "sleeping"])
    with check.assertRaises(ergon_client.RemoteError):
        cart.get()


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]]())
