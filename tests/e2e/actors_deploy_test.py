"""A deploy: three hosts of carts of schema 1 are replaced one by one by hosts of schema 2 under load.  No call fails or takes
longer than 2 s, each state is upgraded once, at its first turn, and no method runs at a host that does not know its state; an upgrade that
fails stops its actor and no other.

In short here; `./run prove actors` has 10,000 carts."""
import asyncio
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from harness import SOURCE, KeptTest, RemoteError, Server, eventually

PACKAGE = os.path.join(SOURCE, "clients", "python")
sys.path.insert(0, PACKAGE)
from ergon_client import ErgonError, aio  # noqa: E402

CARTS = int(os.environ.get("ERGON_CARTS", 60))
IS_LONG = CARTS >= 1000  # in short nothing is measured, on a machine that may be busy
HOSTS, CALLERS, LONGEST = 3, 16 if IS_LONG else 4, 2.0

HOST = '''
import sys
sys.path.insert(0, sys.argv[1])
import ergon_client
from ergon_client import actors

begin = actors.begin

def begin_or_say(kind, given, context):
    if given["schema"] > kind.schema:
        print("a turn of a state that is not known here", file=sys.stderr)
    return begin(kind, given, context)

actors.begin = begin_or_say

class Cart1(ergon_client.Actor):
    """A state is a number."""
    schema, on_failure = 1, "stop"

    def add(self):
        self.state = (self.state or 0) + 1
        return self.state

class Cart2(ergon_client.Actor):
    """A state is a map."""
    schema, on_failure = 2, "stop"

    def upgrade(self, state, schema):
        if self.name == "cart/broken":
            raise ValueError("it cannot be upgraded")
        return {"count": state, "upgrades": 1}

    def add(self):
        self.state["count"] = self.state.get("count", 0) + 1
        return self.state["count"]

with ergon_client.Client(sys.argv[2]) as ergon:
    ergon.work(actors={"cart": [Cart1, Cart2][int(sys.argv[3]) - 1]}, slots=64, version=sys.argv[3])
'''


class Deploy(KeptTest):
    def start_host(self, schema):
        host = subprocess.Popen([sys.executable, self.program, PACKAGE, self.url, str(schema)], stderr=self.log)
        self.addCleanup(host.wait)
        self.addCleanup(host.kill)
        return host

    def await_hosts(self, count):
        eventually(lambda: len(self.client.call("worker.list")["workers"]) == count, "the hosts are there")

    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.folder, "host.py")
        with open(self.program, "w") as f:
            f.write(HOST)
        config = os.path.join(self.folder, "ergond.yaml")
        with open(config, "w") as f:
            f.write('roles: [{name: all, members: ["unix:*"], methods: ["*", task.any, "worker.offer.*"]}]\n')
        self.server = Server("--config", config, "--store", os.path.join(self.folder, "tasks.db"), listen=(self.url,))
        self.client = self.server.connect()
        self.addCleanup(self.client.close)
        self.names = [f"cart/{n}" for n in range(CARTS)]
        self.counts = dict.fromkeys(self.names, 0)
        self.slowest, self.failed = 0.0, []
        self.log = open(os.path.join(self.folder, "hosts.log"), "w+")
        self.addCleanup(self.log.close)

    async def add(self, ergon, name):
        """One call at a time of each cart, so its answer is the next number."""
        began = time.monotonic()
        try:
            self.counts[name] += 1
            answer = await ergon.actor(name).call("add")
            if answer != self.counts[name]:
                self.failed.append(f"{name}: {answer} for {self.counts[name]}")
        except ErgonError as error:
            self.failed.append(f"{name}: {error}")
        self.slowest = max(self.slowest, time.monotonic() - began)

    async def caller(self, ergon, names, over):
        """Each of its carts once, then others at random until the end of the deploy."""
        for name in names:
            await self.add(ergon, name)
        while not over.is_set():
            await self.add(ergon, random.choice(names))

    async def load(self, deploy):
        """What deploy() does in a thread, with callers beside it."""
        over = asyncio.Event()
        async with aio.Client(self.url) as ergon:
            callers = [asyncio.create_task(self.caller(ergon, self.names[n::CALLERS], over)) for n in range(CALLERS)]
            try:
                await asyncio.to_thread(deploy)
            finally:
                over.set()
                await asyncio.gather(*callers)

    def replace(self):
        """Each host of schema 1 ends in good order, when one of schema 2 has taken its place."""
        while not all(self.counts.values()):
            time.sleep(0.01)
        for host in self.hosts:
            self.start_host(2)
            self.await_hosts(HOSTS + 1)
            host.send_signal(signal.SIGTERM)
            self.assertEqual(host.wait(), 0)
            self.await_hosts(HOSTS)

    async def touch(self):
        """A call to each cart of schema 1 that no caller met at a host of schema 2."""
        async with aio.Client(self.url) as ergon:
            async def each(names):
                for name in names:
                    await self.add(ergon, name)
            await asyncio.gather(*(each(self.names[n::CALLERS]) for n in range(CALLERS)))

    def test_hosts_are_replaced_under_load(self):
        self.hosts = [self.start_host(1) for _ in range(HOSTS)]
        self.await_hosts(HOSTS)
        self.client.call("actor.call", "cart/broken", "add")
        asyncio.run(self.load(self.replace))
        asyncio.run(self.touch())
        self.log.seek(0)
        self.assertEqual((self.failed, self.log.read()), ([], ""))
        for name, count in self.counts.items():
            shown = self.client.call("actor.get", name, {"state": True})
            self.assertEqual((shown["state"], shown["schema"], shown["version"]), ({"count": count, "upgrades": 1}, 2, count), name)
        with self.assertRaises(RemoteError) as caught:
            self.client.call("actor.call", "cart/broken", "add")
        self.assertIn("it cannot be upgraded", str(caught.exception.value))
        shown = self.client.call("actor.get", "cart/broken", {"state": True})
        self.assertEqual((shown["state"], shown["schema"]), (1, 1))
        self.assertIn("it cannot be upgraded", shown["stopped"])
        self.assertEqual([a["actor"] for a in self.client.call("actor.list", {"stage": "stopped"})["actors"]], ["cart/broken"])
        if IS_LONG:
            self.assertLess(self.slowest, LONGEST)
            print(f"{CARTS} carts, {sum(self.counts.values())} calls, the slowest {self.slowest * 1000:.0f} ms")


if __name__ == "__main__":
    unittest.main()
