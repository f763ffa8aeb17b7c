"""`ergon bench` beyond a single call: mixes, submitted tasks, errors, ramps, and the files that it writes and reads."""
import csv
import json
import os
import unittest
import xml.etree.ElementTree as xml

from harness import OK, REMOTE, USAGE, Server, run_ergon, scratch

server = None
place = None


def setUpModule():
    global server, place
    place = scratch(unittest.addModuleCleanup)
    server = Server()
    unittest.addModuleCleanup(server.__exit__, None)


class BenchTest(unittest.TestCase):
    def bench(self, *arguments):
        return run_ergon(server.urls[0], "bench", *arguments)

    def report(self, *arguments, status=OK):
        got, out, err = self.bench("--json", *arguments)
        self.assertEqual((got, err), (status, ""), out)
        return json.loads(out)

    def refused(self, words, *arguments):
        status, out, err = self.bench(*arguments)
        self.assertEqual((status, out), (USAGE, b""), err)
        self.assertIn(words, err)

    def path(self, name, text=None):
        path = os.path.join(place, f"{self.id()}.{name}")
        if text is not None:
            with open(path, "w") as f:
                f.write(text)
        return path


class Calls(BenchTest):
    def test_errors_are_no_throughput(self):
        report = self.report("-n", "100", "-m", "nothing", status=REMOTE)
        self.assertEqual((report["answers"], report["good"], report["errors"]), (100, 0, {"NO_METHOD": 100}))
        self.assertEqual((report["answers_per_second"], report["latency_us"]["max"]), (0, 0))
        self.assertGreater(report["error_latency_us"]["max"], 0)
        text = self.bench("-n", "100", "-m", "nothing")[1].decode()
        self.assertRegex(text, r"throughput +0/s without errors\n")
        self.assertRegex(text, r"errors +100 NO_METHOD\n +p50 ")

    def test_a_mix(self):
        report = self.report("-n", "10000", "--mix", "echo=90,hash sha256 x=8,nothing=2", status=REMOTE)
        echo, hashed, nothing = report["calls"]
        self.assertEqual([c["method"] for c in report["calls"]], ["echo", "hash", "nothing"])
        self.assertEqual(echo["good"] + hashed["good"] + nothing["failed"], 10000)
        self.assertEqual((echo["failed"], hashed["failed"], nothing["good"]), (0, 0, 0))
        # The draws are the same in every run.
        self.assertAlmostEqual(echo["good"], 9000, delta=300)
        self.assertAlmostEqual(hashed["good"], 800, delta=150)
        self.assertGreater(hashed["latency_us"]["p50"], 0)

    def test_calls_of_a_file(self):
        calls = self.path("calls", '{"method":"sum","params":[1,2],"weight":3}\n\n{"method":"echo"}\n')
        report = self.report("-n", "4000", "--calls", calls)
        self.assertEqual([c["method"] for c in report["calls"]], ["sum", "echo"])
        self.assertAlmostEqual(report["calls"][0]["good"], 3000, delta=200)
        self.assertGreater(report["bytes_sent"], 800 * 64)  # of echo's payload

    def test_what_is_no_mix(self):
        for mix in ("echo", "echo=0", "echo=x", "=5", "echo=-1", "echo=4294967296", ","):
            with self.subTest(mix):
                self.refused("--mix", "--mix", mix)
        self.refused("one of --method, --mix and --calls", "--mix", "echo=1", "-m", "echo")
        self.refused("belong to the calls", "--mix", "echo=1", "more")
        self.refused("at most 64 calls", "--mix", ",".join(["echo=1"] * 65))

    def test_what_is_no_file_of_calls(self):
        for text, words in (("{", "line 1: "), ("\n[1]\n", "line 2: a line is a map"), ('{"method":5}', "needs a method"),
                            ('{"method":"echo","params":1}', "params are an array"), ("", "has no call"),
                            ('{"method":"echo","weight":0}', "a weight is"), ('{"method":"echo","more":1}', "nothing else")):
            with self.subTest(text):
                self.refused(words, "--calls", self.path("wrong", text))
        self.refused("No such file", "--calls", self.path("missing"))


