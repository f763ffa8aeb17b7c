/* The client's side: which operations go to the writer, and when.
 *
 * A commit costs as much for a few operations as for one, and those whose operations have just come
 * back are about to push the next.  So a few are gathered until the commit that goes on has come
 * back, and the client has nothing more to do, or has had so much to do for PATIENCE; many go at
 * once.  If fewer are gathered than have just come back, the rest may only need the time of a
 * wake-up: while they come, and for LONGEST in all, the client looks for them, unless that was in
 * vain lately. */
#include <sched.h>

#include "server/store/store_parts.h"

#define PATIENCE AO_US(500)
#define WAKE_UP  AO_US(30)
#define LONGEST  AO_US(120)
enum {
    ENOUGH = 128, /* operations: a commit's own cost is small beside theirs */
    DOUBT = 2     /* so many times nobody is waited for after a wait in vain */
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
    s->rested = 0;
    activator_forget_hook(s->client, &s->rest);
}

/* Looks once more, until none has come for WAKE_UP. */
static bool wait_for_more(struct store *s, ao_time now)
{
    if (s->rested == 0)
        s->rested = s->came = now;
    else if (s->gathered_count > s->gathered_then)
        s->came = now;
    s->gathered_then = s->gathered_count;
    if (now - s->came < WAKE_UP && now - s->rested < LONGEST)
        return true;
    s->doubt = DOUBT;
    return false;
}

static void at_rest(struct round_hook *hook)
{
    struct store *s = ao_of(hook, struct store, rest);
    ao_time now = activator_clock(s->client);
    bool expects = s->gathered_count < s->returned && now - s->returned_at < PATIENCE;
    if (expects && s->doubt > 0)
        s->doubt--;
    else if (expects && wait_for_more(s, now)) {
        activator_when_idle(s->client, hook, WAKE_UP);
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
    if (s->gathered_count >= ENOUGH)
        hand_over(s);
    else if (s->gathered && !committing(s))
        activator_when_idle(s->client, &s->rest, PATIENCE);
}

void store_push(struct store *s, struct store_op *op)
{
    op->error = STORE_OK;
    if (!s->stopped) {
        gather(s, op);
        consider(s);
        return;
    }
    op->error = STORE_CLOSED;
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
    return ao_of(item, struct store_op, item);
}

void store_release(struct store *s)
{
    lane_release(&s->out);
    if (s->stopped)
        return;
    s->returned_at = activator_now(s->client);
    consider(s);
}

void client_start(struct store *s, struct activator *client)
{
    s->client = client;
    s->rest.run = at_rest;
}

/* What finds no slot follows as the writer frees some. */
void client_stop(struct store *s)
{
    hand_over(s);
    while (!lane_flush(&s->in))
        sched_yield();
}
