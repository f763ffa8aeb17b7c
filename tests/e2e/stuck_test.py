"""A stepped handler whose step does not return: the watchdog names it, on every loop, it harms nobody else, and it does
not hold up a stop."""
import contextlib
import os
import queue
import re
import signal
import socket
import threading
import time
import unittest

from harness import LIMIT, RemoteError, SANITIZE, Server, build_handlers, eventually, scratch

# Against the rules of a step: it waits until somebody opens the pipe to write.
HANG = """
#include <ergon/handler.h>
#include <fcntl.h>
#include <unistd.h>

static enum ao_verdict step(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self;
    (void)state;
    struct ergon_reader r;
    struct ergon_bytes name = {0};
    char path[200] = "";
    if (ergon_params_open(task, &r) > 0 && ergon_read_bytes(&r, &name))
        for (size_t i = 0; i < name.len && i + 1 < sizeof path; i++)
            path[i] = (char)name.at[i];
    close(open(path, O_RDONLY));
    ergon_result_nil(task);
    return AO_DONE;
}

/* The same as a blocking handler that nobody can stop. */
static void hold(struct ergon_task *task)
{
    step(NULL, task, NULL);
}

/* Uses the processor until it is cancelled, or its time is over. */
static void spin(struct ergon_task *task)
{
    while (!ergon_cancelled(task) && ergon_time_left(task) > 0)
        ;
    ergon_result_nil(task);
}

/* Lets another do that, and waits for it. */
static void let_spin(struct ergon_task *task)
{
    struct ergon_outcome outcome;
    ergon_call(task, "spin", (struct ergon_bytes){0}, &outcome);
    ergon_result_nil(task);
}

static enum ao_verdict again(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self;
    (void)state;
    if (!ergon_cancelled(task))
        return AO_AGAIN;
    ergon_result_nil(task);
    return AO_DONE;
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof handlers[0], .kind = ERGON_STEPPED, .name = "hang", .summary = "", .params = "[path]", .step = step},
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "hold", .summary = "", .params = "[path]", .run = hold},
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "spin", .summary = "", .params = "[]", .run = spin},
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "let_spin", .summary = "", .params = "[]", .run = let_spin},
    {.size = sizeof handlers[0], .kind = ERGON_STEPPED, .name = "again", .summary = "", .params = "[]", .step = again},
};

ERGON_MODULE(hang_module, "hang", "1.0")
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) < 0)
            return -1;
    return 0;
}
"""


class HangTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = scratch(cls.addClassCleanup)
        cls.module = build_handlers(cls.place, "hang", HANG)

    def start(self, *flags, env=None):
        server = Server("--module", self.module, "--step-limit", "10ms", *flags, env=env)
        self.addCleanup(server.discard)
        return server

    def pipe(self, name):
        path = os.path.join(self.place, f"{self.id()}.{name}")
        os.mkfifo(path)
        return path

    def connect(self, server):
        """A connection that a loop has taken."""
        client = server.connect()
        self.addCleanup(client.close)
        client.call("server.ping")
        return client

    def says(self, server, words):
        eventually(lambda: words in server.log_text(), f"the log says: {words}")


