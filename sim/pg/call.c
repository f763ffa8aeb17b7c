#include "sim/pg/call.h"

#include <stdlib.h>

#include "base/check.h"

struct pg_call *pg_call_new(enum pg_kind kind)
{
    struct pg_call *call = calloc(1, sizeof *call);
    require(call != NULL, "no memory for a statement of the model");
    call->kind = kind;
    return call;
}

void pg_call_free(struct pg_call *call)
{
    if (!call)
        return;
    for (uint32_t n = 0; n < call->unit.count; n++) {
        pg_row_unref(call->unit.ops[n].row);
        pg_row_unref(call->unit.ops[n].options);
        pg_row_unref(call->unit.ops[n].life);
        pg_tables_clear(&call->unit.ops[n].found, 1);
    }
    free(call->unit.ops);
    if (call->snapshot)
        pg_tables_clear(call->snapshot, PG_TABLES);
    free(call->snapshot);
    free(call->view);
    free(call);
}

static void set_task(struct pg_op *op, const struct store_op *from)
{
    const struct store_task *task = &from->task;
    bool puts = op->kind == STORE_PUT, changes = op->kind == STORE_CHANGE;
    op->id = task->id;
    op->key = pg_key_number(op->id);
    op->durable = task->durable;
    op->anew = task->anew;
    op->settled = task->settled;
    op->first_life = changes && task->first_life;
    if (puts)
        op->wrong = pg_pack(&row_database_submissions, task, true, &op->row);
    if (!op->wrong && task->has_options && (puts || (changes && task->anew)))
        op->wrong = pg_pack(&row_options, task, true, &op->options);
    if (!op->wrong && (changes || (puts && row_has_life(task))))
        op->wrong = pg_pack(&row_lives, task, true, &op->life);
}

static void set_event(struct pg_op *op, const struct store_event *event)
{
    op->id = event->id;
    op->seq = event->seq;
    op->oldest = event->oldest;
    op->wrong = pg_pack(&row_events, event, true, &op->row);
}

bool pg_op_reads(enum store_kind kind)
{
    return kind == STORE_ROW_GET || kind == STORE_ROW_PAGE;
}

/* The key names a row that is removed or read. */
static void set_row(struct pg_op *op, const struct store_op *from)
{
    alignas(8) uint8_t key[STORE_ROW_MAX] = {0};
    const struct store_table *map = op->map = from->table;
    bool puts = from->kind == STORE_ROW_PUT;
    for (uint32_t n = 0; n < map->count; n++)
        if (map->columns[n].key != KEY_NONE)
            pg_copy_field(&map->columns[n], key, from->row);
    op->wrong = pg_pack(map, puts ? from->row : key, puts && !map->updates, &op->row);
}

void pg_op_set(struct pg_op *op, const struct store_op *from)
{
    *op = (struct pg_op){.kind = from->kind};
    switch (from->kind) {
    case STORE_PUT:
    case STORE_CHANGE:
    case STORE_REMOVE:
        set_task(op, from);
        return;
    case STORE_EVENT:
        set_event(op, &from->event);
        return;
    case STORE_ROW_PAGE:
        op->limit = from->limit;
        set_row(op, from);
        return;
    case STORE_ROW_PUT:
    case STORE_ROW_REMOVE:
    case STORE_ROW_GET:
        set_row(op, from);
        return;
    case STORE_SET_BACK:
        op->back = from->back;
        return;
    case STORE_COUNT:
        op->from = from->audit.from;
        return;
    case STORE_SYNC:
    case STORE_LOAD:
    case STORE_MARKS:
    case STORE_HAND_OVER:
    case STORE_GROUP: /* its members are operations of the unit */
        return;
    }
}
