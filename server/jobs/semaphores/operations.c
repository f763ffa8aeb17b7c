#include "server/jobs/semaphores/operations.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/sched/hold_claims.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/sched/wait_position.h"
#include "server/jobs/semaphores/holds.h"
#include "server/jobs/semaphores/rows.h"
#include "server/jobs/verbs/view.h"

enum { SERVE_WORK = 20 /* see jobs_worked() */ };

/* --- Whose it is --- */

static struct span tenant_of(const struct operation *op)
{
    return op->semaphore.tenant.len > 0 ? op->semaphore.tenant : op->tenant;
}

/* False: the operation was answered DENIED. */
static bool admit(struct operation *op)
{
    const struct semaphore_arguments *a = &op->semaphore;
    if (operation_may_object(op, &(struct rights_object){.tenant = tenant_of(op), .key = a->name}))
        return true;
    operation_refuse(op, ERGON_E_DENIED,
                     "to use the semaphore, a role's `keys` have to name \"%.*s\"",
                     (int)a->name.len, (const char *)a->name.at);
    return false;
}

static struct span principal_of(const struct operation *op)
{
    return op->rights ? span_text(rights_owner(op->rights).name) : span_text("");
}

/* What is held under the secret; NULL: the operation was answered DENIED or FENCED. */
static struct hold *find_held(struct jobs *jobs, struct operation *op)
{
    const struct semaphore_arguments *a = &op->semaphore;
    if (!admit(op))
        return NULL;
    struct hold *h = hold_find(jobs, op->tenant, a->name, a->secret);
    if (!h)
        operation_refuse(op, ERGON_E_FENCED,
                         "it is not held any more: it was released, or taken back");
    return h;
}

/* --- The connection --- */

/* It stays with the jobs until its connection is gone, and is not answered. */
static void serve_holder(struct jobs *jobs, struct operation *op)
{
    if (jobs->sched.stopping) {
        operation_finish(op);
        return;
    }
    op->waiting.held = true;
    holder_enter(jobs, &op->holder);
}

static void holder_gone(struct jobs *jobs, struct operation *op)
{
    holder_leave(jobs, &op->holder);
    op->waiting.held = false;
    operation_finish(op);
}

/* --- sem.acquire --- */

static void answer_hold(struct jobs *jobs, struct operation *op, const struct hold *h)
{
    char text[2 * HOLD_SECRET + 1] = "";
    struct pack *p = &op->reply.result;
    hex_write(h->secret, HOLD_SECRET, text);
    pack_init(p);
    pack_map(p, 4);
    pack_key_str(p, "hold", text);
    pack_key_uint(p, "fence", h->fence);
    pack_key_uint(p, "permits", h->claim.want);
    pack_key_uint(p, "waited_ms", (table_now(&jobs->table) - h->asked) / AO_MS(1));
    operation_finish(op);
}

static void give_up(struct jobs *jobs, struct operation *op)
{
    struct hold *h = op->semaphore.waits;
    waiters_leave(op);
    op->semaphore.waits = NULL;
    h->op = NULL;
    hold_end(jobs, h);
}

static void refuse_late(struct operation *op)
{
    operation_refuse(op, ERGON_E_DEADLINE, "\"%.*s\" had not so many permits free within `wait`",
                     (int)op->semaphore.name.len, (const char *)op->semaphore.name.at);
}

/* What is made is durable if there is a store, unless it is said.  False: answered STORE. */
static bool wants_durable(struct jobs *jobs, struct operation *op, bool *durable)
{
    uint8_t said = op->semaphore.durable;
    *durable = said == SEMAPHORE_DURABLE || (said == SEMAPHORE_UNSAID && jobs->store);
    if (!*durable || jobs_take_level(jobs, DURABLE_FSYNC))
        return true;
    operation_refuse(op, ERGON_E_STORE, "%s", jobs_level_trouble(jobs, DURABLE_FSYNC));
    return false;
}

