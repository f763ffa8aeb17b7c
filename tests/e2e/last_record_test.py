"""What a module does to the whole process, and what the log says of it last."""
import json
import os
import re
import signal
import unittest

from harness import SANITIZED, SOURCE, RemoteError, Server, build_handlers, eventually, scratch


@unittest.skipIf(SANITIZED, "a sanitizer has reports of its own")
class LastRecord(unittest.TestCase):
    """What a module does to the whole process leaves a record that names it, and a status that is restarted."""

    TEXT = """
#include <ergon/handler.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static int dig(int *at, int depth)
{
    int room[1000];

    memset(room, depth, sizeof room);
    return depth == 0 ? at[1] : dig(room, depth + 1) + room[depth & 511];
}

/* Exported, so that the record names it. */
__attribute__((visibility("default"), noinline)) void err_badly(struct ergon_task *task)
{
    struct ergon_reader r;
    struct ergon_bytes how = {0};
    char name[32] = "";

    if (ergon_params_open(task, &r) > 0 && ergon_read_bytes(&r, &how) && how.len < sizeof name)
        memcpy(name, how.at, how.len);
    int *nowhere = NULL, room = 1;
    __asm__("" : "+r"(nowhere));
    if (strcmp(name, "segv") == 0)
        *nowhere = 1;
    if (strcmp(name, "fpe") == 0)
        raise(SIGFPE);
    if (strcmp(name, "bus") == 0)
        raise(SIGBUS);
    if (strcmp(name, "ill") == 0)
        __builtin_trap();
    if (strcmp(name, "abort") == 0)
        abort();
    if (strcmp(name, "stack") == 0)
        room = dig(&room, 1);
    if (strcmp(name, "exit") == 0)
        exit(0);
    if (strcmp(name, "code") == 0)
        ergon_fail(task, "no code", "of its own");
    ergon_result_int(task, room);
}

static void run(struct ergon_task *task) { err_badly(task); }
static enum ao_verdict step(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self;
    err_badly(task);
    struct ergon_reader r;
    struct ergon_bytes how = {0};
    if (ergon_params_open(task, &r) > 0 && ergon_read_bytes(&r, &how) && how.len == 7) { /* verdict, or later__ */
        if (how.at[0] == 'v' || ++*(int *)state == 2)
            return (enum ao_verdict)77;
        return AO_AGAIN;
    }
    return AO_DONE;
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "err.blocking", .summary = "", .params = "[how]", .run = run},
    {.size = sizeof handlers[0], .kind = ERGON_STEPPED, .name = "err.stepped", .summary = "", .params = "[how]", .step = step,
     .state_size = sizeof(int)},
    {.size = sizeof handlers[0], .kind = ERGON_STEPPED, .name = "err.another", .summary = "", .params = "[how]", .step = step,
     .state_size = sizeof(int)},
};
ERGON_MODULE(err_module, "errs", "1.0")
{
    int added = 0;
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers && added >= 0; i++)
        added = ergon_register(module, &handlers[i]);
    return added;
}
"""

    @classmethod
    def setUpClass(cls):
        cls.module = build_handlers(scratch(cls.addClassCleanup), "errs", cls.TEXT, "-O1", "-fno-optimize-sibling-calls")

    def last_record(self, method, how, *flags, submitted=False):
        """The exit status of a server that dies of it, the record, and the task's name."""
        with Server("--module", self.module, "--loops", "2", *flags).until_killed() as server:
            # Its last word before, which may come after a fast client's first call.
            eventually(lambda: "server is up" in server.log_text(), "the server says that it is up")
            with server.connect() as client:
                name = r"\d+"
                if submitted:
                    name = client.call("task.submit", method, [how])["id"]
                else:
                    client.send(method, how)
                status = server.wait()
            records = server.log_text().splitlines()
        self.assertEqual([r for r in records if "level=error" in r], records[-1:])
        return status, records[-1], name

    def assert_named(self, record, method, name):
        self.assertRegex(record, rf"module=errs method={re.escape(method)} task={name} ")
        self.assertRegex(record, r'backtrace="?[^"]*errs\.so\+0x[0-9a-f]+\(err_badly\)')

    def test_fatal_signals(self):
        for how, number in (("segv", signal.SIGSEGV), ("fpe", signal.SIGFPE), ("bus", signal.SIGBUS), ("ill", signal.SIGILL),
                            ("abort", signal.SIGABRT)):
            for method in ("err.blocking", "err.stepped"):
                status, record, name = self.last_record(method, how)
                self.assertEqual(status, -number)
                self.assertIn(f"signal={number.name} ", record)
                self.assert_named(record, method, name)
        self.assertRegex(self.last_record("err.stepped", "segv")[1], r'address=0x0 thread="loop \d"')

    def test_a_stack_that_is_used_up(self):
        for method in ("err.blocking", "err.stepped"):
            status, record, name = self.last_record(method, "stack")
            self.assertEqual(status, -signal.SIGSEGV)
            self.assertRegex(record, rf"module=errs method={re.escape(method)} task={name} ")

    def test_a_submitted_task_is_named_by_its_id(self):
        for method in ("err.blocking", "err.stepped"):
            status, record, name = self.last_record(method, "segv", submitted=True)
            self.assertEqual(status, -signal.SIGSEGV)
            self.assert_named(record, method, name)

    def test_exit(self):
        for method in ("err.blocking", "err.stepped"):
            status, record, name = self.last_record(method, "exit")
            self.assertEqual(status, 70)
            self.assertRegex(record, r'msg="exit\(\) was called in a running server" status=0 exit_status=70')
            self.assert_named(record, method, name)

    def test_what_one_task_does_ends_the_task(self):
        """A verdict that is none, at once and in a later step; a code that is none.  Said once of each method."""
        stepped, both = ("err.stepped", "err.another"), ("err.stepped", "err.another", "err.blocking")
        with Server("--module", self.module, "--loops", "1") as server, server.connect() as client:
            for method in stepped:
                for how in ("verdict", "later__", "verdict"):
                    with self.assertRaises(RemoteError) as caught:
                        client.call(method, how)
                    self.assertEqual(caught.exception.value, "FAILED: the handler returned a verdict that is none")
            for method in both + both:
                with self.assertRaises(RemoteError) as caught:
                    client.call(method, "code")
                self.assertEqual(caught.exception.value, "FAILED: of its own")
            self.assertEqual(server.stop(), 0)
            records = [record for record in server.log_text().splitlines() if "level=error" in record]
        for method in stepped:
            self.assertRegex(records.pop(0), rf"verdict that is none.* verdict=77 module=errs method={method} task=\d+")
        for method in both:
            self.assertRegex(records.pop(0), rf'code that is none.* code="no code" module=errs method={method} task=\d+')
        self.assertEqual(records, [])

    def test_as_json(self):
        with Server("--module", self.module, "--log-format", "json").until_killed() as server, server.connect() as client:
            eventually(lambda: "server is up" in server.log_text(), "the server says that it is up")
            client.send("err.blocking", "segv")
            self.assertEqual(server.wait(), -signal.SIGSEGV)
            record = json.loads(server.log_text().splitlines()[-1])
        self.assertEqual([record[key] for key in ("level", "signal", "module", "method")],
                         ["error", "SIGSEGV", "errs", "err.blocking"])

    def test_systemd_restarts_it(self):
        """Whatever ends like this is a failure, and not the one status that is left alone."""
        with open(os.path.join(SOURCE, "dist", "ergond.service")) as f:
            unit = f.read()
        self.assertIn("\nRestart=on-failure\n", unit)
        self.assertIn("\nRestartPreventExitStatus=2\n", unit)

    def test_a_signal_from_outside(self):
        with Server("--loops", "1").until_killed() as server:
            server.signal(signal.SIGABRT)
            self.assertEqual(server.wait(), -signal.SIGABRT)
            self.assertRegex(server.log_text(), rf"signal=SIGABRT sent_by={os.getpid()} thread=")


if __name__ == "__main__":
    unittest.main()
