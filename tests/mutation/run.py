#!/usr/bin/python3
"""Plants each fault of faults/ in a copy of the tree, one at a time, and says which of them no test notices.

The copy and its build stand in build-mutation/; your tree is only read.  A fault is noticed when a unit test, a trace test,
a stress, or the lint that ties the models to the code fails; with --e2e the end-to-end tests count too.  What was found is noted in
build-mutation/results.jsonl, so that a run that was interrupted goes on where it was: a fault is tried again when it or its file
has changed, and one that nobody noticed when anything has.

Builds cost the most, so they go in stages, and the first test that fails ends them: the tests that are named as the fault's file is,
or that noticed the fault before; those of its folder; all others.  A test whose program is the same, byte for byte, with the fault
and without cannot notice it, and is not run.
"""

import argparse
import collections
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import faults as faults_of_the_tree

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
WORK = os.path.join(TOP, "build-mutation")
TREE = os.path.join(WORK, "tree")
BUILD = os.path.join(WORK, "build")
LOG = os.path.join(WORK, "results.jsonl")
CLEAN = os.path.join(WORK, "clean.json")  # how long each test took without a fault
KINDS = ("unit", "trace", "stress")  # no model: those do not read the code
TIED = "lint/steps"  # it holds the models against the code
TEST_LIMIT = 60  # seconds: one test, which then counts as failed
TEST_LIMIT_LEAST = 10  # beside ten times what it took without a fault
E2E_LIMIT = 300
BUILD_LIMIT = 900


# --- The copy ---


def tracked():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TOP, check=True, stdout=subprocess.PIPE)
    return sorted(p for p in out.stdout.decode().split("\0") if p and os.path.isfile(os.path.join(TOP, p)))


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write_if_other(path, content):
    """Time stamps stay where nothing changes, so that little is built."""
    if os.path.exists(path) and read(path) == content:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content)


def copy_tree():
    """Returns a hash of all that the tests depend on."""
    digest = hashlib.sha256()
    paths = tracked()
    for path in paths:
        content = read(os.path.join(TOP, path))
        whole = os.path.join(TREE, path)
        write_if_other(whole, content)
        shutil.copymode(os.path.join(TOP, path), whole)
        if not path.startswith(("docs/", "tests/mutation/")):
            digest.update(path.encode() + b"\0" + content)
    wanted = set(paths)
    for where, _, names in os.walk(TREE):
        for name in names:
            if os.path.relpath(os.path.join(where, name), TREE) not in wanted:
                os.remove(os.path.join(where, name))
    return digest.hexdigest()


# --- Building and testing ---


class Stopped(Exception):
    """Somebody else's failure has made this command superfluous."""


at_work = set()  # processes that were started, and have not ended


def end_with_us(*_):
    """Nothing goes on when a run is interrupted: a planted fault may make a test endless."""
    for process in list(at_work):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    os._exit(1)


def limited(command, limit, stop=None, **more):
    """Exit status and output; the status is None when the limit was reached, and the command is gone then."""
    until = time.monotonic() + limit
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True, **more)
    at_work.add(process)
    try:
        return ended(process, until, stop)
    finally:
        at_work.discard(process)


def ended(process, until, stop):
    while True:
        left = until - time.monotonic()
        try:
            out, _ = process.communicate(timeout=max(0, min(left, 0.2) if stop else left))
            return process.returncode, out.decode(errors="replace")
        except subprocess.TimeoutExpired:
            stopped = stop and stop.is_set()
            if time.monotonic() < until and not stopped:
                continue
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        if stopped:
            raise Stopped
        return None, out.decode(errors="replace")


def configure():
    command = ["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=-w", "-DCMAKE_C_FLAGS_DEBUG=-O0", "-DERGON_LTO=OFF"]
    if shutil.which("ccache"):
        command.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
    if shutil.which("mold"):
        command.append("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold")
    status, out = limited(command, BUILD_LIMIT)
    if status != 0:
        sys.exit(out)


def hash_of(path):
    try:
        return hashlib.sha256(read(path)).hexdigest()
    except FileNotFoundError:
        return None


class Test:
    def __init__(self, described):
        properties = {p["name"]: p["value"] for p in described["properties"]}
        self.name = described["name"]
        self.command = described["command"]
        self.folder = properties.get("WORKING_DIRECTORY", BUILD)
        self.environment = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
        self.skipped = properties.get("SKIP_RETURN_CODE")
        programs = [c for c in self.command if c.startswith(BUILD + "/") and os.path.isfile(c)]
        self.targets = [os.path.relpath(c, BUILD) for c in programs]
        self.wants_all = self.is_e2e() or BUILD in self.command
        # A program that reads nothing else that is built; what it was without a fault.
        self.alone = programs[0] if self.command == programs and not self.uses_others(programs[0]) else None
        self.clean = hash_of(self.alone) if self.alone else None
        self.seconds = None  # without a fault

    def uses_others(self, program):
        return any(BUILD in e for e in self.environment.values()) or BUILD.encode() + b"/" in read(program)

    def can_notice(self):
        """Once it is built."""
        return not self.alone or hash_of(self.alone) != self.clean

    def is_e2e(self):
        return self.name.startswith("e2e/")

    def limit(self):
        if self.is_e2e():
            return E2E_LIMIT
        return TEST_LIMIT if self.seconds is None else min(TEST_LIMIT, TEST_LIMIT_LEAST + 10 * self.seconds)

    def passes(self, stop):
        status, _ = limited(self.command, self.limit(), stop, cwd=self.folder, env={**os.environ, **self.environment})
        return status == 0 or (status is not None and status == self.skipped)


