#!/usr/bin/python3
"""Actors: one message at a time, states that turns change, steps, sleep and stop, by handlers of the module demo and by a worker."""
import contextlib
import json
import os
import unittest

from bare_worker import Worker
from harness import (KeptTest, RemoteError, Server, ServerTest, build_handlers, eventually, run_ergon, scratch, token_of,
                     write_tokens)


class ActorsTest(ServerTest):
    def code(self, method, *params):
        with self.assertRaises(RemoteError) as caught:
            self.client.call(method, *params)
        return caught.exception.code

    def actor(self, name):
        return self.client.call("actor.get", name)

    def worker(self, *methods, **options):
        worker = Worker(self.server, *methods, context=True, **options)
        self.addCleanup(worker.close)
        return worker


class Modules(ActorsTest):
    def test_each_actor_has_a_state_of_its_own(self):
        self.assertEqual([self.client.call("actor.call", "counter/a", "add", [n]) for n in (1, 2, 3)], [1, 3, 6])
        self.assertEqual(self.client.call("actor.call", "counter/b", "add", [10]), 10)
        self.assertEqual(self.client.call("actor.call", "counter/a", "get"), 6)
        shown = self.actor("counter/a")
        self.assertEqual((shown["stage"], shown["version"], shown["schema"], shown["state"]), ("sleeping", 3, 1, 6))

    def test_messages_of_many_clients_are_one_after_another(self):
        clients = [self.server.connect() for _ in range(8)]
        ids = [(c, c.send("actor.call", "counter/many", "add", [1])) for _ in range(50) for c in clients]
        sums = [c.result(i) for c, i in ids]
        self.assertEqual(sorted(sums), list(range(1, 401)))
        for client in clients:
            client.close()

    def test_tell_is_a_task(self):
        told = self.client.call("actor.tell", "counter/told", "add", [5])
        self.assertEqual(told["durable"], "none")
        eventually(lambda: self.client.call("actor.call", "counter/told", "get") == 5, "the message is taken")
        kept = self.client.call("task.submit", "counter.add", [2], {"actor": "counter/told", "keep": "1m"})["id"]
        self.assertEqual(self.client.call("task.wait", kept)["ended"][0]["result"], 7)
        plain = self.client.call("task.submit", "echo", [1], {"keep": "1m"})["id"]
        listed = lambda **of: [t["id"] for t in self.client.call("task.list", of)["tasks"]]
        eventually(lambda: listed(actor="counter/told") == [kept], "the messages that are not kept are gone, and the other is listed")
        self.assertEqual(listed(actor="counter/tol"), [])
        self.assertEqual([t.get("actor") for t in (self.client.call("task.get", id) for id in (kept, plain))], ["counter/told", None])
        self.assertEqual(run_ergon(self.server.urls[0], "task", "list", "-o", "name", "--actor", "counter/told")[1].decode().split(), [kept])
        self.assertEqual(self.client.call("task.forget", {"actor": "counter/told"})["forgotten"], 1)
        self.assertIn(plain, listed())

    def test_a_key_has_one_result_within_its_actor(self):
        for _ in range(3):
            self.assertEqual(self.client.call("actor.call", "counter/key", "add", [1], {"key": "k"}), 1)
        self.assertEqual(self.client.call("actor.call", "counter/other", "add", [7], {"key": "k"}), 7)

    def test_a_ticker_is_stepped_sleeps_and_is_woken(self):
        self.client.call("actor.call", "ticker/t", "start", [3, "1ms"])
        eventually(lambda: self.actor("ticker/t")["state"][0] == 0, "it has counted down")
        shown = self.actor("ticker/t")
        self.assertEqual((shown["stage"], shown["version"], shown["next"]), ("sleeping", 4, None))
        self.client.call("actor.call", "ticker/t", "start", [2, "1h"])
        eventually(lambda: self.actor("ticker/t")["next"], "it sleeps")
        self.assertIn("next step is due", self.client.call("actor.explain", "ticker/t")["text"])
        self.client.call("actor.wake", "ticker/t")
        eventually(lambda: self.actor("ticker/t")["state"][0] == 0, "it has counted down")

    def test_a_counter_gives_to_another(self):
        self.client.call("actor.call", "counter/rich", "add", [10])
        self.assertEqual(self.client.call("actor.call", "counter/rich", "give", ["counter/poor", 3]), 7)
        eventually(lambda: self.client.call("actor.call", "counter/poor", "get") == 3, "it has come")
        self.assertEqual(self.code("actor.call", "counter/rich", "give", ["counter/poor", 8]), "PERMANENT_SHORT")
        self.assertEqual(self.code("actor.call", "counter/rich", "give", ["counter", 1]), "BAD_CHANGES")
        self.assertEqual(self.code("actor.call", "counter/rich", "give", ["ticker/t", 1]), "NO_METHOD")
        self.assertEqual((self.actor("counter/rich")["state"], self.actor("counter/poor")["state"]), (7, 3))

    def test_stop_start_drop(self):
        self.client.call("actor.call", "counter/s", "add", [1])
        self.assertEqual(self.client.call("actor.stop", "counter/s", {"reason": "sold out"}), {"stage": "stopped"})
        self.assertEqual(self.code("actor.call", "counter/s", "add", [1]), "STOPPED")
        told = self.client.call("actor.tell", "counter/s", "add", [1])["id"]
        self.assertEqual(self.client.call("task.explain", told)["reason"], "stopped")
        self.assertEqual((self.actor("counter/s")["stopped"], self.actor("counter/s")["waiting"]), ("sold out", 1))
        self.client.call("actor.start", "counter/s")
        eventually(lambda: self.client.call("actor.call", "counter/s", "get") == 2, "it goes on")
        self.client.call("actor.drop", "counter/s")
        self.assertEqual(self.code("actor.get", "counter/s"), "NOT_FOUND")
        self.assertEqual(self.client.call("actor.call", "counter/s", "get"), 0)

    def test_bad_input_is_refused_and_says_what_to_do(self):
        for params in (["counter", "add"], ["counter/", "add"], ["/1", "add"], ["counter/" + 200 * "x", "add"], ["counter/1", ""],
                       ["counter/1"], ["counter/1", "add", [1], {"durable": "fsync"}], ["counter/1", "add", [1], {"actor": "counter/2"}],
                       ["ticker/1", "step"]):
            self.assertEqual(self.code("actor.call", *params), "BAD_PARAMS", params)
        for method in ("nothing/1", "nothing"), ("counter/1", "nothing"):
            self.assertEqual(self.code("actor.call", *method), "NO_METHOD", method)
        self.assertEqual(self.code("counter.add", 1), "BAD_PARAMS")
        self.assertEqual(self.code("task.call", "counter.add", [1]), "BAD_PARAMS")
        self.assertEqual(self.code("task.submit", "counter.add", [1]), "BAD_PARAMS")
        self.assertEqual(self.code("task.submit", "echo", [1], {"actor": "counter/1", "durable": "none"}), "BAD_PARAMS")
        self.assertEqual(self.code("task.submit", "counter.add", [1], {"actor": "ticker/1"}), "BAD_PARAMS")
        for method, options in (("counter.add", {}), ("counter.add", {"actor": "ticker/1"}), ("echo", {"actor": "counter/1"})):
            self.assertEqual(self.code("cron.put", "wrong", "@daily", method, [], options), "BAD_PARAMS", (method, options))
        self.assertEqual(self.client.call("cron.put", "right", "@daily", "counter.add", [1], {"actor": "counter/cron"})["name"], "right")
        for method in ("get", "explain", "start", "stop", "wake", "drop"):
            for name in ("counter", "/", "counter/", "/1", "counter/" + "x" * 200):
                self.assertEqual(self.code("actor." + method, name), "BAD_PARAMS", (method, name))
        self.client.call("actor.call", "counter/held", "add", [1])
        self.client.call("actor.stop", "counter/held")
        waits, more = (self.client.call("actor.tell", "counter/held", "add", [1])["id"] for _ in range(2))
        for task in waits, more:
            self.assertEqual(self.code("task.change", task, {"delay": "1h"}), "BAD_PARAMS")
        later = self.client.call("actor.tell", "counter/held", "add", [1], {"delay": "1h"})["id"]
        self.client.call("task.change", later, {"delay": "2h"})
        for options in {}, {"key": "k"}:
            self.assertEqual(self.code("actor.call", "counter/held", "add", [1], options), "STOPPED")
        self.client.call("actor.drop", "counter/held")
        self.assertEqual(self.code("actor.get", "counter/never"), "NOT_FOUND")
        self.assertEqual(self.client.call("actor.list", {"prefix": "counter/never"})["actors"], [])

    def test_list_and_types(self):
        for n in range(30):
            self.client.call("actor.call", f"counter/page-{n:02}", "add", [n])
        names, cursor = [], None
        while True:
            page = self.client.call("actor.list", {"prefix": "counter/page-", "limit": 7} | ({"cursor": cursor} if cursor else {}))
            names += [a["actor"] for a in page["actors"]]
            cursor = page["next"]
            if not cursor:
                break
        self.assertEqual(names, [f"counter/page-{n:02}" for n in range(30)])
        for cursor in "", "7", "x:", "9:counter/", "7:counter", "99999:a", 7:
            self.assertEqual(self.code("actor.list", {"cursor": cursor}), "BAD_PARAMS", cursor)
        for options in {"sort": "name"}, {"sort": "waiting", "cursor": "9:counter/1"}, {"stage": "gone"}:
            self.assertEqual(self.code("actor.list", options), "BAD_PARAMS", options)
        self.client.call("actor.stop", "counter/page-17")
        for _ in range(3):
            self.client.call("actor.tell", "counter/page-17", "add", [1])
        busiest = self.client.call("actor.list", {"sort": "waiting", "limit": 1})
        self.assertEqual([(a["actor"], a["waiting"]) for a in busiest["actors"]], [("counter/page-17", 3)])
        self.assertIsNone(busiest["next"])
        types = {t["type"]: t for t in self.client.call("actor.types")}
        self.assertTrue(types["ticker"]["steps"] and not types["counter"]["steps"])
        url = self.server.urls[0]
        with Worker(self.server, "gone.add", context=True, actors={"gone": {}}):
            pass

        def hosts():
            head, *rows = (line.split() for line in run_ergon(url, "actor", "types")[1].decode().splitlines())
            return {row[0]: row[head.index("hosts")] for row in rows}

        eventually(lambda: (hosts()["counter"], hosts()["gone"]) == ("yes", "no"), "the worker has gone")

    def test_a_watcher_sees_the_last_version_over_broken_connections(self):
        name, seen = "counter/watched", 0
        for n in range(100):
            watcher = self.server.connect()
            waits = watcher.send("actor.watch", name, {"from": seen + 1, "timeout": "1h"})
            if n % 3 == 0:
                watcher.close()  # as likely before the answer as behind it
            self.client.call("actor.call", name, "add", [1])
            if n % 3 > 0:
                answer = watcher.result(waits)
                self.assertEqual(answer["state"], answer["version"])
                seen = answer["version"]
                watcher.close()
        self.assertEqual(self.client.call("actor.watch", name, {"from": seen + 1, "timeout": 0}).get("state", seen), 100)
        waits = self.client.send("actor.watch", name, {"from": 101, "timeout": "1h"})
        with contextlib.closing(self.server.connect()) as other:
            other.call("actor.drop", name)
        self.assertEqual(self.client.result(waits), {"version": 0, "stage": "sleeping", "state": None, "state_hidden": False})
        for params in (name, {"from": 0}), (name, {"timeout": "2h"}), (name, 1), ("counter",), ("counter/", {}), ():
            self.assertEqual(self.code("actor.watch", *params), "BAD_PARAMS", params)
        self.assertEqual(self.code("actor.watch", "nothing/1"), "NOT_FOUND")
        self.client.call("actor.call", name, "add", [7])
        self.assertEqual(run_ergon(self.server.urls[0], "actor", "watch", "--once", name)[:2], (0, b"1  sleeping  7\n"))
        self.assertEqual(run_ergon(self.server.urls[0], "--timeout", "50ms", "actor", "watch", "--from", "2", name)[:2], (5, b""))


