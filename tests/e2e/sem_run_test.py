"""Semaphores and events by the command line, against the real server: who holds what, in which order, and that nobody holds too much,
whoever is killed.

ERGON_ACQUISITIONS says how often the permits are taken while holders and waiters are killed; a few times, unless it is set."""
import json
import os
import random
import signal
import subprocess
import threading
import time
import unittest

from harness import ERGON, LIMIT, NOT_FOUND, OK, REMOTE, TIMEOUT, USAGE, Server, ServerTest, eventually, run_ergon, scratch

KILLED = 128 + signal.SIGKILL


class SemTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.place = scratch(self.addCleanup)
        self.name = self.id()
        self.runs = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for run in self.runs:
            if run.poll() is None:
                run.kill()
            run.wait()
            run.stdout.close()

    def ergon(self, *arguments):
        return run_ergon(self.server.urls[0], *arguments)

    def json(self, *arguments):
        status, out, err = self.ergon("--json", *arguments)
        self.assertEqual(status, OK, err)
        return json.loads(out)

    def run_under(self, script, *flags):
        """ergon sem run, in the background."""
        words = [ERGON, "-q", "-s", self.server.urls[0], "sem", "run", self.name, *flags, "--", "sh", "-c", script]
        run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.runs.append(run)
        return run

    def explained(self):
        return self.json("sem", "explain", self.name)

    def until_waiting(self, count):
        eventually(lambda: self.explained()["waiting"] == count, f"{count} wait")

    def fifo(self, name):
        path = os.path.join(self.place, name)
        os.mkfifo(path)
        return path


def go(fifo):
    with open(fifo, "w") as f:
        f.write("go\n")


class Runs(SemTest):
    def looks_beside(self):
        """A file, and the begin of a script that makes it if another of these scripts still runs."""
        beside, lock = (os.path.join(self.place, name) for name in ("beside", "lock"))
        return beside, f"exec 9>>{lock}; flock -n 9 || echo beside >>{beside}; "

    def test_one_after_the_other_in_order_of_arrival(self):
        fifo = self.fifo("first")
        order = os.path.join(self.place, "order")
        first = self.run_under(f"read x <{fifo}", "--permits", "1")
        eventually(lambda: [s for s in self.json("sem", "list") if s["name"] == self.name and s["held"] == 1], "it is held")
        for n in range(4):
            self.run_under(f"echo {n} $ERGON_FENCE >>{order}")
            self.until_waiting(n + 1)
        go(fifo)
        for run in self.runs:
            self.assertEqual(run.wait(LIMIT), OK)
        lines = [line.split() for line in open(order)]
        self.assertEqual([line[0] for line in lines], ["0", "1", "2", "3"])
        fences = [int(line[1]) for line in lines]
        self.assertEqual(fences, sorted(set(fences)))
        self.assertIsNotNone(first)

    def test_statuses(self):
        self.assertEqual(self.ergon("sem", "run", self.name, "--permits", "2", "--", "sh", "-c", "exit 9")[0], 9)
        status, _, err = self.ergon("sem", "run", self.name, "--", "true")
        self.assertEqual(status, NOT_FOUND)
        self.assertIn("--permits makes one, as ergon sem create does", err)
        status, _, err = self.ergon("sem", "run", self.name, "--permits", "2", "--take", "3", "--", "true")
        self.assertEqual(status, REMOTE)
        self.assertIn("BAD_PARAMS", err)
        fifo = self.fifo("held")
        self.run_under(f"read x <{fifo}", "--permits", "1")
        eventually(lambda: any(s["name"] == self.name for s in self.json("sem", "list")), "it is held")
        status, _, err = self.ergon("sem", "run", self.name, "--wait", "10ms", "--", "true")
        self.assertEqual((status, err), (TIMEOUT, f"ergon: {self.name}: no permits in time\n"))
        go(fifo)

    def test_tasks_of_a_limit_and_commands_share_permits(self):
        fifo = self.fifo("held")
        self.run_under(f"read x <{fifo}", "--permits", "1")
        eventually(lambda: any(s["name"] == self.name for s in self.json("sem", "list")), "it is held")
        task = self.ergon("task", "submit", "--limit", f"{self.name}=1", "echo", "hello")[1].decode().strip()
        self.until_waiting(1)
        go(fifo)
        self.assertEqual(self.ergon("task", "wait", "--result", task)[1], b"hello")

    def test_a_killed_holder_keeps_the_permits_for_the_grace_and_its_command_has_gone(self):
        beside, script = self.looks_beside()
        first = self.run_under(script + "echo; trap '' TERM; (setsid sleep 1000 &) ; sleep 1000", "--permits", "1", "--grace", "3s")
        first.stdout.readline()
        second = self.run_under(script + "echo; exit 0", "--permits", "1", "--grace", "3s")
        self.until_waiting(1)
        first.kill()
        self.assertEqual(second.wait(LIMIT), OK)
        self.assertFalse(os.path.exists(beside))

    def test_a_stopped_holder_loses_its_command_before_others_hold_its_permits(self):
        """It is alive as far as the server knows, until its connection is closed."""
        beside, script = self.looks_beside()
        first = self.run_under(script + "echo; sleep 1000", "--permits", "1", "--grace", "3s")
        first.stdout.readline()
        second = self.run_under(script + "exit 0", "--permits", "1", "--grace", "3s")
        self.until_waiting(1)
        first.send_signal(signal.SIGSTOP)
        (holder,) = self.explained()["holders"]
        peer = [c for c in self.json("connection", "list") if c["peer"] != ""]
        self.assertTrue(peer)
        mine = f":{port_of(first.pid)}"
        for c in peer:
            if c["peer"].endswith(mine):
                self.ergon("connection", "kill", str(c["id"]))
        self.assertEqual(second.wait(LIMIT), OK)
        self.assertFalse(os.path.exists(beside))
        first.send_signal(signal.SIGCONT)
        self.assertEqual(first.wait(LIMIT), KILLED)
        self.assertGreater(holder["fence"], 0)


