"""A stepped handler whose step does not return: the watchdog names it, on every loop, it harms nobody else, and it does
not hold up a stop."""
import contextlib
import os
import signal
import socket
import threading
import time
import unittest

from harness import SOURCE, Server, build_module, eventually, scratch

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

static const struct ergon_handler handler = {
    .size = sizeof handler, .kind = ERGON_STEPPED, .name = "hang", .summary = "", .params = "[path]", .step = step};

ERGON_MODULE(hang_module, "hang", "1.0") { return ergon_register(module, &handler); }
"""


class Stuck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = scratch(cls.addClassCleanup)
        source, cls.module = os.path.join(cls.place, "hang.c"), os.path.join(cls.place, "hang.so")
        with open(source, "w") as f:
            f.write(HANG)
        build_module(source, cls.module, "-fPIC", "-I", os.path.join(SOURCE, "include"))

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

    @contextlib.contextmanager
    def hanging(self, client, path):
        """A call that hangs until the end of the block."""
        call = client.send("hang", path)
        yield
        open(path, "w").close()
        self.assertIsNone(client.result(call))

    def named(self, server, *words):
        return [line for line in server.log_text().splitlines()
                if "step has not returned" in line and all(word in line for word in words)]

    def test_the_watchdog_names_it_once(self):
        server = self.start("--loops", "1")
        client = self.connect(server)
        for turn in ("first", "second"):
            with self.hanging(client, self.pipe(turn)):
                eventually(lambda: self.named(server), "a line of the watchdog")
            line, = self.named(server)
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

    def says(self, server, words):
        eventually(lambda: words in server.log_text(), f"the log says: {words}")

    @contextlib.contextmanager
    def first_loop_away(self, server):
        """The first loop hangs, and the main thread has seen it, until the end of the block."""
        client = self.connect(server)  # the first: of loop 0
        with self.hanging(client, self.pipe("away")):
            self.says(server, "loop is away")
            self.assertTrue(self.named(server, 'activator="loop 0"'))
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
            for i in range(50):
                self.assertEqual(client.call("echo", i), i)
            self.assertEqual(len(client.call("hash", "sha256", "x")), 32)
            task = client.call("task.submit", "sum", [1, 2])["id"]
            self.assertEqual(client.call("task.wait", task)["ended"][0]["state"], "done")
        self.assertNotIn("the task manager is away", server.log_text())
        self.assertEqual(server.stop(), 0)

    def test_what_needs_the_manager_waits_with_its_loop(self):
        server = self.start("--loops", "2")
        with self.first_loop_away(server):
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
            pings = []

            def listen():
                while (message := sock.recv(4096)) != b"end":
                    if message == b"WATCHDOG=1":
                        pings.append(message)

            listener = threading.Thread(target=listen)
            listener.start()
            try:
                yield self.start(*flags, env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "40000"}), lambda: len(pings)
            finally:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
                    own.sendto(b"end", path)
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
        server = self.start("--loops", "2", "--round-limit", "2s")
        client = self.connect(server)
        call = client.send("burn", "2s")  # so that a loop is awake
        server.signal(signal.SIGSTOP)
        time.sleep(3)
        server.signal(signal.SIGCONT)
        client.result(call)
        self.assertNotIn("watchdog is not fed", server.log_text())
        self.assertEqual(server.stop(), 0)

    def test_it_is_said_when_it_is_over(self):
        server = self.start("--loops", "1")
        with self.hanging(self.connect(server), self.pipe("one")):
            eventually(lambda: self.named(server), "a line of the watchdog")
        self.says(server, "step has returned")
        self.assertRegex(server.log_text(), r'step has returned" activator="loop 0" object=task method=hang within=\d')
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
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 3, server.log_text())
        self.assertLess(time.monotonic() - began, 2.5)
        self.assertRegex(server.log_text(), r'thread did not come back.* activator="loop \d" object=task method=hang')


if __name__ == "__main__":
    unittest.main()
