#!/usr/bin/python3
"""The feed's events in /api/live: as they are wanted, by the rights of the session, and true about what is missing."""
import os
import unittest

from admin_client import Admin, Stream
from harness import Server, eventually, scratch, token_of, write_tokens


class LiveTest(unittest.TestCase):
    def open(self, *flags, **tokens):
        if tokens:
            flags += ("--tokens", write_tokens(scratch(self.addCleanup), tokens))
        self.server = Server(*flags, "--admin", "http://127.0.0.1:0")
        self.addCleanup(self.server.discard)
        admin = Admin(self.server.process.stdout.readline().strip())
        eventually(lambda: admin.text("/readyz")[0] == 200, "/readyz says that the server has started")
        return admin

    def look(self, admin, token=None):
        """A stream of a session, which is opened if there is none."""
        if not admin.cookie:
            self.assertEqual(admin.sign_in(token)[0], 200)
        connection = admin.connection()
        self.addCleanup(connection.close)
        connection.request("GET", "/api/live", headers={"Cookie": admin.cookie})
        stream = Stream(connection.getresponse())
        stream.number = stream.next("stream")["stream"]
        return stream

    @staticmethod
    def say(admin, stream, follow, number=None):
        """The status of the answer."""
        return admin.api("POST", "/api/live", {"stream": stream.number if number is None else number, "follow": follow})[0]

    def follow(self, admin, follow, token=None):
        stream = self.look(admin, token)
        self.assertEqual(self.say(admin, stream, follow), 200)
        return stream

    def connect(self, name=None):
        client = self.server.connect()
        self.addCleanup(client.close)
        if name:
            client.call("server.auth", token_of(name))
        return client


