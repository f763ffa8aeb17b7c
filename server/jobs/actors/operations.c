/* actor.get, explain, watch, start, stop, wake, drop, types; and the subsystem of actors.
 * (actor.call and actor.tell submit: see verbs/submission.c.) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/figure.h"
#include "base/utf8.h"
#include "server/jobs/accessors.h"
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/commits.h"
#include "server/jobs/actors/counts.h"
#include "server/jobs/actors/listing.h"
#include "server/jobs/actors/leftovers.h"
#include "server/jobs/actors/loads.h"
#include "server/jobs/actors/mailboxes.h"
#include "server/jobs/actors/failures.h"
#include "server/jobs/actors/reminders.h"
#include "server/jobs/actors/residents.h"
#include "server/jobs/actors/steps.h"
#include "server/jobs/actors/supervision.h"
#include "server/jobs/actors/task_sends.h"
#include "server/jobs/actors/views.h"
#include "server/jobs/actors/watchers.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/turns.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/verbs/explain.h"
#include "server/jobs/verbs/view.h"
#include "server/tasks/registry.h"

enum { SERVE_WORK = 10, VIEW_WORK = 4, WATCHER_WORK = 1 /* see jobs_worked() */ };

static struct rights_object object_of(const struct actor *a)
{
    return (struct rights_object){.tenant = a->tenant->name, .key = actor_name(a)};
}

static void meet(struct operation *op, const struct actor *a)
{
    bool is_own = span_equal(a->tenant->name, op->tenant);
    op->met_own |= is_own;
    op->met_others |= !is_own;
}

/* NULL: the operation waits for the actor's load, and is served again then; or it was answered
 * NOT_FOUND, also for one that the caller may not see. */
static struct actor *find(struct jobs *jobs, struct operation *op)
{
    const struct actor_arguments *args = &op->actor;
    struct span tenant = args->tenant.len > 0 ? args->tenant : op->tenant;
    jobs_worked(jobs, SERVE_WORK);
    const struct rights_object object = {.tenant = tenant, .key = args->name};
    bool may = operation_may_object(op, &object);
    if (may && loads_await(jobs->actors, tenant, args->name, op))
        return NULL;
    struct actor *a = actor_find(jobs->actors, tenant, args->name);
    if (may && actor_is_there(a)) {
        meet(op, a);
        return a;
    }
    operation_refuse(op, ERGON_E_NOT_FOUND,
                     "no actor \"%.*s\": it has neither a state nor a message; the first message "
                     "whose turn sets a state makes it",
                     (int)utf8_cut(args->name, 80).len, (const char *)args->name.at);
    return NULL;
}

/* --- actor.get, actor.explain --- */

static void pack(struct jobs *jobs, struct pack *p, struct actor *a)
{
    const struct actor_view view = actor_view_of(a);
    jobs_worked(jobs, VIEW_WORK);
    actor_view_pack(jobs, p, &view);
}

/* Clients that may send it any message see its state, and so do those with task.params. */
static bool sees_state(const struct operation *op, const struct actor *a)
{
    struct rights_object object = object_of(a);
    object.queue = a->type->methods;
    return operation_sees_object(op, &object) != 0;
}

static void pack_state(struct pack *p, const struct operation *op, const struct actor *a)
{
    bool sees = sees_state(op, a);
    struct actor_state state = actor_state(a);
    pack_str(p, "state");
    if (sees && state.shared)
        pack_blob(p, state.shared);
    else if (sees && state.raw.len > 0)
        pack_raw(p, state.raw);
    else
        pack_nil(p);
    pack_key_bool(p, "state_hidden", state.raw.len > 0 && !sees);
}

/* Also those whose turn runs, or whose time has come. */
static void pack_reminders(struct jobs *jobs, struct pack *p, const struct actor *a)
{
    uint32_t count = 0;
    char id[ID_TEXT_SIZE];
    for (struct job *job = NULL; (job = reminders_next(a, job));)
        count++;
    jobs_worked(jobs, VIEW_WORK * (size_t)count);
    pack_str(p, "reminders");
    pack_array(p, count);
    for (struct job *job = NULL; (job = reminders_next(a, job));) {
        bool waits = job->state == JOB_DELAYED && job->due != AO_NEVER;
        pack_map(p, 5);
        pack_key_span(p, "name", job_reminder_name(job));
        pack_key_str(p, "id", id_text(job->id, id));
        pack_key_span(p, "method", job->queue->name);
        view_ms(p, "due", waits ? table_wall_of(jobs_table(jobs), job->due) : 0);
        view_ms(p, "every", job_reminder(job)->every);
    }
}

