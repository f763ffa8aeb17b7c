/* What a mailbox knows of its remotes: mailbox_remote.c is built on mailbox.c.  Home thread. */
#ifndef ERGON_RUNTIME_MAILBOX_REMOTE_H
#define ERGON_RUNTIME_MAILBOX_REMOTE_H

#include <ergon/mailbox.h>

#include "server/runtime/threads/port.h"

struct ao_mailbox_remote {
    struct letter letter;      /* under way while `called` */
    _Atomic uint32_t refs;     /* holders, home until it closes, the letter under way */
    _Atomic int32_t room;      /* 0 while a sender waits; below 0: closed */
    _Atomic uint32_t returned; /* room that comes back from a grant nobody waited for */
    _Atomic bool called;       /* the letter is under way */
    struct mpsc mails;         /* of struct ao_mail, by `next` */
    struct ao_port *home;
    void (*orphan)(struct ao_mail *mail);

    /* Home. */
    struct ao_mailbox *mailbox; /* NULL once closed */
    uint32_t share;             /* places of the bound, free or not */
    struct ao_wait_queue waiters;
};

/* Mail whose room is accounted for enters: to a receiver that waits, or behind the rest. */
void mailbox_enter(struct ao_mailbox *m, struct ao_mail *mail);

/* One more place for home: to a sender of home that waits, or free. */
void mailbox_home_room(struct ao_mailbox *m);

/* A mail that had come through `r` left the mailbox, or never entered: its room goes to a sender
 * that waits, or back to the share. */
void mailbox_remote_room(struct ao_mailbox_remote *r);

#endif
