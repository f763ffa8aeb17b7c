/* The blocking face, over each transport, against a server in a thread. */
#include "tests/unit/client/threaded.h"

#include <ergon/client.h>

#include <stdio.h>
#include <string.h>

#include "proto/reader.h"

struct end {
    enum ergon_end outcome;
    char why[256];
};

static struct ergon_options options_of(const struct threaded *t)
{
    return (struct ergon_options){
        .size = sizeof(struct ergon_options), .url = t->url, .no_reconnect = true};
}

static struct ergon_blocking *open_good(const struct ergon_options *o)
{
    struct ergon_blocking *b;
    char why[256] = "";
    if (ergon_blocking_open(o, &b, why, sizeof why) != ERGON_END_OK)
        fail_msg("%s", why);
    return b;
}

static struct end open_bad(const struct ergon_options *o)
{
    struct ergon_blocking *b;
    struct end end = {.why = ""};
    end.outcome = ergon_blocking_open(o, &b, end.why, sizeof end.why);
    assert_null(b);
    return end;
}

static void expect_answer(struct ergon_blocking *b, const char *method)
{
    const struct ergon_answer *a;
    struct span text;
    assert_int_equal(ergon_blocking_call(b, method, (struct ergon_raw){0}, 0, &a), ERGON_END_OK);
    struct reader r = reader_of(span_of(a->result.at, a->result.len));
    assert_true(read_text(&r, &text));
    assert_true(span_is(text, method));
}

static void calls_work_over(enum threaded_kind kind)
{
    struct threaded t;
    threaded_start(&t, kind);
    struct ergon_options o = options_of(&t);
    o.ca_file = t.certificate;
    struct ergon_blocking *b = open_good(&o);
    for (int i = 0; i < 20; i++)
        expect_answer(b, "hello");
    ergon_blocking_close(b);
    threaded_stop(&t);
}

static void calls_work_over_tcp(void **state)
{
    (void)state;
    calls_work_over(THREADED_TCP);
}

static void calls_work_over_tls(void **state)
{
    (void)state;
    calls_work_over(THREADED_TLS);
}

static void calls_work_over_a_unix_socket(void **state)
{
    (void)state;
    calls_work_over(THREADED_UNIX);
}

static void an_error_is_an_outcome(void **state)
{
    struct threaded t;
    const struct ergon_answer *a;
    (void)state;
    threaded_start(&t, THREADED_TCP);
    struct ergon_options o = options_of(&t);
    struct ergon_blocking *b = open_good(&o);
    assert_int_equal(ergon_blocking_call(b, "fail", (struct ergon_raw){0}, 0, &a), ERGON_END_ERROR);
    assert_string_equal(a->code, "FAILED");
    assert_string_equal(a->text, "as asked");
    expect_answer(b, "next");
    ergon_blocking_close(b);
    threaded_stop(&t);
}

static void a_call_without_answer_times_out(void **state)
{
    struct threaded t;
    const struct ergon_answer *a;
    (void)state;
    threaded_start(&t, THREADED_TCP);
    struct ergon_options o = options_of(&t);
    struct ergon_blocking *b = open_good(&o);
    assert_int_equal(ergon_blocking_call(b, "silence", (struct ergon_raw){0}, 1, &a),
                     ERGON_END_TIMEOUT);
    expect_answer(b, "next");
    ergon_blocking_close(b);
    threaded_stop(&t);
}

static void a_request_is_sent_again_until_there_is_an_answer(void **state)
{
    struct threaded t;
    const struct ergon_answer *a;
    const struct ergon_raw none = {0};
    (void)state;
    threaded_start(&t, THREADED_TCP);
    struct ergon_options o = options_of(&t);
    o.no_reconnect = false;
    o.backoff_min_ms = o.backoff_max_ms = 1;
    struct ergon_blocking *b = open_good(&o);
    struct ergon_request *r = ergon_request_raw("third time", none);
    assert_string_equal(ergon_request_method(r), "third time");
    assert_int_equal(ergon_blocking_ask_again(b, r, 60000, &a), ERGON_END_OK);
    r = ergon_request_raw("silence", none);
    assert_int_equal(ergon_blocking_ask_again(b, r, 1, &a), ERGON_END_TIMEOUT);
    r = ergon_request_raw("fail", none);
    assert_int_equal(ergon_blocking_ask_again(b, r, 0, &a), ERGON_END_ERROR);
    r = ergon_request_raw("", none);
    assert_int_equal(ergon_blocking_ask_again(b, r, 0, &a), ERGON_END_INVALID);
    assert_int_equal(ergon_blocking_ask_again(b, NULL, 0, &a), ERGON_END_MEMORY);
    ergon_blocking_close(b);
    threaded_stop(&t);
    assert_int_equal(t.tries, 3);
}

