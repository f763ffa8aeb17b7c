/* batch.*: create, close, get, list, cancel.  batch.add is a submission (verbs/submission.c). */
#include "server/jobs/accessors.h"
#include "server/jobs/batches/batch_rows.h"
#include "server/jobs/batches/batches.h"
#include "server/jobs/batches/calls.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/verbs/view.h"

enum {
    SERVE_WORK = 20, /* see jobs_worked() */
    SHOW_WORK = 20,
    VISITS = 10000 /* batches looked at for a page */
};

/* Batches of other tenants do not exist for it. */
static bool may_know(const struct operation *op, const struct batch *b)
{
    return operation_may_object(op, &(struct rights_object){.tenant = b->tenant->name});
}

/* NULL: answered. */
static struct batch *find(struct jobs *jobs, struct operation *op)
{
    struct batch *b = batch_find(jobs, op->batch.id);
    char text[ID_TEXT_SIZE];
    jobs_worked(jobs, SERVE_WORK);
    if (b && may_know(op, b)) {
        bool is_own = span_equal(b->tenant->name, op->tenant);
        op->met_own |= is_own;
        op->met_others |= !is_own;
        return b;
    }
    operation_refuse(op, ERGON_E_NOT_FOUND, "no batch %s: it never existed, or was forgotten",
                     id_batch_text(op->batch.id, text));
    return NULL;
}

/* --- As clients see it --- */

static void pack_counts(struct pack *p, const struct batch *b)
{
    uint64_t all = b->open;
    for (unsigned n = 0; n < BATCH_ENDS; n++)
        all += b->ended[n];
    pack_key_uint(p, "total", all);
    pack_key_uint(p, "open", b->open);
    for (unsigned n = 0; n < BATCH_ENDS; n++)
        pack_key_uint(p, job_state_names[JOB_DONE + n], b->ended[n]);
}

static void pack_call(struct pack *p, const struct batch *b, enum batch_call which)
{
    struct span method = calls_method(b->calls[which]);
    char id[ID_TEXT_SIZE];
    pack_str(p, batch_call_names[which]);
    if (method.len == 0) {
        pack_nil(p);
        return;
    }
    pack_map(p, 2);
    pack_key_span(p, "method", method);
    pack_key_str(p, "task", batch_sent(b, which) > 0 ? id_text(batch_sent(b, which), id) : NULL);
}

/* NULL: none. */
static const char *trouble_of(const struct batch *b)
{
    if (b->trouble)
        return b->trouble->text;
    return b->save_at > 0 ? store_error_text(STORE_REFUSED) : NULL;
}

static void pack_batch(struct pack *p, const struct batch *b)
{
    char id[ID_TEXT_SIZE];
    bool ended = b->state == BATCH_ENDED;
    pack_map(p, 20);
    pack_key_str(p, "id", id_batch_text(b->by_id.hash, id));
    pack_key_span(p, "tenant", b->tenant->name);
    pack_key_str(p, "state", batch_state_names[b->state]);
    pack_key_str(p, "outcome", ended ? job_state_names[batch_outcome(b)] : NULL);
    pack_key_str(p, "parent", b->parent ? id_batch_text(b->parent->by_id.hash, id) : NULL);
    pack_key_str(p, "durable", job_durable_names[b->durable]);
    view_ms(p, "created", b->created);
    view_ms(p, "ended", ended ? b->ended_at : 0);
    pack_key_uint(p, "keep", b->keep / AO_MS(1));
    pack_counts(p, b);
    for (enum batch_call which = 0; which < BATCH_CALL_COUNT; which++)
        pack_call(p, b, which);
    pack_key_str(p, "error", trouble_of(b));
}

static void answer_batch(struct operation *op, const struct batch *b)
{
    pack_init(&op->reply.result);
    pack_batch(&op->reply.result, b);
    operation_finish(op);
}

/* --- Answers that wait for the disk --- */

/* One that could not be created is none. */
void batch_answer(struct batch *b, struct operation *op, enum store_error error)
{
    bool arrives = b->arrives;
    if (error == STORE_OK) {
        b->arrives = false;
        answer_batch(op, b);
        return;
    }
    sync_refuse(op, error);
    if (arrives)
        batch_free(b);
}

static void finish(struct operation *op, struct batch *b)
{
    if (b->durable == DURABLE_NONE)
        answer_batch(op, b);
    else
        batch_rows_write(b, op);
}

/* --- batch.create --- */

/* A tenant may have so many as leaves some to others. */
static bool is_share(const struct jobs *jobs, struct span tenant)
{
    const struct tenant *t = table_tenant_find(jobs_table(jobs), tenant);
    uint32_t all = jobs_batches(jobs)->ids.count + 1, own = t ? t->batches : 0;
    return room_is_shared(jobs, (uint64_t)own + 1, all < BATCHES_MAX ? BATCHES_MAX - all : 0);
}

