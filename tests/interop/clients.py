"""The stage on which the client packages of clients/ play: servers with a listener of each kind, one that is killed and comes
back, one that sends rubbish.  Each language has a program that plays a scenario by name; it asserts, and ends with 0.

What a program prints is shown when it fails; on a line `restart` the server is killed and started again, on a line `kill` only
killed, on a line `stop` told to stop, and a line on its standard input says that this is done.
"""
import glob
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import msgpack

import interop  # where the harness is
from harness import BUILD, ERGOND, LIMIT, SOURCE, RemoteError, Server, eventually, make_token, run_ergon, scratch, self_signed

PLACE = os.path.abspath(os.path.join(BUILD, "tests", "interop", "clients"))

CONFIG = """
tokens_file: {folder}/tokens
listen:
  - {{url: "ergon://127.0.0.1:0", auth: none}}
  - {{url: "unix://{folder}/socket", auth: none, allow: ["*", "worker.offer.*"]}}
  - {{url: "ergons://127.0.0.1:0", auth: none, tls: {{cert: "{cert}", key: "{key}"}}}}
  - {{url: "ergons://127.0.0.1:0", auth: cert, tls: {{cert: "{cert}", key: "{key}", client_ca: "{own}", client_cert: required}}}}
  - {{url: "ergon://127.0.0.1:0", auth: token}}
  - {{url: "ergons://127.0.0.1:0", auth: none, tls: {{cert: "{nameless}", key: "{nameless_key}"}}}}
roles:
  - {{name: certificates, members: ["cert:ops.example"], methods: ["*"]}}
limits: {{in_flight: 50, penalty: off}}
"""

# What a server that is none sends: at once to one connection, and to another as the answer to its first call. The client closes
# after each.
RUBBISH = [b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff" + bytes(33 << 20), b"\x07", b"\x90", b"\x93\x01\x02\x03", b"\x94\x07\x01\xc0\xc0",
           b"\x94\x01\xa1x\xc0\xc0", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x91" * 2000 + b"\x00",
           b"\x92\x02\xa1x", b"\x94\x00\x01\x02\xc0"]
# What is not wrong as far as it goes: the server closes.
CUT = [b"\x94\x01", b""]


def copy(name, leave=(), to=None):
    """A copy of a package in the build tree, so that what builds it writes nothing into the source."""
    place = os.path.join(PLACE, to or name)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(os.path.join(SOURCE, "clients", name), place, ignore=shutil.ignore_patterns("__pycache__", *leave))
    return place


def files(place):
    """The files of a folder: their paths, and the times of their last changes."""
    return sorted((path, os.stat(path).st_mtime_ns) for path in glob.glob(os.path.join(place, "**"), recursive=True))


def nameless(folder):
    """A certificate that has only a common name, localhost."""
    cert, key = os.path.join(folder, "nameless.crt"), os.path.join(folder, "nameless.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-out", cert, "-keyout", key], check=True, capture_output=True)
    return cert, key


class Rubbish:
    """A server that sends rubbish, to each connection some other, and in the end behaves."""

    def __init__(self):
        self.left = [(data, early) for data in RUBBISH + CUT for early in (True, False)]
        self.borne = []  # what a client did not close over
        self.submissions = 0
        self.refusals = []  # what clients answered to a request of ours
        self.behind = []  # answers that come behind that: a client that has its own may end
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "ergon://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(LIMIT)
                try:
                    self.play(peer)
                except OSError:
                    pass  # it has had enough

    def play(self, peer):
        data, early = self.left.pop(0) if self.left else (None, False)
        if early:
            self.spoil(peer, data)
            return
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
        while got := peer.recv(1 << 16):
            unpacker.feed(got)
            for message in unpacker:
                if message[0] == 1:
                    self.refusals.append(message)
                    peer.sendall(b"".join(map(msgpack.packb, self.behind)))
                    self.behind = []
                if message[0] == 0 and not self.answer(peer, message, data):
                    return

    def spoil(self, peer, data):
        """Sends rubbish, and waits for the client to close."""
        peer.sendall(data)
        peer.settimeout(LIMIT / 6)
        try:
            while data not in CUT and peer.recv(1 << 16):
                pass
        except TimeoutError:
            self.borne.append(data)

    def answer(self, peer, message, data):
        _, number, method, params = message
        if method == "server.hello":
            answers = [[1, number, "NO_METHOD: what is that?", None]]
        elif data is not None:
            self.spoil(peer, data)
            return False
        elif method == "task.submit":
            self.submissions += 1
            if self.submissions < 3:  # nobody knows whether the task is there
                return False
            answers = [[1, number, None, {"id": "t1"}]]
        elif method in ("actor.remind", "cron.put"):  # done, perhaps: nobody may do it again
            return False
        else:
            answers = [[2, "nobody.asked", [1]], [0, 7, "what.is.this", []], [1, 4_000_000_000, None, "whose?"]]
            self.behind += [[1, number, None, params[0]], [1, number, None, "again"]]
        peer.sendall(b"".join(map(msgpack.packb, answers)))
        return True

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


