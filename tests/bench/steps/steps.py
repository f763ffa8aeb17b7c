"""The longest step of a loop while the page's and the command line's requests meet a million kept tasks; prints a table.  See README.md."""

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time

import msgpack

BAR_US = 1000
LEAST_US = 1000  # what is shorter the server does not tell
START_SECONDS, SETTLE_SECONDS = 20, 600
BATCH = 1000
LONG = re.compile(r'msg="step too long" activator="?([^"=]*)"? object="?([^"= ]*)"?.* took=([0-9.]+)(ns|us|ms|s) ')
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}


class Broken(Exception):
    """The measurement could not be made."""


class Server:
    """It tells of each step that is longer than LEAST_US."""

    def __init__(self, options):
        self.log_path = os.path.join(options.build, "steps.log")
        argv = [os.path.join(options.build, "server/ergond"), "--module", "demo", "--listen", "ergon://127.0.0.1:0", "--loops", "2",
                "--step-limit", f"{LEAST_US // 1000}ms", "--log-repeats", "off", "--log-level", "warn", "--tasks-bytes", "16g"]
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=log, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Broken(f"ergond did not start: see {self.log_path}")
        host, port = self.url.rsplit("/", 1)[-1].rsplit(":", 1)
        self.sock = socket.create_connection((host, int(port)), START_SECONDS)
        self.sock.settimeout(SETTLE_SECONDS)
        self.unpacker = msgpack.Unpacker(raw=False, max_buffer_size=1 << 30)
        self.read_to = 0

    def call(self, method, *params):
        self.sock.sendall(msgpack.packb([0, 1, method, list(params)]))
        while True:
            for _, _, error, result in self.unpacker:
                if error is not None:
                    raise Broken(f"{method}: {error}")
                return result
            data = self.sock.recv(1 << 20)
            if not data:
                raise Broken(f"{method}: the server has closed the connection")
            self.unpacker.feed(data)

    def fill(self, tasks):
        """Ended ones of three tenants' worth of keys, a tenth of them failed; each twentieth waits for a far time."""
        for first in range(0, tasks, BATCH):
            batch = []
            for n in range(first, min(first + BATCH, tasks)):
                options = {"keep": "6h", "key": f"key {n}"} if n % 10 == 5 else {"keep": "6h"}
                if n % 20 == 3:
                    options["delay"] = "6h"
                batch.append(["fail", ["NOPE", "on purpose"], options] if n % 10 == 7 else ["echo", ["x" * 40], options])
            self.call("task.submit_many", batch)
        until = time.monotonic() + SETTLE_SECONDS
        while any(q["queued"] + q["assigned"] + q["running"] > 0 for q in self.call("queue.list")):
            if time.monotonic() > until:
                raise Broken("the tasks do not end")
            time.sleep(0.2)

    def long_steps(self):
        """Since the last look: {object: us of the longest}."""
        self.call("server.ping")
        time.sleep(0.02)  # until the log's thread has written
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
        self.sock.close()
        self.process.kill()
        self.process.wait()


def walk_pages(server, most, **wanted):
    """So many pages, one behind the other."""
    cursor = None
    for _ in range(most):
        page = server.call("task.list", {**wanted, **({"cursor": cursor} if cursor else {})})
        cursor = page["next"]
        if cursor is None:
            return


def dump(server):
    place = []
    while place is not None:
        place = server.call("server.debug_dump", *place)["next"]


def requests(server, newest):
    yield "task.list", lambda: walk_pages(server, 1)
    yield "task.list limit 1000", lambda: walk_pages(server, 1, limit=1000)
    yield "task.list state failed, 5 pages", lambda: walk_pages(server, 5, state="failed")
    yield "task.list state delayed, 5 pages", lambda: walk_pages(server, 5, state="delayed")
    yield "task.list method, 5 pages", lambda: walk_pages(server, 5, method="fail", limit=1000)
    yield "task.list of a key, 5 pages", lambda: walk_pages(server, 5, key="key 5")
    yield "task.list that finds none, 20 pages", lambda: walk_pages(server, 20, method="nothing")
    yield "task.list of a tenant that has none, 20 pages", lambda: walk_pages(server, 20, tenant="nobody")
    yield "task.list older than a day, 20 pages", lambda: walk_pages(server, 20, older="1d")
    yield "task.get", lambda: server.call("task.get", newest)
    yield "task.explain", lambda: server.call("task.explain", newest)
    yield "queue.list", lambda: server.call("queue.list")
    yield "queue.explain", lambda: server.call("queue.explain", "echo")
    yield "queue.tenants", lambda: server.call("queue.tenants")
    yield "server.info", lambda: server.call("server.info")
    yield "server.audit", lambda: server.call("server.audit")
    yield "task.cancel by filter, dry run", lambda: server.call("task.cancel", {"method": "nothing", "dry_run": True})
    yield "server.debug_dump", lambda: dump(server)


def measure(server, options):
    rows = []
    newest = server.call("task.list", {"limit": 1})["tasks"][0]["id"]
    for name, request in requests(server, newest):
        request()
        seen, objects, answers = [], {}, []
        for _ in range(options.repeats):
            server.long_steps()
            began = time.monotonic()
            request()
            answers.append((time.monotonic() - began) * 1e6)
            longest = server.long_steps()
            seen.append(max(longest.values(), default=0))
            objects.update(longest)
        rows.append({"request": name, "median_us": statistics.median(seen), "worst_us": max(seen),
                     "answer_us": statistics.median(answers), "objects": sorted(objects)})
    return rows


def tell(rows):
    print(f"{'request':45}  {'step, median':>12}  {'worst':>8}  {'answer':>9}   objects")
    for r in rows:
        shown = [f"< {LEAST_US}" if us < LEAST_US else f"{us:.0f}" for us in (r["median_us"], r["worst_us"])]
        missed = "  MISSED" if r["median_us"] > BAR_US else ""
        print(f"{r['request']:45}  {shown[0]:>12}  {shown[1]:>8}  {r['answer_us']:>9.0f}   {', '.join(r['objects'])}{missed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="directory of the programs (build)")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="that are kept (1000000)")
    parser.add_argument("--repeats", type=int, default=9, help="of each request; their median counts (9)")
    parser.add_argument("--json", action="store_true", help="one object a row instead of the table")
    options = parser.parse_args()
    server = Server(options)
    try:
        server.fill(options.tasks)
        rows = measure(server, options)
    finally:
        server.stop()
    if options.json:
        print(json.dumps(rows))
    else:
        print(f"{options.tasks} kept tasks; us; the longest step of all loops during a request, of {options.repeats} requests")
        tell(rows)
    return any(r["median_us"] > BAR_US for r in rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Broken as e:
        sys.exit(f"steps: {e}")
