/* Entries made of orders, and their end. */
#include <assert.h>
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"

/* --- What few tasks have --- */

static bool wants_more(const struct order *o)
{
    return o->key.len || o->coalesce.len || o->limit_key.len || o->rate_key.len ||
           o->after_count > 0 || o->backoff != ORDER_BACKOFF ||
           o->backoff_max != ORDER_BACKOFF_MAX || o->jitter != ORDER_JITTER ||
           o->keep != ORDER_KEEP || o->keep_size != ORDER_KEEP_SIZE;
}

void ledger_policy(const struct entry *e, struct order *out)
{
    const struct entry_more *more = e->more;
    order_init(out);
    out->retries = e->retries;
    if (!more)
        return;
    out->backoff = more->backoff;
    out->backoff_max = more->backoff_max;
    out->jitter = more->jitter;
    out->keep = more->keep;
    out->keep_size = more->keep_size;
}

static void set_policy(struct entry_more *more, const struct order *o)
{
    more->backoff = o->backoff;
    more->backoff_max = o->backoff_max;
    more->jitter = o->jitter;
    more->keep = o->keep;
    more->keep_size = o->keep_size;
    more->limit_max = o->limit;
    more->rate = o->rate;
    more->rate_per = o->rate_per;
}

struct entry_more *ledger_more(struct entry *e)
{
    struct order plain;
    if (e->more)
        return e->more;
    e->more = calloc(1, sizeof *e->more);
    order_init(&plain);
    if (e->more)
        set_policy(e->more, &plain);
    return e->more;
}

static struct span append(uint8_t **at, struct span bytes)
{
    struct span copy = span_of(*at, bytes.len);
    if (bytes.len > 0)
        memcpy(*at, bytes.at, bytes.len);
    *at += bytes.len;
    return copy;
}

static bool fill_more(struct ledger *l, struct entry *e, const struct order *o, uint8_t *names)
{
    struct entry_more *more = ledger_more(e);
    if (!more)
        return false;
    set_policy(more, o);
    more->waiters = 1;
    more->key =
        (struct key_link){.entry = e, .tenant = e->tenant->name, .name = append(&names, o->key)};
    more->coalesce = (struct key_link){.entry = e,
                                       .tenant = e->tenant->name,
                                       .scope = e->queue->name,
                                       .name = append(&names, o->coalesce)};
    if (o->after_count > 0) {
        more->after_ids = calloc(o->after_count, sizeof(uint64_t));
        if (!more->after_ids)
            return false;
        memcpy(more->after_ids, o->after, o->after_count * sizeof(uint64_t));
        more->after_count = o->after_count;
    }
    return holding_join(l, e, o);
}

/* --- Memory --- */

/* Bodies of a usual size stand behind the entry, in one cell. */
static struct entry *make(struct ledger *l, size_t body)
{
    bool in_place = body <= ENTRY_BODY_IN_PLACE;
    struct slab *cells = &l->entries[entry_cells(in_place ? body : 0)];
    struct entry *e = slab_take(cells);
    if (!e)
        return NULL;
    *e = (struct entry){.body = in_place ? (uint8_t *)(e + 1) : malloc(body)};
    if (e->body)
        return e;
    slab_give(cells, e);
    return NULL;
}

static void let_go(struct entry *e)
{
    bool in_place = e->body == (uint8_t *)(e + 1);
    ao_fini(&e->timer);
    if (!in_place)
        free(e->body);
    slab_give(&e->ledger->entries[entry_cells(in_place ? e->body_len : 0)], e);
}

static void retired(struct ao *self)
{
    let_go(ao_of(self, struct entry, timer));
}

const struct ao_class ledger_entry_class = {
    .name = "kept task", .step = ledger_entry_due, .retired = retired};

void ledger_entries_init(struct ledger *l)
{
    for (uint32_t i = 0; i < ENTRY_CELLS; i++)
        slab_init(&l->entries[i], sizeof(struct entry) + i * ENTRY_BODY_STEP, SLAB_KEPT);
}

void ledger_entries_fini(struct ledger *l)
{
    for (uint32_t i = 0; i < ENTRY_CELLS; i++) {
        assert(slab_taken(&l->entries[i]) == 0);
        slab_fini(&l->entries[i]);
    }
}

