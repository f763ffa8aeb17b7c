/* Submitted tasks for the load generator: acceptance, end, and what is asked in between. */
#include "tests/support/cmocka_env.h"

#include "client/bench/rpc.h"
#include "client/bench/submit.h"

static struct outgoing out;

static enum answer_kind look(const char *bytes, size_t n, struct answer *a)
{
    struct scanner scanner;
    scanner_init(&scanner);
    *a = (struct answer){.out = &out};
    return RPC_SUBMITTED.parse(NULL, &scanner, bytes, n, a);
}

#define LOOK(bytes, a) look(bytes, sizeof(bytes) - 1, a)

static int set_up(void **state)
{
    (void)state;
    return outgoing_init(&out) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    outgoing_fini(&out);
    return 0;
}

#define SUBMIT_TEST(name) TEST_WITH(set_up, tear_down, name)

static void expect_sent(const char *bytes, size_t n)
{
    char sent[128];
    assert_int_equal(out.total, n);
    outgoing_copy(&out, 0, sent);
    assert_memory_equal(sent, bytes, n);
}

SUBMIT_TEST(a_submission_has_method_parameters_and_options)
{
    static const char wanted[] = "\x94\0\xce\0\0\0\x07\xabtask.submit\x93\xa4"
                                 "echo\x91\xc4\x03"
                                 "abc\x80";
    struct rpc_work w;
    rpc_work_init(&w, NULL);
    rpc_work_submission(&w, span_text("echo"), span_of(NULL, 0), span_of("\x80", 1));
    const struct request r = {.work = &w, .slot = 7, .payload = span_of("abc", 3)};
    RPC_SUBMITTED.request(&r, &out);
    expect_sent(wanted, sizeof wanted - 1);
}

SUBMIT_TEST(acceptance_asks_for_the_end)
{
    static const char wanted[] = "\x94\0\xce\0\0\0\x07\xa9task.wait\x92\xa2t1\x82\xa7timeout\xce"
                                 "\0\x36\xee\x80\xa6result\xc2";
    struct answer a;
    assert_int_equal(LOOK("\x94\x01\xce\0\0\0\x07\xc0\x82\xa2id\xa2t1\xa5state\xa6queued", &a),
                     ANSWER_STAGE);
    assert_int_equal(a.slot, 7);
    expect_sent(wanted, sizeof wanted - 1);
}

SUBMIT_TEST(an_end_other_than_done_is_an_error)
{
    struct answer a;
    assert_int_equal(LOOK("\x94\x01\xce\0\0\0\x07\xc0\x82\xa5"
                          "ended\x91\x81\xa5state\xa4"
                          "done\xa4open\x90",
                          &a),
                     ANSWER_GOOD);
    assert_int_equal(LOOK("\x94\x01\xce\0\0\0\x07\xc0\x82\xa5"
                          "ended\x91\x81\xa5state\xa6"
                          "failed\xa4open\x90",
                          &a),
                     ANSWER_ERROR);
    assert_string_equal(a.code, "failed");
    assert_int_equal(LOOK("\x94\x01\xce\0\0\0\x07\xc0\x82\xa5"
                          "ended\x90\xa4open\x91\xa2t1",
                          &a),
                     ANSWER_ERROR);
    assert_string_equal(a.code, "open");
    assert_int_equal(out.total, 0);
}

SUBMIT_TEST(what_is_no_answer_to_either)
{
    struct answer a;
    assert_int_equal(LOOK("\x94\x01\xce\0\0\0\x07\xc0\xa5hello", &a), ANSWER_WRONG);
    assert_int_equal(LOOK("\x94\x01\xce\0\0\0\x07\xc0\x80", &a), ANSWER_WRONG);
    assert_int_equal(LOOK("\x94\x01\xce\0\0\0\x07\xaa"
                          "BUSY: full\xc0",
                          &a),
                     ANSWER_ERROR);
    assert_int_equal(LOOK("\x93\x02\xa4news\x90", &a), ANSWER_NONE);
}