def all_tests(chosen, e2e):
    """Of the end-to-end tests at least those that a fault names."""
    status, out = limited(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], BUILD_LIMIT)
    if status != 0:
        sys.exit(out)
    named = re.compile("|".join(sorted({f.first for f in chosen if f.first})) or "^$")
    tests = [Test(t) for t in json.loads(out)["tests"]]
    return [t for t in tests if t.name.split("/")[0] in KINDS or t.name == TIED or (t.is_e2e() and (e2e or named.search(t.name)))]


def build(tests, jobs):
    """None, or why it does not build.  Without tests all is built."""
    targets = sorted({target for t in tests for target in t.targets})
    if any(t.wants_all for t in tests) or not tests:
        targets = ["all"]
    if not targets:
        return None
    status, out = limited(["ninja", "-C", BUILD, "-j", str(jobs), *targets], BUILD_LIMIT)
    return None if status == 0 else out


def run_tests(tests, jobs, on_failure):
    """All of them, the briefest first, `jobs` at a time, until `on_failure(test)` says that it is enough."""
    waiting = collections.deque(sorted(tests, key=lambda t: t.seconds or 0))
    stop = threading.Event()
    lock = threading.Lock()

    def work():
        while not stop.is_set():
            try:
                test = waiting.popleft()
                began = time.monotonic()
                passed = test.passes(stop)
            except (IndexError, Stopped):
                return
            if passed:
                test.seconds = test.seconds or time.monotonic() - began
                continue
            with lock:
                if not stop.is_set() and on_failure(test):
                    stop.set()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def first_failure(tests, jobs):
    """The name of a test that fails, or None.  What has not begun by then is left out."""
    failed = []
    run_tests([t for t in tests if t.can_notice()], jobs, lambda test: failed.append(test.name) or True)
    return failed[0] if failed else None


def those_that_pass(tests, tree, jobs):
    """Without a fault.  What was found is kept for as long as the tree is the same."""
    known = {}
    if os.path.exists(CLEAN):
        with open(CLEAN, encoding="utf-8") as f:
            known = json.load(f)
    if known.get("tree") != tree:
        known = {"tree": tree, "seconds": {}}
    for t in tests:
        t.seconds = known["seconds"].get(t.name)
    failed = []
    run_tests([t for t in tests if t.seconds is None], jobs, failed.append)
    for t in failed:
        print(f"{t.name} fails without any fault, and is left out", flush=True)
    known["seconds"].update({t.name: round(t.seconds, 2) or 0.01 for t in tests if t.seconds})
    with open(CLEAN, "w", encoding="utf-8") as f:
        json.dump(known, f)
    return [t for t in tests if t not in failed]


# --- One fault ---


# Beside the unit tests of the same name.
NEAR = {"net": "trace/", "rpc": "trace/server_", "tasks": "trace/(task|shutdown)|stress/(tasks|nested)", "jobs": "trace/jobs", "runtime": "stress/"}


def named_alike(fault, test):
    """semaphore.c and unit/runtime/sem_remote"""
    stem = os.path.splitext(os.path.basename(fault.path))[0]
    name = test.name.split("/")[-1]
    return name.startswith(stem) or stem.startswith(name.split("_")[0])


def stages(fault, tests, e2e, noticed_by=""):
    """The tests that are likely to notice it; the rest of those that know its folder; all others."""
    near = rf"unit/{fault.area}/|" + NEAR.get(fault.area, "^$")
    first = re.compile(fault.first or near)
    known = [t for t in tests if first.search(t.name)]
    likely = [t for t in tests if t.name == noticed_by] or [t for t in known if named_alike(fault, t)]
    others = [t for t in tests if t not in known + likely and (e2e or not t.is_e2e())]
    return [likely, [t for t in known if t not in likely], others]


def try_planted(fault, tests, options, noticed_by):
    for stage in stages(fault, tests, options.e2e, noticed_by)[: 2 if options.near else None]:
        if not stage:
            continue
        error = build(stage, options.jobs)
        if error:
            return {"outcome": "does not build", "by": "", "text": error[-2000:]}
        failed = first_failure(stage, options.jobs)
        if failed:
            return {"outcome": "noticed", "by": failed}
    return {"outcome": "not noticed", "by": ""}


