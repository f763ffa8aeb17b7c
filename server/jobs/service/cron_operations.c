/* cron.*: put, list, delete. */
#include "server/jobs/core/ids.h"
#include "server/jobs/cron/cron.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/room.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/service/view.h"

static void returned(struct jobs *jobs, struct store_op *write);

/* Its row goes; `op` as of cron_save().  False without memory. */
static bool forget(struct jobs *jobs, struct cron *c, struct operation *op)
{
    struct store_op *write = codec_write_new(jobs, STORE_CRON_REMOVE, 0, returned);

    if (!write)
        return false;
    write->tag = (uintptr_t)op;
    write->owner = c;
    c->refs++;
    write->cron.tenant = c->spec.task.tenant;
    write->cron.name = c->spec.name;
    store_push(jobs->store, write);
    return true;
}

/* Is there a row of it, as far as is known? */
static bool is_stored(const struct jobs *jobs, const struct cron *c)
{
    return jobs->store && c && c->spec.task.durable != DURABLE_NONE;
}

/* --- cron.put --- */

/* Never linked. */
static void put_in_vain(struct cron *c)
{
    ao_fini(&c->timer);
    cron_drop(c);
}

/* What the one before wrote of itself meanwhile stands over its row. */
static void put_in_place(struct jobs *jobs, struct cron *c, struct operation *op)
{
    const struct cron *before = *crons_place(jobs->crons, c->spec.task.tenant, c->spec.name);
    bool again = before && before->refs > 1;

    crons_link(jobs->crons, c);
    cron_arm(jobs, c);
    if (again && c->leaving == 0 && !cron_save(jobs, c, cron_saved, NULL))
        forget(jobs, c, NULL);
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 2);
    pack_key_span(&op->reply.result, "name", c->spec.name);
    view_ms(&op->reply.result, "next", c->next_at);
    operation_finish(op);
}

/* Crons of other tenants do not exist for it. */
static bool may_know(const struct operation *op, const struct cron *c)
{
    return operation_may_object(
        op, &(struct rights_object){.tenant = c->spec.task.tenant, .queue = c->spec.task.method});
}

/* --- Those that are being written --- */

/* Each name is counted once: those of a name that is linked are not, nor is the second of one that
 * is not.  After each change to one of the name. */
static void count_once(struct crons *all, struct span tenant, struct span name)
{
    bool counted = *crons_place(all, tenant, name) != NULL;

    for (struct cron *c = all->arriving; c; c = c->next) {
        if (!cron_is(c, tenant, name))
            continue;
        all->arrivals -= c->counts;
        c->counts = !counted;
        all->arrivals += c->counts;
        counted = true;
    }
}

static void arrive(struct crons *all, struct cron *c)
{
    c->next = all->arriving;
    all->arriving = c;
    count_once(all, c->spec.task.tenant, c->spec.name);
}

/* It is the caller's, who has the others of its name counted. */
static void arrived(struct crons *all, struct cron *c)
{
    all->arrivals -= c->counts;
    c->counts = false;
    struct cron **at = &all->arriving;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->next = NULL;
}

/* The last that is on its way of this name; NULL: none. */
static struct cron *arriving(const struct crons *all, struct span tenant, struct span name)
{
    struct cron *c = all->arriving;

    while (c && !cron_is(c, tenant, name))
        c = c->next;
    return c;
}

/* A tenant may have so many as leaves some to others. */
static bool is_share(const struct jobs *jobs, struct span tenant)
{
    uint32_t all = jobs->crons->count + jobs->crons->arrivals + 1;

    return room_is_shared(jobs, (uint64_t)crons_of(jobs->crons, tenant) + 1,
                          all < CRONS_MAX ? CRONS_MAX - all : 0);
}

/* Is there one of this name, or on its way to the store, that it may not replace? */
static bool is_foreign(const struct jobs *jobs, const struct operation *op)
{
    struct span tenant = op->cron.task.tenant, name = op->cron.name;
    const struct cron *before = *crons_place(jobs->crons, tenant, name);

    if (before && !may_know(op, before))
        return true;
    for (const struct cron *c = jobs->crons->arriving; c; c = c->next)
        if (cron_is(c, tenant, name) && !may_know(op, c))
            return true;
    return false;
}

