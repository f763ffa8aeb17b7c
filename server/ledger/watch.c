/* Asks that follow the history of a task: answered as soon as there is something to see; or, with
 * `push`, sent event by event and answered at its end. */
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"

static bool is_over(const struct entry *e)
{
    return !ledger_state_open((enum ledger_state)e->state);
}

/* At most `max` events from a->from on; a->from is what comes next afterwards. */
static void pack_events(struct ask *a, const struct entry *e, struct pack *p)
{
    struct history_event event;
    uint32_t count = 0;

    for (uint32_t seq = a->from; count < a->max && history_get(e, seq, &event); seq = event.seq + 1)
        count++;
    pack_str(p, "events");
    pack_array(p, count);
    if (count == 0 && a->max > 0 && a->from < history_next(e))
        a->from = history_next(e); /* what was there is lost */
    for (; count > 0 && history_get(e, a->from, &event); count--, a->from = event.seq + 1)
        read_event(&event, p);
}

/* Events behind the submission that were dropped before they were seen. */
static uint32_t missed(const struct ask *a, const struct entry *e)
{
    struct history_event event;
    uint32_t from = a->from > 2 ? a->from : 2;
    uint32_t is = history_get(e, from, &event) ? event.seq : history_next(e);
    return is > from ? is - from : 0;
}

void watch_answer(struct ledger *l, struct ask *a)
{
    struct entry *e = ledger_find(l, a->ids[0]);
    struct pack *p = &a->result;
    char id[ID_TEXT_SIZE];

    pack_init(p);
    pack_map(p, 5);
    pack_key_str(p, "id", id_text(a->ids[0], id));
    pack_key_uint(p, "missed", e ? missed(a, e) : 0);
    if (e) {
        pack_events(a, e, p);
    } else {
        pack_str(p, "events");
        pack_array(p, 0);
    }
    pack_key_uint(p, "next", a->from);
    pack_key_bool(p, "ended", !e || (is_over(e) && a->from >= history_next(e)));
}

static void finish(struct ledger *l, struct ask *a)
{
    watch_answer(l, a);
    wait_leave(l, a);
    ask_finish(l, a);
}

/* False without memory: the watcher asks again from where it was. */
static bool push_event(struct ask *a, const struct entry *e, const struct history_event *event)
{
    struct ask_push *push = calloc(1, sizeof *push);
    char id[ID_TEXT_SIZE];

    if (!push)
        return false;
    push->item.kind = ASK_PUSH;
    push->ask = a;
    pack_init(&push->message);
    pack_array(&push->message, 2);
    pack_str(&push->message, id_text(e->id, id));
    read_event(event, &push->message);
    door_push(a, push);
    return true;
}

/* True: everything that there is was sent. */
static bool push_all(struct ask *a, const struct entry *e)
{
    struct history_event event;

    while (history_get(e, a->from, &event)) {
        if (!push_event(a, e, &event))
            return false;
        a->from = event.seq + 1;
    }
    return true;
}

/* Who asks for events that are still to come is not woken by those before them. */
static void follow(struct ledger *l, struct ask *a, struct entry *e)
{
    bool told = a->push ? !push_all(a, e) : history_next(e) > a->from;
    if (told || is_over(e))
        finish(l, a);
}

void watch_event(struct ledger *l, struct entry *e)
{
    struct ledger_wait *next;

    for (struct ledger_wait *w = e->waits; w; w = next) {
        next = w->next_of_entry;
        if (w->ask->verb == ASK_WATCH)
            follow(l, w->ask, e);
    }
}

void watch_serve(struct ledger *l, struct ask *a)
{
    struct entry *e = ask_entry(l, a);
    if (!e)
        return;
    told_by_row(l, e);
    if (a->from == 0)
        a->from = 1;
    if (a->push && !push_all(a, e)) {
        ask_refuse(l, a, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    if (is_over(e) || history_next(e) > a->from) {
        finish(l, a);
        return;
    }
    if (!wait_join(l, a, e)) {
        ask_refuse(l, a, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    if (!wait_hold(l, a))
        finish(l, a);
}
