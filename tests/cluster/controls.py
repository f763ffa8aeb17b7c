#!/usr/bin/python3
"""Does prove.py notice a cluster that breaks its promise?  The control, whose replication is asynchronous, and each mutant of
mutants.faults is run until the checker complains.

usage: controls.py [--rounds COUNT] [--seconds SECONDS] [PATTERN]

The copy of the tree and its build stand in build-cluster-mutants/; the log of a mutant's last round is in its folder logs/.
"""
import argparse
import os
import re
import subprocess
import sys
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path[:0] = [os.path.join(TOP, "tests", folder) for folder in ("mutation", "sim")]
import faults  # noqa: E402
import mutants  # noqa: E402

LIST = os.path.join(TOP, "tests", "cluster", "mutants.faults")
WORK = os.path.join(TOP, "build-cluster-mutants")
LOGS = os.path.join(WORK, "logs")
LAX = "lax"
ADDED = "added: "  # in front of the promise of a mutant that breaks none alone
TARGETS = ("server/ergond", "client/cli/ergon", "postgresql.so", "demo.so", "preload_faults.so")
FOUND = re.compile(r"^\d+ submissions .*; (\d+) violations$", re.M)

mutants.WORK, mutants.TREE, mutants.BUILD = WORK, os.path.join(WORK, "tree"), os.path.join(WORK, "build")


def load():
    with open(LIST, encoding="utf-8") as f:
        return faults.parse(os.path.relpath(LIST, TOP), f.read())


def build():
    mutants.must("ninja", "-C", mutants.BUILD, "-j", str(os.cpu_count() or 1), *TARGETS)


def prepare():
    mutants.copy_tree()
    mutants.configure()


def plant(chosen):
    """Returns {path: its text before}."""
    before = {}
    for fault in chosen:
        source = faults.source_of(mutants.TREE, fault)
        before.setdefault(os.path.join(mutants.TREE, fault.path), source.encode())
        mutants.write_if_other(os.path.join(mutants.TREE, fault.path), fault.plant(source).encode())
    return before


def restore(before):
    for path, text in before.items():
        mutants.write_if_other(path, text)


def with_its_others(fault):
    """`with NAME: ` in front of a promise names a mutant that is planted, too."""
    other = re.match(r"with ([\w-]+): ", fault.promise)
    return [fault, *(one for one in load() if other and one.name == other[1])]


def one_round(name, seed, seconds, drawn, lax):
    """The violations that were found, as texts; None: the run did not end as one does."""
    env = {**os.environ, "ERGON_BUILD": mutants.BUILD, "ERGON_SEED": str(seed), "ERGON_SECONDS": str(seconds),
           "ERGON_FAULTS": drawn, **({"ERGON_LAX": "1"} if lax else {})}
    done = subprocess.run([sys.executable, os.path.join(TOP, "tests", "cluster", "prove.py")], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    os.makedirs(LOGS, exist_ok=True)
    with open(os.path.join(LOGS, name), "w") as f:
        f.write(done.stdout)
    found = FOUND.search(done.stdout)
    return done.stdout[found.end():].strip().splitlines() if found else None


def try_one(name, promise, drawn, options, lax=False):
    begun, said = time.monotonic(), ""
    for number in range(1, options.rounds + 1):
        found = one_round(name, number, options.seconds, drawn, lax)
        if found:
            print(f"{name:<26} caught in round {number}, {time.monotonic() - begun:.0f} s: {found[0].strip()}", flush=True)
            return True
        said = "; its last run did not end" if found is None else ""
    print(f"{name:<26} not caught in {options.rounds} rounds{said}: {promise}", flush=True)
    return False


def try_mutant(fault, options):
    before = plant(with_its_others(fault))
    try:
        build()
        return try_one(fault.name, fault.promise, fault.first or "", options)
    except mutants.Failed as e:
        print(f"{fault.name:<26} cannot be built: {str(e).splitlines()[-1]}", flush=True)
        return False
    finally:
        restore(before)


def main():
    a = argparse.ArgumentParser(prog="./run prove cluster-mutants")
    a.add_argument("pattern", nargs="?", default="")
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--seconds", type=int, default=120)
    options = a.parse_args()
    chosen = [fault for fault in load() if re.search(options.pattern, fault.name) and not fault.promise.startswith(ADDED)]
    lax = re.search(options.pattern, LAX)
    if not chosen and not lax:
        sys.exit(f"no mutant is called like {options.pattern!r}")
    prepare()
    build()
    caught = [try_one(LAX, "replication is synchronous", "cut_primary_from_standbys", options, lax=True)] if lax else []
    caught += [try_mutant(fault, options) for fault in chosen]
    sys.exit(0 if all(caught) else 1)


if __name__ == "__main__":
    main()
