/* Holders: whose tasks the blocking executors have, so that one principal whose handlers run for
 * long does not keep all others out.
 *
 * What stands at an executor behind a handler that runs is taken back only after a while
 * (stalls.h), and how long that will run is a guess.  So it is of the same holder: nobody waits
 * behind another's handler.  And
 * while somebody waits for an executor to become empty, nobody who came later has his own filled
 * up.
 *
 * Whoever comes first may hold all executors: alone, none would be kept free for nobody.  But when
 * somebody who holds none has waited for one for longer than HOLDERS_PATIENCE, a spare is asked for
 * (stand_in.h), and a further one each time that this has passed again; and what such a spare is
 * given is always of one who holds none.  So each of those who wait is served, one task at a time,
 * however long the others' handlers run.
 *
 * Jobs are one holder together, and so are calls that are nobody's.
 *
 * Thread: the manager's.  The pool is borrowed, and is that of the blocking ones; of who waits and
 * serves also one that is joined to it. */
#ifndef ERGON_TASKS_HOLDERS_H
#define ERGON_TASKS_HOLDERS_H

#include "server/tasks/manager/manager.h"

#define HOLDERS_PATIENCE AO_MS(20)

/* Do they have a say in this pass?  Where executors have room for one task each, and none is a
 * spare, they have none. */
bool holders_matter(const struct pool *p);

/* `t` NULL: a job.  May executor `i` be given it? */
bool holders_allow(const struct pool *p, uint32_t i, const struct task *t);
/* The same of a nested call, which may have a spare too. */
bool holders_allow_nested(const struct pool *p, uint32_t i, const struct task *t);

void holders_note(struct manager *m, struct pool *p, int chosen, const struct task *t);

/* At the end of a pass: nobody waits; or tasks are left, or some of the source, and nobody has
 * room.  The latter asks for a spare when it is time to, and returns when to look again; AO_NEVER:
 * no need to. */
void holders_serve(struct manager *m, struct pool *p);
ao_time holders_wait(struct manager *m, struct pool *p);

#endif
