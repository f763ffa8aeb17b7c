"""The exit status of every command, in each case that ergon(1) promises one for: the same with --json and with -q."""
import os
import subprocess
import unittest

from harness import (AUTH, CONNECT, ERGON, LIMIT, LIMITED, NOT_FOUND, OK, REMOTE, TIMEOUT, USAGE, Server, eventually,
                     make_token, run_ergon, scratch)

HOUR = "1h"
NOBODY = "t0000000000001"
# How a task ends, and the status of who waits for it.
ENDS = {
    "done": (("echo", "hi"), OK),
    "failed": (("fail", "ODD", "not today"), REMOTE),
    "failed_busy": (("fail", "BUSY", "come again"), LIMITED),
    "failed_not_found": (("fail", "NOT_FOUND", "none"), NOT_FOUND),
    "failed_denied": (("fail", "DENIED", "no"), AUTH),
    "dead": (("fail", "BUSY", "come again", "--retries", "1", "--backoff", "1ms"), LIMITED),
    "late": (("sleep", HOUR, "--attempt-timeout", "10ms"), TIMEOUT),
    "expired": (("sleep", HOUR, "--deadline", "10ms"), TIMEOUT),
    "cancelled": (("sleep", HOUR), REMOTE),
}


class Statuses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = scratch(cls.addClassCleanup)
        cls.server = Server("--store", os.path.join(cls.folder, "tasks.db"),
                            listen=(f"unix://{cls.folder}/socket",))
        cls.addClassCleanup(cls.server.__exit__, None)
        cls.url = cls.server.urls[0]
        cls.ended = {name: cls.submit(*arguments) for name, (arguments, _) in ENDS.items()}
        run_ergon(cls.url, "task", "cancel", cls.ended["cancelled"])
        cls.ended["cut"] = cls.submit("echo", "x" * 100, "--keep-size", "10b")
        run_ergon(cls.url, "task", "wait", *cls.ended.values())
        cls.open = cls.submit("sleep", HOUR)

    @classmethod
    def submit(cls, *arguments):
        status, out, err = run_ergon(cls.url, "task", "submit", *arguments)
        assert status == OK, err
        return out.decode().strip()

    def expect(self, status, *arguments, url=None, **more):
        for mode in ((), ("--json",), ("-q",), ("--json", "-q")):
            with self.subTest(arguments=arguments, mode=mode):
                got, out, err = run_ergon(url or self.url, *mode, *arguments, **more)
                self.assertEqual(got, status, (out, err))

    def test_call(self):
        for words in (("call",), ("task", "call")):
            self.expect(OK, *words, "echo", "hi")
            self.expect(REMOTE, *words, "fail", "ODD", "not today")
            self.expect(REMOTE, *words, "sum", "three")
            self.expect(USAGE, *words)
            self.expect(USAGE, *words, "--nothing", "echo")
            self.expect(USAGE, *words, "echo", "@/nowhere")
            self.expect(AUTH, *words, "fail", "DENIED", "no")
            self.expect(TIMEOUT, *words, "--deadline", "10ms", "sleep", HOUR)
            self.expect(NOT_FOUND, *words, "no.such")
            self.expect(LIMITED, *words, "fail", "BUSY", "come again")
            self.expect(LIMITED, *words, "fail", "TOO_LARGE", "come smaller")
        self.expect(TIMEOUT, "call", "--timeout", "50ms", "sleep", HOUR)
        self.expect(OK, "call", "--notify", "echo")
        self.expect(USAGE, "call", "--notify", "--deadline", "1s", "echo")

    def test_how_a_task_ends(self):
        for name, (_, status) in ENDS.items():
            id = self.ended[name]
            self.expect(status, "task", "wait", id)
            self.expect(status, "task", "wait", "--result", id)
            self.expect(status, "task", "get", "--result", id)
            self.expect(status, "task", "watch", id)
            self.expect(status, "task", "watch", "--from", "1000", id)
            self.expect(status, "task", "wait", self.ended["done"], id)
            self.expect(status, "task", "wait", "--any", id, self.open)
            self.expect(OK, "task", "get", id)
            self.expect(OK, "task", "explain", id)

    def test_submit_and_wait(self):
        for name, (arguments, status) in ENDS.items():
            if name != "cancelled":
                self.expect(status, "task", "submit", "--wait", *arguments)
        self.expect(LIMITED, "task", "submit", "--wait", "--keep-size", "10b", "echo", "x" * 100)
        self.expect(TIMEOUT, "task", "submit", "--wait", "--timeout", "50ms", "sleep", HOUR)

    def test_a_result_that_is_not_kept(self):
        id = self.ended["cut"]
        self.expect(LIMITED, "task", "wait", "--result", id)
        self.expect(LIMITED, "task", "get", "--result", id)
        self.expect(OK, "task", "wait", id)
        self.expect(OK, "task", "get", id)

    def test_what_has_not_ended(self):
        self.expect(TIMEOUT, "task", "wait", "--timeout", "50ms", self.open)
        self.expect(TIMEOUT, "task", "wait", "--timeout", "50ms", self.ended["done"], self.open)
        self.expect(TIMEOUT, "task", "watch", "--timeout", "50ms", self.open)
        self.expect(REMOTE, "task", "get", "--result", self.open)

    def test_submit(self):
        self.expect(OK, "task", "submit", "echo")
        self.expect(NOT_FOUND, "task", "submit", "no.such")
        self.expect(USAGE, "task", "submit")
        self.expect(USAGE, "task", "submit", "--priority", "10", "echo")
        self.expect(REMOTE, "task", "submit", "--limit", "k" * 257 + "=1", "echo")
        self.expect(REMOTE, "task", "submit", "--many", "-", stdin=b'["echo"]\n["no.such"]\n')
        self.expect(OK, "task", "submit", "--many", "-", stdin=b'["echo"]\n')
        self.expect(USAGE, "task", "submit", "--many", "/nowhere")
        self.expect(OK, "queue", "drain", "progress")
        self.expect(LIMITED, "task", "submit", "progress", "1", "1ms")
        self.expect(REMOTE, "task", "submit", "--many", "-", stdin=b'["progress", [1, "1ms"]]\n')
        self.expect(OK, "queue", "resume", "progress")

    def test_what_steers_tasks(self):
        for words in (("get",), ("wait",), ("watch",), ("cancel",), ("retry",), ("explain",)):
            self.expect(NOT_FOUND, "task", *words, NOBODY)
            self.expect(NOT_FOUND, "task", *words, "no id")
            self.expect(USAGE, "task", *words)
        for _ in range(2):
            id = self.submit("sleep", HOUR)
            self.assertEqual(run_ergon(self.url, *["--json"] * _, "task", "cancel", id)[0], OK)
        self.expect(REMOTE, "task", "cancel", self.ended["done"])
        self.expect(REMOTE, "task", "cancel", self.ended["failed"], self.ended["done"])
        self.expect(OK, "task", "list")
        self.expect(OK, "task", "list", "--state", "running")
        self.expect(REMOTE, "task", "list", "--state", "ready")

    def test_the_first_failure_of_several(self):
        self.expect(NOT_FOUND, "queue", "resume", "no.such", "echo")
        self.expect(NOT_FOUND, "task", "run-now", NOBODY, self.ended["done"])
        self.expect(REMOTE, "task", "run-now", self.ended["done"], NOBODY)

    def test_queues_and_crons(self):
        self.expect(OK, "queue", "list")
        self.expect(OK, "queue", "explain", "echo")
        for word in ("explain", "pause", "drain", "resume"):
            self.expect(NOT_FOUND, "queue", word, "no.such")
            self.expect(USAGE, "queue", word)
        self.expect(OK, "queue", "pause", "compress")
        self.expect(OK, "queue", "resume", "compress")
        self.expect(NOT_FOUND, "queue", "pause", "compress", "no.such")
        self.expect(OK, "cron", "put", "nightly", "@daily", "echo")
        self.expect(OK, "cron", "list")
        self.expect(REMOTE, "cron", "put", "odd", "61 * * * *", "echo")
        self.expect(NOT_FOUND, "cron", "put", "odd", "@daily", "no.such")
        self.expect(USAGE, "cron", "put", "odd", "@daily")
        self.expect(NOT_FOUND, "cron", "delete", "nobody")
        for mode in ((), ("--json",)):
            run_ergon(self.url, "cron", "put", "weekly", "@weekly", "echo")
            self.assertEqual(run_ergon(self.url, *mode, "cron", "delete", "weekly")[0], OK)
            run_ergon(self.url, "cron", "put", "weekly", "@weekly", "echo")
            self.assertEqual(run_ergon(self.url, *mode, "cron", "delete", "nobody", "weekly")[0], NOT_FOUND)

    def test_what_asks_the_server(self):
        for words in (("ping",), ("info",), ("methods",), ("audit",)):
            self.expect(OK, *words)
            self.expect(USAGE, *words, "too much")
            self.expect(CONNECT, *words, url=f"unix://{self.folder}/nobody")
        self.expect(CONNECT, "ping", "--wait", "100ms", url=f"unix://{self.folder}/nobody")
        self.expect(CONNECT, "call", "echo", url=f"unix://{self.folder}/nobody")
        self.expect(CONNECT, "task", "submit", "echo", url=f"unix://{self.folder}/nobody")
        self.expect(USAGE, "ping", url="http://localhost")
        self.expect(USAGE, "no-such-command")
        self.expect(USAGE, "task")

    def test_who_is_not_allowed(self):
        tokens = os.path.join(self.folder, "tokens")
        token = make_token(tokens, "ada", "--methods", "echo")
        config = os.path.join(self.folder, "ergond.yaml")
        with open(config, "w") as f:
            f.write(f"tokens_file: {tokens}\nlimits: {{penalty: off}}\nlisten:\n  - url: ergon://127.0.0.1:0\n"
                    "    auth: token\n")
        with Server("--config", config, listen=()) as server:
            url = server.process.stdout.readline().strip()
            ada = {"ERGON_TOKEN": token}
            self.expect(OK, "call", "echo", url=url, env=ada)
            for words in (("call", "sum"), ("task", "submit", "sum"), ("task", "call", "sum"), ("info",), ("methods",),
                          ("audit",), ("queue", "list"), ("queue", "pause", "echo"), ("cron", "list"),
                          ("cron", "delete", "x"), ("task", "list"), ("task", "cancel", NOBODY)):
                self.expect(AUTH, *words, url=url, env=ada)
                self.expect(AUTH, *words, url=url)
                self.expect(AUTH, *words, url=url, env={"ERGON_TOKEN": "wrong"})
            self.expect(OK, "ping", url=url)

    def test_a_connection_that_breaks(self):
        with Server(listen=(f"unix://{self.folder}/other",)).until_killed() as server:
            with subprocess.Popen([ERGON, "-s", server.urls[0], "call", "sleep", HOUR],
                                  stderr=subprocess.PIPE) as call, server.connect() as client:
                eventually(lambda: any(e["parked"] for e in client.call("server.topology")["executors"]), "it runs")
                server.process.kill()
                call.communicate(timeout=LIMIT)
            self.assertEqual(call.returncode, CONNECT)


if __name__ == "__main__":
    unittest.main()
