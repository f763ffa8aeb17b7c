/* Everything that can be read of a file, row after row, with what cannot.
 *
 * A tree that breaks off in the middle is read on behind the damage: SQLite finds a row by its
 * number through other pages.
 *
 * Thread: any.  Nothing is changed but the lock beside the file. */
#ifndef ERGON_STORE_SALVAGE_H
#define ERGON_STORE_SALVAGE_H

#include "server/store/offline/offline.h"

struct salvage_counters {
    struct store_counts counts;
    uint64_t last_id, commits;
};

/* Who is given the rows, as struct store_reader; spans are valid during the call.  False: no more.
 * The counters come last, and balance. */
struct salvage_taker {
    void *arg;
    bool (*queue)(void *arg, const struct store_queue *queue);
    bool (*cron)(void *arg, const struct store_cron *cron);
    bool (*task)(void *arg, const struct store_task *task, bool has_life);
    bool (*event)(void *arg, const struct store_event *event);
    bool (*counters)(void *arg, const struct salvage_counters *counters);
    /* What is damaged and lost; or, if it is `harmless`, only worth a word. */
    void (*finding)(void *arg, const char *text, bool harmless);
};

/* OFFLINE_GOOD: all was read, and nothing is damaged; OFFLINE_DAMAGED: what was found was reported;
 * OFFLINE_UNREADABLE: so was why nothing could be read. */
enum store_offline_end salvage(const struct store_offline *o, const struct salvage_taker *taker);

#endif
