"""Completion that asks the server: what it offers where, in a real bash, and that it never hangs and never says a word."""
import os
import shutil
import socket
import subprocess
import threading
import unittest

import msgpack
from harness import ERGON, LIMIT, NO_CONTEXTS, OK, Server, run_ergon, scratch, token_of, write_tokens

server = None


def setUpModule():
    global server
    server = Server()
    unittest.addModuleCleanup(server.__exit__, None)


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.env = {**os.environ, **NO_CONTEXTS, "ERGON_URL": server.urls[0]}

    def live(self, *words, env=None):
        """What may stand in place of the last word."""
        done = subprocess.run([ERGON, "completion", "live", "--", *words], capture_output=True, text=True, timeout=LIMIT,
                              stdin=subprocess.DEVNULL, cwd=self.folder, env={**self.env, **(env or {})})
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def submit(self, *arguments):
        status, out, err = run_ergon(server.urls[0], "task", "submit", *arguments)
        self.assertEqual(status, OK, err)
        return out.decode().strip()


class Offers(CompletionTest):
    def test_methods(self):
        for words in (("call", "ec"), ("task", "submit", "ec"), ("task", "submit", "--retries", "5", "ec"), ("-v", "call", "ec"),
                      ("cron", "put", "name", "@daily", "ec"), ("task", "list", "--method", "ec"),
                      ("task", "list", "--method", "=", "ec"), ("-s", server.urls[0], "call", "ec"),
                      ("--server=" + server.urls[0], "task", "call", "ec")):
            self.assertIn("echo", self.live(*words), words)
        self.assertGreater(len(self.live("call", "")), 5)
        for words in (("call", "echo", "ec"), ("ec",), ("",), ("call", "zzz"), ("task", "ec"), (), ("ping", "ec"), ("no", "ec")):
            self.assertEqual(self.live(*words), [], words)

    def test_tasks_queues_and_what_is_shared(self):
        identity = self.submit("--delay", "1h", "echo", "x")
        for command in ("get", "wait", "watch", "cancel", "retry", "explain", "run-now", "change", "forget"):
            self.assertIn(identity, self.live("task", command, identity[:3]), command)
        self.assertIn(identity, self.live("task", "cancel", identity, ""))
        self.assertNotIn(identity, self.live("task", "get", identity, ""))
        self.assertIn(identity, self.live("task", "submit", "--after", ""))
        self.assertIn("echo", self.live("queue", "pause", "e"))
        for arguments in (("sem", "create", "gpu", "2"), ("cron", "put", "nightly", "@daily", "echo")):
            self.assertEqual(run_ergon(server.urls[0], *arguments)[0], OK)
        self.assertEqual(self.live("sem", "run", "g"), ["gpu"])
        self.assertEqual(self.live("cron", "delete", "n"), ["nightly"])
        self.assertTrue(all(line.isdigit() for line in self.live("connection", "kill", "")))
        self.assertGreaterEqual(len(self.live("connection", "kill", "")), 1)

    def test_workers(self):
        with server.connect() as worker:
            identity = worker.call("worker.register", ["completed.here"], {"slots": 1})["worker"]
            self.assertEqual(self.live("worker", "quiet", identity), [identity])
            self.assertEqual(self.live("call", "completed"), ["completed.here"])

    def test_words_that_need_no_server(self):
        nobody = {"ERGON_URL": "unix:///nowhere"}
        self.assertEqual(self.live("task", "list", "--state", "d", env=nobody), ["delayed", "done", "dead"])
        self.assertEqual(self.live("queue", "list", "-o", "", env=nobody), ["table", "wide", "json", "yaml"])
        config = {"XDG_CONFIG_HOME": self.folder, **nobody}
        for name in ("prod", "proxy", "dev"):
            subprocess.run([ERGON, "context", "set", name, "-s", "unix:///x"], check=True, env={**self.env, **config})
        self.assertEqual(self.live("context", "use", "pr", env=config), ["prod", "proxy"])
        self.assertEqual(self.live("--context", "d", env=config), ["dev"])
        subprocess.run([ERGON, "context", "set", "dev", "-s", server.urls[0]], check=True, env={**self.env, **config})
        self.assertEqual(self.live("--context", "dev", "call", "ech", env=config), ["echo"])

    def test_files_behind_an_at(self):
        os.mkdir(os.path.join(self.folder, "data"))
        for name in ("data.json", "data/inner", ".hidden", "a b"):
            with open(os.path.join(self.folder, name), "w"):
                pass
        self.assertEqual(sorted(self.live("call", "echo", "@da")), ["@data.json", "@data/"])
        self.assertEqual(self.live("task", "submit", "echo", "@data/"), ["@data/inner"])
        self.assertEqual(self.live("call", "echo", "@.h"), ["@.hidden"])
        self.assertEqual(self.live("call", "echo", f"@{self.folder}/a"), [f"@{self.folder}/a b"])
        self.assertEqual(self.live("call", "echo", "@/no/such/"), [])


