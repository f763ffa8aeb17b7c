/* The store's thread: takes batches of operations, has the driver commit them and gives them back.
 *
 * Up to `batches` of the driver are under way.  They end in the order of their begins, so that
 * operations come back in the order in which they were pushed. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/runtime/thread.h"
#include "server/store/chunk.h"
#include "server/store/store_parts.h"

enum {
    RETRY_MS = 1,        /* the lane to the client is full: how long until the next try */
    STEADY_RETRIES = 10, /* a trouble is over when nothing failed for so many `retry` */
    STOP_PATIENCE = 5,   /* s: a store that stops waits so long for an engine that is away... */
    AWAY_PATIENCE = 1,   /* s: ...and at least so long after it went away */
    SILENT_PATIENCE = 2  /* s: ...and so long for one that has a batch and ends none */
};

/* --- What the driver says of itself --- */

/* The log has a record of it. */
static void report(struct store *s, enum store_error error)
{
    s->reported = error;
    counter_set(&s->counters.trouble, error);
}

/* The cluster reports owners, and a node that has handed the tasks over. */
static void note_trouble(struct store *s)
{
    bool expected = s->hands_over && s->state.error == STORE_FENCED;
    if (s->state.error != s->reported && !expected)
        log_error("the store cannot write", LOG_STR("error", store_error_text(s->state.error)),
                  LOG_STR(s->driver->name, s->driver->fault(s->engine)->text));
    report(s, s->state.error);
    s->steady_at = AO_NEVER;
}

/* A full disk has room for a small commit again and again: the end of a trouble is reported when
 * the trouble has not come back for a while. */
static void note_that_it_works(struct store *s)
{
    ao_time now = clock_monotonic();
    if (s->steady_at == AO_NEVER)
        s->steady_at = s->reported == STORE_AWAY ? now : now + STEADY_RETRIES * s->retry;
    if (now < s->steady_at)
        return;
    log_info("the store writes again");
    report(s, STORE_OK);
}

void store_note_state(struct store *s)
{
    struct store_counters *c = &s->counters;
    s->driver->state(s->engine, &s->state);
    counter_set(&c->error, s->state.error);
    counter_set(&c->bytes, s->state.bytes);
    counter_set(&c->room, s->state.room + 1); /* 0: not known */
    counter_set(&c->backup, s->state.backup);
    counter_set(&c->unfolded, s->state.unfolded);
    counter_set(&c->lag, s->state.lag);
    counter_set(&c->actors, s->state.keeps_actors);
    counter_set(&c->batches, s->state.keeps_batches);
    counter_set(&c->level, s->state.level);
    if (s->state.error != STORE_OK)
        note_trouble(s);
    else if (s->reported != STORE_OK)
        note_that_it_works(s);
}

/* --- Batches --- */

static enum store_stop stop_of(const struct store *s)
{
    return (enum store_stop)atomic_load_explicit(&s->stop, memory_order_acquire);
}

static bool stopping(const struct store *s)
{
    return stop_of(s) == STORE_ENDED;
}

/* The client gathers few operations meanwhile.  Many become a second batch, where the driver takes
 * two: it runs behind the first, so it hides the client's time, and costs a commit of its own. */
static void commits(struct store *s, bool any)
{
    atomic_store_explicit(&s->committing, any, memory_order_relaxed);
}

/* Does the driver lack what this is about? */
static bool is_unknown(const struct store *s, const struct store_op *op)
{
    if (s->state.keeps_actors)
        return false;
    if (op->kind == STORE_GROUP || op->kind == STORE_ROW_GET || op->kind == STORE_ROW_PAGE)
        return true;
    return (op->kind == STORE_ROW_PUT || op->kind == STORE_ROW_REMOVE) && op->table->of_actors;
}

/* Does it follow a group that was not written?  The driver sees to those that are lost in a batch
 * that is under way. */
static bool is_lost(const struct store *s, const struct store_op *op)
{
    return op->kind == STORE_GROUP && op->group.follows && op->group.seen < s->group_failed;
}

static bool is_alone(const struct store *s, const struct store_op *op)
{
    return op->kind == STORE_LOAD || op->kind == STORE_HAND_OVER || is_unknown(s, op) ||
           is_lost(s, op);
}

static struct store_op *next_of(struct store *s)
{
    struct store_op *op = s->next;
    struct lane_item *item = op ? NULL : lane_take(&s->in);
    s->next = NULL;
    return item ? ao_of(item, struct store_op, item) : op;
}

static bool has_next(struct store *s)
{
    return s->next || lane_ready(&s->in);
}

