"""The audit log: a file of its own, which is moved away and opened again, and the log where there is none."""
import hashlib
import json
import os
import signal
import stat
import unittest

from harness import RemoteError, Server, eventually, scratch

TOKENS = {"root": "token-of-root", "bob": "token-of-bob"}
RIGHTS = {"root": "*", "bob": "echo"}


def tokens_file(folder):
    path = os.path.join(folder, "tokens")
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        for name, token in TOKENS.items():
            out.write(f"sha256:{hashlib.sha256(token.encode()).hexdigest()} {name} {RIGHTS[name]}\n")
    return path


def acts(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def shown(path):
    return [(a["msg"], a.get("principal"), a.get("method"), a.get("outcome")) for a in acts(path)]


class Audit(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.file = os.path.join(self.folder, "audit")

    def serve(self, *flags):
        server = Server("--tokens", tokens_file(self.folder), *flags)
        self.addCleanup(server.discard)
        return server

    def connect(self, server, name):
        client = server.connect()
        self.addCleanup(client.close)
        client.call("server.auth", TOKENS[name])
        return client

    def test_who_did_what(self):
        server = self.serve("--audit-file", self.file)
        root, bob = self.connect(server, "root"), self.connect(server, "bob")
        root.call("queue.pause", "echo")
        root.call("queue.resume", "echo")
        with self.assertRaises(RemoteError):
            bob.call("queue.pause", "echo")
        self.assertEqual(root.call("connection.kill", {"address": "127.0.0.1"})["killed"], 1)
        eventually(lambda: len(acts(self.file)) == 5, "all is recorded")
        self.assertEqual(shown(self.file), [
            ("administrator authenticated", "token:root", None, None),
            ("administrative act", "token:root", "queue.pause", "ok"),
            ("administrative act", "token:root", "queue.resume", "ok"),
            ("administrative act refused", "token:bob", "queue.pause", "DENIED"),
            ("administrative act", "token:root", "connection.kill", "ok"),
        ])
        self.assertEqual(acts(self.file)[4]["on"], '{"address": "127.0.0.1"}')
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.assertNotIn("administrative act", server.log_text())
        info = root.call("server.info")["audit"]
        self.assertEqual((info["records"], info["dropped"], info["waiting"]), (5, 0, 0))

    def test_it_goes_on_in_a_new_file(self):
        server = self.serve("--audit-file", self.file)
        root = self.connect(server, "root")
        root.call("queue.pause", "echo")
        eventually(lambda: len(acts(self.file)) == 2, "the act is recorded")
        os.rename(self.file, self.file + ".1")
        server.signal(signal.SIGHUP)
        eventually(lambda: os.path.exists(self.file) and shown(self.file), "the reload is recorded")
        root.call("queue.resume", "echo")
        eventually(lambda: len(acts(self.file)) == 2, "the act is recorded in the new file")
        self.assertEqual(len(acts(self.file + ".1")), 2)
        reload = acts(self.file)[0]
        self.assertEqual((reload["principal"], reload["method"], reload["outcome"], reload["pid"]),
                         (f"uid:{os.getuid()}", "SIGHUP", "ok", os.getpid()))

    def test_a_reload_tells_which_tokens_have_changed(self):
        server = self.serve("--audit-file", self.file)
        tokens = os.path.join(self.folder, "tokens")
        with open(tokens) as lines:
            root, bob = lines.read().splitlines()
        with open(tokens, "w") as out:
            out.write(f"{root}\n{bob},sum\nsha256:{'5' * 64} carol echo\n")
        server.signal(signal.SIGHUP)
        eventually(lambda: len(acts(self.file)) == 3, "the reload is recorded")
        self.assertEqual([(a[1], a[3]) for a in shown(self.file)[:2]],
                         [("token:bob", "changed"), ("token:carol", "added")])
        with open(tokens, "w") as out:
            out.write(f"{root}\n{bob},sum\n")
        server.signal(signal.SIGHUP)
        eventually(lambda: len(acts(self.file)) == 5, "the second is recorded, too")
        self.assertEqual(shown(self.file)[3], ("token changed", "token:carol", "reload", "removed"))

    def test_a_stop_is_recorded(self):
        server = self.serve("--audit-file", self.file)
        server.signal(signal.SIGTERM)
        server.wait()
        self.assertEqual([a[2] for a in shown(self.file)], ["SIGTERM"])

    def test_without_a_file_it_is_in_the_log(self):
        server = self.serve("--log-level", "error")
        self.connect(server, "root").call("queue.pause", "echo")
        eventually(lambda: "method=queue.pause outcome=ok" in server.log_text(), "the act is in the log")
        self.assertIn("level=audit", server.log_text())

    def test_a_link_is_refused(self):
        os.symlink("/etc/passwd", self.file)
        with self.assertRaises(AssertionError) as caught:
            self.serve("--audit-file", self.file)
        self.assertIn("it is a link", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
