/* One damage to the files of a store, as a seed says. */
#ifndef ERGON_TESTS_DAMAGES_DAMAGE_H
#define ERGON_TESTS_DAMAGES_DAMAGE_H

#include "tests/support/store_files.h"

struct damage {
    const char *kind;
    bool log;     /* what the log said last may be gone, or all that there was */
    bool payload; /* bytes may be changed within a row, where nobody can see it */
};

struct damage damage_do(struct store_files *files, uint64_t *random);

/* One to FILE-running, of any kind, or none. */
void damage_board(struct store_part *board, uint64_t *random);

#endif
