"""Metrics as Prometheus reads them: a scrape that promtool accepts, alert rules with tests, and a Prometheus that scrapes a
loaded server, where each expression of the rules and of the dashboard finds its series."""
import json
import os
import re
import shutil
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness import BUILD, LIMIT, SOURCE, Server, eventually, scratch, self_signed

FOLDER = os.path.join(SOURCE, "dist", "prometheus")
RULES = os.path.join(FOLDER, "ergon.rules.yml")
DASHBOARD = os.path.join(SOURCE, "dist", "grafana", "ergon.json")
OPEN_METRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


def get(url, headers=OPEN_METRICS):  # noqa: B006
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=LIMIT) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def promtool(*arguments, **options):
    return subprocess.run(["promtool", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=5 * LIMIT,
                          check=False, **options)


@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian's package prometheus)")
class RulesTest(unittest.TestCase):
    def test_the_rules_are_sound(self):
        said = promtool("check", "rules", RULES)
        self.assertEqual(said.returncode, 0, said.stdout)
        said = promtool("check", "config", os.path.join(FOLDER, "prometheus.yml"))
        self.assertEqual(said.returncode, 0, said.stdout)

    def test_each_alert_fires_when_it_is_to_and_is_quiet_else(self):
        said = promtool("test", "rules", os.path.join(FOLDER, "ergon.tests.yml"))
        self.assertEqual(said.returncode, 0, said.stdout)
        with open(RULES, encoding="utf-8") as rules, open(os.path.join(FOLDER, "ergon.tests.yml"), encoding="utf-8") as tests:
            alerts, tested = re.findall(r"alert: (\w+)", rules.read()), tests.read()
        for alert in alerts:
            self.assertIn(f"name: {alert} fires", tested)
            self.assertIn(f"name: {alert} is quiet", tested)

    def test_a_scrape_passes_promtool(self):
        with Loaded(scratch(self.addCleanup)) as loaded:
            kind, text = get(loaded.url)
            _, classic = get(loaded.url, {})
        ends = re.search(r'^ergon_certificate_not_after_seconds\{purpose="listener",listener="ergons://127\.0\.0\.1:0"\} (\d+)$', text, re.M)
        self.assertTrue(ends and time.time() < int(ends[1]) < time.time() + 3 * 86400, ends)  # it is for two days
        self.assertEqual(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertTrue(text.endswith("\n# EOF\n"))
        self.assertGreaterEqual(int(re.search(r"^ergon_store_tasks (\d+)$", text, re.M)[1]), 2)  # of which one waits in a queue that is paused
        said = promtool("check", "metrics", input=classic)
        self.assertEqual(said.returncode, 0, said.stdout)


class Loaded:
    """A server with a store, calls, submitted tasks, a paused queue, a module in a process and a failure, at which somebody goes on calling."""

    def __init__(self, folder):
        cert, key = self_signed(folder)
        self.server = Server("--loops", "2", "--store", os.path.join(folder, "tasks.db"), "--admin", "http://127.0.0.1:0",
                             "--module", os.path.join(BUILD, "tests", "e2e", "harm.so") + ",process", "--tls-cert", cert, "--tls-key", key, listen=("ergon://127.0.0.1:0", "ergons://127.0.0.1:0"))
        self.url, self.stop, self.thread = None, threading.Event(), None

    def __enter__(self):
        self.url = self.server.process.stdout.readline().strip() + "/metrics"
        eventually(self.stands, "the metrics can be read")
        with self.server.connect() as client:
            client.call("queue.pause", "hash")
            client.call("task.submit", "hash", ["x"], {"durable": "fsync"})
            client.call("task.submit", "echo", ["x"], {"durable": "fsync"})
            client.send("fail", "so")
        self.thread = threading.Thread(target=self.load)
        self.thread.start()
        return self

    def stands(self):
        try:
            return get(self.url)
        except urllib.error.HTTPError:  # it starts
            return None

    def load(self):
        with self.server.connect() as client:
            while not self.stop.is_set():
                for _ in range(20):
                    client.call("echo", 1)
                client.call("task.submit", "echo", [1], {"durable": "fsync"})
                client.response(client.send("fail", "so"))
                self.stop.wait(0.05)

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.server.discard()


class Prometheus:
    def __init__(self, folder, target):
        self.folder = folder
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"""global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: ["{RULES}"]
scrape_configs: [{{job_name: ergon, scrape_timeout: 1s, static_configs: [{{targets: ["{urllib.parse.urlsplit(target).netloc}"]}}]}}]
""")
        self.log = open(os.path.join(folder, "log"), "w", encoding="utf-8")
        self.process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                                         "--web.listen-address=127.0.0.1:0"], stdout=self.log, stderr=self.log)
        self.url = None

    def said(self):
        with open(self.log.name, encoding="utf-8") as f:
            return f.read()

    def address(self):
        found = re.search(r'Listening on" address=(127\.0\.0\.1:\d+)', self.said())
        return found and "http://" + found[1]

    def query(self, expression):
        with urllib.request.urlopen(f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": expression}), timeout=LIMIT) as a:
            return json.load(a)["data"]["result"]

    def close(self):
        self.process.terminate()
        self.process.wait(LIMIT)
        self.log.close()


def of_dashboard():
    with open(DASHBOARD, encoding="utf-8") as f:
        dashboard = json.load(f)
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield (target["expr"].replace("$__rate_interval", "1m").replace("$job", "ergon").replace("$instance", ".*"))


def of_rules():
    """Each series that a rule names, for a rule that finds nothing is the usual case; those of a cluster: cluster_test.py."""
    with open(RULES, encoding="utf-8") as f:
        for expression in re.findall(r"^ *expr: (.*)$", f.read(), re.M):
            yield from re.findall(r"\b((?!ergon_(?:cluster|front)_)(?:ergon|process)_\w+|up)\b", expression)


@unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
class ScrapeTest(unittest.TestCase):
    def test_each_expression_of_dashboard_and_rules_returns_a_series(self):
        with Loaded(scratch(self.addCleanup)) as loaded:
            prometheus = Prometheus(scratch(self.addCleanup), loaded.url)
            self.addCleanup(prometheus.close)
            eventually(prometheus.address, "prometheus says in its log where it listens:\n" + prometheus.said())
            prometheus.url = prometheus.address()
            eventually(lambda: prometheus.process.poll() is None and self.query(prometheus, "ergon_calls_total"), "the first scrape")
            # Failures of a method only show where one has failed; and rates want two scrapes.
            for expression in [*of_dashboard(), *set(of_rules())]:
                eventually(lambda e=expression: self.query(prometheus, e), f"a series of {expression}")
            # A scrape that took longer than a second counts as none.
            eventually(lambda: [t["value"][1] for t in self.query(prometheus, 'up{job="ergon"}') or ()] == ["1"], "the last scrape was good")

    @staticmethod
    def query(prometheus, expression):
        try:
            return prometheus.query(expression)
        except OSError:
            return None


if __name__ == "__main__":
    unittest.main()
