/* Each request, as the server gets it; shown as JSON. */
#include <stdlib.h>
#include <string.h>

#include <ergon/client_actors.h>
#include <ergon/client_connections.h>
#include <ergon/client_feed.h>
#include <ergon/client_batches.h>
#include <ergon/client_sems.h>
#include <ergon/client_workers.h>

#include "client/cli/json.h"
#include "client/lib/requests.h"
#include "tests/support/cmocka_env.h"

static const struct ergon_raw NONE = {NULL, 0};

static void expect(struct ergon_request *r, const char *method, const char *params)
{
    assert_non_null(r);
    assert_string_equal(r->method, method);
    json_t *value = json_from_value(pack_bytes(&r->params));
    char *text = json_dumps(value, JSON_COMPACT);
    assert_string_equal(text, params);
    free(text);
    json_decref(value);
    ergon_request_free(r);
}

TEST(a_submission_holds_what_was_given)
{
    static const uint8_t params[] = {0x91, 0xa2, 'h', 'i'};
    struct ergon_raw raw = {params, sizeof params};
    expect(ergon_request_submit("echo", raw, NULL), "task.submit", "[\"echo\",[\"hi\"],{}]");
    expect(ergon_request_call("echo", NONE, ERGON_TASK(.deadline_ms = 5000)), "task.call",
           "[\"echo\",[],{\"deadline\":5000}]");
    expect(ergon_request_submit("x", NONE, ERGON_TASK(.priority = ERGON_ZERO, .retries = 3)),
           "task.submit", "[\"x\",[],{\"priority\":0,\"retries\":3}]");
}

TEST(every_option_has_its_name)
{
    static const char *const after[] = {"t1", "t2"};
    expect(ergon_request_submit(
               "x", NONE,
               ERGON_TASK(.priority = 9, .delay_ms = 1, .at_ms = 2, .timeout_ms = 3,
                          .deadline_ms = 4, .retries = 5, .backoff_ms = 6, .backoff_max_ms = 7,
                          .backoff_jitter = 8, .key = "k", .coalesce = "c", .limit_key = "l",
                          .limit_max = 9, .rate_key = "r", .rate_max = 10, .rate_per_ms = 11,
                          .tenant = "n", .after = after, .after_count = 2, .after_any = after + 1,
                          .after_any_count = 1, .keep_ms = 12, .keep_size = 13, .durable = "fsync",
                          .traceparent = "00-p", .tracestate = "a=b")),
           "task.submit",
           "[\"x\",[],{\"delay\":1,\"at\":2,\"key\":\"k\",\"after\":[\"t1\",\"t2\"],"
           "\"after_any\":[\"t2\"],\"traceparent\":\"00-p\",\"tracestate\":\"a=b\","
           "\"durable\":\"fsync\",\"priority\":9,\"timeout\":3,\"deadline\":4,\"retries\":5,"
           "\"backoff\":6,"
           "\"backoff_max\":7,\"backoff_jitter\":8,\"coalesce\":\"c\","
           "\"limit\":{\"key\":\"l\",\"max\":9},\"rate\":{\"key\":\"r\",\"max\":10,\"per\":11},"
           "\"tenant\":\"n\",\"keep\":12,\"keep_size\":13}]");
}

TEST(further_options_go_as_they_are)
{
    static const uint8_t map[] = {0x81, 0xa3, 'n', 'e', 'w', 0x07}, number[] = {0x07};
    const struct ergon_answer *answer;
    expect(ergon_request_submit("x", NONE, ERGON_TASK(.retries = 1, .more = {map, sizeof map})),
           "task.submit", "[\"x\",[],{\"retries\":1,\"new\":7}]");
    struct ergon_request *r =
        ergon_request_submit("x", NONE, ERGON_TASK(.more = {number, sizeof number}));
    assert_int_equal(ergon_blocking_ask(NULL, r, 0, &answer), ERGON_END_INVALID);
}

