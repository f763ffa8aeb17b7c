/* Letters: messages that any thread sends to the port of an activator.  The port has a letter from
 * port_send() until it is delivered; the sender owns its memory. */
#ifndef ERGON_RUNTIME_PORT_H
#define ERGON_RUNTIME_PORT_H

#include <sys/queue.h>

#include <ergon/port.h>

#include "server/runtime/threads/mpsc.h"

/* Embed it in the message; it is in one port at most at a time. */
struct letter {
    struct mpsc_item item;
    /* Called on the port's thread; the letter may be reused.  `dropped`: the port is being freed or
     * has been, and nothing may be sent any more: only free memory.  This call may be on the
     * sender's thread. */
    void (*deliver)(struct letter *self, bool dropped);
};

/* Any thread; never fails, never blocks.  Letters of one thread are delivered in order.  If the
 * port has been freed, the caller must have a reference to it; the letter is dropped then. */
void port_send(struct ao_port *port, struct letter *letter);

/* The memory of the port stays while there are references, so that threads that send at any time,
 * such as those of a module, may do so after the port was freed.  Any thread. */
struct ao_port *port_ref(struct ao_port *port);
void port_unref(struct ao_port *port);

/* --- Home --- */

/* An object at home that acts for another thread, and is notified when the port is freed; embed it.
 */
struct port_guest {
    LIST_ENTRY(port_guest) link;
    void (*port_goes)(struct port_guest *self); /* it must leave; other guests may leave with it */
};
void port_enter(struct ao_port *port, struct port_guest *guest);
void port_leave(struct port_guest *guest); /* once */

bool port_goes(const struct ao_port *port); /* true: the port is being freed */

#endif
