#include "server/jobs/actors/views.h"

#include "server/jobs/accessors.h"
#include "server/jobs/actors/failures.h"
#include "server/jobs/actors/reminders.h"
#include "server/jobs/actors/steps.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/verbs/view.h"
#include "server/store/store.h"

struct actor_view actor_view_of(const struct actor *a)
{
    const char *stopped = a->more ? a->more->stopped : NULL;
    return (struct actor_view){.actor = a,
                               .type = a->type,
                               .name = actor_name(a),
                               .tenant = a->tenant->name,
                               .version = a->version,
                               .schema = a->schema,
                               .stopped = stopped ? span_text(stopped) : (struct span){0},
                               .stage = actor_stage(a)};
}

struct actor_view actor_view_of_row(const struct actor_type *type, struct span name,
                                    const struct store_actor *row, const struct actor *a)
{
    enum actor_stage stage = a ? actor_stage(a) : ACTOR_SLEEPING;
    return (struct actor_view){.actor = a,
                               .type = type,
                               .name = name,
                               .tenant = row->tenant,
                               .version = row->version,
                               .schema = row->schema,
                               .stopped = row->stopped,
                               .stage = row->stopped.len > 0 ? ACTOR_STOPPED : stage};
}

bool actor_view_is_there(const struct actor_view *v)
{
    return v->version > 0 || v->stopped.len > 0 || actor_is_there(v->actor);
}

/* The oldest message that has a place, or waits for its turn. */
static const struct job *oldest_of(const struct actor *a)
{
    const struct actor_more *more = a ? a->more : NULL;
    if (!more)
        return NULL;
    return more->head ? more->head : more->waiting.first;
}

uint32_t actor_waiting(const struct actor *a)
{
    const struct actor_more *more = a ? a->more : NULL;
    bool runs = more && more->head && job_state_runs((enum job_state)more->head->state);
    return more ? more->waiting.count + (more->head && !runs) : 0;
}

static void pack_turn(struct jobs *jobs, struct pack *p, const struct actor *a)
{
    struct job *head = a && a->more ? a->more->head : NULL;
    char id[ID_TEXT_SIZE];
    if (head)
        out_show(jobs_scheduler(jobs), head);
    pack_str(p, "turn");
    if (!head || !job_state_runs((enum job_state)head->state)) {
        pack_nil(p);
        return;
    }
    pack_map(p, 4);
    pack_key_str(p, "id", id_text(head->id, id));
    pack_key_span(p, "method", head->queue->name);
    pack_key_uint(p, "attempt", head->attempt);
    view_ms(p, "started", head->started);
}

static void pack_next(struct jobs *jobs, struct pack *p, const struct actor *a)
{
    ao_time next = a ? actor_next(a) : 0, due = a ? reminders_due(a) : 0;
    bool timed = next > 0 && next != AO_NEVER;
    if (due > 0 && due != AO_NEVER && (!timed || due < next)) {
        next = due;
        timed = true;
    }
    view_ms(p, "next", timed ? table_wall_of(jobs_table(jobs), next) : 0);
}

void actor_view_pack(struct jobs *jobs, struct pack *p, const struct actor_view *v)
{
    const struct actor *a = v->actor;
    const struct job *oldest = oldest_of(a);
    pack_key_span(p, "actor", v->name);
    pack_key_span(p, "tenant", v->tenant);
    pack_turn(jobs, p, a); /* its head may be known to have begun only now */
    pack_key_str(p, "stage", actor_stage_names[v->stage]);
    pack_next(jobs, p, a);
    pack_key_bool(p, "resident", a && a->residence == ACTOR_HERE);
    pack_key_uint(p, "version", v->version);
    pack_key_uint(p, "schema", v->schema);
    pack_key_str(p, "durable", job_durable_names[v->type->policy.durable]);
    pack_key_uint(p, "waiting", actor_waiting(a));
    view_ms(p, "oldest", oldest ? oldest->created : 0);
    pack_key_uint(p, "failures", a ? failures_count(a) : 0);
    view_name(p, "stopped", v->stopped);
}
