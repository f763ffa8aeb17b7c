/* The feed: what happened to all jobs, in one order, and who reads it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/reader.h"
#include "server/access/rights.h"
#include "server/jobs/feed/feed.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"
#include "tests/support/random.h"

#define FEED_TEST(name) JOBS_TEST(name, .room = 4)

static struct operation *read_from(struct jobs_world *w, struct feed_cursor after)
{
    struct operation *op = world_operation(w, &operation_task_events);
    op->feed = (struct feed_arguments){.after = after,
                                       .from_oldest = after.epoch == 0,
                                       .kinds = UINT32_MAX,
                                       .max = 100,
                                       .timeout = AO_S(60)};
    return op;
}

static struct feed_cursor here(const struct jobs_world *w)
{
    const struct feed *feed = &w->jobs->table.feed;
    return (struct feed_cursor){feed->epoch, feed->next};
}

static const char *answer(struct jobs_world *w, struct operation *op)
{
    static char text[16384];
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return notation_show(operation_result(op), text, sizeof text);
}

static const char *given(struct jobs_world *w, struct operation *op)
{
    world_give(w, op);
    jobs_world_pass(w, AO_MS(2 * FEED_REST_MS));
    return answer(w, op);
}

static void lacks(const char *text, const char *unwanted)
{
    if (strstr(text, unwanted))
        fail_msg("%s\nholds: %s", text, unwanted);
}

/* The names of the events of the job, or of all with id 0, from the oldest on. */
static const char *story(const struct jobs_world *w, uint64_t id)
{
    static char text[4096];
    struct feed_event event;
    const struct feed *feed = &w->jobs->table.feed;
    text[0] = '\0';
    for (uint64_t seq = feed_oldest(feed); feed_get(feed, seq, &event); seq = event.seq + 1) {
        size_t len = strlen(text);
        if (id == 0 || event.id == id)
            snprintf(text + len, sizeof text - len, "%s%s", len > 0 ? " " : "",
                     feed_kind_name(event.kind));
    }
    return text;
}

/* --- What it holds --- */

FEED_TEST(tells_the_life_of_a_task_from_its_submission_until_it_is_forgotten)
{
    uint64_t id = jobs_world_submit(w, &WORK(.retries = 1, .keep = AO_S(1)));
    jobs_world_settle(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(5));
    world_finish(world_run_of(w, id), "\xc0");
    jobs_world_pass(w, AO_S(60));
    assert_string_equal(story(w, id),
                        "submitted started attempt_failed delayed queued started done forgotten");
}

FEED_TEST(an_event_says_whose_it_is_and_what_was_said)
{
    uint64_t id = jobs_world_submit(w, &WORK(.tenant = span_text("ada"), .key = span_text("k1")));
    jobs_world_settle(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_settle(w);
    const char *said = given(w, read_from(w, (struct feed_cursor){0}));
    stage_holds(said, "{'events': [{'seq': 1, 'at': ");
    stage_holds(said, "'event': 'submitted', 'id': 't");
    stage_holds(said, "'method': 'work', 'tenant': 'ada', 'key': 'k1', 'attempt': 0, "
                      "'reason': nil, 'text': nil}");
    stage_holds(said, "'event': 'failed', ");
    stage_holds(said, "'text': 'ODD: not today'");
    stage_holds(said, "-5', 'gap': nil, 'missed': 0}");
}

FEED_TEST(a_failure_has_its_traceback_while_the_task_is_there_for_those_who_may_see_it)
{
    struct feed_cursor from = here(w);
    uint64_t id = jobs_world_submit(w, &WORK(.retries = 1));
    jobs_world_settle(w);
    world_fail_traced(world_run_of(w, id), "BAD", "one", span_text("trace 1"));
    jobs_world_pass(w, AO_S(2));
    world_fail_traced(world_run_of(w, id), "BAD", "two", span_text("trace 2"));
    jobs_world_settle(w);
    const char *said = given(w, read_from(w, from));
    stage_holds(said, "'text': 'BAD: one', 'traceback': 'trace 1'}");
    stage_holds(said, "'text': 'BAD: two', 'traceback': 'trace 2'}");
    struct operation *op = read_from(w, from);
    op->rights = rights_new(
        &(struct rights_options){.name = "token:ada", .tenant = "", .methods = "task.events"});
    stage_holds(given(w, op), "'text': 'BAD: one', 'traceback': nil}");
    world_give(w, world_about(w, &operation_task_forget, id));
    stage_holds(given(w, read_from(w, from)), "'text': 'BAD: one', 'traceback': nil}");
}

FEED_TEST(what_handlers_say_meanwhile_is_not_in_it)
{
    uint64_t id = stage_submit(w);
    struct world_run *run = world_run_of(w, id);
    const struct attempt_note notes[] = {
        {.owner = run->run.owner, .attempt = run->run.attempt, .done = 1, .total = 2},
        {.owner = run->run.owner, .attempt = run->run.attempt, .kind = NOTE_PARTIAL}};
    w->source.noted(w->source.arg, &notes[0]);
    w->source.noted(w->source.arg, &notes[1]);
    jobs_world_settle(w);
    assert_string_equal(story(w, 0), "submitted started");
}

FEED_TEST(queues_that_are_paused_and_resumed_are_told_once)
{
    const struct operation_class *const classes[] = {
        &operation_queue_pause, &operation_queue_pause,  &operation_queue_drain,
        &operation_queue_drain, &operation_queue_resume, &operation_queue_resume};
    for (unsigned i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        struct operation *op = world_operation(w, classes[i]);
        op->named.name = span_text("work");
        world_give(w, op);
    }
    assert_string_equal(story(w, 0), "queue_paused queue_draining queue_resumed");
    stage_holds(given(w, read_from(w, (struct feed_cursor){0})),
                "'event': 'queue_paused', 'id': nil, 'method': 'work', 'tenant': nil");
}

static void give_cron(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("tick");
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_OK);
}

