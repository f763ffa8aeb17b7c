#include "server/runtime/threads/port.h"

#include <stdlib.h>

/* The most letters that one step delivers. */
enum { PORT_BUDGET = 256 };

struct ao_port {
    struct ao ao;
    struct ao_handle *handle;
    struct mpsc inbox;
    struct mpsc_item *rest; /* taken, not yet delivered; oldest first */
    LIST_HEAD(, port_guest) guests;
    /* References: one of the maker until ao_port_free(), and one of each remote.  Taking one is
     * relaxed, since the caller has one. */
    _Atomic uint32_t refs;
    /* 1: the port is being freed.  A sender modifies it after pushing its letter, and
     * ao_port_free() before it takes the last letters; both by a read-modify-write that acquires
     * and releases.  The second of the two sees what the first did, so no letter stays behind. */
    _Atomic uint32_t closed;
};

static struct letter *next_letter(struct ao_port *port)
{
    struct mpsc_item *item = mpsc_next(&port->inbox, &port->rest);
    return item ? ao_of(item, struct letter, item) : NULL;
}

static enum ao_verdict port_step(struct ao *self)
{
    struct ao_port *port = ao_of(self, struct ao_port, ao);
    for (int n = 0; n < PORT_BUDGET; n++) {
        struct letter *letter = next_letter(port);
        if (!letter)
            return AO_DONE;
        letter->deliver(letter, false);
    }
    return AO_AGAIN;
}

static const struct ao_class port_class = {.name = "port", .step = port_step};

struct ao_port *ao_port_new(struct activator *home)
{
    struct ao_port *port = calloc(1, sizeof(*port));
    if (!port)
        return NULL;
    ao_init(&port->ao, &port_class, home);
    mpsc_init(&port->inbox);
    LIST_INIT(&port->guests);
    atomic_init(&port->refs, 1);
    atomic_init(&port->closed, 0);
    port->handle = ao_handle_new(&port->ao);
    if (!port->handle) {
        free(port);
        return NULL;
    }
    return port;
}

void ao_port_free(struct ao_port *port)
{
    if (!port)
        return;
    /* Pairs with port_send(): see `closed`. */
    atomic_exchange_explicit(&port->closed, 1, memory_order_acq_rel);
    for (struct letter *letter; (letter = next_letter(port));)
        letter->deliver(letter, true);
    for (struct port_guest *guest; (guest = LIST_FIRST(&port->guests));)
        guest->port_goes(guest);
    if (ao_state(&port->ao) == AO_STATE_ACTIVE)
        ao_deactivate(&port->ao);
    ao_fini(&port->ao);
    port_unref(port);
}

struct ao_port *port_ref(struct ao_port *port)
{
    atomic_fetch_add_explicit(&port->refs, 1, memory_order_relaxed);
    return port;
}

void port_unref(struct ao_port *port)
{
    /* Orders each holder's last use before the free; pairs with itself on the other threads. */
    if (atomic_fetch_sub_explicit(&port->refs, 1, memory_order_acq_rel) != 1)
        return;
    ao_handle_unref(port->handle);
    free(port);
}

/* Any thread; several may call it at once, since each takes all letters that are there. */
static void drop_letters(struct ao_port *port)
{
    for (struct mpsc_item *item = mpsc_take(&port->inbox), *next; item; item = next) {
        struct letter *letter = ao_of(item, struct letter, item);
        next = item->next;
        letter->deliver(letter, true);
    }
}

void port_send(struct ao_port *port, struct letter *letter)
{
    /* Only the first letter posts: one request is enough until the port takes its letters.  A
     * closed activator refuses the request, and the letter waits for ao_port_free(). */
    if (mpsc_push(&port->inbox, &letter->item))
        (void)ao_post(port->handle, AO_POST_MESSAGE);
    /* Pairs with ao_port_free(): see `closed`. */
    if (atomic_fetch_add_explicit(&port->closed, 0, memory_order_acq_rel))
        drop_letters(port);
}

void port_enter(struct ao_port *port, struct port_guest *guest)
{
    LIST_INSERT_HEAD(&port->guests, guest, link);
}

void port_leave(struct port_guest *guest)
{
    LIST_REMOVE(guest, link);
}

bool port_goes(const struct ao_port *port)
{
    /* Relaxed: home itself has set it. */
    return atomic_load_explicit(&port->closed, memory_order_relaxed);
}
