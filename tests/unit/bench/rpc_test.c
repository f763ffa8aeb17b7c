/* MessagePack-RPC for the load generator: what is sent, and what the answers to it are taken for.
 */
#include "tests/support/cmocka_env.h"

#include "client/bench/rpc.h"

/* What is said of the first n bytes, when fewer were looked at before, one more each time. */
static enum answer_kind dripped(const char *bytes, size_t n, struct answer *a)
{
    enum answer_kind kind = ANSWER_PARTIAL;
    struct scanner scanner;
    scanner_init(&scanner);
    for (size_t i = 1; i <= n && kind == ANSWER_PARTIAL; i++)
        kind = RPC.parse(NULL, &scanner, bytes, i, a);
    assert_true(kind == ANSWER_WRONG || scanner.done == 0);
    return kind;
}

static enum answer_kind at_once(const char *bytes, size_t n, struct answer *a)
{
    struct scanner scanner;
    scanner_init(&scanner);
    return RPC.parse(NULL, &scanner, bytes, n, a);
}

#define EXPECT_ENDS(kind, bytes)                                                                   \
    do {                                                                                           \
        struct answer a = {0};                                                                     \
        assert_int_equal(at_once(bytes, sizeof bytes - 1, &a), kind);                              \
        assert_int_equal(a.size, sizeof bytes - 1);                                                \
        assert_int_equal(a.slot, 7);                                                               \
        a = (struct answer){0};                                                                    \
        assert_int_equal(dripped(bytes, sizeof bytes - 1, &a), kind);                              \
        assert_int_equal(a.size, sizeof bytes - 1);                                                \
        assert_int_equal(a.slot, 7);                                                               \
    } while (0)

TEST(an_answer_is_the_same_however_it_is_cut)
{
    EXPECT_ENDS(ANSWER_GOOD, "\x94\x01\xce\0\0\0\x07\xc0\xa5"
                             "hello");
    EXPECT_ENDS(ANSWER_GOOD, "\x94\x01\xce\0\0\0\x07\xc0\xc4\x03"
                             "abc");
    EXPECT_ENDS(ANSWER_GOOD, "\x94\x01\xce\0\0\0\x07\xc0\xc5\0\x01"
                             "a");
    EXPECT_ENDS(ANSWER_GOOD, "\x94\x01\xce\0\0\0\x07\xc0\xc0");
    EXPECT_ENDS(ANSWER_GOOD, "\x94\x01\xce\0\0\0\x07\xc0\x82\xa2id\x05\xa1k\x92\x01\x02");
    EXPECT_ENDS(ANSWER_GOOD, "\x94\x01\x07\xc0\xa5hello"); /* an id of another width */
    EXPECT_ENDS(ANSWER_ERROR, "\x94\x01\xce\0\0\0\x07\xaa"
                              "BUSY: full\xc0");
}

/* Only its head is looked at. */
TEST(a_long_answer_is_told_before_it_is_there)
{
    static const char head[] = "\x94\x01\xce\0\0\0\x07\xc0\xc6\0\x01\0\0";
    struct answer a;
    assert_int_equal(at_once(head, sizeof head - 1, &a), ANSWER_GOOD);
    assert_int_equal(a.size, sizeof head - 1 + 65536);
}

TEST(an_error_has_its_code)
{
    static const char coded[] = "\x94\x01\x07\xaa"
                                "BUSY: full\xc0";
    static const char bare[] = "\x94\x01\x07\xc3\xc0";
    struct answer a;
    assert_int_equal(at_once(coded, sizeof coded - 1, &a), ANSWER_ERROR);
    assert_string_equal(a.code, "BUSY");
    assert_int_equal(at_once(bare, sizeof bare - 1, &a), ANSWER_ERROR);
    assert_string_equal(a.code, "other");
}