TEST(connections_are_listed_and_killed)
{
    expect(ergon_request_connections(NULL), "connection.list", "[{}]");
    expect(ergon_request_connections(
               &(struct ergon_connection_filter){.size = sizeof(struct ergon_connection_filter),
                                                 .principal = "alice",
                                                 .nobody = true,
                                                 .idle_ms = 5,
                                                 .limit = 9,
                                                 .cursor = "0-7"}),
           "connection.list",
           "[{\"principal\":\"alice\",\"nobody\":true,\"idle\":5,\"limit\":9,\"cursor\":\"0-7\"}]");
    expect(ergon_request_kill_connections(
               &(struct ergon_connection_filter){.size = sizeof(struct ergon_connection_filter),
                                                 .id = 3,
                                                 .address = "10.0.0.1",
                                                 .listener = "ergon://[::]:7466"},
               ERGON_MATCH_ALL | ERGON_MATCH_DRY_RUN),
           "connection.kill",
           "[{\"id\":3,\"address\":\"10.0.0.1\",\"listener\":\"ergon://[::]:7466\",\"all\":true,"
           "\"dry_run\":true}]");
}

TEST(workers_register_and_are_listed)
{
    static const char *const methods[] = {"a", "b"};
    struct ergon_worker_options o = {.size = sizeof o,
                                     .slots = 4,
                                     .name = "n",
                                     .version = "v",
                                     .share = 10,
                                     .context = true,
                                     .lease_ms = 5,
                                     .message = 4096,
                                     .host = "h",
                                     .secrecy = ERGON_SECRECY_SECRET};
    struct ergon_worker_filter f = {.size = sizeof f, .method = "a", .limit = 3, .cursor = "c"};
    const struct ergon_answer *answer;
    expect(ergon_request_worker_register(methods, 2, &o), "worker.register",
           "[[\"a\",\"b\"],{\"slots\":4,\"name\":\"n\",\"version\":\"v\",\"share\":10,"
           "\"context\":true,\"lease\":5,\"message\":4096,\"host\":\"h\",\"secret\":true}]");
    o = (struct ergon_worker_options){
        .size = sizeof o, .secrecy = ERGON_SECRECY_OPEN, .actors = {"\x81\xa1t\x80", 4}};
    expect(ergon_request_worker_register(methods, 1, &o), "worker.register",
           "[[\"a\"],{\"actors\":{\"t\":{}},\"secret\":false}]");
    expect(ergon_request_worker_register(methods, 1, NULL), "worker.register", "[[\"a\"],{}]");
    expect(ergon_request_worker_quiet("w1"), "worker.quiet", "[\"w1\"]");
    expect(ergon_request_worker_quiet(NULL), "worker.quiet", "[]");
    expect(ergon_request_worker_resume("w1"), "worker.resume", "[\"w1\"]");
    expect(ergon_request_workers(&f), "worker.list",
           "[{\"method\":\"a\",\"limit\":3,\"cursor\":\"c\"}]");
    expect(ergon_request_workers(NULL), "worker.list", "[{}]");
    f.size = o.size = 0;
    assert_int_equal(ergon_blocking_ask(NULL, ergon_request_workers(&f), 0, &answer),
                     ERGON_END_INVALID);
    assert_int_equal(
        ergon_blocking_ask(NULL, ergon_request_worker_register(methods, 1, &o), 0, &answer),
        ERGON_END_INVALID);
}

TEST(semaphores_are_made_held_and_shown)
{
    struct ergon_sem_options o = {.size = sizeof o,
                                  .permits = 2,
                                  .of = 3,
                                  .wait_ms = ERGON_ZERO,
                                  .ttl_ms = 4,
                                  .grace_ms = 5,
                                  .durable = "none"};
    const struct ergon_answer *answer;
    expect(ergon_request_sem_create("s", 3, NULL), "sem.create", "[\"s\",3,{}]");
    expect(ergon_request_sem_create("s", 3, "fsync"), "sem.create",
           "[\"s\",3,{\"durable\":\"fsync\"}]");
    expect(
        ergon_request_sem_acquire("s", &o), "sem.acquire",
        "[\"s\",{\"permits\":2,\"of\":3,\"wait\":0,\"ttl\":4,\"grace\":5,\"durable\":\"none\"}]");
    expect(ergon_request_sem_acquire("s", NULL), "sem.acquire", "[\"s\",{}]");
    expect(ergon_request_sem_release("s", "h"), "sem.release", "[\"s\",\"h\"]");
    expect(ergon_request_sem_renew("s", "h", 0), "sem.renew", "[\"s\",\"h\",{}]");
    expect(ergon_request_sem_resume("s", "h", 9), "sem.resume", "[\"s\",\"h\",{\"ttl\":9}]");
    expect(ergon_request_sem_delete("s"), "sem.delete", "[\"s\"]");
    expect(ergon_request_sems(), "sem.list", "[]");
    expect(ergon_request_sem_explain("s"), "sem.explain", "[\"s\"]");
    expect(ergon_request_sem_explain_of("s", "t"), "sem.explain", "[\"s\",{\"tenant\":\"t\"}]");
    expect(ergon_request_sem_revoke("s", 7, "t"), "sem.revoke", "[\"s\",7,{\"tenant\":\"t\"}]");
    expect(ergon_request_sem_revoke("s", 7, NULL), "sem.revoke", "[\"s\",7,{}]");
    o.size = 0;
    assert_int_equal(ergon_blocking_ask(NULL, ergon_request_sem_acquire("s", &o), 0, &answer),
                     ERGON_END_INVALID);
}

