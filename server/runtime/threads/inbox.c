/* The life of an entry.
 *
 *   poster  A1  posted |= bit, it was 0       owner   O1  takes the whole list
 *           A2  push the handle                      O2  unlinks a handle (reads its next)
 *           A3  wake                                 O3  bits := posted, posted := 0
 *
 * Who posts before O3 finds posted non-0 and leaves it at that: the bits are taken at O3.  Who
 * posts after O3 finds 0 and pushes; the handle is unlinked since O2, so it never stands in the
 * list twice.  That is why the bits are taken after unlinking.  tests/model/inbox.pml checks it. */
#include "server/runtime/threads/inbox.h"

#include <sched.h>
#include <stdlib.h>

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
    /* Relaxed: who holds may hold again; nothing is published. */
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
    /* A read-modify-write on the word that inbox_close() marks: either we see the mark, or it sees
     * us and waits. */
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
