"""What a call costs of a module in a process of its own: calls a second of a handler that returns at once, beside the same
module in the server, in turns.

usage: modules.py BUILD [ROUNDS [BYTES]]

BUILD is a build directory, with the tests.  With BYTES the calls have so long a parameter, which the handler does not read,
and 16 of them are out at a time instead of 1024."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def rate(build, folder, spec, size):
    """Of `ergon bench` at a server with this module; answers a second."""
    url = f"unix://{folder}/socket"
    server = subprocess.Popen([f"{build}/server/ergond", "--listen", url, "--module", spec, "--log-level", "error"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        server.stdout.readline()
        time.sleep(0.2)
        load = ["-c", "4", "-i", "4", "--calls", f"{folder}/calls"] if size else ["-c", "64", "-i", "16", "-m", "harm.step", "fine"]
        done = subprocess.run([f"{build}/client/cli/ergon", "--server", url, "--json", "bench", "-w", "500ms", "-d", "2s", *load],
                              capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)["answers_per_second"]
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    build, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    size = int(sys.argv[3]) if len(sys.argv) == 4 else 0
    module = f"{build}/tests/e2e/harm.so"
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/calls", "w", encoding="utf-8") as f:
            json.dump({"method": "harm.step", "params": ["fine", "x" * size], "weight": 1}, f)
        for _ in range(rounds):
            inside, apart = rate(build, folder, module, size), rate(build, folder, module + ",process", size)
            ratios.append(apart / inside)
            print(f"in the server {inside:,.0f}/s, in a process {apart:,.0f}/s: {ratios[-1]:.2f}", flush=True)
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f}) of {rounds} rounds")


main()
