"""What an operation was answered about is the same after the real server's death: each deed is done and answered, all that
clients may ask is asked, and then the server is killed.  A write that the answer did not wait for is lost, because it is queued
behind another write of a slow disk.  In the end the server is stopped in order, too.

tests/unit/jobs/restart_test.c compares more deeds, and each alone, by a store in memory; here the rows go through SQLite.
Each method of the server is among DEEDS, ASKED or OTHERS, so that a new one cannot be left out."""
import fnmatch
import time
import unittest

from harness import KeptTest, RemoteError, WallClock, eventually, with_faults

SYNC_MS = 60
TAKEN_S = 0.005  # within that the store mostly takes what it is given; if not, the test sees less
FLEETING = ("submitted", "done", "failed")  # of a queue: counted since the start

DEEDS, ASKED = {}, {}

# The others, and why they have nothing that a restart could forget.
OTHERS = {
    "of a cluster: its database keeps it, or nodes ask for it":
        "cluster.status cluster.drain cluster.forget cluster.retry cluster.session cluster.board",
    "of the connection": "server.hello server.auth server.ping server.cancel server.whoami",
    "of the process": "server.methods server.describe server.topology server.times server.figures server.debug_dump connection.list connection.kill",
    "what a connection offers, which goes with it": "worker.register worker.quiet worker.resume worker.list worker.progress worker.partial worker.checkpoint worker.submit",
    "waits, and says what task.get or actor.get does": "task.wait task.watch actor.watch",
    "in memory only: a reader is told of the restart": "task.events",
    "waits for the store, so it is asked afterwards only": "server.audit",
    "in memory only: proto/PROTOCOL.md": "event.set event.wait",
    "of what workers and modules offer now, and of what is in memory": "actor.types",
    "of a message: actor.call and actor.tell send these": "counter.add counter.give counter.get ticker.start ticker.step",
}

# What may differ afterwards, and why: of a path of what was asked, as shell patterns have it.
MAY_DIFFER = {
    "*bytes": "room that memory has, and history that is read when it is asked for",
    **{f"queue.*/{name}": "counted since the start" for name in FLEETING},
    "task.explain/*/text": "it has times that pass",
    "actor.*/*/resident": "it is read when somebody asks",
    "queue.explain/*/executors/*": "of the process",
    "sem.explain/*/holders/*/connected": "the connection is lost",
    "sem.explain/*/holders/*/grace_ms": "and so its grace runs",
    "sem.explain/*/holders/*/ends_ms": "time passes",
}


class Times(WallClock):
    """A server reads times of the wall clock off its own clock, by the distance of the two as its process saw it."""

    def same(self, a, b):
        times = isinstance(a, int) and isinstance(b, int) and a > 10**12
        return abs(a - b) <= 2 + self.moved() if times else a == b


def deed(*methods):
    """One that uses these methods; a method may have several."""
    def note(function):
        for method in methods:
            DEEDS.setdefault(method, []).append(function)
        return function
    return note


def asked(method):
    """Yields the parameters of each call of it that tells something."""
    def note(function):
        ASKED[method] = function
        return function
    return note


@asked("task.get")
def get(world):
    return [[i, {"result": True, "history": True}] for i in world.ids]


@asked("task.explain")
def explain(world):
    return [[i] for i in world.ids]


@asked("task.list")
def list_tasks(_):
    return [[{"limit": 1000}]]


@asked("queue.list")
@asked("queue.tenants")
@asked("cron.list")
@asked("batch.list")
@asked("sem.list")
@asked("server.info")
@asked("actor.list")
def whole(_):
    return [[]]


@asked("actor.get")
@asked("actor.explain")
def each_actor(world):
    return [[name] for name in world.actors]


@asked("batch.get")
def each_batch(world):
    return [[batch] for batch in world.batches]


@asked("queue.explain")
def explain_queues(world):
    return [[method] for method in world.queues]


@asked("sem.explain")
def explain_semaphores(world):
    return [[name] for name in world.semaphores]


def part_of(method, answer):
    """The rest is of the process."""
    if method == "server.info":
        return {name: answer["kept"][name] for name in ("held", "states")}
    return answer


def flat(value, path, into):
    """Each value that is in it, by its path; what is listed in no order goes by its name."""
    if isinstance(value, dict):
        for key, below in value.items():
            flat(below, f"{path}/{key}", into)
    elif isinstance(value, list):
        named = all(isinstance(v, dict) for v in value)
        for i, below in enumerate(value):
            name = next((below[key] for key in ("id", "name", "method", "tenant") if key in below), None) if named else None
            flat(below, f"{path}/{i if name is None else name}", into)
    else:
        into[path] = value


