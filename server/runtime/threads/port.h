/* Letters: what travels to the port of an activator, from any thread.  A letter is the port's from
 * port_send() until it is delivered; its memory stays the sender's. */
#ifndef ERGON_RUNTIME_PORT_H
#define ERGON_RUNTIME_PORT_H

#include <ergon/port.h>

#include "server/runtime/threads/mpsc.h"

/* Embed in what travels; in one port at most at a time. */
struct letter {
    struct mpsc_item item;
    /* On the port's thread; the letter is free again.  `dropped`: the port is being freed, nothing
     * may be sent any more: only give up memory. */
    void (*deliver)(struct letter *self, bool dropped);
};

/* Any thread; never fails, never blocks.  Letters of one thread are delivered in order. */
void port_send(struct ao_port *port, struct letter *letter);

#endif
