#include "server/jobs/actors/loads.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/jobs/accessors.h"
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/commits.h"
#include "server/jobs/actors/mailboxes.h"
#include "server/jobs/actors/residents.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/persist/actor_rows.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"

static struct jobs *jobs_of_actor(const struct actor *a)
{
    return a->type->actors->jobs;
}

/* --- What came back --- */

/* False without memory: then nothing has changed. */
static bool take(struct actor *a, const struct store_actor *row)
{
    struct blob *state = row->state.len > 0 ? blob_copy(row->state) : NULL;
    char *stopped = row->stopped.len > 0 ? span_strdup(row->stopped) : NULL;
    if ((row->state.len > 0 && !state) || (row->stopped.len > 0 && !stopped)) {
        blob_unref(state);
        free(stopped);
        return false;
    }
    actor_set_state(a, state, row->schema);
    a->version = row->version;
    if (stopped)
        actor_stop_as(a, stopped, row->stopped_at);
    return true;
}

static void refuse_all(struct actor *a, const char *why)
{
    struct operation *op = a->more->ops, *next;
    a->more->ops = NULL;
    for (; op; op = next) {
        next = op->next;
        operation_refuse(op, ERGON_E_STORE, "%s", why);
    }
}

static void unread(struct actor *a, const char *why)
{
    a->residence = ACTOR_UNREAD;
    refuse_all(a, why);
    mailbox_not_loaded(a, why);
    commits_again(a);
}

/* What happened to it before its row was read. */
static void write_what_waited(struct actor *a)
{
    if (a->more && a->more->resets)
        commits_resume(a);
    if (a->unsaved && actor_is_durable(a))
        commits_save(a);
}

static bool push_get(struct actor *a, bool again);

static void back(struct jobs *jobs, struct store_op *get)
{
    struct actor *a = get->owner;
    const struct store_actor *row = (const struct store_actor *)get->row;
    const char *fault = NULL;
    journal_notice(jobs, get);
    if (get->error == STORE_AWAY && !get->tag && push_get(a, true)) {
        free(get->bytes);
        return;
    }
    a->jobs++; /* it stays meanwhile */
    if (get->error != STORE_OK) {
        fault = store_error_text(get->error);
    } else if (get->found && (fault = row_check_actor(row))) {
        log_error("an actor of the store cannot be read", LOG_STR("why", fault));
    } else if (get->found && !take(a, row)) {
        fault = error_meaning(ERGON_E_MEMORY);
    }
    free(get->bytes);
    counter_add(&a->type->actors->shown.loads, 1);
    counter_add(&a->type->actors->shown.unread, fault != NULL);
    if (fault) {
        unread(a, fault);
    } else {
        a->residence = ACTOR_HERE;
        a->has_row = get->found;
        commits_serve(a);
        mailbox_loaded(a);
        write_what_waited(a);
    }
    a->jobs--;
    actor_settle(a);
}

/* `again`: the answer of the first was lost.  False without memory. */
static bool push_get(struct actor *a, bool again)
{
    struct jobs *jobs = jobs_of_actor(a);
    struct store_op *get = codec_row_new(jobs, STORE_ROW_GET, &store_actors, 0, back);
    if (!get)
        return false;
    get->owner = a;
    get->tag = again;
    *(struct store_actor *)get->row =
        (struct store_actor){.tenant = a->tenant->name, .type = a->type->name, .key = actor_key(a)};
    store_push(jobs_store(jobs), get);
    return true;
}

void loads_begin(struct actor *a)
{
    if (a->residence == ACTOR_HERE || a->residence == ACTOR_COMES)
        return;
    bool pushed = push_get(a, false);
    a->residence = pushed ? ACTOR_COMES : ACTOR_UNREAD;
    if (!pushed)
        commits_again(a);
}

/* --- Operations --- */

/* One that may be in the store; NULL: there can be none, or the operation was answered. */
static struct actor *make(struct actors *actors, struct span tenant, struct span name,
                          struct operation *op, bool *answered)
{
    struct refusal why = {.text = ""};
    struct actor_type *type = actor_type_find(actors, actor_type_of_name(name));
    if (!type || type->policy.durable == DURABLE_NONE || name.len > ACTOR_NAME_MAX)
        return NULL;
    struct tenant *t = table_tenant(jobs_table(actors->jobs), tenant);
    struct actor *a = t ? actor_get(NULL, type, t, name, true, &why) : NULL;
    if (a && actor_more(a))
        return a;
    *answered = true;
    operation_refuse(op, why.error ? why.error : ERGON_E_MEMORY, "%s",
                     why.error ? why.text : error_meaning(ERGON_E_MEMORY));
    return NULL;
}

bool loads_await(struct actors *actors, struct span tenant, struct span name, struct operation *op)
{
    bool answered = false;
    struct actor *a = actor_find(actors, tenant, name);
    if (!a)
        a = make(actors, tenant, name, op, &answered);
    if (!a || a->residence == ACTOR_HERE)
        return answered;
    if (!actor_more(a)) {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return true;
    }
    commits_await(a, op);
    loads_begin(a);
    return true;
}

/* --- Again --- */

static bool is_wanted(const struct actor *a)
{
    const struct actor_more *more = a->more;
    bool is_to_be_written = more->resets || (a->unsaved && actor_is_durable(a));
    return more->head || more->waiting.count > 0 || more->reads.count > 0 || more->ops ||
           is_to_be_written;
}

static void try_again(struct actor *a)
{
    if (a->residence == ACTOR_HERE && commits_try_again(a))
        return;
    bool is_away = a->residence == ACTOR_UNREAD || a->residence == ACTOR_AWAY;
    if (is_away && is_wanted(a)) {
        loads_begin(a);
    } else if (a->residence == ACTOR_UNREAD) {
        a->residence = ACTOR_AWAY;
        actor_settle(a);
    } else if (a->unsaved && a->residence == ACTOR_HERE && actor_is_durable(a)) {
        commits_save(a);
    } else if (a->more->ops && a->residence == ACTOR_HERE) {
        a->jobs++;
        commits_serve(a);
        a->jobs--;
        actor_settle(a);
    } else {
        actor_settle(a);
    }
}

bool loads_try_again(struct actors *actors)
{
    LIST_HEAD(, actor_more) now;
    struct actor_more *more;
    LIST_MOVE(&now, &actors->again, by_again);
    bool any = !LIST_EMPTY(&now);
    while ((more = LIST_POP(&now, by_again))) {
        more->again = false;
        try_again(more->actor);
    }
    return any;
}

void loads_dismiss(struct actors *actors)
{
    const struct hash_table *all = &actors->by_name;
    for (size_t at = 0; at < all->size; at++)
        for (struct hash_link *link = all->buckets[at]; link; link = link->next) {
            struct actor *a = (struct actor *)link;
            struct operation *op = a->more ? a->more->ops : NULL, *next;
            for (; op; op = next) {
                next = op->next;
                operation_refuse_plain(op, ERGON_E_DRAINING);
            }
            if (a->more)
                a->more->ops = NULL;
        }
}
