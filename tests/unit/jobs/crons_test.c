/* Crons on the virtual clock, whose wall time begins on 2020-09-13 at 12:26:40 UTC. */
#include <stdio.h>

#include "server/jobs/cron/crons.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static struct operation *put(struct jobs_world *w, const char *schedule, uint8_t overlap)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text(schedule),
                                  .overlap = overlap,
                                  .task = world_spec("work")};
    world_give(w, op);
    return op;
}

static const char *list(struct jobs_world *w)
{
    static char text[2048];
    struct operation *op = world_operation(w, &operation_cron_list);
    world_give(w, op);
    assert_true(world_answered(w, op));
    return notation_show(operation_result(op), text, sizeof text);
}

static uint64_t submitted(const struct jobs_world *w)
{
    struct jobs_info info;
    jobs_info(w->jobs, &info);
    return info.submitted;
}

STORED_TEST(fires_when_its_time_has_come)
{
    struct operation *op = put(w, "*/5 * * * *", CRON_ALLOW);
    char text[200];
    assert_int_equal(op->reply.error, ERGON_OK);
    stage_holds(notation_show(operation_result(op), text, sizeof text), "'next': 1600000200000");
    jobs_world_pass(w, AO_S(199));
    assert_int_equal(submitted(w), 0);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(submitted(w), 1);
    jobs_world_pass(w, AO_S(600));
    assert_int_equal(submitted(w), 3);
    stage_holds(list(w), "'fired': 3, 'skipped': 0");
}

STORED_TEST(how_late_it_fires_is_told)
{
    struct jobs_info info;
    struct histogram_sum *late = &info.cron_late;
    put(w, "*/5 * * * *", CRON_ALLOW);
    jobs_world_pass(w, AO_S(201));
    jobs_info(w->jobs, &info);
    assert_int_equal(histogram_count(late), 1);
    assert_true(late->sum_ns <= AO_MS(1));
    w->jobs->table.queues->draining = true; /* what it submits is refused */
    jobs_world_pass(w, AO_S(400));
    jobs_info(w->jobs, &info);
    assert_int_equal(histogram_count(late), 1);
    w->jobs->table.queues->draining = false;
    jobs_world_pass(w, AO_S(100));
    jobs_info(w->jobs, &info);
    assert_int_equal(histogram_count(late), 2);
    assert_in_range(late->sum_ns, AO_S(100), AO_S(205));
}

STORED_TEST(skips_while_the_last_is_open)
{
    put(w, "every 10s", CRON_SKIP);
    jobs_world_pass(w, AO_S(35));
    assert_int_equal(submitted(w), 1);
    stage_holds(list(w), "'fired': 1, 'skipped': 2");
    world_finish(w->runs, "\xc0");
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(submitted(w), 2);
}

STORED_TEST(replaces_the_last)
{
    put(w, "every 10s", CRON_REPLACE);
    jobs_world_pass(w, AO_S(25));
    assert_int_equal(submitted(w), 2);
    struct jobs_info info;
    jobs_info(w->jobs, &info);
    assert_int_equal(info.by_state[JOB_CANCELLED], 1);
}

/* Whoever waits for the last one hears of its end, whether or not another may take its place. */
STORED_TEST(what_it_replaces_has_ended_even_if_it_is_refused)
{
    w->room[1] = 0;
    put(w, "every 10s", CRON_REPLACE);
    jobs_world_pass(w, AO_S(15));
    uint64_t last = w->jobs->table.last->id;
    struct operation *op = world_operation(w, &operation_task_wait);
    op->wait = (struct wait_arguments){.ids = &last, .count = 1, .timeout = AO_S(60)};
    world_give(w, op);
    world_job(w, last)->queue->draining = true;
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(world_state(w, last), JOB_CANCELLED);
    assert_true(world_answered(w, op));
}

STORED_TEST(a_new_schedule_takes_the_place_of_the_old)
{
    put(w, "every 10s", CRON_ALLOW);
    put(w, "every 1h", CRON_ALLOW);
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(submitted(w), 0);
    stage_holds(list(w), "'schedule': 'every 1h'");
}

static struct operation *about(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("tick");
    world_give(w, op);
    assert_true(world_answered(w, op));
    return op;
}

