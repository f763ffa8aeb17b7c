"""Ergon and its peers in pairs, a window of the one after a window of the other; prints ratios.  See README.md."""

import argparse
import os
import sys
import time

import program
from pairs import SHARED_CORES, Row, compared, highest_rate, machine, windows_of, with_spread
from servers import PEERS, WITH_WORKERS, Broken, Ergon, ErgonWorkers

ROWS = ["64x16:64", "1x1:64", "1000x1:64", "10000x1:64", "64x16:64@0.5", "64x16:64@0.8",
        "64x16:1024", "1x1:1024", "64x16:65536", "1x1:65536"]
MAIN = 6
LAG_US = 50  # neither when the driver was so late itself


# ---- the table ----

def cores(side):
    return f"{side['driver_cores']:.2f}/{side['server_cores']:.2f}"


HEAD = ("against", "rate ours / theirs k/s", "rate ratio", "server us", "us ratio", "alone us", "alone ratio", "p99 us", "p99 ratio", "p99.9 ratio",
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
        f"{a['alone_us']:.2f} / {b['alone_us']:.2f}",
        with_spread(r["alone_us"]),
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
                    driven = row.opened(highest_rate(peer, row, o)) if row.share else row
                    result = compared(row, peer, *windows_of(ours, peer, driven, o))
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
        ours = (ErgonWorkers if self.options.workers else Ergon)(self.options)
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
                "machine": {**machine(), "load_before": before, "load_after": os.getloadavg()[0]},
            "server_on": on(o.server_on), "driver_on": on(o.driver_on), "windows": o.windows, "window": o.window,
            "servers": self.servers, "rows": self.rows,
        }


def arguments():
    every = list(dict.fromkeys(PEERS + WITH_WORKERS))
    names = [p.name.replace(", ", "-").replace(" ", "-") for p in every]
    a = argparse.ArgumentParser(prog="run.sh", description=__doc__, epilog="peers: " + " ".join(names))
    a.add_argument("--row", action="append", metavar="CxD:B[@S]",
                   help="connections x depth : bytes, @ share of the peer's rate; repeat it (" + " ".join(ROWS) + ")")
    a.add_argument("--main", action="store_true", help="the rows of 64 bytes only")
    a.add_argument("--workers", action="store_true", help="by way of two workers, ours and those of every peer that has some; 64x16:64")
    a.add_argument("--slots", type=int, default=512, help="tasks that each worker of ours is sent ahead (512)")
    a.add_argument("--peer", action="append", choices=names, metavar="NAME", help="repeat it (all)")
    a.add_argument("--limit", type=float, default=3600, help="seconds; rows that do not fit are left out (3600)")
    a.add_argument("--grab", type=int, default=64, help="GRAB_JOB in flight of each worker of Gearman that is not its library's (64)")
    o = program.parse(a, windows=3, window=2)
    usual = ROWS[:1] if o.workers else ROWS[:MAIN] if o.main else ROWS
    o.rows = [Row(r) for r in o.row or usual]
    here = WITH_WORKERS if o.workers else PEERS
    for p, name in zip(every, names):
        if name in (o.peer or []) and p not in here:
            a.error(f"{name} is compared {'without' if o.workers else 'with'} --workers only")
    o.peers = [p for p, name in zip(every, names) if p in here and (not o.peer or name in o.peer)]
    return o


def main():
    options = arguments()
    run, before = Run(options), os.getloadavg()[0]
    with program.until_interrupted():
        run.all()
    report = run.report(before)
    print_report(report, sys.stdout)
    program.end(options, report, program.all_good(run.rows))


main()