CALLS = """
#include <ergon/actor.h>

struct call { struct ao_seq seq; struct ao_wait wait; struct ergon_call *out; };

static void name_of(struct ergon_task *task, char name[64])
{
    struct ergon_reader r;
    struct ergon_bytes bytes = {0};
    ergon_params_open(task, &r);
    ergon_read_bytes(&r, &bytes);
    snprintf(name, 64, "%.*s", (int)bytes.len, (const char *)bytes.at);
}

static void end(struct ergon_task *task, const struct ergon_outcome *out)
{
    if (!out->ok)
        ergon_fail(task, out->code, out->text);
    else if (ergon_attempt(task) == 1 && ergon_arg(task))
        ergon_fail(task, "FAILED", "once more");
    else
        ergon_result_raw(task, out->result.at, out->result.len);
}

static void buy(struct ergon_task *task)
{
    char name[64];
    struct ergon_outcome out;
    static const uint8_t one[] = {0x91, 1};
    name_of(task, name);
    ergon_call_actor(task, name, "add", (struct ergon_bytes){one, sizeof one}, (struct ergon_bytes){0}, &out);
    end(task, &out);
}

static enum ao_verdict ask(struct ao *self, struct ergon_task *task, void *state)
{
    struct call *c = state;
    char name[64];
    struct ergon_outcome out;
    AO_BEGIN(&c->seq);
    name_of(task, name);
    c->out = ergon_call_actor_start(task, name, "get", (struct ergon_bytes){0}, (struct ergon_bytes){0});
    AO_AWAIT(self, &c->seq, &c->wait, ergon_call_await(c->out, &c->wait));
    ergon_call_outcome(c->out, &out);
    end(task, &out);
    AO_END(&c->seq);
}

static int again;
static const struct ergon_handler methods[] = {
    {.size = sizeof *methods, .kind = ERGON_BLOCKING, .name = "shop.buy", .run = buy, .arg = &again},
    {.size = sizeof *methods, .kind = ERGON_BLOCKING, .name = "shop.add", .run = buy},
    {.size = sizeof *methods, .kind = ERGON_STEPPED, .name = "shop.get", .step = ask, .state_size = sizeof(struct call)}};
static const struct ergon_actor shop = {.size = sizeof shop, .type = "shop", .methods = methods, .count = 3};

ERGON_MODULE(shop_module, "shop", "1.0") { return ergon_register_actor(module, &shop); }
"""


