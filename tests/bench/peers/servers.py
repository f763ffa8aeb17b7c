"""The servers that are compared: how each is started at its best, and how all are stopped."""

import hashlib
import os
import signal
import socket
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
START_SECONDS = 20
STOP_SECONDS = 5
SUITES = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
CONNECTIONS = 12000  # more than any load has
WITH_US = ["setpriv", "--pdeathsig", "TERM", "--"]  # ends when we do, however that comes


class Broken(Exception):
    """A server or the driver did not do its part; the text says which and how."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Processes:
    """Processes of ours, and no others: each is ended by its own handle, in reverse order of its start."""

    def __init__(self, log):
        self.log = log
        self.running = []

    def start(self, argv, processors, **pipes):
        def before():
            if processors:
                os.sched_setaffinity(0, processors)

        with open(self.log, "ab") as log:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **pipes}
            process = subprocess.Popen([*WITH_US, *argv], preexec_fn=before, start_new_session=True, cwd=os.path.dirname(self.log),
                                       **pipes)
        self.running.append(process)
        return process

    def stop(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in reversed(self.running):
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running = []


class Peer:
    """One server.  A subclass says what to start; `what` is one task, in words."""

    name = what = package = ""
    protocol = "msgpack-rpc"
    method = None
    tls = asks = False  # whether it has TLS, and asks for certificates of clients
    open_loop = False  # fast enough that an open loop at its rate says something about ours

    def __init__(self, place):
        self.place = place  # options of the run: where things are, which processors
        self.port = 0
        self.processes = None
        self.heap = None  # a file: what the server has of the allocator is counted there (heap_count.c)

    def built(self, path):
        return os.path.join(self.place.build, path)

    def work(self, path):
        return os.path.join(self.place.work, path)

    def here(self, *path):
        return os.path.join(HERE, *path)

    def argv(self):
        raise NotImplementedError

    def workers(self):
        """Processes to start once the server listens; their processor time counts as the server's."""
        return []

    def threads(self, pinned, free):
        """Some servers want to be told: so many where all share a processor, else so many."""
        return str(pinned if self.place.server_on else free)

    def settings(self):
        """Its command line, and those of its workers, without the directories and the port of this run."""

        def shown(word):
            word = word.replace(self.place.work, "WORK").replace(str(self.port), "PORT")
            return (os.path.basename(word) if word.startswith("/") else word) or "''"

        return "; ".join(" ".join(map(shown, argv)) for argv in [self.argv(), *self.workers()])

    def version(self):
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", self.package], capture_output=True, text=True)
        return asked.stdout.strip() or "not from Debian"

    def environment(self):
        if not self.heap:
            return None
        return {**os.environ, "LD_PRELOAD": self.work("heap_count.so"), "ERGON_HEAP_COUNT": self.heap}

    def start(self, processors):
        self.port = free_port()
        self.processes = Processes(self.log())
        server = self.processes.start(self.argv(), processors, env=self.environment())
        until = time.monotonic() + START_SECONDS
        while not listens(self.port):
            if server.poll() is not None or time.monotonic() > until:
                self.stop()
                raise Broken(f"{self.name} did not start: {self.last_words()}")
            time.sleep(0.05)
        for argv in self.workers():
            worker = self.processes.start(argv, processors, stdout=subprocess.PIPE)
            if worker.stdout.readline() != b"ready\n":
                raise Broken(f"{self.name}: a worker did not start: {self.last_words()}")

    def log(self):
        return self.work(self.name + ".log")

    def last_words(self):
        with open(self.log(), encoding="utf-8", errors="replace") as log:
            return log.read()[-400:].strip()

    def pids(self):
        return [p.pid for p in self.processes.running]

    def stop(self):
        if self.processes:
            self.processes.stop()


class Ergon(Peer):
    name = "ergon"
    what = "a call, whole: checked, limited, run by an executor"
    other = None  # another ergond than this build's

    def ergond(self):
        return self.other or self.built("server/ergond")

    def argv(self):
        return [self.ergond(), "--listen", f"ergon://127.0.0.1:{self.port}", *self.place.ergon]

    def version(self):
        said = subprocess.run([self.ergond(), "--version"], capture_output=True, text=True).stdout.strip()
        commit = subprocess.run(["git", "-C", HERE, "log", "-1", "--format=%h"], capture_output=True, text=True)
        return f"{said} {commit.stdout.strip()}"


