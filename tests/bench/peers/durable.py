"""Tasks submitted to Ergon and to its peers, each acknowledged when it is durable, in pairs; prints ratios.  See README.md."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import program
from keepers import KEEPERS, ErgonKeeps
from pairs import SHARED_CORES, Row, compared, machine, windows_of, with_spread
from servers import Broken

ROWS = ["64x1:64", "64x16:64"]
BAR = ROWS[0]
BATCHES = (1, 64)
SYNC_SECONDS = 1
IN_MEMORY = ("tmpfs", "ramfs")


# ---- the disk ----

def filesystem(folder):
    """Its device and kind."""
    asked = subprocess.run(["findmnt", "-n", "-o", "SOURCE,FSTYPE", "-T", folder], capture_output=True, text=True)
    return asked.stdout.strip() or "unknown"


def sync_rates(options):
    """Records a second of an append with fdatasync, by batch."""
    program = os.path.join(options.build, "tests/bench/peers/sync_rate")
    rates = {}
    for batch in BATCHES:
        argv = [program, options.folder, str(batch), str(SYNC_SECONDS)]
        rates[batch] = float(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    return rates


# ---- the run ----

class Run:
    def __init__(self, options):
        self.options = options
        self.servers, self.rows, self.disk = [], [], []

    def note(self, server):
        if not any(s["name"] == server.name and s["what"] == server.what for s in self.servers):
            self.servers.append({"name": server.name, "version": server.version(), "what": server.what,
                                 "settings": server.settings()})

    def pair(self, row, peer_type):
        """Fresh servers with empty files for each row: what they hold grows with what they have taken."""
        o, ours, peer = self.options, ErgonKeeps(self.options), peer_type(self.options)
        try:
            self.disk.append(sync_rates(o))
            for server in (ours, peer):
                server.start(o.server_on)
                self.note(server)
            result = compared(row, peer, *windows_of(ours, peer, row, o))
            result["synced"] = peer.synced
        except (Broken, OSError) as broken:
            result = {"load": str(row), "peer": peer.name, "error": str(broken)}
        finally:
            ours.stop()
            peer.stop()
        self.rows.append(result)
        print(f"{result['load']:>12}  " + "  ".join(cells(result, self.disk[-1])[:4]), file=sys.stderr, flush=True)

    def all(self):
        for row in self.options.rows:
            for peer_type in self.options.peers:
                self.pair(Row(row), peer_type)

    def report(self):
        o = self.options
        return {
            "date": time.strftime("%Y-%m-%d"), "machine": machine(), "filesystem": filesystem(o.folder),
            "server_on": o.server_on, "driver_on": o.driver_on, "windows": o.windows, "window": o.window,
            "disk": {str(b): {"median": statistics.median(r[b] for r in self.disk), "min": min(r[b] for r in self.disk),
                              "max": max(r[b] for r in self.disk)} for b in BATCHES if self.disk},
            "servers": self.servers, "rows": self.rows,
        }


# ---- the table ----

HEAD = ("against", "k/s ours / theirs", "ratio", "p50 ms", "p99 ms", "server us", "others")


def cells(result, disk=None):
    if "error" in result:
        return [result["peer"], result["error"].splitlines()[0]] + [""] * (len(HEAD) - 2)
    a, b = result["ours"], result["theirs"]
    others = max(a["other_cores"], b["other_cores"])
    return [
        result["peer"] + ("" if result["synced"] else ", not synced"),
        f"{a['rate'] / 1e3:.1f} / {b['rate'] / 1e3:.1f}",
        with_spread(result["ratios"]["rate"]),
        f"{a['p50_us'] / 1e3:.2f} / {b['p50_us'] / 1e3:.2f}",
        f"{a['p99_us'] / 1e3:.2f} / {b['p99_us'] / 1e3:.2f}",
        f"{a['server_us']:.2f} / {b['server_us']:.2f}",
        f"{others:.2f}" + (" !" if others > SHARED_CORES else ""),
    ]


def print_report(report):
    box = report["machine"]
    pinned = "servers on processor 0, driver on 1" if report["server_on"] else "on any processor"
    print(f"{report['date']}, {box['processors']} x {box['model']}, {box['system']}, {report['filesystem']}; {pinned}; "
          f"{report['windows']} windows of {report['window']} s each, in turn")
    for batch, rate in report["disk"].items():
        print(f"append + fdatasync in batches of {batch}: {rate['median'] / 1e3:.1f} k records of 100 bytes a second "
              f"({rate['min'] / 1e3:.1f}-{rate['max'] / 1e3:.1f})")
    print("\n| server | version | one task | started as |\n| --- | --- | --- | --- |")
    for server in report["servers"]:
        print(f"| {server['name']} | {server['version']} | {server['what']} | {server['settings']} |")
    for load in dict.fromkeys(r["load"] for r in report["rows"]):
        print(f"\n### {load}\n\n| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}")
        for result in report["rows"]:
            if result["load"] == load:
                print(f"| {' | '.join(cells(result))} |")
    print("\nMedian (least-highest) of the pairs; ratio: ours / theirs, above 1 is better for us."
          f"\n! others used more than {SHARED_CORES} processors in these windows.")


# ---- the command ----

def arguments():
    names = [k.name.replace(", ", "-").replace(" ", "-") for k in KEEPERS]
    a = argparse.ArgumentParser(prog="run.sh --durable", description=__doc__, epilog="peers: " + " ".join(names))
    a.add_argument("--row", action="append", metavar="CxD:B", help="producers x depth : bytes; repeat it (" + " ".join(ROWS) + ")")
    a.add_argument("--peer", action="append", choices=names, metavar="NAME", help="repeat it (all)")
    a.add_argument("--dir", metavar="FOLDER", help="where all keep their files; not in memory (the build directory)")
    o = program.parse(a, windows=5, window=1)
    o.rows, o.grab = o.row or ROWS, 1
    o.peers = [k for k, name in zip(KEEPERS, names) if not o.peer or name in o.peer]
    return o


def main():
    options = arguments()
    options.folder = tempfile.mkdtemp(prefix="durable-", dir=options.dir or options.build)
    run = Run(options)
    try:
        if filesystem(options.folder).split()[-1] in IN_MEMORY:
            sys.exit(f"{options.folder} is in memory: choose a folder on a disk with --dir")
        with program.until_interrupted():
            run.all()
    finally:
        report = run.report()
        shutil.rmtree(options.folder, ignore_errors=True)
    print_report(report)
    program.end(options, report, program.all_good(run.rows))


main()
