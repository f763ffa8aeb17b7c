/* What task.explain adds to a reason. */
#ifndef ERGON_LEDGER_EXPLAIN_H
#define ERGON_LEDGER_EXPLAIN_H

#include "server/ledger/ledger_parts.h"

enum { EXPLAIN_PLACE_MAX = 100000 /* entries counted before "at least" */ };

struct explain_detail {
    unsigned pairs; /* of the answer's map, that `pack` adds */
    void (*pack)(struct ledger *l, struct entry *e, struct pack *p); /* NULL: none */
    /* One sentence; NULL: the meaning of the reason says it. */
    void (*say)(struct ledger *l, struct entry *e, char *text, size_t size);
};
extern const struct explain_detail explain_details[LEDGER_REASON_COUNT];

void explain_place(struct ledger *l, const struct entry *e, struct pick_place *at);
void explain_executors(struct ledger *l, enum ergon_kind kind, struct pack *p); /* one pair */
void explain_no_executor(const struct ledger_queue *q, char *text, size_t size);

#endif
