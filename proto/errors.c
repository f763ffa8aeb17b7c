#include "proto/errors.h"

#include <stdbool.h>
#include <string.h>

struct row {
    const char *name;
    const char *meaning;
    int number;
    bool retryable;
};

static const struct row rows[ERGON_ERROR_COUNT] = {[ERGON_OK] = {"OK", "no error", 0, false},
#define X(name, number, retryable, text) [ERGON_E_##name] = {#name, text, number, retryable},
                                                   ERGON_ERRORS(X)
#undef X
};

/* A code from elsewhere (a module's, say) that is none of ours reads as INTERNAL. */
static const struct row *row_of(enum ergon_error e)
{
    return &rows[(unsigned)e < ERGON_ERROR_COUNT ? e : ERGON_E_INTERNAL];
}

const char *error_name(enum ergon_error e)
{
    return row_of(e)->name;
}

const char *error_meaning(enum ergon_error e)
{
    return row_of(e)->meaning;
}

int error_number(enum ergon_error e)
{
    return row_of(e)->number;
}

_Bool error_retryable(enum ergon_error e)
{
    return row_of(e)->retryable;
}

enum ergon_error error_find(const char *name)
{
    for (int e = ERGON_OK + 1; e < ERGON_ERROR_COUNT; e++)
        if (strcmp(rows[e].name, name) == 0)
            return (enum ergon_error)e;
    return ERGON_OK;
}