class Stuck(HangTest):
    @contextlib.contextmanager
    def hanging(self, client, path):
        """A call that hangs until the end of the block."""
        call = client.send("hang", path)
        yield
        open(path, "w").close()
        self.assertIsNone(client.result(call))

    def named(self, server, *words):
        """The records that name the step that hangs; on a busy machine others may be slow beside it."""
        return [line for line in server.log_text().splitlines()
                if "step has not returned" in line and all(word in line for word in ("method=hang", *words))]

    def test_the_watchdog_names_it_once(self):
        server = self.start("--loops", "1")
        client = self.connect(server)
        for turn in ("first", "second"):
            with self.hanging(client, self.pipe(turn)):
                eventually(lambda: self.named(server), "a line of the watchdog")
            line, = self.named(server)
            if SANITIZE == "thread":  # holds signals back: the thread cannot be asked
                self.assertRegex(line, r'activator="loop 0" object=task method=hang')
                server.log.truncate(0)
                continue
            self.assertRegex(line, r'activator="loop 0" object=task method=hang module=hang task=\d+ running=\d')
            self.assertRegex(line, r'backtrace="[^"]*hang\.so\+0x[0-9a-f]+.* ergond\+0x')
            server.log.truncate(0)
        self.assertEqual(server.stop(), 0)

    def test_on_every_loop(self):
        server = self.start("--loops", "2")
        one, other = self.connect(server), self.connect(server)
        with self.hanging(one, self.pipe("one")), self.hanging(other, self.pipe("other")):
            for loop in ("loop 0", "loop 1"):
                eventually(lambda: self.named(server, f'activator="{loop}"'), f"{loop} is named")
        self.assertEqual(server.stop(), 0)

    @contextlib.contextmanager
    def first_loop_away(self, server):
        """The first loop hangs, and the main thread has seen it, until the end of the block."""
        client = self.connect(server)  # the first: of loop 0
        with self.hanging(client, self.pipe("away")):
            self.says(server, "loop is away")
            eventually(lambda: self.named(server, 'activator="loop 0"'), "the step is named")
            yield
        self.says(server, "loop is back")

    def assert_both_loops_take(self, server):
        """Of four newcomers two go to each loop."""
        before = [loop["connections"] for loop in self.connect(server).call("server.topology")["loops"]]
        clients = [self.connect(server) for _ in range(4)]
        after = [loop["connections"] for loop in clients[0].call("server.topology")["loops"]]
        self.assertTrue(all(a > b for a, b in zip(after, before)), (before, after))

    def test_newcomers_are_served_by_another_loop(self):
        server = self.start("--loops", "2")
        with self.first_loop_away(server):
            self.says(server, 'accepting="goes on')
            for i in range(20):
                with server.connect() as client:
                    self.assertEqual(client.call("echo", i), i)
            clients = [self.connect(server) for _ in range(5)]
            loops = clients[0].call("server.topology")["loops"]
            self.assertEqual([loop["connections"] for loop in loops], [1, 5])
            server.signal(signal.SIGHUP)
            for client in clients:
                self.assertEqual(client.call("echo", 1), 1)
        self.assert_both_loops_take(server)
        self.assertEqual(server.stop(), 0)

    def test_whether_a_connection_is_there_is_not_known_of_a_loop_that_hangs(self):
        server = self.start("--loops", "2")
        with self.first_loop_away(server):
            client = self.connect(server)
            with self.assertRaises(RemoteError) as refused:
                client.call("connection.kill", 4711)
            self.assertEqual(refused.exception.code, "BUSY")
            self.assertIn("loops that hang", str(refused.exception))
            self.assertEqual(client.call("connection.kill", {"address": "192.0.2.1"}), {"killed": 0, "dry_run": False, "away": 1})
        with self.assertRaises(RemoteError) as refused:
            client.call("connection.kill", 4711)
        self.assertEqual(refused.exception.code, "NOT_FOUND")

    def test_closed_connections_are_counted_while_another_thread_accepts(self):
        server = self.start("--loops", "2", "--limits-connections", "3")
        with self.first_loop_away(server):
            for i in range(10):
                def comes_in():
                    with server.connect() as one, server.connect() as other:
                        try:
                            return one.call("echo", i) == other.call("echo", i)
                        except ConnectionError:
                            return False  # the end of the ones before is still on its way
                eventually(comes_in, "two more connections")
        self.assertEqual(server.stop(), 0)

    def test_the_last_loop_that_hangs_leaves_newcomers_in_the_backlog(self):
        server = self.start("--loops", "1")
        client = self.connect(server)
        with self.hanging(client, self.pipe("one")):
            self.says(server, "loop is away")
            waits = server.connect()
            self.addCleanup(waits.close)
            call = waits.send("echo", "patient")
        self.assertEqual(waits.result(call), "patient")
        self.assertEqual(server.stop(), 0)

    def test_tasks_avoid_it(self):
        """With the manager on a thread of its own; without the short cut every call passes it."""
        server = self.start("--loops", "2", "--manager-place", "own", "--shortcut=false")
        with self.first_loop_away(server):
            client = self.connect(server)
            calls = [client.send("burn", "1ms") for _ in range(100)]  # so many at once that loop 0 would get some
            for call in calls:
                client.result(call)
            self.assertEqual(len(client.call("hash", "sha256", "x")), 32)
            task = client.call("task.submit", "sum", [1, 2])["id"]
            self.assertEqual(client.call("task.wait", task)["ended"][0]["state"], "done")
        self.assertNotIn("the task manager is away", server.log_text())
        self.assertEqual(server.stop(), 0)

    def test_what_needs_the_manager_waits_with_its_loop(self):
        server = self.start("--loops", "2")
        with self.first_loop_away(server):
            self.says(server, "the task manager is away")
            self.assertRegex(server.log_text(), r"the task manager is away .*hint=.*manager.place: own")
            client = self.connect(server)
            waits = client.send("hash", "sha256", "x")
            with self.assertRaises(Exception) as caught:
                client.call("task.call", "block", ["1ms"], {"deadline": "20ms"})
            self.assertIn("DEADLINE", str(caught.exception))  # of its connection's loop
            self.assertEqual(client.call("echo", 1), 1)
        self.assertEqual(len(client.result(waits)), 32)
        self.assertEqual(server.stop(), 0)

    @contextlib.contextmanager
    def service_manager(self, *flags):
        """A server with a service manager that wants to hear of it every 40 ms; and how often it has until now."""
        path = os.path.join(self.place, self.id())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind(path)
            pings, marks = [], queue.Queue()

            def send(message):
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
                    own.sendto(message, path)

            def listen():
                while (message := sock.recv(4096)) != b"end":
                    if message == b"WATCHDOG=1":
                        pings.append(message)
                    elif message == b"mark":
                        marks.put(len(pings))

            def count():
                """All that were sent before, however late the listener is."""
                send(b"mark")
                return marks.get(timeout=LIMIT)

            listener = threading.Thread(target=listen)
            listener.start()
            try:
                yield self.start(*flags, env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "40000"}), count
            finally:
                send(b"end")
                listener.join()

    def more_pings(self, pings, count):
        wanted = pings() + count
        eventually(lambda: pings() >= wanted, "the service manager hears that all is well")

    def test_the_service_manager_is_not_told_that_all_is_well(self):
        with self.service_manager("--loops", "2", "--round-limit", "1s") as (server, pings):
            self.more_pings(pings, 1)
            with self.first_loop_away(server):
                self.says(server, "watchdog is not fed")
                before = pings()
                for _ in range(20):  # the main thread goes on
                    with server.connect() as client:
                        client.call("echo", 1)
                time.sleep(0.4)  # for ten pings, if there were any; none ever comes
                self.assertLessEqual(pings(), before + 1)  # one may have been on its way
            self.more_pings(pings, 1)
            self.says(server, "all threads finish their rounds again")
            self.assertEqual(server.stop(), 0)

    def test_an_idle_server_is_well(self):
        with self.service_manager("--loops", "2", "--round-limit", "1s") as (server, pings):
            self.more_pings(pings, 100)  # for at least twice the limit
            self.assertNotIn("away", server.log_text())
            self.assertEqual(server.stop(), 0)

    def test_a_stop_of_the_process_is_nobodys_fault(self):
        """A step that hangs for a moment is no older for the time in which the whole process stood still."""
        server = self.start("--loops", "1", "--round-limit", "8s")
        with self.hanging(self.connect(server), self.pipe("one")):
            self.says(server, "loop is away")
            server.signal(signal.SIGSTOP)
            time.sleep(10.5)  # longer than the limit, and than the log waits to repeat what it said
            server.signal(signal.SIGCONT)
            eventually(lambda: len(self.named(server)) == 2, "it was looked at again")
        self.says(server, "step has returned")
        self.assertNotIn("watchdog is not fed", server.log_text())
        self.assertEqual(server.stop(), 0)

    def test_it_is_said_when_it_is_over(self):
        server = self.start("--loops", "1")
        with self.hanging(self.connect(server), self.pipe("one")):
            eventually(lambda: self.named(server), "a line of the watchdog")
        returned = r'step has returned" activator="loop 0" object=task method=hang within=\d'
        eventually(lambda: re.search(returned, server.log_text()), "it has returned")
        self.assertEqual(server.stop(), 0)

    def test_the_others_drain_at_a_stop(self):
        """Their connections are closed in the first stage, before any limit."""
        server = self.start("--loops", "2", "--drain", "600s")
        with self.hanging(self.connect(server), self.pipe("one")):
            self.says(server, "loop is away")
            client = self.connect(server)
            server.signal(signal.SIGTERM)
            self.assertTrue(client.at_end())
        self.assertEqual(server.wait(), 0, server.log_text())

    def test_it_does_not_hold_up_a_stop(self):
        server = self.start("--loops", "2", "--drain", "2s")
        self.connect(server).send("hang", self.pipe("never"))
        eventually(lambda: self.named(server), "a line of the watchdog")
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 3, server.log_text())  # though the step never returns
        self.assertRegex(server.log_text(), r'thread did not come back.* activator="loop \d" object=task method=hang')


