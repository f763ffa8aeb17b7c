"""Contexts: the file, the commands that change it, and what is in force; and -o on what lists or shows, at terminals of
fixed widths too."""
import fcntl
import json
import os
import pty
import select
import stat
import struct
import subprocess
import sys
import termios
import unittest

from harness import AUTH, ERGON, LIMIT, NOT_FOUND, OK, USAGE, Server, scratch, token_of, write_tokens

try:
    import yaml
except ImportError:
    print("python3-yaml is not installed: './run setup' installs it")
    sys.exit(77)

server = None


def setUpModule():
    global server
    server = Server()
    unittest.addModuleCleanup(server.__exit__, None)


def plain_environment(**more):
    """Nothing of ours in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ERGON_") and name != "XDG_CONFIG_HOME"}
    return {**kept, **more}


def at_terminal(columns, *arguments, env, term="dumb"):
    """What a terminal of that width gets: its lines, without those of standard error."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([ERGON, *arguments], stdin=follower, stdout=follower, stderr=subprocess.PIPE,
                               env={**env, "TERM": term})
    os.close(follower)
    text = b""
    while True:
        if not select.select([leader], [], [], LIMIT)[0]:
            process.kill()
            raise AssertionError("the command wrote nothing more, and did not end")
        try:
            text += os.read(leader, 65536)
        except OSError:  # it has ended
            break
    os.close(leader)
    process.communicate(timeout=LIMIT)
    return text.decode().replace("\r\n", "\n").splitlines()


class ContextTest(unittest.TestCase):
    def setUp(self):
        self.home = scratch(self.addCleanup)
        self.env = plain_environment(HOME=self.home, XDG_CONFIG_HOME=os.path.join(self.home, "xdg"))
        self.path = os.path.join(self.home, "xdg", "ergon", "config.yaml")

    def ergon(self, *arguments, stdin=None, **env):
        done = subprocess.run([ERGON, *arguments], input=stdin, capture_output=True, text=True, timeout=LIMIT,
                              env={**self.env, **env})
        return done.returncode, done.stdout, done.stderr

    def good(self, *arguments, **more):
        status, out, err = self.ergon(*arguments, **more)
        self.assertEqual((status, err), (OK, ""), out)
        return out

    def write(self, text, mode=0o600):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w", opener=lambda name, flags: os.open(name, flags, mode)) as out:
            out.write(text)
        os.chmod(self.path, mode)

    def settings(self, *arguments, **env):
        return json.loads(self.good(*arguments, "context", "show", "--json", **env))["settings"]


