/* What is watched over time of a connection with workers. */
#include "proto/encoder.h"
#include "server/net/connection/oversight.h"
#include "server/workers/worker_process.h"

/* --- Is the peer still there?  Its registration says for how long it may be silent. --- */

/* Of a lease: after the third part of it in silence the peer is asked, and it is looked at so often
 * whether anything has come. */
enum { ASKED_AFTER = 3, LOOKS_A_LEASE = 12 };

static ao_time shortest_lease(const struct worker_link *link)
{
    ao_time least = 0;

    for (const struct worker *w = link->first; w; w = w->next)
        if (w->lease > 0 && (least == 0 || w->lease < least))
            least = w->lease;
    return least;
}

/* Grows with each byte that comes, of messages that are whole or not. */
static uint64_t come(const struct worker_link *link)
{
    struct conn_figures n;

    conn_figures(link->conn, &n);
    return (n.messages << 32) + n.partial;
}

/* Nothing is asked while an earlier question is out, or the output is full. */
static void ask(struct worker_link *link)
{
    enum { PING_MAX = 32 };

    if (link->ping > 0 || conn_output_full(link->conn))
        return;
    uint32_t number = requests_open(&link->requests, &link->ping);
    if (number == 0)
        return;
    uint8_t *p = conn_reserve(link->conn, PING_MAX);
    if (!p)
        return;
    uint64_t begin = conn_committed(link->conn);
    link->ping = number;
    p = enc_uint(enc_uint(enc_array(p, 4), 0), number);
    conn_commit(link->conn, enc_array(enc_str(p, span_text("worker.ping")), 0));
    requests_sent(&link->requests, number, begin, conn_committed(link->conn));
    worker_link_settle(link);
}

static enum ao_verdict look_for_peer(struct ao *self)
{
    struct worker_link *link = ao_of(self, struct worker_link, lease);
    ao_time now = ao_now(self), lease = shortest_lease(link);
    uint64_t came = come(link);

    if (lease == 0 || link->why)
        return AO_DONE;
    if (came != link->came) {
        link->came = came;
        link->heard = now;
    }
    if (now - link->heard >= lease) {
        worker_close(link, "it was silent for as long as its lease");
        return AO_DONE;
    }
    if (now - link->heard >= lease / ASKED_AFTER)
        ask(link);
    ao_time next = now + lease / LOOKS_A_LEASE, end = link->heard + lease;
    ao_sleep_until(self, next < end ? next : end);
    return AO_PARK;
}

static const struct ao_class lease_class = {.name = "worker lease", .step = look_for_peer};

void worker_lease_begin(struct worker_link *link)
{
    if (!link->leased)
        ao_init(&link->lease, &lease_class, link->loop->activator);
    link->leased = true;
    link->came = come(link);
    link->heard = activator_now(link->loop->activator);
    if (ao_state(&link->lease) == AO_STATE_SLEEPING)
        ao_wake(&link->lease);
    else
        ao_activate(&link->lease);
}

/* --- Does a worker still run tasks that nobody wants any more? --- */

/* `workers.give_up` says for how long it may: then its connection is closed, since a handler that
 * does not end keeps its slot.  A process of a module says so itself (`stuck`), and is ended. */

/* Of that time: the worker's tasks are looked through no more often, however many are late one
 * after the other. */
enum { LOOKS = 16 };

/* Since when nobody wants the task that has been unwanted for longest, and which that is; AO_NEVER:
 * all are wanted. */
static ao_time first_unwanted(const struct worker_link *link, const struct task **which)
{
    ao_time first = AO_NEVER;

    for (const struct worker *w = link->first; w; w = w->next)
        for (const struct task *t = w->executor ? worker_executor_tasks(w->executor) : NULL; t;
             t = worker_executor_task_after(t)) {
            ao_time since = worker_executor_task_unwanted(t);
            if (since < first) {
                first = since;
                *which = t;
            }
        }
    return first;
}

static ao_time give_up(const struct worker_link *link)
{
    return worker_is_process(link) ? link->process.stuck : link->loop->shared->give_up;
}

static enum ao_verdict look_for_late(struct ao *self)
{
    struct worker_link *link = ao_of(self, struct worker_link, late);
    const struct task *late = NULL;
    ao_time now = ao_now(self), limit = give_up(link), first = first_unwanted(link, &late);

    if (first == AO_NEVER || link->why)
        return AO_DONE;
    if (now - first >= limit && worker_is_process(link)) {
        worker_process_end(link, late);
        return AO_DONE;
    }
    if (now - first >= limit) {
        worker_close(link, "it kept running an abandoned task for longer than workers.give_up");
        return AO_DONE;
    }
    ao_time end = first + limit, soonest = now + limit / LOOKS;
    ao_sleep_until(self, end > soonest ? end : soonest);
    return AO_PARK;
}

static const struct ao_class late_class = {.name = "worker late", .step = look_for_late};

/* One that sleeps looks at this task when it wakes, which is before the task's time is over. */
void worker_late_begin(struct worker_link *link)
{
    if (give_up(link) == 0)
        return;
    if (!link->watched)
        ao_init(&link->late, &late_class, link->loop->activator);
    link->watched = true;
    if (ao_state(&link->late) != AO_STATE_SLEEPING)
        ao_activate(&link->late);
}
