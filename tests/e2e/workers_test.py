"""Workers: peers that run methods, with the real server between them and who calls."""
import collections
import os
import signal
import socket
import unittest

import msgpack

from bare_worker import Worker
from harness import (RemoteError, Server, ServerTest, eventually, make_token, scratch, self_signed, token_of, trusting,
                     write_tokens)

LARGE = 3 << 20


def code_of(client, msgid):
    try:
        client.result(msgid)
        return None
    except RemoteError as error:
        return error.code


class WorkerTest(ServerTest):
    def worker(self, *methods, server=None, **options):
        worker = Worker(server or self.server, *methods, **options)
        self.addCleanup(worker.close)
        return worker

    def row(self, worker):
        rows = [r for r in self.client.call("worker.list")["workers"] if r["worker"] == worker.id]
        return rows[0] if rows else None

    def submitted(self, *spec):
        return self.client.call("task.submit", *spec)["id"]

    def too_long(self, worker, method):
        """A call that the worker has when its deadline passes; its number.  One that did not come so far in its time is never
        sent, and another has more."""
        for ms in (250, 1000, 4000, 16000):
            call = self.client.send("task.call", method, [], {"deadline": f"{ms}ms"})
            self.assertEqual(code_of(self.client, call), "DEADLINE")
            worker.call("server.ping")  # what was sent before comes before its answer
            if worker.asked:
                return worker.take()[0]
        self.fail("no call came to the worker before its deadline")

    def ended(self, task):
        return self.client.call("task.wait", task, {"timeout": "60s"})["ended"][0]


