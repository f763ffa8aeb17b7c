/* Each state that `ergon doctor` knows, from facts; and beside each the same state when it is well.
 */
#include "client/cli/doctor/checks.h"

#include "client/cli/json.h"
#include "tests/support/cmocka_env.h"

#include <stdlib.h>
#include <string.h>

/* Quotes are ' here, for legibility. */
static json_t *facts_of(const char *text)
{
    json_error_t error;
    char *json = strdup(text);
    assert_non_null(json);
    for (char *at = json; *at != 0; at++)
        if (*at == '\'')
            *at = '"';
    json_t *facts = json_loads(json, 0, &error);
    if (facts == NULL)
        fail_msg("%s: %s", text, error.text);
    free(json);
    return facts;
}

static json_t *findings_of(const char *text)
{
    json_t *facts = facts_of(text);
    json_t *findings = checks_run(facts);
    json_decref(facts);
    return findings;
}

static const struct {
    const char *finding, *about, *ill, *well;
} CASES[] = {
    {"server_down", "unix:///x",
     "{'no_connection': {'kind': 'refused', 'url': 'unix:///x', 'why': 'No such file'}}",
     "{'no_connection': {}}"},
    {"server_unreachable", "u", "{'no_connection': {'kind': 'silent', 'url': 'u', 'why': 'late'}}",
     "{'no_connection': null}"},
    {"tls_fails", "u", "{'no_connection': {'kind': 'tls', 'url': 'u', 'why': 'TLS handshake'}}",
     "{'info': {}}"},
    {"not_let_in", "u", "{'no_connection': {'kind': 'denied', 'url': 'u', 'why': 'AUTH'}}",
     "{'not_asked': ['server.info']}"},
    {"socket_closed", "u", "{'no_connection': {'kind': 'no right', 'url': 'u', 'why': 'no'}}",
     "{'no_connection': {'kind': 'other'}}"},
    {"server_silent", "", "{'silent': ['server.info']}", "{'silent': []}"},
    {"manager_silent", "", "{'silent': ['queue.list']}", "{'silent': ['sem.list']}"},
    {"loop_hangs", "stepped-0",
     "{'topology': {'executors': [{'name': 'stepped-0', 'state': 'away', 'running': 'hang'}]}}",
     "{'topology': {'executors': [{'name': 'stepped-0', 'state': 'ready', 'running': 'hang'}]}}"},
    {"handler_outlived", "blocking-1",
     "{'topology': {'executors': [{'name': 'blocking-1', 'state': 'outlived', 'running': 'x'}]}}",
     "{'topology': {'executors': [{'name': 'blocking-1', 'state': 'stands in'}]}}"},
    {"long_steps", "loop-0",
     "{'topology': {'loops': [{'name': 'loop-0', 'long_steps': 10, 'steps': 10000}]}}",
     "{'topology': {'loops': [{'name': 'loop-0', 'long_steps': 10, 'steps': 10001},"
     " {'name': 'loop-1', 'long_steps': 9, 'steps': 9}]}}"},
    {"crashed", "", "{'info': {'time': 1700000000000, 'setup': {'crashed': 1699999000000}}}",
     "{'info': {'time': 1700000000000, 'setup': {'crashed': 1699395200000}}}"},
    {"reload_refused", "",
     "{'info': {'time': 1700000000000, 'setup': {'reload_refused': 1699999999000}}}",
     "{'info': {'time': 1700000000000, 'setup': {'reload_refused': null}}}"},
    {"methods_without_executor", "", "{'info': {'no_executor': 2}}",
     "{'info': {'no_executor': 0}}"},

    {"queue_without_worker", "m",
     "{'queues': [{'method': 'm', 'queued': 1, 'reason': 'no_executor', 'text': 'nobody'}]}",
     "{'queues': [{'method': 'm', 'queued': 1, 'reason': 'turn'},"
     " {'method': 'n', 'queued': 0, 'waiting': 0, 'delayed': 7, 'reason': 'no_executor'}]}"},
    {"queue_growing", "m",
     "{'before': {'info': {'uptime_ms': 1000},"
     " 'queues': [{'method': 'm', 'queued': 400, 'done': 10}]},"
     " 'info': {'uptime_ms': 3000}, 'queues': [{'method': 'm', 'queued': 600, 'done': 20}]}",
     "{'before': {'info': {'uptime_ms': 1000}, 'queues': ["
     " {'method': 'shrinks', 'queued': 600}, {'method': 'small', 'queued': 1},"
     " {'method': 'soon done', 'queued': 100, 'done': 0}, {'method': 'other', 'queued': 10,"
     " 'paused': true}]},"
     " 'info': {'uptime_ms': 3000}, 'queues': ["
     " {'method': 'shrinks', 'queued': 400}, {'method': 'small', 'queued': 99},"
     " {'method': 'soon done', 'queued': 299, 'done': 20}, {'method': 'new', 'queued': 500}]}"},
    {"queue_paused", "m", "{'queues': [{'method': 'm', 'paused': true, 'queued': 1}]}",
     "{'queues': [{'method': 'm', 'paused': true, 'queued': 0, 'delayed': 3}]}"},
    {"queue_draining", "m", "{'queues': [{'method': 'm', 'draining': true}]}",
     "{'queues': [{'method': 'm', 'draining': false}]}"},
    {"tasks_dead", "", "{'info': {'kept': {'states': {'dead': 1}}}}",
     "{'info': {'kept': {'states': {'dead': 0, 'failed': 7}}}}"},
    {"actors_without_host", "cart",
     "{'actor_types': [{'type': 'cart', 'hosts': false, 'messages': 1}]}",
     "{'actor_types': [{'type': 'cart', 'hosts': false, 'messages': 0},"
     " {'type': 'box', 'hosts': true, 'messages': 9}, {'type': 'old', 'messages': 9}]}"},
    {"actors_failed", "cart", "{'actor_types': [{'type': 'cart', 'failed': 1}]}",
     "{'actor_types': [{'type': 'cart', 'failed': 0, 'stopped': 7}]}"},
    {"actor_mailbox_near", "cart/1",
     "{'actor_types': [{'type': 'cart', 'mailbox': 10}],"
     " 'actors': {'actors': [{'actor': 'cart/1', 'waiting': 8}]}}",
     "{'actor_types': [{'type': 'cart', 'mailbox': 10}], 'actors': {'actors': ["
     " {'actor': 'cart/1', 'waiting': 7}, {'actor': 'gone/1', 'waiting': 1000}]}}"},
    {"actor_holds", "cart/1",
     "{'info': {'time': 100000}, 'actors': {'actors': [{'actor': 'cart/1', 'waiting': 1,"
     " 'turn': {'method': 'cart.add', 'started': 40000}}]}}",
     "{'info': {'time': 100000}, 'actors': {'actors': ["
     " {'actor': 'cart/1', 'waiting': 1, 'turn': {'method': 'cart.add', 'started': 41000}},"
     " {'actor': 'cart/2', 'waiting': 0, 'turn': {'method': 'cart.add', 'started': 1}},"
     " {'actor': 'cart/3', 'waiting': 9, 'turn': null}]}}"},
    {"actors_deadlock", "",
     "{'info': {'time': 1700000000000, 'actors': {'last_deadlock': 1699999401000}}}",
     "{'info': {'time': 1700000000000, 'actors': {'last_deadlock': 1699999400000}}}"},
    {"actors_unfolded", "", "{'info': {'store': {'unfolded': 262144}}}",
     "{'info': {'store': {'unfolded': 262143}}}"},
    {"calls_refused", "",
     "{'before': {'info': {'uptime_ms': 1, 'tasks': {'refused': 1}}},"
     " 'info': {'uptime_ms': 2, 'tasks': {'refused': 2, 'calls': 1000000}}}",
     "{'before': {'info': {'uptime_ms': 1, 'tasks': {'refused': 1}}},"
     " 'info': {'uptime_ms': 2, 'tasks': {'refused': 1, 'calls': 1000000}}}"},
    {"common_queue_full", "",
     "{'topology': {'manager': {'queued': 80, 'queue': 100, 'principals': [{'name': 'p'}]}}}",
     "{'topology': {'manager': {'queued': 79, 'queue': 100, 'principals': []}}}"},

    {"tasks_bytes_near", "", "{'info': {'kept': {'bytes': 80, 'bytes_limit': 100}}}",
     "{'info': {'kept': {'bytes': 79, 'bytes_limit': 100}}}"},
    {"tasks_count_near", "", "{'info': {'kept': {'held': 80, 'limit': 100}}}",
     "{'info': {'kept': {'held': 79, 'limit': 100}}}"},
    {"results_kept_near", "", "{'info': {'kept': {'ended_bytes': 95, 'ended_bytes_limit': 100}}}",
     "{'info': {'kept': {'ended_bytes': 94, 'ended_bytes_limit': 100}}}"},
    {"tenant_near_share", "t",
     "{'info': {'kept': {'limit': 1000, 'bytes_limit': 10000, 'tenant_share': 50}},"
     " 'tenants': [{'tenant': 't', 'open': 1, 'open_bytes': 4000}]}",
     "{'info': {'kept': {'limit': 1000, 'bytes_limit': 10000, 'tenant_share': 50}},"
     " 'tenants': [{'tenant': 't', 'open': 399, 'open_bytes': 3999, 'ended_bytes': 9000}]}"},
    {"memory_near", "", "{'info': {'memory': {'bytes': 80, 'limit': 100}}}",
     "{'info': {'memory': {'bytes': 79, 'limit': 100}}}"},
    {"memory_short", "",
     "{'before': {'info': {'uptime_ms': 1, 'memory': {'refused': 1}}},"
     " 'info': {'uptime_ms': 2, 'memory': {'refused': 2}}}",
     "{'before': {'info': {'uptime_ms': 3, 'memory': {'refused': 1, 'stopped': 1}}},"
     " 'info': {'uptime_ms': 2, 'memory': {'refused': 2, 'stopped': 2}}}"},
    {"partial_near", "", "{'info': {'connections': {'partial_bytes': 80, 'partial_limit': 100}}}",
     "{'info': {'connections': {'partial_bytes': 80}}}"},
    {"connections_near", "", "{'info': {'connections': {'open': 80, 'limit': 100}}}",
     "{'info': {'connections': {'open': 79, 'limit': 100}}}"},
    {"newcomers_near", "", "{'info': {'connections': {'newcomers': 80, 'newcomers_limit': 100}}}",
     "{'info': {'connections': {'newcomers': 79, 'newcomers_limit': 100}}}"},
    {"connections_gave_way", "",
     "{'before': {'info': {'uptime_ms': 1, 'connections': {'gave_way': 1}}},"
     " 'info': {'uptime_ms': 2, 'connections': {'gave_way': 2}}}",
     "{'before': {'info': {'uptime_ms': 1, 'connections': {'gave_way': 2}}},"
     " 'info': {'uptime_ms': 2, 'connections': {'gave_way': 2}}}"},
    {"descriptors_short", "",
     "{'info': {'setup': {'files': 1024}, 'connections': {'limit': 1025}}}",
     "{'info': {'setup': {'files': 1024}, 'connections': {'limit': 960}}}"},
    {"memory_promised_twice", "",
     "{'info': {'setup': {'memory': 100}, 'memory': {'limit': 51}, 'kept': {'bytes_limit': 40},"
     " 'actors': {'bytes_limit': 10}}}",
     "{'info': {'setup': {'memory': 100}, 'memory': {'limit': 50}, 'kept': {'bytes_limit': 40},"
     " 'actors': {'bytes_limit': 10}}}"},

    {"store_fails", "", "{'info': {'store': {'error': 'disk full'}}}",
     "{'info': {'store': {'error': null}}}"},
    {"store_slow", "",
     "{'before': {'info': {'uptime_ms': 1, 'store': {'commit_us': 500000, 'commits': 3}}},"
     " 'info': {'uptime_ms': 2, 'store': {'commit_us': 500000, 'commits': 4}}}",
     "{'before': {'info': {'uptime_ms': 1, 'store': {'commit_us': 500000, 'commits': 3}}},"
     " 'info': {'uptime_ms': 2, 'store': {'commit_us': 500000, 'commits': 3}}}"},
    {"store_hangs", "",
     "{'before': {'info': {'uptime_ms': 1, 'store': {'backlog': 1, 'commits': 3}}},"
     " 'info': {'uptime_ms': 501, 'store': {'backlog': 2, 'commits': 3}}}",
     "{'before': {'info': {'uptime_ms': 1, 'store': {'backlog': 1, 'commits': 3}}},"
     " 'info': {'uptime_ms': 501, 'store': {'backlog': 2, 'commits': 4}}}"},
    {"store_space", "", "{'info': {'store': {'free_bytes': 268435455, 'bytes': 4096}}}",
     "{'info': {'store': {'free_bytes': 268435456, 'bytes': 4096}}}"},
    {"backup_old", "", "{'info': {'time': 1700000000000, 'store': {'backup': 1699308800000}}}",
     "{'info': {'time': 1700000000000, 'store': {'backup': 1699308800001}}}"},
    {"cluster_no_owner", "", "{'cluster': {'owner': null, 'tries': 0}}",
     "{'cluster': {'owner': 'a', 'tries': 1}}"},
    {"cluster_database", "", "{'cluster': {'trouble': 'away'}}", "{'cluster': {'trouble': null}}"},
    {"cluster_no_standby", "",
     "{'cluster': {'role': 'owner'}, 'info': {'store': {'level': 'fsync'}}}",
     "{'cluster': {'role': 'front'}, 'info': {'store': {'level': 'none'}}}"},
    {"cluster_no_successor", "",
     "{'cluster': {'nodes': [{'state': 'owner', 'weight': 100}, {'state': 'left', 'weight': 100}, "
     "{'state': 'front', 'weight': 0}]}}",
     "{'cluster': {'nodes': [{'state': 'owner', 'weight': 100}, {'state': 'front', 'weight': "
     "1}]}}"},
    {"cluster_node_dead", "b",
     "{'cluster': {'nodes': [{'node': 'b', 'state': 'dead', 'silent_ms': 9}, "
     "{'state': 'owner', 'weight': 1}, {'state': 'front', 'weight': 1}]}}",
     "{'cluster': {'nodes': [{'node': 'b', 'state': 'left'}, {'state': 'owner', 'weight': 1}, "
     "{'state': 'front', 'weight': 1}]}}"},
    {"cluster_settings", "b",
     "{'cluster': {'owner': 'a', 'nodes': [{'node': 'a', 'settings': '1', 'state': 'owner'}, "
     "{'node': 'b', 'settings': '2', 'state': 'front'}]}}",
     "{'cluster': {'owner': 'a', 'nodes': [{'node': 'a', 'settings': '1', 'state': 'owner'}, "
     "{'node': 'b', 'settings': '1', 'state': 'front'}, {'node': 'c', 'settings': '3', 'state': "
     "'left'}, {'node': 'd', 'settings': null, 'state': 'front'}]}}"},
    {"cluster_note", "b", "{'cluster': {'nodes': [{'node': 'b', 'note': 'cannot reach a'}]}}",
     "{'cluster': {'nodes': [{'node': 'b', 'note': null}]}}"},
    {"cluster_clock", "", "{'cluster': {'clock_ms': -1000}}", "{'cluster': {'clock_ms': 999}}"},
    {"cluster_versions", "",
     "{'cluster': {'nodes': [{'version': '1', 'state': 'owner', 'weight': 1}, {'version': '2', "
     "'state': 'front', 'weight': 1}]}}",
     "{'cluster': {'nodes': [{'version': '1', 'state': 'owner', 'weight': 1}, {'version': '1', "
     "'state': 'front', 'weight': 1}]}}"},
    {"backup_missing", "", "{'info': {'kept': {'held': 1}, 'store': {'backup': null}}}",
     "{'info': {'kept': {'held': 0}, 'store': {'backup': null}}}"},
    {"store_missing", "", "{'info': {'store': null, 'kept': {'submitted': 1}}}",
     "{'info': {'store': null, 'kept': {'submitted': 0}}}"},
    {"log_dropped", "", "{'info': {'log': {'dropped': 1}}}", "{'info': {'log': {'dropped': 0}}}"},
    {"collector_fails", "", "{'info': {'spans': {'failing': true, 'waiting': 7}}}",
     "{'info': {'spans': {'failing': false, 'waiting': 7}}}"},
    {"spans_dropped", "", "{'info': {'spans': {'ended': 1000, 'dropped': 1}}}",
     "{'info': {'spans': {'ended': 1001, 'dropped': 1}}}"},
    {"audit_dropped", "", "{'info': {'audit': {'dropped': 1}}}",
     "{'info': {'audit': {'dropped': 0}}}"},

    {"workers_leave", "",
     "{'info': {'uptime_ms': 3600000, 'workers': {'gone': 21, 'registered': 2}}}",
     "{'info': {'uptime_ms': 3600000, 'workers': {'gone': 20, 'registered': 2}}}"},
    {"workers_strange", "", "{'info': {'workers': {'strange': 1}}}",
     "{'info': {'workers': {'strange': 0}}}"},
    {"worker_late", "w1", "{'workers': [{'worker': 'w1', 'late': 1}]}",
     "{'workers': [{'worker': 'w1', 'late': 0, 'out': 4}]}"},
    {"semaphore_over", "s",
     "{'semaphores': [{'name': 's', 'permits': 2,"
     " 'holders': [{'permits': 2}, {'permits': 1, 'connected': true}]}]}",
     "{'semaphores': [{'name': 's', 'permits': 3,"
     " 'holders': [{'permits': 2}, {'permits': 1, 'connected': true}]}]}"},
    {"semaphore_holder_gone", "s",
     "{'semaphores': [{'name': 's', 'permits': 2, 'holders': [{'permits': 1, 'principal': 'p',"
     " 'connected': false, 'grace_ms': 5000}]}]}",
     "{'semaphores': [{'name': 's', 'permits': 2, 'holders': [{'permits': 1, 'principal': 'p',"
     " 'connected': true}]}]}"},
    {"cron_fails", "c", "{'crons': [{'name': 'c', 'error': 'BUSY: full', 'skipped': 1}]}",
     "{'crons': [{'name': 'c', 'error': null}]}"},
    {"cron_skips", "c", "{'crons': [{'name': 'c', 'error': null, 'skipped': 1}]}",
     "{'crons': [{'name': 'c', 'error': null, 'skipped': 0, 'fired': 3}]}"},

    {"clock_skew", "", "{'info': {'time': 1700000002100}, 'now': 1700000000100, 'asked_ms': 100}",
     "{'info': {'time': 1700000002099}, 'now': 1700000000100, 'asked_ms': 100}"},
    {"clock_unsynchronised", "", "{'local': {'clock_unsynchronised': true}}",
     "{'local': {'clock_unsynchronised': false}}"},
    {"kernel_old", "", "{'local': {'kernel': '4.17.9-1-amd64'}}",
     "{'local': {'kernel': '4.18.0'}}"},
    {"listener_open", "", "{'info': {'setup': {'open_listeners': 1}}}",
     "{'info': {'setup': {'open_listeners': 0}}}"},
    {"certificate_ends", "b",
     "{'info': {'time': 1700000000000, 'setup': {'listeners': ["
     "{'url': 'a', 'certificate_ends': 1701209600000, 'crl_ends': null},"
     "{'url': 'b', 'certificate_ends': 1701209599000, 'crl_ends': null}]}}}",
     "{'info': {'time': 1700000000000, 'setup': {'listeners': ["
     "{'url': 'a', 'certificate_ends': 1701209600000, 'crl_ends': null}]}}}"},
    {"crl_ends", "a",
     "{'info': {'time': 1700000000000, 'setup': {'listeners': ["
     "{'url': 'a', 'certificate_ends': null, 'crl_ends': 1600000000000}]}}}",
     "{'info': {'time': 1700000000000, 'setup': {'listeners': ["
     "{'url': 'a', 'certificate_ends': null, 'crl_ends': 1700259200000}]}}}"},
    {"token_ends", "", "{'info': {'time': 1700000000000, 'setup': {'token_ends': 1700000001000}}}",
     "{'info': {'time': 1700000000000, 'setup': {'token_ends': null}}}"},
    {"files_exposed", "", "{'info': {'setup': {'exposed_files': 1}}}",
     "{'info': {'setup': {'exposed_files': 0}}}"},
};
enum { CASE_COUNT = sizeof CASES / sizeof CASES[0] };

