/* Crons that outlive the process: what was answered holds after a restart, and one that cannot be
 * written leaves the one before it alone. */
#include <stdio.h>
#include <string.h>

#include "proto/reader.h"
#include "server/access/rights.h"
#include "server/jobs/cron/crons.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static struct operation *put(struct jobs_world *w, const char *schedule, enum job_durable durable)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text("tick"), .schedule = span_text(schedule), .task = world_spec("work")};
    op->cron.overlap = CRON_ALLOW;
    op->cron.options = span_text("\x81\xa7overlap\xa5"
                                 "allow");
    op->cron.task.durable = (uint8_t)durable;
    world_give(w, op);
    return op;
}

static struct operation *put_with(struct jobs_world *w, const char *options,
                                  enum job_durable durable)
{
    static uint8_t packed[128];
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text("tick"), .schedule = span_text("every 10s"), .task = world_spec("work")};
    op->cron.options = span_of(packed, notation_pack(options, packed, sizeof packed));
    assert_true(w->jobs->options.read_cron_options(op->cron.options, &op->cron));
    op->cron.task.durable = (uint8_t)durable;
    world_give(w, op);
    return op;
}

static struct operation *drop(struct jobs_world *w)
{
    struct operation *op = world_operation(w, &operation_cron_delete);
    op->named.name = span_text("tick");
    world_give(w, op);
    return op;
}

static const char *list(struct jobs_world *w)
{
    static char text[2048];
    struct operation *op = world_operation(w, &operation_cron_list);
    world_give(w, op);
    return notation_show(operation_result(op), text, sizeof text);
}

static void lists(struct jobs_world *w, const char *schedule)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "'schedule': '%s'", schedule);
    stage_holds(list(w), wanted);
}

/* Answered by the next commit. */
static void comes(struct jobs_world *w, struct operation *op, enum ergon_error error)
{
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, error);
}

STORED_TEST(what_was_answered_is_there_after_a_crash)
{
    comes(w, put(w, "every 10s", DURABLE_ASYNC), ERGON_OK);
    comes(w, put(w, "every 20s", DURABLE_FSYNC), ERGON_OK);
    jobs_world_crash(w);
    lists(w, "every 20s");
    comes(w, drop(w), ERGON_OK);
    assert_string_equal(list(w), "[]");
    jobs_world_crash(w);
    assert_string_equal(list(w), "[]");
}

STORED_TEST(one_that_cannot_be_replicated_is_refused)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    struct operation *op = put(w, "every 20s", DURABLE_REPLICATED);
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    stage_holds(op->reply.text, "needs a store on PostgreSQL");
    lists(w, "every 10s");
}

/* Its tasks wait for a standby, and none is lost. */
JOBS_TEST(one_that_is_to_be_replicated, .stored = true, .replicates = true)
{
    comes(w, put(w, "every 10s", DURABLE_REPLICATED), ERGON_OK);
    stage_holds(list(w), "'durable': 'replicated'");
    w->store->level = STORE_LEVEL_FSYNC;
    jobs_world_pass(w, AO_S(12));
    stage_holds(list(w), "'fired': 0");
    w->store->level = STORE_LEVEL_REPLICATED;
    jobs_world_pass(w, AO_S(5));
    stage_holds(list(w), "'fired': 1");
}

/* Its tasks are as durable as those of the server that it comes to. */
STORED_TEST(the_default_level_is_that_of_the_server)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    w->options.default_durable = DURABLE_REPLICATED;
    jobs_world_crash(w);
    stage_holds(list(w), "'durable': 'replicated'");
}

static struct operation *turn(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("tick");
    world_give(w, op);
    return op;
}

static uint64_t submitted(const struct jobs_world *w)
{
    struct jobs_info info;
    jobs_info(w->jobs, &info);
    return info.submitted;
}

STORED_TEST(a_pause_outlives_a_crash)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    comes(w, turn(w, &operation_cron_pause), ERGON_OK);
    jobs_world_crash(w);
    stage_holds(list(w), "'paused': true");
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(submitted(w), 0);
    comes(w, turn(w, &operation_cron_resume), ERGON_OK);
    jobs_world_crash(w);
    stage_holds(list(w), "'paused': false");
    jobs_world_pass(w, AO_S(15));
    assert_int_equal(submitted(w), 1);
}

