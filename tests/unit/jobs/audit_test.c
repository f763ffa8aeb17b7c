/* server.audit takes small steps, and what happens between them does not disturb it. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"
#include "tests/support/random.h"

enum {
    MANY = 5000, /* several steps */
    ROUNDS = 30, /* of deeds between two moments */
    DEEDS = 20,  /* a round */
    ROWS_AT_ONCE = 300,
    AUDITS = 6
};

/* Does random things to tasks, round after round, while an audit is under way. */
struct churn {
    struct jobs_world *w;
    struct ao ao;
    uint64_t seed;
    uint64_t first, last; /* ids */
    unsigned rounds;
};

static uint64_t submit_one(struct churn *c)
{
    struct job_spec spec = world_spec("work");
    spec.durable = (uint8_t)chance(&c->seed, 3);
    spec.delay = chance(&c->seed, 2) ? AO_S(1000) : 0;
    spec.keep = chance(&c->seed, 3) ? AO_S(100) : 0;
    return jobs_world_submit(c->w, &spec);
}

static void deed(struct churn *c)
{
    struct job *e = world_job(c->w, c->first + chance(&c->seed, c->last - c->first + 1));
    switch (chance(&c->seed, 4)) {
    case 0:
        c->last = submit_one(c);
        return;
    case 1:
        if (c->w->runs)
            world_finish(c->w->runs, "\x2a");
        return;
    case 2:
        if (e && !job_state_open((enum job_state)e->state) && e->state != JOB_DONE)
            world_retry(c->w, e);
        return;
    default:
        if (e)
            world_cancel(c->w, e);
        return;
    }
}

static enum ao_verdict churn_step(struct ao *self)
{
    struct churn *c = ao_of(self, struct churn, ao);
    for (unsigned i = 0; i < DEEDS; i++)
        deed(c);
    if (++c->rounds % ROUNDS != 0)
        return AO_AGAIN;
    ao_sleep_for(self, AO_MS(1) / 4);
    return AO_PARK;
}

static const struct ao_class churn_class = {.name = "churn", .step = churn_step};

static void expect_balance(const struct operation *op)
{
    static char text[4000];
    assert_int_equal(op->reply.error, ERGON_OK);
    stage_holds(notation_show(pack_bytes(&op->reply.result), text, sizeof text),
                "'balanced': true");
}

static void fill(struct churn *c, struct jobs_world *w)
{
    *c = (struct churn){.w = w, .seed = 7};
    w->quiet = true;
    w->room[1] = 8;
    for (unsigned i = 0; i < MANY; i++) {
        c->last = submit_one(c);
        c->first = c->first ? c->first : c->last;
    }
    jobs_world_pass(w, AO_S(1));
}

STORED_TEST(what_happens_meanwhile_is_counted)
{
    struct churn c;
    struct operation *audits[AUDITS];
    w->store->rows.count_rows = ROWS_AT_ONCE;
    fill(&c, w);
    ao_init(&c.ao, &churn_class, w->manager);
    ao_activate(&c.ao);
    for (unsigned i = 0; i < AUDITS; i++) {
        audits[i] = world_operation(w, &operation_server_audit);
        world_give(w, audits[i]);
        assert_false(world_answered(w, audits[i]));
        jobs_world_pass(w, i % 2 ? AO_MS(1) : AO_MS(50)); /* two are answered together */
    }
    ao_deactivate(&c.ao);
    ao_fini(&c.ao);
    jobs_world_pass(w, AO_S(1));
    for (unsigned i = 0; i < AUDITS; i++)
        expect_balance(audits[i]);
}

STORED_TEST(others_go_on_while_it_counts)
{
    struct churn c;
    fill(&c, w);
    struct operation *audit = world_operation(w, &operation_server_audit),
                     *list = world_operation(w, &operation_queue_list);
    channel_give(w->channel, audit);
    channel_give(w->channel, list);
    jobs_world_pass(w, AO_S(1));
    assert_ptr_equal(w->operations[w->answered - 2], list);
    assert_ptr_equal(w->operations[w->answered - 1], audit);
    expect_balance(audit);
}

STORED_TEST(a_difference_is_found)
{
    struct churn c;
    static char text[4000];
    w->store->rows.count_rows = ROWS_AT_ONCE;
    fill(&c, w);
    w->store->rows.counts.done++;
    w->jobs->table.durable.ended[JOB_DONE]++;
    struct operation *op = world_operation(w, &operation_server_audit);
    world_give(w, op);
    jobs_world_pass(w, AO_S(1));
    notation_show(pack_bytes(&op->reply.result), text, sizeof text);
    stage_holds(text, "'balanced': false");
    stage_holds(text, "'durable tasks: ");
    stage_holds(text, "'store: ");
}

STORED_TEST(a_store_that_cannot_be_asked_is_no_difference)
{
    static char text[4000];
    w->store->error = STORE_IO;
    struct operation *op = world_operation(w, &operation_server_audit);
    world_give(w, op);
    jobs_world_pass(w, AO_S(1));
    notation_show(pack_bytes(&op->reply.result), text, sizeof text);
    stage_holds(text, "'balanced': nil");
    stage_holds(text, "'store': nil, 'differences': [], 'store_error': 'the store's file cannot ");
    w->jobs->table.in_memory.submitted++;
    op = world_operation(w, &operation_server_audit);
    world_give(w, op);
    jobs_world_pass(w, AO_S(1));
    notation_show(pack_bytes(&op->reply.result), text, sizeof text);
    stage_holds(text, "'balanced': false");
    w->jobs->table.in_memory.submitted--;
}

STORED_TEST(one_under_way_at_the_end_is_answered)
{
    struct churn c;
    w->store->rows.count_rows = ROWS_AT_ONCE;
    fill(&c, w);
    struct operation *op = world_operation(w, &operation_server_audit);
    world_give(w, op);
    assert_false(world_answered(w, op));
    jobs_world_restart(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_DRAINING);
}
