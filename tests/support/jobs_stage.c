#include "tests/support/jobs_stage.h"

#include "server/jobs/persist/codec.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/notation.h"

static struct jobs_world world;

int jobs_stage_open(void **state)
{
    const struct jobs_stage *stage = *state;
    jobs_world_init(&world);
    world.quiet = stage->quiet;
    if (stage->room > 0)
        world.room[1] = stage->room;
    world.options.store_require = stage->require;
    if (stage->stored)
        jobs_world_keep_store(&world);
    if (stage->stored)
        world.store->require = stage->require;
    if (stage->replicates)
        world.store->level = world.store->level_most = STORE_LEVEL_REPLICATED;
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

uint64_t stage_submit_after(struct jobs_world *w, const uint64_t *ids, uint32_t count)
{
    return jobs_world_submit(w, &WORK(.after = ids, .after_count = count));
}

uint64_t stage_submit(struct jobs_world *w)
{
    uint64_t id = stage_submit_after(w, NULL, 0);
    jobs_world_settle(w);
    return id;
}

struct operation *stage_call(struct jobs_world *w, struct job_spec *spec)
{
    struct operation *op = world_operation(w, &operation_task_call);
    op->submission.specs = spec;
    op->submission.count = 1;
    world_give(w, op);
    return op;
}

void stage_holds(const char *text, const char *wanted)
{
    if (!strstr(text, wanted))
        fail_msg("%s\ndoes not hold: %s", text, wanted);
}

void stage_says(const struct operation *op, const char *wanted)
{
    char text[4096];
    assert_int_equal(op->reply.error, ERGON_OK);
    stage_holds(notation_show(operation_result(op), text, sizeof text), wanted);
}

static uint64_t rows_there(const struct memory_rows *m)
{
    uint64_t there = 0;
    for (uint32_t i = 0; i < m->row_count; i++)
        there += m->rows[i].there;
    return there;
}

void stage_balances(struct jobs_world *w)
{
    const struct store_counts *c = &w->store->rows.counts;
    struct operation *op = world_operation(w, &operation_server_audit);
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
    assert_int_equal(counter_read(&w->jobs->table.shown_durable), rows_there(&w->store->rows));
}

struct store_op *stage_hoard_writes(struct jobs_world *w)
{
    struct store_op *hoard = NULL, *write;
    heap_fail_at(1);
    while ((write = codec_write_new(w->jobs, STORE_SYNC, 0, NULL))) {
        write->next = hoard;
        hoard = write;
    }
    assert_true(heap_failed());
    heap_fail_at(0);
    return hoard;
}

void stage_give_writes(struct jobs_world *w, struct store_op *hoard)
{
    for (struct store_op *next; hoard; hoard = next) {
        next = hoard->next;
        codec_write_free(w->jobs, hoard);
    }
}
