#include "server/workers/worker_loop.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/tracepoint.h"
#include "server/accounts/tally.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/calls/home.h"
#include "server/tasks/executors/booking.h"
#include "server/tasks/held_bytes.h"
#include "server/tasks/shared.h"
#include "server/tasks/task.h"
#include "server/tasks/task_result.h"
#include "server/workers/worker_group.h"
#include "server/workers/worker_update.h"

enum {
    LANE_TASKS = 1024,   /* tasks on their way from the manager; more overflow there */
    TAKES_A_STEP = 256,  /* tasks of that lane */
    LOOKS_A_STEP = 1024, /* tasks that are looked at whether somebody wants them */
    LOWER_BY = 64        /* what its results are expected to take falls by the 64th part */
};

#define TRACE_WORKER(r, ...) TRACE((r)->base.activator, "worker", (r)->base.index, __VA_ARGS__)

/* --- Updates for the manager --- */

static void tell(struct worker_executor *r, enum worker_update what)
{
    struct manager_inbox *in = &r->base.shared->inbox;
    bool first = atomic_fetch_or_explicit(&r->reported, what, memory_order_acq_rel) == 0;
    if (first)
        mpsc_push(&in->updates, &r->update);
    if (what != UPDATE_ROOM)
        manager_ask(in);
    else if (first)
        manager_on_worker(in, r->base.activator);
}

/* One more of the tasks that it was given is not there any more.  Of one that is lost the manager
 * need not know. */
static void leave(struct worker_executor *r)
{
    uint32_t left = atomic_load_explicit(&r->base.left, memory_order_relaxed) + 1;
    atomic_store_explicit(&r->base.left, left, memory_order_release);
    if (r->state != WORKER_LOST)
        tell(r, UPDATE_ROOM);
}

/* --- Tasks --- */

static struct offer_figures *figures_of(const struct task *t)
{
    const struct worker_executor *r = worker_executor_of(t->executor);
    return &t->method->attempts_pool->offers[r->worker_loop->base.index];
}

static void take_in(struct worker_executor *r, struct task *t)
{
    struct worker_loop *d = r->worker_loop;
    assert(r->state == WORKER_OPEN && r->out_count < r->slots);
    t->out = (struct task_out){0};
    t->busy = activator_now(d->base.activator);
    LIST_INSERT_HEAD(&r->has, t, out.beside);
    LIST_INSERT_HEAD(&d->sent, t, living);
    r->out_count++;
    offer_note_running(figures_of(t), t->busy, true);
}

static void take_out(struct worker_executor *r, struct task *t)
{
    struct offer_figures *f = figures_of(t);
    assert(r->out_count > 0 && r->unwanted >= t->out.unwanted);
    LIST_REMOVE(t, out.beside);
    LIST_REMOVE(t, living);
    r->out_count--;
    r->unwanted -= t->out.unwanted;
    offer_note_running(f, t->busy, false);
    t->busy = activator_now(r->base.activator) - t->busy;
}

static void send_home(struct worker_executor *r, struct task *t)
{
    struct home *h = r->worker_loop->homes[t->home];
    if (t->caller || h->activator != r->base.activator) {
        executor_send_home(&r->base, t);
        return;
    }
    task_pass(t, TASK_OF_EXECUTOR, TASK_OF_HOME);
    home_receive(h, t);
}

/* One that was not claimed may be withdrawn meanwhile: its mark is not touched. */
static void lose_attempt(struct task *t, enum attempt_loss loss, const char *why)
{
    t->attempt->loss = (uint8_t)loss;
    task_fail(t, ERGON_E_WORKER_LOST, NULL, span_text(why));
    if (attempt_stage(t) == ATTEMPT_RUNNING)
        attempt_over(t);
}

/* The stream has no byte of its request: another worker may have it.  Attempts go back to the
 * jobs, which have an order of their own. */
