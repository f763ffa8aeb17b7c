"""Ten times what a server can do, offered by one principal in an open loop, beside another's tenth of it.

`ergon bench -r` sends what is due while a connection has a place in flight, and later what was due meanwhile: the offering
does not slow down because answers do not come, it stands in line. The server reads no more of a connection than
limits.in_flight (1,024) allows, so more cannot reach it; the figures say how much was due and how much came in.
"""
import os
import time
import subprocess

from siege import BEHIND, ERGON, Broken, Figures, measured

METHOD = ("-m", "burn", "50us")
TIMES, SHARE = 10, 0.1  # of the capacity: what the one offers, and the other


def generator(server, token, *options, behind=0):
    """`ergon bench`; `behind` is how nice it is to others."""
    argv = [ERGON, "--json", "-s", server.urls[0], "--token-file", token, "bench", *options, *METHOD]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: os.nice(behind))


def ended(process):
    out, errors = process.communicate()
    return measured(process, out, errors)


def came_in(client):
    """Calls that have reached the server by now."""
    tasks = client.call("server.info")["tasks"]
    return tasks["calls"] + tasks["refused"]


def overload(siege):
    """Figures of a server with one loop."""
    good, evil = siege.path("good"), siege.path("evil")
    with siege.server("--loops", "1") as server, server.connect() as client:
        client.call("server.auth", siege.token("good"))
        full = ended(generator(server, good, "-c", "8", "-i", "8", "-w", "1s", "-d", "5s"))
        capacity = full["answers_per_second"]
        calm = ("-c", "8", "-i", "64", "-r", str(max(1, round(SHARE * capacity))))
        quiet = ended(generator(server, good, *calm, "-d", f"{siege.brief}s"))
        flood = generator(server, evil, "-c", "16", "-i", "1024", "-r", str(round(TIMES * capacity)), "-d", "1h", behind=BEHIND)
        began, before = time.monotonic(), came_in(client)
        try:
            during = ended(generator(server, good, *calm, "-d", f"{siege.seconds}s"))
            passed, calls = time.monotonic() - began, came_in(client) - before
            if flood.poll() is not None:
                raise Broken(f"the one that offers too much ended by itself ({flood.returncode})")
        finally:
            flood.kill()
            flood.communicate()
        after = ended(generator(server, good, *calm, "-d", f"{siege.brief}s"))
        runs = (quiet, during, after)
        p99 = [r["latency_us"]["p99"] / 1000 for r in runs]
        return Figures(*p99, answers=sum(r["good"] for r in runs), checked=0, longest=during["latency_us"]["max"] / 1e6,
                       peak=siege.peak(server), attack={"calls/s capacity": round(capacity), "calls/s due": round(TIMES * capacity),
                               "calls/s came in": round((calls - during["good"]) / passed)})