class Commands(ContextTest):
    def test_a_context_is_made_used_renamed_and_deleted(self):
        self.good("context", "set", "prod", "-s", server.urls[0], "--timeout", "7s")
        self.good("context", "set", "other", "-s", "unix:///nowhere", "--use")
        rows = json.loads(self.good("context", "list", "--json"))
        self.assertEqual([(row["name"], row["current"]) for row in rows], [("prod", False), ("other", True)])
        self.good("context", "use", "prod")
        self.assertIn(server.urls[0], self.good("ping"))
        self.good("context", "rename", "prod", "production")
        self.assertIn(server.urls[0], self.good("ping"))
        self.assertEqual(self.settings()["server"], {"value": server.urls[0], "from": "context production"})
        self.good("context", "delete", "production")
        self.assertEqual(self.settings()["server"]["from"], "default")
        self.good("context", "use", "other")
        self.good("context", "use", "--none")
        self.assertEqual(self.settings()["server"]["from"], "default")

    def test_the_file_is_written_for_its_owner_alone_and_a_link_stays(self):
        self.good("context", "set", "a", "-s", server.urls[0])
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.path)).st_mode), 0o700)
        elsewhere = os.path.join(self.home, "elsewhere.yaml")
        os.rename(self.path, elsewhere)
        os.symlink(elsewhere, self.path)
        self.good("context", "set", "b", "-s", server.urls[0])
        self.assertTrue(os.path.islink(self.path))
        with open(elsewhere) as written:
            self.assertEqual(list(yaml.safe_load(written)["contexts"]), ["a", "b"])
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["config.yaml"])

    def test_without_xdg_the_file_is_in_the_home(self):
        del self.env["XDG_CONFIG_HOME"]
        self.good("context", "set", "a", "-s", server.urls[0])
        self.assertTrue(os.path.exists(os.path.join(self.home, ".config/ergon/config.yaml")))
        self.good("context", "list", XDG_CONFIG_HOME="relative/is/ignored")
        status, _, err = self.ergon("context", "set", "a", "-s", server.urls[0], HOME="")
        self.assertEqual(status, USAGE)
        self.assertIn("HOME", err)
        self.good("-s", server.urls[0], "ping", HOME="")

    def test_what_is_not_there_is_said_with_what_was_meant(self):
        self.good("context", "set", "production", "-s", server.urls[0])
        status, _, err = self.ergon("context", "use", "prodaction")
        self.assertEqual((status, "did you mean 'production'" in err), (NOT_FOUND, True), err)
        for arguments, env in ((("--context", "prodaction", "ping"), {}), (("ping",), {"ERGON_CONTEXT": "prodaction"})):
            status, _, err = self.ergon(*arguments, **env)
            self.assertEqual(status, USAGE)
            self.assertIn("did you mean 'production'?", err)
        for arguments in (("delete", "x"), ("rename", "x", "y")):
            self.assertEqual(self.ergon("context", *arguments)[0], NOT_FOUND)
        for arguments in (("set", "a b"), ("set", ""), ("set", "a", "-s", "http://x"), ("set", "a", "--unset", "nothing"),
                          ("use",), ("rename", "production", "../x")):
            self.assertEqual(self.ergon("context", *arguments)[0], USAGE, arguments)

    def test_writers_beside_each_other_lose_nothing(self):
        writers = [subprocess.Popen([ERGON, "context", "set", f"c{i}", "-s", server.urls[0]], env=self.env) for i in range(12)]
        for writer in writers:
            self.assertEqual(writer.wait(LIMIT), OK)
        rows = json.loads(self.good("context", "list", "--json"))
        self.assertEqual(sorted(row["name"] for row in rows), sorted(f"c{i}" for i in range(12)))

    def test_hostile_values_come_back_as_they_were(self):
        for value in ("yes", "null", "1.5", "a: b", "- x", "'\"", "#no", "& *", "käse", "%d", "{}", "~"):
            self.good("context", "set", "a", "-s", server.urls[0], "--server-name", value)
            self.assertEqual(self.settings("--context", "a")["server_name"]["value"], value)
        for value in ("two\nlines", "\x1b[31m", ""):
            self.assertEqual(self.ergon("context", "set", "a", "--server-name", value)[0], USAGE, repr(value))


class WrongFiles(ContextTest):
    def refused(self, text, line, word):
        self.write(text)
        for arguments in (("ping",), ("context", "list"), ("context", "set", "a", "-s", server.urls[0])):
            status, out, err = self.ergon(*arguments)
            self.assertEqual((status, out), (USAGE, ""), err)
            self.assertTrue(err.startswith(f"ergon: {self.path}:{line}: "), err)
            self.assertIn(word, err)
        with open(self.path) as f:
            self.assertEqual(f.read(), text)

    def test_errors_name_the_line(self):
        self.refused("contexts:\n  a:\n    sever: x\n", 3, "did you mean 'server'?")
        self.refused("contexts:\n  a:\n    timeout: 5\n", 3, "a time is wanted")
        self.refused("contexts:\n  a: [1]\n", 2, "names with values")
        self.refused("contexts:\n  a:\n    server: ftp://x\n", 3, "server: ")
        self.refused("contexts: {a: {}, a: {}}\n", 1, "stands twice")
        self.refused("\ncurrent: b\ncontexts: {a: {}}\n", 2, "'b' is not there")
        self.refused("contexts:\n  '../a': {}\n", 2, "no name")
        self.refused("contexts:\n\t- x\n", 2, "")
        self.refused("a: &a {contexts: *a}\n", 1, "")
        self.refused("contexts: {}\n---\ncontexts: {}\n", 3, "second document")

    def test_an_empty_file_is_none(self):
        self.write("")
        self.assertEqual(json.loads(self.good("context", "list", "--json")), [])
        self.write("# nothing\ncontexts:\n")
        self.assertEqual(json.loads(self.good("context", "list", "--json")), [])

    def test_a_token_that_others_may_read_is_refused(self):
        text = f"contexts:\n  a:\n    server: {server.urls[0]}\n    token: secret-of-a\n"
        self.write(text, 0o644)
        status, _, err = self.ergon("context", "list")
        self.assertEqual(status, USAGE)
        self.assertIn("chmod 600", err)
        self.assertNotIn("secret", err)
        self.write(text, 0o600)
        self.assertNotIn("secret", self.good("context", "list", "-o", "wide") + self.good("--context", "a", "context", "show"))

    def test_a_file_that_cannot_be_read_is_said(self):
        os.makedirs(self.path)
        status, _, err = self.ergon("ping")
        self.assertEqual((status, self.path in err), (USAGE, True), err)


