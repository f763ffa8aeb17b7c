/* Mailbox: bounded, buffered exchange of pointers, in order.
 *
 * What travels embeds a struct ao_mail, so that sending never allocates; an idle mailbox costs 24
 * bytes.  Sending is giving: from the moment it was accepted the mail is the receiver's.
 *
 * Thread: the home activator.  Other activators and plain threads send through an
 * ao_mailbox_remote, which has a share of the bound of its own. */
#ifndef ERGON_MAILBOX_H
#define ERGON_MAILBOX_H

#include <ergon/port.h>
#include <ergon/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ao_mailbox_remote;
struct mpsc_item; /* private to the runtime */

/* Embed in what travels.  Private while it is inside. */
struct ao_mail {
    union {
        struct ao_mail *next;   /* in the mailbox */
        struct mpsc_item *link; /* on the way to it from another thread */
    };
    struct ao_mailbox_remote *from; /* whose share of the bound it uses; NULL: the home's */
};

struct ao_mailbox {
    struct ao_mail *last;         /* a ring; the first is last->next; NULL: empty */
    struct ao_wait_queue waiters; /* receivers while it is empty, senders while it is full */
    int32_t room;     /* mails that home may still put in; below 0 after mail came back */
    uint16_t remotes; /* open ones */
    bool closed;
    bool sending; /* who waits: senders; valid while somebody does */
};
static_assert(sizeof(struct ao_mailbox) <= 24, "a million idle mailboxes is a normal day");

/* `bound` is at least 1: how many mails it holds at most. */
void ao_mailbox_init(struct ao_mailbox *m, uint32_t bound);

/* The caller has emptied it by ao_mailbox_take() and closed its remotes.  Waiters are
 * settled CLOSED. */
void ao_mailbox_fini(struct ao_mailbox *m);

/* No more mail: waiting senders are settled CLOSED.  What is inside can still be received; then
 * receivers are CLOSED.  Idempotent. */
void ao_mailbox_close(struct ao_mailbox *m);

/* Without waiting: 0, AO_E_FULL (no room is free) or AO_E_CLOSED; refused mail stays the caller's.
 * Mail that is inside must not be sent again; of the mail that came last it is noticed. */
int ao_mailbox_try_send(struct ao_mailbox *m, struct ao_mail *mail);

/* Start function: waits for room.  READY: the mail was accepted; anything else: it is still the
 * sender's. */
void ao_mailbox_send(struct ao_mailbox *m, struct ao_mail *mail, struct ao_wait *w);

/* Without waiting: the oldest mail, or NULL. */
struct ao_mail *ao_mailbox_take(struct ao_mailbox *m);

/* Start function: waits for mail.  READY: `value` is the struct ao_mail.  Receivers are served in
 * order; mail that was granted to an object which ends first goes to the next, or back to the
 * front. */
void ao_mailbox_receive(struct ao_mailbox *m, struct ao_wait *w);

bool ao_mailbox_empty(const struct ao_mailbox *m);

/* --- From other activators and threads --- */

/* A way in for other threads, counted (one reference for the caller).  It takes `share` of the free
 * room of home for itself, and one place at least stays: so the bound holds over all who send.
 * NULL when there is not that much room, or no memory.  `port` is that of the mailbox's home.
 * `orphan` gets mail that was accepted but can no longer be delivered, because the remote was
 * closed or the port freed meanwhile: on home's thread, or on that which frees.  Home thread.
 * Misuse: no `orphan`. */
struct ao_mailbox_remote *ao_mailbox_share(struct ao_mailbox *m, struct ao_port *port,
                                           uint32_t share, void (*orphan)(struct ao_mail *mail));

/* Home thread, before ao_mailbox_fini(): refuses from now on, and settles senders that wait for
 * room as CLOSED.  Mail that has arrived stays in the mailbox, and the share goes back to home. */
void ao_mailbox_remote_close(struct ao_mailbox_remote *r);
struct ao_mailbox_remote *ao_mailbox_remote_ref(struct ao_mailbox_remote *r); /* any thread */
void ao_mailbox_remote_unref(struct ao_mailbox_remote *r);                    /* any thread */

/* Any thread, never blocks: 0, AO_E_FULL when the share is used up, or AO_E_CLOSED; refused mail
 * stays the caller's.  Mail of one thread arrives in order. */
int ao_mailbox_remote_try_send(struct ao_mailbox_remote *r, struct ao_mail *mail);

/* Start function for an object of another activator, whose port is `here`: waits for room in the
 * share.  Outcomes as of ao_mailbox_send(); REFUSED: out of memory. */
void ao_mailbox_remote_send(struct ao_mailbox_remote *r, struct ao_port *here, struct ao_mail *mail,
                            struct ao_wait *w);

#ifdef __cplusplus
}
#endif

#endif
