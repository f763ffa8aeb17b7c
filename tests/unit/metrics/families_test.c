/* The whole page of a server at work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/metrics/metrics.h"
#include "tests/support/rpc_stage.h"
#include "tests/unit/metrics/exposition.h"

static struct metrics *metrics;
static struct metrics_text page;

static int open_page(void **state)
{
    int failed = stage_open(state);
    stage_run_ms(5); /* the time is not 0, and the connection is open */
    metrics = metrics_new(&stage.shared);
    return metrics ? failed : -1;
}

static int close_page(void **state)
{
    metrics_free(metrics);
    metrics_text_free(&page);
    return stage_close(state);
}

#define METRICS_TEST(name) TEST_WITH(open_page, close_page, name)

static double value(const char *sample)
{
    return exposition_value(&page, sample);
}

static void scrape(void)
{
    assert_true(metrics_write(metrics, &page));
    exposition_check(&page);
}

METRICS_TEST(a_server_that_has_done_nothing_says_so)
{
    scrape();
    assert_true(value("ergon_connections{state=\"open\"}") == 1);
    assert_true(value("ergon_listener_connections{kind=\"tcp\"}") == 1);
    assert_true(value("ergon_calls_total{way=\"short_cut\"}") == 0);
    assert_true(value("ergon_tasks{state=\"dead\"}") == 0);
    assert_true(value("ergon_build_info{version=\"" ERGON_VERSION "\",idle=\"sleep\"}") == 1);
    assert_true(value("process_resident_memory_bytes") > 0);
    assert_true(value("process_open_fds") > 2);
    assert_false(exposition_has(&page, "ergon_store_commit_seconds_count"));
    assert_true(value("ergon_method_done_total{method=\"_other\"}") == 0);
}

static unsigned lines_of_samples(void)
{
    unsigned lines = 0;
    for (const char *at = page.at; at < page.at + page.length; at = strchr(at, '\n') + 1)
        lines += *at != '#';
    return lines;
}

METRICS_TEST(both_formats_have_the_same_samples)
{
    scrape();
    unsigned samples = lines_of_samples();
    page.format = METRICS_CLASSIC;
    assert_true(metrics_write(metrics, &page));
    assert_int_equal(lines_of_samples(), samples);
    assert_true(value("ergon_calls_total{way=\"short_cut\"}") == 0);
    page.at[page.length] = '\0';
    assert_null(strstr(page.at, "# EOF"));
    assert_non_null(strstr(page.at, "# TYPE ergon_calls_total counter\n"));
}

METRICS_TEST(calls_are_counted_by_method_way_and_outcome)
{
    for (int i = 0; i < 40; i++)
        stage_answer("echo", "[]");
    stage_answer("block", "[]");
    stage_answer("fail", "[]");
    scrape();
    assert_true(value("ergon_calls_total{way=\"short_cut\"}") == 41);
    assert_true(value("ergon_calls_total{way=\"manager\"}") == 1);
    assert_true(value("ergon_calls_ended_total{outcome=\"done\"}") == 41);
    assert_true(value("ergon_calls_ended_total{outcome=\"failed\"}") == 1);
    assert_true(value("ergon_method_done_total{method=\"echo\"}") == 40);
    assert_true(value("ergon_method_done_total{method=\"fail\"}") == 0);
    assert_true(value("ergon_method_failed_total{method=\"fail\",error=\"handler\"}") == 1);
    assert_true(value("ergon_method_run_seconds_count{method=\"block\"}") == 1);
    assert_true(value("ergon_method_wait_seconds_count{method=\"block\"}") == 1);
    assert_true(value("ergon_method_run_seconds_count{method=\"echo\"}") > 0);
    assert_true(value("ergon_loop_lag_seconds_count{loop=\"loop\"}") > 0);
    assert_true(value("ergon_messages_total") == 42);
    assert_true(exposition_has(&page, "ergon_loop_longest_step_seconds{loop=\"loop\"}"));
}

METRICS_TEST(a_call_waits_from_its_message_to_its_begin)
{
    stage_ask(&peer, 1, "block", "[]");
    net_run_ms(5); /* read and given; the executor takes it later */
    net.v.now += AO_MS(100);
    stage_run();
    scrape();
    assert_true(value("ergon_method_wait_seconds_bucket{method=\"block\",le=\"0.067108864\"}") ==
                0);
    assert_true(value("ergon_method_wait_seconds_bucket{method=\"block\",le=\"0.268435456\"}") ==
                1);
}

