"""Commands as services: `ergon worker` against the real server, which gives it calls and tasks, loses it, and hears from it."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import ERGON, LIMIT, LIMITED, NOT_FOUND, OK, REMOTE, Server, eventually, scratch, token_of, write_tokens
from scripted import children

ALL = "*,worker.offer.*,worker.any"
PNG = bytes.fromhex("89504e470d0a1a0a")


class ServiceTest(unittest.TestCase):
    def setUp(self):
        self.place = scratch(self.addCleanup)
        tokens = write_tokens(self.place, {"ann": ALL, "bob": "*"})
        config = os.path.join(self.place, "ergond.yaml")
        with open(config, "w") as f:
            f.write(f"tokens_file: {tokens}\nlisten:\n  - {{url: \"ergon://127.0.0.1:0\", auth: token}}\n")
        self.server = Server("--config", config, listen=())
        self.killed = False
        self.addCleanup(self.end_server)
        self.url = self.server.process.stdout.readline().strip()
        self.workers = []
        self.addCleanup(self.end_all)  # before the server's end

    def end_server(self):
        if self.killed:
            self.server.discard()
        else:
            self.server.__exit__(None)

    def end_all(self):
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()

    def command(self, *arguments, who="ann"):
        return [ERGON, "-s", self.url, *arguments], {**os.environ, "ERGON_TOKEN": token_of(who)}

    def ergon(self, *arguments, stdin=None, **more):
        words, env = self.command(*arguments, **more)
        done = subprocess.run(words, env=env, input=stdin, capture_output=True, timeout=LIMIT)
        return done.returncode, done.stdout, done.stderr.decode()

    def good(self, *arguments, **more):
        status, out, err = self.ergon(*arguments, **more)
        self.assertEqual(status, OK, err)
        return out

    def json(self, *arguments):
        return json.loads(self.good("--json", *arguments))

    def work(self, method, *arguments):
        """A worker that has registered."""
        before = len(self.json("worker", "list"))
        words, env = self.command("worker", "--method", method, *arguments)
        log = tempfile.TemporaryFile("w+")
        self.addCleanup(log.close)
        process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stderr=log)
        self.workers.append(process)
        eventually(lambda: process.poll() is not None or len(self.json("worker", "list")) > before, "the worker is listed")
        self.assertIsNone(process.poll())
        return process

    def shell(self, method, script, *flags):
        return self.work(method, *flags, "--", "sh", "-c", script)

    def task(self, task):
        return self.json("task", "get", "--history", task)

    def submit(self, *arguments):
        return self.good("task", "submit", *arguments).decode().strip()

    def until_running(self, task):
        eventually(lambda: self.task(task)["state"] == "running", "the task runs")


class Services(ServiceTest):
    def test_calls_and_tasks(self):
        self.work("up", "--input", "raw", "--", "tr", "a-z", "A-Z")
        self.assertEqual(self.good("call", "up", "hello"), b"HELLO")
        self.assertEqual(self.good("task", "submit", "--wait", "up", "there"), b"THERE")
        self.shell("env", "echo \"$ERGON_METHOD $ERGON_TASK $ERGON_ATTEMPT $ERGON_TENANT\"")
        task = self.submit("env")
        self.assertEqual(self.good("task", "wait", "--result", task).decode(), f"env {task} 1 ann")

    def test_large_parameters_and_results(self):
        data = os.urandom(5 << 20)
        self.work("same", "--input", "raw", "--output", "bin", "--", "cat")
        self.assertEqual(self.good("call", "same", "-", stdin=data), data)

    def test_parameters_that_are_longer_than_it_takes(self):
        worker = self.work("short", "--message", "1m", "--input", "raw", "--", "wc", "-c")
        data = bytes(8 << 20)
        refusal = r"TOO_LARGE: the request has up to 83\d{5} bytes, and worker w\d+ takes 1048576 "
        self.assertRegex(self.ergon("call", "short", "-", stdin=data)[2], refusal)
        words, env = self.command("task", "submit", "--retries", "5", "short", "-")
        task = subprocess.run(words, env=env, input=data, capture_output=True, check=True).stdout.decode().strip()
        self.ergon("task", "wait", task)
        ended = self.task(task)
        self.assertEqual((ended["state"], ended["attempt"], ended["losses"]), ("failed", 1, 0))
        self.assertIn("takes 1048576 ", str(ended["error"]))
        self.assertEqual(self.good("call", "short", "there"), b"5\n")
        self.assertEqual([w["message"] for w in self.json("worker", "list")], [1 << 20])
        self.assertIsNone(worker.poll())

    def test_a_failure_is_found_read_edited_and_submitted_again(self):
        self.shell("mail", 'read p; case $p in *order-17*) printf "Traceback:\\n  line 3\\nno such user\\n" >&2; exit 1;; esac; echo sent', "--version", "7")
        others = [self.submit("--retries", "1", "--backoff", "1ms", "mail", json.dumps({"order": f"order-{n}"}), "@/bin/true") for n in (16, 17)]
        self.ergon("task", "wait", *others)
        found = self.good("task", "list", "--contains", "order-17", "-o", "name").decode().split()
        self.assertEqual(found, others[1:])
        self.assertRegex(self.good("task", "list", "--contains", "order-17", "-o", "wide").decode(), r"""\[{"order": ?"order-17"}, h'7f454c46""")
        shown = self.good("task", "get", *found).decode()
        self.assertRegex(shown, r"""(?m)^params +\[{"order": ?"order-17"}, h'7f454c46.*bytes""")
        host = re.escape(os.uname().nodename)
        self.assertRegex(shown, rf"(?m)^ +1 +failed +w\d+ +{host} +7 +\S+ \S+ +\S+ \S+ +EXIT: status 1: no such user")
        self.assertTrue(shown.endswith("traceback of attempt 2\n  Traceback:\n    line 3\n  no such user\n"), shown)
        self.assertIn("traceback of attempt 1\n", self.good("task", "get", "--attempts", *found).decode())
        self.assertRegex(self.good("task", "explain", *found).decode(), r'(?m)^params +\[{"order"')
        params = json.loads(self.good("task", "get", "--params", *found))
        params[0]["order"] = "order-18"
        self.assertEqual(self.good("task", "edit", *found, "--params", "-", "--wait", stdin=json.dumps(params).encode()), b"sent")
        words, env = self.command("task", "edit", *found, "--wait")
        done = subprocess.run(words, env={**env, "VISUAL": "", "EDITOR": "sed -i s/order-17/order-19/"}, capture_output=True, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stdout), (OK, b"sent"), done.stderr)
        edited = self.json("task", "list", "--contains", "order-19")
        self.assertEqual([(t["method"], t["retries"], t["state"]) for t in edited], [("mail", 1, "done")])
        self.assertEqual(self.good("task", "get", "--params", edited[0]["id"]), self.good("task", "get", "--params", *found).replace(b"order-17", b"order-19"))

    def test_its_command_has_no_token(self):
        self.shell("token", 'echo "[${ERGON_TOKEN-none}]"', "--output", "bin")
        self.assertEqual(self.good("call", "token"), b"[none]\n")

    def test_who_may_not_offer_is_told(self):
        words, env = self.command("worker", "--method", "up", "--", "true", who="bob")
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=LIMIT)
        self.assertNotEqual(done.returncode, OK)
        self.assertIn("DENIED", done.stderr)
        self.assertIn("worker.offer.up", done.stderr)

    def test_errors(self):
        self.work("fails", "--input", "args", "--", "sh", "-c", 'echo "no $0" >&2; exit $0')
        status, _, err = self.ergon("call", "fails", "3")
        self.assertEqual((status, err), (REMOTE, "ergon call: EXIT: status 3: no 3\n"))
        self.assertIn("BAD_PARAMS: no 65", self.ergon("call", "fails", "65")[2])
        self.assertEqual(self.ergon("call", "fails", "75")[0], LIMITED)

    def test_a_task_that_fails_is_tried_again_and_bad_parameters_are_not(self):
        self.shell("once", 'test "$ERGON_ATTEMPT" -ge 2', "--input", "args")
        self.good("task", "submit", "--wait", "--retries", "1", "--backoff", "1ms", "once")
        self.work("bad", "--", "sh", "-c", "exit 65")
        task = self.submit("--retries", "5", "bad")
        self.ergon("task", "wait", task)
        self.assertEqual(self.task(task)["attempt"], 1)

    def test_progress(self):
        fifo = os.path.join(self.place, "fifo")
        os.mkfifo(fifo)
        self.shell("slow", f"echo 3/10 halfway >&2; read x <{fifo}")
        task = self.submit("slow")
        eventually(lambda: (self.task(task)["progress"] or {}).get("text") == "halfway", "progress is told")
        self.assertEqual((self.task(task)["progress"]["done"], self.task(task)["progress"]["total"]), (3, 10))
        with open(fifo, "w") as f:
            f.write("\n")
        self.good("task", "wait", task)

    def test_a_cancel_ends_the_command(self):
        worker = self.shell("long", "setsid sleep 1000 & sleep 1000")
        task = self.submit("long")
        self.until_running(task)
        self.good("task", "cancel", task)
        eventually(lambda: children(worker.pid) == [], "the command has gone")

    def test_a_caller_that_vanishes_ends_the_command(self):
        worker = self.work("long", "--", "sleep", "1000")
        words, env = self.command("call", "long")
        caller = subprocess.Popen(words, env=env)
        eventually(lambda: children(worker.pid) != [], "the command runs")
        caller.kill()
        caller.wait()
        eventually(lambda: children(worker.pid) == [], "the command has gone")