/* A commit may wait long for its disk, so a stop makes few. */
static void take_batch(struct store *s, struct store_batch *b)
{
    uint32_t most = stop_of(s) == STORE_RUNS ? STORE_BATCH_MAX : STORE_BATCH_LAST;
    struct store_op *op;
    b->count = 0;
    b->error = STORE_OK;
    while (b->count < most && !s->alone && (op = next_of(s))) {
        if (is_alone(s, op))
            s->alone = op;
        else
            b->ops[b->count++] = op;
    }
    lane_release(&s->in);
}

static void fail_all(const struct store_batch *b)
{
    for (uint32_t n = 0; b->error != STORE_OK && n < b->count; n++)
        store_op_end(b->ops[n], b->error);
}

/* A driver may fail operations of a batch that has worked: the others are committed. */
static void note_failure(struct store *s, const struct store_op *op)
{
    if (op->error == STORE_OK)
        return;
    s->failed = s->given;
    if (op->kind == STORE_GROUP)
        s->group_failed = s->given;
}

static void give_back(struct store *s, const struct store_batch *b)
{
    fail_all(b);
    s->given += b->count;
    for (uint32_t n = 0; n < b->count; n++) {
        note_failure(s, b->ops[n]);
        lane_push(&s->out, &b->ops[n]->item);
    }
    lane_flush(&s->out);
}

static struct store_batch *place(struct store *s, uint32_t n)
{
    return &s->batches[(s->first + n) % s->driver->batches];
}

/* With this, all that comes goes back at once. */
static enum store_error final_error(const struct store *s)
{
    return s->gave_up ? STORE_AWAY : s->state.error == STORE_FENCED ? STORE_FENCED : STORE_OK;
}

static bool is_away(const struct store *s)
{
    return s->state.error == STORE_AWAY && !s->gave_up;
}

static bool has_room(const struct store *s)
{
    uint32_t most = s->hands_over ? 1 : s->driver->batches;
    return s->under_way < most && !s->alone && !is_away(s);
}

static void begin(struct store *s, struct store_batch *b)
{
    s->under_way++;
    commits(s, true);
    b->began = clock_monotonic();
    s->driver->begin(s->engine, b);
}

/* What came in during the last commit becomes the next one.  False: nothing came. */
static bool begin_batch(struct store *s)
{
    struct store_batch *b = place(s, s->under_way);
    enum store_error error = final_error(s);
    if (error != STORE_OK && s->under_way > 0)
        return false; /* those come back first */
    take_batch(s, b);
    if (b->count == 0)
        return s->alone != NULL;
    b->error = error;
    if (error == STORE_OK)
        begin(s, b);
    else
        give_back(s, b);
    return true;
}

static void count_commit(struct store *s, const struct store_batch *b)
{
    ao_time took = clock_monotonic() - b->began;
    counter_set(&s->counters.commit_ns, took);
    histogram_note(&s->counters.commit_times, took, 1);
    counter_add(&s->counters.commits, 1);
    counter_add(&s->counters.operations, b->count);
}

static bool end_batch(struct store *s)
{
    struct store_batch *b = s->under_way > 0 ? s->driver->ended(s->engine) : NULL;
    if (!b)
        return false;
    if (b->error == STORE_OK)
        count_commit(s, b);
    store_note_state(s);
    s->first = (s->first + 1) % s->driver->batches;
    s->under_way--;
    s->away_since = 0; /* it answers */
    s->answered_at = clock_monotonic();
    commits(s, s->under_way > 0);
    give_back(s, b);
    return true;
}

/* --- Operations that are no part of a batch --- */

static void load(struct store *s, struct store_op *op)
{
    struct store_fault fault = {.error = final_error(s), .text = ""};
    int more = -1;
    if (fault.error == STORE_OK && s->driver->load &&
        (op->load.chunk || (op->load.chunk = store_chunk_new())))
        more = s->driver->load(s->engine, op->load.epoch, op->load.chunk, &fault);
    else if (fault.error == STORE_OK)
        fault.error = s->driver->load ? STORE_MEMORY : STORE_REFUSED;
    op->load.more = more > 0;
    if (more >= 0) {
        op->load.text = fault.text[0] ? strdup(fault.text) : NULL;
        return;
    }
    op->error = fault.error;
    op->load.text = strdup(fault.text[0] ? fault.text : store_error_text(fault.error));
}

/* While something failed that the client has not seen, rows may lack what it knows: then they are
 * no other's. */
static bool may_hand_over(const struct store *s)
{
    return final_error(s) == STORE_OK && s->failed <= counter_read(&s->counters.taken);
}

static void come_back(struct store *s, struct store_op *op)
{
    s->given++;
    note_failure(s, op);
    lane_push(&s->out, &op->item);
    lane_flush(&s->out);
}

