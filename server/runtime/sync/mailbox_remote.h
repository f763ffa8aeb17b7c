/* The remote of a mailbox: what other threads use of it.  Functions here: home thread. */
#ifndef ERGON_RUNTIME_MAILBOX_REMOTE_H
#define ERGON_RUNTIME_MAILBOX_REMOTE_H

#include <ergon/mailbox.h>

#include "server/runtime/threads/port.h"

struct ao_mailbox_remote {
    struct letter letter;      /* in flight while `called` */
    _Atomic uint32_t refs;     /* references: holders, home until it closes, the letter in flight */
    _Atomic int32_t room;      /* free room of the share; 0 while a sender waits; below 0: closed */
    _Atomic uint32_t returned; /* room given back by grants whose waiter had left */
    _Atomic bool called;       /* the letter is in flight */
    struct mpsc mails;         /* sent mails (struct ao_mail, by `next`) */
    struct ao_port *home;
    void (*orphan)(struct ao_mail *mail);

    /* Home. */
    struct ao_mailbox *mailbox; /* NULL once closed */
    uint32_t share;             /* its share of the mailbox's bound */
    struct ao_wait_queue waiters;
};

/* Adds a mail whose room is accounted for: it goes to a waiting receiver, or to the end of the
 * queue. */
void mailbox_enter(struct ao_mailbox *m, struct ao_mail *mail);

/* Frees room of home: it goes to a waiting sender at home, or becomes free. */
void mailbox_home_room(struct ao_mailbox *m);

/* Frees room of `r`, after one of its mails has left the mailbox or did not enter it: the room goes
 * to a waiting sender, or back to the share. */
void mailbox_remote_room(struct ao_mailbox_remote *r);

#endif
