/* All rows, read on a connection of their own while the writer's goes on.
 *
 * Thread: the writer's. */
#ifndef ERGON_STORE_POSTGRES_LOAD_H
#define ERGON_STORE_POSTGRES_LOAD_H

#include "server/store/postgres/driver_parts.h"

/* As load() of server/store/driver.h has it. */
int load_next(struct postgres_store *s, uint64_t epoch, struct store_chunk *chunk,
              struct store_fault *fault);
void load_free(struct postgres_store *s);
/* May the writer's statements have the tables?  False, and a fault that names the session that has
 * locked one.  Its connection is not in pipeline mode yet. */
bool load_look_for_locks(struct postgres_store *s, struct store_fault *fault);

#endif
