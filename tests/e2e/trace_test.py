"""Traces: what a caller says of its trace is kept, told, and passed on to all that its work becomes."""
import os
import re
import subprocess
import sys
import unittest

from harness import ERGON, LIMIT, SOURCE, RemoteError, Server, build_module, eventually, run_ergon, scratch

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
STATE = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"

WORKER = '''
import os
import sys
import time
import ergon_client


def seen(context, *_):
    return [context.traceparent, context.tracestate]


def held(context):
    with open(sys.argv[1], "a") as f:
        print(context.attempt, context.traceparent, file=f)
    if context.attempt == 1:
        time.sleep(1000)
    return context.traceparent


def unsteady(context, wanted):
    with open(sys.argv[1], "a") as f:
        print(context.attempt, context.traceparent, file=f)
    if context.attempt < wanted:
        raise ergon_client.RemoteError("ODD", "not yet")
    return context.traceparent


with ergon_client.Client(os.environ["ERGON_URL"], backoff=(0.01, 0.1)) as ergon:
    ergon.work({"seen": seen, "unsteady": unsteady, "held": held}, slots=4)
'''

# Handlers that call others, blocking and stepped, and one that asks for its own.
MODULE = """
#include <ergon/handler.h>

static void own(struct ergon_task *task)
{
    char text[ERGON_TRACEPARENT_SIZE];
    if (ergon_traceparent(task, text))
        ergon_result_str(task, text, sizeof text - 1);
}

static void pass(struct ergon_task *task, const struct ergon_outcome *out)
{
    if (out->ok)
        ergon_result_raw(task, out->result.at, out->result.len);
    else
        ergon_fail(task, out->code, out->text);
}

static void outer(struct ergon_task *task)
{
    struct ergon_outcome out;
    ergon_call(task, "seen", (struct ergon_bytes){(const uint8_t *)"\\x90", 1}, &out);
    pass(task, &out);
}

struct nested {
    struct ao_seq seq;
    struct ergon_call *call;
    struct ao_wait wait;
};

static enum ao_verdict outer_step(struct ao *self, struct ergon_task *task, void *state)
{
    struct nested *n = state;
    struct ergon_outcome out;
    AO_BEGIN(&n->seq);
    n->call = ergon_call_start(task, "seen", (struct ergon_bytes){(const uint8_t *)"\\x90", 1});
    AO_AWAIT(self, &n->seq, &n->wait, ergon_call_await(n->call, &n->wait));
    ergon_call_outcome(n->call, &out);
    pass(task, &out);
    AO_END(&n->seq);
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "own", .summary = "", .params = "[]", .run = own},
    {.size = sizeof handlers[0], .kind = ERGON_BLOCKING, .name = "outer", .summary = "", .params = "[]", .run = outer},
    {.size = sizeof handlers[0], .kind = ERGON_STEPPED, .name = "outer_stepped", .summary = "", .params = "[]",
     .step = outer_step, .state_size = sizeof(struct nested)}};

ERGON_MODULE(trace_module, "trace", "1.0")
{
    for (unsigned i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (ergon_register(module, &handlers[i]) != 0)
            return -1;
    return 0;
}
"""

place = None


def build():
    """The module and the worker, into `place`."""
    for name, text in (("trace.c", MODULE), ("worker.py", WORKER)):
        with open(os.path.join(place, name), "w") as f:
            f.write(text)
    build_module(os.path.join(place, "trace.c"), os.path.join(place, "trace.so"), "-fPIC", "-std=gnu17",
                 f"-I{SOURCE}/include")


def setUpModule():
    global place
    place = scratch(unittest.addModuleCleanup)
    build()


def start_worker(test, server, *arguments):
    """The worker of the Python package, once it is there."""
    package = os.path.join(SOURCE, "clients", "python")
    worker = subprocess.Popen([sys.executable, os.path.join(place, "worker.py"), *arguments],
                              env={**os.environ, "ERGON_URL": server.urls[0], "PYTHONPATH": package})

    def end():
        worker.kill()
        worker.wait()

    test.addCleanup(end)
    with server.connect() as client:
        eventually(lambda: client.call("worker.list")["workers"], "the worker registers")
    return worker


