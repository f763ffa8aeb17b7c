/* The load run of `ergon bench`, against a server in a thread. */
#include "tests/unit/client/threaded.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/bench/load.h"
#include "client/bench/rpc.h"

static const uint8_t NO_PARAMS[] = {0x90};

struct trial {
    struct threaded server;
    struct url url;
    struct rpc_work work;
    struct load_plan plan;
    struct load_result result;
};

static struct trial t;

static void prepare(enum threaded_kind kind, const char *method)
{
    t = (struct trial){0};
    threaded_start(&t.server, kind);
    assert_null(url_parse(t.server.url, URL_CONNECT, &t.url));
    t.plan = (struct load_plan){
        .target = {.url = &t.url, .server_name = "localhost", .timeout_ns = UINT64_C(5000000000)},
        .threads = 1,
        .connections = 1,
        .in_flight = 16,
        .requests = 2000,
        .protocol = &RPC,
        .work = &t.work,
        .stop_fd = -1,
    };
    rpc_work_init(&t.work, NULL);
    rpc_work_call(&t.work, span_text(method), span_of(NO_PARAMS, sizeof NO_PARAMS));
    if (kind == THREADED_TLS)
        t.plan.target.tls.ca = t.server.certificate;
}

static void clean_up(void)
{
    load_result_fini(&t.result);
    threaded_stop(&t.server);
}

static int tear_down(void **state)
{
    clean_up();
    return 0;
}

#define TRIAL_TEST(name) TEST_WITH(NULL, tear_down, name)

static void every_request_is_answered_over(enum threaded_kind kind)
{
    prepare(kind, "hello");
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_OK);
    assert_int_equal(t.result.sent, 2000);
    assert_int_equal(t.result.latency.count, 2000);
    assert_int_equal(t.result.lost, 0);
    assert_int_equal(t.result.broken, 0);
    assert_true(t.result.busy > 0 && t.result.busy < 1.05);
    clean_up();
}

TEST(every_request_is_answered)
{
    every_request_is_answered_over(THREADED_TCP);
    every_request_is_answered_over(THREADED_TLS);
    every_request_is_answered_over(THREADED_UNIX);
}

TRIAL_TEST(errors_are_counted_by_code)
{
    prepare(THREADED_TCP, "fail");
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_OK);
    assert_int_equal(t.result.latency.count, 0);
    assert_int_equal(t.result.refusal.count, 2000);
    assert_int_equal(t.result.error_kinds, 1);
    assert_string_equal(t.result.errors[0].code, "FAILED");
    assert_int_equal(t.result.errors[0].count, 2000);
}

TRIAL_TEST(the_token_goes_first)
{
    prepare(THREADED_TCP, "hello");
    t.work.token = "a token";
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_OK);
    assert_int_equal(t.result.latency.count, 2000);
}

TRIAL_TEST(a_run_can_be_stopped)
{
    prepare(THREADED_TCP, "hello");
    t.plan.requests = 0;
    t.plan.stop_fd = eventfd(1, EFD_CLOEXEC);
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_CANCELLED);
    assert_int_equal(t.result.sent, 0);
    close(t.plan.stop_fd);
}

TRIAL_TEST(every_request_of_each_thread_is_answered)
{
    prepare(THREADED_TCP, "hello");
    t.plan.threads = t.plan.connections = 3;
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_OK);
    assert_int_equal(t.result.sent, 2000);
    assert_int_equal(t.result.latency.count, 2000);
    assert_int_equal(t.result.opening.count, 3);
    assert_int_equal(t.result.broken, 0);
}

TRIAL_TEST(an_open_loop_counts_from_its_schedule)
{
    prepare(THREADED_TCP, "hello");
    t.plan.rate = 1e6; /* more than there are places for: requests have to wait */
    t.plan.in_flight = 1;
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_OK);
    assert_int_equal(t.result.latency.count, 2000);
    assert_int_equal(t.result.due, 2000);
    assert_int_equal(t.result.lag.count, 2000);
    assert_true(t.result.held > 0);
    /* The schedule has all 2000 in about 2 ms; the last one waited for nearly the whole run. */
    assert_true(t.result.latency.max + 3000000 > t.result.elapsed_ns);
}

TRIAL_TEST(what_was_due_is_counted_whether_it_was_sent_or_not)
{
    prepare(THREADED_TCP, "hello");
    t.plan.requests = 0;
    t.plan.rate = 1000;
    t.plan.pace = PACE_FIXED;
    t.plan.warmup_ns = 20 * 1000 * 1000;
    t.plan.duration_ns = 50 * 1000 * 1000;
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_OK);
    assert_int_equal(t.result.due, 50); /* whenever it was woken up; the warm-up is left out */
    assert_int_equal(t.result.sent, t.result.latency.count);
    assert_in_range(t.result.sent, 0, 50);
}

TRIAL_TEST(sizes_are_drawn)
{
    prepare(THREADED_TCP, "hello");
    rpc_work_init(&t.work, NULL);
    rpc_work_call(&t.work, span_text("hello"), span_of(NULL, 0));
    assert_null(bench_size_parse("uniform:100-300", &t.plan.payload));
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_OK);
    assert_int_equal(t.result.latency.count, 2000);
    assert_in_range(t.result.bytes_out, 2000 * 210, 2000 * 230); /* about 20 around the payload */
}

/* Each connection is given up for a new one; no request is lost by that. */
static void connections_are_replaced(enum threaded_kind kind, bool resume)
{
    prepare(kind, "hello");
    t.plan.churn = 1000;
    t.plan.requests = 0;
    t.plan.duration_ns = 100 * 1000 * 1000;
    t.plan.target.resume = resume;
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_OK);
    assert_int_equal(t.result.churn_due, 100);
    assert_true(t.result.churned > 0);
    assert_int_equal(t.result.latency.count, t.result.sent);
    assert_int_equal(t.result.lost, 0);
    assert_int_equal(t.result.broken, 0);
    if (resume) /* the last one may be on its way */
        assert_true(t.result.opening.count == 0 || t.result.resumed > 0);
    else
        assert_int_equal(t.result.resumed, 0);
    clean_up();
}

TEST(connections_churn)
{
    connections_are_replaced(THREADED_TCP, false);
    connections_are_replaced(THREADED_TLS, false);
    connections_are_replaced(THREADED_TLS, true);
}

TRIAL_TEST(a_certificate_that_cannot_be_read)
{
    prepare(THREADED_TLS, "hello");
    t.plan.target.tls.ca = "/nowhere/ca";
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_INVALID);
    assert_non_null(strstr(t.result.why, "/nowhere/ca"));
}

TEST(nobody_listens)
{
    prepare(THREADED_UNIX, "hello");
    threaded_stop(&t.server);
    assert_int_equal(load_run(&t.plan, &t.result), ERGON_END_UNREACHABLE);
    assert_true(t.result.why[0] != 0);
    load_result_fini(&t.result);
}
