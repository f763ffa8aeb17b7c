/* Home's side of the control inbox: takes what other threads asked, does it or refuses it. */
#include "base/log.h"
#include "server/runtime/object/object.h"
#include "server/runtime/round.h"

static const char *ask_name(enum ao_ask ask)
{
    switch (ask) {
    case AO_ASK_ACTIVATE:
        return "activate";
    case AO_ASK_DEACTIVATE:
        return "deactivate";
    case AO_ASK_WAKE:
        return "wake";
    case AO_ASK_UNBLOCK:
        return "unblock";
    case AO_ASK_MESSAGE:
        return "message";
    }
    return "unknown";
}

static int serve(struct ao *ao, enum ao_ask ask)
{
    switch (ask) {
    case AO_ASK_ACTIVATE:
        return ao_activate(ao);
    case AO_ASK_DEACTIVATE:
        return ao_deactivate(ao);
    case AO_ASK_WAKE:
        ao_wake(ao);
        return 0;
    case AO_ASK_UNBLOCK:
        ao_unblock(ao);
        return 0;
    case AO_ASK_MESSAGE:
        return object_message(ao);
    }
    return AO_E_STATE;
}

static int serve_closed(struct ao *ao, enum ao_ask ask)
{
    (void)ao;
    (void)ask;
    return AO_E_CLOSED;
}

static void refuse(struct ao *ao, enum ao_ask ask, int error)
{
    /* That an activator closes while another still asks is normal. */
    LOG_AT(error == AO_E_CLOSED ? LOG_DEBUG : LOG_WARN, "request of another thread refused",
           LOG_STR("object", ao->cls->name), LOG_STR("request", ask_name(ask)),
           LOG_STR("reason", ao_error_text(error)));
    if (ao->cls->refused)
        ao->cls->refused(ao, ask, error);
}

static uint32_t take_bits(struct ao_handle *handle)
{
    /* Acquire: what the asker wrote before.  Pairs with the release in ao_ask().  The handle is
     * unlinked already: who asks from here on pushes it again. */
    return atomic_exchange_explicit(&handle->asked, 0, memory_order_acq_rel);
}

/* A callback may retire the object, and even so it stands until the round's end. */
static void take_entry(struct ao_handle *handle, int (*answer)(struct ao *, enum ao_ask))
{
    struct ao *ao = handle->ao;
    uint32_t bits = take_bits(handle);
    for (unsigned ask = AO_ASK_ACTIVATE; ao && ask <= AO_ASK_MESSAGE; ask <<= 1) {
        if (!(bits & ask))
            continue;
        int error = answer(ao, (enum ao_ask)ask);
        if (error)
            refuse(ao, (enum ao_ask)ask, error);
    }
    ao_handle_drop(handle); /* the entry's */
}

static void take_all(struct activator *a, int (*answer)(struct ao *, enum ao_ask))
{
    struct mpsc_item *item = mpsc_take(&a->inbox->entries);
    while (item) {
        struct mpsc_item *next = item->next;
        take_entry(ao_of(item, struct ao_handle, entry), answer);
        item = next;
    }
}

void ask_serve(struct activator *a)
{
    take_all(a, serve);
}

void ask_refuse_all(struct activator *a)
{
    take_all(a, serve_closed);
}
