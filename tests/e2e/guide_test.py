"""docs/modules.md is true: its C stands in the files that it names, and its examples do what it says, in an empty folder
and with nothing but an installation."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, LIMIT
from readme_test import MARK, examples

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODULES = os.path.join(SOURCE, "examples", "module")
SANITIZE = os.environ.get("ERGON_SANITIZE", "")

# A block of C, with the link to its file before it; the words between say whether it is all of it.
BLOCK = re.compile(r"\]\(\.\./examples/module/(\w+\.c)\)((?:(?!```|\]\().)*?)^```c\n(.*?)^```", re.M | re.S)


class ExecutedGuide:
    """The tests of one page: GUIDE, whose blocks of C are parts of the files that they name, or as the words before
    them say the whole of those in WHOLE."""

    def setUp(self):
        self.guide = os.path.join(SOURCE, "docs", self.GUIDE)
        with open(self.guide) as f:
            self.text = f.read()

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

    def test_the_examples(self):
        with tempfile.TemporaryDirectory() as folder:
            self.install(os.path.join(folder, "prefix"))
            place = os.path.join(folder, "place")
            os.mkdir(place)
            for path in glob.glob(os.path.join(MODULES, "*.c")):
                with open(path) as f, open(os.path.join(place, os.path.basename(path)), "w") as to:
                    to.write(f.read())
            self.run_examples(place, os.path.join(folder, "prefix"))

    def install(self, prefix):
        subprocess.run(["cmake", "--install", BUILD, "--component", "client", "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)

    def compiler(self, prefix):
        """The folder of a `cc` that builds modules with the sanitizer that the server has: the thread sanitizer does
        not see how code that it was not built into is synchronised, and reports races that are none."""
        folder = os.path.join(prefix, "compiler")
        os.makedirs(folder)
        path = os.path.join(folder, "cc")
        with open(path, "w") as f:
            f.write(f'#!/bin/sh\nexec {shutil.which("cc")} {"-fsanitize=" + SANITIZE if SANITIZE else ""} "$@"\n')
        os.chmod(path, 0o755)
        return folder

    def run_examples(self, place, prefix):
        found = examples(self.guide)
        self.assertGreater(len(found), 10)
        # Between two commands $? stays what it was.
        script = "".join(f"{command}\nstatus=$?; echo '{MARK}'; (exit $status)\n" for command, _ in found)
        programs = [os.path.abspath(os.path.join(BUILD, p)) for p in ("server", "client/cli")]
        environment = {**os.environ, "PATH": ":".join([self.compiler(prefix), *programs, os.environ["PATH"]]), "LC_ALL": "C.UTF-8",
                       "PKG_CONFIG_PATH": os.path.dirname(glob.glob(prefix + "/**/ergon-module.pc", recursive=True)[0])}
        done = subprocess.run(["bash", "-c", script], cwd=place, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
        outputs = done.stdout.split(MARK + "\n")
        for (command, expected), output in zip(found, outputs):
            with self.subTest(command=command):
                shown = output.rstrip("\n")
                wanted = re.escape("\n".join(expected)).replace("…", ".*")
                self.assertTrue(re.fullmatch(wanted, shown), f"{shown!r} instead of {expected!r}")
        self.assertEqual(len(outputs), len(found) + 1, done.stdout)


class Modules(ExecutedGuide, unittest.TestCase):
    GUIDE = "modules.md"
    WHOLE = {"hello.c", "permits.c"}


if __name__ == "__main__":
    unittest.main()