class Silence(CompletionTest):
    def test_what_is_wrong_is_not_said(self):
        for env in ({"ERGON_URL": "unix:///nowhere"}, {"ERGON_URL": "nonsense"}, {"ERGON_CONTEXT": "none"},
                    {"ERGON_TOKEN_FILE": "/nowhere"}, {"ERGON_TIMEOUT": "x"}):
            self.assertEqual(self.live("call", "e", env=env), [], env)
        for words in (("--token-file", "-", "call", "e"), ("--server", "x", "call", "e")):
            self.assertEqual(self.live(*words), [], words)
        self.live("call", *["x"] * 5000)
        self.live("-s", "x", *["-q"] * 2000, "call", "")

    def test_who_may_not_ask_gets_nothing(self):
        with Server("--tokens", write_tokens(self.folder, {"ann": "echo"})) as guarded:
            for token in ("", token_of("ann")):
                env = {"ERGON_URL": guarded.urls[0], "ERGON_TOKEN": token}
                self.assertEqual(self.live("task", "get", "", env=env), [])

    def test_a_server_that_says_nothing_is_given_up(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"ergon://127.0.0.1:{silent.getsockname()[1]}"
            self.assertEqual(self.live("call", "e", env={"ERGON_URL": url}), [])

    def test_names_of_a_hostile_server_are_not_offered(self):
        names = ["evil.$(touch${IFS}owned)", "evil.`id`", "evil.fine", "evil.;ls", "evil.\x1b[31m", "evil. two", "--evil",
                 "evil.\nevil.two", b"evil.\xff", 17, ["evil.list"], None]

        def serve():
            peer, _ = listener.accept()
            with peer:
                unpacker = msgpack.Unpacker(raw=True)
                while data := peer.recv(65536):
                    unpacker.feed(data)
                    for message in unpacker:
                        if message[0] == 0:
                            peer.sendall(msgpack.packb([1, message[1], None, names]))

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=serve)
            thread.start()
            offered = self.live("call", "evil", env={"ERGON_URL": f"ergon://127.0.0.1:{listener.getsockname()[1]}"})
            thread.join(LIMIT)
        self.assertEqual(offered, ["evil.fine"])


class Shells(CompletionTest):
    def bash(self, *words):
        """COMPREPLY for the last word."""
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in (ERGON, *words))
        script = (f'eval "$("{ERGON}" completion bash)"; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _ergon; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=LIMIT, cwd=self.folder, env=self.env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split("\n")[:-1]

    def test_bash(self):
        self.assertEqual(self.bash("call", "ech"), ["echo"])
        self.assertEqual(self.bash("task", "wait", "--a"), ["--any"])
        self.assertEqual(self.bash("task", "sub"), ["submit"])
        self.assertIn("queue", self.bash("qu"))
        with open(os.path.join(self.folder, "a b"), "w"):
            pass
        self.assertEqual(self.bash("call", "echo", "@a"), ["@a\\ b"])

    def test_others_read_the_script(self):
        for shell in ("zsh", "fish"):
            script = subprocess.run([ERGON, "completion", shell], capture_output=True, text=True, check=True).stdout
            self.assertIn("completion live", script)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=LIMIT)


if __name__ == "__main__":
    unittest.main()
