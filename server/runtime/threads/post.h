/* The control inbox of an activator: what other threads post for its objects.
 *
 * Its entries are handles; a handle, and so an object, stands in it at most once, with the bits of
 * what was posted.  It outlives the activator for as long as a handle refers to it, and answers
 * AO_E_CLOSED then. */
#ifndef ERGON_RUNTIME_POST_H
#define ERGON_RUNTIME_POST_H

#include <ergon/ao.h>

#include "server/runtime/threads/mpsc.h"
#include "server/runtime/threads/waker.h"

struct inbox {
    struct mpsc entries;       /* of struct ao_handle */
    _Atomic uint32_t visitors; /* threads inside ao_post(), and INBOX_CLOSED */
    _Atomic uint32_t holders;  /* activator and handles; who gives up the last frees */
    struct waker *waker;       /* the activator's; valid for visitors only */
};

/* What other threads see of an object. */
struct ao_handle {
    struct mpsc_item entry;  /* in the inbox; first member */
    struct inbox *inbox;     /* holds one count of it */
    struct ao *ao;           /* home thread only; NULL once the object has gone */
    _Atomic uint32_t posted; /* bits of enum ao_post; 0 -> non-0 is who pushes the entry */
    _Atomic uint32_t
        holders;         /* the object, each ao_handle_new() and ao_handle_ref(), the inbox entry */
    _Atomic bool closed; /* the object has gone: a short cut for who posts */
};

/* NULL without memory.  The caller has one reference. */
struct inbox *inbox_new(struct waker *waker);
void inbox_ref(struct inbox *inbox);   /* any thread that holds it */
void inbox_unref(struct inbox *inbox); /* any thread */

/* Any thread that holds it.  Between the two, the activator and its poller stand.  False: closed,
 * and not entered. */
bool inbox_enter(struct inbox *inbox);
void inbox_leave(struct inbox *inbox);

/* Home.  Refuses all who come, and waits for those inside, who never block; what they have pushed
 * is in the inbox afterwards. */
void inbox_close(struct inbox *inbox);

/* Home.  Cuts the handle off its object, which is about to go. */
void handle_detach(struct ao *ao);

#endif
