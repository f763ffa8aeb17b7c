#include "server/jobs/actors/leftovers.h"

#include <stdio.h>

#include "base/log.h"
#include "server/jobs/accessors.h"
#include "server/jobs/actors/counts.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/store/chunk.h"

enum { PAGE_ROWS = 256, REMOVE_WORK = 1 /* see jobs_worked() */ };

struct removal {
    struct actor_type *type;
    uint32_t count;
    bool failed;
};

static struct jobs *jobs_of_type(const struct actor_type *type)
{
    return type->actors->jobs;
}

static void row_back(struct jobs *jobs, struct store_op *write)
{
    struct actor_type *type = write->owner;
    journal_notice(jobs, write);
    type->removes &= write->error == STORE_OK;
    if (write->error == STORE_OK)
        counts_removed_row(type->actors, (const struct store_actor *)write->row);
}

static bool remove_row(void *arg, const struct store_table *table, const void *row)
{
    struct removal *r = arg;
    const struct store_actor *actor = row;
    (void)table;
    if (!span_equal(actor->type, r->type->name))
        return false; /* of another type, behind the last */
    struct store_op *write = codec_row_new(jobs_of_type(r->type), STORE_ROW_REMOVE, &store_actors,
                                           actor->key.len + actor->tenant.len, row_back);
    r->failed = !write;
    if (!write)
        return false;
    write->owner = r->type;
    uint8_t *at = (uint8_t *)(write + 1);
    struct store_actor *key = (struct store_actor *)write->row;
    key->type = r->type->name;
    key->key = span_put(actor->key, &at);
    key->tenant = span_put(actor->tenant, &at);
    jobs_worked(jobs_of_type(r->type), REMOVE_WORK);
    store_push(jobs_store(jobs_of_type(r->type)), write);
    r->count++;
    return true;
}

static void ask(struct actor_type *type);

static void say(const struct actor_type *type)
{
    char name[ACTOR_METHOD_MAX];
    snprintf(name, sizeof name, "%.*s", (int)type->name.len, (const char *)type->name.at);
    log_warn("actors that are kept in memory alone now were removed from the store",
             LOG_STR("type", name), LOG_UINT("actors", type->removed));
}

static void end(struct actor_type *type)
{
    type->removes = false;
    store_chunk_free(type->leftovers);
    type->leftovers = NULL;
    if (type->removed > 0)
        say(type);
}

static void page_back(struct jobs *jobs, struct store_op *page)
{
    char error[200];
    struct actor_type *type = page->owner;
    struct removal r = {.type = type};
    const struct store_reader reader = {.arg = &r, .row = remove_row};
    journal_notice(jobs, page);
    type->removes &= type->policy.durable == DURABLE_NONE;
    if (page->error == STORE_OK && type->removes)
        store_chunk_read(page->chunk, &reader, PAGE_ROWS, error, sizeof error);
    type->removed += r.count;
    if (r.count > 0 && !r.failed)
        ask(type);
    else
        end(type);
}

/* The chunk is the type's: a page that never comes back leaves it to actor_types_fini(). */
static void ask(struct actor_type *type)
{
    struct jobs *jobs = jobs_of_type(type);
    bool has_room = store_chunk_begin(&type->leftovers);
    struct store_op *page =
        has_room ? codec_row_new(jobs, STORE_ROW_PAGE, &store_actors, 0, page_back) : NULL;
    if (!page) {
        end(type);
        return;
    }
    page->owner = type;
    page->limit = PAGE_ROWS;
    page->chunk = type->leftovers;
    *(struct store_actor *)page->row = (struct store_actor){.type = type->name};
    store_push(jobs_store(jobs), page);
}

void leftovers_remove(struct actor_type *type)
{
    const struct store *store = jobs_store(jobs_of_type(type));
    if (type->removes || type->unsaid || type->policy.durable != DURABLE_NONE ||
        !type->actors->started || !store || !store_keeps(store, STORE_KEEPS_ACTORS))
        return;
    type->removes = true;
    type->removed = 0;
    if (!type->leftovers) /* else the page that comes goes on with it */
        ask(type);
}

void leftovers_remove_all(struct actors *actors)
{
    for (uint32_t i = 0; i < actors->type_count; i++)
        leftovers_remove(actors->types[i]);
}
