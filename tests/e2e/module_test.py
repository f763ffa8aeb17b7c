"""Modules as their authors make them: outside the tree, against what was installed, with the plain compiler; loaded,
called, and refused when something is wrong with them."""
import glob
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
from unittest import mock

from harness import (BUILD, ERGOND, LIMIT, SANITIZED, SOURCE, RemoteError, Server, ServerTest, build_module, eventually, install,
                     module_compiler, scratch)

EXAMPLES = os.path.join(SOURCE, "examples", "module")
NAMES = ("hello", "permits", "tour")

# What a module may import: the C library, and what the compiler adds.
FROM_ELSEWHERE = re.compile(r"@GLIBC_|@@GLIBC_|^_ITM_|^__cxa_finalize|^__gmon_start__")

place = None  # a folder with the installation in prefix/, and the modules built against it
environment = None  # in which pkg-config finds it


def setUpModule():
    global place, environment
    place = scratch(unittest.addModuleCleanup)
    environment = install(os.path.join(place, "prefix"))
    for name in NAMES:
        build(os.path.join(EXAMPLES, name + ".c"), name)
    build(os.path.join(SOURCE, "examples", "actor", "tally.c"), "tally")


def installed(pattern):
    """The one file of the installation that the pattern names."""
    found = glob.glob(os.path.join(place, "prefix", pattern), recursive=True)
    assert len(found) == 1, (pattern, found)
    return found[0]


def cflags():
    done = subprocess.run(["pkg-config", "--cflags", "ergon-module"], env=environment, check=True, capture_output=True,
                          text=True)
    return done.stdout.split()


def module(name):
    return os.path.join(place, name + ".so")


def build(source, name, *flags):
    build_module(source, module(name), *cflags(), *flags)
    return module(name)


def build_text(text, name, *flags):
    path = os.path.join(place, name + ".c")
    with open(path, "w") as f:
        f.write(text)
    return build(path, name, *flags)


def one_handler(method, before=""):
    """The text of a module with one handler of that name."""
    return before + """
#include <ergon/handler.h>
static void run(struct ergon_task *task) { ergon_result_nil(task); }
static const struct ergon_handler handler = {
    .size = sizeof handler, .kind = ERGON_BLOCKING, .name = "%s", .summary = "", .params = "[]", .run = run};
ERGON_MODULE(test_module, "test", "1.0") { return ergon_register(module, &handler); }
""" % method


@unittest.skipIf(SANITIZED, "a sanitizer brings symbols of its own")
class Symbols(unittest.TestCase):
    def symbols(self, name, *flags):
        done = subprocess.run(["nm", "-D", *flags, module(name)], check=True, capture_output=True, text=True)
        return [line.split()[-1] for line in done.stdout.splitlines()]

    def test_they_import_nothing_of_the_server(self):
        for name in NAMES:
            for symbol in self.symbols(name, "--undefined-only"):
                self.assertRegex(symbol, FROM_ELSEWHERE, name)

    def test_they_export_one_function(self):
        for name in NAMES:
            self.assertEqual(self.symbols(name, "--defined-only"), ["ergon_module"])

    def test_the_headers_stand_alone(self):
        for header in glob.glob(os.path.join(SOURCE, "include", "ergon", "*.h")):
            name = os.path.basename(header)
            if name != "client.h":  # needs libevent's
                subprocess.run(["cc", "-fsyntax-only", "-x", "c", "-Wall", "-Wextra", "-Werror", *cflags(), "-"],
                               input=f"#include <ergon/{name}>\n", text=True, check=True)


