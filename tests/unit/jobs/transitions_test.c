/* What a transition does to a job and its table, and what it leaves to be done: with no store, no
 * executors and nobody who waits. */
#include <stdlib.h>
#include <string.h>

#include "server/jobs/core/walk.h"
#include "server/jobs/core/transitions.h"
#include "server/tasks/registry.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/death.h"
#include "tests/support/random.h"
#include "tests/support/virtual.h"

static struct world {
    struct virtual v;
    struct registry *registry;
    struct job_table table;
} w;

static enum ao_verdict never(struct ao *self)
{
    return AO_DONE;
}

static const struct ao_class timer_class = {
    .name = "job", .step = never, .retired = job_timer_retired};

static uint64_t wall(void *arg)
{
    return 1000 + w.v.now;
}

static int begin(void **state)
{
    virtual_init(&w.v);
    w.registry = registry_new();
    const struct job_table_options options = {.activator = virtual_open(&w.v, "jobs"),
                                              .timer_class = &timer_class,
                                              .registry = w.registry,
                                              .wall = wall,
                                              .history_max = 10};
    table_init(&w.table, &options);
    w.table.next_id = 1;
    return 0;
}

static int end(void **state)
{
    unsigned effects;
    while (job_next_effect(&w.table, &effects))
        ;
    while (w.table.first)
        job_free(&w.table, w.table.first);
    table_fini(&w.table);
    registry_free(w.registry);
    virtual_fini(&w.v);
    return 0;
}

#define TRANSITIONS_TEST(name) TEST_WITH(begin, end, name)

static struct job *make_of(const char *method, enum job_durable durable)
{
    struct job_spec spec;
    job_spec_init(&spec);
    spec.method = span_text(method);
    spec.tenant = span_text("");
    spec.params = span_text("\xc0");
    spec.durable = (uint8_t)durable;
    struct job *job = job_new(&w.table, &spec, w.table.next_id++);
    assert_non_null(job);
    table_enter(&w.table, job);
    return job;
}

static struct job *make(enum job_durable durable)
{
    return make_of("work", durable);
}

/* The effects of this job, which is to be the only one that has any. */
static unsigned effects_of(const struct job *job)
{
    unsigned effects = 0, none;
    const struct job *first = job_next_effect(&w.table, &effects);
    assert_true(!first || first == job);
    assert_null(job_next_effect(&w.table, &none));
    return effects;
}

TRANSITIONS_TEST(a_first_place_in_memory_sets_the_timer_alone)
{
    struct job *job = make(DURABLE_NONE);
    job_set_state(&w.table, job, JOB_QUEUED, JOB_WHY_TURN);
    assert_int_equal(effects_of(job), EFFECT_TIMER);
    assert_int_equal(job->queue->by_state[JOB_QUEUED], 1);
    assert_int_equal(counter_read(&w.table.by_state[JOB_QUEUED]), 1);
    assert_int_equal(history_next(job), 2);
}

TRANSITIONS_TEST(a_durable_job_is_written_when_its_row_says_something_else)
{
    struct job *job = make(DURABLE_ASYNC);
    job_set_state(&w.table, job, JOB_QUEUED, JOB_WHY_TURN);
    assert_int_equal(effects_of(job), EFFECT_WRITE | EFFECT_TIMER);
    job->row = (uint8_t)job_row_state(job); /* as who writes it does */
    job_set_state(&w.table, job, JOB_DELAYED, JOB_WHY_DELAY);
    assert_int_equal(effects_of(job), EFFECT_HISTORY | EFFECT_TIMER);
    job_set_state(&w.table, job, JOB_QUEUED, JOB_WHY_TURN);
    assert_int_equal(effects_of(job), EFFECT_HISTORY | EFFECT_TIMER);
    job_set_state(&w.table, job, JOB_ASSIGNED, JOB_WHY_ASSIGNED);
    assert_int_equal(effects_of(job), EFFECT_TIMER);
    job_set_state(&w.table, job, JOB_RUNNING, JOB_WHY_RUNNING);
    assert_int_equal(effects_of(job), EFFECT_WRITE | EFFECT_TIMER);
    job->row = (uint8_t)job_row_state(job);
    job->row_attempt = job->attempt;
    job->attempt++;
    job_set_state(&w.table, job, JOB_PARKED, JOB_WHY_PARKED);
    assert_int_equal(effects_of(job), EFFECT_WRITE | EFFECT_TIMER);
}

