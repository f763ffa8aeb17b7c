"""Tracepoints: they are in the program as tools look for them, and tell of a task's way what the server says of it.

gdb and bpftrace look in, each where it is installed and may; bpftrace runs the scripts of dist/bpftrace.
"""
import os
import re
import shutil
import signal
import subprocess
import threading
import unittest

from harness import BUILD, ERGOND, LIMIT, SANITIZED, SOURCE, RemoteError, Server, scratch

# What base/tracepoint.h promises: how many arguments each has.
ARGUMENTS = {"call": 5, "submit": 6, "queue": 3, "give": 6, "start": 4, "end": 5, "answer": 4}



def built():
    with open(os.path.join(BUILD, "CMakeCache.txt")) as f:
        return re.search(r"^ERGON_HAS_SDT:\w+=(1|ON|TRUE)$", f.read(), re.M) is not None


def notes(program):
    """Of each place of a probe in the program: its name, the address of its semaphore, its arguments."""
    text = subprocess.run(["readelf", "-nW", program], capture_output=True, text=True, check=True, timeout=LIMIT).stdout
    return [(name, int(semaphore, 16), arguments.split()) for name, semaphore, arguments in re.findall(
        r"Provider: ergon\n\s+Name: (\w+)\n\s+Location: 0x[0-9a-f]+, Base: 0x[0-9a-f]+, Semaphore: 0x([0-9a-f]+)\n"
        r"\s+Arguments:([^\n]*)", text)]