class ModulesThatCall(unittest.TestCase):
    def test_a_turn_calls_another_actor(self):
        folder = scratch(self.addCleanup)
        module = build_handlers(folder, "shop", CALLS)
        with Server("--module", module, "--store", os.path.join(folder, "tasks.db"), "--drain", "6s") as server, server.connect() as client:
            def code(*params):
                with self.assertRaises(RemoteError) as caught:
                    client.call("actor.call", *params)
                return caught.exception.code

            client.call("actor.call", "counter/a", "add", [5])
            self.assertEqual(client.call("actor.call", "shop/1", "get", ["counter/a"]), 5)
            self.assertEqual(client.call("actor.call", "shop/1", "add", ["counter/a"]), 6)
            told = client.call("actor.tell", "shop/2", "buy", ["counter/a"], {"retries": 1, "backoff": "1ms", "keep": "1m"})["id"]
            self.assertEqual(client.call("task.wait", told)["ended"][0]["result"], 7)
            # The first attempt has bought it, and the second got the answer.
            self.assertEqual(client.call("actor.get", "counter/a")["state"], 7)
            for name, expected in (("shop/3", "DEADLOCK"), ("none/3", "NO_METHOD"), ("counter", "BAD_PARAMS")):
                for method in "add", "get":
                    self.assertEqual(code("shop/3", method, [name]), expected, (name, method))
            client.call("actor.stop", "counter/a")
            self.assertEqual(code("shop/3", "add", ["counter/a"]), "STOPPED")
            worker = Worker(server, "slow.add", "slow.get", slots=16, context=True, actors={"slow": {}})
            self.addCleanup(worker.close)
            for method in "add", "get":
                self.times_out(worker, method, code)
            for method in "add", "get":  # the server stops over these
                client.send("actor.call", f"shop/{method}", method, [f"slow/{method}"])
                worker.take()

    def times_out(self, worker, method, code):
        """A turn ends at its timeout while it waits for another actor.  One that has not called that in its time never does, and
        another turn has more."""
        for ms in (50, 500, 5000):
            self.assertEqual(code(f"shop/{ms}", method, [f"slow/{method}-{ms}"], {"timeout": f"{ms}ms"}), "DEADLINE")
            worker.call("server.ping")  # what was sent before comes before its answer
            if worker.asked:
                worker.asked.clear()
                return
        self.fail(f"no turn of {method} calls before its timeout")


