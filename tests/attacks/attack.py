#!/usr/bin/env python3
"""Attackers, each by its name: what a client can do to a server that it may talk to, at the size at which it once hurt.

    tests/attacks/attack.py NAME --connect URL [--token FILE] [--seconds N] [--source ADDRESS]

It goes on for so long, again and again, prints what it did as one line of JSON when all of its size is under way for
the first time, and then vanishes: its connections are reset. Without a NAME it lists what there is. Attack only servers
of your own.
"""
import argparse
import gzip
import itertools
import json
import os
import select
import socket
import struct
import sys
import time

import msgpack

HOUR = "1h"
IN_FLIGHT = 1024  # a connection's requests, as limits.in_flight has it
LARGE = 15 << 20  # bytes of a large value
LOSSES = 9  # of a task, after which it is dead, as tasks.losses has it
# Bytes handed to the kernel at once: it copies them, and passes them on, before anybody else has that processor, be it the good client.
PIECE = 1 << 16
ATTACKS = {}  # name: the function


def attack(function):
    """Its docstring is its description."""
    ATTACKS[function.__name__.replace("_", "-")] = function
    return function


def request(msgid, method, *params):
    return msgpack.packb([0, msgid, method, list(params)], use_bin_type=True)


class Over(Exception):
    """The time is over."""


class Refused(Exception):
    """The server closed the connection, or said no."""


