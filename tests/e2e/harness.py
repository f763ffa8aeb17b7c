"""What the end-to-end tests share: the real server on ports of its own choosing, and a plain client.

The programs come from the build tree that CTest names in ERGON_BUILD.  No test waits for a time to
pass: they wait for what they expect, up to LIMIT seconds, and fail with what they saw instead.
"""
import contextlib
import glob
import hashlib
import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

import msgpack

LIMIT = float(os.environ.get("ERGON_LIMIT", 60))  # seconds after which something that should have happened counts as missing
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("ERGON_BUILD", "build")
SANITIZE = os.environ.get("ERGON_SANITIZE", "")
SANITIZED = SANITIZE != ""  # memory figures mean nothing then
# The thread sanitizer sleeps a second before an exit, which no limit of ours allows for.
TSAN_OPTIONS = os.environ.get("TSAN_OPTIONS", "") + " atexit_sleep_ms=0"
# A search for leaks is half of the time of a command that ends at once, and what it leaks harms nobody: servers search.
ASAN_OPTIONS = os.environ.get("ASAN_OPTIONS", "")
os.environ["ASAN_OPTIONS"] = ASAN_OPTIONS + ":detect_leaks=0"
ERGOND = os.path.join(BUILD, "server", "ergond")
ERGON = os.path.join(BUILD, "client", "cli", "ergon")
# Exit statuses of the command line.
OK, REMOTE, USAGE, CONNECT, AUTH, TIMEOUT, NOT_FOUND, LIMITED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 7, 130


class RemoteError(Exception):
    """The error of a response, in whatever shape it came."""

    def __init__(self, value):
        super().__init__(value)
        self.value = value

    @property
    def code(self):
        return self.value.split(":")[0]


def is_closing(message):
    """Does the server say why it closes the connection?"""
    return message[:2] == [2, "server.closing"]


