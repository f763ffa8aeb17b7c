/* The lives of a jobs_world on the disk of fault_vfs.h, of which the power is cut at any call of
 * the disk, and whose process is killed and stopped in between.
 *
 *     cut_lives_begin(l, seed);         a new store
 *     cut_lives_boot(l, true);          a life begins; it may have died in its boot again and again
 *     ...                               until fault_is_cut(), or the test has enough
 *     cut_lives_die(l);                 by a cut, a kill or a stop
 *     cut_lives_boot(l, false);         the last life
 *     cut_lives_end(l);
 *
 * What is answered while `dying` is no answer.  One at a time. */
#ifndef ERGON_TESTS_CUT_LIVES_H
#define ERGON_TESTS_CUT_LIVES_H

#include "sim/fault_vfs.h"
#include "tests/support/disk_store.h"
#include "tests/support/jobs_world_lives.h"

struct cut_lives {
    struct jobs_world w; /* first */
    char folder[64], path[96];
    uint64_t store; /* the seed that it began with; 0: it has lived to its end */
    uint64_t seed;  /* of what comes next */
    bool dying;
    void (*lost)(struct cut_lives *l); /* as the process goes: nobody is answered what was out */
    uint32_t cuts, kills, stops, boots_cut;
    uint64_t fenced; /* attempts */
};

/* For TEST_OF: the state, zeroed and of that size, begins with a cut_lives. */
struct cut_lives *cut_lives_new(size_t size);
int cut_lives_free(struct cut_lives *l); /* says which seed it was, if that has not ended */

void cut_lives_begin(struct cut_lives *l, uint64_t seed);
void cut_lives_boot(struct cut_lives *l, bool may_die);
void cut_lives_die(struct cut_lives *l);
void cut_lives_end(struct cut_lives *l);

/* A number below `n`, by the seed. */
uint32_t cut_lives_below(struct cut_lives *l, uint32_t n);
/* The audit of the server says that its accounts balance. */
void cut_lives_balance(struct cut_lives *l);

/* What ERGON_CUTS and ERGON_CUTS_FROM say: so many cuts at least, from this seed; true: from there
 * on it is looked for a failure, and not proved that everything happened. */
bool cut_lives_wanted(uint64_t *cuts, uint64_t *first, uint64_t usual);

#endif
