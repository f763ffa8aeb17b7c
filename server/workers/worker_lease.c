/* Is the peer of a worker still there?  Its registration says for how long it may be silent. */
#include "server/net/connection/oversight.h"
#include "server/workers/worker_watch.h"
#include "server/workers/workers.h"

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

static enum ao_verdict look(struct ao *self)
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
        worker_ping(link);
    ao_time next = now + lease / LOOKS_A_LEASE, end = link->heard + lease;
    ao_sleep_until(self, next < end ? next : end);
    return AO_PARK;
}

static const struct ao_class lease_class = {.name = "worker lease", .step = look};

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