static void put_cron(struct jobs_world *w)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text("tick"), .schedule = span_text("@yearly"), .task = world_spec("work")};
    op->cron.task.tenant = span_text("");
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_OK);
}

FEED_TEST(crons_that_are_paused_and_resumed_are_told_once)
{
    put_cron(w);
    give_cron(w, &operation_cron_pause);
    give_cron(w, &operation_cron_pause);
    put_cron(w); /* it stays paused */
    give_cron(w, &operation_cron_resume);
    give_cron(w, &operation_cron_resume);
    assert_string_equal(story(w, 0), "cron_paused cron_resumed");
    const char *said = given(w, read_from(w, (struct feed_cursor){0}));
    stage_holds(said, "'event': 'cron_paused', 'id': nil, 'method': 'work', 'tenant': nil, "
                      "'key': nil, 'attempt': 0, 'reason': nil, 'text': nil, 'cron': 'tick'}");
    stage_holds(said, "'event': 'cron_resumed', ");
    assert_null(table_queue_find(&w->jobs->table, span_text("work"))); /* it makes no queue */
}

static void give_cron_and_queue(struct jobs_world *w)
{
    put_cron(w);
    give_cron(w, &operation_cron_pause);
    struct operation *op = world_operation(w, &operation_queue_pause);
    op->named.name = span_text("work");
    world_give(w, op);
}

/* The names of a cron go with its event, as keys do. */
FEED_TEST(events_of_crons_give_their_memory_back)
{
    struct feed *feed = &w->jobs->table.feed;
    struct tenant *tenant = table_tenant(&w->jobs->table, span_text("ada"));
    struct feed_event event;
    for (uint64_t i = 0; i < 2 * feed->room; i++)
        feed_add_cron(feed, tenant, span_text("tick"), span_text("work"), FEED_CRON_PAUSED, 1);
    assert_true(feed_get(feed, feed_oldest(feed), &event));
    assert_true(span_is(event.tenant, "ada") && span_is(event.cron, "tick"));
    assert_true(span_is(event.method, "work") && event.key.len == 0 && event.text.len == 0);
    const struct job *job = world_job(w, stage_submit(w));
    for (uint64_t i = 0; i < feed->room; i++)
        feed_add(feed, job, JOB_EVENT_CHANGED, 1, 0, (struct span){0});
    assert_int_equal(feed->extra, 0);
}

/* --- Who reads --- */

FEED_TEST(a_reader_waits_for_what_comes)
{
    struct operation *op = read_from(w, here(w));
    world_give(w, op);
    jobs_world_pass(w, AO_S(10));
    assert_false(world_answered(w, op));
    stage_submit(w);
    stage_holds(answer(w, op), "'event': 'submitted'");
}