TRANSITIONS_TEST(an_end_is_counted_and_dated_and_waits_for_its_consequences)
{
    struct job *job = make(DURABLE_NONE);
    struct history_event event;
    job_set_state(&w.table, job, JOB_QUEUED, JOB_WHY_TURN);
    job_set_state(&w.table, job, JOB_ASSIGNED, JOB_WHY_ASSIGNED);
    job_set_state(&w.table, job, JOB_DONE, JOB_WHY_ENDED);
    assert_int_equal(effects_of(job), EFFECT_HISTORY | EFFECT_ENDED | EFFECT_TIMER);
    assert_int_equal(w.table.in_memory.ended[JOB_DONE], 1);
    assert_int_equal(job->queue->done, 1);
    assert_int_equal(job->ended, 1000);
    assert_true(history_get(job, 2, &event));
    assert_int_equal(event.what, JOB_EVENT_DONE);
    assert_null(
        job->list); /* it is kept, and whoever waits is answered, when effects are applied */
}

TRANSITIONS_TEST(a_job_stands_once_among_those_with_effects_whatever_happened_to_it)
{
    struct job *one = make(DURABLE_NONE), *two = make(DURABLE_NONE);
    unsigned effects;
    job_set_state(&w.table, one, JOB_QUEUED, JOB_WHY_TURN);
    job_set_state(&w.table, two, JOB_QUEUED, JOB_WHY_TURN);
    job_set_state(&w.table, one, JOB_WAITING, JOB_WHY_LIMIT);
    job_effect(&w.table, one, EFFECT_SAVED);
    assert_ptr_equal(job_next_effect(&w.table, &effects), one);
    assert_int_equal(effects, EFFECT_HISTORY | EFFECT_TIMER | EFFECT_SAVED);
    assert_ptr_equal(job_next_effect(&w.table, &effects), two);
    assert_null(job_next_effect(&w.table, &effects));
}

TRANSITIONS_TEST(what_is_read_back_is_neither_counted_nor_noted)
{
    struct job *job = make(DURABLE_FSYNC);
    w.table.recovering = true;
    job->ended = 500;
    job->row = JOB_FAILED;
    job_set_state(&w.table, job, JOB_FAILED, JOB_WHY_ENDED);
    assert_int_equal(effects_of(job), EFFECT_ENDED);
    assert_int_equal(w.table.durable.ended[JOB_FAILED], 0);
    assert_int_equal(history_next(job), 2);
    assert_int_equal(job->ended, 500);
}

TRANSITIONS_TEST(a_census_counts_what_changes_behind_it)
{
    struct job *jobs[4];
    struct job_census census;
    for (int i = 0; i < 4; i++) {
        jobs[i] = make(DURABLE_NONE);
        job_set_state(&w.table, jobs[i], JOB_QUEUED, JOB_WHY_TURN);
    }
    job_census_begin(&census, w.table.first);
    w.table.census = &census;
    assert_false(job_census_walk(&census, 2));
    job_set_state(&w.table, jobs[0], JOB_ASSIGNED, JOB_WHY_ASSIGNED); /* behind */
    job_set_state(&w.table, jobs[3], JOB_CANCELLED, JOB_WHY_ENDED);   /* before */
    assert_true(job_census_walk(&census, 10));
    assert_int_equal(census.states[JOB_QUEUED], 2);
    assert_int_equal(census.states[JOB_ASSIGNED], 1);
    assert_int_equal(census.states[JOB_CANCELLED], 1);
    assert_int_equal(census.open[0], 3);
    w.table.census = NULL;
}

static void back_from_done(void *arg)
{
    job_set_state(&w.table, arg, JOB_QUEUED, JOB_WHY_TURN);
}

