"""How soon a task is written that an application submitted in its own transaction: from the commit until its row has left the
inbox, which it leaves in the transaction that writes the task.

usage: inbox.py BUILD [TIMES]

BUILD is a build directory, with the tests.  PostgreSQL is started for this, with fsync; the owner has nothing else to do."""
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

PAUSE_MOST = 0.1  # s between two of them, so that they come at any time of the owner's looks


def times(cluster, count):
    application, looker = cluster.primary.connect("shop", "shop"), cluster.primary.connect("shop", "ergon")
    looker.autocommit = True
    found = []
    with application.cursor() as submit, looker.cursor() as look:
        for _ in range(count):
            submit.execute("SELECT ergon.submit('echo', '[1]')")
            application.commit()
            began = time.monotonic()
            left = True
            while left:
                look.execute("SELECT EXISTS (SELECT FROM ergon.inbox)")
                left = look.fetchone()[0]
            found.append(time.monotonic() - began)
            time.sleep(random.uniform(0, PAUSE_MOST))
    application.close()
    looker.close()
    return sorted(1000 * t for t in found)


def measure(cluster, folder, count):
    from harness import ERGON, ERGOND, Server  # pylint: disable=import-outside-toplevel

    cluster.create_role("ergon")
    cluster.create_role("shop")
    cluster.primary.query("GRANT ergon_submit TO shop")
    cluster.create_database("shop", owner="ergon")
    url = cluster.url("shop", "ergon")
    subprocess.run([ERGON, "cluster", "init", url], check=True, stdout=subprocess.DEVNULL, timeout=120,
                   env={**os.environ, "PATH": os.path.dirname(ERGOND) + os.pathsep + os.environ["PATH"]})
    server = Server("--store", url, "--store-replicated", "by-storage", "--cluster", "ergon", "--cluster-node", "a", "--cluster-state", folder,
                    "--cluster-listen", f"unix://{folder}/nodes", listen=(f"unix://{folder}/socket",))
    try:
        times(cluster, 20)  # until there is an owner, and connections are warm
        return times(cluster, count)
    finally:
        server.discard()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    os.environ["ERGON_BUILD"] = os.path.abspath(sys.argv[1])
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path[:0] = [root, os.path.join(root, "tests", "e2e"), os.path.join(root, "tests", "support")]
    import postgres  # pylint: disable=import-outside-toplevel

    count = int(sys.argv[2]) if len(sys.argv) == 3 else 200
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as disk:
        os.chmod(disk, 0o755)  # PostgreSQL does not run as root
        with postgres.Cluster(fsync=True, parent=disk) as cluster:
            found = measure(cluster, folder, count)
    print(f"{count} times: {statistics.median(found):.1f} ms in the median, 90 % within {found[9 * count // 10]:.1f} ms, "
          f"99 % within {found[99 * count // 100]:.1f} ms, at most {found[-1]:.1f} ms; {sum(t <= 50 for t in found) / count:.1%} within 50 ms")


main()
