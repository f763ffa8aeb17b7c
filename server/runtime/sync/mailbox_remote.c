/* The remote of a mailbox.
 *
 * `room` is the free part of its share of the bound: a sender takes 1 of it, and may then push one
 * mail. Mails go into a list, and room that was taken in vain is counted; one letter, in flight
 * while `called`, makes home look at both.  Room is only given back at home.  A sender that waits
 * for room makes a remote wait, and pushes its mail when the answer has come; until then it owns
 * the mail. */
#include "server/runtime/sync/mailbox_remote.h"

#include <stdlib.h>

#include "base/check.h"
#include "server/runtime/sync/remote_wait.h"

/* Far below every count of room, so that there is never room again. */
enum { ROOM_CLOSED = INT32_MIN / 2 };

_Static_assert(offsetof(struct ao_mail, link) == offsetof(struct mpsc_item, next),
               "a mail on the way is an item");

struct ao_mailbox_remote *ao_mailbox_remote_ref(struct ao_mailbox_remote *r)
{
    /* Relaxed: the caller has a reference. */
    uint32_t refs = atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    require(refs > 0 && refs < UINT32_MAX, "there is no reference, or there are too many");
    return r;
}

void ao_mailbox_remote_unref(struct ao_mailbox_remote *r)
{
    /* Orders each holder's last use before the free; pairs with itself on the other threads. */
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    require(!r->mailbox, "the last reference is the mailbox's own");
    port_unref(r->home);
    free(r);
}

/* --- Any thread --- */