STORED_TEST(what_is_paused_fires_nothing_and_makes_up_for_nothing)
{
    char text[200];
    assert_int_equal(about(w, &operation_cron_pause)->reply.error, ERGON_E_NOT_FOUND);
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text("every 10s"),
                                  .overlap = CRON_ALLOW,
                                  .catch_up = CRON_CATCH_ALL,
                                  .task = world_spec("work")};
    world_give(w, op);
    jobs_world_pass(w, AO_S(15));
    assert_int_equal(submitted(w), 1);
    op = about(w, &operation_cron_pause);
    stage_holds(notation_show(operation_result(op), text, sizeof text),
                "{'name': 'tick', 'tenant': '', 'paused': true, 'next': nil}");
    assert_int_equal(about(w, &operation_cron_pause)->reply.error, ERGON_OK);
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(submitted(w), 1);
    stage_holds(list(w), "'paused': true, 'next': nil");
    op = about(w, &operation_cron_resume);
    stage_holds(notation_show(operation_result(op), text, sizeof text),
                "'paused': false, 'next': 16");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(submitted(w), 1);
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(submitted(w), 2);
    assert_int_equal(about(w, &operation_cron_resume)->reply.error, ERGON_OK);
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(submitted(w), 3);
}

STORED_TEST(one_that_is_run_now_goes_on_by_its_calendar)
{
    assert_int_equal(about(w, &operation_cron_run)->reply.error, ERGON_E_NOT_FOUND);
    put(w, "every 10s", CRON_REPLACE);
    jobs_world_pass(w, AO_S(15));
    char before[2048], answer[200], expected[200], id[ID_TEXT_SIZE];
    snprintf(before, sizeof before, "%s", list(w));
    struct operation *op = about(w, &operation_cron_run);
    uint64_t run = w->jobs->table.last->id;
    snprintf(expected, sizeof expected, "{'id': '%s'}", id_text(run, id));
    assert_string_equal(notation_show(operation_result(op), answer, sizeof answer), expected);
    assert_int_equal(submitted(w), 2);
    assert_string_equal(list(w), before);
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(submitted(w), 3);
    struct jobs_info info;
    jobs_info(w->jobs, &info);
    assert_int_equal(info.by_state[JOB_CANCELLED], 1); /* the one of the calendar */
    assert_int_not_equal(world_state(w, run), JOB_CANCELLED);
}

/* Neither a pause nor an open task holds it back; a queue that drains does. */
STORED_TEST(one_that_is_paused_is_run_now)
{
    put(w, "every 10s", CRON_SKIP);
    jobs_world_pass(w, AO_S(15));
    about(w, &operation_cron_pause);
    assert_int_equal(about(w, &operation_cron_run)->reply.error, ERGON_OK);
    assert_int_equal(about(w, &operation_cron_run)->reply.error, ERGON_OK);
    assert_int_equal(submitted(w), 3);
    stage_holds(list(w), "'paused': true");
    stage_holds(list(w), "'fired': 1, 'skipped': 0");
    w->jobs->table.queues->draining = true;
    assert_int_equal(about(w, &operation_cron_run)->reply.error, ERGON_E_DRAINING);
    assert_int_equal(submitted(w), 3);
}

/* Who puts its crons at each start undoes no pause; one that was deleted is a new one. */
STORED_TEST(a_pause_stays_when_it_is_put_again)
{
    put(w, "every 10s", CRON_ALLOW);
    about(w, &operation_cron_pause);
    put(w, "every 20s", CRON_ALLOW);
    stage_holds(list(w), "'paused': true");
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(submitted(w), 0);
    about(w, &operation_cron_delete);
    put(w, "every 20s", CRON_ALLOW);
    stage_holds(list(w), "'paused': false");
    jobs_world_pass(w, AO_S(30));
    assert_int_equal(submitted(w), 1);
}

/* What it has begun, counted and planned is no part of what is put. */
STORED_TEST(one_that_is_put_again_goes_on_where_it_was)
{
    put(w, "every 10s", CRON_SKIP);
    jobs_world_pass(w, AO_S(25));
    put(w, "every 10s", CRON_SKIP);
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(submitted(w), 1);
    stage_holds(list(w), "'fired': 1, 'skipped': 2");
    put(w, "every 10s", CRON_REPLACE);
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(submitted(w), 2);
    struct jobs_info info;
    jobs_info(w->jobs, &info);
    assert_int_equal(info.by_state[JOB_CANCELLED], 1);
}