static void serve_get(struct jobs *jobs, struct operation *op)
{
    struct actor *a = find(jobs, op);
    struct pack *p = &op->reply.result;
    if (!a)
        return;
    pack_init(p);
    pack_map(p, ACTOR_VIEW_PAIRS + 1 + (op->actor.with_state ? 2u : 0));
    pack(jobs, p, a);
    pack_reminders(jobs, p, a);
    if (op->actor.with_state)
        pack_state(p, op, a);
    operation_finish(op);
}

struct explanation {
    const char *reason;
    char text[EXPLAIN_TEXT_MAX + 400];
};

static void explain_head(struct jobs *jobs, const struct operation *op, const struct actor *a,
                         struct explanation *e)
{
    char id[ID_TEXT_SIZE], why[EXPLAIN_TEXT_MAX];
    struct job *head = a->more->head;
    e->reason = job_reason_name(explain_job(jobs, op, head, why, sizeof why));
    snprintf(e->text, sizeof e->text,
             "%.*s is active: %.*s (%s): %s; %" PRIu32 " messages wait behind it", (int)a->name_len,
             (const char *)a->name, (int)head->queue->name.len, (const char *)head->queue->name.at,
             id_text(head->id, id), why, a->more->waiting.count);
}

/* Its step waits aside, since nobody offers it. */
static bool explain_no_step(struct jobs *jobs, const struct operation *op, const struct actor *a,
                            struct explanation *e)
{
    char why[EXPLAIN_TEXT_MAX];
    struct job *step = a->more ? a->more->step : NULL;
    if (!step || step->reason != JOB_WHY_NO_EXECUTOR)
        return false;
    e->reason = job_reason_name(explain_job(jobs, op, step, why, sizeof why));
    snprintf(e->text, sizeof e->text, "%.*s runs its messages, and is not stepped: %s",
             (int)a->name_len, (const char *)a->name, why);
    return true;
}

static void explain_sleep(const struct actor *a, struct explanation *e)
{
    ao_time next = actor_next(a);
    e->reason = "sleep";
    snprintf(e->text, sizeof e->text, "%.*s sleeps %s", (int)a->name_len, (const char *)a->name,
             next == 0 && reminders_due(a) > 0
                 ? "until its next reminder is due, or a message comes"
             : next == 0        ? "until a message comes"
             : next == AO_NEVER ? "until a message comes, or actor.wake"
                                : "until its next step is due, or a message comes, or actor.wake");
}

static void explain(struct jobs *jobs, const struct operation *op, const struct actor *a,
                    struct explanation *e)
{
    const struct actor_more *more = a->more;
    if (more && more->stopped) {
        e->reason = "stopped";
        snprintf(e->text, sizeof e->text,
                 "%.*s is stopped: %.*s; %" PRIu32 " messages wait.  To go on: actor.start",
                 (int)a->name_len, (const char *)a->name,
                 (int)utf8_cut(span_text(more->stopped), 100).len, more->stopped, actor_waiting(a));
    } else if (more && more->head) {
        explain_head(jobs, op, a, e);
    } else if (more && more->out > 0) {
        e->reason = job_reason_name(JOB_WHY_OVERRUN);
        snprintf(e->text, sizeof e->text,
                 "%.*s is active: an attempt that was given up has not returned", (int)a->name_len,
                 (const char *)a->name);
    } else if (!explain_no_step(jobs, op, a, e)) {
        explain_sleep(a, e);
    }
}

static void explain_failures(const struct actor *a, struct explanation *e)
{
    size_t len = strlen(e->text);
    uint32_t count = failures_count(a);
    if (count > 0)
        snprintf(e->text + len, sizeof e->text - len,
                 "; %" PRIu32 " of its messages failed since it was started", count);
}

static void serve_explain(struct jobs *jobs, struct operation *op)
{
    struct explanation e;
    struct actor *a = find(jobs, op);
    struct pack *p = &op->reply.result;
    if (!a)
        return;
    pack_init(p);
    pack_map(p, ACTOR_VIEW_PAIRS + 2);
    pack(jobs, p, a);
    explain(jobs, op, a, &e);
    explain_failures(a, &e);
    pack_key_str(p, "reason", e.reason);
    pack_key_str(p, "text", e.text);
    operation_finish(op);
}

