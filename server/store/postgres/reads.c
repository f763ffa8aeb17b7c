#include "server/store/postgres/reads.h"

#include "server/store/chunk.h"

bool read_is(const struct store_op *op)
{
    return op->kind == STORE_ROW_GET || op->kind == STORE_ROW_PAGE;
}

bool read_begin(struct store_op *op)
{
    op->error = STORE_OK;
    if (op->kind == STORE_ROW_PAGE)
        return store_chunk_begin(&op->chunk);
    op->found = false;
    return true;
}

bool read_is_answer(const PGresult *result)
{
    return PQnfields(result) == 1 + (int)store_actors.count;
}

static struct store_op *read_of(struct answer *a, const struct unit *unit, uint64_t number)
{
    while (a->reads < number && a->read_at < unit->count)
        a->reads += read_is(unit->batch->ops[unit->from + a->read_at++]);
    return number > 0 && a->reads == number ? unit->batch->ops[unit->from + a->read_at - 1] : NULL;
}

static void take_row(struct postgres_store *s, struct store_op *op, const PGresult *r, int n)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    bool good = true;
    for (uint32_t c = 0; c < op->table->count && good; c++) {
        int at = (int)c + 1, len = PQgetisnull(r, n, at) ? -1 : PQgetlength(r, n, at);
        good = value_take(&op->table->columns[c], PQgetvalue(r, n, at), len, row, &s->names);
    }
    bool taken = good && (op->kind == STORE_ROW_PAGE ? store_chunk_row(op->chunk, op->table, row)
                                                     : row_take(op, row));
    if (!taken)
        op->error = good ? STORE_MEMORY : STORE_REFUSED;
}

void read_take(struct postgres_store *s, const PGresult *r)
{
    const struct unit *unit = s->sent_count > 0 ? &s->sent[0] : NULL;
    if (s->discards || s->must_settle || !unit || !unit->batch)
        return;
    for (int n = 0; n < PQntuples(r); n++) {
        uint64_t number = value_number(PQgetvalue(r, n, 0), PQgetlength(r, n, 0));
        struct store_op *op = read_of(&s->answer, unit, number);
        if (op)
            take_row(s, op, r, n);
    }
}

void read_lose(const struct unit *unit)
{
    for (uint32_t n = 0; unit->batch && n < unit->count; n++) {
        struct store_op *op = unit->batch->ops[unit->from + n];
        if (read_is(op))
            op->error = STORE_AWAY;
    }
}