class World:
    """What the deeds made, by way of one connection."""

    def __init__(self):
        self.client, self.ids, self.queues, self.semaphores, self.holds, self.calls = None, [], set(), set(), [], 0
        self.actors, self.batches = set(), []

    def call(self, method, *params):
        """Behind a change that nothing shows, and whose write takes SYNC_MS."""
        self.calls += 1
        self.client.send("task.submit", "echo", [], {"key": "slow disk", "delay": "9h", "durable": "async", "keep": f"{self.calls}h"})
        time.sleep(TAKEN_S)
        return self.client.call(method, *params)

    def submit(self, *params, **options):
        done = self.call("task.submit", *params, options)
        if done["id"] not in self.ids:
            self.ids.append(done["id"])
        self.queues.add(params[0])
        return done["id"]

    def ended(self, *params, **options):
        task = self.submit(*params, **options)
        self.call("task.wait", task)
        return task

    def told(self, actor, method, *params):
        """A message that has run; it and its queue stay."""
        self.ids.append(self.call("actor.tell", actor, method, list(params), {"keep": "9h"})["id"])
        self.call("task.wait", self.ids[-1])

    def written(self):
        """What came before is on disk, since the audit asks the store; then what ended and is not kept is removed, which is asked
        for behind its end."""
        for _ in range(2):
            self.client.call("server.audit")

    def delayed(self, **options):
        return self.submit("echo", [1], delay="1h", **options)

    def said(self):
        """All that may be asked, asked at once."""
        calls = [(m, p) for m, parameters in ASKED.items() for p in parameters(self)]
        numbers = [self.client.send(m, *p) for m, p in calls]
        into = {}
        for (method, parameters), number in zip(calls, numbers):
            try:
                answer = self.client.result(number)
            except RemoteError as e:
                answer = {"error": str(e)}
            name = parameters[0] if parameters and isinstance(parameters[0], str) else ""
            flat(part_of(method, answer), f"{method}/{name}", into)
        return into


@deed("task.submit")
def one_with_all_options(w):
    w.delayed(key="order 7", timeout="11s", retries=5, backoff="2s", backoff_max="9s", backoff_jitter=13, priority=8, deadline="2h",
              keep="77s", keep_size=4321, tenant="acme", traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
              limit={"key": "disk", "max": 3, "take": 2}, rate={"key": "mail", "max": 9, "per": "7s"})


@deed("task.submit")
def one_that_makes_another_durable_and_longer_kept(w):
    w.delayed(key="order 8", durable="none")
    w.delayed(key="order 8", keep="25h")


@deed("task.submit")
def numbers_of_a_limit_and_a_rate_change_by_one_that_is_forgotten(w):
    w.delayed(limit={"key": "tape", "max": 3}, rate={"key": "post", "max": 9, "per": "7s"})
    last = w.delayed(limit={"key": "tape", "max": 1}, rate={"key": "post", "max": 1, "per": "70s"}, keep=0)
    w.call("task.cancel", last)
    eventually(lambda: all(t["id"] != last for t in w.call("task.list", {"limit": 1000})["tasks"]), "it is forgotten")


@deed("task.submit")
def one_that_comes_after_others(w):
    first, second = w.delayed(), w.delayed()
    w.submit("echo", [], after=first, after_any=[second])


@deed("task.submit_many")
def some_that_are_submitted_together(w):
    made = w.call("task.submit_many", [["echo", [i], {"priority": i}] for i in range(4)], {"delay": "2h", "coalesce": "report"})
    w.ids += [m["id"] for m in made if m["id"] not in w.ids]


FOLLOWS = {call: ["echo", [call], {"delay": "2h"}] for call in ("on_success", "on_failure", "on_end")}


@deed("batch.create", "batch.add")
def a_batch_has_members(w):
    w.batches.append(w.call("batch.create", {**FOLLOWS, "keep": "5h"})["id"])
    w.ids += [m["id"] for m in w.call("batch.add", w.batches[0], [["echo", [i]] for i in range(3)], {"delay": "1h"})]


@deed("batch.close")
def a_batch_ends(w):
    w.batches.append(w.call("batch.create", {**FOLLOWS, "parent": w.batches[0]})["id"])
    w.call("batch.close", w.batches[1])
    w.call("batch.get", w.batches[1], {"wait": "5s"})


