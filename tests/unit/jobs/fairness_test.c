/* Whose turn it is, seen from outside: starts counted in the order in which they come. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_world.h"

enum { STARTS = 8000 };

struct starts {
    struct jobs_world w;
    uint64_t ids[STARTS];
    uint32_t count;
};

static void note_start(void *arg, struct world_run *r, ao_time *lasts)
{
    struct starts *s = arg;
    if (s->count < STARTS)
        s->ids[s->count++] = r->run.id;
}

static int open_world(void **state)
{
    static struct starts s;
    s.count = 0;
    jobs_world_init(&s.w);
    s.w.quiet = true;
    s.w.begun = note_start;
    s.w.arg = &s;
    *state = &s;
    return 0;
}

static int close_world(void **state)
{
    struct starts *s = *state;
    jobs_world_fini(&s->w);
    return 0;
}

#define FAIR_TEST(name) TEST_OF(struct starts *s, NULL, open_world, close_world, name)

static uint64_t submit_of(struct jobs_world *w, const char *tenant)
{
    return jobs_world_submit(w, &WORK(.tenant = span_text(tenant)));
}

FAIR_TEST(a_new_tenant_is_next_beside_a_hundred_thousand)
{
    static const char *const tenants[] = {"b", "c", "d", "e", "f", "g", "h", "i", "j"};
    struct jobs_world *w = &s->w;
    jobs_world_open(w);
    for (unsigned i = 0; i < 100000; i++)
        submit_of(w, "a");
    jobs_world_settle(w);
    for (unsigned i = 0; i < 9; i++) {
        for (unsigned k = 0; k < 7; k++) { /* the crowd is being served */
            world_finish(w->runs, "\x01");
            jobs_world_settle(w);
        }
        uint64_t id = submit_of(w, tenants[i]);
        uint32_t before = s->count;
        for (unsigned k = 0; k < 2 && s->ids[s->count - 1] != id; k++) {
            world_finish(w->runs, "\x01");
            jobs_world_settle(w);
        }
        assert_int_equal(s->ids[s->count - 1], id);
        assert_true(s->count - before <= 2);
    }
}

FAIR_TEST(a_new_tenant_is_next_beside_a_backlog_that_has_aged)
{
    struct jobs_world *w = &s->w;
    jobs_world_open(w);
    for (unsigned i = 0; i < 60000; i++)
        submit_of(w, "a");
    jobs_world_pass(w, AO_S(12));
    uint64_t id = submit_of(w, "b");
    uint32_t before = s->count;
    while (s->ids[s->count - 1] != id && s->count - before < 2) {
        world_finish(w->runs, "\x01");
        jobs_world_settle(w);
    }
    assert_int_equal(s->ids[s->count - 1], id);
}

FAIR_TEST(weights_hold)
{
    static const struct jobs_tenant tenants[] = {{"one", 1}, {"two", 2}, {"four", 4}};
    struct jobs_world *w = &s->w;
    uint32_t started[3] = {0};
    w->options.tenants = tenants;
    w->options.tenant_count = 3;
    w->lasts = AO_MS(1);
    jobs_world_open(w);
    for (unsigned i = 0; i < 7000; i++)
        for (unsigned k = 0; k < 3; k++)
            submit_of(w, tenants[k].name);
    while (s->count < 7000)
        jobs_world_pass(w, AO_MS(100));
    for (unsigned i = 0; i < 7000; i++)
        started[(s->ids[i] - w->first_id) % 3]++;
    for (unsigned k = 0; k < 3; k++) {
        double share = started[k] / (1000.0 * tenants[k].weight);
        assert_true(share > 0.95 && share < 1.05);
    }
}

FAIR_TEST(the_higher_priority_goes_first)
{
    struct jobs_world *w = &s->w;
    struct job_spec spec = WORK();
    uint64_t ids[10];
    jobs_world_open(w);
    w->room[1] = 0;
    for (uint8_t p = 0; p < 10; p++) {
        spec.priority = p;
        ids[p] = jobs_world_submit(w, &spec);
    }
    w->lasts = 0;
    w->room[1] = 1;
    job_source_wake(w->options.tasks, POOL_BLOCKING);
    jobs_world_settle(w);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(s->ids[i], ids[9 - i]);
}

/* Beside a stream that alone would keep the executor busy for ever. */
FAIR_TEST(the_lowest_priority_comes_at_last)
{
    struct jobs_world *w = &s->w;
    struct job_spec high = world_spec("work"), low = world_spec("work");
    unsigned seconds = 0;
    w->lasts = AO_S(1);
    jobs_world_open(w);
    high.priority = 9;
    low.priority = 0;
    jobs_world_submit(w, &high);
    jobs_world_submit(w, &high);
    uint64_t id = jobs_world_submit(w, &low);
    for (; world_state(w, id) == JOB_QUEUED && seconds < 1000; seconds++) {
        jobs_world_submit(w, &high);
        jobs_world_pass(w, AO_S(1));
    }
    assert_in_range(seconds, 89, 95);
}