class Client:
    """One connection that speaks MessagePack-RPC, and lets a test send any bytes."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(LIMIT)
        self.unpacker = msgpack.Unpacker(raw=False, max_buffer_size=1 << 30, strict_map_key=False,
                                         unicode_errors="surrogateescape")
        self.next_id = 0
        self.early = {}  # responses that came before they were asked for

    def send_bytes(self, data):
        self.sock.sendall(data)

    def send(self, method, *params):
        """Sends a request and returns its id."""
        self.next_id += 1
        self.send_bytes(msgpack.packb([0, self.next_id, method, list(params)], use_bin_type=True,
                                      unicode_errors="surrogateescape"))
        return self.next_id

    def notify(self, method, *params):
        self.send_bytes(msgpack.packb([2, method, list(params)], use_bin_type=True))

    def receive(self):
        """The next message, or None at the end of the stream."""
        while True:
            for message in self.unpacker:
                return message
            data = self.sock.recv(1 << 16)
            if not data:
                return None
            self.unpacker.feed(data)

    def response(self, msgid):
        """The response to a request, (error, result); others are kept."""
        while msgid not in self.early:
            message = self.receive()
            if message is None or is_closing(message):
                raise ConnectionError("the server closed the connection" + (f": {message[2]}" if message else ""))
            kind, got, error, result = message
            if kind != 1:
                raise AssertionError(f"not a response: {message!r}")
            if got in self.early:
                raise AssertionError(f"a second response to {got}")
            self.early[got] = (error, result)
        return self.early.pop(msgid)

    def result(self, msgid):
        error, result = self.response(msgid)
        if error is not None:
            raise RemoteError(error)
        return result

    def call(self, method, *params):
        return self.result(self.send(method, *params))

    def at_end(self):
        """True when the server closes without another message but why it does so."""
        try:
            last = self.receive()
            return last is None or (is_closing(last) and self.receive() is None)
        except ConnectionResetError:
            return True

    def reset(self):
        """Vanishes: RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server:
    """ergond as users start it.  `listen` are URLs; port 0 lets the server choose.  Its log goes to the descriptor
    `log`, or to a file.  It has the module demo, whose methods the tests call, unless `demo` is false."""

    def __init__(self, *flags, listen=("ergon://127.0.0.1:0",), env=None, wrapper=(), log=None, demo=True,
                 program=ERGOND):
        command = [*wrapper, program, *(("--module", "demo") if demo else ())]
        for url in listen:
            command += ["--listen", url]
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            command + list(flags), stdout=subprocess.PIPE, stderr=self.log if log is None else log, text=True,
            env={**os.environ, "ASAN_OPTIONS": ASAN_OPTIONS, "TSAN_OPTIONS": TSAN_OPTIONS, **(env or {})})
        self.urls = []
        for _ in listen:
            line = self.process.stdout.readline().strip()
            if not line:
                self.process.wait()
                raise AssertionError(f"ergond did not start ({self.process.returncode}):\n" + self.log_text())
            self.urls.append(line)

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        return int(self.urls[0].rsplit(":", 1)[1])

    def connect(self, url=None, context=None, session=None):
        url = url or self.urls[0]
        if url.startswith("unix://"):
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(LIMIT)
            try:
                sock.connect(url[len("unix://"):])
            except OSError:
                sock.close()
                raise
            return Client(sock)
        host, port = url.split("://")[1].rsplit(":", 1)
        sock = socket.create_connection((host.strip("[]"), int(port)), timeout=LIMIT)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if url.startswith("ergons://"):
            sock = context.wrap_socket(sock, server_hostname="localhost", session=session)
        return Client(sock)

    def log_text(self):
        return written(self.log)

    def rss(self):
        """Resident memory in bytes."""
        with open(f"/proc/{self.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(LIMIT)

    def stop(self):
        """SIGTERM; the exit status."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            status = self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("ergond did not stop:\n" + self.log_text())
        self.process.stdout.close()
        return status

    @contextlib.contextmanager
    def until_killed(self):
        """The server dies by kill -9 at the end of the block."""
        try:
            yield self
        finally:
            self.discard()

    def discard(self):
        """Whatever state it is in: nothing of it stays."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        status = self.stop()
        if kind is None and status != 0:
            raise AssertionError(f"ergond ended with {status}:\n" + self.log_text())
        self.log.close()


class ServerTest(unittest.TestCase):
    """One server for all tests of a class.  FLAGS, LISTEN and ENV may be set by the class."""

    FLAGS = ()
    LISTEN = ("ergon://127.0.0.1:0",)
    ENV = {}

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.FLAGS, listen=cls.LISTEN, env=cls.ENV)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None)

    def setUp(self):
        self.client = self.server.connect()
        self.addCleanup(self.client.close)

    @contextlib.contextmanager
    def refused(self, code):
        with self.assertRaises(RemoteError) as caught:
            yield caught
        self.assertEqual(caught.exception.code, code, caught.exception.value)