@deed("batch.cancel")
def a_batch_is_cancelled(w):
    w.call("batch.cancel", w.batches[0])
    w.call("batch.get", w.batches[0], {"wait": "5s"})


@deed("task.call")
def one_that_is_kept_although_it_was_called(w):
    assert w.call("task.call", "echo", ["kept"], {"durable": "fsync", "keep": "1h", "key": "called"}) == "kept"
    w.ids.append(w.call("task.list", {"key": "called"})["tasks"][0]["id"])


@deed("task.cancel")
def a_share_is_cancelled(w):
    task = w.delayed(coalesce="month")
    w.delayed(coalesce="month", keep="90h")
    w.call("task.cancel", task)


@deed("task.cancel")
def one_of_which_another_waits_is_cancelled(w):
    first = w.delayed()
    last = w.submit("echo", [], after=first)
    w.call("task.cancel", first)
    w.call("task.wait", last)


@deed("task.retry")
def one_that_expired_is_retried(w):
    w.call("queue.pause", "hash")
    task = w.ended("hash", ["sha256", "x"], deadline=5)
    w.call("task.retry", task)


@deed("task.forget")
def one_that_failed_is_forgotten(w):
    task = w.ended("fail", ["NOPE", "on purpose"])
    w.call("task.forget", task)


@deed("task.submit")
def ends_of_all_kinds(w):
    w.ended("echo", ["a result that is cut"], keep_size=3)
    w.ended("fail", ["NOPE", "on purpose"], retries=2, backoff=1)
    w.ended("sleep", ["1m"], timeout=5)
    again = w.submit("fail", ["NOPE", "on purpose"], retries=2, backoff="1h", backoff_jitter=0)
    eventually(lambda: w.call("task.get", again)["reason"] == "retry", "it waits for its next attempt")
    w.written()  # nobody was answered about that attempt


@deed("task.change")
def another_priority_and_time(w):
    w.call("task.change", w.delayed(), {"priority": 9, "delay": "3h"})


@deed("task.run_now")
def a_time_is_waited_for_no_more(w):
    w.call("task.run_now", w.submit("hash", ["sha256", "y"], delay="1h"))


@deed("queue.pause")
def a_queue_is_paused(w):
    w.submit("compress", ["so that its queue is somebody's"], delay="1h")
    w.queues |= {"sum", "decompress"}
    w.call("queue.pause", "sum")


@deed("queue.drain")
def a_queue_is_drained(w):
    w.call("queue.drain", "decompress")


@deed("queue.resume")
def a_queue_is_open_again(w):
    w.call("queue.pause", "compress")
    w.call("queue.resume", "compress")


def put(w, name, *params, **options):
    w.call("cron.put", name, "0 4 1 1 *", "echo", list(params), {"zone": "Europe/Berlin", "jitter": "1h", "overlap": "replace", **options})


@deed("cron.put")
def crons_are_put(w):
    for name in ("a", "b", "c"):
        put(w, name, name)


@deed("cron.pause")
def a_cron_is_paused(w):
    w.call("cron.pause", "b")
    w.call("cron.pause", "a")


@deed("cron.put")
def a_paused_cron_is_put_anew(w):
    w.call("cron.put", "a", "@yearly", "echo", ["anew"], {"catch_up": "all", "keep": "3h"})


@deed("cron.resume")
def a_cron_goes_on(w):
    w.call("cron.resume", "b")


@deed("cron.run")
def a_cron_is_run_now(w):
    task = w.call("cron.run", "b")["id"]
    w.ids.append(task)
    w.call("task.wait", task)


@deed("cron.delete")
def a_cron_is_deleted(w):
    w.call("cron.delete", "c")


@deed("sem.create")
def a_semaphore_has_another_number(w):
    w.semaphores |= {"lathe", "old"}
    w.call("sem.create", "lathe", 3)
    w.call("sem.create", "lathe", 5)


@deed("sem.delete")
def a_semaphore_is_deleted(w):
    w.call("sem.create", "old", 1)
    w.call("sem.delete", "old")


@deed("sem.acquire")
def permits_are_held(w):
    w.holds = [w.call("sem.acquire", "lathe", {"grace": "1h", "ttl": "10h", "durable": "fsync"}) for _ in range(3)]


@deed("sem.renew")
def what_is_held_is_renewed(w):
    w.call("sem.renew", "lathe", w.holds[0]["hold"], {"ttl": "20h"})


