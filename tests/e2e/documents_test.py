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
import unittest

from harness import BUILD, LIMIT, SOURCE, install, module_compiler, scratch

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
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
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
    WHOLE = {"hello.c", "permits.c"}


class Tasks(Guide, unittest.TestCase):
    PAGE = "docs/tasks.md"


if __name__ == "__main__":
    unittest.main()
