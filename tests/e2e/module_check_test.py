"""ergon module check: it finds the handlers that crash or do not return, says by which parameters, and leaves nothing behind."""
import glob
import json
import os
import re
import shlex
import signal
import subprocess
import time
import unittest

from harness import BUILD, ERGON, ERGOND, INTERRUPTED, LIMIT, OK, REMOTE, USAGE, eventually, scratch

FAULTY = os.path.join(BUILD, "tests", "e2e", "faulty.so")
HARM = os.path.join(BUILD, "tests", "e2e", "harm.so")
DEMO = os.path.join(BUILD, "server", "modules", "demo.so")


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)
        # ergond is found on the path; what would configure another server is in the way.
        self.env = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(os.path.abspath(ERGOND)), os.environ["PATH"]]),
                    "TMPDIR": self.folder, "ERGON_LIMITS_DEPTH": "nonsense", "ERGON_URL": "unix:///nowhere"}

    def tearDown(self):
        self.assertEqual(os.listdir(self.folder), [])

    def ergon(self, *arguments, **env):
        done = subprocess.run([ERGON, *arguments], capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL,
                              env={**self.env, **env})
        return done.returncode, done.stdout, done.stderr

    def check(self, *arguments, **env):
        return self.ergon("module", "check", "--memory", "off", *arguments, **env)

    def sheets(self, status, *arguments):
        got, out, err = self.check("--json", *arguments)
        self.assertEqual((got, err), (status, ""), out)
        return {sheet["method"]: sheet for sheet in json.loads(out)["methods"]}

    def says(self, status, word, *arguments, **env):
        got, out, err = self.check(*arguments, **env)
        self.assertEqual((got, out), (status, ""), err)
        self.assertRegex(err, word)
        self.assertEqual(err.count("\n"), 1, err)


class Finds(CheckTest):
    def test_a_crash_with_small_parameters_that_repeat_it(self):
        sheet = self.sheets(REMOTE, FAULTY, "faulty.ratio", "--rounds", "200")["faulty.ratio"]
        fault = sheet["faults"][0]
        self.assertEqual((fault["code"], fault["reason"].split()[0], fault["output"]), ("CRASHED", "SIGABRT", "the divisor is zero"))
        self.assertEqual((fault["params"], fault["hex"]), ([0, 0], "920000"))
        self.assertRegex(fault["place"] or "faulty.so+0x1", r"^faulty\.so\+0x[0-9a-f]+$")
        self.assertGreater(sheet["answered"], 0)
        self.assertGreater(sheet["errors"]["BAD_PARAMS"]["count"], 50)
        self.assertEqual(sheet["calls"], sheet["answered"] + sheet["cut"] + sheet["crashed"] + sheet["stuck"] +
                         sum(code["count"] for code in sheet["errors"].values()))
        again = self.sheets(REMOTE, FAULTY, "faulty.ratio", "--params", fault["hex"])["faulty.ratio"]
        self.assertEqual((again["calls"], again["crashed"] + again["cut"]), (4, 4), again)
        self.assertGreaterEqual(again["crashed"], 2, again)  # what is cut off need not have begun

    def test_what_it_prints_repeats_it(self):
        status, out, err = self.check(FAULTY, "faulty.head", "--rounds", "1")
        self.assertEqual((status, err), (REMOTE, ""), out)
        self.assertRegex(out, r"^faulty\.head: \d+ calls: \d+ answered, .* CRASHED; the longest took ")
        self.assertRegex(out, r"\n  CRASHED: SIGSEGV at 0x0 in faulty\.so\+0x\w+, \d+ times; case \d+ of seed 1, called\n"
                              r'    parameters \(made smaller\): \["x{290,}\.\.\.\n')
        words = shlex.split(re.search("again: ergon (.*)", out)[1])
        status, again, err = self.ergon(*words)
        self.assertEqual((status, err), (REMOTE, ""), again)
        self.assertIn("\n  CRASHED: SIGSEGV at 0x0", again)

    def test_a_handler_that_does_not_return(self):
        sheet = self.sheets(REMOTE, FAULTY, "faulty.nap", "--rounds", "1", "--limit", "100ms", "--stuck", "1s")["faulty.nap"]
        self.assertEqual((sheet["crashed"], sheet["faults"][0]["code"], sheet["faults"][0]["params"]), (0, "STUCK", [""]))
        self.assertGreater(sheet["stuck"], 0)

    def test_what_a_handler_has_begun_and_crashes_later(self):
        sheet = self.sheets(REMOTE, FAULTY, "faulty.later", "--rounds", "1")["faulty.later"]
        self.assertGreater(sheet["crashed"], 0)
        self.assertIn("SIGABRT", sheet["faults"][0]["reason"])

    def test_good_handlers_pass_also_those_that_are_cancelled(self):
        sheets = self.sheets(OK, FAULTY, "faulty.good", "faulty.patient", "--rounds", "20", "--limit", "20ms")
        self.assertEqual([sheet["faults"] for sheet in sheets.values()], [[], []])
        self.assertEqual(list(sheets), ["faulty.good", "faulty.patient"])
        patient = sheets["faulty.patient"]
        self.assertEqual((patient["cut"], patient["answered"]), (patient["calls"], 0))
        self.assertGreater(patient["late"], 20)

    def test_words_of_the_module_lead_to_each_harm(self):
        sheet = self.sheets(REMOTE, HARM, "harm.nap", "--rounds", "1", "--stuck", "1s", "--limit", "300ms")["harm.nap"]
        found = {tuple(fault["params"]): fault["reason"] for fault in sheet["faults"]}
        self.assertIn(("abort",), found)
        self.assertIn("SIGABRT", found["abort",])
        self.assertIn(("_exit",), found)

    def test_each_harm_by_its_parameters(self):
        for word, reason in (("segv", "SIGSEGV"), ("exit", "exit"), ("_exit", "status 3"), ("abort", "SIGABRT"), ("kill", "SIGKILL")):
            for method in "harm.step", "harm.nap", "harm.block":
                digits = bytes([0x91, 0xa0 + len(word), *word.encode()]).hex()
                sheet = self.sheets(REMOTE, HARM, method, "--params", digits)[method]
                self.assertEqual(sheet["crashed"] + sheet["cut"], 4, (word, sheet))
                self.assertGreaterEqual(sheet["crashed"], 2, (word, sheet))
                self.assertIn(reason, sheet["faults"][0]["reason"], (word, method))

    def test_time_instead_of_rounds(self):
        begin = time.monotonic()
        sheet = self.sheets(OK, FAULTY, "faulty.good", "--time", "1s")["faulty.good"]
        self.assertGreaterEqual(time.monotonic() - begin, 1)
        self.assertGreater(sheet["calls"], 0)


