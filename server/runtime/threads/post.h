/* Requests that other threads post to an object: the handle of the object, and the inbox of its
 * activator.
 *
 * The entries of an inbox are handles.  A handle, and so an object, is in it at most once, with a
 * bit for each posted request.  The inbox outlives its activator while handles refer to it, and
 * refuses with AO_E_CLOSED then. */
#ifndef ERGON_RUNTIME_POST_H
#define ERGON_RUNTIME_POST_H

#include <ergon/ao.h>

#include "server/runtime/threads/mpsc.h"
#include "server/runtime/threads/waker.h"

struct inbox {
    struct mpsc entries;       /* handles (struct ao_handle) */
    _Atomic uint32_t visitors; /* number of threads inside ao_post(), and INBOX_CLOSED */
    _Atomic uint32_t holders;  /* references of activator and handles; the last one frees */
    struct waker *waker;       /* of the activator; valid for visitors only */
};

/* The handle: what other threads may use of an object. */
struct ao_handle {
    struct mpsc_item entry;  /* in the inbox; first member */
    struct inbox *inbox;     /* it has a reference */
    struct ao *ao;           /* home thread only; NULL once the object has ended */
    _Atomic uint32_t posted; /* bits of enum ao_post; changing it from 0 pushes the entry */
    _Atomic uint32_t
        holders; /* references: the object, each ao_handle_new() and ao_handle_ref(), the entry */
    _Atomic bool closed; /* the object has ended: a short cut for posters */
};

/* NULL without memory.  The caller has one reference. */
struct inbox *inbox_new(struct waker *waker);
void inbox_ref(struct inbox *inbox);   /* any thread that has one */
void inbox_unref(struct inbox *inbox); /* any thread */

/* Any thread with a reference.  Between enter and leave, the activator and its poller are not
 * freed. False: the inbox is closed, and was not entered. */
bool inbox_enter(struct inbox *inbox);
void inbox_leave(struct inbox *inbox);

/* Home.  Refuses new visitors, and waits for those inside, which never block; what they pushed is
 * in the inbox afterwards. */
void inbox_close(struct inbox *inbox);

/* Home.  Separates the handle from its object, which is about to end. */
void handle_detach(struct ao *ao);

#endif
