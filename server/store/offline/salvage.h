/* Everything that can be read of a file, row after row, with what cannot.
 *
 * A tree that breaks off in the middle is read on behind the damage: SQLite finds a row by its
 * number through other pages.
 *
 * Thread: any.  Nothing is changed but the lock beside the file. */
#ifndef ERGON_STORE_SALVAGE_H
#define ERGON_STORE_SALVAGE_H

#include "server/store/offline/offline.h"
#include "server/store/sqlite/row_sqlite.h"

/* A table whose rows belong to no task: what a row is called, and as what it is read. */
struct salvage_plain {
    const char *name;
    const struct store_table *map;
    bool numbered; /* the first column is a number; else a name */
};
enum { SALVAGE_PLAIN = 8 };
extern const struct salvage_plain salvage_plain[SALVAGE_PLAIN];
union salvage_row {
    struct store_queue queue;
    struct store_rate rate;
    struct store_semaphore semaphore;
    struct store_hold hold;
    struct store_cron cron;
    struct store_actor actor;
    struct store_actor_type actor_type;
    struct store_batch_row batch;
};
/* Why the row cannot be, or NULL. */
const char *salvage_fault(const struct store_offline *o, const struct salvage_plain *plain,
                          const union salvage_row *row);

/* It takes the rows, as struct store_reader; spans are valid during the call.  False: no more.
 * The counters come last, and balance. */
struct salvage_taker {
    void *arg;
    bool (*plain)(void *arg, const struct salvage_plain *plain, const union salvage_row *row);
    bool (*task)(void *arg, const struct store_task *task, bool has_life);
    bool (*event)(void *arg, const struct store_event *event);
    bool (*counters)(void *arg, const struct row_counters *counters);
    /* What is damaged and lost; or, if it is `harmless`, only worth a word. */
    void (*finding)(void *arg, const char *text, bool harmless);
};

/* OFFLINE_GOOD: all was read, and nothing is damaged; OFFLINE_DAMAGED: what was found was reported;
 * OFFLINE_UNREADABLE: so was why nothing could be read. */
enum store_offline_end salvage(const struct store_offline *o, const struct salvage_taker *taker);

/* database.c: the same of a file or of a database, of this up to the first row that is damaged. */
enum store_offline_end offline_read(const struct store_offline *o,
                                    const struct salvage_taker *taker);
/* fill.c: all rows of the file `from` into the database of `o`.  OFFLINE_GOOD, or what is wrong was
 * written to `errors`. */
enum store_offline_end database_fill(const struct store_offline *o, const char *from, FILE *errors);

#endif
