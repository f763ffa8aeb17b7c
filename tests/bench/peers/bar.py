"""What a table of peers does not show: TLS, handshakes, memory, an idle server, many connections.  See README.md."""

import argparse
import os
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess
import time

import program
from pairs import SHARED_CORES, Driver, Handshakes, Row, compared, machine, windows_of, with_spread
from servers import Broken, Ergon, ErgonTls, ErgonTokens, Haproxy, Memcached

PLAIN_HELD, TLS_HELD, MANY_HELD, VERIFIED_HELD, ACTIVE = 10000, 5000, 15000, 100000, 100
STILL_SECONDS, BUSY_SHARE = 0.5, 0.5  # a server is still that used less of a processor for so long
SETTLE_SECONDS = 30
LARGE = 15 << 20  # bytes: as much as a message takes beside what is around it
CERTIFICATES = {"ecdsa": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "rsa": ["-newkey", "rsa:2048"]}
ECHO = b"\x94\x00\x01\xa4echo\x91\xc4\x40" + 64 * b"x"
ANSWER = b"\x94\x01\x01\xc0\xc4\x40" + 64 * b"x"
AUTH = b"\x94\x00\x01\xabserver.auth\x91\xd9" + bytes([len(ErgonTokens.token)]) + ErgonTokens.token
AUTH_ANSWER = b"\x94\x01\x01\xc0"  # and whose token it is
GET, GET_ANSWER = b"mg k v\r\n", b"EN\r\n"  # of memcached


def certify(work):
    """Two files for each kind, with certificate and key: a server's, which vouches for itself, and a client's, which it vouches for."""
    for name, kind in CERTIFICATES.items():
        authority = os.path.join(work, f"{name}.pem")
        for pem, signed in ((authority, []), (os.path.join(work, f"{name}.client.pem"), ["-CA", authority, "-CAkey", authority])):
            subprocess.run(["openssl", "req", "-x509", *kind, *signed, "-nodes", "-days", "2", "-subj", f"/CN={len(signed)}",
                            "-addext", "subjectAltName=DNS:localhost", "-out", pem, "-keyout", pem + ".key"],
                           check=True, capture_output=True)
            with open(pem, "a", encoding="ascii") as to, open(pem + ".key", encoding="ascii") as key:
                to.write(key.read())


# ---- what the kernel says of a process ----