class Calls(WorkerTest):
    def test_a_call_goes_to_the_worker_and_its_answer_comes_back(self):
        worker = self.worker("t.sum", slots=3, name="adder")
        self.assertEqual(worker.registered, {"worker": worker.id, "slots": 3, "methods": 1, "out": 0})
        call = self.client.send("t.sum", 1, 2)
        number, method, params = worker.take()
        self.assertEqual((method, params), ("t.sum", [1, 2]))
        worker.answer(number, {"sum": 3})
        self.assertEqual(self.client.result(call), {"sum": 3})

    def test_parameters_that_are_no_array_become_one(self):
        worker = self.worker("t.any")
        for params, wanted in ((7, [7]), (None, []), ({"a": 1}, [{"a": 1}]), ([], []), ([[1]], [[1]])):
            self.client.send_bytes(msgpack.packb([0, 99, "t.any", params]))
            number, _, got = worker.take()
            self.assertEqual(got, wanted)
            worker.answer(number)
            self.assertIsNone(self.client.result(99))

    def test_answers_come_in_any_order(self):
        worker = self.worker("t.order", slots=8)
        calls = [self.client.send("t.order", i) for i in range(8)]
        for number, _, params in [worker.take() for _ in calls][::-1]:
            worker.answer(number, params[0])
        self.assertEqual([self.client.result(c) for c in calls], list(range(8)))

    def test_slots_are_all_that_is_sent(self):
        workers = [self.worker("t.slots"), self.worker("t.slots", slots=2)]
        calls = [self.client.send("t.slots", i) for i in range(9)]
        for left in range(9, 0, -1):
            eventually(lambda: sum(self.row(w)["out"] for w in workers) == min(3, left), "the slots are full, while there is work")
            busy = next(w for w in workers if self.row(w)["out"] > 0)
            self.assertTrue(all(self.row(w)["out"] <= most for w, most in zip(workers, (1, 2))))
            number, _, params = busy.take()
            busy.answer(number, params[0])
        self.assertEqual([self.client.result(c) for c in calls], list(range(9)))

    def test_a_connection_may_register_several_times(self):
        worker = self.worker("t.a", slots=1)
        other = worker.call("worker.register", ["t.b"], {"slots": 2})
        self.assertNotEqual(other["worker"], worker.id)
        calls = [self.client.send("t.a", 1), self.client.send("t.b", 2), self.client.send("t.b", 3)]
        asked = [worker.take() for _ in calls]
        self.assertEqual(sorted(m for _, m, _ in asked), ["t.a", "t.b", "t.b"])
        for number, _, params in asked:
            worker.answer(number, params)
        self.assertEqual([self.client.result(c) for c in calls], [[1], [2], [3]])

    def test_large_parameters_and_results(self):
        worker = self.worker("t.large", context=True)
        for size in (65535, 65536, LARGE):
            call = self.client.send("t.large", b"p" * size, size)
            number, _, (data, same, context) = worker.take()
            self.assertEqual((len(data), same, context["call"]), (size, size, number))
            worker.answer(number, b"r" * size)
            self.assertEqual(self.client.result(call), b"r" * size)

    def test_a_task_that_lasts_has_large_ones_too(self):
        worker = self.worker("t.kept")
        task = self.submitted("t.kept", ["p" * LARGE], {"keep_size": "8m"})
        number, _, (data,) = worker.take()
        self.assertEqual(len(data), LARGE)
        worker.answer(number, "r" * LARGE)
        self.ended(task)
        self.assertEqual(len(self.client.call("task.get", task, {"result": True})["result"]), LARGE)

    def test_a_peer_with_raw_strings_gets_such(self):
        worker = self.worker("t.raw", register=False)
        worker.call("server.hello", {"raw": True})
        worker.call("worker.register", ["t.raw"])
        worker.unpacker = msgpack.Unpacker(raw=True)
        call = self.client.send("t.raw", b"\xff\x00", "x" * 100)
        number, method, params = worker.take()
        self.assertEqual((method, params), (b"t.raw", [b"\xff\x00", b"x" * 100]))
        worker.answer(number, 1)
        self.assertEqual(self.client.result(call), 1)

    def test_errors_in_all_shapes(self):
        worker = self.worker("t.fail")
        for said, code, text in (("NO_SPACE: full", "NO_SPACE", "full"), ([1, "NO_SPACE: full"], "NO_SPACE", "full"),
                                 (["NO_SPACE", "full"], "NO_SPACE", "full"), ({"code": "NO_SPACE", "message": "full"}, "NO_SPACE", "full"),
                                 ("just text", "FAILED", "just text"), (7, "FAILED", ""), ("CANCELLED: no", "CANCELLED", "no")):
            call = self.client.send("t.fail")
            worker.fail(worker.take()[0], said)
            with self.assertRaises(RemoteError) as caught:
                self.client.result(call)
            self.assertEqual(caught.exception.code, code, said)
            self.assertIn(text, caught.exception.value)

    def test_again_is_busy_for_a_call_and_another_attempt_for_a_task(self):
        worker = self.worker("t.again", context=True)
        call = self.client.send("t.again")
        worker.fail(worker.take()[0], "AGAIN: 5s")
        with self.assertRaises(RemoteError) as caught:
            self.client.result(call)
        self.assertEqual(caught.exception.code, "BUSY")
        self.assertIn("5s", caught.exception.value)
        task = self.submitted("t.again", [])
        for attempt, pause in ((1, "AGAIN: 1ms"), (2, "AGAIN: 0"), (3, ["AGAIN", "2ms: not yet"])):
            number, _, (context,) = worker.take()
            self.assertEqual((context["task"], context["attempt"]), (task, attempt))
            worker.fail(number, pause)
        worker.answer(worker.take()[0], "at last")
        self.assertEqual(self.ended(task)["state"], "done")
        self.assertEqual(self.client.call("task.get", task)["failures"], 0)

    def test_what_is_permanent_is_not_tried_again(self):
        worker = self.worker("t.permanent")
        for error, attempts in (("PERMANENT_NO_USER: x", 1), ("BAD_PARAMS: x", 1), ("NO_SPACE: x", 2)):
            task = self.submitted("t.permanent", [], {"retries": 1, "backoff": "1ms"})
            for _ in range(attempts):
                worker.fail(worker.take()[0], error)
            self.assertEqual(self.ended(task)["failures"], attempts, error)

    def test_context(self):
        worker = self.worker("t.context", context=True)
        call = self.client.send("t.context", 1)
        number, _, (_, context) = worker.take()
        self.assertEqual(context, {"call": number, "task": None, "attempt": 1, "left": None, "tenant": None})
        worker.answer(number)
        self.client.result(call)
        task = self.submitted("t.context", [], {"timeout": "1m", "tenant": "acme"})
        number, _, (context,) = worker.take()
        self.assertEqual((context["task"], context["attempt"], context["tenant"]), (task, 1, "acme"))
        self.assertTrue(0 < context["left"] <= 60000, context)
        worker.answer(number)
        self.assertEqual(self.ended(task)["state"], "done")

    def test_cancel(self):
        worker = self.worker("t.cancel", context=True, slots=8)
        call = self.client.send("t.cancel")
        number, _, _ = worker.take()
        self.assertTrue(self.client.call("server.cancel", call))
        self.assertEqual(code_of(self.client, call), "CANCELLED")
        self.assertEqual(worker.hear(), ("worker.cancel", [number, "cancelled"]))
        eventually(lambda: self.row(worker)["late"] == 1, "nobody waits for it")
        worker.answer(number)  # nobody waits for it
        number = self.too_long(worker, "t.cancel")
        self.assertEqual(worker.hear(), ("worker.cancel", [number, "deadline"]))
        with self.server.connect() as gone:
            gone.send("t.cancel")
            number, _, _ = worker.take()
            gone.reset()
        self.assertEqual(worker.hear(), ("worker.cancel", [number, "gone"]))
        task = self.submitted("t.cancel", [])
        number, _, _ = worker.take()
        self.client.call("task.cancel", task)
        self.assertEqual(worker.hear(), ("worker.cancel", [number, "cancelled"]))
        worker.answer(number, "late")
        self.assertEqual(self.ended(task)["state"], "cancelled")

    def test_who_did_not_ask_for_it_hears_of_no_cancel(self):
        worker = self.worker("t.deaf")
        call = self.client.send("t.deaf")
        worker.take()
        self.client.call("server.cancel", call)
        self.assertEqual(code_of(self.client, call), "CANCELLED")
        eventually(lambda: self.row(worker)["late"] == 1, "nobody waits for it")
        worker.call("server.ping")
        self.assertFalse(worker.told)

    def test_progress_and_partial_results(self):
        worker = self.worker("t.progress")
        task = self.submitted("t.progress", [])
        number, _, _ = worker.take()
        worker.notify("worker.progress", number, 1, 2, "half")
        self.assertTrue(worker.call("worker.partial", number, [1, 2]))
        eventually(lambda: self.client.call("task.get", task)["progress"] == {"done": 1, "total": 2, "text": "half"}, "progress")
        with self.assertRaises(RemoteError) as caught:
            worker.call("worker.progress", number + 1, 1, 2, "not mine")
        self.assertEqual(caught.exception.code, "NOT_FOUND")
        worker.answer(number, 3)
        self.ended(task)
        events = self.client.call("task.watch", task, {"from": 1, "timeout": 0})["events"]
        self.assertIn([1, 2], [e.get("data") for e in events])

    def test_what_an_attempt_submits_comes_with_its_end(self):
        worker = self.worker("t.parent")
        task = self.submitted("t.parent", [])
        number, _, _ = worker.take()
        tasks = [["echo", [1], {"key": "with its end"}], ["echo", [2]]]
        self.assertTrue(worker.call("worker.submit", number, {"task": tasks}))
        count = len(self.client.call("task.list", {"method": "echo"})["tasks"])
        worker.answer(number, "done")
        self.assertEqual(self.ended(task)["result"], "done")
        self.assertEqual(len(self.client.call("task.list", {"method": "echo"})["tasks"]), count + 2)
        self.assertTrue(self.client.call("task.submit", "echo", [], {"key": "with its end"})["duplicate"])

    def test_one_that_is_refused_spoils_the_attempt(self):
        worker = self.worker("t.spoilt")
        task = self.submitted("t.spoilt", [])
        number, _, _ = worker.take()
        for sends, code in (({"task": [["echo", [1], {"after": []}]]}, "BAD_CHANGES"), ({"task": 7}, "BAD_PARAMS"), ({"drop": True}, "BAD_PARAMS")):
            with self.assertRaises(RemoteError) as caught:
                worker.call("worker.submit", number, sends)
            self.assertEqual(caught.exception.code, code)
        with self.assertRaises(RemoteError) as caught:
            worker.call("worker.submit", number + 1, {})
        self.assertEqual(caught.exception.code, "NOT_FOUND")
        worker.answer(number, "done")
        ended = self.ended(task)
        self.assertEqual(ended["error"].split(":")[0], "BAD_CHANGES")
        self.assertIn("a worker.submit of it was refused", ended["error"])
        call = self.client.send("t.spoilt")
        number, _, _ = worker.take()
        with self.assertRaises(RemoteError) as caught:
            worker.call("worker.submit", number, {"task": [["echo"]]})
        self.assertEqual(caught.exception.code, "BAD_PARAMS")
        worker.answer(number, "a plain call")
        self.assertEqual(self.client.result(call), "a plain call")

    def test_a_worker_may_call_itself(self):
        worker = self.worker("t.self")
        call = worker.send("t.self", 1)
        worker.answer(worker.take()[0], "me")
        self.assertEqual(worker.result(call), "me")


