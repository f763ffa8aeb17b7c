/* Waits for the first of several (<ergon/select.h>). */
#include <ergon/select.h>

#include "base/check.h"

static void withdraw_all_but(struct ao_select *s, const struct ao_wait *winner)
{
    for (uint32_t i = 0; i < s->armed; i++)
        if (&s->records[i] != winner)
            ao_wait_cancel(&s->records[i]);
}

/* Any winner is set meanwhile, so that no record becomes one: a record that leaves a semaphore may
 * let another record of this select be granted. */
static void leave(struct ao_wait *w)
{
    struct ao_select *s = w->on;
    s->winner = 0;
    withdraw_all_but(s, NULL);
    s->winner = -1;
}

static void give_back(struct ao_wait *w)
{
    struct ao_select *s = w->on;
    ao_wait_cancel(&s->records[s->winner]);
}

static const struct ao_wait_class select_wait = {.leave = leave, .give_back = give_back};

static void settled(struct ao_wait_listener *listener, struct ao_wait *record)
{
    struct ao_select *s = ao_of(listener, struct ao_select, listener);
    if (s->winner >= 0)
        return; /* too late: it is withdrawn, too, after the record that is being withdrawn, and
                   with what it was granted */
    s->winner = (int32_t)(record - s->records);
    withdraw_all_but(s, record);
    if (s->wait)
        ao_wait_settle(s->wait, record->outcome, record->value);
}

void ao_select_begin(struct ao_select *s, struct ao_wait *records, uint32_t n)
{
    *s = (struct ao_select){.listener.settled = settled, .records = records, .n = n, .winner = -1};
}

bool ao_select_arm(struct ao_select *s, uint32_t i)
{
    if (s->winner >= 0)
        return false;
    require(i == s->armed && i < s->n, "each record is armed once, in rising order");
    s->records[i] = (struct ao_wait){.listener = &s->listener, .listened = true};
    s->armed++;
    return true;
}

void ao_select_await(struct ao_select *s, struct ao_wait *w)
{
    require(!s->wait, "it is awaited already");
    require(s->armed > 0, "no record is armed");
    ao_wait_pend(w, &select_wait, s);
    s->wait = w;
    if (s->winner >= 0)
        ao_wait_settle(w, s->records[s->winner].outcome, s->records[s->winner].value);
}