class Refuses(CheckTest):
    def test_what_is_no_module(self):
        text = os.path.join(self.folder, "text.so")
        with open(text, "w") as out:
            out.write("no module")
        self.says(USAGE, "text.so", text)
        os.unlink(text)
        self.says(USAGE, "^ergon: /nowhere/x.so: No such file or directory$", "/nowhere/x.so")
        self.says(USAGE, "no ',' or ';'", FAULTY + ",process")
        self.says(USAGE, "actors", DEMO)

    def test_a_module_that_does_not_begin(self):
        self.says(USAGE, r"it ended before it said what it brings.*: signal 6 \(SIGABRT\)", FAULTY, FAULTY="c")
        self.says(USAGE, "brings no methods", FAULTY, FAULTY="n")
        self.says(USAGE, "there is no licence", FAULTY, FAULTY="r")

    def test_words_that_mean_nothing(self):
        self.says(USAGE, "brings no method 'nope'", FAULTY, "nope")
        self.says(USAGE, "--params is not the digits", FAULTY, "--params", "zz")
        self.says(USAGE, "--params is not the digits", FAULTY, "--params", "c0")
        self.says(USAGE, "--stuck must be 1s or more", FAULTY, "--stuck", "10ms")
        self.says(USAGE, "memory is a size", FAULTY, "--memory", "1k")

    def test_without_ergond(self):
        self.says(USAGE, "cannot run ergond", FAULTY, PATH=self.folder)


class Ends(CheckTest):
    """By a signal: nothing is left, neither a file nor a process."""

    def left(self, run):
        """Processes that began with it."""
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as file:
                    if f"TMPDIR={self.folder}".encode() in file.read().split(b"\0") and path != f"/proc/{run.pid}/environ":
                        found.append(path)
            except OSError:
                pass
        return found

    def run_until_it_works(self):
        run = subprocess.Popen([ERGON, "module", "check", "--memory", "off", FAULTY, "faulty.patient", "--time", "5m"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        eventually(lambda: len(self.left(run)) >= 3, "the guardian, the server and the module's process run")
        eventually(lambda: os.listdir(self.folder) == [], "it is connected")
        return run

    def test_interrupted(self):
        for number in signal.SIGINT, signal.SIGTERM:
            run = self.run_until_it_works()
            run.send_signal(number)
            out, err = run.communicate(timeout=LIMIT)
            self.assertEqual((run.returncode, err), (INTERRUPTED, ""))
            self.assertRegex(out, r"^(faulty\.patient: \d+ call|$)")
            self.assertEqual(self.left(run), [])

    def test_killed(self):
        run = self.run_until_it_works()
        run.kill()
        run.communicate(timeout=LIMIT)
        eventually(lambda: self.left(run) == [], "no process is left")


if __name__ == "__main__":
    unittest.main()
