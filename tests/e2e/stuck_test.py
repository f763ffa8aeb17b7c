"""A stepped handler whose step does not return: the watchdog names it, on every loop, and it does not hold up a stop."""
import contextlib
import os
import signal
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

    def start(self, *flags):
        server = Server("--module", self.module, "--step-limit", "10ms", *flags)
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
            self.assertRegex(line, r'activator="loop 0" object=task method=hang .*running=\d')
            server.log.truncate(0)
        self.assertEqual(server.stop(), 0)

    def test_on_every_loop(self):
        server = self.start("--loops", "2")
        one, other = self.connect(server), self.connect(server)
        with self.hanging(one, self.pipe("one")), self.hanging(other, self.pipe("other")):
            for loop in ("loop 0", "loop 1"):
                eventually(lambda: self.named(server, f'activator="{loop}"'), f"{loop} is named")
        self.assertEqual(server.stop(), 0)

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
