"""What it costs a server to be scraped by Prometheus each second; prints tables.  See README.md.

Under a load of 64 connections with 16 calls in flight each, Prometheus takes turns with being stopped (SIGSTOP), so that both
halves have the same server, the same load and the same time of day.  What counts is the processor time of the server's threads
by a task.  Then 15,000 connections and 10,000 methods are there, and a scrape is timed: by Prometheus, and on whose threads."""

import argparse
import contextlib
import glob
import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import msgpack

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../e2e"))

START_SECONDS = 60
METHODS_OF_A_WORKER = 100
BAR_RATIO, BAR_SCRAPE_MS = 1.01, 100


class Broken(Exception):
    """The measurement could not be made."""


def until(condition, what):
    """Waits for it; who waits too long is told for what."""
    end = time.monotonic() + START_SECONDS
    while not (found := condition()):
        if time.monotonic() > end:
            raise Broken(f"not within {START_SECONDS} s: {what}")
        time.sleep(0.05)
    return found


def threads_ns(pid):
    """Processor time of each kind of thread, ns: 'loop', 'admin' and 'other'."""
    spent = {"loop": 0, "admin": 0, "other": 0}
    for folder in glob.glob(f"/proc/{pid}/task/*"):
        with contextlib.suppress(OSError):  # it has ended
            with open(folder + "/comm", encoding="ascii") as comm, open(folder + "/schedstat", encoding="ascii") as stat:
                name = comm.read().split()[0]
                spent[name if name in spent else "other"] += int(stat.read().split()[0])
    return spent


class Prometheus:
    """Debian's, that scrapes each second while it is not paused."""

    def __init__(self, target):
        self.folder = tempfile.TemporaryDirectory()
        config = os.path.join(self.folder.name, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as f:
            f.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs: [{job_name: ergon, static_configs: "
                    f'[{{targets: ["{urllib.parse.urlsplit(target).netloc}"]}}]}}]\n')
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % free.getsockname()[1]
        self.process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder.name}/data",
                                         f"--web.listen-address={self.address}", "--log.level=error"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pauses = []  # [from, to], Unix seconds
        until(lambda: self.query("up == 1"), "prometheus scrapes the server")

    def query(self, expression):
        with contextlib.suppress(OSError), urllib.request.urlopen(
                f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression}), timeout=START_SECONDS) as a:
            return json.load(a)["data"]["result"]
        return None

    def pause(self, is_wanted):
        is_paused = self.pauses and self.pauses[-1][1] is None
        if is_wanted and not is_paused:
            self.pauses.append([time.time(), None])
            self.process.send_signal(signal.SIGSTOP)
        elif is_paused and not is_wanted:
            self.pauses[-1][1] = time.time()
            self.process.send_signal(signal.SIGCONT)

    def scrapes_ms(self, since):
        """How long scrapes took that no pause has touched, and how many others failed."""
        self.pause(False)
        window = "[%ds]" % (time.time() - since + 5)
        took = {float(at): 1e3 * float(s) for at, s in self.query("scrape_duration_seconds" + window)[0]["values"]}
        good = {float(at): s == "1" for at, s in self.query("up" + window)[0]["values"]}
        whole = [at for at, ms in took.items() if at >= since and
                 not any(at <= end and at + ms / 1e3 >= start for start, end in self.pauses)]
        return [took[at] for at in whole if good.get(at)], sum(not good.get(at) for at in whole)

    def stop(self):
        self.pause(False)
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def open_server(*flags):
    from harness import Server  # it reads ERGON_BUILD
    server = Server("--admin", "http://127.0.0.1:0", *flags)
    server.metrics = server.process.stdout.readline().strip() + "/metrics"
    return server


def line(name, *values):
    print(f"{name:<58}" + "  ".join(values), flush=True)


def quartiles(values):
    q = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{statistics.median(values):.4f} ({q[0]:.4f}-{q[2]:.4f})"


# ---- under load ----

class Load:
    """`ergon bench` beside, that never pauses, and what its tasks take."""

    def __init__(self, server, options, seconds):
        self.server, self.client = server, server.connect()
        self.process = subprocess.Popen([os.path.join(options.build, "client/cli/ergon"), "--json", "-s", server.urls[0], "bench", "-c", "64",
                                         "-i", "16", "-m", "echo", "-d", f"{seconds}s"], stdout=subprocess.PIPE, text=True)

    def read(self):
        return self.client.call("server.info")["tasks"]["done"], threads_ns(self.server.pid)

    def window(self, seconds):
        """ns a task, by kind of thread, and of all."""
        before, then = self.read()
        time.sleep(seconds)
        done, now = self.read()
        if done == before or self.process.poll() is not None:
            raise Broken("the load has ended")
        spent = {kind: (now[kind] - then[kind]) / (done - before) for kind in now}
        return {**spent, "all": sum(spent.values()), "rate": (done - before) / seconds}