STORED_TEST(a_pause_that_cannot_be_written_holds_until_a_restart)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    w->store->error = STORE_FULL;
    comes(w, turn(w, &operation_cron_pause), ERGON_E_STORE);
    stage_holds(list(w), "'paused': true");
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(submitted(w), 0);
    w->store->error = STORE_OK;
    jobs_world_crash(w);
    stage_holds(list(w), "'paused': false");
}

/* Its pause and a new schedule are on their way to the file together, in either order. */
STORED_TEST(a_pause_and_a_put_leave_both_in_the_file)
{
    for (int first = 0; first < 2; first++) {
        comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
        w->store->latency = AO_MS(3);
        if (first == 0)
            turn(w, &operation_cron_pause);
        put(w, "every 20s", DURABLE_FSYNC);
        if (first == 1)
            turn(w, &operation_cron_pause);
        jobs_world_pass(w, AO_MS(20));
        lists(w, "every 20s");
        stage_holds(list(w), "'paused': true");
        w->store->latency = AO_MS(1);
        jobs_world_crash(w);
        lists(w, "every 20s");
        stage_holds(list(w), "'paused': true");
        comes(w, turn(w, &operation_cron_resume), ERGON_OK);
    }
}

STORED_TEST(what_is_run_now_is_on_disk_when_it_is_answered)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    struct operation *op = turn(w, &operation_cron_run);
    assert_false(world_answered(w, op));
    comes(w, op, ERGON_OK);
    uint64_t run = w->jobs->table.last->id;
    jobs_world_crash(w);
    assert_true(job_is_open(world_job(w, run)));
}

STORED_TEST(what_is_run_now_and_cannot_be_written_is_none)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    w->store->error = STORE_FULL;
    comes(w, turn(w, &operation_cron_run), ERGON_E_STORE);
    assert_null(w->jobs->table.last);
    w->store->error = STORE_OK;
}

STORED_TEST(what_is_being_deleted_is_not_paused)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    drop(w);
    struct operation *op = turn(w, &operation_cron_pause);
    assert_int_equal(op->reply.error, ERGON_E_NOT_FOUND);
    jobs_world_pass(w, AO_MS(2));
    assert_string_equal(list(w), "[]");
    jobs_world_crash(w);
    assert_string_equal(list(w), "[]");
}

STORED_TEST(one_that_cannot_be_written_leaves_the_old)
{
    struct jobs_info info;
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    w->store->error = STORE_FULL;
    comes(w, put(w, "every 20s", DURABLE_FSYNC), ERGON_E_STORE);
    lists(w, "every 10s");
    comes(w, put(w, "every 30s", DURABLE_NONE), ERGON_E_STORE);
    lists(w, "every 10s");
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(25));
    jobs_info(w->jobs, &info);
    assert_int_equal(info.submitted, 2);
    jobs_world_crash(w);
    lists(w, "every 10s");
}

STORED_TEST(one_in_memory_alone_does_not_wait)
{
    w->store->error = STORE_FULL;
    assert_true(world_answered(w, put(w, "every 10s", DURABLE_NONE)));
    lists(w, "every 10s");
    w->store->error = STORE_OK;
    jobs_world_crash(w);
    assert_string_equal(list(w), "[]");
}

STORED_TEST(one_that_cannot_be_deleted_goes_on)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    w->store->error = STORE_FULL;
    comes(w, drop(w), ERGON_E_STORE);
    lists(w, "every 10s");
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(15));
    struct operation *first = drop(w), *second = drop(w);
    jobs_world_pass(w, AO_MS(1));
    assert_memory_equal(operation_result(first).at, "\xc3", 1);
    assert_memory_equal(operation_result(second).at, "\xc2", 1);
    jobs_world_crash(w);
    assert_string_equal(list(w), "[]");
}

/* It fires while it is on its way out of the file. */
STORED_TEST(one_that_is_being_deleted_does_not_write_itself_back)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    w->store->latency = AO_S(30);
    drop(w);
    jobs_world_pass(w, AO_S(20));
    w->store->latency = AO_MS(1);
    jobs_world_pass(w, AO_S(40));
    jobs_world_crash(w);
    assert_string_equal(list(w), "[]");
}

