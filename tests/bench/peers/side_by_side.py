"""Ergon and its peers in pairs, a window of the one after a window of the other; prints ratios.  See README.md."""

import argparse
import json
import os
import platform
import select
import signal
import statistics
import subprocess
import sys
import time

from servers import PEERS, Broken, Ergon, Processes

ROWS = ["64x16:64", "1x1:64", "1000x1:64", "10000x1:64", "64x16:64@0.5", "64x16:64@0.8",
        "64x16:1024", "1x1:1024", "64x16:65536", "1x1:65536"]
MAIN = 6
OPEN_DEPTH = 256  # of an open loop: the driver's most
READY_SECONDS = 60
SHARED_CORES = 0.1  # more than this of other processes, and a row is not to be trusted
LAG_US = 50  # neither when the driver was so late itself


class Row:
    """A load: CONNECTIONSxDEPTH:PAYLOAD, and @SHARE for an open loop at that share of what the peer does in a closed one."""

    def __init__(self, text):
        closed, _, share = text.partition("@")
        load, _, payload = closed.partition(":")
        self.share, self.rate = float(share or 0), 0
        connections, _, depth = load.partition("x")
        self.connections, self.depth, self.payload = int(connections), int(depth), int(payload or 64)

    def __str__(self):
        if self.share:
            return f"{self.connections} connections, {self.payload} B, open loop at {self.share:.0%} of the peer's rate"
        return f"{self.connections} x {self.depth}, {self.payload} B"

    def opened(self, highest):
        """The same with a rate."""
        row = Row(f"{self.connections}x{OPEN_DEPTH}:{self.payload}")
        row.rate = int(self.share * highest)
        return row