FEED_TEST(without_a_cursor_it_begins_with_what_comes_now)
{
    stage_submit(w);
    struct operation *op = read_from(w, (struct feed_cursor){0});
    op->feed.from_oldest = false;
    op->feed.timeout = 0;
    world_give(w, op);
    lacks(answer(w, op), "submitted");
    stage_holds(answer(w, op), "{'events': [], 'next': 't");
}

FEED_TEST(it_is_answered_with_nothing_when_its_time_is_over)
{
    struct operation *op = read_from(w, here(w));
    op->feed.kinds = 1u << JOB_EVENT_DEAD;
    world_give(w, op);
    stage_submit(w);
    jobs_world_pass(w, AO_S(59));
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_S(2));
    stage_holds(answer(w, op), "{'events': [], ");
    stage_holds(answer(w, op), "-3', 'gap': nil"); /* it has looked at the others */
}

FEED_TEST(a_page_ends_where_it_is_full_and_the_next_goes_on)
{
    for (unsigned i = 0; i < 4; i++)
        stage_submit(w);
    struct operation *op = read_from(w, (struct feed_cursor){0});
    op->feed.max = 3;
    stage_holds(given(w, op), "-4', ");
    op = read_from(w, (struct feed_cursor){w->jobs->table.feed.epoch, 4});
    stage_holds(given(w, op), "{'events': [{'seq': 4, ");
}

FEED_TEST(a_filter_passes_what_it_names)
{
    jobs_world_submit(w, &WORK(.tenant = span_text("ada")));
    jobs_world_submit(w, &WORK(.tenant = span_text("bob"), .key = span_text("k")));
    jobs_world_settle(w);
    struct operation *op = read_from(w, (struct feed_cursor){0});
    op->feed.tenant = span_text("bob");
    lacks(given(w, op), "'ada'");
    stage_holds(answer(w, op), "'bob'");
    op = read_from(w, (struct feed_cursor){0});
    op->feed.key = span_text("k");
    lacks(given(w, op), "'ada'");
    op = read_from(w, (struct feed_cursor){0});
    op->feed.kinds = feed_kinds_of_state(span_text("running"));
    lacks(given(w, op), "submitted");
    stage_holds(answer(w, op), "started");
    op = read_from(w, (struct feed_cursor){0});
    op->feed.method = span_text("step");
    op->feed.timeout = 0;
    world_give(w, op);
    stage_holds(answer(w, op), "{'events': [], ");
}

FEED_TEST(a_reader_of_ids_is_told_of_these_jobs_alone)
{
    uint64_t first = stage_submit(w), other = stage_submit(w), last = stage_submit(w);
    struct operation *op = read_from(w, (struct feed_cursor){0});
    char id[ID_TEXT_SIZE];
    give_cron_and_queue(w);
    op->feed.ids[0] = first;
    op->feed.ids[1] = last;
    op->feed.id_count = 2;
    given(w, op);
    stage_holds(answer(w, op), id_text(first, id));
    stage_holds(answer(w, op), id_text(last, id));
    lacks(answer(w, op), id_text(other, id));
    lacks(answer(w, op), "paused");
    op = read_from(w, here(w));
    op->feed.ids[0] = last;
    op->feed.id_count = 1;
    world_give(w, op);
    world_cancel(w, world_job(w, other));
    jobs_world_pass(w, AO_S(1));
    assert_false(world_answered(w, op));
    world_cancel(w, world_job(w, last));
    world_finish(world_run_of(w, last), "\xc0");
    jobs_world_pass(w, AO_S(1));
    stage_holds(answer(w, op), id_text(last, id));
}

FEED_TEST(one_for_whom_nothing_comes_holds_nobody_up)
{
    struct operation *idle = read_from(w, here(w)), *op = read_from(w, here(w));
    idle->feed.kinds = 1u << JOB_EVENT_DEAD;
    world_give(w, idle);
    world_give(w, op);
    stage_submit(w);
    jobs_world_pass(w, AO_S(1));
    stage_holds(answer(w, op), "submitted");
    assert_false(world_answered(w, idle));
}