class Workers(ActorsTest):
    def carts(self, **options):
        return self.worker("cart.add", "cart.total", slots=4, actors={"cart": {"schema": 2, "reads": ["total"]} | options})

    def test_a_worker_gets_the_state_and_answers_changes(self):
        worker = self.carts()
        call = self.client.send("actor.call", "cart/42", "add", ["apple"])
        number, method, (item, context) = worker.take()
        self.assertEqual((method, item), ("cart.add", "apple"))
        self.assertEqual({k: context[k] for k in ("actor", "version", "schema", "state", "attempt")},
                         {"actor": "cart/42", "version": 0, "schema": 0, "state": None, "attempt": 1})
        later = self.client.send("actor.call", "cart/42", "add", ["pear"])
        reads = self.client.send("actor.call", "cart/42", "total")
        other, method, _ = worker.take()  # goes through no mailbox
        self.assertEqual(method, "cart.total")
        worker.answer(other, [0, None])
        self.assertEqual(self.client.result(reads), 0)
        worker.answer(number, [1, {"state": {"items": ["apple"]}}])
        self.assertEqual(self.client.result(call), 1)
        number, _, (_, context) = worker.take()
        self.assertEqual((context["state"], context["version"], context["schema"]), ({"items": ["apple"]}, 1, 2))
        worker.answer(number, [2, {"drop": True}])
        self.assertEqual(self.client.result(later), 2)
        self.assertIsNone(self.actor("cart/42")["state"])

    def test_a_state_has_the_schema_of_its_host_and_goes_to_no_older_one(self):
        old = self.carts(schema=1)
        call = self.client.send("actor.call", "cart/deploy", "add", [1])
        number = old.take()[0]
        new = self.carts(schema=2)
        old.answer(number, [1, {"state": 1}])
        self.client.result(call)
        self.assertEqual(self.actor("cart/deploy")["schema"], 1)
        old.call("worker.quiet")
        call = self.client.send("actor.call", "cart/deploy", "add", [1])
        number, _, (_, context) = new.take()
        self.assertEqual((context["schema"], context["state"]), (1, 1))
        new.answer(number, [1, {"state": 2}])
        self.client.result(call)
        old.call("worker.resume")
        for method in ("add", "total") * 3:
            call = self.client.send("actor.call", "cart/deploy", method)
            new.answer(new.take()[0], [1, None])
            self.client.result(call)

    def test_changes_that_are_none_fail_the_turn(self):
        worker = self.carts(state=100)
        for answer in (1, [1], [1, 2], [1, {"stale": 1}], [1, {"state": 100 * "x"}], [1, {"sleep": False}], [1, {"state": 1, "drop": True}]):
            call = self.client.send("actor.call", "cart/bad", "add", [1])
            worker.answer(worker.take()[0], answer)
            with self.assertRaises(RemoteError) as caught:
                self.client.result(call)
            self.assertEqual(caught.exception.code, "BAD_CHANGES", answer)
        call = self.client.send("actor.call", "cart/bad", "total")
        worker.answer(worker.take()[0], [1, {"state": 1}])
        with self.assertRaises(RemoteError):
            self.client.result(call)
        call = self.client.send("actor.call", "cart/bad", "add", [1])
        number, _, (_, context) = worker.take()
        self.assertEqual((context["state"], context["version"]), (None, 0))
        worker.answer(number, [1, None])
        self.client.result(call)

    def test_a_lost_worker_changes_nothing_and_the_message_goes_to_another(self):
        first = self.carts()
        told = self.client.call("actor.tell", "cart/lost", "add", ["apple"], {"keep": "1m"})["id"]
        first.take()
        second = self.carts()
        first.close()
        number, _, (_, context) = second.take()
        self.assertEqual((context["attempt"], context["state"]), (2, None))
        second.answer(number, ["done", {"state": 1}])
        self.assertEqual(self.client.call("task.wait", told)["ended"][0]["result"], "done")

    def turn(self, worker, changes):
        """One message, whose turn answers these changes: what comes of it."""
        call = self.client.send("actor.call", "cart/turn", "add", [1], {"keep": "1m"})
        worker.answer(worker.take()[0], [1, changes])
        try:
            return self.client.result(call)
        except RemoteError as error:
            return error.code

    def test_a_turn_puts_and_forgets_reminders(self):
        worker = self.carts(intensity=100)
        for changes in ({"remind": 1}, {"remind": [["a", "add", []]]}, {"remind": [["a", "add", [], {}]]}, {"forget": "a"}, {"forget": [1]},
                        {"remind": [["a", "add", [], {"in": 1, "at": 1}]]}, {"remind": [["a", "add", [], {"every": "1us"}]]},
                        {"remind": [["", "add", [], {"in": 1}]]}, {"remind": [["a", "add", [], {"in": 1}]], "forget": ["a"]},
                        {"remind": [["a", "add", [], {"in": 1, "delay": 1}]]}):
            self.assertEqual(self.turn(worker, changes), "BAD_CHANGES", changes)
        self.assertEqual(self.turn(worker, {"state": 1, "remind": [["soon", "add", [7], {"in": 1}], ["late", "add", [], {"every": "1h"}]]}), 1)
        number, method, (item, context) = worker.take()
        self.assertEqual((method, item, context["state"]), ("cart.add", 7, 1))
        self.assertEqual([r["name"] for r in self.actor("cart/turn")["reminders"] if r["due"]], ["late"])
        worker.answer(number, [1, {"forget": ["late"]}])
        eventually(lambda: self.actor("cart/turn")["reminders"] == [], "both are gone")
        url = self.server.urls[0]
        self.assertEqual(run_ergon(url, "actor", "remind", "--in", "1h", "cart/turn", "tea", "add", "3")[0], 0)
        shown = self.actor("cart/turn")
        self.assertEqual([(r["name"], r["method"], r["every"]) for r in shown["reminders"]], [("tea", "cart.add", None)])
        self.assertEqual(shown["next"], shown["reminders"][0]["due"])
        self.assertEqual([run_ergon(url, "actor", "forget", "cart/turn", "tea")[0] for _ in range(2)], [0, 1])
        self.client.call("actor.drop", "cart/turn")  # others begin with none

    def test_what_a_turn_sends_is_checked_and_fails_the_turn(self):
        worker = self.carts(messages=2)
        many = [["cart/x", "add"]] * 101
        for changes, code in (({"tell": 1}, "BAD_CHANGES"), ({"tell": [["cart/x"]]}, "BAD_CHANGES"), ({"tell": [["cart", "add"]]}, "BAD_CHANGES"),
                              ({"tell": many}, "BAD_CHANGES"), ({"tell": [["cart/x", "add", [2**20 * "x"]]]}, "BAD_CHANGES"),
                              ({"tell": [["cart/x", "add", [], {"stale": 1}]]}, "BAD_CHANGES"), ({"task": [["echo", [], {"after": "x"}]]}, "BAD_CHANGES"),
                              ({"tell": [["cart/x", "gone"]]}, "NO_METHOD"), ({"task": [["gone"]]}, "NO_METHOD"), ({"task": [["cart.add"]]}, "BAD_PARAMS"),
                              ({"tell": [["cart/x", "add", [], {"tenant": "other"}]]}, "DENIED"), ({"tell": [["cart/x", "add"]] * 3}, "BUSY")):
            self.assertEqual(self.turn(worker, changes | {"state": 1}), code, changes if len(str(changes)) < 200 else code)
        call = self.client.send("actor.call", "cart/turn", "total")
        number, _, (context,) = worker.take()
        worker.answer(number, [1, {"tell": [["cart/x", "add"]]}])
        with self.refused("BAD_CHANGES"):
            self.client.result(call)
        self.assertEqual((context["state"], context["version"]), (None, 0))
        self.assertEqual(self.client.call("actor.list", {"prefix": "cart/x"})["actors"], [])

    def test_a_transfer_is_a_tell_and_its_refusal_a_tell_back(self):
        worker = self.worker("account.pay", "account.take", "account.back", slots=8, actors={"account": {}})
        pays = [self.client.send("actor.call", "account/a", "pay", ["account/b", n]) for n in (30, 50, 40)]
        accounts, log = {"account/a": 100, "account/b": 0}, []

        def serve():
            number, method, params = worker.take()
            context, own = params[-1], params[-1]["actor"]
            state = context["state"] if context["version"] else accounts[own]
            log.append((own, method, *params[:-1]))
            if method == "account.pay":
                changes = {"state": state - params[1], "tell": [[params[0], "take", [own, params[1]], {"keep": "1m"}]]}
            elif method == "account.take" and state + params[1] > 70:  # the account is full, and sends the money back
                changes = {"tell": [[params[0], "back", [params[1]]]]}
            else:
                changes = {"state": state + params[-2]}
            worker.answer(number, [state, changes])

        for _ in range(7):
            serve()
        for pay in pays:
            self.client.result(pay)
        takes = [entry[3] for entry in log if entry[:2] == ("account/b", "account.take")]
        self.assertEqual(takes, [30, 50, 40])
        self.assertEqual([entry[2] for entry in log if entry[1] == "account.back"], [50])
        eventually(lambda: [self.actor(name)["state"] for name in ("account/a", "account/b")] == [30, 70], "the sum is what it was")

    def test_a_failure_stops_it_and_its_supervisor_hears_of_it(self):
        worker = self.worker("ward.add", "ops.failed", slots=4, actors={"ward": {"on_failure": "stop", "supervisor": "ops/main"}, "ops": {}})
        call = self.client.send("actor.call", "ward/1", "add")
        worker.respond(worker.take()[0], "BROKEN: it does not work", None)
        with self.refused("BROKEN"):
            self.client.result(call)
        number, method, params = worker.take()
        self.assertEqual((method, params[:4], params[4]["actor"]), ("ops.failed", ["ward/1", "add", "BROKEN: it does not work", True], "ops/main"))
        worker.answer(number, [None, None])
        shown = self.client.call("actor.explain", "ward/1")
        self.assertEqual((shown["stage"], shown["failures"], shown["stopped"]), ("stopped", 1, "add failed: BROKEN: it does not work"))
        self.assertIn("1 of its messages failed", shown["text"])
        self.assertEqual(self.client.call("actor.start", "ward/1"), {"stage": "sleeping"})
        types = {t["type"]: t for t in self.client.call("actor.types")}
        self.assertEqual([types["ward"][k] for k in ("on_failure", "intensity", "window", "supervisor")], ["stop", 10, 60000, "ops/main"])

    def test_turns_of_a_pipeline_follow_each_other(self):
        worker = self.worker("till.add", slots=4, actors={"till": {"pipeline": True}})
        calls = [self.client.send("actor.call", "till/1", "add", [n]) for n in (1, 2, 3, 0)]
        for _ in calls:
            number, _, (amount, context) = worker.take()
            total = (context["state"] or 0) + amount
            worker.answer(number, [total, {"state": total} if amount else None])
        self.assertEqual([self.client.result(call) for call in calls], [1, 3, 6, 6])
        self.assertEqual([t["pipeline"] for t in self.client.call("actor.types") if t["type"] in ("till", "ticker")], [False, True])

    def test_calls_of_turns_make_no_cycle(self):
        worker = self.worker("ring.call", "ring.name", slots=8, actors={"ring": {"reads": ["name"]}})
        first = self.client.send("actor.call", "ring/a", "call", [], {"timeout": "20s", "traceparent": f"00-{32 * 'a'}-{16 * 'b'}-01"})
        number, _, (context,) = worker.take()
        with self.refused("DEADLOCK") as caught:
            worker.call("actor.call", "ring/a", "call", [], {"turn": context["call"]})
        self.assertIn("ring/a calls ring/a", str(caught.exception.value))
        second = worker.send("actor.call", "ring/b", "call", [], {"turn": context["call"]})
        inner, _, (within,) = worker.take()
        self.assertEqual((within["left"] <= 20000, within["traceparent"][3:35]), (True, 32 * "a"))
        with self.refused("BUSY"):
            worker.call("actor.call", "ring/c", "call", [], {"turn": context["call"]})
        with self.refused("DEADLOCK"):
            worker.call("actor.call", "ring/a", "call", [], {"turn": within["call"]})
        name = worker.send("actor.call", "ring/a", "name", [], {"turn": within["call"]})
        worker.answer(worker.take()[0], ["a", None])
        self.assertEqual(worker.result(name), "a")
        worker.answer(inner, ["b", None])
        self.assertEqual(worker.result(second), "b")
        worker.answer(number, ["a", None])
        self.assertEqual(self.client.result(first), "a")
        for turn in context["call"], 0, 99999, "x":  # it has ended; none
            with self.refused("BAD_PARAMS"):
                worker.call("actor.call", "ring/b", "name", [], {"turn": turn})

    def test_what_a_registration_may_not_say(self):
        for methods, options in ((["cart.add"], {"actors": {"order": {}}}), (["cart.add"], {"actors": {"cart": {"reads": ["gone"]}}}),
                                 (["cart.add"], {"actors": {"cart": {"durable": "async"}}}), (["cart.add"], {"actors": {"cart": {"state": "2m"}}}),
                                 (["cart.add"], {"actors": {"cart": {"wrong": 1}}}), (["cart.add"], {"actors": {"cart": {"on_failure": "wait"}}}),
                                 (["cart.add"], {"actors": {"cart": {"intensity": 1001}}}), (["cart.add"], {"actors": {"cart": {"window": 0}}}),
                                 (["cart.add"], {"actors": {"cart": {"supervisor": "ops"}}}),
                                 (["cart.add"], {"actors": {"cart": {"pipeline": 1}}}), (["cart.add"], {"actors": [1]})):
            self.assertEqual(self.code("worker.register", methods, options | {"context": True}), "BAD_PARAMS", options)
        self.assertEqual(self.code("worker.register", ["cart.add"], {"actors": {"cart": {}}}), "BAD_PARAMS")
        with self.refused("STORE") as caught:  # there is none
            self.client.call("worker.register", ["cart.add"], {"actors": {"cart": {"durable": "fsync"}}, "context": True})
        self.assertIn("configure `store`", str(caught.exception.value))
        self.assertEqual(self.code("worker.register", ["counter.add"], {"actors": {"counter": {}}, "context": True}), "DENIED")
        self.carts()
        self.assertEqual(self.code("worker.register", ["cart.add"]), "BAD_PARAMS")
        plain = self.worker("plain.add")
        with self.refused("BUSY") as caught:
            self.client.call("worker.register", ["plain.add"], {"actors": {"plain": {}}, "context": True})
        self.assertIn("stop them first", str(caught.exception.value))
        call = self.client.send("plain.add", 1)
        plain.answer(plain.take()[0], 2)
        self.assertEqual(self.client.result(call), 2)


