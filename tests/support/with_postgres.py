#!/usr/bin/python3
"""Starts PostgreSQL, runs a command that finds it by its environment, and ends with the command's status.

    with_postgres.py [--standbys N] [--sync] [--fsync] [--proxy] [--set NAME=VALUE]… -- COMMAND [ARGUMENT…]

The command gets
    ERGON_TEST_PG_URL          database and role ergon (no superuser) on the primary, by its socket
    ERGON_TEST_PG_CLUSTER_URL  the same on whichever server can be written
    ERGON_TEST_PG_ADMIN_URL    the same database, as superuser
    ERGON_TEST_PG_PROXY_URL    the primary by a proxy, where --proxy is given
    ERGON_TEST_PG_STANDBY_URLS those of the standbys, one a line
    ERGON_TEST_PG_CONTROL      the path of a Unix socket that takes orders, see Control
    PGPASSFILE                 the passwords, for connections by TCP

Where PostgreSQL is not installed it says so and ends with 77, or, where CI is set, with 1.
"""
import argparse
import os
import socketserver
import subprocess
import sys
import threading

import ending
import pg_proxy
import postgres


class Control(socketserver.ThreadingUnixStreamServer):
    """Orders of a test program about the servers: a line each, answered by the line "ok" or "error: …".  NAME is a server's:
    a (the first primary), s1, s2, or primary, or standby (the one that has received most).

        kill NAME        kill -9 of all its processes
        stop NAME MODE   smart, fast, immediate
        start NAME
        freeze NAME      SIGSTOP for all its processes
        thaw NAME
        promote NAME     makes it the primary, and the other standbys follow
        rejoin NAME      makes it a standby of the primary
        set NAME VALUE   a setting of all servers

    With --proxy also of it (pg_proxy.py), of one cut at a time:

        cut SIDE N CLOSE [committed]    CLOSE: client, server, both, none; of the next batch that begins
        cut SIDE N CLOSE [committed] where TEXT    of the next that has these bytes in what the client sends
        reached          waits until the cut is done
        answered         waits until the server has answered the batch that was cut, or lost its connection
        release          closes what the cut left open
        batch            the last batch, answered by "ok FRONTEND BACKEND", a letter a message
        hold, go-on      nothing is passed on, and again
        delay SECONDS    of each message
        close-all        closes all connections of now
        upstream NAME    new connections go to this server
    """

    daemon_threads = True

    def __init__(self, cluster, proxy, path):
        super().__init__(path, Order)
        self.cluster, self.proxy, self.cut, self.one_at_a_time = cluster, proxy, None, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def server_named(self, name):
        if name == "primary":
            return self.cluster.primary
        if name == "standby":
            return self.cluster.most_advanced()
        return next(server for server in self.cluster.servers if server.name == name)

    def make_cut(self, side, at, close, *rest):
        text = " ".join(rest[rest.index("where") + 1:]).encode() if "where" in rest else b""
        sides = {"both": pg_proxy.ENDS, "none": ()}.get(close, (close,))
        self.cut = self.proxy.cut(side, int(at), sides, "committed" in rest[:1], lambda batch: batch.has(text))

    def of_proxy(self, verb, *rest):
        """What the order is answered with after "ok"; None where it is none of the proxy's."""
        orders = {
            "cut": lambda: self.make_cut(*rest), "release": lambda: self.cut.release(),
            "reached": lambda: ending.eventually(self.cut.reached.is_set, "the cut is reached"),
            "answered": lambda: ending.eventually(self.cut.answered.is_set, "the batch is answered"),
            "batch": lambda: f" {self.proxy.last.types('frontend')} {self.proxy.last.types('backend')}",
            "hold": self.proxy.hold, "go-on": self.proxy.go_on, "delay": lambda: self.proxy.delay(float(rest[0])),
            "close-all": self.proxy.close_all, "upstream": lambda: setattr(self.proxy, "server", self.server_named(rest[0]))}
        if verb not in orders:
            return None
        said = orders[verb]()
        return said if isinstance(said, str) else ""

    def run(self, verb, *rest):
        said = self.of_proxy(verb, *rest) if self.proxy else None
        if said is None:
            self.of_servers(verb, *rest)
        return "ok" + (said or "")

    def of_servers(self, verb, name, *rest):
        if verb == "set":
            self.cluster.set(**{name: " ".join(rest)})
        elif verb in ("promote", "rejoin"):
            getattr(self.cluster, verb)(self.server_named(name))
        elif verb in ("kill", "stop", "start", "freeze", "thaw"):
            getattr(self.server_named(name), verb)(*rest)
        else:
            raise ValueError(f"unknown order {verb!r}")


class Order(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            with self.server.one_at_a_time:
                try:
                    answer = self.server.run(*line.decode().split())
                except Exception as e:  # whatever it is, the test program reports it
                    answer = "error: " + repr(e).replace("\n", " ")
            self.wfile.write(answer.encode() + b"\n")


def environment(cluster, proxy):
    path = os.path.join(cluster.folder.path, "control")
    Control(cluster, proxy, path)
    cluster.create_role("ergon")
    cluster.create_database("ergon", owner="ergon")
    return {**os.environ, "PGPASSFILE": cluster.password_file, "ERGON_TEST_PG_CONTROL": path,
            "ERGON_TEST_PG_URL": cluster.primary.url("ergon", "ergon"),
            "ERGON_TEST_PG_CLUSTER_URL": cluster.url("ergon", "ergon"),
            "ERGON_TEST_PG_PROXY_URL": proxy.url("ergon", "ergon") if proxy else "",
            "ERGON_TEST_PG_ADMIN_URL": cluster.primary.url("ergon"),
            "ERGON_TEST_PG_STANDBY_URLS": "\n".join(standby.url("ergon", "ergon") for standby in cluster.standbys)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].strip())
    parser.add_argument("--standbys", type=int, default=0)
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--fsync", action="store_true")
    parser.add_argument("--proxy", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    lacks = postgres.missing()
    if lacks:
        print(("failed: " if os.environ.get("CI") else "skipped: ") + lacks)
        return 1 if os.environ.get("CI") else 77
    settings = dict(one.split("=", 1) for one in options.set)
    with postgres.Cluster(options.standbys, options.sync, options.fsync, settings) as cluster:
        proxy = pg_proxy.Proxy(cluster.primary, ending.make_folder(cluster.folder.path, "proxy")) if options.proxy else None
        status = subprocess.run(options.command, env=environment(cluster, proxy), check=False).returncode
        if status != 0:
            for server in cluster.servers:
                print(f"the last lines of {server.name}'s log:\n{server.log()[-2000:]}", file=sys.stderr)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