# Whoever runs beside what is left of an attempt before says so.  All processes of an attempt hold the lock.
ALONE = "exec 9>>{0}/lock; flock -n 9 || echo beside >>{0}/beside; (setsid sleep 1000 &) ; echo >>{0}/ran; {1}"


class Losses(ServiceTest):
    def alone(self, then):
        return ALONE.format(self.place, then)

    def ran(self):
        try:
            return os.path.getsize(os.path.join(self.place, "ran"))  # a byte each time
        except FileNotFoundError:
            return 0

    def test_kill_9_of_a_worker_takes_its_commands_before_others_run(self):
        """The task runs elsewhere at once, and finds nothing of the attempt before."""
        worker = self.shell("m", self.alone("sleep 1000"))
        task = self.submit("m")
        eventually(lambda: self.ran() == 1, "the command runs")
        self.shell("m", self.alone("exit 0"))
        worker.kill()
        self.good("task", "wait", task)
        self.assertFalse(os.path.exists(os.path.join(self.place, "beside")))
        history = [e["event"] for e in self.task(task)["history"]]
        self.assertIn("interrupted", history)

    def test_term_gives_tasks_back(self):
        worker = self.shell("m", self.alone("sleep 1000"), "--grace", "1ms")
        task = self.submit("m")
        eventually(lambda: self.ran() == 1, "the command runs")
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(LIMIT), OK)
        self.shell("m", self.alone("exit 0"))
        self.good("task", "wait", task)
        self.assertFalse(os.path.exists(os.path.join(self.place, "beside")))

    def test_a_server_that_is_lost(self):
        worker = self.work("long", "--", "sleep", "1000")
        task = self.submit("long")
        self.until_running(task)
        self.killed = True
        self.server.process.kill()
        eventually(lambda: children(worker.pid) == [], "the command has gone")

    def test_a_server_that_stops_gives_time(self):
        fifo = os.path.join(self.place, "fifo")
        os.mkfifo(fifo)
        worker = self.shell("m", f"read x <{fifo}; echo $x")
        words, env = self.command("call", "m")
        caller = subprocess.Popen(words, env=env, stdout=subprocess.PIPE)
        eventually(lambda: children(worker.pid) != [], "the command runs")
        self.server.signal(signal.SIGTERM)
        eventually(lambda: "DRAINING" in self.server.log_text(), "the server drains")
        with open(fifo, "w") as f:
            f.write("done\n")
        self.assertEqual(caller.communicate(timeout=LIMIT)[0], b"done")