@unittest.skipUnless(built(), "built without tracepoints: systemtap-sdt-dev was not installed")
class TracepointsTest(unittest.TestCase):
    def start(self, **more):
        self.place = scratch(self.addCleanup)
        server = Server("--loops", "2", "--log-level", "debug", "--store", os.path.join(self.place, "tasks.db"), **more)
        self.addCleanup(server.discard)
        return server

    def work(self, server):
        """Calls, one that fails, one that nobody waits for any more, and a task; its id."""
        with server.connect() as client:
            for n in range(3):
                self.assertEqual(client.call("echo", n), n)
            client.call("hash", "md5", "x")
            with self.assertRaises(RemoteError):
                client.call("fail", "FULL", "no room")
            task = client.call("task.submit", "block", ["1ms"], {"durable": "fsync"})["id"]
            client.call("task.wait", task)
        return task

    def test_the_program_has_them(self):
        found = notes(ERGOND)
        self.assertEqual({name for name, *_ in found}, set(ARGUMENTS))
        for name, semaphore, arguments in found:
            self.assertEqual(len(arguments), ARGUMENTS[name], name)
            self.assertGreater(semaphore, 0, name)
        self.assertEqual(len({semaphore for _, semaphore, _ in found}), len(ARGUMENTS))

    def test_the_package_brings_the_scripts(self):
        with open(os.path.join(SOURCE, "debian", "ergon-server.install")) as f:
            self.assertIn("usr/share/ergon/bpftrace", f.read())

    @unittest.skipIf(SANITIZED, "gdb beside a sanitizer")
    @unittest.skipUnless(shutil.which("gdb"), "gdb is not installed")
    def test_gdb_follows_a_task(self):
        formats = {
            "call": ("%lu %s %lu", 0, 1, 3), "submit": ("%lu %s %lu %s", 0, 1, 3, 5), "queue": ("%lu %s", 0, 1),
            "give": ("%lu %s %u %lu %s", 0, 1, 3, 4, 5), "start": ("%lu %s %u", 0, 1, 3), "end": ("%lu %s %u %d", 0, 1, 3, 4),
            "answer": ("%lu %s %d", 0, 1, 3)}
        script = os.path.join(scratch(self.addCleanup), "follow.gdb")
        log = script + ".log"
        with open(script, "w") as f:
            f.write(f"set pagination off\nset breakpoint pending off\nset print thread-events off\nset debuginfod enabled off\n"
                    f"set logging file {log}\nset logging redirect on\nset logging enabled on\n"
                    "handle SIGTERM nostop noprint pass\nhandle all nostop noprint pass\n")
            for name, (form, *numbers) in formats.items():
                # A text is read from the server's memory.
                values = ", ".join(("(char *)" if part == "%s" else "") + f"$_probe_arg{n}"
                                   for part, n in zip(form.split(), numbers))
                f.write(f"break -probe-stap ergon:{name}\ncommands\nsilent\nprintf \"@{name} {form}\\n\", {values}\ncontinue\nend\n")
            f.write("run\n")
        server = self.start(wrapper=("gdb", "-q", "-nx", "-batch", "-x", script, "--args"))
        task = self.work(server)
        # gdb is not the server: it ends when the server does.
        children = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(server.pid)], capture_output=True, text=True,
                                  check=True).stdout.split("\n")
        os.kill(int(next(c for c in children if "ergond" in c).split()[0]), signal.SIGTERM)
        server.wait()
        with open(log, errors="replace") as f:
            told = [line[1:].split() for line in f if line.startswith("@")]
        self.check(told, task)

    def check(self, told, task):
        """What each of the tracepoints told of the work, in its order."""
        def of(number):
            return [line[:1] + line[2:] for line in told if line[1] == number]

        def numbers(name, method):
            return [line[1] for line in told if line[0] == name and line[2] == method]

        echoes = numbers("call", "echo")
        self.assertEqual(len(set(echoes)), 3, told)
        conn = next(line[3] for line in told if line[0] == "call")
        for number in echoes:
            self.assertEqual([line[0] for line in of(number)], ["call", "start", "end", "answer"])
            self.assertEqual(of(number)[0], ["call", "echo", conn])
            self.assertEqual(of(number)[2][3], "0")
            self.assertEqual(of(number)[3], ["answer", "echo", "0"])
        hashed, = numbers("call", "hash")
        self.assertEqual([line[0] for line in of(hashed)], ["call", "queue", "give", "start", "end", "answer"])
        executor = of(hashed)[2][2]
        self.assertEqual(of(hashed)[2:5], [["give", "hash", executor, "0"], ["start", "hash", executor],
                                           ["end", "hash", executor, "0"]])
        failed, = numbers("call", "fail")
        self.assertEqual(of(failed)[-1], ["answer", "fail", "5"])  # FAILED, 1 in PROTOCOL.md
        submit, = [line for line in told if line[0] == "submit"]
        self.assertEqual(submit[2:], ["block", conn, task])
        # An attempt to which its executor takes long to come is taken back, and the task is queued and given once more.
        gives = [line for line in told if line[0] == "give" and line[2] == "block"]
        self.assertEqual([line[0] for line in of(submit[1])], ["submit", *["queue"] * len(gives), "answer"])
        for give in gives:
            self.assertEqual(give[4:], [submit[1], task])
            last = give is gives[-1]
            self.assertEqual([line[0] for line in of(give[1])], ["give", "start", "end"] if last else ["give"])

    # --- bpftrace ---

    def run_script(self, name, *arguments):
        if os.geteuid() != 0 or not shutil.which("bpftrace"):
            self.skipTest("bpftrace is not installed, or this is not root")
        able = subprocess.run(["bpftrace", "-e", "BEGIN { exit(); }"], capture_output=True, text=True, timeout=LIMIT)
        if able.returncode != 0:
            self.skipTest("this kernel lets bpftrace do nothing: " + able.stderr[-200:])
        server = self.start()
        tracer = subprocess.Popen(["bpftrace", "-B", "line", "-p", str(server.pid), os.path.join(SOURCE, "dist", "bpftrace", name),
                                   *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(tracer.stdout.close)
        end = threading.Timer(LIMIT, tracer.kill)
        end.start()
        try:
            # The script's own first line: what is printed is read by bpftrace when it has come to all tracepoints, not before.
            text = ""
            while not text.endswith(("EXECUTOR ERROR\n", "what was seen.\n")):
                line = tracer.stdout.readline()
                self.assertTrue(line, "bpftrace ended: " + text)
                text += line
            task = self.work(server)
            # What a client has heard of the last task may come before the tracepoint: by its end the server is past all of them,
            # and bpftrace ends with it.
            self.assertEqual(server.stop(), 0)
            text = tracer.communicate()[0]
        finally:
            end.cancel()
            tracer.kill()
            tracer.wait()
        self.assertEqual(tracer.returncode, 0, text)
        return task, text

    def test_the_stages_are_counted(self):
        _, text = self.run_script("ergon-stages.bt")
        counts = {}
        for name, method, rows in re.findall(r"^@(\w+)\[(\w+)\]: \n((?:[\[(].*\n)+)", text, re.M):
            counts[name, method] = sum(int(n) for n in re.findall(r"[)\]]\s+(\d+) \|", rows))
        # A submitted task stands in the queue once more when its executor took long to come to it.
        self.assertGreaterEqual(counts.pop(("s2_in_queue", "block"), 0), 1, text)
        self.assertEqual(counts, {
            ("s1_until_queued", "hash"): 1, ("s2_in_queue", "hash"): 1, ("s3_hand_over", "hash"): 1,
            ("s1_until_queued", "block"): 1, ("s3_hand_over", "block"): 1,
            **{(stage, method): times for stage in ("s4_in_handler", "s5_until_answered", "whole")
               for method, times in (("echo", 3), ("hash", 1), ("fail", 1), ("block", 1))}}, text)
        self.assertIn("@errors[fail, 5]: 1\n", text)

    def test_slow_tasks_are_listed(self):
        task, text = self.run_script("ergon-slow.bt", "0")
        # bpftrace reads what each processor wrote, one after the other.
        rows = [line.split() for line in text.splitlines() if re.match(r"(t[0-9a-z]{13}|\d+) ", line)]
        self.assertEqual(sorted((row[1], row[7]) for row in rows),
                         [("block", "0"), ("echo", "0"), ("echo", "0"), ("echo", "0"), ("fail", "5"), ("hash", "0")], text)
        self.assertEqual([row[0] for row in rows if row[1] == "block"], [task])
        self.assertEqual(len({row[2] for row in rows}), 1)  # the connection

    def test_a_task_that_is_not_slow_is_not_listed(self):
        _, text = self.run_script("ergon-slow.bt", "100000")
        self.assertNotIn("echo", text)


if __name__ == "__main__":
    unittest.main()
