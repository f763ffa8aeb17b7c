"""What a call costs of a module in a process of its own: calls a second of a handler that returns at once, beside the same
module in the server, in turns.

usage: modules.py BUILD [ROUNDS]

BUILD is a build directory, with the tests."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def rate(build, folder, spec):
    """Of `ergon bench` at a server with this module; answers a second."""
    url = f"unix://{folder}/socket"
    server = subprocess.Popen([f"{build}/server/ergond", "--listen", url, "--module", spec, "--log-level", "error"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        server.stdout.readline()
        time.sleep(0.2)
        done = subprocess.run([f"{build}/client/cli/ergon", "--server", url, "--json", "bench", "-c", "64", "-i", "16", "-w", "500ms", "-d", "2s", "-m",
                               "harm.step", "fine"], capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)["answers_per_second"]
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 5
    module = f"{build}/tests/e2e/harm.so"
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            inside, apart = rate(build, folder, module), rate(build, folder, module + ",process")
            ratios.append(apart / inside)
            print(f"in the server {inside / 1000:.0f} k/s, in a process {apart / 1000:.0f} k/s: {ratios[-1]:.2f}", flush=True)
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f}) of {rounds} rounds")


main()
