/* Asks that submit: each order becomes an outcome, and the ask is answered when all that is to be
 * on disk first is there. */
#include <stdlib.h>

#include "proto/encoder.h"
#include "server/ledger/ledger_parts.h"

enum { OUTCOME_MAX = 128 /* bytes of the answer to one order that was taken */ };

static bool is_many(const struct ask *a)
{
    return a->verb == ASK_SUBMIT_MANY;
}

/* --- The answer --- */

static uint8_t *put(uint8_t *p, const char *bytes, size_t len)
{
    memcpy(p, bytes, len);
    return p + len;
}

/* What is the same in every answer, packed beforehand. */
#define PUT(p, literal) put((p), (literal), sizeof(literal) - 1)

static uint8_t *enc_id(uint8_t *p, uint64_t id)
{
    char text[ID_TEXT_SIZE];
    return enc_str(p, span_of(id_text(id, text), ID_TEXT_LEN));
}

/* By hand, for this is what the server answers most; returns the end. */
static uint8_t *enc_outcome(struct ledger *l, const struct ask_outcome *o, uint8_t *p)
{
    const struct entry *e = ledger_find(l, o->id); /* NULL: ended and forgotten meanwhile */
    p = enc_id(PUT(p, "\x85\xa2id"), o->id);
    p = PUT(p, "\xa5state");
    p = enc_str(p, span_text(ledger_state_names[e ? e->state : LEDGER_DONE]));
    p = PUT(p, "\xa7"
               "durable");
    p = enc_str(p, span_text(ledger_durable_names[o->durable]));
    p = enc_bool(PUT(p, "\xa9"
                        "duplicate"),
                 o->duplicate);
    return enc_bool(PUT(p, "\xa9"
                           "coalesced"),
                    o->coalesced);
}

static void pack_outcome(struct ledger *l, const struct ask_outcome *o, struct pack *p)
{
    uint8_t bytes[OUTCOME_MAX];
    const uint8_t *end = enc_outcome(l, o, bytes);
    pack_raw(p, span_of(bytes, (size_t)(end - bytes)));
}

static const char *text_of(const struct ask_outcome *o)
{
    return o->text ? o->text : error_meaning(o->error);
}

static void pack_refusal(const struct ask_outcome *o, struct pack *p)
{
    char text[ASK_LINE_MAX];
    snprintf(text, sizeof text, "%s: %s", error_name(o->error), text_of(o));
    pack_map(p, 1);
    pack_key_str(p, "error", text);
}

static void answer_one(struct ledger *l, struct ask *a)
{
    _Static_assert((size_t)OUTCOME_MAX <= sizeof a->text, "the answer stands in the text");
    uint8_t *at = (uint8_t *)a->text;
    if (a->outcomes[0].error != ERGON_OK) {
        ask_refuse(l, a, a->outcomes[0].error, "%s", text_of(&a->outcomes[0]));
        return;
    }
    a->short_result = (uint32_t)(enc_outcome(l, &a->outcomes[0], at) - at);
    ask_finish(l, a);
}

void submit_answer(struct ledger *l, struct ask *a)
{
    if (!is_many(a)) {
        answer_one(l, a);
        return;
    }
    pack_init(&a->result);
    pack_array(&a->result, a->order_count);
    for (uint32_t i = 0; i < a->order_count; i++)
        if (a->outcomes[i].error == ERGON_OK)
            pack_outcome(l, &a->outcomes[i], &a->result);
        else
            pack_refusal(&a->outcomes[i], &a->result);
    ask_finish(l, a);
}

/* --- The orders --- */

/* Its commit is to be waited for: then no answer comes before. */
static bool waits_for_commit(const struct entry *e)
{
    return e->durable == LEDGER_FSYNC && entry_is(e, ENTRY_SUBMITTING);
}

static void fail(struct ask_outcome *o, enum ergon_error error, const char *text)
{
    o->error = error;
    o->text = strdup(text); /* NULL: the error's meaning */
}

static struct entry *submit_one(struct ledger *l, struct ask *a, uint32_t i)
{
    struct ask_outcome *o = &a->outcomes[i];
    struct order *order = &a->orders[i];
    struct submitted done;
    char text[ASK_TEXT_MAX];
    if (order->tenant.len == 0)
        order->tenant = a->principal;
    enum ergon_error error = ledger_submit(l, order, &done, text, sizeof text);
    if (error != ERGON_OK) {
        fail(o, error, text);
        return NULL;
    }
    *o = (struct ask_outcome){.id = done.entry->id,
                              .durable = done.entry->durable,
                              .duplicate = done.duplicate,
                              .coalesced = done.coalesced};
    return done.entry;
}

static void call(struct ledger *l, struct ask *a)
{
    struct entry *e = submit_one(l, a, 0);
    if (!e) {
        submit_answer(l, a);
        return;
    }
    if (!a->outcomes[0].duplicate && !a->outcomes[0].coalesced)
        entry_set(e, ENTRY_FOREGROUND);
    if (!ledger_state_open((enum ledger_state)e->state))
        wait_answer(l, a, e);
    else if (!wait_join(l, a, e)) {
        ledger_cancel(l, e);
        ask_refuse(l, a, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    }
}

static void await_commit(struct ledger *l, struct ask *a, struct entry *e, uint32_t i)
{
    if (!wait_join(l, a, e)) {
        fail(&a->outcomes[i], ERGON_E_MEMORY, "it was taken, but its commit is not awaited");
        return;
    }
    a->outcomes[i].before = e->waits->outcome; /* who joined last is the first */
    e->waits->outcome = i + 1;
}

void submit_serve(struct ledger *l, struct ask *a)
{
    a->outcome = (struct ask_outcome){0};
    a->outcomes = a->order_count <= 1 ? &a->outcome : calloc(a->order_count, sizeof *a->outcomes);
    if (!a->outcomes) {
        ask_refuse(l, a, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    if (a->verb == ASK_CALL) {
        call(l, a);
        return;
    }
    for (uint32_t i = 0; i < a->order_count; i++) {
        struct entry *e = submit_one(l, a, i);
        if (e && waits_for_commit(e))
            await_commit(l, a, e, i);
    }
    if (!a->held)
        submit_answer(l, a);
}