FEED_TEST(a_page_and_a_step_are_bounded)
{
    enum { EVENTS = 2 * FEED_STEP_WORK };
    struct feed *feed = &w->jobs->table.feed;
    const struct job *job = world_job(w, stage_submit(w));
    feed_fini(feed);
    assert_true(feed_init(feed, 2 * EVENTS, 1));
    for (int i = 0; i < EVENTS; i++)
        feed_add(feed, job, JOB_EVENT_CHANGED, 1, 0, (struct span){0});
    struct operation *op = read_from(w, (struct feed_cursor){0});
    op->feed.max = EVENTS;
    world_give(w, op);
    jobs_world_pass(w, AO_S(1));
    assert_true(world_answered(w, op));
    assert_in_range(operation_result(op).len, FEED_PAGE_BYTES, FEED_PAGE_BYTES + 1024);
    struct operation *idle = read_from(w, (struct feed_cursor){0});
    idle->feed.kinds = 1u << JOB_EVENT_DEAD;
    idle->feed.timeout = 0; /* it is answered as far as one step comes */
    world_give(w, idle);
    assert_true(world_answered(w, idle));
    assert_in_range(idle->feed.after.seq, FEED_STEP_WORK / 2, FEED_STEP_WORK + 1);
}

FEED_TEST(one_is_told_what_it_may_know)
{
    jobs_world_submit(w, &WORK(.tenant = span_text("ada")));
    jobs_world_submit(w, &WORK(.tenant = span_text("bob")));
    struct operation *op = read_from(w, (struct feed_cursor){0});
    op->rights = rights_new(
        &(struct rights_options){.name = "token:ada", .tenant = "ada", .methods = "task.*"});
    op->tenant = span_text("ada");
    const char *said = given(w, op);
    stage_holds(said, "'tenant': 'ada'");
    lacks(said, "'tenant': 'bob'");
}

FEED_TEST(one_is_told_of_queues_that_it_may_know)
{
    const struct role role = {
        .name = "ops", .members = "token:ada", .methods = "task.*", .queues = "other"};
    struct operation *pause = world_operation(w, &operation_queue_pause);
    pause->named.name = span_text("work");
    world_give(w, pause);
    struct role_table *roles = role_table_new(&role, 1);
    struct operation *op = read_from(w, (struct feed_cursor){0});
    op->feed.timeout = 0;
    op->rights =
        rights_new(&(struct rights_options){.roles = roles, .name = "token:ada", .tenant = "ada"});
    op->tenant = span_text("ada");
    lacks(given(w, op), "queue_paused");
    role_table_unref(roles);
}

/* Of a cron, whose tasks these are. */
FEED_TEST(one_is_told_of_crons_that_it_may_know)
{
    put_cron(w);
    give_cron(w, &operation_cron_pause);
    struct operation *op = read_from(w, (struct feed_cursor){0});
    op->feed.timeout = 0;
    op->rights = rights_new(
        &(struct rights_options){.name = "token:ada", .tenant = "ada", .methods = "task.*"});
    op->tenant = span_text("ada");
    lacks(given(w, op), "cron_paused");
}

FEED_TEST(one_who_goes_leaves_the_others)
{
    struct operation *ops[3];
    for (unsigned i = 0; i < 3; i++)
        world_give(w, ops[i] = read_from(w, here(w)));
    channel_drop(w->channel, ops[1]);
    jobs_world_settle(w);
    assert_int_equal(ops[1]->reply.error, ERGON_E_CANCELLED);
    stage_submit(w);
    jobs_world_pass(w, AO_MS(2 * FEED_REST_MS));
    stage_holds(answer(w, ops[0]), "submitted");
    stage_holds(answer(w, ops[2]), "submitted");
}

FEED_TEST(who_waits_when_the_server_stops_is_answered_as_things_stand)
{
    struct operation *op = read_from(w, here(w)), *other = read_from(w, here(w));
    world_give(w, op);
    world_give(w, other);
    w->source.stop(w->source.arg, false);
    jobs_world_settle(w);
    stage_holds(answer(w, op), "{'events': [], ");
    stage_holds(answer(w, other), "{'events': [], ");
    op = read_from(w, here(w));
    world_give(w, op);
    stage_holds(answer(w, op), "{'events': [], ");
}

/* --- Gaps --- */

