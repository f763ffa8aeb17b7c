"""Completion that asks the server: what it offers where, in a real bash, zsh and fish, and that it never hangs and never says a word."""
import contextlib
import os
import pty
import shutil
import socket
import subprocess
import threading
import time
import unittest

import msgpack
from harness import ERGON, LIMIT, NO_CONTEXTS, OK, Server, run_ergon, scratch, token_of, write_tokens

server = None


def setUpModule():
    global server
    server = Server()
    unittest.addModuleCleanup(server.__exit__, None)


ASKED = 3  # times, where nothing is offered: a shell waits for 700 ms, in which a busy machine may not answer


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.env = {**os.environ, **NO_CONTEXTS, "ERGON_URL": server.urls[0]}

    def live(self, *words, env=None):
        """What may stand in place of the last word, without what is said about it."""
        return [line.split("\t")[0] for line in self.described(*words, env=env)]

    def described(self, *words, env=None):
        for _ in range(ASKED):
            done = subprocess.run([ERGON, "completion", "live", "--", *words], capture_output=True, text=True, timeout=LIMIT,
                                  stdin=subprocess.DEVNULL, cwd=self.folder, env={**self.env, **(env or {})})
            self.assertEqual(done.stderr, "")
            if done.stdout:
                break
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
        for words in (("call", "echo", "ec"), ("ec",), ("call", "zzz"), ("task", "ec"), ("ping", "ec"), ("no", "ec")):
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

    def test_files_of_modules(self):
        for name in "thumbs.so", "thumbs.c", ".hidden.so":
            with open(os.path.join(self.folder, name), "w"):
                pass
        os.mkdir(os.path.join(self.folder, "deep"))
        with open(os.path.join(self.folder, "deep", "other.so"), "w"):
            pass
        self.assertEqual(sorted(self.live("module", "check", "")), ["deep/", "thumbs.so"])
        self.assertEqual(self.live("module", "check", "./th"), ["./thumbs.so"])
        self.assertEqual(self.live("module", "check", "--seed", "7", "deep/"), ["deep/other.so"])
        self.assertEqual(self.live("module", "check", "thumbs.so", "th"), [])

    def test_actors(self):
        for name in "eggs", "cakes":
            self.assertEqual(run_ergon(server.urls[0], "actor", "call", f"counter/{name}", "add", "1")[0], OK)
        for words, offered in ((("call", ""), ["counter/", "ticker/"]), (("tell", "counter/"), ["counter/cakes", "counter/eggs"]),
                               (("get", "counter/x", "counter/e"), ["counter/eggs"]), (("list", "t"), ["ticker/"]),
                               (("call", "counter/eggs", ""), ["add", "get", "give"]), (("tell", "ticker/x", "s"), ["start"]),
                               (("list", "--type", ""), ["counter", "ticker"]), (("call", "none/x", "a"), [])):
            self.assertEqual(sorted(self.live("actor", *words)), offered, words)

    def test_workers(self):
        with server.connect() as worker:
            identity = worker.call("worker.register", ["completed.here"], {"slots": 1})["worker"]
            self.assertEqual(self.live("worker", "quiet", identity), [identity])
            self.assertEqual(self.live("call", "completed"), ["completed.here"])

    def test_commands_and_options(self):
        nobody = {"ERGON_URL": "unix:///nowhere"}
        for words, expected in {
                ("task", "show", "--hi"): ["--history"], ("result", "--hi"): ["--history"], ("worker", "ls", "--me"): ["--method"],
                ("ta",): ["task"], ("task", "sub"): ["submit"], ("help", "arg"): ["arguments"], ("help", "task", "sub"): ["submit"],
                ("task", "wait", "--a"): ["--any"], ("queue", "list", "--wat"): ["--watch"], ("call", "--str"): ["--string"],
                ("--server-n",): ["--server-name"], ("call", "x", "--", "--str"): [], ("sem", "run", "x", "--", "ta"): [],
                ("queue", "list", "--watch", "x"): [], ("completion", "b"): ["bash"],
                ("task", "list", "--state=d"): ["--state=delayed", "--state=done", "--state=dead"], ("task", "list", "--no-such=d"): [],
                ("worker", "--output", ""): ["auto", "json", "bin"], ("worker", "list", "--output", "y"): ["yaml"],
                ("cron", "put", "--overlap", "s"): ["skip"], ("task", "list", "--limit", ""): []}.items():
            self.assertEqual(self.live(*words, env=nobody), expected, words)
        # All of them where nothing is written yet; options where nothing but these can follow.
        self.assertIn("completion", self.live(""))
        self.assertIn("help", self.live())
        self.assertIn("quiet", self.live("worker", ""))
        self.assertIn("--wait", self.live("ping", ""))
        self.assertNotIn("--raw", self.live("call", "echo", ""))

    def test_what_is_said_about_a_word(self):
        identity = self.submit("--delay", "1h", "echo", "x")
        self.assertEqual(self.described("task", "get", identity), [f"{identity}\techo, delayed"])
        self.assertEqual(self.described("que"), ["queue\tshow and steer the queues, one a method"])

    def test_words_that_need_no_server(self):
        nobody = {"ERGON_URL": "unix:///nowhere"}
        self.assertEqual(self.live("task", "list", "--state", "d", env=nobody), ["delayed", "done", "dead"])
        self.assertEqual(self.live("queue", "list", "-o", "", env=nobody), ["table", "wide", "name", "json", "yaml"])
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
        for _ in range(ASKED):
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=LIMIT, cwd=self.folder, env=self.env)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            if done.stdout.strip():
                break
        return done.stdout.split("\n")[:-1]

    def prepare(self):
        """Files and a context for all shells; what the last word becomes in each, by what is typed."""
        for name in ("a b", "data.json"):
            with open(os.path.join(self.folder, name), "w"):
                pass
        os.mkdir(os.path.join(self.folder, "deep"))
        self.env["XDG_CONFIG_HOME"] = os.path.join(self.folder, "config")
        subprocess.run([ERGON, "context", "set", "prod", "-s", "unix:///x"], check=True, env=self.env)
        identity = self.submit("--delay", "1h", "echo", "x")
        return {("que",): {"queue"}, ("task", "sub"): {"submit"}, ("task", "wait", "--an"): {"--any"}, ("queue", "list", "--wat"): {"--watch"},
                ("call", "ech"): {"echo"}, ("task", "get", identity): {identity}, ("task", "list", "--state", "d"): {"delayed", "done", "dead"},
                ("context", "use", "pr"): {"prod"}, ("call", "echo", "@dat"): {"@data.json"}, ("call", "echo", "@de"): {"@deep/"},
                ("-o", "y"): {"yaml"}, ("debug", "show", "dat"): {"data.json"}, ("call", "-s", server.urls[0], "ech"): {"echo"}}

    def test_bash(self):
        cases = self.prepare()
        for words, expected in cases.items():
            if words != ("debug", "show", "dat"):  # bash's own default
                self.assertEqual(set(self.bash(*words)), expected, words)
        self.assertEqual(self.bash("call", "echo", "@a"), ["@a\\ b"])
        self.assertEqual(self.bash("task", "list", "--state", "=", "do"), ["done"])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        cases = self.prepare()
        cases[("call", "echo", "@a")] = {"@a b"}
        cases[("task", "list", "--state=do")] = {"--state=done"}
        lines = [" ".join(("ergon", *words)) for words in cases]
        script = ("set -x PATH $argv[1] $PATH; ergon completion fish | source; "
                  "for line in $argv[2..-1]; complete -C\"$line\" | string replace -r '\\t.*' ''; echo ===; end")
        for _ in range(ASKED):
            done = subprocess.run(["fish", "--no-config", "-c", script, os.path.dirname(os.path.abspath(ERGON)), *lines], capture_output=True,
                                  text=True, timeout=LIMIT, cwd=self.folder, env={**self.env, "HOME": self.folder})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            *all_offered, rest = done.stdout.split("===\n")
            if all(all_offered):
                break
        for (words, expected), offered in zip(cases.items(), all_offered, strict=True):
            self.assertEqual(set(offered.splitlines()), expected, words)
        self.assertEqual(rest, "")

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        cases = self.prepare()
        cases[("call", "echo", "@a")] = {"@a b"}
        cases[("task", "list", "--state=do")] = {"--state=done"}
        # Once as eval reads the script, once as a folder of $fpath has it.
        functions = os.path.join(self.folder, "functions")
        os.mkdir(functions)
        with open(os.path.join(functions, "_ergon"), "w") as f:
            subprocess.run([ERGON, "completion", "zsh"], stdout=f, check=True)
        for how in ('eval "$(ergon completion zsh)"', f"fpath=('{functions}' $fpath); autoload -Uz compinit; compinit -u -d '{self.folder}/dump'"):
            for words, (offered, line) in self.zsh(how, cases).items():
                self.assertEqual(offered, cases[words], (how, words))
                if len(offered) == 1:
                    wanted = next(iter(offered)).replace(" ", "\\ ")
                    end = "" if wanted.endswith("/") else " "
                    self.assertEqual(line, " ".join(("ergon", *words[:-1], wanted)) + end, (how, words))

    def zsh(self, how, cases):
        """What a terminal's zsh offers when the key is pressed behind each line, and the line that it becomes."""
        # The key's widget writes both to a file; compadd is what every function of zsh's own offers by.
        setup = f"""PS1= PS2= RPS1=; setopt no_auto_list no_beep; path=('{os.path.dirname(os.path.abspath(ERGON))}' $path); {how}
            compadd() {{
                local -a hits
                [[ ${{@[(I)-[OAD]]}} != 0 ]] || {{ builtin compadd -A hits "$@"; (( $#hits )) && print -rl -- $hits >> hits; }}
                builtin compadd "$@"
            }}
            tell() {{ : > hits; zle complete-word; {{ print -r -- "$BUFFER"; cat hits }} > told.part; command mv told.part told; BUFFER= }}
            zle -N tell; bindkey '^I' tell; : > ready"""
        rc = os.path.join(self.folder, ".zshrc")
        with open(rc, "w") as f:
            f.write(setup + "\n")
        main, sub = pty.openpty()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, "ready"))
        shell = subprocess.Popen(["zsh", "-o", "no_global_rcs", "-i"], stdin=sub, stdout=sub, stderr=sub, cwd=self.folder, start_new_session=True,
                                 env={**self.env, "ZDOTDIR": self.folder, "HOME": self.folder, "TERM": "dumb"})
        os.close(sub)
        said = []
        reader = threading.Thread(target=self.drain, args=(main, said))
        reader.start()
        try:
            self.wait_for("ready", said)
            found = {}
            for words in cases:
                for _ in range(ASKED):
                    os.write(main, (" ".join(("ergon", *words)) + "\t").encode())
                    line, *offered = self.wait_for("told", said).splitlines()
                    if offered:
                        break
                found[words] = {one.replace("\\ ", " ") for one in offered}, line  # -A quotes
            return found
        finally:
            shell.kill()
            shell.wait()
            reader.join()
            os.close(main)

    @staticmethod
    def drain(terminal, said):
        with contextlib.suppress(OSError):  # its other side is closed
            while data := os.read(terminal, 4096):
                said.append(data)

    def wait_for(self, name, said):
        """What the shell has written to this file, which is taken away."""
        path, end = os.path.join(self.folder, name), time.monotonic() + LIMIT
        while not os.path.exists(path):
            if time.monotonic() > end:
                self.fail(f"zsh has not written {name}; it said {b''.join(said)[-2000:]!r}")
            time.sleep(0.01)
        with open(path) as f:
            text = f.read()
        os.unlink(path)
        return text


if __name__ == "__main__":
    unittest.main()