TEST(batches_are_made_and_shown)
{
    const struct ergon_task_order end = {.method = "mail", .options = ERGON_TASK(.retries = 3)};
    struct ergon_batch_options o = {.size = sizeof o, .on_end = &end, .parent = "b", .keep_ms = 7};
    const struct ergon_answer *answer;
    expect(ergon_request_batch_create(NULL), "batch.create", "[{}]");
    expect(ergon_request_batch_create(&o), "batch.create",
           "[{\"on_end\":[\"mail\",[],{\"retries\":3}],\"parent\":\"b\",\"keep\":7}]");
    expect(ergon_request_batch_add("b", &end, 1, ERGON_TASK(.batch = "b")), "batch.add",
           "[\"b\",[[\"mail\",[],{\"retries\":3}]],{\"batch\":\"b\"}]");
    expect(ergon_request_batch_close("b"), "batch.close", "[\"b\"]");
    expect(ergon_request_batch_cancel("b"), "batch.cancel", "[\"b\"]");
    expect(ergon_request_batch_get("b", 5), "batch.get", "[\"b\",{\"wait\":5}]");
    expect(ergon_request_batches("open", NULL, "b", "c", 3), "batch.list",
           "[{\"state\":\"open\",\"parent\":\"b\",\"cursor\":\"c\",\"limit\":3}]");
    o.size = 0;
    assert_int_equal(ergon_blocking_ask(NULL, ergon_request_batch_create(&o), 0, &answer),
                     ERGON_END_INVALID);
}

TEST(actors_get_messages_and_are_shown)
{
    static const uint8_t one[] = {0x91, 0x01};
    struct ergon_actor_options o = {
        .size = sizeof o, .tenant = "t", .state = true, .reset = true, .reason = "r"};
    struct ergon_actor_filter f = {.size = sizeof f,
                                   .type = "c",
                                   .prefix = "c/e",
                                   .stage = "stopped",
                                   .tenant = "t",
                                   .limit = 3,
                                   .cursor = "x",
                                   .sort = "waiting"};
    const struct ergon_answer *answer;
    expect(
        ergon_request_actor_call("c/1", "add", (struct ergon_raw){one, 2}, ERGON_TASK(.key = "k")),
        "actor.call", "[\"c/1\",\"add\",[1],{\"key\":\"k\"}]");
    expect(ergon_request_actor_tell("c/1", "add", NONE, NULL), "actor.tell",
           "[\"c/1\",\"add\",[],{}]");
    expect(ergon_request_actor_get("c/1", &o), "actor.get",
           "[\"c/1\",{\"tenant\":\"t\",\"state\":true,\"reset\":true,\"reason\":\"r\"}]");
    expect(ergon_request_actor_explain("c/1", NULL), "actor.explain", "[\"c/1\",{}]");
    o = (struct ergon_actor_options){.size = sizeof o, .from = 8, .timeout_ms = ERGON_ZERO};
    expect(ergon_request_actor_watch("c/1", &o), "actor.watch",
           "[\"c/1\",{\"from\":8,\"timeout\":0}]");
    expect(ergon_request_actor_start("c/1", NULL), "actor.start", "[\"c/1\",{}]");
    expect(ergon_request_actor_stop("c/1", NULL), "actor.stop", "[\"c/1\",{}]");
    expect(ergon_request_actor_wake("c/1", NULL), "actor.wake", "[\"c/1\",{}]");
    expect(ergon_request_actor_drop("c/1", NULL), "actor.drop", "[\"c/1\",{}]");
    expect(ergon_request_actors(&f), "actor.list",
           "[{\"type\":\"c\",\"prefix\":\"c/e\",\"stage\":\"stopped\",\"tenant\":\"t\","
           "\"limit\":3,\"cursor\":\"x\",\"sort\":\"waiting\"}]");
    expect(ergon_request_actors(NULL), "actor.list", "[{}]");
    expect(ergon_request_actor_types(), "actor.types", "[]");
    f.size = o.size = 0;
    assert_int_equal(ergon_blocking_ask(NULL, ergon_request_actors(&f), 0, &answer),
                     ERGON_END_INVALID);
    assert_int_equal(ergon_blocking_ask(NULL, ergon_request_actor_get("c/1", &o), 0, &answer),
                     ERGON_END_INVALID);
}