/* The semaphore, of which there may be asked so many; NULL: answered. */
static struct semaphore *find_or_make(struct jobs *jobs, struct operation *op)
{
    const struct semaphore_arguments *a = &op->semaphore;
    struct refusal why;
    if (jobs->sched.refuses) {
        operation_refuse(op, ERGON_E_STORE, "%s", scheduler_no_numbers);
        return NULL;
    }
    bool durable = false, is_new = !semaphore_find(jobs, op->tenant, a->name);
    if (is_new && !wants_durable(jobs, op, &durable))
        return NULL;
    struct semaphore *s = semaphore_make(jobs, op->tenant, a->name, a->of, &why);
    if (!s) {
        operation_refuse(op, why.error, "%s", why.text);
        return NULL;
    }
    uint32_t max = semaphore_limit(s)->max;
    if (is_new)
        semaphore_set_durable(s, durable);
    if (a->permits <= max)
        return s;
    semaphore_settle(jobs, s);
    operation_refuse(op, ERGON_E_BAD_PARAMS, "there are %" PRIu32 " permits, and not %" PRIu32, max,
                     a->permits);
    return NULL;
}

static struct hold *ask(struct jobs *jobs, struct operation *op, struct holder *holder)
{
    const struct semaphore_arguments *a = &op->semaphore;
    struct semaphore *s = find_or_make(jobs, op);
    struct refusal why;
    if (!s)
        return NULL;
    const struct hold_wish wish = {.secret = a->secret,
                                   .permits = a->permits,
                                   .ttl = a->ttl > 0 ? a->ttl : AO_NEVER,
                                   .grace = a->grace,
                                   .who = principal_of(op),
                                   .holder = holder,
                                   .op = op};
    struct hold *h = hold_ask(jobs, s, &wish, &why);
    if (h)
        return h;
    semaphore_settle(jobs, s);
    operation_refuse(op, why.error, "%s", why.text);
    return NULL;
}

static void serve_acquire(struct jobs *jobs, struct operation *op)
{
    struct semaphore_arguments *a = &op->semaphore;
    struct holder *holder = holder_find(jobs, a->conn);
    jobs_worked(jobs, SERVE_WORK);
    if (!admit(op))
        return;
    if (!holder) { /* its connection is gone, or the server stops */
        operation_refuse_plain(op, jobs->sched.stopping ? ERGON_E_DRAINING : ERGON_E_CANCELLED);
        return;
    }
    a->waits = ask(jobs, op, holder);
    if (!a->waits)
        return;
    op->waiting.held = true;
    if (a->waits->claim.stands == STANDS_CALLED || waiters_poll(jobs, op, a->wait))
        return;
    give_up(jobs, op);
    refuse_late(op);
}

/* The operation waits on, for the row. */
static void saved(struct jobs *jobs, struct store_op *write)
{
    struct hold *h = write->owner;
    enum store_error error = write->error;
    struct operation *op = h->op;
    journal_notice(jobs, write);
    if (!hold_rows_returned(jobs, h, write) || !op)
        return;
    h->op = NULL;
    op->semaphore.waits = NULL;
    op->waiting.held = false;
    if (error == STORE_OK) {
        hold_saved(jobs, h);
        answer_hold(jobs, op, h);
        return;
    }
    h->durable = error == STORE_UNSURE; /* else it has no row */
    hold_end(jobs, h);
    sync_refuse(op, error);
}

static void begin(struct jobs *jobs, struct hold *h)
{
    struct operation *op = h->op;
    hold_begin(jobs, h);
    waiters_leave(op);
    if (h->durable && hold_rows_put(jobs, h, saved)) {
        op->waiting.held = true;
        return;
    }
    h->op = NULL;
    op->semaphore.waits = NULL;
    if (h->durable) {
        h->durable = false; /* it has no row */
        hold_end(jobs, h);
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return;
    }
    answer_hold(jobs, op, h);
}

void semaphores_settle(struct jobs *jobs)
{
    struct claim *c;
    while (jobs_may_act(jobs) && (c = hold_claim_next_called(&jobs->sched)))
        begin(jobs, ao_of(c, struct hold, claim));
}

/* A hold that was called has its permits, and its operation is answered next; but not in a cluster
 * while this node may not act. */
static void too_late(struct jobs *jobs, struct operation *op)
{
    if (op->semaphore.waits->claim.stands != STANDS_IN_LINE && jobs_may_act(jobs))
        return;
    give_up(jobs, op);
    refuse_late(op);
}

