/* Rows of the model of PostgreSQL: as bytes, made by the maps of server/store/rows.h, in tables
 * that are sorted by their keys.  A row never changes; a change puts another one in its place, so
 * that snapshots and standbys share rows.
 *
 * Pure: no clock, no chance. */
#ifndef ERGON_SIM_PG_ROWS_H
#define ERGON_SIM_PG_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/store/rows.h"

/* The tables of row_database_tables by their indices, where the counters are part of ergon.owner;
 * and ergon.nodes. */
enum { PG_OWNER = ROW_DATABASE_TABLES - 1, PG_NODES = ROW_DATABASE_TABLES, PG_TABLES };

struct pg_row {
    uint32_t refs, key_len, len;
    bool gone;    /* in a transaction: the row of this key was deleted */
    uint8_t at[]; /* the key, then the row */
};

struct pg_key {
    uint32_t len;
    uint8_t at[512];
};

struct pg_table {
    struct pg_row **at; /* by their keys */
    uint32_t count, room;
};

struct pg_row *pg_row_new(const struct pg_key *key, const void *bytes, size_t len);
struct pg_row *pg_row_gone(const struct pg_key *key);
struct pg_row *pg_row_ref(struct pg_row *row);
void pg_row_unref(struct pg_row *row); /* NULL is fine */
const void *pg_row_bytes(const struct pg_row *row);

struct pg_key pg_key_number(uint64_t a);
struct pg_key pg_key_numbers(uint64_t a, uint64_t b);
struct pg_key pg_key_text(struct span text);

/* --- By a map --- */
/* NULL, or the SQLSTATE with which PostgreSQL refuses the row; `whole`: it is inserted, so that it
 * needs its key.  *out is the caller's. */
const char *pg_pack(const struct store_table *map, const void *row, bool whole,
                    struct pg_row **out);
/* Spans point into the row. */
void pg_unpack(const struct store_table *map, const struct pg_row *row, void *to);
void pg_copy_field(const struct store_column *column, void *to, const void *from);
int pg_table_index(const struct store_table *map); /* by its name */

/* --- Tables --- */
struct pg_row *pg_table_find(const struct pg_table *t, const struct pg_key *key);
void pg_table_put(struct pg_table *t, struct pg_row *row); /* takes the reference */
void pg_tables_copy(struct pg_table to[PG_TABLES], const struct pg_table from[PG_TABLES]);
void pg_tables_clear(struct pg_table *tables, int count);
/* Puts what a transaction changed into the tables, and clears it. */
void pg_tables_apply(struct pg_table to[PG_TABLES], const struct pg_table changes[PG_TABLES]);

/* --- What a transaction sees: its own changes before what is committed --- */
struct pg_sight {
    const struct pg_table *committed;
    struct pg_table *own; /* NULL: none */
};
const struct pg_row *pg_see(const struct pg_sight *s, int table, const struct pg_key *key);
/* The first row behind `after` (NULL: the first of all). */
const struct pg_row *pg_see_next(const struct pg_sight *s, int table, const struct pg_row *after);
const struct pg_row *pg_see_from(const struct pg_sight *s, int table, const struct pg_key *least);

#endif