TEST(events_are_set_and_waited_for)
{
    static const uint8_t seven[] = {0x07};
    expect(ergon_request_event_set("e", (struct ergon_raw){seven, 1}), "event.set", "[\"e\",7]");
    expect(ergon_request_event_set("e", NONE), "event.set", "[\"e\"]");
    expect(ergon_request_event_wait("e", 0, 0), "event.wait", "[\"e\",{}]");
    expect(ergon_request_event_wait("e", 8, 9), "event.wait", "[\"e\",{\"from\":8,\"timeout\":9}]");
}

TEST(the_feed_is_asked_for_and_read)
{
    struct ergon_feed_filter f = {.size = sizeof f, .wait_ms = ERGON_ZERO};
    const struct ergon_answer *answer;
    expect(ergon_request_events(NULL), "task.events", "[{}]");
    expect(ergon_request_events(&f), "task.events", "[{\"timeout\":0}]");
    f = (struct ergon_feed_filter){.size = sizeof f,
                                   .after = "oldest",
                                   .event = "done",
                                   .state = "done",
                                   .method = "m",
                                   .tenant = "a",
                                   .key = "k",
                                   .wait_ms = 5,
                                   .max = 6};
    expect(ergon_request_events(&f), "task.events",
           "[{\"after\":\"oldest\",\"event\":\"done\",\"state\":\"done\",\"method\":\"m\","
           "\"tenant\":\"a\",\"key\":\"k\",\"timeout\":5,\"max\":6}]");
    f.size = 0;
    assert_int_equal(ergon_blocking_ask(NULL, ergon_request_events(&f), 0, &answer),
                     ERGON_END_INVALID);
}

TEST(pages_of_the_feed_are_read)
{
    /* {events: [{seq: 7, event: "done", id: nil}, {seq: 8}], next: "t-9", gap: "overrun",
     * missed: 3} */
    static const uint8_t page[] = "\x84\xa6"
                                  "events\x92\x83\xa3seq\x07\xa5"
                                  "event\xa4"
                                  "done\xa2id\xc0\x81\xa3seq\x08\xa4next\xa3t-9\xa3gap\xa7"
                                  "overrun\xa6missed\x03";
    struct ergon_feed_page p;
    struct ergon_feed_event e;
    size_t at = 0;
    assert_true(ergon_read_feed((struct ergon_raw){page, sizeof page - 1}, &p));
    assert_string_equal(p.next, "t-9");
    assert_string_equal(p.gap, "overrun");
    assert_int_equal(p.missed, 3);
    assert_true(ergon_next_event(&p, &at, &e));
    assert_int_equal(e.seq, 7);
    assert_string_equal(e.event, "done");
    assert_string_equal(e.id, "");
    assert_true(ergon_next_event(&p, &at, &e));
    assert_int_equal(e.seq, 8);
    assert_string_equal(e.event, "");
    assert_false(ergon_next_event(&p, &at, &e));
    assert_false(ergon_read_feed((struct ergon_raw){(const uint8_t *)"\x80", 1}, &p));
    assert_false(ergon_read_feed(NONE, &p));
}

TEST(any_method_makes_a_request)
{
    static const uint8_t params[] = {0x91, 0x07};
    char name[300] = "";
    const struct ergon_answer *answer;
    expect(ergon_request_raw("server.describe", (struct ergon_raw){params, sizeof params}),
           "server.describe", "[7]");
    expect(ergon_request_raw("server.ping", NONE), "server.ping", "[]");
    memset(name, 'x', sizeof name - 1);
    struct ergon_request *r = ergon_request_raw(name, NONE);
    assert_int_equal(ergon_blocking_ask(NULL, r, 0, &answer), ERGON_END_INVALID);
}

