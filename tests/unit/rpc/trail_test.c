/* Administrative acts in the audit log: each once, with its outcome. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/audit.h"
#include "proto/encoder.h"
#include "tests/support/notation.h"
#include "tests/support/rpc_stage.h"

#define PATIENCE UINT64_C(60000000000)

static char path[64], text[1 << 16];
static struct script other;

static void open_audit(void)
{
    char error[256];
    snprintf(path, sizeof path, "/tmp/ergon-audit-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (!audit_open(path, 1 << 16, error, sizeof error))
        fail_msg("%s", error);
}

static int open_stage(void **state)
{
    open_audit();
    return stage_open_guarded(state);
}

static int close_stage(void **state)
{
    int result = stage_close(state);
    audit_close(PATIENCE);
    unlink(path);
    return result;
}

#define TRAIL_TEST(name) TEST_WITH(open_stage, close_stage, name)

/* All that was recorded until now. */
static const char *trail(void)
{
    while (audit_figures().waiting > 0)
        sched_yield();
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return text;
}

static int times(const char *what)
{
    int count = 0;
    for (const char *at = trail(); (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

/* What is still being written would give its room back afterwards. */
static int take_all_room(void)
{
    int taken = 0;
    trail();
    while (audit_reserve())
        taken++;
    return taken;
}

#define ACT(who, method, outcome, conn, on)                                                        \
    "\"msg\":\"administrative act\",\"principal\":\"" who "\",\"method\":\"" method                \
    "\",\"outcome\":\"" outcome "\",\"peer\":\"192.0.2.1:4711\",\"conn\":" conn ",\"on\":\"" on    \
    "\"}\n"

TRAIL_TEST(an_act_is_recorded_once_with_its_outcome)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    stage_answer("queue.pause", "['echo']");
    stage_answer("queue.pause", "['none']");
    stage_answer("queue.pause", "[1, 2]");
    stage_answer("cron.put", "['tick', '61 * * * *', 'echo', ['secret']]");
    stage_answer("connection.kill", "[99]");
    stage_answer("connection.kill", "[{'principal': 'token:bob'}]");
    stage_answer("task.cancel", "['t0000000000001']");
    assert_int_equal(times(ACT("token:alice", "queue.pause", "ok", "1", "\\\"echo\\\"")), 1);
    assert_int_equal(times(ACT("token:alice", "queue.pause", "NOT_FOUND", "1", "\\\"none\\\"")), 1);
    assert_int_equal(times(ACT("token:alice", "queue.pause", "BAD_PARAMS", "1", "1 2")), 1);
    assert_int_equal(times("\"cron.put\",\"outcome\":\"BAD_PARAMS\""), 1);
    assert_int_equal(times(ACT("token:alice", "connection.kill", "NOT_FOUND", "1", "99")), 1);
    assert_int_equal(times(ACT("token:alice", "connection.kill", "ok", "1",
                               "{\\\"principal\\\": \\\"token:bob\\\"}")),
                     1);
    assert_int_equal(
        times(ACT("token:alice", "task.cancel", "NOT_FOUND", "1", "\\\"t0000000000001\\\"")), 1);
    assert_int_equal(times("administrative act"), 7);
    assert_int_equal(times("secret"), 0);
    assert_int_equal(times(STAGE_ALICE), 0);
}

TRAIL_TEST(what_is_everyones_own_is_no_act)
{
    stage_answer("server.auth", "['" STAGE_CAROL "']");
    stage_answer("task.cancel", "['t0000000000001']");
    stage_answer("task.list", "[]");
    stage_answer("server.info", "[]");
    stage_answer("echo", "[1]");
    assert_string_equal(trail(), "");
}

TRAIL_TEST(who_may_not_is_recorded_as_refused)
{
    stage_answer("connection.kill", "[{'all': true}]"); /* of nobody in particular: not */
    stage_answer("server.auth", "['" STAGE_BOB "']");
    stage_answer("connection.kill", "[{'all': true}]");
    assert_int_equal(times("administrative act"), 1);
    assert_int_equal(times("\"msg\":\"administrative act refused\",\"principal\":\"token:bob\","
                           "\"method\":\"connection.kill\",\"outcome\":\"DENIED\""),
                     1);
}

/* Whose a worker is turns out when it is found; a worker that nobody has is nobody's. */
TRAIL_TEST(who_may_not_quiet_anothers_worker_is_recorded_as_refused)
{
    net_connect(&other);
    stage_ask(&other, 1, "server.auth", "['" STAGE_ALICE "']");
    stage_ask(&other, 2, "worker.register", "[['work']]");
    stage_run();
    assert_non_null(strstr(stage_said_to(&other), "2: {'worker': 'w1'"));
    stage_answer("server.auth", "['" STAGE_BOB "']");
    assert_non_null(strstr(stage_answer("worker.quiet", "['w1']"), "DENIED"));
    assert_non_null(strstr(stage_answer("worker.resume", "['w1']"), "DENIED"));
    assert_non_null(strstr(stage_answer("worker.quiet", "['w9']"), "NOT_FOUND"));
    assert_int_equal(times("administrative act"), 2);
    assert_int_equal(times("\"msg\":\"administrative act refused\",\"principal\":\"token:bob\","
                           "\"method\":\"worker.quiet\",\"outcome\":\"DENIED\""),
                     1);
    assert_int_equal(times("\"method\":\"worker.resume\",\"outcome\":\"DENIED\""), 1);
}

TRAIL_TEST(administrators_and_failures_are_recorded)
{
    stage_answer("server.auth", "['wrong']");
    stage_answer("server.auth", "['" STAGE_BOB "']");
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    assert_int_equal(times("\"msg\":\"authentication failed\",\"peer\":\"192.0.2.1:4711\""), 1);
    assert_int_equal(times("\"msg\":\"administrator authenticated\""), 1);
    assert_int_equal(times("\"principal\":\"token:alice\""), 1);
    assert_int_equal(times("wrong"), 0);
}

TRAIL_TEST(without_room_for_its_record_nothing_is_done)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    int kept = take_all_room();
    const char *said = stage_answer("queue.pause", "['echo']");
    assert_non_null(strstr(said, "1 failed: 'BUSY: this must be recorded in the audit log"));
    assert_null(strstr(stage_answer("server.info", "[]"), "BUSY"));
    assert_null(strstr(stage_answer("queue.list", "[]"), "'paused': true"));
    while (kept-- > 0)
        audit_release();
    assert_null(strstr(stage_answer("queue.pause", "['echo']"), "BUSY"));
    assert_int_equal(times("administrative act"), 1);
}

TRAIL_TEST(who_has_gone_has_acted_all_the_same)
{
    net_connect(&other);
    stage_ask(&other, 1, "server.auth", "['" STAGE_ALICE "']");
    stage_ask(&other, 2, "queue.drain", "['echo']");
    stage_ask(&other, 3, "connection.kill", "[2]"); /* itself */
    stage_run();
    assert_true(other.closed);
    assert_int_equal(times("\"queue.drain\",\"outcome\":"), 1);
    assert_int_equal(times("\"connection.kill\",\"outcome\":\"ok\""), 1);
}

TRAIL_TEST(a_submission_in_anothers_name_is_an_act)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    stage_answer("task.submit", "['echo', ['secret'], {'tenant': 'bob'}]");
    stage_answer("task.submit", "['echo', ['own'], {'tenant': 'alice'}]");
    stage_answer("task.submit", "['echo', ['own']]");
    stage_answer("task.submit", "['echo', [1], {'tenant': 'bob', 'wrong': 1}]");
    stage_answer("task.submit_many", "[[['echo', [], {'tenant': 'bob'}], ['echo']]]");
    assert_int_equal(times(ACT("token:alice", "task.submit", "ok", "1",
                               "{\\\"method\\\": \\\"echo\\\", \\\"tenant\\\": \\\"bob\\\"}")),
                     1);
    assert_int_equal(times("\"task.submit_many\",\"outcome\":\"ok\""), 1);
    assert_int_equal(times("administrative act"), 2);
    assert_int_equal(times("secret"), 0);
}

