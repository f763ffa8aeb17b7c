#!/usr/bin/python3
"""A rolling upgrade under load, as docs/cluster.md has it, to a version with one more column and one more state (newer.faults):

1. `ergon cluster upgrade` of the newer version, while three nodes of this one run.
2. Nodes are replaced one by one.  Owners of both versions follow each other, and read what the other has written.
3. `ergon cluster upgrade --finish`: the owner writes the new state, and a node of this version is refused.

At the end the checker says what of the promise was broken.  ERGON_BUILD: the programs of this version; those of the newer one
are built in build-cluster-mutants/.
"""
import logging
import os
import shutil
import signal
import subprocess
import sys
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
os.environ["ERGON_BUILD"] = os.path.abspath(os.environ.get("ERGON_BUILD", "build"))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ("tests/cluster", "tests/e2e", "tests/support", "clients/python")]

import checker  # noqa: E402
import clients as load  # noqa: E402
import controls  # noqa: E402
import ending  # noqa: E402
import faults as planted  # noqa: E402
import nodes  # noqa: E402
import postgres  # noqa: E402
import prove  # noqa: E402

NEWER = os.path.join(controls.WORK, "newer")
LIST = os.path.join(TOP, "tests", "cluster", "newer.faults")
LOADED = 3.0  # seconds of load between two steps


def build_newer():
    """Its programs, in folders as in a build."""
    with open(LIST, encoding="utf-8") as f:
        changes = planted.parse(os.path.relpath(LIST, TOP), f.read())
    controls.prepare()
    before = controls.plant(changes)
    try:
        controls.build()
        shutil.rmtree(NEWER, ignore_errors=True)
        for path in ("server/ergond", "client/cli/ergon", "server/store/postgres/postgresql.so", "server/modules/demo.so"):
            os.makedirs(os.path.join(NEWER, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(controls.mutants.BUILD, path), os.path.join(NEWER, path))
    finally:
        controls.restore(before)


class Upgrade:
    def __init__(self, engine, cluster):
        self.engine, self.cluster = engine, cluster
        self.program = os.path.join(NEWER, "server", "ergond")

    def say(self, text):
        time.sleep(LOADED)
        owner = self.cluster.wait_owner()
        print(f"{text}; {owner.name} owns, of the {'newer' if owner.program else 'older'} version", flush=True)

    def command(self, *words):
        env = {**os.environ, "PATH": os.path.dirname(self.program) + ":" + os.environ["PATH"]}
        done = subprocess.run([os.path.join(NEWER, "client", "cli", "ergon"), "cluster", "upgrade", *words,
                               self.engine.url("ergon", "ergon")], env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"ergon cluster upgrade {' '.join(words)}: {done.stderr}")
        self.say(done.stdout.strip())

    def replace(self, node):
        """As a package's upgrade does: the process ends, and its service starts the new program."""
        node.wanted = False
        node.server.process.send_signal(signal.SIGTERM)
        node.server.process.wait(ending.LIMIT)
        node.program = self.program
        node.start()
        self.say(f"{node.name} is replaced")

    def move_to(self, wanted):
        """Drains owners until one of `wanted` owns."""
        while (owner := self.cluster.wait_owner()) not in wanted:
            with owner.connect() as client:
                client.call("cluster.drain")
            self.cluster.wait_owner(besides=[owner])
        self.say(f"{owner.name} has taken over")

    def lose_owner(self):
        owner = self.cluster.wait_owner()
        owner.kill()
        self.cluster.wait_owner(besides=[owner])
        owner.start()
        self.say(f"{owner.name} was killed")

    def is_refused(self, node):
        """The version before, after the end of the upgrade."""
        node.kill()
        program, node.program = node.program, None
        try:
            node.start()
            return False
        except AssertionError as e:
            return "upgrade ergond" in str(e) + node.log()
        finally:
            node.kill()
            node.program = program
            node.start()

    def written(self, sql):
        return self.engine.primary.query(sql, dbname="ergon")[0][0]


def roll(upgrade, cluster):
    """Texts of what did not happen."""
    a, b, c = cluster.nodes
    cluster.wait_owner()
    upgrade.command()
    upgrade.replace(a)
    upgrade.move_to([a])  # the newer version has read what the older one wrote
    if not upgrade.written("SELECT count(*) FROM ergon.lives WHERE tried IS NOT NULL"):
        yield "the newer version did not write its column"
    upgrade.lose_owner()  # the older version has read what the newer one wrote
    upgrade.move_to([b, c])
    upgrade.replace(b)
    upgrade.replace(c)
    if upgrade.written("SELECT count(*) FROM ergon.lives WHERE state = 'finished'"):
        yield "the newer version wrote its state before the end of the upgrade"
    upgrade.command("--finish")
    upgrade.lose_owner()  # it asks for the version as it connects
    ending.eventually(lambda: upgrade.written("SELECT count(*) FROM ergon.lives WHERE state = 'finished'"),
                      "the newer version writes its state")
    upgrade.lose_owner()  # and reads it
    if not upgrade.is_refused(next(node for node in cluster.nodes if node is not cluster.wait_owner())):
        yield "a node of the older version was not refused after the end of the upgrade"


def main():
    logging.disable()  # of clients, about what is broken on purpose
    build_newer()
    with postgres.Cluster(standbys=2, sync=True) as engine:
        cluster = nodes.Nodes(engine)
        try:
            return prove.under_load(cluster, "upgrade", lambda history: list(roll(Upgrade(engine, cluster), cluster)))
        finally:
            cluster.end()


if __name__ == "__main__":
    sys.exit(main())
