"""`ergon sem run` against a server that does what the test says: what is asked when, and when the command has to go."""
import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import time
import unittest

from harness import CONNECT, ERGON, LIMIT, NOT_FOUND, OK, REMOTE, TIMEOUT, USAGE, eventually, run_ergon, scratch, written
from scripted import Family, Peer, Scripted

place = None  # a folder for files
KILLED = 128 + signal.SIGKILL
GRACE = "6s"  # where permits are kept: the test, and the command, may stand still for two thirds of it; "3s", the least: where they are lost


def setUpModule():
    global place
    place = scratch(unittest.addModuleCleanup)


class Keeper(Peer):
    """A connection whose requests the test answers."""

    def __init__(self, sock):
        self.requests = queue.Queue()
        super().__init__(sock)

    def asked(self, msgid, method, params):
        self.requests.put((msgid, method, params))

    def expect(self, method):
        """The next request, which is this one; its id and parameters."""
        msgid, got, params = self.requests.get(timeout=LIMIT)
        assert got == method, f"{got} {params}, not {method}"
        return msgid, params

    def grant(self, fence=7):
        msgid, params = self.expect("sem.acquire")
        self.reply(msgid, {"hold": "secret", "fence": fence, "permits": 1, "waited_ms": 0})
        return params

    def grant_late(self, fence=7):
        """After a third of GRACE, so that whoever asked has to renew first."""
        msgid, _ = self.expect("sem.acquire")
        granted = time.monotonic() + 2.2
        eventually(lambda: time.monotonic() > granted, "some time passes")
        self.reply(msgid, {"hold": "secret", "fence": fence})

    def keep(self):
        """Answers each renewal, and what else is asked, until the permits go back."""
        while True:
            msgid, method, params = self.requests.get(timeout=LIMIT)
            self.reply(msgid, {"fence": 7})
            if method == "sem.release":
                return params


