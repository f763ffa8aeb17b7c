/* Mailboxes of one activator (<ergon/mailbox.h>). */
#include <ergon/mailbox.h>

#include "base/check.h"
#include "server/runtime/sync/mailbox_remote.h"

/* --- The ring of mails --- */

static void push_back(struct ao_mailbox *m, struct ao_mail *mail)
{
    if (m->last) {
        mail->next = m->last->next;
        m->last->next = mail;
    } else {
        mail->next = mail;
    }
    m->last = mail;
}

static void push_front(struct ao_mailbox *m, struct ao_mail *mail)
{
    struct ao_mail *last = m->last;
    push_back(m, mail);
    if (last)
        m->last = last;
}

static struct ao_mail *pop_front(struct ao_mailbox *m)
{
    struct ao_mail *first = m->last->next;
    if (first == m->last)
        m->last = NULL;
    else
        m->last->next = first->next;
    return first;
}

/* --- Records.  Receivers wait only while it is empty, senders only while it is not. --- */

static void leave(struct ao_wait *w)
{
    struct ao_mailbox *m = w->on;
    ao_wait_remove(&m->waiters, w);
}

/* Puts back a mail whose room was freed when it was granted; so the mail counts as sent from home,
 * and may exceed the bound. */
static void mail_back(struct ao_wait *w)
{
    struct ao_mailbox *m = w->on;
    struct ao_mail *mail = w->value;
    struct ao_wait *receiver = m->last ? NULL : ao_wait_pop(&m->waiters);
    mail->from = NULL;
    if (receiver) {
        ao_wait_settle(receiver, AO_WAIT_READY, mail);
        return;
    }
    m->room--;
    push_front(m, mail);
}

static const struct ao_wait_class receive_wait = {.leave = leave, .give_back = mail_back};
static const struct ao_wait_class send_wait = {.leave = leave};

void mailbox_enter(struct ao_mailbox *m, struct ao_mail *mail)
{
    push_back(m, mail);
    struct ao_wait *receiver = m->last->next == mail ? ao_wait_pop(&m->waiters) : NULL;
    if (receiver)
        ao_wait_settle(receiver, AO_WAIT_READY, ao_mailbox_take(m));
}

void mailbox_home_room(struct ao_mailbox *m)
{
    m->room++;
    struct ao_wait *sender = m->room > 0 && m->sending ? ao_wait_pop(&m->waiters) : NULL;
    if (!sender)
        return;
    struct ao_mail *mail = sender->value;
    m->room--;
    push_back(m, mail);
    ao_wait_settle(sender, AO_WAIT_READY, NULL);
}

void mailbox_remote_room(struct ao_mailbox_remote *r)
{
    struct ao_wait *w = ao_wait_pop(&r->waiters);
    if (w)
        ao_wait_settle(w, AO_WAIT_READY, NULL);
    else
        atomic_fetch_add_explicit(&r->room, 1,
                                  memory_order_relaxed); /* see take_room() of mailbox_remote.c */
}

/* --- The public functions --- */

void ao_mailbox_init(struct ao_mailbox *m, uint32_t bound)
{
    require(bound >= 1 && bound <= INT32_MAX, "the bound is 0, or beyond INT32_MAX");
    *m = (struct ao_mailbox){.room = (int32_t)bound};
}

void ao_mailbox_close(struct ao_mailbox *m)
{
    m->closed = true;
    ao_wait_close_all(&m->waiters);
}

void ao_mailbox_fini(struct ao_mailbox *m)
{
    require(!m->last, "mail is inside, which its owner has to take first");
    require(m->remotes == 0, "a remote is open, which has to be closed first");
    ao_mailbox_close(m);
}

int ao_mailbox_try_send(struct ao_mailbox *m, struct ao_mail *mail)
{
    if (m->closed)
        return AO_E_CLOSED;
    if (m->room <= 0)
        return AO_E_FULL;
    require(m->last != mail, "the mail is inside already");
    m->room--;
    mail->from = NULL;
    mailbox_enter(m, mail);
    return 0;
}

void ao_mailbox_send(struct ao_mailbox *m, struct ao_mail *mail, struct ao_wait *w)
{
    int error = ao_mailbox_try_send(m, mail);
    if (error == AO_E_CLOSED) {
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
    } else if (error == 0) {
        ao_wait_grant(w, &send_wait, m, NULL);
    } else {
        ao_wait_pend(w, &send_wait, m);
        mail->from = NULL;
        w->value = mail;
        m->sending = true;
        ao_wait_push(&m->waiters, w);
    }
}

struct ao_mail *ao_mailbox_take(struct ao_mailbox *m)
{
    if (!m->last)
        return NULL;
    struct ao_mail *mail = pop_front(m);
    if (mail->from)
        mailbox_remote_room(mail->from);
    else
        mailbox_home_room(m);
    return mail;
}

void ao_mailbox_receive(struct ao_mailbox *m, struct ao_wait *w)
{
    struct ao_mail *mail = ao_mailbox_take(m);
    if (mail) {
        ao_wait_grant(w, &receive_wait, m, mail);
    } else if (m->closed) {
        ao_wait_settle(w, AO_WAIT_CLOSED, NULL);
    } else {
        ao_wait_pend(w, &receive_wait, m);
        m->sending = false;
        ao_wait_push(&m->waiters, w);
    }
}

bool ao_mailbox_empty(const struct ao_mailbox *m)
{
    return !m->last;
}