class Peer:
    """One connection of Asker's: whole messages to a client and back."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(LIMIT)
        self.unpacker = msgpack.Unpacker(raw=False, max_buffer_size=1 << 26)
        self.traceback = self.host = None

    def say(self, *messages):
        self.sock.sendall(b"".join(map(msgpack.packb, messages)))

    def hear(self):
        """The next message; None: the client has closed."""
        while True:
            for message in self.unpacker:
                return message
            got = self.sock.recv(1 << 16)
            if not got:
                return None
            self.unpacker.feed(got)

    def answers(self, count):
        """So many answers, as they come: (id, error, result). Of an error that has a traceback this is kept, and its text taken."""
        heard = [self.hear() for _ in range(count)]
        assert all(m is not None and m[0] == 1 for m in heard), heard
        answers = []
        for _, number, error, result in heard:
            if isinstance(error, dict):
                self.traceback = error.pop("traceback", None)
                error = "{code}: {message}".format(**error)
            answers.append((number, error, result))
        return answers

    def ask(self, number, method, *params, **told):
        """A request, whose last parameter is the context."""
        self.say([0, number, method, [*params, {"call": number, "task": None, "attempt": None, "left": None, "tenant": "", **told}]])

    def asked(self, number, method, *params, **told):
        """The answer to a request, the only one that is open: (error, result)."""
        self.ask(number, method, *params, **told)
        (answered, error, result), = self.answers(1)
        assert answered == number, answered
        return error, result

    def hold(self, *numbers):
        """Requests that last, and have begun, in whatever order."""
        for number in numbers:
            self.ask(number, "hold")
        heard = sorted([self.hear() for _ in numbers], key=lambda message: message[2])
        assert heard == [[2, "worker.progress", [number, 0, 0, ""]] for number in sorted(numbers)], heard

    def greet(self, error=None):
        """Until the client has told what it serves, which is answered."""
        while True:
            kind, number, method, params = self.hear()
            assert kind == 0, (kind, number, method, params)
            if method == "worker.register":
                self.host = params[1].pop("host", None)
                self.say([1, number, error, None if error else {"worker": "w1"}])
                return [sorted(params[0]), *params[1:]]
            self.say([1, number, "NO_METHOD: what is that?", None])


class Asker:
    """A server that asks. A program works these methods in two slots, named and with a version, and its grace is short:

    echo, fail [code, text], raise, odd (its result is not for MessagePack), again [ms], permanent [text]
    mute        raises what has no text
    told        what its context says: [method, task, attempt, tenant, whether less than a minute is left]
    steps       progress 1 of 2, "half", then a partial result [7], then its result
    hold        progress 0, and then until the server tells `release`, or it is cancelled
    why         why those were cancelled that were, in order, once there are four
    quit        ends the work: then a hold is open

    After the work it calls `worked`, and is asked once more, and then it closes.

    What went wrong here is kept for the test."""

    METHODS = ["again", "echo", "fail", "hold", "mute", "odd", "permanent", "quit", "raise", "steps", "told", "why"]
    REGISTRATION = [METHODS, {"slots": 2, "context": True, "name": "hand", "version": "1.2", "message": 12 << 20}]

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(LIMIT)
        self.url = "ergon://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.fault = None
        self.registered = []
        self.traced = None  # the host of the worker, and the traceback of `raise`
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        try:
            for play in (self.refuse, self.ask, self.flood, self.ask_again):
                sock, _ = self.listener.accept()
                with sock:
                    play(Peer(sock))
        except Exception as fault:
            self.fault = fault

    def refuse(self, peer):
        """Who is not told what it serves is no server: the client comes back."""
        peer.greet("BUSY: later")
        assert peer.hear() is None

    def ask(self, peer):
        self.registered.append(peer.greet())
        assert peer.asked(1, "echo", 1, "two") == (None, [1, "two"])
        self.ask_errors(peer)
        told = peer.asked(11, "told", task="t7", attempt=2, tenant="anna", left=59_999)
        assert told == (None, ["told", "t7", 2, "anna", True]), told
        peer.say([0, 12, "worker.ping", []], [0, 13, "no.such", []])
        pinged, (number, error, _) = sorted(peer.answers(2))
        assert pinged == (12, None, None), pinged
        assert number == 13 and error.startswith("NO_METHOD: "), error
        peer.ask(14, "steps")
        heard = [peer.hear() for _ in range(3)]
        assert heard == [[2, "worker.progress", [14, 1, 2, "half"]], [2, "worker.partial", [14, [7]]], [1, 14, None, "whole"]], heard
        peer.say([0, 15, "echo", 7])  # by a server that has no context for us
        peer.say([0, 16, "echo", None])
        assert sorted(peer.answers(2)) == [(15, None, [7]), (16, None, [])]
        self.ask_slots(peer)
        self.cancel(peer)
        large = bytes(10 << 20)
        assert peer.asked(30, "echo", large) == (None, [large])
        peer.hold(40, 41)  # and then the connection is lost
        peer.ask(42, "echo")
        assert peer.answers(1)[0][0] == 42

    def ask_errors(self, peer):
        assert peer.asked(2, "fail", "NO_SPACE", "disk full") == ("NO_SPACE: disk full", None)
        error, _ = peer.asked(3, "raise")
        assert error.startswith("FAILED: ") and "no luck" in error, error
        self.traced = (peer.host, peer.traceback)
        error, _ = peer.asked(4, "odd")
        assert error.startswith("INTERNAL: "), error
        assert peer.asked(5, "again", 1500) == ("AGAIN: 1500ms", None)
        assert peer.asked(6, "again", 0) == ("AGAIN: 0", None)
        assert peer.asked(7, "permanent", "never") == ("PERMANENT: never", None)
        for number in range(3):  # more than the slots
            error, _ = peer.asked(number, "mute")
            assert error.startswith("FAILED: "), error

    def ask_slots(self, peer):
        """More than the slots are refused at once, also under an id that is taken."""
        peer.hold(20, 20)
        peer.ask(20, "echo")
        (number, error, _), = peer.answers(1)
        assert number == 20 and error.startswith("BUSY: "), error
        peer.say([2, "release", []])
        assert peer.answers(2) == [(20, None, "held"), (20, None, "held")]
        for number in range(100):  # and the slots are free again
            assert peer.asked(number, "echo", number) == (None, [number])

    def cancel(self, peer):
        """Only that call is cancelled, and of a server that ends others shall have the task."""
        peer.hold(50, 51)
        peer.say([2, "worker.cancel", [49, "cancelled"]], [2, "worker.cancel", [51, "deadline"]])
        assert peer.answers(1) == [(51, "CANCELLED: deadline", None)]
        assert peer.asked(52, "echo", 1) == (None, [1])
        peer.say([2, "worker.cancel", [50, "draining"]])
        assert peer.answers(1) == [(50, "AGAIN: 0", None)]

    def flood(self, peer):
        """More refusals than a client keeps for a server that does not read: it gives up, and comes back."""
        self.registered.append(peer.greet())
        requests = msgpack.packb([0, 7, "no.such", []]) * 10_000
        try:
            for _ in range(1000):
                peer.sock.sendall(requests)
        except ConnectionError:
            return
        raise AssertionError("the client goes on for ever")

    def ask_again(self, peer):
        """In the end a handler is open: the server is told first that no more is taken, and then it is handed back."""
        self.registered.append(peer.greet())
        assert peer.asked(1, "why") == (None, ["deadline", "draining", "lost", "lost"])
        peer.hold(2)
        peer.ask(3, "quit")
        heard = [peer.hear(), peer.hear()]
        assert [1, 3, None, None] in heard, heard
        (kind, number, *quiet), = [m for m in heard if m[0] == 0]
        assert quiet == ["worker.quiet", []], quiet
        peer.say([1, number, None, {"worker": "w1", "out": 1}])
        assert peer.answers(1) == [(2, "AGAIN: 0", None)]
        kind, number, *worked = peer.hear()
        assert (kind, worked) == (0, ["worked", []]), worked
        assert peer.asked(4, "echo") == ("AGAIN: 0", None)  # another worker does it
        peer.say([1, number, None, None])
        assert peer.hear() is None

    def close(self):
        self.listener.close()
        self.thread.join()


class Granter:
    """A server with a semaphore, `gpu`, and an event, `e`. A program takes two permits of three, with a grace of 3 s:

    1. It keeps them over a lost connection, and releases them when it is told `go on`.
       Its resume is answered BUSY, and asked for again: only who has resumed them may renew them. Meanwhile it calls `stuck`,
       which is repeated, and takes its only turn until the permits are back, for which the first answer is BUSY.
    2. It takes them again. They come late, so it renews them at once; that is answered BUSY: it gives them back, and asks
       again. It loses them: what it does under them is ended.
    3. It asks for them, and gives that up when it is told `give up`; they are granted all the same, and it gives them back.
    4. It sets the event to 5, and waits for the next."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(LIMIT)
        self.url = "ergon://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.fault = None
        self.stuck = None  # the id of that call
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        try:
            for play in (self.grant, self.resume):
                sock, _ = self.listener.accept()
                with sock:
                    play(Peer(sock))
        except Exception as fault:
            self.fault = fault

    def expect(self, peer, method, *params, also=()):
        """The next request, (id, parameters), but for those in `also`, which are answered."""
        while True:
            kind, number, asked, given = peer.hear()
            assert kind == 0, (kind, number, asked, given)
            if asked == "stuck":
                self.stuck = number
            if asked == method:
                assert not params or given == list(params), (asked, given)
                return number, given
            assert asked in ("server.hello", "stuck", *also), (asked, given)
            if asked != "stuck":
                peer.say([1, number, "NO_METHOD: ?", None] if asked == "server.hello" else [1, number, None, {"fence": 7}])

    def acquired(self, peer, hold, fence, also=()):
        number, (name, options) = self.expect(peer, "sem.acquire", also=also)
        options = {key: value for key, value in options.items() if key != "wait" or value == 0}
        assert (name, options) == ("gpu", {"permits": 2, "of": 3, "grace": 3000}), (name, options)
        if hold is not None:
            peer.say([1, number, None, {"hold": hold, "fence": fence, "permits": 2}])
        return number

    def grant(self, peer):
        self.acquired(peer, "h1", 7)
        number, _ = self.expect(peer, "sem.renew", "gpu", "h1", {})
        peer.say([1, number, None, {"fence": 7}])

    def resume(self, peer):
        self.stuck = None
        for error in ("BUSY: too many", "MEMORY: no memory", None):
            number, _ = self.expect(peer, "sem.resume", "gpu", "h1", {})
            peer.say([1, number, error, None if error else {"fence": 7}])
        if self.stuck is None:
            self.expect(peer, "stuck", also=("sem.renew",))
        peer.say([2, "go on", []])
        for error in ("BUSY: too many", None):
            number, _ = self.expect(peer, "sem.release", "gpu", "h1", also=("sem.renew",))
            peer.say([1, number, error, None if error else True])
        peer.say([1, self.stuck, None, None])
        number = self.acquired(peer, None, None)
        late = time.monotonic() + 1.2  # more than a third of the grace
        eventually(lambda: time.monotonic() > late, "some time passes")
        peer.say([1, number, None, {"hold": "late", "fence": 8, "permits": 2}])
        number, _ = self.expect(peer, "sem.renew", "gpu", "late", {})
        peer.say([1, number, "BUSY: too many", None])
        (_, again, asked, _), (_, number, released, given) = sorted((peer.hear(), peer.hear()), key=lambda message: message[2])
        assert (asked, released, given) == ("sem.acquire", "sem.release", ["gpu", "late"]), (asked, released, given)
        peer.say([1, number, None, True], [1, again, None, {"hold": "h2", "fence": 8, "permits": 2}])
        number, _ = self.expect(peer, "sem.renew", "gpu", "h2", {})
        peer.say([1, number, "FENCED: others have them", None])
        number = self.acquired(peer, None, None)
        peer.say([2, "give up", []])
        cancel, (_, setting, *event) = sorted((peer.hear(), peer.hear()), key=lambda message: -message[0])
        assert (cancel, event) == ([2, "server.cancel", [number]], ["event.set", ["e", 5]]), (cancel, event)
        peer.say([1, number, None, {"hold": "h3", "fence": 9, "permits": 2}])
        number, _ = self.expect(peer, "sem.release", "gpu", "h3")
        peer.say([1, number, None, True], [1, setting, None, {"seq": 41}])
        number, _ = self.expect(peer, "event.wait", "e", {"timeout": 0})
        peer.say([1, number, None, {"seq": 41, "timeout": True}])
        number, _ = self.expect(peer, "event.wait", "e", {"timeout": 30_000, "from": 42})
        peer.say([1, number, None, {"seq": 43, "value": "v"}])
        assert peer.hear() is None

    def close(self):
        self.listener.close()
        self.thread.join()


