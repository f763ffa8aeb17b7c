"""A fleet of workers in this process, which are cut off at random: each task ends once in its client's eyes, attempts only
grow, the accounts balance, and of all tasks the one that kills whoever takes it is dead, after so many kills.

ERGON_FLEET workers (60), ERGON_FLEET_TASKS tasks (4000), ERGON_SEED: `./run prove fleet` has a thousand and 100,000."""
import os
import random
import resource
import selectors
import socket
import struct
import time
import unittest

import msgpack

from harness import Server, eventually, scratch

WORKERS = int(os.environ.get("ERGON_FLEET", "60"))
TASKS = int(os.environ.get("ERGON_FLEET_TASKS", "4000"))
SEED = int(os.environ.get("ERGON_SEED") or random.randrange(1 << 32))
SLOTS = (1, 2, 8)
TAKEN_AWAY = 3  # times that a good task's worker may be cut off
UNLUCKY = 200  # of so many tasks one's worker is cut off as often as it may be
BATCH = 500  # tasks of a submission, or of a look at what became of them
LIMIT = 60  # s without anything that ends


class Worker:
    """One connection.  It keeps what it was asked until the fleet has it answered."""

    def __init__(self, fleet, slots):
        self.fleet, self.slots = fleet, slots
        self.has = {}  # number of the request: task
        self.out = b""
        self.unpacker = msgpack.Unpacker(strict_map_key=False, unicode_errors="surrogateescape")
        self.sock = socket.create_connection(("127.0.0.1", fleet.server.port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)
        self.registered = self.asked_quiet = self.quiet = False
        self.write([0, 1, "worker.register", [["fleet.good", "fleet.poison"], {"slots": slots, "context": True}]])

    def write(self, message):
        self.out += msgpack.packb(message)
        self.flush()

    def flush(self):
        try:
            while self.out:
                self.out = self.out[self.sock.send(self.out):]
        except BlockingIOError:
            pass
        self.fleet.watch(self)

    def read(self):
        try:
            data = self.sock.recv(1 << 16)
        except BlockingIOError:
            return
        assert data, "the server closed a worker's connection:\n" + self.fleet.server.log_text()
        self.unpacker.feed(data)
        for message in self.unpacker:
            if message[0] == 0:
                self.asked(*message[1:])
                if self.sock is None:
                    return
            elif message[0] == 1:
                assert message[2] is None, message
                self.registered, self.quiet = True, message[1] == 2

    def asked(self, number, method, params):
        context = params[-1]
        assert len(self.has) < self.slots, "more than its slots"
        self.has[number] = context["task"]
        self.fleet.begun(context["task"], context["attempt"])
        if method == "fleet.poison":
            self.fleet.poisoned += 1
            self.fleet.replace(self)

    def ask_quiet(self):
        if not self.asked_quiet:
            self.asked_quiet = True
            self.write([0, 2, "worker.quiet", []])

    def answer(self, number):
        task = self.has.pop(number)
        self.write([1, number, None, self.fleet.index[task]])

    def cut(self):
        """A reset: what was not read is gone."""
        for task in self.has.values():
            self.fleet.lost[task] = self.fleet.lost.get(task, 0) + 1
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.fleet.selector.unregister(self.sock)
        self.sock.close()
        self.sock = None


class Fleet:
    def __init__(self, server, chance):
        self.server, self.chance = server, chance
        self.selector = selectors.DefaultSelector()
        self.attempts, self.lost, self.index = {}, {}, {}  # by task
        self.cuts = self.poisoned = 0
        self.workers = []
        for i in range(WORKERS):
            self.workers.append(Worker(self, SLOTS[i % len(SLOTS)]))
            self.step(0)

    def watch(self, worker):
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.out else 0)
        try:
            self.selector.modify(worker.sock, events, worker)
        except KeyError:
            self.selector.register(worker.sock, events, worker)

    def begun(self, task, attempt):
        assert attempt > self.attempts.get(task, 0), f"{task}: attempt {attempt} after {self.attempts[task]}"
        self.attempts[task] = attempt

    def replace(self, worker):
        worker.cut()
        self.workers[self.workers.index(worker)] = Worker(self, worker.slots)

    def step(self, timeout=0.01):
        for key, events in self.selector.select(timeout):
            worker = key.data
            if worker.sock and events & selectors.EVENT_READ:
                worker.read()
            if worker.sock and events & selectors.EVENT_WRITE:
                worker.flush()

    def is_spared(self, worker):
        """Who may have been sent a task that it has not read is none that is cut: nobody here would know of that loss."""
        known = worker.quiet or len(worker.has) == worker.slots
        return not known or any(self.attempts[task] > TAKEN_AWAY for task in worker.has.values())

    def is_unlucky(self, task):
        n = self.index.get(task, 1)
        return n % UNLUCKY == 0 and n < TASKS and self.attempts[task] <= TAKEN_AWAY

    def unlucky_left(self):
        return sum(n > TAKEN_AWAY for n in self.attempts.values()) < TASKS // UNLUCKY

    def cut_some(self):
        unlucky = {w for w in self.workers if any(map(self.is_unlucky, w.has.values()))}
        for worker in sorted(unlucky | set(self.chance.sample(self.workers, max(1, WORKERS // 50))), key=self.workers.index):
            if not self.is_spared(worker):
                self.cuts += bool(worker.has)
                self.replace(worker)
            elif worker in unlucky:
                worker.ask_quiet()

    def answer_some(self):
        for worker in self.workers:
            for number, task in list(worker.has.items()):
                if self.chance.random() < 0.5 and not self.is_unlucky(task):
                    worker.answer(number)

    def close(self):
        for worker in self.workers:
            worker.cut()
        self.selector.close()


class FleetTest(unittest.TestCase):
    def submit(self, client, fleet, count):
        first = len(fleet.index)
        durable = ("fsync", "async", "none")[first // BATCH % 3]
        specs = [["fleet.good", [i], {"durable": durable, "keep": "1h"}] for i in range(first, first + count)]
        for spec, answer in zip(specs, client.call("task.submit_many", specs)):
            self.assertNotIn("error", answer)
            fleet.index[answer["id"]] = spec[1][0]

    def done(self, client):
        queue = next(q for q in client.call("queue.list") if q["method"] == "fleet.good")
        self.assertEqual(queue["failed"], 0)
        return queue["done"]

    def run_all(self, client, fleet):
        """As workers come and go, until all are done.  A few more come meanwhile: where all that is left is cut off, the
        pool rests."""
        done = 0
        until = looked = time.monotonic()
        while done < len(fleet.index) or not fleet.index:
            if len(fleet.index) < TASKS:
                self.submit(client, fleet, min(BATCH, TASKS - len(fleet.index)))
            fleet.step()
            fleet.answer_some()
            fleet.cut_some()
            now = time.monotonic()
            if now - looked > 0.1:
                before, done, looked = done, self.done(client), now
                until = now if done > before else until
                self.assertLess(now - until, LIMIT, f"{done} of {len(fleet.index)} are done, and no more")
                if len(fleet.index) >= TASKS and fleet.unlucky_left():
                    self.submit(client, fleet, 20)

    def see_all(self, client, fleet):
        ids = list(fleet.index)
        for at in range(0, len(ids), BATCH):
            ended = client.call("task.wait", ids[at:at + BATCH])["ended"]
            self.assertEqual(len(ended), len(ids[at:at + BATCH]))
            for task in ended:
                self.assertEqual((task["state"], task["result"]), ("done", fleet.index[task["id"]]))
                self.assertEqual(task["attempt"], fleet.attempts[task["id"]])

    def test_a_fleet_that_is_cut_off_at_random(self):
        print(f"ERGON_SEED={SEED}", flush=True)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * WORKERS + 200)), hard))
        folder = scratch(self.addCleanup)
        with Server("--store", f"{folder}/tasks.db") as server, server.connect() as client:
            fleet = Fleet(server, random.Random(SEED))
            eventually(lambda: fleet.step() or all(w.registered for w in fleet.workers), "all are registered")
            poison = client.call("task.submit", "fleet.poison", [-1])["id"]
            self.run_all(client, fleet)
            self.see_all(client, fleet)
            eventually(lambda: fleet.step() or fleet.answer_some() or
                       client.call("task.get", poison)["state"] == "dead", "the poison is dead")
            shown = client.call("task.get", poison)
            self.assertRegex(shown["error"], rf"^WORKER_LOST: {fleet.poisoned} workers were lost one after another")
            self.assertIn(fleet.poisoned, range(4, 10))
            self.assertTrue(client.call("server.audit")["balanced"])
            often = sum(n > TAKEN_AWAY for n in fleet.attempts.values()) - 1
            self.assertGreaterEqual(often, TASKS // UNLUCKY)
            print(f"{WORKERS} workers, {fleet.cuts} cut off with {sum(fleet.lost.values())} attempts of {len(fleet.index)} tasks, "
                  f"{often} of them {TAKEN_AWAY} times; the one that kills was dead after {fleet.poisoned} kills", flush=True)
            fleet.close()


if __name__ == "__main__":
    unittest.main()