static void give_back(struct worker_executor *r, struct task *t, const char *why)
{
    TRACE_WORKER(r, "give back task %llu", (unsigned long long)t->number);
    leave(r);
    if (task_is(t, TASK_ATTEMPT) && attempt_stage(t) != ATTEMPT_WITHDRAWN)
        lose_attempt(t, LOSS_UNSENT, why); /* flagged or not: it has no answer */
    if (task_is(t, TASK_ATTEMPT) || task_flagged(t))
        send_home(r, t);
    else
        executor_give_back(&r->base, t);
}

/* So many of its results must find room when they come, since they are read in any case. */
static uint32_t bound_of(const struct worker_executor *r)
{
    const struct tally *whose = r->tally;
    if (r->closed)
        return 0;
    if (r->result_bytes == 0 || !whose)
        return r->slots;
    uint64_t fit = account_bytes_left(whose->account, &whose->change) / r->result_bytes;
    return fit == 0 ? 1 : fit < r->slots ? (uint32_t)fit : r->slots;
}

static void set_bound(struct worker_executor *r)
{
    counter_set(&r->base.bound, bound_of(r));
}

static void close_door(struct worker_executor *r, bool closed)
{
    r->closed = closed;
    set_bound(r);
    tell(r, UPDATE_ROOM);
}

/* What it gave last may be the largest; each that is smaller takes a bit off.  It is called before
 * the task leaves: then the manager is notified. */
static void note_result(struct worker_executor *r, const struct task *t)
{
    uint64_t bytes = t->error == ERGON_OK ? t->result_len : 0;
    if (bytes < RESULT_LARGE && r->result_bytes == 0)
        return;
    if (bytes < r->result_bytes)
        bytes = r->result_bytes - r->result_bytes / LOWER_BY;
    r->result_bytes = bytes < RESULT_LARGE ? 0 : bytes;
    set_bound(r);
}

static void send(struct worker_executor *r, struct task *t)
{
    take_in(r, t);
    TRACE_WORKER(r, "send task %llu", (unsigned long long)t->number);
    if (r->worker_loop->port.send(r->peer, r, t))
        return;
    take_out(r, t);
    close_door(r, true); /* before the task can be given to it again */
    give_back(r, t, "its worker does not read");
}

static void take_answers(struct worker_loop *d);
static void see_to_end(struct worker_executor *r);

static void note_place(const struct task *t)
{
    if (task_is(t, TASK_ATTEMPT) && t->attempt->mark)
        atomic_store_explicit(&t->attempt->mark->place, MARK_AT_WORKER, memory_order_relaxed);
}

/* From the lane. */
static void begin(struct worker_executor *r, struct task *t)
{
    assert(t->owner == TASK_OF_EXECUTOR);
    /* That it is let in, or open again, was pushed before the task. */
    if (r->state == WORKER_JOINING || r->state == WORKER_QUIET)
        take_answers(r->worker_loop);
    assert(r->state != WORKER_JOINING);
    r->received++;
    t->ao.home = NULL; /* what `ao` was is overwritten: see struct task_out */
    t->given = 0;
    if (r->state == WORKER_LOST) {
        give_back(r, t, r->why);
        see_to_end(r);
    } else if (r->closed) {
        give_back(r, t, "its worker does not read");
    } else if (r->state == WORKER_QUIET) { /* its port knows that nothing more comes */
        give_back(r, t, "its worker is quiet");
    } else if (executor_begin(&r->base, t)) {
        executor_note_wait(&r->base, &figures_of(t)->times, t);
        note_place(t);
        send(r, t);
    } else {
        TRACE_WORKER(r, "drop task %llu", (unsigned long long)t->number);
        leave(r);
        send_home(r, t);
    }
}

void worker_executor_begun(struct worker_executor *r, struct task *t)
{
    assert(worker_executor_of(t->executor) == r);
    t->out.begun = true;
    TRACEPOINT4(start, t->number, t->method->name.at, t->method->name.len, r->base.index);
}

void worker_executor_not_begun(struct task *t)
{
    t->out.begun = false;
}