def try_fault(fault, tests, options, noticed_by):
    source = faults_of_the_tree.source_of(TREE, fault)
    path = os.path.join(TREE, fault.path)
    began = time.monotonic()
    write_if_other(path, fault.plant(source).encode())
    try:
        result = try_planted(fault, tests, options, "" if options.near else noticed_by)
    finally:
        write_if_other(path, source.encode())
    return {**result, "seconds": round(time.monotonic() - began, 1)}


# --- The log ---


def key_of(fault, tree):
    """What a result depends on: of one that nobody noticed the whole tree.  All is read in the copy, for yours may change."""
    own = hashlib.sha256((fault.text() + faults_of_the_tree.source_of(TREE, fault)).encode()).hexdigest()
    return own, tree


def read_log():
    known = {}
    if os.path.exists(LOG):
        with open(LOG, encoding="utf-8") as f:
            for line in f:
                try:
                    r = json.loads(line)
                except ValueError:
                    continue  # it was cut off when the run was interrupted
                known[r["own"]] = r
    return known


def noticed_before(known, fault):
    """By whom, if the fault was tried and noticed in whatever tree."""
    return next((r["by"] for r in reversed(known.values()) if r["name"] == fault.name and r["by"]), "")


def known_result(known, fault, tree, options):
    own, _ = key_of(fault, tree)
    r = known.get(own)
    if r and (r["outcome"] == "noticed" or (r["tree"] == tree and r["e2e"] >= options.e2e and r["near"] <= options.near)):
        return r
    return None


# --- The report ---


def report(results):
    areas = {}
    for fault, r in results:
        areas.setdefault(fault.area, []).append(r["outcome"])
    print("\nfolder      planted  noticed")
    for area, outcomes in sorted(areas.items()) + [("all", [r["outcome"] for _, r in results])]:
        noticed = outcomes.count("noticed")
        print(f"{area:<10} {len(outcomes):>8} {noticed:>8}  {100 * noticed / len(outcomes):.0f} %")
    for outcome in ("does not build", "not noticed"):
        those = [f for f, r in results if r["outcome"] == outcome]
        if those:
            print(f"\n{outcome}:")
        for f in those:
            print(f"  {f.name:<36} {f.path}: {f.promise}")


def arguments():
    a = argparse.ArgumentParser(prog="./run mutation", description="plants faults and says which of them no test notices")
    a.add_argument("pattern", nargs="?", default="", help="only faults whose folder/name this is found in")
    a.add_argument("--e2e", action="store_true", help="the end-to-end tests count too")
    a.add_argument("--near", action="store_true", help="only the tests of its folder, which is quick")
    a.add_argument("--again", action="store_true", help="whatever the log knows")
    a.add_argument("--report", action="store_true", help="only what the log knows")
    a.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return a.parse_args()


def run(chosen, tree, known, options):
    error = build([], options.jobs)  # of a test that is not built CTest does not know the command
    if error:
        sys.exit(f"the tree itself does not build:\n{error[-4000:]}")
    tests = all_tests(chosen, options.e2e)
    if options.near:
        near = {t.name for fault in chosen for stage in stages(fault, tests, options.e2e)[:2] for t in stage}
        tests = [t for t in tests if t.name in near]
    tests = those_that_pass(tests, tree, options.jobs)
    with open(LOG, "a", encoding="utf-8") as log:
        for number, fault in enumerate(chosen, 1):
            r = None if options.again else known_result(known, fault, tree, options)
            if not r:
                own, _ = key_of(fault, tree)
                r = {"own": own, "tree": tree, "e2e": options.e2e, "near": options.near, "name": fault.name}
                r.update(try_fault(fault, tests, options, noticed_before(known, fault)))
                print(json.dumps(r), file=log, flush=True)
            print(f"{number}/{len(chosen)} {fault.area}/{fault.name}: {r['outcome']} {r['by']} ({r['seconds']} s)", flush=True)
            yield fault, r


def lock():
    """Held until the process ends."""
    file = open(os.path.join(WORK, "lock"), "w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another run is at work in build-mutation/")
    return file


def main():
    options = arguments()
    try:
        chosen = [f for f in faults_of_the_tree.load(TOP) if re.search(options.pattern, f"{f.area}/{f.name}")]
        for fault in chosen:
            fault.plant(faults_of_the_tree.source_of(TOP, fault))
    except faults_of_the_tree.Misplaced as error:
        sys.exit(str(error))
    if not chosen:
        sys.exit(f"no fault is called like {options.pattern!r}")
    os.makedirs(WORK, exist_ok=True)
    os.environ.update(CCACHE_BASEDIR=WORK, CCACHE_NOHASHDIR="1")  # what another copy of the tree has compiled serves here
    held = lock()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end_with_us)
    known = read_log()
    tree = copy_tree()
    if options.report:
        pairs = [(f, known_result(known, f, tree, options)) for f in chosen]
        results = [(f, r) for f, r in pairs if r]
    else:
        configure()
        results = list(run(chosen, tree, known, options))
    if results:
        report(results)
    held.close()
    sys.exit(0 if all(r["outcome"] == "noticed" for _, r in results) else 1)


if __name__ == "__main__":
    main()
