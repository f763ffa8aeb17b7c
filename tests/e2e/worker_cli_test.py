"""`ergon worker` against a server that does what the test says."""
import os
import queue
import signal
import subprocess
import tempfile
import unittest

from harness import AUTH, ERGON, LIMIT, NOT_FOUND, OK, USAGE, eventually, run_ergon, scratch, written
from scripted import Family, Peer, Scripted, children

place = None  # a folder for files


def setUpModule():
    global place
    place = scratch(unittest.addModuleCleanup)


class Hirer(Peer):
    """A connection over which a worker registers, unless it is refused."""

    def __init__(self, sock, refusal=None):
        self.refusal = refusal
        self.registrations = queue.Queue()
        self.quiets = queue.Queue()
        super().__init__(sock)

    def asked(self, msgid, method, params):
        if method == "worker.register" and self.refusal is not None:
            self.refuse(msgid, self.refusal)
        elif method == "worker.register":
            self.registrations.put(params)
            self.reply(msgid, {"worker": "w1", "slots": params[1].get("slots", 1), "methods": params[0]})
        elif method == "worker.quiet":
            self.quiets.put(params)
            self.reply(msgid, {"worker": "w1", "out": 0})
        else:
            self.refuse(msgid, "NO_METHOD: not here")

    def ask(self, method, *params, context=True, **more):
        """Sends a request; its id."""
        call = self.next_id + 1
        behind = [{"call": call, "task": "t1", "attempt": 2, "left": 5000, "tenant": "ann", **more}] if context else []
        return super().ask(method, *params, *behind)

    def call(self, method, *params, **more):
        """The error, "CODE: text", and the result; the traceback of the error is kept."""
        error, result = self.answer(self.ask(method, *params, **more))
        self.traceback = None
        if isinstance(error, dict):
            self.traceback = error["traceback"]
            error = f"{error['code']}: {error['message']}"
        return error, result

    def cancel(self, call, why="cancelled"):
        self.send(2, "worker.cancel", [call, why])

    def progress(self):
        method, params = self.told.get(timeout=LIMIT)
        return params if method == "worker.progress" else self.progress()


class WorkerTest(unittest.TestCase):
    def setUp(self):
        self.refusal = None
        self.server = Scripted(self.hirer)
        self.addCleanup(self.server.listener.close)

    def hirer(self, sock):
        return Hirer(sock, self.refusal)

    def start(self, *arguments, methods=("m",), server=None, before=(), **more):
        flags = [f for m in methods for f in ("--method", m)]
        self.log = tempfile.TemporaryFile("w+")
        self.addCleanup(self.log.close)
        self.process = subprocess.Popen([ERGON, "-s", (server or self.server).url, "worker", *before, *flags, *arguments],
                                        stdin=subprocess.DEVNULL, stderr=self.log, **more)
        self.addCleanup(self.end, self.process)
        return self.process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def worker(self, *arguments, **more):
        """A worker that has registered; its connection."""
        self.start(*arguments, **more)
        peer = self.server.peer()
        self.registration = peer.registrations.get(timeout=LIMIT)
        return peer

    def shell(self, script, *flags, **more):
        return self.worker(*flags, "--", "sh", "-c", script, **more)

    def said(self):
        return written(self.log)