class Submitted(BenchTest):
    def test_from_submission_to_end(self):
        report = self.report("-n", "200", "-c", "4", "--submit", '{"keep":"1h"}')
        self.assertEqual((report["good"], report["submit"]), (200, '{"keep":"1h"}'))
        self.assertLessEqual(report["accepted_us"]["p50"], report["latency_us"]["p50"])
        _, out, _ = run_ergon(server.urls[0], "--json", "info")
        self.assertGreaterEqual(json.loads(out)["info"]["kept"]["submitted"], 200)
        self.assertIn(b"accepted ", self.bench("-n", "10", "--submit", "{}")[1])

    def test_tasks_that_fail(self):
        report = self.report("-n", "50", "--submit", "{}", "-m", "hash", "no such algorithm", "x", status=REMOTE)
        self.assertEqual((report["good"], report["errors"]), (0, {"failed": 50}))

    def test_a_refused_submission(self):
        report = self.report("-n", "50", "--submit", '{"keeep":"1s"}', status=REMOTE)
        self.assertEqual((report["good"], report["errors"]), (0, {"BAD_PARAMS": 50}))
        self.refused("--submit", "--submit", "[]")


class Files(BenchTest):
    def test_a_series(self):
        path = self.path("csv")
        report = self.report("-n", "5000", "--series", path)
        with open(path) as f:
            rows = list(csv.DictReader(f))
        self.assertEqual([int(r["second"]) for r in rows], list(range(len(rows))))
        self.assertEqual(sum(int(r["sent"]) for r in rows), 5000)
        self.assertEqual(sum(int(r["good"]) for r in rows), report["good"])
        self.assertAlmostEqual(max(float(r["max_us"]) for r in rows), report["latency_us"]["max"], delta=0.1)
        self.assertLessEqual(float(rows[0]["p50_us"]), float(rows[0]["p99_us"]))

    def lines(self, path):
        root = xml.parse(path).getroot()
        texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
        curves = [p.get("d") for p in root.iter("{http://www.w3.org/2000/svg}path") if p.get("fill") == "none"]
        return texts, curves

    def test_a_plot_by_percentile(self):
        path = self.path("svg")
        self.report("-n", "5000", "--plot", path, "--mix", "echo=1,hash sha256 <&>=1")
        texts, (curve,) = self.lines(path)
        self.assertIn("99.9 %", texts)
        self.assertTrue(texts[0].startswith("echo=1,hash sha256 <&>=1: "), texts[0])
        self.assertGreater(curve.count("L"), 50)

    def test_a_ramp_and_its_plot(self):
        path = self.path("svg")
        status, out, err = self.bench("--json", "--ramp", "200:600:3", "-d", "300ms", "--plot", path)
        report = json.loads(out)
        self.assertEqual([r["rate"] for r in report["runs"]], [200, 400, 600])
        kept = [r for r in report["runs"] if "latency_us" in r]  # the machine may be too busy for some
        self.assertEqual((status, err), (OK if kept else REMOTE, ""))
        self.assertEqual(os.path.exists(path), kept != [])
        if kept:
            texts, curves = self.lines(path)
            self.assertEqual(len(curves), 6)
            self.assertIn("p99.99", texts)

    def test_what_is_no_ramp(self):
        for ramp in ("1:", "1:2:3:4", "0:5", "a:b", "1:2:99", "5:1", "1:2x", "1:2:1", "5", ""):
            with self.subTest(ramp):
                self.refused("--ramp", "--ramp", ramp)
        self.refused("without --sweep", "--ramp", "1:2", "-r", "5")
        self.refused("of one rate", "--ramp", "1:2", "--series", self.path("csv"))

    def test_a_file_that_cannot_be_written_is_told_before_the_run(self):
        for flag in ("--series", "--plot", "--histogram"):
            self.refused("cannot write /nowhere/f", flag, "/nowhere/f")


class Compared(BenchTest):
    def saved(self, name, *arguments, status=OK):
        got, out, _ = self.bench("--json", *arguments)
        self.assertEqual(got, status)
        return self.path(name, out.decode())

    def test_two_reports(self):
        a, b = self.saved("a", "-n", "1000"), self.saved("b", "-n", "1000", "-c", "4", "-p", "1k")
        status, out, err = self.bench("--json", "--compare", a, b)
        self.assertEqual((status, err), (OK, ""))
        got = json.loads(out)
        self.assertEqual(got["differs"], ["payload", "connections"])
        for name, f in got["figures"].items():
            self.assertAlmostEqual(f["ratio"] * f["first"], f["second"], delta=f["second"] / 1e6, msg=name)
        text = self.bench("--compare", a, b)[1].decode()
        self.assertRegex(text, r"throughput +[\d,]+/s +[\d,]+/s +\d+\.\d{3}\n")
        self.assertIn("differs      connections: 16, 4\n", text)

    def test_what_cannot_be_compared(self):
        a = self.saved("a", "-n", "10")
        self.refused("two reports", "--compare", a)
        self.refused("unable to open", "--compare", a, self.path("missing"))
        self.refused("no report of one run", "--compare", self.path("other", "{}"), a)
        self.refused("had no result", "--compare", a, self.path("none", '{"no_result":"late"}'))


if __name__ == "__main__":
    unittest.main()
