/* The requests about batches. */
#include "client/lib/pairs.h"

#include <ergon/client_batches.h>

static const struct ergon_answer unsized = {
    .outcome = ERGON_END_INVALID,
    .code = "",
    .text = "the options of a batch tell no size: set .size to sizeof(struct "
            "ergon_batch_options)"};

/* [method, params, options], packed as those of a request are. */
static void pairs_order(struct pairs *m, const char *key, const struct ergon_task_order *order)
{
    struct ergon_request *one = order != NULL ? request_new("", 3) : NULL;
    if (order == NULL)
        return;
    if (one == NULL) {
        m->pack.failed = true;
        return;
    }
    pack_str(&one->params, order->method);
    request_pack_params(one, order->params);
    request_pack_options(one, order->options);
    m->count++;
    pack_str(&m->pack, key);
    pack_raw(&m->pack, span_of(one->params.buffer.data, one->params.buffer.size));
    m->pack.failed |= one->params.failed;
    if (one->refused != NULL)
        m->refused = one->refused;
    ergon_request_free(one);
}

struct ergon_request *ergon_request_batch_create(const struct ergon_batch_options *given)
{
    struct ergon_request *r = request_new("batch.create", 1);
    struct ergon_batch_options o;
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_init(&m);
    if (!options_copy(&o, sizeof o, given))
        m.refused = &unsized;
    pairs_order(&m, "on_success", o.on_success);
    pairs_order(&m, "on_failure", o.on_failure);
    pairs_order(&m, "on_end", o.on_end);
    pairs_text(&m, "parent", o.parent);
    pairs_text(&m, "durable", o.durable);
    pairs_text(&m, "tenant", o.tenant);
    pairs_number(&m, "keep", o.keep_ms);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_batch_add(const char *id, const struct ergon_task_order *orders,
                                              size_t count, const struct ergon_task_options *common)
{
    struct ergon_request *r = request_new("batch.add", 3);
    if (r == NULL)
        return NULL;
    pack_str(&r->params, id);
    request_pack_orders(r, orders, count);
    request_pack_options(r, common);
    return request_done(r);
}

struct ergon_request *ergon_request_batch_close(const char *id)
{
    return request_of_name("batch.close", id);
}

struct ergon_request *ergon_request_batch_cancel(const char *id)
{
    return request_of_name("batch.cancel", id);
}

struct ergon_request *ergon_request_batch_get(const char *id, uint64_t wait_ms)
{
    struct ergon_request *r = request_new("batch.get", 2);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pack_str(&r->params, id);
    pairs_init(&m);
    pairs_number(&m, "wait", wait_ms);
    pairs_pack(&m, r);
    return request_done(r);
}

struct ergon_request *ergon_request_batches(const char *state, const char *tenant,
                                            const char *parent, const char *cursor, uint64_t limit)
{
    struct ergon_request *r = request_new("batch.list", 1);
    struct pairs m;
    if (r == NULL)
        return NULL;
    pairs_init(&m);
    pairs_text(&m, "state", state);
    pairs_text(&m, "tenant", tenant);
    pairs_text(&m, "parent", parent);
    pairs_text(&m, "cursor", cursor);
    pairs_number(&m, "limit", limit);
    pairs_pack(&m, r);
    return request_done(r);
}
