/* The statements of batches: prepared with each connection, by name.
 *
 * Thread: the writer's. */
#ifndef ERGON_STORE_POSTGRES_STATEMENTS_H
#define ERGON_STORE_POSTGRES_STATEMENTS_H

#include "server/store/postgres/driver_parts.h"

/* `ids`, `rows`: the parameters are arrays of the first column, or of all columns, of a map. */
enum statement {
    STATEMENT_FENCE,  /* see fence() in batch.c */
    STATEMENT_SETTLE, /* epoch */
    STATEMENT_LEVEL,  /* nothing */
    STATEMENT_HURRY,  /* nothing; what is behind it in its transaction waits briefly for locks */
    STATEMENT_LOOK,   /* nothing */
    /* In the order in which the operations of a group run. */
    STATEMENT_PUT,            /* rows of submissions */
    STATEMENT_PUT_OPTIONS,    /* rows */
    STATEMENT_PUT_LIFE,       /* rows */
    STATEMENT_CHANGE,         /* rows of lives, and how many */
    STATEMENT_FIRST_LIFE,     /* likewise; no task has one yet */
    STATEMENT_DURABLE,        /* ids, levels */
    STATEMENT_OPTIONS,        /* rows; replaces */
    STATEMENT_SETTLED,        /* ids */
    STATEMENT_EVENT,          /* rows; replaces */
    STATEMENT_TRIM,           /* ids, oldest */
    STATEMENT_REMOVE_EVENTS,  /* ids */
    STATEMENT_REMOVE_OPTIONS, /* ids */
    STATEMENT_REMOVE_LIFE,    /* ids */
    STATEMENT_REMOVE,         /* ids */
    STATEMENT_PUT_ACTORS,     /* rows; replaces */
    STATEMENT_REMOVE_ACTORS,  /* keys: types, keys, tenants */
    STATEMENT_GET_ACTORS,     /* keys, and how many reads are before them: reads.h */
    STATEMENT_PAGE_ACTORS,    /* a key, rows, and the number of the read */
    /* Each a unit of its own. */
    STATEMENT_DUE_BACK, /* ns */
    STATEMENT_DEADLINES_BACK,
    STATEMENT_HOLDS_BACK,
    STATEMENT_COUNT, /* first id, rows */
    STATEMENTS
};

/* Prepares all in one round trip.  False and the fault. */
bool statements_prepare(struct postgres_store *s, struct store_fault *fault);
/* Queues one with the parameters of s->values.  False: the connection does not take it. */
bool statement_send(struct postgres_store *s, enum statement which);

#endif
