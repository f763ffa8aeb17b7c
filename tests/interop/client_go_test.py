"""The Go package, as a module that a program of another module requires, without a network, against real servers; under
the thread sanitizer with Go's own detector of races."""
import os
import re
import subprocess
import unittest

import clients
import interop
from harness import SANITIZE

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(clients.PLACE, "go-program")
MODULE = """module client_go

go 1.19

require ergon-client v0.1.0

replace ergon-client => ../go
"""
OFFLINE = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off",
           "GOCACHE": os.path.join(clients.PLACE, "go-cache")}

FRAME = r"main\.failures\.func[\d.]+\(\.\.\.\)\n\t.*client_go\.go:\d+\n?"
# How a handler fails: its error, and its traceback.
FAILURES = {
    "plain": ("FAILED: no luck$", ""),
    "caused": ("FAILED: reading: open x: file does not exist$",
               r"\*fmt\.wrapError: reading: .*\nCaused by: \*fs\.PathError: open .*\nCaused by: .*"),
    "coded": ("NO_SPACE: full$", r"\*fmt\.wrapError: writing: NO_SPACE: full\nCaused by: \*ergon\.Error: NO_SPACE: full"),
    "again": ("AGAIN: 5000ms$", ""),
    "detail": ("FAILED: no luck$", r"no luck\nmain\.there\n\tthere\.go:7"),
    "index": ("FAILED: panic: runtime error: index out of range", rf"panic: runtime error: .*\n\n(?:{FRAME}){{2}}"),
    "deep": ("FAILED: panic: at the ground: file does not exist$",
             r"panic: \*fmt\.wrapError: at the .*\nCaused by: .*\n\n[^…]*…[^…]*(?:…)?"),
    "nil": ("FAILED: panic: <nil>$", rf"panic: <nil>\n\n(?:{FRAME}){{2}}"),
    "exit": ("FAILED: the handler ended its goroutine$", ""),
    "long": ("FAILED: käse", r"(?:käse)+k?ä?s?\n…\n[^…]*\nmain\.there\n\tthere\.go:7"),
}


