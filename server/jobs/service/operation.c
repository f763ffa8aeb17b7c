#include "server/jobs/service/operation.h"

#include <stdlib.h>

static bool submits(enum operation_kind verb)
{
    return verb <= OPERATION_CALL;
}

struct operation *operation_new(struct slab *cells, enum operation_kind verb)
{
    struct operation *op = cells ? slab_take(cells) : malloc(sizeof *op);
    if (!op)
        return NULL;
    memset(op, 0,
           submits(verb) ? offsetof(struct operation, outcome) : offsetof(struct operation, room));
    op->cells = cells;
    op->verb = verb;
    op->code[0] = op->text[0] = '\0';
    return op;
}

static void free_outcomes(struct operation *op)
{
    for (uint32_t i = 0; op->outcomes && i < op->spec_count; i++)
        free(op->outcomes[i].text);
    if (op->outcomes != &op->outcome)
        free(op->outcomes);
}

void operation_free(struct operation *op)
{
    if (!op)
        return;
    free_outcomes(op);
    pack_fini(&op->result);
    free(op->memory);
    if (op->cells)
        slab_give(op->cells, op);
    else
        free(op);
}

uint8_t *operation_room(struct operation *op, size_t bytes)
{
    if (bytes <= sizeof op->room)
        return op->room;
    op->memory = malloc(bytes);
    return op->memory;
}

struct span operation_result(const struct operation *op)
{
    return op->short_result > 0 ? span_of(op->text, op->short_result) : pack_bytes(&op->result);
}