class Strange(WorkerTest):
    def test_answers_to_nothing_are_counted_and_ignored(self):
        worker = self.worker("t.strange")
        call = self.client.send("t.strange")
        number, _, _ = worker.take()
        for other in (0, 1, number + 1, number + 8192, 1 << 40):
            worker.answer(other, "not that")
        worker.answer(number, "that")
        worker.answer(number, "twice")
        self.assertEqual(self.client.result(call), "that")
        worker.call("server.ping")
        self.assertEqual((self.row(worker)["strange"], self.row(worker)["done"]), (6, 1))

    def test_who_answers_before_it_has_read_is_no_worker(self):
        early = self.worker("t.early")
        call = self.client.send("t.early", b"x" * (15 << 20))
        eventually(lambda: self.row(early) is not None and self.row(early)["out"] == 1, "it is sent")
        good = self.worker("t.early")
        head = early.sock.recv(8, socket.MSG_WAITALL)  # [0, number, ...
        early.answer(int.from_bytes(head[3:7], "big"), "I know")
        eventually(lambda: self.row(early) is None, "its connection is closed")
        self.assertEqual(code_of(self.client, call), "WORKER_LOST")
        self.assertEqual(good.asked, collections.deque())

    def test_never_an_answer(self):
        worker = self.worker("t.never")
        self.too_long(worker, "t.never")
        eventually(lambda: (self.row(worker)["out"], self.row(worker)["late"]) == (1, 1), "its slot stays taken")


