/* Types of actors, and actors, as rows of the store: a policy packed and read back, and what such
 * rows may hold.  The policy of a row is a map: each number of struct actor_policy by its name,
 * `supervisor`, and `methods`, a map of the names of methods, without the type, to enum
 * actor_method.  What a row does not have is as by default; numbers of other names are passed over.
 *
 * Pure; any thread. */
#ifndef ERGON_JOBS_ACTOR_ROWS_H
#define ERGON_JOBS_ACTOR_ROWS_H

#include "proto/pack.h"
#include "server/store/store.h"
#include "server/tasks/actor_offer.h"

/* The policy of the offer as `policy` has it, which may be another than that of the offer. */
void type_row_pack(struct pack *p, const struct actor_policy *policy,
                   const struct actor_offer *offer);

/* How one policy differs from the other, for people: "schema 1 to 2, idle 5m to 10m".  False: it
 * does not, and `text` is empty. */
bool policy_changes(const struct actor_policy *was, const struct actor_policy *is, char *text,
                    size_t size);

/* Reads the policy of a row; NULL, or a constant text that says what is wrong with it.  `methods`:
 * the raw map of them, sound, which points into the row; empty: it has none. */
const char *type_row_read(const struct store_actor_type *row, struct actor_policy *policy,
                          struct span *methods);

/* Can the rows be what they say?  NULL: they can; else a constant text for people, as of
 * codec.h. */
const char *row_check_actor(const struct store_actor *row);
const char *row_check_actor_type(const struct store_actor_type *row);
/* Of a message: its actor, and its method. */
const char *row_check_message(struct span actor, struct span method);

#endif
