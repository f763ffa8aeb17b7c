/* Shared by the files that make time pass: see model.h. */
#ifndef ERGON_SIM_PG_MODEL_PARTS_H
#define ERGON_SIM_PG_MODEL_PARTS_H

#include "sim/pg/faults.h"
#include "sim/pg/parts.h"

/* --- backend.c --- */
struct pg_backend *pg_backend_new(struct pg *pg, struct pg_link *link);
void pg_backend_free(struct pg *pg, struct pg_backend *b);
bool pg_backend_step(struct pg *pg, struct pg_backend *b); /* something happened */
uint64_t pg_backend_next(const struct pg *pg, const struct pg_backend *b);
void pg_backend_cancel_wait(struct pg *pg, struct pg_backend *b);

/* --- machines.c --- */
bool pg_machines_step(struct pg *pg);
uint64_t pg_machines_next(const struct pg *pg);
void pg_machine_clear(struct pg_machine *m);

/* --- model.c --- */
bool pg_passes(const struct pg *pg, const char *node, int machine, unsigned ways);
void pg_advance(struct pg *pg); /* all happens that is due */
void pg_tell(struct pg *pg);    /* those that wait */

#endif
