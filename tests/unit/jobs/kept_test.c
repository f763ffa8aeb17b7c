/* Each tenant has a share of what is kept: who keeps the most forgets its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/life/retention.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/jobs_world_lives.h"
#include "tests/support/notation.h"

enum { ROOM = 100000, LARGE = 10000 };

static uint8_t bytes[LARGE];

static struct tenant *tenant(struct jobs_world *w, const char *name)
{
    return table_tenant_find(&w->jobs->table, span_text(name));
}

static uint64_t bytes_of(struct jobs_world *w, const char *name)
{
    const struct tenant *t = tenant(w, name);
    return t ? kept_bytes(t->kept.bytes) : 0;
}

static struct job_spec of_size(const char *name, size_t size)
{
    struct job_spec spec = WORK(.tenant = span_text(name));
    if (size >= 4) { /* an array of one bin */
        const uint8_t head[] = {0x91, 0xc5, (uint8_t)((size - 4) >> 8), (uint8_t)(size - 4)};
        memcpy(bytes, head, sizeof head);
        spec.params = span_of(bytes, size);
    }
    return spec;
}

static uint64_t end_one(struct jobs_world *w, const char *name, size_t size,
                        enum job_durable durable)
{
    struct job_spec spec = of_size(name, size);
    spec.durable = (uint8_t)durable;
    w->lasts = 0;
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, durable == DURABLE_NONE ? 0 : AO_MS(10));
    return id;
}

/* What is counted is what is there, of each tenant and of all. */
static void recount(struct jobs_world *w, struct tenant *t)
{
    uint64_t kept[KEPT_KINDS] = {0}, open = 0, open_bytes = 0;
    for (const struct job *job = w->jobs->table.first; job; job = job->all_next) {
        bool is_kept = kept_has(&job->tenant->kept, job);
        if (t && job->tenant != t)
            continue;
        assert_int_equal(is_kept, !job_state_open((enum job_state)job->state));
        if (is_kept)
            kept[job->state == JOB_FAILED || job->state == JOB_DEAD] += job_bytes(job);
        open += !is_kept;
        open_bytes += is_kept ? 0 : job_bytes(job);
    }
    const uint64_t *counted = t ? t->kept.bytes : w->jobs->table.kept.bytes;
    assert_int_equal(counted[KEPT_WELL], kept[0]);
    assert_int_equal(counted[KEPT_BADLY], kept[1]);
    assert_int_equal(t ? t->open : w->jobs->table.open, open);
    assert_int_equal(t ? t->open_bytes : w->jobs->table.open_bytes, open_bytes);
}

JOBS_TEST(who_keeps_much_forgets_its_own, .quiet = true)
{
    uint64_t little[3], much[50];
    w->jobs->options.settings.limits.kept_bytes = ROOM;
    for (unsigned i = 0; i < 3; i++)
        little[i] = end_one(w, "little", 1000, DURABLE_NONE);
    for (unsigned i = 0; i < 50; i++)
        much[i] = end_one(w, "much", LARGE, DURABLE_NONE);
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(world_job(w, little[i]));
    assert_null(world_job(w, much[0]));
    assert_null(world_job(w, much[40]));
    assert_non_null(world_job(w, much[49]));
    assert_in_range(kept_bytes(w->jobs->table.kept.bytes), ROOM - 2 * LARGE, ROOM);
    recount(w, NULL);
    recount(w, tenant(w, "much"));
    recount(w, tenant(w, "little"));
}

JOBS_TEST(of_several_who_keep_much_each_gets_the_same, .quiet = true)
{
    static const char *const names[] = {"first", "second", "third"};
    w->jobs->options.settings.limits.kept_bytes = ROOM;
    for (unsigned i = 0; i < 30; i++)
        end_one(w, names[0], 3000, DURABLE_NONE);
    assert_in_range(bytes_of(w, names[0]), ROOM * 9 / 10, ROOM);
    for (unsigned i = 0; i < 60; i++)
        end_one(w, names[1 + i % 2], 3000, DURABLE_NONE);
    for (unsigned i = 0; i < 3; i++)
        assert_in_range(bytes_of(w, names[i]), ROOM / 3 - 4000, ROOM / 3 + 4000);
    recount(w, NULL);
}

/* Who has kept the most may not do so any more after it has forgotten some. */
JOBS_TEST(with_less_room_all_who_keep_much_give, .quiet = true)
{
    for (unsigned i = 0; i < 20; i++)
        end_one(w, i % 2 ? "first" : "second", 3000, DURABLE_NONE);
    w->jobs->options.settings.limits.kept_bytes = ROOM / 4;
    ao_activate(&w->jobs->ao);
    jobs_world_settle(w);
    assert_in_range(bytes_of(w, "first"), ROOM / 8 - 4000, ROOM / 8 + 4000);
    assert_in_range(bytes_of(w, "second"), ROOM / 8 - 4000, ROOM / 8 + 4000);
}

