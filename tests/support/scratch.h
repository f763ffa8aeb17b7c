/* The fixture of whatever reads a configuration: a directory for the files of one test, and what
 * ergond's configuration says of them.  There is one at a time. */
#ifndef ERGON_TESTS_SCRATCH_H
#define ERGON_TESTS_SCRATCH_H

#include "server/config/config.h"

struct scratch {
    char directory[64];
    char path[512];     /* of the last file written */
    char errors[16384]; /* of the last load, with the directory cut out */
    enum config_action action;
    struct config *accepted[64];
    int accepted_count;
};

extern struct scratch scratch;

int scratch_make(void **state);   /* for cmocka, which gives a state that nobody needs */
int scratch_remove(void **state); /* with all that is in it */
#define SCRATCH_TEST(name) TEST_WITH(scratch_make, scratch_remove, name)

/* Writes a file, and the directories on the way; returns its path, valid until the next call. */
const char *scratch_write(const char *name, const char *content);

/* Loads with the file (NULL: none), the variables and the flags; both lists end with NULL, and may
 * be NULL.  The result is for config_free(). */
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
struct config *scratch_load(const char *yaml, const char *const *env, const char *const *flags);

/* The same, and the test fails unless it is accepted, or refused with exactly these errors.  What
 * is accepted is the scratch's, and goes with it. */
struct config *scratch_accepted(const char *yaml, const char *const *env, const char *const *flags);
void scratch_refused(const char *yaml, const char *const *env, const char *const *flags,
                     const char *errors);

#endif