STORED_TEST(a_leap_of_the_clock_wakes_nothing_that_is_paused)
{
    put(w, "every 10s", CRON_ALLOW);
    about(w, &operation_cron_pause);
    w->leap += (int64_t)AO_S(3600);
    jobs_world_pass(w, AO_S(30));
    assert_int_equal(submitted(w), 0);
    about(w, &operation_cron_resume);
    w->leap -= (int64_t)AO_S(7200);
    jobs_world_pass(w, AO_S(30));
    assert_true(submitted(w) > 0);
}

STORED_TEST(is_forgotten_when_deleted)
{
    struct operation *op = world_operation(w, &operation_cron_delete);
    put(w, "every 10s", CRON_ALLOW);
    op->named.name = span_text("tick");
    world_give(w, op);
    assert_memory_equal(operation_result(op).at, "\xc3", 1);
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(submitted(w), 0);
    assert_string_equal(list(w), "[]");
}

STORED_TEST(none_fires_while_the_server_stops)
{
    put(w, "every 10s", CRON_ALLOW);
    w->source.stop(w->source.arg, false);
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(submitted(w), 0);
    stage_holds(list(w), "'error': nil");
}

STORED_TEST(wrong_ones_are_refused)
{
    struct operation *op = put(w, "61 * * * *", CRON_ALLOW);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "minute");
    op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text("@daily"),
                                  .zone = span_text("Europe/Atlantis"),
                                  .task = world_spec("work")};
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "Europe/Atlantis");
    op = put(w, "0 0 30 2 *", CRON_ALLOW);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "never");
    op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text("tick"), .schedule = span_text("@daily"), .task = world_spec("work")};
    op->cron.task.params = span_text("\x81\xa7$result\xaet0000000000001");
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "`after` has to name");
    assert_string_equal(list(w), "[]");
}

/* The whole name and the time stand in the key of each task, so that no two are one. */
STORED_TEST(the_longest_name_fires_every_time)
{
    static char name[CRON_NAME_MAX + 1];
    memset(name, 'n', sizeof name);
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_of(name, sizeof name),
                                  .schedule = span_text("every 10s"),
                                  .overlap = CRON_ALLOW,
                                  .task = world_spec("work")};
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "at most 200 bytes");
    struct operation *b = world_operation(w, &operation_cron_put);
    b->cron = op->cron;
    b->cron.name.len = CRON_NAME_MAX;
    world_give(w, b);
    assert_int_equal(b->reply.error, ERGON_OK);
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(submitted(w), 6);
}

static uint64_t (*true_wall)(void *arg);

static uint64_t an_hour_ahead(void *arg)
{
    return true_wall(arg) + AO_S(3600);
}

/* How many tasks there are when the clock was put an hour ahead, a minute after that. */
static uint64_t submitted_after_a_leap(struct jobs_world *w, uint8_t catch_up)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text("every 10s"),
                                  .overlap = CRON_ALLOW,
                                  .catch_up = catch_up,
                                  .task = world_spec("work")};
    world_give(w, op);
    true_wall = w->jobs->table.wall;
    w->jobs->table.wall = an_hour_ahead;
    jobs_world_pass(w, AO_S(60));
    return submitted(w);
}

STORED_TEST(what_a_leap_of_the_clock_missed_stays_missed)
{
    assert_int_equal(submitted_after_a_leap(w, CRON_CATCH_NONE), 6);
}

STORED_TEST(what_a_leap_of_the_clock_missed_is_made_up_for_once)
{
    assert_int_equal(submitted_after_a_leap(w, CRON_CATCH_ONE), 7); /* one at once */
}

STORED_TEST(what_a_leap_of_the_clock_missed_is_made_up_for)
{
    assert_int_equal(submitted_after_a_leap(w, CRON_CATCH_ALL), 366);
}

STORED_TEST(too_large_ones_are_refused)
{
    static const uint8_t params[CRON_BYTES_MAX + 1];
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text("tick"), .schedule = span_text("@daily"), .task = world_spec("work")};
    op->cron.task.params = span_of(params, sizeof params);
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_TOO_LARGE);
    stage_holds(op->reply.text, "64 KiB");
}

STORED_TEST(a_durable_one_is_answered_when_it_is_on_disk)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text("tick"), .schedule = span_text("every 10s"), .task = world_spec("work")};
    op->cron.task.durable = DURABLE_FSYNC;
    world_give(w, op);
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(2));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
}

