/* The client's side: which operations go to the writer, and when.
 *
 * A commit costs as much for a few operations as for one, and clients whose operations have just
 * come back are about to push the next.  So the store gathers a few operations until the commit
 * under way has come back and the client's loop has nothing more to do, and hands many over at
 * once.  If fewer operations are gathered than have just come back, the others may only need the
 * time of a wake-up: the store then waits for them while they come, unless such a wait was in vain
 * lately.
 *
 * A commit of an engine elsewhere takes several times as long.  There the store also waits for what
 * has just come back to join what was gathered meanwhile: else both go on in turns, a commit
 * each.  That wait is long enough for the client's thread to sleep. */
#include <assert.h>
#include <sched.h>

#include "server/runtime/activator.h"
#include "server/store/store_parts.h"

/* Measured with 1 to 64 clients (docs/performance.md, "Of durable submissions"): gathering took 64
 * clients from 31 to 57 operations a commit, waiting for WAKE_UP from 58 to 63, and 4 clients from
 * 21.9 to 27.2 k/s. */
#define DELAY_MAX AO_US(500) /* a busy loop holds operations back at most so long */
#define WAKE_UP   AO_US(30)  /* the next operation comes within this time, or not soon */
#define WAIT_MAX  AO_US(120) /* a wait for more, however they come */
#define ELSEWHERE AO_MS(2)   /* none of these is longer, however long a commit took there */
enum {
    ENOUGH = 128, /* operations: a commit's own cost is small beside theirs */
    MISSES = 2    /* after a wait in vain, so many are not made */
};

static void hand_over(struct store *s)
{
    struct store_op *next;
    for (struct store_op *op = s->gathered; op; op = next) {
        next = op->next;
        lane_push(&s->in, &op->item);
    }
    s->gathered = s->gathered_last = NULL;
    s->gathered_count = s->returned = 0;
    s->wait_began = 0;
    s->expects_gathered = s->sleeps = false;
    activator_forget_hook(s->client, &s->idle_hook);
}

static bool is_elsewhere(const struct store *s)
{
    return s->driver->batches > 1;
}

/* How long a wait may last; an engine elsewhere allows a part of the time of its last commit. */
static ao_time patience(const struct store *s, ao_time least, unsigned part)
{
    ao_time took = is_elsewhere(s) ? counter_read(&s->counters.commit_ns) / part : 0;
    return took < least ? least : took < ELSEWHERE ? took : ELSEWHERE;
}

/* When the wait ends, unless an operation comes before. */
static ao_time wait_end(const struct store *s)
{
    ao_time next = s->last_came + patience(s, WAKE_UP, 4);
    ao_time last = s->wait_began + patience(s, WAIT_MAX, 1);
    return next < last ? next : last;
}

/* True: the store looks once more, as an operation has come within WAKE_UP. */
static bool wait_for_more(struct store *s, ao_time now)
{
    if (s->wait_began == 0)
        s->wait_began = s->last_came = now;
    else if (s->gathered_count > s->gathered_then)
        s->last_came = now;
    s->gathered_then = s->gathered_count;
    if (now < wait_end(s))
        return true;
    s->misses = MISSES;
    return false;
}

static void look_again(struct store *s)
{
    s->sleeps = is_elsewhere(s);
    if (s->sleeps)
        activator_after(s->client, &s->idle_hook, wait_end(s) - activator_now(s->client));
    else
        activator_when_idle(s->client, &s->idle_hook, WAKE_UP);
}

static void on_idle(struct round_hook *hook)
{
    struct store *s = ao_of(hook, struct store, idle_hook);
    ao_time now = activator_clock(s->client);
    bool expects =
        s->gathered_count < s->returned && now - s->returned_at < patience(s, DELAY_MAX, 1);
    if (expects && s->misses > 0)
        s->misses--;
    else if (expects && wait_for_more(s, now)) {
        look_again(s);
        return;
    }
    hand_over(s);
}

static void gather(struct store *s, struct store_op *op)
{
    op->next = NULL;
    if (s->gathered)
        s->gathered_last->next = op;
    else
        s->gathered = op;
    s->gathered_last = op;
    s->gathered_count++;
}

/* Relaxed: it orders nothing.  What waits for a commit is considered again when that comes back,
 * and by then, or when the next does, this one is seen to have ended. */
static bool committing(const struct store *s)
{
    return atomic_load_explicit(&s->committing, memory_order_relaxed);
}

static void consider(struct store *s)
{
    if (s->gathered_count >= ENOUGH) {
        hand_over(s);
        return;
    }
    if (s->sleeps) /* it may be the last that is waited for */
        activator_forget_hook(s->client, &s->idle_hook);
    s->sleeps = false;
    if (s->gathered && !committing(s))
        activator_when_idle(s->client, &s->idle_hook, DELAY_MAX);
}

void store_push(struct store *s, struct store_op *op)
{
    assert((op->kind != STORE_ROW_PUT && op->kind != STORE_ROW_REMOVE) || op->table);
    assert((op->kind != STORE_ROW_GET && op->kind != STORE_ROW_PAGE) || op->table->by_key);
    assert(op->kind != STORE_GROUP || op->group.first);
    assert(op->kind != STORE_PUT || op->task.id > 0);
    store_op_end(op, STORE_OK);
    if (op->kind == STORE_GROUP)
        op->group.seen = counter_read(&s->counters.taken);
    counter_add(&s->counters.pushed, 1);
    if (!s->stopped) {
        gather(s, op);
        consider(s);
        return;
    }
    store_op_end(op, STORE_CLOSED);
    lane_push(&s->out, &op->item);
    lane_flush(&s->out);
}

/* After the stop there is no writer to bring what found no slot. */
struct store_op *store_take(struct store *s)
{
    struct lane_item *item = lane_take(&s->out);
    if (!item && s->stopped) {
        lane_release(&s->out);
        lane_flush(&s->out);
        item = lane_take(&s->out);
    }
    if (!item)
        return NULL;
    s->returned++;
    counter_add(&s->counters.taken, 1);
    return ao_of(item, struct store_op, item);
}

void store_release(struct store *s)
{
    lane_release(&s->out);
    if (s->stopped)
        return;
    s->returned_at = activator_now(s->client);
    if (is_elsewhere(s) && !s->expects_gathered)
        s->returned += s->gathered_count;
    s->expects_gathered = true;
    consider(s);
}

void client_start(struct store *s, struct activator *client)
{
    s->client = client;
    s->idle_hook.run = on_idle;
}

/* What finds no slot follows as the writer frees some. */
void client_stop(struct store *s)
{
    hand_over(s);
    while (!lane_flush(&s->in))
        sched_yield();
}
