/* A long message is collected in a block of its own, and who keeps it keeps the block: it is never
 * copied, whether it is taken or refused. */
#include "base/block.h"
#include "proto/encoder.h"
#include "server/jobs/jobs_parts.h"
#include "server/net/holdings.h"
#include "tests/support/heap.h"
#include "tests/support/rpc_stage.h"

enum { LONG = 900000, ROUNDS = 30 };

/* By the linker, in place of the functions by which all that is kept of a message is allocated. */
struct block __real_block_new(size_t size);
struct block __wrap_block_new(size_t size);

static size_t largest; /* bytes at once, of one answer_to() */

struct block __wrap_block_new(size_t size)
{
    if (size > largest)
        largest = size;
    return __real_block_new(size);
}

static uint8_t message[LONG + 200];

/* [0, 1, method, ["echo", [LONG bytes], {"delay": "1h"}]] */
static size_t request(const char *method)
{
    uint8_t *p = enc_str(enc_uint(enc_uint(enc_array(message, 4), 0), 1), span_text(method));
    p = enc_array(enc_str(enc_array(p, 3), span_text("echo")), 1);
    p = enc_bin_head(p, LONG);
    memset(p, 0, LONG);
    p = enc_map(p + LONG, 1);
    p = enc_str(enc_str(p, span_text("delay")), span_text("1h"));
    return (size_t)(p - message);
}

/* What is longer than a read is collected in pieces; at the last one it is handed over. */
static const char *answer_to(const char *method)
{
    size_t len = request(method);

    script_send(&peer, span_of(message, len - 10));
    stage_run_ms(net.v.now / AO_MS(1));
    assert_true(stage.conn->partial != NULL && stage.conn->partial->capacity >= LONG);
    largest = 0;
    script_send(&peer, span_of(message + len - 10, 10));
    stage_run_ms(net.v.now / AO_MS(1));
    assert_null(stage.conn->partial);
    assert_in_range(largest, 0, BLOCK_PAGES);
    return stage_said_to(&peer);
}

enum { LARGE = 65536 };

/* [0, 1, "echo", [`size` bytes]] */
static size_t echo_request(uint32_t size)
{
    uint8_t *p = enc_str(enc_uint(enc_uint(enc_array(message, 4), 0), 1), span_text("echo"));
    p = enc_bin_head(enc_array(p, 1), size);
    memset(p, 0, size);
    return (size_t)(p + size - message);
}

/* A peer that sends such messages is read so that none has to be collected. */
RPC_TEST(large_messages_come_in_one_read)
{
    for (int i = 0; i < 5; i++) {
        unsigned reads = peer.reads;
        largest = 0;
        script_send(&peer, span_of(message, echo_request(LARGE)));
        stage_run_ms(net.v.now / AO_MS(1));
        assert_int_equal(peer.out_len, 4 + 6 + LARGE);
        script_forget(&peer);
        if (i == 0)
            continue;
        assert_int_equal(peer.reads, reads + 1);
        assert_int_equal(largest, 0);
    }
}

/* To a peer that takes its answer slowly: the message stays until the last of it is written. */
static void echo_slowly(void)
{
    enum { TAKEN = 100000, HEAD = 5 /* of a bin */ };
    size_t len = echo_request(LONG);

    peer.window = TAKEN;
    script_send(&peer, span_of(message, len - 10));
    stage_run_ms(net.v.now / AO_MS(1));
    int64_t before = heap_bytes();
    script_send(&peer, span_of(message + len - 10, 10));
    stage_run_ms(net.v.now / AO_MS(1));
    assert_null(stage.conn->partial);
    assert_int_equal(peer.out_len, TAKEN);
    assert_true(heap_bytes() < before + LARGE);
    assert_in_range(conn_bytes(stage.conn), LONG - TAKEN, LONG - TAKEN + 100);
    for (int i = 0; i < 9; i++) {
        script_widen(&peer, TAKEN);
        stage_run_ms(net.v.now / AO_MS(1));
    }
    assert_int_equal(peer.out_len, 4 + 1 + HEAD + LONG);
    assert_memory_equal(peer.out + 4, message + 8, 1 + HEAD + LONG);
    assert_int_equal(accounts_bytes(net.accounts), 0);
    script_widen(&peer, SCRIPT_WINDOW);
    script_forget(&peer);
    assert_string_equal(stage_answer("server.ping", "[]"), "1: 'pong'\n");
}