/* --- actor.start, stop, wake, drop --- */

static void pack_stage(struct operation *op, enum actor_stage stage)
{
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 1);
    pack_key_str(&op->reply.result, "stage", actor_stage_names[stage]);
}

static void answer_stage(struct operation *op, enum actor_stage stage)
{
    pack_stage(op, stage);
    operation_finish(op);
}

/* Its row has to be written first; also of one whose type ceased to be durable a moment ago. */
static bool is_written(const struct actor *a)
{
    return actor_is_durable(a) || (a->more && (a->more->turn || a->more->act));
}

static void started(struct actor *a, struct operation *op)
{
    a->jobs++; /* without a state and a message it goes, but not before the answer */
    if (op->actor.reset)
        actor_set_state(a, NULL, 0);
    actor_start(a);
    answer_stage(op, actor_stage(a));
    a->jobs--;
    actor_settle(a);
}

static void serve_start(struct jobs *jobs, struct operation *op)
{
    struct actor *a = find(jobs, op);
    if (!a)
        return;
    bool changes = op->actor.reset || (a->more && a->more->stopped);
    if (!is_written(a) || !changes)
        started(a, op);
    else if (commits_may_act(a, op))
        commits_act(a, &(struct actor_act){
                           .op = op, .done = started, .starts = true, .resets = op->actor.reset});
}

static void stopped(struct actor *a, struct operation *op)
{
    answer_stage(op, actor_stage(a));
}

static void stop_durable(struct actor *a, struct operation *op, struct span reason)
{
    if (!commits_may_act(a, op))
        return;
    char *copy = span_strdup(reason);
    if (copy)
        commits_act(a, &(struct actor_act){.op = op, .done = stopped, .stopped = copy});
    else
        operation_refuse_plain(op, ERGON_E_MEMORY);
}

static void serve_stop(struct jobs *jobs, struct operation *op)
{
    struct span reason = op->actor.reason;
    struct actor *a = find(jobs, op);
    if (!a)
        return;
    if (reason.len == 0)
        reason = span_text("by actor.stop");
    if (is_written(a))
        stop_durable(a, op, reason);
    else if (actor_stop(a, reason))
        answer_stage(op, ACTOR_STOPPED);
    else
        operation_refuse_plain(op, ERGON_E_MEMORY);
}

static void serve_wake(struct jobs *jobs, struct operation *op)
{
    struct actor *a = find(jobs, op);
    if (!a)
        return;
    actor_wake(a);
    answer_stage(op, actor_stage(a));
}

static void dropped(struct actor *a, struct operation *op)
{
    bool durable = actor_is_durable(a);
    struct jobs *jobs = a->type->actors->jobs;
    commits_drop(a);
    actor_drop(a); /* it may be gone */
    pack_stage(op, ACTOR_SLEEPING);
    if (durable)
        sync_answer(jobs, op); /* its messages have rows, too */
    else
        operation_finish(op);
}

static void serve_drop(struct jobs *jobs, struct operation *op)
{
    struct actor *a = find(jobs, op);
    if (!a)
        return;
    if (!is_written(a))
        dropped(a, op);
    else if (commits_may_act(a, op))
        commits_act(a, &(struct actor_act){.op = op, .done = dropped, .removes = true});
}

/* --- actor.watch --- */

/* In memory, also one that is not there.  NULL: the operation waits, or was answered. */
static struct actor *find_watched(struct jobs *jobs, struct operation *op)
{
    const struct actor_arguments *args = &op->actor;
    struct span tenant = args->tenant.len > 0 ? args->tenant : op->tenant;
    struct refusal why = {.text = ""};
    struct actor_type *type = actor_type_find(jobs->actors, actor_type_of_name(args->name));
    jobs_worked(jobs, SERVE_WORK);
    if (!type ||
        !operation_may_object(op, &(struct rights_object){.tenant = tenant, .key = args->name})) {
        operation_refuse(op, ERGON_E_NOT_FOUND, "there are no actors of this type");
        return NULL;
    }
    if (loads_await(jobs->actors, tenant, args->name, op))
        return NULL;
    struct tenant *t = table_tenant(&jobs->table, tenant);
    struct actor *a = actor_find(jobs->actors, tenant, args->name);
    a = t ? actor_get(a, type, t, args->name, true, &why) : NULL;
    if (a && actor_more(a))
        return a;
    operation_refuse(op, why.error ? why.error : ERGON_E_MEMORY, "%s",
                     why.error ? why.text : error_meaning(ERGON_E_MEMORY));
    return NULL;
}

