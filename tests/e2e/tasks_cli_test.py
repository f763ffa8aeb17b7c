"""ergon task, queue, cron and audit against a real server with a store: output, exit status, and what a crash does."""
import datetime
import json
import os
import signal
import unittest
import zoneinfo

from harness import INTERRUPTED, LIMIT, LIMITED, NOT_FOUND, OK, REMOTE, TIMEOUT, USAGE, KeptTest, eventually, run_ergon

HOUR = "1h"


class TasksTest(KeptTest):
    def setUp(self):
        super().setUp()
        self.start()

    def json(self, *arguments, status=OK, **more):
        return json.loads(self.ergon(*arguments, "--json", status=status, **more))

    def submit(self, *arguments):
        return self.ergon("task", "submit", *arguments).strip()

    def in_time(self, act):
        """With a limit for `act`; with a longer one where the machine is too busy to ask within it."""
        for limit in "100ms", "2s":
            try:
                return act(limit)
            except (AssertionError, ValueError):
                pass
        return act("20s")

    # ---- coming in ----

    def test_submit(self):
        self.assertRegex(self.ergon("task", "submit", "echo", "hi"), r"\At[0-9a-z]+\n\Z")
        told = self.json("task", "submit", "echo", "hi", "--task-key", "k")
        self.assertEqual((told["durable"], told["duplicate"]), ("fsync", False))
        again = self.json("task", "submit", "echo", "other", "--task-key", "k")
        self.assertEqual((again["id"], again["duplicate"]), (told["id"], True))
        self.assertEqual(self.json("task", "submit", "echo", "--durable", "none")["durable"], "none")
        said = self.complaint("task", "submit", "echo", "--durable", "replicated", status=REMOTE)
        self.assertIn("STORE: durable: replicated needs a store on PostgreSQL", said)

    def test_a_time_in_words(self):
        zone = zoneinfo.ZoneInfo("Asia/Tokyo")
        days = [datetime.datetime.now(zone)]
        due = self.json("task", "get", self.submit("echo", "--at", "tomorrow 9:00", "--zone", zone.key))["due"]
        days.append(datetime.datetime.now(zone))  # it may be midnight
        nine = [datetime.datetime.combine(day.date() + datetime.timedelta(1), datetime.time(9), zone) for day in days]
        self.assertIn(due, [moment.timestamp() * 1000 for moment in nine])
        self.assertEqual(self.json("task", "get", self.submit("echo", "--in", "1h"))["state"], "delayed")
        for options, said in ((("--at", "25:00"), "'25:00' is no moment"), (("--in", "soon"), "option --in"), (("--in", "1s", "--delay", "1s"), "give one"),
                              (("--zone", "UTC"), "--at"), (("--at", "09:00", "--zone", "Nowhere"), "no time zone 'Nowhere'")):
            self.assertIn(said, self.complaint("task", "submit", "echo", *options, status=USAGE))

    def test_submit_and_wait(self):
        self.assertEqual(self.ergon("task", "submit", "--wait", "echo", "hi"), "hi")
        self.assertEqual(self.ergon("task", "submit", "-w", "echo", "[1, 2]"), "[1,2]\n")
        task = self.json("task", "submit", "-w", "flaky", "2", "--retries", "1", "--backoff", "1ms")
        self.assertEqual((task["state"], task["attempt"], task["result"]), ("done", 2, 2))

    def test_the_status_says_how_it_ended(self):
        said = self.complaint("task", "submit", "-w", "fail", "NO_SPACE", "full", status=REMOTE)
        self.assertRegex(said, r"\Aergon: t\w+: failed: NO_SPACE: full\n\Z")
        said = self.complaint("task", "submit", "-w", "sleep", HOUR, "--deadline", "10ms", status=TIMEOUT)
        self.assertRegex(said, r"\Aergon: t\w+: expired: DEADLINE: .*\n\Z")
        self.complaint("task", "submit", "-w", "fail", "NOT_FOUND", "no", status=NOT_FOUND)

        def waits_in_vain(limit):
            said = self.complaint("task", "submit", "-w", "--timeout", limit, "sleep", HOUR, status=TIMEOUT)
            self.assertRegex(said, r"\Aergon: t\w+ has not ended in time; ergon task wait t\w+ waits on\n\Z")
        self.in_time(waits_in_vain)

    def test_what_is_refused(self):
        self.complaint("task", "submit", "no.such", status=NOT_FOUND)
        for beyond in "10", "-1":
            self.assertIn("from 0 to 9", self.complaint("task", "submit", "--priority", beyond, "echo", status=USAGE))
        self.assertIn("at most 213503d", self.complaint("task", "submit", "--delay", "99999999d", "echo", status=USAGE))
        self.assertIn("--after", self.complaint("task", "submit", "--after", ",", "echo", status=USAGE))
        self.assertIn("parked", self.complaint("task", "list", "--state", "ready", status=REMOTE))
        self.assertIn("of 1 to 256 bytes", self.complaint("task", "submit", "--limit", "k" * 257 + "=1", "echo",
                                                          status=REMOTE))
        self.complaint("cron", "put", "c", "@daily", "echo", "--delay", "1s", status=USAGE)
        self.complaint("task", "get", "t0000000000001", status=NOT_FOUND)
        self.complaint("task", "watch", "t0000000000001", status=NOT_FOUND)
        self.complaint("queue", "pause", "no.such", status=NOT_FOUND)

    def test_call(self):
        self.assertEqual(self.ergon("task", "call", "sum", "1", "2", "--limit", "k=1"), "3\n")
        self.complaint("task", "call", "--deadline", "10ms", "sleep", HOUR, status=TIMEOUT)

    def test_many(self):
        lines = "".join(f'["echo", [{n}]]\n' for n in range(1200))
        ids = self.ergon("task", "submit", "--many", "-", "--priority", "7", stdin=lines.encode()).split()
        self.assertEqual(len(set(ids)), 1200)
        ended = self.json("task", "wait", *ids[1000:])["ended"]
        self.assertEqual({t["priority"] for t in ended}, {7})
        self.assertEqual(self.ergon("task", "get", "--result", ids[777]), "777\n")

    def test_the_wrong_ones_of_many_are_named(self):
        path = os.path.join(self.folder, "many")
        with open(path, "w") as f:
            f.write('["echo", [1]]\n{"method": "echo", "params": [2], "options": {"priority": 3}}\n'
                    '["no.such"]\n\nnot JSON\n["echo", [3], {"prioritee": 1}]\n["echo", [4]]\n'
                    '{"method": "echo", "parms": [5]}\n')
        status, out, err = run_ergon(self.url, "task", "submit", "--many", path)
        self.assertEqual((status, len(out.split())), (REMOTE, 3))
        self.assertEqual(sorted(line.split(":")[2] for line in err.splitlines()[:-1]), ["3", "5", "6", "8"])
        self.assertIn("no method 'no.such'; ergon methods", err)
        self.assertIn("prioritee", err)
        self.assertIn("parms", err)
        self.assertNotIn("of the list", err)
        self.assertTrue(err.endswith("ergon: 3 submitted, 4 refused\n"), err)
        results = [self.ergon("task", "wait", "--result", id) for id in out.decode().split()]
        self.assertEqual(results, ["1\n", "2\n", "4\n"])

    # ---- following ----

    def test_wait(self):
        done, failed, open_ = self.submit("echo"), self.submit("fail", "ODD", "not today"), self.submit("sleep", HOUR)
        self.assertEqual(self.ergon("task", "wait", done), f"{done} done\n")
        self.assertEqual(self.ergon("task", "wait", done, failed, status=REMOTE),
                         f"{done} done\n{failed} failed ODD: not today\n")
        self.assertEqual(self.ergon("task", "wait", "--any", open_, done), f"{done} done\n")

        def waits_in_vain(limit):
            got = self.json("task", "wait", done, open_, "--timeout", limit, status=TIMEOUT)
            self.assertEqual(([t["id"] for t in got["ended"]], got["open"]), ([done], [open_]))
        self.in_time(waits_in_vain)

    def test_watch_and_history(self):
        id = self.submit("progress", "2", "1ms")
        self.ergon("task", "wait", id)
        lines = self.ergon("task", "watch", id).splitlines()
        self.assertEqual([line.split()[1] for line in lines],
                         ["submitted", "started", "progress", "partial", "progress", "partial", "done"])
        events = [json.loads(line) for line in self.ergon("task", "watch", "--json", "--from", "3", id).splitlines()]
        self.assertEqual([e["seq"] for e in events], [3, 4, 5, 6, 7])
        self.assertEqual([e["data"] for e in events if e["event"] == "partial"], [1, 2])
        self.assertEqual(len(self.json("task", "get", "--history", id)["history"]), 7)

    def test_an_interrupted_watch_leaves_the_task_alone(self):
        id = self.submit("sleep", HOUR)
        watch = self.background("task", "watch", id)
        self.assertIn("submitted", watch.stdout.readline())
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(LIMIT), INTERRUPTED)
        self.assertIn(self.json("task", "get", id)["state"], ("queued", "assigned", "running", "parked"))

    def test_get(self):
        id = self.submit("echo", "later", "--delay", HOUR)
        shown = self.ergon("task", "get", id)
        self.assertRegex(shown, r"(?m)^state +delayed$")
        self.assertRegex(shown, r"(?m)^due +in (59|60) m$")
        self.assertIn("no result yet", self.complaint("task", "get", "--result", id, status=REMOTE))
        self.assertEqual(self.json("task", "get", id)["method"], "echo")

    def test_explain(self):
        holder = self.submit("sleep", HOUR, "--limit", "disk=1")
        id = self.submit("echo", "--limit", "disk=1")
        eventually(lambda: self.json("task", "explain", id)["reason"] == "limit", "it waits for its limit")
        told = self.ergon("task", "explain", id).splitlines()
        self.assertTrue(told[0].startswith(f"{id}: 1 of at most 1 tasks of limit \"disk\" run"), told)
        self.assertIn(f"running  {holder}", told)

    def test_list(self):
        ids = [self.submit("echo", str(n)) for n in range(5)]
        self.ergon("task", "wait", *ids)
        other = self.submit("fail", "ODD", "no", "--tenant", "ada")
        self.ergon("task", "wait", other, status=REMOTE)
        self.assertEqual([t["id"] for t in self.json("task", "list")], [other, *reversed(ids)])
        self.assertEqual([t["id"] for t in self.json("task", "list", "--method", "echo", "-n", "2")], [ids[4], ids[3]])
        self.assertEqual([t["id"] for t in self.json("task", "list", "--tenant", "ada")], [other])
        self.assertEqual(self.json("task", "list", "--state", "dead"), [])
        self.assertEqual(self.json("task", "list", "--older", HOUR), [])
        table = self.ergon("task", "list", "--state", "failed").splitlines()
        self.assertEqual(table[0].split()[:4], ["id", "method", "state", "attempt"])
        self.assertEqual(table[1].split()[:5], [other, "fail", "failed", "1", "ada"])

    def test_columns_stand_below_each_other_in_any_script(self):
        for tenant in "ada", "ключ", "鍵", "\x1b[31m":
            self.submit("echo", "--delay", HOUR, "--tenant", tenant)
        head, *rows = self.ergon("task", "list").splitlines()
        wide = [row.replace("鍵", "鍵 ") for row in rows]  # two columns of a terminal
        for row in wide:
            self.assertRegex(row[head.index("created") - 1:], r"^ (now|\d+ s ago)", rows)
        self.assertNotIn("\x1b", "".join(rows))

    def test_cancel_and_retry(self):
        id = self.submit("echo", "--delay", HOUR)
        self.assertEqual(self.ergon("task", "cancel", id), f"{id} cancelled\n")
        self.assertIn("had ended before, as cancelled", self.complaint("task", "cancel", id, status=REMOTE))
        shared = self.submit("sleep", HOUR, "--coalesce", "c")
        self.submit("sleep", HOUR, "--coalesce", "c")
        self.assertIn("others still want it", self.complaint("task", "cancel", shared, status=REMOTE))
        self.assertEqual(self.json("task", "get", id)["state"], "cancelled")
        self.assertTrue(self.ergon("task", "retry", id).startswith(id))
        self.assertEqual(self.ergon("task", "wait", id), f"{id} done\n")

    def test_change_and_run_now(self):
        id = self.submit("echo", "hi", "--delay", HOUR)
        self.assertRegex(self.ergon("task", "change", "--priority", "9", "--delay", "2h", id),
                         rf"\A{id} delayed, priority 9, .+\n\Z")
        self.crash()
        task = self.json("task", "get", id)
        self.assertEqual((task["priority"], task["state"]), (9, "delayed"))
        self.assertEqual(self.json("task", "run-now", id)["due"], None)
        self.assertEqual(self.ergon("task", "wait", id), f"{id} done\n")
        self.assertIn("only a task that waits", self.complaint("task", "change", "--priority", "1", id, status=REMOTE))
        self.assertIn("nothing is to change", self.complaint("task", "change", id, status=USAGE))

    def test_steering_by_a_filter(self):
        for method in "echo", "echo", "hash":
            self.submit(method, "--delay", HOUR)
        self.assertEqual(self.ergon("task", "cancel", "--state", "delayed", "--method", "echo", "--dry-run"),
                         "2 tasks would be cancelled\n")
        self.assertEqual(self.ergon("task", "cancel", "--method", "echo", "--newer", HOUR), "2 tasks cancelled\n")
        self.crash()
        self.assertEqual(len(self.json("task", "list", "--state", "cancelled")), 2)
        self.assertEqual(self.json("task", "retry", "--state", "cancelled"),
                         {"matched": 2, "retried": 2, "dry_run": False})
        eventually(lambda: len(self.json("task", "list", "--state", "done")) == 2, "they are done")
        done = self.json("task", "list", "--state", "done")[0]["id"]
        self.assertEqual(self.ergon("task", "forget", done), f"{done} forgotten\n")
        self.complaint("task", "get", done, status=NOT_FOUND)
        self.assertEqual(self.ergon("task", "forget", "--all"), "1 task forgotten\n")
        self.crash()
        self.assertEqual(len(self.json("task", "list")), 1)
        self.assertTrue(self.json("audit")["balanced"])

    # ---- across a crash ----

    def test_wait_and_watch_go_on_after_a_crash(self):
        id = self.submit("sleep", HOUR)
        wait = self.background("task", "wait", id)
        eventually(lambda: any(c["polls"] for c in self.json("connection", "list")), "it waits")
        watch = self.background("task", "watch", id)
        self.assertIn("submitted", watch.stdout.readline())
        self.assertIn("started", watch.stdout.readline())
        self.crash()
        rest = [watch.stdout.readline().split()[1:4] for _ in range(2)]
        self.assertEqual(rest, [["interrupted", "attempt", "1"], ["started", "attempt", "2"]])
        self.ergon("task", "cancel", id)
        out, err = wait.communicate(timeout=LIMIT)
        self.assertEqual((wait.returncode, out), (REMOTE, f"{id} cancelled\n"), err)
        self.assertIn("it is tried again", err)
        self.assertIn("cancelled", watch.stdout.readline())
        self.assertEqual((watch.wait(LIMIT), watch.stdout.read()), (REMOTE, ""))

    # ---- queues, crons, accounts ----

    def test_queues(self):
        self.ergon("task", "submit", "-w", "echo", "hi")
        self.assertEqual(self.ergon("queue", "pause", "echo"), "echo paused\n")
        id = self.submit("echo", "hi")
        eventually(lambda: self.json("task", "explain", id)["reason"] == "paused", "it waits for the queue")
        table = [line.split() for line in self.ergon("queue", "list").splitlines()]
        self.assertEqual(table[0][:4], ["method", "kind", "state", "queued"])
        self.assertEqual(table[1][:3], ["echo", "stepped", "paused"])
        self.crash()
        self.assertTrue(self.json("queue", "list")[0]["paused"])
        self.assertIn("paused", self.ergon("queue", "explain", "echo").splitlines()[0])
        self.assertEqual(self.ergon("queue", "resume", "echo"), "echo open\n")
        self.assertEqual(self.ergon("task", "wait", id), f"{id} done\n")
        self.assertEqual(self.ergon("queue", "drain", "echo"), "echo draining\n")
        self.complaint("task", "submit", "echo", status=LIMITED)
        self.crash()
        self.complaint("task", "submit", "echo", status=LIMITED)
        self.assertEqual(self.ergon("queue", "resume", "echo"), "echo open\n")
        self.crash()
        self.submit("echo")

    def test_crons(self):
        told = self.json("cron", "put", "nightly", "30 3 * * *", "echo", "night", "--zone", "Europe/Berlin",
                         "--jitter", "5s", "--retries", "2")
        self.assertEqual(told["name"], "nightly")
        self.assertRegex(self.ergon("cron", "put", "soon", "every 1h", "echo"), r"\Asoon next \S+ ?\S+\n\Z")
        self.crash()
        crons = {c["name"]: c for c in self.json("cron", "list")}
        self.assertEqual((crons["nightly"]["zone"], crons["nightly"]["next"]), ("Europe/Berlin", told["next"]))
        self.assertEqual(crons["nightly"]["params"], ["night"])
        self.assertIn("30 3 * * *", self.ergon("cron", "list"))
        self.assertEqual(self.ergon("cron", "delete", "nightly", "soon"), "")
        self.complaint("cron", "delete", "nightly", status=NOT_FOUND)
        self.assertIn("minute", self.complaint("cron", "put", "bad", "61 * * * *", "echo", status=REMOTE))

    def test_a_cron_fires(self):
        self.ergon("cron", "put", "often", "every 1s", "echo", "tick")
        eventually(lambda: self.json("task", "list", "--state", "done"), "a task of the cron is done")
        self.assertGreaterEqual(self.json("cron", "list")[0]["fired"], 1)

    def test_audit(self):
        self.ergon("task", "submit", "-w", "echo")
        self.submit("echo", "--delay", HOUR)
        self.crash()
        told = self.json("audit")
        self.assertTrue(told["balanced"], told)
        self.assertEqual((told["kept"]["submitted"], told["kept"]["done"], told["kept"]["open"]), (2, 1, 1))
        lines = self.ergon("audit").splitlines()
        self.assertEqual((lines[0].split()[:2], lines[-1]), (["of", "submitted"], "balanced"))


if __name__ == "__main__":
    unittest.main()
