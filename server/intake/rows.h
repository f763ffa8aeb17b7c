/* Rows of the inbox as submissions, and what becomes of them.
 *
 * Thread: the inbox's. */
#ifndef ERGON_INTAKE_ROWS_H
#define ERGON_INTAKE_ROWS_H

#include "server/intake/line.h"
#include "server/store/inbox_source.h"

enum row_end {
    ROW_LATER,   /* it cannot be taken now, or that is not known */
    ROW_TAKEN,   /* the store removes it, or has */
    ROW_REFUSED, /* for good: `why` says the error */
    ROW_UNREAD   /* not submitted yet */
};

struct row {
    uint64_t id;
    char role[LINE_ROLE_MAX], method[256];
    json_t *spec; /* as task.submit takes it; NULL: it is refused, or there was no memory */
    enum row_end end;
    char why[460]; /* "CODE: text" */
};

struct rows {
    struct row at[INBOX_ROWS];
    uint32_t count;
};

/* Adds a row that was read; false: there is no room for more. */
bool rows_add(struct rows *rows, const struct inbox_row *from);
/* Submits them, in their order.  Each has an end then. */
void rows_submit(struct rows *rows, struct lines *lines);
void rows_clear(struct rows *rows);

#endif
