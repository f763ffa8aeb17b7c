/*          given            AO_PARK
 *   lane --------> active ----------> parked       started: active, turning and parked
 *     |            | | ^                | ^
 *     |            | | +----------------+ |        woken, due
 *     |            | | quantum used up    | AO_PARK
 *     | flagged    | +-----> turning -----+
 *     v            v            v         v flagged
 *   home <------- over <--------+---------+
 *
 * A started task is an active object of the loop: the dispatcher steps it as any other, and no new
 * task starts while one is active. What ends inside its own step goes home when the activator has
 * let go of it (`retired`).
 *
 * No task waits for one that goes on and on. Once the active tasks have held the executor for a
 * quantum, of their own time or the loop's, each that asks for one more step takes turns from then
 * on: it is stepped behind all other objects of the loop (object.h), it leaves the outstanding
 * count, and the next task begins. So brief tasks run one after the other, each at most a quantum
 * and a step after those before it. Beside any number of long ones each begins within a round,
 * which these make longer by one quantum in all; and each of these gets its step, in turn. */
#include "server/tasks/executors/stepped.h"

#include "base/grow.h"
#include "base/log.h"
#include "base/tracepoint.h"
#include "server/accounts/tally.h"
#include "server/runtime/activator.h"
#include "server/runtime/object/object.h"
#include "server/tasks/calls/home.h"
#include "server/tasks/calls/nested.h"
#include "server/tasks/executors/booking.h"
#include "server/tasks/executors/parking.h"
#include "server/tasks/shared.h"
#include "server/tasks/task.h"
#include "server/tasks/attempt.h"
#include "server/tasks/task_result.h"

enum {
    STARTS_A_STEP = 64, /* tasks; so that connections stay responsive */
    DROPS_A_STEP = 256  /* tasks that are looked at, or dropped; likewise */
};
static const ao_time start_budget = AO_US(500); /* of measured service, a round */
static const ao_time quantum = BEHIND_QUANTUM;  /* that a task holds the executor, and goes on */

static struct task *task_of_ao(struct ao *ao)
{
    return ao_of(ao, struct task, ao);
}

static bool has_more(struct stepped *s)
{
    return lane_ready(&s->in);
}

static void enter_active(struct stepped *s)
{
    if (s->active++ == 0)
        s->held_since = activator_now(s->base.activator);
}

static void leave_active(struct stepped *s)
{
    assert(s->active > 0);
    if (--s->active == 0 && has_more(s))
        ao_activate(&s->ao);
}

static struct method_figures *figures_of(const struct task *t)
{
    return &t->executor->figures[t->method->index];
}

static void learn_place(struct method *m)
{
    if (!atomic_load_explicit(&m->wants_place, memory_order_relaxed))
        atomic_store_explicit(&m->wants_place, true, memory_order_relaxed);
}

/* An active task makes room for the next. A task that has begun has a place, except nested calls
 * and tasks that were not known to want one. Where even the reserve is used up these stay in the
 * outstanding count, which stops the flow. */
static void step_aside(struct stepped *s, struct task *t)
{
    struct executor *e = &s->base;
    learn_place(t->method);
    parking_take(t);
    if (counter_read(&e->parked) + counter_read(&e->turning) < parking_most(e)) {
        task_set(t, TASK_UNCOUNTED);
        executor_publish(e, 1);
    }
    leave_active(s);
}

/* NULL: there is no memory for one, and the task shares the party of all that have none. */
static struct behind *new_party(struct stepped *s, uint32_t index)
{
    struct behind **parties = grow_array(s->parties, &s->party_room, index, sizeof *parties);
    if (!parties)
        return NULL;
    s->parties = parties;
    struct behind *party = malloc(sizeof *party);
    if (party)
        behind_init(party);
    return s->parties[index] = party;
}

/* Of one principal, or of a later one that has its index. */
static struct behind *party_of(struct stepped *s, const struct task *t)
{
    if (!t->tally)
        return NULL;
    uint32_t index = t->tally->account->index;
    struct behind *party = index < s->party_room ? s->parties[index] : NULL;
    return party ? party : new_party(s, index);
}

static void free_parties(struct stepped *s)
{
    for (uint32_t i = 0; i < s->party_room; i++) {
        if (s->parties[i])
            ao_disband(s->base.activator, s->parties[i]);
        free(s->parties[i]);
    }
    free(s->parties);
}