/* False: answered. */
static bool may_be_put(struct jobs *jobs, struct operation *op)
{
    const struct cron_spec *spec = &op->cron;
    bool is_new = *crons_place(jobs->crons, spec->task.tenant, spec->name) == NULL &&
                  arriving(jobs->crons, spec->task.tenant, spec->name) == NULL;

    if (spec->task.params.len + spec->options.len + spec->schedule.len > CRON_BYTES_MAX)
        operation_refuse(op, ERGON_E_TOO_LARGE,
                         "schedule, parameters and options of a cron have at most %d KiB",
                         CRON_BYTES_MAX / 1024);
    else if (is_foreign(jobs, op))
        operation_refuse(op, ERGON_E_DENIED,
                         "there is a cron of this name, and it is none that you may replace: a "
                         "role's `queues` have to name its method");
    else if (jobs->crons->count + jobs->crons->arrivals >= CRONS_MAX && is_new)
        operation_refuse(op, ERGON_E_BUSY, "there are %d crons already; delete one first",
                         CRONS_MAX);
    else if (is_new && !is_share(jobs, spec->task.tenant))
        operation_refuse(op, ERGON_E_BUSY,
                         "the tenant has its share of the %d crons that there may be "
                         "(tasks.tenant_share); delete one first",
                         CRONS_MAX);
    else if (spec->task.durable != DURABLE_NONE && !jobs_store_usable(jobs))
        operation_refuse(op, ERGON_E_STORE, "%s",
                         jobs->store ? store_error_text(jobs->journal.error)
                                     : "this server has no store; ask for durable: \"none\"");
    else
        return true;
    return false;
}

/* Then what comes has to come behind it. */
static bool is_or_will_be_stored(const struct jobs *jobs, const struct cron_spec *spec)
{
    struct span tenant = spec->task.tenant;

    return is_stored(jobs, *crons_place(jobs->crons, tenant, spec->name)) ||
           arriving(jobs->crons, tenant, spec->name);
}

static void serve_put(struct jobs *jobs, struct operation *op)
{
    enum ergon_error error;
    char text[JOB_TEXT_MAX];

    if (!may_be_put(jobs, op))
        return;
    struct cron *c = cron_new(jobs, &op->cron, &error, text, sizeof text);
    if (!c) {
        operation_refuse(op, error, "%s", text);
        return;
    }
    cron_plan(jobs, c, table_wall(&jobs->table));
    bool stored = is_stored(jobs, c), was_stored = is_or_will_be_stored(jobs, &op->cron);
    if (!stored && !was_stored) {
        if (jobs->store)
            forget(jobs, c, NULL); /* one that could not be used may be there */
        put_in_place(jobs, c, op);
    } else if (stored ? cron_save(jobs, c, returned, op) : forget(jobs, c, op)) {
        arrive(jobs->crons, c);
    } else {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        put_in_vain(c);
    }
}

/* The one that was there before goes on until then, and if this one cannot be written. */
static void put_returned(struct jobs *jobs, struct cron *c, struct operation *op,
                         enum store_error error)
{
    arrived(jobs->crons, c);
    if (error == STORE_OK)
        put_in_place(jobs, c, op);
    else
        operation_refuse(op, ERGON_E_STORE, "%s", store_error_text(error));
    count_once(jobs->crons, c->spec.task.tenant, c->spec.name);
    if (error != STORE_OK)
        put_in_vain(c);
}

/* --- cron.delete --- */

static void answer_delete(struct operation *op, bool found)
{
    pack_init(&op->reply.result);
    pack_bool(&op->reply.result, found);
    operation_finish(op);
}

/* All of its name that were put before are not written any more, so that none of them writes itself
 * back behind the delete; or one delete less holds that up. */
static void leave(struct crons *all, const struct name_arguments *which)
{
    struct cron *c = *crons_place(all, which->tenant, which->name);

    if (c)
        c->leaving++;
    for (c = all->arriving; c; c = c->next)
        c->leaving += cron_is(c, which->tenant, which->name);
}

