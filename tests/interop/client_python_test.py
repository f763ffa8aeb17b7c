"""The Python package, built as a wheel and installed without a network, against real servers."""
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import unittest

import clients
import interop

HERE = os.path.dirname(os.path.abspath(__file__))
INSTALLED = os.path.join(clients.PLACE, "python-installed")


def install():
    """The package as users get it, by pip, from a copy, since a build writes beside its source."""
    clients.shutil.rmtree(INSTALLED, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
                    "--disable-pip-version-check", "--root-user-action=ignore", "--target", INSTALLED, clients.copy("python")],
                   check=True, stdin=subprocess.DEVNULL)


class Python(clients.Clients, unittest.TestCase):
    ENVIRONMENT = {"PYTHONPATH": INSTALLED, "PYTHONASYNCIODEBUG": "", "PYTHONWARNINGS": "error"}
    COMMAND = (sys.executable, os.path.join(HERE, "client_python.py"))
    SERVING = ("serve", "serve_on_threads")
    HOLDING = ("hold", "hold_on_threads")
    WORKER, CALLER = ((sys.executable, os.path.join(clients.SOURCE, "clients", "python", f"example_{what}.py"))
                      for what in ("worker", "caller"))

    @classmethod
    def setUpClass(cls):
        install()
        super().setUpClass()
        found, = importlib.metadata.distributions(path=[INSTALLED])
        cls.VERSION = found.version

    def test_each_kind_of_time_and_task(self):
        self.play("times", self.unix)

    def test_more_tasks_than_a_request_may_name(self):
        self.play("crowd", self.unix)

    def test_the_example(self):
        self.COMMAND = (sys.executable, os.path.join(clients.SOURCE, "clients", "python", "example.py"))
        super().test_the_example()


if __name__ == "__main__":
    for module, package in (("pip", "python3-pip"), ("setuptools", "python3-setuptools"), ("wheel", "python3-wheel")):
        if importlib.util.find_spec(module) is None:
            interop.skip(f"{package} is not installed")
    unittest.main()