@deed("sem.release")
def what_is_held_is_released(w):
    w.call("sem.release", "lathe", w.holds[1]["hold"])


@deed("sem.revoke")
def what_is_held_is_taken_back(w):
    w.call("sem.revoke", "lathe", w.holds[2]["fence"])


@deed("sem.resume")
def what_a_lost_connection_held_is_resumed(w):
    w.call("sem.resume", "lathe", w.holds[0]["hold"])


@deed("actor.call")
def an_actor_gets_a_state(w):
    w.actors |= {"counter/a", "counter/b"}
    w.call("actor.call", "counter/a", "add", [5])
    for name in "counter/a", "counter/b":
        w.told(name, "add", 5)


@deed("actor.stop")
def an_actor_is_stopped(w):
    w.call("actor.stop", "counter/a", {"reason": "sold out"})


@deed("actor.tell")
def a_message_waits_at_an_actor(w):
    w.ids.append(w.call("actor.tell", "counter/a", "add", [1], {"keep": "9h"})["id"])


@deed("actor.remind")
def an_actor_has_reminders(w):
    w.ids.append(w.call("actor.remind", "counter/b", "far", "add", [1], {"in": "9h", "every": "7h"})["id"])
    w.call("actor.remind", "counter/b", "near", "add", [1], {"in": "8h"})
    w.ids.append(w.call("actor.remind", "counter/b", "near", "add", [1], {"in": "9h"})["id"])
    w.written()


@deed("actor.forget")
def a_reminder_is_forgotten(w):
    w.call("actor.remind", "counter/b", "gone", "add", [1], {"in": "9h"})
    w.call("actor.forget", "counter/b", "gone")
    w.written()


@deed("actor.start")
def an_actor_is_started(w):
    w.call("actor.stop", "counter/b")
    w.call("actor.start", "counter/b", {"reset": True})
    w.told("counter/b", "add", 3)  # without a state it has no row


@deed("actor.wake")
def a_step_sleeps(w):
    w.actors.add("ticker/t")
    w.told("ticker/t", "start", 9, "9h")
    eventually(lambda: w.client.call("actor.get", "ticker/t")["next"], "it sleeps")
    w.call("actor.wake", "ticker/t")
    eventually(lambda: w.client.call("actor.get", "ticker/t")["next"], "it sleeps again")
    w.written()


@deed("actor.drop")
def an_actor_is_dropped(w):
    w.told("counter/gone", "add", 1)
    w.call("actor.drop", "counter/gone")
    w.written()


class Restart(KeptTest):
    def setUp(self):
        super().setUp()
        self.clock = Times()
        self.world = World()
        self.go_on()
        self.addCleanup(lambda: self.world.client.close())

    def stop(self):
        self.world.client.close()
        self.assertEqual(self.server.stop(), 0)
        self.server.log.close()

    def kill(self):
        self.world.client.close()
        self.server.discard()

    def go_on(self):
        self.start(env=with_faults(SYNC_MS=SYNC_MS))
        self.world.client = self.server.connect()
        self.assertEqual(self.world.client.call("server.audit")["differences"], [])

    def assert_same(self, before, after, why):
        self.maxDiff = None
        self.clock.look()
        self.assertEqual([f"{path}: {before.get(path, 'nothing')}, then {after.get(path, 'nothing')}"
                          for path in sorted(set(before) | set(after))
                          if not self.clock.same(before.get(path, "nothing"), after.get(path, "nothing"))
                          and not any(fnmatch.fnmatch(path, pattern) for pattern in MAY_DIFFER)], [], f"after {why}")

    def test_each_answer_outlives_a_kill_and_all_of_them_a_stop(self):
        done = dict.fromkeys(function for functions in DEEDS.values() for function in functions)
        for function in done:
            function(self.world)
            before = self.world.said()
            self.kill()
            self.go_on()
            self.assert_same(before, self.world.said(), f"a kill, and {function.__name__}")
        before = self.world.said()
        self.stop()
        self.go_on()
        self.assert_same(before, self.world.said(), "a stop")

    def test_no_method_is_left_out(self):
        known = [*DEEDS, *ASKED, *(method for methods in OTHERS.values() for method in methods.split())]
        self.assertEqual(len(known), len(set(known)))
        of_server = {m for m in self.world.client.call("server.methods") if "." in m}
        self.assertEqual(of_server - set(known), set(), "methods that no row speaks of")
        self.assertEqual(set(known) - of_server, set(), "rows whose method is not there")


if __name__ == "__main__":
    unittest.main()