def processor_ns(pid):
    """Of all its threads, to the nanosecond."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


# ---- connections that do nothing ----

class Held:
    """Connections to one server, all accepted."""

    def __init__(self, server, count):
        self.pid = server.pids()[0]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if server.tls else None
        if context:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if server.asks:
            context.load_cert_chain(server.client_pem())
        before = open_files(self.pid)
        self.sockets = []
        for _ in range(count):
            s = socket.create_connection(("127.0.0.1", server.port))
            self.sockets.append(context.wrap_socket(s) if context else s)
        until = time.monotonic() + SETTLE_SECONDS
        while open_files(self.pid) < before + count:
            if time.monotonic() > until:
                raise Broken(f"{server.name}: of {count} connections, {open_files(self.pid) - before} were accepted")
            time.sleep(0.1)

    def use(self, sockets=None, task=ECHO, answer=ANSWER):
        """A task on each, answered by what begins so."""
        for s in sockets or self.sockets:
            s.sendall(task)
            got = b""
            while len(got) < len(answer):
                read = s.recv(4096)
                if not read:
                    raise Broken("a connection that was held was closed")
                got += read
            if not got.startswith(answer):
                raise Broken(f"a task was answered by {got[:80]!r}")

    def close(self):
        for s in self.sockets:
            s.close()


# ---- the rows ----

def running(server, options):
    server.start(options.server_on)
    return server


def paired(bar, keys, ours, peer, row, options, driver=Driver, held=0):
    """A ratio of two servers that are driven in turn; `held` connections of ours do nothing beside it."""
    idle = None
    try:
        running(ours, options), running(peer, options)
        if held:
            idle = Held(ours, held)
            idle.use()
        result = compared(row, peer, *windows_of(ours, peer, row, options, driver))
    finally:
        if idle:
            idle.close()
        ours.stop()
        peer.stop()
    others = max(result["ours"]["other_cores"], result["theirs"]["other_cores"])
    return {"bar": bar, "value": "; ".join(with_spread(result["ratios"][key]) for key in keys), "others": others,
            **{side: "; ".join(f"{result[side][key]:.4g}" for key in keys) for side in ("ours", "theirs")}, "details": result}


def tls(options):
    row = Row("64x16:64")
    yield "TLS 1.3, 64 x 16, 64 B, of our own plain: rate; server us a task", lambda: paired(
        "at least 0.6", ["rate", "server_us"], ErgonTls(options), Ergon(options), row, options)


def handshakes(options):
    for certificate in CERTIFICATES:
        for kind in ("full", "resumed"):
            yield f"handshake, {kind}, {certificate}: server us, of haproxy's", lambda c=certificate, k=kind: paired(
                "at most 1.0", ["server_us"], ErgonTls(options, c), Haproxy(options, c), k, options, Handshakes)


def allocated_bytes(server):
    with open(server.heap, "rb") as f:
        return struct.unpack("q", f.read(8))[0]


def bytes_each(server, count, tasks, options):
    """What a connection takes that was never used, and then behind each of the tasks."""
    first = held = None
    server.heap = server.work("heap")

    def settled():
        time.sleep(STILL_SECONDS)  # what is freed at the end of a round is gone
        return allocated_bytes(server)

    try:
        running(server, options)
        time.sleep(STILL_SECONDS)  # who looked whether it listens has gone
        first = Held(server, 1)  # what all of them share is there before
        for task in tasks:
            first.use(None, *task)
        before = settled()
        held = Held(server, count)
        found = [(settled() - before) / count]
        for task in tasks:
            held.use(None, *task)
            found.append((settled() - before) / count)
        return found
    finally:
        for some in (first, held):
            if some:
                some.close()
        server.stop()


def alone_bytes(options):
    """Of OpenSSL itself."""
    argv = [os.path.join(options.build, "tests/bench/peers/tls_alone"), os.path.join(options.work, "ecdsa.pem"), "1000"]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def memory(options):
    echo, get, auth = (ECHO, ANSWER), (GET, GET_ANSWER), (AUTH, AUTH_ANSWER)

    def shown(found):
        return " / ".join(f"{n:.0f}" for n in found)

    def row(bar, count, ours, tasks, theirs):
        mine = shown(bytes_each(ours, count, tasks, options))
        return {"bar": bar, "ours": mine, "theirs": theirs(), "value": f"{mine} bytes"}

    yield f"bytes of an idle connection, never used / after a task, {PLAIN_HELD} plain; memcached", lambda: row(
        "at most 400", PLAIN_HELD, Ergon(options), [echo],
        lambda: shown(bytes_each(Memcached(options), PLAIN_HELD, [get], options)))
    yield f"the same, {PLAIN_HELD} plain, never used / after server.auth / after a task", lambda: row(
        "at most 400 after server.auth", PLAIN_HELD, ErgonTokens(options), [auth, echo], lambda: "-")
    yield f"the same, {TLS_HELD} with TLS, never used / after a task; OpenSSL alone", lambda: row(
        "OpenSSL's and 600", TLS_HELD, ErgonTls(options), [echo], lambda: f"{alone_bytes(options):.0f}")
    yield f"the same, {TLS_HELD} with TLS, never used; haproxy", lambda: row(
        "at most haproxy's", TLS_HELD, ErgonTls(options), [],
        lambda: shown(bytes_each(Haproxy(options), TLS_HELD, [], options)))


def idle(options):
    def row():
        server, held = running(Ergon(options), options), None
        try:
            held = Held(server, MANY_HELD)
            held.use()
            time.sleep(2)
            before = processor_ns(held.pid)
            time.sleep(options.idle)
            ms = (processor_ns(held.pid) - before) / 1e6
            return {"bar": "at most 10 ms", "ours": f"{ms:.3f} ms", "theirs": "", "value": f"{ms:.3f} ms"}
        finally:
            if held:
                held.close()
            server.stop()

    yield f"idle, {MANY_HELD} connections: processor time in {options.idle:.0f} s", row


def growth(options):
    yield f"{MANY_HELD} connections, {ACTIVE} active: server us a task, of that with no others", lambda: paired(
        "at most 1.15", ["server_us"], Ergon(options), Ergon(options), Row(f"{ACTIVE}x1:64"), options,
        held=MANY_HELD - ACTIVE)


def reload(options):
    def spent(held, server):
        """Seconds by the clock and ns of processor time until a reload is over, and the slowest of the calls meanwhile, in s."""
        began, before = time.monotonic(), processor_ns(held.pid)
        slowest, ended, now = 0, began, before
        server.processes.running[0].send_signal(signal.SIGHUP)
        while time.monotonic() < ended + STILL_SECONDS:
            asked = time.monotonic()
            held.use(held.sockets[-1:])
            slowest = max(slowest, time.monotonic() - asked)
            last, now = now, processor_ns(held.pid)
            if now - last > BUSY_SHARE * (time.monotonic() - asked) * 1e9:
                ended = time.monotonic()
            time.sleep(0.005)
        return ended - began, now - before, slowest

    def longest_step(log):
        took = [float(ms) for ms in re.findall(r"step too long.* took=([0-9.]+)ms", log)]
        return f"longest step {max(took):.1f} ms" if took else "no step over 1 ms"

    def row():
        server, held = ErgonTls(options, asks=True, flags=["--loops", "1", "--step-limit", "1ms"]), None
        count = min(VERIFIED_HELD, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
        try:
            held = Held(running(server, options), count)
            server.trust("rsa")
            with open(server.log(), encoding="utf-8") as log:
                log.seek(0, os.SEEK_END)
                seconds, ns, slowest = spent(held, server)
                steps = longest_step(log.read())
            held.use()  # none was closed
            said = f"{ns / 1e3 / count:.0f} us each; {seconds:.2f} s for {count}; slowest call {slowest * 1e3:.1f} ms; {steps}"
            return {"bar": "a call at most 20 ms", "ours": said, "theirs": "", "value": said}
        finally:
            if held:
                held.close()
            server.stop()

    yield "reload that verifies the certificates of all connections anew", row


def older(options):
    """TLS as it was: the same loads on `--older`, another release build's ergond."""

    def against(keys, load, driver=Driver, **kinds):
        ours, peer = ErgonTls(options, **kinds), ErgonTls(options, **kinds)
        peer.name, peer.other = "ergon, older", options.older
        return paired("at most 1.04", keys, ours, peer, load, options, driver)

    for load in ("64x16:64", "1000x1:64", f"1x1:{LARGE}"):
        yield f"TLS, {Row(load)}, of an older build's: server us; rate", lambda row=Row(load): against(["server_us", "rate"], row)
    for certificate in CERTIFICATES:
        for asks in (False, True):
            for kind in ("full", "resumed"):
                yield (f"handshake, {kind}, {certificate}{', both show one' * asks}, of an older build's: server us; rate",
                       lambda c=certificate, a=asks, k=kind: against(["server_us", "rate"], k, Handshakes, certificate=c, asks=a))


