/* The blocking face, over each transport, against a server in a thread. */
#include "tests/unit/client/threaded.h"

#include <ergon/client_tasks.h>

#include <stdio.h>
#include <string.h>

#include "proto/reader.h"

struct end {
    enum ergon_end outcome;
    char why[256];
};

/* Of a test: a server, and options that name it. */
struct fixture {
    struct threaded server;
    struct ergon_options options;
};

static int set_up(void **state, enum threaded_kind kind)
{
    static struct fixture f;
    threaded_start(&f.server, kind);
    f.options = (struct ergon_options){
        .size = sizeof(struct ergon_options), .url = f.server.url, .no_reconnect = true};
    *state = &f;
    return 0;
}

static int tcp(void **state)
{
    return set_up(state, THREADED_TCP);
}

static int tls(void **state)
{
    return set_up(state, THREADED_TLS);
}

static int unix_socket(void **state)
{
    return set_up(state, THREADED_UNIX);
}

static int tear_down(void **state)
{
    threaded_stop(&((struct fixture *)*state)->server);
    return 0;
}

#define TCP_TEST(name)         TEST_OF(struct fixture *f, NULL, tcp, tear_down, name)
#define UNIX_SOCKET_TEST(name) TEST_OF(struct fixture *f, NULL, unix_socket, tear_down, name)
#define TLS_TEST(name)         TEST_OF(struct fixture *f, NULL, tls, tear_down, name)

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
    bool opened = b != NULL;
    ergon_blocking_close(b); /* or else its server would wait for it */
    assert_false(opened);
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

static void calls_work(struct fixture *f)
{
    f->options.ca_file = f->server.certificate;
    struct ergon_blocking *b = open_good(&f->options);
    for (int i = 0; i < 20; i++)
        expect_answer(b, "hello");
    ergon_blocking_close(b);
}

TCP_TEST(calls_work_over_tcp)
{
    calls_work(f);
}

TLS_TEST(calls_work_over_tls)
{
    calls_work(f);
}

UNIX_SOCKET_TEST(calls_work_over_a_unix_socket)
{
    calls_work(f);
}

TCP_TEST(an_error_is_an_outcome)
{
    const struct ergon_answer *a;
    struct ergon_blocking *b = open_good(&f->options);
    assert_int_equal(ergon_blocking_call(b, "fail", (struct ergon_raw){0}, 0, &a), ERGON_END_ERROR);
    assert_string_equal(a->code, "FAILED");
    assert_string_equal(a->text, "as asked");
    expect_answer(b, "next");
    ergon_blocking_close(b);
}

TCP_TEST(a_call_without_answer_times_out)
{
    const struct ergon_answer *a;
    struct ergon_blocking *b = open_good(&f->options);
    assert_int_equal(ergon_blocking_call(b, "silence", (struct ergon_raw){0}, 1, &a),
                     ERGON_END_TIMEOUT);
    expect_answer(b, "next");
    ergon_blocking_close(b);
}

static bool ignore_event(void *arg, const struct ergon_event *event)
{
    (void)arg;
    (void)event;
    return true;
}

/* Its time is up at about the moment in which the answer comes: either may be first. */
UNIX_SOCKET_TEST(a_watch_ends_once_though_its_time_is_up_with_the_answer)
{
    const struct ergon_answer *a;
    struct ergon_blocking *b = open_good(&f->options);
    for (int i = 0; i < 200; i++) {
        enum ergon_end end = ergon_blocking_watch(b, "t1", 0, 1, ignore_event, NULL, &a);
        assert_true(end == ERGON_END_TIMEOUT || end == ERGON_END_ERROR);
        expect_answer(b, "next");
    }
    ergon_blocking_close(b);
}

TCP_TEST(a_request_is_sent_again_until_there_is_an_answer)
{
    const struct ergon_answer *a;
    const struct ergon_raw none = {0};
    f->options.no_reconnect = false;
    f->options.backoff_min_ms = f->options.backoff_max_ms = 1;
    struct ergon_blocking *b = open_good(&f->options);
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
    threaded_stop(&f->server);
    assert_int_equal(f->server.tries, 3);
}

/* The second answer comes when the time is up. */
TCP_TEST(it_is_not_sent_again_when_its_time_is_up)
{
    const struct ergon_answer *a;
    f->options.no_reconnect = false;
    f->options.backoff_min_ms = f->options.backoff_max_ms = 1;
    struct ergon_blocking *b = open_good(&f->options);
    struct ergon_request *r = ergon_request_raw("third time", (struct ergon_raw){0});
    assert_int_not_equal(ergon_blocking_ask_again(b, r, 50, &a), ERGON_END_OK);
    ergon_blocking_close(b);
}

