"""The stage on which the client packages of clients/ play: servers with a listener of each kind, one that is killed and comes
back, one that sends rubbish.  Each language has a program that plays a scenario by name; it asserts, and ends with 0.

What a program prints is shown when it fails; on a line `restart` the server is killed and started again, on a line `kill` only
killed, and a line on its standard input says that this is done.
"""
import os
import re
import shutil
import socket
import subprocess
import threading

import msgpack

import interop  # where the harness is
from harness import BUILD, ERGOND, LIMIT, SOURCE, Server, make_token, scratch, self_signed

PLACE = os.path.abspath(os.path.join(BUILD, "tests", "interop", "clients"))

CONFIG = """
tokens_file: {folder}/tokens
listen:
  - {{url: "ergon://127.0.0.1:0", auth: none}}
  - {{url: "unix://{folder}/socket", auth: none}}
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


def copy(name, leave=()):
    """A copy of a package in the build tree, so that what builds it writes nothing into the source."""
    place = os.path.join(PLACE, name)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(os.path.join(SOURCE, "clients", name), place, ignore=shutil.ignore_patterns("__pycache__", *leave))
    return place


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
        else:
            answers = [[2, "nobody.asked", [1]], [0, 7, "what.is.this", []], [1, 4_000_000_000, None, "whose?"],
                       [1, number, None, params[0]], [1, number, None, "again"]]
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
        """So many answers, as they come: (id, error, result)."""
        heard = [self.hear() for _ in range(count)]
        assert all(m is not None and m[0] == 1 for m in heard), heard
        return [tuple(m[1:]) for m in heard]

    def greet(self, error=None):
        """Until the client has told what it serves, which is answered."""
        while True:
            kind, number, method, params = self.hear()
            assert kind == 0, (kind, number, method, params)
            if method == "worker.register":
                self.say([1, number, error, None if error else {"worker": "w1"}])
                return params
            self.say([1, number, "NO_METHOD: what is that?", None])


class Asker:
    """A server that asks. A program serves `echo`, `fail [code, text]`, `raise`, `odd` (a result that is not for MessagePack),
    `hold` (until it is told `release`, or its connection is lost), `lost` (how many it was lost under, once there are four), and
    `quit`, in two slots. What went wrong here is kept for the test."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(LIMIT)
        self.url = "ergon://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.fault = None
        self.registered = []
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
        peer.say([0, 1, "echo", [1, "two"]])
        assert peer.answers(1) == [(1, None, [1, "two"])]
        peer.say([0, 2, "fail", ["NO_SPACE", "disk full"]])
        assert peer.answers(1) == [(2, "NO_SPACE: disk full", None)]
        peer.say([0, 3, "raise", []])
        (number, error, _), = peer.answers(1)
        assert number == 3 and error.startswith("FAILED: ") and "no luck" in error, error
        peer.say([0, 4, "odd", []])
        (number, error, _), = peer.answers(1)
        assert number == 4 and error.startswith("INTERNAL: "), error
        peer.say([0, 5, "echo", 7])
        peer.say([0, 6, "echo", None])
        assert sorted(peer.answers(2)) == [(5, None, [7]), (6, None, [])]
        self.ask_slots(peer)
        large = bytes(10 << 20)
        peer.say([0, 30, "echo", [large]])
        assert peer.answers(1) == [(30, None, [large])]
        peer.say([0, 40, "hold", []], [0, 41, "hold", []])  # and then the connection is lost
        peer.say([0, 42, "echo", []])
        assert peer.answers(1)[0][0] == 42

    def ask_slots(self, peer):
        """More than the slots are refused at once, also under an id that is taken."""
        peer.say([0, 20, "hold", []], [0, 20, "hold", []], [0, 20, "echo", []])
        (number, error, _), = peer.answers(1)
        assert number == 20 and error.startswith("BUSY: "), error
        peer.say([2, "release", []])
        assert peer.answers(2) == [(20, None, "held"), (20, None, "held")]
        for number in range(100):  # and the slots are free again
            peer.say([0, number, "echo", [number]])
            assert peer.answers(1) == [(number, None, [number])]

    def flood(self, peer):
        """More refusals than a client keeps for a server that does not read: it gives up, and comes back."""
        self.registered.append(peer.greet())
        requests = msgpack.packb([0, 7, "hold", []]) * 10_000
        try:
            for _ in range(1000):
                peer.sock.sendall(requests)
        except ConnectionError:
            return
        raise AssertionError("the client goes on for ever")

    def ask_again(self, peer):
        self.registered.append(peer.greet())
        peer.say([0, 1, "lost", []])
        assert peer.answers(1) == [(1, None, 4)]
        peer.say([0, 2, "hold", []], [0, 3, "quit", []])
        heard = peer.hear()
        assert heard is None or heard[1] == 3, heard  # it may still have said so
        assert heard is None or peer.hear() is None

    def close(self):
        self.listener.close()
        self.thread.join()


class Clients:
    """The scenarios, for a subclass that has COMMAND, the words that run its program, and VERSION, that of its package, if it has one."""

    COMMAND = ()
    VERSION = ""
    ENVIRONMENT = {}
    SERVING = ("serve",)  # scenarios

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

    def play(self, scenario, url, act=None, **more):
        """Runs the program; `act` does what it asks for on a line of its own."""
        environment = {**os.environ, **self.ENVIRONMENT, "ERGON_URL": url}
        environment.update({"ERGON_" + name.upper(): value for name, value in more.items()})
        program = subprocess.Popen([*self.COMMAND, scenario], env=environment, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        late = threading.Timer(LIMIT, program.kill)
        late.start()
        said = []
        with program:
            for line in program.stdout:
                said.append(line)
                if line.strip() in ("restart", "kill"):
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
        with socket.create_server(("127.0.0.1", 0)) as free:
            nobody = "ergon://127.0.0.1:%d" % free.getsockname()[1]
        self.play("closed", self.unix, nobody=nobody)

    def test_rubbish_harms_only_its_connection(self):
        rubbish = Rubbish()
        self.addCleanup(rubbish.close)
        self.play("rubbish", rubbish.url)
        self.assertEqual(rubbish.left, [])
        self.assertEqual(rubbish.borne, [])
        self.assertEqual(rubbish.submissions, 3)
        self.assertGreater(len(rubbish.refusals), 0)
        for kind, number, error, _ in rubbish.refusals:
            self.assertEqual((kind, number), (1, 7))
            self.assertRegex(error, "^NO_METHOD: ")

    def test_requests_of_the_server_are_answered(self):
        for scenario in self.SERVING:
            with self.subTest(scenario):
                asker = Asker()
                self.addCleanup(asker.close)
                self.play(scenario, asker.url)
                asker.close()
                if asker.fault is not None:
                    raise asker.fault
                self.assertEqual(asker.registered, [[["echo"], {"slots": 2}]] * 3)

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

    def test_the_version_is_the_servers(self):
        if self.VERSION == "":
            self.skipTest("a Go module has the version that its repository's tags say")
        said = subprocess.run([ERGOND, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(re.search(r"\d+\.\d+\.\d+", said)[0], self.VERSION)