class ErgonManaged(Ergon):
    name = "ergon, no short cut"
    what = "every task through the manager and the rings"

    def argv(self):
        return [*super().argv(), "--shortcut=false"]


class ErgonTokens(Ergon):
    name = "ergon, tokens"
    what = "the same, where each connection has to say who it is"
    token = b"a token of thirty-two characters"

    def argv(self):
        tokens = self.work("tokens")
        with open(tokens, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(f"sha256:{hashlib.sha256(self.token).hexdigest()} alice echo\n")
        return [*super().argv(), "--tokens", tokens, "--limits-newcomers", str(CONNECTIONS), "--limits-auth-timeout", "1h"]


class ErgonTls(Ergon):
    name, tls = "ergon, TLS", True
    what = "the same, over TLS 1.3"

    def __init__(self, place, certificate="ecdsa", asks=False, flags=()):
        super().__init__(place)
        self.certificate, self.asks, self.flags = certificate, asks, flags

    def argv(self):
        pem = self.work(f"{self.certificate}.pem")
        url = f"ergons://127.0.0.1:{self.port}"
        if not self.asks:
            return [self.ergond(), "--listen", url, "--tls-cert", pem, "--tls-key", pem, *self.flags, *self.place.ergon]
        trusted = self.trust()
        with open(self.work("asks.yaml"), "w", encoding="utf-8") as f:
            f.write(f"listen:\n  - url: {url}\n    tls: {{cert: {pem}, key: {pem}, client_ca: {trusted}, client_cert: required}}\n")
        return [self.ergond(), "--config", self.work("asks.yaml"), *self.flags, *self.place.ergon]

    def client_pem(self):
        """What a client shows."""
        return self.work(f"{self.certificate}.client.pem")

    def trust(self, *more):
        """It believes its own certificate, which vouches for the client's, and these, once it has read them again."""
        path = self.work("trusted.pem")
        with open(path, "w", encoding="ascii") as to:
            for name in (self.certificate, *more):
                with open(self.work(f"{name}.pem"), encoding="ascii") as pem:
                    to.write(pem.read())
        return path


class ErgonWorkers(Ergon):
    """By way of workers: `slots` is the most that each is sent ahead."""

    name, method = "ergon, workers", "work"
    what = "a call, whole, by way of two workers in C on libergon"

    def workers(self):
        return [[self.built("tests/bench/peers/ergon_worker"), str(self.port), self.method, str(self.place.slots)]] * 2


class Haproxy(Peer):
    """Not of PEERS, as it runs no tasks: it ends TLS, with the same certificate and the same order of cipher suites."""

    name = package = "haproxy"
    what = "a TLS frontend that would answer by itself"
    tls = True

    def __init__(self, place, certificate="ecdsa"):
        super().__init__(place)
        self.certificate = certificate

    def argv(self):
        with open(self.work("haproxy.cfg"), "w", encoding="utf-8") as f:
            f.write("global\n  nbthread 1\n  maxconn 8000\n  tune.ssl.cachesize 0\n"
                    f"  ssl-default-bind-ciphersuites {SUITES}\n"
                    "defaults\n  mode http\n  timeout client 1h\n  timeout http-request 1h\n"
                    f"frontend tls\n  bind 127.0.0.1:{self.port} ssl crt {self.work(self.certificate)}.pem\n"
                    "  http-request return status 200\n")
        return ["haproxy", "-q", "-db", "-f", self.work("haproxy.cfg")]

    def settings(self):
        return super().settings() + f"; nbthread 1, ssl.cachesize 0, ciphersuites {SUITES}"


class LimitEcho(Peer):
    name = "limit-echo"
    what = "raw epoll, one thread, envelope parsed by hand, no checks: the limit"

    def argv(self):
        return [self.built("tests/bench/peers/limit_echo"), str(self.port)]

    def version(self):
        return "of this tree"


class Memcached(Peer):
    name = protocol = package = "memcached"
    open_loop = True
    what = "mg k v: the request carries no payload"

    def argv(self):
        return ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(self.port), "-U", "0",
                "-t", self.threads(1, 2), "-c", str(CONNECTIONS), "-R", "64"]