/* It fires, and says so in the file, while its successor is on its way there. */
STORED_TEST(the_old_does_not_write_over_the_new)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    w->store->latency = AO_S(15);
    struct operation *op = put(w, "every 1h", DURABLE_FSYNC);
    jobs_world_pass(w, AO_S(14));
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_S(60));
    assert_true(world_answered(w, op));
    lists(w, "every 1h");
    w->store->latency = AO_MS(1);
    jobs_world_crash(w);
    lists(w, "every 1h");
}

STORED_TEST(a_delete_comes_behind_what_was_put_before_it)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    put(w, "every 20s", DURABLE_FSYNC);
    drop(w);
    jobs_world_pass(w, AO_S(1));
    assert_string_equal(list(w), "[]");
    drop(w);
    put(w, "every 30s", DURABLE_FSYNC);
    jobs_world_pass(w, AO_S(1));
    lists(w, "every 30s");
    jobs_world_crash(w);
    lists(w, "every 30s");
}

STORED_TEST(one_on_its_way_when_the_server_stops_is_there)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    w->store->latency = AO_S(10);
    struct operation *op = put(w, "every 20s", DURABLE_FSYNC);
    jobs_world_restart(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    lists(w, "every 20s");
}

/* It comes into its place, and fires, while the delete that was asked for behind it is on its way
 * back: what stands between them is more than one step takes. */
STORED_TEST(one_put_before_a_delete_does_not_write_itself_back)
{
    comes(w, put(w, "every 1h", DURABLE_FSYNC), ERGON_OK);
    w->quiet = true;
    w->store->latency = AO_S(15);
    struct operation *first = put(w, "every 10s", DURABLE_FSYNC);
    for (unsigned i = 0; i < 2 * JOURNAL_BATCH; i++)
        jobs_world_submit(w, &WORK(.durable = DURABLE_ASYNC, .delay = AO_S(3600)));
    struct operation *op = drop(w);
    jobs_world_pass(w, AO_S(16));
    assert_true(world_answered(w, first) && world_answered(w, op));
    assert_memory_equal(operation_result(op).at, "\xc3", 1);
    jobs_world_pass(w, AO_S(16));
    assert_string_equal(list(w), "[]");
    jobs_world_crash(w);
    assert_string_equal(list(w), "[]");
}

/* What it did meanwhile is written then. */
STORED_TEST(one_whose_deletes_fail_stands_in_the_file_where_it_is)
{
    comes(w, put_with(w, "{'durable': 'async', 'overlap': 'allow'}", DURABLE_ASYNC), ERGON_OK);
    w->room[1] = 4;
    w->lasts = 0;
    w->store->latency = AO_S(25);
    struct operation *first = drop(w), *second = drop(w);
    w->store->latency = AO_MS(1);
    w->store->error = STORE_FULL;
    jobs_world_pass(w, AO_S(25));
    w->store->error = STORE_OK;
    assert_true(world_answered(w, first) && first->reply.error == ERGON_E_STORE);
    assert_true(world_answered(w, second) && second->reply.error == ERGON_E_STORE);
    stage_holds(list(w), "'last': 1600000020000");
    jobs_world_pass(w, AO_MS(2));
    jobs_world_crash(w);
    stage_holds(list(w), "'last': 1600000020000");
}

static struct operation *put_for(struct jobs_world *w, const char *tenant, const char *schedule,
                                 enum job_durable durable)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text(schedule),
                                  .made_by = span_text("token:maker"),
                                  .task = world_spec("work")};
    op->cron.task.tenant = span_text(tenant);
    op->cron.task.durable = (uint8_t)durable;
    world_give(w, op);
    return op;
}

STORED_TEST(each_tenant_has_names_of_its_own)
{
    comes(w, put_for(w, "ann", "every 10s", DURABLE_FSYNC), ERGON_OK);
    comes(w, put_for(w, "bob", "every 20s", DURABLE_FSYNC), ERGON_OK);
    lists(w, "every 10s");
    lists(w, "every 20s");
    jobs_world_crash(w);
    lists(w, "every 10s");
    lists(w, "every 20s");
    stage_holds(list(w), "'made_by': 'token:maker'");
    struct operation *op = world_operation(w, &operation_cron_delete);
    op->named.name = span_text("tick");
    op->named.tenant = span_text("bob");
    world_give(w, op);
    comes(w, op, ERGON_OK);
    lists(w, "every 10s");
    assert_null(strstr(list(w), "every 20s"));
    jobs_world_crash(w);
    lists(w, "every 10s");
    assert_null(strstr(list(w), "every 20s"));
}

