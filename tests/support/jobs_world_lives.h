/* The death of a jobs_world and its next life, in two: for tests that say what the next life finds.
 */
#ifndef ERGON_TESTS_JOBS_WORLD_LIVES_H
#define ERGON_TESTS_JOBS_WORLD_LIVES_H

#include "tests/support/jobs_world.h"

/* The process is gone; its store stays open. */
void jobs_world_die(struct jobs_world *w);
/* The next opens what `options` say.  False and a text: it does not begin, and there is still none.
 */
bool jobs_world_live(struct jobs_world *w, char *error, size_t size);

/* The same in two: what the store has is read, and what was open goes on.  False and a text: it
 * cannot be read, and there is still no next life. */
bool jobs_world_recover(struct jobs_world *w, char *error, size_t size);
void jobs_world_start(struct jobs_world *w);

#endif
