#include "server/accounts/tally.h"

#include <assert.h>
#include <stdlib.h>

#include "server/accounts/room.h"

static void settle(struct tally *t)
{
    account_settle(t->account, &t->change);
    t->change = (struct account_change){0};
    t->unsettled = false;
}

static void end(struct tally *t)
{
    assert(t->input == 0 && TAILQ_EMPTY(&t->waiters));
    if (t->book)
        hash_remove(&t->book->tallies, &t->link);
    account_close(t->account);
    free(t);
}

/* One whose last holder has closed it meanwhile has waited for this. */
static void settle_all(struct round_hook *hook)
{
    struct tally_book *book = ao_of(hook, struct tally_book, hook);
    struct tally *next;

    for (struct tally *t = book->unsettled; t; t = next) {
        next = t->next_unsettled;
        settle(t);
        if (t->references == 0)
            end(t);
    }
    book->unsettled = NULL;
    room_look(book);
}

void tally_book_init(struct tally_book *book, struct accounts *accounts,
                     struct activator *activator)
{
    *book =
        (struct tally_book){.accounts = accounts, .activator = activator, .hook.run = settle_all};
    hash_table_init(&book->tallies);
    room_init(book);
}

void tally_book_fini(struct tally_book *book)
{
    activator_forget_hook(book->activator, &book->hook);
    settle_all(&book->hook);
    room_fini(book);
    assert(book->tallies.count == 0);
    hash_table_fini(&book->tallies);
}

static struct tally *tally_of(struct tally_book *book, const struct account *a)
{
    return (struct tally *)hash_first(&book->tallies, a->index); /* the link is its first field */
}

/* Takes over that the account is open. */
static struct tally *make(struct tally_book *book, struct account *a)
{
    struct tally *t = malloc(sizeof *t);

    if (!t) {
        account_close(a);
        return NULL;
    }
    *t = (struct tally){.link.hash = a->index, .account = a, .book = book};
    TAILQ_INIT(&t->waiters);
    if (book)
        hash_add(&book->tallies, &t->link);
    return t;
}

struct tally *tally_open_alone(struct account *a)
{
    struct tally *t = make(NULL, account_ref(a));

    return t ? tally_ref(t) : NULL;
}

struct tally *tally_open(struct tally_book *book, const char *name)
{
    struct account *a = account_open(book->accounts, name);

    if (!a)
        return NULL;
    struct tally *t = tally_of(book, a);
    if (t) {
        account_close(a); /* the tally keeps it open */
        return tally_ref(t);
    }
    t = make(book, a);
    return t ? tally_ref(t) : NULL;
}

void tally_close(struct tally *t)
{
    if (!t)
        return;
    assert(t->references > 0);
    if (--t->references == 0 && !t->unsettled)
        end(t);
}

void tally_enlist(struct tally *t)
{
    if (!t->book) {
        settle(t);
        return;
    }
    t->unsettled = true;
    t->next_unsettled = t->book->unsettled;
    t->book->unsettled = t;
    activator_at_round_end(t->book->activator, &t->book->hook);
}
