"""Ends as a program does that never closes its client, by the way that its argument names. It prints that it has come to its end;
what it says on standard error is one thing too many."""
import asyncio
import os
import sys
import threading
import time

import ergon_client
from ergon_client import aio

URL = os.environ["ERGON_URL"]


def called():
    client = ergon_client.Client(URL)
    assert client.call("echo", 1) == 1
    return client


def freed():
    called()
    assert threading.enumerate() == [threading.main_thread()]


def calls_in_flight():
    """Threads in the middle of what they do, when nobody waits for them."""
    client = called()
    started = threading.Semaphore(0)

    def follow(work):
        started.release()
        while True:
            work()
    for work in (lambda: client.event_wait("never"), lambda: client.call("echo", 1), lambda: list(client.submit("sleep", "60s").watch())):
        threading.Thread(target=follow, args=(work,), daemon=True).start()
        started.acquire()
    return client


def worker():
    """A handler runs, on its thread."""
    client, begun = called(), threading.Event()

    def hold(context):
        begun.set()
        time.sleep(1000)
    threading.Thread(target=client.work, args=({"exits.hold": hold},), daemon=True).start()
    caller = called()
    while not begun.is_set():
        try:
            caller.submit("exits.hold")
            assert begun.wait(50)
        except ergon_client.RemoteError as error:  # it is not registered yet
            assert error.code in ("NO_METHOD", "NO_EXECUTOR"), error
    return client, caller


def forked():
    client = called()
    client._engine._gate.acquire()  # as another thread may, which the child has not
    if os.fork() == 0:
        sys.exit(0)
    client._engine._gate.release()
    assert os.wait()[1] == 0
    assert client.call("echo", 1) == 1
    return client


def exit_code():
    client = called()
    client.acquire("exits", of=100)
    sys.exit(0)


async def open_client():
    client = aio.Client(URL)
    assert await client.call("echo", 1) == 1
    return client, asyncio.create_task(client.event_wait("never"))


def coroutine():
    return asyncio.run(open_client())


def coroutine_worker():
    async def hold(context):
        pass

    async def main():
        client, wait = await open_client()
        return client, wait, asyncio.create_task(client.work({"exits.hold": hold}))
    return asyncio.run(main())


async def only_call(client):
    assert await client.call("echo", 1) == 1


def open_loop():
    loop, client = asyncio.new_event_loop(), aio.Client(URL)
    loop.run_until_complete(only_call(client))
    return loop, client


def closed_loop():
    loop, client = open_loop()
    loop.close()
    return client


left = globals()[sys.argv[1]]()  # until the interpreter is taken down
print("end")