static void book(struct worker_executor *r, struct task *t)
{
    struct offer_figures *f = figures_of(t);
    task_set(t, TASK_TIMED);
    executor_note_served(&r->base, t);
    *(t->error == ERGON_OK ? &r->done : &r->failed) += 1;
    counter_add(t->error == ERGON_OK ? &f->done : &f->failed, 1);
    counter_add(&f->busy_ns, t->busy);
    times_note_run(&f->times, t->busy, 1);
    if (t->error != ERGON_OK)
        times_note_failure(&f->times, t->error);
}

void worker_executor_answer(struct worker_executor *r, struct task *t)
{
    assert(r->state != WORKER_LOST && worker_executor_of(t->executor) == r);
    TRACE_WORKER(r, "answer of task %llu (%s)", (unsigned long long)t->number,
                 t->error == ERGON_OK ? "done" : t->code);
    bool was_told = t->out.unwanted && r->context;
    take_out(r, t);
    if (task_is(t, TASK_ATTEMPT) && was_told && t->error != ERGON_OK)
        t->attempt->cancel_seen = true; /* it was stopped, whatever it calls that */
    attempt_over(t);
    TRACEPOINT5(end, t->number, t->method->name.at, t->method->name.len, r->base.index,
                (int32_t)t->error);
    book(r, t);
    note_result(r, t);
    leave(r);
    send_home(r, t);
}

void worker_executor_flushed(struct worker_executor *r)
{
    if (!r->closed || r->state == WORKER_LOST)
        return;
    close_door(r, false);
}

/* --- Flagged tasks --- */

static enum task_flag why_unwanted(unsigned flags)
{
    return flags & TASK_CANCELLED ? TASK_CANCELLED : flags & TASK_LATE ? TASK_LATE : TASK_GONE;
}

static void tell_unwanted(struct worker_loop *d, struct task *t, unsigned flags)
{
    struct worker_executor *r = worker_executor_of(t->executor);
    t->out.unwanted = true;
    t->unwanted_since = activator_now(d->base.activator);
    r->unwanted++;
    d->port.unwanted(r->peer, t, why_unwanted(flags));
}

/* True: it has looked at all. */
static bool look_at_some(struct worker_loop *d)
{
    struct task *t;
    for (unsigned n = 0; (t = LIST_FIRST(&d->sent)); n++) {
        if (n == LOOKS_A_STEP)
            return false;
        LIST_REMOVE(t, living);
        LIST_INSERT_HEAD(&d->checked, t, living);
        unsigned flags = task_flagged(t);
        if (flags && !t->out.unwanted)
            tell_unwanted(d, t, flags);
    }
    LIST_MOVE(&d->sent, &d->checked, living);
    return true;
}

/* Somebody's task was flagged, and nobody says whose. */
static void check_flags(struct worker_loop *d)
{
    if (atomic_exchange_explicit(&d->base.notified, false, memory_order_acq_rel)) {
        d->check_again = d->checks;
        d->checks = true;
    }
    if (!d->checks || !look_at_some(d))
        return;
    d->checks = d->check_again;
    d->check_again = false;
}

/* --- Coming and going --- */

static struct worker_executor *new_executor(const struct worker_executor_spec *spec)
{
    size_t size = sizeof(struct worker_executor) + spec->count * sizeof(struct span) +
                  spec->type_count * sizeof(struct worker_type);
    for (uint32_t i = 0; i < spec->count; i++)
        size += spec->methods[i].len + (spec->secrets ? 1 : 0) + (spec->of_actors ? 1 : 0);
    for (uint32_t i = 0; i < spec->type_count; i++)
        size += spec->types[i].type.len;
    size = (size + alignof(struct worker_executor) - 1) / alignof(struct worker_executor) *
           alignof(struct worker_executor);
    struct worker_executor *r = aligned_alloc(alignof(struct worker_executor), size);
    return r ? memset(r, 0, size) : NULL;
}