static void acquire_dropped(struct jobs *jobs, struct operation *op)
{
    give_up(jobs, op);
    operation_refuse_plain(op, ERGON_E_CANCELLED);
}

/* Nobody learns of what it has. */
static void answer_dropped(struct jobs *jobs, struct operation *op)
{
    const struct semaphore_arguments *a = &op->semaphore;
    struct hold *h = hold_find(jobs, op->tenant, a->name, a->secret);
    if (h)
        hold_end(jobs, h);
}

/* --- sem.release, renew, resume --- */

/* The answer waits until the change is on disk, if its write was `pushed`.  A change that could not
 * be written is in effect, and a restart forgets it, unless it is written before that. */
static void answer_when_saved(struct jobs *jobs, struct operation *op, bool durable, bool pushed)
{
    if (!pushed)
        operation_refuse(op, ERGON_E_MEMORY,
                         "it is done, but the server has no memory now to write it down: a restart "
                         "may forget it");
    else if (durable)
        sync_answer(jobs, op);
    else
        operation_finish(op);
}

static void answer_true(struct operation *op)
{
    pack_init(&op->reply.result);
    pack_bool(&op->reply.result, true);
}

static void serve_release(struct jobs *jobs, struct operation *op)
{
    struct hold *h = find_held(jobs, op);
    jobs_worked(jobs, SERVE_WORK);
    if (!h)
        return;
    bool durable = h->durable, pushed = hold_end(jobs, h);
    answer_true(op);
    answer_when_saved(jobs, op, durable, pushed);
}

static void answer_fence(struct operation *op, const struct hold *h)
{
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 1);
    pack_key_uint(&op->reply.result, "fence", h->fence);
}

/* A time to live that began anew does so in the file, too. */
static void renew(struct jobs *jobs, struct operation *op, struct hold *h, ao_time ttl)
{
    bool changes = ttl != AO_NEVER || h->ttl != AO_NEVER;
    hold_renew(jobs, h, ttl);
    answer_fence(op, h);
    bool saves = h->durable && changes;
    answer_when_saved(jobs, op, saves, !saves || hold_rows_save(jobs, h));
}

/* To the connection of the operation, if that is of the same principal; false: it was answered. */
static bool bind_here(struct jobs *jobs, struct operation *op, struct hold *h)
{
    struct holder *holder = holder_find(jobs, op->semaphore.conn);
    if (!holder) {
        operation_refuse_plain(op, jobs->sched.stopping ? ERGON_E_DRAINING : ERGON_E_CANCELLED);
        return false;
    }
    if (!span_equal(h->who, principal_of(op))) {
        operation_refuse(op, ERGON_E_FENCED, "another principal holds it");
        return false;
    }
    hold_bind(jobs, h, holder);
    return true;
}

/* A client whose hold was renewed counts on it: a grace that runs must not take it back then. */
static void serve_renew(struct jobs *jobs, struct operation *op)
{
    struct hold *h = find_held(jobs, op);
    jobs_worked(jobs, SERVE_WORK);
    if (!h || (!h->holder && !bind_here(jobs, op, h)))
        return;
    renew(jobs, op, h, op->semaphore.ttl > 0 ? op->semaphore.ttl : h->ttl);
}

static void serve_resume(struct jobs *jobs, struct operation *op)
{
    struct hold *h = find_held(jobs, op);
    jobs_worked(jobs, SERVE_WORK);
    if (!h || !bind_here(jobs, op, h))
        return;
    if (op->semaphore.ttl > 0) {
        renew(jobs, op, h, op->semaphore.ttl);
        return;
    }
    answer_fence(op, h);
    operation_finish(op);
}

/* --- sem.revoke --- */

/* The client that held it learns of this when it next shows the secret: FENCED.  What it does with
 * the permits meanwhile only the fence keeps off. */
