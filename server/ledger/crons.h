/* The insides of the crons, for their files.  Ledger's thread. */
#ifndef ERGON_LEDGER_CRONS_H
#define ERGON_LEDGER_CRONS_H

#include "server/ledger/ledger_parts.h"
#include "server/ledger/schedule.h"

struct cron {
    struct cron *next;
    struct ledger *ledger;
    struct ao timer;         /* sleeps until the next time, or a part of that */
    struct cron_order order; /* its spans lie in `memory` */
    void *memory;
    struct schedule schedule;
    struct zone *zone;
    uint64_t next_at; /* Unix ns; 0: never */
    ao_time spread;   /* ns that chance adds to it */
    uint64_t last_at, last_task;
    uint64_t fired, skipped; /* since the start */
    enum ergon_error error;  /* of the last try */
    char error_text[ASK_TEXT_MAX];
    bool refused;  /* and it was logged */
    uint32_t refs; /* the list, and operations of the store that point at its bytes */
};

struct crons {
    struct cron *first;
    uint32_t count;
};

/* A reference less. */
void cron_drop(struct cron *c);
void cron_forget(struct ledger *l, struct cron *c); /* in the store */

/* crons_recover.c: a row of the store, read; false without memory */
bool crons_add(struct ledger *l, const struct cron_order *order, const struct store_cron *row);

/* crons_list.c */
void crons_list(struct ledger *l, struct ask *a);
void cron_pack_time(struct pack *p, const char *key, uint64_t unix_ns);

#endif
