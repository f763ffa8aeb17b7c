/* Changes of an object's state that activate it or put it to sleep; rest.c has those that bring it
 * to rest.  Every change passes object_enter(), which checks and traces it, and leaves and enters
 * the lists.  The callers decide which changes to refuse. */
#include "server/runtime/object/object.h"

#include "base/clock.h"

#include <stdio.h>

#include "base/check.h"
#include "server/runtime/object/trace.h"
#include "server/runtime/state.h"

static const char *const state_names[] = {"INACTIVE", "ACTIVE", "SLEEPING", "FAULTED"};

/* The states to which each state (row) may change; only ao_reset() leaves FAULTED. */
static const uint8_t moves[] = {
    [AO_STATE_INACTIVE] = 1 << AO_STATE_ACTIVE | 1 << AO_STATE_SLEEPING | 1 << AO_STATE_FAULTED,
    [AO_STATE_ACTIVE] = 1 << AO_STATE_INACTIVE | 1 << AO_STATE_SLEEPING | 1 << AO_STATE_FAULTED,
    [AO_STATE_SLEEPING] = 1 << AO_STATE_ACTIVE | 1 << AO_STATE_INACTIVE,
    [AO_STATE_FAULTED] = 1 << AO_STATE_INACTIVE,
};

static void trace_move(const struct ao *ao, enum ao_state next, const char *cause)
{
    const struct activator *a = ao->home;
    char due[48];
    if (next == AO_STATE_SLEEPING && ao->due != AO_NEVER) {
        ao_time left = ao->due > a->now ? ao->due - a->now : 0;
        snprintf(due, sizeof due, "due in %llu ms", (unsigned long long)(left / AO_MS(1)));
        cause = due;
    }
    trace_write(a->trace, a->now, ao->cls->name, ao->id, "%s -> %s (%s)", state_names[ao->state],
                state_names[next], cause);
}

static void untimed_append(struct activator *a, struct ao *ao)
{
    ao->flags |= AO_FLAG_UNTIMED;
    ao->next = NULL;
    ao->prev = a->untimed_last;
    if (ao->prev)
        ao->prev->next = ao;
    else
        a->untimed_first = ao;
    a->untimed_last = ao;
}

static void untimed_remove(struct activator *a, struct ao *ao)
{
    if (ao->prev)
        ao->prev->next = ao->next;
    else
        a->untimed_first = ao->next;
    if (ao->next)
        ao->next->prev = ao->prev;
    else
        a->untimed_last = ao->prev;
    ao->prev = ao->next = NULL;
}

static void leave_state(struct ao *ao)
{
    struct activator *a = ao->home;
    if (ao->state == AO_STATE_ACTIVE)
        dispatcher_remove(&a->dispatcher, ao);
    else if (ao->flags & AO_FLAG_TIMED)
        timer_cancel(&a->timer, ao);
    else if (ao->flags & AO_FLAG_UNTIMED)
        untimed_remove(a, ao);
    ao->flags &= (uint8_t) ~(AO_FLAG_TIMED | AO_FLAG_UNTIMED | AO_FLAG_BLOCKED);
}

void object_enter(struct ao *ao, enum ao_state next, const char *cause)
{
    struct activator *a = ao->home;
    activator_assert_owner(a);
    assert(moves[ao->state] & 1 << next);
    if (__builtin_expect(a->trace != NULL, 0))
        trace_move(ao, next, cause);
    leave_state(ao);
    ao->state = (uint8_t)next;
    switch (next) {
    case AO_STATE_ACTIVE:
        dispatcher_append(&a->dispatcher, ao);
        return;
    case AO_STATE_SLEEPING:
        if (ao->due != AO_NEVER) {
            ao->flags |= AO_FLAG_TIMED;
            timer_insert(&a->timer, ao);
        } else {
            untimed_append(a, ao);
        }
        return;
    case AO_STATE_INACTIVE:
    case AO_STATE_FAULTED:
        ao->why = 0;
        return;
    }
}

void object_become_active(struct ao *ao, enum ao_why why, const char *cause)
{
    ao->why |= (uint8_t)why;
    if (ao->state != AO_STATE_ACTIVE)
        object_enter(ao, AO_STATE_ACTIVE, cause);
}

/* True: the object is retired, or its activator closes; it never becomes active again. */
static bool is_ended(const struct ao *ao)
{
    return (ao->flags & AO_FLAG_RETIRED) || ao->home->closing;
}

/* A step is over once its object has deactivated itself, whatever the step still does. */
struct frame *object_frame(const struct ao *ao)
{
    for (struct frame *f = ao->home->frame; f; f = f->outer)
        if (f->ao == ao)
            return f->notes & NOTE_GONE ? NULL : f;
    return NULL;
}

bool object_is_stepped(const struct ao *ao)
{
    for (const struct frame *f = ao->home->frame; f; f = f->outer)
        if (f->ao == ao)
            return true;
    return false;
}

void ao_init(struct ao *ao, const struct ao_class *cls, struct activator *home)
{
    require(cls->step && cls->name, "the class lacks a step or a name");
    *ao = (struct ao){.cls = cls, .home = home};
    if (home->trace) /* Relaxed: it only makes unique numbers. */
        ao->id = 1 + atomic_fetch_add_explicit(&home->next_id, 1, memory_order_relaxed);
}