def state_of(pid):
    """As in /proc: T for stopped; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return ""


class Stopped(SemTest):
    """By SIGTSTP, as a shell's job is."""

    def start(self, script, *flags):
        """`ergon` and its command, which says its number, and has been stopped with it.  A script that starts others right
        after that may be stopped between vfork and exec, and the system does not call its shell stopped then."""
        words = [ERGON, "-q", "-s", self.server.urls[0], "sem", "run", self.name, "--permits", "1", *flags, "--", "sh", "-c", script]
        # A group of its own, as shells give one: the system stops none that nobody could continue.
        run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               preexec_fn=lambda: os.setpgid(0, 0))
        self.runs.append(run)
        command = int(run.stdout.readline())
        run.send_signal(signal.SIGTSTP)
        eventually(lambda: state_of(run.pid) == state_of(command) == "T", "both are stopped")
        return run, command

    def test_the_command_stops_and_goes_on_with_it(self):
        fifo = self.fifo("go")
        run, command = self.start(f"echo $$; read x <{fifo}", "--grace", "1h")
        run.send_signal(signal.SIGCONT)
        eventually(lambda: "T" not in (state_of(run.pid), state_of(command)), "both go on")
        go(fifo)
        self.assertEqual(run.wait(LIMIT), OK)

    def test_a_command_that_was_stopped_for_too_long_never_goes_on(self):
        mark = os.path.join(self.place, "went on")
        fifo = self.fifo("never")
        run, command = self.start(f"trap 'echo >\"{mark}\"' CONT; echo $$; read x <{fifo}", "--grace", "10s")
        eventually(lambda: state_of(command) == "", "it is killed where it stands")
        self.assertEqual(state_of(run.pid), "T")
        second = self.run_under("exit 0", "--permits", "1")
        self.until_waiting(1)
        run.send_signal(signal.SIGCONT)
        self.assertEqual(run.wait(LIMIT), KILLED)
        self.assertEqual(second.wait(LIMIT), OK)
        self.assertFalse(os.path.exists(mark))

    def test_one_that_waits_stops_alone(self):
        fifo = self.fifo("held")
        self.run_under(f"echo; read x <{fifo}", "--permits", "1").stdout.readline()
        words = [ERGON, "-q", "-s", self.server.urls[0], "sem", "run", self.name, "--", "true"]
        run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=lambda: os.setpgid(0, 0))
        self.runs.append(run)
        self.until_waiting(1)
        run.send_signal(signal.SIGTSTP)
        eventually(lambda: state_of(run.pid) == "T", "it is stopped")
        go(fifo)
        run.send_signal(signal.SIGCONT)
        self.assertEqual(run.wait(LIMIT), OK)


