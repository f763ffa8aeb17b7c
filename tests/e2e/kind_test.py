"""What the command line says when something is wrong or somebody is new: commands and not methods of the wire, what was
meant, where a task goes on."""
import json
import os
import re
import signal
import subprocess
import unittest

from harness import (AUTH, CONNECT, ERGON, ERGOND, INTERRUPTED, LIMIT, LIMITED, NO_CONTEXTS, NOT_FOUND, OK, USAGE, Server,
                     eventually, run_ergon, scratch, token_of, write_tokens)

server = None


def setUpModule():
    global server
    server = Server("--limits-message", "64k")
    unittest.addModuleCleanup(server.__exit__, None)


class KindTest(unittest.TestCase):
    def ergon(self, *arguments, **more):
        return run_ergon(server.urls[0], *arguments, **more)

    def good(self, *arguments, **more):
        status, out, err = self.ergon(*arguments, **more)
        self.assertEqual((status, err), (OK, ""), out)
        return out.decode()

    def says(self, status, *words, arguments, **more):
        got, out, err = self.ergon(*arguments, **more)
        self.assertEqual((got, out), (status, b""), err)
        for word in words:
            self.assertIn(word, err)
        self.assertEqual(err.count("\n"), 1, err)


class Wording(KindTest):
    def test_no_such_task_is_that_whatever_was_given_for_its_id(self):
        for identity in ("nonsense", "t0abc4k2mq7rz", " ", "\x1b[31m", "x" * 5000):
            for command in (("get",), ("get", "--result"), ("explain",), ("wait",), ("watch",), ("cancel",), ("retry",),
                            ("forget",), ("run-now",), ("change", "--priority", "1")):
                with self.subTest(command, identity=identity[:20]):
                    self.says(NOT_FOUND, f"ergon task {command[0]}: no such task; ergon task list",
                              arguments=("task", *command, identity))
        self.says(NOT_FOUND, "ergon worker quiet: no such worker; ergon worker list", arguments=("worker", "quiet", "x"))

    def test_of_several_that_is_named_which_is_not_there(self):
        status, _, err = self.ergon("task", "run-now", "first-id", "second-id")
        self.assertEqual(status, NOT_FOUND)
        self.assertRegex(err, "^ergon task run-now: no such task: first-id;.*\nergon task run-now: no such task: second-id;")

    def test_commands_stand_where_methods_of_the_wire_would(self):
        for arguments in (("queue", "explain", "nope"), ("sem", "explain", "nope"), ("cron", "delete", "nope"),
                          ("call", "nope"), ("task", "submit", "nope"), ("connection", "kill", "9999")):
            _, _, err = self.ergon(*arguments)
            self.assertNotRegex(err, r"\b(task|queue|sem|cron|server|connection)\.[a-z]", arguments)
        self.says(1, "ergon call: NO_SPACE: full", arguments=("call", "fail", "NO_SPACE", "full"))

    def test_what_may_not_be_called_is_named_as_roles_have_it(self):
        with Server("--tokens", write_tokens(scratch(self.addCleanup), {"ann": "echo"})) as guarded:
            status, _, err = run_ergon(guarded.urls[0], "task", "list", env={"ERGON_TOKEN": token_of("ann")})
            self.assertEqual(status, AUTH)
            self.assertIn("ergon task list: DENIED: ", err)
            self.assertIn("task.list", err)

    def test_a_method_that_was_meant_is_named(self):
        for command in (("call",), ("task", "submit"), ("task", "call")):
            self.says(NOT_FOUND, "no method 'ecko'; did you mean 'echo'?", arguments=(*command, "ecko"))
        self.says(NOT_FOUND, "no method 'qqqqqqqq'; ergon methods lists", arguments=("call", "qqqqqqqq"))
        for words, text in ((("call", "counter/a", "ad"), "no method 'counter.ad'; did you mean 'add'?"),
                            (("tell", "ticker/a", "stp"), "no method 'ticker.stp'; did you mean 'start'?"),  # step is sent by nobody
                            (("call", "counte/a", "add"), "no method 'counte.add'; did you mean 'counter.add'?")):
            self.says(NOT_FOUND, text, arguments=("actor", *words))
        for command, hint in (("call",), "ergon actor call counter/KEY add ... sends it to one"), (("task", "submit"), "--actor counter/KEY"):
            self.says(1, "BAD_PARAMS: 'counter.add' is a method of actors; ", hint, arguments=(*command, "counter.add", "1"))
        status, out, err = self.ergon("call", "ecko", "--json")
        self.assertEqual((status, out), (NOT_FOUND, b""))
        self.assertEqual(json.loads(err)["error"],
                         {"code": "NO_METHOD", "text": "no method 'ecko'", "hint": "did you mean 'echo'?"})

    def test_commands_options_and_flags_that_were_meant_are_named(self):
        self.says(USAGE, "did you mean 'task submit'?", arguments=("task", "sumbit"))
        self.says(USAGE, "did you mean 'methods'?", arguments=("method",))
        self.says(USAGE, "did you mean --history?", arguments=("task", "get", "--histroy", "x"))
        for flag, meant in (("--lsten", "--listen"), ("--log-levle=debug", "--log-level"), ("--stroe", "--store")):
            done = subprocess.run([ERGOND, flag], capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"no such flag; did you mean {meant}?", done.stderr)

    def test_what_is_too_long_names_its_limit(self):
        self.says(LIMITED, "TOO_LARGE", "limits.message", arguments=("call", "echo", "-"), stdin=b"x" * 100000)

    def test_no_server_says_how_to_start_one(self):
        folder = scratch(self.addCleanup)
        status, _, err = run_ergon(f"unix://{folder}/socket", "ping")
        self.assertEqual(status, CONNECT)
        self.assertIn(f"ergond --listen unix://{folder}/socket starts one", err)


