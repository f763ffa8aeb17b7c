#include "tests/support/jobs_stage.h"

#include "tests/support/cmocka_env.h"

static struct jobs_world world;

int jobs_stage(void **state)
{
    jobs_world_init(&world);
    jobs_world_open(&world);
    *state = &world;
    return 0;
}

int jobs_stage_stored(void **state)
{
    jobs_world_init(&world);
    jobs_world_keep_store(&world);
    jobs_world_open(&world);
    *state = &world;
    return 0;
}

int jobs_stage_end(void **state)
{
    jobs_world_fini(*state);
    return 0;
}

void stage_holds(const char *told, const char *wanted)
{
    if (!strstr(told, wanted))
        fail_msg("%s\ndoes not hold: %s", told, wanted);
}

void stage_balances(struct jobs_world *w)
{
    const struct store_counts *c = &w->store->rows.counts;
    struct operation *a = world_ask(w, &operation_audit);
    world_give(w, a);
    jobs_world_pass(w, AO_MS(10));
    assert_true(world_answered(w, a));
    assert_memory_equal(operation_result(a).at,
                        "\x86\xa8"
                        "balanced"
                        "\xc3",
                        11);
    assert_int_equal(c->submitted, w->jobs->table.durable.submitted);
    assert_int_equal(c->done, w->jobs->table.durable.ended[JOB_DONE]);
}
