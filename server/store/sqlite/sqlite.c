/* SQLite as a driver of the store: one batch at a time, committed before begin() returns. */
#include <malloc.h>

#include "base/clock.h"
#include "server/store/sqlite/parts_look.h"
#include "server/store/sqlite/sqlite_parts.h"

enum {
    IDLE_MS = 100,   /* nothing came for so long: time for a checkpoint */
    FOLD_MS = 20,    /* likewise: for a step of the fold */
    REST_MS = 10000, /* likewise: for what SQLite has read to go */
    TRIM_BYTES = 4 << 20
};

static void *driver_open(const struct store_setup *setup, struct store_fault *fault)
{
    fault->error = STORE_IO;
    return sqlite_open(setup, fault->text, sizeof fault->text);
}

static void driver_close(void *driver)
{
    sqlite_close(driver);
}

/* Until the store serves, the file and its log are as they were found; a file that is damaged, or
 * was truncated, stays beside its log as it is. */
static void driver_serve(void *driver, bool on)
{
    struct sqlite_store *s = driver;
    bool keep = !on && (s->broken == STORE_CORRUPT || parts_look(s) == SQLITE_CORRUPT);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep, NULL);
    sqlite_cache(s, on);
}

static void driver_begin(void *driver, struct store_batch *batch)
{
    struct sqlite_store *s = driver;
    s->batch = batch->ops;
    s->has_pages = true;
    store_commit(s, batch->count);
    batch->error = s->broken;
    s->done = batch;
}

static struct store_batch *driver_ended(void *driver)
{
    struct sqlite_store *s = driver;
    struct store_batch *done = s->done;
    s->done = NULL;
    return done;
}

static ao_time until_retry(const struct sqlite_store *s)
{
    ao_time now = clock_monotonic();
    if (s->broken == STORE_CORRUPT)
        return AO_NEVER;
    return s->retry_at > now ? s->retry_at - now : 1;
}

/* SQLite gives back the pages of the file that it has in memory; the system has them, too.  malloc
 * keeps what is free between pieces in use, unless it is asked to look for that. */
static void rest(struct sqlite_store *s)
{
    sqlite3_int64 before = sqlite3_memory_used();
    s->has_pages = false;
    sqlite3_db_release_memory(s->db);
    if (before - sqlite3_memory_used() >= TRIM_BYTES)
        malloc_trim(0);
}

/* The log goes into the file between two commits. */
static ao_time driver_work(void *driver, bool idle)
{
    struct sqlite_store *s = driver;
    if (checkpoint_due(s, false) || (idle && s->broken == STORE_OK && checkpoint_due(s, true)))
        checkpoint_run(s);
    store_try_again(s);
    bool folds = s->broken == STORE_OK && states_fold_due(&s->states, true);
    if (idle && folds)
        store_commit(s, 0);
    if (s->broken != STORE_OK)
        return until_retry(s);
    if (folds || checkpoint_due(s, true))
        return folds ? AO_MS(FOLD_MS) : AO_MS(IDLE_MS);
    if (idle && s->has_pages)
        rest(s);
    return s->has_pages ? AO_MS(REST_MS) : AO_NEVER;
}

static void driver_state(const void *driver, struct store_state *state)
{
    const struct sqlite_store *s = driver;
    *state = (struct store_state){.error = s->broken,
                                  .keeps_actors = true,
                                  .keeps_batches = true,
                                  .level = STORE_LEVEL_FSYNC,
                                  .bytes = s->file_size + s->log_size,
                                  .room = s->room,
                                  .backup = s->backup,
                                  .unfolded = s->states.next - s->states.fold.oldest};
}

static const struct store_fault *driver_fault(const void *driver)
{
    return &((const struct sqlite_store *)driver)->fault;
}

static void driver_look(void *driver)
{
    disk_look(driver);
}

static void driver_marks(void *driver, struct store_marks *marks)
{
    sqlite_marks(driver, marks);
}

static int driver_raise(void *driver, struct store_fault *fault)
{
    fault->error = STORE_IO;
    return store_raise_attempts(driver, fault->text, sizeof fault->text);
}

static int driver_load_all(void *driver, const struct store_reader *reader,
                           struct store_fault *fault)
{
    fault->error = STORE_CORRUPT;
    return sqlite_load(driver, reader, fault->text, sizeof fault->text);
}

const struct store_driver store_sqlite = {.version = STORE_DRIVER_VERSION,
                                          .name = "sqlite",
                                          .batches = 1,
                                          .most = STORE_LEVEL_FSYNC,
                                          .open = driver_open,
                                          .close = driver_close,
                                          .serve = driver_serve,
                                          .begin = driver_begin,
                                          .ended = driver_ended,
                                          .work = driver_work,
                                          .state = driver_state,
                                          .fault = driver_fault,
                                          .look = driver_look,
                                          .marks = driver_marks,
                                          .raise = driver_raise,
                                          .load_all = driver_load_all};
