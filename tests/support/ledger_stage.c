#include "tests/support/ledger_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct ledger_world world;

int ledger_stage(void **state)
{
    ledger_world_init(&world);
    ledger_world_open(&world);
    *state = &world;
    return 0;
}

int ledger_stage_stored(void **state)
{
    ledger_world_init(&world);
    ledger_world_keep_store(&world);
    ledger_world_open(&world);
    *state = &world;
    return 0;
}

int ledger_stage_end(void **state)
{
    ledger_world_fini(*state);
    return 0;
}

void stage_holds(const char *told, const char *wanted)
{
    if (!strstr(told, wanted))
        fail_msg("%s\ndoes not hold: %s", told, wanted);
}

void stage_balances(struct ledger_world *w)
{
    const struct store_counts *c = &w->store->rows.counts;
    struct ask *a = world_ask(w, ASK_AUDIT);
    world_give(w, a);
    ledger_world_pass(w, AO_MS(10));
    assert_true(world_answered(w, a));
    assert_memory_equal(ask_result(a).at,
                        "\x86\xa8"
                        "balanced"
                        "\xc3",
                        11);
    assert_int_equal(c->submitted, w->ledger->kept.submitted);
    assert_int_equal(c->done, w->ledger->kept.ended[LEDGER_DONE]);
}
