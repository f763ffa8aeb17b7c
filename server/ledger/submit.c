/* An order becomes an entry, or finds the one that it names. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/ledger/ledger_parts.h"

static enum ergon_error refuse(enum ergon_error error, char *text, size_t size, const char *format,
                               ...) __attribute__((format(printf, 4, 5)));
static enum ergon_error refuse(enum ergon_error error, char *text, size_t size, const char *format,
                               ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, size, format, args);
    va_end(args);
    return error;
}

static enum ergon_error no_memory(char *text, size_t size)
{
    return refuse(ERGON_E_MEMORY, text, size, "%s", error_meaning(ERGON_E_MEMORY));
}

/* --- Does it exist already? --- */

/* Who is answered a task that is there already wants it kept as long as one of its own. */
static void keep_for(struct entry *e, const struct order *o)
{
    struct entry_more *more = e->more; /* it has a name, so it has these */
    if (!ledger_is_open(e))
        return;
    if (more->keep < o->keep)
        more->keep = o->keep;
    if (more->keep_size < o->keep_size)
        more->keep_size = o->keep_size;
}

static bool find_existing(struct ledger *l, const struct order *o, struct submitted *out)
{
    const struct span everywhere = {0};
    if (o->key.len > 0 && (out->entry = key_find(&l->keys, o->tenant, everywhere, o->key))) {
        out->duplicate = true;
        keep_for(out->entry, o);
        return true;
    }
    if (o->coalesce.len > 0 &&
        (out->entry = key_find(&l->shared, o->tenant, o->method, o->coalesce))) {
        out->coalesced = true;
        out->entry->more->waiters++;
        keep_for(out->entry, o);
        ledger_note(l, out->entry, LEDGER_EVENT_JOINED, NULL);
        return true;
    }
    return false;
}

/* --- May it be taken? --- */

static enum ergon_error check_store(const struct ledger *l, const struct order *o, char *text,
                                    size_t size)
{
    if (o->durable == LEDGER_NONE || records_usable(l))
        return ERGON_OK;
    if (!l->store)
        return refuse(ERGON_E_STORE, text, size,
                      "this server has no store, so no task can be durable; configure `store`, or "
                      "submit with durable: none");
    return refuse(ERGON_E_STORE, text, size, "%s", store_error_text(l->store_error));
}

static size_t weight_of(const struct order *o)
{
    return sizeof(struct entry) + o->params.len + o->key.len + o->coalesce.len + o->limit_key.len +
           o->rate_key.len;
}

/* What has ended goes before something new is refused. */
static bool make_room(struct ledger *l, size_t weight)
{
    while (l->count >= l->options.tasks_max || l->bytes + weight > l->options.bytes_max)
        if (!keep_shrink(l))
            return false;
    return true;
}

/* What is larger than all may be together costs no other task its place. */
static enum ergon_error check_room(struct ledger *l, const struct order *o, char *text, size_t size)
{
    unsigned long long most = (unsigned long long)l->options.bytes_max;
    size_t weight = weight_of(o);
    if (weight > most)
        return refuse(
            ERGON_E_TOO_LARGE, text, size,
            "the task takes %zu bytes, and all tasks together may take %llu (tasks.bytes)", weight,
            most);
    if (make_room(l, weight))
        return ERGON_OK;
    if (l->count >= l->options.tasks_max)
        return refuse(ERGON_E_BUSY, text, size,
                      "the server holds %llu tasks, and may not hold more (tasks.max); try again "
                      "later",
                      (unsigned long long)l->count);
    return refuse(
        ERGON_E_BUSY, text, size,
        "the server's tasks take %llu of at most %llu bytes (tasks.bytes); try again later",
        (unsigned long long)l->bytes, most);
}

static enum ergon_error check(struct ledger *l, const struct order *o, char *text, size_t size)
{
    int len = (int)(o->method.len < 64 ? o->method.len : 64);
    const char *name = (const char *)o->method.at;
    if (l->stopping)
        return refuse(ERGON_E_DRAINING, text, size, "%s", error_meaning(ERGON_E_DRAINING));
    struct ledger_queue *q = ledger_queue_found(l, o->method);
    if (!q && !registry_find(l->options.registry, o->method))
        return refuse(ERGON_E_NO_METHOD, text, size, "no handler offers \"%.*s\"", len, name);
    if (q && q->draining)
        return refuse(ERGON_E_DRAINING, text, size,
                      "the queue \"%.*s\" is being drained and takes no new tasks; queue.resume "
                      "opens it",
                      len, name);
    enum ergon_error full = check_room(l, o, text, size);
    return full == ERGON_OK ? check_store(l, o, text, size) : full;
}

/* --- A new one --- */

static void count_in(struct ledger *l, struct entry *e)
{
    (e->durable == LEDGER_NONE ? &l->fleeting : &l->kept)->submitted++;
    e->queue->submitted++;
    counter_add(&l->submitted, 1);
}

static enum ergon_error take_new(struct ledger *l, const struct order *o, struct submitted *out,
                                 char *text, size_t size)
{
    struct entry *e = ledger_entry_new(l, o, l->next_id);
    if (!e)
        return no_memory(text, size);
    enum ergon_error wrong = after_order(l, e, o, text, size);
    if (wrong != ERGON_OK) {
        ledger_entry_free(l, e);
        return wrong == ERGON_E_MEMORY ? no_memory(text, size) : wrong;
    }
    l->next_id++;
    ledger_entry_enter(l, e);
    ledger_entry_name(l, e, true);
    count_in(l, e);
    if (e->durable != LEDGER_NONE)
        entry_set(e, ENTRY_SUBMITTING);
    ledger_place(l, e, false);
    records_change(l, e);
    out->entry = e;
    return ERGON_OK;
}

enum ergon_error ledger_submit(struct ledger *l, const struct order *order, struct submitted *out,
                               char *text, size_t size)
{
    *out = (struct submitted){0};
    if (find_existing(l, order, out))
        return ERGON_OK;
    enum ergon_error error = check(l, order, text, size);
    return error == ERGON_OK ? take_new(l, order, out, text, size) : error;
}
