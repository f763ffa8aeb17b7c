"""Ten times what a server can do, offered by one principal in an open loop, beside another's tenth of it."""
import os
import subprocess

from siege import ERGON, Figures, Server, Siege, measured

METHOD = ("-m", "burn", "50us")
TIMES, SHARE = 10, 0.1  # of the capacity: what the one offers, and the other


def generator(server, token, cpus, *options, behind=0):
    """`ergon bench` on these processors; `behind` is how nice it is to others there."""
    argv = [ERGON, "--json", "-s", server.urls[0], "--token-file", token, "bench", *options, *METHOD]

    def place():
        os.sched_setaffinity(0, cpus)
        os.nice(behind)

    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=place)


def ended(process):
    out, errors = process.communicate()
    return measured(process, out, errors)


def overload(folder, seconds):
    """Figures; the server has one loop on a processor of its own, where there are two."""
    siege = Siege(folder, ())
    cpus = sorted(os.sched_getaffinity(0))
    own, others = {cpus[0]}, set(cpus[1:] or cpus)
    wrapper = ("taskset", "-c", str(cpus[0])) if own != others else ()
    with Server("--tokens", siege.tokens, "--loops", "1", wrapper=wrapper) as server:
        good, evil = siege.path("good"), siege.path("evil")
        full = ended(generator(server, good, others, "-c", "8", "-i", "8", "-w", "1s", "-d", "5s"))
        capacity = full["answers_per_second"]
        calm = ("-c", "8", "-i", "64", "-r", str(max(1, round(SHARE * capacity))), "-d", f"{seconds}s")
        quiet = ended(generator(server, good, others, *calm))
        flood = generator(server, evil, others, "-c", "16", "-i", "1024", "-r", str(round(TIMES * capacity)), "-d", "1h", behind=10)
        try:
            during = ended(generator(server, good, others, *calm))
        finally:
            flood.kill()
            flood.communicate()
        after = ended(generator(server, good, others, *calm))
        runs = (quiet, during, after)
        p99 = [r["latency_us"]["p99"] / 1000 for r in runs]
        return Figures(*p99, answers=sum(r["good"] for r in runs), checked=0, longest=during["latency_us"]["max"] / 1e6,
                       peak=siege.peak(server), attack={"calls/s capacity": round(capacity), "calls/s offered": round(TIMES * capacity)})
