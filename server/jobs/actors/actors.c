#include "server/jobs/actors/actors.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/actors/failures.h"
#include "server/jobs/actors/residents.h"
#include "server/jobs/actors/watchers.h"
#include "server/jobs/core/names.h"
#include "server/jobs/accessors.h"

enum { PASSIVATE_WORK = 2 /* see jobs_worked() */ };

const char *const actor_stage_names[] = {
    [ACTOR_ACTIVE] = "active", [ACTOR_SLEEPING] = "sleeping", [ACTOR_STOPPED] = "stopped"};

enum actor_stage actor_stage(const struct actor *a)
{
    const struct actor_more *more = a->more;
    if (more && more->stopped)
        return ACTOR_STOPPED;
    return more && (more->head || more->out > 0) ? ACTOR_ACTIVE : ACTOR_SLEEPING;
}

struct span message_actor(const struct job *job)
{
    const struct actor *a = job_message(job)->actor;
    return a ? actor_name(a) : (struct span){0};
}

enum job_reason message_reason(const struct job *job)
{
    const struct actor *a = job_message(job)->actor;
    return a && a->more && a->more->stopped ? JOB_WHY_STOPPED : JOB_WHY_ACTOR;
}

/* --- Idle actors leave memory --- */

/* One that jobs refer to stays by its name. */
static void leave_memory(struct actor *a)
{
    if (a->jobs == 0) {
        actor_forget(a);
        return;
    }
    residents_remove_idle(a);
    actor_set_state(a, NULL, 0);
    a->version = 0;
    a->residence = ACTOR_AWAY;
    residents_weigh(a);
}

/* Of many that became idle together some go in each step. */
static enum ao_verdict idle_step(struct ao *self)
{
    enum { BUDGET = 256 };
    struct actor_type *type = ao_of(self, struct actor_type, timer);
    ao_time now = table_now(jobs_table(type->actors->jobs));
    for (int budget = BUDGET; type->first && residents_go_at(type->first) <= now;)
        if (budget-- == 0)
            return AO_AGAIN;
        else
            leave_memory(type->first);
    if (!type->first)
        return AO_DONE;
    ao_sleep_until(self, residents_go_at(type->first));
    return AO_PARK;
}

const struct ao_class actors_idle_class = {.name = "idle actors", .step = idle_step};

/* False: none is left that may go. */
static bool passivate_one(struct actors *actors)
{
    struct actor *oldest = residents_oldest_copy(actors);
    if (!oldest)
        return false;
    jobs_worked(actors->jobs, PASSIVATE_WORK);
    counter_add(&actors->shown.passivated, 1);
    leave_memory(oldest);
    return true;
}

bool actors_make_room(struct actors *actors, const struct tenant *tenant, size_t bytes,
                      struct refusal *why)
{
    while (residents_are_over(actors, bytes) && passivate_one(actors))
        ;
    return residents_have_room(actors, tenant, bytes, why);
}

bool actors_trim(struct actors *actors)
{
    while (residents_are_over(actors, 0)) {
        if (!jobs_have_time(actors->jobs))
            return false;
        if (!passivate_one(actors))
            return true;
    }
    return true;
}

/* --- Made --- */

static struct actor *make(struct actors *actors, struct actor_type *type, struct tenant *tenant,
                          struct span name, uint64_t hash)
{
    struct actor *a = cells_take(&actors->cells, actor_size(name.len));
    if (!a)
        return NULL;
    *a = (struct actor){.type = type, .tenant = tenant, .name_len = (uint8_t)name.len};
    a->residence = actor_is_durable(a) ? ACTOR_AWAY : ACTOR_HERE;
    memcpy(a->name, name.at, name.len);
    a->by_name.hash = hash;
    hash_add(&actors->by_name, &a->by_name);
    tenant->jobs++;
    counter_add(&type->count, 1);
    residents_weigh(a);
    return a;
}

/* Jobs that were open in the store, of which each may be a message to another actor. */
static uint32_t open_at_most(const struct job_table *table)
{
    enum { MOST = 1 << 22 };
    uint64_t open = table->durable.submitted;
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        open -= table->durable.ended[state];
    return open < MOST ? (uint32_t)open : MOST;
}

struct actor *actor_recovered(struct actors *actors, struct actor_type *type, struct tenant *tenant,
                              struct span name, uint64_t hash)
{
    if (actors->by_name.count == 0)
        hash_reserve(&actors->by_name, open_at_most(jobs_table(actors->jobs)));
    struct actor *a = actor_find_hashed(actors, tenant, name, hash);
    return a ? a : make(actors, type, tenant, name, hash);
}

struct actor *actor_get(struct actor *found, struct actor_type *type, struct tenant *tenant,
                        struct span name, bool room, struct refusal *why)
{
    enum { ROOM = 512 /* of one without a state */ };
    bool is_here = found && found->residence == ACTOR_HERE;
    if (room && !is_here && !actors_make_room(type->actors, tenant, ROOM, why))
        return NULL;
    struct actor *a =
        found ? found
              : make(type->actors, type, tenant, name, actor_hash(type->actors, tenant, name));
    if (!a)
        refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
    return a;
}

