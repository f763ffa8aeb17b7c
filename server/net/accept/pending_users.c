#include "server/net/accept/pending_users.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/peer.h"

static const char is_full[] = "the limit of connections is reached (limits.connections)";
static const char too_many_wait[] =
    "too many connections wait for their users' names (limits.connections)";
static const char too_late[] =
    "the system did not say in time what its user is called (limits.auth_timeout)";
static const char no_name[] = "the system does not say what its user is called";
static const char stops[] = "the server stops";

enum stage { UNASKED, ASKED, READY };

struct name_wait {
    TAILQ_ENTRY(name_wait) in_all;
    TAILQ_ENTRY(name_wait) in_stage; /* but for ASKED */
    struct origin_member of_user;    /* the youngest first */
    struct origin *user;
    struct listener *listener;
    const char *why; /* it is to be refused; constant.  NULL: it is not */
    ao_time since;
    int fd;
    uint32_t uid;
    enum stage stage;
};

void pending_users_init(struct pending_users *n, const uint64_t seed[2])
{
    TAILQ_INIT(&n->all);
    TAILQ_INIT(&n->unasked);
    TAILQ_INIT(&n->ready);
    origins_init(&n->users, seed);
}

static struct name_waits *queue_of(struct pending_users *n, enum stage stage)
{
    return stage == UNASKED ? &n->unasked : stage == READY ? &n->ready : NULL;
}

/* Out of its queue, into the other one, before `next` (NULL: at its end). */
static void change(struct pending_users *n, struct name_wait *w, enum stage stage,
                   struct name_wait *next)
{
    struct name_waits *from = queue_of(n, w->stage), *to = queue_of(n, stage);

    if (from != NULL)
        TAILQ_REMOVE(from, w, in_stage);
    w->stage = stage;
    if (to != NULL && next == NULL)
        TAILQ_INSERT_TAIL(to, w, in_stage);
    else if (to != NULL)
        TAILQ_INSERT_BEFORE(next, w, in_stage);
}

/* It waits no more, and is counted no more; its socket is the caller's. */
static void leave(struct pending_users *n, struct name_wait *w)
{
    assert(n->count > 0 && w->listener->rules.open > 0);
    change(n, w, ASKED, NULL);
    TAILQ_REMOVE(&n->all, w, in_all);
    TAILQ_REMOVE(&w->user->members, &w->of_user, link);
    origins_leave(&n->users, w->user);
    w->listener->rules.open--;
    n->count--;
    free(w);
}

static void refuse_user(const struct listener *l, int fd, uint32_t uid, const char *why)
{
    slot_refuse_peer(&l->rules, fd, caller_of_user(uid, NULL).peer, why);
}

static void refuse_wait(struct acceptor *a, struct name_wait *w, const char *why)
{
    const struct listener *l = w->listener;
    int fd = w->fd;
    uint32_t uid = w->uid;

    leave(&a->pending_users, w);
    refuse_user(l, fd, uid, why);
}

/* Of those that come first, as many as there may be questions. */
static void ask_some(struct acceptor *a)
{
    struct name_wait *w;

    while ((w = TAILQ_FIRST(&a->pending_users.unasked)) != NULL && users_ask(a->users, w->uid))
        change(&a->pending_users, w, ASKED, NULL);
}

/* --- Places --- */

static struct name_wait *youngest(const struct origin *user)
{
    return ao_of(TAILQ_FIRST(&user->members), struct name_wait, of_user);
}

/* Closes one of the user that has the most, and more than `count`. */
static bool close_one(struct acceptor *a, uint32_t count)
{
    const struct origin *most = origins_largest(&a->pending_users.users);

    if (most == NULL || most->count <= count)
        return false;
    refuse_wait(a, youngest(most), too_many_wait);
    return true;
}

bool pending_users_evict(struct acceptor *a, uint32_t count)
{
    return pending_users_places(&a->pending_users) > 0 && close_one(a, count);
}

static bool has_room(struct acceptor *a, uint32_t uid)
{
    const struct pending_users *n = &a->pending_users;
    const struct origin *user = origins_find(&n->users, peer_key_of_user(uid));

    return n->count < PENDING_USERS_MORE || acceptor_has_room(a) ||
           close_one(a, user == NULL ? 1 : user->count + 1);
}

/* --- Their life --- */

/* NULL without memory. */
static struct name_wait *wait_new(struct listener *l, int fd, uint32_t uid)
{
    struct acceptor *a = l->acceptor;
    struct name_wait *w = malloc(sizeof *w);
    struct origin *user =
        w == NULL ? NULL : origins_join(&a->pending_users.users, peer_key_of_user(uid));