class Arguments(KindTest):
    def test_what_begins_as_json_and_is_none_is_not_sent(self):
        for text in ("[1,", "{", '"', '{"a":1}}', "[1] 2", "007", "1,5", "+1", ".5", "5.", "1e", "0x10", "-01"):
            with self.subTest(text):
                self.says(USAGE, "is no JSON", "--string", arguments=("call", "echo", "--", text))
                self.assertEqual(self.good("call", "echo", "--string", text), text)
                self.assertEqual(self.good("call", "echo", f"--string={text}"), text)

    def test_what_only_looks_a_little_like_it_is_a_string(self):
        for text in ("10s", "2026-11-22", "10.0.0.1", "1x", "e5", "+", "1-2", "0xg", "v1.5", "'x'", "(1)"):
            self.assertEqual(self.good("call", "echo", text), text)

    def test_forms_stand_where_they_are_among_the_others(self):
        self.assertEqual(json.loads(self.good("call", "echo", "1", "--string", "2", "3", "--json-arg", "4", "--string", "-", "x")),
                         [1, "2", 3, 4, "-", "x"])
        self.assertEqual(self.good("call", "echo", "--string", "@x"), "@x")
        self.says(USAGE, "is no JSON", arguments=("call", "echo", "--json-arg", "hello"))
        self.says(USAGE, "needs", arguments=("call", "echo", "--string"))
        self.says(USAGE, "unknown option", arguments=("task", "list", "--string", "x"))
        self.assertEqual(self.good("task", "submit", "--wait", "echo", "--string", "007"), "007")


class Interrupts(KindTest):
    def interrupt(self, *arguments):
        """What is on stderr after Ctrl-C, once the task that `arguments` wait for is there."""
        process = subprocess.Popen([ERGON, "-s", server.urls[0], *arguments], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, **NO_CONTEXTS})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def test_the_id_of_what_goes_on_is_printed(self):
        process = self.interrupt("-v", "task", "submit", "--wait", "--tenant", "interrupted", "sleep", "1h")
        identity = process.stderr.readline().split()[-1]  # -v says it, just before it is waited for
        eventually(self.is_waited_for, "the task is waited for")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertEqual(err, f"ergon: task {identity} goes on; ergon task wait {identity}\n")
        self.good("task", "cancel", identity)

    def is_waited_for(self):
        return any(call["method"] == "task.wait" for connection in json.loads(self.good("connection", "list", "--json"))
                   for call in connection["calls"])


class Beginnings(KindTest):
    def test_nothing_at_all_shows_the_first_steps(self):
        done = subprocess.run([ERGON], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
        for word in ("ergond", "ergon ping", "ergon call echo hello", "ergon --help"):
            self.assertIn(word, done.stderr)
        self.assertLess(done.stderr.count("\n"), 20)

    def test_topics_and_commands_have_help(self):
        for topic in ("arguments", "contexts", "output", "exit"):
            self.assertIn("xample", self.good("help", topic))
        self.says(USAGE, "did you mean 'output'?", arguments=("help", "ouput"))
        self.assertIn("Examples:", self.good("help", "task", "get"))

    def test_every_help_has_an_example(self):
        def commands(*group):
            text = self.good(*group, "--help")
            self.assertRegex(text, r"Examples:\n  \S", group)
            for line in re.search(r"\nCommands:\n((?:  .*\n)*)|$", text).group(1).splitlines() if "\nCommands:" in text else ():
                words = line.split("  ")[1].split()  # none in a line that goes on
                if words and words != list(group):
                    commands(*words)
        commands()


class Times(KindTest):
    def test_times_have_their_zone(self):
        identity = self.good("task", "submit", "--wait", "--json", "echo", "1")
        identity = json.loads(identity)["id"]
        for env, flags, zone in (({"TZ": "Asia/Kolkata"}, (), r"\+05:30"), ({"TZ": "America/St_Johns"}, (), r"-0[23]:30"),
                                 ({"TZ": "Asia/Kolkata"}, ("--utc",), "Z")):
            lines = self.good("task", "watch", identity, *flags, env=env).splitlines()
            for line in lines:
                self.assertRegex(line, rf"^(\d{{4}}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{{3}}{zone}  [a-z_]+")
            wide = self.good("task", "list", "-o", "wide", *flags, env=env)
            self.assertRegex(wide, rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{3}}{zone}")


if __name__ == "__main__":
    unittest.main()