class Redis(Peer):
    name, protocol, package = "redis", "redis", "redis-server"
    open_loop = True
    what = "ECHO in the main loop"

    def argv(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                "--io-threads", "1", "--maxclients", str(CONNECTIONS), "--tcp-backlog", "4096"]


class TarantoolC(Peer):
    name, protocol, package, method = "tarantool-c", "tarantool", "tarantool", "echo_c"
    open_loop = True
    what = "CALL of a procedure in C"

    def argv(self):
        return ["tarantool", self.here("procedures", "server.lua"), str(self.port), self.place.work]


class TarantoolLua(TarantoolC):
    name, method, open_loop = "tarantool-lua", "echo", False
    what = "CALL of a procedure in Lua"


class Nats(Peer):
    name, protocol, package = "nats", "nats", "nats-server"
    what = "request and reply, by way of a responder in C"

    def argv(self):
        with open(self.work("nats.conf"), "w", encoding="utf-8") as f:
            f.write("max_connections: 65536\nmax_pending: 1073741824\nno_sys_acc: true\n")
        return ["nats-server", "-c", self.work("nats.conf"), "-a", "127.0.0.1", "-p", str(self.port)]

    def workers(self):
        return [[self.built("tests/bench/peers/nats_responder"), str(self.port), "echo"]]

    def settings(self):
        return super().settings() + "; max_pending 1 GiB"


class NatsGroup(Nats):
    name = "nats, two"
    what = "request and reply, by way of two responders in C, which share the subject"

    def workers(self):
        return [[*responder, "workers"] for responder in super().workers() * 2]


class Gearmand(Peer):
    name, protocol, package = "gearmand", "gearman", "gearman-job-server"
    io_threads = 1
    what = "SUBMIT_JOB to WORK_COMPLETE, by way of two workers in C"

    def argv(self):
        return ["gearmand", "-L", "127.0.0.1", "-p", str(self.port), "-t", str(self.io_threads),
                f"--file-descriptors={CONNECTIONS}", "-l", "stderr", "--verbose=ERROR"]

    def workers(self):
        grab = str(self.place.grab)
        return [[self.built("tests/bench/peers/gearman_worker"), str(self.port), "echo", grab]] * 2


class Gearmand4(Gearmand):
    name, io_threads = "gearmand-t4", 4


class GearmandLibrary(Gearmand):
    name = "gearmand, library"
    what = "the same, by way of two workers in C on libgearman"

    def workers(self):
        return [[self.work("libgearman_worker"), str(self.port), "echo"]] * 2


class GearmandLibrary4(GearmandLibrary):
    name, io_threads = "gearmand-t4, library", 4


class Beanstalkd(Peer):
    name, protocol, package = "beanstalkd", "beanstalk", "beanstalkd"
    what = "put and reserve, delete, on one connection: no result goes back"

    def argv(self):
        return ["beanstalkd", "-l", "127.0.0.1", "-p", str(self.port), "-z", "1048576"]


class Erlang(Peer):
    name, protocol, package = "erlang", "packet4", "erlang-base"
    what = "echo by a process for each connection, {packet, 4}, {active, true}"

    def argv(self):
        return ["erl", "-noinput", "+K", "true", "+Q", "65536", "-pa", self.place.work,
                "-eval", f"echo_server:start({self.port})"]


class RedisQueue(Redis):
    name, protocol, open_loop = "redis, lists", "redis-queue", False
    what = "LPUSH, BLMPOP of up to 32 by two workers in C, LPUSH to a list of answers, BRPOP"
    taken = "32"  # at a time

    def workers(self):
        return [[self.built("tests/bench/peers/redis_worker"), str(self.port), self.taken]] * 2


class BeanstalkQueue(Beanstalkd):
    name, protocol = "beanstalkd, tubes", "beanstalk-queue"
    what = "put, reserve and delete by two workers in C of 16 connections, put into a tube of answers, reserve, delete"
    connections = "16"

    def workers(self):
        return [[self.built("tests/bench/peers/beanstalk_worker"), str(self.port), self.connections]] * 2


PEERS = [LimitEcho, ErgonManaged, Memcached, Redis, TarantoolC, TarantoolLua, Nats, Gearmand, Gearmand4, Erlang, Beanstalkd]
WITH_WORKERS = [Nats, NatsGroup, GearmandLibrary, GearmandLibrary4, Gearmand, Gearmand4, RedisQueue, BeanstalkQueue]