class Driver:
    """The load driver at one server; it keeps its connections from window to window."""

    def __init__(self, place, server, row, options):
        argv = [os.path.join(place.build, "tests/bench/peers/peers_driver"), "--paced", "--protocol", server.protocol]
        given = {"port": server.port, "connections": row.connections, "depth": row.depth, "payload": row.payload,
                 "window": options.window, "warm-up": options.warm_up}
        if row.rate:
            given["rate"] = row.rate
        if server.method:
            given["method"] = server.method
        for name, value in given.items():
            argv += [f"--{name}", str(value)]
        for pid in server.pids():
            argv += ["--pid", str(pid)]
        self.name = server.name
        self.processes = Processes(server.work("driver.log"))
        self.process = self.processes.start(argv, options.driver_on, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.log = server.work("driver.log")
        self.seconds = options.window

    def line(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise Broken(f"{self.name}: nothing came from the driver in {seconds:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                raise Broken(f"{self.name}: {log.read()[-300:].strip()}")
        return line

    def ready(self):
        self.line(READY_SECONDS)

    def window(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        return json.loads(self.line(self.seconds + READY_SECONDS))

    def stop(self):
        self.processes.stop()


def highest_rate(place, peer, row, options):
    driver = Driver(place, peer, row, options)
    try:
        driver.ready()
        return max(driver.window()["rate"] for _ in range(2))
    finally:
        driver.stop()


def disturbed(pair):
    return max(window["other_cores"] for window in pair)


def quiet_pairs(measure, options):
    """So many pairs; those in which others used the machine are measured again, as long as patience lasts."""
    pairs = []
    while sum(disturbed(p) <= SHARED_CORES for p in pairs) < options.windows:
        if len(pairs) == options.windows + options.patience:
            break
        pairs.append(measure(len(pairs)))
    return sorted(pairs, key=disturbed)[: options.windows]


def windows_of(place, ours, peer, row, options):
    """Windows of both, one of each in turn and each first every other time."""

    def measure(number):
        pair = [None, None]
        for which in ((0, 1), (1, 0))[number % 2]:
            pair[which] = drivers[which].window()
        return pair

    if row.share:
        row = row.opened(highest_rate(place, peer, row, options))
    drivers = []
    try:
        for server in (ours, peer):
            drivers.append(Driver(place, server, row, options))
            drivers[-1].ready()
        return zip(*quiet_pairs(measure, options))
    finally:
        for driver in drivers:
            driver.stop()


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratios(ours, theirs, key):
    return spread([a[key] / b[key] for a, b in zip(ours, theirs) if b[key] > 0] or [float("nan")])


def compared(row, peer, ours, theirs):
    def middle(windows, key):
        return statistics.median(w[key] for w in windows)

    keys = ("rate", "server_us", "p50_us", "p99_us", "p999_us", "driver_cores", "server_cores", "other_cores", "lag_us")
    return {
        "load": str(row),
        "peer": peer.name,
        "ratios": {key: ratios(ours, theirs, key) for key in ("rate", "server_us", "p99_us", "p999_us")},
        "ours": {key: middle(ours, key) for key in keys},
        "theirs": {key: middle(theirs, key) for key in keys},
        "windows": {"ours": ours, "theirs": theirs},
    }


# ---- the table ----

def with_spread(s):
    return f"{s['median']:.2f} ({s['min']:.2f}-{s['max']:.2f})"


def cores(side):
    return f"{side['driver_cores']:.2f}/{side['server_cores']:.2f}"


HEAD = ("against", "rate ours / theirs k/s", "rate ratio", "server us", "us ratio", "p99 us", "p99 ratio", "p99.9 ratio",
        "driver/server cores ours, theirs", "others")


def cells(result):
    if "error" in result:
        return [result["peer"], result["error"]] + [""] * (len(HEAD) - 2)
    a, b, r = result["ours"], result["theirs"], result["ratios"]
    others, lag = (max(a[key], b[key]) for key in ("other_cores", "lag_us"))
    return [
        result["peer"],
        f"{a['rate'] / 1e3:.1f} / {b['rate'] / 1e3:.1f}",
        with_spread(r["rate"]),
        f"{a['server_us']:.2f} / {b['server_us']:.2f}",
        with_spread(r["server_us"]),
        f"{a['p99_us']:.0f} / {b['p99_us']:.0f}",
        with_spread(r["p99_us"]),
        with_spread(r["p999_us"]),
        f"{cores(a)}, {cores(b)}",
        f"{others:.2f}" + (" !" if others > SHARED_CORES else "") + (" late" if lag > LAG_US else ""),
    ]


def table(results, to):
    for load in dict.fromkeys(r["load"] for r in results):
        print(f"\n### {load}\n\n| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", file=to)
        for result in results:
            if result["load"] == load:
                print(f"| {' | '.join(cells(result))} |", file=to)


def print_report(report, to):
    machine = report["machine"]
    print(f"{report['date']}, {machine['processors']} x {machine['model']}, {machine['system']}", file=to)
    print(f"server on {report['server_on']}, driver on {report['driver_on']}; {report['windows']} windows of "
          f"{report['window']} s each, in turn; load average {machine['load_before']:.1f} to {machine['load_after']:.1f}",
          file=to)
    print("\n| server | version | one task | started as |\n| --- | --- | --- | --- |", file=to)
    for server in report["servers"]:
        print(f"| {server['name']} | {server['version']} | {server['what']} | {server['settings']} |", file=to)
    table(report["rows"], to)
    print("\nMedian (least-highest) of the pairs; ratios are ours / theirs: rate above 1 is better for us, time below 1."
          f"\n! others used more than {SHARED_CORES} processors in these windows.  late: the driver of an open loop was"
          f" more than {LAG_US} us behind its own plan.", file=to)


# ---- the run ----

def model():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def described(server):
    return {"name": server.name, "version": server.version(), "what": server.what, "settings": server.settings()}


def progress(result):
    shown = [c for c in cells(result) if c]
    print(f"{result['load']:>16}  " + "  ".join(shown[:3] + shown[4:5]), file=sys.stderr, flush=True)


class Run:
    def __init__(self, options):
        self.options = options
        self.until = time.monotonic() + options.limit
        self.servers, self.rows = [], []

    def time_for_one(self):
        o = self.options
        return time.monotonic() + 2 * (o.warm_up + (o.windows + o.patience) * (o.window + 0.5)) + 5 < self.until

    def against(self, ours, peer_type):
        """All rows against one peer; a row that breaks is told, and the next one has a fresh peer."""
        o, peer = self.options, None
        try:
            for row in o.rows:
                if row.share and not (peer_type.open_loop or o.row):
                    continue
                if not self.time_for_one():
                    return
                try:
                    if peer is None:
                        peer = peer_type(o)
                        peer.start(o.server_on)
                        self.note(peer)
                    result = compared(row, peer, *windows_of(o, ours, peer, row, o))
                except (Broken, OSError) as broken:
                    result = {"load": str(row), "peer": peer.name, "error": str(broken)}
                    peer.stop()
                    peer = None
                self.rows.append(result)
                progress(result)
        finally:
            if peer is not None:
                peer.stop()

    def note(self, server):
        if not any(s["name"] == server.name for s in self.servers):
            self.servers.append(described(server))

    def all(self):
        ours = Ergon(self.options)
        try:
            ours.start(self.options.server_on)
            self.note(ours)
            for peer_type in self.options.peers:
                self.against(ours, peer_type)
        finally:
            ours.stop()

    def report(self, before):
        def on(processors):
            return "processor " + ",".join(map(str, processors)) if processors else "any processor"

        o = self.options
        return {
            "date": time.strftime("%Y-%m-%d"),
            "machine": {"model": model(), "processors": os.cpu_count(), "system": f"{platform.system()} {platform.release()}",
                        "load_before": before, "load_after": os.getloadavg()[0]},
            "server_on": on(o.server_on), "driver_on": on(o.driver_on), "windows": o.windows, "window": o.window,
            "servers": self.servers, "rows": self.rows,
        }


def arguments():
    names = [p.name.replace(", ", "-").replace(" ", "-") for p in PEERS]
    a = argparse.ArgumentParser(prog="run.sh", description=__doc__, epilog="peers: " + " ".join(names))
    a.add_argument("--row", action="append", metavar="CxD:B[@S]",
                   help="connections x depth : bytes, @ share of the peer's rate; repeat it (" + " ".join(ROWS) + ")")
    a.add_argument("--main", action="store_true", help="the rows of 64 bytes only")
    a.add_argument("--peer", action="append", choices=names, metavar="NAME", help="repeat it (all)")
    a.add_argument("--windows", type=int, default=3, help="of each server in a row (3)")
    a.add_argument("--window", type=float, default=2, help="seconds (2)")
    a.add_argument("--warm-up", type=float, default=1, help="seconds, of each server in a row (1)")
    a.add_argument("--patience", type=int, default=0,
                   help="pairs of windows to measure again in each row where others used the machine (0)")
    a.add_argument("--limit", type=float, default=3600, help="seconds; rows that do not fit are left out (3600)")
    a.add_argument("--unpinned", action="store_true", help="server and driver on any processor")
    a.add_argument("--grab", type=int, default=16, help="GRAB_JOB in flight of each worker of Gearman (16)")
    a.add_argument("--ergon", action="append", default=[], metavar="FLAG", help="for ergond; repeat it")
    a.add_argument("--json", metavar="FILE", help="everything, each window included")
    a.add_argument("--build", required=True, type=os.path.abspath, help=argparse.SUPPRESS)
    a.add_argument("--work", required=True, type=os.path.abspath, help=argparse.SUPPRESS)
    o = a.parse_args()
    o.rows = [Row(r) for r in o.row or (ROWS[:MAIN] if o.main else ROWS)]
    o.peers = [p for p, name in zip(PEERS, names) if not o.peer or name in o.peer]
    pinned = not o.unpinned and os.cpu_count() > 1
    o.server_on, o.driver_on = ([0], [1]) if pinned else (None, None)
    return o


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    options = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    run, before = Run(options), os.getloadavg()[0]
    try:
        run.all()
    except KeyboardInterrupt:
        print("interrupted: the table holds what there is", file=sys.stderr)
    report = run.report(before)
    print_report(report, sys.stdout)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=1)
    sys.exit(1 if not run.rows or any("error" in r for r in run.rows) else 0)


main()
