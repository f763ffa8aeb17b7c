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