static void answer_watch(struct operation *op, const struct actor *a)
{
    struct pack *p = &op->reply.result;
    bool in_time = watchers_is_due(a, &op->actor.waits) || !op->waiting.over;
    pack_init(p);
    pack_map(p, in_time ? 4 : 3);
    pack_key_uint(p, "version", a->version);
    pack_key_str(p, "stage", actor_stage_names[actor_stage(a)]);
    if (in_time)
        pack_state(p, op, a);
    else
        pack_key_bool(p, "timeout", true);
}

static void leave_watched(struct operation *op)
{
    struct actor *a = op->actor.at;
    watchers_leave(a, &op->actor.waits);
    waiters_leave(op);
    actor_settle(a);
}

/* There is a version, or the time is over. */
static void finish_watch(struct jobs *jobs, struct operation *op)
{
    (void)jobs;
    answer_watch(op, op->actor.at);
    leave_watched(op);
    operation_finish(op);
}

static void drop_watch(struct jobs *jobs, struct operation *op)
{
    (void)jobs;
    leave_watched(op);
    operation_refuse_plain(op, ERGON_E_CANCELLED);
}

static void serve_watch(struct jobs *jobs, struct operation *op)
{
    struct actor *a = find_watched(jobs, op);
    uint64_t *from = &op->actor.waits.from;
    if (!a)
        return;
    *from = *from == 0 ? a->version + 1 : *from;
    op->actor.at = a;
    watchers_join(a, &op->actor.waits);
    op->waiting.held = true;
    if (!watchers_is_due(a, &op->actor.waits))
        op->waiting.over = !waiters_poll(jobs, op, op->actor.timeout);
    if (op->waiting.over || watchers_is_due(a, &op->actor.waits))
        finish_watch(jobs, op);
    else
        actor_settle(a);
}

/* Those that are due are answered, now or in a later step. */
static void tell_watchers_of(struct jobs *jobs, const struct actor *a)
{
    struct actor_watcher *next;
    for (struct actor_watcher *w = a->more->watchers; w; w = next) {
        next = w->next; /* the extras stay until the last has left */
        jobs_worked(jobs, WATCHER_WORK);
        if (watchers_is_due(a, w))
            waiters_due(jobs, ao_of(w, struct operation, actor.waits));
    }
}

/* True: nothing is left. */
static bool tell_watchers(struct jobs *jobs)
{
    struct actor *a = NULL;
    while (jobs_have_time(jobs) && (a = actors_next_news(jobs->actors))) {
        a->jobs++; /* it stays meanwhile */
        tell_watchers_of(jobs, a);
        a->jobs--;
        actor_settle(a);
    }
    return !jobs->actors->news;
}

static void finish_watches(struct jobs *jobs, struct actor *a)
{
    a->jobs++;
    while (a->more && a->more->watchers) {
        struct operation *op = ao_of(a->more->watchers, struct operation, actor.waits);
        op->waiting.over = true;
        finish_watch(jobs, op);
    }
    a->jobs--;
}

/* Actors that were there for their watchers alone stay: they go with all others. */
static void finish_all_watches(struct jobs *jobs)
{
    const struct hash_table *all = &jobs->actors->by_name;
    for (uint32_t at = 0; at < all->size; at++)
        for (struct hash_link *link = all->buckets[at]; link; link = link->next)
            finish_watches(jobs, (struct actor *)link);
}

static bool serve_list(struct jobs *jobs, struct operation *op)
{
    return listing_serve(jobs->actors, op);
}

/* --- actor.types --- */

static bool has_hosts(const struct actor_type *type)
{
    const struct method *m = type->some ? type->some : type->step;
    struct job_queue *q = m ? table_queue_find(jobs_table(type->actors->jobs), m->name) : NULL;
    return q ? queue_is_served(q) : m && m->handler;
}