/* Relaxed: changes of room order nothing, and the list publishes what is sent. */
static int take_room(struct ao_mailbox_remote *r)
{
    int32_t room = atomic_load_explicit(&r->room, memory_order_relaxed);
    do {
        if (room <= 0)
            return room < 0 ? AO_E_CLOSED : AO_E_FULL;
    } while (!atomic_compare_exchange_weak_explicit(&r->room, &room, room - 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return 0;
}

static void call_home(struct ao_mailbox_remote *r)
{
    ao_mailbox_remote_ref(r); /* the letter's */
    /* Release: the mail or the room before the call.  Acquire: home is done with the letter.  Both
     * pair with the exchange in deliver(), which clears `called` before it looks: if it is set,
     * home has yet to look, and no letter is needed. */
    if (atomic_exchange_explicit(&r->called, true, memory_order_acq_rel))
        ao_mailbox_remote_unref(r);
    else
        port_send(r->home, &r->letter);
}

static void push(struct ao_mailbox_remote *r, struct ao_mail *mail)
{
    mpsc_push(&r->mails, (struct mpsc_item *)mail);
    call_home(r);
}

int ao_mailbox_remote_try_send(struct ao_mailbox_remote *r, struct ao_mail *mail)
{
    int error = take_room(r);
    if (error == 0)
        push(r, mail);
    return error;
}

/* --- Home --- */

static void arrive(struct ao_mailbox_remote *r, struct ao_mail *mail, bool dropped)
{
    mail->from = r;
    if (r->mailbox && !dropped)
        mailbox_enter(r->mailbox, mail);
    else
        r->orphan(mail);
}

static void deliver(struct letter *letter, bool dropped)
{
    struct ao_mailbox_remote *r = ao_of(letter, struct ao_mailbox_remote, letter);
    /* Acquire: the mail before the call.  Release: the letter's link was read before it is sent
     * again.  Both pair with the other half in call_home(). */
    atomic_exchange_explicit(&r->called, false, memory_order_acq_rel);
    struct mpsc_item *item = mpsc_take(&r->mails);
    while (item) {
        struct mpsc_item *next = item->next;
        arrive(r, (struct ao_mail *)item, dropped);
        item = next;
    }
    /* Relaxed: a number, published by `called`. */
    uint32_t n = atomic_exchange_explicit(&r->returned, 0, memory_order_relaxed);
    while (n-- > 0)
        mailbox_remote_room(r);
    ao_mailbox_remote_unref(r);
}

/* The mails of `r` in the mailbox count as sent from home from now on, and so does their room.
 * Returns their number. */
static uint32_t adopt_mail(struct ao_mailbox *m, const struct ao_mailbox_remote *r)
{
    uint32_t n = 0;
    struct ao_mail *mail = m->last;
    if (mail)
        do
            if (mail->from == r) {
                mail->from = NULL;
                n++;
            }
        while ((mail = mail->next) != m->last);
    return n;
}

/* Mails in flight become orphans, so all of the share is free, except for the mails inside. */
void ao_mailbox_remote_close(struct ao_mailbox_remote *r)
{
    struct ao_mailbox *m = r->mailbox;
    if (!m)
        return;
    r->mailbox = NULL;
    atomic_store_explicit(&r->room, ROOM_CLOSED, memory_order_relaxed); /* see take_room() */
    ao_wait_close_all(&r->waiters);
    m->remotes--;
    for (uint32_t room = r->share - adopt_mail(m, r); room > 0; room--)
        mailbox_home_room(m);
    ao_mailbox_remote_unref(r);
}

struct ao_mailbox_remote *ao_mailbox_share(struct ao_mailbox *m, struct ao_port *port,
                                           uint32_t share, void (*orphan)(struct ao_mail *mail))
{
    require(orphan, "no function takes what cannot be delivered");
    if ((int64_t)m->room <= (int64_t)share)
        return NULL;
    struct ao_mailbox_remote *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->letter.deliver = deliver;
    atomic_init(&r->refs, 2); /* the caller's and home's */
    atomic_init(&r->room, (int32_t)share);
    atomic_init(&r->returned, 0);
    atomic_init(&r->called, false);
    mpsc_init(&r->mails);
    r->home = port_ref(port);
    r->orphan = orphan;
    r->mailbox = m;
    r->share = share;
    m->room -= (int32_t)share;
    m->remotes++;
    return r;
}

/* --- Waiting for room --- */

static void leave(struct ao_wait *w)
{
    struct ao_mailbox_remote *r = w->on;
    ao_wait_remove(&r->waiters, w);
}

static const struct ao_wait_class room_wait = {.leave = leave};

static void start(void *object, void *value, struct ao_wait *proxy)
{
    struct ao_mailbox_remote *r = object;
    (void)value;
    int error = take_room(r);
    if (error == AO_E_CLOSED) {
        ao_wait_settle(proxy, AO_WAIT_CLOSED, NULL);
    } else if (error == 0) {
        ao_wait_grant(proxy, &room_wait, r, NULL);
    } else {
        ao_wait_pend(proxy, &room_wait, r);
        ao_wait_push(&r->waiters, proxy);
    }
}

static void arrived(void *object, void *value, struct ao_wait *w)
{
    push(object, value);
    ao_wait_grant(w, &room_wait, object, NULL);
}

static void undo(void *object, void *value)
{
    struct ao_mailbox_remote *r = object;
    (void)value;
    /* Relaxed: published by `called`. */
    atomic_fetch_add_explicit(&r->returned, 1, memory_order_relaxed);
    call_home(r);
}

static void hold(void *object)
{
    ao_mailbox_remote_ref(object);
}

static void drop(void *object)
{
    ao_mailbox_remote_unref(object);
}

static const struct remote_wait_class send_class = {
    .start = start, .arrived = arrived, .undo = undo, .hold = hold, .drop = drop};

void ao_mailbox_remote_send(struct ao_mailbox_remote *r, struct ao_port *here, struct ao_mail *mail,
                            struct ao_wait *w)
{
    int error = ao_mailbox_remote_try_send(r, mail);
    if (error == 0)
        ao_wait_grant(w, &room_wait, r, NULL);
    else if (error == AO_E_CLOSED)
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
    else
        remote_wait_start(&send_class, r, mail, r->home, here, w);
}