class Outlived(HangTest):
    """Blocking handlers that go on though nobody wants them: others run on further threads."""

    def hold(self, client, count):
        """So many calls of hold that are past their deadline, and had begun before; the pipes that let them go.  One that
        found no thread in its time never begins, and another is sent, with more."""
        def holding():
            return [e["running"] for e in client.call("server.topology")["executors"]].count("hold")
        pipes, ms = [], 500
        for wanted in range(holding() + 1, holding() + count + 1):
            while holding() < wanted:
                pipe = self.pipe(f"{time.monotonic_ns()}")
                error, _ = client.response(client.send("task.call", "hold", [pipe], {"deadline": f"{ms}ms"}))
                self.assertTrue(error.startswith("DEADLINE"), error)
                self.assertLess(ms, 1000 * LIMIT, "no call of hold begins before its deadline")
                ms *= 2
            pipes.append(pipe)
        return pipes

    def late(self, client):
        """Submits a task whose handler runs beyond its timeout.  Returns it and the pipe that ends the handler, as above."""
        for ms in (100, 1000, 10000):
            pipe = self.pipe(f"timeout{ms}")
            task = client.call("task.submit", "hold", [pipe], {"timeout": f"{ms}ms"})["id"]
            client.call("task.wait", task)
            if "hold" in [e["running"] for e in client.call("server.topology")["executors"]]:
                return task, pipe
        self.fail("no task of hold begins before its timeout")

    def release(self, pipes):
        for pipe in pipes:
            open(pipe, "w").close()

    def lines(self, server, words):
        return [line for line in server.log_text().splitlines() if words in line]

    def outlived(self, server, count):
        eventually(lambda: len(self.lines(server, "has outlived its task")) == count, f"{count} lines of the log")

    def states(self, client):
        return [e["state"] for e in client.call("server.topology")["executors"] if e["kind"] == "blocking"]

    def test_others_stand_in(self):
        server = self.start("--loops", "2", "--blocking", "2")
        client = self.connect(server)
        self.assertEqual(self.states(client), ["ready"] * 2)
        pipes = self.hold(client, 2)
        self.outlived(server, 2)
        for line in self.lines(server, "has outlived"):
            self.assertRegex(line, r'executor="blocking \d" module=hang method=hold task=\d+ running=\d')
        self.assertEqual(len(client.call("hash", "sha256", "x")), 32)
        eventually(lambda: self.states(client) == ["outlived"] * 2 + ["stands in"] * 2, "two stand in")
        executors = [e["running"] for e in client.call("server.topology")["executors"]]
        self.assertEqual(executors.count("hold"), 2)
        self.release(pipes)
        eventually(lambda: len(self.lines(server, "has returned at last")) == 2, "both are named again")
        eventually(lambda: self.states(client) == ["ready"] * 2, "the others rest")
        for i in range(20):
            self.assertEqual(len(client.call("hash", "sha256", "x")), 32)
        self.assertEqual(server.stop(), 0)

    def test_up_to_the_most(self):
        server = self.start("--loops", "1", "--blocking", "2", "--blocking-max", "3")
        client = self.connect(server)
        pipes = self.hold(client, 2)
        self.outlived(server, 2)
        eventually(lambda: self.lines(server, "all spare blocking threads are in use"), "it says so")
        self.assertRegex(self.lines(server, "all spare blocking threads are in use")[0],
                         r"outlived=2 threads=3 hint=executors.blocking.max")
        pipes += self.hold(client, 1)
        self.outlived(server, 3)
        waits = client.send("hash", "sha256", "x")
        self.assertEqual(client.call("echo", 1), 1)
        self.assertEqual(self.states(client), ["outlived"] * 3)
        self.release(pipes[:1])
        self.assertEqual(len(client.result(waits)), 32)
        self.release(pipes[1:])
        eventually(lambda: self.states(client) == ["ready"] * 2, "the other rests")
        self.assertEqual(server.stop(), 0)

    def test_without_further_threads(self):
        server = self.start("--loops", "1", "--blocking", "1", "--blocking-max", "1")
        client = self.connect(server)
        pipes = self.hold(client, 1)
        self.says(server, "all spare blocking threads are in use")
        self.assertEqual(self.states(client), ["outlived"])
        self.release(pipes)
        self.assertEqual(len(client.call("hash", "sha256", "x")), 32)
        self.assertEqual(server.stop(), 0)

    def test_submitted_tasks_past_their_timeout_and_cancelled_ones(self):
        server = self.start("--loops", "1", "--blocking", "2")
        client = self.connect(server)
        late, pipe = self.late(client)
        pipes = [pipe, self.pipe("cancelled")]
        unwanted = client.call("task.submit", "hold", [pipes[1]])["id"]
        eventually(lambda: client.call("task.get", unwanted)["state"] == "running", "it runs")
        client.call("task.cancel", unwanted)
        self.outlived(server, 2)
        for task in (late, unwanted):
            self.assertTrue(any(f"task={task} " in line for line in self.lines(server, "has outlived")), task)
        self.assertEqual(len(client.call("hash", "sha256", "x")), 32)
        self.release(pipes)
        eventually(lambda: self.states(client) == ["ready"] * 2, "the others rest")
        self.assertEqual(server.stop(), 0)

    def test_a_stop_names_those_that_stand_in_too(self):
        server = self.start("--loops", "1", "--blocking", "1", "--drain", "1s")
        client = self.connect(server)
        self.hold(client, 1)
        self.outlived(server, 1)
        self.hold(client, 1)
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 3)
        self.assertEqual(len(self.lines(server, "blocking handler did not return")), 2)

    def test_brief_ones_are_left_in_peace(self):
        server = self.start("--loops", "2", "--blocking", "2")
        client = self.connect(server)
        calls = [client.send("task.call", "block", ["20ms"], {"deadline": "5ms"}) for _ in range(100)]
        for call in calls:
            client.response(call)
        self.assertEqual(len(client.call("hash", "sha256", "x")), 32)
        eventually(lambda: self.states(client) == ["ready"] * 2, "the last has returned")
        self.assertNotIn("outlived", server.log_text())
        self.assertEqual(server.stop(), 0)