class Loss(WorkerTest):
    def lost(self, method, end):
        """A call and a task whose worker ends so, once it has read them; another one goes on."""
        worker = self.worker(method, slots=2)
        call, task = self.client.send(method), self.submitted(method, [])
        for _ in range(2):
            worker.take()
        end(worker)
        self.assertEqual(code_of(self.client, call), "WORKER_LOST")
        other = self.worker(method, context=True)
        number, _, (context,) = other.take()
        self.assertEqual((context["task"], context["attempt"]), (task, 2))
        self.assertEqual(self.client.call("task.get", task)["losses"], 1)
        other.answer(number, "done after all")
        shown = self.ended(task)
        self.assertEqual((shown["state"], shown["failures"]), ("done", 0))

    def test_reset(self):
        self.lost("t.reset", Worker.reset)

    def test_close(self):
        self.lost("t.close", Worker.close)

    def test_half_close(self):
        self.lost("t.half", lambda w: w.sock.shutdown(1))

    def test_rubbish(self):
        self.lost("t.rubbish", lambda w: w.send_bytes(b"\xc1" * 10))

    def test_too_large(self):
        self.lost("t.too_large", lambda w: w.send_bytes(b"\xdd\xff\xff\xff\xff"))

    def test_too_deep(self):
        self.lost("t.too_deep", lambda w: w.send_bytes(b"\x94\x01\x01\xc0" + b"\x91" * 40))

    def test_killed_by_an_administrator(self):
        self.lost("t.killed", lambda w: self.client.call("connection.kill", self.row(w)["connection"]))

    def test_no_worker_offers_it_any_more(self):
        worker = self.worker("t.left")
        worker.close()
        eventually(lambda: self.row(worker) is None, "it has gone")
        with self.refused("NO_WORKER"):
            self.client.call("t.left")

    def test_nobody_ever_offered_it(self):
        with self.refused("NO_METHOD"):
            self.client.call("t.never_offered")

    def test_what_was_not_handed_over_goes_to_another(self):
        slow = self.worker("t.unsent", slots=8)
        first = self.client.send("t.unsent", b"x" * (15 << 20))  # more than a socket takes
        second = self.client.send("t.unsent", b"y" * (1 << 20))
        eventually(lambda: self.row(slow) is not None and self.row(slow)["out"] == 1, "the first is sent")
        other = self.worker("t.unsent", slots=8)
        slow.reset()
        number, _, (data,) = other.take()
        other.answer(number, len(data))
        self.assertEqual(code_of(self.client, first), "WORKER_LOST")  # it was handed over in part
        self.assertEqual(self.client.result(second), 1 << 20)


