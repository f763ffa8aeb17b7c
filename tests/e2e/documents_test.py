"""README and guides are true. Their `console` blocks are run as they stand: each `$ ` line in one shell, its output against
what follows it, where … stands for anything. The guides' C stands in the files that they name.

What a document shows is run in an empty folder, which has what its first lines tell the reader to have: the README's has a
clone's build/, a guide's the example modules, with the installed headers where pkg-config looks.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

from harness import BUILD, ERGON, ERGOND, LIMIT, NO_CONTEXTS, SANITIZED, SOURCE, Server, install, module_compiler, scratch

sys.path.append(os.path.join(SOURCE, "tests", "support"))
import ending  # noqa: E402
import postgres  # noqa: E402

MODULES = os.path.join(SOURCE, "examples", "module")
PROGRAMS = [os.path.abspath(os.path.join(BUILD, p)) for p in ("server/ergond", "client/cli/ergon")]
MARK = "--- next ---"

# A block of C, with the link to its file before it; the words between say whether it is all of it.
BLOCK = re.compile(r"\]\(\.\./examples/module/(\w+\.c)\)((?:(?!```|\]\().)*?)^```c\n(.*?)^```", re.M | re.S)


def examples(text):
    """(command, expected output) of each `console` block, in order."""
    found = []
    for line in "".join(re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


class Document:
    """The tests of one page."""

    PAGE = ""
    LEAST = 11  # examples that must be found

    def setUp(self):
        with open(os.path.join(SOURCE, self.PAGE)) as f:
            self.text = f.read()
        self.folder = scratch(self.addCleanup)

    def test_the_examples(self):
        place = os.path.join(self.folder, "place")
        os.mkdir(place)
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": self.folder, **self.prepare(place)}
        found = examples(self.text)
        self.assertGreaterEqual(len(found), self.LEAST)
        # Between two commands $? stays what it was.
        script = "".join(f"{command}\nstatus=$?; echo '{MARK}'; (exit $status)\n" for command, _ in found)
        done = subprocess.run(["bash", "-c", script], cwd=place, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=10 * LIMIT)  # compilers and simulations take a while
        outputs = done.stdout.split(MARK + "\n")
        for (command, expected), output in zip(found, outputs):
            with self.subTest(command=command):
                shown = output.rstrip("\n")
                wanted = re.escape("\n".join(expected)).replace("…", ".*")
                self.assertTrue(re.fullmatch(wanted, shown), f"{shown!r} instead of {expected!r}")
        self.assertEqual(len(outputs), len(found) + 1, done.stdout)


@unittest.skipUnless(shutil.which("nvim"), "nvim is not installed")
class Readme(Document, unittest.TestCase):
    PAGE = "README.md"

    def prepare(self, place):
        os.mkdir(os.path.join(place, "build"))
        for program in PROGRAMS:
            os.symlink(program, os.path.join(place, "build", os.path.basename(program)))
        return {}


@ending.needs(postgres.missing())
class Cluster(Document, unittest.TestCase):
    """PostgreSQL refuses root, for whom its programs run as another account."""

    PAGE = "docs/cluster.md"

    def setUp(self):
        super().setUp()
        holder = ending.Folder()
        self.addCleanup(holder.end)
        self.folder = holder.path

    def prepare(self, place):
        ending.own(place)
        where = ending.make_folder(self.folder, "bin")
        become = "setpriv --reuid={0} --regid={1} --clear-groups ".format(*ending.account()) if ending.account() else ""
        for name in ("initdb", "pg_ctl", "pg_basebackup"):
            program = os.path.join(postgres.programs(), name)
            ending.write(os.path.join(where, name), f'#!/bin/sh\nexec {become}{program} "$@"\n', 0o700)
        folders = [where, *(os.path.dirname(program) for program in PROGRAMS), os.environ["PATH"]]
        return {"PATH": ":".join(folders)}


class Guide(Document):
    """A guide to modules. WHOLE are the files that a block of C shows all of, as the words before it say."""

    WHOLE = set()

    def test_every_block_of_c_stands_in_its_file(self):
        blocks = BLOCK.findall(self.text)
        self.assertEqual(len(blocks), self.text.count("```c\n"))
        whole = set()
        for name, words, code in blocks:
            with open(os.path.join(MODULES, name)) as f:
                there = f.read()
            with self.subTest(name, code=code[:60]):
                self.assertIn(code, there)
                if "whole" in words:
                    self.assertEqual(code, there)
                    whole.add(name)
        self.assertEqual(whole, self.WHOLE)

    def prepare(self, place):
        for path in glob.glob(os.path.join(MODULES, "*.c")):
            shutil.copyfile(path, os.path.join(place, os.path.basename(path)))
        folders = [self.compiler(), *map(os.path.dirname, PROGRAMS), os.environ["PATH"]]
        return {**install(os.path.join(self.folder, "prefix")), "PATH": ":".join(folders)}

    def compiler(self):
        """The folder of a `cc` that builds as module_compiler() does."""
        name, *flags = module_compiler()
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(f'#!/bin/sh\nexec {shutil.which(name)} {" ".join(flags)} "$@"\n')
        os.chmod(path, 0o755)
        return self.folder


class Modules(Guide, unittest.TestCase):
    PAGE = "docs/modules.md"
    WHOLE = {"hello.c"}


class Tasks(Guide, unittest.TestCase):
    PAGE = "docs/tasks.md"


SIM = os.path.abspath(os.path.join(BUILD, "sim/ergon-sim"))


@unittest.skipIf(SANITIZED, "the memory of a module is copied with what a sanitizer puts between its variables")
class Simulation(Guide, unittest.TestCase):
    PAGE = "docs/simulation.md"
    LEAST = 6

    def prepare(self, place):
        environment = super().prepare(place)
        for path in glob.glob(os.path.join(SOURCE, "examples/sim/*")):
            shutil.copy(path, place)
        return {**environment, "PYTHONPATH": os.path.join(SOURCE, "clients/python"), "PATH": ":".join([os.path.dirname(SIM), environment["PATH"]])}

    def test_the_scenario_stands_in_its_file(self):
        with open(os.path.join(SOURCE, "examples/sim/orders.yaml")) as f:
            self.assertIn("```yaml\n" + f.read() + "```\n", self.text)
        with open(os.path.join(SOURCE, "examples/sim/orders_test.py")) as f:
            self.assertIn(re.search(r"```python\n(.*?)```", self.text, re.S)[1], f.read())


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class Admin(Document, unittest.TestCase):
    PAGE = "docs/admin.md"
    LEAST = 7

    def prepare(self, place):
        return {**NO_CONTEXTS, "PATH": ":".join([*map(os.path.dirname, PROGRAMS), os.environ["PATH"]])}


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class Comparison(unittest.TestCase):
    """Each row of what is to be seen and steered has the command of ours that shows it: all of them run, one after the other, and do not fail."""

    # What goes on until it is told to end, and what ends otherwise than well where nothing is wrong.
    ENDINGS = {"ergon top": " -n 1", "ergon events": " --after oldest -n 1", "ergon task watch ID": " --timeout 30s",
               "ergond --check-config": " --config ergond.yaml", "ergon bench --sweep p99=5ms": " --duration 100ms -c 2"}
    STATUSES = {"ergon doctor": (0, 1), "ergon doctor --nagios": (0, 1, 2), "ergon bench --sweep p99=5ms": (0, 1, 5), "ergon connection kill 17": (0, 6)}

    def commands(self):
        with open(os.path.join(SOURCE, "docs/comparison.md")) as f:
            rows = re.findall(r"^\| (?:[a-z][^|]*|JSON[^|]*|Prometheus) \| ([^|]*) \|", f.read().partition("## To write tasks in")[0], re.M)
        for row in rows:
            found = re.findall(r"`((?:ergond?|curl|bpftrace) [^`]*)`", row)
            self.assertTrue(found, f"no command in {row!r}")
            yield from found
        self.assertGreater(len(rows), 15)

    def test_each_command_runs(self):
        folder = scratch(self.addCleanup)
        shutil.copy(os.path.join(SOURCE, "docs/ergond.yaml"), folder)
        with Server("--admin", "http://127.0.0.1:0", "--store", os.path.join(folder, "tasks.db")) as server:
            admin = server.process.stdout.readline().strip()
            env = {**os.environ, **NO_CONTEXTS, "ERGON_URL": server.urls[0]}
            path = ":".join([*map(os.path.dirname, PROGRAMS), os.environ["PATH"]])
            done = subprocess.run([ERGON, "task", "submit", "echo", "x"], env=env, capture_output=True, text=True, timeout=LIMIT, check=True)
            for command in self.commands():
                if command.startswith("ergond --admin"):
                    continue  # it runs already
                if command.startswith("bpftrace ") and (os.geteuid() != 0 or not shutil.which("bpftrace")):
                    continue
                line = (command + self.ENDINGS.get(command, "")).replace("ID", done.stdout.strip()).replace("http://127.0.0.1:7468", admin).replace("/usr/bin/ergond", ERGOND)
                with self.subTest(command):
                    got = subprocess.run(["sh", "-c", line.replace("curl ", "curl -sSf ")], env={**env, "PATH": path}, cwd=folder, capture_output=True,
                                         text=True, errors="replace", timeout=LIMIT, stdin=subprocess.DEVNULL)
                    if command.startswith("ergon bench ") and "the generator ran too late" in got.stdout:
                        continue  # it says so where others have the processors, and gives no result
                    self.assertIn(got.returncode, self.STATUSES.get(command, (0,)), got.stdout[-500:] + got.stderr)


if __name__ == "__main__":
    unittest.main()
