#include "server/ledger/ask.h"

#include <stdlib.h>

static bool submits(enum ask_verb verb)
{
    return verb <= ASK_CALL;
}

struct ask *ask_new(struct slab *cells, enum ask_verb verb)
{
    struct ask *a = cells ? slab_take(cells) : malloc(sizeof *a);
    if (!a)
        return NULL;
    memset(a, 0, submits(verb) ? offsetof(struct ask, outcome) : offsetof(struct ask, room));
    a->cells = cells;
    a->verb = verb;
    a->code[0] = a->text[0] = '\0';
    return a;
}

static void free_outcomes(struct ask *a)
{
    for (uint32_t i = 0; a->outcomes && i < a->order_count; i++)
        free(a->outcomes[i].text);
    if (a->outcomes != &a->outcome)
        free(a->outcomes);
}

void ask_free(struct ask *a)
{
    if (!a)
        return;
    free_outcomes(a);
    pack_fini(&a->result);
    free(a->memory);
    if (a->cells)
        slab_give(a->cells, a);
    else
        free(a);
}

uint8_t *ask_room(struct ask *a, size_t bytes)
{
    if (bytes <= sizeof a->room)
        return a->room;
    a->memory = malloc(bytes);
    return a->memory;
}

struct span ask_result(const struct ask *a)
{
    return a->short_result > 0 ? span_of(a->text, a->short_result) : pack_bytes(&a->result);
}
