"""The Node package, packed and installed without a network, against real servers."""
import glob
import json
import os
import subprocess
import unittest

import clients
import interop

HERE = os.path.dirname(os.path.abspath(__file__))
INSTALLED = os.path.join(clients.PLACE, "node-installed")
MODULES = os.path.join(INSTALLED, "node_modules")


def npm(*words, cwd):
    done = subprocess.run(["npm", *words, "--offline", "--no-audit", "--no-fund", "--loglevel=error"], cwd=cwd,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def install():
    """The package as users get it, by npm pack and npm install."""
    source = clients.copy("node")
    npm("pack", cwd=source)
    clients.shutil.rmtree(INSTALLED, ignore_errors=True)
    os.makedirs(INSTALLED)
    npm("install", "--no-package-lock", "--no-save", *glob.glob(os.path.join(source, "*.tgz")), cwd=INSTALLED)


class Node(clients.Clients, unittest.TestCase):
    ENVIRONMENT = {"NODE_PATH": MODULES, "NODE_OPTIONS": "--trace-warnings --unhandled-rejections=strict"}
    COMMAND = ("node", os.path.join(HERE, "client_node.js"))
    TRACED = r"^TypeError: no luck\n +at .*\n"
    WORKER, CALLER = (("node", os.path.join(clients.SOURCE, "clients", "node", f"example_{what}.js"))
                      for what in ("worker", "caller"))

    @classmethod
    def setUpClass(cls):
        install()
        super().setUpClass()
        with open(os.path.join(MODULES, "ergon-client", "package.json")) as f:
            cls.VERSION = json.load(f)["version"]

    def test_the_example(self):
        self.COMMAND = ("node", os.path.join(clients.SOURCE, "clients", "node", "example.js"))
        super().test_the_example()

    def test_node_says_nothing(self):
        """Warnings are about promises that nobody waits for, and listeners that nobody takes away."""
        for scenario in ("errors", "cancel", "many", "watch"):
            with self.subTest(scenario):
                self.assertEqual(self.play(scenario, self.unix), "")

    def test_times_and_options(self):
        self.play("times", self.unix)

    def test_more_tasks_than_the_server_waits_for_at_a_time(self):
        self.play("thousands", self.unix)

    def test_a_client_that_is_not_closed_is_silent(self):
        self.play("silent", self.unix)

    def test_the_types_name_what_there_is(self):
        self.play("types", self.unix, types=os.path.join(MODULES, "ergon-client", "lib", "client.d.ts"))

    def test_the_example_of_actors(self):
        program = os.path.join(clients.SOURCE, "examples", "actor", "twin.js")
        said, shown = self.hosted(("node", program), ("twin/1", "report", '{"degrees": 61}'), ("twin/1", "shown"))
        self.assertEqual((said, json.loads(shown)["degrees"]), ("null", 61))

    def test_a_class_is_a_type_of_actors(self):
        self.play("actors", self.unix)

    def test_an_older_server_is_not_told_the_host(self):
        self.play("older", self.unix)

    def test_events_and_lines_of_the_connection(self):
        folder = clients.scratch(self.addCleanup)
        url, path = "unix://" + os.path.join(folder, "socket"), os.path.join(folder, "ergond.yaml")
        with open(path, "w") as f:
            f.write(f"listen: [{{url: '{url}', allow: ['*', 'worker.offer.*']}}]\n")
        servers = [clients.Server("--config", path, listen=())]
        self.addCleanup(lambda: servers[-1].discard())

        def act(what):
            process = servers[-1].process
            if what == "stop":
                process.terminate()
                return
            process.kill()
            process.wait()
            if what == "restart":
                servers[-1].discard()
                servers.append(clients.Server("--config", path, listen=()))

        said = self.play("news", url, act, guarded=self.guarded)
        lines = [line for line in said.splitlines() if line.startswith("ergon: ")]
        for wanted in ("lost the connection to unix://", "connected to unix://"):
            self.assertEqual(sum(line.startswith("ergon: " + wanted) for line in lines), 1, said)
        refusals = [line for line in lines if line.startswith("ergon: no connection to unix://")]  # its socket is there, or is not
        self.assertGreater(len(refusals), 0, said)
        self.assertEqual(len(refusals), len(set(refusals)), said)

    def test_installing_writes_nothing_into_the_tree(self):
        """By the commands of docs/clients.md, and of README.md."""
        place = clients.scratch(self.addCleanup)
        source = clients.copy("node")
        before = clients.files(source)
        npm("pack", source, cwd=place)
        npm("install", *glob.glob(os.path.join(place, "*.tgz")), cwd=place)
        npm("install", "--install-links", source, cwd=place)
        shown = subprocess.run([os.path.join(place, "node_modules", ".bin", "ergon-work"), "--help"], capture_output=True, text=True)
        self.assertIn("--max-tasks", shown.stdout, shown.stderr)
        self.assertEqual(clients.files(source), before)


if __name__ == "__main__":
    if os.environ.get("ERGON_WITHOUT_NPM"):
        interop.skip("ERGON_WITHOUT_NPM is set")
    interop.needs("node", "npm")
    unittest.main()
