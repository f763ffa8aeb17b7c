#!/usr/bin/python3
"""Three nodes on PostgreSQL with two standbys, on this machine, without containers and without root.  Tasks are
submitted through each node while the owner of the tasks is killed by kill -9, and then PostgreSQL's primary; what was
answered is there at the end.

    cluster_demo.py [SECONDS]    how long tasks are submitted between what is done to the cluster (3)
"""
import logging
import os
import sys
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
os.environ.setdefault("ERGON_BUILD", os.path.join(TOP, "build"))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ("tests/e2e", "tests/support", "clients/python")]

import ending  # noqa: E402
import ergon_client  # noqa: E402
import nodes  # noqa: E402
import postgres  # noqa: E402

COLOURED = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
failures = 0


def coloured(text, number):
    return f"\033[{number}m{text}\033[0m" if COLOURED else text


def title(text):
    print("\n" + coloured(text, 1), flush=True)


def good(text):
    print(f"  {coloured('ok', 32)}    {text}", flush=True)


def check(condition, text):
    """A line of what went well, or did not: the demo then ends with status 1."""
    global failures
    if condition:
        good(text)
    else:
        failures += 1
        print(f"  {coloured('WRONG', 31)} {text}", flush=True)


class Demo:
    def __init__(self, engine, seconds):
        self.engine, self.seconds, self.submitters = engine, seconds, []
        self.cluster = nodes.Nodes(engine)

    def start(self):
        title("Three nodes")
        owner = self.cluster.start()
        good(f"{owner.name} owns the tasks; the others pass calls on to it")

    def submit_for_a_while(self):
        time.sleep(self.seconds)

    def everyone_after(self, moment, submitters):
        ending.eventually(lambda: all(s.first_after(moment) for s in submitters), 
                          lambda: f"each node answers again; the logs:\n{self.cluster.logs()}")
        return ", ".join(f"{s.node.name} {s.first_after(moment):.1f} s" for s in submitters)

    def kill_owner(self):
        owner = self.cluster.wait_owner()
        title(f"kill -9 of the owner ({owner.name})")
        moment = time.monotonic()
        owner.kill()
        others = [s for s in self.submitters if s.node is not owner]
        good(f"submissions are answered again after: {self.everyone_after(moment, others)}")
        successor = self.cluster.wait_owner()
        check(successor is not owner, f"{successor.name} owns the tasks now")
        moment = time.monotonic()
        owner.start()
        good(f"{owner.name}, started again, passes calls on: {self.everyone_after(moment, self.submitters)}")

    def kill_primary(self):
        primary = self.engine.primary
        title(f"kill -9 of PostgreSQL's primary ({primary.name}), and its most advanced standby is promoted by hand")
        owner, moment = self.cluster.wait_owner(), time.monotonic()
        primary.kill()
        self.engine.promote(self.engine.most_advanced())
        good(f"submissions are answered again after: {self.everyone_after(moment, self.submitters)}")
        check(self.cluster.wait_owner() is owner, f"{owner.name} still owns the tasks: an engine that fails over deposes nobody")

    def nothing_is_missing(self):
        title("What was answered is there")
        for submitter in self.submitters:
            submitter.stop()
        client, tasks = ergon_client.Client(self.cluster.nodes[0].url, timeout=60).connect(), {}
        for submitter in self.submitters:
            missing = submitter.missing(client)
            unanswered = ", ".join(f"{n} x {code}" for code, n in submitter.unanswered.items())
            check(not missing, f"through {submitter.node.name}: {len(submitter.acknowledged)} tasks answered 'replicated', "
                  f"{len(missing)} of them missing or wrong" + (f" (without an answer: {unanswered})" if unanswered else ""))
            tasks.update(submitter.acknowledged)
        check(len(tasks) == sum(len(s.acknowledged) for s in self.submitters), f"{len(tasks)} tasks, none of them twice")
        client.close()

    def run(self):
        self.start()
        title("Tasks are submitted through each node, one after the other")
        self.submitters = [nodes.Submitter(node) for node in self.cluster.nodes]
        moment = time.monotonic()
        for submitter in self.submitters:
            submitter.start()
        self.everyone_after(moment, self.submitters)
        self.submit_for_a_while()
        for submitter in self.submitters:
            good(f"{submitter.node.name}: {len(submitter.answers) / (time.monotonic() - moment):.0f} a second")
        self.kill_owner()
        self.submit_for_a_while()
        self.kill_primary()
        self.submit_for_a_while()
        self.nothing_is_missing()


def main():
    lacks = postgres.missing()
    if lacks:
        sys.exit(f"cluster-demo: {lacks}")
    logging.disable()  # of clients, about connections that break on purpose
    title("PostgreSQL with two standbys")
    with postgres.Cluster(standbys=2, sync=True, fsync=True) as engine:
        good(f"each commit waits for a standby: synchronous_standby_names = '{engine.settings['synchronous_standby_names']}'")
        demo = Demo(engine, float(sys.argv[1]) if len(sys.argv) > 1 else 3)
        try:
            demo.run()
        finally:
            demo.cluster.end()
    title("All went well." if not failures else f"{failures} went wrong.")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