/* A caller that was built when the struct was shorter. */
TEST(what_lies_behind_the_size_counts_as_zero)
{
    struct ergon_task_options o = {.size = offsetof(struct ergon_task_options, retries),
                                   .delay_ms = 1,
                                   .retries = 7,
                                   .durable = "fsync"};
    expect(ergon_request_submit("x", NONE, &o), "task.submit", "[\"x\",[],{\"delay\":1}]");
}

static void refused(struct ergon_request *r, const char *what)
{
    const struct ergon_answer *answer = NULL;
    assert_non_null(r);
    assert_int_equal(ergon_blocking_ask(NULL, r, 0, &answer), ERGON_END_INVALID);
    assert_int_equal(answer->outcome, ERGON_END_INVALID);
    assert_non_null(strstr(answer->text, what));
}

/* Options that nobody would look at: what was asked for would silently not be done. */
TEST(options_without_a_size_are_refused)
{
    static const struct ergon_task_options task = {.retries = 7};
    const struct ergon_task_order order = {"a", NONE, &task};
    static const char size_of_task[] = "sizeof(struct ergon_task_options)";
    refused(ergon_request_submit("x", NONE, &task), size_of_task);
    refused(ergon_request_call("x", NONE, &task), "ERGON_TASK(...)");
    refused(ergon_request_submit_many(&order, 1, NULL), size_of_task);
    refused(ergon_request_submit_many(NULL, 0, &task), size_of_task);
    refused(ergon_request_list(&(struct ergon_task_filter){.state = "dead"}),
            "sizeof(struct ergon_task_filter)");
    refused(ergon_request_connections(&(struct ergon_connection_filter){.id = 1}),
            "sizeof(struct ergon_connection_filter)");
    refused(ergon_request_cron_put("n", "@daily", "m", NONE,
                                   &(struct ergon_cron_options){.zone = "Europe/Berlin"}),
            "sizeof(struct ergon_cron_options)");
    refused(ergon_request_cron_put("n", "@daily", "m", NONE,
                                   &(struct ergon_cron_options){
                                       .size = sizeof(struct ergon_cron_options), .task = &task}),
            size_of_task);
    assert_int_equal(ergon_client_ask(NULL, ergon_request_submit("x", NONE, &task), 0, NULL, NULL),
                     0);
}

TEST(many_submissions_are_one_request)
{
    const struct ergon_task_order orders[] = {{"a", NONE, NULL},
                                              {"b", NONE, ERGON_TASK(.retries = 1)}};
    expect(ergon_request_submit_many(orders, 2, ERGON_TASK(.tenant = "n")), "task.submit_many",
           "[[[\"a\",[],{}],[\"b\",[],{\"retries\":1}]],{\"tenant\":\"n\"}]");
    expect(ergon_request_worker_submit(7, orders, 2), "worker.submit",
           "[7,{\"task\":[[\"a\",[],{}],[\"b\",[],{\"retries\":1}]]}]");
}

TEST(a_task_is_changed)
{
    expect(ergon_request_change("t1", ERGON_TASK(.priority = ERGON_ZERO, .delay_ms = 7)),
           "task.change", "[\"t1\",{\"delay\":7,\"priority\":0}]");
    expect(ergon_request_run_now("t1"), "task.run_now", "[\"t1\"]");
}

TEST(tasks_are_steered_by_a_filter)
{
    const struct ergon_task_filter filter = {.size = sizeof filter,
                                             .state = "dead",
                                             .method = "m",
                                             .tenant = "t",
                                             .key = "k",
                                             .older_ms = 1,
                                             .newer_ms = 2,
                                             .actor = "a/1"};
    expect(ergon_request_cancel_matching(&filter, 0), "task.cancel",
           "[{\"state\":\"dead\",\"method\":\"m\",\"tenant\":\"t\",\"key\":\"k\",\"older\":1,"
           "\"newer\":2,\"actor\":\"a/1\"}]");
    expect(ergon_request_retry_matching(NULL, ERGON_MATCH_ALL), "task.retry", "[{\"all\":true}]");
    expect(ergon_request_forget_matching(NULL, ERGON_MATCH_ALL | ERGON_MATCH_DRY_RUN),
           "task.forget", "[{\"all\":true,\"dry_run\":true}]");
    expect(ergon_request_forget("t1"), "task.forget", "[\"t1\"]");
    refused(ergon_request_cancel_matching(&(struct ergon_task_filter){.state = "dead"}, 0),
            "sizeof(struct ergon_task_filter)");
}

