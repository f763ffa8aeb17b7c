/* The store's thread: takes batches of operations, commits them and gives them back. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "server/runtime/thread.h"
#include "server/store/disk_look.h"
#include "server/store/parts_look.h"
#include "server/store/store_parts.h"

enum {
    RETRY_MS = 1, /* the lane to the client is full: how long until the next try */
    IDLE_MS = 100 /* nothing came for so long: time for a checkpoint */
};

/* --- The writer's thread --- */

static enum store_stop stop_of(const struct store *s)
{
    return (enum store_stop)atomic_load_explicit(&s->stop, memory_order_acquire);
}

/* A commit may wait long for its disk, so a stop makes few. */
static uint32_t take_batch(struct store *s)
{
    uint32_t count = 0, most = stop_of(s) == STORE_RUNS ? STORE_BATCH_MAX : STORE_BATCH_LAST;
    struct lane_item *item;
    while (count < most && (item = lane_take(&s->in)))
        s->batch[count++] = ao_of(item, struct store_op, item);
    lane_release(&s->in);
    return count;
}

static void give_back(struct store *s, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        lane_push(&s->out, &s->batch[n]->item);
}

/* What came in during the last commit becomes the next one.  False: nothing came. */
static bool write_batch(struct store *s)
{
    store_try_again(s);
    uint32_t count = take_batch(s);
    if (count == 0)
        return false;
    atomic_store_explicit(&s->committing, true, memory_order_relaxed);
    store_commit(s, count);
    atomic_store_explicit(&s->committing, false, memory_order_relaxed);
    give_back(s, count);
    lane_flush(&s->out);
    if (checkpoint_due(s, false))
        checkpoint_run(s);
    return true;
}

static bool stopping(const struct store *s)
{
    return stop_of(s) == STORE_ENDED;
}

static bool look_wanted(const struct store *s)
{
    return atomic_load_explicit(&s->look, memory_order_relaxed);
}

static void look_if_wanted(struct store *s)
{
    if (!look_wanted(s))
        return;
    atomic_store_explicit(&s->look, false, memory_order_relaxed);
    disk_look(s);
}

static ao_time until_retry(const struct store *s)
{
    ao_time now = clock_monotonic();
    if (s->broken == STORE_CORRUPT || s->reported == STORE_OK)
        return AO_NEVER;
    return s->retry_at > now ? s->retry_at - now : 1;
}

static ao_time least(ao_time a, ao_time b)
{
    return a < b ? a : b;
}

/* Waits until something comes in, or is asked for (true), or `timeout` has passed (false). */
static bool wait_for_work(struct store *s, ao_time timeout)
{
    waker_announce(&s->waker);
    bool any = lane_ready(&s->in) || stopping(s) || look_wanted(s);
    if (!any)
        s->poller->poll(s->poller, timeout);
    waker_retract(&s->waker);
    return any || lane_ready(&s->in) || stopping(s) || look_wanted(s);
}

static void rest(struct store *s)
{
    ao_time timeout = until_retry(s);
    bool flushed = lane_flush(&s->out), tidy = s->broken == STORE_OK && checkpoint_due(s, true);
    if (!flushed)
        timeout = least(timeout, AO_MS(RETRY_MS));
    else if (tidy)
        timeout = least(timeout, AO_MS(IDLE_MS));
    if (!wait_for_work(s, timeout) && flushed && tidy)
        checkpoint_run(s);
}

static void *thread_main(void *arg)
{
    struct store *s = arg;
    thread_settle("store", -1, 0);
    for (;;) {
        bool last = stopping(s); /* read before the lane, so that the last batch has all */
        look_if_wanted(s);
        if (write_batch(s))
            continue;
        if (last)
            return NULL;
        rest(s);
    }
}

/* --- Start and end: the client's thread, or the one that builds --- */

static int start_thread(struct store *s)
{
    int error = thread_start_undisturbed(&s->thread, thread_main, s);
    errno = error;
    return error ? -1 : 0;
}

int store_start(struct store *s, struct activator *client, struct ao *receiver)
{
    s->poller = poller_eventfd_new();
    if (!s->poller)
        return -1;
    waker_init_poller(&s->waker, s->poller);
    errno = ENOMEM;
    if (lane_init_thread(&s->in, STORE_LANE, client, &s->waker) != 0)
        goto fail_poller;
    if (lane_init(&s->out, STORE_LANE, NULL, receiver) != 0)
        goto fail_in;
    client_start(s, client);
    /* From now on the log goes into the file at the end; until then both are as they were found. */
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    if (start_thread(s) != 0)
        goto fail_out;
    s->started = true;
    return 0;
fail_out:
    lane_fini(&s->out);
fail_in:
    lane_fini(&s->in);
fail_poller:
    poller_eventfd_free(s->poller);
    return -1;
}

void store_stop(struct store *s)
{
    if (!s->started || s->stopped)
        return;
    atomic_store_explicit(&s->stop, STORE_ENDING, memory_order_release);
    client_stop(s);
    atomic_store_explicit(&s->stop, STORE_ENDED, memory_order_release);
    waker_notify(&s->waker);
    pthread_join(s->thread, NULL);
    lane_threads_ended(&s->out);
    /* A file that is damaged, or was truncated, stays beside its log as it is. */
    if (s->broken == STORE_CORRUPT || parts_look(s) == SQLITE_CORRUPT)
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    s->stopped = true;
}

void store_info(const struct store *s, struct store_info *out)
{
    uint64_t room = counter_read(&s->counters.room);
    *out = (struct store_info){.commits = counter_read(&s->counters.commits),
                               .operations = counter_read(&s->counters.operations),
                               .bytes = counter_read(&s->counters.bytes),
                               .commit_ns = counter_read(&s->counters.commit_ns),
                               .room_known = room > 0,
                               .room = room > 0 ? room - 1 : 0,
                               .backup = counter_read(&s->counters.backup),
                               .error = (enum store_error)counter_read(&s->counters.error),
                               .trouble = (enum store_error)counter_read(&s->counters.trouble)};
    uint64_t taken = counter_read(&s->counters.taken), pushed = counter_read(&s->counters.pushed);
    out->under_way = pushed > taken ? pushed - taken : 0;
    histogram_read(&s->counters.commit_times, &out->commit_times);
}

/* Of threads that ask at the same time, one wakes the writer. */
void store_look(struct store *s)
{
    ao_time now = clock_monotonic();
    ao_time before = atomic_load_explicit(&s->look_asked, memory_order_relaxed);
    if (now - before < AO_S(1) ||
        !atomic_compare_exchange_strong_explicit(&s->look_asked, &before, now, memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    atomic_store_explicit(&s->look, true, memory_order_relaxed);
    waker_notify(&s->waker);
}