/* NULL: answered, if one was named. */
static struct batch *parent_of(struct jobs *jobs, struct operation *op)
{
    struct batch *b = op->batch.parent > 0 ? batch_find(jobs, op->batch.parent) : NULL;
    char text[ID_TEXT_SIZE];
    if (op->batch.parent == 0)
        return NULL;
    id_batch_text(op->batch.parent, text);
    if (!b || !span_equal(b->tenant->name, op->batch.tenant))
        operation_refuse(op, ERGON_E_NOT_FOUND,
                         "no batch %s: the parent never existed, or was forgotten", text);
    else if (b->state == BATCH_CANCELLING || batch_is_frozen(b) ||
             (b->state == BATCH_CLOSED && b->open == 0))
        operation_refuse(op, ERGON_E_BAD_PARAMS, "batch %s is %s, and takes no more members", text,
                         batch_state_names[b->state]);
    else if (op->batch.durable < b->durable)
        operation_refuse(op, ERGON_E_BAD_PARAMS,
                         "batch %s is more durable than its new member: say durable: \"%s\"", text,
                         job_durable_names[b->durable]);
    else
        return b;
    return NULL;
}

/* False: answered. */
static bool has_room(struct jobs *jobs, struct operation *op, const struct batch_spec *spec)
{
    char text[JOB_TEXT_MAX];
    if (jobs_batches(jobs)->ids.count >= BATCHES_MAX || !is_share(jobs, spec->tenant)) {
        operation_refuse(op, ERGON_E_BUSY,
                         "the tenant has its share of the %d batches that there may be "
                         "(tasks.tenant_share); let some end",
                         BATCHES_MAX);
        return false;
    }
    enum ergon_error full =
        room_make_bytes(jobs, spec->tenant, batch_bytes(spec), text, sizeof text);
    if (full != ERGON_OK)
        operation_refuse(op, full, "%s", text);
    return full == ERGON_OK;
}

/* False: answered. */
static bool may_create(struct jobs *jobs, struct operation *op)
{
    uint8_t durable = op->batch.durable;
    if (!operation_may_object(op, &(struct rights_object){.tenant = op->batch.tenant}))
        operation_refuse(op, ERGON_E_DENIED,
                         "a batch of another tenant takes a role that names it (`tenants`, or "
                         "\"task.any\")");
    else if (jobs_scheduler(jobs)->stopping)
        operation_refuse_plain(op, ERGON_E_DRAINING);
    else if (jobs_scheduler(jobs)->refuses)
        operation_refuse(op, ERGON_E_STORE, "%s", scheduler_no_numbers);
    else if (durable != DURABLE_NONE && !jobs_take_level(jobs, durable))
        operation_refuse(op, ERGON_E_STORE, "%s", jobs_level_trouble(jobs, durable));
    else if (durable != DURABLE_NONE && !store_keeps(jobs_store(jobs), STORE_KEEPS_BATCHES))
        operation_refuse(op, ERGON_E_STORE,
                         "the database keeps no batches before its upgrade is finished: ergon "
                         "cluster upgrade --finish; or say durable: \"none\"");
    else
        return true;
    return false;
}

static void serve_create(struct jobs *jobs, struct operation *op)
{
    const struct batch_arguments *a = &op->batch;
    struct batch_spec spec = {.tenant = a->tenant,
                              .calls = {a->calls[0], a->calls[1], a->calls[2]},
                              .keep = a->keep,
                              .created = table_wall(jobs_table(jobs)),
                              .durable = a->durable};
    jobs_worked(jobs, SERVE_WORK);
    if (!may_create(jobs, op))
        return;
    spec.parent = parent_of(jobs, op);
    if ((a->parent > 0 && !spec.parent) || !has_room(jobs, op, &spec))
        return;
    spec.id = jobs_table(jobs)->next_id++;
    struct batch *b = batch_new(jobs, &spec);
    if (!b) {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return;
    }
    b->arrives = b->durable != DURABLE_NONE;
    finish(op, b);
}

/* --- batch.close, batch.cancel --- */

/* The store knows what it says, as far as it is known. */
static bool may_change(struct jobs *jobs, struct operation *op, const struct batch *b)
{
    return b->durable == DURABLE_NONE || sync_possible(jobs, op);
}

/* What it is, an earlier request may have made of it whose write failed, or is under way. */
static bool is_on_disk(const struct batch *b)
{
    return b->durable == DURABLE_NONE || (!b->under_way && !b->unsaved && b->save_at == 0);
}

