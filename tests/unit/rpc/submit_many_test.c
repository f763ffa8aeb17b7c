/* task.submit_many in parts: a long list takes several steps of its connection, and is still one
 * request, which is refused as a whole and keeps its place among the others. */
#include <stdio.h>

#include "proto/encoder.h"
#include "server/jobs/jobs_parts.h"
#include "server/net/auth/token.h"
#include "server/net/connection/admit.h"
#include "server/net/connection/oversight.h"
#include "tests/support/heap.h"
#include "tests/support/rpc_stage.h"

enum {
    MOST = 16384,    /* tasks of a list */
    LEAST_PARTS = 8, /* of such a list */
    TASKS = 1500,    /* more than one part, and fewer than the stage takes */
    LONG_TASK = 60,  /* bytes of each parameter: then the message has a block of its own */
    ROOM = 1 << 18
};

static uint8_t message[ROOM];
static struct script other;

/* The tasks of a list are `echo`, with a text of so many bytes; the last one names `last`. */
static uint8_t *put_list(uint8_t *p, uint32_t count, uint32_t bytes, const char *last)
{
    char text[LONG_TASK + 1] = "";

    memset(text, 'x', bytes);
    p = enc_array(enc_array(p, 1), count);
    for (uint32_t i = 0; i < count; i++) {
        p = enc_str(enc_array(p, bytes > 0 ? 2 : 1), span_text(i + 1 < count ? "echo" : last));
        if (bytes > 0)
            p = enc_str(enc_array(p, 1), span_text(text));
    }
    assert_true(p < message + ROOM);
    return p;
}

static void send_list(uint32_t count, uint32_t bytes, const char *last)
{
    uint8_t *p = enc_uint(enc_uint(enc_array(message, 4), 0), 1);

    p = put_list(enc_str(p, span_text("task.submit_many")), count, bytes, last);
    script_send(&peer, span_of(message, (size_t)(p - message)));
}

static void notify_list(uint32_t count)
{
    uint8_t *p = enc_str(enc_uint(enc_array(message, 3), 2), span_text("task.submit_many"));

    p = put_list(p, count, 0, "echo");
    script_send(&peer, span_of(message, (size_t)(p - message)));
}

static uint64_t submitted(void)
{
    struct jobs_info info;

    jobs_info(stage.jobs, &info);
    return info.submitted;
}

/* It takes as long as a loop that is busy lets its poller wait. */
static void round_of_all(void)
{
    net.v.now += AO_US(20);
    virtual_round(&net.v, net.activator);
}

/* Until the first part was read, and the next is due. */
static void read_first_part(void)
{
    for (int i = 0; i < 1000 && !stage.conn->in_parts; i++)
        round_of_all();
    assert_true(stage.conn->in_parts);
    assert_int_equal(stage.conn->in_flight, 1);
    assert_int_equal(stage.jobs->table.count, 0);
}

static void run(void)
{
    stage_run_ms(net.v.now / AO_MS(1));
}

/* The list is not there any more, nor anything of it. */
static void expect_nothing(void)
{
    assert_int_equal(stage.jobs->table.count, 0);
    assert_int_equal(accounts_bytes(net.accounts), 0);
}

static void refuses(const char *error)
{
    const char *said;

    run();
    said = stage_said_to(&peer);
    if (strncmp(said, error, strlen(error)) != 0)
        fail_msg("%s, not %s", said, error);
    assert_int_equal(stage.conn->in_flight, 0);
    expect_nothing();
    assert_string_equal(stage_answer("echo", "[1]"), "1: [1]\n");
}

RPC_TEST(a_long_list_takes_many_steps)
{
    int rounds = 0;

    send_list(MOST, 0, "none");
    read_first_part();
    for (; stage.conn->in_parts; rounds++) {
        assert_int_equal(peer.out_len, 0);
        round_of_all();
    }
    assert_true(rounds + 1 >= LEAST_PARTS);
    refuses("1 failed: 'NO_METHOD: task 16384 of the list: no handler \"none\"");
}

RPC_TEST(one_more_is_refused_before_any_is_read)
{
    send_list(MOST + 1, 0, "echo");
    refuses("1 failed: 'TOO_LARGE: at most 16384 tasks");
}

static void takes(uint32_t bytes)
{
    send_list(TASKS, bytes, "fail");
    read_first_part();
    if (bytes == LONG_TASK)
        assert_null(stage.conn->partial); /* its block is the operation's */
    round_of_all();
    assert_false(stage.conn->in_parts);
    for (int i = 0; i < 1000 && stage.conn->in_flight > 0; i++)
        round_of_all();
    assert_int_equal(stage.conn->in_flight, 0);
    assert_true(peer.out_len > TASKS * 20);
    assert_memory_equal(peer.out, "\x94\x01\x01\xc0\xdc\x05\xdc", 7); /* TASKS outcomes */
    assert_int_equal(submitted(), TASKS);
}

RPC_TEST(one_that_is_taken_is_taken_as_a_whole)
{
    takes(0);
}

RPC_TEST(one_that_stands_in_its_block_is_not_copied)
{
    takes(LONG_TASK);
}

/* It is the last to be refused, if it is; so whoever comes behind would overtake it. */
RPC_TEST(who_comes_behind_waits_for_the_last_part)
{
    send_list(TASKS, 0, "none");
    stage_ask(&peer, 2, "server.ping", "[]");
    stage_ask(&peer, 3, "task.submit", "['echo']");
    read_first_part();
    assert_int_equal(peer.out_len, 0);
    run();
    const char *said = stage_said_to(&peer);
    const char *ping = strstr(said, "\n2: "), *submitted = strstr(said, "\n3: {'id': ");
    assert_memory_equal(said, "1 failed: 'NO_METHOD: task 1500 of the list", 43);
    assert_true(ping && submitted && ping < submitted);
}

