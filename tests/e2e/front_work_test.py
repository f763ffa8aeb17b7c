#!/usr/bin/python3
"""What the handlers of a node are for a task that another node owns: as those of a worker."""
import os
import signal
import subprocess
import unittest

import front_test
from harness import ERGOND, LIMIT, build_handlers, eventually

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
MODULE = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ergon/handler.h>

static void write_line(const char *path, const char *line)
{
    FILE *f = fopen(path, "a");

    if (!f)
        abort();
    fprintf(f, "%s\n", line);
    fclose(f);
}

static bool read_path(struct ergon_task *task, char *path, size_t size)
{
    struct ergon_reader r;
    struct ergon_bytes text;

    if (ergon_params_open(task, &r) != 1 || !ergon_read_bytes(&r, &text))
        return false;
    snprintf(path, size, "%.*s", (int)text.len, (const char *)text.at);
    return true;
}

/* Progress, a part of the result; then what it knows of its task. */
static void say(struct ergon_task *task)
{
    char id[ERGON_TASK_ID_SIZE], trace[ERGON_TRACEPARENT_SIZE] = "", text[200];
    bool has_id = ergon_task_id(task, id);

    ergon_progress(task, 1, 2, "half");
    ergon_partial(task, "\x07", 1);
    if (has_id)
        ergon_submit(task, "echo", (struct ergon_bytes){.at = (const uint8_t *)"\x91\x07", .len = 2}, (struct ergon_bytes){0});
    ergon_traceparent(task, trace);
    snprintf(text, sizeof text, "%s %u %s %d %d", has_id ? id : "-", ergon_attempt(task), trace,
             ergon_time_left(task) < UINT64_MAX, (int)getpid());
    ergon_result_str(task, text, strlen(text));
}

/* [path]: until it is cancelled; writes a line when it begins, and one when it knows. */
static void hold(struct ergon_task *task)
{
    char path[300], line[40];

    if (!read_path(task, path, sizeof path))
        return;
    snprintf(line, sizeof line, "begun %u", ergon_attempt(task));
    write_line(path, line);
    while (!ergon_cancelled(task))
        usleep(2000);
    write_line(path, "cancelled");
    ergon_fail(task, "STOPPED", "as it was asked to");
}

/* [path]: until the file `path`.go is there. */
static void wait_for(struct ergon_task *task)
{
    char path[300], go[310];

    if (!read_path(task, path, sizeof path))
        return;
    write_line(path, "begun");
    snprintf(go, sizeof go, "%s.go", path);
    while (access(go, F_OK) != 0)
        usleep(2000);
    ergon_result_int(task, ergon_attempt(task));
}

/* Keeps a checkpoint and fails, asks to be run again, then answers that. */
static void stumble(struct ergon_task *task)
{
    struct ergon_bytes kept;

    if (ergon_attempt(task) == 1) {
        ergon_checkpoint(task, "\x03", 1);
        ergon_fail(task, "NO_LUCK", "not yet");
    } else if (ergon_attempt(task) == 2) {
        ergon_again(task, 1000000);
    } else {
        ergon_result_int(task, ergon_last_checkpoint(task, &kept) ? *(const uint8_t *)kept.at : -1);
    }
}

/* "BATCH CALLBACK_OF", a dash for none. */
static void belong(struct ergon_task *task)
{
    char batch[ERGON_TASK_ID_SIZE], callback_of[ERGON_TASK_ID_SIZE], text[2 * ERGON_TASK_ID_SIZE];
    bool member = ergon_batch(task, batch), callback = ergon_callback_of(task, callback_of);

    snprintf(text, sizeof text, "%s %s", member ? batch : "-", callback ? callback_of : "-");
    ergon_result_str(task, text, strlen(text));
}

struct step_state {
    struct ao_seq seq;
    char path[300];
};

/* [path]: parks for a second or an hour, then as `say`; writes a line when it begins, and one when it ends. */
static enum ao_verdict step(struct ao *self, struct ergon_task *task, void *state)
{
    struct step_state *s = state;

    AO_BEGIN(&s->seq);
    if (!read_path(task, s->path, sizeof s->path))
        return AO_DONE;
    write_line(s->path, "begun");
    AO_SLEEP(self, &s->seq, strstr(s->path, "hour") ? UINT64_C(3600000000000) : UINT64_C(1000000));
    say(task);
    AO_END(&s->seq);
}

static void clean_up(struct ergon_task *task, void *state)
{
    const struct step_state *s = state;

    (void)task;
    write_line(s->path, "over");
}