FEED_TEST(one_who_comes_too_late_is_told_how_many_were_dropped)
{
    struct feed *feed = &w->jobs->table.feed;
    struct feed_cursor begin = here(w);
    const struct job *job = world_job(w, stage_submit(w));
    for (uint64_t i = 0; i < feed->room + 10; i++)
        feed_add(feed, job, JOB_EVENT_CHANGED, 1, 0, (struct span){0});
    assert_int_equal(feed->next - feed_oldest(feed), feed->room);
    stage_holds(given(w, read_from(w, begin)), "'gap': 'overrun', 'missed': 12}");
}

FEED_TEST(one_who_waits_and_is_overrun_is_told_so_too)
{
    struct feed *feed = &w->jobs->table.feed;
    uint64_t id = stage_submit(w);
    struct operation *op = read_from(w, here(w));
    op->feed.kinds = 1u << JOB_EVENT_DEAD; /* nothing of this is its own */
    world_give(w, op);
    for (uint64_t i = 0; i < feed->room + 10; i++)
        feed_add(feed, world_job(w, id), JOB_EVENT_CHANGED, 1, 0, (struct span){0});
    stage_submit(w);
    jobs_world_pass(w, AO_S(1));
    stage_holds(answer(w, op), "{'events': [], ");
    stage_holds(answer(w, op), "'gap': 'overrun', 'missed': ");
    lacks(answer(w, op), "'missed': 0}");
}

JOBS_TEST(a_restart_is_told_and_what_came_since_follows, .stored = true)
{
    jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_S(1));
    struct feed_cursor before = here(w);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_true(w->jobs->table.feed.epoch != before.epoch);
    const char *said = given(w, read_from(w, before));
    stage_holds(said, "'event': 'interrupted'");
    stage_holds(said, "'gap': 'restart', 'missed': nil}");
}

FEED_TEST(a_cursor_of_the_future_is_refused)
{
    struct feed_cursor after = here(w);
    after.seq++;
    struct operation *op = read_from(w, after);
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "has not happened");
}

FEED_TEST(a_server_without_a_feed_says_so)
{
    struct feed *feed = &w->jobs->table.feed;
    feed_fini(feed);
    assert_true(feed_init(feed, 0, 1));
    stage_submit(w);
    struct operation *op = read_from(w, (struct feed_cursor){0});
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "`tasks.events` is 0");
}

FEED_TEST(names_and_texts_are_bounded)
{
    struct feed *feed = &w->jobs->table.feed;
    static char text[2 * FEED_TEXT_MAX];
    memset(text, 'x', sizeof text - 1);
    const struct job *job = world_job(w, stage_submit(w));
    for (uint64_t i = 0; i < 4 * feed->room; i++) {
        feed_add(feed, job, JOB_EVENT_CHANGED, 1, 0, span_text(text));
        assert_true(feed->extra <= feed->room * FEED_EXTRA);
    }
    struct feed_event event;
    assert_true(feed_get(feed, feed_oldest(feed), &event));
    assert_int_equal(event.text.len, FEED_TEXT_MAX);
    assert_in_range(feed->next - feed_oldest(feed), feed->room * FEED_EXTRA / (FEED_TEXT_MAX + 8),
                    feed->room / 2);
}

/* Of some a thousand that have no task the table forgets the next. */
FEED_TEST(a_tenant_that_is_gone_is_still_named)
{
    enum { TENANTS = 1100, IDLE = 1030 };
    char name[16];
    struct feed_event event;
    const struct feed *feed = &w->jobs->table.feed;
    w->quiet = true;
    for (unsigned i = 0; i < TENANTS; i++) {
        snprintf(name, sizeof name, "tenant%u", i);
        uint64_t id = jobs_world_submit(w, &WORK(.tenant = span_text(name), .keep = AO_MS(1)));
        jobs_world_settle(w);
        world_finish(world_run_of(w, id), "\xc0");
        jobs_world_pass(w, AO_S(2));
    }
    assert_null(table_tenant_find(&w->jobs->table, span_text(name)));
    for (unsigned i = IDLE; i < TENANTS; i++) {
        assert_true(feed_get(feed, 4u * i + 1, &event));
        snprintf(name, sizeof name, "tenant%u", i);
        assert_true(span_is(event.tenant, name));
    }
}

/* --- Cursors --- */