void stepped_charge(struct task *t)
{
    if (!task_is(t, TASK_PARKED | TASK_TURNING))
        return;
    parking_take(t);
    if (task_is(t, TASK_TURNING))
        ao_stand_behind(&t->ao, party_of(stepped_of(t->executor), t));
}

static void stop_turning(struct stepped *s, struct task *t)
{
    struct executor *e = &s->base;
    task_clear(t, TASK_TURNING);
    counter_set(&e->turning, counter_read(&e->turning) - 1);
    if (!task_is(t, TASK_ATTEMPT))
        return;
    counter_set(&e->turning_jobs, counter_read(&e->turning_jobs) - 1);
    executor_publish(e, 0);
}

static void park(struct stepped *s, struct task *t)
{
    bool turned = task_is(t, TASK_TURNING);
    if (turned)
        stop_turning(s, t);
    else
        step_aside(s, t);
    task_set(t, TASK_PARKED);
    attempt_enter(t, ATTEMPT_PARKED);
    counter_add(&s->base.parked, 1);
    counter_add(&figures_of(t)->parked, 1);
    if (task_flagged(t))
        home_unwant(s->home, t);
}

/* Its method is one of long tasks, whatever the mean of those that have ended. */
static void learn_long(struct task *t)
{
    if (atomic_load_explicit(&t->method->service_ns, memory_order_relaxed) < t->busy)
        atomic_store_explicit(&t->method->service_ns, t->busy, memory_order_relaxed);
}

/* It asks for one more step. */
static void go_on(struct stepped *s, struct task *t)
{
    struct executor *e = &s->base;
    ao_time since = activator_now(e->activator) - s->held_since;
    if (task_is(t, TASK_TURNING) || (t->busy < quantum && since < quantum))
        return;
    learn_long(t);
    counter_average(&e->service_ns,
                    quantum); /* it may never end, and was in the way all the same */
    executor_trace(e, "takes turns:", t);
    ao_stand_behind(&t->ao, party_of(s, t));
    step_aside(s, t);
    task_set(t, TASK_TURNING);
    s->turned = activator_rounds(e->activator) + 1;
    counter_add(&e->turning, 1);
    if (task_is(t, TASK_ATTEMPT))
        counter_add(&e->turning_jobs, 1);
}

/* One that parked or took turns is active, and counts again. */
static void resume(struct stepped *s, struct task *t)
{
    struct executor *e = &s->base;
    if (task_is(t, TASK_TURNING)) {
        stop_turning(s, t);
    } else {
        counter_set(&e->parked, counter_read(&e->parked) - 1);
        counter_set(&figures_of(t)->parked, counter_read(&figures_of(t)->parked) - 1);
    }
    parking_leave(t);
    if (task_is(t, TASK_UNCOUNTED))
        executor_publish(e, -1);
    task_clear(t, TASK_PARKED | TASK_UNCOUNTED);
    attempt_enter(t, ATTEMPT_RUNNING);
    enter_active(s);
}

/* A started task that lived on is over: out of every count. */
static void leave_started(struct stepped *s, struct task *t)
{
    if (task_is(t, TASK_PARKED | TASK_TURNING))
        resume(s, t);
    LIST_REMOVE(t, living);
    counter_set(&figures_of(t)->living, counter_read(&figures_of(t)->living) - 1);
    executor_publish(&s->base, 1);
    leave_active(s);
}

/* The handler is done with the task, whether that succeeded or failed. */
static inline void conclude(struct stepped *s, struct task *t, bool first)
{
    task_set(t, TASK_OVER);
    if (t->nested)
        nested_drop_all(t);
    task_drop_state(t);
    attempt_over(t);
    TRACEPOINT5(end, t->number, t->method->name.at, t->method->name.len, s->base.index,
                (int32_t)t->error);
    executor_book(&s->base, t, first);
}

/* Its object would be stepped for ever, or never again. */
static enum ao_verdict refuse_verdict(struct task *t, enum ao_verdict verdict)
{
    char name[TASK_NAME_MAX];
    task_own_name(t, name);
    if (method_complain(t->method, COMPLAINT_VERDICT))
        log_error("a handler returned a verdict that is none: its task fails",
                  LOG_INT("verdict", verdict), LOG_STR("module", t->method->module),
                  LOG_STR("method", method_name(t->method)), LOG_STR("task", name));
    task_fail(t, ERGON_E_FAILED, NULL, span_text("the handler returned a verdict that is none"));
    return AO_DONE;
}

