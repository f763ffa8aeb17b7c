"""Two servers in pairs: a window of the one, a window of the other, and the ratios of neighbours.  See README.md."""

import json
import os
import platform
import select
import statistics
import subprocess

from servers import Broken, Processes

OPEN_DEPTH = 256  # of an open loop: the driver's most
READY_SECONDS = 60
SHARED_CORES = 0.1  # more than this of other processes, and a row is not to be trusted


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

    program = "peers_driver"

    def __init__(self, server, row, options):
        argv = [server.built(f"tests/bench/peers/{self.program}"), *self.load(server, row, options), "--port", str(server.port),
                "--window", str(options.window)]
        for pid in server.pids():
            argv += ["--pid", str(pid)]
        self.name = server.name
        self.processes = Processes(server.work("driver.log"))
        self.process = self.processes.start(argv, options.driver_on, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.log = server.work("driver.log")
        self.seconds = options.window

    def load(self, server, row, options):
        argv = ["--paced", "--protocol", server.protocol]
        given = {"connections": row.connections, "depth": row.depth, "payload": row.payload, "warm-up": options.warm_up}
        if row.rate:
            given["rate"] = row.rate
        if server.method:
            given["method"] = server.method
        for name, value in given.items():
            argv += [f"--{name}", str(value)]
        return argv + ["--tls"] * server.tls

    def line(self, seconds):
        poll = select.poll()
        poll.register(self.process.stdout, select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise Broken(f"{self.name}: nothing came from the driver in {seconds:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                raise Broken(f"{self.name}: {log.read()[-300:].strip()}")
        return line

    def ready(self):
        self.line(READY_SECONDS)

    def window(self):
        self.begin()
        return self.end()

    def begin(self):
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def end(self):
        return json.loads(self.line(self.seconds + READY_SECONDS))

    def stop(self):
        self.processes.stop()


class Handshakes(Driver):
    """Connections opened and closed, with a handshake and no data."""

    program = "handshakes"

    def load(self, server, row, options):
        return ["--resumed"] * (row == "resumed") + (["--cert", server.client_pem()] if server.asks else [])


def highest_rate(peer, row, options):
    driver = Driver(peer, row, options)
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


def windows_of(ours, peer, row, options, driver=Driver):
    """Windows of both, one of each in turn and each first every other time."""

    def measure(number):
        pair = [None, None]
        for which in ((0, 1), (1, 0))[number % 2]:
            pair[which] = drivers[which].window()
        return pair

    drivers = []
    try:
        for server in (ours, peer):
            drivers.append(driver(server, row, options))
            drivers[-1].ready()
        return zip(*quiet_pairs(measure, options))
    finally:
        for each in drivers:
            each.stop()


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratios(ours, theirs, key):
    return spread([a[key] / b[key] for a, b in zip(ours, theirs) if b[key] > 0] or [float("nan")])


def compared(row, peer, ours, theirs):
    def middle(windows, key):
        return statistics.median(w[key] for w in windows)

    keys = ("rate", "server_us", "alone_us", "p50_us", "p99_us", "p999_us", "driver_cores", "server_cores", "other_cores", "lag_us")
    return {
        "load": str(row),
        "peer": peer.name,
        "ratios": {key: ratios(ours, theirs, key) for key in ("rate", "server_us", "alone_us", "p99_us", "p999_us")},
        "ours": {key: middle(ours, key) for key in keys},
        "theirs": {key: middle(theirs, key) for key in keys},
        "windows": {"ours": ours, "theirs": theirs},
    }


def with_spread(s):
    return f"{s['median']:.2f} ({s['min']:.2f}-{s['max']:.2f})"


def model():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def machine():
    return {"model": model(), "processors": os.cpu_count(), "system": f"{platform.system()} {platform.release()}"}