static void serve_delete(struct jobs *jobs, struct operation *op)
{
    const struct name_arguments *which = &op->named;
    struct cron **at = crons_place(jobs->crons, which->tenant, which->name);
    struct cron *last = arriving(jobs->crons, which->tenant, which->name);

    last = last ? last : *at;
    if (!last || !may_know(op, last)) {
        answer_delete(op, false);
    } else if (last == *at && !is_stored(jobs, last)) {
        crons_unlink(jobs->crons, at);
        answer_delete(op, true);
    } else if (forget(jobs, last, op)) {
        leave(jobs->crons, which);
    } else {
        operation_refuse_plain(op, ERGON_E_MEMORY);
    }
}

/* Writes come back in the order in which they went: whatever has the name now had it, or was on its
 * way, when the delete went. */
static void delete_returned(struct jobs *jobs, struct operation *op, enum store_error error)
{
    struct cron **at = crons_place(jobs->crons, op->named.tenant, op->named.name), *c = *at;

    if (error == STORE_OK) {
        if (c)
            crons_unlink(jobs->crons, at);
        count_once(jobs->crons, op->named.tenant, op->named.name);
        answer_delete(op, c != NULL); /* else another was faster */
        return;
    }
    if (c && c->leaving > 0 && --c->leaving == 0)
        cron_save(jobs, c, cron_saved, NULL); /* where it stands now */
    operation_refuse(op, ERGON_E_STORE, "%s", store_error_text(error));
}

static void returned(struct jobs *jobs, struct store_op *write)
{
    struct cron *c = write->owner;
    struct operation *op = (struct operation *)(uintptr_t)write->tag;

    if (op && op->cls == &operation_cron_put)
        put_returned(jobs, c, op, write->error);
    else if (op)
        delete_returned(jobs, op, write->error);
    cron_drop(c);
}

/* --- cron.list --- */

enum { LIST_BYTES = 1 << 20 /* of the answer, beyond which parameters and options are left out */ };

static void pack_cron(struct pack *p, const struct cron *c)
{
    bool whole = p->buffer.size < LIST_BYTES;
    const struct cron_spec *spec = &c->spec;
    char id[ID_TEXT_SIZE];

    pack_map(p, 15);
    pack_key_span(p, "name", spec->name);
    pack_key_span(p, "tenant", spec->task.tenant);
    pack_key_span(p, "schedule", spec->schedule);
    pack_key_span(p, "zone", spec->zone.len > 0 ? spec->zone : span_text("UTC"));
    pack_key_span(p, "method", spec->task.method);
    pack_key_span(p, "made_by", spec->made_by);
    pack_key_raw(p, "params", whole ? spec->task.params : span_text("\xc0"));
    if (whole)
        pack_key_raw(p, "options", spec->options.len > 0 ? spec->options : span_text("\x80"));
    else
        pack_key_raw(p, "options", span_text("\xc0"));
    pack_key_str(p, "durable", job_durable_names[spec->task.durable]);
    view_ms(p, "next", c->next_at);
    view_ms(p, "last", c->last_at);
    pack_key_str(p, "last_task", c->last_task ? id_text(c->last_task, id) : NULL);
    pack_key_uint(p, "fired", c->fired);
    pack_key_uint(p, "skipped", c->skipped);
    pack_key_str(p, "error", c->error != ERGON_OK ? c->error_text : NULL);
}

static void serve_list(struct jobs *jobs, struct operation *op)
{
    uint32_t count = 0;

    for (const struct cron *c = jobs->crons->first; c; c = c->next)
        count += may_know(op, c);
    pack_init(&op->reply.result);
    pack_array(&op->reply.result, count);
    for (const struct cron *c = jobs->crons->first; c; c = c->next)
        if (may_know(op, c))
            pack_cron(&op->reply.result, c);
    operation_finish(op);
}

const struct operation_class operation_cron_put = {.method = "cron.put", .serve = serve_put};
const struct operation_class operation_cron_list = {.method = "cron.list", .serve = serve_list};
const struct operation_class operation_cron_delete = {.method = "cron.delete",
                                                      .serve = serve_delete};