class Overview(ServiceTest):
    def test_list_quiet_and_resume(self):
        fifo = os.path.join(self.place, "fifo")
        os.mkfifo(fifo)
        self.shell("m", f"read x <{fifo}; echo $x", "--slots", "2", "--name", "mine")
        task = self.submit("m")
        self.until_running(task)
        (worker,) = self.json("worker", "list", "--method", "m")
        self.assertEqual((worker["name"], worker["slots"], worker["out"], worker["methods"]), ("mine", 2, 1, ["m"]))
        self.assertEqual(worker["calls"][0]["task"], task)
        table = self.good("worker", "list").decode()
        self.assertIn("mine", table)
        self.assertRegex(table, r"m for \d+ s")
        self.assertIn("1 out", self.good("worker", "quiet", worker["worker"]).decode())
        self.assertEqual(self.json("worker", "list")[0]["state"], "quiet")
        self.assertEqual(self.ergon("call", "m")[0], LIMITED)
        self.good("worker", "resume", worker["worker"])
        with open(fifo, "w") as f:
            f.write("done\n")
        self.assertEqual(self.good("task", "wait", "--result", task), b"done")
        self.assertEqual(self.ergon("worker", "quiet", "w999")[0], NOT_FOUND)
        self.assertEqual(self.json("worker", "list", "--method", "other"), [])


class Many(ServiceTest):
    def test_four_workers_two_of_them_killed(self):
        """Every task is done, and right."""
        for _ in range(4):
            self.work("digest", "--slots", "2", "--input", "raw", "--", "sha256sum")
        texts = [f"text {n}" for n in range(60)]
        lines = "".join(json.dumps(["digest", [t]]) + "\n" for t in texts)
        tasks = self.good("task", "submit", "--many", "-", stdin=lines.encode()).decode().split()
        eventually(lambda: self.task(tasks[10])["state"] == "done", "some are done")
        for worker in self.workers[:2]:
            worker.kill()
        for task, text in zip(tasks, texts):
            out = subprocess.run(["sha256sum"], input=text.encode(), capture_output=True, check=True).stdout
            self.assertEqual(self.good("task", "wait", "--result", task), out.rstrip(b"\n"))

    @unittest.skipUnless(shutil.which("/usr/bin/convert"), "ImageMagick is not installed")
    def test_thumbnails(self):
        picture = os.path.join(self.place, "picture.png")
        subprocess.run(["/usr/bin/convert", "-size", "640x480", "gradient:red-blue", picture], check=True)
        for _ in range(2):
            self.work("thumb", "--input", "raw", "--output", "bin", "--", "/usr/bin/convert", "-", "-resize", "64x64", "png:-")
        tasks = [self.submit("thumb", "@" + picture) for _ in range(8)]
        self.workers[0].kill()
        for task in tasks:
            out = self.good("task", "wait", "--result", task)
            self.assertTrue(out.startswith(PNG))
            self.assertEqual((int.from_bytes(out[16:20], "big"), int.from_bytes(out[20:24], "big")), (64, 48))


if __name__ == "__main__":
    unittest.main()