static uint32_t mailbox_of(const struct jobs *jobs, const struct actor_type *type)
{
    uint32_t most = jobs_options(jobs)->settings.limits.actors.messages;
    return most < type->policy.messages ? most : type->policy.messages;
}

static void serve_types(struct jobs *jobs, struct operation *op)
{
    struct pack *p = &op->reply.result;
    const struct actors *actors = jobs->actors;
    pack_init(p);
    pack_array(p, actors->type_count);
    for (uint32_t i = 0; i < actors->type_count; i++) {
        const struct actor_type *type = actors->types[i];
        jobs_worked(jobs, VIEW_WORK);
        pack_map(p, 16);
        pack_key_span(p, "type", type->name);
        pack_key_str(p, "durable", job_durable_names[type->policy.durable]);
        pack_key_uint(p, "schema", type->policy.schema);
        pack_key_bool(p, "steps", type->step != NULL);
        pack_key_bool(p, "pipeline", type->policy.pipeline);
        pack_key_uint(p, "actors", counter_read(&type->count));
        pack_key_uint(p, "active", counter_read(&type->active));
        pack_key_uint(p, "stopped", counter_read(&type->stopped));
        pack_key_uint(p, "failed", counter_read(&type->failed));
        pack_key_uint(p, "messages", counter_read(&type->messages));
        pack_key_uint(p, "mailbox", mailbox_of(jobs, type));
        pack_key_bool(p, "hosts", has_hosts(type));
        pack_key_str(p, "on_failure", actor_on_failure_name(type->policy.on_failure));
        pack_key_uint(p, "intensity", type->policy.intensity);
        pack_key_uint(p, "window", type->policy.window / AO_MS(1));
        pack_key_str(p, "supervisor", type->policy.supervisor[0] ? type->policy.supervisor : NULL);
    }
    operation_finish(op);
}

#define ON_ONE(id, function)                                                                       \
    const struct operation_class operation_##id = {.method = method_##id, .serve = (function)};
ON_ONE(actor_explain, serve_explain)
ON_ONE(actor_start, serve_start)
ON_ONE(actor_stop, serve_stop)
ON_ONE(actor_wake, serve_wake)
ON_ONE(actor_drop, serve_drop)
ON_ONE(actor_types, serve_types)
const struct operation_class operation_actor_get = {
    .method = method_actor_get, .shows_contents = true, .serve = serve_get};
const struct operation_class operation_actor_watch = {.method = method_actor_watch,
                                                      .shows_contents = true,
                                                      .serve = serve_watch,
                                                      .dropped = drop_watch,
                                                      .due = finish_watch};
const struct operation_class operation_actor_list = {
    .method = method_actor_list, .serve_part = serve_list, .fini = listing_fini};

/* --- The subsystem --- */

static bool init(struct jobs *jobs, char *error, size_t size)
{
    struct actors *actors = jobs->actors = calloc(1, sizeof *actors);
    if (!actors)
        return false;
    actors->jobs = jobs;
    hash_table_init(&actors->by_name);
    cells_init(&actors->cells);
    slab_init(&actors->mores, sizeof(struct actor_more), SLAB_KEPT);
    hash_table_init(&actors->failures);
    hash_table_init(&actors->reminders);
    counts_init(actors);
    messages_hook(actors);
    return actor_types_init(actors, error, size);
}

/* The jobs that name actors are freed later, so these forget them; see messages.c. */
static void fini(struct jobs *jobs)
{
    struct actors *actors = jobs->actors;
    if (!actors)
        return;
    messages_end(actors);
    for (struct hash_link *link; (link = hash_pop(&actors->by_name));) {
        struct actor *a = (struct actor *)link;
        if (a->more) {
            commits_fini(a->more);
            free(a->more->stopped);
            actor_give_more(a);
        }
        a->jobs = 0;
        actor_forget(a);
    }
    hash_table_fini(&actors->by_name);
    slab_fini(&actors->mores);
    cells_fini(&actors->cells);
    failures_fini(actors);
    hash_table_fini(&actors->reminders); /* the jobs have them */
    counts_fini(actors);
    supervision_fini(actors);
    actor_types_fini(actors);
    free(actors);
    jobs->actors = NULL;
}

static bool step(struct jobs *jobs)
{
    commits_look(jobs->actors);
    task_sends_look(jobs->actors);
    bool sent = supervision_send(jobs->actors), trimmed = actors_trim(jobs->actors);
    bool told = tell_watchers(jobs);
    return steps_submit(jobs->actors) && sent && trimmed && told;
}