/* Else who has many small ones would drive out who has one that is large. */
JOBS_TEST(many_small_ones_keep_as_much_as_few_large_ones, .quiet = true)
{
    uint64_t large[6], small[200];
    w->jobs->table.kept.least = 2 * ROOM / 100;
    w->jobs->options.settings.limits.kept_bytes = 2 * ROOM;
    w->jobs->options.settings.limits.max = 100;
    for (unsigned i = 0; i < 6; i++)
        large[i] = end_one(w, "few", LARGE, DURABLE_NONE);
    for (unsigned i = 0; i < 200; i++)
        small[i] = end_one(w, "many", 0, DURABLE_NONE);
    for (unsigned i = 0; i < 6; i++)
        assert_non_null(world_job(w, large[i]));
    assert_true(bytes_of(w, "many") < bytes_of(w, "few") && w->jobs->table.count <= 100);
    assert_null(world_job(w, small[100]));
    assert_non_null(world_job(w, small[199]));
}

/* What failed is kept apart within each tenant, and costs no other tenant what is done. */
JOBS_TEST(who_fails_much_forgets_its_own_failures, .quiet = true)
{
    w->jobs->options.settings.limits.kept_bytes = ROOM;
    uint64_t done = end_one(w, "good", 1000, DURABLE_NONE), failed = 0, first = 0;
    w->lasts = AO_NEVER;
    for (unsigned i = 0; i < 50; i++) {
        struct job_spec spec = of_size("bad", LARGE);
        failed = jobs_world_submit(w, &spec);
        first = first ? first : failed;
        jobs_world_settle(w);
        world_fail(world_run_of(w, failed), "ODD", "not today");
        jobs_world_settle(w);
    }
    assert_non_null(world_job(w, done));
    assert_non_null(world_job(w, failed));
    assert_null(world_job(w, first));
    recount(w, tenant(w, "bad"));
}

/* Room for a new one is made by who keeps the most, too, whoever submits it. */
JOBS_TEST(room_for_new_ones_is_made_by_who_keeps_the_most, .quiet = true)
{
    uint64_t little = end_one(w, "little", 1000, DURABLE_NONE);
    for (unsigned i = 0; i < 9; i++)
        end_one(w, "much", LARGE, DURABLE_NONE);
    w->jobs->options.settings.limits.bytes = w->jobs->table.bytes;
    w->lasts = AO_NEVER;
    struct job_spec spec = of_size("little", LARGE);
    spec.delay = AO_S(60);
    for (unsigned i = 0; i < 5; i++) {
        jobs_world_submit(w, &spec);
        assert_true(w->jobs->table.bytes <= w->jobs->options.settings.limits.bytes);
    }
    assert_non_null(world_job(w, little));
    assert_in_range(bytes_of(w, "much"), 3 * LARGE, 6 * LARGE);
    recount(w, NULL);
}

/* Those of who keeps the most may all be referred to still: then the next has to give. */
JOBS_TEST(who_can_forget_nothing_is_passed_over, .quiet = true)
{
    uint64_t stuck[3];
    w->stubborn = true;
    w->room[1] = 4;
    struct job_spec spec = of_size("stuck", LARGE);
    spec.deadline = AO_S(1);
    for (unsigned i = 0; i < 3; i++)
        stuck[i] = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(2));
    uint64_t other = end_one(w, "other", LARGE, DURABLE_NONE);
    w->jobs->options.settings.limits.kept_bytes = LARGE;
    assert_false(retention_trim(&w->jobs->sched, UINT64_MAX, UINT64_MAX) && world_job(w, other));
    jobs_world_settle(w);
    assert_null(world_job(w, other));
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(world_job(w, stuck[i]));
    assert_ptr_equal(kept_most(&w->jobs->table.kept), &tenant(w, "stuck")->kept);
    for (unsigned i = 0; i < 3; i++)
        world_finish(world_run_of(w, stuck[i]), "\x2a");
    jobs_world_pass(w, AO_S(10));
    end_one(w, "other", 0, DURABLE_NONE);
    assert_null(world_job(w, stuck[2]));
}

/* --- queue.tenants --- */

/* One page; *next is told again, or UINT64_MAX. */
static const char *page(struct jobs_world *w, uint64_t *next)
{
    static char text[1 << 20];
    struct operation *op = world_operation(w, &operation_queue_tenants);
    op->list.cursor = *next;
    world_give(w, op);
    jobs_world_settle(w);
    assert_true(world_answered(w, op) && op->reply.error == ERGON_OK);
    assert_true(operation_result(op).len < LIST_BYTES_MAX + 1000);
    notation_show(operation_result(op), text, sizeof text);
    const char *at = strstr(text, "'next': '");
    *next = at ? strtoull(at + 9, NULL, 10) : UINT64_MAX;
    return text;
}

