"""The command line in pipes and in terminals: names for xargs, tables without headings, all that is known with -o wide, what is as wide as it looks, and what is said
where the other side is no server of ours or nothing can be written."""
import json
import os
import re
import socket
import subprocess
import threading
import unicodedata
import unittest

import msgpack
from context_test import at_terminal, plain_environment
from harness import (AUTH, CONNECT, ERGON, LIMIT, NO_CONTEXTS, NOT_FOUND, OK, REMOTE, USAGE, Server, run_ergon, scratch, self_signed,
                     token_of, write_tokens)

server = None


def setUpModule():
    global server
    server = Server()
    unittest.addModuleCleanup(server.__exit__, None)


class PipesTest(unittest.TestCase):
    def good(self, *arguments, **more):
        status, out, err = run_ergon(server.urls[0], *arguments, **more)
        self.assertEqual((status, err), (OK, ""), arguments)
        return out.decode()

    def shell(self, script, **env):
        """Status, output and errors of a script that finds `ergon`."""
        done = subprocess.run(["bash", "-c", "set -o pipefail\n" + script], capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL,
                              env={**os.environ, **NO_CONTEXTS, "ERGON_URL": server.urls[0], **env,
                                   "PATH": os.path.dirname(os.path.abspath(ERGON)) + ":" + os.environ["PATH"]})
        return done.returncode, done.stdout, done.stderr

    def delayed(self, *arguments):
        return self.good("task", "submit", "--delay", "1h", "echo", "x", *arguments).strip()


class Names(PipesTest):
    def test_of_each_list_they_are_what_its_commands_take(self):
        identity = self.delayed()
        self.good("cron", "put", "日本語", "@daily", "echo")
        self.good("sem", "create", "gpu", "2")
        with server.connect() as worker:
            name = worker.call("worker.register", ["named.here"], {"slots": 1})["worker"]
            for words, expected in ((("task", "list"), identity), (("queue", "list"), "echo"), (("cron", "list"), "日本語"),
                                    (("sem", "list"), "gpu"), (("worker", "list"), name), (("methods",), "echo"), (("methods", "-v"), "echo")):
                lines = self.good(*words, "-o", "name").splitlines()
                self.assertIn(expected, lines, words)
                self.assertNotIn(" ", "".join(lines), words)
            self.assertRegex(self.good("connection", "list", "-o", "name"), r"^(\d+\n)+$")
        self.assertEqual(self.good("task", "get", identity, "-o", "name"), identity + "\n")
        empty = {"task": "--tenant nobody", "worker": "--method none.such", "connection": "--principal token:nobody", "context": ""}
        env = {"XDG_CONFIG_HOME": scratch(self.addCleanup)}
        for group, flags in empty.items():
            status, out, err = self.shell(f"ergon {group} list {flags}", **env)
            self.assertEqual((status, out), (0, ""), err)
            self.assertRegex(err, f"^ergon[a-z ]*: no {group}s")
        self.assertEqual(self.shell("ergon context set prod -s unix:///x && ergon context list -o name", **env), (0, "prod\n", ""))

    def test_by_way_of_xargs(self):
        mine = [self.delayed("--task-key", "xargs") for _ in range(1)] + [self.delayed("--tenant", self.tenant()) for _ in range(2)]
        listed = "ergon task list -o name --state delayed"
        status, out, err = self.shell(f"{listed} | xargs -r ergon task cancel -o json | wc -l; {listed} | wc -l; {listed} | xargs -r ergon task cancel")
        self.assertEqual((status, err.replace("ergon: no tasks\n", "")), (0, ""))
        self.assertEqual(out.split()[1], "0")
        for identity in mine:
            self.assertEqual(json.loads(self.good("task", "get", "--json", identity))["state"], "cancelled")

    def tenant(self):
        return json.loads(self.good("queue", "tenants", "--json"))[0]["tenant"]

    def test_of_several_ids_what_can_be_done_is_done(self):
        first, second = self.delayed(), self.delayed()
        status, out, err = run_ergon(server.urls[0], "task", "cancel", first, "nonsense", second)
        self.assertEqual(status, NOT_FOUND)
        self.assertEqual(out.decode(), f"{first} cancelled\n{second} cancelled\n")
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn("nonsense", err)

    def test_the_reader_may_go(self):
        status, out, err = self.shell("ergon methods | head -1")
        self.assertEqual((out, err), ("echo\n", ""))
        self.assertEqual(self.shell("ergon methods >/dev/full")[2], "ergon: cannot write to standard output: No space left on device\n")
        self.assertEqual(self.shell("ergon methods >&-")[2], "ergon: cannot write to standard output: Bad file descriptor\n")
        self.assertEqual(self.shell("ergon call echo - <&-"), (USAGE, "", "ergon: cannot read standard input: Bad file descriptor\n"))
        self.assertEqual(self.shell("ergon --token-file - ping"), (USAGE, "", "ergon: standard input holds no token in its first line\n"))