TEST(each_state_is_found_and_nothing_else)
{
    for (size_t i = 0; i < CASE_COUNT; i++) {
        json_t *findings = findings_of(CASES[i].ill);
        const json_t *one = json_array_get(findings, 0);
        if (json_array_size(findings) != 1)
            fail_msg("%s: %zu findings", CASES[i].finding, json_array_size(findings));
        assert_string_equal(json_text(one, "finding"), CASES[i].finding);
        assert_string_equal(json_text(one, "about"), CASES[i].about);
        assert_true(json_text(one, "text")[0] != 0);
        assert_true(json_text(one, "advice")[0] != 0);
        json_decref(findings);
    }
}

TEST(nothing_is_found_where_all_is_well)
{
    for (size_t i = 0; i < CASE_COUNT; i++) {
        json_t *findings = findings_of(CASES[i].well);
        if (json_array_size(findings) != 0)
            fail_msg("%s: found %s", CASES[i].finding,
                     json_text(json_array_get(findings, 0), "finding"));
        json_decref(findings);
    }
}

TEST(each_check_has_a_case_and_a_name_of_its_own)
{
    size_t checks = 0;
    for (const struct check *const *group = CHECKS; *group != NULL; group++)
        for (const struct check *c = *group; c->name != NULL; c++, checks++) {
            size_t cases = 0;
            for (size_t i = 0; i < CASE_COUNT; i++)
                cases += strcmp(CASES[i].finding, c->name) == 0;
            if (cases != 1)
                fail_msg("%s has %zu cases", c->name, cases);
        }
    assert_int_equal(checks, CASE_COUNT);
}

