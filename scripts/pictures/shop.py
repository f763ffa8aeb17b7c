"""A server at work, for pictures of it: on loopback it does the tasks of a small shop, until the `with` block ends."""

import asyncio
import concurrent.futures
import contextlib
import functools
import os
import random
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
os.environ.setdefault("ERGON_BUILD", os.path.join(TOP, "build"))
sys.path[:0] = [os.path.join(TOP, "tests", "e2e"), os.path.join(TOP, "clients", "python")]
import harness  # noqa: E402
from ergon_client import ErgonError, aio  # noqa: E402

with open(os.path.join(TOP, "README.md"), "rb") as readme:
    PROSE = readme.read() * 10

# method of workers: (seconds that a task takes, tasks submitted a second, tenants, options)
TASKS = {
    "thumbnail": (0.5, 14, ("shop", "blog"), {"retries": 3}),
    "invoice.send": (0.8, 2.2, ("shop",), {"retries": 5, "priority": 7}),
    "search.index": (0.15, 9, ("shop", "blog", "forum"), {}),
    "report.build": (9, 0.32, ("office",), {"durable": "fsync"}),
}
# worker: (method, slots)
WORKERS = {
    "media-1": ("thumbnail", 4),
    "media-2": ("thumbnail", 4),
    "mail-1": ("invoice.send", 2),
    "index-1": ("search.index", 2),
    "office-1": ("report.build", 3),
}
# method of the server: (calls a second, parameters)
CALLS = {
    "echo": (60, ["hello"]),
    "sum": (25, [1, 2, 3.5]),
    "hash": (40, ["sha256", bytes(600_000)]),
    "compress": (12, [PROSE]),
}
CRONS = {"nightly": ("30 3 * * *", "report.build"), "reindex": ("*/15 * * * *", "search.index")}
UNREACHABLE = 0.03  # of the mailboxes that get invoices


async def handle(method, context, *_):
    """Takes about as long as a task of this method does, and reports how far it is."""
    seconds = TASKS[method][0] * random.uniform(.6, 1.4)
    for page in range(10):
        if seconds > 5:
            await context.progress(page, 10, "pages")
        await asyncio.sleep(seconds / 10)
    if method == "invoice.send" and random.random() < UNREACHABLE:
        raise ErgonError("MAILBOX", "the mailbox does not answer")
    return "done"


async def work(url, name):
    method, slots = WORKERS[name]
    async with aio.Client(url) as client:
        handlers = {method: functools.partial(handle, method)}
        await client.work(handlers, slots=slots, name=name, version="1.4", signals=False, grace=0)


async def submit(client, method):
    _, _, tenants, options = TASKS[method]
    await client.submit(method, random.randrange(10_000), tenant=random.choice(tenants), **options)


async def call(client, method):
    await client.call(method, *CALLS[method][1])


async def repeat(rate, act, *arguments):
    """Acts so often a second, at random moments."""
    while True:
        await asyncio.sleep(random.expovariate(rate))
        await act(*arguments)


class Closed(Exception):
    """The pictures are made."""


async def close(closing):
    await closing.wait()
    raise Closed


async def open_shop(client):
    """Waits for the workers, since the server takes no tasks that nobody offers to do; then puts the crons."""
    while len((await client.request("worker.list"))["workers"]) < len(WORKERS):
        await asyncio.sleep(.05)
    for name, (schedule, method) in CRONS.items():
        await client.request("cron.put", [name, schedule, method, [], {"tenant": "office"}])


async def trade(url, closing):
    """All that workers and clients do, until `closing` is set."""
    try:
        async with aio.Client(url) as client, asyncio.TaskGroup() as all_at_once:
            begin = all_at_once.create_task
            begin(close(closing))
            for name in WORKERS:
                begin(work(url, name))
            await open_shop(client)
            for method, (_, rate, *_) in TASKS.items():
                begin(repeat(rate, submit, client, method))
            for method, (rate, _) in CALLS.items():
                begin(repeat(rate, call, client, method))
    except* Closed:
        pass


@contextlib.contextmanager
def at_work():
    """(URL of the server, URL of its page)"""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        flags = ("--admin", "http://127.0.0.1:0", "--loops", "2", "--store", os.path.join(folder, "tasks.db"))
        server = stack.enter_context(harness.Server(*flags, demo=False))
        page = server.process.stdout.readline().strip()
        loop, closing = stack.enter_context(contextlib.closing(asyncio.new_event_loop())), asyncio.Event()
        threads = stack.enter_context(concurrent.futures.ThreadPoolExecutor())
        trading = threads.submit(loop.run_until_complete, trade(server.urls[0], closing))
        try:
            yield server.urls[0], page
        finally:
            loop.call_soon_threadsafe(closing.set)
            trading.result()  # raises what went wrong
