/* The acceptor: an active object on the first loop's activator.  Its listeners' events, slots
 * that come home, and commands of other threads make it active. */
#include "server/net/accept/acceptor_private.h"

#include <errno.h>
#include <stdlib.h>

static void slot_free(struct acceptor *a, struct conn_slot *slot)
{
    a->open--;
    a->links[slot->message.loop].open--;
    --slot->rules->open;
    if (slot->address != NULL)
        address_drop(&a->addresses, slot->address);
    free(slot);
}

/* True when more may wait. */
static bool take_slots_back(struct acceptor *a)
{
    bool more = false;

    for (uint32_t i = 0; i < a->loop_count; i++) {
        struct lane *back = &a->links[i].back;
        for (int n = 0; n < RETURNS_A_STEP; n++) {
            struct lane_item *item = lane_take(back);
            if (item == NULL)
                break;
            slot_free(a, ao_of(ao_of(item, struct loop_message, item), struct conn_slot, message));
        }
        lane_release(back);
        more = more || lane_ready(back);
    }
    return more;
}

static void end_pause(struct acceptor *a)
{
    a->paused = false;
    listeners_watch(a, !a->draining);
}

static enum ao_verdict acceptor_step(struct ao *self)
{
    struct acceptor *a = ao_of(self, struct acceptor, ao);

    acceptor_handle_commands(a);
    bool more = take_slots_back(a);
    if (a->paused && activator_now(a->activator) >= a->pause_end)
        end_pause(a);
    for (uint32_t i = 0; i < a->listener_count && !a->paused; i++)
        if (a->listeners[i]->ready)
            accept_some(a->listeners[i]);
    acceptor_report_drained(a);
    if (more)
        return AO_AGAIN;
    if (!a->paused)
        return AO_DONE;
    ao_sleep_until(self, a->pause_end);
    return AO_PARK;
}

static const struct ao_class acceptor_class = {.name = "acceptor", .step = acceptor_step};

/* --- Set-up and tear-down --- */

static bool link_loop(struct acceptor *a, struct loop_link *link, struct net_loop *loop)
{
    if (lane_init(&link->to, LANE_CAPACITY, a->activator, &loop->intake) != 0)
        return false;
    if (lane_init(&link->back, LANE_CAPACITY, loop->activator, &a->ao) != 0) {
        lane_fini(&link->to);
        return false;
    }
    link->loop = loop;
    link->drain.kind = LOOP_DRAIN;
    link->abort.kind = LOOP_ABORT;
    loop->from_acceptor = &link->to;
    loop->to_acceptor = &link->back;
    return true;
}

static void unlink_loop(struct loop_link *link)
{
    link->loop->from_acceptor = NULL;
    link->loop->to_acceptor = NULL;
    loop_messages_drop(&link->to);
    loop_messages_drop(&link->back);
    lane_fini(&link->to);
    lane_fini(&link->back);
}

struct acceptor *acceptor_new(struct net_loop **loops, uint32_t count,
                              const struct net_limits *limits)
{
    struct acceptor *a = calloc(1, sizeof *a);
    size_t size = count * sizeof *a->links;

    if (a == NULL)
        return NULL;
    a->activator = loops[0]->activator;
    a->base = loops[0]->base;
    a->limits = *limits;
    address_table_init(&a->addresses);
    for (int i = 0; i < 2; i++)
        a->addresses.seed[i] = activator_random(a->activator);
    mpsc_init(&a->commands);
    ao_init(&a->ao, &acceptor_class, a->activator);
    a->handle = ao_handle_new(&a->ao);
    a->links = aligned_alloc(alignof(struct loop_link), size);
    if (a->handle == NULL || a->links == NULL)
        goto fail;
    memset(a->links, 0, size);
    for (; a->loop_count < count; a->loop_count++)
        if (!link_loop(a, &a->links[a->loop_count], loops[a->loop_count]))
            goto fail;
    return a;
fail:
    acceptor_free(a);
    errno = ENOMEM;
    return NULL;
}

void acceptor_free(struct acceptor *a)
{
    if (a == NULL)
        return;
    acceptor_handle_commands(a); /* frees what was asked and not done */
    for (uint32_t i = 0; i < a->loop_count; i++)
        unlink_loop(&a->links[i]);
    /* Connections point to the rules of their listener to their end. */
    for (uint32_t i = 0; i < a->loop_count; i++)
        loop_drop_connections(a->links[i].loop);
    listeners_free(a);
    address_table_fini(&a->addresses);
    free(a->links);
    if (a->handle != NULL)
        ao_handle_unref(a->handle);
    ao_deactivate(&a->ao);
    ao_fini(&a->ao);
    free(a);
}