TEST(no_facts_are_no_findings)
{
    json_t *findings = findings_of("{}");
    assert_int_equal(json_array_size(findings), 0);
    json_decref(findings);
}

/* An answer may hold anything: what is of another kind is as good as missing. */
TEST(facts_of_another_kind_are_no_findings)
{
    json_t *findings =
        findings_of("{'before': 7, 'info': [1], 'topology': {'executors': {'a': 1}, 'loops': 'x',"
                    " 'manager': []}, 'queues': [7, null, [], {'method': 7, 'queued': 'x'}],"
                    " 'crons': {}, 'semaphores': [{'holders': 7}], 'workers': 'w', 'silent': 'a',"
                    " 'tenants': [null], 'local': 'here', 'now': 'x', 'asked_ms': []}");
    assert_int_equal(json_array_size(findings), 0);
    json_decref(findings);
}

TEST(the_worst_comes_first)
{
    json_t *findings = findings_of("{'info': {'store': null, 'kept': {'submitted': 1,"
                                   " 'states': {'dead': 1}}}, 'silent': ['queue.list']}");
    static const char *const order[] = {"manager_silent", "tasks_dead", "store_missing"};
    assert_int_equal(json_array_size(findings), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(json_text(json_array_get(findings, i), "finding"), order[i]);
    json_decref(findings);
}

TEST(a_queue_that_is_paused_does_not_grow_beside)
{
    json_t *findings = findings_of(
        "{'before': {'info': {'uptime_ms': 1000}, 'queues': [{'method': 'm', 'queued': 400}]},"
        " 'info': {'uptime_ms': 3000},"
        " 'queues': [{'method': 'm', 'queued': 600, 'paused': true}]}");
    assert_int_equal(json_array_size(findings), 1);
    assert_string_equal(json_text(json_array_get(findings, 0), "finding"), "queue_paused");
    json_decref(findings);
}

/* A node that may not act for its cluster: neither the task manager nor the disk is blamed. */
TEST(a_node_that_may_not_act_has_the_findings_of_its_cluster_alone)
{
    static const struct {
        const char *facts, *finding; /* NULL: none */
    } nodes[] = {
        {"{'silent': ['queue.list'], 'cluster': {'role': 'owner', 'owner': 'a', 'may_act': true}}",
         "manager_silent"},
        {"{'silent': ['queue.list'], 'cluster': {'role': 'owner', 'owner': 'a', 'may_act': false}}",
         NULL},
        {"{'silent': ['queue.list'], 'cluster': {'role': 'front', 'owner': null, 'may_act': true}}",
         "cluster_no_owner"},
        {"{'info': {'store': {'error': 'away'}}, 'cluster': {'trouble': 'it does not answer'}}",
         "cluster_database"},
    };
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        json_t *findings = findings_of(nodes[i].facts);
        if (json_array_size(findings) != (nodes[i].finding != NULL))
            fail_msg("%s: %zu findings", nodes[i].facts, json_array_size(findings));
        if (nodes[i].finding)
            assert_string_equal(json_text(json_array_get(findings, 0), "finding"),
                                nodes[i].finding);
        json_decref(findings);
    }
}