STORED_TEST(one_that_is_being_written_is_protected_as_well)
{
    struct operation *first = put(w, "every 10s", DURABLE_FSYNC);
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text("tick"), .schedule = span_text("every 20s"), .task = world_spec("echo")};
    op->cron.task.durable = DURABLE_FSYNC;
    struct role_table *roles = role_table_new(
        &(struct role){
            .name = "echoers", .members = "token:alice", .methods = "*", .queues = "echo"},
        1);
    op->rights =
        rights_new(&(struct rights_options){.roles = roles, .name = "token:alice", .tenant = ""});
    role_table_unref(roles);
    world_give(w, op);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_DENIED);
    comes(w, first, ERGON_OK);
    lists(w, "every 10s");
}

/* As if all but one were there. */
STORED_TEST(those_that_are_being_written_count)
{
    enum { OTHERS = 9999 };
    w->jobs->crons->count += OTHERS;
    struct operation *first = put_for(w, "ann", "@yearly", DURABLE_FSYNC);
    struct operation *second = put_for(w, "bob", "@yearly", DURABLE_FSYNC);
    assert_true(world_answered(w, second));
    assert_int_equal(second->reply.error, ERGON_E_BUSY);
    comes(w, first, ERGON_OK);
    assert_int_equal(w->jobs->crons->count, OTHERS + 1);
    w->jobs->crons->count -= OTHERS;
}

/* What comes behind these comes back a step later. */
static void fill_a_step(struct jobs_world *w)
{
    for (unsigned i = 0; i < JOURNAL_BATCH; i++)
        jobs_world_submit(w, &WORK(.durable = DURABLE_ASYNC, .delay = AO_S(3600)));
}

/* Answered, and nothing behind it was. */
static void comes_alone(struct jobs_world *w, struct operation *op, struct operation *next)
{
    for (int rounds = 0; !world_answered(w, op); rounds++) {
        assert_true(rounds < 100);
        virtual_round(&w->v, w->manager);
        virtual_round(&w->v, w->loop);
        w->v.now += AO_US(100);
    }
    assert_false(world_answered(w, next));
}

/* Of one name, put again before the first is there: neither fills the tenant's share twice, nor all
 * that there may be. */
STORED_TEST(one_that_is_put_again_while_it_is_written_counts_once)
{
    struct crons *crons = w->jobs->crons;
    struct operation *first, *second, *gone, *third;
    const struct span ann = span_text("ann");

    w->quiet = true;
    first = put_for(w, "ann", "every 10s", DURABLE_FSYNC);
    crons->count += CRONS_MAX - 1; /* as if they were there */
    fill_a_step(w);
    second = put_for(w, "ann", "every 20s", DURABLE_FSYNC);
    assert_int_equal(crons_of(w->jobs, ann), 1);
    assert_int_equal(put_for(w, "bob", "@yearly", DURABLE_FSYNC)->reply.error, ERGON_E_BUSY);
    comes_alone(w, first, second);
    assert_int_equal(crons_of(w->jobs, ann), 1);
    crons->count -= CRONS_MAX - 1;
    jobs_world_pass(w, AO_MS(10));
    assert_true(world_answered(w, second) && second->reply.error == ERGON_OK);
    gone = world_operation(w, &operation_cron_delete);
    gone->named.name = span_text("tick");
    gone->named.tenant = ann;
    world_give(w, gone);
    fill_a_step(w);
    third = put_for(w, "ann", "every 30s", DURABLE_FSYNC);
    assert_int_equal(crons_of(w->jobs, ann), 1);
    comes_alone(w, gone, third);
    assert_int_equal(crons_of(w->jobs, ann), 1);
    jobs_world_pass(w, AO_MS(10));
    assert_true(world_answered(w, third) && third->reply.error == ERGON_OK);
    assert_int_equal(crons_of(w->jobs, ann), 1);
    lists(w, "every 30s");
}