class Tables(PipesTest):
    def terminal(self, columns, *words, term="xterm", **env):
        return at_terminal(columns, "-s", server.urls[0], *words, env=plain_environment(**NO_CONTEXTS, **env), term=term)

    def test_headings_can_be_left_out(self):
        with_them, without = self.good("methods", "-v").splitlines(), self.good("methods", "-v", "--no-headers").splitlines()
        self.assertTrue(with_them[0].startswith("name"))
        self.assertEqual([line.split()[0] for line in with_them[1:]], [line.split()[0] for line in without])

    def test_wide_has_all_that_is_known(self):
        self.delayed()
        self.good("cron", "put", "wide", "@daily", "--retries", "3", "echo", "hi")
        with server.connect() as worker:
            worker.call("worker.register", ["named.here"], {"slots": 1})
            for words in (("task", "list"), ("connection", "list"), ("worker", "list"), ("queue", "list"), ("sem", "list"), ("cron", "list")):
                narrow, wide = (set(self.good(*words, *how).splitlines()[0].split()) for how in ((), ("-o", "wide")))
                self.assertLessEqual(narrow, wide, words)
                known = {key for entry in json.loads(self.good(*words, "--json")) for key, value in entry.items() if value is not None and not isinstance(value, (dict, list))}
                shown_otherwise = {"age_ms", "idle_ms", "since", "paused", "draining", "history", "reason", "params_text", "params_size"}
                self.assertLessEqual(known - shown_otherwise, wide, words)
        self.assertIn('{"retries":3}', self.good("cron", "list", "-o", "wide"))
        self.assertEqual(self.good("methods", "-o", "wide"), self.good("methods", "-v"))

    def test_what_is_wide_stands_in_its_column(self):
        for name in ("日本語の名前", "é\u0301\u0301", "plain", "😀😀"):
            self.good("cron", "put", name, "@daily", "echo")
        for env in ({}, {"LC_ALL": "C"}, {"LC_ALL": "xx_YY.nonsense"}):
            for columns in (200, 60, 40):
                lines = self.terminal(columns, "cron", "list", **env)
                starts = {self.width(line[:line.index("@daily")]) for line in lines if "@daily" in line}
                self.assertEqual(len(starts), 1, lines)
                self.assertTrue(all(self.width(line) <= columns for line in lines), lines)

    @staticmethod
    def width(text):
        return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in re.sub("\033\\[[0-9;]*m", "", text))

    def test_twenty_columns_and_colours(self):
        self.good("cron", "put", "narrow", "@daily", "echo")
        for words in (("cron", "list"), ("queue", "list"), ("connection", "list"), ("methods", "-v")):
            lines = self.terminal(20, *words)
            self.assertTrue(all(len(re.sub("\033\\[[0-9;]*m", "", line).split()) >= 2 for line in lines), lines)
        coloured = "".join(self.terminal(80, "cron", "list"))
        self.assertIn("\033[1m", coloured)
        for env, flags in (({"NO_COLOR": "1"}, ()), ({"term": "dumb"}, ()), ({}, ("--no-color",))):
            self.assertNotIn("\033", "".join(self.terminal(80, "cron", "list", *flags, **env)))
        self.assertNotIn("\033", self.good("cron", "list"))