static void serve_revoke(struct jobs *jobs, struct operation *op)
{
    const struct semaphore_arguments *a = &op->semaphore;
    struct pack *p = &op->reply.result;
    jobs_worked(jobs, SERVE_WORK);
    struct hold *h =
        operation_may_object(op, &(struct rights_object){.tenant = tenant_of(op), .key = a->name})
            ? hold_find_fence(jobs, tenant_of(op), a->name, a->fence)
            : NULL;
    if (!h) {
        operation_refuse(op, ERGON_E_FENCED, "no client holds permits of \"%.*s\" with this fence",
                         (int)a->name.len, (const char *)a->name.at);
        return;
    }
    bool durable = h->durable;
    pack_init(p);
    pack_map(p, 4);
    pack_key_span(p, "principal", h->who);
    pack_key_uint(p, "permits", h->claim.want);
    pack_key_uint(p, "fence", h->fence);
    pack_key_bool(p, "connected", h->holder != NULL);
    bool pushed = hold_end(jobs, h);
    answer_when_saved(jobs, op, durable, pushed);
}

/* --- sem.create, delete --- */

/* Its row says that it stays, and its number of permits. */
static void serve_create(struct jobs *jobs, struct operation *op)
{
    const struct semaphore_arguments *a = &op->semaphore;
    bool durable;
    jobs_worked(jobs, SERVE_WORK);
    struct semaphore *s =
        admit(op) && wants_durable(jobs, op, &durable) ? find_or_make(jobs, op) : NULL;
    if (!s)
        return;
    bool had_row = s->row > 0;
    semaphore_limit(s)->kept = true;
    hold_claim_set_max(&jobs->sched, semaphore_limit(s), a->of);
    semaphore_set_durable(s, durable);
    bool pushed = semaphore_rows_save(jobs, s);
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 2);
    pack_key_span(&op->reply.result, "name", a->name);
    pack_key_uint(&op->reply.result, "permits", a->of);
    answer_when_saved(jobs, op, durable || had_row, pushed);
}

/* One whose row could not be removed is there until it is, and is deleted anew. */
static void serve_delete(struct jobs *jobs, struct operation *op)
{
    jobs_worked(jobs, SERVE_WORK);
    if (!admit(op))
        return;
    struct semaphore *s = semaphore_find(jobs, op->tenant, op->semaphore.name);
    bool had_row = s && s->row > 0, was = had_row || (s && semaphore_limit(s)->kept), pushed = true;
    if (was) {
        semaphore_limit(s)->kept = false;
        pushed = semaphore_rows_save(jobs, s);
        semaphore_settle(jobs, s);
    }
    pack_init(&op->reply.result);
    pack_bool(&op->reply.result, was);
    answer_when_saved(jobs, op, had_row, pushed);
}

/* --- The end --- */

static void refuse_all(struct jobs *jobs, struct semaphore *s)
{
    struct hold *next;
    bool kept = semaphore_limit(s)->kept;
    semaphore_limit(s)->kept = true; /* it stays until all of this is done */
    for (struct hold *h = s->waiting; h; h = next) {
        struct operation *op = h->op;
        next = h->next;
        give_up(jobs, op);
        operation_refuse_plain(op, ERGON_E_DRAINING);
    }
    semaphore_limit(s)->kept = kept;
    semaphore_settle(jobs, s);
}

void semaphores_stop(struct jobs *jobs)
{
    struct semaphore_walk walk;
    struct semaphore *s;
    struct hash_link *link;
    if (!jobs->semaphores)
        return;
    semaphores_settle(jobs);
    semaphore_walk_begin(jobs, &walk);
    while ((s = semaphore_walk_next(&walk)))
        refuse_all(jobs, s);
    semaphore_walk_end(jobs, &walk);
    while ((link = hash_pop(&jobs->semaphores->holders)))
        holder_gone(jobs, ao_of(link, struct operation, holder.by_conn));
}

static void dismiss(struct semaphore *s)
{
    for (struct hold *h = s->first; h; h = h->next) {
        struct operation *op = h->op;
        h->op = NULL;
        if (!op)
            continue;
        op->waiting.held = false;
        operation_refuse_plain(op, ERGON_E_DRAINING);
    }
}

void semaphores_dismiss(struct jobs *jobs)
{
    semaphores_stop(jobs);
    for (struct semaphore *s = jobs->semaphores ? jobs->semaphores->first : NULL; s; s = s->next)
        dismiss(s);
}

const struct operation_class operation_sem_holder = {.method = method_sem_acquire,
                                                     .is_everywhere = true,
                                                     .serve = serve_holder,
                                                     .dropped = holder_gone};