/* The one that counted could not be written; the one behind it counts then. */
STORED_TEST(one_that_fails_leaves_its_count_to_the_next)
{
    const struct span ann = span_text("ann");

    w->quiet = true;
    w->store->error = STORE_FULL;
    struct operation *first = put_for(w, "ann", "every 10s", DURABLE_FSYNC);
    fill_a_step(w);
    struct operation *second = put_for(w, "ann", "every 20s", DURABLE_FSYNC);
    comes_alone(w, first, second);
    assert_int_equal(first->reply.error, ERGON_E_STORE);
    assert_int_equal(crons_of(w->jobs, ann), 1);
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(second->reply.error, ERGON_E_STORE);
    assert_int_equal(crons_of(w->jobs, ann), 0);
}

JOBS_TEST(one_tenant_leaves_crons_to_others)
{
    enum { GREEDY = 40, OTHERS = 9950 };
    char name[16];
    w->jobs->options.settings.limits.tenant_share = 80;
    for (unsigned i = 0; i <= GREEDY; i++) {
        snprintf(name, sizeof name, "c%u", i);
        struct operation *op = world_operation(w, &operation_cron_put);
        op->cron = (struct cron_spec){
            .name = span_text(name), .schedule = span_text("@yearly"), .task = world_spec("work")};
        op->cron.task.tenant = span_text("greedy");
        op->cron.task.durable = DURABLE_NONE;
        if (i == GREEDY)
            w->jobs->crons->count += OTHERS; /* as if they were there */
        world_give(w, op);
        assert_int_equal(op->reply.error, i < GREEDY ? ERGON_OK : ERGON_E_BUSY);
    }
    assert_int_equal(put_for(w, "other", "@yearly", DURABLE_NONE)->reply.error, ERGON_OK);
    w->jobs->crons->count -= OTHERS;
}

STORED_TEST(a_name_counts_once_however_many_of_it_are_on_their_way)
{
    struct operation *first = put_for(w, "ann", "@yearly", DURABLE_FSYNC);
    struct operation *second = put_for(w, "ann", "every 10s", DURABLE_FSYNC);
    assert_false(world_answered(w, first) || world_answered(w, second));
    assert_int_equal(w->jobs->crons->count, 1);
    assert_int_equal(crons_of(w->jobs, span_text("ann")), 1);
    comes(w, second, ERGON_OK);
    assert_int_equal(crons_of(w->jobs, span_text("ann")), 1);
    lists(w, "every 10s");
    assert_null(strstr(list(w), "@yearly"));
}

static struct operation *put_large(struct jobs_world *w, const char *tenant, const char *name)
{
    static uint8_t params[60000];
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text(name), .schedule = span_text("@yearly"), .task = world_spec("work")};
    op->cron.task.tenant = span_text(tenant);
    op->cron.task.params = span_of(params, sizeof params);
    op->cron.task.durable = DURABLE_NONE;
    world_give(w, op);
    return op;
}

/* What they take counts for their tenant, until they go. */
JOBS_TEST(crons_leave_memory_to_others)
{
    char name[16];
    unsigned count = 0;
    struct operation *op;
    w->jobs->options.settings.limits.tenant_share = 80;
    w->jobs->options.settings.limits.bytes = 100 * 60000;
    do {
        snprintf(name, sizeof name, "c%u", count);
        op = put_large(w, "greedy", name);
    } while (op->reply.error == ERGON_OK && ++count < 100);
    assert_int_equal(op->reply.error, ERGON_E_BUSY);
    stage_holds(op->reply.text, "its share of tasks.bytes");
    assert_in_range(count, 50, 80);
    assert_int_equal(put_large(w, "other", "c")->reply.error, ERGON_OK);
    struct tenant *greedy = table_tenant_find(&w->jobs->table, span_text("greedy"));
    assert_in_range(greedy->open_bytes, count * 60000, count * 62000);
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "c%u", i);
        op = world_operation(w, &operation_cron_delete);
        op->named = (struct name_arguments){.name = span_text(name), .tenant = span_text("greedy")};
        world_give(w, op);
    }
    assert_int_equal(greedy->open_bytes, 0);
    assert_int_equal(greedy->crons, 0);
    assert_int_equal(w->jobs->crons->count, 1);
}