class SemTest(unittest.TestCase):
    def setUp(self):
        self.server = Scripted(Keeper)
        self.addCleanup(self.server.listener.close)

    def start(self, *arguments, **more):
        self.log = tempfile.TemporaryFile("w+")
        self.addCleanup(self.log.close)
        self.process = subprocess.Popen([ERGON, "-s", self.server.url, "sem", "run", "s", *arguments],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True, **more)
        self.addCleanup(self.end, self.process)
        return self.server.peer()

    def shell(self, script, *flags, **more):
        return self.start(*flags, "--", "sh", "-c", script, **more)

    def end(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()
        process.stdout.close()

    def said(self):
        return written(self.log)

    def line(self):
        return self.process.stdout.readline().strip()

    def ends(self, status, *words):
        self.assertEqual(self.process.wait(LIMIT), status, self.said())
        for word in words:
            self.assertIn(word, self.said())


class Runs(SemTest):
    def test_it_acquires_runs_and_releases(self):
        peer = self.shell("echo $ERGON_SEM $ERGON_FENCE", "--permits", "3", "--take", "2", "--wait", "1h", "--grace", "5s",
                          "--durable", "none")
        name, options = peer.grant(fence=12)
        self.assertEqual(name, "s")
        self.assertLessEqual(options.pop("wait"), 3600000)
        self.assertEqual(options, {"permits": 2, "of": 3, "grace": 5000, "durable": "none"})
        msgid, params = peer.expect("sem.release")
        self.assertEqual(params, ["s", "secret"])
        self.assertEqual(self.line(), "s 12")
        peer.reply(msgid, True)
        self.ends(OK)

    def test_nothing_runs_before_the_permits_are_granted(self):
        made = os.path.join(place, "ran")
        peer = self.shell(f"touch {made}")
        msgid, _ = peer.expect("sem.acquire")
        self.assertFalse(os.path.exists(made))
        peer.reply(msgid, {"hold": "secret", "fence": 1})
        peer.keep()
        self.ends(OK)
        self.assertTrue(os.path.exists(made))

    def test_the_status_is_the_commands(self):
        for script, status in (("exit 3", 3), ("kill -9 $$", KILLED), ("kill -TERM $$", 128 + 15), ("exit 127", 127)):
            peer = self.shell(script)
            peer.grant()
            peer.keep()
            self.ends(status)
        for command, status in (("no-such-command", 127), ("/etc/passwd", 126)):
            peer = self.start("--", command)
            peer.grant()
            peer.keep()
            self.ends(status, f"ergon: {command}: ")

    def test_streams_are_the_commands(self):
        self.process = subprocess.Popen([ERGON, "-s", self.server.url, "sem", "run", "s", "--", "cat"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        peer = self.server.peer()
        peer.grant()
        self.process.stdin.write(b"through")
        self.process.stdin.close()
        self.assertEqual(self.process.stdout.read(), b"through")
        peer.keep()
        self.assertEqual(self.process.wait(LIMIT), OK)
        self.process.stdout.close()

    def test_signals_are_passed_on(self):
        peer = self.shell("trap 'echo asked; exit 9' TERM; echo; while :; do sleep 0.1; done")
        peer.grant()
        self.line()
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.line(), "asked")
        peer.keep()
        self.ends(9)

    def test_a_signal_while_it_waits(self):
        peer = self.shell("echo ran")
        peer.expect("sem.acquire")
        self.process.send_signal(signal.SIGTERM)
        self.ends(128 + signal.SIGTERM)
        self.assertEqual(self.line(), "")

    def test_what_the_command_leaves_behind_ends_before_the_release(self):
        family = Family(place)
        peer = self.shell(family.joins + "setsid sleep 1000 & exit 4")
        peer.grant()
        msgid, _ = peer.expect("sem.release")
        self.assertTrue(family.is_gone())
        peer.reply(msgid, True)
        self.ends(4)

    def test_wrong_options(self):
        for flags, word in ((("s",), "argument"), (("s", "--on-lost", "x", "--", "true"), "--on-lost"),
                            (("s", "--grace", "2s", "--", "true"), "--grace"), (("s", "--permits", "0", "--", "true"), "--permits")):
            status, _, err = run_ergon(self.server.url, "sem", "run", *flags)
            self.assertEqual(status, USAGE)
            self.assertIn(word, err)


class Refusals(SemTest):
    def test_refusals(self):
        for error, status in (("BAD_PARAMS: more than there are", REMOTE), ("NOT_FOUND: no semaphore s", NOT_FOUND)):
            peer = self.shell("echo ran")
            msgid, _ = peer.expect("sem.acquire")
            peer.refuse(msgid, error)
            self.ends(status, error.removeprefix("NOT_FOUND: "))  # which says no more than the text
            self.assertEqual(self.line(), "")

    def test_no_permits_in_time(self):
        peer = self.shell("echo ran", "--wait", "5s")
        msgid, _ = peer.expect("sem.acquire")
        peer.refuse(msgid, "DEADLINE: no permits")
        self.ends(TIMEOUT, "s: no permits in time")

    def test_a_wait_without_end_goes_on(self):
        peer = self.shell("true")
        msgid, _ = peer.expect("sem.acquire")
        peer.refuse(msgid, "DEADLINE: no permits")
        peer.grant()
        peer.keep()
        self.ends(OK)

    def test_a_server_that_stops_or_is_busy_is_asked_again(self):
        peer = self.shell("true")
        for error in ("DRAINING: it stops", "BUSY: too many"):
            msgid, _ = peer.expect("sem.acquire")
            peer.refuse(msgid, error)
        peer.grant()
        peer.keep()
        self.ends(OK)

    def test_a_connection_that_is_lost_while_it_waits(self):
        peer = self.shell("true")
        peer.expect("sem.acquire")
        peer.hang_up()
        again = self.server.peer()
        again.grant()
        again.keep()
        self.ends(OK)


class Keeps(SemTest):
    def test_permits_are_renewed(self):
        peer = self.shell("while :; do sleep 0.1; done", "--grace", GRACE)
        peer.grant()
        for _ in range(2):
            msgid, params = peer.expect("sem.renew")
            self.assertEqual(params[:2], ["s", "secret"])
            peer.reply(msgid, {"fence": 7})
        self.process.send_signal(signal.SIGTERM)
        peer.keep()
        self.ends(128 + signal.SIGTERM)

    def test_after_a_long_wait_permits_are_renewed_before_anything_runs(self):
        peer = self.shell("echo ran", "--grace", GRACE)
        peer.grant_late()
        msgid, _ = peer.expect("sem.renew")
        peer.reply(msgid, {"fence": 7})
        self.assertEqual(self.line(), "ran")
        peer.keep()
        self.ends(OK)

    def test_permits_that_were_lost_before_anything_ran_are_asked_for_again(self):
        peer = self.shell("echo $ERGON_FENCE", "--grace", GRACE)
        peer.grant_late()
        msgid, _ = peer.expect("sem.renew")
        peer.refuse(msgid, "FENCED: taken back")
        peer.grant(fence=8)
        self.assertEqual(self.line(), "8")
        peer.keep()
        self.ends(OK)

    def runs_once(self, peer):
        """It asks for permits again, once however long it has to wait, and what comes late is renewed."""
        peer.grant_late(fence=8)
        msgid, _ = peer.expect("sem.renew")
        peer.reply(msgid, {"fence": 8})
        self.assertEqual(self.line(), "8")
        peer.keep()
        self.ends(OK)
        self.assertEqual(self.line(), "")

    def test_they_are_asked_for_once_when_the_renewal_is_refused(self):
        peer = self.shell("echo $ERGON_FENCE", "--grace", GRACE)
        peer.grant_late()
        msgid, _ = peer.expect("sem.renew")
        peer.refuse(msgid, "FENCED: taken back")
        self.runs_once(peer)

    def test_they_are_asked_for_once_when_they_cannot_be_resumed(self):
        peer = self.shell("echo $ERGON_FENCE", "--grace", GRACE)
        peer.grant_late()
        peer.expect("sem.renew")
        peer.hang_up()
        again = self.server.peer()
        msgid, _ = again.expect("sem.resume")
        again.refuse(msgid, "FENCED: taken back")
        self.runs_once(again)

    def test_permits_that_come_late_are_not_lost(self):
        peer = self.shell("echo ran", "--grace", GRACE, "--on-lost", "warn")
        peer.grant_late()
        peer.keep()
        self.ends(OK)
        self.assertNotIn("lost", self.said())

    def test_what_is_not_resumed_yet_is_not_renewed(self):
        peer = self.shell("while :; do sleep 0.1; done", "--grace", GRACE, "--on-lost", "warn")
        peer.grant()
        peer.expect("sem.renew")
        peer.hang_up()
        again = self.server.peer()
        for error in ("BUSY: too many", "MEMORY: no memory", "CANCELLED: it stops"):
            msgid, _ = again.expect("sem.resume")
            again.refuse(msgid, error)
        msgid, _ = again.expect("sem.resume")
        again.reply(msgid, {"fence": 7})
        msgid, _ = again.expect("sem.renew")
        again.reply(msgid, {"fence": 7})
        self.process.send_signal(signal.SIGTERM)
        again.keep()
        self.ends(128 + signal.SIGTERM)

    def test_a_lost_connection_is_resumed(self):
        fifo = os.path.join(place, "resumed")
        os.mkfifo(fifo)
        peer = self.shell(f"read x <{fifo}; exit 6")
        peer.grant()
        peer.hang_up()
        again = self.server.peer()
        msgid, params = again.expect("sem.resume")
        self.assertEqual(params[:2], ["s", "secret"])
        again.reply(msgid, {"fence": 7})
        with open(fifo, "w") as f:
            f.write("go\n")
        again.keep()
        self.ends(6)


LASTING = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000' & echo; while :; do sleep 1000; done"


class Lost(SemTest):
    def lasting(self, *flags):
        self.family = Family(place)
        peer = self.shell(self.family.joins + LASTING, *flags)
        peer.grant()
        self.line()
        return peer

    def test_a_resume_that_is_refused(self):
        peer = self.lasting()
        peer.hang_up()
        again = self.server.peer()
        msgid, _ = again.expect("sem.resume")
        again.refuse(msgid, "FENCED: taken back")
        self.ends(KILLED, "the permits are lost, and the command is killed: FENCED")
        self.family.gone()

    def test_a_renewal_that_is_refused(self):
        peer = self.lasting("--grace", GRACE)
        msgid, _ = peer.expect("sem.renew")
        peer.refuse(msgid, "FENCED: taken back")
        self.ends(KILLED, "FENCED")

    def test_renewals_that_nobody_answers(self):
        self.lasting("--grace", "3s")
        self.family.gone()
        self.ends(KILLED, "could not be renewed in time")

    def test_resumes_that_are_never_answered_well(self):
        """Their refusals are no reason to go on for longer than the grace."""
        peer = self.lasting("--grace", "3s")
        peer.hang_up()
        again = self.server.peer()
        while not self.family.is_gone():
            with contextlib.suppress(queue.Empty):
                msgid, method, _ = again.requests.get(timeout=0.1)
                if method == "sem.release":
                    break
                self.assertEqual(method, "sem.resume")
                again.refuse(msgid, "BUSY: too many")
        self.family.gone()
        again.hang_up()
        self.ends(KILLED, "could not be renewed in time")

    def test_nobody_is_there_any_more(self):
        peer = self.lasting("--grace", "3s")
        self.server.listener.close()
        peer.hang_up()
        self.family.gone()
        self.ends(KILLED, "no connection", "could not be renewed in time")

    def test_a_holder_that_is_stopped(self):
        """Its guardian looks at the clock."""
        self.lasting("--grace", "3s")
        self.process.send_signal(signal.SIGSTOP)
        self.family.gone()
        self.process.send_signal(signal.SIGCONT)

    def test_kill_9_takes_all_with_it_before_the_connection_ends(self):
        peer = self.lasting()
        self.process.kill()
        self.assertTrue(peer.at_end())
        self.assertTrue(self.family.is_gone())

    def test_a_warning_is_enough_if_that_is_asked(self):
        fifo = os.path.join(place, "warned")
        os.mkfifo(fifo)
        peer = self.shell(f"echo; read x <{fifo}; exit 5", "--on-lost", "warn", "--grace", "1m")
        peer.grant()
        self.line()
        peer.hang_up()
        again = self.server.peer()
        msgid, _ = again.expect("sem.resume")
        again.refuse(msgid, "FENCED: taken back")
        eventually(lambda: "the permits are lost: FENCED" in self.said(), "it says so")
        with open(fifo, "w") as f:
            f.write("go\n")
        self.ends(5)


class Nobody(SemTest):
    def test_a_server_that_is_not_there_is_waited_for(self):
        self.server.listener.close()
        status, _, err = run_ergon(self.server.url, "sem", "run", "s", "--wait", "100ms", "--", "true")
        self.assertIn(status, (TIMEOUT, CONNECT))
        self.assertIn("no connection", err)


if __name__ == "__main__":
    unittest.main()