/* A load comes back without rows, once, to say why the engine is away. */
static bool tell_away(struct store *s)
{
    struct store_op *op = s->alone;
    if (!is_away(s))
        s->told = false;
    if (!is_away(s) || s->told || s->under_way > 0 || (!op && !(op = s->next = next_of(s))))
        return false;
    if (op->kind != STORE_LOAD || !(op->load.chunk || (op->load.chunk = store_chunk_new())))
        return false;
    lane_release(&s->in);
    s->alone = s->next = NULL;
    s->told = op->load.more = true;
    op->load.text = strdup(s->driver->fault(s->engine)->text);
    come_back(s, op);
    return true;
}

/* Behind the batches that were begun before it. */
static bool run_alone(struct store *s)
{
    struct store_op *op = s->alone;
    if (!op || s->under_way > 0 || is_away(s))
        return false;
    s->alone = NULL;
    if (op->kind == STORE_HAND_OVER && may_hand_over(s)) {
        struct store_batch *b = place(s, 0);
        b->ops[0] = op;
        b->count = 1;
        b->error = STORE_OK;
        s->hands_over = true;
        begin(s, b);
        return true;
    }
    if (is_unknown(s, op) || is_lost(s, op))
        store_op_end(op, final_error(s) != STORE_OK ? final_error(s)
                         : is_unknown(s, op)        ? STORE_REFUSED
                                                    : STORE_FOLLOWS);
    else if (op->kind == STORE_HAND_OVER)
        op->error = final_error(s) == STORE_OK ? STORE_IO : final_error(s);
    else if (op->kind == STORE_LOAD)
        load(s, op);
    else { /* the store has begun to keep actors */
        s->next = op;
        return true;
    }
    come_back(s, op);
    return true;
}

/* --- The writer's thread --- */

static bool run_batches(struct store *s)
{
    bool any = false;
    board_tell(s);
    while (has_room(s) && begin_batch(s)) {
        any = true;
        if (end_batch(s))
            break;
    }
    while (end_batch(s))
        any = true;
    return run_alone(s) || tell_away(s) || any;
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
    if (s->driver->look)
        s->driver->look(s->engine);
}

static ao_time least(ao_time a, ao_time b)
{
    return a < b ? a : b;
}

static ao_time larger(ao_time a, ao_time b)
{
    return a > b ? a : b;
}

static ao_time until(ao_time at)
{
    ao_time now = clock_monotonic();
    return at > now ? at - now : 1;
}

/* When the writer itself has something to do, at the latest. */
static ao_time until_own(const struct store *s)
{
    ao_time timeout = AO_NEVER;
    if (s->reported != STORE_OK && s->steady_at != AO_NEVER)
        timeout = until(s->steady_at);
    if (s->give_up_at != AO_NEVER)
        timeout = least(timeout, until(s->give_up_at));
    return timeout;
}

static bool anything(struct store *s)
{
    return (has_room(s) && has_next(s)) || stopping(s) != s->ending || look_wanted(s);
}

static void wait(struct store *s, ao_time timeout)
{
    eventfd_t ignored;
    if (!s->driver->wait) {
        s->poller->poll(s->poller, timeout);
        return;
    }
    s->driver->wait(s->engine, s->wake_fd, timeout);
    eventfd_read(s->wake_fd, &ignored);
}

/* Waits until something comes in, or is asked for (true), or `timeout` has passed (false). */
static bool wait_for_work(struct store *s, ao_time timeout)
{
    waker_announce(&s->waker);
    bool any = anything(s);
    if (!any)
        wait(s, timeout);
    waker_retract(&s->waker);
    return any || anything(s);
}

/* True: nothing came, so that there is time to tidy up. */
static bool rest(struct store *s, ao_time timeout)
{
    timeout = least(timeout, until_own(s));
    bool flushed = lane_flush(&s->out);
    if (!flushed)
        timeout = least(timeout, AO_MS(RETRY_MS));
    return !wait_for_work(s, timeout) && flushed;
}

/* --- A stop while the engine is away --- */

/* The driver is not called any more: what it had under way is the client's again, and was sent. */
static void give_up(struct store *s)
{
    s->gave_up = true;
    s->give_up_at = AO_NEVER;
    commits(s, false);
    for (; s->under_way > 0; s->under_way--) {
        place(s, 0)->error = STORE_UNSURE;
        give_back(s, place(s, 0));
        s->first = (s->first + 1) % s->driver->batches;
    }
}

/* What was away long before the stop is not waited for once more, and nor is an engine that was
 * silent since then. */