static void keep_methods(struct worker_executor *r, const struct worker_executor_spec *spec)
{
    r->types = (struct worker_type *)(r + 1);
    r->type_count = spec->type_count;
    r->methods = (struct span *)(r->types + spec->type_count);
    r->method_count = spec->count;
    uint8_t *at = (uint8_t *)(r->methods + spec->count);
    for (uint32_t i = 0; i < spec->count; i++)
        r->methods[i] = span_put(spec->methods[i], &at);
    for (uint32_t i = 0; i < spec->type_count; i++)
        r->types[i] =
            (struct worker_type){span_put(spec->types[i].type, &at), spec->types[i].policy};
    if (spec->secrets)
        r->secrets = memcpy(at, spec->secrets, spec->count);
    at += spec->secrets ? spec->count : 0;
    if (spec->of_actors)
        r->of_actors = memcpy(at, spec->of_actors, spec->count);
}

/* A task may run on any of its threads, and holds up nobody but its slot. */
static uint64_t expects(const struct executor *e)
{
    return counter_read(&e->service_ns);
}

static const struct executor_class worker_executor_class = {.name = "worker",
                                                            .turns_after = AO_NEVER,
                                                            .expects = expects,
                                                            .attempt_back =
                                                                worker_updates_attempt_back};

static void stand_beside(struct worker_executor *r, struct worker_executor *other)
{
    r->beside = other ? other->beside : r;
    if (other)
        other->beside = r;
}

static void leave_ring(struct worker_executor *r)
{
    struct worker_executor *before = r->beside;
    while (before->beside != r)
        before = before->beside;
    before->beside = r->beside;
    r->beside = r;
}

static void take_name(char *to, struct span name)
{
    if (name.len > 0)
        memcpy(to, name.at, name.len);
}

struct worker_executor *
worker_executor_register(struct worker_loop *d, const struct worker_executor_spec *spec, void *peer)
{
    assert(spec->count > 0 && spec->count <= WORKER_METHODS_MAX);
    assert(spec->slots > 0 && spec->slots <= WORKER_SLOTS_MAX);
    assert(spec->share > 0 && spec->share <= WORKER_SHARE_ALL);
    assert(spec->version.len <= WORKER_VERSION_MAX);
    assert(spec->name.len <= WORKER_NAME_MAX && spec->host.len <= WORKER_NAME_MAX);
    struct worker_executor *r = new_executor(spec);
    if (!r)
        return NULL;
    struct executor *e = &r->base;
    e->cls = &worker_executor_class;
    e->in = &d->in;
    e->out = d->out;
    executor_init(e, d->base.shared, EXECUTOR_BESIDE, d->base.activator);
    counter_set(&e->bound, spec->slots);
    e->plan.queue = spec->slots;
    r->worker_loop = d;
    r->peer = peer;
    r->slots = spec->slots;
    r->share = spec->share;
    r->context = spec->context;
    r->module = spec->module;
    r->tally = spec->tally ? tally_ref(spec->tally) : NULL;
    take_name(r->version, spec->version);
    take_name(r->name, spec->name);
    take_name(r->host, spec->host);
    keep_methods(r, spec);
    stand_beside(r, spec->beside);
    LIST_INIT(&r->has);
    LIST_INSERT_HEAD(&d->executors, r, link);
    tell(r, UPDATE_JOIN);
    return r;
}

void worker_executor_quiet(struct worker_executor *r, bool quiet)
{
    assert(r->state == WORKER_OPEN || r->state == WORKER_QUIET);
    atomic_store_explicit(&r->wants_quiet, quiet, memory_order_relaxed);
    tell(r, UPDATE_SETTLE);
}

static void drop_tally(struct worker_executor *r)
{
    tally_close(r->tally);
    r->tally = NULL;
}

static void free_executor(struct worker_executor *r)
{
    assert(r->out_count == 0 && LIST_EMPTY(&r->has));
    drop_tally(r);
    leave_ring(r);
    LIST_REMOVE(r, link);
    free(r);
}

/* The last word: see worker_loop.h. */
static void see_to_end(struct worker_executor *r)
{
    assert(!r->last_word || (int32_t)(r->final - r->received) >= 0);
    if (r->state == WORKER_LOST && r->last_word && r->received == r->final)
        free_executor(r);
}

static uint32_t begun(const struct worker_executor *r)
{
    const struct task *t;
    uint32_t count = 0;
    LIST_FOREACH(t, &r->has, out.beside)
    count += t->out.begun;
    return count;
}