FEED_TEST(a_cursor_is_read_as_it_was_written)
{
    char text[FEED_CURSOR_SIZE];
    struct feed_cursor is, was = here(w);
    assert_true(feed_cursor_parse(span_text(feed_cursor_text(was, text)), &is));
    assert_int_equal(is.epoch, was.epoch);
    assert_int_equal(is.seq, was.seq);
    static const char *const wrong[] = {"",
                                        "oldest",
                                        "t0000000000001",
                                        "t0000000000001-",
                                        "t0000000000001-0",
                                        "t0000000000001-07",
                                        "t0000000000001-7x",
                                        "t0000000000001-7/",
                                        "t0000000000001--7",
                                        "t0000000000001_7",
                                        "t0000000000001-12345678901234567890",
                                        "u0000000000001-7"};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(feed_cursor_parse(span_text(wrong[i]), &is));
    assert_true(feed_cursor_parse(span_text("t0000000000001-7"), &is));
}

/* --- Each event once and in order, whatever readers do --- */

/* Readers with cursors of their own, which go and come again; each asks with small pages, and what
 * it was told must be what happened: every number from its first on, no number twice. */
enum { READERS = 8, STEPS = 4000, KINDS_OF_ACT = 6, OPEN_MOST = 12 };

struct follower {
    struct operation *op;
    struct feed_cursor at;
    uint64_t told;
};

static uint64_t uint_member(struct reader *r, const char *name)
{
    uint64_t value;
    struct span key;
    assert_true(read_text(r, &key) && span_is(key, name));
    assert_true(read_uint(r, &value));
    return value;
}

static void take(struct jobs_world *w, struct follower *f)
{
    struct reader r = reader_of(operation_result(f->op));
    struct span key, rest;
    uint32_t pairs = 0, count = 0;
    assert_int_equal(f->op->reply.error, ERGON_OK);
    assert_true(read_map(&r, &pairs) && read_text(&r, &key) && read_array(&r, &count));
    for (; count > 0; count--) {
        assert_true(read_map(&r, &pairs));
        assert_int_equal(uint_member(&r, "seq"), f->at.seq);
        f->at.seq++;
        f->told++;
        for (uint32_t i = 1; i < pairs; i++)
            assert_true(read_text(&r, &key) && read_any(&r, &rest));
    }
    assert_true(read_text(&r, &key) && read_text(&r, &rest));
    struct feed_cursor next;
    assert_true(feed_cursor_parse(rest, &next));
    assert_int_equal(next.seq, f->at.seq);
    (void)w;
    f->op = NULL;
}

static void ask(struct jobs_world *w, struct follower *f, uint64_t *seed)
{
    f->op = read_from(w, f->at);
    f->op->feed.max = 1 + (uint32_t)chance(seed, 100);
    f->op->feed.timeout = AO_MS(1 + chance(seed, 50));
    world_give(w, f->op);
}

static void act(struct jobs_world *w, uint64_t *ids, uint64_t *seed)
{
    uint64_t *id = &ids[chance(seed, OPEN_MOST)];
    struct job *job = *id ? world_job(w, *id) : NULL;
    struct world_run *run = job ? world_run_of(w, *id) : NULL;
    if (!job || !job_is_open(job))
        *id = jobs_world_submit(w, &WORK(.retries = 2, .keep = AO_MS(20)));
    else if (run && chance(seed, 2))
        world_finish(run, "\xc0");
    else if (run)
        world_fail(run, "ODD", "not today");
    else
        world_cancel(w, job);
}

FEED_TEST(each_event_is_told_once_and_in_order_whatever_readers_do)
{
    struct follower all[READERS] = {0};
    uint64_t ids[OPEN_MOST] = {0}, seed = 7;
    w->quiet = true;
    for (unsigned i = 0; i < READERS; i++)
        all[i].at = here(w);
    for (unsigned step = 0; step < STEPS; step++) {
        struct follower *f = &all[chance(&seed, READERS)];
        act(w, ids, &seed);
        if (f->op && world_answered(w, f->op))
            take(w, f);
        else if (!f->op && w->answered < 3000)
            ask(w, f, &seed);
        else if (f->op && chance(&seed, 4) == 0) {
            channel_drop(w->channel,
                         f->op); /* killed: it comes again with the cursor that it had */
            f->op = NULL;
        }
        jobs_world_pass(w, AO_MS(chance(&seed, 4)));
    }
    uint64_t told = 0;
    for (unsigned i = 0; i < READERS; i++)
        told += all[i].told;
    assert_in_range(told, STEPS, UINT32_MAX);
}