class Anew(unittest.TestCase):
    def test_a_server_that_starts_anew_and_does_not_know_the_hold(self):
        """Who holds something hears of it with its next connection, and its command is killed."""
        place = scratch(self.addCleanup)
        url = f"unix://{place}/socket"
        with Server(listen=(url,)).until_killed():
            run = subprocess.Popen([ERGON, "-s", url, "sem", "run", "s", "--permits", "1", "--durable", "none", "--", "sh", "-c",
                                    "echo; sleep 1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            run.stdout.readline()
        with Server(listen=(url,)):
            _, said = run.communicate(timeout=LIMIT)
            self.assertEqual(run.returncode, KILLED)
            self.assertIn("s: the permits are lost, and the command is killed", said)


def port_of(pid):
    """The local port of the only TCP connection of a process."""
    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    with open(f"/proc/{pid}/net/tcp") as f:
        for line in f.readlines()[1:]:
            words = line.split()
            if words[9] in inodes:
                return int(words[1].split(":")[1], 16)
    raise AssertionError("no connection")


# One of three locks is taken by the command and all that it starts; a fourth command finds none.
SLOT = """
for n in 1 2 3; do
    exec 9>>{0}/slot$n
    flock -n 9 && got=$n && break
done
[ -n "$got" ] || echo $ERGON_FENCE >>{0}/over
echo $ERGON_FENCE >>{0}/fences
sleep 0.0$(($$ % 5))
(setsid sleep 0.02 &)
"""


class Crowd:
    """Ten shells, three permits, and somebody is killed now and then."""

    WANTED = int(os.environ.get("ERGON_ACQUISITIONS", "60"))
    ROUNDS_A_KILL = 10

    def shells(self):
        """Ten threads, each of which runs one command after the other."""
        self.done = 0
        self.current = {}
        self.lock = threading.Lock()
        threads = [threading.Thread(target=self.shell, args=(n,)) for n in range(10)]
        for t in threads:
            t.start()
        return threads

    def kill_one(self, chance):
        with self.lock:
            self.current[chance.randrange(10)].kill()

    def shell(self, n):
        words = [ERGON, "-q", "-s", self.server.urls[0], "sem", "run", self.name, "--permits", "3", "--grace", "3s", "--",
                 "sh", "-c", SLOT.format(self.place)]
        while self.done < self.WANTED:
            run = subprocess.Popen(words, stdin=subprocess.DEVNULL)
            with self.lock:
                self.current[n] = run
            status = run.wait()
            with self.lock:
                self.done += status == OK

    def test_never_more_than_three_whoever_is_killed(self):
        chance = random.Random(12)
        threads = self.shells()
        next_kill = self.ROUNDS_A_KILL
        while any(t.is_alive() for t in threads):
            time.sleep(0.005)
            if self.done >= next_kill:
                next_kill += self.ROUNDS_A_KILL
                self.kill_one(chance)
        for t in threads:
            t.join()
        self.assertFalse(os.path.exists(os.path.join(self.place, "over")))
        with open(os.path.join(self.place, "fences")) as f:
            fences = [int(line) for line in f]
        self.assertGreaterEqual(len(fences), self.WANTED)
        self.assertEqual(len(fences), len(set(fences)))
        eventually(lambda: all(s["name"] != self.name for s in self.json("sem", "list")), "no permit is lost")


class Kills(Crowd, SemTest):
    """Holders and waiters are killed."""


class Restarts(Crowd, unittest.TestCase):
    """The server, too, which has a store."""

    ergon, json = SemTest.ergon, SemTest.json
    KILLS_A_RESTART = 3

    def setUp(self):
        self.place = scratch(self.addCleanup)
        self.name = "s"
        self.kills = 0
        self.start()
        self.addCleanup(lambda: self.server.__exit__(None))

    def start(self):
        self.server = Server("--store", os.path.join(self.place, "store"), listen=(f"unix://{self.place}/socket",))

    def kill_one(self, chance):
        super().kill_one(chance)
        self.kills += 1
        if self.kills % self.KILLS_A_RESTART == 0:
            self.server.discard()
            self.start()


class Overview(SemTest):
    def test_create_list_explain_delete(self):
        self.assertEqual(self.ergon("sem", "create", self.name, "2"), (OK, f"{self.name}: 2 permits\n".encode(), ""))
        self.assertEqual(self.ergon("sem", "create", self.name, "many")[0], USAGE)
        fifo = self.fifo("held")
        self.run_under(f"echo; read x <{fifo}").stdout.readline()
        self.run_under("true", "--take", "2")
        self.until_waiting(1)
        table = self.ergon("sem", "list")[1].decode()
        self.assertRegex(table, f"{self.name} .* 2 +1 +1 +1")
        text = self.ergon("sem", "explain", self.name)[1].decode()
        for word in ("permits  2", "Holders:", "Waiting, in order:", "fence"):
            self.assertIn(word, text)
        go(fifo)
        for run in self.runs:
            self.assertEqual(run.wait(LIMIT), OK)
        self.assertEqual(self.ergon("sem", "delete", self.name)[0], OK)
        self.assertEqual(self.ergon("sem", "delete", self.name)[0], NOT_FOUND)
        self.assertEqual(self.ergon("sem", "explain", self.name)[0], NOT_FOUND)

    def test_events(self):
        waits = [subprocess.Popen([ERGON, "-s", self.server.urls[0], "event", "wait", self.name], stdout=subprocess.PIPE)
                 for _ in range(2)]
        eventually(lambda: self.polls() == 2, "both wait")
        status, out, _ = self.ergon("event", "set", self.name, '{"a": [1]}')
        self.assertEqual(status, OK)
        seq = int(out)
        for w in waits:
            self.assertEqual(w.communicate(timeout=LIMIT)[0], b'{"a":[1]}\n')
        self.assertEqual(self.json("event", "wait", self.name, "--from", str(seq)), {"seq": seq, "value": {"a": [1]}})
        self.assertEqual(self.ergon("event", "wait", self.name, "--timeout", "50ms")[0], TIMEOUT)
        higher = int(self.ergon("event", "set", self.name)[1])
        self.assertGreater(higher, seq)
        self.assertEqual(self.ergon("event", "wait", self.name, "--from", str(seq + 1))[:2], (OK, b"null\n"))

    def polls(self):
        return sum(c["polls"] for c in self.json("connection", "list") if any(
            call["method"] == "event.wait" for call in c["calls"]))


if __name__ == "__main__":
    unittest.main()
