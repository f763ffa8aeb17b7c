/* The pools that workers serve, as classes of the manager's, and workers as the task system sees
 * them.
 *
 * A pool of workers is served in turn: it gives until its tasks or the room at its groups are used
 * up, or, while other pools want the same workers, one task.  Without room it gets in line at its
 * groups, and is not looked at until one of them calls it.
 *
 * A joined pool has two members: the pool of its handler's executors (`local`), and its workers.
 * Each task goes to the less occupied member.  It waits for both: for the executors by the
 * announcement of `local`, for workers in line.  In a cluster each handler has such a pool for its
 * attempts, which the workers are: other nodes. */
#include <stdlib.h>

#include "proto/errors.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/attempt.h"
#include "server/tasks/task_result.h"
#include "server/tasks/turn.h"
#include "server/tasks/worker_system.h"
#include "server/workers/worker_group.h"
#include "server/workers/worker_update.h"

/* ns; what passing an attempt to another node takes, and its result back. */
static const uint64_t hop_ns = AO_US(100);

static void give_to(struct manager *m, struct pool *p, struct executor *e, struct task *t,
                    int *budget)
{
    struct worker_executor *r = worker_executor_of(e);
    assert(r->member.group && !r->member.leaves);
    TRACE(m->activator, "manager", 0, "task %llu -> worker %u (has %u of %u)",
          (unsigned long long)t->number, e->index, r->member.load.outstanding,
          r->member.load.slots);
    worker_groups_note_given(m, p, r);
    r->member.attempts += task_is(t, TASK_ATTEMPT);
    manager_hand_over(e, t);
    *budget -= worker_groups_cost(p);
}

/* --- Workers alone --- */

/* The workers that offered the method have left, or are quiet.  Calls that were on their way here
 * meanwhile, and those that waited for room, are answered so.  Jobs wait in their own queue.
 * Processes of modules come back by themselves, and what is for them waits. */
static void answer_no_worker(struct manager *m, struct pool *p, int *budget)
{
    struct task *t;
    if (p->workers->method->of_processes)
        return;
    for (; *budget > 0 && (t = task_queue_pop(&p->queue)); --*budget) {
        task_fail(t, ERGON_E_NO_WORKER, NULL, span_text(error_meaning(ERGON_E_NO_WORKER)));
        manager_drop(m, t);
    }
}

static void look(struct manager *m, struct pool *p, bool cut, int *budget)
{
    (void)cut;
    *budget -= worker_groups_cost(p) - 1;
    if (!worker_groups_there(p))
        answer_no_worker(m, p, budget);
}

static uint32_t room(struct manager *m, struct pool *p)
{
    (void)m;
    return worker_groups_room(p);
}

static struct executor *choose(struct manager *m, struct pool *p, const struct task *t)
{
    (void)m;
    (void)t;
    struct worker_executor *r = worker_groups_choose(p, 0);
    return r ? &r->base : NULL;
}

/* A worker of an older release does not know the form of a state that a newer one has written.
 * While no other has room, it is asked all the same, and hands the message back. */
static struct executor *that_knows(const struct pool *p, struct executor *e, const struct task *t)
{
    const struct attempt_turn *turn = task_is(t, TASK_ATTEMPT) ? t->attempt->turn : NULL;
    if (!turn || turn->schema <= worker_executor_schema(worker_executor_of(e), t->method->name))
        return e;
    struct worker_executor *r = worker_groups_choose(p, turn->schema);
    return r ? &r->base : e;
}

static bool give(struct manager *m, struct pool *p, struct executor *e, struct task *t, int *budget)
{
    e = that_knows(p, e, t);
    bool wanted = !STAILQ_EMPTY(&m->in_turn) || worker_group_awaited(worker_executor_of(e));
    give_to(m, p, e, t, budget);
    return !wanted;
}

static bool pass_over(struct pool *p, const struct task *t)
{
    (void)p;
    (void)t;
    return false;
}

static bool waits(struct manager *m, struct pool *x, struct pool *p, bool full)
{
    (void)m;
    (void)x;
    return worker_groups_there(p) && (full || (p->source_has_work && worker_groups_room(p) == 0));
}

/* Calls that wait for processes that are to come back need no second look; others are answered. */
static bool has_calls(const struct pool *p)
{
    return p->queue.length > 0 && (worker_groups_there(p) || !p->workers->method->of_processes);
}

