/* How safe a commit of the store is. */
#ifndef ERGON_STORE_LEVEL_H
#define ERGON_STORE_LEVEL_H

struct store;

/* What a commit survives, numbered as enum job_durable. */
enum store_level {
    STORE_LEVEL_ASYNC = 1, /* the end of the process; a power failure may lose it */
    STORE_LEVEL_FSYNC,     /* the loss of power, too; each SQLite file has this level */
    STORE_LEVEL_REPLICATED /* the loss of the machine, too: it is on a synchronous standby */
};

/* The level of the last commit, and so of all before it.  Any thread; waits for nothing. */
enum store_level store_level(const struct store *s);

/* The level that its engine can have, whatever it has now.  Constant.  Where this is REPLICATED,
 * the engine itself refuses what it cannot promise at that moment, by STORE_UNREPLICATED. */
enum store_level store_level_most(const struct store *s);

#endif