static void die(struct ergon_task *task)
{
    (void)task;
    kill(getpid(), SIGKILL);
    pause();
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = "node.say", .run = say},
    {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = "node.hold", .run = hold},
    {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = "node.wait", .run = wait_for},
    {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = "node.stumble", .run = stumble},
    {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = "node.belong", .run = belong},
    {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = "node.die", .run = die},
    {.size = sizeof(struct ergon_handler), .kind = ERGON_STEPPED, .name = "node.step", .step = step, .cleanup = clean_up,
     .state_size = sizeof(struct step_state)},
};
ERGON_MODULE(node_module, "node", "1")
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) != 0)
            return -1;
    return 0;
}
"""


class Work(front_test.Nodes):
    """a owns, and runs no submitted task; b alone has the module."""

    def setUp(self):
        super().setUp()
        self.client = self.a.connect()
        self.addCleanup(self.client.close)
        self.offered()

    def start(self, name, *flags, **more):
        if name == "b":
            path = os.path.join(self.folder, "node.so")
            flags = ("--module", path if os.path.exists(path) else build_handlers(self.folder, "node", MODULE), "--blocking", "4", *flags)
        if name == "a":
            flags = ("--cluster-work=false", *flags)
        return super().start(name, "--tasks-losses", "1", *flags, **more)

    def offered(self):
        eventually(lambda: any("node.say" in w["methods"] for w in self.client.call("worker.list")["workers"]), "b offers its handlers")

    def submit(self, method, *params, **options):
        return self.client.call("task.submit", method, params, {"keep": "1h", **options})["id"]

    def wait(self, task, state="done"):
        ended = self.client.call("task.wait", task, {"result": True})["ended"][0]
        self.assertEqual(ended["state"], state, ended)
        return ended

    def lines(self, path):
        """What a handler has written."""
        if not os.path.exists(path):
            return []
        with open(path) as f:
            return f.read().split("\n")[:-1]

    def place(self, name):
        return os.path.join(self.folder, name)

    def test_an_attempt(self):
        self.knows_and_says()
        self.is_cancelled()
        self.is_stepped()
        self.runs_where_it_is_offered()

    def knows_and_says(self):
        with self.subTest("attempt, trace, deadline"):
            task = self.submit("node.say", traceparent=PARENT, timeout="1h")
            said = self.wait(task)["result"].split(" ")
            self.assertEqual(said[:2], [task, "1"])
            self.assertEqual(said[2].split("-")[1], PARENT.split("-")[1])
            self.assertEqual(said[3:], ["1", str(self.b.pid)])
        with self.subTest("progress and partial results"):
            events = {e["event"]: e for e in self.client.call("task.get", task, {"history": True})["history"]}
            self.assertEqual((events["progress"]["text"], events["progress"]["data"]), ("half", {"done": 1, "total": 2}))
            self.assertEqual(events["partial"]["data"], 7)
        with self.subTest("what it submits"):
            params = [self.client.call("task.get", t["id"], {"params": True})["params"] for t in self.client.call("task.list", {"method": "echo"})["tasks"]]
            self.assertEqual(params, [[7]])
        with self.subTest("failures, and attempts that ask to be run again"):
            task = self.submit("node.stumble", retries=1, backoff="1ms")
            self.assertEqual(self.wait(task)["result"], 3)
            attempts = self.client.call("task.get", task, {"attempts": True})["attempts"]
            self.assertEqual([(a["outcome"], a["name"], a["error"]) for a in attempts],
                             [("failed", "b", "NO_LUCK: not yet"), ("again", "b", None), ("done", "b", None)])
        with self.subTest("its batch"):
            batch = self.client.call("batch.create", {"on_end": ["node.belong", [], {"keep": "1h"}]})["id"]
            task = self.submit("node.belong", batch=batch)
            self.assertEqual(self.wait(task)["result"], f"{batch} -")
            self.client.call("batch.close", batch)
            end = self.client.call("batch.get", batch, {"wait": "30s"})["on_end"]["task"]
            self.assertEqual(self.wait(end)["result"], f"- {batch}")
            self.assertEqual(self.client.call("node.belong"), "- -")
        with self.subTest("a plain call has no task"):
            said = self.client.call("node.say").split(" ")
            self.assertEqual((said[:2], said[-1]), (["-", "1"], str(self.b.pid)))

    def is_cancelled(self):
        with self.subTest("cancel"):
            path = self.place("cancel")
            task = self.submit("node.hold", path)
            eventually(lambda: self.lines(path) == ["begun 1"], "it runs")
            self.client.call("task.cancel", task)
            eventually(lambda: self.lines(path) == ["begun 1", "cancelled"], "it knows that it is cancelled")
            self.wait(task, "cancelled")
        with self.subTest("timeout"):
            self.is_told_of_a_timeout()
        with self.subTest("one that waits for an executor"):
            paths = [self.place(f"hold{i}") for i in range(5)]
            tasks = [self.submit("node.hold", path) for path in paths]
            eventually(lambda: sum(len(self.lines(path)) for path in paths) == 4, "four run")
            for task in tasks:
                self.client.call("task.cancel", task)
            for task in tasks:
                self.wait(task, "cancelled")

    def is_told_of_a_timeout(self):
        """Both attempts of a task.  One whose handler did not begin in its time never does, and another task has more."""
        begun = ["begun 1", "begun 2"]
        for ms in (50, 500, 5000):
            path = self.place(f"timeout{ms}")
            task = self.submit("node.hold", path, timeout=f"{ms}ms", retries=1, backoff="1ms")
            self.assertIn("DEADLINE", self.wait(task, "dead")["error"])
            # A cancelled handler writes its line within a moment; nothing says that none is to come.
            eventually(lambda: self.lines(path).count("cancelled") == len(self.lines(path)) / 2, "each attempt that began is told")
            if [line for line in self.lines(path) if line != "cancelled"] == begun:
                return
        self.fail("no two attempts began in their time")

    def is_stepped(self):
        with self.subTest("stepped handlers"):
            path = self.place("step")
            task = self.submit("node.step", path, traceparent=PARENT, timeout="1h")
            said = self.wait(task)["result"].split(" ")
            self.assertEqual((said[:2], said[3:]), ([task, "1"], ["1", str(self.b.pid)]))
            self.assertEqual(said[2].split("-")[1], PARENT.split("-")[1])
            self.assertIn("progress", [e["event"] for e in self.client.call("task.get", task, {"history": True})["history"]])
            eventually(lambda: self.lines(path) == ["begun", "over"], "it is cleaned up")  # behind its answer
        with self.subTest("a parked one is cancelled"):
            path = self.place("hour")
            task = self.submit("node.step", path)
            eventually(lambda: self.lines(path) == ["begun"], "it parks")
            self.client.call("task.cancel", task)
            self.wait(task, "cancelled")
            eventually(lambda: self.lines(path) == ["begun", "over"], "it is cleaned up")

    def runs_where_it_is_offered(self):
        with self.subTest("cluster.work: false"):
            for method, params in (("block", [1]), ("sleep", [1])):
                task = self.submit(method, *params)
                self.wait(task)
                self.assertEqual([a["name"] for a in self.client.call("task.get", task, {"attempts": True})["attempts"]], ["b"])
        with self.subTest("cluster.offer"):
            c = self.start("c", "--offer", "sum", "--offer", "ha*", "--cluster-weight", "0")
            eventually(lambda: sorted(m for w in self.client.call("worker.list")["workers"] if w["name"] == "c" for m in w["methods"]) == ["hash", "sum"],
                       "c offers these")
            self.assertEqual(c.stop(), 0)
        for flags, text in ((("--offer", "nothing", "--offer", "nowhere.*"), "cluster.offer: no handler of this node fits "),
                            (("--offer", "a*b"), '\'*\' is allowed only at the end of a pattern'),
                            (("--offer", "sum", "--cluster-work=false"), "has no meaning with cluster.work: false")):
            with self.subTest(flags):
                done = subprocess.run([ERGOND, "--store", self.store, "--cluster-state", self.folder, *flags], capture_output=True, text=True,
                                      timeout=LIMIT, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(text, done.stderr)

    def test_the_node_ends(self):
        self.dies_as_a_lost_worker()
        self.b = self.start("b")
        self.offered()
        self.drains()

    def dies_as_a_lost_worker(self):
        task = self.submit("node.die")
        self.assertEqual(self.b.wait(), -signal.SIGKILL)
        self.assertIn("WORKER_LOST: 1 workers were lost", self.wait(task, "dead")["error"])
        got = self.client.call("task.get", task, {"attempts": True})
        self.assertEqual((got["losses"], got["crashes"], [a["outcome"] for a in got["attempts"]]), (1, 0, ["interrupted"]))

    def drains(self):
        path = self.place("wait")
        task = self.submit("node.wait", path)
        eventually(lambda: self.lines(path) == ["begun"], "it runs")
        self.b.signal(signal.SIGTERM)
        eventually(lambda: {w["state"] for w in self.client.call("worker.list")["workers"]} == {"quiet"}, "it takes nothing more")
        later = self.submit("node.say")
        with open(path + ".go", "w"):
            pass
        self.assertEqual(self.wait(task)["result"], 1)
        self.assertEqual(self.b.wait(), 0)
        self.assertEqual(self.client.call("task.get", later)["state"], "queued")

    def test_the_owner_dies(self):
        """The attempt is given up, and the task is run again; what the first returns is nobody's."""
        path = self.place("hold")
        task = self.submit("node.hold", path, durable="fsync")
        eventually(lambda: self.lines(path) == ["begun 1"], "it runs")
        self.a.signal(signal.SIGKILL)
        eventually(lambda: "cancelled" in self.lines(path), "its handler is told")
        with self.b.connect() as client:
            eventually(lambda: len(self.lines(path)) == 3, "it runs again")
            self.assertIn(self.lines(path)[2], ("begun 2", "begun 3"))  # 2 may be a number that the lost owner has begun
            self.assertEqual(client.call("task.get", task)["state"], "running")
            client.call("task.cancel", task)


if __name__ == "__main__":
    unittest.main()