class Steering(WorkerTest):
    def test_quiet_and_resume(self):
        worker = self.worker("t.quiet", slots=2)
        call = self.client.send("t.quiet")
        number, _, _ = worker.take()
        self.assertEqual(worker.call("worker.quiet"), {"worker": worker.id, "slots": 2, "methods": 1, "out": 1})
        self.assertEqual(self.row(worker)["state"], "quiet")
        with self.refused("NO_WORKER"):
            self.client.call("t.quiet")
        worker.answer(number, "it goes on")
        self.assertEqual(self.client.result(call), "it goes on")
        task = self.submitted("t.quiet", [])
        self.assertFalse(worker.asked)
        self.assertEqual(worker.call("worker.resume", worker.id)["out"], 0)
        worker.answer(worker.take()[0])
        self.assertEqual(self.ended(task)["state"], "done")

    def test_by_its_id_from_another_connection(self):
        worker = self.worker("t.steered")
        self.assertEqual(self.client.call("worker.quiet", worker.id)["worker"], worker.id)
        self.assertEqual(self.row(worker)["state"], "quiet")
        self.assertEqual(self.client.call("worker.resume", worker.id)["out"], 0)
        self.assertEqual(self.row(worker)["state"], "open")
        for unknown in ("w99999", "w0"):
            with self.refused("NOT_FOUND"):
                self.client.call("worker.quiet", unknown)
        for bad in ("17", "w", "x1", 17, "w1x", ""):
            with self.refused("BAD_PARAMS"):
                self.client.call("worker.quiet", bad)
        with self.refused("NOT_FOUND"):
            self.client.call("worker.quiet")

    def test_list(self):
        first = self.worker("t.list", "t.other", name="eins", version="v1", slots=3)
        second = self.worker("t.list")
        row = self.row(first)
        self.assertEqual((row["name"], row["version"], row["methods"], row["method_count"], row["slots"], row["state"]),
                         ("eins", "v1", ["t.list", "t.other"], 2, 3, "open"))
        self.assertEqual(row["principal"], "address:127.0.0.1")
        task = self.submitted("t.other", [])
        first.take()
        (call,) = self.row(first)["calls"]
        self.assertEqual((call["method"], call["task"], call["attempt"], call["late"]), ("t.other", task, 1, False))
        ids = lambda **f: {r["worker"] for r in self.client.call("worker.list", f)["workers"]}
        self.assertEqual(ids(method="t.list"), {first.id, second.id})
        self.assertEqual(ids(method="t.other"), {first.id})
        self.assertEqual(ids(method="t.nobody"), set())
        seen, cursor = set(), None
        while True:
            page = self.client.call("worker.list", {"method": "t.list", "limit": 1, **({"cursor": cursor} if cursor else {})})
            seen |= {r["worker"] for r in page["workers"]}
            cursor = page["next"]
            if cursor is None:
                break
            self.assertEqual(len(page["workers"]), 1)
        self.assertEqual(seen, {first.id, second.id})

    def test_what_the_server_says_of_it(self):
        worker = self.worker("t.described", slots=3)
        self.assertIn("t.described", self.client.call("server.methods"))
        self.assertEqual(self.client.call("server.describe", "t.described")["kind"], "worker")
        info = lambda: self.client.call("server.info")["workers"]
        # Workers of other tests, whose connections were closed, are still counted until the server has read their ends.
        eventually(lambda: (info()["registered"], info()["slots"], info()["out"]) == (1, 3, 0), "it is the only one")
        before = info()
        call = self.client.send("t.described")
        number, _, _ = worker.take()
        self.assertEqual(info()["out"], before["out"] + 1)
        worker.answer(number)
        worker.answer(number)
        self.client.result(call)
        worker.call("server.ping")
        after = info()
        self.assertEqual((after["done"], after["out"], after["strange"]), (before["done"] + 1, before["out"], before["strange"] + 1))
        self.assertIn("t.described", [h["name"] for h in self.client.call("server.info")["handlers"]])
        self.assertGreaterEqual(sum(l["workers"] for l in self.client.call("server.topology")["loops"]), 1)
        self.assertIn(1, [c["workers"] for c in self.client.call("connection.list")["connections"]])
        worker.close()
        eventually(lambda: info()["gone"] > before["gone"], "it is counted as gone")

    def test_registrations_that_are_refused(self):
        client = self.server.connect()
        self.addCleanup(client.close)
        for params in ([], [[]], ["t.x"], [["t.x"], {"slots": 0}], [["t.x"], {"slots": 4097}], [["t.x"], {"nonsense": 1}],
                       [[1]], [["t.x", "t.x"]], [["T.X"]], [["x" * 65]], [["server.x"]], [["t.x"], {"share": 50}],
                       [["t.x"], {"share": 0, "version": "1"}], [["t.x"], {"name": "n" * 65}], [["t.x"], {"version": "n" * 33}],
                       [["t.x"], {"lease": "10ms"}], [["t.x"], {"context": 1}], [["m%d" % i for i in range(1001)]]):
            with self.refused("BAD_PARAMS"):
                client.call("worker.register", *params)
        with self.refused("DENIED"):
            client.call("worker.register", ["t.x", "echo"])
        client.call("worker.register", ["t.x"], {"slots": 4000})
        for params in ([["t.x"]], [["t.y"], {"slots": 97}]):
            with self.refused("BAD_PARAMS"):
                client.call("worker.register", *params)
        self.assertEqual(client.call("worker.register", ["t.y"], {"slots": 96})["slots"], 96)

    def test_lease(self):
        silent = self.worker("t.lease", lease="1s")
        # On a busy machine this test may be silent for a second, too: then another worker has more.
        self.assertTrue(any(self.answers_for_a_lease(seconds) for seconds in (1, 4, 16)))
        eventually(lambda: self.row(silent) is None, "it is lost")
        self.assertEqual(silent.take()[1], "worker.ping")

    def answers_for_a_lease(self, seconds):
        """Is a worker that answers each ping still there after more than its lease?"""
        good = self.worker("t.lease2", lease=f"{seconds}s")
        for _ in range(4):
            try:
                number, method, params = good.take()
                self.assertEqual((method, params), ("worker.ping", []))
                good.fail(number, "NO_METHOD: any answer will do")
            except OSError:
                return False
        return self.row(good) is not None

    def test_the_log_names_who_comes_and_goes(self):
        worker = self.worker("t.logged", name="somebody")
        worker.close()
        eventually(lambda: f'msg="worker gone" worker={worker.id} ' in self.server.log_text(), "it is logged")
        self.assertIn(f'msg="worker registered" worker={worker.id} ', self.server.log_text())


