/* A store while no server uses it: checked, written out as lines of JSON, and made of such
 * lines; and copied, which may be done while one does.  For people with a damaged file, or who want
 * its contents elsewhere or a copy of it.
 *
 * The lines, one JSON object each, with one member that says what it is:
 *
 *     {"store": {"version": 4}}                first
 *     {"queue": {...}}, {"rate": {...}}, {"semaphore": {...}}, {"hold": {...}}, {"cron": {...}},
 *     {"actor": {...}}, {"actor_type": {...}}
 *     {"task": {..., "options": {...}, "life": {...}}}     by id
 *     {"event": {...}}                         of a task above
 *     {"counters": {...}}                      last: what is cut off before it is not whole
 *
 * Members are the columns of rows.c; those that are zero or empty are left out.  Text that is
 * not UTF-8, and bytes, are {"$bytes": "base64"}; numbers above 2^63-1 are strings of digits.
 *
 * Thread: any, one at a time.  All block, and write what there is to say to `errors`. */
#ifndef ERGON_STORE_OFFLINE_H
#define ERGON_STORE_OFFLINE_H

#include <stdio.h>

#include "server/store/store.h"

struct store_offline {
    const char *path;          /* or a URL */
    const char *const *states; /* as in struct store_options */
    uint32_t state_count;
    /* What is wrong with a row though each column holds what it may, as a constant text; NULL:
     * nothing. */
    const char *(*task_fault)(const struct store_task *task);
    const char *(*event_fault)(const struct store_event *event);
    const char *(*rate_fault)(const struct store_rate *rate);
    const char *(*cron_fault)(const struct store_cron *cron);
    const char *(*semaphore_fault)(const struct store_semaphore *semaphore);
    const char *(*hold_fault)(const struct store_hold *hold);
    const char *(*actor_fault)(const struct store_actor *actor);
    const char *(*actor_type_fault)(const struct store_actor_type *type);
    const char *(*batch_fault)(const struct store_batch_row *batch);
};

/* Exit statuses. */
enum store_offline_end {
    OFFLINE_GOOD,
    /* check, export, backup: something is damaged; import: a line was refused */
    OFFLINE_DAMAGED,
    OFFLINE_UNREADABLE /* nothing could be done: no such file, in use, no store of ours ... */
};

/* Reads everything, and changes nothing.  A line for each finding to `out`, and one at the end. */
enum store_offline_end store_check(const struct store_offline *o, FILE *out, FILE *errors);

/* Writes all that can be read, and says what cannot.  A task whose life may be lost is written as
 * one that is dead, with the error DAMAGED, so that nothing runs again that has run. */
enum store_offline_end store_export(const struct store_offline *o, FILE *out, FILE *errors);

/* Copies the file to `to`, which must not be there and gets its name when all of it is on disk; a
 * server may use the file meanwhile.  The copy is one state of it: all that was committed when this
 * began, and nothing of what came later.  It is copied in pieces, each on disk before the next, and
 * no faster than BACKUP_RATE, so that a server on the same disk goes on committing; the log of a
 * server only grows meanwhile, and is brought into the file then.  The pages and tables of the copy
 * are looked at before it gets its name. */
enum { BACKUP_RATE = 100 /* MiB a second */ };
enum store_offline_end store_backup(const struct store_offline *o, const char *to, FILE *out,
                                    FILE *errors);

/* Fills a database without rows from a file: a store or a backup of one, or lines of
 * store_export(). All rows or none. */
enum store_offline_end store_fill(const struct store_offline *o, const char *from, FILE *errors);

/* Makes a file, which must not be there, of all lines or of none; or fills a database without rows
 * so, by way of a file in TMPDIR. */
enum store_offline_end store_import(const struct store_offline *o, FILE *in, FILE *errors);

#endif
