/* Every allocation on the way of a call fails once: the call is answered, or its connection is
 * closed; nothing stays behind; a task that was taken comes to its end; and whoever comes next is
 * served. */
#include <stdio.h>

#include "server/jobs/jobs_parts.h"
#include "tests/support/heap.h"
#include "tests/support/rpc_stage.h"

enum { TASKS = 3, ID_LEN = 14, LONG_MS = 20000 };

static struct script next;
static char ids[TASKS][ID_LEN + 1];

static void forget_line(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

/* Not until nothing has work: there is a cron. */
static void go_on(uint64_t ms)
{
    stage_run_ms(net.v.now / AO_MS(1) + ms);
}

/* With "$1" for the id of the first task, and so on. */
static void ask(const char *method, const char *params)
{
    char text[300];
    size_t len = 0;

    for (const char *at = params; *at != '\0'; at++) {
        if (*at == '$')
            len += (size_t)snprintf(text + len, sizeof text - len, "'%s'", ids[*++at - '1']);
        else
            text[len++] = *at;
    }
    text[len] = '\0';
    stage_ask(&peer, 1, method, text);
}

static const char *prepare(const char *method, const char *params)
{
    ask(method, params);
    go_on(10);
    const char *said = stage_said_to(&peer);
    if (strncmp(said, "1: ", 3) != 0)
        fail_msg("%s", said);
    return said;
}

static void submit(int n, const char *params)
{
    const char *id = strstr(prepare("task.submit", params), "'id': '");

    assert_non_null(id);
    memcpy(ids[n], id + 7, ID_LEN);
}

/* A task that runs for ever, one that waits for an hour, one that has failed, and a cron; or
 * nothing, and then no pool has a cell yet. */
static void set_scene(bool empty)
{
    stage_open(NULL);
    net.record = forget_line; /* the trace's own text needs memory too */
    go_on(1);
    for (int n = 0; n < TASKS; n++)
        strcpy(ids[n], "t0000000000001");
    if (empty)
        return;
    submit(0, "['hang', [], {'key': 'first'}]");
    submit(1, "['echo', [1], {'delay': '1h'}]");
    submit(2, "['fail', ['ODD', 'not today']]");
    prepare("cron.put", "['daily', '0 4 * * *', 'echo', ['x'], {}]");
}

/* True: an allocation failed.  `open`: how many tasks are open in the end. */
static bool meet(bool empty, const char *method, const char *params, int64_t n, uint64_t *open)
{
    set_scene(empty);
    ask(method, params);
    heap_fail_at(n);
    go_on(10);
    bool failed = heap_failed();
    heap_fail_at(0);
    go_on(LONG_MS);
    const char *said = stage_said_to(&peer);
    if (!peer.closed && strncmp(said, "1", 1) != 0 && strstr(said, "\n1") == NULL)
        fail_msg("%s %s: no answer where allocation %d fails", method, params, (int)n);
    assert_non_null(net_connect(&next));
    stage_ask(&next, 2, "echo", "['next']");
    go_on(10);
    assert_string_equal(stage_said_to(&next), "2: ['next']\n");
    *open = stage.jobs->table.open;
    return failed;
}

static void meet_each(const char *method, const char *params)
{
    for (int empty = 0; empty < 2; empty++) {
        int failures = 0;
        uint64_t open, before = empty ? 0 : 2;
        while (meet(empty, method, params, failures + 1, &open)) {
            if (open > before)
                fail_msg("%s %s: a task is stuck where allocation %d fails", method, params,
                         failures + 1);
            failures++;
        }
        if (empty && failures == 0)
            fail_msg("%s %s: no allocation", method, params);
    }
}

#define MEMORY_TEST(name) TEST_WITH(stage_open, stage_close, name)

MEMORY_TEST(a_plain_call_meets_each_failure)
{
    meet_each("echo", "['x']");
    meet_each("large", "[100000]");
    meet_each("outer", "['echo', ['x']]");
    meet_each("outer", "['large', [100000]]");
    meet_each("block", "['x']");
    meet_each("sleep", "[1, 'x']");
    meet_each("none", "[]");
}

MEMORY_TEST(a_task_meets_each_failure)
{
    meet_each("task.submit", "['echo', ['x'], {'key': 'k', 'coalesce': 'c'}]");
    meet_each("task.submit", "['echo', ['x'], {'after': [$1, $3]}]");
    meet_each("task.submit", "['fail', ['ODD', 'again'], {'retries': 2, 'backoff': '1s'}]");
    meet_each("task.submit", "['large', [100000]]");
    meet_each("task.submit", "['block', ['x'], {'delay': 5}]");
    meet_each("task.submit", "['echo', [], {'limit': {'key': 'l', 'max': 1},"
                             " 'rate': {'key': 'r', 'max': 1, 'per': '1s'}}]");
    meet_each("task.submit_many", "[[['echo', [1]], ['echo', [2]]]]");
    meet_each("task.call", "['echo', ['x'], {'deadline': 100}]");
    meet_each("task.call", "['large', [100000], {'deadline': 100}]");
}

MEMORY_TEST(what_asks_about_tasks_meets_each_failure)
{
    meet_each("task.get", "[$3]");
    meet_each("task.explain", "[$1]");
    meet_each("task.wait", "[[$3, $1], {'timeout': 1000}]");
    meet_each("task.watch", "[$1, {'timeout': 1000}]");
    meet_each("task.list", "[{}]");
    meet_each("queue.list", "[]");
    meet_each("queue.tenants", "[{}]");
    meet_each("queue.explain", "['echo']");
    meet_each("cron.list", "[]");
    meet_each("server.audit", "[]");
}

MEMORY_TEST(what_steers_tasks_meets_each_failure)
{
    meet_each("task.cancel", "[$1]");
    meet_each("task.retry", "[$3]");
    meet_each("task.change", "[$2, {'priority': 1}]");
    meet_each("task.run_now", "[$2]");
    meet_each("task.forget", "[$3]");
    meet_each("queue.pause", "['echo']");
    meet_each("cron.put", "['hourly', '0 * * * *', 'echo', ['x'], {}]");
    meet_each("cron.delete", "['daily']");
}

MEMORY_TEST(what_asks_about_the_server_meets_each_failure)
{
    meet_each("server.info", "[]");
    meet_each("server.methods", "[]");
    meet_each("server.describe", "['echo']");
    meet_each("server.topology", "[]");
    meet_each("server.debug_dump", "[]");
    meet_each("server.debug_dump", "[1, 0, 0]");
    meet_each("connection.list", "[]");
    meet_each("connection.kill", "[9]");
}
