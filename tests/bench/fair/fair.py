"""The latency of echo beside tasks that never end; prints a table.  See README.md."""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time

QUANTUM_US = 200
RATIO = 3  # at most so many times the p99 without endless tasks, and one quantum for each of these
START_SECONDS = 20


class Broken(Exception):
    """The measurement could not be made."""


class Server:
    """ergond on a processor of its own, or on those of `--server-on`."""

    def __init__(self, options, *flags):
        self.options = options
        argv = [os.path.join(options.build, "server/ergond"), "--module", "demo", "--listen", "ergon://127.0.0.1:0", "--loops",
                str(options.loops), *flags]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, options.server_on))
        self.url = self.process.stdout.readline().split()[-1]
        self.burners = None

    def ergon(self, *arguments):
        argv = [os.path.join(self.options.build, "client/cli/ergon"), "--json", "--server", self.url, *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, check=False,
                              preexec_fn=lambda: os.sched_setaffinity(0, self.options.driver_on))
        if done.returncode != 0:
            raise Broken(f"{' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def turning(self):
        return sum(e["turning"] for e in self.ergon("info")["topology"]["executors"])

    def burn(self, count):
        """So many calls that go on for as long as the server lives, on one connection; all take turns."""
        host, port = self.url.rsplit("/", 1)[-1].rsplit(":", 1)
        self.burners = socket.create_connection((host, int(port)))
        self.burners.sendall(b"".join(b"\x94\x00\xcd" + n.to_bytes(2, "big") + b"\xa4burn\x91\xa21h" for n in range(count)))
        until = time.monotonic() + START_SECONDS
        while self.turning() < count:
            if time.monotonic() > until:
                raise Broken(f"of {count} endless tasks {self.turning()} have begun in {START_SECONDS} s")
            time.sleep(0.02)

    def stop(self):
        if self.burners:
            self.burners.close()
        self.process.kill()
        self.process.wait()


def measure(options, burners, flags, connections):
    """p50, p99 in us, answers a second."""
    server = Server(options, *flags)
    try:
        server.ergon("bench", "-c", "1", "-i", "1", "-n", "2000", "-m", "echo")  # its time is learnt
        if burners:
            server.burn(burners)
        said = server.ergon("bench", "-c", str(connections), "-i", "1", "-d", f"{round(options.seconds * 1000)}ms", "-m", "echo")
        return said["latency_us"]["p50"], said["latency_us"]["p99"], said["answers_per_second"]
    finally:
        server.stop()


def rows(options):
    """For each way and number of connections the medians over the turns, which go round all numbers of tasks."""
    for way, flags in (("in place", ()), ("by the manager", ("--shortcut=false",))):
        for connections in options.connections:
            seen = {n: [] for n in [0, *options.tasks]}
            for _ in range(options.turns):
                for n in seen:
                    seen[n].append(measure(options, n, flags, connections))
            median = {n: [statistics.median(column) for column in zip(*figures)] for n, figures in seen.items()}
            alone = median[0][1]
            for n, (p50, p99, rate) in median.items():
                bar = RATIO * alone + n * QUANTUM_US
                yield {"way": way, "connections": connections, "tasks": n, "p50_us": p50, "p99_us": p99, "rate": rate,
                       "ratio": p99 / alone, "bar_us": bar, "kept": p99 <= bar}


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", default=os.environ.get("ERGON_BUILD", "build"), help="build directory")
    p.add_argument("--tasks", type=numbers, default=[1, 2, 10, 100], help="numbers of endless tasks: 1,2,10,100")
    p.add_argument("--connections", type=numbers, default=[1, 16], help="each with one echo in flight: 1,16")
    p.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    p.add_argument("--turns", type=int, default=3, help="measurements of each; the median counts")
    p.add_argument("--loops", type=int, default=1)
    p.add_argument("--server-on", type=numbers, default=[0], help="processors of the server: 0")
    p.add_argument("--driver-on", type=numbers, default=[1], help="processors of the generator: 1")
    p.add_argument("--json", metavar="FILE", help="write the rows there as well")
    options = p.parse_args()
    print(f"{'way':15} {'connections':>11} {'tasks':>6} {'p50 us':>9} {'p99 us':>9} {'ratio':>6} {'bar us':>9} {'answers/s':>10}")
    kept, all_rows = True, []
    try:
        for row in rows(options):
            all_rows.append(row)
            kept = kept and row["kept"]
            print(f"{row['way']:15} {row['connections']:11} {row['tasks']:6} {row['p50_us']:9.1f} {row['p99_us']:9.1f} "
                  f"{row['ratio']:6.1f} {row['bar_us']:9.1f} {row['rate']:10.0f}{'' if row['kept'] else '  MISSED'}",
                  flush=True)
    except Broken as error:
        sys.exit(f"fair: {error}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(all_rows, f, indent=1)
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
