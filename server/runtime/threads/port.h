/* Letters: what travels to the port of an activator, from any thread.  A letter is the port's from
 * port_send() until it is delivered; its memory stays the sender's. */
#ifndef ERGON_RUNTIME_PORT_H
#define ERGON_RUNTIME_PORT_H

#include <sys/queue.h>

#include <ergon/port.h>

#include "server/runtime/threads/mpsc.h"

/* Embed in what travels; in one port at most at a time. */
struct letter {
    struct mpsc_item item;
    /* On the port's thread; the letter is free again.  `dropped`: the port goes or has gone,
     * nothing may be sent any more: only give up memory.  That may be on the sender's thread. */
    void (*deliver)(struct letter *self, bool dropped);
};

/* Any thread; never fails, never blocks.  Letters of one thread are delivered in order.  The port
 * has not been freed, or the caller holds what has a reference to it: then the letter is dropped.
 */
void port_send(struct ao_port *port, struct letter *letter);

/* The memory of the port stays for as long as there are references, so that who may send at any
 * time, as a thread of a module may, can do so when the port has gone.  Any thread. */
struct ao_port *port_ref(struct ao_port *port);
void port_unref(struct ao_port *port);

/* --- Home --- */

/* What stands at home for somebody elsewhere, and is told when the port goes; embed it. */
struct port_guest {
    LIST_ENTRY(port_guest) link;
    void (*port_goes)(struct port_guest *self); /* it leaves; others may leave with it */
};
void port_enter(struct ao_port *port, struct port_guest *guest);
void port_leave(struct port_guest *guest); /* once */

bool port_goes(const struct ao_port *port); /* nothing can be sent to others any more */

#endif