/* It is out of our hands when the function returns. */
TCP_TEST(a_notification_arrives)
{
    struct ergon_blocking *b = open_good(&f->options);
    expect_answer(b, "first");
    assert_int_equal(ergon_blocking_notify(b, "note", (struct ergon_raw){0}), ERGON_END_OK);
    ergon_blocking_close(b);
    threaded_stop(&f->server);
    assert_int_equal(f->server.notifications, 2); /* server.hello came first */
}

static void *interrupt(void *blocking)
{
    ergon_blocking_interrupt(blocking);
    return NULL;
}

/* By another thread, be it before the wait or during it. */
TCP_TEST(an_interrupt_ends_a_wait_and_no_more)
{
    struct ergon_blocking *b = open_good(&f->options);
    const struct ergon_answer *a;
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, interrupt, b), 0);
    assert_int_equal(ergon_blocking_call(b, "silence", (struct ergon_raw){0}, 0, &a),
                     ERGON_END_CANCELLED);
    pthread_join(other, NULL);
    expect_answer(b, "next");
    ergon_blocking_close(b);
    threaded_stop(&f->server);
    assert_int_equal(f->server.notifications, 2); /* server.hello and server.cancel */
}

/* Before the watch begins or while it asks. */
UNIX_SOCKET_TEST(an_interrupt_ends_a_watch)
{
    struct ergon_blocking *b = open_good(&f->options);
    const struct ergon_answer *a;
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, interrupt, b), 0);
    assert_int_equal(ergon_blocking_watch(b, "silence", 0, 0, ignore_event, NULL, &a),
                     ERGON_END_CANCELLED);
    pthread_join(other, NULL);
    ergon_blocking_close(b);
}

/* What waits for no answer is not ended by it. */
TCP_TEST(an_interrupt_of_a_notification_ends_the_next_wait)
{
    struct ergon_blocking *b = open_good(&f->options);
    const struct ergon_answer *a;
    ergon_blocking_interrupt(b);
    assert_int_equal(ergon_blocking_notify(b, "note", (struct ergon_raw){0}), ERGON_END_OK);
    assert_int_equal(ergon_blocking_call(b, "silence", (struct ergon_raw){0}, 1000, &a),
                     ERGON_END_CANCELLED);
    expect_answer(b, "next");
    ergon_blocking_close(b);
}

UNIX_SOCKET_TEST(nobody_listens)
{
    threaded_stop(&f->server);
    assert_int_equal(open_bad(&f->options).outcome, ERGON_END_UNREACHABLE);
}

/* ---- trust ---- */

TLS_TEST(an_unknown_authority_is_not_trusted)
{
    struct end end = open_bad(&f->options);
    assert_int_equal(end.outcome, ERGON_END_UNREACHABLE);
    assert_non_null(strstr(end.why, "certificate is not trusted"));
    f->options.insecure = true;
    ergon_blocking_close(open_good(&f->options));
}

TLS_TEST(the_name_must_be_in_the_certificate)
{
    f->options.ca_file = f->server.certificate;
    f->options.server_name = "elsewhere.example";
    struct end end = open_bad(&f->options);
    assert_int_equal(end.outcome, ERGON_END_UNREACHABLE);
    assert_non_null(strstr(end.why, "not for elsewhere.example, but for "));
    f->options.server_name = "localhost";
    ergon_blocking_close(open_good(&f->options));
}

/* An address is looked for among the addresses: nothing that is called so will do. */
TLS_TEST(the_address_must_be_in_the_certificate)
{
    static const char *const others[] = {"127.0.0.2", "::1", "::ffff:127.0.0.1"};
    f->options.ca_file = f->server.certificate;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        f->options.server_name = others[i];
        struct end end = open_bad(&f->options);
        assert_int_equal(end.outcome, ERGON_END_UNREACHABLE);
        assert_non_null(strstr(end.why, "127.0.0.1"));
    }
    f->options.server_name = "127.0.0.1";
    ergon_blocking_close(open_good(&f->options));
}

TLS_TEST(a_missing_file_is_named)
{
    f->options.ca_file = "/nowhere/ca.pem";
    struct end end = open_bad(&f->options);
    assert_int_equal(end.outcome, ERGON_END_INVALID);
    assert_non_null(strstr(end.why, "/nowhere/ca.pem"));
}

TCP_TEST(a_plain_server_fails_the_handshake)
{
    char url[sizeof f->server.url + sizeof "ergons"];
    snprintf(url, sizeof url, "ergons%s", f->server.url + strlen("ergon"));
    f->options.url = url;
    f->options.connect_timeout_ms = 200;
    assert_int_equal(open_bad(&f->options).outcome, ERGON_END_UNREACHABLE);
}
