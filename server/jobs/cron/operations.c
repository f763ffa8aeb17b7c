/* cron.*: put, pause, resume, run, list, delete. */
#include "base/tracepoint.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/cron/crons.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/life/submit.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/sched/result_refs.h"
#include "server/jobs/verbs/view.h"

enum {
    PUT_WORK = 100,   /* see jobs_worked() */
    ARRIVING_MAX = 64 /* of one name, on their way */
};

static void returned(struct jobs *jobs, struct store_op *write);

/* Its row goes; `op` as of cron_save().  False without memory. */
static bool forget(struct jobs *jobs, struct cron *c, struct operation *op)
{
    struct store_op *write = codec_row_new(jobs, STORE_ROW_REMOVE, &store_crons, 0, returned);

    if (!write)
        return false;
    write->tag = (uintptr_t)op;
    write->owner = c;
    c->refs++;
    ((struct store_cron *)write->row)->tenant = c->spec.task.tenant;
    ((struct store_cron *)write->row)->name = c->spec.name;
    store_push(jobs->store, write);
    return true;
}

/* Is there a row of it, as far as is known? */
static bool is_stored(const struct jobs *jobs, const struct cron *c)
{
    return jobs->store && c && c->spec.task.durable != DURABLE_NONE;
}

/* Unix ns; 0: never, or not while it is paused. */
static uint64_t next_of(const struct cron *c)
{
    return c->state.paused ? 0 : c->state.next_at;
}

/* --- cron.put --- */

/* Its row has the state of when that was pushed; the one before may have come further since. */
static void put_in_place(struct jobs *jobs, struct cron *c, struct operation *op)
{
    bool before = c->named->placed != NULL;
    if (before)
        cron_succeed(jobs, c);
    crons_link(jobs, c);
    if (before)
        cron_save(jobs, c);
    cron_arm(jobs, c);
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 2);
    pack_key_span(&op->reply.result, "name", c->spec.name);
    view_ms(&op->reply.result, "next", next_of(c));
    operation_finish(op);
}

static struct rights_object object_of(const struct cron *c)
{
    return (struct rights_object){.tenant = c->spec.task.tenant, .queue = c->spec.task.method};
}

/* Crons of other tenants do not exist for it. */
static bool may_know(const struct operation *op, const struct cron *c)
{
    const struct rights_object o = object_of(c);
    return operation_may_object(op, &o);
}

/* A tenant may have so many as leaves some to others. */
static bool is_share(const struct jobs *jobs, struct span tenant)
{
    uint32_t all = (uint32_t)counter_read(&jobs->crons->count) + 1;

    return room_is_shared(jobs, (uint64_t)crons_of(jobs, tenant) + 1,
                          all < CRONS_MAX ? CRONS_MAX - all : 0);
}

/* Is there one of this name, or on its way to the store, that it may not replace? */
static bool is_foreign(const struct operation *op, const struct cron_name *named)
{
    if (named && named->placed && !may_know(op, named->placed))
        return true;
    for (const struct cron *c = named ? named->arriving : NULL; c; c = c->next)
        if (!may_know(op, c))
            return true;
    return false;
}

/* False: answered. */
static bool may_be_put(struct jobs *jobs, struct operation *op)
{
    struct cron_spec *spec = &op->cron;
    const struct cron_name *named = crons_find(jobs, spec->task.tenant, spec->name);
    const struct message_hooks *messages = &jobs->sched.messages;
    char text[JOB_TEXT_MAX];
    enum ergon_error wrong = job_check_actor(jobs, &spec->task, text, sizeof text);

    if (wrong == ERGON_OK) /* its tasks come after none */
        wrong = result_refs_check(&spec->task, text, sizeof text);
    if (wrong == ERGON_OK && spec->task.actor.len > 0)
        spec->task.durable = messages->level(messages->arg, &spec->task);
    if (wrong != ERGON_OK)
        operation_refuse(op, wrong, "%s", text);
    else if (spec->task.params.len + spec->options.len + spec->schedule.len > CRON_BYTES_MAX)
        operation_refuse(op, ERGON_E_TOO_LARGE,
                         "schedule, parameters and options of a cron have at most %d KiB",
                         CRON_BYTES_MAX / 1024);
    else if (is_foreign(op, named))
        operation_refuse(op, ERGON_E_DENIED,
                         "there is a cron of this name, and it is none that you may replace: a "
                         "role's `queues` have to name its method");
    else if (named && named->crons > ARRIVING_MAX)
        operation_refuse(op, ERGON_E_BUSY, "%d crons of this name are on their way to the store",
                         ARRIVING_MAX);
    else if (counter_read(&jobs->crons->count) >= CRONS_MAX && !named)
        operation_refuse(op, ERGON_E_BUSY, "there are %d crons already; delete one first",
                         CRONS_MAX);
    else if (!named && !is_share(jobs, spec->task.tenant))
        operation_refuse(op, ERGON_E_BUSY,
                         "the tenant has its share of the %d crons that there may be "
                         "(tasks.tenant_share); delete one first",
                         CRONS_MAX);
    else if (spec->task.durable != DURABLE_NONE && !jobs_take_level(jobs, spec->task.durable))
        operation_refuse(op, ERGON_E_STORE, "%s", jobs_level_trouble(jobs, spec->task.durable));
    else
        return true;
    return false;
}