def under_load(options):
    pairs = max(1, int(options.seconds / (2 * options.window)))
    server = open_server("--loops", "1")
    prometheus, load, turns = None, None, {True: [], False: []}
    try:
        load = Load(server, options, int(2.5 * options.seconds) + 2 * START_SECONDS)
        prometheus = Prometheus(server.metrics)
        since = time.time()
        for i in range(2 * pairs):
            scraped = i % 4 in (0, 3)  # with, without, without, with
            prometheus.pause(not scraped)
            turns[scraped].append(load.window(options.window))
        took, failed = prometheus.scrapes_ms(since)
        load.client.close()
        load.process.send_signal(signal.SIGINT)
        said = load.process.communicate()[0]
        errors = json.loads(said).get("errors") if said else None
    finally:
        if load and load.process.poll() is None:
            load.process.kill()
            load.process.wait()
        if prometheus:
            prometheus.stop()
        server.discard()

    print(f"\n64 connections x 16 calls of echo, one loop, {pairs} pairs of {options.window:g} s")
    line("", "scraped     ", "not scraped ", "ratio (quartiles of the pairs)")
    for kind, what in (("loop", "the loop's processor time, ns a task"), ("admin", "the admin thread's, ns a task"), ("all", "the whole server's, ns a task"),
                       ("rate", "tasks a second")):
        with_, without = ([w[kind] for w in turns[k]] for k in (True, False))
        ratio = quartiles([a / b for a, b in zip(with_, without)]) if min(without) > 0 else "-"
        line(what, f"{statistics.median(with_):<12.1f}", f"{statistics.median(without):<12.1f}", ratio)
    line("scrapes", f"{len(took)}, {failed} failed")
    if took:
        line("a scrape, as Prometheus sees it, ms: p50, max", f"{statistics.median(took):.1f}", f"{max(took):.1f}")
    line("errors of the load", json.dumps(errors))
    ratio = statistics.median(a["loop"] / b["loop"] for a, b in zip(turns[True], turns[False]))
    return ratio <= BAR_RATIO and failed == 0


# ---- many connections and methods ----

def serve_methods(server, names):
    """A worker for them; each is called once."""
    worker, caller = server.connect(), server.connect()
    worker.call("worker.register", names, {"slots": len(names)})

    def answer():
        for _ in names:
            request = worker.receive()
            worker.send_bytes(msgpack.packb([1, request[1], None, 1]))

    thread = threading.Thread(target=answer)
    thread.start()
    for number in [caller.send(name, 1) for name in names]:
        caller.response(number)
    thread.join()
    caller.close()
    return worker


def spent_over(server, seconds):
    then = threads_ns(server.pid)
    time.sleep(seconds)
    return {kind: (ns - then[kind]) / 1e6 for kind, ns in threads_ns(server.pid).items()}