const struct operation_class operation_sem_acquire = {.method = method_sem_acquire,
                                                      .serve = serve_acquire,
                                                      .dropped = acquire_dropped,
                                                      .answer_dropped = answer_dropped,
                                                      .due = too_late};
const struct operation_class operation_sem_release = {.method = method_sem_release,
                                                      .serve = serve_release};
const struct operation_class operation_sem_revoke = {.method = method_sem_revoke,
                                                     .serve = serve_revoke};
const struct operation_class operation_sem_renew = {.method = method_sem_renew,
                                                    .serve = serve_renew};
const struct operation_class operation_sem_resume = {.method = method_sem_resume,
                                                     .serve = serve_resume};
const struct operation_class operation_sem_create = {.method = method_sem_create,
                                                     .serve = serve_create};
const struct operation_class operation_sem_delete = {.method = method_sem_delete,
                                                     .serve = serve_delete};

/* --- sem.list, sem.explain --- */

/* sem.list, sem.explain: semaphores, their holders, and the clients that wait, in order. */

enum {
    SHOW_WORK = 10, /* see jobs_worked() */
    SHOWN_MAX = 100 /* holders, and clients that wait */
};

static bool may_know(const struct operation *op, const struct semaphore *s)
{
    const struct limit_key *key = &semaphore_limit(s)->key;
    return operation_may_object(
        op, &(struct rights_object){.tenant = key->tenant->name, .key = key->name});
}

static uint32_t free_of(const struct limit *limit)
{
    return limit->max > limit->taken ? limit->max - limit->taken : 0;
}

/* Seven pairs. */
static void pack_figures(struct pack *p, const struct limit *limit)
{
    pack_key_span(p, "name", limit->key.name);
    pack_key_span(p, "tenant", limit->key.tenant->name);
    pack_key_uint(p, "permits", limit->max);
    pack_key_uint(p, "free", free_of(limit));
    pack_key_uint(p, "held", limit->semaphore ? limit->semaphore->held_count : 0);
    pack_key_uint(p, "waiting", limits_waiting(limit));
    pack_key_bool(p, "durable", limit->semaphore && limit->semaphore->durable);
}

/* --- sem.list --- */

static void begin_list(struct jobs *jobs, struct operation *op)
{
    op->begun = true;
    op->semaphores.count = 0;
    semaphore_walk_begin(jobs, &op->semaphores.walk);
    view_list_begin(&op->reply.result);
}

static void end_list(struct jobs *jobs, struct operation *op)
{
    semaphore_walk_end(jobs, &op->semaphores.walk);
    view_list_end(&op->reply.result, op->semaphores.count);
    operation_finish(op);
}

static bool serve_list(struct jobs *jobs, struct operation *op)
{
    struct semaphore *s = NULL;
    uint32_t begun = jobs->work;
    if (!op->begun)
        begin_list(jobs, op);
    while (jobs->work - begun < TURN_WORK && (s = semaphore_walk_next(&op->semaphores.walk))) {
        bool shown = may_know(op, s);
        jobs_worked(jobs, shown ? SHOW_WORK : 1);
        op->semaphores.count += shown;
        if (!shown)
            continue;
        pack_map(&op->reply.result, 7);
        pack_figures(&op->reply.result, semaphore_limit(s));
    }
    if (op->semaphores.walk.at)
        return false;
    end_list(jobs, op);
    return true;
}

/* --- sem.explain --- */

static void pack_left(struct pack *p, const char *key, ao_time when, ao_time now)
{
    if (when == AO_NEVER)
        pack_key_str(p, key, NULL);
    else
        pack_key_uint(p, key, when > now ? (when - now) / AO_MS(1) : 0);
}

static void pack_hold(const struct jobs *jobs, struct pack *p, const struct hold *h)
{
    ao_time now = table_now(&jobs->table);
    pack_map(p, 8);
    pack_key_str(p, "task", NULL);
    pack_key_span(p, "principal", h->who);
    pack_key_uint(p, "permits", h->claim.want);
    pack_key_uint(p, "fence", h->fence);
    view_ms(p, "since", h->since);
    pack_left(p, "ends_ms", h->ends, now);
    pack_key_bool(p, "connected", h->holder != NULL);
    pack_left(p, "grace_ms", h->lost_until, now);
}

