"""Chains of three tasks, each after the one before, whose results of 1 KiB are handed on by {"$result": ID}: processor time of
the server, as a ratio to that of the same chains whose tasks read nothing, and to that of chains whose tasks have no result.

Each window is a server of its own, which gets all links of its chains while their queue is paused, and is measured from the first
submission to the end of the last task: user and system time of all its threads. Kinds take turns within a round; a ratio is the
median of those within the rounds. The server's memory is on huge pages: a server that has just been started touches each page for
the first time, which in a virtual machine may cost more than all else."""

import argparse
import glob
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import msgpack

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../peers"))
import program  # noqa: E402
from pairs import machine  # noqa: E402

LINKS = 3
BAR = 1.3
WARM = 1000  # chains before each window
PARTS = {"memory": "none", "store": "fsync"}
# How a link takes what is before it.
KINDS = {"handed": ("link", True), "unread": ("link", False), "nil": ("link.nil", False)}
# What is compared, and its bar: that results are kept at all is no matter of the hand-over.
BESIDE = {"unread": ("read no result", BAR), "nil": ("have no result", None)}
HUGE = "glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1:glibc.malloc.top_pad=4194304"
FLAGS = ("--listen", "ergon://127.0.0.1:0", "--loops", "1", "--log-level", "warn", "--tasks-tenant-share", "100")
OPEN = ("waiting", "delayed", "queued", "running")
END_SECONDS = 120


class Broken(Exception):
    """The measurement could not be made."""


class Server:
    def __init__(self, options, part):
        self.folder = tempfile.mkdtemp(prefix="chains-", dir=options.dir or options.build)
        store = ("--store", os.path.join(self.folder, "tasks.db")) if part == "store" else ()
        module = os.path.join(options.build, "tests/bench/chains/chains.so")
        argv = [os.path.join(options.build, "server/ergond"), "--module", module, *FLAGS, *store, *options.ergon]
        memory = {} if options.small_pages else {"GLIBC_TUNABLES": HUGE}
        place = (lambda: os.sched_setaffinity(0, options.server_on)) if options.server_on else None
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, preexec_fn=place,
                                        env={**os.environ, **memory})
        url = self.process.stdout.readline().strip()
        if not url:
            raise Broken("ergond did not start")
        host, port = url.split("://")[1].rsplit(":", 1)
        self.sock = socket.create_connection((host, int(port)), END_SECONDS)
        self.unpacker = msgpack.Unpacker(raw=False, max_buffer_size=1 << 30)

    def call(self, method, *params):
        self.sock.sendall(msgpack.packb([0, 1, method, list(params)]))
        while True:
            for _, _, error, result in self.unpacker:
                if error is not None:
                    raise Broken(f"{method}: {error}")
                return result
            data = self.sock.recv(1 << 20)
            if not data:
                raise Broken("the server has closed the connection")
            self.unpacker.feed(data)

    def seconds(self):
        """Processor time of all its threads."""
        total = 0
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat"):
            with open(path, encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total / 1e9

    def end(self):
        self.sock.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def run_chains(server, chains, kind, durable):
    method, handed = KINDS[kind]
    ids = []
    server.call("queue.pause", method)
    for link in range(LINKS):
        tasks = [[method, [None]]] * chains if link == 0 else [
            [method, [{"$result": before} if handed else None], {"after": before}] for before in ids]
        answers = server.call("task.submit_many", tasks, {"durable": durable})
        if any("error" in answer for answer in answers):
            raise Broken(next(answer["error"] for answer in answers if "error" in answer))
        ids = [answer["id"] for answer in answers]
    server.call("queue.resume", method)
    until = time.monotonic() + END_SECONDS
    while any(queue[state] for queue in server.call("queue.list") for state in OPEN):
        if time.monotonic() > until:
            raise Broken("the chains do not end")
        time.sleep(0.01)


def window(options, part, kind):
    """Microseconds of processor time for each chain."""
    server = Server(options, part)
    chains = options.chains // options.rounds
    try:
        run_chains(server, WARM, kind, PARTS[part])
        server.call("link.read")
        before = server.seconds()
        run_chains(server, chains, kind, PARTS[part])
        spent = server.seconds() - before
        read, wanted = server.call("link.read"), chains * (LINKS - 1) * (kind == "handed")
        if read != wanted:
            raise Broken(f"{read} tasks have read a result, and {wanted} were to")
        return spent / chains * 1e6
    finally:
        server.end()


def measure(options, part):
    """[us] of each kind, in the order of the rounds."""
    spent = {kind: [] for kind in KINDS}
    for _ in range(options.rounds):
        order = list(KINDS)
        random.shuffle(order)
        for kind in order:
            spent[kind].append(window(options, part, kind))
    return spent


def rows(options):
    for part in options.part or PARTS:
        spent = measure(options, part)
        us = {kind: statistics.median(windows) for kind, windows in spent.items()}
        for kind, (beside, bar) in BESIDE.items():
            ratios = [handed / other for handed, other in zip(spent["handed"], spent[kind])]
            ratio = statistics.median(ratios)
            yield {"part": part, "beside": beside, "handed_us": us["handed"], "other_us": us[kind], "ratio": ratio,
                   "least": min(ratios), "most": max(ratios), "good": bar is None or ratio <= bar, "windows": spent}


def arguments():
    a = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    a.add_argument("--part", action="append", choices=list(PARTS), help="durable: none, or durable: fsync; repeat it (both)")
    a.add_argument("--chains", type=int, default=100000, help="of each kind (100000)")
    a.add_argument("--rounds", type=int, default=10, help="in which they are (10)")
    a.add_argument("--dir", metavar="FOLDER", help="where the store is; not in memory (the build directory)")
    a.add_argument("--small-pages", action="store_true", help="memory as the system gives it")
    return program.parse(a)


def main():
    options = arguments()
    box, done = machine(), []
    print(f"{time.strftime('%Y-%m-%d')}, {box['processors']} x {box['model']}, {box['system']}; "
          f"{options.chains} chains of each kind\n\n"
          "| tasks kept in | beside chains whose tasks | us a chain, handed : other | ratio (least-most) |\n"
          "| --- | --- | --- | --- |", flush=True)
    with program.until_interrupted():
        try:
            for row in rows(options):
                done.append(row)
                print(f"| {row['part']} | {row['beside']} | {row['handed_us']:.1f} : {row['other_us']:.1f} "
                      f"| {row['ratio']:.2f} ({row['least']:.2f}-{row['most']:.2f}) |{'' if row['good'] else ' MISSED'}",
                      flush=True)
        except (Broken, OSError) as broken:
            print(f"chains: {broken}", file=sys.stderr)
            done.append({"error": str(broken), "good": False})
    program.end(options, {"machine": box, "rows": done}, done and all(row["good"] for row in done))


main()
