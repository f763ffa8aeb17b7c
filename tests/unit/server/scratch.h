/* A directory for the files of one test, and what ergond's configuration says of them. */
#ifndef ERGON_TESTS_UNIT_SERVER_SCRATCH_H
#define ERGON_TESTS_UNIT_SERVER_SCRATCH_H

#include "server/config/config.h"

struct scratch {
    char directory[64];
    char path[512];     /* of the last file written */
    char errors[16384]; /* of the last load, with the directory cut out */
    enum config_action action;
};

void scratch_open(struct scratch *s);
void scratch_close(struct scratch *s); /* removes all of it */

/* Writes a file, and the directories on the way; returns its path, valid until the next call. */
const char *scratch_write(struct scratch *s, const char *name, const char *content);

/* Loads with the file (NULL: none), the variables and the flags; both lists end with NULL, and may
 * be NULL.  The result is for config_free(). */
struct config *scratch_load(struct scratch *s, const char *yaml, const char *const *env,
                            const char *const *flags);

/* The same, and the test fails unless it is accepted, or refused with exactly these errors. */
struct config *scratch_accepted(struct scratch *s, const char *yaml, const char *const *env,
                                const char *const *flags);
void scratch_refused(struct scratch *s, const char *yaml, const char *const *env,
                     const char *const *flags, const char *errors);

#endif
