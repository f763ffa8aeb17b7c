/* queue.tenants: what each tenant holds, a page at a time. */
#include <inttypes.h>
#include <stdio.h>

#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/operation.h"

enum { VISITS = 10000 /* tenants looked at for one page, so that the loop goes on */ };

/* Whoever sees several tenants by its role sees what each holds in all. */
static bool may_see(const struct operation *op, const struct tenant *t)
{
    return t->jobs > 0 && operation_may_object(op, &(struct rights_object){.tenant = t->name});
}

static void pack_tenant(struct pack *p, const struct tenant *t)
{
    pack_map(p, 9);
    pack_key_span(p, "tenant", t->name);
    pack_key_uint(p, "weight", t->weight);
    pack_key_uint(p, "open", t->open);
    pack_key_uint(p, "open_bytes", t->open_bytes);
    pack_key_uint(p, "ended", t->kept.jobs[KEPT_WELL].count + t->kept.jobs[KEPT_BADLY].count);
    pack_key_uint(p, "ended_badly", t->kept.jobs[KEPT_BADLY].count);
    pack_key_uint(p, "ended_bytes", kept_bytes(t->kept.bytes));
    pack_key_uint(p, "limits", t->limits);
    pack_key_uint(p, "rates", t->rates);
}

/* The cursor is the number of a bucket.  The table of tenants only grows, and what moves when it
 * does moves to a later bucket: so who is there all the time is told once at least. */
static void serve(struct jobs *jobs, struct operation *op)
{
    const struct hash_table *all = &jobs->table.tenants;
    struct pack tenants;
    uint32_t found = 0, visits = 0;
    uint64_t at = op->list.cursor;
    char next[24];

    pack_init(&tenants);
    for (; at < all->size && visits < VISITS && tenants.buffer.size < LIST_BYTES_MAX;
         at++, visits++)
        for (struct hash_link *l = all->buckets[at]; l; l = l->next, visits++)
            if (may_see(op, (const struct tenant *)l)) {
                pack_tenant(&tenants, (const struct tenant *)l);
                found++;
            }
    jobs_worked(jobs, visits);
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 2);
    pack_str(&op->reply.result, "tenants");
    pack_array(&op->reply.result, found);
    pack_raw(&op->reply.result, pack_bytes(&tenants));
    op->reply.result.failed |= tenants.failed;
    snprintf(next, sizeof next, "%" PRIu64, at);
    pack_key_str(&op->reply.result, "next", at < all->size ? next : NULL);
    pack_fini(&tenants);
    operation_finish(op);
}

const struct operation_class operation_queue_tenants = {.method = method_queue_tenants,
                                                        .serve = serve};