RPC_TEST(an_echo_is_not_copied)
{
    echo_slowly();
    int64_t live = heap_live();
    echo_slowly();
    assert_int_equal(heap_live(), live);
}

static void expect_no_input(void)
{
    assert_int_equal(accounts_figures(net.accounts).input, 0);
    assert_int_equal(accounts_figures(net.accounts).unfinished, 0);
}

RPC_TEST(neither_a_taken_nor_a_refused_one_is_copied)
{
    bool refused = false, taken = false;
    for (int i = 0; i < ROUNDS; i++) {
        const char *said = answer_to("task.submit");
        refused |= strstr(said, "1 failed: 'BUSY: ") != NULL;
        taken |= strstr(said, "'state': 'delayed'") != NULL;
        expect_no_input();
    }
    assert_true(taken && refused);
    const struct job *job = stage.jobs->table.last;
    assert_non_null(job->more);
    const uint8_t *block = job->more->message.at;
    assert_in_range(job->more->message.size, LONG, LONG + 2 * 4096);
    assert_int_equal(job_params(job).len, LONG + 6);
    assert_in_range(job_params(job).at - block, 0, 4096);
    assert_memory_equal(job_params(job).at + 6, message + 100, LONG - 100);
    assert_int_equal(accounts_bytes(net.accounts), 0);
}

/* Its names lie in its message, too, and are gone with it. */
RPC_TEST(a_job_keeps_its_message_until_it_is_forgotten)
{
    size_t len = request("task.submit");

    memcpy(message + len - 9, "\xa3key\xa5names", 10);
    for (int i = 0; i < 2; i++) {
        script_send(&peer, span_of(message, len + 1));
        stage_run_ms(net.v.now / AO_MS(1));
        assert_non_null(
            strstr(stage_said_to(&peer), i == 0 ? "'duplicate': false" : "'duplicate': true"));
        assert_int_equal(stage.jobs->table.count, 1);
        expect_no_input();
    }
    stage_run_ms(net.v.now / AO_MS(1) + 3 * 3600 * 1000);
    assert_int_equal(stage.jobs->table.count, 0);
    assert_int_equal(stage.jobs->table.bytes, 0);
}

RPC_TEST(one_that_is_wrong_is_given_up_with_its_block)
{
    size_t len = request("task.submit");

    memcpy(message + len - 8, "daley", 5);
    script_send(&peer, span_of(message, len));
    stage_run_ms(net.v.now / AO_MS(1));
    assert_non_null(strstr(stage_said_to(&peer), "1 failed: 'BAD_PARAMS: unknown option"));
    expect_no_input();
    assert_string_equal(stage_answer("echo", "[1]"), "1: [1]\n");
}

/* Another message stands behind it in its block: so it is copied, and both are served. */
RPC_TEST(who_comes_behind_is_not_lost)
{
    size_t len = request("task.submit");

    script_send(&peer, span_of(message, len - 10));
    stage_run_ms(net.v.now / AO_MS(1));
    script_send(&peer, span_of(message + len - 10, 10));
    stage_ask(&peer, 2, "echo", "['behind']");
    stage_run_ms(net.v.now / AO_MS(1));
    const char *said = stage_said_to(&peer);
    assert_non_null(strstr(said, "'state': 'delayed'"));
    assert_non_null(strstr(said, "2: ['behind']"));
    expect_no_input();
}
