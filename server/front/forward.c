/* The client side of a front: set-up, changes of the owner, and patience. */
#include <stdio.h>
#include <stdlib.h>

#include "base/chance.h"
#include "server/front/forward_private.h"

/* --- Changes of the owner, and patience --- */

/* Its session goes on only if it is connected to the owner. */
static void move(struct front *r)
{
    r->retry_at = r->pause = 0;
    if (r->client && (r->connecting || r->session.state != OUTGOING_IDLE) &&
        r->version != r->forward->place.version)
        outgoing_lose(&r->session, "another node owns them now");
    if (r->client && r->pendings.count > 0 && !session_takes(r))
        session_seek(r);
}

/* Of a client that waits for an owner. */
static void look_at(struct front *r)
{
    struct forward *f = r->forward;

    if (r->pendings.count == 0) {
        session_await_no_more(r);
        return;
    }
    if (session_takes(r))
        return;
    if (forward_serves_itself(f))
        front_serve_here(r);
    else
        front_lose_patience(r);
    if (r->pendings.count > 0)
        session_seek(r);
}

static void look_at_place(struct forward *f)
{
    struct owner_place place;
    struct front *r, *next;

    owner_finder_get(f->options.finder, &place);
    if (place.version == f->place.version)
        return;
    if (owner_place_same(&f->place, &place))
        place.version = f->place.version ? f->place.version : place.version;
    bool moved = place.version != f->place.version;
    f->place = place;
    if (!moved)
        return;
    f->unreachable = false;
    f->pause = 0;
    f->why[0] = '\0';
    for (r = LIST_FIRST(&f->fronts); r; r = next) {
        next = LIST_NEXT(r, link);
        move(r);
    }
}

/* --- The server drains --- */

/* The end of its connection says it to the owner. */
static void drain(struct front *r)
{
    struct pending *e, *next;

    for (e = TAILQ_FIRST(&r->pendings.all); e; e = next) {
        next = TAILQ_NEXT(e, next);
        if (passing_only_waits((enum passing)e->passing, e->polls))
            front_answer(r, e, ERGON_E_DRAINING, error_meaning(ERGON_E_DRAINING));
    }
}

static void drain_all(struct forward *f)
{
    struct front *r;

    if (!atomic_load_explicit(&f->rpc->shared->draining, memory_order_relaxed))
        return;
    LIST_FOREACH(r, &f->fronts, link)
    drain(r);
}

/* --- The clock --- */

static enum ao_verdict clock_step(struct ao *self)
{
    struct forward *f = ao_of(self, struct forward, clock);
    struct front *r, *next;
    uint64_t waiting = 0;

    look_at_place(f);
    drain_all(f);
    for (r = TAILQ_FIRST(&f->waiting); r; r = next) {
        next = TAILQ_NEXT(r, turn);
        look_at(r);
        if (r->waits)
            waiting += r->pendings.count;
    }
    counter_set(&f->stats.waiting, waiting);
    stock_tend(f);
    if (TAILQ_EMPTY(&f->waiting))
        return AO_DONE;
    ao_sleep_for(&f->clock, FRONT_TICK);
    return AO_PARK;
}

/* --- Set-up --- */

static const struct ao_class clock_class = {.name = "front", .step = clock_step};

static struct tls_context *open_tls(struct forward *f, char *error, size_t size)
{
    f->tls = tls_loop_new(f->activator, NULL);
    return tls_context_new_client(f->tls, f->options.tls, error, size);
}

struct forward *forward_new(const struct forward_options *options, char *error, size_t size)
{
    struct forward *f = calloc(1, sizeof *f);
    struct tls_context *tls = NULL;

    snprintf(error, size, "out of memory");
    if (!f)
        return NULL;
    f->options = *options;
    f->rpc = options->rpc;
    f->activator = options->rpc->activator;
    f->limits = (struct scan_limits){.message_max = UINT32_MAX, .depth_max = SCAN_DEPTH_CAP};
    LIST_INIT(&f->fronts);
    LIST_INIT(&f->stock);
    TAILQ_INIT(&f->waiting);
    chance_bytes(&f->next_identity, sizeof f->next_identity);
    f->next_identity |= UINT64_C(1) << 63; /* clients that count from 1 never reach it */
    if (options->first_identity > 0)
        f->next_identity = options->first_identity;
    ao_init(&f->clock, &clock_class, f->activator);
    f->handle = ao_handle_new(&f->clock);
    bool good = f->handle != NULL;
    if (good)
        owner_finder_tell(options->finder, ao_handle_ref(f->handle));
    if (good && options->tls && options->tls->cert)
        good = (tls = open_tls(f, error, size)) != NULL;
    if (good && outgoing_loop_init(&f->sessions, f->activator, options->poller, &f->limits, tls)) {
        f->sessions.open = options->open;
        f->rpc->remote = &forward_remote;
        f->rpc->remote_arg = f;
        f->rpc->forwarded = &f->stats;
        return f;
    }
    forward_free(f);
    return NULL;
}

bool forward_reload(struct forward *f, char *error, size_t size)
{
    struct tls_context *tls;

    if (!f->tls)
        return true;
    tls = tls_context_new_client(f->tls, f->options.tls, error, size);
    if (tls)
        outgoing_loop_set_tls(&f->sessions, tls);
    return tls != NULL;
}

void forward_drain(struct forward *f)
{
    ao_post(f->handle, AO_POST_MESSAGE);
}

void forward_free(struct forward *f)
{
    struct front *r;

    if (!f)
        return;
    while ((r = LIST_FIRST(&f->stock)) != NULL || (r = LIST_FIRST(&f->fronts)) != NULL) {
        outgoing_fini(&r->session);
        front_free(r);
    }
    outgoing_loop_fini(&f->sessions);
    tls_loop_free(f->tls);
    if (ao_state(&f->clock) != AO_STATE_INACTIVE)
        ao_deactivate(&f->clock);
    if (f->handle)
        ao_handle_unref(f->handle);
    ao_fini(&f->clock);
    free(f);
}
