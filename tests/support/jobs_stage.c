#include "tests/support/jobs_stage.h"

#include "tests/support/cmocka_env.h"

static struct jobs_world world;

int jobs_stage_open(void **state)
{
    const struct jobs_stage *stage = *state;
    jobs_world_init(&world);
    world.quiet = stage->quiet;
    if (stage->room > 0)
        world.room[1] = stage->room;
    if (stage->stored)
        jobs_world_keep_store(&world);
    if (stage->latency > 0)
        world.store->latency = stage->latency;
    jobs_world_open(&world);
    *state = &world;
    return 0;
}

int jobs_stage_close(void **state)
{
    jobs_world_fini(*state);
    return 0;
}

void stage_holds(const char *text, const char *wanted)
{
    if (!strstr(text, wanted))
        fail_msg("%s\ndoes not hold: %s", text, wanted);
}

void stage_balances(struct jobs_world *w)
{
    const struct store_counts *c = &w->store->rows.counts;
    struct operation *op = world_operation(w, &operation_audit);
    world_give(w, op);
    jobs_world_pass(w, AO_MS(10));
    assert_true(world_answered(w, op));
    assert_memory_equal(operation_result(op).at,
                        "\x86\xa8"
                        "balanced"
                        "\xc3",
                        11);
    assert_int_equal(c->submitted, w->jobs->table.durable.submitted);
    assert_int_equal(c->done, w->jobs->table.durable.ended[JOB_DONE]);
}
