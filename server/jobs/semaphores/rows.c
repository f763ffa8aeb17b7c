#include "server/jobs/semaphores/rows.h"

#include "server/jobs/jobs_parts.h"

static void returned(struct jobs *jobs, struct store_op *write)
{
    journal_notice(jobs, write);
}

bool hold_rows_put(struct jobs *jobs, struct hold *h, write_done *done)
{
    const struct limit *limit = semaphore_limit(h->semaphore);
    struct span tenant = limit->key.tenant->name, secret = span_of(h->secret, HOLD_SECRET);
    size_t bytes = tenant.len + limit->key.name.len + HOLD_SECRET + h->who.len;
    struct store_op *write = codec_row_new(jobs, STORE_ROW_PUT, &store_holds, bytes, done);
    if (!write)
        return false;
    uint8_t *at = (uint8_t *)(write + 1);
    write->owner = h;
    *(struct store_hold *)write->row = (struct store_hold){
        .id = h->fence,
        .tenant = span_put(tenant, &at),
        .name = span_put(limit->key.name, &at),
        .secret = span_put(secret, &at),
        .principal = span_put(h->who, &at),
        .permits = h->claim.want,
        .of = limit->max,
        .since_at = h->since,
        .ends_at = h->ends == AO_NEVER ? 0 : table_wall_of(&jobs->table, h->ends),
        .ttl = codec_duration(h->ttl),
        .grace = h->grace};
    h->writes++;
    store_push(jobs->store, write);
    return true;
}

void hold_rows_remove(struct jobs *jobs, uint64_t fence)
{
    struct store_op *write =
        jobs->store ? codec_row_new(jobs, STORE_ROW_REMOVE, &store_holds, 0, returned) : NULL;
    if (!write)
        return;
    ((struct store_hold *)write->row)->id = fence;
    store_push(jobs->store, write);
}

bool semaphore_rows_put(struct jobs *jobs, const struct semaphore *s)
{
    struct limit *limit = semaphore_limit(s);
    struct span tenant = limit->key.tenant->name;
    struct store_op *write = codec_row_new(jobs, STORE_ROW_PUT, &store_semaphores,
                                           tenant.len + limit->key.name.len, returned);
    if (!write)
        return false;
    uint8_t *at = (uint8_t *)(write + 1);
    *(struct store_semaphore *)write->row =
        (struct store_semaphore){.id = s->row,
                                 .tenant = span_put(tenant, &at),
                                 .name = span_put(limit->key.name, &at),
                                 .permits = limit->max};
    store_push(jobs->store, write);
    return true;
}

bool semaphore_rows_remove(struct jobs *jobs, const struct semaphore *s)
{
    struct store_op *write = codec_row_new(jobs, STORE_ROW_REMOVE, &store_semaphores, 0, returned);
    if (!write)
        return false;
    ((struct store_semaphore *)write->row)->id = s->row;
    store_push(jobs->store, write);
    return true;
}
