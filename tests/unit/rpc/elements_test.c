/* However many elements a message has: nobody walks through them at once to find out where they
 * end. */
#include "proto/encoder.h"
#include "proto/scanner.h"
#include "server/jobs/jobs_parts.h"
#include "tests/support/rpc_stage.h"

/* By the linker, in place of the walk. */
size_t __real_value_length_within(struct span bytes, uint64_t most);
size_t __wrap_value_length_within(struct span bytes, uint64_t most);

enum { ELEMENTS = 900000 };

static size_t longest; /* bytes of a walk, since expect_no_walk() */
static uint8_t message[ELEMENTS + 300];

size_t __wrap_value_length_within(struct span bytes, uint64_t most)
{
    size_t len = __real_value_length_within(bytes, most);
    if (len > longest)
        longest = len;
    return len;
}

static uint8_t *nils(uint8_t *p, uint32_t count)
{
    p = enc_array(p, count);
    memset(p, 0xc0, count);
    return p + count;
}

static uint8_t *begin(const char *method, uint32_t params)
{
    uint8_t *p = enc_str(enc_uint(enc_uint(enc_array(message, 4), 0), 1), span_text(method));
    return enc_array(p, params);
}

static uint8_t *delayed(uint8_t *p)
{
    return enc_str(enc_str(enc_map(p, 1), span_text("delay")), span_text("1h"));
}

static const char *answer_to(const uint8_t *end)
{
    longest = 0;
    script_send(&peer, span_of(message, (size_t)(end - message)));
    stage_run_ms(net.v.now / AO_MS(1));
    return stage_said_to(&peer);
}

static void expect_no_walk(void)
{
    assert_in_range(longest, 0, SCAN_LARGE_LEAST);
}

RPC_TEST(of_a_submission)
{
    uint8_t *p = enc_str(begin("task.submit", 3), span_text("echo"));
    assert_non_null(strstr(answer_to(delayed(nils(p, ELEMENTS))), "'state': 'delayed'"));
    expect_no_walk();
    assert_int_equal(job_params(stage.jobs->table.last).len, ELEMENTS + 5);
}

RPC_TEST(of_a_call_with_options)
{
    uint8_t *p = enc_str(begin("task.call", 3), span_text("echo"));
    answer_to(delayed(nils(enc_array(p, 1), ELEMENTS)));
    expect_no_walk();
    assert_int_equal(stage.jobs->table.count, 1);
}

RPC_TEST(of_a_cron)
{
    uint8_t *p = enc_str(begin("cron.put", 4), span_text("c"));
    p = enc_str(enc_str(p, span_text("* * * * *")), span_text("echo"));
    answer_to(nils(p, ELEMENTS));
    expect_no_walk();
}

RPC_TEST(of_what_is_no_id)
{
    uint8_t *p = nils(begin("server.cancel", 1), ELEMENTS);
    assert_string_equal(answer_to(p), "1: false\n");
    expect_no_walk();
}

RPC_TEST(of_the_value_of_an_event)
{
    uint8_t *p = enc_str(begin("event.set", 2), span_text("e"));
    assert_non_null(strstr(answer_to(nils(p, ELEMENTS)), "TOO_LARGE"));
    expect_no_walk();
}

RPC_TEST(of_a_partial_result)
{
    uint8_t *p = enc_uint(begin("worker.partial", 2), 8192);
    assert_non_null(strstr(answer_to(nils(p, ELEMENTS)), "NOT_FOUND"));
    expect_no_walk();
}

RPC_TEST(of_the_methods_of_a_worker)
{
    uint8_t *p = nils(begin("worker.register", 1), ELEMENTS);
    assert_non_null(strstr(answer_to(p), "BAD_PARAMS"));
    expect_no_walk();
}

/* The specs of a batch have to be walked through. */
RPC_TEST(a_batch_has_so_many_at_most)
{
    uint8_t *p = enc_array(begin("task.submit_many", 2), 1);
    p = nils(enc_str(enc_array(p, 2), span_text("echo")), ELEMENTS);
    const char *said = answer_to(delayed(p));
    assert_non_null(strstr(said, "1 failed: 'TOO_LARGE: the arrays and maps of one request"));
    expect_no_walk();
    assert_int_equal(stage.jobs->table.count, 0);
}

RPC_TEST(the_options_behind_a_batch_are_found)
{
    uint8_t *p = enc_array(begin("task.submit_many", 2), 2);
    for (int i = 0; i < 2; i++)
        p = nils(enc_str(enc_array(p, 2), span_text("echo")), SCAN_LARGE_LEAST);
    assert_non_null(strstr(answer_to(delayed(p)), "'state': 'delayed'"));
    assert_int_equal(stage.jobs->table.count, 2);
}
