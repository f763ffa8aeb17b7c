#!/usr/bin/python3
"""Plants each fault of mutants.faults in a copy of the tree, and says within how many seeds the simulation notices it.

usage: mutants.py [--starts COUNT] [--shrink FOLDER] [PATTERN]
       mutants.py --of AREA[,AREA]... [--drawn COUNT] [PATTERN]

The copy, its build and the programs stand in build-mutants/.  From each of COUNT starts, seeds follow one another until one
fails.  The median of these may be half of what the file allows; beyond twice that the search ends.  The script of the same
name in tests/sim/scripts/ has to fail with the fault.  --shrink writes a new one for each fault to FOLDER, and looks that it
passes without the fault.

A fault "by atomics" is left to ergon-sim-atomics, one "by cluster" to runs of several nodes (ergon-sim --cluster), all others
to ergon-sim.

--of takes the faults that other tests are to notice (tests/mutation/faults/AREA.faults) and says which of them 2,000 seeds
notice without any other test, by ergon-sim first; --drawn takes COUNT of them by chance, the same each
time, or all if there are no more.
"""

import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "mutation"))
import faults  # noqa: E402

LIST = os.path.join(TOP, "tests", "sim", "mutants.faults")
WORK = os.path.join(TOP, "build-mutants")
TREE = os.path.join(WORK, "tree")
BUILD = os.path.join(WORK, "build")
PROGRAMS = os.path.join(WORK, "programs")
SCRIPTS = os.path.join(TOP, "tests", "sim", "scripts")
COARSE, FINE = "ergon-sim", "ergon-sim-atomics"
APART = 1000  # seeds between two starts
PLANTED_SEEDS = 2000


class Failed(Exception):
    """A program did not do its work; the text is what it printed last."""


def load():
    """Each fault, the seeds that it may take, whether it is to be noticed, and by which program with which options."""
    with open(LIST, encoding="utf-8") as f:
        found = faults.parse(os.path.relpath(LIST, TOP), f.read())
    for fault in found:
        allowed = re.match(r"(\d+)(\??)(?: by (atomics|cluster))?: ", fault.promise)
        if not allowed:
            raise fault.wrong("lacks the number of seeds that it may take, in front of its promise")
        of = (FINE if allowed[3] == "atomics" else COARSE, ["--cluster"] if allowed[3] == "cluster" else [])
        yield fault, int(allowed[1]), not allowed[2], of


def write_if_other(path, text):
    """Time stamps stay where nothing changes, so that little is built."""
    if os.path.exists(path):
        with open(path, "rb") as f:
            if f.read() == text:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text)


def copy_tree():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TOP, check=True, capture_output=True)
    for path in listed.stdout.decode().split("\0"):
        source = os.path.join(TOP, path)
        if path and os.path.isfile(source):
            with open(source, "rb") as f:
                write_if_other(os.path.join(TREE, path), f.read())
            shutil.copymode(source, os.path.join(TREE, path))


def must(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stdout[-4000:])


def configure():
    command = ["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DBUILD_TESTING=ON", "-DCMAKE_C_FLAGS=-w", "-DERGON_LTO=OFF"]
    if shutil.which("ccache"):
        os.environ.update(CCACHE_BASEDIR=WORK, CCACHE_NOHASHDIR="1")
        command.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
    if shutil.which("mold"):
        command.append("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold")
    must(*command)


def build():
    must("ninja", "-C", BUILD, "-j", str(os.cpu_count() or 1), COARSE, FINE)


def plant(fault, program):
    """Its program, in build-mutants/programs/."""
    path = os.path.join(TREE, fault.path)
    source = faults.source_of(TREE, fault)
    write_if_other(path, fault.plant(source).encode())
    try:
        build()
    finally:
        write_if_other(path, source.encode())
    return keep(program, fault.name)


def keep(program, name):
    os.makedirs(PROGRAMS, exist_ok=True)
    return shutil.copy(os.path.join(BUILD, "sim", program), os.path.join(PROGRAMS, name))


def clean(program):
    return os.path.join(PROGRAMS, "clean-" + program)


def prepare():
    copy_tree()
    configure()
    build()