class Rights(unittest.TestCase):
    def test_a_turn_sends_what_its_workers_principal_may(self):
        folder = scratch(self.addCleanup)
        config = os.path.join(folder, "ergond.yaml")
        tokens = write_tokens(folder, {"host": "worker.offer.*,echo", "shop": "*"})
        with open(config, "w") as out:
            out.write(f"""tokens_file: {tokens}
roles:
  - {{name: hosts, members: ["token:host"], methods: ["cart.*"], keys: ["cart/*"], tenants: ["*"]}}
""")
        with Server("--config", config) as server, server.connect() as shop:
            shop.call("server.auth", token_of("shop"))
            worker = Worker(server, "cart.add", "order.add", token=token_of("host"), context=True, actors={"cart": {}, "order": {}})
            self.addCleanup(worker.close)
            with self.assertRaises(RemoteError) as caught:
                worker.call("worker.register", ["box.add"], {"context": True, "actors": {"box": {"supervisor": "ops/main"}}})
            self.assertEqual(caught.exception.code, "DENIED")
            for changes, code in (({"tell": [["order/7", "add"]]}, "DENIED"), ({"tell": [["cart/1", "add"], ["counter/1", "add"]]}, "DENIED"),
                                  ({"task": [["echo"]]}, "DENIED"), ({"tell": [["cart/2", "add", [], {"coalesce": "x"}]]}, "DENIED"),
                                  ({"tell": [["cart/2", "add"]]}, None)):
                call = shop.send("actor.call", "cart/1", "add")
                worker.answer(worker.take()[0], [1, changes])
                try:
                    self.assertEqual((shop.result(call), code), (1, None), changes)
                except RemoteError as error:
                    self.assertEqual(error.code, code, changes)
            number, _, (context,) = worker.take()
            self.assertEqual(context["actor"], "cart/2")
            worker.answer(number, [1, None])