/* Two starts come without it. */
STORED_TEST(what_was_missed_without_its_module_is_made_up_for)
{
    static const char options[] = "\x82\xa8"
                                  "catch_up"
                                  "\xa3"
                                  "all"
                                  "\xa7"
                                  "overlap"
                                  "\xa5"
                                  "allow";
    struct method *method = registry_find(w->registry, span_text("work"));
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text("every 60s"),
                                  .overlap = CRON_ALLOW,
                                  .catch_up = CRON_CATCH_ALL,
                                  .options = span_text(options),
                                  .task = world_spec("work")};
    op->cron.task.durable = DURABLE_FSYNC;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(2));
    method->name = span_text("other");
    for (unsigned i = 0; i < 2; i++) {
        jobs_world_crash(w);
        jobs_world_pass(w, AO_S(90));
    }
    stage_holds(list(w), "'error': 'no handler offers \"work\"'");
    assert_int_equal(submitted(w), 0);
    method->name = span_text("work");
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(submitted(w), 3);
}

STORED_TEST(a_store_that_fails_refuses_it)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text("tick"), .schedule = span_text("every 10s"), .task = world_spec("work")};
    op->cron.task.durable = DURABLE_FSYNC;
    w->store->error = STORE_FULL;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(2));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_string_equal(list(w), "[]");
}

/* Each time fires once, however late chance lets it. */
STORED_TEST(what_chance_put_off_was_not_missed)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text("every 10s"),
                                  .jitter = AO_S(8),
                                  .overlap = CRON_ALLOW,
                                  .task = world_spec("work")};
    world_give(w, op);
    jobs_world_pass(w, AO_S(209));
    assert_int_equal(submitted(w), 20);
    stage_holds(list(w), "'fired': 20, 'skipped': 0");
}

/* Its time has come, and chance has put its task off; within 60 s it is there. */
static void comes_within_its_jitter(struct jobs_world *w)
{
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(w->jobs->table.count, 1);
}

static void put_off(struct jobs_world *w, const char *catch_up)
{
    static uint8_t options[64];
    static char text[128];
    struct operation *op = world_operation(w, &operation_cron_put);
    snprintf(text, sizeof text, "{'jitter': '60s', 'catch_up': '%s'}", catch_up);
    op->cron = (struct cron_spec){
        .name = span_text("tick"),
        .schedule = span_text("every 100s"),
        .options = span_of(options, notation_pack(text, options, sizeof options)),
        .task = world_spec("work")};
    assert_true(w->jobs->options.read_cron_options(op->cron.options, &op->cron));
    op->cron.task.durable = DURABLE_FSYNC;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(op->reply.error, ERGON_OK);
}

static void about_stored(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("tick");
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(op->reply.error, ERGON_OK);
}

static void is_put_off(struct jobs_world *w, const char *catch_up)
{
    put_off(w, catch_up);
    jobs_world_pass(w, AO_S(101));
    assert_int_equal(w->jobs->table.count, 0);
}

STORED_TEST(what_chance_put_off_outlives_a_restart)
{
    is_put_off(w, "none");
    jobs_world_restart(w);
    jobs_world_pass(w, AO_MS(5));
    jobs_world_crash(w);
    comes_within_its_jitter(w);
}

/* When nobody ran while it could be submitted, it is missed as any other. */
STORED_TEST(what_was_put_off_until_after_its_jitter_was_missed)
{
    is_put_off(w, "none");
    w->v.now += AO_S(60);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(30));
    assert_int_equal(w->jobs->table.count, 0);
}

STORED_TEST(what_chance_put_off_outlives_a_put)
{
    is_put_off(w, "all");
    put_off(w, "none");
    put_off(w, "all");
    comes_within_its_jitter(w);
}

STORED_TEST(what_chance_put_off_outlives_a_pause)
{
    is_put_off(w, "none");
    about_stored(w, &operation_cron_pause);
    jobs_world_crash(w);
    about_stored(w, &operation_cron_resume);
    comes_within_its_jitter(w);
}

STORED_TEST(what_came_in_a_pause_is_left_out_whatever_its_jitter)
{
    put_off(w, "all");
    about_stored(w, &operation_cron_pause);
    jobs_world_pass(w, AO_S(101));
    about_stored(w, &operation_cron_resume);
    jobs_world_pass(w, AO_S(70));
    assert_int_equal(w->jobs->table.count, 0);
}

STORED_TEST(what_chance_put_off_outlives_a_leap_of_the_clock)
{
    is_put_off(w, "none");
    w->leap += (int64_t)AO_S(50);
    jobs_world_pass(w, AO_S(1));
    w->leap -= (int64_t)AO_S(49);
    comes_within_its_jitter(w);
}