RPC_TEST(others_are_served_between_two_parts)
{
    net_connect(&other);
    run();
    send_list(MOST, 0, "none");
    read_first_part();
    stage_ask(&other, 2, "echo", "['between']");
    while (stage.conn->in_parts && other.out_len == 0)
        round_of_all();
    assert_string_equal(stage_said_to(&other), "2: ['between']\n");
    assert_true(stage.conn->in_parts);
    refuses("1 failed: 'NO_METHOD: task 16384 of the list");
}

/* Its connection goes: nothing of it is submitted. */
RPC_TEST(whose_peer_has_gone_is_given_up)
{
    send_list(MOST, LONG_TASK / 8, "echo");
    read_first_part();
    assert_true(accounts_bytes(net.accounts) > (uint64_t)MOST * sizeof(struct job_spec));
    conn_abort(stage.conn, "reset");
    run();
    assert_true(peer.closed);
    assert_true(LIST_EMPTY(&net.loop->all));
    expect_nothing();
}

RPC_TEST(a_killed_one_is_given_up_though_nobody_waits_for_its_answer)
{
    notify_list(TASKS);
    read_first_part();
    conn_kill(stage.conn, "killed");
    run();
    assert_true(peer.closed);
    expect_nothing();
    assert_int_equal(submitted(), 0);
}

/* Nobody waits for its answer, be its peer there or not. */
RPC_TEST(a_notification_outlives_its_peer)
{
    notify_list(TASKS);
    read_first_part();
    conn_abort(stage.conn, "reset");
    run();
    assert_true(peer.closed);
    assert_true(LIST_EMPTY(&net.loop->all));
    assert_int_equal(submitted(), TASKS);
}

RPC_TEST_GUARDED(a_notification_does_not_outlive_its_rights)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    notify_list(TASKS);
    read_first_part();
    struct token_table *tokens = stage.conn->loop->tokens;
    stage.conn->loop->tokens = NULL;
    admit_again(stage.conn);
    stage.conn->loop->tokens = tokens;
    run();
    assert_int_equal(submitted(), 0);
    expect_nothing();
}

RPC_TEST(a_drain_waits_for_the_last_part)
{
    send_list(TASKS, 0, "none");
    read_first_part();
    net_order(LOOP_DRAIN);
    round_of_all();
    assert_int_equal(stage.conn->state, CONN_OPEN);
    run();
    assert_memory_equal(stage_said_to(&peer), "1 failed: 'NO_METHOD: task 1500 of the list", 43);
    assert_int_equal(stage.conn->state, CONN_LINGERING);
}

/* And so does the peer's end. */
RPC_TEST(who_half_closes_is_answered)
{
    send_list(TASKS, 0, "none");
    script_send_eof(&peer);
    read_first_part();
    run();
    assert_memory_equal(stage_said_to(&peer), "1 failed: 'NO_METHOD: task 1500 of the list", 43);
    assert_true(peer.closed);
}

RPC_TEST(a_server_that_ends_meanwhile_frees_it)
{
    int64_t live = 0;

    for (int i = 0; i < 3; i++) {
        stage_open(NULL);
        run();
        send_list(MOST, 0, "echo");
        read_first_part();
        stage_close(NULL);
        if (i > 0)
            assert_int_equal(heap_live(), live);
        live = heap_live();
    }
}

/* It is read on at once, though the connection has time until an alarm, and nothing more comes. */
RPC_TEST(an_alarm_of_its_connection_delays_no_part)
{
    stage_answer("echo", "[1]");
    stage.conn->wide = true; /* all of it comes in one read */
    stage.conn->mortal = true;
    stage.conn->expires = net.v.now + AO_S(60);
    ao_time began = net.v.now;
    send_list(TASKS, 0, "echo");
    for (int i = 0; i < 1000 && peer.out_len == 0; i++)
        round_of_all();
    assert_int_equal(submitted(), TASKS);
    assert_true(net.v.now - began < AO_S(1));
}

RPC_TEST_GUARDED(who_may_do_less_meanwhile_is_refused)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    send_list(TASKS, 0, "echo");
    read_first_part();
    conn_set_principal(stage.conn, token_table_find(conn_tokens(stage.conn), span_text(STAGE_BOB)));
    run();
    assert_memory_equal(stage_said_to(&peer), "1 failed: 'DENIED: ", 19);
    expect_nothing();
}

RPC_TEST_GUARDED(who_loses_its_rights_meanwhile_is_refused)
{
    stage_answer("server.auth", "['" STAGE_ALICE "']");
    send_list(TASKS, 0, "echo");
    read_first_part();
    conn_set_principal(stage.conn, NULL);
    run();
    assert_memory_equal(stage_said_to(&peer), "1 failed: 'AUTH: authentication required", 38);
    expect_nothing();
}

/* Each of the few allocations on its way fails once. */
RPC_TEST(without_memory_it_is_refused)
{
    int failures = 0;

    for (bool failed = true; failed; failures++) {
        stage_open(NULL);
        run();
        send_list(TASKS, LONG_TASK, "none");
        heap_fail_at(failures + 1);
        run();
        failed = heap_failed();
        heap_fail_at(0);
        const char *said = stage_said_to(&peer);
        assert_true(peer.closed || strstr(said, "1 failed: 'MEMORY") ||
                    strstr(said, "1 failed: 'NO_METHOD"));
        expect_nothing();
    }
    assert_true(failures > 3);
}
