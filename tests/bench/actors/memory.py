"""Measures the memory of actors that were called once, with keys of 16 bytes and states of 32: without a store, with one, and after
they have left memory. It also measures the time of a start with them, after a stop and after a kill, and the memory of Erlang's
processes and of CAF's actors."""

import argparse
import os
import re
import socket
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "peers")]

from servers import Broken, Processes  # noqa: E402

AHEAD = 2000  # calls on their way at once
FIRST = 1 << 16  # id: from here on all have the same length
STATE = b"\xc4\x1e" + 30 * b"s"  # 32 bytes
MIB = 1 << 20
GONE_SECONDS = 600
REST_SECONDS = 10  # after which the store has put all states in place, and has given back what SQLite had cached


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", f.read(), re.M).group(1)) * 1024


def busy(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return sum(map(int, f.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Server:
    """ergond on a socket in the folder of the run; `store`: the name of its file there, or None; `killed`: so it ends."""

    def __init__(self, options, store=None, killed=False):
        self.killed = killed
        self.socket, self.admin = os.path.join(options.work, "s"), os.path.join(options.work, "a")
        self.argv = [os.path.join(options.build, "server/ergond"), "--listen", f"unix://{self.socket}", "--admin", f"unix://{self.admin}",
                     "--module", os.path.join(options.build, "tests/bench/actors/cells.so"), "--actors-bytes", "4g", "--log-level", "warn"]
        if store:
            self.argv += ["--store", os.path.join(options.work, store)]
        self.processes = Processes(os.path.join(options.work, "ergond.log"))

    def __enter__(self):
        self.pid = self.processes.start(self.argv, None).pid
        until = time.monotonic() + 120
        while not self.answers():
            if time.monotonic() > until:
                raise Broken("ergond does not start")
            time.sleep(0.02)
        self.started = busy(self.pid)
        return self

    def __exit__(self, *_):
        for process in self.processes.running:
            if self.killed:
                process.kill()
            else:
                process.terminate()
            process.wait(120)
        self.processes.running = []

    def answers(self):
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(self.socket)
                s.sendall(b"\x94\x00\x01\xa4echo\x91\x01")
                return s.recv(64) == b"\x94\x01\x01\xc0\x01"
            except OSError:
                return False

    def figure(self, name):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.admin)
            s.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
            text = b"".join(iter(lambda: s.recv(65536), b"")).decode()
        return sum(float(v) for v in re.findall(rf"^{name}(?:{{[^}}]*}})? ([0-9.e+]+)$", text, re.M))

    def call(self, kind, first, count):
        """Calls so many actors of this type once each."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.socket)
            for begin in range(first, first + count, AHEAD):
                some = range(begin, min(begin + AHEAD, first + count))
                to = bytes([0xa0 + len(kind) + 17]) + kind
                s.sendall(b"".join(b"\x94\x00\xce%s\xaaactor.call\x93%s/%016d\xa4keep\x91%s" %
                                   ((FIRST + n).to_bytes(4, "big"), to, n, STATE) for n in some))
                answers = {b"\x94\x01\xce%s\xc0\xc0" % (FIRST + n).to_bytes(4, "big") for n in some}
                got = b""
                while len(got) < 9 * len(some):
                    more = s.recv(65536)
                    if not more:
                        raise Broken("the server closes")
                    got += more
                wrong = [got[i:i + 200] for i in range(0, len(got), 9) if got[i:i + 9] not in answers]
                if wrong:
                    raise Broken(f"an unexpected answer: {wrong[0]!r}")


def each(server, options):
    """Bytes an actor, beside a server that has had the first thousand of them."""
    server.call(b"cell", 0, 1000)
    before = resident(server.pid)
    server.call(b"cell", 1000, options.actors)
    return (resident(server.pid) - before) / options.actors


def peer(options, argv):
    processes = Processes(os.path.join(options.work, "peer.log"))
    try:
        process = processes.start(argv, None, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        before = process.stdout.readline() and resident(process.pid)
        if process.stdout.readline() != b"full\n":
            raise Broken(f"{argv[0]} did not make its actors")
        return (resident(process.pid) - before) / options.actors
    finally:
        for process in processes.running:
            process.kill()
            process.wait()


def passivated(options):
    """A server with a store: (bytes an actor, likewise when the store rests, MiB beside an empty one when all have left memory)."""
    with Server(options, "cells.db") as server:
        server.call(b"brief", 0, 1000)
        empty = resident(server.pid)
        server.call(b"brief", 1000, options.actors)
        loaded = (resident(server.pid) - empty) / server.figure("ergon_actors_resident")
        time.sleep(REST_SECONDS)
        rested = (resident(server.pid) - empty) / server.figure("ergon_actors_resident")
        until = time.monotonic() + GONE_SECONDS
        while server.figure("ergon_actors_resident") > 0:
            if time.monotonic() > until:
                raise Broken("actors stay in memory")
            time.sleep(1)
        return loaded, rested, (resident(server.pid) - empty) / MIB


def start(options, store, killed=False):
    """Seconds of processor time until it answers, after a life that ended likewise: medians."""
    times = []
    for _ in range(options.starts + 1):
        with Server(options, store, killed) as server:
            times.append(server.started)
    return statistics.median(times[1:])


def erlang(options, what):
    return ["erl", "-noinput", "+P", str(2 * options.actors + 1000), "-pa", options.work, "-eval", f"cells:start({options.actors}, {what})"]


def main():
    a = argparse.ArgumentParser(prog="memory.sh", description=__doc__)
    a.add_argument("--actors", type=int, default=1_000_000, help="(1000000)")
    a.add_argument("--starts", type=int, default=5, help="of which the median is shown (5)")
    a.add_argument("--build", required=True, type=os.path.abspath, help=argparse.SUPPRESS)
    a.add_argument("--work", required=True, type=os.path.abspath, help=argparse.SUPPRESS)
    o = a.parse_args()
    print(f"{time.strftime('%Y-%m-%d')}, {o.actors} actors, each called once; key 16 bytes, state 32")

    def show(what, value, unit):
        print(f"{what:52} {value:9.2f} {unit}", flush=True)

    with Server(o) as server:
        show("ergon, without a store", each(server, o), "bytes each")
    here, rested, left = passivated(o)
    show("ergon, with a store", here, "bytes each")
    show("ergon, with a store that rests", rested, "bytes each")
    show("ergon, when they have left memory, beside an empty one", left, "MiB")
    for killed, after in (False, ""), (True, ", after a kill"):
        show(f"a start with them{after}", start(o, "cells.db", killed), "s of processor time")
        show(f"a start of an empty one{after}", start(o, "empty.db", killed), "s of processor time")
    show("Erlang, a gen_server a key that hibernates", peer(o, erlang(o, "hibernate")), "bytes each")
    show("Erlang, a gen_server a key", peer(o, erlang(o, "infinity")), "bytes each")
    if os.path.exists(os.path.join(o.work, "caf_cells")):
        show("CAF", peer(o, [os.path.join(o.work, "caf_cells"), str(o.actors)]), "bytes each")


if __name__ == "__main__":
    try:
        main()
    except Broken as e:
        sys.exit(f"memory: {e}")