static ao_time give_up_time(const struct store *s)
{
    bool elsewhere = s->driver->wait != NULL;
    if (s->stops_since > 0 && s->away_since == 0 && s->under_way > 0 && elsewhere)
        return larger(s->stops_since, s->answered_at) + AO_S(SILENT_PATIENCE);
    if (s->stops_since == 0 || s->away_since == 0)
        return AO_NEVER;
    ao_time later = larger(s->stops_since, s->away_since) + AO_S(AWAY_PATIENCE);
    if (s->doubted)
        return later;
    return larger(later, least(s->stops_since, s->away_since) + AO_S(STOP_PATIENCE));
}

static void give_up_in_time(struct store *s)
{
    ao_time now = clock_monotonic();
    if (stop_of(s) != STORE_RUNS && s->stops_since == 0)
        s->stops_since = now;
    if (!is_away(s) && (s->stops_since == 0 || !s->doubted))
        s->away_since = 0;
    else if (s->away_since == 0)
        s->away_since = now;
    s->give_up_at = give_up_time(s);
    if (now >= s->give_up_at)
        give_up(s);
}

/* Returns when the driver wants to be called again. */
static ao_time work(struct store *s, bool idle)
{
    if (s->gave_up)
        return AO_NEVER;
    ao_time timeout = s->driver->work(s->engine, idle);
    store_note_state(s);
    give_up_in_time(s);
    return timeout;
}

static void *thread_main(void *arg)
{
    struct store *s = arg;
    bool idle = false;
    thread_settle("store", -1, 0);
    for (;;) {
        s->ending = stopping(s); /* read before the lane, so that the last batch has all */
        look_if_wanted(s);
        ao_time timeout = work(s, idle);
        idle = false;
        if (run_batches(s))
            continue;
        if (s->ending && s->under_way == 0 && !s->alone && !(is_away(s) && has_next(s)))
            return NULL;
        idle = rest(s, timeout);
    }
}

/* --- Start and end: the client's thread, or the one that builds --- */

static int start_thread(struct store *s)
{
    int error = thread_start_undisturbed(&s->thread, thread_main, s);
    errno = error;
    return error ? -1 : 0;
}

static void wake_driver(void *arg)
{
    eventfd_write(((struct store *)arg)->wake_fd, 1);
}

/* A driver that waits for its engine waits for a descriptor of its own, too. */
static bool init_waker(struct store *s)
{
    s->poller = poller_eventfd_new();
    if (!s->poller)
        return false;
    if (!s->driver->wait) {
        waker_init_poller(&s->waker, s->poller);
        return true;
    }
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    waker_init(&s->waker, wake_driver, s);
    return s->wake_fd >= 0;
}

int store_start(struct store *s, struct activator *client, struct ao *receiver)
{
    if (!init_waker(s))
        goto fail_poller;
    errno = ENOMEM;
    if (lane_init_thread(&s->in, STORE_LANE, client, &s->waker) != 0)
        goto fail_poller;
    if (lane_init(&s->out, STORE_LANE, NULL, receiver) != 0)
        goto fail_in;
    client_start(s, client);
    s->give_up_at = AO_NEVER;
    if (s->driver->serve)
        s->driver->serve(s->engine, true);
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

void store_doubt(struct store *s)
{
    s->doubted = true;
}

void store_stop(struct store *s)
{
    if (!s->started || s->stopped)
        return;
    atomic_store_explicit(&s->stop, STORE_ENDING, memory_order_release);
    if (s->stop_fd >= 0)
        eventfd_write(s->stop_fd, 1);
    client_stop(s);
    atomic_store_explicit(&s->stop, STORE_ENDED, memory_order_release);
    waker_notify(&s->waker);
    pthread_join(s->thread, NULL);
    lane_threads_ended(&s->out);
    if (s->driver->serve)
        s->driver->serve(s->engine, false);
    s->stopped = true;
}

void store_info(const struct store *s, struct store_info *out)
{
    uint64_t room = counter_read(&s->counters.room);
    *out = (struct store_info){.kind = s->driver->name,
                               .lag = counter_read(&s->counters.lag),
                               .replicated =
                                   counter_read(&s->counters.level) == STORE_LEVEL_REPLICATED,
                               .commits = counter_read(&s->counters.commits),
                               .operations = counter_read(&s->counters.operations),
                               .bytes = counter_read(&s->counters.bytes),
                               .commit_ns = counter_read(&s->counters.commit_ns),
                               .room_known = room > 0,
                               .room = room > 0 ? room - 1 : 0,
                               .backup = counter_read(&s->counters.backup),
                               .unfolded = counter_read(&s->counters.unfolded),
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
