#!/usr/bin/python3
"""Two nodes of a cluster: the first owns the tasks, and all clients talk to the second, unmodified.

The engine is a PostgreSQL without standbys, and syncs nothing: this is about fronts, not about disks.
"""
import os
import subprocess
import sys
import threading
import unittest

import harness
from admin_client import Admin
from harness import ERGON, ERGOND, LIMIT, LIMITED, SOURCE, RemoteError, Server, eventually, run_ergon, scratch

sys.path[:0] = [os.path.join(SOURCE, "tests", "support"), os.path.join(SOURCE, "clients", "python")]
import postgres  # noqa: E402  (needs the path above)

import ergon_client  # noqa: E402

NODE = """
const { connect } = require(process.argv[2]);
(async () => {
    const ergon = await connect(process.argv[1]);
    const task = await ergon.submit('hash', ['sha256', 'x', 'hex']);
    const events = [];
    for await (const e of task.watch()) events.push(e.event);
    const held = await ergon.sem('node', { of: 1 }, async (hold) => hold.fence > 0);
    console.log(JSON.stringify([await task.wait(), events.at(-1), held, await ergon.call('task.list').then((t) => t.tasks.length > 0)]));
    await ergon.close();
})();
"""

GO = """package main

import (
	"context"
	"fmt"
	"os"

	ergon "ergon-client"
)

func main() {
	ctx := context.Background()
	client, err := ergon.Dial(ctx, os.Args[1], ergon.Options{})
	if err != nil {
		panic(err)
	}
	task, err := client.Submit(ctx, ergon.With{}, "echo", 30)
	if err != nil {
		panic(err)
	}
	result, err := task.Wait(ctx)
	if err != nil {
		panic(err)
	}
	called, err := client.Call(ctx, "echo", 5)
	if err != nil {
		panic(err)
	}
	err = client.Sem(ctx, "go", ergon.SemOptions{Of: 1}, func(ctx context.Context, hold *ergon.Hold) error { return nil })
	fmt.Println(result, called, err)
}
"""


