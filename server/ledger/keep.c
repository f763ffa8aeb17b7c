/* What has ended is kept for its time, and while there is room; then it is forgotten. */
#include "server/ledger/ledger_parts.h"

enum {
    TRIM_BUDGET = 64,    /* entries, a step */
    BUSY_PAUSE_MS = 1000 /* until one that is still referred to is looked at again */
};

/* An attempt, a commit, an ask or a task that waits for it may still ask for it. */
static bool is_referred_to(const struct entry *e)
{
    return e->strays > 0 || e->pending > 0 || e->waits ||
           (e->more && (e->more->dependents || e->more->releasing)) || entry_is(e, ENTRY_UNSAVED);
}

void keep_ended(struct ledger *l, struct entry *e)
{
    struct order policy;
    ledger_policy(e, &policy);
    entry_push(&l->ended, e);
    l->ended_bytes += entry_bytes(e);
    uint64_t end = ledger_wall_of(l, ledger_now(l)), past = end > e->ended ? end - e->ended : 0;
    e->due = ledger_after(l, policy.keep > past ? policy.keep - past : 0);
    ledger_set_timer(l, e);
    if (l->ended_bytes > l->options.kept_bytes_max)
        ao_activate(&l->ao);
}

void keep_reclaim(struct ledger *l, struct entry *e)
{
    l->ended_bytes -= entry_bytes(e);
    entry_unlink(e);
}

void keep_forget(struct ledger *l, struct entry *e)
{
    if (is_referred_to(e)) {
        e->due = ledger_after(l, AO_MS(BUSY_PAUSE_MS));
        ledger_set_timer(l, e);
        return;
    }
    if (e->durable != LEDGER_NONE)
        records_remove(l, e);
    ledger_entry_free(l, e);
}

/* One that is still referred to is looked at again the next time round. */
bool keep_shrink(struct ledger *l)
{
    for (int budget = TRIM_BUDGET; l->ended.first && budget > 0; budget--) {
        struct entry *e = l->ended.first;
        if (!is_referred_to(e)) {
            keep_forget(l, e);
            return true;
        }
        entry_unlink(e);
        entry_push(&l->ended, e);
    }
    return false;
}

/* With nothing that may be forgotten it is done: the next end looks again. */
bool keep_trim(struct ledger *l)
{
    for (int budget = TRIM_BUDGET; budget > 0; budget--)
        if (l->ended_bytes <= l->options.kept_bytes_max || !keep_shrink(l))
            return true;
    return false;
}