JOBS_TEST(what_each_tenant_holds_is_shown, .quiet = true)
{
    uint64_t at = 0;
    char wanted[200];
    end_one(w, "one", 100, DURABLE_NONE);
    struct job_spec spec = of_size("two", 100);
    spec.delay = AO_S(60);
    jobs_world_submit(w, &spec);
    const char *text = page(w, &at);
    assert_int_equal(at, UINT64_MAX);
    snprintf(wanted, sizeof wanted,
             "{'tenant': 'one', 'weight': 1, 'open': 0, 'open_bytes': 0, 'ended': 1, "
             "'ended_badly': 0, 'ended_bytes': %llu, 'limits': 0, 'rates': 0}",
             (unsigned long long)bytes_of(w, "one"));
    stage_holds(text, wanted);
    snprintf(wanted, sizeof wanted,
             "{'tenant': 'two', 'weight': 1, 'open': 1, 'open_bytes': %llu, ",
             (unsigned long long)tenant(w, "two")->open_bytes);
    stage_holds(text, wanted);
}

JOBS_TEST(names_of_limits_and_rates_in_use_are_counted, .quiet = true, .room = 4)
{
    uint64_t at = 0;
    struct job_spec spec =
        WORK(.tenant = span_text("one"), .keep = 0, .rate_key = span_text("r"), .rate = 2,
             .rate_per = AO_S(10), .limit_key = span_text("l"), .limit = 1);
    jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    stage_holds(page(w, &at), "'limits': 1, 'rates': 1}");
    world_finish(w->runs, "\xc0");
    jobs_world_settle(w);
    at = 0;
    stage_holds(page(w, &at), "'open': 0");
    at = 0;
    stage_holds(page(w, &at), "'limits': 0, 'rates': 1}");
    jobs_world_pass(w, AO_S(10));
    at = 0;
    stage_holds(page(w, &at), "{'tenants': []");
}

JOBS_TEST(ten_thousand_tenants_lose_nothing_to_one, .quiet = true)
{
    enum { TENANTS = 10000 };
    static uint64_t ids[TENANTS];
    char name[16];
    w->room[1] = 64;
    for (unsigned i = 0; i < TENANTS; i++) {
        snprintf(name, sizeof name, "t%u", i);
        ids[i] = end_one(w, name, i % 64, DURABLE_NONE);
    }
    w->jobs->options.settings.limits.kept_bytes = kept_bytes(w->jobs->table.kept.bytes) + 2 * LARGE;
    for (unsigned i = 0; i < 100; i++)
        end_one(w, "much", LARGE, DURABLE_NONE);
    for (unsigned i = 0; i < TENANTS; i++)
        assert_non_null(table_find(&w->jobs->table, ids[i]));
    assert_in_range(bytes_of(w, "much"), LARGE, 2 * LARGE);
    recount(w, NULL);
    unsigned told = 0, pages = 0;
    for (uint64_t at = 0; at != UINT64_MAX; pages++)
        for (const char *t = page(w, &at); (t = strstr(t, "'tenant': ")); t++)
            told++;
    assert_int_equal(told, TENANTS + 1);
    assert_in_range(pages, 3, 10);
    jobs_world_pass(w, AO_S(3601));
    assert_null(kept_most(&w->jobs->table.kept));
    assert_int_equal(kept_bytes(w->jobs->table.kept.bytes), 0);
}

/* --- Across restarts --- */

static void fill(struct jobs_world *w)
{
    for (unsigned i = 0; i < 3; i++)
        end_one(w, "little", 1000, DURABLE_ASYNC);
    for (unsigned i = 0; i < 8; i++)
        end_one(w, "much", LARGE, DURABLE_ASYNC);
    struct job_spec spec = of_size("little", 500);
    spec.delay = AO_S(60);
    spec.durable = DURABLE_ASYNC;
    jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
}

static void counts_are_right(struct jobs_world *w)
{
    recount(w, NULL);
    recount(w, tenant(w, "little"));
    recount(w, tenant(w, "much"));
    assert_ptr_equal(kept_most(&w->jobs->table.kept), &tenant(w, "much")->kept);
    assert_int_equal(tenant(w, "little")->open, 1);
    assert_int_equal(tenant(w, "little")->kept.jobs[KEPT_WELL].count, 3);
}

STORED_TEST(what_each_tenant_keeps_is_counted_again_after_a_crash)
{
    fill(w);
    counts_are_right(w);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    counts_are_right(w);
}

STORED_TEST(a_restart_with_less_room_takes_it_from_who_keeps_the_most)
{
    fill(w);
    w->options.settings.limits.kept_bytes = 4 * LARGE;
    jobs_world_restart(w);
    jobs_world_pass(w, AO_S(1));
    counts_are_right(w);
    assert_in_range(kept_bytes(w->jobs->table.kept.bytes), 2 * LARGE, 4 * LARGE);
    stage_balances(w);
}

/* What is tried again is open again, and is its tenant's as such. */
STORED_TEST(what_is_tried_again_is_not_kept_meanwhile)
{
    w->lasts = AO_NEVER;
    uint64_t id = jobs_world_submit(w, &WORK(.tenant = span_text("one"), .durable = DURABLE_ASYNC));
    jobs_world_pass(w, AO_MS(10));
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_MS(10));
    assert_true(bytes_of(w, "one") > 0);
    assert_true(world_retry(w, world_job(w, id)));
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(bytes_of(w, "one"), 0);
    recount(w, tenant(w, "one"));
    assert_null(kept_most(&w->jobs->table.kept));
}
