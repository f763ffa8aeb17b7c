"""docs/clients.md, docs/write-a-client.md, docs/workers.md and docs/actors.md are true: their programs, and their `console` blocks with them, are run as they stand, in a
folder with what a clone has after ./run build."""
import importlib.util
import os
import re
import shutil
import unittest

import interop
from harness import SOURCE
from documents_test import PROGRAMS, Document

PROGRAM = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", re.M | re.S)


class Guide(Document):
    def prepare(self, place):
        os.mkdir(os.path.join(place, "build"))
        for program in PROGRAMS:
            os.symlink(program, os.path.join(place, "build", os.path.basename(program)))
        shutil.copytree(os.path.join(SOURCE, "clients"), os.path.join(place, "clients"))
        for name, code in PROGRAM.findall(self.text):
            with open(os.path.join(place, name), "w") as f:
                f.write(code)
        # Debian's Python comes first, whatever else is installed.
        return {"GOPROXY": "off", "PATH": "/usr/bin:" + os.environ["PATH"], "PIP_ROOT_USER_ACTION": "ignore",
                "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


class Clients(Guide, unittest.TestCase):
    PAGE = "docs/clients.md"
    LEAST = 16


class WriteAClient(Guide, unittest.TestCase):
    PAGE = "docs/write-a-client.md"
    LEAST = 7


class Workers(Guide, unittest.TestCase):
    PAGE = "docs/workers.md"
    LEAST = 25


class Actors(Guide, unittest.TestCase):
    PAGE = "docs/actors.md"
    LEAST = 25

    def test_its_programs_are_the_examples(self):
        for name, code in PROGRAM.findall(self.text):
            with self.subTest(name), open(os.path.join(SOURCE, "examples", "actor", name)) as f:
                self.assertEqual(f.read(), code)


if __name__ == "__main__":
    if os.environ.get("ERGON_WITHOUT_NPM"):
        interop.skip("ERGON_WITHOUT_NPM is set")
    interop.needs("go", "node", "npm")
    for module in ("pip", "setuptools", "wheel"):
        if importlib.util.find_spec(module) is None:
            interop.skip(f"python3-{module} is not installed")
    unittest.main()