static void serve_close(struct jobs *jobs, struct operation *op)
{
    struct batch *b = find(jobs, op);
    if (!b)
        return;
    if (b->state != BATCH_OPEN && is_on_disk(b)) {
        answer_batch(op, b);
    } else if (may_change(jobs, op, b)) {
        batch_close(b);
        finish(op, b);
    }
}

static void serve_cancel(struct jobs *jobs, struct operation *op)
{
    struct batch *b = find(jobs, op);
    if (!b)
        return;
    if (b->state > BATCH_CLOSED && is_on_disk(b)) {
        answer_batch(op, b);
    } else if (may_change(jobs, op, b)) {
        batch_cancel(b);
        finish(op, b);
    }
}

/* --- batch.get --- */

static void leave(struct operation *op)
{
    struct batch_watcher *w = &op->batch.watcher;
    *(w->prev ? &w->prev->next : &w->at->watchers) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    waiters_leave(op);
}

/* It has ended, or the time is over. */
static void due(struct jobs *jobs, struct operation *op)
{
    const struct batch *b = op->batch.watcher.at;
    (void)jobs;
    leave(op);
    answer_batch(op, b);
}

static void dropped(struct jobs *jobs, struct operation *op)
{
    (void)jobs;
    leave(op);
    operation_refuse_plain(op, ERGON_E_CANCELLED);
}

static void join(struct batch *b, struct batch_watcher *w)
{
    w->at = b;
    w->prev = NULL;
    w->next = b->watchers;
    if (w->next)
        w->next->prev = w;
    b->watchers = w;
}

static void serve_get(struct jobs *jobs, struct operation *op)
{
    struct batch *b = find(jobs, op);
    if (!b)
        return;
    if (b->state == BATCH_ENDED || op->batch.wait == 0) {
        answer_batch(op, b);
        return;
    }
    op->waiting.held = true;
    join(b, &op->batch.watcher);
    if (!waiters_poll(jobs, op, op->batch.wait))
        due(jobs, op);
}

void batches_stop_watchers(struct jobs *jobs)
{
    for (struct batch *b = jobs_batches(jobs)->first; b; b = b->next)
        while (b->watchers)
            due(jobs, ao_of(b->watchers, struct operation, batch.watcher));
}

/* --- batch.list --- */

/* The newest first, from behind the cursor. */
static struct batch *begin_page(const struct jobs *jobs, uint64_t cursor, uint32_t *visits)
{
    struct batch *at = cursor > 0 ? batch_find(jobs, cursor) : NULL;
    if (at)
        return at->prev;
    for (at = jobs_batches(jobs)->last; at && cursor > 0 && at->by_id.hash >= cursor; at = at->prev)
        ++*visits;
    return at;
}

static bool fits(const struct operation *op, const struct batch *b)
{
    const struct batch_arguments *a = &op->batch;
    return !b->arrives && (a->state < 0 || a->state == b->state) &&
           (a->parent == 0 || (b->parent && b->parent->by_id.hash == a->parent)) &&
           filter_fits_name(op->batch.tenant, b->tenant->name) && may_know(op, b);
}

/* A batch is younger than its parent: from there on there is none of its members. */
static bool may_follow(const struct operation *op, const struct batch *b)
{
    return b && b->by_id.hash > op->batch.parent;
}

static void serve_list(struct jobs *jobs, struct operation *op)
{
    struct pack *p = &op->reply.result;
    uint32_t sought = 0, visits = 0, count = 0;
    const struct batch *b = begin_page(jobs, op->batch.cursor, &sought), *last = NULL;
    char id[ID_TEXT_SIZE];
    pack_init(p);
    pack_map(p, 2);
    pack_str(p, "batches");
    size_t head = view_array_begin(p);
    for (; may_follow(op, b) && count < op->batch.max && visits < VISITS; b = b->prev, visits++) {
        last = b;
        if (!fits(op, b))
            continue;
        pack_batch(p, b);
        jobs_worked(jobs, SHOW_WORK);
        count++;
    }
    view_array_end(p, head, count);
    pack_key_str(p, "next", may_follow(op, b) && last ? id_batch_text(last->by_id.hash, id) : NULL);
    jobs_worked(jobs, (size_t)sought + visits);
    operation_finish(op);
}

const struct operation_class operation_batch_create = {.method = method_batch_create,
                                                       .serve = serve_create};
const struct operation_class operation_batch_close = {.method = method_batch_close,
                                                      .serve = serve_close};
const struct operation_class operation_batch_cancel = {.method = method_batch_cancel,
                                                       .serve = serve_cancel};
const struct operation_class operation_batch_get = {
    .method = method_batch_get, .serve = serve_get, .dropped = dropped, .due = due};
const struct operation_class operation_batch_list = {.method = method_batch_list,
                                                     .serve = serve_list};