class Clients:
    """The scenarios, for a subclass that has COMMAND, the words that run its program, and VERSION, that of its package, if it has one."""

    COMMAND = ()
    VERSION = ""
    ENVIRONMENT = {}
    SERVING = ("serve",)  # scenarios
    TRACED = None  # what is found in the traceback of a handler that raised; None: the package sends none
    HOLDING = ("hold",)
    WORKER, CALLER = (), ()  # the words that run the examples

    @classmethod
    def setUpClass(cls):
        cls.folder = scratch(cls.addClassCleanup)
        cls.cert, key = self_signed(cls.folder)
        cls.own, cls.own_key = self_signed(cls.folder, "ops.example")
        cls.nameless, nameless_key = nameless(cls.folder)
        cls.token = make_token(os.path.join(cls.folder, "tokens"), "alice")
        path = os.path.join(cls.folder, "ergond.yaml")
        with open(path, "w") as f:
            f.write(CONFIG.format(folder=cls.folder, cert=cls.cert, key=key, own=cls.own, nameless=cls.nameless,
                                  nameless_key=nameless_key))
        cls.server = Server("--config", path, listen=())
        cls.addClassCleanup(cls.server.__exit__, None)
        urls = [cls.server.process.stdout.readline().strip().replace("127.0.0.1", "localhost") for _ in range(6)]
        cls.tcp, cls.unix, cls.tls, cls.mutual, cls.guarded, cls.unnamed = urls

    def hosted(self, command, *messages):
        """What actors of a program answer to these words of `ergon actor call`."""
        answers = []

        def ask(words):
            status, answer, said = run_ergon(self.unix, "actor", "call", *words)
            if status == 0:
                answers.append(answer.decode().strip())
            else:
                self.assertIn("no method", said)
            return status == 0

        host = subprocess.Popen(command, env={**os.environ, **self.ENVIRONMENT, "ERGON_URL": self.unix}, stderr=subprocess.DEVNULL)
        try:
            for words in messages:
                eventually(lambda: ask(words), f"{command} serves")
        finally:
            host.kill()
            host.wait()
        return answers

    def play(self, scenario, url, act=None, **more):
        """Runs the program; `act` does what it asks for on a line of its own."""
        environment = {**os.environ, **self.ENVIRONMENT, "ERGON_URL": url}
        environment.update({"ERGON_" + name.upper(): value for name, value in more.items()})
        program = subprocess.Popen([*self.COMMAND, scenario], env=environment, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        late = threading.Timer(4 * LIMIT, program.kill)
        late.start()
        said = []
        with program:
            for line in program.stdout:
                said.append(line)
                if line.strip() in ("restart", "kill", "stop"):
                    act(line.strip())
                    program.stdin.write("done\n")
                    program.stdin.flush()
            program.wait()
        late.cancel()
        self.assertEqual(program.returncode, 0, "".join(said))
        return "".join(said)

    def test_values_come_back_as_they_went(self):
        for url in (self.tcp, self.unix):
            with self.subTest(url):
                self.play("values", url)

    def test_errors_are_objects(self):
        self.play("errors", self.tcp)

    def test_large_messages(self):
        for url, more in ((self.unix, {}), (self.tls, {"ca": self.cert})):
            with self.subTest(url):
                self.play("large", url, **more)

    def test_tls_looks_at_authority_and_subject_alternative_name(self):
        self.play("tls", self.tls, ca=self.cert, unnamed=self.unnamed, unnamed_ca=self.nameless, mutual=self.mutual,
                  cert=self.own, key=self.own_key)

    def test_a_token(self):
        self.play("token", self.guarded, token=self.token)

    def test_cancels_and_timeouts_reach_the_server(self):
        self.play("cancel", self.unix)

    def test_many_calls_at_once(self):
        for url, more in ((self.unix, {}), (self.tls, {"ca": self.cert})):
            with self.subTest(url):
                self.play("many", url, **more)

    def test_progress_and_partial_results(self):
        self.play("watch", self.tcp)

    def test_a_client_that_is_closed_or_cannot_connect(self):
        with socket.socket() as silent:  # it listens to nobody, and keeps the port from others
            silent.bind(("127.0.0.1", 0))
            self.play("closed", self.unix, nobody="ergon://127.0.0.1:%d" % silent.getsockname()[1])

    def test_rubbish_harms_only_its_connection(self):
        rubbish = Rubbish()
        self.addCleanup(rubbish.close)
        self.play("rubbish", rubbish.url)
        self.assertEqual(rubbish.left, [])
        self.assertEqual(rubbish.borne, [])
        self.assertEqual(rubbish.submissions, 3)
        self.assertTrue(rubbish.refusals)
        for kind, number, error, _ in rubbish.refusals:
            self.assertEqual((kind, number), (1, 7))
            self.assertRegex(error, "^NO_METHOD: ")

    def test_requests_of_the_server_are_answered(self):
        for scenario in self.SERVING:
            with self.subTest(scenario):
                asker = Asker()
                self.addCleanup(asker.close)
                try:
                    self.play(scenario, asker.url)
                finally:
                    asker.close()
                    if asker.fault is not None:
                        raise asker.fault
                self.assertEqual(asker.registered, [asker.REGISTRATION] * 3)
                if self.TRACED:
                    host, traceback = asker.traced
                    self.assertEqual(host, socket.gethostname())
                    self.assertRegex(traceback, self.TRACED)

    def test_permits_and_events_between_clients(self):
        self.play("share", self.unix)

    def test_permits_are_kept_and_lost(self):
        for scenario in self.HOLDING:
            with self.subTest(scenario):
                granter = Granter()
                self.addCleanup(granter.close)
                try:
                    self.play(scenario, granter.url)
                finally:
                    granter.close()
                    if granter.fault is not None:
                        raise granter.fault

    def test_the_server_is_killed_and_comes_back(self):
        socket_path = os.path.join(self.folder, "again")
        flags = ("--store", os.path.join(self.folder, "store"))
        servers = [Server(*flags, listen=("unix://" + socket_path,))]
        self.addCleanup(lambda: servers[-1].discard())

        def act(what):
            servers[-1].process.kill()
            servers[-1].process.wait()
            if what == "restart":
                servers[-1].discard()
                servers.append(Server(*flags, listen=("unix://" + socket_path,)))

        self.play("restart", "unix://" + socket_path, act)
        self.assertEqual(len(servers), 2)

    def test_the_example(self):
        path = os.path.join(self.folder, "some file")
        with open(path, "w") as f:
            f.write("abc")
        said = self.play(path, self.unix, example="1")
        self.assertIn("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  " + path, said)

    def start_worker(self, url):
        """The example, and what it and its caller have in their environment."""
        environment = {**os.environ, **self.ENVIRONMENT, "ERGON_URL": url}
        worker = subprocess.Popen(self.WORKER, env=environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        self.addCleanup(worker.stderr.close)
        return worker, environment

    def test_a_worker_registers_again(self):
        """With the server that comes after one that was killed; and as often as its program works."""
        path = os.path.join(self.folder, "again.yaml")
        with open(path, "w") as f:
            f.write(f"listen: [{{url: 'unix://{self.folder}/worker', allow: ['*', 'worker.offer.*']}}]\n")
        worker = None
        for _ in range(3):
            with Server("--config", path, listen=()).until_killed() as server:
                url = server.process.stdout.readline().strip()
                worker = worker or self.start_worker(url)[0]
                with server.connect(url) as watching:
                    eventually(lambda: worker.poll() is not None or watching.call("worker.list")["workers"], "it is back")
                    self.assertEqual(watching.call("words", "a b a"), {"a": 2, "b": 1})
        self.play("again", self.unix)

    def test_the_examples_of_workers(self):
        """Each language's caller, with the worker of the same."""
        path = os.path.join(self.folder, "words")
        with open(path, "w") as f:
            f.write("to be or\nNot to be\n")
        worker, environment = self.start_worker(self.unix)
        with self.server.connect(self.unix) as watching:
            eventually(lambda: worker.poll() is not None or watching.call("worker.list")["workers"], "it is there, or has ended")
            said = subprocess.run([*self.CALLER, path], env=environment, capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual((said.stdout, said.stderr), (path + " 4\n", ""))
            self.assertEqual(watching.call("words", "a b a"), {"a": 2, "b": 1})
            with self.assertRaisesRegex(RemoteError, "PERMANENT: this is no text"):
                watching.call("words", "\0")
        worker.terminate()
        self.assertEqual(worker.wait(LIMIT), 0)

    def test_the_version_is_the_servers(self):
        if self.VERSION == "":
            self.skipTest("a Go module has the version that its repository's tags say")
        said = subprocess.run([ERGOND, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(re.search(r"\d+\.\d+\.\d+", said)[0], self.VERSION)
