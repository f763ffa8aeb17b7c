/* Entries as MessagePack, for people and programs. */
#include "server/ledger/ledger_parts.h"

enum { NS_A_MS = 1000000 };

static void pack_ms(struct pack *p, const char *key, uint64_t unix_ns)
{
    pack_str(p, key);
    if (unix_ns == 0)
        pack_nil(p);
    else
        pack_uint(p, unix_ns / NS_A_MS);
}

static void pack_key_name(struct pack *p, const char *key, struct span name)
{
    pack_str(p, key);
    if (name.len == 0)
        pack_nil(p);
    else
        pack_span(p, name);
}

void read_stage(struct ledger *l, struct entry *e)
{
    static const struct {
        enum ledger_state state;
        enum ledger_reason reason;
    } of[] = {[ATTEMPT_ASSIGNED] = {LEDGER_ASSIGNED, LEDGER_WHY_ASSIGNED},
              [ATTEMPT_RUNNING] = {LEDGER_RUNNING, LEDGER_WHY_RUNNING},
              [ATTEMPT_PARKED] = {LEDGER_PARKED, LEDGER_WHY_PARKED}};
    bool out =
        e->state == LEDGER_ASSIGNED || e->state == LEDGER_RUNNING || e->state == LEDGER_PARKED;

    if (!out || !e->attempt_task)
        return;
    enum attempt_stage stage = attempt_stage(e->attempt_task);
    if (of[stage].state != (enum ledger_state)e->state)
        ledger_turn(l, e, of[stage].state, of[stage].reason);
}

/* The last attempt that was begun: one whose start is still on its way to the disk would be
 * forgotten by a crash. */
static uint32_t begun(const struct entry *e)
{
    return entry_is(e, ENTRY_STARTING) ? e->attempt - 1 : e->attempt;
}

static void pack_progress(struct pack *p, const struct entry_more *more)
{
    pack_str(p, "progress");
    if (!more || (more->progress_total == 0 && more->progress_done == 0 && !more->progress_text)) {
        pack_nil(p);
        return;
    }
    pack_map(p, 3);
    pack_key_uint(p, "done", more->progress_done);
    pack_key_uint(p, "total", more->progress_total);
    pack_key_str(p, "text", more->progress_text);
}

static void pack_error(struct pack *p, const struct entry_end *end)
{
    char text[ASK_TEXT_MAX + 40];

    pack_str(p, "error");
    if (!end || !end->code) {
        pack_nil(p);
        return;
    }
    snprintf(text, sizeof text, "%s: %s", end->code, end->text ? end->text : "");
    pack_str(p, text);
}

static void pack_result(struct pack *p, const struct entry_end *end)
{
    pack_str(p, "result");
    if (end && end->result)
        pack_raw(p, span_of(end->result, end->result_len));
    else
        pack_nil(p);
    pack_key_bool(p, "cut", end && end->cut);
}

void read_event(const struct history_event *event, struct pack *p)
{
    pack_map(p, 7);
    pack_key_uint(p, "seq", event->seq);
    pack_ms(p, "at", event->at);
    pack_key_str(p, "event", ledger_event_name((enum ledger_event)event->what));
    pack_key_uint(p, "attempt", event->attempt);
    pack_key_str(p, "reason",
                 event->what == LEDGER_EVENT_WAITING || event->what == LEDGER_EVENT_DELAYED
                     ? ledger_reason_name((enum ledger_reason)event->reason)
                     : NULL);
    pack_key_name(p, "text", event->text);
    pack_str(p, "data");
    if (event->data.len > 0)
        pack_raw(p, event->data);
    else
        pack_nil(p);
}

static void pack_history(struct pack *p, const struct entry *e)
{
    struct history_event event;
    uint32_t count = 0;

    for (uint32_t seq = 1; history_get(e, seq, &event); seq = event.seq + 1)
        count++;
    pack_str(p, "history");
    pack_array(p, count);
    for (uint32_t seq = 1; history_get(e, seq, &event); seq = event.seq + 1)
        read_event(&event, p);
}

static void pack_times(struct ledger *l, struct pack *p, const struct entry *e)
{
    pack_ms(p, "created", e->created);
    pack_ms(p, "due", e->state == LEDGER_DELAYED ? ledger_wall_of(l, e->due) : 0);
    pack_ms(p, "started", e->started);
    pack_ms(p, "ended", e->ended);
    pack_ms(p, "deadline", e->deadline != AO_NEVER ? ledger_wall_of(l, e->deadline) : 0);
}

void read_entry(struct ledger *l, struct entry *e, unsigned parts, struct pack *p)
{
    char id[ID_TEXT_SIZE];

    read_stage(l, e);
    pack_map(p, 19u + (parts & READ_RESULT ? 2 : 0) + (parts & READ_HISTORY ? 1 : 0));
    pack_key_str(p, "id", id_text(e->id, id));
    pack_key_span(p, "method", e->queue->name);
    pack_key_str(p, "state", ledger_state_names[e->state]);
    pack_key_str(p, "reason", ledger_reason_name((enum ledger_reason)e->reason));
    pack_key_uint(p, "attempt", begun(e));
    pack_key_uint(p, "failures", e->failures);
    pack_key_uint(p, "retries", e->retries);
    pack_key_uint(p, "crashes", e->crashes);
    pack_key_uint(p, "priority", e->priority);
    pack_key_span(p, "tenant", e->tenant->name);
    pack_key_name(p, "key", e->more ? e->more->key.name : (struct span){0});
    pack_key_str(p, "durable", ledger_durable_names[e->durable]);
    pack_times(l, p, e);
    pack_progress(p, e->more);
    pack_error(p, e->end);
    if (parts & READ_RESULT)
        pack_result(p, e->end);
    if (parts & READ_HISTORY) {
        told_by_row(l, e);
        pack_history(p, e);
    }
}

/* task.get */
void read_serve(struct ledger *l, struct ask *a)
{
    struct entry *e = ask_entry(l, a);
    if (!e)
        return;
    unsigned parts = (a->with_result ? READ_RESULT : 0) | (a->with_history ? READ_HISTORY : 0);

    pack_init(&a->result);
    read_entry(l, e, parts, &a->result);
    ask_finish(l, a);
}
