/* cron.list. */
#include "server/jobs/cron/crons.h"

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
    const struct cron_spec *spec = &c->spec;
    char id[ID_TEXT_SIZE];

    pack_map(p, 13);
    pack_key_span(p, "name", spec->name);
    pack_key_span(p, "schedule", spec->schedule);
    pack_key_span(p, "zone", spec->zone.len > 0 ? spec->zone : span_text("UTC"));
    pack_key_span(p, "method", spec->task.method);
    pack_key_raw(p, "params", spec->task.params);
    pack_key_raw(p, "options", spec->options.len > 0 ? spec->options : span_text("\x80"));
    pack_key_str(p, "durable", job_durable_names[spec->task.durable]);
    cron_pack_time(p, "next", c->next_at);
    cron_pack_time(p, "last", c->last_at);
    pack_key_str(p, "last_task", c->last_task ? id_text(c->last_task, id) : NULL);
    pack_key_uint(p, "fired", c->fired);
    pack_key_uint(p, "skipped", c->skipped);
    pack_key_str(p, "error", c->error != ERGON_OK ? c->error_text : NULL);
}

void crons_list(struct jobs *jobs, struct operation *op)
{
    pack_init(&op->result);
    pack_array(&op->result, jobs->crons->count);
    for (const struct cron *c = jobs->crons->first; c; c = c->next)
        pack_cron(&op->result, c);
    operation_finish(jobs, op);
}
