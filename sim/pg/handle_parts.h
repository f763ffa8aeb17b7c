/* Shared by the files of the handles. */
#ifndef ERGON_SIM_PG_HANDLE_PARTS_H
#define ERGON_SIM_PG_HANDLE_PARTS_H

#include "sim/pg/call.h"
#include "sim/pg/handles.h"

extern struct pg *pg_here; /* of handles that are opened now */

/* --- link.c: what a SQLSTATE means, as server/store/postgres/errors.c has it --- */
enum pg_error { PG_REFUSED, PG_LEVEL, PG_NUMBER, PG_AGAIN, PG_AWAY, PG_BROKEN };
enum pg_error pg_error_kind(const char *state);
enum store_error pg_error_store(const char *state);

/* --- link.c: waits for the engine --- */
uint64_t pg_now(const struct pg *pg);
void pg_sleep(struct pg *pg, uint64_t ns);
/* Takes the time that it takes to connect.  NULL: no primary was reached. */
struct pg_link *pg_open_link(struct pg *pg, const char *node);
/* Sends the call, and waits for its answer until then.  NULL: the link broke, or the time is over.
 */
struct pg_call *pg_ask(struct pg *pg, struct pg_link *link, struct pg_call *call, uint64_t until);

/* --- load.c --- */
struct pg_loader;
struct pg_load_setup {
    struct pg *pg;
    const char *node;
    const struct store_table *const *tables;
    uint32_t table_count;
};
int pg_load_next(struct pg_loader **loader, const struct pg_load_setup *setup, uint64_t epoch,
                 struct store_chunk *chunk, struct store_fault *fault);
void pg_load_free(struct pg_loader **loader);

#endif
