/* Rows that are read by their key while the server runs: those of tables with `by_key`. */
#include <stdlib.h>

#include "server/store/chunk.h"
#include "server/store/sqlite/sqlite_parts.h"

static bool is_text(const struct store_column *c)
{
    return c->kind == COLUMN_TEXT || c->kind == COLUMN_BLOB;
}

static size_t size_of_spans(const struct store_table *t, const uint8_t *row)
{
    size_t size = 0;
    for (uint32_t n = 0; n < t->count; n++)
        if (is_text(&t->columns[n]) && t->columns[n].key == KEY_NONE)
            size += ((const struct span *)(row + t->columns[n].at))->len;
    return size;
}

/* The key stays the client's: the batch may have to be applied again. */
static int take(struct store_op *op, const uint8_t *row)
{
    size_t size = size_of_spans(op->table, row);
    uint8_t *to = size > 0 ? realloc(op->bytes, size) : op->bytes;
    if (size > 0 && !to)
        return SQLITE_NOMEM;
    op->bytes = to;
    op->found = true;
    for (uint32_t n = 0; n < op->table->count; n++) {
        const struct store_column *c = &op->table->columns[n];
        if (c->key != KEY_NONE)
            continue;
        memcpy(op->row + c->at, row + c->at, row_field_size(c->kind));
        struct span *field = (struct span *)(op->row + c->at);
        if (!is_text(c) || field->len == 0)
            continue;
        memcpy(to, field->at, field->len);
        *field = span_of(to, field->len);
        to += field->len;
    }
    return SQLITE_OK;
}

static int get_one(struct sqlite_store *s, struct store_op *op)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    int rc = SQLITE_OK;
    const struct table_statements *of = statements_of(&s->statements, op->table, &rc);
    op->found = false;
    if (of)
        rc = row_bind_key(of->get, op->table, op->row, &s->names);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(of->get);
    if (rc == SQLITE_ROW)
        rc = row_read(of->get, 0, op->table, row, &s->names) ? SQLITE_MISMATCH : take(op, row);
    sqlite3_reset(of->get);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int add_rows(struct sqlite_store *s, struct store_op *op, sqlite3_stmt *st)
{
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
        if (row_read(st, 0, op->table, row, &s->names))
            return SQLITE_MISMATCH;
        if (!store_chunk_row(op->chunk, op->table, row))
            return SQLITE_NOMEM;
    }
    return rc;
}

static int get_page(struct sqlite_store *s, struct store_op *op)
{
    int rc = SQLITE_OK;
    const struct table_statements *of = statements_of(&s->statements, op->table, &rc);
    if (of)
        rc = row_bind_key(of->page, op->table, op->row, &s->names);
    if (rc != SQLITE_OK)
        return rc;
    if (op->chunk)
        store_chunk_clear(op->chunk);
    else if (!(op->chunk = store_chunk_new()))
        return SQLITE_NOMEM;
    sqlite3_bind_int64(of->page, sqlite3_bind_parameter_count(of->page), op->limit);
    rc = add_rows(s, op, of->page);
    sqlite3_reset(of->page);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int row_get(struct sqlite_store *s, struct store_op *op)
{
    return op->kind == STORE_ROW_PAGE ? get_page(s, op) : get_one(s, op);
}