/* Then what comes has to come behind it. */
static bool is_or_will_be_stored(const struct jobs *jobs, const struct cron_name *named)
{
    return is_stored(jobs, named->placed) || named->arriving;
}

/* That it takes, beyond what goes with the one in its place. */
static size_t more_bytes(const struct cron_name *named, const struct cron *c)
{
    size_t before = named && named->placed ? named->placed->bytes : 0;

    return c->bytes > before ? c->bytes - before : 0;
}

/* What is to be put; NULL: answered. */
static struct cron *make(struct jobs *jobs, struct operation *op)
{
    enum ergon_error error;
    char text[JOB_TEXT_MAX];
    struct cron *c = cron_new(jobs, &op->cron, &error, text, sizeof text);

    if (!c) {
        operation_refuse(op, error, "%s", text);
        return NULL;
    }
    size_t bytes = more_bytes(crons_find(jobs, c->spec.task.tenant, c->spec.name), c);
    error = room_make_bytes(jobs, c->spec.task.tenant, bytes, text, sizeof text);
    if (error == ERGON_OK && crons_name(jobs, c))
        return c;
    crons_refuse(jobs, c);
    if (error == ERGON_OK)
        operation_refuse_plain(op, ERGON_E_MEMORY);
    else
        operation_refuse(op, error, "%s", text);
    return NULL;
}

static void serve_put(struct jobs *jobs, struct operation *op)
{
    jobs_worked(jobs, PUT_WORK);
    struct cron *c = may_be_put(jobs, op) ? make(jobs, op) : NULL;
    if (!c)
        return;
    bool stored = is_stored(jobs, c), was_stored = is_or_will_be_stored(jobs, c->named);
    if (c->named->placed)
        cron_succeed(jobs, c);
    if (!stored && !was_stored) {
        if (jobs->store)
            forget(jobs, c, NULL); /* one that could not be used may be there */
        put_in_place(jobs, c, op);
    } else if (stored ? cron_write(jobs, c, returned, op) : forget(jobs, c, op)) {
        crons_arrive(c);
    } else {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        crons_refuse(jobs, c);
    }
}

/* The one that was there before goes on until then, and if this one cannot be written. */
static void put_returned(struct jobs *jobs, struct cron *c, struct operation *op,
                         enum store_error error)
{
    crons_arrived(c);
    if (error == STORE_OK) {
        put_in_place(jobs, c, op);
        return;
    }
    sync_refuse(op, error);
    crons_refuse(jobs, c);
}

/* --- cron.pause, resume --- */

static void answer_paused(struct operation *op, const struct cron *c)
{
    struct pack *p = &op->reply.result;

    pack_init(p);
    pack_map(p, 4);
    pack_key_span(p, "name", c->spec.name);
    pack_key_span(p, "tenant", c->spec.task.tenant);
    pack_key_bool(p, "paused", c->state.paused);
    view_ms(p, "next", next_of(c));
    operation_finish(op);
}

/* One that is on its way takes over what the one in place is. */
static struct cron *find_placed(struct jobs *jobs, struct operation *op)
{
    const struct name_arguments *which = &op->named;
    const struct cron_name *named = crons_find(jobs, which->tenant, which->name);
    struct cron *c = named ? named->placed : NULL;

    if (c && c->leaving == 0 && may_know(op, c))
        return c;
    operation_refuse(op, ERGON_E_NOT_FOUND, "there is no cron of this name");
    return NULL;
}

/* It is paused, or not, all the same. */
static void pause_without_memory(struct jobs *jobs, struct operation *op, struct cron *c)
{
    cron_set_unsaved(jobs, c);
    operation_refuse_plain(op, ERGON_E_MEMORY);
}

