#include "server/jobs/actors/counts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/siphash.h"
#include "base/utf8.h"
#include "server/jobs/accessors.h"
#include "server/jobs/jobs.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/store/chunk.h"

enum { ROWS = 256, TRIES = 8, COUNT_WORK = 1 /* of a row; see jobs_worked() */ };

struct tenant_rows {
    struct hash_link link; /* first */
    uint64_t rows;
    size_t len;
    uint8_t name[];
};

/* --- Of tenants --- */

static struct tenant_rows *find(const struct actors *actors, struct span tenant)
{
    uint64_t hash = siphash(jobs_table(actors->jobs)->seed, tenant);
    struct hash_link *link = hash_first(&actors->counts.tenants, hash);
    for (; link; link = hash_next(link)) {
        struct tenant_rows *t = (struct tenant_rows *)link;
        if (span_equal(span_of(t->name, t->len), tenant))
            return t;
    }
    return NULL;
}

/* Without memory the tenant is not counted. */
static struct tenant_rows *make(struct actors *actors, struct span tenant)
{
    struct tenant_rows *t = calloc(1, sizeof *t + tenant.len);
    if (!t)
        return NULL;
    t->len = tenant.len;
    if (tenant.len > 0)
        memcpy(t->name, tenant.at, tenant.len);
    t->link.hash = siphash(jobs_table(actors->jobs)->seed, tenant);
    hash_add(&actors->counts.tenants, &t->link);
    return t;
}

static void add_tenant(struct actors *actors, struct span tenant)
{
    struct tenant_rows *t = find(actors, tenant);
    if (!t)
        t = make(actors, tenant);
    if (t)
        t->rows++;
}

static void forget_tenants(struct actor_counts *c)
{
    for (struct hash_link *link; (link = hash_pop(&c->tenants));)
        free(link);
}

static void remove_tenant(struct actors *actors, struct span tenant)
{
    struct tenant_rows *t = find(actors, tenant);
    if (!t || --t->rows > 0)
        return;
    hash_remove(&actors->counts.tenants, &t->link);
    free(t);
}

/* --- A count --- */

static int compare(const struct store_actor *row, const struct count_walk *w)
{
    int order = span_compare(row->type, w->type);
    if (order == 0)
        order = span_compare(row->key, w->key);
    return order ? order : span_compare(row->tenant, w->tenant);
}

struct page {
    struct actors *actors;
    struct count_walk *walk;
    const struct store_actor *last;
    uint32_t rows;
};

/* The first of a page may be the last of the one before. */
static bool collect(void *arg, const struct store_table *table, const void *row)
{
    struct page *page = arg;
    const struct store_actor *actor = row;
    (void)table;
    page->rows++;
    page->last = actor;
    if (page->walk->at && compare(actor, page->walk) <= 0)
        return true;
    page->walk->rows++;
    if (page->walk == &page->actors->counts.first)
        add_tenant(page->actors, actor->tenant);
    return true;
}

/* False without memory. */
static bool pass(struct count_walk *w, const struct store_actor *last)
{
    uint8_t *at = malloc(last->type.len + last->key.len + last->tenant.len + 1), *end = at;
    if (!at)
        return false;
    w->type = span_put(last->type, &end);
    w->key = span_put(last->key, &end);
    w->tenant = span_put(last->tenant, &end);
    free(w->at);
    w->at = at;
    return true;
}

static void end(struct actors *actors, struct count_walk *w, bool good)
{
    struct actor_counts *c = &actors->counts;
    w->under_way = false;
    w->good = good;
    w->counted = c->rows;
    store_chunk_free(w->chunk);
    w->chunk = NULL;
    if (w == &c->first && good) {
        c->rows = w->rows;
        c->known = true;
    }
    jobs_activate(actors->jobs);
}

static void back(struct jobs *jobs, struct store_op *op);

static void ask(struct actors *actors, struct count_walk *w)
{
    bool has_room = store_chunk_begin(&w->chunk);
    struct store_op *op =
        has_room ? codec_row_new(actors->jobs, STORE_ROW_PAGE, &store_actors, 0, back) : NULL;
    if (!op) {
        end(actors, w, false);
        return;
    }
    op->owner = actors;
    op->tag = w == &actors->counts.audit;
    op->limit = ROWS;
    op->chunk = w->chunk;
    *(struct store_actor *)op->row =
        (struct store_actor){.type = w->type, .key = w->key, .tenant = w->tenant};
    store_push(jobs_store(actors->jobs), op);
}

