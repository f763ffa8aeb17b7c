/* cron.list. */
#include "server/ledger/crons.h"

void cron_pack_time(struct pack *p, const char *key, uint64_t unix_ns)
{
    pack_str(p, key);
    if (unix_ns > 0)
        pack_uint(p, unix_ns / AO_MS(1));
    else
        pack_nil(p);
}

static void pack_cron(struct pack *p, const struct cron *c)
{
    const struct cron_order *o = &c->order;
    char id[ID_TEXT_SIZE];

    pack_map(p, 13);
    pack_key_span(p, "name", o->name);
    pack_key_span(p, "schedule", o->schedule);
    pack_key_span(p, "zone", o->zone.len > 0 ? o->zone : span_text("UTC"));
    pack_key_span(p, "method", o->task.method);
    pack_key_raw(p, "params", o->task.params);
    pack_key_raw(p, "options", o->options.len > 0 ? o->options : span_text("\x80"));
    pack_key_str(p, "durable", ledger_durable_names[o->task.durable]);
    cron_pack_time(p, "next", c->next_at);
    cron_pack_time(p, "last", c->last_at);
    pack_key_str(p, "last_task", c->last_task ? id_text(c->last_task, id) : NULL);
    pack_key_uint(p, "fired", c->fired);
    pack_key_uint(p, "skipped", c->skipped);
    pack_key_str(p, "error", c->error != ERGON_OK ? c->error_text : NULL);
}

void crons_list(struct ledger *l, struct ask *a)
{
    pack_init(&a->result);
    pack_array(&a->result, l->crons->count);
    for (const struct cron *c = l->crons->first; c; c = c->next)
        pack_cron(&a->result, c);
    ask_finish(l, a);
}