static void serve_paused(struct jobs *jobs, struct operation *op, bool paused)
{
    struct cron *c = find_placed(jobs, op);

    if (!c)
        return;
    jobs_worked(jobs, PUT_WORK);
    cron_pause(jobs, c, paused);
    if (!is_stored(jobs, c))
        answer_paused(op, c);
    else if (!cron_write_state(jobs, c, returned, op))
        pause_without_memory(jobs, op, c);
}

static void serve_pause(struct jobs *jobs, struct operation *op)
{
    serve_paused(jobs, op, true);
}

static void serve_resume(struct jobs *jobs, struct operation *op)
{
    serve_paused(jobs, op, false);
}

/* --- cron.run --- */

static void answer_run(struct operation *op, uint64_t id)
{
    char text[ID_TEXT_SIZE];

    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 1);
    pack_key_str(&op->reply.result, "id", id_text(id, text));
    operation_finish(op);
}

static void run_saved(struct jobs *jobs, struct waiter *w, enum store_error error)
{
    struct operation *op = w->op;
    uint64_t id = w->job->id;

    (void)jobs;
    waiters_leave(op);
    if (error == STORE_OK)
        answer_run(op, id);
    else
        sync_refuse(op, error);
}

/* The task has no key and is not the cron's last task: neither calendar nor `overlap` sees it. */
static void serve_run(struct jobs *jobs, struct operation *op)
{
    struct cron *c = find_placed(jobs, op);
    char text[JOB_TEXT_MAX];
    struct submitted out;

    jobs_worked(jobs, PUT_WORK);
    if (!c)
        return;
    enum ergon_error error = job_submit(jobs, &c->spec.task, NULL, &out, text, sizeof text);
    if (error != ERGON_OK) {
        operation_refuse(op, error, "%s", text);
        return;
    }
    if (tracepoint_watched(submit))
        job_trace_submit(out.job, op->conn);
    if (out.hardens)
        job_joined(out.job, &c->spec.task);
    bool waits =
        out.hardens || (durable_is_awaited(out.job->durable) && job_is(out.job, JOB_SUBMITTING));
    if (!waits)
        answer_run(op, out.job->id);
    else if (!waiters_join(op, out.job))
        operation_refuse(op, ERGON_E_MEMORY, "it was submitted, but its commit is not awaited");
}

/* --- cron.delete --- */

static void answer_delete(struct operation *op, bool found)
{
    pack_init(&op->reply.result);
    pack_bool(&op->reply.result, found);
    operation_finish(op);
}

/* None of its name that was put before is paused any more. */
static void leave(const struct cron_name *named)
{
    if (named->placed)
        named->placed->leaving++;
    for (struct cron *c = named->arriving; c; c = c->next)
        c->leaving++;
}

static void serve_delete(struct jobs *jobs, struct operation *op)
{
    const struct name_arguments *which = &op->named;
    const struct cron_name *named = crons_find(jobs, which->tenant, which->name);
    struct cron *last = !named ? NULL : named->arriving ? named->arriving : named->placed;

    if (!last || !may_know(op, last)) {
        answer_delete(op, false);
    } else if (last == named->placed && !is_stored(jobs, last)) {
        crons_unlink(jobs, last);
        answer_delete(op, true);
    } else if (forget(jobs, last, op)) {
        leave(named);
    } else {
        operation_refuse_plain(op, ERGON_E_MEMORY);
    }
}

/* Writes come back in the order in which they went: whatever has the name now had it, or was on its
 * way, when the delete went. */
static void delete_returned(struct jobs *jobs, struct operation *op, enum store_error error)
{
    const struct cron_name *named = crons_find(jobs, op->named.tenant, op->named.name);
    struct cron *c = named ? named->placed : NULL;

    if (error == STORE_OK) {
        if (c)
            crons_unlink(jobs, c);
        answer_delete(op, c != NULL); /* else another was faster */
        return;
    }
    if (c && c->leaving > 0 && --c->leaving == 0)
        cron_save(jobs, c); /* its present state */
    sync_refuse(op, error);
}

/* It is paused, or not, all the same, and written when the store works again. */
static void pause_returned(struct jobs *jobs, struct cron *c, struct operation *op,
                           enum store_error error)
{
    if (error == STORE_OK) {
        answer_paused(op, c);
        return;
    }
    cron_set_unsaved(jobs, c);
    sync_refuse(op, error);
}