TEST(a_name_is_one_word_of_the_advice)
{
    json_t *findings =
        findings_of("{'queues': [{'method': 'a b;$(x)', 'paused': true, 'queued': 1}]}");
    assert_string_equal(json_text(json_array_get(findings, 0), "advice"),
                        "ergon queue resume 'a b;$(x)'");
    json_decref(findings);
    json_t *facts =
        json_pack("{s:[{s:s, s:b, s:i}]}", "queues", "method", "it's", "paused", 1, "queued", 1);
    findings = checks_run(facts);
    assert_string_equal(json_text(json_array_get(findings, 0), "advice"),
                        "ergon queue resume 'it'\\''s'");
    json_decref(findings);
    json_decref(facts);
}

TEST(counters_that_fell_say_nothing)
{
    json_t *findings = findings_of(
        "{'before': {'info': {'uptime_ms': 9, 'tasks': {'refused': 7}, 'workers': {'gone': 9}}},"
        " 'info': {'uptime_ms': 1, 'tasks': {'refused': 0}, 'workers': {'gone': 2}}}");
    assert_int_equal(json_array_size(findings), 0);
    json_decref(findings);
}

TEST(evidence_is_whole_where_it_is)
{
    json_t *findings = findings_of("{'info': {'kept': {'states': {'dead': 3}}}}");
    const json_t *evidence = json_object_get(json_array_get(findings, 0), "evidence");
    assert_true(json_is_integer(json_object_get(evidence, "dead")));
    json_decref(findings);
}