class Bounds(WorkerTest):
    FLAGS = ("--workers-max", "2")

    def test_so_many_workers(self):
        first = self.worker("t.max", slots=1)
        self.worker("t.max")
        with self.refused("BUSY"):
            self.worker("t.max")
        first.close()
        eventually(lambda: self.row(first) is None, "there is room again")
        self.worker("t.max")


class GivenUp(WorkerTest):
    FLAGS = ("--workers-give-up", "1s")

    def test_who_goes_on_with_a_task_that_is_over_is_lost(self):
        worker = self.worker("t.stuck", slots=2)
        stuck, good = self.submitted("t.stuck", [], {"timeout": "500ms"}), self.submitted("t.stuck", [])
        for _ in range(2):
            worker.take()
        self.assertEqual(self.ended(stuck)["state"], "failed")
        other = self.worker("t.stuck")
        number, _, _ = other.take()  # when the connection of the first is closed
        self.assertEqual(self.client.call("task.get", good)["losses"], 1)
        other.answer(number, True)
        self.assertEqual(self.ended(good)["state"], "done")
        eventually(lambda: "longer than workers.give_up" in self.server.log_text(), "the log says why")


class Joined(WorkerTest):
    FLAGS = ("--workers-join", "hash", "--blocking", "1", "--blocking-queue", "1")

    def test_a_handler_and_a_worker_run_the_same(self):
        with self.refused("DENIED"):
            self.client.call("worker.register", ["echo"])
        worker = self.worker("hash")
        busy = self.client.send("block", "1h")
        calls = [self.client.send("hash", "sha256", bytes([i]) * 100000) for i in range(20)]
        number, _, (_, data) = worker.take()  # the executor was busy
        self.client.notify("server.cancel", busy)
        self.assertEqual(code_of(self.client, busy), "CANCELLED")
        own = [c for i, c in enumerate(calls) if i != data[0]]
        for call in own:
            self.assertNotEqual(self.client.result(call), "mine")
        worker.answer(number, "mine")
        self.assertEqual(self.client.result(calls[data[0]]), "mine")
        worker.close()
        self.assertNotEqual(self.client.call("hash", "sha256", b"x"), "mine")