/* Have those that it began in this round, `more` included, taken as much as it may have? */
static bool has_used(struct stepped *s, ao_time more, ao_time budget)
{
    uint64_t busy = counter_read(&s->base.busy_ns);
    uint64_t round = activator_rounds(s->base.activator) + 1;
    if (s->round != round) {
        s->round = round;
        s->busy_before = busy;
    }
    return busy + more - s->busy_before > budget;
}

static void take_calls_again(struct round_hook *hook)
{
    ao_of(hook, struct stepped, rested)->home->short_cut = true;
}

/* A call that runs in place has no turn before others.  So once such calls have used up the budget
 * of a round, the rest of them goes to the queue, in which principals take turns. */
static void note_in_place(struct stepped *s, ao_time took)
{
    const struct accounts *accounts = s->base.shared->plan.accounts;
    struct home *h = s->home;
    if (!has_used(s, took, start_budget) || !h->short_cut || h->own != s ||
        (accounts && !accounts_several(accounts)))
        return;
    h->short_cut = false;
    activator_at_round_end(s->base.activator, &s->rested);
}

static enum ao_verdict run_handler(struct stepped *s, struct task *t, struct ao *self)
{
    struct executor *e = &s->base;
    bool timed = task_is(t, TASK_TIMED);
    ao_time began = timed ? executor_clock(e) : 0;
    enum ao_verdict verdict = t->method->handler->step(self, task_face(t), t->state);
    if (__builtin_expect((unsigned)verdict > AO_FAULT, 0))
        verdict = refuse_verdict(t, verdict);
    if (!timed)
        return verdict;
    ao_time took = executor_clock(e) - began;
    t->busy += took;
    executor_note_busy(e, t->method, took, task_is(t, TASK_IN_PLACE));
    executor_note_step(e, t->method, took);
    if (task_is(t, TASK_IN_PLACE))
        note_in_place(s, t->busy);
    return verdict;
}

static bool is_home(const struct stepped *s, const struct task *t)
{
    return !t->caller && s->homes[t->home]->activator == s->base.activator;
}

static void send_home(struct stepped *s, struct task *t)
{
    if (!is_home(s, t)) {
        executor_send_home(&s->base, t);
        return;
    }
    task_pass(t, TASK_OF_EXECUTOR, TASK_OF_HOME);
    home_receive(s->homes[t->home], t);
}

/* The answer of a task that is at home here need not wait until the activator lets go of it. */
static void finish(struct stepped *s, struct task *t)
{
    ao_retire(&t->ao); /* first: what it waits for and what it holds lie in its state */
    conclude(s, t, false);
    leave_started(s, t);
    if (is_home(s, t))
        home_answer(s->homes[t->home], t);
}

/* The handler has taken its object away from the activator: nobody would step it again. */
static bool has_let_go(struct task *t, enum ao_verdict verdict)
{
    if (verdict == AO_DONE || ao_state(&t->ao) != AO_STATE_INACTIVE)
        return false;
    task_fail(t, ERGON_E_FAILED, NULL, span_text("the handler deactivated its own task"));
    return true;
}

/* Every step; the first is entered from begin_steps(), which looks at the end itself. */
static enum ao_verdict task_step(struct ao *self)
{
    struct task *t = task_of_ao(self);
    struct stepped *s = stepped_of(t->executor);
    if (task_is(t, TASK_IN_PLACE))
        return run_handler(s, t, self);
    if (task_is(t, TASK_PARKED))
        resume(s, t);
    enum ao_verdict verdict = run_handler(s, t, self);
    if (verdict == AO_DONE || has_let_go(t, verdict))
        finish(s, t);
    else if (verdict == AO_PARK)
        park(s, t);
    else if (verdict == AO_AGAIN)
        go_on(s, t);
    return verdict;
}

const struct task *stepped_running_here(void)
{
    struct ao *ao = ao_current();
    return ao && ao->cls->step == task_step ? task_of_ao(ao) : NULL;
}

static void task_faulted(struct ao *self, int code, const char *text)
{
    struct task *t = task_of_ao(self);
    (void)code;
    task_fail(t, ERGON_E_FAILED, NULL, span_text(text));
    if (!task_is(t, TASK_IN_PLACE))
        finish(stepped_of(t->executor), t);
}

static void task_retired(struct ao *self)
{
    struct task *t = task_of_ao(self);
    ao_fini(self);
    send_home(stepped_of(t->executor), t);
}

void stepped_make_class(struct method *m)
{
    m->task_class = (struct ao_class){.name = "task",
                                      .detail = method_name(m),
                                      .step = task_step,
                                      .faulted = task_faulted,
                                      .retired = task_retired};
}