static void returned(struct jobs *jobs, struct store_op *write)
{
    struct cron *c = write->owner;
    struct operation *op = (struct operation *)(uintptr_t)write->tag;

    if (op && op->cls == &operation_cron_put)
        put_returned(jobs, c, op, write->error);
    else if (op && op->cls == &operation_cron_delete)
        delete_returned(jobs, op, write->error);
    else if (op)
        pause_returned(jobs, c, op, write->error);
    cron_drop(c);
}

/* --- cron.list --- */

enum {
    LIST_BYTES = 1 << 20, /* of the answer, beyond which parameters and options are left out */
    SHOW_WORK = 30        /* see jobs_worked() */
};

/* Why the caller may not see the parameters, which are those of its tasks; NULL: it may. */
static const char *params_hidden(struct jobs *jobs, const struct operation *op,
                                 const struct cron *c)
{
    const struct rights_object o = object_of(c);
    const struct job_queue *q = table_queue_find(&jobs->table, c->spec.task.method);

    return contents_hidden_in(op, q, &o);
}

static void pack_cron(struct pack *p, const struct cron *c, const char *hidden)
{
    bool whole = p->buffer.size < LIST_BYTES;
    const struct cron_spec *spec = &c->spec;
    char id[ID_TEXT_SIZE];

    pack_map(p, 16u + (hidden != NULL));
    pack_key_span(p, "name", spec->name);
    pack_key_span(p, "tenant", spec->task.tenant);
    pack_key_span(p, "schedule", spec->schedule);
    pack_key_span(p, "zone", spec->zone.len > 0 ? spec->zone : span_text("UTC"));
    pack_key_span(p, "method", spec->task.method);
    pack_key_span(p, "made_by", spec->made_by);
    pack_key_raw(p, "params", whole && !hidden ? spec->task.params : span_text("\xc0"));
    if (hidden)
        pack_key_str(p, "params_hidden", hidden);
    if (whole)
        pack_key_raw(p, "options", spec->options.len > 0 ? spec->options : span_text("\x80"));
    else
        pack_key_raw(p, "options", span_text("\xc0"));
    pack_key_str(p, "durable", job_durable_names[spec->task.durable]);
    pack_key_bool(p, "paused", c->state.paused);
    view_ms(p, "next", next_of(c));
    view_ms(p, "last", c->state.last_at);
    pack_key_str(p, "last_task", c->state.last_task ? id_text(c->state.last_task, id) : NULL);
    pack_key_uint(p, "fired", c->state.fired);
    pack_key_uint(p, "skipped", c->state.skipped);
    pack_key_str(p, "error", c->state.error != ERGON_OK ? c->state.error_text : NULL);
}

static void begin_list(struct jobs *jobs, struct operation *op)
{
    op->begun = true;
    op->crons.count = 0;
    crons_walk_begin(jobs->crons, &op->crons.walk);
    view_list_begin(&op->reply.result);
}

static void end_list(struct jobs *jobs, struct operation *op)
{
    crons_walk_end(jobs->crons, &op->crons.walk);
    view_list_end(&op->reply.result, op->crons.count);
    operation_finish(op);
}

static bool serve_list(struct jobs *jobs, struct operation *op)
{
    struct cron *c = NULL;
    uint32_t begun = jobs->work;

    if (!op->begun)
        begin_list(jobs, op);
    while (jobs->work - begun < TURN_WORK && (c = crons_walk_next(&op->crons.walk))) {
        bool shown = may_know(op, c);
        jobs_worked(jobs, shown ? SHOW_WORK : 1);
        op->crons.count += shown;
        if (shown)
            pack_cron(&op->reply.result, c, params_hidden(jobs, op, c));
    }
    if (op->crons.walk.at)
        return false;
    end_list(jobs, op);
    return true;
}

const struct operation_class operation_cron_put = {.method = method_cron_put, .serve = serve_put};
const struct operation_class operation_cron_pause = {.method = method_cron_pause,
                                                     .serve = serve_pause};
const struct operation_class operation_cron_resume = {.method = method_cron_resume,
                                                      .serve = serve_resume};
const struct operation_class operation_cron_run = {
    .method = method_cron_run, .serve = serve_run, .dropped = waiters_drop, .job_saved = run_saved};
const struct operation_class operation_cron_list = {
    .method = method_cron_list, .shows_contents = true, .serve_part = serve_list};
const struct operation_class operation_cron_delete = {.method = method_cron_delete,
                                                      .serve = serve_delete};
