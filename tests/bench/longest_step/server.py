"""A server that reports each step longer than LEAST_US, and connections to it."""

import os
import re
import socket
import subprocess
import time

import msgpack

LEAST_US = 1000  # what is shorter the server does not tell
START_SECONDS, ANSWER_SECONDS = 20, 600
BATCH = 1000
LONG = re.compile(r'msg="step too long" activator="?([^"=]*)"? object="?([^"= ]*)"?.* took=([0-9.]+)(ns|us|ms|s) ')
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
FLAGS = ("--module", "demo", "--listen", "ergon://127.0.0.1:0", "--loops", "2", "--step-limit", f"{LEAST_US // 1000}ms", "--log-repeats", "off",
         "--log-level", "warn", "--tasks-bytes", "16g", "--tasks-tenant-share", "100", "--limits-memory", "16g", "--limits-principal-memory", "16g",
         "--limits-connection-memory", "16g", "--limits-partial", "4g", "--limits-in-flight", "16384", "--limits-output", "64m")


class Broken(Exception):
    """The measurement could not be made."""


def go_first():
    """What else runs on the machine does not lengthen a step by the clock.  False where the system does not let it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        return True
    except OSError:
        return False


def packed(number, method, *params):
    return msgpack.packb([0, number, method, list(params)])


class Connection:
    def __init__(self, address):
        self.sock = socket.create_connection(address, START_SECONDS)
        self.sock.settimeout(ANSWER_SECONDS)
        self.unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=1 << 30)
        self.asked = []

    def send(self, data):
        self.sock.sendall(data)

    def answers(self, count):
        """The next so many (error, result); what the server asks meanwhile is kept in `asked`."""
        found = []
        while len(found) < count:
            for message in self.unpacker:
                if message[0] == 1:
                    found.append((message[2], message[3]))
                elif message[0] == 0:
                    self.asked.append(message)
                if len(found) == count:
                    return found
            data = self.sock.recv(1 << 20)
            if not data:
                raise Broken("the server has closed the connection")
            self.unpacker.feed(data)
        return found

    def ask(self, method, *params):
        """(error, result)"""
        self.send(packed(1, method, *params))
        return self.answers(1)[0]

    def call(self, method, *params):
        error, result = self.ask(method, *params)
        if error is not None:
            raise Broken(f"{method}: {error}")
        return result

    def call_all(self, requests):
        """Of (method, *params), in batches; their results."""
        results = []
        for first in range(0, len(requests), BATCH):
            batch = requests[first:first + BATCH]
            self.send(b"".join(packed(n, *r) for n, r in enumerate(batch)))
            for error, result in self.answers(len(batch)):
                if error is not None:
                    raise Broken(f"{batch[0][0]}: {error}")
                results.append(result)
        return results

    def post(self, requests):
        """Asks all in one go, and reads no answer."""
        self.send(b"".join(packed(n, *r) for n, r in enumerate(requests)))

    def close(self):
        self.sock.close()


class Server:
    def __init__(self, build):
        self.log_path = os.path.join(build, "longest_step.log")
        argv = [os.path.join(build, "server/ergond"), *FLAGS]
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=go_first)
        self.goes_first = os.sched_getscheduler(self.process.pid) == os.SCHED_FIFO
        url = self.process.stdout.readline().strip()
        if not url:
            raise Broken(f"ergond did not start: see {self.log_path}")
        host, port = url.rsplit("/", 1)[-1].rsplit(":", 1)
        self.address = (host, int(port))
        self.main = Connection(self.address)
        self.read_to = 0

    def connect(self):
        return Connection(self.address)

    def fill(self, tasks):
        """Ended ones of three tenants' worth of keys, a tenth of them failed; each twentieth waits for a far time."""
        for first in range(0, tasks, BATCH):
            batch = []
            for n in range(first, min(first + BATCH, tasks)):
                options = {"keep": "6h", "key": f"key {n}"} if n % 10 == 5 else {"keep": "6h"}
                if n % 20 == 3:
                    options["delay"] = "6h"
                batch.append(["fail", ["NOPE", "on purpose"], options] if n % 10 == 7 else ["echo", ["x" * 40], options])
            self.main.call("task.submit_many", batch)
        self.settle("echo", "fail")

    def settle(self, *methods):
        """Until no task of these methods runs or could, nor waits for another."""
        until = time.monotonic() + ANSWER_SECONDS
        for method in methods:
            while any(self.main.call("queue.explain", method)[state] > 0 for state in ("queued", "waiting", "assigned", "running")):
                if time.monotonic() > until:
                    raise Broken(f"the tasks of {method} do not end")
                time.sleep(0.05)

    def long_steps(self):
        """Since the last look: {object: us of the longest}."""
        self.main.call("server.ping")
        time.sleep(0.03)  # until what followed the answer is done, and the log's thread has written
        self.main.call("server.ping")
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            f.seek(self.read_to)
            text = f.read()
            self.read_to = f.tell()
        longest = {}
        for line in text.splitlines():
            found = LONG.search(line + " ")
            if found:
                took = float(found[3]) * UNITS[found[4]]
                longest[found[2]] = max(longest.get(found[2], 0), took)
        return longest

    def stop(self):
        self.main.close()
        self.process.kill()
        self.process.wait()
