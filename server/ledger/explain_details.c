/* What belongs to each reason, in words and in figures. */
#include <inttypes.h>
#include <stdio.h>

#include "server/ledger/explain.h"

enum { NAMED_MAX = 16, TEXT_MAX = 400 };

static uint64_t ms_of(struct ledger *l, ao_time when)
{
    return ledger_wall_of(l, when) / AO_MS(1);
}

struct until {
    char text[24];
};

/* "1.5 s", "20 m", "47 h", "30 d" */
static struct until until(const struct ledger *l, ao_time when)
{
    ao_time now = ledger_now(l), left = when > now ? when - now : 0;
    double s = (double)left / (double)AO_S(1);
    struct until u;

    if (left < AO_S(120))
        snprintf(u.text, sizeof u.text, "%.1f s", s);
    else if (left < AO_S(120 * 60))
        snprintf(u.text, sizeof u.text, "%.0f m", s / 60);
    else if (left < AO_S(48 * 3600))
        snprintf(u.text, sizeof u.text, "%.0f h", s / 3600);
    else
        snprintf(u.text, sizeof u.text, "%.0f d", s / 86400);
    return u;
}

/* --- It stands in the queue. --- */

void explain_place(struct ledger *l, const struct entry *e, struct pick_place *at)
{
    unsigned kind = ledger_kind(e);
    pick_place(&l->picks[kind], kind, e, EXPLAIN_PLACE_MAX, at);
}

static void pack_ahead(struct ledger *l, struct entry *e, struct pack *p)
{
    struct pick_place at;

    explain_place(l, e, &at);
    pack_str(p, "ahead");
    pack_map(p, 5);
    pack_key_uint(p, "higher", at.higher);
    pack_key_uint(p, "own", at.own);
    pack_key_uint(p, "others", at.others);
    pack_key_uint(p, "tenants", at.tenants);
    pack_key_uint(p, "level", e->level);
}

static void say_turn(struct ledger *l, struct entry *e, char *text, size_t size)
{
    struct pick_place at;

    explain_place(l, e, &at);
    snprintf(text, size,
             "%" PRIu32 " of higher priority and %s%" PRIu32
             " of its own tenant go before it; with %" PRIu32 " of other tenants it takes turns",
             at.higher, at.own_is_least ? "at least " : "", at.own, at.others);
}

static enum ergon_kind kind_of(const struct entry *e)
{
    return e->queue->method ? e->queue->method->handler->kind : ERGON_STEPPED;
}

static void pack_one_executor(struct pack *p, const struct executor_info *x)
{
    pack_map(p, 5);
    pack_key_str(p, "name", x->name);
    pack_key_str(p, "running", x->running);
    pack_key_uint(p, "outstanding", x->outstanding);
    pack_key_uint(p, "bound", x->bound);
    pack_key_uint(p, "parked", x->parked);
}

void explain_executors(struct ledger *l, enum ergon_kind kind, struct pack *p)
{
    struct tasks_info all;
    struct executor_info x;
    uint32_t count = 0;

    tasks_info(l->tasks, &all);
    for (uint32_t i = 0; i < all.executors; i++) {
        tasks_executor_info(l->tasks, i, &x);
        count += x.kind == kind;
    }
    pack_str(p, "executors");
    pack_array(p, count);
    for (uint32_t i = 0; i < all.executors; i++) {
        tasks_executor_info(l->tasks, i, &x);
        if (x.kind == kind)
            pack_one_executor(p, &x);
    }
}

static void pack_executors(struct ledger *l, struct entry *e, struct pack *p)
{
    explain_executors(l, kind_of(e), p);
}

static void say_executors(struct ledger *l, struct entry *e, char *text, size_t size)
{
    (void)l;
    snprintf(text, size, "it is the next of its tenant, and every %s executor is full",
             kind_of(e) == ERGON_STEPPED ? "stepped" : "blocking");
}

void explain_no_executor(const struct ledger_queue *q, char *text, size_t size)
{
    snprintf(text, size, "no module offers \"%.*s\"; load one and start the server again",
             (int)q->name.len, (const char *)q->name.at);
}

static void say_no_executor(struct ledger *l, struct entry *e, char *text, size_t size)
{
    (void)l;
    explain_no_executor(e->queue, text, size);
}

static void say_paused(struct ledger *l, struct entry *e, char *text, size_t size)
{
    (void)l;
    snprintf(text, size, "the queue \"%.*s\" is paused; queue.resume lets it go on",
             (int)e->queue->name.len, (const char *)e->queue->name.at);
}

/* --- Something holds it back. --- */

static uint32_t place_in(const struct entry_list *list, const struct entry *e)
{
    uint32_t before = 0;
    for (const struct entry *at = list->first; at && at != e && before < EXPLAIN_PLACE_MAX;
         at = at->next)
        before++;
    return before;
}

/* Those of its limit that are out; attempts that outlived their timeout hold slots too, and are
 * what is missing here. */
