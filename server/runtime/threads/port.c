#include "server/runtime/threads/port.h"

#include <stdlib.h>

/* Letters that one step delivers. */
enum { PORT_BUDGET = 256 };

struct ao_port {
    struct ao ao;
    struct ao_handle *handle;
    struct mpsc inbox;
    struct mpsc_item *rest; /* taken, not yet delivered; oldest first */
};

static struct letter *next_letter(struct ao_port *port)
{
    if (!port->rest)
        port->rest = mpsc_take(&port->inbox);
    struct mpsc_item *item = port->rest;
    if (!item)
        return NULL;
    port->rest = item->next; /* before the delivery: the letter may be sent again at once */
    return ao_of(item, struct letter, item);
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
    for (struct letter *letter; (letter = next_letter(port));)
        letter->deliver(letter, true);
    if (ao_state(&port->ao) == AO_STATE_ACTIVE)
        ao_deactivate(&port->ao);
    ao_handle_unref(port->handle);
    ao_fini(&port->ao);
    free(port);
}

void port_send(struct ao_port *port, struct letter *letter)
{
    /* On the edge only: until the port takes its letters, one request to look is enough.  Of a
     * closed activator the request is refused; the letter waits for ao_port_free(). */
    if (mpsc_push(&port->inbox, &letter->item))
        (void)ao_post(port->handle, AO_POST_MESSAGE);
}
