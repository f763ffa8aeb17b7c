/* Suspects: tasks that the next crash of the server would make dead.
 *
 * Whatever ran at a crash may have caused it.  So that the one that did dies alone, and takes no
 * neighbours along, at most one suspect of the whole server is out at a time; what is no suspect
 * runs beside it.  The place is held from the pick until the attempt has really returned, also when
 * it outlived its timeout, and goes on in order of arrival. */
#include "server/ledger/ledger_parts.h"

enum { GO_ON_BUDGET = 256 /* entries queued again, a step */ };

/* With a single crash allowed nobody ran in one and may still run: then all are alike. */
static bool is_suspect(const struct ledger *l, const struct entry *e)
{
    return e->crashes > 0 && e->crashes + 1u >= l->options.crashes_max &&
           l->options.crashes_max > 0;
}

bool suspects_take(struct ledger *l, struct entry *e)
{
    if (!is_suspect(l, e))
        return true;
    if (!l->suspect || l->suspect == e) {
        l->suspect = e;
        entry_set(e, ENTRY_SUSPECT);
        return true;
    }
    entry_push(&l->suspects, e);
    ledger_turn(l, e, LEDGER_WAITING, LEDGER_WHY_SUSPECT);
    holding_release(l, e); /* others of its keys go on */
    return false;
}

/* A stray keeps the place of its entry. */
void suspects_leave(struct ledger *l, struct entry *e)
{
    entry_clear(e, ENTRY_SUSPECT);
    suspects_returned(l, e);
}

void suspects_returned(struct ledger *l, const struct entry *e)
{
    if (l->suspect != e || e->strays > 0 || entry_is(e, ENTRY_SUSPECT))
        return;
    l->suspect = NULL;
    if (l->suspects.count > 0)
        ao_activate(&l->ao);
}

/* The place stands reserved for whom it was granted to until that one has been out, or has gone
 * somewhere else. */
bool suspects_go_on(struct ledger *l)
{
    struct entry *e;
    for (int budget = GO_ON_BUDGET; budget > 0; budget--) {
        if (l->suspect || !(e = entry_pop(&l->suspects)))
            return true;
        l->suspect = e;
        entry_set(e, ENTRY_SUSPECT);
        ledger_queue_up(l, e, true);
    }
    return false;
}