class ProcessorTime(HangTest):
    def start_one(self):
        server = self.start("--loops", "1", "--blocking", "1")
        client, nothing = self.connect(server), {"running": 0, "busy_ms": 0, "cpu_ms": 0}
        return server, client, lambda name: {h["name"]: h for h in client.call("server.info")["handlers"]}.get(name, nothing)

    def test_who_waits_uses_none(self):
        server, client, figures = self.start_one()
        client.call("block", "200ms")
        self.assertGreaterEqual(figures("block")["busy_ms"], 200)
        self.assertLess(figures("block")["cpu_ms"], 100)
        self.assertEqual(server.stop(), 0)

    def test_who_uses_it_shows_while_it_does(self):
        server, client, figures = self.start_one()
        call = client.send("spin")
        eventually(lambda: figures("spin")["cpu_ms"] > 50, "its figure grows")
        self.assertEqual(figures("spin")["running"], 1)
        client.notify("server.cancel", call)
        client.response(call)
        eventually(lambda: figures("spin")["running"] == 0, "it is over")
        self.assertGreater(figures("spin")["cpu_ms"], 50)
        self.assertLessEqual(figures("spin")["cpu_ms"], figures("spin")["busy_ms"] + 20)
        self.assertEqual(server.stop(), 0)

    def test_what_a_nested_call_uses_is_its_own(self):
        """With one executor it runs on the caller's thread."""
        server, client, figures = self.start_one()
        call = client.send("let_spin")
        eventually(lambda: figures("spin")["cpu_ms"] > 100, "its figure grows")
        client.notify("server.cancel", call)
        client.response(call)
        eventually(lambda: figures("let_spin")["running"] + figures("spin")["running"] == 0, "they are over")
        self.assertGreaterEqual(figures("let_spin")["busy_ms"], 100)  # of each its own processor time, and all that passed
        self.assertLess(figures("let_spin")["cpu_ms"], figures("spin")["cpu_ms"] / 2)
        self.assertEqual(server.stop(), 0)


class Again(HangTest):
    def test_a_handler_that_asks_for_steps_for_ever_shows(self):
        server = self.start("--loops", "1")
        client = self.connect(server)
        call = client.send("again")

        def figures(name):
            handlers = {h["name"]: h for h in client.call("server.info")["handlers"]}
            return handlers.get(name, {"running": 0, "steps": 0, "busy_ms": 0})

        eventually(lambda: figures("again")["running"] == 1, "it runs")
        before = figures("again")
        eventually(lambda: figures("again")["steps"] > before["steps"] + 1000
                   and figures("again")["busy_ms"] > before["busy_ms"], "its figures grow")
        sleeps = client.send("sleep", "100s")
        eventually(lambda: figures("sleep").get("parked") == 1, "another waits")
        self.assertEqual(figures("sleep")["running"], 0)
        for one in (call, sleeps):
            client.notify("server.cancel", one)
            client.response(one)
        eventually(lambda: figures("again")["running"] == 0 and figures("sleep")["parked"] == 0, "both are over")
        client.call("hash", "sha256", "x")
        self.assertEqual(figures("hash")["steps"], 1)
        self.assertEqual(figures("again")["cpu_ms"], figures("again")["busy_ms"])
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
