#include "server/jobs/sched/hold_claims.h"

#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/sched/numbers.h"

void hold_claim_wait(struct scheduler *s, struct claim *c)
{
    line_wait(c);
    admission_call(s, c->line->limit);
}

struct claim *hold_claim_next_called(struct scheduler *s)
{
    struct pairing_node *first = s->called.first;
    struct claim *c = first ? ao_of(first, struct claim, in_line) : NULL;
    if (!first)
        return NULL;
    s->called.first = first->next;
    line_settle(c);
    return c;
}

static void leave_called(struct claims *all, struct claim *c)
{
    struct pairing_node *before = NULL;
    for (struct pairing_node *at = all->first; at != &c->in_line; at = at->next)
        before = at;
    *(before ? &before->next : &all->first) = c->in_line.next;
    if (all->last == &c->in_line)
        all->last = before;
}

void hold_claim_withdraw(struct scheduler *s, struct claim *c)
{
    if (c->stands == STANDS_NOWHERE)
        return;
    if (c->stands == STANDS_CALLED)
        leave_called(&s->called, c);
    line_leave(c);
    admission_call(s, c->line->limit);
}

void hold_claim_put_back(struct scheduler *s, struct limit *limit, uint32_t permits)
{
    limit_put_back(limit, permits);
    admission_call(s, limit);
}

void hold_claim_set_max(struct scheduler *s, struct limit *limit, uint32_t max)
{
    limit->moved |= limit->max != max;
    limit->max = max;
    numbers_note_limit(s, limit);
    admission_call(s, limit);
}