class Streams(unittest.TestCase):
    def serve(self, server, url, tls=None):
        worker = Worker(server, "t.stream", url=url, tls=tls)
        with server.connect(server.urls[0]) as client:
            for size in (1, LARGE):
                call = client.send("t.stream", b"x" * size)
                number, _, (data,) = worker.take()
                self.assertEqual(len(data), size)
                worker.answer(number, data)
                self.assertEqual(len(client.result(call)), size)
            call = client.send("t.stream", 1)
            worker.take()
            worker.close()
            self.assertEqual(code_of(client, call), "WORKER_LOST")

    def test_a_unix_socket_and_tls(self):
        folder = scratch(self.addCleanup)
        cert, key = self_signed(folder)
        path = os.path.join(folder, "ergond.yaml")
        with open(path, "w") as f:
            f.write(f'listen:\n  - {{url: "ergon://127.0.0.1:0"}}\n  - {{url: "unix://{folder}/socket", auth: none}}\n'
                    f'  - {{url: "ergons://127.0.0.1:0", auth: none, tls: {{cert: "{cert}", key: "{key}"}}}}\n')
        with Server("--config", path, listen=()) as server:
            server.urls = [server.process.stdout.readline().strip() for _ in range(3)]
            self.serve(server, server.urls[1])
            self.serve(server, server.urls[2], trusting(cert))


