/* Rows that were read while the server serves: one piece of all, as a driver's load() read them on
 * the writer's thread, and as the client gets them with a STORE_LOAD.
 *
 * The order of all chunks together is that of struct store_reader: marks, counters, rows of tables,
 * tasks by id, events by id and seq.  Spans point into the chunk, and last as long as it does.
 *
 * Thread: one at a time; the operation hands it over. */
#ifndef ERGON_STORE_CHUNK_H
#define ERGON_STORE_CHUNK_H

#include "server/store/store.h"

enum { STORE_CHUNK_ROWS = 2000 }; /* about a megabyte, which a processor's cache holds */

struct store_chunk *store_chunk_new(void);    /* NULL without memory */
void store_chunk_free(struct store_chunk *c); /* NULL is fine */
/* Makes it as a new one, which has its memory already. */
void store_chunk_clear(struct store_chunk *c);
/* That, or a new one where there is none.  False without memory. */
bool store_chunk_begin(struct store_chunk **c);

/* --- The driver's side: each copies what it gets.  False without memory: the load fails. --- */
bool store_chunk_marks(struct store_chunk *c, const struct store_marks *marks);
bool store_chunk_counts(struct store_chunk *c, const struct store_counts *counts);
bool store_chunk_row(struct store_chunk *c, const struct store_table *table, const void *row);
bool store_chunk_task(struct store_chunk *c, const struct store_task *task);
bool store_chunk_event(struct store_chunk *c, const struct store_event *event);
uint32_t store_chunk_rows(const struct store_chunk *c);

/* --- The client's side --- */
/* Gives at most `most` of the rows that were not given yet to the reader.  1: there are more in
 * this chunk; 0: that was all; -1 and a text: a callback refused a row (as store_load() says it).
 */
int store_chunk_read(struct store_chunk *c, const struct store_reader *reader, uint32_t most,
                     char *error, size_t size);

#endif