static bool save(struct jobs *jobs)
{
    bool types = actor_types_save(jobs->actors);
    return loads_try_again(jobs->actors) || types;
}

static void dismiss(struct jobs *jobs)
{
    if (!jobs->actors)
        return;
    loads_dismiss(jobs->actors);
    finish_all_watches(jobs);
}

static void start(struct jobs *jobs)
{
    actor_types_start(jobs->actors);
    counts_start(jobs->actors);
    actor_types_save(jobs->actors);
    leftovers_remove_all(jobs->actors);
}

static bool recover(struct jobs *jobs, const void *row, const char **fault)
{
    return actor_types_recover(jobs->actors, row, fault);
}

static const struct subsystem_rows rows[] = {{&store_actor_types, recover}};

static void show(const struct jobs *jobs, struct jobs_info *out)
{
    const struct actors_shown *s = &jobs->actors->shown;
    const struct actor_type *type =
        atomic_load_explicit(&jobs->actors->shown_types, memory_order_acquire);
    struct jobs_actors *shown = &out->actors;
    *shown = (struct jobs_actors){.resident = counter_read(&s->resident),
                                  .bytes = counter_read(&s->bytes),
                                  .done = counter_read(&s->done),
                                  .bad = counter_read(&s->bad),
                                  .failed = counter_read(&s->failed),
                                  .loads = counter_read(&s->loads),
                                  .unread = counter_read(&s->unread),
                                  .passivated = counter_read(&s->passivated),
                                  .deadlocks = counter_read(&s->deadlocks),
                                  .last_deadlock = counter_read(&s->last_deadlock)};
    for (; type; type = type->shown_next)
        shown->messages += counter_read(&type->messages);
}

const struct actor_type *jobs_actor_type_info(const struct jobs *jobs,
                                              const struct actor_type *before,
                                              struct jobs_actor_type_info *out)
{
    const struct actor_type *type =
        before ? before->shown_next
               : atomic_load_explicit(&jobs->actors->shown_types, memory_order_acquire);
    if (!type)
        return NULL;
    uint64_t all = counter_read(&type->count), active = counter_read(&type->active),
             stopped = counter_read(&type->stopped), others = active + stopped;
    *out = (struct jobs_actor_type_info){
        .active = active, .stopped = stopped, .sleeping = all > others ? all - others : 0};
    snprintf(out->name, sizeof out->name, "%.*s", (int)type->name.len, (const char *)type->name.at);
    return type;
}

#define AT(member) FIGURE_AT(struct jobs_info, member)

/* clang-format off */
static const struct figure figures[] = {
    {"actors", AT(actors.resident), "resident",
     "ergon_actors_resident", false, NULL, "Actors in memory."},
    {"actors", AT(actors.bytes), "bytes",
     "ergon_actors_bytes", false, "bytes", "Memory that they take, without their messages."},
    {"actors", AT(limits.actors.bytes), "bytes_limit",
     "ergon_actors_limit_bytes", false, "bytes", "The most that they may take."},
    {"actors", AT(actors.messages), "messages",
     "ergon_actors_messages", false, NULL, "Messages in mailboxes, with those that run."},
    {"actors", AT(actors.loads), "loads",
     "ergon_actors_loads", true, NULL, "States that were read from the store."},
    {"actors", AT(actors.unread), "unread",
     "ergon_actors_unread", true, NULL, "Of these, those that could not be read."},
    {"actors", AT(actors.passivated), "passivated",
     "ergon_actors_passivated", true, NULL, "Idle actors that left memory for others."},
    {"actors", AT(actors.deadlocks), "deadlocks",
     "ergon_actors_deadlocks", true, NULL, "Calls between actors that closed a cycle."},
    {"actors", AT(actors.last_deadlock), "last_deadlock", NULL, false, NULL, NULL},
};
/* clang-format on */

const struct subsystem subsystem_actors = {.init = init,
                                           .fini = fini,
                                           .rows = rows,
                                           .row_tables = sizeof rows / sizeof *rows,
                                           .start = start,
                                           .step = step,
                                           .save = save,
                                           .stop = finish_all_watches,
                                           .dismiss = dismiss,
                                           .show = show,
                                           .figures = figures,
                                           .figure_count = sizeof figures / sizeof *figures};
