"""What spans cost a task: servers that tell a collector of one task in a hundred, and of each, against one that tells nobody; prints
tables.  See README.md.

The collector is a process beside them, which reads and answers.  What is too much for it, or for the exporter, is dropped by the
server, as it is when it serves: how much, the second table says."""

import argparse
import http.server
import multiprocessing
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import cost

SAMPLES = {"one in 100": "0.01", "each": "1"}


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def collect(port):
    """In its own process: sends its port, and serves until it is ended."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    port.send(server.server_port)
    server.serve_forever()


def tell_of_spans(servers):
    """To stderr, since it is no row."""
    for name, server in servers.items():
        spans = server.ask("call", "server.info").get("spans")
        if spans:
            told = {key: spans[key] for key in ("exported", "dropped", "waiting")}
            print(f"{name}: {told}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    cost.add_options(parser)
    options = parser.parse_args()
    here, there = multiprocessing.Pipe()
    collector = multiprocessing.Process(target=collect, args=(there,), daemon=True)
    collector.start()
    endpoint = f"http://127.0.0.1:{here.recv()}"
    ways = [cost.Way("no spans", options.build),
            *(cost.Way(name, options.build, ("--trace-endpoint", endpoint, "--trace-sample", share)) for name, share in SAMPLES.items())]
    try:
        cost.tell(cost.measure(ways, options.build, options, tell_of_spans), options)
    finally:
        collector.terminate()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except cost.Broken as e:
        sys.exit(f"tracing: {e}")