    if (user == NULL) {
        free(w);
        return NULL;
    }
    *w = (struct name_wait){.user = user,
                            .listener = l,
                            .since = activator_clock(a->activator),
                            .fd = fd,
                            .uid = uid,
                            .stage = ASKED};
    return w;
}

void pending_users_wait(struct listener *l, int fd, uint32_t uid)
{
    struct acceptor *a = l->acceptor;
    struct pending_users *n = &a->pending_users;
    const char *why = slot_over_limit(l, peer_key_of_user(uid));

    if (why == NULL && !has_room(a, uid))
        why = too_many_wait;
    struct name_wait *w = why == NULL ? wait_new(l, fd, uid) : NULL;
    if (w == NULL) {
        refuse_user(l, fd, uid, why == NULL ? "out of memory" : why);
        return;
    }
    TAILQ_INSERT_TAIL(&n->all, w, in_all);
    TAILQ_INSERT_HEAD(&w->user->members, &w->of_user, link);
    l->rules.open++;
    n->count++;
    change(n, w, UNASKED, NULL);
    ask_some(a);
}

static void make_ready(struct pending_users *n, const struct origin *user, const char *why)
{
    const struct origin_member *member;
    struct name_wait *next = NULL;

    TAILQ_FOREACH(member, &user->members, link)
    {
        struct name_wait *w = ao_of(member, struct name_wait, of_user);
        if (w->stage == READY)
            continue;
        w->why = why;
        change(n, w, READY, next);
        next = w; /* that which came before it goes on before it */
    }
}

void pending_users_answered(struct acceptor *a, struct loop_message *answer)
{
    ao_time now = activator_clock(a->activator);
    uint32_t uid;

    if (users_ask_again(a->users, answer))
        return;
    const char *why = users_answered(a->users, answer, now, &uid) == NULL ? no_name : NULL;
    const struct origin *user = origins_find(&a->pending_users.users, peer_key_of_user(uid));
    if (user != NULL)
        make_ready(&a->pending_users, user, why);
    ask_some(a);
}

static ao_time end_of(const struct acceptor *a, const struct name_wait *w)
{
    return w->since + (a->limits.auth_timeout > 0 ? a->limits.auth_timeout : NAME_WAIT);
}

/* NULL: none has waited for too long. */
static struct name_wait *first_late(const struct acceptor *a, ao_time now)
{
    struct name_wait *w = TAILQ_FIRST(&a->pending_users.all);

    return w != NULL && (a->draining || end_of(a, w) <= now) ? w : NULL;
}

static const char *reason(const struct acceptor *a, const struct name_wait *w)
{
    if (a->draining)
        return stops;
    return w->stage == READY ? is_full : too_late;
}

static bool may_go_on(const struct acceptor *a, const struct name_wait *w, bool may_request)
{
    return w != NULL && !a->draining && (w->why != NULL || may_request);
}

/* One that is ready.  True: it has its name, and is the caller's. */
static bool go_on(struct acceptor *a, struct name_wait *w, ao_time now, struct named *out)
{
    const char *name = w->why == NULL ? users_find(a->users, w->uid, now) : NULL;

    assert(w->stage == READY);
    if (w->why != NULL) {
        refuse_wait(a, w, w->why);
    } else if (name == NULL) { /* others have come in between, or all names were forgotten */
        change(&a->pending_users, w, UNASKED, NULL);
        ask_some(a);
    } else {
        *out = (struct named){.listener = w->listener, .fd = w->fd, .uid = w->uid, .name = name};
        leave(&a->pending_users, w);
        return true;
    }
    return false;
}

enum pending_users_did pending_users_step(struct acceptor *a, bool may_request, struct named *out)
{
    ao_time now = activator_clock(a->activator);
    struct name_wait *late = first_late(a, now), *w = TAILQ_FIRST(&a->pending_users.ready);

    if (may_go_on(a, w, may_request))
        return go_on(a, w, now, out) ? PENDING_USERS_NAMED : PENDING_USERS_SOME;
    if (late == NULL)
        return PENDING_USERS_NOTHING;
    refuse_wait(a, late, reason(a, late));
    return PENDING_USERS_SOME;
}

ao_time pending_users_next(const struct acceptor *a, bool may_request)
{
    const struct name_wait *first = TAILQ_FIRST(&a->pending_users.all);

    if (a->draining && first != NULL)
        return 0;
    if (may_go_on(a, TAILQ_FIRST(&a->pending_users.ready), may_request))
        return 0;
    return first == NULL ? AO_NEVER : end_of(a, first);
}

void pending_users_drop(struct acceptor *a)
{
    struct name_wait *w;

    while ((w = TAILQ_FIRST(&a->pending_users.all)) != NULL) {
        close(w->fd);
        leave(&a->pending_users, w);
    }
    assert(a->pending_users.count == 0);
    origins_fini(&a->pending_users.users);
}
