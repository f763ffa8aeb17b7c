#!/usr/bin/python3
"""Plain functions and coroutines run as handlers in the simulation. It finds a classic fault, and finds nothing once that is
mended; one seed gives the same run each time; a killed worker does nothing more; forbidden calls and failures are reported.

usage: python_test.py SOURCE ERGON-SIM
"""

import _thread
import asyncio
import datetime
import multiprocessing
import os
import queue
import random
import re
import secrets
import socket
import sys
import threading
import time
import unittest.mock
import uuid
import warnings
from datetime import datetime as moment
from time import monotonic, sleep

sys.path.insert(0, os.path.join(sys.argv[1], "clients", "python"))
from ergon_client import Again, aio  # noqa: E402
from ergon_client.testing import Found, effect, simulate  # noqa: E402
from ergon_testing import world  # noqa: E402

PROGRAM = sys.argv[2]
SCENARIO = {
    "load": [{"method": "orders.charge", "params": [{"seq": "order"}], "every": "100ms", "for": "10s", "options": {"retries": 9, "key": {"seq": "order"}}}],
    "faults": {"restart": "2/min", "kill": "2/min", "worker_lost": "6/min", "worker_killed": "6/min", "latency": "1ms..50ms"},
    "expect": ["every task of orders.* ends within 1m of calm", "no task of orders.* is dead", "effect charge happens once for each order"],
}
QUIET = {**SCENARIO, "faults": {}}
EARLY = threading.Lock()


class Bank:
    def __init__(self):
        self.known = set()

    def note(self, order):
        if order not in self.known:
            effect("charge", order)
        self.known.add(order)


def twice(bank):
    def charge(context, order):
        time.sleep(0.02)
        effect("charge", order)
        time.sleep(0.02)
    return {"orders.charge": charge}


def twice_async(bank):
    async def charge(context, order):
        await asyncio.sleep(0.02)
        effect("charge", order)
        await asyncio.sleep(0.02)
    return {"orders.charge": charge}


def once(bank):
    def charge(context, order):
        time.sleep(0.02)
        bank.note(order)
        context.progress(1, 2)
        if context.attempt == 1 and order % 7 == 0:
            raise Again(0.1)
        context.cancelling.wait(0.02)
    return {"orders.charge": charge}


def once_async(bank):
    async def charge(context, order):
        await asyncio.sleep(0.02)
        bank.note(order)
        await context.progress(1, 2)
        await asyncio.gather(asyncio.sleep(0.01), asyncio.sleep(0.02))
    return {"orders.charge": charge}


def found(app, scenario=SCENARIO, **options):
    try:
        simulate(app, scenario, outside=Bank, program=PROGRAM, **options)
    except Found as error:
        return str(error)
    return None


def finds(app):
    told = found(app, seeds=200)
    assert told and re.search(r"charge happened [2-9] times for order", told) and "attempt 1" in told, told
    seed = int(told.rsplit("seed=", 1)[1].split(",")[0])
    assert found(app, seed=seed, seeds=1) == told
    print(f"{app.__name__}: found by seed {seed}")


def killed_means_gone():
    """Nothing of a handler runs behind the sleep in which its process was killed, neither `except` nor `finally`: else those of the
    first process would charge, and the second one, too."""
    def app(bank):
        async def charge(context, order):
            try:
                await asyncio.sleep(0.5)
            finally:
                effect("charge", order)
        return {"orders.charge": charge}
    only = {**SCENARIO, "faults": {"worker_killed": "20/min"}}
    simulate(app, only, seeds=3, workers=4, slots=4, program=PROGRAM, outside=Bank)


def killed_while_it_blocks_the_loop():
    """The same of a coroutine handler that calls time.sleep().  A kill behind the effect and before the answer is a second run, as
    promised."""
    def app(bank):
        async def charge(context, order):
            try:
                time.sleep(0.3)
            finally:
                effect("charge", order)
        return {"orders.charge": charge}
    only = {**SCENARIO, "load": [{**SCENARIO["load"][0], "every": "1s"}], "faults": {"worker_killed": "20/min"}}
    told = found(app, only, seeds=5, workers=2)
    assert not told or re.search(r"effect charge\(\d+\) of attempt \d+\n[^\n]* is killed", told), told


def tells_what_ends_amid_a_sleep():
    """The run ends, with its finding, while a coroutine handler blocks its loop; and the text of an error is no ASCII."""
    def app(bank):
        async def charge(context, order):
            if order % 2:
                raise ValueError("ü" * 200)
            time.sleep(7200)
        return {"orders.charge": charge}
    told = found(app, seeds=1)
    assert told and "has not ended" in told, told


