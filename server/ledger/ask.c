#include "server/ledger/ask.h"

#include <stdlib.h>

struct ask *ask_new(enum ask_verb verb)
{
    struct ask *a = calloc(1, sizeof *a);
    if (a)
        a->verb = verb;
    return a;
}

static void free_outcomes(struct ask *a)
{
    for (uint32_t i = 0; a->outcomes && i < a->order_count; i++)
        free(a->outcomes[i].text);
    free(a->outcomes);
}

void ask_free(struct ask *a)
{
    if (!a)
        return;
    free_outcomes(a);
    pack_fini(&a->result);
    free(a->memory);
    free(a);
}