/* The list goes on while others are served, and while what it shows next is deleted. */
JOBS_TEST(they_are_listed_in_parts)
{
    enum { COUNT = 200 };
    char name[16];
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "c%03u", i);
        put_large(w, "greedy", name);
    }
    uint32_t before = w->answered;
    struct operation *all = world_operation(w, &operation_cron_list), *gone[3];
    all->turn_queue = 1;
    channel_give(w->channel, all);
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {"c017", "c018", "c199"};
        gone[i] = world_operation(w, &operation_cron_delete);
        gone[i]->named =
            (struct name_arguments){.name = span_text(names[i]), .tenant = span_text("greedy")};
        gone[i]->turn_queue = 2;
        channel_give(w->channel, gone[i]);
    }
    jobs_world_settle(w);
    assert_int_equal(w->answered - before, 4);
    assert_ptr_equal(w->operations[w->answered - 1], all);
    struct reader r = {0};
    uint32_t count = 0;
    read_params(operation_result(all), &r, &count);
    assert_in_range(count, COUNT - 3, COUNT - 1);
    assert_int_equal(w->jobs->crons->count, COUNT - 3);
    assert_null(w->jobs->crons->walks);
}

/* --- What a store that fails leaves to be written --- */

/* The store fails as the cron fires for the second time, and works again at once. */
static void fire_while_the_store_fails(struct jobs_world *w)
{
    jobs_world_pass(w, AO_S(15));
    assert_int_equal(submitted(w), 1);
    w->store->error = STORE_FULL;
    jobs_world_pass(w, AO_MS(5500));
    w->store->error = STORE_OK;
}

/* Where no standby is, a cron stays where it is, as its tasks are refused. */
STORED_TEST(where_it_stands_is_as_durable_as_its_tasks)
{
    struct store_cron *row = &w->store->rows.crons[0].cron;
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    assert_int_equal(row->durable, DURABLE_FSYNC);
    row->durable = DURABLE_NONE;
    jobs_world_pass(w, AO_S(11));
    assert_int_equal(row->durable, DURABLE_FSYNC);
}

STORED_TEST(where_it_stands_is_written_when_the_store_works_again)
{
    comes(w, put_with(w, "{'durable': 'async', 'overlap': 'allow'}", DURABLE_ASYNC), ERGON_OK);
    fire_while_the_store_fails(w);
    jobs_world_pass(w, AO_S(3));
    jobs_world_crash(w);
    stage_holds(list(w), "'last': 1600000020000");
}

STORED_TEST(where_it_stands_is_written_by_a_stop)
{
    comes(w, put_with(w, "{'durable': 'async', 'overlap': 'allow'}", DURABLE_ASYNC), ERGON_OK);
    fire_while_the_store_fails(w);
    jobs_world_restart(w);
    stage_holds(list(w), "'last': 1600000020000");
}

STORED_TEST(a_pause_is_written_when_the_store_works_again)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    w->store->error = STORE_FULL;
    comes(w, turn(w, &operation_cron_pause), ERGON_E_STORE);
    jobs_world_pass(w, AO_S(5));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    stage_holds(list(w), "'paused': true");
}

/* The n-th allocation fails, and no write has room without one. */
static enum ergon_error pause_without_memory(struct jobs_world *w, int64_t n)
{
    struct store_op *hoard = stage_hoard_writes(w);
    struct operation *op = world_operation(w, &operation_cron_pause);
    op->named.name = span_text("tick");
    heap_fail_at(n);
    world_give(w, op);
    assert_true(heap_failed());
    heap_fail_at(0);
    stage_give_writes(w, hoard);
    jobs_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, op));
    return op->reply.error;
}

STORED_TEST(a_pause_without_memory_is_written_later)
{
    int64_t n = 1;
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    while (pause_without_memory(w, n++) == ERGON_OK)
        comes(w, turn(w, &operation_cron_resume), ERGON_OK);
    stage_holds(list(w), "'paused': true");
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    stage_holds(list(w), "'paused': true");
}

STORED_TEST(one_that_goes_is_not_written_once_more)
{
    comes(w, put_with(w, "{'durable': 'async', 'overlap': 'allow'}", DURABLE_ASYNC), ERGON_OK);
    fire_while_the_store_fails(w);
    comes(w, drop(w), ERGON_OK);
    assert_true(LIST_EMPTY(&w->jobs->crons->unsaved));
    jobs_world_pass(w, AO_S(3));
    jobs_world_crash(w);
    assert_string_equal(list(w), "[]");
}