static bool make_ready(struct stepped *s, struct task *t)
{
    struct activator *a = s->base.activator;
    if (t->method->handler->state_size > 0 && !task_make_state(t)) {
        task_fail(t, ERGON_E_MEMORY, NULL, span_text("no memory for the handler's state"));
        return false;
    }
    if (executor_measures(&s->base, t->method, false))
        task_set(t, TASK_TIMED);
    if (t->ao.home != a || t->ao.flags)
        ao_init(&t->ao, &t->method->task_class, a);
    t->ao.cls = &t->method->task_class;
    return true;
}

/* It needs more than one step. `counted`: the outstanding count has it already. */
static void live_on(struct stepped *s, struct task *t, bool counted)
{
    if (!counted)
        executor_publish(&s->base, -1);
    task_set(t, TASK_TIMED);
    t->began = activator_now(s->base.activator);
    LIST_INSERT_HEAD(&s->started, t, living);
    counter_add(&figures_of(t)->living, 1);
    enter_active(s);
    if (ao_state(&t->ao) == AO_STATE_SLEEPING)
        park(s, t);
    else
        go_on(s, t);
}

/* The first step.  True: over; the object is at rest and the task may be given away. */
static bool begin_steps(struct stepped *s, struct task *t, bool counted)
{
    struct executor *e = &s->base;
    struct activator *a = e->activator;
    assert(t->owner == TASK_OF_EXECUTOR);
    if (!make_ready(s, t))
        return true;
    task_set(t, TASK_IN_PLACE);
    executor_trace(e, "run", t);
    TRACEPOINT4(start, t->number, t->method->name.at, t->method->name.len, e->index);
    enum ao_state state = activator_step_now(a, &t->ao);
    task_clear(t, TASK_IN_PLACE);
    if (state == AO_STATE_FAULTED)
        ao_reset(&t->ao);
    if (state == AO_STATE_ACTIVE || state == AO_STATE_SLEEPING) {
        live_on(s, t, counted);
        return false;
    }
    object_fini(&t->ao);
    conclude(s, t, true);
    return true;
}

static bool is_brief(const struct method *m)
{
    uint64_t service = atomic_load_explicit(&m->service_ns, memory_order_relaxed);
    return service > 0 && service < quantum;
}

bool stepped_idle(const struct stepped *s, const struct method *m)
{
    uint64_t turning = counter_read(&s->base.turning);
    return s->active == 0 && executor_outstanding(&s->base) == 0 && parking_free(&s->base) &&
           (turning == 0 || is_brief(m));
}

bool stepped_run_in_place(struct stepped *s, struct task *t)
{
    task_pass(t, TASK_OF_HOME, TASK_OF_EXECUTOR);
    t->executor = &s->base;
    if (!begin_steps(s, t, false))
        return false;
    task_pass(t, TASK_OF_EXECUTOR, TASK_OF_HOME);
    return true;
}

/* From the lane.  What nobody wants any more goes home as it is. */
static void start(struct stepped *s, struct task *t)
{
    struct executor *e = &s->base;
    executor_note_hand_over(e, t);
    if (!executor_begin(e, t)) {
        executor_trace(e, "drop", t);
    } else {
        executor_note_wait(e, &figures_of(t)->times, t);
        if (!begin_steps(s, t, true))
            return;
    }
    executor_publish(e, 1);
    send_home(s, t);
}

void stepped_drop(struct stepped *s, struct task *t)
{
    task_fail(t, ERGON_E_CANCELLED, NULL, (struct span){0});
    finish(s, t);
}

/* One that was woken sees the flag itself. */
static void drop_if_waiting(struct stepped *s, struct task *t)
{
    if (task_is(t, TASK_PARKED) && ao_state(&t->ao) == AO_STATE_SLEEPING)
        stepped_drop(s, t);
}

/* True: it has looked at all. */
static bool drop_flagged(struct stepped *s, unsigned *budget)
{
    struct task *t;
    while ((t = LIST_FIRST(&s->started))) {
        if (*budget == 0)
            return false;
        --*budget;
        LIST_REMOVE(t, living);
        LIST_INSERT_HEAD(&s->checked, t, living);
        if (task_flagged(t))
            drop_if_waiting(s, t);
    }
    LIST_MOVE(&s->started, &s->checked, living);
    return true;
}

/* Somebody's task was flagged, and nobody says whose. */
static void check_flags(struct stepped *s, unsigned *budget)
{
    if (atomic_exchange_explicit(&s->base.notified, false, memory_order_acq_rel)) {
        s->check_again = s->checks;
        s->checks = true;
    }
    if (!s->checks || !drop_flagged(s, budget))
        return;
    s->checks = s->check_again;
    s->check_again = false;
}

