/* The load run of `ergon bench`, against a server in a thread. */
#include "tests/unit/client/threaded.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/cli/load.h"

static const uint8_t NO_PARAMS[] = {0x90};

struct trial {
    struct threaded server;
    struct url url;
    struct load_plan plan;
    struct load_result result;
};

static void prepare(struct trial *t, enum threaded_kind kind, const char *method)
{
    char why[128];
    *t = (struct trial){0};
    threaded_start(&t->server, kind);
    assert_null(url_parse(t->server.url, &t->url));
    t->plan = (struct load_plan){
        .target = {.url = &t->url, .server_name = "localhost", .timeout_ms = 5000},
        .connections = 1,
        .in_flight = 16,
        .requests = 2000,
        .method = span_text(method),
        .params = span_of(NO_PARAMS, sizeof NO_PARAMS),
        .stop_fd = -1,
    };
    if (kind == THREADED_TLS) {
        struct tls_files files = {.ca = t->server.certificate};
        t->plan.target.tls = tls_new(&files, why, sizeof why);
        assert_non_null(t->plan.target.tls);
    }
}

static void clean_up(struct trial *t)
{
    load_result_fini(&t->result);
    tls_free(t->plan.target.tls);
    threaded_stop(&t->server);
}

static void every_request_is_answered_over(enum threaded_kind kind)
{
    struct trial t;
    prepare(&t, kind, "hello");
    assert_int_equal(load_run(&t.plan, &t.result), STATUS_OK);
    assert_int_equal(t.result.sent, 2000);
    assert_int_equal(t.result.good, 2000);
    assert_int_equal(t.result.latency.count, 2000);
    assert_int_equal(t.result.lost, 0);
    assert_int_equal(t.result.broken, 0);
    clean_up(&t);
}

static void every_request_is_answered(void **state)
{
    (void)state;
    every_request_is_answered_over(THREADED_TCP);
    every_request_is_answered_over(THREADED_TLS);
    every_request_is_answered_over(THREADED_UNIX);
}

static void errors_are_counted_by_code(void **state)
{
    struct trial t;
    (void)state;
    prepare(&t, THREADED_TCP, "fail");
    assert_int_equal(load_run(&t.plan, &t.result), STATUS_OK);
    assert_int_equal(t.result.good, 0);
    assert_int_equal(t.result.error_kinds, 1);
    assert_string_equal(t.result.errors[0].code, "FAILED");
    assert_int_equal(t.result.errors[0].count, 2000);
    clean_up(&t);
}

static void the_token_goes_first(void **state)
{
    struct trial t;
    (void)state;
    prepare(&t, THREADED_TCP, "hello");
    t.plan.target.token = "a token";
    assert_int_equal(load_run(&t.plan, &t.result), STATUS_OK);
    assert_int_equal(t.result.good, 2000);
    clean_up(&t);
}

static void a_run_can_be_stopped(void **state)
{
    struct trial t;
    (void)state;
    prepare(&t, THREADED_TCP, "hello");
    t.plan.requests = 0;
    t.plan.stop_fd = eventfd(1, EFD_CLOEXEC);
    assert_int_equal(load_run(&t.plan, &t.result), STATUS_INTERRUPTED);
    assert_int_equal(t.result.sent, 0);
    close(t.plan.stop_fd);
    clean_up(&t);
}

static void nobody_listens(void **state)
{
    struct trial t;
    (void)state;
    prepare(&t, THREADED_UNIX, "hello");
    threaded_stop(&t.server);
    assert_int_equal(load_run(&t.plan, &t.result), STATUS_CONNECT);
    assert_true(t.result.why[0] != 0);
    load_result_fini(&t.result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_is_answered),
        cmocka_unit_test(errors_are_counted_by_code),
        cmocka_unit_test(the_token_goes_first),
        cmocka_unit_test(a_run_can_be_stopped),
        cmocka_unit_test(nobody_listens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