class KeptTest(unittest.TestCase):
    """A server with a store, whose users of this machine may all: at a socket that is the same after a crash.  It is the
    test that starts it."""

    roles = "{name: all, members: ['unix:*'], methods: ['*', task.any]}"

    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.url = "unix://" + os.path.join(self.folder, "socket")
        self.addCleanup(lambda: self.server.discard())

    def start(self, *flags, **more):
        config = os.path.join(self.folder, "ergond.yaml")
        with open(config, "w") as f:
            f.write(f"roles: [{self.roles}]\n")
        self.server = Server("--config", config, "--store", os.path.join(self.folder, "tasks.db"), *flags, listen=(self.url,), **more)

    def crash(self, *flags):
        """kill -9, and another start."""
        self.server.discard()
        self.start(*flags)

    def ergon(self, *arguments, status=OK, **more):
        """What the command line prints."""
        got, out, err = run_ergon(self.url, *arguments, **more)
        self.assertEqual(got, status, (arguments, out, err))
        return out.decode()

    def complaint(self, *arguments, status, **more):
        """What it prints as an error."""
        got, _, err = run_ergon(self.url, *arguments, **more)
        self.assertEqual(got, status, (arguments, err))
        return err

    def background(self, *arguments):
        process = subprocess.Popen([ERGON, "--server", self.url, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class WallClock:
    """The machine may set the wall clock a little while a test runs: then its times differ by as much as that.  It is seen
    by the distance from the clock that nobody sets."""

    def __init__(self):
        self.distances = []  # ns
        self.look()

    def look(self):
        taken = 10**9
        while taken > 10**5:  # of a reading in whose midst another had the processor
            before, wall = time.monotonic_ns(), time.time_ns()
            taken = time.monotonic_ns() - before
        self.distances.append(wall - before)

    def moved(self):
        """By how many ms it was set, at most, between any two looks; one is now."""
        self.look()
        return -((min(self.distances) - max(self.distances)) // 10**6)


def scratch(add_cleanup):
    """A new folder, which goes when what is given to `add_cleanup` is called."""
    holder = tempfile.TemporaryDirectory()
    add_cleanup(holder.cleanup)
    return holder.name


def install(prefix):
    """What a writer of modules has, below `prefix`; the environment in which pkg-config finds it."""
    subprocess.run(["cmake", "--install", BUILD, "--component", "client", "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    found = glob.glob(prefix + "/**/ergon-module.pc", recursive=True)
    assert len(found) == 1, found
    return {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(found[0])}


def module_compiler():
    """As the guide says it, but with the sanitizer that the server has: the thread sanitizer does not see how code that
    it was not built into is synchronised, and reports races that are none."""
    return ["cc"] + ["-fsanitize=" + SANITIZE] * SANITIZED


def build_module(source, to, *flags):
    """With the compiler's warnings on."""
    subprocess.run([*module_compiler(), "-shared", "-Wall", "-Wextra", "-Werror", *flags, source, "-o", to], check=True)


def build_handlers(folder, name, text, *flags):
    """A module of this C source in `folder`; its path."""
    source, built = os.path.join(folder, name + ".c"), os.path.join(folder, name + ".so")
    with open(source, "w") as f:
        f.write(text)
    build_module(source, built, "-fPIC", "-I", os.path.join(SOURCE, "include"), *flags)
    return built


def written(file):
    """What a process has written to this file so far.  The place in the file is the process's, too: to seek would have it
    write over what it wrote before."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


def eventually(condition, what):
    """Waits until `condition` holds."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what}")
        time.sleep(0.01)


# Where a test wants none of the contexts of whoever runs it.
NO_CONTEXTS = {"XDG_CONFIG_HOME": "/nonexistent", "ERGON_CONTEXT": ""}


def run_ergon(url, *arguments, stdin=None, env=None):
    """The command line; (exit status, stdout bytes, stderr text)."""
    done = subprocess.run([ERGON, "--server", url, *arguments], input=stdin, capture_output=True,
                          timeout=LIMIT, env={**os.environ, **NO_CONTEXTS, **(env or {})})
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def with_faults(**faults):
    """The environment of a program on an ill machine; tests/support/preload_faults.c has the faults.  A sanitizer that is a
    library of its own comes first: it insists on that."""
    linked = subprocess.run(["ldd", ERGOND], capture_output=True, text=True, check=True).stdout
    first = re.findall(r"^\s*lib[at]san\S* => (\S+)", linked, re.M)
    library = os.path.abspath(os.path.join(BUILD, "tests", "support", "preload_faults.so"))
    return {"LD_PRELOAD": " ".join([*first, library]), **{"FAULT_" + name: str(value) for name, value in faults.items()}}


def token_of(name):
    """By which `name` says who it is, where write_tokens() wrote the file."""
    return f"token-of-{name}-which-is-long-enough"


def write_tokens(folder, rights):
    """The path of a tokens file in `folder`, which its owner alone reads: each name of `rights` may call those methods."""
    path = os.path.join(folder, "tokens")
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        for name, methods in rights.items():
            out.write(f"sha256:{hashlib.sha256(token_of(name).encode()).hexdigest()} {name} {methods}\n")
    return path


def make_token(path, name, *flags):
    """As an operator makes one: `ergon token` appends its line to the file `path`.  The token."""
    return subprocess.run([ERGON, "token", name, "--file", path, *flags], capture_output=True, text=True, check=True,
                          timeout=LIMIT).stdout.strip()


def self_signed(folder, name="localhost"):
    """A key and a certificate for `name`; (certificate, key) paths."""
    cert, key = os.path.join(folder, name + ".crt"), os.path.join(folder, name + ".key")
    subprocess.run([os.path.join(SOURCE, "scripts", "certificate.sh"), name, cert, key, "2", "DNS:" + name], check=True)
    return cert, key


def trusting(cert):
    context = ssl.create_default_context(cafile=cert)
    return context