def with_many(options):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = options.connections + 1000
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise Broken(f"{wanted} descriptors are wanted, and the limit is {hard} (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    server = open_server("--loops", "2", "--limits-newcomers", str(wanted))
    peers, prometheus = [], None
    try:
        for i in range(0, options.methods, METHODS_OF_A_WORKER):
            peers.append(serve_methods(server, [f"service.method{k}" for k in range(i, min(i + METHODS_OF_A_WORKER, options.methods))]))
        while len(peers) < options.connections:
            peers.append(socket.create_connection(("127.0.0.1", server.port)))
        with server.connect() as client:
            until(lambda: client.call("server.info")["connections"]["open"] > options.connections, "all connections stand")
            methods = len([h for h in client.call("server.info")["handlers"] if h["steps"] > 0])
        prometheus = Prometheus(server.metrics)
        with urllib.request.urlopen(server.metrics, timeout=START_SECONDS) as page:
            size = len(page.read())
        since = time.time()
        scraped = spent_over(server, options.many_seconds)
        took, failed = prometheus.scrapes_ms(since)
        prometheus.pause(True)
        alone = spent_over(server, options.many_seconds)
    finally:
        if prometheus:
            prometheus.stop()
        for peer in peers:
            peer.close()
        server.discard()

    print(f"\n{len(peers)} connections, {methods} methods that were called, two loops; the page has {size / 1024:.0f} KiB")
    line("scrapes", f"{len(took)}, {failed} failed")
    line("a scrape, as Prometheus sees it, ms: p50, max", f"{statistics.median(took):.1f}", f"{max(took):.1f}")
    line(f"processor time in {options.many_seconds:g} s, ms", "scraped     ", "not scraped")
    for kind, what in (("loop", "of the loops"), ("admin", "of the admin thread"), ("other", "of all others")):
        line("  " + what, f"{scraped[kind]:<12.2f}", f"{alone[kind]:.2f}")
    return max(took) < BAR_SCRAPE_MS and failed == 0


# ---- exact instructions ----

def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def callgrind(options, tasks, scraped, tries=5):
    """Instructions of the thread that had most, which is the loop, and of all."""
    with tempfile.TemporaryDirectory() as folder:
        from harness import Server
        server = Server("--admin", "http://127.0.0.1:0", "--loops", "1", demo=False,
                        wrapper=("valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder}/out",
                                 f"--log-file={folder}/log"))
        metrics, stop, scrapes = server.process.stdout.readline().strip() + "/metrics", threading.Event(), []

        def scrape():
            while not stop.wait(1):
                with contextlib.suppress(OSError), urllib.request.urlopen(metrics, timeout=START_SECONDS) as page:
                    scrapes.append(len(page.read()))

        scraper = threading.Thread(target=scrape)
        if scraped:
            scraper.start()
        load = subprocess.run([os.path.join(options.build, "client/cli/ergon"), "-s", server.urls[0], "bench", "-c", "64", "-i", "16", "-n", str(tasks)],
                              check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        stop.set()
        if scraped:
            scraper.join()
        if load.returncode != 0:
            server.process.kill()
            if tries > 1 and "valgrind" in read(folder + "/log")[-1000:]:  # callgrind itself has given up
                return callgrind(options, tasks, scraped, tries - 1)
            raise Broken(f"ergon bench ends with {load.returncode}: {load.stderr.strip()}\n{server.log_text()[-2000:]}")
        server.stop()
        counts = []
        for name in glob.glob(folder + "/out-*"):
            counts += [int(row.split()[1]) for row in read(name).splitlines() if row.startswith(("summary:", "totals:"))][-1:]
        return max(counts), sum(counts), len(scrapes)


def instructions(options):
    few, many = 20000, 20000 + options.callgrind
    print(f"\nuser instructions by callgrind, 64 x 16 echo, one loop, {options.callgrind} tasks (the difference of two runs)")
    line("", "the loop's a task", "scrapes meanwhile")
    each = {}
    for scraped in (False, True):
        loop_few, _, _ = callgrind(options, few, scraped)
        loop_many, _, scrapes = callgrind(options, many, scraped)
        each[scraped] = (loop_many - loop_few) / (many - few)
        line("scraped each second" if scraped else "not scraped", f"{each[scraped]:<17.1f}", str(scrapes))
    line("ratio", f"{each[True] / each[False]:.4f}")
    return each[True] / each[False] <= BAR_RATIO


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", help="directory of the build that is measured")
    parser.add_argument("--seconds", type=float, default=600, help="length of the load, all windows together")
    parser.add_argument("--window", type=float, default=10, help="length of one window, seconds")
    parser.add_argument("--connections", type=int, default=15000)
    parser.add_argument("--methods", type=int, default=10000)
    parser.add_argument("--many-seconds", type=float, default=30, help="length of the part with many connections, twice")
    parser.add_argument("--callgrind", type=int, default=0, metavar="TASKS", help="count instructions of so many tasks as well (valgrind)")
    parser.add_argument("--only", choices=("load", "many", "callgrind"))
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    os.environ["ERGON_BUILD"] = options.build
    parts = [("load", under_load), ("many", with_many)] + ([("callgrind", instructions)] if options.callgrind else [])
    try:
        met = [part(options) for name, part in parts if options.only in (None, name)]
    except Broken as e:
        sys.exit(f"scrape.py: {e}")
    print("\n" + ("every bar was met" if all(met) else "a bar was MISSED") +
          f": the loop's time a task within {BAR_RATIO}, scrapes below {BAR_SCRAPE_MS} ms, none failed")
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
