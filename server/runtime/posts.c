/* Takes the requests that other threads posted, and serves or refuses them. */
#include "base/log.h"
#include "server/runtime/object/object.h"
#include "server/runtime/round.h"

static const char *post_name(enum ao_post post)
{
    switch (post) {
    case AO_POST_ACTIVATE:
        return "activate";
    case AO_POST_DEACTIVATE:
        return "deactivate";
    case AO_POST_WAKE:
        return "wake";
    case AO_POST_UNBLOCK:
        return "unblock";
    case AO_POST_MESSAGE:
        return "message";
    }
    return "unknown";
}

static int serve(struct ao *ao, enum ao_post post)
{
    switch (post) {
    case AO_POST_ACTIVATE:
        return ao_activate(ao);
    case AO_POST_DEACTIVATE:
        return ao_deactivate(ao);
    case AO_POST_WAKE:
        ao_wake(ao);
        return 0;
    case AO_POST_UNBLOCK:
        ao_unblock(ao);
        return 0;
    case AO_POST_MESSAGE:
        return object_message(ao);
    }
    return AO_E_STATE;
}

static int serve_closed(struct ao *ao, enum ao_post post)
{
    (void)ao;
    (void)post;
    return AO_E_CLOSED;
}

static void refuse(struct ao *ao, enum ao_post post, int error)
{
    /* It is normal that an activator closes while another one still posts. */
    LOG_AT(error == AO_E_CLOSED ? LOG_DEBUG : LOG_WARN, "request of another thread refused",
           LOG_STR("object", ao->cls->name), LOG_STR("request", post_name(post)),
           LOG_STR("reason", ao_error_text(error)));
    if (ao->cls->refused)
        ao->cls->refused(ao, post, error);
}

static uint32_t take_bits(struct ao_handle *handle)
{
    /* Acquire: what the poster wrote before.  Pairs with the release in ao_post().  The handle is
     * unlinked already: a post from here on pushes it again. */
    return atomic_exchange_explicit(&handle->posted, 0, memory_order_acq_rel);
}

/* A callback may retire the object, which still exists until the end of the round. */
static void take_entry(struct ao_handle *handle, int (*answer)(struct ao *, enum ao_post))
{
    struct ao *ao = handle->ao;
    uint32_t bits = take_bits(handle);
    for (unsigned post = AO_POST_ACTIVATE; ao && post <= AO_POST_MESSAGE; post <<= 1) {
        if (!(bits & post))
            continue;
        int error = answer(ao, (enum ao_post)post);
        if (error)
            refuse(ao, (enum ao_post)post, error);
    }
    ao_handle_unref(handle); /* the entry's */
}

static void take_all(struct activator *a, int (*answer)(struct ao *, enum ao_post))
{
    struct mpsc_item *item = mpsc_take(&a->inbox->entries);
    while (item) {
        struct mpsc_item *next = item->next;
        take_entry(ao_of(item, struct ao_handle, entry), answer);
        item = next;
    }
}

void posts_serve(struct activator *a)
{
    take_all(a, serve);
}

void posts_refuse(struct activator *a)
{
    take_all(a, serve_closed);
}