/* A list that is read in many parts; until the first part was read. */
static void send_long_list(const char *first, const char *last)
{
    enum { PLAIN = 8000 };
    static uint8_t message[PLAIN * 8];
    uint8_t *p = enc_uint(enc_uint(enc_array(message, 4), 0), 2);

    p = enc_str(p, span_text("task.submit_many"));
    p = enc_array(enc_array(p, 1), PLAIN + 2);
    p += notation_pack(first, p, 100);
    for (int i = 0; i < PLAIN; i++)
        p = enc_str(enc_array(p, 1), span_text("echo"));
    p += notation_pack(last, p, 100);
    script_send(&peer, span_of(message, (size_t)(p - message)));
    while (!stage.conn->in_parts)
        virtual_round(&net.v, net.activator);
}

/* Others are served between the parts, and have acts of their own. */
TRAIL_TEST(an_act_in_the_last_part_is_recorded_of_its_list)
{
    net_connect(&other);
    stage_ask(&other, 1, "server.auth", "['" STAGE_ALICE "']");
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    send_long_list("['echo']", "['echo', ['secret'], {'tenant': 'bob'}]");
    script_forget(&other);
    stage_ask(&other, 2, "queue.pause", "['none']");
    for (; other.out_len == 0; net.v.now += AO_US(20))
        virtual_round(&net.v, net.activator);
    assert_true(stage.conn->in_parts);
    stage_run_ms(net.v.now / AO_MS(1));
    assert_int_equal(times(ACT("token:alice", "task.submit_many", "ok", "1",
                               "{\\\"method\\\": \\\"echo\\\", \\\"tenant\\\": \\\"bob\\\"}")),
                     1);
    assert_int_equal(times("\"queue.pause\",\"outcome\":\"NOT_FOUND\""), 1);
    assert_int_equal(times("administrative act"), 2);
    assert_int_equal(times("secret"), 0);
}