class CPlusPlus(ServerTest):
    """A module may be written in C++, whose stepped handlers sleep between statements like those of C."""

    TEXT = """
#include <ergon/handler.h>
#include <string>

struct nap_state {
    ao_seq seq;
    uint64_t naps;
};

static ao_verdict nap(ao *self, ergon_task *task, void *state)
{
    nap_state *s = static_cast<nap_state *>(state);
    AO_BEGIN(&s->seq);
    while (s->naps++ < 3)
        AO_SLEEP(self, &s->seq, 1000000);
    ergon_result_int(task, static_cast<int64_t>(s->naps));
    AO_END(&s->seq);
}

static void greet(ergon_task *task)
{
    std::string text = "hello from C++";
    ergon_bytes name{};
    int32_t times = 1;

    if (!ergon_params(task, "|si", &name, &times))
        return;
    if (name.len == 0)
        ergon_result(task, "s", text.c_str());
    else
        ergon_result(task, "[sidB]", name, times, 0.5, times > 1);
}

ERGON_MODULE(plus_module, "plus", "1.0")
{
    static ergon_handler handlers[2];
    for (ergon_handler &handler : handlers) {
        handler.size = sizeof handler;
        handler.summary = "";
        handler.params = "[]";
    }
    handlers[0].kind = ERGON_STEPPED, handlers[0].name = "plus.nap";
    handlers[0].step = nap, handlers[0].state_size = sizeof(nap_state);
    handlers[1].kind = ERGON_BLOCKING, handlers[1].name = "plus.greet", handlers[1].run = greet;
    return ergon_register(module, &handlers[0]) == 0 ? ergon_register(module, &handlers[1]) : -1;
}
"""

    @classmethod
    def setUpClass(cls):
        source = os.path.join(place, "plus.cc")
        with open(source, "w") as f:
            f.write(cls.TEXT)
        subprocess.run(["c++", *module_compiler()[1:], "-std=c++17", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *cflags(),
                        source, "-o", module("plus")], check=True)
        cls.FLAGS = ("--module", module("plus"))
        super().setUpClass()

    def test_it_is_loaded_and_called(self):
        self.assertEqual(self.client.call("plus.nap"), 4)
        self.assertEqual(self.client.call("plus.greet"), "hello from C++")
        self.assertEqual(self.client.call("plus.greet", "Ada", 2), ["Ada", 2, 0.5, True])
        with self.refused("BAD_PARAMS") as caught:
            self.client.call("plus.greet", "Ada", 2**40)
        self.assertEqual(caught.exception.value,
                         "BAD_PARAMS: parameter 2 of plus.greet must be an integer from -2147483648 to 2147483647")


class Letters(unittest.TestCase):
    """What ergon_params() and ergon_result() do not take is an error of the compiler, in C and C++."""
    TEXT = """
#include <ergon/handler.h>
void uses(struct ergon_task *task);
void uses(struct ergon_task *task)
{
    int64_t n = 0; uint64_t u = 0; int32_t k = 0; double d = 0; bool b = false;
    struct ergon_bytes s = {0, 0};
    const char *text = "text";
    (void)n, (void)u, (void)k, (void)d, (void)b, (void)s, (void)text;
    (void)%s;
}
"""
    FIT = ('ergon_params(task, "")', 'ergon_params(task)', 'ergon_params(task, "iuidB", &n, &u, &k, &d, &b)',
           'ergon_params(task, "i|tz", &k, &u, &u)', 'ergon_params(task, "|sbalmsba", &s, &s, &s, &s, &s, &s, &s, &s)',
           'ergon_result(task, "n")', 'ergon_result(task, "[]")', 'ergon_result(task, "{}")', 'ergon_result(task, "B", n > 0)',
           'ergon_result(task, "[iudBss]", n, u, d, b, text, s)', 'ergon_result(task, "{sasb}", "k", s, text, s)',
           'ergon_result(task, "{sisisisu}", "a", 1, "b", k, "c", n, "d", sizeof n)')
    DO_NOT = ('ergon_params(task, "i", &u)', 'ergon_params(task, "i", n)', 'ergon_params(task, "i", (const int64_t *)&n)',
              'ergon_params(task, "ib", &n, &n)', 'ergon_params(task, "i|b", &n, &n)', 'ergon_params(task, "i|b", &n)',
              'ergon_params(task, "i", &n, &s)', 'ergon_params(task, "ix", &n, &n)', 'ergon_params(task, "i||i", &n, &n)',
              'ergon_params(task, text, &n)', 'ergon_result(task, "i", d)', 'ergon_result(task, "s", n)', 'ergon_result(task, "u", n)',
              'ergon_result(task, "d", n)', 'ergon_result(task, "ii", n, n)', 'ergon_result(task, "[i", n)',
              'ergon_result(task, "[i}", n)', 'ergon_result(task, "{i}", n)', 'ergon_result(task, "i")', 'ergon_result(task, "n", n)',
              'ergon_result(task, "b", &s)')

    def compilers(self):
        yield "cc", "-x", "c", "-std=c11", "-O0"
        yield "c++", "-x", "c++", "-std=c++17"
        if shutil.which("clang"):
            yield "clang", "-x", "c", "-std=c11", "-O0"
        if shutil.which("clang++"):
            yield "clang++", "-x", "c++", "-std=c++17"

    def error(self, compiler, use):
        done = subprocess.run([*compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *cflags(), "-"], input=self.TEXT % use,
                              capture_output=True, text=True, timeout=LIMIT)
        return done.stderr if done.returncode else ""

    def test_what_fits_compiles_without_a_warning_and_else_does_not(self):
        for compiler in self.compilers():
            for use in self.FIT:
                self.assertEqual(self.error(compiler, use), "", (compiler, use))
            for use in self.DO_NOT:
                self.assertIn("error: ", self.error(compiler, use), (compiler, use))
        self.assertIn("this pointer does not fit its letter: &u", self.error(("cc", "-x", "c"), 'ergon_params(task, "i", &u)'))