static void back(struct jobs *jobs, struct store_op *op)
{
    struct actors *actors = op->owner;
    struct count_walk *w = op->tag ? &actors->counts.audit : &actors->counts.first;
    struct page page = {.actors = actors, .walk = w};
    const struct store_reader reader = {.arg = &page, .row = collect};
    char error[200] = "";
    journal_notice(jobs, op);
    bool good = op->error == STORE_OK &&
                store_chunk_read(w->chunk, &reader, ROWS, error, sizeof error) == 0;
    jobs_worked(jobs, (size_t)page.rows * COUNT_WORK);
    bool again = op->error == STORE_AWAY && w->tries++ < TRIES; /* its answer was lost */
    if (again || (good && page.rows == ROWS && (good = pass(w, page.last))))
        ask(actors, w);
    else
        end(actors, w, good);
}

static void begin(struct actors *actors, struct count_walk *w)
{
    if (w == &actors->counts.first)
        forget_tenants(&actors->counts);
    free(w->at);
    *w = (struct count_walk){.under_way = true};
    ask(actors, w);
}

/* --- Rows that come and go --- */

/* A count that has passed the name did not see what was written since. */
static bool has_passed(const struct count_walk *w, const struct store_actor *row)
{
    return w->under_way && w->at && compare(row, w) <= 0;
}

static void note(struct actors *actors, const struct store_actor *row, bool added)
{
    struct actor_counts *c = &actors->counts;
    uint64_t by = added ? 1 : (uint64_t)-1;
    if (c->known || has_passed(&c->first, row))
        (added ? add_tenant : remove_tenant)(actors, row->tenant);
    c->rows += c->known ? by : 0;
    c->first.rows += has_passed(&c->first, row) ? by : 0;
    c->audit.rows += has_passed(&c->audit, row) ? by : 0;
}

static struct store_actor row_of(const struct actor *a)
{
    return (struct store_actor){
        .type = a->type->name, .key = actor_key(a), .tenant = a->tenant->name};
}

void counts_wrote(struct actor *a)
{
    const struct store_actor row = row_of(a);
    if (!a->has_row)
        note(a->type->actors, &row, true);
    a->has_row = true;
}

void counts_removed(struct actor *a)
{
    const struct store_actor row = row_of(a);
    if (a->has_row)
        note(a->type->actors, &row, false);
    a->has_row = false;
}

void counts_removed_row(struct actors *actors, const struct store_actor *row)
{
    note(actors, row, false);
}

bool counts_may_add(const struct actor *a, struct refusal *why)
{
    const struct actors *actors = a->type->actors;
    const struct jobs_limits *limits = &jobs_options(actors->jobs)->settings.limits;
    const struct tenant_rows *t = find(actors, a->tenant->name);
    uint64_t all = actors->counts.rows, most = limits->actors.max, own = t ? t->rows : 0;
    if (!actors->counts.known)
        return true;
    why->error = ERGON_E_BUSY;
    if (all >= most)
        snprintf(why->text, sizeof why->text,
                 "the store has %" PRIu64 " actors, and may not have more (actors.max); drop some",
                 all);
    else if (own > 0 && !room_is_shared(actors->jobs, own + 1, most - all - 1))
        snprintf(why->text, sizeof why->text,
                 "tenant \"%.*s\" has %" PRIu64 " actors, which is its share of actors.max "
                 "(tasks.tenant_share: %" PRIu32 " %%); drop some",
                 (int)utf8_cut(a->tenant->name, 64).len, (const char *)a->tenant->name.at, own,
                 limits->tenant_share);
    else
        return true;
    return false;
}

/* --- Begun and over --- */

static bool keeps(const struct actors *actors)
{
    const struct store *store = jobs_store(actors->jobs);
    return store && store_keeps(store, STORE_KEEPS_ACTORS);
}

void counts_start(struct actors *actors)
{
    if (!keeps(actors) || actors->counts.first.under_way || actors->counts.known)
        return;
    if (actors->type_count > 0)
        begin(actors, &actors->counts.first);
    else
        actors->counts.known = true;
}

void counts_check(struct actors *actors)
{
    actors->counts.audit.good = false;
    counts_start(actors); /* if the first count failed */
    if (keeps(actors) && actors->counts.known && !actors->counts.audit.under_way)
        begin(actors, &actors->counts.audit);
}

bool counts_checked(const struct actors *actors, bool *known, uint64_t *rows, uint64_t *counted)
{
    const struct actor_counts *c = &actors->counts;
    *known = c->known && c->audit.good;
    *rows = c->audit.rows;
    *counted = c->audit.counted;
    return !c->audit.under_way;
}

void counts_init(struct actors *actors)
{
    hash_table_init(&actors->counts.tenants);
}

void counts_fini(struct actors *actors)
{
    struct actor_counts *c = &actors->counts;
    forget_tenants(c);
    hash_table_fini(&c->tenants);
    free(c->first.at);
    free(c->audit.at);
    store_chunk_free(c->first.chunk);
    store_chunk_free(c->audit.chunk);
}
