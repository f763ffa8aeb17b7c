/* Every change of an object's state passes ao_enter(), which checks, traces and does the work of
 * leaving and entering.  What the callers add is what they refuse. */
#include <ergon/ao.h>

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "server/runtime/state.h"
#include "server/runtime/trace.h"
#include "server/runtime/wait_internal.h"

static const char *const state_names[] = {"INACTIVE", "ACTIVE", "SLEEPING", "FAULTED"};

/* From a state (row) to which others; FAULTED is left by ao_reset() only. */
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

static void leave_state(struct ao *ao)
{
    struct activator *a = ao->home;
    if (ao->state == AO_STATE_ACTIVE)
        dispatcher_remove(&a->dispatcher, ao);
    else if (ao->flags & AO_FLAG_TIMED)
        timer_cancel(&a->timer, ao);
    ao->flags &= (uint8_t) ~(AO_FLAG_TIMED | AO_FLAG_BLOCKED);
}

static void come_to_rest(struct ao *ao)
{
    ao->why = 0;
    if (ao->waits)
        ao_wait_cancelled(ao->waits);
}

static void ao_enter(struct ao *ao, enum ao_state next, const char *cause)
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
        }
        return;
    case AO_STATE_INACTIVE:
    case AO_STATE_FAULTED:
        come_to_rest(ao);
        return;
    }
}

static void become_active(struct ao *ao, enum ao_why why, const char *cause)
{
    ao->why |= (uint8_t)why;
    if (ao->state != AO_STATE_ACTIVE)
        ao_enter(ao, AO_STATE_ACTIVE, cause);
}

static bool for_good(const struct ao *ao)
{
    return (ao->flags & AO_FLAG_RETIRED) || ao->home->closing;
}

/* A step that its object left by deactivation is over, whatever it still does. */
struct frame *ao_frame(const struct ao *ao)
{
    for (struct frame *f = ao->home->frame; f; f = f->outer)
        if (f->ao == ao)
            return f->notes & NOTE_GONE ? NULL : f;
    return NULL;
}

void ao_init(struct ao *ao, const struct ao_class *cls, struct activator *home)
{
    *ao = (struct ao){.cls = cls, .home = home};
    if (home->trace) /* Relaxed: numbers, in the order of asking. */
        ao->id = 1 + atomic_fetch_add_explicit(&home->next_id, 1, memory_order_relaxed);
}

void ao_fini(struct ao *ao)
{
    assert(ao->state == AO_STATE_INACTIVE || ao->state == AO_STATE_FAULTED);
    assert(!ao->waits);
    handle_detach(ao);
}

int ao_activate(struct ao *ao)
{
    activator_assert_owner(ao->home);
    if (ao->state == AO_STATE_FAULTED)
        return AO_E_FAULTED;
    if (for_good(ao))
        return AO_E_CLOSED;
    if (ao->state == AO_STATE_SLEEPING)
        return AO_E_SLEEPING;
    struct frame *frame = ao_frame(ao);
    if (frame)
        frame->notes |= NOTE_ACTIVATED;
    if (ao->state == AO_STATE_INACTIVE)
        become_active(ao, AO_WHY_ACTIVATED, "activated");
    return 0;
}

int ao_deactivate(struct ao *ao)
{
    activator_assert_owner(ao->home);
    if (ao->state == AO_STATE_FAULTED)
        return AO_E_FAULTED;
    struct frame *frame = ao_frame(ao);
    if (frame)
        frame->notes |= NOTE_GONE;
    if (ao->state != AO_STATE_INACTIVE)
        ao_enter(ao, AO_STATE_INACTIVE, "deactivated");
    return 0;
}

void ao_wake(struct ao *ao)
{
    activator_assert_owner(ao->home);
    struct frame *frame = ao_frame(ao);
    if (frame) {
        frame->notes |= NOTE_WOKEN;
        frame->notes &= (uint8_t)~NOTE_DEADLINE;
    } else if (ao->state == AO_STATE_SLEEPING) {
        become_active(ao, AO_WHY_WOKEN, "woken");
    }
}

int ao_sleep_for(struct ao *ao, ao_time duration)
{
    ao_time now = ao->home->now;
    return ao_sleep_until(ao, duration < AO_NEVER - now ? now + duration : AO_NEVER);
}