class Registration(WorkerTest):
    def test_it_says_what_it_offers(self):
        self.worker("--slots", "3", "--name", "mine", "--lease", "20s", "--", "true", methods=("a", "b"))
        self.assertEqual(self.registration, [["a", "b"], {"slots": 3, "name": "mine", "host": os.uname().nodename, "context": True, "lease": 20000, "message": 32 << 20}])
        eventually(lambda: "serves a and others as w1, 3 at a time" in self.said(), "it says so")

    def test_it_says_its_version_the_share_of_that_and_what_is_secret(self):
        for flags, said in ((("--version", "2"), {"version": "2"}), (("--version=2", "--share", "5"), {"version": "2", "share": 5}),
                            (("--secret",), {"secret": True}), (("--no-secret",), {"secret": False})):
            self.worker(*flags, "--name", "mine", "--", "true")
            wanted = {"name": "mine", "host": os.uname().nodename, "slots": 1, "context": True, "message": 32 << 20, **said}
            self.assertEqual(self.registration, [["m"], wanted])

    def test_methods_of_a_type_of_actors(self):
        self.worker("--actor", "count", "--reads", "show", "--idle", "1m", "--name", "mine", "--", "true", methods=("add", "show"))
        self.assertEqual(self.registration[0], ["count.add", "count.show"])
        self.assertEqual(self.registration[1]["actors"], {"count": {"reads": ["show"], "idle": 60000}})
        for flags, text in ((("--actor", "count", "--method", "count.add"), "without the type"), (("--method", "m", "--durable", "none"), "by --actor"),
                            (("--actor", "c", "--method", "m", "--output", "bin"), "no --output"), (("--actor", "c" * 64, "--method", "m"), "64 bytes")):
            status, _, said = run_ergon(self.server.url, "worker", *flags, "--", "true")
            self.assertEqual((status, text in said), (USAGE, True), said)

    def test_a_command_runs_a_turn(self):
        peer = self.worker("--actor", "count", "--", "jq", "-c", '{result: .method, state: (.state + .params[0])}', methods=("add",))
        told = {"actor": "count/1", "state": 40, "schema": 0, "version": 1}
        self.assertEqual(peer.call("count.add", 2, **told), (None, ["add", {"state": 42}]))
        self.assertRegex(peer.call("count.add", "x", **told)[0], "^EXIT: ")

    def test_a_version_before_all_else_is_that_of_the_worker(self):
        self.start("--name", "mine", "--", "true", methods=(), before=("--version", "2", "--method", "m"))
        self.assertEqual(self.server.peer().registrations.get(timeout=LIMIT)[1]["version"], "2")

    def test_it_does_so_on_each_connection(self):
        first = self.shell("echo 1")
        first.hang_up()
        second = self.server.peer()
        self.assertEqual(second.registrations.get(timeout=LIMIT), self.registration)
        self.assertEqual(second.call("m"), (None, 1))

    def test_a_refusal_ends_it(self):
        for refusal, status in (("DENIED: not img", AUTH), ("NO_METHOD: what?", NOT_FOUND)):
            self.refusal = refusal
            server = Scripted(self.hirer)
            process = self.start("--", "true", server=server)
            peer = server.peer()
            self.assertEqual(process.wait(LIMIT), status)
            self.assertIn("ergon worker: " + refusal, self.said())
            peer.hang_up()
            server.listener.close()

    def test_a_server_that_is_full_is_asked_again(self):
        self.refusal = "BUSY: too many workers"
        self.start("--", "true")
        peer = self.server.peer()
        eventually(lambda: "it is tried again" in self.said(), "it has been refused")
        peer.refusal = None
        peer.registrations.get(timeout=LIMIT)

    def test_wrong_options(self):
        for flags, word in ((("--method", "m"), "argument"), (("--", "true"), "--method"),
                            (("--method", "m", "--input", "x", "--", "true"), "--input"),
                            (("--method", "m", "--output", "x", "--", "true"), "--output"),
                            (("--method", "m", "--on-lost", "x", "--", "true"), "--on-lost"),
                            (("--method", "m", "--slots", "4097", "--", "true"), "--slots"),
                            (("--method", "m", "--version", "v" * 33, "--", "true"), "1 to 32 bytes"),
                            (("--method", "m", "--version", "", "--", "true"), "1 to 32 bytes"),
                            (("--method", "m", "--version", "2", "--share", "101", "--", "true"), "1 to 100"),
                            (("--method", "m", "--version", "2", "--share", "0", "--", "true"), "--share"),
                            (("--method", "m", "--share", "5", "--", "true"), "--version")):
            status, _, err = run_ergon(self.server.url, "worker", *flags)
            self.assertEqual(status, USAGE, flags)
            self.assertIn(word, err)

    def test_a_ping_is_answered(self):
        peer = self.shell("sleep 1000")
        peer.ask("m")
        self.assertEqual(peer.call("worker.ping", context=False), (None, None))


