"""What `ergond --dev` says of handlers."""
import os
import unittest

from harness import SANITIZED, SOURCE, RemoteError, Server, build_handlers, scratch


class Dev(unittest.TestCase):
    """ergond --dev: what it says of a handler, and once; and nothing of those that behave."""

    TEXT = """
#include <ergon/handler.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char *kept;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static enum ao_verdict sleeps(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self, (void)task, (void)state;
    usleep(5000);
    return AO_DONE;
}

static enum ao_verdict computes(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self, (void)task, (void)state;
    for (double until = now() + 0.02; now() < until;)
        ;
    return AO_DONE;
}

static enum ao_verdict leaves(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self, (void)state;
    ergon_call_start(task, "echo", (struct ergon_bytes){0});
    return AO_DONE;
}

static enum ao_verdict gives_up(struct ao *self, struct ergon_task *task, void *state)
{
    leaves(self, task, state);
    ergon_fail(task, "NO_SPACE", "none");
    return AO_DONE;
}

static enum ao_verdict repeats(struct ao *self, struct ergon_task *task, void *state)
{
    if (ergon_attempt(task) == 1) {
        leaves(self, task, state);
        ergon_again(task, 0);
    }
    return AO_DONE;
}

/* Ends with the first of two calls. */
struct selects { struct ao_seq seq; struct ao_wait wait, each[2]; struct ao_select select; struct ergon_call *calls[2]; };
static enum ao_verdict selects(struct ao *self, struct ergon_task *task, void *state)
{
    static const char *const names[] = {"echo", "server.ping"};
    struct selects *s = state;

    AO_BEGIN(&s->seq);
    for (int i = 0; i < 2; i++)
        s->calls[i] = ergon_call_start(task, names[i], (struct ergon_bytes){0});
    AO_AWAIT(self, &s->seq, &s->wait,
             (ao_select_begin(&s->select, s->each, 2),
              AO_SELECT(&s->select, 0, ergon_call_await(s->calls[0], &s->each[0])),
              AO_SELECT(&s->select, 1, ergon_call_await(s->calls[1], &s->each[1])),
              ao_select_await(&s->select, &s->wait)));
    AO_END(&s->seq);
}

/* In its second step, as a task that lives on. */
static enum ao_verdict leaks(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self, (void)task;
    if (++*(int *)state == 1)
        return AO_AGAIN;
    kept = realloc(strdup("x"), 100);
    return AO_DONE;
}

static void leaks_too(struct ergon_task *task)
{
    (void)task;
    kept = malloc(1000);
    kept = calloc(10, 20);
}

/* Fills a cache once, gives back what it takes, sleeps as one may, and asks the host for memory. */
struct tidy { struct ao_seq seq; char *at; };
static enum ao_verdict tidy(struct ao *self, struct ergon_task *task, void *state)
{
    static char *cache;
    struct tidy *s = state;

    AO_BEGIN(&s->seq);
    if (!cache)
        cache = malloc(100);
    s->at = malloc(50);
    ergon_alloc(task, 500);
    AO_SLEEP(self, &s->seq, AO_MS(2));
    AO_END(&s->seq);
}
static void tidy_up(struct ergon_task *task, void *state)
{
    (void)task;
    free(((struct tidy *)state)->at);
}

static void tidy_too(struct ergon_task *task)
{
    char *at = malloc(10), *other = strndup("abc", 2);
    usleep(2000);
    at = realloc(at, 10000);
    free(at);
    free(other);
    ergon_result_int(task, 1);
}

#define STEPPED(fn, room, end) {.size = sizeof(struct ergon_handler), .kind = ERGON_STEPPED, .name = "dev." #fn, \\
    .summary = "", .params = "[]", .step = fn, .state_size = room, .cleanup = end}
#define BLOCKING(fn) {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = "dev." #fn, \\
    .summary = "", .params = "[]", .run = fn}
static const struct ergon_handler handlers[] = {
    STEPPED(sleeps, 0, NULL), STEPPED(computes, 0, NULL), STEPPED(leaves, 0, NULL), STEPPED(leaks, sizeof(int), NULL),
    STEPPED(gives_up, 0, NULL), STEPPED(repeats, 0, NULL), STEPPED(selects, sizeof(struct selects), NULL),
    STEPPED(tidy, sizeof(struct tidy), tidy_up), BLOCKING(leaks_too), BLOCKING(tidy_too),
};
ERGON_MODULE(dev_module, "dev", "1.0")
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) < 0)
            return -1;
    return 0;
}
"""

    def said(self, method, *build_flags, times=4, flags=("--dev",)):
        """What the log says of the method that was called so often; that a step took long may be the fault of a busy machine."""
        path = build_handlers(scratch(self.addCleanup), "dev", self.TEXT, *build_flags)
        with Server("--module", path, "--loops", "1", *flags) as server, server.connect() as client:
            for _ in range(times):
                client.call(method)
            self.assertEqual(server.stop(), 0)
            lines = [line for line in server.log_text().splitlines() if "--dev:" in line]
            return [line for line in lines if method == "dev.computes" or "a step took long" not in line]

    def test_a_step_that_sleeps(self):
        line, = self.said("dev.sleeps")
        self.assertRegex(line, r"a step slept or waited.* module=dev method=dev.sleeps task=\d+ off_processor=\d")

    def test_a_step_that_takes_long(self):
        line, = self.said("dev.computes")
        self.assertRegex(line, r"a step took long.* module=dev method=dev.computes task=\d+ on_processor=2\d.* limit=5ms")

    def test_a_nested_call_that_nobody_awaits(self):
        line, = self.said("dev.leaves")
        self.assertRegex(line, r"nested call that it never awaited.* method=dev.leaves ")

    def test_nothing_is_said_of_calls_that_are_awaited_or_given_up(self):
        folder = scratch(self.addCleanup)
        with open(os.path.join(SOURCE, "examples", "module", "tour.c")) as f:
            tour = build_handlers(folder, "tour", f.read())
        dev = build_handlers(folder, "dev", self.TEXT)
        with Server("--module", dev, "--module", tour, "--loops", "1", "--dev") as server, server.connect() as client:
            self.assertEqual(client.call("tour.both", ["sum", [1, 2]], ["sum", [3]]), [3, 3])
            client.call("dev.selects")
            task = client.call("task.submit", "dev.repeats", [])["id"]
            client.call("task.wait", task)
            self.assertEqual(client.call("task.get", task)["attempt"], 2)
            for method, *params in (("tour.both", ["fail", ["NO_SPACE", "none"]], ["sum", [3]]), ("dev.gives_up",)):
                with self.assertRaisesRegex(RemoteError, "NO_SPACE"):
                    client.call(method, *params)
            late = client.send("task.call", "tour.both", [["sleep", ["100s"]], ["sum", [1]]], {"deadline": "10ms"})
            self.assertIn("DEADLINE", client.response(late)[0])
            self.assertEqual(server.stop(), 0)
            self.assertNotIn("never awaited", server.log_text())

    @unittest.skipIf(SANITIZED, "a sanitizer takes the functions of malloc for itself")
    def test_memory_that_is_held_at_the_end(self):
        for flags in ((), ("-fno-plt", "-Wl,-z,now,-z,relro")):
            line, = self.said("dev.leaks", *flags)
            self.assertRegex(line, r"leaves memory.* module=dev method=dev.leaks task=\d+ bytes=100 blocks=1 tasks=3")
        line, = self.said("dev.leaks_too")
        self.assertRegex(line, r"method=dev.leaks_too task=\d+ bytes=1200 blocks=2 tasks=3")
        self.assertEqual(self.said("dev.leaks", times=2), [])

    def test_nothing_is_said_of_those_that_behave(self):
        self.assertEqual(self.said("dev.tidy", times=10), [])
        self.assertEqual(self.said("dev.tidy_too", times=10), [])

    def test_nothing_is_said_without_it(self):
        self.assertEqual(self.said("dev.sleeps", flags=()), [])
        if not SANITIZED:  # a sanitizer has a report of its own about what leaks
            self.assertEqual(self.said("dev.leaks", flags=()), [])


if __name__ == "__main__":
    unittest.main()