/* A pool that is full, or without workers, is not ready until a worker has room for it. */
static void looked(struct manager *m, struct pool *p)
{
    assert(!p->cut && !p->second_look);
    if (p->short_of_room)
        worker_groups_wait(p, false);
    else if (has_calls(p) || (p->source_has_work && worker_groups_there(p)))
        pool_mark_ready(p);
    worker_groups_call(m, p);
}

static const struct pool_class pool_of_workers = {.look = look,
                                                  .room = room,
                                                  .choose = choose,
                                                  .give = give,
                                                  .pass_over = pass_over,
                                                  .waits = waits,
                                                  .looked = looked};

static void serve_in_turn(struct manager *m, struct pool *p)
{
    p->group = m->shared->worker_loops;
    p->turn = &m->in_turn;
    p->waiting = NULL;
}

static bool method_made(void *manager, struct method *method)
{
    struct manager *m = manager;
    struct pool *p = worker_pool_new(m, &pool_of_workers, method, 0);
    atomic_init(&method->refuses, ERGON_E_NO_WORKER);
    method->pool = method->attempts_pool = p;
    if (!p)
        return false;
    serve_in_turn(m, p);
    return true;
}

/* --- Joined pools --- */

/* An attempt of a brief stepped handler would be over before another node had it. */
static bool may_leave(const struct pool *p)
{
    const struct method *method = p->workers->method;
    return !p->stepped || method->joined ||
           atomic_load_explicit(&method->wants_place, memory_order_relaxed) ||
           atomic_load_explicit(&method->service_ns, memory_order_relaxed) >= hop_ns;
}

static void joined_look(struct manager *m, struct pool *p, bool cut, int *budget)
{
    struct worker_pool *s = p->workers;
    s->was_called |= s->called;
    s->local->cls->look(m, s->local, cut, budget);
}

static uint32_t joined_room(struct manager *m, struct pool *p)
{
    struct pool *local = p->workers->local;
    uint64_t both = local->cls->room(m, local);
    if (may_leave(p))
        both += worker_groups_room(p);
    return both < UINT32_MAX ? (uint32_t)both : UINT32_MAX;
}

/* The worker that is to have the next task rather than `e`; NULL: none.  What other pools are in
 * line for is theirs, unless this pool was called from there. */
static struct worker_executor *rather_a_worker(const struct manager *m, const struct pool *p,
                                               const struct executor *e)
{
    const struct worker_pool *s = p->workers;
    struct worker_executor *r = p->in_line || !may_leave(p) ? NULL : worker_groups_choose(p, 0);
    if (!r || (!s->called && (!STAILQ_EMPTY(&m->in_turn) || worker_group_awaited(r))))
        return NULL;
    if (!e)
        return r;
    const struct snapshot *chosen = &s->local->snapshots[s->local->chosen];
    return placement_worker_rather(&r->member.load, chosen) ? r : NULL;
}

static struct executor *joined_choose(struct manager *m, struct pool *p, const struct task *t)
{
    struct pool *local = p->workers->local;
    struct executor *e = local->cls->choose(m, local, t);
    struct worker_executor *r = rather_a_worker(m, p, e);
    p->workers->rather = r != NULL;
    return r ? &r->base : e;
}

static bool joined_give(struct manager *m, struct pool *p, struct executor *e, struct task *t,
                        int *budget)
{
    struct worker_pool *s = p->workers;
    assert(s->rather || e->pool == s->local);
    if (!s->rather)
        return s->local->cls->give(m, s->local, e, t, budget);
    s->called = false;
    give_to(m, p, e, t, budget);
    return true;
}

static bool joined_pass_over(struct pool *p, const struct task *t)
{
    struct pool *local = p->workers->local;
    return local->cls->pass_over(local, t);
}

static bool joined_waits(struct manager *m, struct pool *x, struct pool *p, bool full)
{
    struct pool *local = x->workers->local;
    return local->cls->waits(m, local, p, full);
}

/* A pool that was called and took no worker passes the call on, and stays the first in line. */
static void joined_looked(struct manager *m, struct pool *p)
{
    struct worker_pool *s = p->workers;
    bool unserved = s->called, was_called = s->was_called || s->called;
    s->called = s->was_called = false;
    if (!pool_has_work(p) || !may_leave(p))
        worker_groups_wait_no_more(p);
    else if (p->short_of_room && !p->in_line && worker_groups_there(p))
        worker_groups_wait(p, unserved);
    if (was_called)
        worker_groups_call(m, p);
}

