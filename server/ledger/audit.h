/* One server.audit under way.  Ledger's thread. */
#ifndef ERGON_LEDGER_AUDIT_H
#define ERGON_LEDGER_AUDIT_H

#include "server/ledger/ledger_parts.h"

struct audit {
    struct ask *asks; /* that are answered with it, by `next` */
    /* Entries: of none, of the others; by state. */
    uint64_t open[2], states[LEDGER_STATE_COUNT];
    struct entry *at; /* the next to be counted; NULL: all are */
    uint64_t upto;    /* id: those up to here are counted */
    /* Rows of the store. */
    uint64_t rows_open;
    uint64_t rows_below;          /* id: those below are counted */
    struct store_counts counters; /* of when the last were counted */
    bool rows_done;
    enum store_error rows_error;
};

void audit_answer(struct ledger *l, struct ask *a, const struct audit *au); /* complete */

#endif