class Durable(KeptTest):
    """With a store what is answered has happened, and is there after kill -9."""

    def start(self):
        self.server = Server("--store", os.path.join(self.folder, "tasks.db"))

    def connect(self):
        client = self.server.connect()
        self.addCleanup(client.close)
        return client

    def counted(self, client, name="counter/c"):
        return client.call("actor.get", name, {"state": True})["state"]

    def test_a_sum_is_right_after_kills(self):
        answered = told = 0
        self.start()
        for _ in range(2):
            client = self.connect()
            calls = [client.send("actor.call", "counter/c", "add", [1]) for _ in range(200)]
            tells = [client.send("actor.tell", "counter/c", "add", [1000]) for _ in range(20)]
            for call in calls[:100]:
                client.result(call)
            told += len([client.result(tell) for tell in tells])  # these are on disk, and run at some time
            self.crash()
            answered += 100
            client = self.connect()
            eventually(lambda: self.counted(client) // 1000 == told, "the tells have run")
            self.assertTrue(answered <= self.counted(client) % 1000 <= answered + 100)
            answered = self.counted(client) % 1000
        self.assertEqual(client.call("actor.get", "counter/c")["version"], answered + told)
        self.assertTrue(client.call("server.audit")["balanced"])

    def test_what_is_kept(self):
        self.start()
        client = self.connect()
        self.assertEqual(client.call("actor.call", "counter/s", "add", [5]), 5)
        client.call("actor.stop", "counter/s", {"reason": "sold out"})
        told = client.call("actor.tell", "counter/s", "add", [1])
        self.assertEqual(told["durable"], "fsync")
        client.call("actor.call", "ticker/t", "start", [1000000, "1h"])
        client.call("actor.call", "counter/gone", "add", [1])
        client.call("actor.drop", "counter/gone")
        worker = Worker(self.server, "cart.add", context=True, actors={"cart": {"schema": 3}})
        self.addCleanup(worker.close)
        call = client.send("actor.call", "cart/1", "add", ["apple"])
        worker.answer(worker.take()[0], [1, {"state": ["apple"]}])
        self.assertEqual(client.result(call), 1)
        client.send("actor.call", "cart/2", "add", ["fig"], {"key": "k"})
        worker.take()  # so it is on disk
        waits = client.call("actor.tell", "cart/1", "add", ["pear"])["id"]
        self.crash()
        client = self.connect()
        shown = client.call("actor.get", "counter/s", {"state": True})
        self.assertEqual((shown["stage"], shown["stopped"], shown["state"], shown["durable"]), ("stopped", "sold out", 5, "fsync"))
        with self.assertRaises(RemoteError) as caught:
            client.call("actor.call", "counter/s", "add", [1])
        self.assertEqual(caught.exception.code, "STOPPED")
        client.call("actor.start", "counter/s")
        eventually(lambda: client.call("actor.call", "counter/s", "get") == 6, "what waited has run")
        with self.assertRaises(RemoteError) as caught:
            client.call("actor.get", "counter/gone")
        self.assertEqual(caught.exception.code, "NOT_FOUND")
        self.assertTrue(client.call("actor.get", "ticker/t")["next"])
        explained = client.call("task.explain", waits)
        self.assertEqual(explained["reason"], "no_executor")
        worker = Worker(self.server, "cart.add", context=True, actors={"cart": {"schema": 3}})
        self.addCleanup(worker.close)
        for _ in range(2):
            number, _, (item, context) = worker.take()
            if item == "pear":
                self.assertEqual((context["state"], context["schema"], context["version"], context["attempt"]), (["apple"], 3, 1, 1))
                worker.answer(number, [2, {"drop": True}])
            else:
                self.assertEqual((item, context["actor"], context["attempt"]), ("fig", "cart/2", 2))
                worker.answer(number, [9, {"state": ["fig"]}])
        self.assertEqual(client.call("actor.call", "cart/2", "add", ["fig"], {"key": "k"}), 9)  # once
        self.assertEqual(client.call("actor.get", "cart/2")["version"], 1)
        eventually(lambda: client.call("actor.get", "cart/1")["version"] == 2, "it has run")

    def test_a_list_has_what_is_on_disk_and_in_memory_once(self):
        self.start()
        client = self.connect()
        names = [f"counter/{n:03}" for n in range(300)]
        for call in [client.send("actor.call", name, "add", [1]) for name in names]:
            client.result(call)
        self.crash()
        client, busy = self.connect(), self.connect()
        first = client.call("actor.list", {"limit": 1000})["actors"]
        self.assertEqual([(a["actor"], a["version"], a["resident"]) for a in first], [(name, 1, False) for name in names])
        sent = [busy.send("actor.call", name, "add", [1]) for name in names[::3] * 3]
        for limit in 7, 299, 1000:
            listed, cursor = [], {}
            while cursor is not None:
                page = client.call("actor.list", {"type": "counter", "limit": limit} | cursor)
                listed += [a["actor"] for a in page["actors"]]
                cursor = page["next"] and {"cursor": page["next"]}
            self.assertEqual(listed, names)
        for call in sent:
            busy.result(call)
        self.assertEqual(run_ergon(self.server.urls[0], "actor", "list", "-o", "name", "counter/2")[1].decode().split(), names[200:])

    def test_many_are_stopped_started_and_dropped_by_what_they_are(self):
        self.start()
        client, url = self.connect(), self.server.urls[0]
        for call in [client.send("actor.call", f"counter/{place}-{n:04}", "add", [1]) for place in ("eu", "us") for n in range(1100)]:
            client.result(call)

        def does(*words):
            status, out, text = run_ergon(url, "actor", *words)
            return out.decode() if status == 0 else (status, text)

        def stopped():
            return does("list", "-o", "name", "-n", "5000", "--stage", "stopped").split()

        eu = [f"counter/eu-{n:04}" for n in range(1100)]
        which = ("--type", "counter", "--prefix", "counter/eu-")
        self.assertEqual(does("stop", *which, "--dry-run"), "1100 actors would be stopped\n")
        self.assertEqual(stopped(), [])
        client.call("actor.stop", eu[7], {"reason": "by hand"})
        self.assertEqual(does("stop", *which, "--reason", "wrong prices"), "1099 actors stopped\n")  # more than a page
        self.assertEqual(stopped(), eu)
        self.assertEqual([client.call("actor.get", name)["stopped"] for name in (eu[0], eu[7])], ["wrong prices", "by hand"])
        self.crash()
        client, url = self.connect(), self.server.urls[0]
        self.assertEqual(json.loads(does("start", "--all", "-o", "json", "--dry-run")), {"started": 1100, "dry_run": True})
        self.assertEqual(does("start", "--prefix", "counter/eu-", "-o", "name").split(), eu)
        self.assertEqual(does("start", "--all"), "0 actors started\n")
        self.assertEqual(does("drop", "--prefix", "counter/eu-000"), "10 actors dropped\n")
        self.assertEqual(len(does("list", "-o", "name", "-n", "5000").split()), 2190)
        for words in ["stop"], ["drop", "--dry-run"], ["stop", "--all", "counter/us-0001"], ["wake", "--dry-run", "counter/us-0001"]:
            self.assertEqual(does(*words)[0], 2, words)

    def test_a_type_may_stay_in_memory(self):
        self.start()
        client = self.connect()
        worker = Worker(self.server, "cart.add", context=True, actors={"cart": {"durable": "none"}})
        self.addCleanup(worker.close)
        self.assertEqual(client.call("actor.tell", "cart/1", "add", ["apple"])["durable"], "none")
        types = {t["type"]: t["durable"] for t in client.call("actor.types")}
        self.assertEqual(types, {"cart": "none", "counter": "fsync", "ticker": "fsync"})


if __name__ == "__main__":
    unittest.main()