int ao_sleep_until(struct ao *ao, ao_time deadline)
{
    activator_assert_owner(ao->home);
    if (ao->state == AO_STATE_FAULTED)
        return AO_E_FAULTED;
    if (for_good(ao))
        return AO_E_CLOSED;
    if (ao->state == AO_STATE_SLEEPING)
        return AO_E_SLEEPING;
    struct frame *frame = ao_frame(ao);
    if (frame && frame->notes & NOTE_DEADLINE)
        return AO_E_TIMED;
    ao->due = deadline < AO_NEVER - AO_S(1) ? deadline : AO_NEVER;
    if (frame) {
        frame->notes |= NOTE_DEADLINE;
        frame->notes &= (uint8_t)~NOTE_WOKEN;
    } else {
        ao_enter(ao, AO_STATE_SLEEPING, "until woken");
    }
    return 0;
}

bool ao_block(struct ao *self)
{
    struct frame *frame = ao_frame(self);
    assert(frame);
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
    struct frame *frame = ao_frame(ao);
    if (frame && frame->notes & NOTE_BLOCKED) {
        frame->notes |= NOTE_UNBLOCKED;
        frame->notes &= (uint8_t)~NOTE_BLOCKED;
    } else if (ao->flags & AO_FLAG_BLOCKED) {
        become_active(ao, AO_WHY_WOKEN, "unblocked");
    } else {
        ao->tokens = 1;
    }
}

enum ao_verdict ao_fault(struct ao *self, int code, const char *format, ...)
{
    struct frame *frame = ao_frame(self);
    if (frame) /* else it has deactivated itself before, and nobody will hear of it */
        frame->notes |= NOTE_FAULT;
    struct fault *fault = &self->home->fault;
    fault->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return AO_FAULT;
}

int ao_reset(struct ao *ao)
{
    if (ao->state != AO_STATE_FAULTED)
        return AO_E_STATE;
    ao->tokens = 0;
    ao_enter(ao, AO_STATE_INACTIVE, "reset");
    return 0;
}

void ao_retire(struct ao *ao)
{
    struct activator *a = ao->home;
    if (ao->flags & AO_FLAG_RETIRED)
        return;
    if (ao->state != AO_STATE_FAULTED)
        ao_deactivate(ao);
    ao->flags |= AO_FLAG_RETIRED;
    ao->next = NULL;
    if (a->retired_first)
        a->retired_last->next = ao;
    else
        a->retired_first = ao;
    a->retired_last = ao;
}

int ao_message(struct ao *ao)
{
    if (ao->state == AO_STATE_FAULTED)
        return AO_E_FAULTED;
    if (for_good(ao))
        return AO_E_CLOSED;
    become_active(ao, AO_WHY_MESSAGE, "message");
    return 0;
}

void ao_expire(struct ao *ao)
{
    ao->flags &= (uint8_t)~AO_FLAG_TIMED;
    become_active(ao, AO_WHY_DUE, "due");
}

void ao_finish(struct ao *ao)
{
    ao_enter(ao, AO_STATE_INACTIVE, "activator closed");
}

static void settle_done(struct ao *ao, uint8_t notes)
{
    if (notes & NOTE_ACTIVATED)
        become_active(ao, AO_WHY_ACTIVATED, "activated");
    else if (ao->state != AO_STATE_INACTIVE)
        ao_enter(ao, AO_STATE_INACTIVE, "done");
    else
        come_to_rest(ao);
}

static void settle_park(struct ao *ao, uint8_t notes)
{
    if (notes & (NOTE_WOKEN | NOTE_UNBLOCKED)) {
        become_active(ao, AO_WHY_WOKEN, "woken");
        return;
    }
    if (!(notes & NOTE_DEADLINE))
        ao->due = AO_NEVER;
    ao_enter(ao, AO_STATE_SLEEPING, "until woken");
    if (notes & NOTE_BLOCKED)
        ao->flags |= AO_FLAG_BLOCKED;
}

static void settle_fault(struct ao *ao, uint8_t notes)
{
    struct fault fault = {.text = "no reason given"};
    if (notes & NOTE_FAULT)
        fault = ao->home->fault;
    ao_enter(ao, AO_STATE_FAULTED, fault.text);
    log_error("object faulted", LOG_STR("object", ao->cls->name), LOG_INT("code", fault.code),
              LOG_STR("text", fault.text));
    if (ao->cls->faulted)
        ao->cls->faulted(ao, fault.code, fault.text);
}

void ao_settle(struct ao *ao, enum ao_verdict verdict, uint8_t notes)
{
    if (notes & NOTE_GONE) {
        if (ao->state == AO_STATE_INACTIVE)
            come_to_rest(ao); /* from what it acquired after it had deactivated itself */
        return;
    }
    switch (verdict) {
    case AO_AGAIN:
        become_active(ao, 0, "again");
        return;
    case AO_DONE:
        settle_done(ao, notes);
        return;
    case AO_PARK:
        settle_park(ao, notes);
        return;
    case AO_FAULT:
        settle_fault(ao, notes);
        return;
    }
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
