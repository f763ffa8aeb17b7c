/* Ten iterations that run at the same time, of which three may work at once.
 *
 * The iterations are the children of a group, so the loop over them is a parallel for; a semaphore
 * with three permits stands before the work, which takes two seconds.  No thread waits: the one
 * thread there is runs whoever is not asleep. */
#ifndef ERGON_EXAMPLES_SEMAPHORE_TEN_H
#define ERGON_EXAMPLES_SEMAPHORE_TEN_H

#include <ergon/group.h>
#include <ergon/sem.h>

enum { ITERATIONS = 10, PERMITS = 3 };

struct ten;

struct iteration {
    struct ao_child child;
    struct ao_seq seq;
    struct ten *ten;
    int number;              /* from 1 */
    struct ao_wait wait;     /* of the plain form */
    struct ao_permit permit; /* of the scoped form */
};

struct ten {
    struct ao ao;
    struct ao_seq seq;
    struct ao_wait wait;
    struct ao_group group;
    struct ao_sem sem;
    struct iteration iterations[ITERATIONS];
    enum ao_verdict (*work)(struct ao *iteration);
    void (*say)(struct ten *ten, int iteration, const char *what);
    void (*ended)(struct ten *ten);
};

/* What an iteration does, in the two forms. */
enum ao_verdict ten_plain(struct ao *iteration);  /* acquire, work, release */
enum ao_verdict ten_scoped(struct ao *iteration); /* acquire for as long as it lives, work */

/* Sets it going on `home`.  `work`, `say` and `ended` are set by the caller; `ended` is called when
 * all iterations have. */
void ten_start(struct ten *ten, struct activator *home);

/* The example program: on the real clock, printing each begin and end with its time.  Returns the
 * exit status. */
int ten_main(const char *name, enum ao_verdict (*work)(struct ao *iteration));

#endif