TEST(tasks_are_asked_for)
{
    static const char *const ids[] = {"t1", "t2"};
    expect(ergon_request_get("t1", 0), "task.get", "[\"t1\",{}]");
    expect(ergon_request_get("t1", ERGON_ASK_NO_RESULT | ERGON_ASK_HISTORY), "task.get",
           "[\"t1\",{\"result\":false,\"history\":true}]");
    expect(ergon_request_get("t1", ERGON_ASK_PARAMS | ERGON_ASK_OPTIONS), "task.get",
           "[\"t1\",{\"params\":true,\"options\":true}]");
    expect(ergon_request_get("t1", ERGON_ASK_PARAMS_TEXT | ERGON_ASK_ATTEMPTS), "task.get",
           "[\"t1\",{\"params_text\":true,\"attempts\":true}]");
    expect(ergon_request_wait(ids, 2, 1500, ERGON_ASK_ANY), "task.wait",
           "[[\"t1\",\"t2\"],{\"timeout\":1500,\"any\":true}]");
    expect(ergon_request_cancel("t1"), "task.cancel", "[\"t1\"]");
    expect(ergon_request_retry("t1"), "task.retry", "[\"t1\"]");
    expect(ergon_request_explain("t1"), "task.explain", "[\"t1\"]");
    expect(ergon_request_list(NULL), "task.list", "[{}]");
    expect(ergon_request_list(&(struct ergon_task_filter){.size = sizeof(struct ergon_task_filter),
                                                          .state = "dead",
                                                          .older_ms = 5,
                                                          .cursor = "t9",
                                                          .contains = "x",
                                                          .params_text = true}),
           "task.list",
           "[{\"state\":\"dead\",\"older\":5,\"contains\":\"x\",\"cursor\":\"t9\","
           "\"params_text\":true}]");
}

TEST(queues_and_crons_are_asked_for)
{
    expect(ergon_request_queues(), "queue.list", "[]");
    expect(ergon_request_queue_explain("m"), "queue.explain", "[\"m\"]");
    expect(ergon_request_queue_tenants(NULL), "queue.tenants", "[{}]");
    expect(ergon_request_queue_tenants("16"), "queue.tenants", "[{\"cursor\":\"16\"}]");
    expect(ergon_request_queue_pause("m"), "queue.pause", "[\"m\"]");
    expect(ergon_request_queue_resume("m"), "queue.resume", "[\"m\"]");
    expect(ergon_request_queue_drain("m"), "queue.drain", "[\"m\"]");
    expect(ergon_request_crons(), "cron.list", "[]");
    expect(ergon_request_cron_delete("n"), "cron.delete", "[\"n\"]");
    expect(ergon_request_cron_delete_of("n", "t"), "cron.delete", "[\"n\",{\"tenant\":\"t\"}]");
    expect(ergon_request_cron_delete_of("n", NULL), "cron.delete", "[\"n\",{}]");
    expect(ergon_request_cron_pause("n", NULL), "cron.pause", "[\"n\",{}]");
    expect(ergon_request_cron_resume("n", "t"), "cron.resume", "[\"n\",{\"tenant\":\"t\"}]");
    expect(ergon_request_cron_run("n", "t"), "cron.run", "[\"n\",{\"tenant\":\"t\"}]");
    expect(ergon_request_audit(), "server.audit", "[]");
    expect(ergon_request_cron_put(
               "n", "@daily", "m", NONE,
               &(struct ergon_cron_options){.size = sizeof(struct ergon_cron_options),
                                            .zone = "Europe/Berlin",
                                            .jitter_ms = 5,
                                            .overlap = "skip",
                                            .catch_up = "one",
                                            .task = ERGON_TASK(.retries = 2)}),
           "cron.put",
           "[\"n\",\"@daily\",\"m\",[],{\"zone\":\"Europe/Berlin\",\"jitter\":5,"
           "\"overlap\":\"skip\",\"catch_up\":\"one\",\"retries\":2}]");
}