static void a_notification_arrives(void **state)
{
    struct threaded t;
    (void)state;
    threaded_start(&t, THREADED_TCP);
    struct ergon_options o = options_of(&t);
    struct ergon_blocking *b = open_good(&o);
    assert_int_equal(ergon_blocking_notify(b, "note", (struct ergon_raw){0}), ERGON_END_OK);
    expect_answer(b, "next");
    ergon_blocking_close(b);
    threaded_stop(&t);
    assert_int_equal(t.notifications, 1);
}

static void nobody_listens(void **state)
{
    struct threaded t;
    (void)state;
    threaded_start(&t, THREADED_UNIX);
    threaded_stop(&t);
    struct ergon_options o = options_of(&t);
    assert_int_equal(open_bad(&o).outcome, ERGON_END_UNREACHABLE);
}

/* ---- trust ---- */

static void an_unknown_authority_is_not_trusted(void **state)
{
    struct threaded t;
    (void)state;
    threaded_start(&t, THREADED_TLS);
    struct ergon_options o = options_of(&t);
    struct end end = open_bad(&o);
    assert_int_equal(end.outcome, ERGON_END_UNREACHABLE);
    assert_non_null(strstr(end.why, "certificate is not trusted"));
    o.insecure = true;
    ergon_blocking_close(open_good(&o));
    threaded_stop(&t);
}

static void the_name_must_be_in_the_certificate(void **state)
{
    struct threaded t;
    (void)state;
    threaded_start(&t, THREADED_TLS);
    struct ergon_options o = options_of(&t);
    o.ca_file = t.certificate;
    o.server_name = "elsewhere.example";
    struct end end = open_bad(&o);
    assert_int_equal(end.outcome, ERGON_END_UNREACHABLE);
    assert_non_null(strstr(end.why, "certificate is not trusted"));
    o.server_name = "localhost";
    ergon_blocking_close(open_good(&o));
    threaded_stop(&t);
}

static void a_missing_file_is_named(void **state)
{
    struct threaded t;
    (void)state;
    threaded_start(&t, THREADED_TLS);
    struct ergon_options o = options_of(&t);
    o.ca_file = "/nowhere/ca.pem";
    struct end end = open_bad(&o);
    assert_int_equal(end.outcome, ERGON_END_INVALID);
    assert_non_null(strstr(end.why, "/nowhere/ca.pem"));
    threaded_stop(&t);
}

static void a_plain_server_fails_the_handshake(void **state)
{
    struct threaded t;
    (void)state;
    threaded_start(&t, THREADED_TCP);
    char url[sizeof t.url + 1];
    snprintf(url, sizeof url, "ergons%s", t.url + strlen("ergon"));
    struct ergon_options o = options_of(&t);
    o.url = url;
    o.connect_timeout_ms = 200;
    assert_int_equal(open_bad(&o).outcome, ERGON_END_UNREACHABLE);
    threaded_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_work_over_tcp),
        cmocka_unit_test(calls_work_over_tls),
        cmocka_unit_test(calls_work_over_a_unix_socket),
        cmocka_unit_test(an_error_is_an_outcome),
        cmocka_unit_test(a_call_without_answer_times_out),
        cmocka_unit_test(a_request_is_sent_again_until_there_is_an_answer),
        cmocka_unit_test(a_notification_arrives),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(an_unknown_authority_is_not_trusted),
        cmocka_unit_test(the_name_must_be_in_the_certificate),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_plain_server_fails_the_handshake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