class Precedence(ContextTest):
    def test_flag_then_named_context_then_environment_then_current_one(self):
        self.good("context", "set", "a", "-s", "unix:///a", "--timeout", "1s", "--use")
        self.good("context", "set", "b", "-s", "unix:///b")
        self.assertEqual(self.settings()["server"], {"value": "unix:///a", "from": "context a"})
        self.assertEqual(self.settings(ERGON_CONTEXT="b")["server"], {"value": "unix:///b", "from": "context b"})
        self.assertEqual(self.settings(ERGON_URL="unix:///e")["server"], {"value": "unix:///e", "from": "ERGON_URL"})
        self.assertEqual(self.settings("--context", "b", ERGON_URL="unix:///e")["server"]["value"], "unix:///b")
        self.assertEqual(self.settings("--context", "b", "-s", "unix:///f")["server"],
                         {"value": "unix:///f", "from": "--server"})
        self.assertEqual(self.settings(ERGON_TIMEOUT="3s")["timeout"], {"value": "3s", "from": "ERGON_TIMEOUT"})
        self.assertEqual(self.settings()["timeout"], {"value": "1s", "from": "context a"})
        self.assertEqual(self.ergon("ping", ERGON_TIMEOUT="3")[0], USAGE)

    def test_a_token_goes_to_its_server_alone(self):
        with Server("--tokens", write_tokens(self.home, {"ann": "*"})) as guarded:
            token = os.path.join(self.home, "token")
            with open(token, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
                out.write(token_of("ann"))
            self.good("context", "set", "a", "-s", guarded.urls[0], "--token-file", token)
            self.good("--context", "a", "ping")
            self.assertIsNone(self.settings("--context", "a", "-s", server.urls[0])["token_file"]["value"])
            os.chmod(token, 0o644)
            self.assertIn("chmod 600", self.ergon("--context", "a", "ping")[2])
            self.good("context", "set", "a", "--token-file", "-", stdin=token_of("ann") + "\n")
            self.good("--context", "a", "ping")
            shown = self.settings("--context", "a")
            self.assertEqual((shown["token"]["from"], shown["token_file"]["value"]), ("context a", None))
            self.good("context", "set", "a", "--unset", "token")
            self.assertEqual(self.ergon("--context", "a", "call", "echo")[0], AUTH)

    def test_paths_are_of_the_home_or_beside_the_file(self):
        self.write("contexts:\n  a:\n    cacert: ~/ca.pem\n    cert: c.pem\n    key: /k.pem\n")
        shown = self.settings("--context", "a")
        self.assertEqual([shown[key]["value"] for key in ("cacert", "cert", "key")],
                         [f"{self.home}/ca.pem", f"{os.path.dirname(self.path)}/c.pem", "/k.pem"])
        self.good("context", "set", "a", "--cacert", "here.pem")
        self.assertEqual(self.settings("--context", "a")["cacert"]["value"], os.path.join(os.getcwd(), "here.pem"))

    def test_the_format_is_a_setting_too(self):
        self.good("context", "set", "a", "-s", server.urls[0], "-o", "yaml", "--use")
        self.assertIn("echo", yaml.safe_load(self.good("methods")))
        self.assertIn("echo", json.loads(self.good("methods", "--json")))
        self.assertIn("echo", json.loads(self.good("methods", ERGON_OUTPUT="json")))
        self.assertIn("echo\n", self.good("methods", "-o", "table"))


class Formats(ContextTest):
    def setUp(self):
        super().setUp()
        self.env["ERGON_URL"] = server.urls[0]

    def test_yaml_says_what_json_says(self):
        identity = self.good("task", "submit", "echo", '{"no":"no","n":[1,1e20,null,true,"1","ja",""],"k":{}}').strip()
        self.good("task", "wait", identity)
        for arguments in (("task", "get", identity), ("task", "list"), ("queue", "list"), ("methods", "-v"),
                          ("cron", "list"), ("sem", "list"), ("connection", "list"), ("audit",),
                          ("task", "explain", identity), ("queue", "tenants"), ("call", "echo", '[{"a":[]}, "\\u001b\\u0085x"]')):
            with self.subTest(arguments):
                as_yaml = yaml.safe_load(self.good(*arguments, "-o", "yaml"))
                as_json = json.loads(self.good(*arguments, "--json"))
                if arguments[0] == "connection":  # each looks at its own
                    as_yaml, as_json = as_yaml[0].keys(), as_json[0].keys()
                self.assertEqual(as_yaml, as_json)
        documents = list(yaml.safe_load_all(self.good("task", "watch", "-o", "yaml", identity)))
        self.assertEqual(documents[-1]["event"], "done")

    def test_formats_that_are_none_or_contradict(self):
        for arguments in (("-o", "xml"), ("--json", "-o", "yaml"), ("-o", "table", "--json")):
            self.assertEqual(self.ergon("info", *arguments)[0], USAGE)
        self.good("info", "--json", "-o", "json")

    def test_wide_has_what_a_table_leaves_out(self):
        self.good("task", "submit", "--priority", "7", "--delay", "1h", "echo", "x")
        self.assertNotIn("priority", self.good("task", "list").split("\n")[0])
        self.assertIn("priority", self.good("task", "list", "-o", "wide").split("\n")[0])

    def test_tables_fit_the_terminal_and_are_whole_elsewhere(self):
        long = "a-tenant-with-a-name-that-is-longer-than-most-are"
        self.good("task", "submit", "--tenant", long, "--delay", "1h", "echo", "x")
        whole = self.good("task", "list").split("\n")[0].split()
        self.assertIn(long, self.good("task", "list"))
        before = 0
        for columns in (20, 40, 60, 80, 100, 200):
            lines = at_terminal(columns, "task", "list", env=self.env)
            self.assertLessEqual(max(map(len, lines[1:])), max(columns, 30), lines)  # id and method stay
            heads = lines[0].split()
            self.assertEqual(heads, whole[:len(heads)])
            self.assertGreaterEqual(len(heads), before)
            before = len(heads)
        self.assertEqual(heads, whole)
        lines = at_terminal(40, "task", "list", "-o", "wide", env=self.env)
        self.assertTrue(any(long in line for line in lines), lines)


class Errors(ContextTest):
    def setUp(self):
        super().setUp()
        self.env["ERGON_URL"] = server.urls[0]

    def error(self, *arguments, **more):
        status, out, err = self.ergon(*arguments, **more)
        self.assertEqual(err.count("\n"), 1, err)
        error = json.loads(err)["error"]
        self.assertEqual(sorted(error), ["code", "hint", "text"])
        return status, out, error

    def test_errors_are_json_where_json_is_asked_for(self):
        for flag in (("--json",), ("-o", "yaml"), ("-ojson",), ("--output=json",)):
            status, out, error = self.error("queue", "explain", "no-such-method", *flag)
            self.assertEqual((status, out, error["code"]), (NOT_FOUND, "", "NOT_FOUND"))
            status, _, error = self.error("task", "get", "--no-such", *flag)
            self.assertEqual((status, error["code"]), (USAGE, "USAGE"))
        self.assertEqual(self.error("--json", "nonsense")[2]["code"], "USAGE")
        self.assertEqual(self.error("ping", "--json", ERGON_URL="unix:///nowhere")[2]["code"], "UNREACHABLE")

    def test_what_is_no_error_is_a_notice(self):
        self.good("task", "submit", "echo", "1")
        self.good("task", "submit", "echo", "2")
        status, out, err = self.ergon("task", "list", "-n", "1", "--json")
        self.assertEqual((status, len(json.loads(out))), (OK, 1))
        self.assertIn("--limit", json.loads(err)["notice"]["text"])


if __name__ == "__main__":
    unittest.main()