int ao_activate(struct ao *ao)
{
    activator_assert_owner(ao->home);
    if (ao->state == AO_STATE_FAULTED)
        return AO_E_FAULTED;
    if (is_ended(ao))
        return AO_E_CLOSED;
    if (ao->state == AO_STATE_SLEEPING)
        return AO_E_SLEEPING;
    struct frame *frame = object_frame(ao);
    if (frame)
        frame->notes |= NOTE_ACTIVATED;
    if (ao->state == AO_STATE_INACTIVE)
        object_become_active(ao, AO_WHY_ACTIVATED, "activated");
    return 0;
}

void ao_wake(struct ao *ao)
{
    activator_assert_owner(ao->home);
    struct frame *frame = object_frame(ao);
    if (frame) {
        frame->notes |= NOTE_WOKEN;
        frame->notes &= (uint8_t)~NOTE_DEADLINE;
    } else if (ao->state == AO_STATE_SLEEPING) {
        object_become_active(ao, AO_WHY_WOKEN, "woken");
    }
}

void ao_run_next(struct ao *ao)
{
    if (ao_activate(ao) == 0 && ao->state == AO_STATE_ACTIVE)
        dispatcher_run_next(&ao->home->dispatcher, ao);
}

void ao_stand_behind(struct ao *ao, struct behind *party)
{
    activator_assert_owner(ao->home);
    assert(ao->state == AO_STATE_ACTIVE);
    dispatcher_put_behind(&ao->home->dispatcher, ao, party);
}

void ao_disband(struct activator *a, struct behind *party)
{
    if (party->queued)
        dispatcher_forget(&a->dispatcher, party);
}

/* This uses the clock, and not the time of the round, which is earlier: no sleep is too short. */
int ao_sleep_for(struct ao *ao, ao_time duration)
{
    const struct ao_clock *clock = &ao->home->clock;
    return ao_sleep_until(ao, clock_after(clock->now(clock->arg), duration));
}

int ao_sleep_until(struct ao *ao, ao_time deadline)
{
    activator_assert_owner(ao->home);
    if (ao->state == AO_STATE_FAULTED)
        return AO_E_FAULTED;
    if (is_ended(ao))
        return AO_E_CLOSED;
    if (ao->state == AO_STATE_SLEEPING)
        return AO_E_SLEEPING;
    struct frame *frame = object_frame(ao);
    if (frame && frame->notes & NOTE_DEADLINE)
        return AO_E_TIMED;
    ao->due = deadline < AO_NEVER - AO_S(1) ? deadline : AO_NEVER;
    if (frame) {
        frame->notes |= NOTE_DEADLINE;
        frame->notes &= (uint8_t)~NOTE_WOKEN;
    } else {
        object_enter(ao, AO_STATE_SLEEPING, "until woken");
    }
    return 0;
}

bool ao_block(struct ao *self)
{
    struct frame *frame = object_frame(self);
    require(frame, "called outside of a step of the object");
    if (self->tokens) {
        self->tokens = 0;
        return false;
    }
    frame->notes |= NOTE_BLOCKED;
    frame->notes &= (uint8_t) ~(NOTE_WOKEN | NOTE_UNBLOCKED);
    return true;
}

void ao_unblock(struct ao *ao)
{
    activator_assert_owner(ao->home);
    struct frame *frame = object_frame(ao);
    if (frame && frame->notes & NOTE_BLOCKED) {
        frame->notes |= NOTE_UNBLOCKED;
        frame->notes &= (uint8_t)~NOTE_BLOCKED;
    } else if (ao->flags & AO_FLAG_BLOCKED) {
        object_become_active(ao, AO_WHY_WOKEN, "unblocked");
    } else {
        ao->tokens = 1;
    }
}

int object_message(struct ao *ao)
{
    if (ao->state == AO_STATE_FAULTED)
        return AO_E_FAULTED;
    if (is_ended(ao))
        return AO_E_CLOSED;
    object_become_active(ao, AO_WHY_MESSAGE, "message");
    return 0;
}

void object_expire(struct ao *ao)
{
    ao->flags &= (uint8_t)~AO_FLAG_TIMED;
    object_become_active(ao, AO_WHY_DUE, "due");
}

enum ao_state ao_state(const struct ao *ao)
{
    return (enum ao_state)ao->state;
}

unsigned ao_why(const struct ao *self)
{
    for (const struct frame *f = self->home->frame; f; f = f->outer)
        if (f->ao == self)
            return f->why;
    return 0;
}

struct ao *ao_current(void)
{
    const struct activator *a = activator_current();
    return a && a->frame ? a->frame->ao : NULL;
}

ao_time ao_now(const struct ao *ao)
{
    return ao->home->now;
}

const char *ao_error_text(int error)
{
    static const char *const texts[] = {
        [0] = "no error",
        [-AO_E_FAULTED] = "the object is faulted; its owner must reset it first",
        [-AO_E_SLEEPING] = "the object sleeps; only a wake or its deadline ends that",
        [-AO_E_TIMED] = "the object has a deadline already",
        [-AO_E_CLOSED] = "the activator, or what was waited for, is closed",
        [-AO_E_FULL] = "a bound is reached; try again later",
        [-AO_E_MEMORY] = "out of memory",
        [-AO_E_STATE] = "the object is not in a state in which this may be asked",
    };
    if (error > 0 || error < AO_E_STATE)
        return "unknown error";
    return texts[-error];
}