def go(*words, cwd=PROGRAM):
    return subprocess.run(["go", *words], cwd=cwd, env=OFFLINE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def build(to, what, *flags):
    done = go("build", *flags, "-o", to, what)
    assert done.returncode == 0, done.stdout


def install():
    """A module beside a copy of the package, as users have it."""
    clients.copy("go")
    clients.shutil.rmtree(PROGRAM, ignore_errors=True)
    os.makedirs(PROGRAM)
    clients.shutil.copy(os.path.join(HERE, "client_go.go"), PROGRAM)
    with open(os.path.join(PROGRAM, "go.mod"), "w") as f:
        f.write(MODULE)
    race = ("-race",) if SANITIZE == "thread" else ()
    build("client_go", ".", *race)
    build("example", "ergon-client/example")
    for what in ("worker", "caller"):
        build("example_" + what, "ergon-client/example/" + what, *race)


class Go(clients.Clients, unittest.TestCase):
    COMMAND = (os.path.join(PROGRAM, "client_go"),)
    TRACED = r"^panic: no luck\n\nmain\.serve\.func\d+\(\.\.\.\)\n\t.*client_go\.go:\d+$"
    WORKER, CALLER = ((os.path.join(PROGRAM, "example_" + what),) for what in ("worker", "caller"))

    @classmethod
    def setUpClass(cls):
        install()
        super().setUpClass()

    def test_the_example(self):
        self.COMMAND = (os.path.join(PROGRAM, "example"),)
        super().test_the_example()

    def test_times_and_options(self):
        self.play("times", self.unix)

    def test_the_example_of_actors(self):
        build("room", os.path.join(clients.SOURCE, "examples", "actor", "room.go"))
        self.assertEqual(self.hosted((os.path.join(PROGRAM, "room"),), ("room/1", "say", "hello"), ("room/1", "say", "goodbye")), ["1", "2"])

    def test_a_table_is_a_type_of_actors(self):
        self.play("actors", self.unix)

    def test_more_tasks_than_the_server_waits_for_at_a_time(self):
        self.play("thousands", self.unix)

    def test_failures_bring_what_caused_them(self):
        heard = {}

        def play(peer):
            registered = peer.greet()
            heard["registered"] = (peer.host, registered[1]["secret"])
            for number, what in enumerate(FAILURES, 1):
                peer.traceback = None
                heard[what] = (peer.asked(number, "fault", what)[0], peer.traceback or "")
            peer.ask(100, "quit")
            while message := peer.hear():
                if message[0] == 0:
                    heard["last"] = message[2]
                    peer.say([1, message[1], None, {}])

        self.play("failures", self.pretend(play, 1))
        self.assertEqual(heard.pop("last"), "worker.quiet")  # which a work without a grace sends, too
        self.assertEqual(heard.pop("registered"), ("here", ["fault"]))
        for what, (text, traceback) in FAILURES.items():
            with self.subTest(what):
                self.assertRegex(heard[what][0], "^" + text)
                self.assertRegex(heard[what][1], rf"\A(?:{traceback})\Z")
                self.assertLessEqual(len(heard[what][1].encode()), 16 << 10)

    def test_a_client_that_is_not_closed_is_silent(self):
        self.assertEqual(self.play("silent", self.unix), "")

    def test_events_and_lines_of_the_connection(self):
        url, act = self.start_again_and_again()
        said = self.play("news", url, act, guarded=self.guarded)
        for wanted in ("lost the connection to unix://", "connected to unix://"):
            self.assertEqual(said.count(" ergon: " + wanted), 1, said)
        refusals = re.findall("ergon: no connection to unix://.*", said)  # its socket is there, or is not
        self.assertGreater(len(refusals), 0, said)
        self.assertEqual(len(refusals), len(set(refusals)), said)

    def test_a_refusal_says_why(self):
        def play(peer):
            peer.say([2, "server.closing", ["BUSY", "too many connections"]])
            peer.sock.shutdown(clients.socket.SHUT_WR)
            while peer.hear():
                pass

        self.play("full", self.pretend(play, 1))

    def test_an_older_server_is_not_told_the_host(self):
        registered = []

        def play(peer):
            while message := peer.hear():
                kind, number, method, params = (*message, None)[:4]
                if kind == 0 and method == "worker.register":
                    registered.append(sorted(params[1]))
                    strange = [name for name in ("host", "secret") if name in params[1]]
                    peer.say([1, number, f'BAD_PARAMS: unknown option "{strange[0]}"' if strange else None, None])
                    if not strange:
                        peer.ask(1, "quit")
                elif kind == 0:
                    peer.say([1, number, None, {}])

        self.play("older", self.pretend(play, 3))
        known = ["context", "message", "slots"]
        self.assertEqual(registered[:2], [sorted([*known, "host", "lease"]), [*known[:1], "lease", *known[1:]]])
        self.assertEqual(registered[2:], [sorted([*known, "host", "secret"]), sorted([*known, "secret"])])

    def pretend(self, play, most):
        """A server of which play(peer) plays each connection, one after the other; the test fails as that does."""
        listener = clients.socket.create_server(("127.0.0.1", 0))
        faults = []

        def serve():
            for _ in range(most):
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return
                with sock:
                    try:
                        play(clients.Peer(sock))
                    except Exception as fault:
                        faults.append(fault)

        def end():
            try:
                listener.shutdown(clients.socket.SHUT_RDWR)
            except OSError:
                pass
            listener.close()
            thread.join()
            self.assertEqual(faults, [])

        thread = clients.threading.Thread(target=serve)
        thread.start()
        self.addCleanup(end)
        return "ergon://127.0.0.1:%d" % listener.getsockname()[1]

    def start_again_and_again(self):
        """The URL of a server, and what plays `kill`, `restart` and `stop` with it."""
        folder = clients.scratch(self.addCleanup)
        url, path = "unix://" + os.path.join(folder, "socket"), os.path.join(folder, "ergond.yaml")
        with open(path, "w") as f:
            f.write(f"listen: [{{url: '{url}', allow: ['*', 'worker.offer.*']}}]\n")
        servers = [clients.Server("--config", path, listen=())]
        self.addCleanup(lambda: servers[-1].discard())
        servers[-1].process.stdout.readline()  # it listens

        def act(what):
            process = servers[-1].process
            if what == "stop":
                process.terminate()
                return
            process.kill()
            process.wait()
            if what == "restart":
                servers[-1].discard()
                servers.append(clients.Server("--config", path, listen=()))

        return url, act

    def test_building_writes_nothing_into_the_tree(self):
        """By the commands of docs/clients.md, and of README.md."""
        source = clients.copy("go")
        before = clients.files(source)
        place = clients.scratch(self.addCleanup)
        clients.shutil.copy(os.path.join(HERE, "client_go.go"), place)
        needed = ("-require", "ergon-client@v0.1.0", "-replace", "ergon-client=" + source)
        for words in (("mod", "init", "first"), ("mod", "edit", *needed), ("build", "-o", "program", "."),
                      ("run", "ergon-client/example"), ("doc", "ergon-client"), ("mod", "tidy")):
            done = go(*words, cwd=place)
            self.assertTrue(done.returncode == 0 or words[0] == "run", done.stdout)
        self.assertEqual(clients.files(source), before)

    def test_vet_and_format(self):
        """Of this program; lint/clients looks at the package."""
        vetted = go("vet", "./...")
        self.assertEqual((vetted.returncode, vetted.stdout), (0, ""))
        formatted = subprocess.run(["gofmt", "-l", PROGRAM], capture_output=True, text=True, check=True)
        self.assertEqual(formatted.stdout, "")


if __name__ == "__main__":
    interop.needs("go", "gofmt")
    unittest.main()