class Worker(ServerTest):
    """A worker in C, by `pkg-config --libs ergon`."""

    def test_it_serves_and_ends_in_good_order(self):
        program = os.path.join(place, "worker")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "ergon", "libevent_core", "msgpack"], env=environment,
                               check=True, capture_output=True, text=True).stdout.split()
        subprocess.run([*module_compiler(), "-Wall", "-Wextra", "-Werror", os.path.join(SOURCE, "examples", "worker", "worker.c"),
                        *flags, "-o", program], check=True)
        libraries = {"LD_LIBRARY_PATH": os.path.dirname(os.path.dirname(installed("**/ergon-module.pc")))}
        worker = subprocess.Popen([program, self.server.urls[0]], env={**os.environ, **libraries})
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        eventually(lambda: self.client.call("worker.list")["workers"], "it has registered")
        self.assertEqual(self.client.call("lines", "one\ntwo\n"), 2)
        self.assertEqual(self.client.call("lines", "x\n" * 70_000), 70_000)
        with self.refused("BAD_PARAMS"):
            self.client.call("lines", 7)
        worker.terminate()
        self.assertEqual(worker.wait(LIMIT), 0)


class Examples(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.FLAGS = tuple(flag for name in (*NAMES, "tally") for flag in ("--module", module(name))) + ("--loops", "2")
        super().setUpClass()

    def test_they_are_listed(self):
        methods = self.client.call("server.methods")
        for name in ("hello", "permits.work", "permits.alone", "tour.countdown", "tour.both", "tour.primes", "tour.count",
                     "tour.fingerprint"):
            self.assertIn(name, methods)
        self.assertEqual(self.client.call("server.describe", "tour.both")["module"], "tour")

    def test_tally(self):
        self.assertEqual([self.client.call("actor.call", "tally/votes", "add", [n]) for n in (2, 3)], [2, 5])
        with self.refused("BAD_PARAMS"):
            self.client.call("actor.call", "tally/votes", "add", ["x"])

    def test_hello(self):
        self.assertEqual(self.client.call("hello"), "hello, world")
        self.assertEqual(self.client.call("hello", "Ada"), "hello, Ada")
        with self.refused("BAD_PARAMS"):
            self.client.call("hello", 7)

    def test_countdown_sleeps_and_looks_at_its_deadline(self):
        self.assertEqual(self.client.call("tour.countdown", 3, "1ms"), "3 2 1 0")
        self.assertEqual(self.client.call("task.call", "tour.countdown", [1, 1], {"deadline": "50s"}), "1 0")
        began = time.monotonic()
        with self.refused("TOO_LATE") as caught:
            self.client.call("task.call", "tour.countdown", [5, "100s"], {"deadline": "50s"})
        self.assertLess(time.monotonic() - began, 40)  # it knows beforehand
        self.assertIn("after 5", caught.exception.value)
        with self.refused("DEADLINE"):
            self.client.call("task.call", "sleep", ["100s"], {"deadline": "10ms"})
        with self.refused("BAD_PARAMS"):
            self.client.call("tour.countdown", -1, "1ms")

    def test_countdowns_are_cancelled_in_the_middle(self):
        ids = [self.client.send("tour.countdown", 1000, "1s") for _ in range(100)]
        self.client.call("echo", 1)
        for msgid in ids:
            self.client.notify("server.cancel", msgid)
        for msgid in ids:
            error, _ = self.client.response(msgid)
            self.assertTrue(error.startswith("CANCELLED"), error)

    def test_both_calls_run_at_the_same_time(self):
        self.assertEqual(self.client.call("tour.both", ["sum", [1, 2]], ["echo", ["x" * 1000]]), [3, "x" * 1000])
        self.assertEqual(self.client.call("tour.both", ["hash", ["md5", b"", "hex"]], ["sleep", ["1ms"]])[0],
                         "d41d8cd98f00b204e9800998ecf8427e")
        with self.refused("DEADLINE"):
            self.client.call("task.call", "tour.both", [["sleep", ["100s"]], ["sum", [1]]], {"deadline": "10ms"})

    def test_both_hands_failures_on(self):
        with self.assertRaises(RemoteError) as caught:
            self.client.call("tour.both", ["fail", ["NO_SPACE", "the disk is full"]], ["sum", [1]])
        self.assertEqual(caught.exception.value, "NO_SPACE: the disk is full")
        with self.refused("NO_METHOD"):
            self.client.call("tour.both", ["sum", [1]], ["nothing", []])
        with self.refused("BAD_PARAMS"):
            self.client.call("tour.both", ["sum", [1]])

    def test_both_calls_both(self):
        def nested(depth):
            return ["tour.both", [["sum", [depth]], nested(depth - 1)]] if depth > 0 else ["sum", [0]]
        result = self.client.call(*(lambda m: (m[0], *m[1]))(nested(10)))
        self.assertEqual(result[0], 10)

    def test_both_is_cancelled_with_its_calls(self):
        msgid = self.client.send("tour.both", ["sleep", ["100s"]], ["block", ["100s"]])
        self.client.call("echo", 1)
        self.client.notify("server.cancel", msgid)
        error, _ = self.client.response(msgid)
        self.assertTrue(error.startswith("CANCELLED"), error)
        self.assertGreaterEqual(self.client.call("block", "1ms"), 0)

    def test_primes_looks_up_now_and_then(self):
        self.assertEqual(self.client.call("tour.primes", 10000), 1229)
        with self.refused("BAD_PARAMS"):
            self.client.call("tour.primes", "many")
        msgid = self.client.send("tour.primes", 2**62)
        self.client.call("echo", 1)
        self.client.notify("server.cancel", msgid)
        error, _ = self.client.response(msgid)
        self.assertTrue(error.startswith("CANCELLED"), error)
        with self.assertRaises(RemoteError) as caught:
            self.client.call("task.call", "tour.primes", [2**62], {"deadline": "200ms"})
        self.assertIn(caught.exception.code, ("TOO_FAR", "DEADLINE"))  # its own answer, if it was quick enough

    def test_count_packs_a_map(self):
        self.assertEqual(self.client.call("tour.count", "two words\n"), {"bytes": 10, "words": 2, "lines": 1})
        self.assertEqual(self.client.call("tour.count", ""), {"bytes": 0, "words": 0, "lines": 0})

    def test_fingerprint_calls_and_waits(self):
        self.assertEqual(self.client.call("tour.fingerprint", b"abc"), "ba7816bf")
        ids = [self.client.send("tour.fingerprint", b"abc") for _ in range(50)]
        for msgid in ids:
            self.assertEqual(self.client.result(msgid), "ba7816bf")
        with self.refused("BAD_PARAMS"):
            self.client.call("tour.fingerprint")

    def connections_of_all_loops(self):
        """The acceptor gives each connection to the loop with the fewest."""
        clients = [self.server.connect() for _ in range(6)]
        for client in clients:
            self.addCleanup(client.close)
            client.call("echo", 1)
        return clients

    def test_permits_are_three_over_all_loops(self):
        clients = self.connections_of_all_loops()
        calls = [(client, client.send("permits.work", i, "20ms")) for i in range(5) for client in clients]
        at_work = [client.result(msgid) for client, msgid in calls]
        self.assertEqual(max(at_work), 3)
        self.assertGreaterEqual(min(at_work), 1)

    def test_permits_come_back_from_who_is_cancelled_or_gone(self):
        clients = self.connections_of_all_loops()
        for client in clients:
            for i in range(3):
                client.send("permits.work", i, "100s")  # three of these hold the permits, the others wait
            client.call("echo", 1)
        for client in clients[::2]:
            for msgid in (2, 3, 4):
                client.notify("server.cancel", msgid)
                client.response(msgid)
        for client in clients[1::2]:
            client.reset()
        results = [self.client.send("permits.work", i, "1ms") for i in range(10)]
        for msgid in results:
            self.assertIn(self.client.result(msgid), (1, 2, 3))

    def test_a_blocking_handler_takes_all_permits(self):
        clients = self.connections_of_all_loops()
        works = [(client, client.send("permits.work", i, "5ms")) for i in range(3) for client in clients]
        alone = [(client, client.send("permits.alone", "5ms")) for client in clients]
        works += [(client, client.send("permits.work", i, "5ms")) for i in range(3) for client in clients]
        self.assertEqual({client.result(msgid) for client, msgid in alone}, {1})
        self.assertLessEqual({client.result(msgid) for client, msgid in works}, {1, 2, 3})

    def running(self, handler):
        return sum(h["running"] for h in self.client.call("server.info")["handlers"] if h["name"] == handler)

    def test_a_blocking_handler_that_waits_for_permits_is_woken(self):
        with self.server.connect() as client:
            held = client.send("permits.work", 1, "100s")
            client.call("echo", 1)
            with self.assertRaises(RemoteError) as caught:
                client.call("task.call", "permits.alone", ["1ms"], {"deadline": "50ms"})
            self.assertIn(caught.exception.code, ("DEADLINE", "FAILED"))  # whoever was first: its loop, or the handler
            alone = client.send("permits.alone", "1ms")
            eventually(lambda: self.running("permits.alone") == 1, "it runs")
            behind = client.send("permits.work", 2, "1ms")  # there is a permit for it, which is kept for the one before
            client.notify("server.cancel", alone)
            self.assertEqual(client.result(behind), 2)
            client.notify("server.cancel", held)
            self.assertEqual(client.call("permits.alone", "1ms"), 1)


class Shutdown(unittest.TestCase):
    def test_with_work_in_flight(self):
        """Parked tasks, nested calls, held and awaited permits: all are let go of."""
        server = Server(*[flag for name in NAMES for flag in ("--module", module(name))], "--loops", "2", "--drain", "600s")
        clients = [server.connect() for _ in range(4)]
        for client in clients:
            for i in range(3):
                client.send("permits.work", i, "100s")
            client.send("tour.both", ["sleep", ["100s"]], ["block", ["100s"]])
            client.send("tour.countdown", 9, "100s")
            client.call("echo", 1)
        server.signal(signal.SIGTERM)
        eventually(lambda: "DRAINING" in server.log_text(), "it drains")
        self.assertEqual(server.stop(), 0, server.log_text())  # the second signal: at once
        server.log.close()
        for client in clients:
            client.close()


DEMO = {"sleep", "block", "burn", "fail", "flaky", "later", "progress"}


class Demo(unittest.TestCase):
    """The module that comes with the server."""

    def test_is_there_only_when_asked_for(self):
        with Server(demo=False) as server, server.connect() as client:
            methods = client.call("server.methods")
            self.assertEqual(DEMO & set(methods), set())
            self.assertIn("echo", methods)
            for call in ("sleep", "1h"), ("task.call", "sleep", ["1h"]), ("task.submit", "sleep", ["1h"]):
                with self.assertRaises(RemoteError) as refused:
                    client.call(*call)
                self.assertEqual(refused.exception.code, "NO_METHOD")
                self.assertIn("--module demo", refused.exception.value)
        with Server(demo=True) as server, server.connect() as client:
            self.assertEqual(DEMO - set(client.call("server.methods")), set())

    def test_may_stand_in_the_configuration(self):
        config = os.path.join(scratch(self.addCleanup), "ergond.yaml")
        with open(config, "w") as f:
            f.write("modules: [demo]\n")
        with Server("--config", config, demo=False) as server, server.connect() as client:
            self.assertGreaterEqual(client.call("sleep", "1ms"), 1)

    def test_is_installed_with_the_server_wherever_that_is_moved_to(self):
        folder = scratch(self.addCleanup)
        prefix, moved = os.path.join(folder, "prefix"), os.path.join(folder, "moved")
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        os.rename(prefix, moved)
        with mock.patch("harness.ERGOND", os.path.join(moved, "bin", "ergond")):
            with Server(demo=True) as server, server.connect() as client:
                self.assertGreaterEqual(client.call("sleep", "1ms"), 1)


class Refused(unittest.TestCase):
    def assert_refused(self, *paths, names):
        flags = [flag for path in paths for flag in ("--module", path)]
        done = subprocess.run([ERGOND, "--listen", "ergon://127.0.0.1:0", *flags], capture_output=True, text=True,
                              timeout=LIMIT)
        text = done.stderr
        self.assertIn(done.returncode, (1, 2), text)
        self.assertEqual(done.stdout, "")
        for name in names:
            self.assertIn(name, text)
        self.assertNotIn("Sanitizer", text)

    def test_another_major_version(self):
        path = build_text(one_handler("t.run").replace("ERGON_MODULE(", """
#undef ERGON_MODULE_DOOR
#define ERGON_MODULE_DOOR(ident) const struct ergon_host *ergon_host; static struct ergon_module_info other; \\
    __attribute__((visibility("default"))) const struct ergon_module_info *ergon_module(void) \\
    { other = ident##_info; other.abi_major = 77; return &other; }
ERGON_MODULE("""), "version")
        self.assert_refused(path, names=["test", "77", "version 1"])

    def test_a_bare_name_that_the_server_does_not_bring(self):
        self.assert_refused("demos", names=["modules", "demos"])

    def test_a_missing_file(self):
        self.assert_refused("/nowhere/at_all.so", names=["/nowhere/at_all.so"])

    def test_what_is_no_shared_object(self):
        path = os.path.join(place, "text.so")
        with open(path, "w") as f:
            f.write("no module\n")
        self.assert_refused(path, names=[path])

    def test_what_is_no_module(self):
        path = build_text("int something(void);\n__attribute__((visibility(\"default\"))) int something(void) { return 1; }\n",
                          "library")
        self.assert_refused(path, names=[path, "ergon_module"])

    def test_a_name_that_is_taken(self):
        self.assert_refused(build_text(one_handler("echo"), "taken"), names=["echo"])
        self.assert_refused(module("hello"), build_text(one_handler("hello"), "again"), names=["hello"])

    def test_the_same_module_twice(self):
        self.assert_refused(module("hello"), module("hello"), names=["hello"])

    def test_a_prefix_of_the_servers_own(self):
        for prefix in ("server", "task", "queue", "cron", "worker", "sem", "event", "actor"):
            with self.subTest(prefix):
                self.assert_refused(build_text(one_handler(prefix + ".mine"), prefix), names=[prefix + ".mine"])

    def test_names_that_are_none(self):
        for i, name in enumerate(("", "two words", "Upper", "x" * 65)):
            with self.subTest(name):
                self.assert_refused(build_text(one_handler(name), f"name{i}"), names=["name"])

    def test_a_handler_that_is_neither_or_both(self):
        text = one_handler("t.run")
        self.assert_refused(build_text(text.replace(".run = run", ".arg = (void *)run"), "neither"), names=["t.run"])
        self.assert_refused(build_text(text.replace("ERGON_BLOCKING", "ERGON_STEPPED"), "wrong_kind"), names=["t.run"])
        both = text.replace("static const struct", """
static enum ao_verdict step(struct ao *self, struct ergon_task *task, void *state)
{ (void)self; (void)task; (void)state; return AO_DONE; }
static const struct""").replace(".run = run", ".run = run, .step = step")
        self.assert_refused(build_text(both, "both_kinds"), names=["t.run"])

    def test_too_much_state(self):
        text = one_handler("t.run").replace("ERGON_BLOCKING", "ERGON_STEPPED").replace(".run = run", """
.step = step, .state_size = 65537""").replace("static const struct", """
static enum ao_verdict step(struct ao *self, struct ergon_task *task, void *state)
{ (void)self; (void)state; run(task); return AO_DONE; }
static const struct""")
        self.assert_refused(build_text(text, "state"), names=["t.run"])

    def test_a_module_that_refuses_itself(self):
        path = build_text("""
#include <ergon/handler.h>
ERGON_MODULE(test_module, "moody", "1.0") { (void)module; ergon_log(3, "moody", "not today"); return -1; }
""", "moody")
        self.assert_refused(path, names=["moody", "not today"])


class Edges(ServerTest):
    """What a handler does at the edges of its interface."""

    TEXT = """
#include <stdlib.h>
#include <ergon/handler.h>

/* State beyond what lies in a task, with a permit inside: both go in the right order. */
struct large { struct ao_seq seq; struct ao_permit permit; char bytes[4000]; };
static struct ao_sem sem;

static enum ao_verdict large(struct ao *self, struct ergon_task *task, void *state)
{
    struct large *s = state;

    AO_BEGIN(&s->seq);
    AO_SCOPED_ACQUIRE(self, &s->seq, &sem, &s->permit);
    for (size_t i = 0; i < sizeof s->bytes; i++)
        if (s->bytes[i] != 0)
            abort();
    memset(s->bytes, 1, sizeof s->bytes);
    AO_SLEEP(self, &s->seq, AO_MS(1));
    if (ergon_params(task).len > 1)
        ergon_result_raw(task, ergon_params(task).at, ergon_params(task).len);
    AO_END(&s->seq);
}

static enum ao_verdict fault(struct ao *self, struct ergon_task *task, void *state)
{
    (void)state;
    if (ergon_params(task).len > 1)
        return ao_fault(self, 5, "%d wrongs", 2);
    return ao_fault(self, 5, "%s", "wrong");
}

static enum ao_verdict fault_late(struct ao *self, struct ergon_task *task, void *state)
{
    struct large *s = state;

    (void)task;
    AO_BEGIN(&s->seq);
    AO_SCOPED_ACQUIRE(self, &s->seq, &sem, &s->permit);
    AO_SLEEP(self, &s->seq, AO_MS(1));
    return ao_fault(self, 6, "late");
    AO_END(&s->seq);
}

/* Sets a result that is larger than a message may be. */
static void huge(struct ergon_task *task)
{
    if (ergon_result_room(task, ergon_message_max(task) + 1))
        ergon_fail(task, "WRONG", "there was room");
    ergon_result_nil(task);
}

static void codes(struct ergon_task *task)
{
    struct ergon_reader r;
    struct ergon_bytes code;
    char text[1000];

    ergon_params_open(task, &r);
    if (ergon_read_bytes(&r, &code) && code.len < 100) {
        memset(text, 'y', sizeof text);
        text[sizeof text - 1] = 0;
        char name[100] = {0};
        memcpy(name, code.at, code.len);
        ergon_fail(task, name, text);
    }
    ergon_fail(task, "SECOND", "only the first counts");
    ergon_result_nil(task);
}

/* Results one after the other: the last counts. */
static void last(struct ergon_task *task)
{
    char *kept = ergon_alloc(task, 100000);

    if (!kept)
        return;
    memset(kept, 'z', 100000);
    ergon_result_str(task, kept, 100000);
    ergon_result_int(task, 7);
    ergon_result_str(task, kept, 1000);
}

/* [n]: how deep it went, by calls of itself. */
struct deep { struct ao_seq seq; struct ao_wait wait; struct ergon_call *call; };

static struct ergon_bytes one_less(struct ergon_task *task, uint8_t room[2])
{
    struct ergon_reader r;
    int64_t n = 0;

    ergon_params_open(task, &r);
    ergon_read_int(&r, &n);
    room[0] = 0x91;
    room[1] = (uint8_t)(n - 1);
    return (struct ergon_bytes){room, n > 0 ? 2 : 0};
}

static void answer_outcome(struct ergon_task *task, const struct ergon_outcome *out)
{
    if (out->ok)
        ergon_result_raw(task, out->result.at, out->result.len);
    else
        ergon_fail(task, out->code, out->text);
}

static enum ao_verdict deep(struct ao *self, struct ergon_task *task, void *state)
{
    struct deep *s = state;
    struct ergon_outcome out;
    uint8_t room[2];

    AO_BEGIN(&s->seq);
    if (one_less(task, room).len == 0) {
        ergon_result_str(task, "bottom", 6);
        return AO_DONE;
    }
    s->call = ergon_call_start(task, "edge.deep", one_less(task, room));
    AO_AWAIT(self, &s->seq, &s->wait, ergon_call_await(s->call, &s->wait));
    ergon_call_outcome(s->call, &out);
    answer_outcome(task, &out);
    AO_END(&s->seq);
}

static void deep_blocking(struct ergon_task *task)
{
    struct ergon_outcome out;
    uint8_t room[2];

    if (one_less(task, room).len == 0) {
        ergon_result_str(task, "bottom", 6);
        return;
    }
    ergon_call(task, "edge.deep_blocking", one_less(task, room), &out);
    answer_outcome(task, &out);
}

#define STEPPED(fn, bytes, method) {.size = sizeof(struct ergon_handler), .kind = ERGON_STEPPED, .name = method, \\
    .summary = "", .params = "[]", .step = fn, .state_size = bytes}
#define BLOCKING(fn, method) {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = method, \\
    .summary = "", .params = "[]", .run = fn}
static const struct ergon_handler handlers[] = {
    STEPPED(large, sizeof(struct large), "edge.large"), STEPPED(fault, 0, "edge.fault"),
    STEPPED(fault_late, sizeof(struct large), "edge.fault_late"),
    STEPPED(deep, sizeof(struct deep), "edge.deep"), BLOCKING(deep_blocking, "edge.deep_blocking"),
    BLOCKING(huge, "edge.huge"), BLOCKING(codes, "edge.codes"), BLOCKING(last, "edge.last"),
};
ERGON_MODULE(edge_module, "edge", "1.0")
{
    ao_sem_init(&sem, 2);
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) < 0)
            return -1;
    return 0;
}
"""

    @classmethod
    def setUpClass(cls):
        cls.FLAGS = ("--module", build_text(cls.TEXT, "edge", "-O2"), "--loops", "1", "--blocking", "2")
        super().setUpClass()

    def test_large_state_with_a_permit_inside(self):
        ids = [self.client.send("edge.large", i, "x" * i) for i in range(0, 600, 7)]
        for i, msgid in zip(range(0, 600, 7), ids):
            self.assertEqual(self.client.result(msgid), [i, "x" * i])

    def test_a_fault_is_a_failure_and_gives_the_permit_back(self):
        with self.assertRaises(RemoteError) as caught:
            self.client.call("edge.fault")
        self.assertEqual(caught.exception.value, "FAILED: wrong")
        with self.assertRaises(RemoteError) as caught:
            self.client.call("edge.fault", 1)
        self.assertEqual(caught.exception.value, "FAILED: 2 wrongs")
        for msgid in [self.client.send("edge.fault_late") for _ in range(20)]:
            error, _ = self.client.response(msgid)
            self.assertEqual(error, "FAILED: late")
        self.assertEqual(self.client.call("edge.large", 1), [1])

    def test_a_result_beyond_a_message(self):
        with self.refused("TOO_LARGE"):
            self.client.call("edge.huge")

    def test_codes_and_texts_are_cut_to_what_they_may_be(self):
        for code, expected in (("GOOD_1", "GOOD_1"), ("bad", "FAILED"), ("", "FAILED"), ("X" * 32, "X" * 32),
                               ("X" * 33, "FAILED")):
            with self.refused(expected) as caught:
                self.client.call("edge.codes", code)
            self.assertLessEqual(len(caught.exception.value), len(expected) + 2 + 400)
            self.assertIn("yyy", caught.exception.value)
        with self.refused("SECOND"):
            self.client.call("edge.codes")

    def test_calls_within_calls_down_to_the_limit(self):
        for method in ("edge.deep", "edge.deep_blocking"):
            for depth in (0, 1, 2, 5, 16):
                self.assertEqual(self.client.call(method, depth), "bottom")
            with self.refused("TOO_DEEP"):
                self.client.call(method, 17)

    def test_all_blocking_executors_wait_for_calls_of_their_own(self):
        ids = [self.client.send("edge.deep_blocking", 3 + i % 5) for i in range(100)]
        for msgid in ids:
            self.assertEqual(self.client.result(msgid), "bottom")

    def test_the_last_result_counts(self):
        self.assertEqual(self.client.call("edge.last"), "z" * 1000)


if __name__ == "__main__":
    unittest.main()