/* Of a task that the client may not know, the answer says that there is one. */
static void pack_task(const struct operation *op, struct pack *p, const struct job *job)
{
    char id[ID_TEXT_SIZE];
    pack_map(p, 8);
    pack_key_str(p, "task", operation_may_know(op, job) ? id_text(job->id, id) : "");
    pack_key_str(p, "principal", NULL);
    pack_key_uint(p, "permits", job->more->claim.want);
    pack_key_str(p, "fence", NULL);
    view_ms(p, "since", job->started);
    pack_key_str(p, "ends_ms", NULL);
    pack_key_bool(p, "connected", true);
    pack_key_str(p, "grace_ms", NULL);
}

static void pack_holders(struct jobs *jobs, const struct operation *op, struct limit *limit,
                         struct pack *p)
{
    const struct job *tasks[SHOWN_MAX];
    uint32_t looks = LOOKS_MAX, count = limit_jobs(&jobs->sched, limit, tasks, SHOWN_MAX, &looks);
    uint32_t held = limit->semaphore ? limit->semaphore->held_count : 0;
    held = held < SHOWN_MAX ? held : SHOWN_MAX;
    jobs_worked(jobs, LOOKS_MAX - looks);
    pack_str(p, "holders");
    pack_array(p, count + held);
    for (uint32_t i = 0; i < count; i++)
        pack_task(op, p, tasks[i]);
    const struct hold *h = limit->semaphore ? limit->semaphore->first : NULL;
    for (; h && held > 0; h = h->next, held--)
        pack_hold(jobs, p, h);
}

static void pack_waiter(const struct jobs *jobs, const struct operation *op, struct pack *p,
                        const struct claim *c)
{
    char id[ID_TEXT_SIZE];
    const struct job *job = c->kind == CLAIM_OF_JOB ? claim_job(c) : NULL;
    pack_map(p, 4);
    if (job)
        pack_key_str(p, "task", operation_may_know(op, job) ? id_text(job->id, id) : "");
    else
        pack_key_str(p, "task", NULL);
    if (job)
        pack_key_str(p, "principal", NULL);
    else
        pack_key_span(p, "principal", ao_of((struct claim *)(uintptr_t)c, struct hold, claim)->who);
    pack_key_uint(p, "permits", c->want);
    pack_key_uint(p, "waited_ms", (table_now(&jobs->table) - c->arrived) / AO_MS(1));
}

static void pack_waiters(struct jobs *jobs, const struct operation *op, const struct limit *limit,
                         struct pack *p)
{
    const struct claim *first[SHOWN_MAX];
    uint32_t looks = LOOKS_MAX, count = limits_first(limit, first, SHOWN_MAX, &looks);
    jobs_worked(jobs, LOOKS_MAX - looks);
    pack_str(p, "waiters");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++)
        pack_waiter(jobs, op, p, first[i]);
}

/* One that only tasks have taken of has no semaphore, and is shown all the same. */
static struct limit *find(const struct jobs *jobs, const struct operation *op, struct span tenant)
{
    const struct semaphore_arguments *a = &op->semaphore;
    const struct tenant *t = table_tenant_find(&jobs->table, tenant);
    return t ? limit_find(jobs->sched.limits, t, a->name) : NULL;
}

static void serve_explain(struct jobs *jobs, struct operation *op)
{
    const struct semaphore_arguments *a = &op->semaphore;
    const struct rights_object whose = {.tenant = a->tenant.len > 0 ? a->tenant : op->tenant,
                                        .key = a->name};
    struct limit *limit = find(jobs, op, whose.tenant);
    struct pack *p = &op->reply.result;
    if (!limit || !operation_may_object(op, &whose)) {
        operation_refuse(op, ERGON_E_NOT_FOUND, "there is no semaphore of this name");
        return;
    }
    pack_init(p);
    pack_map(p, 9);
    pack_figures(p, limit);
    pack_holders(jobs, op, limit, p);
    pack_waiters(jobs, op, limit, p);
    operation_finish(op);
}

const struct operation_class operation_sem_list = {.method = method_sem_list,
                                                   .serve_part = serve_list};
const struct operation_class operation_sem_explain = {.method = method_sem_explain,
                                                      .serve = serve_explain};