static const struct pool_class pool_joined = {.look = joined_look,
                                              .room = joined_room,
                                              .choose = joined_choose,
                                              .give = joined_give,
                                              .pass_over = joined_pass_over,
                                              .waits = joined_waits,
                                              .looked = joined_looked};

static void add_group(struct executor_group *to, const struct executor_group *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        to->list[to->count++] = from->list[i];
}

static struct pool *join(struct manager *m, struct method *method, struct pool *local)
{
    const struct executor_group *worker_loops = &m->shared->worker_loops;
    assert(local->group.count > 0 && local->waiting);
    struct pool *p =
        worker_pool_new(m, &pool_joined, method, local->group.count + worker_loops->count);
    if (!p)
        return NULL;
    p->workers->local = local;
    p->workers->line = &m->roster->waiting_joined;
    p->waiting = local->waiting;
    p->stepped = local->stepped;
    add_group(&p->group, &local->group);
    add_group(&p->group, worker_loops);
    m->joined++;
    return p;
}

static struct pool *spread(struct manager *m, struct method *method, struct pool *local)
{
    if (!method->elsewhere)
        return join(m, method, local);
    struct pool *p = worker_pool_new(m, &pool_of_workers, method, 0);
    if (p)
        serve_in_turn(m, p);
    return p;
}

/* --- The worker system --- */

static int open(struct manager *m)
{
    uint32_t loops = m->shared->worker_loops.count;
    struct worker_roster *all = calloc(1, sizeof *all + loops * sizeof *all->loops_away);
    if (!all)
        return -1;
    m->roster = all;
    TAILQ_INIT(&all->waiting);
    TAILQ_INIT(&all->waiting_joined);
    LIST_INIT(&all->members);
    return 0;
}

static void close(struct manager *m)
{
    if (!m->roster)
        return;
    for (uint32_t i = 0; i < m->pool_count; i++)
        if (m->pools[i]->workers)
            worker_pool_free(m->pools[i]->workers);
    free(m->roster);
}

/* All joined pools that were called by now are looked at in this step. */
static bool take(struct manager *m)
{
    bool all = m->roster->member_count == 0 && !worker_updates_any(m);
    if (!all)
        all = worker_updates_take(m);
    m->roster->called = false;
    return all;
}

static void sweep(struct manager *m)
{
    const struct worker_pool *s;
    TAILQ_FOREACH(s, &m->roster->waiting, link)
    pool_mark_ready(s->pool);
}

/* A joined pool has to look again if a group has called it, or has room that no pool takes. */
static bool rest(struct manager *m)
{
    struct worker_roster *all = m->roster;
    struct worker_pool *s, *next;
    bool waits = !TAILQ_EMPTY(&all->waiting) || !TAILQ_EMPTY(&all->waiting_joined);
    bool reported = waits && worker_updates_wait(m);
    for (s = TAILQ_FIRST(&all->waiting_joined); s && STAILQ_EMPTY(&m->in_turn) && !all->called;
         s = next) {
        next = TAILQ_NEXT(s, link); /* a pool that is called leaves the list, and ends the loop */
        worker_groups_call(m, s->pool);
    }
    return !reported && !all->called;
}

static uint32_t offering(const struct manager *m, const struct pool *p, struct source_worker *out,
                         uint32_t most)
{
    const struct member *mb;
    uint32_t count = 0;
    LIST_FOREACH(mb, &m->roster->members, link)
    {
        const struct worker_executor *r =
            ao_of((struct member *)(uintptr_t)mb, struct worker_executor, member);
        if (!worker_group_offers(r, p))
            continue;
        if (count < most) {
            out[count] = (struct source_worker){.outstanding = executor_outstanding(&r->base),
                                                .slots = r->slots};
            executor_name(&r->base, out[count].name, sizeof out[count].name);
        }
        count++;
    }
    return count;
}

const struct worker_system worker_executors = {.loop_new = worker_loop_new,
                                               .open = open,
                                               .close = close,
                                               .join = join,
                                               .spread = spread,
                                               .method_made = method_made,
                                               .take = take,
                                               .sweep = sweep,
                                               .rest = rest,
                                               .offering = offering};
