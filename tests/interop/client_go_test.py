"""The Go package, as a module that a program of another module requires, without a network, against real servers; under
the thread sanitizer with Go's own detector of races."""
import os
import subprocess
import unittest

import clients
import interop
from harness import SANITIZE

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(clients.PLACE, "go-program")
MODULE = """module client_go

go 1.19

require ergon-client v0.1.0

replace ergon-client => ../go
"""
OFFLINE = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off",
           "GOCACHE": os.path.join(clients.PLACE, "go-cache")}


def go(*words, cwd=PROGRAM):
    return subprocess.run(["go", *words], cwd=cwd, env=OFFLINE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def build(to, what, *flags):
    done = go("build", *flags, "-o", to, what)
    assert done.returncode == 0, done.stdout


def install():
    """A module beside a copy of the package, as users have it."""
    clients.copy("go")
    clients.shutil.rmtree(PROGRAM, ignore_errors=True)
    os.makedirs(PROGRAM)
    clients.shutil.copy(os.path.join(HERE, "client_go.go"), PROGRAM)
    with open(os.path.join(PROGRAM, "go.mod"), "w") as f:
        f.write(MODULE)
    race = ("-race",) if SANITIZE == "thread" else ()
    build("client_go", ".", *race)
    build("example", "ergon-client/example")
    for what in ("worker", "caller"):
        build("example_" + what, "ergon-client/example/" + what, *race)


class Go(clients.Clients, unittest.TestCase):
    COMMAND = (os.path.join(PROGRAM, "client_go"),)
    WORKER, CALLER = ((os.path.join(PROGRAM, "example_" + what),) for what in ("worker", "caller"))

    @classmethod
    def setUpClass(cls):
        install()
        super().setUpClass()

    def test_the_example(self):
        self.COMMAND = (os.path.join(PROGRAM, "example"),)
        super().test_the_example()

    def test_vet_and_format(self):
        for place in (PROGRAM, os.path.join(clients.PLACE, "go")):
            vetted = go("vet", "./...", cwd=place)
            self.assertEqual((vetted.returncode, vetted.stdout), (0, ""))
            formatted = subprocess.run(["gofmt", "-l", place], capture_output=True, text=True, check=True)
            self.assertEqual(formatted.stdout, "")


if __name__ == "__main__":
    interop.needs("go", "gofmt")
    unittest.main()