static void pack_holders(struct ledger *l, const struct limit *limit, struct pack *p)
{
    const struct entry *named[NAMED_MAX];
    char id[ID_TEXT_SIZE];
    uint32_t count = 0;

    for (const struct entry *e = l->outs.first; e && count < NAMED_MAX; e = e->next)
        if (e->more && e->more->limit == limit)
            named[count++] = e;
    pack_str(p, "running");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++)
        pack_str(p, id_text(named[i]->id, id));
}

static void pack_limit(struct ledger *l, struct entry *e, struct pack *p)
{
    const struct limit *limit = e->more->limit;

    pack_key_span(p, "key", limit->key.name);
    pack_key_uint(p, "limit", limit->max);
    pack_key_uint(p, "taken", limit->taken);
    pack_key_uint(p, "before", place_in(&limit->waiting, e));
    pack_holders(l, limit, p);
}

static void say_limit(struct ledger *l, struct entry *e, char *text, size_t size)
{
    const struct limit *limit = e->more->limit;

    (void)l;
    snprintf(text, size,
             "%" PRIu32 " of at most %" PRIu32 " tasks of limit \"%.*s\" run, and %" PRIu32
             " wait before it",
             limit->taken, limit->max, (int)limit->key.name.len, (const char *)limit->key.name.at,
             place_in(&limit->waiting, e));
}

static ao_time refill_of(struct ledger *l, const struct entry *e)
{
    const struct bucket *b = e->more->bucket;
    return bucket_refill_at(b, place_in(&b->waiting, e), ledger_now(l));
}

static void pack_rate(struct ledger *l, struct entry *e, struct pack *p)
{
    const struct bucket *b = e->more->bucket;

    pack_key_span(p, "key", b->key.name);
    pack_key_uint(p, "rate", b->size);
    pack_key_uint(p, "per", (b->every * b->size + AO_MS(1) / 2) / AO_MS(1));
    pack_key_uint(p, "before", place_in(&b->waiting, e));
    pack_key_uint(p, "refill", ms_of(l, refill_of(l, e)));
}

static void say_rate(struct ledger *l, struct entry *e, char *text, size_t size)
{
    const struct bucket *b = e->more->bucket;

    snprintf(text, size,
             "the bucket of rate \"%.*s\" is empty; the token for this task comes in %s",
             (int)b->key.name.len, (const char *)b->key.name.at, until(l, refill_of(l, e)).text);
}

static void pack_after(struct ledger *l, struct entry *e, struct pack *p)
{
    char id[ID_TEXT_SIZE];
    uint32_t count = 0;

    (void)l;
    for (const struct after_edge *edge = e->more->after; edge; edge = edge->next_of_waits)
        count++;
    pack_str(p, "after");
    pack_array(p, count);
    for (const struct after_edge *edge = e->more->after; edge; edge = edge->next_of_waits)
        pack_str(p, id_text(edge->on->id, id));
}

static void say_after(struct ledger *l, struct entry *e, char *text, size_t size)
{
    const struct after_edge *edge = e->more->after;
    char id[ID_TEXT_SIZE];
    uint32_t count = 0;

    for (const struct after_edge *at = edge; at; at = at->next_of_waits)
        count++;
    if (!edge) {
        snprintf(text, size, "all that had to be done first has ended; it goes on at once");
        return;
    }
    read_stage(l, edge->on);
    id_text(edge->on->id, id);
    const char *is = ledger_state_names[edge->on->state];
    if (count == 1)
        snprintf(text, size, "task %s must be done first, and is %s", id, is);
    else
        snprintf(text, size, "%" PRIu32 " tasks must be done first, among them %s, which is %s",
                 count, id, is);
}

static void pack_suspect(struct ledger *l, struct entry *e, struct pack *p)
{
    char id[ID_TEXT_SIZE];

    pack_key_uint(p, "before", place_in(&l->suspects, e));
    pack_key_str(p, "running", l->suspect ? id_text(l->suspect->id, id) : NULL);
}

static void say_suspect(struct ledger *l, struct entry *e, char *text, size_t size)
{
    char id[ID_TEXT_SIZE];
    int len =
        snprintf(text, size,
                 "it was running in %u crashes of the server, and is dead after the next; such "
                 "tasks run one at a time, and %" PRIu32 " wait before it",
                 e->crashes, place_in(&l->suspects, e));

    if (l->suspect && len > 0 && (size_t)len < size)
        snprintf(text + len, size - (size_t)len, "; %s is out", id_text(l->suspect->id, id));
}

/* --- Its time has not come. --- */

static void pack_next(struct ledger *l, struct entry *e, struct pack *p)
{
    pack_key_uint(p, "next", ms_of(l, e->due));
}

static void say_delay(struct ledger *l, struct entry *e, char *text, size_t size)
{
    snprintf(text, size, "it is due in %s", until(l, e->due).text);
}