/* --- The state --- */

/* As it is, where it has the right size. */
static uint8_t *cell_for(struct actor *a, size_t len)
{
    if (a->own_len > 0 && cell_size(a->own_len) == cell_size(len))
        return a->state.own;
    return cells_take(&a->type->actors->cells, len);
}

static void drop_state(struct actor *a)
{
    if (a->own_len > 0)
        cells_give(&a->type->actors->cells, a->state.own, a->own_len);
    else
        blob_unref(a->state.shared);
    a->own_len = 0;
    a->state.shared = NULL;
}

void actor_set_state(struct actor *a, struct blob *state, uint32_t schema)
{
    size_t len = state ? state->len : 0;
    uint8_t *own = len > 0 && len <= UINT8_MAX ? cell_for(a, len) : NULL;
    bool stays = own && a->own_len > 0 && own == a->state.own;
    if (!stays)
        drop_state(a);
    if (own) {
        memcpy(own, state->at, len);
        blob_unref(state);
        a->state.own = own;
        a->own_len = (uint8_t)len;
    } else {
        a->state.shared = state;
    }
    a->schema = state ? schema : 0;
    a->version++;
}

/* --- Gone --- */

void actor_forget(struct actor *a)
{
    struct actors *actors = a->type->actors;
    assert(!a->more && a->jobs == 0);
    residents_remove_idle(a);
    failures_forget(a);
    hash_remove(&actors->by_name, &a->by_name);
    residents_weigh_nothing(a);
    table_tenant_unref(jobs_table(actors->jobs), a->tenant);
    counter_add(&a->type->count, (uint64_t)-1);
    drop_state(a);
    cells_give(&actors->cells, a, actor_size(a->name_len));
}

struct actor_more *actor_more(struct actor *a)
{
    if (a->more)
        return a->more;
    residents_remove_idle(a);
    a->more = slab_take(&a->type->actors->mores);
    if (a->more)
        *a->more = (struct actor_more){.actor = a};
    return a->more;
}

void actor_give_more(struct actor *a)
{
    slab_give(&a->type->actors->mores, a->more);
    a->more = NULL;
}

static void count_active(struct actor *a)
{
    bool active = a->more && actor_stage(a) == ACTOR_ACTIVE;
    if (a->more && a->more->is_active != active) {
        counter_add(&a->type->active, active ? 1 : (uint64_t)-1);
        a->more->is_active = active;
    }
}

/* `bytes`: a message has its place, though it is in no list while its end is written. */
static bool is_used(const struct actor *a, const struct actor_more *more)
{
    return more->head || more->bytes > 0 || more->waiting.count > 0 || more->step ||
           more->is_listed || more->out > 0 || more->stopped || more->turn || more->act ||
           more->ops || more->reads.count > 0 || more->again || a->residence == ACTOR_COMES;
}

bool actor_is_there(const struct actor *a)
{
    return a && (a->version > 0 || a->reminded || (a->more && is_used(a, a->more)));
}

/* It can leave memory, as soon as it has been so for long enough. */
static bool is_idle(const struct actor *a)
{
    return !a->more && !a->unsaved && (a->jobs == 0 || actor_is_durable(a)) &&
           a->residence == ACTOR_HERE;
}

/* --- News for watchers --- */

static void note_news(struct actor *a)
{
    struct actors *actors = a->type->actors;
    struct actor_more *more = a->more;
    if (!more || !more->watchers || more->told == a->version || more->has_news)
        return;
    more->has_news = true;
    more->next_news = actors->news;
    actors->news = more;
    jobs_activate(actors->jobs);
}

struct actor *actors_next_news(struct actors *actors)
{
    struct actor_more *more = actors->news;
    if (!more)
        return NULL;
    actors->news = more->next_news;
    more->has_news = false;
    more->told = more->actor->version;
    return more->actor;
}

/* --- Settled --- */

void actor_settle(struct actor *a)
{
    count_active(a);
    note_news(a);
    if (a->more && !is_used(a, a->more) && !a->more->watchers && !a->more->has_news)
        actor_give_more(a);
    bool empty = a->version == 0 || a->residence != ACTOR_HERE;
    if (!a->more && a->jobs == 0 && empty) {
        actor_forget(a);
        return;
    }
    if (!is_idle(a))
        residents_remove_idle(a);
    else if (!a->idle)
        residents_add_idle(a);
    residents_weigh(a);
}

/* --- Places --- */

void actor_leave(struct actor *a, struct job *job)
{
    struct actor_more *more = a->more;
    struct message *m = job_message(job);
    if (!m->placed)
        return;
    m->placed = false;
    more->bytes -= job->params_len;
    counter_add(&a->type->messages, (uint64_t)-1);
    if (more->head == job)
        more->head = NULL;
    else if (job->list == &more->waiting)
        job_list_remove(job);
}
