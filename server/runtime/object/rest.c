/* How an object comes to rest, and what the verdict of a step leads to.  An object at rest waits
 * for nothing and holds nothing: its waits are ended, which may wake other objects. */
#include "server/runtime/object/object.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/log.h"
#include "server/runtime/state.h"
#include "server/runtime/sync/wait_internal.h"
#include "server/runtime/threads/post.h"

static void end_waits(struct ao *ao)
{
    ao->why = 0;
    if (ao->waits)
        ao_wait_cancelled(ao->waits);
}

static void rest(struct ao *ao, enum ao_state next, const char *cause)
{
    object_enter(ao, next, cause);
    end_waits(ao);
}

void object_fini(struct ao *ao)
{
    require(!(ao->flags & AO_FLAG_RETIRED), "the object was retired in its own first step");
    assert(ao->state == AO_STATE_INACTIVE && !object_is_stepped(ao) && !ao->waits);
    handle_detach(ao);
}

void ao_fini(struct ao *ao)
{
    require(ao->state == AO_STATE_INACTIVE || ao->state == AO_STATE_FAULTED,
            "the object is active or sleeps");
    /* The activator may have been freed, unless this thread runs it. */
    require(activator_current() != ao->home || !object_is_stepped(ao),
            "called from within the object's own step");
    require((ao->flags & (AO_FLAG_RETIRED | AO_FLAG_OVER)) != AO_FLAG_RETIRED,
            "the object is retired, which ends its use at the end of the round");
    assert(!ao->waits);
    handle_detach(ao);
}

int ao_deactivate(struct ao *ao)
{
    activator_assert_owner(ao->home);
    if (ao->state == AO_STATE_FAULTED)
        return AO_E_FAULTED;
    struct frame *frame = object_frame(ao);
    if (frame)
        frame->notes |= NOTE_GONE;
    if (ao->state != AO_STATE_INACTIVE)
        rest(ao, AO_STATE_INACTIVE, "deactivated");
    return 0;
}

enum ao_verdict ao_fault(struct ao *self, int code, const char *format, ...)
{
    require(object_is_stepped(self), "called outside of a step of the object");
    struct frame *frame = object_frame(self);
    if (frame) /* else the object deactivated itself before, and the fault is not reported */
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
    rest(ao, AO_STATE_INACTIVE, "reset");
    return 0;
}

void ao_retire(struct ao *ao)
{
    struct activator *a = ao->home;
    activator_assert_owner(a);
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

void object_finish(struct ao *ao)
{
    rest(ao, AO_STATE_INACTIVE, "activator closed");
}

static void settle_done(struct ao *ao, uint8_t notes)
{
    if (notes & NOTE_ACTIVATED)
        object_become_active(ao, AO_WHY_ACTIVATED, "activated");
    else if (ao->state != AO_STATE_INACTIVE)
        rest(ao, AO_STATE_INACTIVE, "done");
    else
        end_waits(ao);
}

static void settle_park(struct ao *ao, uint8_t notes)
{
    if (notes & (NOTE_WOKEN | NOTE_UNBLOCKED)) {
        object_become_active(ao, AO_WHY_WOKEN, "woken");
        return;
    }
    if (!(notes & NOTE_DEADLINE))
        ao->due = AO_NEVER;
    object_enter(ao, AO_STATE_SLEEPING, "until woken");
    if (notes & NOTE_BLOCKED)
        ao->flags |= AO_FLAG_BLOCKED;
}

static void settle_fault(struct ao *ao, uint8_t notes)
{
    struct fault fault = {.text = "no reason given"};
    if (notes & NOTE_FAULT)
        fault = ao->home->fault;
    rest(ao, AO_STATE_FAULTED, fault.text);
    log_error("object faulted", LOG_STR("object", ao->cls->name), LOG_INT("code", fault.code),
              LOG_STR("text", fault.text));
    if (ao->cls->faulted)
        ao->cls->faulted(ao, fault.code, fault.text);
}

void object_settle(struct ao *ao, enum ao_verdict verdict, uint8_t notes)
{
    if (notes & NOTE_GONE) {
        if (ao->state == AO_STATE_INACTIVE)
            end_waits(ao); /* those that it began after it had deactivated itself */
        return;
    }
    switch (verdict) {
    case AO_AGAIN:
        object_become_active(ao, 0, "again");
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
