/* Results on their way out: copied when small, handed over when large, rewritten for old peers. */
#include <stdlib.h>

#include "tests/support/heap.h"
#include "tests/support/rpc_stage.h"

#include "proto/encoder.h"
#include "server/net/connection/conn_private.h"
#include "server/rpc/answer.h"

static uint64_t length_of_answer(void)
{
    return peer.out_len;
}

RPC_TEST(results_of_every_size_arrive)
{
    static const struct {
        const char *params;
        uint64_t length; /* of the response */
    } sizes[] = {{"[0]", 4 + 2},
                 {"[255]", 4 + 2 + 255},
                 {"[256]", 4 + 3 + 256},
                 {"[65000]", 4 + 3 + 65000},
                 {"[70000]", 4 + 5 + 70000},
                 {"[1000000]", 4 + 5 + 1000000}};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        stage_ask(&peer, 1, "large", sizes[i].params);
        stage_run();
        assert_int_equal(length_of_answer(), sizes[i].length);
        assert_int_equal(value_length(span_of(peer.out, peer.out_len)), sizes[i].length);
        script_forget(&peer);
    }
    assert_non_null(strstr(stage_answer("large", "[2000000]"), "1 failed: 'TOO_LARGE: "));
}

RPC_TEST(large_results_keep_their_place)
{
    stage_ask(&peer, 1, "echo", "['before']");
    stage_ask(&peer, 2, "large", "[100000]");
    stage_ask(&peer, 3, "echo", "['after']");
    assert_string_equal(stage_said(), "1: ['before']\n2: <100000 bytes>\n3: ['after']\n");
}

static void run_round(void)
{
    stage_run_ms(net.v.now / AO_MS(1));
}

/* [0, 1, "echo", [`len` times `byte`]] */
static void ask_echo(struct script *k, uint8_t byte, size_t len)
{
    static uint8_t message[2 * READ_SIZE];
    uint8_t *p = enc_str(enc_uint(enc_uint(enc_array(message, 4), 0), 1), span_text("echo"));

    p = enc_bin_head(enc_array(p, 1), (uint32_t)len);
    memset(p, byte, len);
    script_send(k, span_of(message, (size_t)(p + len - message)));
}

/* The peer takes `window` bytes, and while the rest waits another's message is read to where the
 * bytes of the answer stand. */
static void expect_large_echo(size_t len, size_t window, const char *after)
{
    static struct script other;
    struct connection *c = net_connect(&other);

    run_round();
    peer.window = window;
    ask_echo(&peer, 'a', len);
    script_send(&peer, span_text(after));
    ask_echo(&other, 'b', len);
    run_round();
    script_widen(&peer, SCRIPT_WINDOW);
    run_round();
    assert_in_range(peer.out_len, len + 8, len + 10);
    for (size_t at = 10; at < len; at++)
        assert_int_equal(peer.out[at], 'a');
    assert_true(conn_open(c));
    script_forget(&peer);
}

RPC_TEST(a_large_answer_outlives_its_message)
{
    static const size_t windows[] = {0, 10, CONN_LARGE / 2, SCRIPT_WINDOW};

    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        expect_large_echo(CONN_LARGE, windows[i], "");
        expect_large_echo(READ_SIZE + 5000, windows[i], "");
    }
}

RPC_TEST(a_large_answer_outlives_the_end_of_its_connection)
{
    expect_large_echo(CONN_LARGE, 10, "\xc1"); /* is no message */
}

/* The block goes back exactly once: written, dropped with its connection, or never handed over.
 * (A second time would end the program, a lost one stands in heap_live().) */
static int one_large_result(bool reads, bool vanishes, bool raw)
{
    static struct script other;
    struct connection *c = net_connect(&other);

    conn_mode(c)->raw = raw;
    other.window = reads ? SCRIPT_WINDOW : 10;
    stage_ask(&other, 1, "large", "[200000]");
    stage_run();
    assert_int_equal(other.out_len, reads ? 200009 : 10);
    if (vanishes)
        script_reset(&other);
    else
        script_widen(&other, SCRIPT_WINDOW);
    stage_run();
    assert_int_equal(other.out_len, reads || !vanishes ? 200009 : 10);
    script_reset(&other);
    stage_run();
    return 0;
}

RPC_TEST(a_large_block_is_freed_once)
{
    one_large_result(true, false, false); /* pools are filled */
    one_large_result(true, false, true);
    int64_t before = heap_live();
    for (unsigned i = 0; i < 8; i++)
        one_large_result(i & 1, i & 2, i & 4);
    assert_int_equal(heap_live(), before);
}

RPC_TEST(an_answer_to_a_peer_that_is_gone_is_freed)
{
    struct outcome outcome = {.error = ERGON_OK};
    static struct script other;
    struct connection *c = net_connect(&other);

    stage_run();
    int64_t before = heap_live();
    conn_call_began(c, true); /* keeps its memory */
    script_reset(&other);
    stage_run();
    outcome.block = malloc(100000);
    memset(outcome.block, 0xc0, 100000);
    outcome.result = span_of(outcome.block, 100000);
    answer_outcome(c, span_text("\x01"), &outcome);
    free(outcome.block); /* still the caller's */
    conn_call_ended(c, true);
    stage_run();
    assert_true(heap_live() <= before);
}

RPC_TEST(old_peers_get_the_old_raw_family)
{
    stage_answer("server.hello", "[{'raw': true}]");
    stage_ask(&peer, 1, "large", "[300]");
    stage_run();
    assert_int_equal(length_of_answer(), 4 + 3 + 300);
    assert_int_equal(peer.out[4], 0xda);
    script_forget(&peer);
    stage_ask(&peer, 1, "large", "[100000]");
    stage_run();
    assert_int_equal(peer.out[4], 0xdb);
    assert_int_equal(length_of_answer(), 4 + 5 + 100000);
}

/* Each allocation on the way of a large result fails in turn. */
RPC_TEST(without_memory_a_call_fails_or_its_connection_ends)
{
    bool met = true;

    for (int n = 1; met; n++) {
        static struct script other;
        net_connect(&other);
        stage_run();
        stage_ask(&other, 1, "large", "[100000]");
        heap_fail_at(n);
        stage_run();
        met = heap_failed();
        heap_fail_at(0);
        const char *said = stage_said_to(&other);
        assert_true(strcmp(said, "1: <100000 bytes>\n") == 0 ||
                    strstr(said, "1 failed: 'MEMORY: ") != NULL || other.closed || other.shut);
        script_reset(&other);
        stage_run();
    }
}