class Follow(LiveTest):
    def until(self, stream, good, mark=None):
        """Events of pages with this mark, up to the first that is good; and the last page."""
        seen = []
        while True:
            page = stream.next("task")
            self.assertNotIn("error", page)
            if page["mark"] == mark:
                seen += page["events"]
            if any(good(e) for e in seen):
                return seen, page

    def test_what_is_wanted_comes(self):
        admin = self.open()
        stream = self.follow(admin, {"method": "sum", "mark": 7, "after": "oldest"})
        client = self.connect()
        client.call("task.submit", "echo", [1])
        task = client.call("task.submit", "sum", [1, 2])["id"]
        seen, page = self.until(stream, lambda e: e["event"] == "done", 7)
        self.assertEqual({(e["method"], e["id"]) for e in seen}, {("sum", task)}, "nothing that was not wanted")
        self.assertEqual([e["event"] for e in seen], ["submitted", "started", "done"])
        self.assertIsNone(page["gap"])
        # Other events, from where that was: nothing twice, and nothing left out, though nobody followed meanwhile.
        self.assertEqual(self.say(admin, stream, None), 200)
        between = client.call("task.submit", "sum", [3])["id"]
        client.call("task.wait", between)
        self.assertEqual(self.say(admin, stream, {"method": "sum", "after": page["next"], "mark": 8}), 200)
        seen, page = self.until(stream, lambda e: e["event"] == "done", 8)
        self.assertEqual([(e["event"], e["id"]) for e in seen], [(name, between) for name in ("submitted", "started", "done")])
        # One task, by its id.
        self.assertEqual(self.say(admin, stream, {"id": task, "after": "oldest", "mark": 9}), 200)
        seen, _ = self.until(stream, lambda e: e["event"] == "done", 9)
        self.assertEqual([e["id"] for e in seen], [task] * 3)
        # Another stream has its own.
        other = self.follow(admin, {"state": "done", "after": "oldest"})
        seen, _ = self.until(other, lambda e: e["id"] == between)
        self.assertEqual({e["event"] for e in seen}, {"done"})

    def test_what_is_missing_is_counted(self):
        admin = self.open("--tasks-events", "64")
        stream = self.follow(admin, {"after": "oldest"})
        client = self.connect()
        for _ in range(8):
            client.call("task.submit_many", [["echo", [1]]] * 400, {"durable": "none"})
        # More comes with each page, so that the end is seen for certain.
        ends, shown, missed, first, last = set(), 0, 0, None, 0
        while True:
            ends.add(client.call("task.submit", "sum", [1])["id"])
            page = stream.next("task")
            self.assertIn(page["gap"], (None, "overrun", "behind"))
            missed += page["missed"] or 0
            shown += len(page["events"])
            if page["events"]:
                first = page["events"][0]["seq"] - missed if first is None else first
                last = page["events"][-1]["seq"]
            if any(e["id"] in ends and e["event"] == "done" for e in page["events"]):
                break
        self.assertGreater(missed, 0, "64 events are kept, of thousands")
        self.assertEqual(shown + missed, last - first + 1, "each is shown or counted")

    def test_more_than_is_shown_is_passed_over_and_counted(self):
        admin = self.open("--tasks-events", "1000000")
        client = self.connect()
        for _ in range(4):
            client.call("task.submit_many", [["echo", [1]]] * 500, {"durable": "none"})
        eventually(lambda: client.call("queue.list")[0]["done"] == 2000, "all have ended")
        stream = self.follow(admin, {"after": "oldest"})
        pages = [stream.next("task") for _ in range(2)]
        self.assertEqual([(len(p["events"]), p["gap"]) for p in pages], [(100, None)] * 2, "what is there is told")
        over = stream.next("task")
        self.assertEqual((over["events"], over["gap"]), ([], "behind"))
        last = client.call("task.submit", "sum", [1])["id"]
        after = stream.next("task")["events"][0]
        self.assertEqual((after["id"], after["event"]), (last, "submitted"), "then it goes on with what happens")
        self.assertEqual(over["missed"], after["seq"] - pages[-1]["events"][-1]["seq"] - 1, "all that lies between is counted")

    def test_a_server_that_was_started_anew_is_told(self):
        store = os.path.join(scratch(self.addCleanup), "store")
        admin = self.open("--store", store)
        stream = self.follow(admin, {"after": "oldest"})
        self.connect().call("task.submit", "echo", [1])
        _, page = self.until(stream, lambda e: e["event"] == "done")
        self.server.__exit__(None)
        admin = self.open("--store", store)
        stream = self.follow(admin, {"after": page["next"]})
        self.connect().call("task.submit", "echo", [2])
        self.assertEqual(stream.next("task")["gap"], "restart")

    def test_what_is_no_stream_or_no_wish_is_refused(self):
        admin = self.open()
        stream = self.follow(admin, {})
        for follow, number, status in ((5, None, 400), ([], None, 400), ({}, "1", 400), ({}, None, 200), ({}, stream.number + 1, 404)):
            self.assertEqual(self.say(admin, stream, follow, number), status, (follow, number))
        other = Admin(admin.url.geturl())
        other.sign_in()
        self.assertEqual(self.say(other, stream, {}), 404, "another session's")
        self.assertEqual(self.say(Admin(admin.url.geturl()), stream, {}), 401)
        self.assertEqual(admin.api("POST", "/api/live", {"stream": stream.number, "follow": {}}, {"X-Ergon-CSRF": "0" * 64})[0], 403)
        self.assertEqual(self.say(admin, stream, {"colour": "red", "mark": [1]}), 200)
        page = stream.next("task")
        self.assertEqual((page["error"]["code"], page["mark"]), ("BAD_PARAMS", [1]))

    def test_an_answer_that_waits_ends_with_its_stream(self):
        """What the server waits with is given up when its page follows something else, or goes."""
        admin = self.open()
        stream = self.follow(admin, {"method": "sum"})
        client = self.connect()
        polls = lambda: sum(c["polls"] for c in client.call("connection.list")["connections"])
        eventually(lambda: polls() == 1, "the server waits for events")
        for method in ("echo", "hash", "sum"):
            self.assertEqual(self.say(admin, stream, {"method": method}), 200)
            eventually(lambda: polls() == 1, "it waits for others")
        self.assertEqual(self.say(admin, stream, None), 200)
        eventually(lambda: polls() == 0, "it waits no more")
        self.assertEqual(self.say(admin, stream, {}), 200)
        eventually(lambda: polls() == 1, "it waits again")
        self.assertEqual(admin.api("DELETE", "/api/session")[0], 200)
        eventually(lambda: polls() == 0, "the session took it along")


class Rights(LiveTest):
    def test_each_sees_its_own(self):
        admin = self.open(alice="task.events,task.submit,echo", bob="server.info,task.submit,echo")
        stream = self.follow(admin, {"after": "oldest"}, token_of("alice"))
        self.connect("bob").call("task.submit", "echo", [1])
        mine = self.connect("alice").call("task.submit", "echo", [2])["id"]
        seen = []
        while not any(e["event"] == "done" for e in seen):
            seen += stream.next("task")["events"]
        self.assertEqual({(e["tenant"], e["id"]) for e in seen}, {("alice", mine)})
        other = Admin(admin.url.geturl())
        self.assertEqual(self.follow(other, {}, token_of("bob")).next("task")["error"]["code"], "DENIED")


if __name__ == "__main__":
    unittest.main()