class Commands(WorkerTest):
    def test_parameters_are_a_line_of_json(self):
        peer = self.worker("--output", "bin", "--", "cat")
        self.assertEqual(peer.call("m", 1, "zwei", [3.5], {"four": None}, b"\xff"),
                         (None, b'[1,"zwei",[3.5],{"four":null},{"$bytes":"/w=="}]\n'))
        self.assertEqual(peer.call("m"), (None, b"[]\n"))
        self.assertEqual(peer.call("m", context=False), (None, b"[]\n"))

    def test_raw_parameters(self):
        data = os.urandom(3 << 20)
        peer = self.worker("--input", "raw", "--output", "bin", "--", "cat")
        self.assertEqual(peer.call("m", data), (None, data))
        self.assertEqual(peer.call("m", "text"), (None, b"text"))
        self.assertEqual(peer.call("m", b""), (None, b""))
        for params in ((), (1,), (b"a", b"b")):
            self.assertTrue(peer.call("m", *params)[0].startswith("BAD_PARAMS: "))

    def test_parameters_as_arguments(self):
        peer = self.worker("--input", "args", "--output", "bin", "--", "printf", "<%s>")
        self.assertEqual(peer.call("m", "a b", 1, None, [1, "x"], ""), (None, b'<a b><1><null><[1,"x"]><>'))
        self.assertTrue(peer.call("m", "a\0b")[0].startswith("BAD_PARAMS: "))

    def test_output_as_it_looks(self):
        peer = self.worker("--input", "raw", "--", "cat")
        for out, result in ((b"", None), (b'{"a": [1, null]}\n', {"a": [1, None]}), (b"7\n", 7), (b"hello\nyou\n", "hello\nyou"),
                            (b"\xff\n", b"\xff\n"), (b"\n", ""), ("ä".encode(), "ä"), (b'{"$bytes": "/w=="}', b"\xff")):
            self.assertEqual(peer.call("m", out), (None, result), out)

    def test_output_that_is_to_be_json(self):
        peer = self.worker("--input", "raw", "--output", "json", "--", "cat")
        self.assertEqual(peer.call("m", b"[1]"), (None, [1]))
        for out in (b"", b"no", b"[1"):
            self.assertTrue(peer.call("m", out)[0].startswith("BAD_OUTPUT: "), out)

    def test_statuses_are_errors(self):
        peer = self.worker("--input", "args", "--", "sh", "-c", 'echo first >&2; echo "why $1" >&2; echo out; eval "$0"')
        for script, error in (("exit 3", "EXIT: status 3: why x"), ("exit 65", "BAD_PARAMS: why x"), ("exit 75", "AGAIN: 10s"),
                              ("kill -9 $$", "KILLED: signal 9"), ("kill -TERM $$", "KILLED: signal 15"),
                              ("exec no-such-command", "EXIT: status 127: ")):
            self.assertTrue(peer.call("m", script, "x")[0].startswith(error), script)
            self.assertEqual(peer.traceback is not None, script != "exit 75", script)
            self.assertTrue(peer.traceback is None or peer.traceback.startswith("first\nwhy x\n"), peer.traceback)
        self.assertEqual(peer.call("m", "exit 0", "x"), (None, "out"))

    def test_the_end_of_standard_error_goes_with_a_failure(self):
        peer = self.worker("--input", "args", "--", "sh", "-c", 'eval "$0"')
        for script, traceback in (
                ("exit 1", None), (r"printf 'a\n  b\nc' >&2; exit 1", "a\n  b\nc"),
                (r"printf '1%%\r50%%\r99%%\nTraceback\r\n' >&2; exit 1", "99%\nTraceback\n"),
                (r"printf 'a\000b\377\n' >&2; exit 65", "ab\ufffd\n")):
            peer.call("m", script)
            self.assertEqual(peer.traceback, traceback, script)
        peer.call("m", "i=0; while [ $i -lt 5000 ]; do echo line $i >&2; i=$((i + 1)); done; exit 1")
        self.assertLessEqual(len(peer.traceback), 16384)
        lines = peer.traceback.splitlines()
        self.assertEqual(lines, [f"line {i}" for i in range(5000 - len(lines), 5000)])
        self.assertGreater(len(lines), 1000)
        for end in ("", "\n"):
            peer.call("m", f"(head -c 40000 /dev/zero | tr '\\0' x; printf '{end}') >&2; exit 1")
            self.assertEqual(peer.traceback, ("x" * 16384 + end)[-16384:])

    def test_a_command_that_is_not_there(self):
        peer = self.worker("--", "no-such-command")
        self.assertEqual(peer.call("m")[0], "EXIT: status 127: ergon: no-such-command: No such file or directory")

    def test_the_environment(self):
        peer = self.shell('echo "$ERGON_METHOD $ERGON_TASK $ERGON_ATTEMPT $ERGON_LEFT_MS $ERGON_TENANT"')
        self.assertEqual(peer.call("m"), (None, "m t1 2 5000 ann"))
        self.assertEqual(peer.call("m", task=None, attempt=None, left=None), (None, "m    ann"))

    def test_input_that_is_not_read(self):
        peer = self.worker("--input", "raw", "--", "echo", "done")
        self.assertEqual(peer.call("m", b"x" * (4 << 20)), (None, "done"))

    def test_output_that_is_too_long(self):
        peer = self.worker("--", "yes")
        self.assertTrue(peer.call("m")[0].startswith("TOO_LARGE: "))
        with open(f"/proc/{self.process.pid}/statm") as f:
            self.assertLess(int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"), 200 << 20)

    def test_several_at_a_time(self):
        fifos = [os.path.join(place, name) for name in ("first", "second")]
        peer = self.shell("read x <$0; echo $x", "--slots", "2", "--input", "args")
        for fifo in fifos:
            os.mkfifo(fifo)
        calls = [peer.ask("m", fifo) for fifo in fifos]
        for fifo, call in reversed(list(zip(fifos, calls))):
            with open(fifo, "w") as f:
                f.write("done\n")
            self.assertEqual(peer.answer(call), (None, "done"))

    def test_no_zombie_and_no_descriptor_stays(self):
        peer = self.worker("--", "true")
        self.assertEqual(peer.call("m"), (None, None))
        before = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        for _ in range(20):
            self.assertEqual(peer.call("m"), (None, None))
        self.assertEqual(len(os.listdir(f"/proc/{self.process.pid}/fd")), before)
        self.assertEqual(children(self.process.pid), [])


class Progress(WorkerTest):
    def test_lines_of_standard_error(self):
        peer = self.shell("echo 3/10 halfway >&2; read x; echo $x >&2", "--input", "raw")
        call = peer.ask("m", b"done\n")
        self.assertEqual(peer.progress(), [call, 3, 10, "halfway"])
        self.assertEqual(peer.progress(), [call, 0, 0, "done"])
        self.assertEqual(peer.answer(call), (None, None))

    def test_many_lines_are_few_and_the_last_is_told(self):
        peer = self.shell("seq 100000 >&2")
        call = peer.ask("m")
        self.assertEqual(peer.answer(call), (None, None))
        told = []
        while not told or told[-1] != "100000":
            told.append(peer.progress()[3])
        self.assertLess(len(told), 1000)

    def test_a_bar_and_what_is_no_text(self):
        peer = self.shell(r"printf 'a\377\rb\n' >&2")
        call = peer.ask("m")
        self.assertEqual(peer.progress()[3], "a\ufffd")
        self.assertEqual(peer.progress()[3], "b")
        peer.answer(call)


FAMILY = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' & echo started >&2; sleep 1000"


class Ends(WorkerTest):
    def family(self, *flags, script=FAMILY):
        family = Family(place)
        peer = self.shell(family.joins + script, *flags)
        call = peer.ask("m")
        self.assertEqual(peer.progress()[3], "started")
        return peer, call, family

    def test_a_cancel(self):
        peer, call, _ = self.family(script="trap 'echo asked >&2; exit 3' TERM; echo started >&2; sleep 1000 & wait")
        peer.cancel(call + 1)
        peer.cancel(call, "deadline")
        self.assertEqual(peer.progress()[3], "asked")
        self.assertEqual(peer.answer(call)[0], "CANCELLED: deadline")

    def test_a_cancel_that_is_not_heeded(self):
        """Also of what has left the group and the session."""
        peer, call, _ = self.family()
        peer.cancel(call)
        self.assertEqual(peer.answer(call)[0], "CANCELLED: cancelled")
        self.assertEqual(children(self.process.pid), [])

    def test_a_lost_connection(self):
        peer, _, _ = self.family(script="echo started >&2; sleep 1000")
        peer.hang_up()
        second = self.server.peer()
        second.registrations.get(timeout=LIMIT)
        self.assertEqual(children(self.process.pid), [])

    def test_a_lost_connection_that_lets_finish(self):
        fifo, made = os.path.join(place, "finish"), os.path.join(place, "finished")
        os.mkfifo(fifo)
        peer, _, _ = self.family("--on-lost", "finish", script=f"echo started >&2; read x <{fifo}; touch {made}")
        peer.hang_up()
        second = self.server.peer()
        self.assertTrue(second.registrations.empty())
        with open(fifo, "w") as f:
            f.write("go\n")
        second.registrations.get(timeout=LIMIT)
        self.assertTrue(os.path.exists(made))

    def test_kill_9_takes_all_with_it_before_the_connection_ends(self):
        peer, _, family = self.family()
        self.process.kill()
        self.assertTrue(peer.at_end())
        self.assertTrue(family.is_gone())

    def test_term_waits_for_what_runs(self):
        fifo = os.path.join(place, "term")
        os.mkfifo(fifo)
        peer, call, _ = self.family(script=f"echo started >&2; read x <{fifo}; echo $x")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(peer.quiets.get(timeout=LIMIT), [])
        self.assertEqual(peer.call("m")[0], "AGAIN: 0")
        with open(fifo, "w") as f:
            f.write("go\n")
        self.assertEqual(peer.answer(call), (None, "go"))
        self.assertEqual(self.process.wait(LIMIT), OK)

    def test_term_gives_back_what_takes_too_long(self):
        peer, call, family = self.family("--grace", "10ms", script="echo started >&2; sleep 1000")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(peer.answer(call)[0], "AGAIN: 0")
        self.assertEqual(self.process.wait(LIMIT), OK)
        family.gone()

    def test_a_second_signal_does_not_wait(self):
        peer, call, family = self.family("--grace", "1h", script="echo started >&2; sleep 1000")
        self.process.send_signal(signal.SIGINT)
        peer.quiets.get(timeout=LIMIT)
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(peer.answer(call)[0], "AGAIN: 0")
        self.assertEqual(self.process.wait(LIMIT), OK)
        family.gone()

    def test_a_signal_that_is_ignored_from_the_start(self):
        """As nohup does; the others still count."""
        peer = self.shell("kill -HUP $$; echo lives", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.process.send_signal(signal.SIGHUP)
        self.assertEqual(peer.call("m"), (None, "lives"))
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(LIMIT), OK)

    def test_term_with_nothing_to_do(self):
        self.worker("--", "true")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(LIMIT), OK)

    def test_term_without_a_connection(self):
        self.server.listener.close()
        self.start("--", "true")
        eventually(lambda: "no connection" in self.said(), "it has found nobody")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(LIMIT), OK)


if __name__ == "__main__":
    unittest.main()