TRANSITIONS_TEST(what_is_done_stays_done)
{
    struct job *job = make(DURABLE_NONE);
    job_set_state(&w.table, job, JOB_DONE, JOB_WHY_ENDED);
    expect_broken_assert(back_from_done, job, "moves[was] & 1 << state");
}

/* --- The oldest open job of a queue --- */

static struct job *queued(const char *method)
{
    struct job *job = make_of(method, DURABLE_NONE);
    job->created = 1000 + job->id;
    job_set_state(&w.table, job, JOB_QUEUED, JOB_WHY_TURN);
    return job;
}

static uint64_t oldest_of(const struct job *job)
{
    return counter_read(&job->queue->open.oldest);
}

TRANSITIONS_TEST(the_oldest_open_job_of_a_queue_is_known_whatever_stands_before_it)
{
    enum { OTHERS = 10000 };
    for (int i = 0; i < OTHERS; i++)
        queued("other");
    struct job *first = queued("work"), *second = queued("work");
    assert_int_equal(oldest_of(first), first->created);
    job_set_state(&w.table, first, JOB_ASSIGNED, JOB_WHY_ASSIGNED);
    assert_int_equal(oldest_of(first), first->created);
    job_set_state(&w.table, first, JOB_DEAD, JOB_WHY_ENDED);
    assert_int_equal(oldest_of(first), second->created);
    job_set_state(&w.table, second, JOB_DONE, JOB_WHY_ENDED);
    assert_int_equal(oldest_of(first), 0);
    job_set_state(&w.table, first, JOB_QUEUED, JOB_WHY_TURN);
    assert_int_equal(oldest_of(first), first->created);
}

TRANSITIONS_TEST(one_that_is_tried_again_stands_where_it_stood)
{
    struct job *jobs[5];
    for (unsigned i = 0; i < 5; i++) {
        jobs[i] = queued("work");
        job_set_state(&w.table, jobs[i], JOB_FAILED, JOB_WHY_ENDED);
    }
    static const unsigned order[] = {2, 4, 0, 1, 3};
    for (unsigned i = 0; i < 5; i++)
        job_set_state(&w.table, jobs[order[i]], JOB_QUEUED, JOB_WHY_TURN);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(oldest_of(jobs[i]), jobs[i]->created);
        job_set_state(&w.table, jobs[i], JOB_DEAD, JOB_WHY_ENDED);
    }
}

/* What the counter says is what a look at all jobs finds. */
static void check_oldest(const struct job_queue *queue)
{
    const struct job *job = w.table.first;
    while (job && (job->queue != queue || job->state == JOB_NEW ||
                   !job_state_open((enum job_state)job->state)))
        job = job->all_next;
    assert_int_equal(counter_read(&queue->open.oldest), job ? job->created : 0);
}

static void move_on(struct job *job, uint64_t *seed)
{
    if (job->state == JOB_QUEUED)
        job_set_state(&w.table, job, JOB_ASSIGNED, JOB_WHY_ASSIGNED);
    else if (job->state == JOB_ASSIGNED && chance(seed, 3))
        job_set_state(&w.table, job, JOB_DEAD, JOB_WHY_ENDED);
    else
        job_set_state(&w.table, job, JOB_QUEUED, JOB_WHY_TURN);
}

TRANSITIONS_TEST(the_oldest_is_the_oldest_whatever_happens)
{
    enum { JOBS = 60, STEPS = 20000 };
    static const char *const methods[] = {"work", "step", "late"};
    struct job *jobs[JOBS] = {0};
    uint64_t seed = 11;
    unsigned effects;
    for (int i = 0; i < STEPS; i++) {
        struct job **job = &jobs[chance(&seed, JOBS)];
        if (!*job) {
            *job = queued(methods[chance(&seed, 3)]);
        } else if (chance(&seed, 20) == 0) {
            while (job_next_effect(&w.table, &effects))
                ;
            job_free(&w.table, *job);
            *job = NULL;
        } else {
            move_on(*job, &seed);
        }
        for (const struct job_queue *q = w.table.queues; q; q = q->next)
            check_oldest(q);
    }
}