/* --- Made --- */

static void fill(struct ledger *l, struct entry *e, const struct order *o)
{
    e->created = ledger_wall(l);
    if (o->at > 0)
        e->due = ledger_time_of(l, o->at);
    else if (o->delay > 0)
        e->due = ledger_after(l, o->delay);
    e->deadline = ledger_after(l, o->deadline);
    e->timeout = o->timeout;
    e->until = AO_NEVER;
    e->retries = o->retries;
    e->priority = o->priority;
    e->durable = o->durable;
}

struct entry *ledger_entry_new(struct ledger *l, const struct order *o, uint64_t id)
{
    size_t names = o->key.len + o->coalesce.len;
    struct entry *e = make(l, o->params.len + names);
    if (!e)
        return NULL;
    ao_init(&e->timer, &ledger_entry_class, l->activator);
    e->id = id;
    e->ledger = l;
    e->state = e->counted = LEDGER_NEW;
    e->params_len = (uint32_t)o->params.len;
    e->body_len = (uint32_t)(o->params.len + names);
    if (o->params.len > 0)
        memcpy(e->body, o->params.at, o->params.len);
    e->queue = ledger_queue(l, o->method);
    if (!e->queue || !(e->tenant = ledger_tenant(l, o->tenant)))
        goto fail;
    e->tenant->entries++;
    if (wants_more(o) && !fill_more(l, e, o, e->body + o->params.len))
        goto fail;
    fill(l, e, o);
    return e;
fail:
    ledger_entry_free(l, e);
    return NULL;
}

void ledger_entry_enter(struct ledger *l, struct entry *e)
{
    assert(!l->last || l->last->id < e->id);
    e->all_prev = l->last;
    *(l->last ? &l->last->all_next : &l->first) = e;
    l->last = e;
    id_add(&l->ids, e);
    l->count++;
    counter_set(&l->shown_tasks, l->count);
    ledger_weigh(l, e, 0);
}

void ledger_entry_name(struct ledger *l, struct entry *e, bool open)
{
    struct entry_more *more = e->more;
    if (more && more->key.name.len > 0)
        key_add(&l->keys, &more->key);
    if (more && more->coalesce.name.len > 0 && open)
        key_add(&l->shared, &more->coalesce);
}

/* --- Gone --- */

static void leave_all(struct ledger *l, struct entry *e)
{
    if (ledger_find(l, e->id) != e)
        return;
    *(e->all_prev ? &e->all_prev->all_next : &l->first) = e->all_next;
    *(e->all_next ? &e->all_next->all_prev : &l->last) = e->all_prev;
    id_remove(&l->ids, e);
    l->count--;
    l->bytes -= entry_bytes(e);
    counter_set(&l->shown_tasks, l->count);
    counter_set(&l->shown_bytes, l->bytes);
}

static void leave_state(struct ledger *l, struct entry *e)
{
    if (e->state == LEDGER_NEW)
        return;
    e->queue->by_state[e->state]--;
    counter_add(&l->by_state[e->state], (uint64_t)-1);
}

static void free_more(struct ledger *l, struct entry *e)
{
    struct entry_more *more = e->more;
    if (!more)
        return;
    key_remove(&l->keys, &more->key);
    key_remove(&l->shared, &more->coalesce);
    after_forget(e);
    holding_leave(l, e);
    free(more->after_ids);
    free(more->progress_text);
    free(more);
}

void entry_end_free(struct entry *e)
{
    if (e->end) {
        free(e->end->result);
        free(e->end->code);
        free(e->end);
    }
    e->end = NULL;
}

void ledger_entry_free(struct ledger *l, struct entry *e)
{
    audit_freed(l, e);
    leave_all(l, e);
    leave_state(l, e);
    records_forget(l, e);
    if (e->list == &l->ended)
        l->ended_bytes -= entry_bytes(e);
    entry_unlink(e);
    free_more(l, e);
    entry_end_free(e);
    history_free(e);
    if (e->tenant)
        ledger_tenant_drop(l, e->tenant);
    if (ao_current() == &e->timer) {
        ao_retire(&e->timer); /* in its own step: freed when that is over */
        return;
    }
    ao_deactivate(&e->timer);
    let_go(e);
}
