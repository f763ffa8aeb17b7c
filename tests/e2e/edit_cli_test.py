"""What `ergon task get`, `list` and `edit` make of the parameters and attempts that a server shows; the server does what the test says."""
import json
import os
import pty
import socket
import stat
import subprocess
import threading
import unittest

from harness import AUTH, CONNECT, ERGON, LIMIT, NO_CONTEXTS, OK, REMOTE, USAGE, run_ergon, scratch
from scripted import Peer, Scripted

TASK = {"id": "t1", "method": "mail", "state": "failed", "attempt": 2, "error": "EXIT: status 1"}
HOSTILE = "\x1b[31m\u202e"


class Answering(Peer):
    def __init__(self, sock, test):
        self.test = test
        super().__init__(sock)

    def asked(self, msgid, method, params):
        self.test.asked.append((method, params))
        answer = self.test.answers.get(method)
        if isinstance(answer, list):
            answer = answer.pop(0)
        if self.test.closes:
            self.test.server.listener.shutdown(socket.SHUT_RDWR)
            self.test.server.listener.close()
        if isinstance(answer, str):
            self.refuse(msgid, answer)
        else:
            self.reply(msgid, answer)


class ContentsTest(unittest.TestCase):
    """Each connection is answered out of `answers`: by method a result, an error, or a list of these, one for each request."""

    def setUp(self):
        self.asked, self.answers, self.closes = [], {}, False
        self.folder = scratch(self.addCleanup)
        self.server = Scripted(lambda sock: Answering(sock, self))
        self.server.listener.settimeout(None)
        self.addCleanup(self.server.listener.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                self.server.peer()
        except OSError:
            pass

    def ergon(self, *arguments, status=OK, **more):
        got, out, err = run_ergon(self.server.url, *arguments, **more)
        self.assertEqual(got, status, (arguments, out, err))
        return out.decode(), err

    def shows(self, *arguments, **task):
        self.answers["task.get"] = {**TASK, **task}
        return self.ergon("task", "get", *arguments, "t1")[0]


class Get(ContentsTest):
    def test_parameters(self):
        out = self.shows(params_text='["ann", h\'89\' (1 bytes)]', params_size=9, params_hidden=None)
        self.assertRegex(out, r"""(?m)^params +\["ann", h'89' \(1 bytes\)\]$""")
        self.assertEqual(self.asked[-1], ("task.get", ["t1", {"params_text": True, "attempts": True}]))
        self.assertRegex(self.shows(params_text='["aaa…', params_size=70000, params_hidden=None), r'(?m)^params +\["aaa… \(68k; --params: all\)$')
        out = self.shows(params_text=f'["{HOSTILE}"]', params_size=9, params_hidden=None)
        self.assertNotIn("\x1b", out)
        self.assertNotIn("\u202e", out)

    def test_hidden_parameters_say_why(self):
        for why, said in (("denied", "hidden: it takes the right task.params (9b)"), ("secret", "hidden: secret (9b)")):
            out = self.shows(params_text=None, params_size=9, params_hidden=why)
            self.assertEqual(out.splitlines()[-1].split("  ")[-1].strip(), said)
            self.answers["task.get"] = {**TASK, "params": None, "params_size": 9, "params_hidden": why}
            out, err = self.ergon("task", "get", "--params", "t1", status=AUTH)
            self.assertEqual((out, err), ("", f"ergon: the parameters of t1 are {said[:-5]}\n"))
        self.assertIn("hidden: it takes the right task.params, or mail", self.shows(result=None, result_hidden=True))
        self.answers["task.get"] = {**TASK, "state": "done", "error": None, "ended": 5, "result": None, "result_hidden": True}
        out, err = self.ergon("task", "get", "--result", "t1", status=AUTH)
        self.assertEqual((out, err), ("", "ergon: t1: the result is hidden: it takes the right task.params, or mail\n"))

    def test_whole_parameters(self):
        self.answers["task.get"] = {**TASK, "params": ["ann", b"\xff", {"a": None}], "params_size": 9, "params_hidden": None}
        out, _ = self.ergon("task", "get", "--params", "t1")
        self.assertEqual(json.loads(out), ["ann", {"$bytes": "/w=="}, {"a": None}])
        self.ergon("task", "get", "--params", "--result", "t1", status=USAGE)

    def attempt(self, number, **more):
        return {"attempt": number, "worker": f"w{number}", "name": "n", "host": "alpha", "version": "2", "queued_us": 1500, "started": 5, "ended": 6,
                "run_us": 2500000, "outcome": "failed", "error": "EXIT: x", "traceback": None, "traceback_size": 0, **more}

    def test_attempts(self):
        first = self.attempt(1, traceback="Old\n", traceback_size=4)
        second = self.attempt(2, worker=None, name=None, host=None, version=None, outcome=None, run_us=None, error=None,
                              traceback=f"Traceback\n  line {HOSTILE}\n\nlast", traceback_size=40)
        out = self.shows(attempts=[first, second])
        table = out[out.index("attempts\n"):].splitlines()
        self.assertEqual(table[1].split(), ["attempt", "outcome", "worker", "host", "version", "queued", "ran", "error", "name"])
        self.assertEqual(table[2].split(), "1 failed w1 alpha 2 1.5 ms 2.5 s EXIT: x n".split())
        self.assertEqual(table[3].split(), "2 running - - - 1.5 ms - - -".split())
        self.assertEqual(table[4:], ["traceback of attempt 2", "  Traceback", "    line \\u001b[31m\\u202e", "", "  last"])
        out = self.shows("--attempts", attempts=[first, second])
        self.assertIn("traceback of attempt 1\n  Old\ntraceback of attempt 2\n  Traceback\n", out)
        out = self.shows(attempts=[self.attempt(1, traceback_size=3000)])
        self.assertTrue(out.endswith("traceback of attempt 1\n  hidden: it takes the right task.params (2k)\n"), out)
        self.assertNotIn("attempts", self.shows(attempts=[]))
        self.assertEqual(json.loads(self.shows("--json", attempts=[first]))["attempts"], [first])
        self.assertEqual(self.shows("-o", "name", attempts=[first]), "t1\n")

    def test_a_history_has_no_traceback_in_its_lines(self):
        out = self.shows("--history", history=[{"seq": 1, "event": "attempt_failed", "traceback": "Traceback\n"}])
        self.assertIn("attempt_failed", out)
        self.assertNotIn("Traceback", out)


    def test_an_older_server_shows_the_rest(self):
        old = "BAD_PARAMS: unknown option"
        self.answers["task.get"] = [old, TASK]
        self.assertIn("failed", self.ergon("task", "get", "t1")[0])
        self.assertEqual([params for _, params in self.asked], [["t1", {"params_text": True, "attempts": True}], ["t1", {}]])
        self.answers["task.list"] = [old, {"tasks": [TASK], "next": "t1"}, {"tasks": [TASK], "next": None}]
        self.assertEqual(len(json.loads(self.ergon("task", "list", "--json")[0])), 2)


class List(ContentsTest):
    def test_what_contains_a_text(self):
        self.answers["task.list"] = {"tasks": [], "next": None}
        self.ergon("task", "list", "--contains", "order-17")
        self.assertEqual(self.asked[-1], ("task.list", [{"limit": 100, "contains": "order-17"}]))

    def test_parameters_are_the_last_column_of_a_wide_one(self):
        tasks = [{**TASK, "params_text": text, "params_size": 9, "params_hidden": hidden, **more}
                 for text, hidden, more in (("[1]", None, {}), (None, "secret", {"worker": "w1"}), (f'["{HOSTILE}"]', None, {}))]
        self.answers["task.list"] = {"tasks": tasks, "next": None}
        head, *rows = self.ergon("task", "list", "-o", "wide")[0].splitlines()
        self.assertTrue(self.asked[-1][1][0]["params_text"])
        self.assertEqual(head.split()[-1], "params")
        self.assertIn("worker", head)
        self.assertEqual([row[head.index("params"):] for row in rows], ["[1]", "hidden: secret (9b)", '[" [31m "]'])
        self.assertEqual(json.loads(self.ergon("task", "list", "--json")[0]), tasks)
        self.assertNotIn("params", self.ergon("task", "list")[0])
        self.assertNotIn("params_text", self.asked[-1][1][0])


class Edit(ContentsTest):
    params = ["ann", b"\xff", 2**63 + 5, {"a": 1.0}]

    def setUp(self):
        super().setUp()
        self.task(options={"priority": 9, "key": "order-17", "retries": 3})
        self.answers["task.submit"] = {"id": "t2", "state": "queued", "durable": "none", "duplicate": False, "coalesced": False}

    def task(self, **more):
        self.answers["task.get"] = {**TASK, "params": self.params, "params_size": 9, "params_hidden": None, "options": {}, **more}

    def submitted(self):
        return [params for method, params in self.asked if method == "task.submit"]

    def editor(self, script):
        """A program that is run with the file; what it prints goes to a file beside."""
        path = os.path.join(self.folder, "editor")
        with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o700)) as f:
            f.write(f"#!/bin/sh\ncp \"$1\" {self.folder}/seen\nstat -c %a \"$1\" >{self.folder}/mode\n{script}\n")
        return {"EDITOR": path, "VISUAL": "", "TMPDIR": self.folder}

    def left(self):
        return [name for name in os.listdir(self.folder) if name.startswith("ergon-edit-")]

    def seen(self):
        with open(os.path.join(self.folder, "seen")) as f:
            return f.read()

    def test_by_options(self):
        out, err = self.ergon("task", "edit", "t1", "--priority", "1", "--delay", "1h")
        self.assertEqual((out, err), ("t2\n", ""))
        self.assertEqual(self.asked[0], ("task.get", ["t1", {"result": False, "params": True, "options": True}]))
        self.assertEqual(self.submitted(), [["mail", self.params, {"priority": 1, "retries": 3, "delay": "1h"}]])

    def test_by_parameters(self):
        for text, stdin in (('[1, {"$bytes": "/w=="}]', None), ("-", b'[1, {"$bytes": "/w=="}]')):
            self.ergon("task", "edit", "t1", "--params", text, stdin=stdin)
            self.assertEqual(self.submitted().pop(), ["mail", [1, b"\xff"], {"priority": 9, "retries": 3}])
        self.task(params=None, params_hidden="secret")
        self.ergon("task", "edit", "t1", "--params", "[]", "--task-key", "new")
        self.assertEqual(self.submitted().pop(), ["mail", [], {"key": "new"}])
        for text in "{}", "[1", "":
            self.assertIn("option --params: ", self.ergon("task", "edit", "t1", "--params", text, status=USAGE)[1])

    def test_an_open_task_is_named(self):
        self.task(state="queued")
        _, err = self.ergon("task", "edit", "t1", "--priority", "1")
        self.assertIn("t1 is queued, and runs as it is unless it is cancelled: ergon task cancel t1", err)

    def test_in_an_editor(self):
        out, err = self.ergon("task", "edit", "t1", env=self.editor("sed -i 's/\"ann\"/\"bob\"/; s/\"retries\": 3/\"retries\": 4/' \"$1\""))
        self.assertEqual((out, err), ("t2\n", ""))
        self.assertEqual(self.submitted(), [["mail", ["bob", *self.params[1:]], {"priority": 9, "retries": 4}]])
        text = self.seen()
        self.assertIn('# Its key, "order-17", is left out', text)
        self.assertIn("are bytes in base64", text)
        shown = json.loads("".join(line for line in text.splitlines() if not line.startswith("#")))
        self.assertEqual((shown["method"], shown["params"][0], shown["options"]), ("mail", "ann", {"priority": 9, "retries": 3}))
        with open(os.path.join(self.folder, "mode")) as f:
            self.assertEqual(f.read(), "600\n")
        self.assertEqual(self.left(), [])

    def test_nothing_is_submitted(self):
        for script, said, kept in (
                ("", "nothing was changed; not submitted", 0), ("sed -i 's/$/ /' \"$1\"", "nothing was changed; not submitted", 0),
                ("sed -i '/^[^#]/d' \"$1\"", "the text is empty; not submitted", 0), ("exit 1", "failed; VISUAL or EDITOR names the editor", 1),
                ("echo x >>\"$1\"", "line 22: end of file expected", 1), ("echo '[]' >\"$1\"", "has to be an object", 1),
                ("sed -i 's/\"method\"/\"metod\"/' \"$1\"", 'unknown member "metod"', 1), ("sed -i 's/\"params\": .*/\"params\": 1,/; /^    /d; /^  \\],/d' \"$1\"", "`params` has to be an array", 1)):
            for name in self.left():
                os.unlink(os.path.join(self.folder, name))
            out, err = self.ergon("task", "edit", "t1", env=self.editor(script), status=USAGE)
            self.assertEqual(out, "")
            self.assertIn(said, err)
            self.assertEqual(len(self.left()), kept, (script, err))
            self.assertEqual("the text is kept in " in err, kept == 1, err)
        self.assertEqual(self.submitted(), [])

    def test_without_an_editor(self):
        _, err = self.ergon("task", "edit", "t1", env={"EDITOR": "", "VISUAL": ""}, status=USAGE)
        self.assertIn("what is to be changed?", err)
        self.assertEqual(self.asked, [])

    def test_hidden_parameters(self):
        for why, said in (("secret", "secret"), ("denied", "it takes the right task.params")):
            self.task(params=None, params_hidden=why)
            for arguments in (), ("--priority", "1"):
                _, err = self.ergon("task", "edit", "t1", *arguments, env=self.editor("exit 1"), status=AUTH)
                self.assertEqual(err, f"ergon: the parameters of t1 are hidden: {said}; --params JSON gives all of them anew\n")

    def test_a_refusal_keeps_the_text(self):
        self.answers["task.submit"] = "BAD_PARAMS: no"
        _, err = self.ergon("task", "edit", "t1", env=self.editor("sed -i s/ann/bob/ \"$1\""), status=REMOTE)
        self.assertIn("the text is kept in ", err)
        self.assertEqual(len(self.left()), 1)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.folder, self.left()[0])).st_mode), 0o600)

    def test_a_server_that_has_ended_keeps_the_text(self):
        self.closes = True
        _, err = self.ergon("task", "edit", "t1", env=self.editor("sed -i s/ann/bob/ \"$1\""), status=CONNECT)
        self.assertIn("the text is kept in ", err)
        self.assertEqual(len(self.left()), 1)

    def test_on_a_terminal_it_may_be_edited_again(self):
        """First the text is wrong, then the server refuses it, then all is well."""
        self.answers["task.submit"] = ["BAD_PARAMS: no", self.answers["task.submit"]]
        env = self.editor(f"echo >>{self.folder}/rounds; case $(wc -l <{self.folder}/rounds) in 1) echo x >>\"$1\";; 2) sed -i 's/^x$//; s/ann/bob/' \"$1\";; *) sed -i s/bob/eve/ \"$1\";; esac")
        master, slave = pty.openpty()
        with subprocess.Popen([ERGON, "-s", self.server.url, "task", "edit", "t1"], stdin=slave, stdout=slave, stderr=slave,
                              env={**os.environ, **NO_CONTEXTS, **env}) as process:
            os.close(slave)
            said = b""
            for _ in range(2):
                while not said.endswith(b"[Y/n] "):
                    said += os.read(master, 1000)
                os.write(master, b"\n")
                said += os.read(master, 1000)
            try:
                while more := os.read(master, 1000):
                    said += more
            except OSError:
                pass
            self.assertEqual(process.wait(LIMIT), OK, said)
        os.close(master)
        self.assertEqual([params[1][0] for params in self.submitted()], ["bob", "eve"])
        self.assertTrue(said.decode().rstrip().endswith("t2"), said)
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    unittest.main()