METRICS_TEST(a_submitted_task_waits_from_when_it_was_due)
{
    stage_ask(&peer, 1, "queue.pause", "['block']");
    stage_ask(&peer, 2, "task.submit", "['block', [], {'delay': 900, 'keep': 0}]");
    stage_run_ms(1000);
    stage_ask(&peer, 3, "queue.resume", "['block']");
    stage_run_ms(1010);
    scrape();
    assert_true(value("ergon_method_wait_seconds_count{method=\"block\"}") == 1);
    assert_true(value("ergon_method_wait_seconds_bucket{method=\"block\",le=\"0.067108864\"}") ==
                0);
    assert_true(value("ergon_method_wait_seconds_bucket{method=\"block\",le=\"0.268435456\"}") ==
                1);
}

METRICS_TEST(a_task_that_sleeps_runs_until_it_wakes_and_takes_little_of_a_processor)
{
    stage_ask(&peer, 1, "task.submit", "['sleep', [3000]]");
    stage_ask(&peer, 2, "sleep", "[3000]");
    stage_run_ms(3500);
    scrape();
    assert_true(value("ergon_method_run_seconds_count{method=\"sleep\"}") == 2);
    assert_true(value("ergon_method_run_seconds_bucket{method=\"sleep\",le=\"1.073741824\"}") == 0);
    assert_true(value("ergon_method_run_seconds_bucket{method=\"sleep\",le=\"4.294967296\"}") == 2);
    assert_true(value("ergon_method_processor_seconds_total{method=\"sleep\"}") < 1);
}

METRICS_TEST(queues_are_shown_with_what_is_open)
{
    stage_answer("queue.pause", "['block']");
    stage_answer("task.submit", "['block', []]");
    scrape();
    assert_true(value("ergon_queue_paused{method=\"block\"}") == 1);
    assert_true(value("ergon_queue_tasks{method=\"block\",state=\"waiting\"}") == 1);
    assert_true(value("ergon_queue_oldest_seconds{method=\"block\"}") > 1);
    assert_true(value("ergon_tasks{state=\"waiting\"}") == 1);
    assert_true(value("ergon_tasks_submitted_total") == 1);
    stage_answer("task.cancel", "[{'all': true}]");
    scrape();
    assert_false(exposition_has(&page, "ergon_queue_oldest_seconds{method=\"block\"}"));
}

METRICS_TEST(a_connection_that_has_gone_is_counted_no_more)
{
    static struct script other;
    net_connect(&other);
    stage_run_ms(6);
    scrape();
    assert_true(value("ergon_connections{state=\"open\"}") == 2);
    script_reset(&other);
    stage_run_ms(10);
    scrape();
    assert_true(value("ergon_connections{state=\"open\"}") == 1);
    assert_true(value("ergon_listener_connections{kind=\"tcp\"}") == 1);
    assert_true(value("ergon_connections_closed_total") == 1);
}

METRICS_TEST(requests_are_refused_by_error)
{
    stage_answer("nothing", "[]");
    stage_answer("task.get", "['x']");
    stage_answer("task.get", "[7]");
    scrape();
    assert_true(value("ergon_requests_refused_total{error=\"NO_METHOD\"}") == 1);
    assert_true(value("ergon_requests_refused_total{error=\"BAD_PARAMS\"}") +
                    value("ergon_requests_refused_total{error=\"NOT_FOUND\"}") ==
                2);
    assert_true(value("ergon_requests_refused_total{error=\"BUSY\"}") == 0);
}

METRICS_TEST(what_ends_is_shown_with_its_end_and_what_does_not_is_left_out)
{
#define ENDS(labels) "ergon_certificate_not_after_seconds{" labels "}"
    struct rpc_setup *setup = &stage.shared.setup;
    for (unsigned i = 0; i < 2; i++) {
        snprintf(setup->listeners[i].url, sizeof setup->listeners[i].url, "ergons://:%u", i + 1);
        atomic_store(&setup->listeners[i].certificate_ends, 1700000000 + i);
        atomic_store(&setup->listeners[i].crl_ends, i == 0 ? INT64_MAX : 1600000000);
    }
    atomic_store(&setup->listener_count, 2);
    atomic_store(&setup->token_ends, 1500000000);
    scrape();
    assert_true(value(ENDS("purpose=\"listener\",listener=\"ergons://:1\"")) == 1700000000);
    assert_true(value(ENDS("purpose=\"listener\",listener=\"ergons://:2\"")) == 1700000001);
    assert_false(exposition_has(&page, ENDS("purpose=\"crl\",listener=\"ergons://:1\"")));
    assert_true(value(ENDS("purpose=\"crl\",listener=\"ergons://:2\"")) == 1600000000);
    assert_true(value(ENDS("purpose=\"token\"")) == 1500000000);
#undef ENDS
}