class Attacker:
    """Who attacks: its connections, none of which reads unless it is told to."""

    def __init__(self, options):
        self.host, port = options.connect.split("://")[1].rsplit(":", 1)
        self.port = int(port)
        self.source = options.source
        self.token = None
        if options.token:
            with open(options.token) as f:
                self.token = f.read().strip()
        self.end = time.monotonic() + options.seconds
        self.light = options.light
        self.sockets = []
        self.told = False
        self.counts = {}

    def part(self, times):
        """How often what takes much of the machine is done: an eighth of that for a light attack."""
        return max(1, times // 8) if self.light else times

    def count(self, what, n=1):
        self.counts[what] = self.counts.get(what, 0) + n

    def under_way(self):
        """All of the attack's size has been sent once, or the server has kept it from that."""
        if not self.told:
            print(json.dumps(self.counts), flush=True)
        self.told = True

    def check_time(self):
        if time.monotonic() > self.end:
            raise Over

    def connect(self, known=True):
        """A new connection, which has said who it is unless `known` is false.  Refused: there was none to be had."""
        self.check_time()
        try:
            s = socket.create_connection((self.host, self.port), timeout=5, source_address=(self.source, 0) if self.source else None)
        except OSError as e:
            self.count("not connected")
            raise Refused from e
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sockets.append(s)
        self.count("connections")
        if known and self.token and self.call(s, "server.auth", self.token) is None:
            raise Refused
        return s

    def send(self, s, data):
        """All of it, or as much as the server takes until a second passes in which it takes nothing; the bytes sent."""
        s.setblocking(False)
        view, sent = memoryview(data), 0
        while sent < len(data):
            self.check_time()
            try:
                sent += s.send(view[sent:sent + PIECE])
            except BlockingIOError:
                if not select.select([], [s], [], 1)[1]:
                    self.count("not taken")
                    break
            except OSError:
                self.count("closed")
                raise Refused from None
        self.count("bytes", sent)
        return sent

    def call(self, s, method, *params):
        """The result of one call, or None where it failed."""
        self.send(s, request(0, method, *params))
        s.settimeout(max(0.1, self.end - time.monotonic()))
        unpacker = msgpack.Unpacker(raw=False, max_buffer_size=1 << 30, strict_map_key=False, unicode_errors="replace")
        try:
            while True:
                data = s.recv(1 << 18)
                if not data:
                    break
                unpacker.feed(data)
                for message in unpacker:
                    if message[0] == 1:
                        self.count("calls failed" if message[2] else "calls")
                        return message[3] if message[2] is None else None
        except OSError:
            pass
        self.check_time()
        self.count("closed")
        raise Refused

    def worker(self, method, slots=64):
        """A new connection, registered as a worker."""
        s = self.connect()
        if self.call(s, "worker.register", [method], {"slots": slots}) is None:
            raise Refused
        self.count("workers")
        return s

    def workers(self, count, method):
        """So many of them, or as many as there were to be had."""
        found = []
        for _ in range(count):
            try:
                found.append(self.worker(method))
            except Refused:
                pass
        return found

    def pour(self, sockets, messages, reads=False, under_way=1000):
        """Sends the messages on all of them, in turn and again and again, whatever they take, and reads the answers or
        not; it is under way once so many times some were ready."""
        left = dict.fromkeys(sockets, b"")
        turn = itertools.cycle(memoryview(message) for message in messages)
        for s in sockets:
            s.setblocking(False)
        for n in itertools.count():
            if n == under_way:
                self.under_way()
            self.check_time()
            readable, writable, _ = select.select(sockets if reads else [], sockets, [], 0.1)
            try:
                for s in readable:
                    s.recv(1 << 18)
                for s in writable:
                    left[s] = left[s] or next(turn)
                    sent = s.send(left[s][:PIECE])
                    self.count("bytes", sent)
                    left[s] = left[s][sent:]
            except OSError:
                raise Refused from None

    def drop(self):
        """All connections are gone at once, without a word."""
        for s in self.sockets:
            s.close()
        self.sockets.clear()

    def hold(self, seconds):
        """As it is, for so long."""
        time.sleep(max(0, min(seconds, self.end - time.monotonic())))
        self.check_time()


def in_turn(count):
    """Requests for each connection of so many in all."""
    while count > 0:
        yield min(count, IN_FLIGHT)
        count -= IN_FLIGHT


def floods(a, count, method, *params, pause=1):
    """So many calls over as few connections as may be, held, and then gone."""
    for n in in_turn(count):
        try:
            a.send(a.connect(), b"".join(request(i, method, *params) for i in range(1, n + 1)))
            a.count(method, n)
        except Refused:
            pass
    a.under_way()
    a.hold(pause)
    a.drop()


# ---- bytes ----


@attack
def decompress(a):
    """400 calls of 16 KB whose results are 16 MiB each, none of which is read"""
    bomb = gzip.compress(bytes((16 << 20) - 64))
    s = a.connect()
    a.send(s, b"".join(request(i, "decompress", bomb) for i in range(1, 401)))
    a.under_way()
    a.hold(5)
    a.drop()


@attack
def kept_call(a):
    """one echo of 15 MiB that is kept by its key, then 266 calls of 33 bytes that are answered with it, none of which is read"""
    s, options = a.connect(), {"key": "k", "keep": HOUR, "keep_size": "16m"}
    a.call(s, "task.call", "echo", [bytes(LARGE)], options)
    a.send(s, b"".join(request(i, "task.call", "echo", [], options) for i in range(1, 267)))
    a.under_way()
    a.hold(5)
    a.drop()


@attack
def task_get(a):
    """one task whose result is 15 MiB, asked for 320 times, none of which is read"""
    s = a.connect()
    task = a.call(s, "task.submit", "echo", [bytes(LARGE)], {"keep": HOUR, "keep_size": "16m", "key": "get"})
    if task:
        a.call(s, "task.wait", task["id"], {"result": False})
        a.send(s, b"".join(request(i, "task.get", task["id"]) for i in range(1, 321)))
    a.under_way()
    a.hold(5)
    a.drop()


@attack
def watches(a):
    """1,000 watches, on one connection that does not read, that are pushed what happens to a task that fails 100 times a second"""
    s = a.connect()
    a.call(s, "server.hello", {"push": True})
    text = "x" * 390
    task = a.call(s, "task.submit", "fail", ["AGAIN", text], {"retries": 1000, "backoff": "10ms", "backoff_max": "10ms", "keep": HOUR})
    if task:
        a.send(s, b"".join(request(i, "task.watch", task["id"], {"push": True}) for i in range(1, 1001)))
    a.under_way()
    a.hold(5)
    if task:
        a.call(a.connect(), "task.cancel", task["id"])
    a.drop()


@attack
def wait_zeros(a):
    """task.wait with a time-out of 16 MiB of zeros, 256 times over 8 connections"""
    zeros = "0" * ((16 << 20) - 256) + "9h"
    for _ in range(a.part(8)):
        try:
            s = a.connect()
            task = a.call(s, "task.submit", "echo", [1], {"delay": HOUR})
            if task:
                for i in range(32):
                    a.send(s, request(i, "task.wait", task["id"], {"timeout": zeros}))
                a.call(a.connect(), "task.cancel", task["id"])
        except Refused:
            pass
    a.under_way()
    a.drop()


@attack
def kept_bytes(a):
    """97 results of 11 MB each, kept for 30 days, then 97 submissions of 11 MB, to begin in 30 days, and no end to them"""
    s = a.connect()
    for options in ({"keep": "30d", "keep_size": "16m"}, {"delay": "30d"}):
        for _ in range(a.part(97)):
            a.call(s, "task.submit", "echo", [bytes(11 << 20)], options)
    a.under_way()
    a.hold(1)


@attack
def elements(a):
    """submissions and calls whose parameters are 11 million numbers, one after the other on 4 connections"""
    numbers = b"\xdd" + struct.pack(">I", 11 << 20) + bytes(11 << 20)
    options = msgpack.packb({"delay": HOUR, "deadline": "1ms", "keep": 0, "durable": "none"})
    many = [b"\x94\x00\x01" + msgpack.packb(method) + b"\x93" + msgpack.packb("echo") + numbers + options for method in ("task.submit", "task.call")]
    a.pour([a.connect() for _ in range(4)], many, reads=True, under_way=200)


# ---- turns ----


@attack
def sleepers(a):
    """33 connections with 1,024 `sleep 1h` each, which are closed, again and again"""
    floods(a, 33 * IN_FLIGHT, "sleep", HOUR)


@attack
def block(a):
    """66,000 calls that block a thread each for an hour"""
    floods(a, 66000, "block", HOUR)


@attack
def burn(a):
    """8,000 calls that burn processor time for an hour"""
    floods(a, 8000, "burn", HOUR, pause=5)


# ---- before who is known ----


@attack
def partial(a):
    """32 messages of 7.9 MiB that never end, from nobody"""
    head = b"\x94\x00\x01\xa4echo\x91\xc6" + struct.pack(">I", 8 << 20)
    body = head + bytes(int(7.9 * (1 << 20)))
    for _ in range(32):
        try:
            a.send(a.connect(known=False), body)
        except Refused:
            pass
    a.under_way()
    a.hold(2)
    a.drop()


@attack
def silent(a):
    """960 connections that say nothing"""
    for _ in range(960):
        try:
            a.connect(known=False)
        except Refused:
            pass
    a.under_way()
    a.hold(5)
    a.drop()


@attack
def idle(a):
    """1,000 connections that have said who they are, and then nothing; who is closed comes again"""
    for _ in range(1000):
        try:
            a.connect()
        except Refused:
            pass
    a.under_way()
    for _ in range(500):
        try:
            a.connect()
        except Refused:
            pass
    a.hold(2)
    a.drop()


@attack
def wrong_tokens(a):
    """480 wrong tokens, as fast as they are refused, and a log that nobody reads"""
    for _ in range(480):
        try:
            s = a.connect(known=False)
            a.send(s, b"".join(request(i, "server.auth", os.urandom(16).hex()) for i in range(4)))
        except Refused:
            a.hold(0.001)
    a.under_way()
    a.drop()


@attack
def lock_out(a):
    """20 wrong tokens from the good client's own address, each on a connection of its own, again and again"""
    for _ in range(20):
        a.call(a.connect(known=False), "server.auth", "wrong")
    a.drop()
    a.under_way()
    a.hold(0.1)


@attack
def reauth(a):
    """the same right token, for as often as it is taken"""
    s, many = a.connect(), b"".join(request(i, "server.auth", a.token or "none") for i in range(500))
    a.under_way()
    while a.send(s, many):
        s.setblocking(False)
        try:
            while s.recv(1 << 18):
                a.count("answers read")
        except BlockingIOError:
            pass
        except OSError:
            raise Refused from None
        a.check_time()


@attack
def after(a):
    """on 16 connections submissions that each wait for a thousand tasks, as fast as they are taken"""
    first = a.connect()
    ids = [a.call(first, "task.submit", "echo", [1], {"delay": "1h", "durable": "none"})["id"] for _ in range(1000)]
    many = b"".join(request(i, "task.submit", "echo", [1], {"after_any": ids, "deadline": "1s", "keep": 0, "durable": "none"}) for i in range(100))
    a.pour([a.connect() for _ in range(16)], [many], reads=True)


@attack
def rate_names(a):
    """50,000 names of rates that one task each uses, and that are kept for an hour, and then 50,000 others"""
    s, first = a.connect(), a.counts.get("names", 0)
    for at in range(first, first + 50000, 500):
        options = [{"rate": {"key": f"name{i}", "max": 2, "per": HOUR}, "keep": 0, "durable": "none"} for i in range(at, at + 500)]
        a.call(s, "task.submit_many", [["echo", [1], o] for o in options])
        a.count("names", 500)
    a.under_way()
    a.drop()


@attack
def past_keys(a):
    """tasks and crons that ask for 50 of 100 permits of the good client's semaphore, which has one, and which its role's keys do not name"""
    s, options = a.connect(), {"limit": {"key": "gpu", "max": 100, "take": 50}, "durable": "none"}
    for i in range(100):
        a.call(s, "task.submit", "echo", [i], options)
        a.call(s, "task.call", "echo", [i], {**options, "deadline": "1s"})
        a.call(s, "task.submit_many", [["echo", [i]]], options)
        a.call(s, "cron.put", "past-keys", "* * * * *", "echo", [i], options)
    a.under_way()
    a.drop()


# ---- workers ----


@attack
def register(a):
    """20 registrations of 500 names in one write, again and again"""
    s = a.connect()
    a.send(s, b"".join(request(i, "worker.register", [f"register{i}-{j}" for j in range(500)]) for i in range(20)))
    a.under_way()
    a.hold(0.1)
    a.drop()


def feed(a, method, count, size):
    """So many calls, with a parameter of so many bytes, of which no answer is read."""
    try:
        a.send(a.connect(), b"".join(request(i, method, bytes(size)) for i in range(count)))
    except Refused:
        pass


@attack
def half_read(a):
    """4 workers that end over the begin of parameters of 8 MiB, and come again; a task and 4 calls have such parameters"""
    most = a.counts.get("workers ended", 0) + 4 + LOSSES * (1 + a.counts.get("rounds", 0))
    workers = a.workers(4, "trap")
    a.call(a.connect(), "task.submit", "trap", [bytes(8 << 20)], {"deadline": "1m", "keep": 0, "durable": "none"})
    feed(a, "trap", 4, 8 << 20)
    a.under_way()
    for _ in range(50):
        for s in select.select(workers, [], [], 0.1)[0]:
            s.recv(1 << 16)
            s.close()
            workers.remove(s)
            a.sockets.remove(s)
            workers += a.workers(1, "trap")
            a.count("workers ended")
        assert a.counts.get("workers ended", 0) <= most, "a request goes from worker to worker"
    a.drop()


@attack
def worker_unread(a):
    """50 workers that never read, and 1,000 calls of 64 KiB for them"""
    a.workers(50, "trap")
    feed(a, "trap", 1000, 1 << 16)
    a.under_way()
    a.hold(2)
    a.drop()


@attack
def worker_drips(a):
    """20 workers that read a byte at a time, and 1,000 calls of 64 KiB for them"""
    sockets = a.workers(20, "trap")
    for s in sockets:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    feed(a, "trap", 1000, 1 << 16)
    a.under_way()
    for _ in range(2000):
        for s in select.select(sockets, [], [], 0.1)[0]:
            if not s.recv(1):
                raise Refused
            a.count("bytes read")
        a.check_time()
        time.sleep(0.001)
    a.drop()


@attack
def worker_answers(a):
    """16 workers that answer what nobody asked, as fast as it is taken"""
    a.pour(a.workers(16, "trap"), [b"".join(msgpack.packb([1, i, None, "nothing"]) for i in range(10000))])


@attack
def worker_asks(a):
    """16 workers that ask as fast as they can, and read no answer; who is closed comes again"""
    many = b"".join(request(i, "server.describe") for i in range(20000))
    for s in a.workers(16, "trap"):
        try:
            a.send(s, many)
        except Refused:
            pass
    a.under_way()
    a.hold(1)
    a.drop()


@attack
def worker_halves(a):
    """32 workers whose answers of 8 MiB never end"""
    answer = b"\x94\x01\x01\xc0\xc6" + struct.pack(">I", 8 << 20) + bytes(int(7.9 * (1 << 20)))
    for s in a.workers(32, "trap"):
        try:
            a.send(s, answer)
        except Refused:
            pass
    a.under_way()
    a.hold(2)
    a.drop()


@attack
def worker_results(a):
    """8 workers with 64 slots each, whose answers are 4 MiB, and 1,000 calls for them whose answers nobody reads"""
    sockets = a.workers(8, "trap")
    readers = {s: msgpack.Unpacker() for s in sockets}
    left = {s: memoryview(b"") for s in sockets}
    body = msgpack.packb(bytes(4 << 20))
    feed(a, "trap", 1000, 1)
    a.under_way()
    due = {s: [] for s in sockets}
    for s in sockets:
        s.setblocking(False)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        a.check_time()
        busy = [s for s in sockets if left[s] or due[s]]
        readable, writable, _ = select.select(sockets, busy, [], 0.1)
        try:
            for s in readable:
                readers[s].feed(s.recv(1 << 16))
                due[s] += [m[1] for m in readers[s] if m[0] == 0]
            for s in writable:
                if not left[s]:
                    left[s] = memoryview(b"\x94\x01" + msgpack.packb(due[s].pop()) + b"\xc0" + body)
                    a.count("answers")
                left[s] = left[s][s.send(left[s][:PIECE]):]
        except OSError:
            raise Refused from None
    a.drop()


@attack
def worker_silent(a):
    """1,000 workers that say nothing more; who is closed comes again"""
    a.workers(1000, "trap")
    a.under_way()
    a.workers(500, "trap")
    a.hold(2)
    a.drop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=sorted(ATTACKS))
    parser.add_argument("--connect", metavar="URL", default="ergon://127.0.0.1:7466")
    parser.add_argument("--token", metavar="FILE", help="whose token it has; without, it says who it is to nobody")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--light", action="store_true", help="an eighth of what takes minutes of a busy machine")
    parser.add_argument("--source", metavar="ADDRESS", help="where its connections come from, such as 127.0.0.2")
    options = parser.parse_args()
    if not options.name:
        for name, function in ATTACKS.items():
            print(f"{name:14}{function.__doc__}")
        return 0
    a = Attacker(options)
    try:
        while True:
            try:
                a.check_time()
                ATTACKS[options.name](a)
                a.count("rounds")
            except Refused:
                a.under_way()  # it is kept out, which counts too
                a.drop()
                a.hold(0.01)
    except Over:
        a.under_way()
        a.drop()
    print(json.dumps(a.counts), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