/* Its time has come, and stays until its task is submitted. */
STORED_TEST(a_time_whose_task_could_not_be_written_comes_again)
{
    comes(w, put_with(w, "{'overlap': 'allow'}", DURABLE_FSYNC), ERGON_OK);
    jobs_world_pass(w, AO_S(15));
    w->store->error = STORE_FULL;
    jobs_world_pass(w, AO_S(6));
    assert_int_equal(submitted(w), 1);
    stage_holds(list(w), "'last': nil, 'last_task': nil, 'fired': 1");
    stage_holds(list(w), store_error_text(STORE_FULL));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(4));
    assert_int_equal(submitted(w), 2);
    stage_holds(list(w), "'last': 1600000020000");
    stage_holds(list(w), "'fired': 2");
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(submitted(w), 3);
}

/* As it does over a crash before that. */
STORED_TEST(a_time_whose_task_could_not_be_written_outlives_a_crash)
{
    comes(w, put_with(w, "{'overlap': 'allow', 'catch_up': 'one'}", DURABLE_FSYNC), ERGON_OK);
    jobs_world_pass(w, AO_S(15));
    w->store->error = STORE_FULL;
    jobs_world_pass(w, AO_S(6));
    w->store->error = STORE_OK;
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    stage_holds(list(w), "'last': 1600000020000");
}

/* --- Refused --- */

/* The server is down for a minute, and full as it starts. */
static void start_full(struct jobs_world *w, const char *catch_up)
{
    char options[64];
    snprintf(options, sizeof options, "{'overlap': 'allow', 'catch_up': '%s'}", catch_up);
    comes(w, put_with(w, options, DURABLE_FSYNC), ERGON_OK);
    jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(3600)));
    jobs_world_pass(w, AO_MS(2));
    w->leap += (int64_t)AO_S(64);
    w->options.settings.limits.max = 1;
    jobs_world_crash(w);
}

static void start_full_and_make_room(struct jobs_world *w, const char *catch_up, uint64_t missed)
{
    start_full(w, catch_up);
    jobs_world_pass(w, AO_S(2));
    stage_holds(list(w), "tasks.max");
    assert_int_equal(submitted(w), 0);
    w->jobs->options.settings.limits.max = 100;
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(submitted(w), missed);
    stage_holds(list(w), "'error': nil");
}

STORED_TEST(what_was_missed_is_made_up_for_when_there_is_room)
{
    start_full_and_make_room(w, "all", 6);
}

STORED_TEST(what_was_missed_is_made_up_for_once_when_there_is_room)
{
    start_full_and_make_room(w, "one", 1);
}

STORED_TEST(what_nobody_makes_up_for_is_not_tried)
{
    start_full(w, "none");
    jobs_world_pass(w, AO_S(2));
    stage_holds(list(w), "'error': nil");
    w->jobs->options.settings.limits.max = 100;
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(submitted(w), 0);
}

static void set_draining(struct jobs_world *w, bool draining)
{
    table_queue(&w->jobs->table, span_text("work"))->draining = draining;
}

/* Put once more, with another schedule, while what it submits is refused: the time that has come
 * stays, and comes once. */
STORED_TEST(one_that_is_put_while_it_is_refused_submits_the_time_that_has_come)
{
    comes(w, put(w, "every 10s", DURABLE_FSYNC), ERGON_OK);
    set_draining(w, true);
    jobs_world_pass(w, AO_S(12));
    stage_holds(list(w), "'next': 1600000010000");
    comes(w, put(w, "every 1h", DURABLE_FSYNC), ERGON_OK);
    stage_holds(list(w), "'next': 1600000010000");
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(submitted(w), 0);
    set_draining(w, false);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(submitted(w), 1);
    stage_holds(list(w), "'last': 1600000010000");
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(submitted(w), 1);
}

/* As it does over a restart between the put and the room. */
STORED_TEST(one_that_was_put_while_it_was_refused_stays_due_over_a_crash)
{
    comes(w, put_with(w, "{'catch_up': 'one'}", DURABLE_FSYNC), ERGON_OK);
    set_draining(w, true);
    jobs_world_pass(w, AO_S(12));
    comes(w, put_with(w, "{'catch_up': 'one'}", DURABLE_FSYNC), ERGON_OK);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    stage_holds(list(w), "'last': 1600000010000");
}
