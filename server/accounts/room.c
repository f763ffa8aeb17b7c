#include "server/accounts/room.h"

#include <assert.h>

enum { GO_ON_A_STEP = 16 /* of one principal; those behind look when these have begun */ };

static void leave(struct tally *t, struct room_waiter *w)
{
    TAILQ_REMOVE(&t->waiters, w, link);
    if (TAILQ_EMPTY(&t->waiters))
        TAILQ_REMOVE(&t->book->waiting, t, waiting);
}

/* True: some went on.  What they will take is not there for those behind them; those look again
 * when it is known. */
static bool let_go_on(struct tally *t)
{
    struct tally_book *book = t->book;
    struct room_waiter *w;
    uint64_t promised = 0;
    int count = 0;

    for (; count < GO_ON_A_STEP && (w = TAILQ_FIRST(&t->waiters)); count++) {
        if (tally_lacks(t, promised + w->need))
            break;
        promised += w->need;
        leave(t, w);
        book->go_on(w);
    }
    return count > 0;
}

static bool let_all_go_on(struct tally_book *book)
{
    struct tally *next;
    bool any = false;

    for (struct tally *t = TAILQ_FIRST(&book->waiting); t; t = next) {
        next = TAILQ_NEXT(t, waiting);
        any |= let_go_on(t);
    }
    return any;
}

/* It looks; announces that it waits; and looks again, since a release before the announcement has
 * posted no waiter (account.c has the argument).  Where some went on, it looks in the next
 * round. */
static enum ao_verdict look(struct ao *self)
{
    struct tally_book *book = ao_of(self, struct tally_book, ao);

    if (!let_all_go_on(book)) {
        if (TAILQ_EMPTY(&book->waiting))
            return AO_DONE;
        accounts_wait(book->accounts, &book->room);
        if (!let_all_go_on(book))
            return AO_DONE;
    }
    return TAILQ_EMPTY(&book->waiting) ? AO_DONE : AO_AGAIN;
}

static const struct ao_class room_class = {.name = "room", .step = look};

void room_init(struct tally_book *book)
{
    TAILQ_INIT(&book->waiting);
    ao_init(&book->ao, &room_class, book->activator);
}

void room_fini(struct tally_book *book)
{
    assert(TAILQ_EMPTY(&book->waiting));
    if (book->room.handle)
        accounts_remove_room(book->accounts, &book->room);
    if (ao_state(&book->ao) != AO_STATE_INACTIVE)
        ao_deactivate(&book->ao);
    ao_fini(&book->ao);
    if (book->room.handle)
        ao_handle_unref(book->room.handle);
}

void room_look(struct tally_book *book)
{
    if (!TAILQ_EMPTY(&book->waiting))
        ao_activate(&book->ao);
}

bool room_open(struct tally_book *book, void (*go_on)(struct room_waiter *w))
{
    assert(!book->go_on);
    book->go_on = go_on;
    book->room.handle = ao_handle_new(&book->ao);
    if (!book->room.handle)
        return false;
    accounts_add_room(book->accounts, &book->room);
    return true;
}

void room_wait(struct tally *t, struct room_waiter *w, uint64_t need)
{
    struct tally_book *book = t->book;

    accounts_note_stopped(book->accounts);
    w->need = need;
    if (TAILQ_EMPTY(&t->waiters))
        TAILQ_INSERT_TAIL(&book->waiting, t, waiting);
    TAILQ_INSERT_TAIL(&t->waiters, w, link);
    ao_activate(&book->ao);
}

void room_forget(struct tally *t, struct room_waiter *w)
{
    leave(t, w);
    room_look(t->book); /* those behind it may need less */
}