def raises_what_prevents_a_worker():
    def app(bank):
        raise KeyError("boom")
    for wrong, kind in ((app, KeyError), (lambda bank: {"orders.charge": 5}, TypeError)):
        try:
            simulate(wrong, SCENARIO, seeds=1, outside=Bank, program=PROGRAM)
        except kind:
            continue
        raise AssertionError("nothing was raised")


def simulates_time_and_chance():
    """Two runs see the same, however the functions are named; and a minute of sleep takes none."""
    seen = []

    def app(bank):
        def charge(context, order):
            before = monotonic()
            sleep(60)
            now = datetime.datetime.now()
            assert 60 <= monotonic() - before < 61 and isinstance(now, moment) and abs(now.timestamp() - time.time()) < 1
            assert moment.now(datetime.timezone.utc).strftime("%H:%M") == time.strftime("%H:%M", time.gmtime()), now
            assert moment(2024, 1, 2) == datetime.datetime(2024, 1, 2) and type(moment(2024, 1, 2)) is type(now)
            seen.append((order, now, moment.utcnow(), datetime.date.today(), time.ctime(), uuid.uuid4(), secrets.token_hex(8),
                         random.random(), os.urandom(4)))
            bank.note(order)
        return {"orders.charge": charge}
    runs = []
    for _ in range(2):
        assert found(app, QUIET, seeds=2, slots=50) is None
        runs.append(seen[:])
        seen.clear()
    assert runs[0] == runs[1] and len({row[5] for row in runs[0]}) == 200, runs
    assert abs(moment.now().timestamp() - time.time()) < 60 and moment is datetime.datetime and type(threading.Lock()) is type(EARLY)


def simulates_outside():
    """What outlives the workers is made by the simulation's time and chance, too."""
    made = []

    def outside():
        before = monotonic()
        sleep(20)
        assert 20 <= monotonic() - before < 21
        made.append((before, time.time(), os.urandom(8), random.random(), uuid.uuid4()))
        return Bank()
    for _ in range(2):
        simulate(once, QUIET, seeds=2, outside=outside, program=PROGRAM)
    assert made[:2] == made[2:] and made[0] != made[1], made


def simulates_kinds_of_times():
    """Classes that a handler derives from datetime and date are classes of their own, with the simulation's time."""
    def app(bank):
        def charge(context, order):
            class Stamp(moment):
                pass

            class Day(datetime.date):
                pass
            then, plain = Stamp(2024, 1, 2), moment(2024, 1, 2)
            assert type(then) is Stamp and then == plain and isinstance(then, moment) and not isinstance(plain, Stamp)
            assert issubclass(Stamp, moment) and not issubclass(moment, Stamp)
            for stamp in (Stamp.now(), Stamp.today(), Stamp.now(datetime.timezone.utc)):
                assert type(stamp) is Stamp and abs(stamp.timestamp() - time.time()) < 1e-3, stamp
            assert type(Stamp.utcnow()) is Stamp and Stamp.utcnow() == moment.utcnow()
            assert type(Day.today()) is Day and Day.today() == Stamp.today().date()
            bank.note(order)
        return {"orders.charge": charge}
    told = found(app, {**QUIET, "expect": [*QUIET["expect"], "no task of orders.* is failed"]}, seeds=1)
    assert told is None, told


class Plain:
    """threading.Lock as since Python 3.13: a class, and another object than _thread.allocate_lock."""

    def __new__(cls):
        return EARLY.__class__() if sys.version_info >= (3, 13) else _thread.allocate_lock()


def simulates_a_class_of_locks():
    def app(bank):
        lock = threading.Lock()

        def charge(context, order):
            with lock:
                sleep(0.25)
            bank.note(order)
        return {"orders.charge": charge}
    allocate = threading._allocate_lock
    with unittest.mock.patch.object(world, "PATIENCE", 1.0), unittest.mock.patch.object(threading, "Lock", Plain):
        told = found(app, QUIET, seeds=1, slots=3)
        assert told is None, told
        assert threading.Lock is Plain and threading._allocate_lock is allocate


