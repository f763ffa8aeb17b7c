/* Runs the steps of objects, and measures them.  Without a step limit no clock is read; with a
 * limit, it is read once per step. */
#include "base/check.h"
#include "base/log.h"
#include "base/recorder.h"
#include "server/runtime/object/object.h"
#include "server/runtime/round.h"

static ao_time step_clock(const struct activator *a)
{
    return a->clock.coarse(a->clock.arg);
}

static void mark_step(struct activator *a, const struct frame *frame)
{
    atomic_store_explicit(&a->counters.since, frame->began, memory_order_relaxed);
    /* Release: orders `since` before it.  Otherwise the first step after a long pause would seem as
     * old as the last one.  Pairs with the acquire in activator_stuck(). */
    atomic_store_explicit(&a->counters.stepping, frame->ao->cls, memory_order_release);
}

static void unmark_step(struct activator *a)
{
    atomic_store_explicit(&a->counters.stepping, NULL, memory_order_relaxed);
}

static void report_long(struct activator *a, const struct ao_class *cls, ao_time took)
{
    counter_add(&a->counters.long_steps, 1);
    recorder_note(a->recorder, RECORDER_LONG_STEP, took);
    log_warn("step too long", LOG_STR("activator", a->name), LOG_STR("object", cls->name),
             LOG_STR("detail", cls->detail), LOG_NS("took", took), LOG_NS("limit", a->step_limit));
}

/* With a coarse clock this is called for few steps: those in which the clock ticked. */
__attribute__((noinline)) static void note_time(struct activator *a, const struct ao_class *cls,
                                                ao_time took)
{
    if (took > a->longest)
        a->longest = took;
    if (took > a->step_limit)
        report_long(a, cls, took);
}

static inline enum ao_verdict run_step(struct frame *frame, struct ao *ao)
{
    frame->ao = ao;
    frame->notes = 0;
    frame->why = ao->why;
    if (ao->why) /* written only if needed, so that the cache line stays clean */
        ao->why = 0;
    return ao->cls->step(ao);
}

/* frame->began is set by the caller; the end of this step is the beginning of the next.  The time
 * of inner steps does not count here, since they moved `began`. */
static enum ao_verdict run_measured(struct activator *a, struct frame *frame, struct ao *ao)
{
    const struct ao_class *cls = ao->cls;
    frame->ao = ao;
    frame->handed_on = false;
    mark_step(a, frame);
    enum ao_verdict verdict = run_step(frame, ao);
    ao_time end = step_clock(a);
    if (end != frame->began)
        note_time(a, cls, end - frame->began);
    frame->began = end;
    return verdict;
}

static void settle(struct frame *frame, enum ao_verdict verdict)
{
    struct ao *ao = frame->ao;
    frame->ao = NULL; /* callbacks run outside of the step */
    object_settle(ao, verdict, frame->notes);
}

static inline struct ao *next_in_turn(struct activator *a)
{
    if (!SLIST_EMPTY(&a->local))
        lanes_run_next(a);
    return dispatcher_next(&a->dispatcher);
}

static uint64_t walk(struct activator *a, struct frame *frame)
{
    uint64_t n = 0;
    struct ao *ao;
    for (; (ao = next_in_turn(a)); n++) {
        enum ao_verdict verdict = run_step(frame, ao);
        if (verdict != AO_AGAIN || frame->notes & NOTE_GONE)
            settle(frame, verdict);
    }
    return n;
}

static uint64_t walk_measured(struct activator *a, struct frame *frame)
{
    uint64_t n = 0;
    struct ao *ao;
    frame->began = step_clock(a);
    for (; (ao = next_in_turn(a)); n++) {
        enum ao_verdict verdict = run_measured(a, frame, ao);
        if (verdict != AO_AGAIN || frame->notes & NOTE_GONE)
            settle(frame, verdict);
    }
    unmark_step(a);
    return n;
}

void step_round(struct activator *a)
{
    if (!a->dispatcher.count)
        return;
    struct frame frame = {0};
    a->frame = &frame;
    dispatcher_begin(&a->dispatcher);
    a->steps += a->step_limit ? walk_measured(a, &frame) : walk(a, &frame);
    dispatcher_end(&a->dispatcher);
    a->frame = NULL;
}

static ao_time exact_clock(const struct activator *a)
{
    return a->clock.now(a->clock.arg);
}

/* The clock is read after each step, since these steps are few and long. */
void step_behind(struct activator *a)
{
    struct dispatcher *d = &a->dispatcher;
    if (!dispatcher_any_behind(d))
        return;
    struct frame frame = {0};
    struct ao *ao;
    ao_time began = exact_clock(a);
    a->frame = &frame;
    frame.began = a->step_limit ? step_clock(a) : 0;
    dispatcher_begin_behind(d);
    while ((ao = dispatcher_next_behind(d))) {
        enum ao_verdict verdict =
            a->step_limit ? run_measured(a, &frame, ao) : run_step(&frame, ao);
        if (verdict != AO_AGAIN || frame.notes & NOTE_GONE)
            settle(&frame, verdict);
        a->steps++;
        if (exact_clock(a) - began >= BEHIND_QUANTUM)
            break;
    }
    dispatcher_end_behind(d);
    unmark_step(a);
    a->frame = NULL;
}

/* From the second inner step on, each begins where the one before it ended: only a hand-over is
 * between them, and reading the clock would cost as much as a brief handler. */
static ao_time inner_begins(const struct activator *a, const struct frame *outer)
{
    return outer && outer->handed_on ? outer->began : step_clock(a);
}

/* The outer step continues; time counts for it again, until the next inner step. */
static void resume_outer(struct activator *a, struct frame *outer, ao_time now)
{
    if (!outer || !outer->ao) {
        unmark_step(a);
        return;
    }
    outer->began = now;
    outer->handed_on = true;
    mark_step(a, outer);
}

/* The common cases, in which object_settle() would do nothing. */
static inline bool as_before(const struct ao *ao, enum ao_verdict verdict, uint8_t notes)
{
    if (verdict == AO_AGAIN)
        return ao->state == AO_STATE_ACTIVE;
    return verdict == AO_DONE && ao->state == AO_STATE_INACTIVE && !notes && !ao->waits;
}

enum ao_state activator_step_now(struct activator *a, struct ao *ao)
{
    require(ao->home == a, "the object lives on another activator");
    require(ao->state == AO_STATE_INACTIVE || ao->state == AO_STATE_ACTIVE,
            "the object sleeps or is faulted");
    require(!object_is_stepped(ao), "the object is being stepped");
    struct frame frame = {.outer = a->frame};
    enum ao_verdict verdict;
    a->frame = &frame;
    a->steps++;
    if (a->step_limit) {
        frame.began = inner_begins(a, frame.outer);
        verdict = run_measured(a, &frame, ao);
        resume_outer(a, frame.outer, frame.began);
    } else {
        verdict = run_step(&frame, ao);
    }
    a->frame = frame.outer;
    if (!as_before(ao, verdict, frame.notes))
        object_settle(ao, verdict, frame.notes);
    return (enum ao_state)ao->state;
}
