"""What is in a task is seen by those who may: not by a role that lists and gets tasks, by any way in; and hostile parameters are text."""
import os
import unittest

from admin_client import Admin
from bare_worker import Worker
from harness import RemoteError, Server, eventually, make_token, scratch

CONFIG = """
tokens_file: {folder}/tokens
store: {folder}/store
listen: [{{url: "ergon://127.0.0.1:0", auth: token}}]
admin: {{listen: [{{url: "http://127.0.0.1:0", auth: token}}]}}
roles:
  - {{name: looks, members: ["token:looks"], methods: [task.get, task.list, task.wait, task.watch, task.events, task.explain, cron.list, queue.list],
     tenants: [ada]}}
  - {{name: calls, members: ["token:calls"], methods: [task.get, task.list, echo], tenants: [ada]}}
  - {{name: sees, members: ["token:sees"], methods: ["task.*"], tenants: [ada]}}
"""
NEEDLE = "needle-17"
HOSTILE = "\x1b[31m<script>\u202e\n" + NEEDLE


class Contents(unittest.TestCase):
    def setUp(self):
        folder = scratch(self.addCleanup)
        self.tokens = {name: make_token(os.path.join(folder, "tokens"), name, "--methods", methods)
                       for name, methods in (("ada", "*,worker.offer.*"), ("looks", "server.whoami"), ("calls", "server.whoami"), ("sees", "server.whoami"))}
        path = os.path.join(folder, "ergond.yaml")
        with open(path, "w") as f:
            f.write(CONFIG.format(folder=folder))
        self.server = Server("--config", path, listen=())
        self.addCleanup(self.server.discard)
        self.server.urls = [self.server.process.stdout.readline().strip()]
        self.admin_url = self.server.process.stdout.readline().strip()
        self.ada = self.known("ada")
        self.task = self.ada.call("task.submit", "echo", [HOSTILE, 4711])["id"]
        self.ada.call("task.wait", self.task)
        self.ada.call("cron.put", "nightly", "@yearly", "echo", [NEEDLE])

    def known(self, name):
        client = self.server.connect(self.server.urls[0])
        self.addCleanup(client.close)
        client.call("server.auth", self.tokens[name])
        return client

    def questions(self):
        everything = {"result": True, "history": True, "params": True, "params_text": True}
        return [("task.get", self.task, everything), ("task.wait", self.task), ("task.watch", self.task, {"timeout": 0}),
                ("task.list", {"params_text": True}), ("task.list", {"contains": NEEDLE}), ("task.list", {"contains": "4711"}),
                ("task.events", {"after": "oldest", "timeout": 0}), ("task.explain", self.task), ("cron.list",), ("queue.list",)]

    def test_a_role_that_only_looks_sees_no_contents(self):
        looks, admin = self.known("looks"), Admin(self.admin_url)
        eventually(lambda: admin.text("/readyz")[0] == 200, "/readyz says that the server has started")
        self.assertEqual(admin.sign_in(self.tokens["looks"])[0], 200)
        self.assertFalse(looks.call("server.whoami")["params"])
        for method, *params in self.questions():
            status, by_page = admin.call(method, *params)
            self.assertEqual(status, 200, method)
            for answer in (looks.call(method, *params), by_page["result"]):
                for kept in ("needle", "4711", "script"):
                    self.assertNotIn(kept, str(answer), (method, params))
        shown = looks.call("task.get", self.task, {"params": True})
        self.assertEqual((shown["params"], shown["params_hidden"], shown["result"], shown["result_hidden"]), (None, "denied", None, True))
        self.assertEqual(shown["state"], "done")

    def test_who_may_call_the_method_sees_results_alone(self):
        shown = self.known("calls").call("task.get", self.task, {"params_text": True})
        self.assertEqual((shown["result"], shown["params_text"], shown["params_hidden"]), ([HOSTILE, 4711], None, "denied"))
        self.assertNotIn("result_hidden", shown)

    def test_the_right_shows_all_and_hostile_parameters_are_text(self):
        sees = self.known("sees")
        self.assertTrue(sees.call("server.whoami")["params"])
        shown = sees.call("task.get", self.task, {"params": True, "params_text": True})
        self.assertEqual(shown["params"], [HOSTILE, 4711])
        self.assertEqual(shown["params_text"], '["\\u001b[31m<script>\\u202e\\n' + NEEDLE + '", 4711]')
        for text, found in ((NEEDLE, 1), ("4711", 1), ("471", 0), ("needle-18", 0)):
            self.assertEqual(len(sees.call("task.list", {"contains": text})["tasks"]), found, text)
        for text in ("", "x" * 257):
            with self.assertRaises(RemoteError) as refused:
                sees.call("task.list", {"contains": text})
            self.assertEqual(refused.exception.code, "BAD_PARAMS")

    def test_tracebacks_are_contents_and_text(self):
        with Worker(self.server, "w.fails", url=self.server.urls[0], token=self.tokens["ada"], name="\x1b]0;name", host="h\nost") as worker:
            task = self.ada.call("task.submit", "w.fails", [])["id"]
            worker.fail(worker.take()[0], {"code": "BROKEN", "message": "it broke", "traceback": "line 1 \x1b[31m<b>\n\tneedle\0" + "x" * 20000})
            self.ada.call("task.wait", task)
        questions = [("task.get", task, {"attempts": True, "history": True}), ("task.watch", task, {"timeout": 0}),
                     ("task.events", {"after": "oldest", "timeout": 0, "id": task})]
        kept, looked = ([str(self.known(name).call(*question)) for question in questions] for name in ("sees", "looks"))
        for shown, hidden in zip(kept, looked):
            self.assertIn("x" * 16000, shown)
            self.assertNotIn("x" * 100, hidden)
            self.assertNotIn("\\x1b", shown)
        attempt, = self.known("looks").call(*questions[0])["attempts"]
        self.assertEqual((attempt["outcome"], attempt["error"], attempt["traceback"], attempt["traceback_size"]), ("failed", "BROKEN: it broke", None, 16384))
        self.assertEqual((attempt["name"], attempt["host"]), (" ]0;name", "h ost"))

    def test_secret_parameters_are_shown_to_nobody(self):
        worker = self.known("ada")
        worker.call("worker.register", ["w.secret"], {"secret": True, "slots": 1})
        task = self.ada.call("task.submit", "w.secret", [NEEDLE], {"delay": "1h"})["id"]
        shown = self.ada.call("task.get", task, {"params": True, "params_text": True})
        self.assertEqual((shown["params"], shown["params_text"], shown["params_hidden"]), (None, None, "secret"))
        self.assertEqual([t["id"] for t in self.ada.call("task.list", {"contains": NEEDLE})["tasks"]], [self.task])
        self.assertEqual({q["method"]: q["secret"] for q in self.ada.call("queue.list")}, {"echo": False, "w.secret": True})


if __name__ == "__main__":
    unittest.main()