def keeps_what_was_given_up_out():
    """A handler that waits for a lock of before is given up.  It goes on in the next run, and its effects are of none."""
    given = _thread.allocate_lock()
    given.acquire()
    done = []

    def stuck(context, order):
        try:
            given.acquire()
            effect("charge", order + 1000000)
            done.append("effect")
            time.time()
            done.append("time")
        finally:
            done.append("end")

    def calm(context, order):
        if not done:
            given.release()
            while "end" not in done:
                os.sched_yield()
        effect("charge", order)
    with unittest.mock.patch.object(world, "PATIENCE", 1.0):
        told = found(lambda bank: {"orders.charge": stuck}, QUIET, seeds=1, workers=1)
    assert told and "does not end" in told, told
    seen, act = [], world.Run.act
    with unittest.mock.patch.object(world.Run, "act", lambda run, *action: (seen.append(action), act(run, *action))):
        told = found(lambda bank: {"orders.charge": calm}, QUIET, seeds=1, workers=1)
    keys = {action[4] for action in seen if action[0] == "effect"}
    assert told is None and len(keys) == 100 and max(keys) < 1000000, (told, keys)
    assert done == ["effect", "end"], done


class Desk:
    """What the handlers of one worker wait for, and of another."""

    def __init__(self):
        self.lock, self.again, self.ready, self.orders = threading.Lock(), threading.RLock(), threading.Condition(), queue.Queue(2)
        self.opened, self.places, self.simple, self.inside = threading.Event(), threading.Semaphore(2), queue.SimpleQueue(), 0


def waits_for_other_handlers():
    """Locks, events, conditions, semaphores and queues of threading let others run, on the simulation's time."""
    def app(desk):
        def charge(context, order):
            if order % 2:
                with desk.lock, desk.again, desk.again, desk.places:
                    desk.inside += 1
                    assert desk.inside == 1
                    sleep(0.05)
                    desk.inside -= 1
                desk.orders.put(order, timeout=60)
                desk.simple.put(order)
                desk.opened.set()
                with desk.ready:
                    desk.ready.notify_all()
            else:
                before = monotonic()
                assert desk.opened.wait(60)
                with desk.ready:
                    desk.ready.wait(0.1)
                assert desk.orders.get(timeout=60) % 2 and desk.simple.get() % 2 and monotonic() - before < 60
                try:
                    queue.Queue().get(timeout=5)
                except queue.Empty:
                    pass
                assert not threading.Event().wait(2)
            effect("charge", order)
        return {"orders.charge": charge}
    scenario = {**QUIET, "expect": [*SCENARIO["expect"], "no task of orders.* is failed"]}
    simulate(app, scenario, seeds=3, workers=2, slots=6, program=PROGRAM, outside=Desk)


def refuses_what_waits_for_ever():
    def early(bank):
        def charge(context, order):
            with EARLY:
                time.sleep(1)
        return {"orders.charge": charge}

    def in_a_coroutine(bank):
        lock = threading.Lock()

        async def charge(context, order):
            with lock:
                await asyncio.sleep(1)
        return {"orders.charge": charge}

    def early_in_a_coroutine(bank):
        async def charge(context, order):
            with EARLY:
                await asyncio.sleep(1)
        return {"orders.charge": charge}

    def exits(bank):
        async def charge(context, order):
            sys.exit(3)
        return {"orders.charge": charge}

    def spins(bank):
        def charge(context, order):
            until = time.monotonic() + 1
            while time.monotonic() < until:
                pass
        return {"orders.charge": charge}
    with unittest.mock.patch.multiple(world, PATIENCE=1.0, LIMIT=0.5):
        for app, told in {early: r"orders.charge does not end, or waits for what is not simulated.*python_test.py:\d+",
                          spins: r"orders.charge does not end.*python_test.py:\d+",
                          early_in_a_coroutine: r"orders.charge waits for what is not simulated.*python_test.py:\d+",
                          in_a_coroutine: r"orders.charge waits in a coroutine for a lock", exits: r"a coroutine raised SystemExit\(3\)"}.items():
            text = found(app, QUIET, seeds=1, slots=3)
            assert text and re.search(told, text), text


def fails_a_task_that_exits():
    def app(bank):
        def charge(context, order):
            sys.exit(3)
        return {"orders.charge": charge}
    text = found(app, {**QUIET, "expect": ["no task of orders.* is dead"]}, seeds=1)
    assert text and "FAILED: RuntimeError: SystemExit(3)" in text, text


def warns_of_a_name_that_may_be_wrong():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        simulate(once, {**QUIET, "expect": ["effect chrage happens at most once for each order"]}, seeds=2, outside=Bank, program=PROGRAM)
    assert [str(each.message) for each in told] == ["effect chrage never happened: is that its name?"], told