class Carried(unittest.TestCase):
    """Nothing is exported: what came is what is passed on."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--log-level", "warn", "--blocking", "2", "--module", os.path.join(place, "trace.so"),
                            "--workers-methods", "seen,unsteady,held")
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.client = self.server.connect()
        self.addCleanup(self.client.close)

    def ended(self, method, *params, **options):
        task = self.client.call("task.submit", method, list(params), options)["id"]
        return self.client.call("task.wait", [task], {"timeout": "60s"})["ended"][0]

    def call(self, method, *params, **options):
        return self.client.call("task.call", method, list(params), options)

    def test_it_is_kept_and_told(self):
        self.assertEqual(self.ended("echo", 1, traceparent=PARENT)["traceparent"], PARENT)
        self.assertIsNone(self.ended("echo", 1)["traceparent"])
        later = self.client.call("task.submit", "echo", [1], {"traceparent": "cc" + PARENT[2:] + "-more", "delay": "1h"})
        self.assertEqual(self.client.call("task.get", later["id"])["traceparent"], PARENT)

    def test_one_of_many_may_have_its_own(self):
        told = self.client.call("task.submit_many", [["echo", [1]], ["echo", [2], {"traceparent": OTHER}]], {"traceparent": PARENT})
        self.assertEqual([self.client.call("task.get", t["id"])["traceparent"] for t in told], [PARENT, OTHER])

    def test_wrong_ones_are_refused_and_nothing_is_begun(self):
        for wrong in ("", "00", PARENT.upper(), PARENT + "-", "ff" + PARENT[2:], PARENT.replace(TRACE, "0" * 32), 5, None):
            for method in ("task.submit", "task.call"):
                with self.assertRaises(RemoteError) as caught:
                    self.client.call(method, "echo", [1], {"traceparent": wrong})
                self.assertEqual(caught.exception.code, "BAD_PARAMS")
                self.assertIn("option \"traceparent\" must be a W3C traceparent", str(caught.exception))
        for wrong in ("", "x" * 513, "a=\n", 5):
            with self.assertRaises(RemoteError) as caught:
                self.call("echo", 1, traceparent=PARENT, tracestate=wrong)
            self.assertIn("option \"tracestate\" must be", str(caught.exception))
        with self.assertRaises(RemoteError) as caught:
            self.client.call("cron.put", "c", "@daily", "echo", [1], {"traceparent": PARENT})
        self.assertIn("traceparent", str(caught.exception))

    def test_a_call_with_its_trace_alone_is_a_plain_one(self):
        before = self.client.call("server.info")["kept"]["submitted"]
        self.assertEqual(self.call("own", traceparent=PARENT), PARENT)
        self.assertEqual(self.call("own", traceparent=PARENT, tracestate=STATE, deadline="1m"), PARENT)
        self.assertIsNone(self.call("own"))
        self.assertEqual(self.client.call("server.info")["kept"]["submitted"], before)
        self.assertEqual(self.call("own", traceparent=PARENT, priority=3), PARENT)
        self.assertEqual(self.client.call("server.info")["kept"]["submitted"], before + 1)

    def test_workers_and_nested_calls_inherit_it(self):
        start_worker(self, self.server, os.devnull)
        for method in ("seen", "outer", "outer_stepped"):
            self.assertEqual(self.call(method, traceparent=PARENT, tracestate=STATE), [PARENT, STATE])
            self.assertEqual(self.call(method, traceparent=OTHER), [OTHER, None])
            self.assertEqual(self.client.call(method), [None, None])
            task = self.ended(method, traceparent=PARENT, tracestate="x" * 512)
            self.assertEqual(task["result"], [PARENT, "x" * 512])

    def test_the_command_line_takes_it_by_flag_and_environment(self):
        def ergon(*arguments, **env):
            status, out, error = run_ergon(self.server.urls[0], *arguments, env={"TRACEPARENT": "", "TRACESTATE": "", **env})
            return status, out.decode().strip(), error

        self.assertEqual(ergon("call", "--traceparent", PARENT, "own"), (0, PARENT, ""))
        self.assertEqual(ergon("call", "own", TRACEPARENT=PARENT), (0, PARENT, ""))
        self.assertEqual(ergon("call", "--traceparent", OTHER, "own", TRACEPARENT=PARENT), (0, OTHER, ""))
        self.assertEqual(ergon("call", "echo", "x", TRACEPARENT="no trace"), (0, "x", ""))
        self.assertEqual(ergon("call", "server.ping", TRACEPARENT=PARENT)[0], 0)
        self.assertEqual(ergon("task", "call", "own", TRACEPARENT=PARENT), (0, PARENT, ""))
        self.assertEqual(ergon("task", "submit", "--wait", "--traceparent", PARENT, "own"), (0, PARENT, ""))
        task = ergon("task", "submit", "own", TRACEPARENT=PARENT)[1]
        self.assertIn(PARENT, ergon("task", "get", task)[1])
        status, _, error = ergon("call", "--traceparent", "00-x", "own")
        self.assertEqual(status, 2)
        self.assertIn("'00-x' is not a traceparent", error)
        status, _, error = ergon("task", "submit", "--traceparent", "00-x", "own")
        self.assertEqual(status, 2)
        self.assertIn("'00-x' is not a traceparent", error)

    def test_a_command_finds_it_in_its_environment(self):
        worker = subprocess.Popen([ERGON, "--server", self.server.urls[0], "worker", "--method", "seen", "--", "sh", "-c",
                                   "echo $TRACEPARENT/$TRACESTATE"], env={**os.environ, "TRACEPARENT": OTHER})
        self.addCleanup(worker.wait)
        self.addCleanup(worker.terminate)
        eventually(lambda: self.client.call("worker.list")["workers"], "the worker registers")
        self.assertEqual(self.call("seen", traceparent=PARENT, tracestate=STATE), f"{PARENT}/{STATE}")
        self.assertEqual(self.client.call("seen"), "/")


class Kept(unittest.TestCase):
    def test_it_outlives_the_server(self):
        store = os.path.join(scratch(self.addCleanup), "store")
        flags = ("--log-level", "warn", "--store", store, "--workers-methods", "seen")
        with Server(*flags).until_killed() as server, server.connect() as client:
            task = client.call("task.submit", "seen", [], {"traceparent": PARENT, "tracestate": STATE})["id"]
            large = client.call("task.submit", "seen", ["x" * 100000], {"traceparent": OTHER})["id"]
        with Server(*flags) as server:
            start_worker(self, server, os.devnull)
            with server.connect() as client:
                ended = {t["id"]: t for t in client.call("task.wait", [task, large], {"timeout": "60s"})["ended"]}
                self.assertEqual(len(ended), 2)
                self.assertEqual([ended[t]["traceparent"] for t in (task, large)], [PARENT, OTHER])
                self.assertEqual([ended[t]["result"] for t in (task, large)], [[PARENT, STATE], [OTHER, None]])


if __name__ == "__main__":
    unittest.main()