class Rights(unittest.TestCase):
    RIGHTS = {"images": "worker.offer.img.*,worker.list", "one": "worker.offer.img.resize,worker.list", "all": "*", "root": "*,worker.any"}

    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.write(self.RIGHTS)

    def write(self, rights):
        self.tokens = write_tokens(self.folder, rights)

    def start(self, *flags):
        self.server = Server("--tokens", self.tokens, *flags)
        self.addCleanup(self.server.__exit__, None)

    def known(self, name):
        client = self.server.connect()
        self.addCleanup(client.close)
        client.call("server.auth", token_of(name))
        return client

    def worker(self, name, *methods, **options):
        worker = Worker(self.server, *methods, token=token_of(name), **options)
        self.addCleanup(worker.close)
        return worker

    def refusal(self, client, *call):
        with self.assertRaises(RemoteError) as caught:
            client.call(*call)
        return caught.exception.code

    def test_who_may_offer_what(self):
        self.start()
        with self.server.connect() as nobody:
            self.assertEqual(self.refusal(nobody, "worker.register", ["img.resize"]), "AUTH")
        for name, method, allowed in (("images", "img.resize", True), ("images", "text.read", False), ("one", "img.resize", True),
                                      ("one", "img.turn", False), ("all", "img.resize", False), ("root", "img.resize", False)):
            client = self.known(name)
            if allowed:
                self.assertEqual(client.call("worker.register", [method])["methods"], 1)
            else:
                self.assertEqual(self.refusal(client, "worker.register", [method]), "DENIED", (name, method))
        self.assertEqual(self.refusal(self.known("images"), "worker.register", ["img.turn", "text.read"]), "DENIED")

    def test_whose_workers_may_be_steered(self):
        self.start()
        worker = self.worker("images", "img.resize")
        self.assertEqual(self.refusal(self.known("one"), "worker.quiet", worker.id), "DENIED")
        self.assertEqual(self.refusal(self.known("all"), "worker.quiet", worker.id), "DENIED")
        self.assertEqual(self.known("images").call("worker.quiet", worker.id)["worker"], worker.id)
        eventually(lambda: "principal=token:one method=worker.quiet" in self.server.log_text(), "what was refused is recorded")
        self.assertNotIn("principal=token:images method=worker.quiet", self.server.log_text())  # it is its own
        self.assertEqual(self.known("root").call("worker.resume", worker.id)["worker"], worker.id)
        eventually(lambda: f'principal=token:root method=worker.resume outcome=ok' in self.server.log_text(), "it is recorded")

    def test_a_connection_with_workers_stays_its_principals(self):
        self.start()
        worker = self.worker("images", "img.resize")
        self.assertEqual(self.refusal(worker, "server.auth", token_of("all")), "DENIED")
        self.assertEqual(worker.call("server.auth", token_of("images")), "token:images")

    def test_a_right_that_ends(self):
        self.start("--on-revoke", "lower")
        worker = self.worker("images", "img.resize", slots=4096)  # it answers nothing below
        client = self.known("all")
        client.send("img.resize", 1)
        number, _, _ = worker.take()
        self.write({**self.RIGHTS, "images": "worker.offer.text.*,worker.list"})
        self.server.signal(signal.SIGHUP)
        worker.answer(number)

        def closed():
            client.send("img.resize", 2)
            return "may not offer any more" in self.server.log_text()

        eventually(closed, "its connection is closed")


if __name__ == "__main__":
    unittest.main()