ROWS = {"tls": tls, "handshakes": handshakes, "memory": memory, "growth": growth, "idle": idle, "reload": reload, "older": older}
HEAD = ("row", "bar", "median (least-highest)", "ours", "theirs", "others")


def cells(what, result):
    if "error" in result:
        return [what, result["error"].splitlines()[0], "", "", "", ""]
    others = result.get("others")
    shown = "" if others is None else f"{others:.2f}" + (" !" if others > SHARED_CORES else "")
    return [what, result["bar"], result["value"], result["ours"], result["theirs"], shown]


def measured(options):
    for name in options.row or (row for row in ROWS if row != "older" or options.older):
        for what, measure in ROWS[name](options):
            try:
                result = measure()
            except (Broken, OSError) as broken:
                result = {"error": str(broken)}
            print(f"| {' | '.join(cells(what, result))} |", flush=True)
            yield {"row": what, **result}


def arguments():
    a = argparse.ArgumentParser(prog="run.sh --bar", description=__doc__)
    a.add_argument("--row", action="append", choices=list(ROWS), help="repeat it (all)")
    a.add_argument("--older", metavar="ERGOND", type=os.path.abspath, help="another release build, for the row of this name")
    a.add_argument("--idle", type=float, default=60, help="seconds of an idle server (60)")
    return program.parse(a, windows=5, window=1, pins=False)


def main():
    options = arguments()
    if options.driver_on:
        os.sched_setaffinity(0, options.driver_on)
    certify(options.work)
    box = machine()
    print(f"{time.strftime('%Y-%m-%d')}, {box['processors']} x {box['model']}, {box['system']}\n\n"
          f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
    rows = []
    with program.until_interrupted():
        rows.extend(measured(options))
    program.end(options, {"machine": box, "rows": rows}, program.all_good(rows))


main()
