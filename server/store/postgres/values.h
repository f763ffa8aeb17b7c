/* Parameters of statements in PostgreSQL's binary form: fields of structures, one by one or as
 * arrays, and values of results.  Zero and empty fields are NULL.
 *
 * Thread: one at a time.  Nothing blocks. */
#ifndef ERGON_STORE_POSTGRES_VALUES_H
#define ERGON_STORE_POSTGRES_VALUES_H

#include "server/store/postgres/connection.h"
#include "server/store/rows.h"

struct values {
    uint8_t *at; /* malloc'ed; values_free() */
    size_t len, room;
    bool failed; /* there was no memory: the parameters are not to be used */
    struct params params;
    size_t from[PARAMS_MAX];
};

void values_begin(struct values *v); /* no parameters yet */
void values_free(struct values *v);

/* The field of `column` of each of the rows, as one array.  `clean`: bytes that no text of
 * PostgreSQL can have are replaced, in texts that are for people. */
void values_array(struct values *v, const struct store_column *column, const void *const *rows,
                  uint32_t count, const struct row_names *names, bool clean);
/* The field of one row. */
void values_field(struct values *v, const struct store_column *column, const void *row,
                  const struct row_names *names);
/* A whole row as COPY has it, not as a parameter. */
void values_copy_row(struct values *v, const struct store_table *t, const void *row,
                     const struct row_names *names);
void values_number(struct values *v, int64_t number); /* bigint, also where it is 0 */
void values_bool(struct values *v, bool value);
void values_text(struct values *v, const char *text);

/* The finished parameters, valid until the next change; NULL: there was no memory. */
const struct params *values_end(struct values *v);

/* --- Values of results, in the order of the network; `len` is -1 where one is NULL --- */
uint64_t value_number(const char *at, int len); /* of 1, 2, 4 or 8 bytes, signed */
/* Into the field of `column`; a span points to `at`.  False: the field cannot hold it. */
bool value_take(const struct store_column *column, const char *at, int len, void *row,
                const struct row_names *names);

#endif
