"""What tests of a cluster share: nodes on one machine, each an ergond that is started again when it says that it was
deposed, as a service manager does; and clients that submit by one of them."""
import hashlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path[:0] = [os.path.join(TOP, "tests", "support"), os.path.join(TOP, "clients", "python")]

import ending  # noqa: E402
import ergon_client  # noqa: E402
from harness import BUILD, Client, ERGOND, OK, RemoteError, Server, run_ergon  # noqa: E402

DEPOSED = 75  # the exit status of a node that is to be started again
NAMES = ("a", "b", "c")
PRELOAD = os.path.join(BUILD, "tests", "support", "preload_faults.so")


class Node:
    """One node.  Its users of this machine may all, by a Unix socket; other nodes reach it by another, or on `machine`
    (network.py) by TLS with the certificates in `keys`.  `ahead`: milliseconds that its clock is ahead of the others'; with
    None set_clock() cannot be called."""

    restarts = (DEPOSED,)  # the exit statuses after which it is started again; None: any

    def __init__(self, folder, name, store, *flags, machine=None, keys=None, ahead=None):
        self.name, self.folder, self.flags, self.machine = name, os.path.join(folder, "node-" + name), flags, machine
        self.state, self.env, self.program, self.ahead = os.path.join(self.folder, "state"), {}, None, ahead
        os.mkdir(self.folder, 0o700)
        os.mkdir(self.state, 0o700)
        if ahead is not None:
            self.env = {"LD_PRELOAD": os.path.abspath(PRELOAD), "FAULT_AHEAD_IN": os.path.join(self.folder, "clock")}
            self.set_clock(ahead)
        self.url = "unix://" + os.path.join(self.folder, "socket")
        self.server, self.wanted, self.statuses, self.lock = None, False, [], threading.RLock()
        with open(os.path.join(self.folder, "ergond.yaml"), "w") as f:
            f.write('roles: [{name: all, members: ["unix:*"], methods: ["*", "worker.offer.*", task.any]}]\n')
        peers = ("--cluster-listen", "unix://" + os.path.join(self.folder, "nodes")) if machine is None else (
            "--cluster-listen", f"ergons://{machine.address}:7469", "--cluster-ca", os.path.join(keys, "ca.pem"),
            "--cluster-cert", os.path.join(keys, name + ".pem"), "--cluster-key", os.path.join(keys, name + "-key.pem"))
        self.command = ("--config", os.path.join(self.folder, "ergond.yaml"), "--store", store, "--cluster", "ergon",
                        "--cluster-node", name, "--cluster-state", self.state, *peers)

    def set_clock(self, ahead):
        """The clock of the process that runs leaps, too, to `ahead` ms before the others'."""
        with open(self.env["FAULT_AHEAD_IN"], "r+b" if os.path.exists(self.env["FAULT_AHEAD_IN"]) else "wb") as f:
            f.write(struct.pack("q", ahead))

    def forget(self):
        """Its disk is lost: what it knew of its last process."""
        shutil.rmtree(self.state)
        os.mkdir(self.state, 0o700)

    def start(self):
        """Returns when it listens."""
        with self.lock:
            self.wanted = True
            with open(os.path.join(self.folder, "log"), "ab") as log:
                wrapper = () if self.machine is None else self.machine.wrapper()
                self.server = Server(*self.command, *self.flags, listen=(self.url,), wrapper=wrapper, log=log, env=self.env,
                                     program=self.program or ERGOND)
            threading.Thread(target=self.watch, args=(self.server,), daemon=True).start()

    def watch(self, server):
        status = server.process.wait()
        with self.lock:
            self.statuses.append(status)
            if not self.wanted or (self.restarts is not None and status not in self.restarts):
                return
            server.discard()
            try:
                self.start()
            except AssertionError:
                if self.restarts is None:  # it ended again before it listened
                    threading.Timer(1, self.start_again).start()

    def start_again(self):
        with self.lock:
            if self.wanted and not self.is_running():
                try:
                    self.start()
                except AssertionError:
                    threading.Timer(1, self.start_again).start()

    def is_running(self):
        return self.server is not None and self.server.process.poll() is None

    def kill(self):
        """kill -9; it is not started again until start()."""
        with self.lock:
            self.wanted = False
            self.server.discard()

    def connect(self):
        return self.server.connect(self.url)

    def status(self):
        """What cluster.status answers here; {} while nobody does."""
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(self.url.removeprefix("unix://"))
            return Client(sock).call("cluster.status")
        except (OSError, RemoteError):
            return {}
        finally:
            sock.close()

    def log(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as f:
            return f.read()

    def end(self):
        with self.lock:
            self.wanted = False
            if self.server is not None:
                self.server.discard()


class Nodes:
    """Nodes a, b, … of one cluster, whose schema is made by `ergon cluster init`, in the folder of the engine (postgres.Cluster
    or patroni.Cluster), with which they end."""

    def __init__(self, engine, *flags, names=NAMES, store=None, machines=None, ahead=None):
        """`ahead`: of each node's clock, as Node has it."""
        engine.create_role("ergon")
        engine.create_database("ergon", owner="ergon")
        self.engine, self.store = engine, store or engine.url("ergon", "ergon")
        if engine.settings["fsync"] == "off":
            flags = ("--store-replicated", "by-storage", *flags)
        path = os.path.dirname(ERGOND) + ":" + os.environ["PATH"]  # where the command line finds the server's program
        status, _, said = run_ergon("unix:///nonexistent", "cluster", "init", engine.url("ergon", "ergon"), env={"PATH": path})
        assert status == OK, said
        keys = None
        if machines:
            keys = os.path.join(engine.folder.path, "keys")
            subprocess.run([os.path.join(TOP, "scripts", "cluster_certificates.sh"), keys, "30", *names], check=True)
        self.nodes = [Node(engine.folder.path, name, self.store, *flags, machine=machine, keys=keys, ahead=ms)
                      for name, machine, ms in zip(names, machines or [None] * len(names), ahead or [None] * len(names))]

    def start(self):
        """Returns when one of them owns the tasks."""
        for node in self.nodes:
            node.start()
        return self.wait_owner()

    def owner(self):
        """The node that owns the tasks, as it says itself; None while none does."""
        return next((node for node in self.nodes if node.is_running() and node.status().get("role") in ("owner", "alone")), None)

    def wait_owner(self, besides=(), limit=ending.LIMIT):
        def found():
            owner = self.owner()
            return owner if owner is not None and owner not in besides else None
        return ending.eventually(found, lambda: "a node owns the tasks:\n" + self.logs(), limit)

    def logs(self):
        return "\n".join(f"{node.name}:\n{node.log()[-3000:]}" for node in self.nodes)

    def end(self):
        for node in self.nodes:
            node.end()


class Submitter(threading.Thread):
    """Submits by one node, one text after the other to be hashed.  What got no answer is submitted again, with the
    same key: so it is never there twice."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node, self.ending = node, threading.Event()
        self.acknowledged = {}  # id: number
        self.answers = []  # when each came
        self.unanswered = {}  # text of an error: how often

    def run(self):
        number, client = 0, None
        while not self.ending.is_set():
            try:
                client = client or ergon_client.Client(self.node.url, timeout=30).connect()
                task = client.submit("hash", "sha256", self.text(number), "hex", key=f"{self.node.name}-{number}",
                                     durable="replicated", keep="1h")
            except ergon_client.ErgonError as e:
                self.unanswered[e.code] = self.unanswered.get(e.code, 0) + 1
                if isinstance(e, ConnectionError):
                    client = self.left(client)
                self.ending.wait(0.05)
                continue
            self.answers.append(time.monotonic())
            self.acknowledged[task.id] = number
            number += 1
        self.left(client)

    @staticmethod
    def left(client):
        if client is not None:
            client.close()

    def text(self, number):
        return f"task {number} by {self.node.name}"

    def stop(self):
        self.ending.set()
        self.join()

    def right(self, number):
        return hashlib.sha256(self.text(number).encode()).hexdigest()

    def missing(self, client):
        """The tasks that were acknowledged and are not there, or did not end with the right result."""
        def is_right(id, number):
            try:
                return client.task(id).wait() == self.right(number)
            except ergon_client.ErgonError:
                return False
        return [id for id, number in self.acknowledged.items() if not is_right(id, number)]

    def first_after(self, moment):
        """Seconds until the first answer after this moment; None where none has come."""
        return next((answer - moment for answer in self.answers if answer > moment), None)