def has_room_for_connections():
    """More than 1,024, one after the other."""
    opened, real = [], world.Run.open_wire
    world.Run.open_wire = lambda run, worker: (opened.append(worker), real(run, worker))[1]
    load = [{"method": "tick", "every": "5s", "for": "3m", "options": {"retries": 99}}]
    scenario = {"load": load, "faults": {"worker_lost": "10/s"}, "expect": ["every task of tick ends within 10m of calm"]}
    simulate({"tick": lambda context: None}, scenario, seeds=1, workers=8, program=PROGRAM)
    world.Run.open_wire = real
    assert len(opened) > 1024, len(opened)


def refuses_threads():
    def app(bank):
        def charge(context, order):
            threading.Thread(target=print).start()
        return {"orders.charge": charge}
    told = found(app, seeds=1)
    assert told and "the handler of orders.charge starts a thread" in told, told
    assert threading.Thread.start.__qualname__ == "Thread.start"


def refuses_connections():
    def dials(bank):
        async def charge(context, order):
            async with aio.Client("ergon://127.0.0.1:1") as client:
                await client.call("echo", 1)
        return {"orders.charge": charge}

    def connects(bank):
        def charge(context, order):
            socket.create_connection(("127.0.0.1", 1))
        return {"orders.charge": charge}
    for app in dials, connects:
        told = found(app, seeds=1)
        assert told and "the handler of orders.charge opens a connection" in told, told


def refuses_by_name():
    """Each without its effect: nothing is started, bound or sent."""
    def udp():
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    start, there = _thread.start_new_thread, os.fork
    calls = {
        "starts a thread": [lambda: _thread.start_new_thread(print, ())],
        "starts a process": [
            lambda: os.fork() or os._exit(0), lambda: os.posix_spawn("/bin/true", ["true"], {}), lambda: os.system("true"),
            lambda: os.popen("true"), lambda: multiprocessing.Process(target=print).start(),
            lambda: multiprocessing.get_context("spawn").Process(target=print).start()],
        "makes a lock or a queue of multiprocessing": [lambda: multiprocessing.Queue(), lambda: multiprocessing.Pool(1)],
        "opens a connection": [
            lambda: socket.socket().connect_ex(("127.0.0.1", 1)), lambda: udp().bind(("127.0.0.1", 0)),
            lambda: udp().sendto(b"", ("127.0.0.1", 9))],
    }
    for text, each in ((text, each) for text, several in calls.items() for each in several):
        told = found(lambda bank: {"orders.charge": lambda context, order: each()}, QUIET, seeds=1)
        assert told and f"the handler of orders.charge {text}" in told, (text, told)
    assert _thread.start_new_thread is start and os.fork is there
    bound = udp()
    bound.bind(("127.0.0.1", 0))
    bound.close()


def waits_for_workers_of_a_cron():
    crons = [{"name": "tick", "schedule": "every 1m", "method": "tick"}]
    for seed in range(1, 6):
        try:
            simulate({"tick": lambda context: None}, {"crons": crons, "for": "5m", "expect": ["no task of tick is done"]},
                     seed=seed, seeds=1, program=PROGRAM)
        except Found as error:
            assert " of tick is done\n" in str(error), error
        else:
            raise AssertionError("the cron does not come")


def refuses_a_wrong_scenario():
    load = SCENARIO["load"][0]
    for wrong, text in (({"faults": {"restrat": "1/min"}}, "restrat: there is no such key; is it restart?"),
                        ({"load": [{**load, "options": {"retires": 1}}]}, 'the server refuses orders.charge: BAD_PARAMS: unknown option "retires"'),
                        ({"load": [load, {**load, "method": "orders.chrage"}]}, 'the server refuses orders.chrage: NO_METHOD: ')):
        try:
            simulate(once, {**SCENARIO, **wrong}, outside=Bank, program=PROGRAM)
        except ValueError as error:
            assert text in str(error), error
        else:
            raise AssertionError("it is not refused")


if __name__ == "__main__":
    clock = time.time
    finds(twice)
    finds(twice_async)
    for good in (once, once_async):
        assert found(good, seeds=5) is None, found(good, seeds=5)
    killed_means_gone()
    killed_while_it_blocks_the_loop()
    tells_what_ends_amid_a_sleep()
    raises_what_prevents_a_worker()
    simulates_time_and_chance()
    simulates_outside()
    simulates_kinds_of_times()
    simulates_a_class_of_locks()
    keeps_what_was_given_up_out()
    waits_for_other_handlers()
    refuses_what_waits_for_ever()
    fails_a_task_that_exits()
    warns_of_a_name_that_may_be_wrong()
    has_room_for_connections()
    refuses_threads()
    refuses_connections()
    refuses_by_name()
    waits_for_workers_of_a_cron()
    refuses_a_wrong_scenario()
    assert time.time is clock