METRICS_TEST(tenants_are_shown_with_what_is_open)
{
    stage_answer("queue.pause", "['block']");
    stage_answer("task.submit", "['block', [], {'tenant': 'one'}]");
    stage_answer("task.submit", "['block', [], {'tenant': 'one'}]");
    stage_answer("task.submit", "['block', [], {'tenant': 'two'}]");
    scrape();
    assert_true(value("ergon_tenant_open_tasks{tenant=\"one\"}") == 2);
    assert_true(value("ergon_tenant_open_tasks{tenant=\"two\"}") == 1);
    assert_true(value("ergon_tenant_open_tasks{tenant=\"_other\"}") == 0);
    stage_answer("queue.resume", "['block']");
    stage_run();
    scrape();
    assert_true(value("ergon_tenant_open_tasks{tenant=\"one\"}") == 0);
}

METRICS_TEST(a_quiet_worker_is_counted_as_that)
{
    stage_ask(&peer, 1, "worker.register", "[['work'], {'slots': 2}]");
    stage_run();
    scrape();
    assert_true(value("ergon_workers{state=\"open\"}") == 1);
    stage_ask(&peer, 2, "worker.quiet", "[]");
    stage_run();
    scrape();
    assert_true(value("ergon_workers{state=\"open\"}") == 0);
    assert_true(value("ergon_workers{state=\"quiet\"}") == 1);
    stage_ask(&peer, 3, "worker.resume", "[]");
    stage_run();
    scrape();
    assert_true(value("ergon_workers{state=\"open\"}") == 1);
    stage_ask(&peer, 4, "worker.quiet", "[]");
    stage_run();
    script_reset(&peer);
    stage_run_ms(10);
    scrape();
    assert_true(value("ergon_workers{state=\"open\"}") == 0);
    assert_true(value("ergon_workers{state=\"quiet\"}") == 0);
}

/* Methods that only workers could run, of which so many calls were refused. */
static struct method *method_refused(unsigned number, uint64_t times)
{
    char name[32];
    struct method *m;
    snprintf(name, sizeof name, "other%u", number);
    assert_int_equal(registry_intern(stage.registry, span_text(name), &m), ERGON_OK);
    atomic_store(&m->busy, times);
    return m;
}

METRICS_TEST(the_busiest_methods_are_shown_and_the_others_are_one)
{
    for (unsigned i = 0; i < METRICS_METHODS + 100; i++)
        method_refused(i, 1000 - i);
    scrape();
    assert_true(value("ergon_method_refused_total{method=\"other0\"}") == 1000);
    assert_true(value("ergon_method_refused_total{method=\"other199\"}") == 801);
    assert_false(exposition_has(&page, "ergon_method_refused_total{method=\"other200\"}"));
    assert_true(value("ergon_method_refused_total{method=\"_other\"}") == 75050);
}

METRICS_TEST(a_method_that_becomes_busy_gets_a_series_and_no_counter_goes_down)
{
    for (unsigned i = 0; i < METRICS_METHODS + 100; i++)
        method_refused(i, 1000 - i);
    scrape();
    method_refused(250, 1500); /* not twice as busy as the last of them */
    scrape();
    assert_false(exposition_has(&page, "ergon_method_refused_total{method=\"other250\"}"));
    assert_true(value("ergon_method_refused_total{method=\"_other\"}") == 75800);
    method_refused(250, 2000);
    scrape();
    assert_true(value("ergon_method_refused_total{method=\"other250\"}") == 2000);
    assert_false(exposition_has(&page, "ergon_method_refused_total{method=\"other199\"}"));
    assert_true(value("ergon_method_refused_total{method=\"_other\"}") == 76300);
    method_refused(199, 802);
    scrape();
    assert_true(value("ergon_method_refused_total{method=\"_other\"}") == 76301);
}

static bool figures_of_modules(void *arg, uint32_t place, struct rpc_module_figures *out)
{
    const struct rpc_module_figures *all = arg;

    *out = all[place];
    return out->module != NULL;
}

METRICS_TEST(processes_of_modules_are_counted)
{
    struct rpc_module_figures all[] = {{"thumbs", 2, 7, 1}, {"other", 0, 0, 5}, {NULL, 0, 0, 0}};

    scrape();
    assert_null(strstr(page.at, "ergon_module_process"));
    stage.shared.processes = (struct rpc_processes){.arg = all, .figures = figures_of_modules};
    scrape();
    assert_true(value("ergon_module_processes{module=\"thumbs\"}") == 2);
    assert_true(value("ergon_module_process_ends_total{module=\"thumbs\"}") == 7);
    assert_true(value("ergon_module_process_failures_total{module=\"other\"}") == 5);
}