class OtherSides(PipesTest):
    def says(self, status, *words, url, **more):
        got, out, err = run_ergon(url, "ping", *more.pop("flags", ()), **more)
        self.assertEqual((got, out), (status, b""), err)
        self.assertEqual(err.count("\n"), 1, err)
        for word in words:
            self.assertIn(word, err)

    def test_tls_where_there_is_none_and_the_other_way_round(self):
        folder = scratch(self.addCleanup)
        cert, key = self_signed(folder)
        with Server("--tls-cert", cert, "--tls-key", key, listen=("ergons://127.0.0.1:0",)) as tls:
            port = tls.urls[0].rsplit(":", 1)[1]
            self.says(CONNECT, "its URL begins with ergons://", url="ergon://127.0.0.1:" + port)
            self.says(CONNECT, "certificate is not trusted", "--cacert", url="ergons://localhost:" + port)
        self.says(CONNECT, "its URL begins with ergon://", url=server.urls[0].replace("ergon:", "ergons:"))

    def test_who_has_answered_is_not_suspected_of_tls(self):
        def serve():
            peer, _ = listener.accept()
            with peer:
                unpacker = msgpack.Unpacker()
                while data := peer.recv(65536):
                    unpacker.feed(data)
                    for message in unpacker:
                        if message[0] == 0 and message[2] == "server.describe":
                            return
                        if message[0] == 0:
                            listed = message[2] == "server.methods"
                            peer.sendall(msgpack.packb([1, message[1], None, ["a"]] if listed else [1, message[1], "NO_METHOD: none", None]))

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=serve)
            thread.start()
            status, _, err = run_ergon(f"ergon://127.0.0.1:{listener.getsockname()[1]}", "methods", "-v")
            thread.join(LIMIT)
        self.assertIn("closed the connection", err)
        self.assertNotIn("ergons://", err)

    def test_another_program_has_the_port(self):
        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.recv(100)
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=serve)
            thread.start()
            self.says(CONNECT, "does not speak MessagePack-RPC", "another program may listen there", url=f"ergon://127.0.0.1:{listener.getsockname()[1]}")
            thread.join(LIMIT)

    def test_nobody_is_there(self):
        nobody = "unix://" + os.path.join(scratch(self.addCleanup), "socket")
        self.says(CONNECT, "is a server running? ergond --listen " + nobody, url=nobody)
        status, _, err = run_ergon(nobody, "bench", "-n", "1")
        self.assertEqual(status, CONNECT)
        self.assertIn("is a server running? ergond --listen " + nobody, err)

    def test_of_many_tasks_those_that_are_refused_are_told_in_our_words(self):
        path = os.path.join(scratch(self.addCleanup), "many")
        with open(path, "w") as f:
            f.write('["echo", ["a"]]\n{"method": "nosuch"}\n["echo", ["b"]]\n')
        status, out, err = run_ergon(server.urls[0], "task", "submit", "--many", path)
        self.assertEqual((status, out.count(b"\n")), (REMOTE, 2), err)
        self.assertIn(f"ergon: {path}:2: no method 'nosuch'; ergon methods lists those that there are\n", err)

    def test_tokens(self):
        folder = scratch(self.addCleanup)
        with Server("--tokens", write_tokens(folder, {"ann": "*"})) as guarded:
            status, _, err = run_ergon(guarded.urls[0], "call", "echo", "x")
            self.assertEqual((status, err), (AUTH, "ergon call: AUTH: authentication required; give a token with --token-file, or a context that has one\n"))
            self.says(AUTH, "no such token", "--token-file", url=guarded.urls[0], env={"ERGON_TOKEN": "wrong"})
            self.assertEqual(run_ergon(guarded.urls[0], "call", "echo", "x", env={"ERGON_TOKEN": token_of("ann")})[:2], (OK, b"x"))

    def test_words_with_two_letters_swapped(self):
        for words, meant in ((("pnig",), "ping"), (("task", "gte"), "task get"), (("call", "ehco"), "echo"), (("--jsno", "ping"), "--json")):
            status, _, err = run_ergon(server.urls[0], *words)
            self.assertIn(status, (USAGE, NOT_FOUND), REMOTE)
            self.assertIn(f"did you mean {meant}" if meant[0] == "-" else f"did you mean '{meant}'", err)


if __name__ == "__main__":
    unittest.main()