static void drop_unwanted(struct stepped *s, unsigned *budget)
{
    struct task *t;
    while (*budget > 0 && (t = LIST_POP(&s->home->unwanted, living))) {
        struct stepped *of = stepped_of(t->executor); /* of this loop */
        LIST_INSERT_HEAD(&of->started, t, living);
        drop_if_waiting(of, t);
        --*budget;
    }
}

/* Unwanted tasks, of which there may be many at once, are dropped a few a step. True: there are
 * more. */
static bool drop_some(struct stepped *s)
{
    unsigned budget = DROPS_A_STEP;
    drop_unwanted(s, &budget);
    check_flags(s, &budget);
    return s->checks || !LIST_EMPTY(&s->home->unwanted);
}

/* A task whose first step has used up the quantum ends this round, too: others have their turn. */
static bool took_long(struct stepped *s)
{
    return has_used(s, 0, start_budget) || s->turned == activator_rounds(s->base.activator) + 1;
}

/* True: it may start more in this round, since it has taken little time. */
static bool start_some(struct stepped *s)
{
    for (unsigned n = 0; n < STARTS_A_STEP && s->active == 0 && !took_long(s); n++) {
        struct lane_item *item = lane_take(&s->in);
        if (!item)
            break;
        start(s, ao_of(item, struct task, item));
    }
    lane_release(&s->in);
    return !took_long(s);
}

static enum ao_verdict stepped_step(struct ao *self)
{
    struct stepped *s = ao_of(self, struct stepped, ao);
    bool drops = drop_some(s);
    if (start_some(s) && s->active == 0 && has_more(s))
        ao_run_next(self);
    return drops || (s->active == 0 && has_more(s)) ? AO_AGAIN : AO_DONE;
}

static const struct ao_class stepped_class = {.name = "executor", .step = stepped_step};

/* --- As the tasks know it --- */

static uint64_t expects(const struct executor *e)
{
    return counter_read(&e->service_ns);
}

static void clear_all(struct executor *e)
{
    stepped_clear(stepped_of(e));
}

static void fini(struct executor *e)
{
    stepped_fini(stepped_of(e));
}

static const struct executor_class stepped_executor = {.name = "stepped",
                                                       .turns_after = BEHIND_QUANTUM,
                                                       .expects = expects,
                                                       .clear = clear_all,
                                                       .fini = fini};

int stepped_init(struct stepped *s, struct tasks_shared *shared, uint32_t index,
                 struct home **homes)
{
    struct executor *e = &s->base;
    e->cls = &stepped_executor;
    e->in = &s->in;
    e->out = s->out = task_lanes_new(shared_homes(shared));
    s->homes = homes;
    s->home = homes[shared->plan.executors[index].loop];
    LIST_INIT(&s->started);
    LIST_INIT(&s->checked);
    s->rested.run = take_calls_again;
    ao_init(&s->ao, &stepped_class, s->home->activator);
    e->handle = ao_handle_new(&s->ao);
    if (s->out && e->handle && executor_init(e, shared, index, s->home->activator) == 0 &&
        lane_init(&s->in, EXECUTOR_LANE_IN, shared->plan.manager, &s->ao) == 0)
        return 0;
    stepped_fini(s);
    return -1;
}

void stepped_fini(struct stepped *s)
{
    if (s->rested.armed)
        activator_forget_hook(s->home->activator, &s->rested);
    free_parties(s);
    task_lanes_free(s->out, s->base.home_count);
    task_lane_close(&s->in);
    executor_fini(&s->base);
    if (ao_state(&s->ao) == AO_STATE_ACTIVE)
        ao_deactivate(&s->ao);
    ao_fini(&s->ao);
    if (s->base.handle)
        ao_handle_unref(s->base.handle);
}

static void clear(struct task_list *list)
{
    struct task *t;
    while ((t = LIST_POP(list, living))) {
        if (ao_state(&t->ao) == AO_STATE_ACTIVE || ao_state(&t->ao) == AO_STATE_SLEEPING)
            ao_deactivate(&t->ao);
        nested_drop_all(t);
        task_drop_state(t);
        ao_fini(&t->ao);
        task_discard(t);
    }
}

void stepped_clear(struct stepped *s)
{
    clear(&s->started);
    clear(&s->checked);
    clear(&s->home->unwanted);
}
