/* What a mailbox and its remotes know of each other. */
#ifndef ERGON_RUNTIME_MAILBOX_REMOTE_H
#define ERGON_RUNTIME_MAILBOX_REMOTE_H

#include <ergon/mailbox.h>

/* mailbox.c: mail whose room is accounted for enters: to a receiver that waits, or behind the rest.
 */
void mailbox_enter(struct ao_mailbox *m, struct ao_mail *mail);

/* mailbox.c: one more place for home: to a sender of home that waits, or free. */
void mailbox_home_room(struct ao_mailbox *m);

/* mailbox_remote.c: a mail that had come through `r` left the mailbox: its room goes to a sender
 * that waits, or back to the share.  Home thread. */
void mailbox_remote_room(struct ao_mailbox_remote *r);

#endif
