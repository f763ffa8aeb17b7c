#include "tests/support/store_client.h"

#include <assert.h>
#include <stdlib.h>

const char *const client_states[] = {"queued", "done", "failed", "cancelled", "dead"};

struct store_options client_options(const char *path)
{
    return (struct store_options){.path = path,
                                  .states = client_states,
                                  .state_count = sizeof client_states / sizeof *client_states,
                                  .retry = AO_MS(1)};
}

static void take_all(struct store_client *c)
{
    struct store_op *op;
    while ((op = store_take(c->store))) {
        c->back++;
        c->last = op->error;
        if (c->returned)
            c->returned(c, op);
        free(op);
    }
    store_release(c->store);
}

/* Active when all is back, so that its activator does not sleep on. */
static enum ao_verdict receive(struct ao *self)
{
    struct store_client *c = ao_of(self, struct store_client, receiver);
    take_all(c);
    return c->back == c->pushed ? AO_AGAIN : AO_DONE;
}

static const struct ao_class receiver_class = {.name = "store client", .step = receive};

bool client_open(struct store_client *c, const struct store_options *options, char *error,
                 size_t size)
{
    c->store = store_open(options, error, size);
    if (!c->store)
        return false;
    c->pushed = c->back = 0;
    c->poller = poller_eventfd_new();
    c->activator = activator_open(&(struct activator_options){
        .name = "client", .poller = c->poller, .clock = c->clock, .core = -1});
    assert(c->activator);
    ao_init(&c->receiver, &receiver_class, c->activator);
    int started = store_start(c->store, c->activator, &c->receiver);
    assert(started == 0);
    (void)started;
    return true;
}

void client_close(struct store_client *c)
{
    store_stop(c->store);
    take_all(c);
    ao_deactivate(&c->receiver);
    store_close(c->store);
    ao_fini(&c->receiver);
    activator_close(c->activator);
    poller_eventfd_free(c->poller);
}

struct store_op *client_op(enum store_kind kind)
{
    struct store_op *op = calloc(1, sizeof *op);
    assert(op);
    op->kind = kind;
    return op;
}

struct store_op *client_row(enum store_kind kind, const struct store_table *table)
{
    struct store_op *op = client_op(kind);
    op->table = table;
    return op;
}

struct store_op *client_put(uint64_t id, const char *method)
{
    struct store_op *op = client_op(STORE_PUT);
    op->task.id = id;
    op->task.method = span_text(method);
    op->task.created = 1000000000 + id;
    op->task.durable = 2;
    op->add.submitted = 1;
    return op;
}

void client_push(struct store_client *c, struct store_op *op)
{
    c->pushed++;
    store_push(c->store, op);
}

void client_wait(struct store_client *c)
{
    while (c->back < c->pushed)
        activator_round(c->activator, true);
    ao_deactivate(&c->receiver);
}

void client_poll(struct store_client *c)
{
    activator_round(c->activator, false);
}

enum store_error client_do(struct store_client *c, struct store_op *op)
{
    client_push(c, op);
    client_wait(c);
    return c->last;
}
