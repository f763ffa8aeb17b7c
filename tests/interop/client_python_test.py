"""The Python package, built as a wheel and installed without a network, against real servers."""
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import unittest

import clients
import interop

HERE = os.path.dirname(os.path.abspath(__file__))
INSTALLED = os.path.join(clients.PLACE, "python-installed")


def pip(*words):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
                    "--disable-pip-version-check", "--root-user-action=ignore", *words], check=True, stdin=subprocess.DEVNULL)


def install():
    """The package as users get it, by pip."""
    clients.shutil.rmtree(INSTALLED, ignore_errors=True)
    pip("--target", INSTALLED, os.path.join(clients.SOURCE, "clients", "python"))


class Python(clients.Clients, unittest.TestCase):
    ENVIRONMENT = {"PYTHONPATH": INSTALLED, "PYTHONASYNCIODEBUG": "", "PYTHONWARNINGS": "error"}
    COMMAND = (sys.executable, os.path.join(HERE, "client_python.py"))
    TRACED = (r'\ATraceback \(most recent call last\):\n  File ".*client_python.py", line \d+, in luckless\n'
              r'    raise ValueError\("no luck"\)\nValueError: no luck\n\Z')
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

    def test_who_does_not_close_ends_in_silence(self):
        program = os.path.join(HERE, "client_python_exits.py")
        for how in ("called", "freed", "calls_in_flight", "worker", "forked", "exit_code", "coroutine", "coroutine_worker", "open_loop",
                    "closed_loop"):
            with self.subTest(how):
                environment = {**os.environ, "PYTHONPATH": INSTALLED, "ERGON_URL": self.unix}
                ended = subprocess.run([sys.executable, program, how], env=environment, capture_output=True, text=True,
                                       timeout=clients.LIMIT)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertEqual(ended.stdout, "" if how == "exit_code" else "end\n")

    def test_what_happens_to_the_connection_is_told(self):
        silent = clients.socket.socket()  # it listens to nobody, and keeps the port from others
        self.addCleanup(silent.close)
        silent.bind(("127.0.0.1", 0))
        nobody = "ergon://127.0.0.1:%d" % silent.getsockname()[1]
        path = os.path.join(self.folder, "told")
        servers = [clients.Server(listen=("unix://" + path,))]
        self.addCleanup(lambda: servers[-1].discard())

        def act(what):
            if what == "stop":
                servers[-1].process.terminate()
                return
            servers[-1].process.kill()
            servers[-1].process.wait()
            servers[-1].discard()
            servers.append(clients.Server(listen=("unix://" + path,)))
        self.play("events", "unix://" + path, act, nobody=nobody, guarded=self.guarded)

    def test_an_installation_writes_nothing_into_the_tree(self):
        source = clients.copy("python")
        before = clients.files(source)
        for words in ((source,), ("-e", source)):
            pip("--prefix", os.path.join(self.folder, "prefix" + words[0].replace(os.sep, "")), "--ignore-installed", *words)
            self.assertEqual(clients.files(source), before)
        found = clients.glob.glob(os.path.join(self.folder, "prefix*", "**", "ergon_client-*.dist-info"), recursive=True)
        self.assertEqual(len(found), 2)

    def test_types_are_what_checkers_say(self):
        """Of a program that uses the package; lint/clients looks at the package itself."""
        program = "client_python_types.py"
        with open(os.path.join(HERE, program)) as f:
            wanted = [number for number, line in enumerate(f, 1) if line.endswith("# error\n")]
        checked = subprocess.run(["mypy", "--strict", "--enable-incomplete-feature=Unpack", "--hide-error-context", "--no-error-summary",
                                  "--python-executable", sys.executable, "--cache-dir", os.path.join(self.folder, "types"), program],
                                 cwd=HERE, env={**os.environ, "MYPYPATH": INSTALLED}, capture_output=True, text=True)
        found = re.findall(r"^(.*):(\d+): error: ", checked.stdout, re.M)
        self.assertEqual(sorted({(path, int(number)) for path, number in found}), [(program, number) for number in wanted],
                         checked.stdout + checked.stderr)

    def test_tracebacks_are_the_handlers(self):
        self.play("tracebacks", self.unix)

    def test_the_host_of_a_worker(self):
        self.play("hosts", self.unix)

    def test_a_class_is_a_type_of_actors(self):
        self.play("actors", self.unix)

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