/* It had begun, and nobody knows whether it ran. */
static void lose_begun(struct worker_executor *r, struct task *t, enum attempt_loss loss)
{
    char text[sizeof r->why + 32];
    if (task_is(t, TASK_ATTEMPT)) {
        lose_attempt(t, loss, r->why);
    } else {
        snprintf(text, sizeof text, "%s; it may have run", r->why);
        task_fail(t, ERGON_E_WORKER_LOST, NULL, span_text(text));
    }
    book(r, t);
    leave(r);
    send_home(r, t);
}

static void lose_tasks(struct worker_executor *r, enum attempt_loss loss)
{
    struct task *t;
    while ((t = LIST_FIRST(&r->has))) {
        take_out(r, t);
        if (t->out.begun)
            lose_begun(r, t, loss);
        else
            give_back(r, t, r->why);
    }
}

static void lose(struct worker_executor *r, enum attempt_loss loss, const char *why)
{
    if (r->state == WORKER_LOST)
        return;
    r->state = WORKER_LOST;
    r->peer = NULL;
    drop_tally(r);
    snprintf(r->why, sizeof r->why, "%s", why);
    lose_tasks(r, loss);
    tell(r, UPDATE_LEAVE);
}

/* What one process had is lost together: it is in company of what its other registrations had. */
void worker_executor_lost(struct worker_executor *r, const char *why)
{
    uint32_t count = begun(r);
    struct worker_executor *other;
    for (other = r->beside; other != r; other = other->beside)
        count += begun(other);
    enum attempt_loss loss = count == 1 ? LOSS_ALONE : LOSS_IN_COMPANY;
    for (other = r->beside; other != r; other = other->beside)
        lose(other, loss, why);
    lose(r, loss, why);
}

/* --- What the manager answers --- */

static void joined(struct worker_executor *r)
{
    if (r->state != WORKER_JOINING) /* it is lost, and leaves */
        return;
    if (r->refused == ERGON_OK) {
        r->state = WORKER_OPEN;
        r->worker_loop->port.joined(r->peer, r, ERGON_OK, NULL);
        return;
    }
    r->state = WORKER_LOST; /* whatever the port does */
    r->worker_loop->port.joined(r->peer, r, r->refused, r->refusal);
    free_executor(r);
}

/* The port is not notified of an answer that a later wish has overtaken. */
static void settled(struct worker_executor *r)
{
    bool quiet = atomic_load_explicit(&r->is_quiet, memory_order_relaxed);
    if (r->state == WORKER_LOST)
        return;
    r->state = quiet ? WORKER_QUIET : WORKER_OPEN;
    if (quiet == atomic_load_explicit(&r->wants_quiet, memory_order_relaxed))
        r->worker_loop->port.settled(r->peer, r, !quiet);
}

static void take_answer(struct worker_executor *r, unsigned answered)
{
    if (answered & UPDATE_LEFT) {
        r->last_word = true;
        see_to_end(r);
        return;
    }
    if (answered & UPDATE_JOINED)
        joined(r);
    else if (answered & UPDATE_SETTLED)
        settled(r);
}

static void take_answers(struct worker_loop *d)
{
    struct mpsc_item *next;
    for (struct mpsc_item *item = mpsc_take(&d->answers); item; item = next) {
        struct worker_executor *r = ao_of(item, struct worker_executor, answer);
        next = item->next; /* before it may be pushed again */
        take_answer(r, atomic_exchange_explicit(&r->answered, 0, memory_order_acq_rel));
    }
}

/* --- For people --- */

struct worker_executor *worker_executor_of_task(const struct task *t)
{
    return worker_executor_of(t->executor);
}

void worker_executor_info(const struct worker_executor *r, struct worker_executor_info *out)
{
    *out = (struct worker_executor_info){.number = r->state == WORKER_JOINING ? 0 : r->base.index,
                                         .state = r->state,
                                         .slots = r->slots,
                                         .out = r->out_count,
                                         .unwanted = r->unwanted,
                                         .done = r->done,
                                         .failed = r->failed,
                                         .service_ns = counter_read(&r->base.service_ns)};
}

