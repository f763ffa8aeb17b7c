#!/usr/bin/env python3
"""Offers calls in an open loop, at any rate, and looks at no answer: who attacks need not do more.

    tests/attacks/flood.py --connect URL [--token FILE] --rate N [--connections N] METHOD [PARAM...]

What is due goes to the connections in turn, as bytes that were made beforehand, whether or not what went before was answered.
What a connection does not take goes to the next; what none takes stays due. Answers are thrown away unread. It prints
a line of JSON once all are connected, and one a second, which says how many calls were due and sent until then. Flood only
servers of your own.
"""
import argparse
import json
import selectors
import socket
import struct
import sys
import time

import msgpack

BATCH = 64  # calls that a connection is sent at once
FIRST_ID = 1 << 20  # of a batch: each of them has as many bytes
TICK = 0.004  # s, between two looks at what is due


class Connection:
    """One that is sent batches, which it may take in parts."""

    def __init__(self, options):
        host, port = options.connect.split("://")[1].rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=5, source_address=(options.source, 0) if options.source else None)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it is gone at once, at the end
        if options.token:
            with open(options.token) as f:
                self.socket.sendall(msgpack.packb([0, 0, "server.auth", [f.read().strip()]]))
            self.socket.recv(4096)
        self.socket.setblocking(False)
        self.rest = b""  # of a batch that was not taken whole

    def send(self, batch):
        """True: the rest before it was taken, and some of the batch, whose own rest is to follow."""
        try:
            while self.rest:
                self.rest = self.rest[self.socket.send(self.rest):]
            self.rest = batch[self.socket.send(batch):]
            return True
        except BlockingIOError:
            return False


class Flood:
    def __init__(self, options):
        self.batch = memoryview(b"".join(msgpack.packb([0, FIRST_ID + i, options.method, options.params]) for i in range(BATCH)))
        self.connections = [Connection(options) for _ in range(options.connections)]
        self.readable = selectors.DefaultSelector()
        for c in self.connections:
            self.readable.register(c.socket, selectors.EVENT_READ, c)
        self.buffer = bytearray(1 << 18)
        self.rate, self.next, self.sent = options.rate, 0, 0

    def send(self, due):
        refused = 0
        while self.sent + BATCH <= due and refused < len(self.connections):
            taken = self.connections[self.next].send(self.batch)
            self.next = (self.next + 1) % len(self.connections)
            self.sent += BATCH if taken else 0
            refused = 0 if taken else refused + 1

    def read(self):
        for key, _ in self.readable.select(0):
            try:
                if key.data.socket.recv_into(self.buffer) == 0:
                    raise ConnectionResetError("the server has closed a connection")
            except BlockingIOError:
                pass

    def run(self):
        began = said = time.monotonic()
        print(json.dumps({"connections": len(self.connections)}), flush=True)
        while True:
            now = time.monotonic()
            due = int((now - began) * self.rate)
            self.send(due)
            self.read()
            if now >= said + 1:
                said = now
                print(json.dumps({"due": due, "sent": self.sent, "late_ms": round(1000 * (time.monotonic() - now))}), flush=True)
            time.sleep(max(0, now + TICK - time.monotonic()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method")
    parser.add_argument("params", nargs="*")
    parser.add_argument("--connect", metavar="URL", required=True)
    parser.add_argument("--token", metavar="FILE")
    parser.add_argument("--source", metavar="ADDRESS", help="where its connections come from, such as 127.0.0.2")
    parser.add_argument("--rate", type=int, required=True, metavar="N", help="calls a second, all connections together")
    parser.add_argument("--connections", type=int, default=128, metavar="N")
    Flood(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