TRAIL_TEST(an_act_of_the_first_part_has_the_outcome_of_the_last)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    send_long_list("['echo', [], {'tenant': 'bob'}]", "['echo', [], {'wrong': 1}]");
    stage_run_ms(net.v.now / AO_MS(1));
    assert_int_equal(times("\"task.submit_many\",\"outcome\":\"BAD_PARAMS\""), 1);
    send_long_list("['echo', [], {'tenant': 'bob'}]", "['echo']");
    stage_run_ms(net.v.now / AO_MS(1));
    assert_int_equal(times("\"task.submit_many\",\"outcome\":\"ok\""), 1);
    assert_int_equal(times("administrative act"), 2);
}

TRAIL_TEST(an_act_that_is_given_up_is_recorded)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    send_long_list("['echo', [], {'tenant': 'bob'}]", "['echo']");
    conn_abort(stage.conn, "reset");
    stage_run_ms(net.v.now / AO_MS(1));
    assert_int_equal(times("\"task.submit_many\",\"outcome\":\"CANCELLED\""), 1);
    assert_int_equal(times("administrative act"), 1);
}

TRAIL_TEST(without_room_nothing_is_submitted_for_others)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    int kept = take_all_room();
    assert_non_null(strstr(stage_answer("task.submit", "['echo', [], {'tenant': 'bob'}]"), "BUSY"));
    assert_null(strstr(stage_answer("task.submit", "['echo']"), "BUSY"));
    while (kept-- > 0)
        audit_release();
    assert_null(strstr(stage_answer("task.list", "[{'tenant': 'bob'}]"), "echo"));
}

/* Known when the task is found: what is one's own is forgotten, room for its record and all. */
TRAIL_TEST(what_was_found_to_be_ones_own_is_no_act)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    stage_answer("queue.pause", "['echo']");
    stage_answer("task.submit", "['echo']");
    stage_answer("task.cancel", "[{'tenant': 'alice', 'all': true}]");
    assert_int_equal(times("task.cancel"), 0);
    stage_answer("task.submit", "['echo', [], {'tenant': 'bob'}]");
    stage_answer("task.submit", "['echo']");
    stage_answer("task.cancel", "[{'tenant': 'nobody', 'all': true}]");
    assert_int_equal(times("\"task.cancel\",\"outcome\":\"ok\""), 1);
    stage_answer("task.cancel", "[{'all': true}]");
    assert_int_equal(times("\"task.cancel\",\"outcome\":\"ok\""), 2);
}

/* Whatever an act waits for when the server ends, it is recorded, and freed. */
TRAIL_TEST(what_is_under_way_at_the_end_is_recorded)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    stage_answer("queue.pause", "['echo']");
    for (int i = 0; i < 600; i++)
        stage_answer("task.submit", "['echo']");
    stage_answer("task.submit", "['echo', [], {'tenant': 'bob'}]");
    stage_ask(&peer, 2, "task.cancel", "[{'all': true}]");
    stage_ask(&peer, 3, "queue.resume", "['echo']");
    stage_ask(&peer, 4, "connection.kill", "[{'nobody': true}]");
    while (stage.rpc.censuses == 0) /* they have been read, and not all is done */
        virtual_round(&net.v, net.activator);
    jobs_stop(stage.jobs);
    net_stop();
    assert_int_equal(times("\"task.cancel\",\"outcome\":\"DRAINING\""), 1);
    assert_int_equal(times("\"queue.resume\",\"outcome\":"), 1);
    assert_int_equal(times("\"connection.kill\",\"outcome\":\"unknown"), 1);
}

static int open_small(void **state)
{
    net_wish.accounts =
        (struct account_limits){.bytes_in_all = 1 << 20, .bytes = 70000, .calls = UINT32_MAX};
    return open_stage(state);
}

/* It is handed over again: one act, one record, when it is done. */
TEST_WITH(open_small, close_stage, what_waits_for_room_has_not_been_done)
{
    static char call[50100], put[30100];

    stage_answer("server.auth", "['" STAGE_ALICE "']");
    snprintf(call, sizeof call, "['hang', ['%0*d'], {'deadline': 100}]", 50000, 0);
    snprintf(put, sizeof put, "['tick', '@yearly', 'echo', ['%0*d']]", 30000, 0);
    stage_ask(&peer, 1, "task.call", call);
    stage_run_ms(10);
    stage_ask(&peer, 2, "cron.put", put);
    stage_run_ms(50);
    assert_true(stage.conn->stopped);
    assert_int_equal(times("cron.put"), 0);
    stage_run_ms(200);
    assert_false(stage.conn->stopped);
    assert_int_equal(times("\"cron.put\""), 1);
}