struct task *worker_executor_tasks(const struct worker_executor *r)
{
    return LIST_FIRST(&r->has);
}

struct task *worker_executor_task_after(const struct task *t)
{
    return LIST_NEXT(t, out.beside);
}

ao_time worker_executor_task_since(const struct task *t)
{
    return t->busy;
}

ao_time worker_executor_task_unwanted(const struct task *t)
{
    return t->out.unwanted ? t->unwanted_since : AO_NEVER;
}

/* --- The worker loop --- */

/* True: nothing is left in it. */
static bool take_lane(struct worker_loop *d)
{
    int budget = TAKES_A_STEP;
    for (; budget > 0; budget--) {
        struct lane_item *item = lane_take(&d->in);
        if (!item)
            break;
        struct task *t = ao_of(item, struct task, item);
        begin(worker_executor_of(t->executor), t);
    }
    lane_release(&d->in);
    return budget > 0;
}

static enum ao_verdict worker_loop_step(struct ao *self)
{
    struct worker_loop *d = ao_of(self, struct worker_loop, ao);
    take_answers(d);
    check_flags(d);
    bool empty = take_lane(d);
    return empty && !d->checks ? AO_DONE : AO_AGAIN;
}

static const struct ao_class worker_loop_class = {.name = "dock", .step = worker_loop_step};

static void discard(struct task_list *list)
{
    struct task *t;
    while ((t = LIST_POP(list, living)))
        task_discard(t);
}

/* Tasks first: what a worker has lies in lists of the worker loop, too. */
static void clear_all(struct executor *e)
{
    struct worker_loop *d = worker_loop_of(e);
    struct worker_executor *r;
    discard(&d->sent);
    discard(&d->checked);
    while ((r = LIST_POP(&d->executors, link))) {
        drop_tally(r);
        free(r);
    }
}

static void fini(struct executor *e)
{
    struct worker_loop *d = worker_loop_of(e);
    clear_all(e);
    task_lanes_free(d->out, d->base.home_count);
    task_lane_close(&d->in);
    if (ao_state(&d->ao) == AO_STATE_ACTIVE)
        ao_deactivate(&d->ao);
    ao_fini(&d->ao);
    if (d->base.handle)
        ao_handle_unref(d->base.handle);
}

static const struct executor_class worker_loop_executor = {
    .name = "dock", .turns_after = AO_NEVER, .expects = expects, .clear = clear_all, .fini = fini};

struct worker_loop *worker_loop_at(struct tasks *t, uint32_t loop)
{
    return worker_loop_of(tasks_worker_loop(t, loop));
}

void worker_loop_set_port(struct worker_loop *d, const struct worker_port *port)
{
    d->port = *port;
}

static int init(struct worker_loop *d, struct tasks_shared *shared, uint32_t index,
                struct home **homes)
{
    struct executor *e = &d->base;
    e->cls = &worker_loop_executor;
    e->in = &d->in;
    e->out = d->out = task_lanes_new(shared_homes(shared));
    executor_init(e, shared, EXECUTOR_BESIDE, homes[index]->activator);
    e->index = index;
    d->homes = homes;
    mpsc_init(&d->answers);
    LIST_INIT(&d->executors);
    LIST_INIT(&d->sent);
    LIST_INIT(&d->checked);
    ao_init(&d->ao, &worker_loop_class, e->activator);
    e->handle = ao_handle_new(&d->ao);
    if (d->out && e->handle && lane_init(&d->in, LANE_TASKS, shared->plan.manager, &d->ao) == 0)
        return 0;
    return -1;
}

struct executor *worker_loop_new(struct tasks_shared *shared, uint32_t index, struct home **homes)
{
    struct worker_loop *d = aligned_alloc(alignof(struct worker_loop), sizeof *d);
    if (!d)
        return NULL;
    memset(d, 0, sizeof *d);
    if (init(d, shared, index, homes) == 0)
        return &d->base;
    fini(&d->base);
    free(d);
    return NULL;
}
_Static_assert(offsetof(struct worker_loop, base) == 0, "an executor is freed by its base");