static const char *last_error(const struct entry *e, char *text, size_t size)
{
    if (!e->end || !e->end->code)
        return NULL;
    snprintf(text, size, "%s: %s", e->end->code, e->end->text ? e->end->text : "");
    return text;
}

static void pack_retry(struct ledger *l, struct entry *e, struct pack *p)
{
    char text[TEXT_MAX];

    pack_next(l, e, p);
    pack_key_str(p, "last_error", last_error(e, text, sizeof text));
}

static void say_retry(struct ledger *l, struct entry *e, char *text, size_t size)
{
    char why[ASK_TEXT_MAX];
    const char *error = last_error(e, why, sizeof why);

    snprintf(text, size,
             "attempt %" PRIu32 " failed (%s); the next comes in %s, %" PRIu32 " of %" PRIu32
             " retries are left",
             e->attempt, error ? error : "it was lost", until(l, e->due).text,
             e->retries >= e->failures ? e->retries - e->failures + 1 : 0, e->retries);
}

static void say_again(struct ledger *l, struct entry *e, char *text, size_t size)
{
    snprintf(text, size, "its handler asked to be run again; that is in %s", until(l, e->due).text);
}

/* --- The store has it. --- */

static void pack_store(struct ledger *l, struct entry *e, struct pack *p)
{
    (void)e;
    pack_key_str(p, "store", store_error_text(l->store_error));
}

static void say_commit(struct ledger *l, struct entry *e, char *text, size_t size)
{
    (void)l;
    snprintf(text, size, "%s is being written to disk",
             entry_is(e, ENTRY_SUBMITTING) ? "its submission" : "the start of its attempt");
}

static void say_store(struct ledger *l, struct entry *e, char *text, size_t size)
{
    (void)e;
    snprintf(text, size, "%s", store_error_text(l->store_error));
}

/* --- An attempt is out. --- */

static void pack_out(struct ledger *l, struct entry *e, struct pack *p)
{
    char name[24] = "";

    if (e->attempt_task)
        attempt_executor(l->tasks, e->attempt_task, name, sizeof name);
    pack_key_str(p, "executor", name[0] ? name : NULL);
    pack_key_uint(p, "attempt", e->attempt);
    pack_str(p, "timeout");
    if (e->until != AO_NEVER)
        pack_uint(p, ms_of(l, e->until));
    else
        pack_nil(p);
}

static void say_out(struct ledger *l, struct entry *e, char *text, size_t size)
{
    char name[24] = "an executor";

    if (e->attempt_task)
        attempt_executor(l->tasks, e->attempt_task, name, sizeof name);
    snprintf(text, size, "attempt %" PRIu32 " is at %s: %s", e->attempt, name,
             ledger_reason_meaning((enum ledger_reason)e->reason));
}

static void pack_end(struct ledger *l, struct entry *e, struct pack *p)
{
    char text[TEXT_MAX];

    (void)l;
    pack_key_str(p, "last_error", last_error(e, text, sizeof text));
}

static void say_end(struct ledger *l, struct entry *e, char *text, size_t size)
{
    char why[TEXT_MAX / 2];
    const char *error = last_error(e, why, sizeof why);

    (void)l;
    snprintf(text, size, "it is %s after attempt %" PRIu32 "%s%s", ledger_state_names[e->state],
             e->attempt, error ? ": " : "", error ? error : "");
}

const struct explain_detail explain_details[LEDGER_REASON_COUNT] = {
    [LEDGER_WHY_TURN] = {1, pack_ahead, say_turn},
    [LEDGER_WHY_EXECUTORS] = {1, pack_executors, say_executors},
    [LEDGER_WHY_NO_EXECUTOR] = {0, NULL, say_no_executor},
    [LEDGER_WHY_PAUSED] = {0, NULL, say_paused},
    [LEDGER_WHY_STOPPING] = {0, NULL, NULL},
    [LEDGER_WHY_LIMIT] = {5, pack_limit, say_limit},
    [LEDGER_WHY_RATE] = {5, pack_rate, say_rate},
    [LEDGER_WHY_AFTER] = {1, pack_after, say_after},
    [LEDGER_WHY_SUSPECT] = {2, pack_suspect, say_suspect},
    [LEDGER_WHY_DELAY] = {1, pack_next, say_delay},
    [LEDGER_WHY_RETRY] = {2, pack_retry, say_retry},
    [LEDGER_WHY_AGAIN] = {1, pack_next, say_again},
    [LEDGER_WHY_COMMIT] = {1, pack_store, say_commit},
    [LEDGER_WHY_STORE] = {1, pack_store, say_store},
    [LEDGER_WHY_ASSIGNED] = {3, pack_out, say_out},
    [LEDGER_WHY_RUNNING] = {3, pack_out, say_out},
    [LEDGER_WHY_PARKED] = {3, pack_out, say_out},
    [LEDGER_WHY_ENDED] = {1, pack_end, say_end},
};