TEST(what_ends_no_request)
{
    static const char note[] = "\x93\x02\xa4news\x90";
    static const char request[] = "HTTP/1.1 400 Bad Request\r\n";
    struct answer a;
    assert_int_equal(at_once(note, sizeof note - 1, &a), ANSWER_NONE);
    assert_int_equal(a.size, sizeof note - 1);
    assert_int_equal(at_once(request, sizeof request - 1, &a), ANSWER_WRONG);
}

static void expect_hello(const struct rpc_work *w, const char *bytes, size_t n)
{
    const struct request r = {.work = w};
    struct outgoing out;
    char sent[64];
    assert_true(outgoing_init(&out));
    RPC.hello(&r, &out);
    assert_int_equal(out.total, n);
    outgoing_copy(&out, 0, sent);
    assert_memory_equal(sent, bytes, n);
    outgoing_fini(&out);
}

/* So that the server drops what is under way as soon as a load is over. */
TEST(a_connection_says_that_it_never_half_closes_and_who_it_is)
{
    static const char hello[] = "\x93\x02\xacserver.hello\x91\x81\xaahalf_close\xc2";
    static const char both[] = "\x93\x02\xacserver.hello\x91\x81\xaahalf_close\xc2"
                               "\x94\0\0\xabserver.auth\x91\xa7"
                               "a token";
    struct rpc_work w;
    rpc_work_init(&w, NULL);
    rpc_work_call(&w, span_text("echo"), span_of(NULL, 0));
    expect_hello(&w, hello, sizeof hello - 1);
    w.token = "a token";
    expect_hello(&w, both, sizeof both - 1);
}

static void expect_request(const struct rpc_work *w, const char *bytes, size_t n)
{
    const struct request r = {.work = w, .slot = 7, .payload = span_of("abc", 3)};
    struct outgoing out;
    char sent[64];
    assert_true(outgoing_init(&out));
    RPC.request(&r, &out);
    assert_int_equal(out.total, n);
    outgoing_copy(&out, 0, sent);
    assert_memory_equal(sent, bytes, n);
    outgoing_fini(&out);
}

TEST(a_request_has_the_payload_or_parameters)
{
    struct rpc_work w;
    rpc_work_init(&w, NULL);
    rpc_work_call(&w, span_text("echo"), span_of(NULL, 0));
    expect_request(&w,
                   "\x94\0\xce\0\0\0\x07\xa4"
                   "echo\x91\xc4\x03"
                   "abc",
                   18);
    rpc_work_init(&w, NULL);
    rpc_work_call(&w, span_text("echo"), span_of("\x92\x01\x02", 3));
    expect_request(&w,
                   "\x94\0\xce\0\0\0\x07\xa4"
                   "echo\x92\x01\x02",
                   15);
}

TEST(a_token_is_welcomed_or_refused)
{
    static const char good[] = "\x94\x01\0\xc0\xc0";
    static const char refused[] = "\x94\x01\0\xae"
                                  "DENIED: go off\xc0";
    struct rpc_work w;
    char why[128] = "";
    rpc_work_init(&w, NULL);
    rpc_work_call(&w, span_text("echo"), span_of(NULL, 0));
    assert_int_equal(RPC.welcome(&w, span_of(NULL, 0), why, sizeof why), WELCOME_DONE);
    w.token = "a token";
    for (size_t i = 0; i < sizeof good - 1; i++)
        assert_int_equal(RPC.welcome(&w, span_of(good, i), why, sizeof why), WELCOME_PARTIAL);
    assert_int_equal(RPC.welcome(&w, span_of(good, sizeof good - 1), why, sizeof why),
                     WELCOME_DONE);
    assert_int_equal(RPC.welcome(&w, span_of(refused, sizeof refused - 1), why, sizeof why),
                     WELCOME_DENIED);
    assert_non_null(strstr(why, "go off"));
    assert_int_equal(RPC.welcome(&w, span_of("\xc1", 1), why, sizeof why), WELCOME_WRONG);
}