def seeds_until(program, start, most, options=()):
    """How many seeds it took (None: more than `most`), and the finding."""
    command = [program, *options, "--seed", str(start), "--seeds", str(most), "--first"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    failed = re.search(r"^seed (\d+) failed", done.stdout, re.M)
    if not failed and done.returncode != 0:
        raise Failed((done.stdout[-2000:] + done.stderr[-2000:]).strip() or f"status {done.returncode}")
    finding = re.search(r"^finding:\n *[\d.]+ +(.*)", done.stderr, re.M)
    return (int(failed[1]) - start + 1, finding[1] if finding else "ended by a signal") if failed else (None, "")


def fails(program, script):
    return subprocess.run([program, "--script", script], capture_output=True, check=False).returncode != 0


def shrink(fault, program, without, seed, folder):
    """What became of it, in words."""
    script = os.path.join(folder, fault.name + ".sim")
    began = time.monotonic()
    done = subprocess.run([program, "--seed", str(seed), "--shrink", script], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    with open(script, encoding="utf-8") as f:
        lines = sum(not line.startswith("#") for line in f)
    text = f"{lines} lines in {time.monotonic() - began:.0f} s"
    return text + (", which fail without the fault, too" if fails(without, script) else "")


def last_line(error):
    return str(error).strip().splitlines()[-1][:100]


def count_until_noticed(fault):
    """How many seeds of both programs it took (None: all passed), and the finding."""
    half = PLANTED_SEEDS // 2
    count, text = seeds_until(keep(COARSE, fault.name), 1, half)
    if not count:
        count, text = seeds_until(keep(FINE, fault.name), 1, half)
        count = count and count + half
    return count, text


def try_fault(fault, allowed, expected, of, options):
    try:
        program = plant(fault, of[0])
        found = [seeds_until(program, 1 + n * APART, 2 * allowed, of[1]) for n in range(options.starts)]
    except (Failed, faults.Misplaced) as error:
        print(f"{fault.name:<24} {allowed:>5} {'-':>7} {'-':>6}  {'failed':<12} {last_line(error)}", flush=True)
        return False
    counts = [n if n else 2 * allowed + 1 for n, _ in found]
    median = statistics.median(counts)
    verdict = "good" if median <= allowed / 2 else "late" if median <= 2 * allowed else "not noticed"
    example = next((text for n, text in found if n), "nothing was noticed")
    seed = next((1 + start * APART + n - 1 for start, (n, _) in enumerate(found) if n), None)
    script = os.path.join(SCRIPTS, fault.name + ".sim")
    if options.shrink and seed and not of[1]:  # no script has several nodes
        example = shrink(fault, program, clean(of[0]), seed, options.shrink)
    elif os.path.exists(script):
        kept = fails(program, script)
        verdict = verdict if kept else verdict + ", script passes"
        example = ("" if kept else "its script passes; ") + example
    print(f"{fault.name:<24} {allowed:>5} {median:>7g} {max(counts):>6}  {verdict:<12} {example[:100]}", flush=True)
    return verdict == "good" or not expected


def try_planted(chosen):
    """Faults of other tests: how many the simulation notices alone."""
    noticed = 0
    for fault in chosen:
        try:
            plant(fault, COARSE)
            count, text = count_until_noticed(fault)
        except (Failed, faults.Misplaced) as error:
            print(f"{fault.name:<28}       failed: {last_line(error)}", flush=True)
            continue
        noticed += count is not None
        print(f"{fault.name:<28} {count or '-':>5} {(text or fault.promise)[:100]}", flush=True)
    print(f"{noticed} of {len(chosen)} were noticed")


def choose_planted(options):
    """The faults of the areas, or COUNT of them: all, if there are no more."""
    planted = faults.load(TOP)
    area_of = {id(fault): os.path.basename(fault.origin).split(".")[0] for fault in planted}
    areas = options.of.split(",")
    unknown = [area for area in areas if area not in area_of.values()]
    if unknown:
        sys.exit(f"no area is called {unknown[0]!r}; there are {', '.join(sorted(set(area_of.values())))}")
    chosen = [fault for fault in planted if area_of[id(fault)] in areas and re.search(options.pattern, fault.name)]
    return random.Random(1).sample(chosen, min(options.drawn, len(chosen))) if options.drawn else chosen


def need(chosen, options):
    if not chosen:
        sys.exit(f"no fault is called like {options.pattern!r}")
    return chosen


def main():
    a = argparse.ArgumentParser(prog="./run prove sim")
    a.add_argument("pattern", nargs="?", default="")
    a.add_argument("--starts", type=int, default=5)
    a.add_argument("--shrink", metavar="FOLDER")
    a.add_argument("--of", metavar="AREA[,AREA]...")
    a.add_argument("--drawn", type=int)
    options = a.parse_args()
    if options.drawn is not None and (options.drawn < 1 or not options.of):
        a.error("--drawn takes a number of 1 or more, and needs --of AREA")
    try:
        if options.of is not None:
            chosen = need(choose_planted(options), options)
            prepare()
            return try_planted(chosen)
        chosen = need([row for row in load() if re.search(options.pattern, row[0].name)], options)
        prepare()
    except (faults.Misplaced, Failed) as error:
        sys.exit(str(error))
    for program in (COARSE, FINE):
        keep(program, os.path.basename(clean(program)))
    print(f"{'fault':<24} {'may':>5} {'median':>7} {'most':>6}  {'':<12} for example")
    good = [try_fault(*row, options) for row in chosen]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
