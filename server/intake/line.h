/* Connections of this process to itself, one for each role of the database, and one request at a
 * time by any of them.
 *
 * Thread: the inbox's.  What waits returns early once `stopping` says so. */
#ifndef ERGON_INTAKE_LINE_H
#define ERGON_INTAKE_LINE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "server/admin/gateway.h"

enum {
    LINE_ROLE_MAX = 64, /* bytes with the NUL: as PostgreSQL has names */
    LINE_ROLES = 32     /* connections at most; then all are closed, and made anew */
};

struct line;

struct lines {
    struct gateway gateway;
    uint32_t listener;
    const _Atomic bool *stopping; /* relaxed */
    struct line *at[LINE_ROLES];
    uint32_t count;
};

struct line_answer {
    json_t *result; /* a reference of the caller's; NULL: it is an error */
    char code[40];  /* of an error, "BUSY", "CLOSED" ... */
    char text[400];
};

/* Calls a method as `database:ROLE`, and waits for the answer. */
void lines_call(struct lines *lines, const char *role, const char *method, const json_t *params,
                struct line_answer *answer);
/* Closes those that the server has ended. */
void lines_sweep(struct lines *lines);
/* Closes all. */
void lines_close(struct lines *lines);

#endif
