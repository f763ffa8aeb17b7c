/* Other threads use the handle only, never the object.  The home thread alone follows handle->ao,
 * and clears it before the object ends.  So a post that races with ao_retire() either is served
 * before it, or finds a handle without an object.
 *
 * The life of an entry:
 *
 *   poster  A1  posted |= bit, it was 0       owner   O1  takes the whole list
 *           A2  push the handle                      O2  unlinks a handle (reads its next)
 *           A3  wake                                 O3  bits := posted, posted := 0
 *
 * A post before O3 finds posted non-0 and does not push: its bit is taken at O3.  A post after O3
 * finds 0 and pushes; the handle is unlinked since O2, so it is never in the list twice.  That is
 * why the bits are taken after unlinking.  tests/model/inbox.pml checks it. */
#include "server/runtime/threads/post.h"

#include <sched.h>
#include <stdlib.h>

#include "base/check.h"
#include "server/runtime/state.h"

/* ---- the inbox ---- */

#define INBOX_CLOSED (UINT32_C(1) << 31)

struct inbox *inbox_new(struct waker *waker)
{
    struct inbox *inbox = malloc(sizeof *inbox);
    if (!inbox)
        return NULL;
    mpsc_init(&inbox->entries);
    atomic_init(&inbox->visitors, 0);
    atomic_init(&inbox->holders, 1);
    inbox->waker = waker;
    return inbox;
}

void inbox_ref(struct inbox *inbox)
{
    /* Relaxed: the caller has a reference; nothing is published. */
    atomic_fetch_add_explicit(&inbox->holders, 1, memory_order_relaxed);
}

void inbox_unref(struct inbox *inbox)
{
    /* Release: all use before the drop.  Acquire: all use by others before the free.  Pairs with
     * itself. */
    if (atomic_fetch_sub_explicit(&inbox->holders, 1, memory_order_acq_rel) == 1)
        free(inbox);
}

bool inbox_enter(struct inbox *inbox)
{
    /* A read-modify-write of the word that inbox_close() marks: either this thread sees the mark,
     * or inbox_close() sees this thread and waits. */
    uint32_t was = atomic_fetch_add_explicit(&inbox->visitors, 1, memory_order_acquire);
    if (!(was & INBOX_CLOSED))
        return true;
    inbox_leave(inbox);
    return false;
}

void inbox_leave(struct inbox *inbox)
{
    /* Release: the push and the wake before it.  Pairs with the acquire load in inbox_close(). */
    atomic_fetch_sub_explicit(&inbox->visitors, 1, memory_order_release);
}

void inbox_close(struct inbox *inbox)
{
    atomic_fetch_or_explicit(&inbox->visitors, INBOX_CLOSED, memory_order_acq_rel);
    /* Acquire: pairs with the release in inbox_leave(). */
    while (atomic_load_explicit(&inbox->visitors, memory_order_acquire) != INBOX_CLOSED)
        sched_yield();
}

/* ---- the handle ---- */

struct ao_handle *ao_handle_new(struct ao *ao)
{
    activator_assert_owner(ao->home);
    if (ao->handle)
        return ao_handle_ref(ao->handle);
    if (ao->flags & AO_FLAG_RETIRED)
        return NULL;
    struct ao_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return NULL;
    handle->inbox = ao->home->inbox;
    inbox_ref(handle->inbox);
    handle->ao = ao;
    atomic_init(&handle->posted, 0);
    atomic_init(&handle->holders, 2); /* the object and the caller */
    atomic_init(&handle->closed, false);
    ao->handle = handle;
    return handle;
}

struct ao_handle *ao_handle_ref(struct ao_handle *handle)
{
    /* Relaxed: the caller has a reference; nothing is published. */
    uint32_t holders = atomic_fetch_add_explicit(&handle->holders, 1, memory_order_relaxed);
    require(holders > 0 && holders < UINT32_MAX, "no caller holds the handle");
    return handle;
}

void ao_handle_unref(struct ao_handle *handle)
{
    /* Release: all use before the drop.  Acquire: all use by others before the free.  Pairs with
     * itself. */
    if (atomic_fetch_sub_explicit(&handle->holders, 1, memory_order_acq_rel) != 1)
        return;
    require(!handle->ao, "the last reference is the object's own");
    inbox_unref(handle->inbox);
    free(handle);
}

void handle_detach(struct ao *ao)
{
    struct ao_handle *handle = ao->handle;
    if (!handle)
        return;
    handle->ao = NULL;
    ao->handle = NULL;
    /* Relaxed: a thread that does not see it yet pushes an entry, which is dropped when taken. */
    atomic_store_explicit(&handle->closed, true, memory_order_relaxed);
    ao_handle_unref(handle);
}

enum {
    ALL_POSTS =
        AO_POST_ACTIVATE | AO_POST_DEACTIVATE | AO_POST_WAKE | AO_POST_UNBLOCK | AO_POST_MESSAGE
};

int ao_post(struct ao_handle *handle, enum ao_post post)
{
    /* Without a bit the entry would be pushed a second time while it is in the list. */
    require(post > 0 && (unsigned)post <= ALL_POSTS, "nothing is asked for, or something unknown");
    /* Relaxed: a short cut, see handle_detach(). */
    if (atomic_load_explicit(&handle->closed, memory_order_relaxed))
        return AO_E_CLOSED;
    struct inbox *inbox = handle->inbox;
    if (!inbox_enter(inbox))
        return AO_E_CLOSED;
    /* Release: what the poster wrote before it posted.  Pairs with the acquire exchange in
     * take_bits() of posts.c. */
    uint32_t was = atomic_fetch_or_explicit(&handle->posted, post, memory_order_acq_rel);
    if (was == 0) {
        ao_handle_ref(handle); /* the entry's */
        mpsc_push(&inbox->entries, &handle->entry);
        waker_notify(inbox->waker);
    }
    inbox_leave(inbox);
    return 0;
}