@unittest.skipIf(postgres.missing() and "CI" not in os.environ, postgres.missing())
class Nodes(unittest.TestCase):
    """a owns; b is a front."""

    @classmethod
    def setUpClass(cls):
        cls.engine = postgres.Cluster()
        cls.addClassCleanup(cls.engine.end)
        cls.engine.create_role("ergon")

    def setUp(self):
        self.folder = scratch(self.addCleanup)
        database = self.id().rsplit(".", 1)[1]
        self.engine.create_database(database, owner="ergon")
        self.store = self.engine.url(database, user="ergon")
        env = {**os.environ, "PATH": os.path.dirname(ERGOND) + ":" + os.environ["PATH"]}
        done = subprocess.run([ERGON, "cluster", "init", self.store], env=env, capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.a = self.start("a")
        self.wait_owner(self.a, "a")
        self.b = self.start("b")
        self.wait_owner(self.b, "a")

    def start(self, name, *flags, demo=True, listen=None):
        state = os.path.join(self.folder, name + ".state")
        os.makedirs(state, exist_ok=True)
        patience = () if "--cluster-patience" in flags else ("--cluster-patience", f"{int(LIMIT)}s")  # a busy machine takes over later
        server = Server("--cluster-node", name, "--store", self.store, "--cluster-state", state, "--store-require", "any", "--cluster-listen",
                        listen or f"unix://{self.folder}/{name}.nodes", "--admin", f"unix://{state}/admin", *patience, *flags,
                        listen=(f"unix://{self.folder}/{name}",), demo=demo)
        self.addCleanup(server.discard)
        server.admin = Admin(f"unix://{state}/admin")
        return server

    def ready(self, server):
        """What /readyz says."""
        return server.admin.text("/readyz")

    def wait_owner(self, server, name):
        client = server.connect()
        eventually(lambda: client.call("cluster.status")["owner"] == name, f"{name} owns")
        client.close()


class Front(Nodes):
    def test_clients_unmodified(self):
        url = self.b.urls[0]
        with self.subTest("python"):
            self.python(url)
        with self.subTest("node"):
            done = subprocess.run(["node", "-e", NODE, url, os.path.join(SOURCE, "clients", "node")], capture_output=True, text=True,
                                  timeout=LIMIT, check=False)
            self.assertEqual((done.stdout.strip(), done.returncode), ("[\"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\",\"done\",true,true]", 0), done.stderr)
        with self.subTest("go"):
            self.go(url)

    def python(self, url):
        with ergon_client.Client(url) as ergon:
            task = ergon.submit("echo", 30, keep="1h")
            self.assertEqual(task.wait(), 30)
            self.assertEqual([e["event"] for e in task.watch()][-1], "done")
            with ergon.sem("python", of=1) as hold:
                self.assertGreater(hold.fence, 0)
            fed = ergon.request("task.events", [{"after": "oldest"}])
            self.assertEqual(fed["events"][0]["event"], "submitted")
            with self.assertRaises(ergon_client.RemoteError) as caught:
                ergon.call("nowhere")
            self.assertEqual(caught.exception.code, "NO_METHOD")
        worker = ergon_client.Client(url)
        thread = threading.Thread(target=worker.work, args=({"double": lambda context, n: 2 * n},), kwargs={"signals": False})
        thread.start()
        client = self.a.connect()
        eventually(lambda: any(w["methods"] == ["double"] for w in client.call("worker.list")["workers"]), "the worker is there")
        self.assertEqual(client.call("double", 21), 42)
        client.close()
        worker.stop()
        thread.join(LIMIT)

    def go(self, url):
        place = os.path.join(self.folder, "go")
        os.makedirs(place)
        with open(os.path.join(place, "main.go"), "w") as f:
            f.write(GO)
        with open(os.path.join(place, "go.mod"), "w") as f:
            f.write("module front\n\ngo 1.19\n\nrequire ergon-client v0.1.0\n\nreplace ergon-client => "
                    + os.path.join(SOURCE, "clients", "go") + "\n")
        env = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off",
               "GOCACHE": os.path.join(self.folder, "go-cache")}
        done = subprocess.run(["go", "run", ".", url], cwd=place, env=env, capture_output=True, text=True, timeout=10 * LIMIT, check=False)  # with its library
        self.assertEqual(done.stdout.strip(), "30 5 <nil>", done.stderr)

    def test_handlers_of_all_nodes(self):
        client = self.b.connect()
        eventually(lambda: [w["name"] for w in client.call("worker.list")["workers"]] == ["b", "b"], "b offers handlers of both kinds")
        slots = [w["slots"] for w in client.call("worker.list")["workers"]]
        orders = [client.send("task.submit", "block", [20]) for _ in range(64)]
        ids = [client.result(order)["id"] for order in orders]
        done = client.call("task.wait", ids, {"result": True})
        self.assertEqual({t["state"] for t in done["ended"]}, {"done"})
        eventually(lambda: any(w["done"] > 0 for w in client.call("worker.list")["workers"]), "b has worked")
        self.assertGreaterEqual(min(slots), 1)
        client.close()

    def test_owner_killed(self):
        client, other = self.b.connect(), self.b.connect()
        held = self.b.connect()
        held.call("sem.acquire", "s", {"of": 1})
        unsure = client.send("sem.acquire", "s", {"wait": "1h"})
        task = client.call("task.submit", "sleep", [3_600_000], {"durable": "fsync"})["id"]
        waits = client.send("task.wait", task, {"timeout": "1h"})
        keyed = other.send("task.submit", "hash", ["sha256", b"x"], {"key": "once"})
        other.result(keyed)
        self.a.signal(harness.signal.SIGKILL)
        with self.assertRaises(RemoteError) as caught:
            client.result(unsure)
        self.assertEqual(caught.exception.code, "UNSURE")
        self.assertTrue(held.at_end())
        # b takes over, and serves what waits.
        again = other.call("task.submit", "hash", ["sha256", b"x"], {"key": "once"})
        self.assertTrue(again["duplicate"])
        self.assertEqual(client.call("cluster.status")["owner"], "b")
        client.call("task.cancel", task)
        self.assertEqual(client.result(waits)["ended"][0]["state"], "cancelled")

    def test_calls_of_actors_while_an_owner_is_killed(self):
        """What clients repeat by its key is in the states once, whatever the old owner had done of it."""
        calls, actors, threads = 60, 5, []
        done, unsure = [0] * 4, []

        def caller(number):
            with self.b.connect() as client:
                while done[number] < calls:
                    n = done[number]
                    try:
                        client.call("actor.call", f"counter/{n % actors}", "add", [1], {"key": f"{number}/{n}"})
                        done[number] += 1
                    except RemoteError as e:
                        unsure.append(e.code)

        for number in range(len(done)):
            threads.append(threading.Thread(target=caller, args=(number,)))
            threads[-1].start()
        eventually(lambda: min(done) > 10, "they call")
        self.a.signal(harness.signal.SIGKILL)
        self.wait_owner(self.b, "b")
        for thread in threads:
            thread.join(LIMIT)
        self.assertEqual(done, [calls] * len(done))
        self.assertLessEqual(set(unsure), {"UNSURE"})
        with self.b.connect() as client:
            states = [client.call("actor.call", f"counter/{n}", "get") for n in range(actors)]
            self.assertEqual(states, [len(done) * calls // actors] * actors)
            self.assertTrue(client.call("server.audit")["balanced"])

    def test_owner_drained(self):
        """A planned hand-over under load: each request without a key is answered, none is UNSURE, each is done once."""
        ids, errors, stop = [], [], threading.Event()

        def load():
            with self.b.connect() as client:
                while not stop.is_set():
                    orders = [client.send("task.submit", "echo", [1], {"keep": "1h"}) for _ in range(16)]
                    for order in orders:
                        try:
                            ids.append(client.result(order)["id"])
                        except RemoteError as e:
                            errors.append(e.value)

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(ids) > 200, "tasks are submitted")
        with self.b.connect() as client:
            client.call("cluster.drain")
        self.wait_owner(self.b, "b")
        count = len(ids)
        eventually(lambda: len(ids) > count + 200, "tasks are submitted at b")
        stop.set()
        for thread in threads:
            thread.join(LIMIT)
        self.assertEqual(errors, [])
        self.assertEqual(self.kept(), sorted(ids))
        self.assertEqual(self.a.wait(), 75)

    def test_front_killed(self):
        """Its clients' workers are lost as any worker, and their holds have their grace."""
        worker, holder, client = self.b.connect(), self.b.connect(), self.a.connect()
        for each in worker, holder, client:
            self.addCleanup(each.close)
        worker.call("worker.register", ["slow"], {"slots": 1})
        held = holder.call("sem.acquire", "s", {"of": 1, "grace": "1m"})
        task = client.call("task.submit", "slow", [])["id"]
        self.assertEqual(worker.receive()[2], "slow")
        self.b.signal(harness.signal.SIGKILL)
        eventually(lambda: client.call("task.explain", task)["reason"] in ("lost", "no_executor"), "the worker is lost")
        self.assertEqual(client.call("task.get", task)["losses"], 1)
        # b's own handlers were offered by other connections, whose ends the owner reads later.
        eventually(lambda: client.call("worker.list")["workers"] == [], "no worker of b is left")
        eventually(lambda: not client.call("sem.explain", "s")["holders"][0]["connected"], "its holder is gone")
        self.assertEqual(client.call("sem.resume", "s", held["hold"])["fence"], held["fence"])

    def kept(self):
        """The ids of all tasks, as the server lists them."""
        found, cursor = [], {}
        with self.b.connect() as client:
            while cursor is not None:
                page = client.call("task.list", {"limit": 1000, **cursor})
                found += [task["id"] for task in page["tasks"]]
                cursor = {"cursor": page["next"]} if page["next"] else None
        return sorted(found)

    def test_front_stops(self):
        """A poll that the owner answers in an hour delays no stop, and is answered."""
        client = self.b.connect()
        task = client.call("task.submit", "hash", ["sha256", b"x"], {"delay": "1h"})["id"]
        waits = client.send("task.wait", task, {"timeout": "1h"})
        self.assertEqual(client.call("task.get", task)["state"], "delayed")  # so the owner has both
        self.b.signal(harness.signal.SIGTERM)
        with self.assertRaises(RemoteError) as caught:
            client.result(waits)
        self.assertEqual(caught.exception.code, "DRAINING")
        client.close()

    def test_no_owner(self):
        """b may not own: requests wait until patience ends."""
        c = self.start("c", "--cluster-weight", "0", "--cluster-patience", "1s")
        self.wait_owner(c, "a")
        self.b.stop()
        self.a.signal(harness.signal.SIGKILL)
        client = c.connect()
        self.addCleanup(client.close)
        with self.assertRaises(RemoteError) as caught:
            client.call("task.list")
        self.assertEqual(caught.exception.code, "BUSY")
        status, _, err = run_ergon(c.urls[0], "task", "list")
        self.assertEqual(status, LIMITED, err)
        eventually(lambda: self.ready(c) == (503, "no node owns the tasks\n"), "c is not ready")
        explained = client.call("task.explain", "t1")
        self.assertEqual((explained["reason"], explained["moving_from"]), ("moving", "a"))
        self.assertGreater(client.call("server.info")["cluster"]["front"]["refused"], 0)

    def test_owner_out_of_reach(self):
        """The owner's address is wrong, so no front reaches it: each says so, and refuses."""
        with self.a.connect() as client:
            client.call("cluster.drain")
        self.wait_owner(self.b, "b")
        self.assertEqual(self.a.wait(), 75)
        c = self.start("c", "--cluster-address", f"unix://{self.folder}/nowhere", "--cluster-weight", "9")
        with self.b.connect() as client:
            client.call("cluster.drain")
        self.assertEqual(self.b.wait(), 75)
        self.wait_owner(c, "c")
        d = self.start("d", "--cluster-patience", "1s", "--cluster-weight", "0")
        self.wait_owner(d, "c")
        with d.connect() as client:
            with self.assertRaises(RemoteError) as caught:
                client.call("task.list")
            self.assertEqual(caught.exception.value, "BUSY: node c owns the tasks, and cannot be reached from here: No such file or directory")
            eventually(lambda: next(n for n in client.call("cluster.status")["nodes"] if n["node"] == "d")["note"] ==
                       "cannot reach the owner: No such file or directory", "the node's row says why")
        eventually(lambda: self.ready(d) == (503, "this node cannot reach the owner of the tasks\n"), "d is not ready")
        self.assertRegex(d.admin.text("/metrics")[1], r"(?m)^ergon_front_refused_total [1-9]")

    def test_slow_client(self):
        """It asks for results, and does not read: neither the front nor the owner keeps them all."""
        client = self.b.connect()
        size, count = 4 << 20, 64
        task = client.call("task.submit", "compress", ["none", os.urandom(size)], {"keep": "1h"})["id"]
        client.call("task.wait", task)
        before = self.b.rss()
        slow = self.b.connect()
        for _ in range(count):
            slow.send("task.get", task, {"result": True, "params": True})
        for _ in range(20):
            client.call("task.list")
        self.assertLess(self.b.rss() - before, size * count // 4)
        slow.close()
        client.close()


if __name__ == "__main__":
    unittest.main()
