#include "server/workers/worker_group.h"
#include "server/tasks/actor_offer.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/tasks/job_source.h"

enum { GIVEN_MAX = 1024 /* what was given to versions is halved then: old times count less */ };

/* The workers that share what a version is given have one label: the version behind a '=', or ""
 * without a share. So workers without a share are one group, however many versions they name. */
struct label {
    char text[WORKER_VERSION_MAX + 2];
};

/* The workers of one label, of one pool. */
struct version_group {
    LIST_ENTRY(version_group) link;
    struct label label;
    uint32_t share; /* percent, as the last of them has said that joined */
    uint32_t given;
    uint32_t entries;
    uint32_t groups_there; /* with a worker that is there */
};

/* A pool at a group. */
struct group_entry {
    struct worker_group *group;
    struct pool *pool;
    struct version_group *version;
    LIST_ENTRY(group_entry) link;  /* of the pool */
    TAILQ_ENTRY(group_entry) line; /* of the group, while it waits there */
    bool in_line;
    uint32_t schema; /* of the states that its workers write; see worker_executor_schema() */
};
TAILQ_HEAD(group_entry_queue, group_entry);

struct worker_group {
    struct pairing_heap open;      /* workers that may be given tasks, by occupancy */
    struct group_entry_queue line; /* pools that wait for room */
    uint64_t room;                 /* tasks, at those that are open */
    uint32_t members;              /* workers */
    uint32_t there;                /* of these, that are not quiet */
    struct label label;
    uint64_t mark; /* of the pools; others hardly ever have the same */
    uint32_t entry_count;
    struct group_entry entries[]; /* sorted by the pool's index */
};

static struct member *member_of(const struct pairing_node *node)
{
    return ao_of(node, struct member, node);
}

static bool goes_before(const struct pairing_node *a, const struct pairing_node *b)
{
    return placement_worker_before(&member_of(a)->load, &member_of(b)->load);
}

/* --- Pools --- */

struct pool *worker_pool_new(struct manager *m, const struct pool_class *cls, struct method *method,
                             uint32_t most)
{
    uint32_t worker_loops = m->shared->worker_loops.count;
    size_t size = sizeof(struct worker_pool) + worker_loops * sizeof(struct offer_figures);
    struct worker_pool *s = aligned_alloc(alignof(struct worker_pool), size);
    struct pool *p = s ? pools_add(m, cls, most) : NULL;
    if (!p) {
        free(s);
        return NULL;
    }
    memset(s, 0, size);
    s->pool = p;
    s->method = method;
    s->worker_loops = worker_loops;
    LIST_INIT(&s->entries);
    LIST_INIT(&s->versions);
    s->line = &m->roster->waiting;
    p->workers = s;
    p->offers = s->figures;
    return p;
}

void worker_pool_free(struct worker_pool *s)
{
    struct group_entry *e;
    while ((e = LIST_POP(&s->entries, link)))
        if (--e->group->entry_count == 0)
            free(e->group);
    struct version_group *v;
    while ((v = LIST_POP(&s->versions, link)))
        free(v);
    for (uint32_t i = 0; i < s->worker_loops; i++)
        times_fini(&s->figures[i].times);
    free(s);
}

/* Why one was lost is written before it leaves; one that is quiet may be about to. */
static void say_who_went(const struct worker_executor *r, char *text, size_t size)
{
    if (r->member.leaves)
        snprintf(text, size, "%s", r->why);
    else
        snprintf(text, size, "worker w%u wants no more tasks", r->base.index);
}

/* On the edges between none and some workers; `last` is the one that went.  Calls that are refused
 * from now on may be on their way here: the pool answers them. */
static void set_offered(struct manager *m, struct worker_pool *s,
                        const struct worker_executor *last)
{
    char who[sizeof last->why] = "";
    const struct tasks_shared *shared = m->shared;
    if (s->local) /* its handler is always there */
        return;
    if (method_of_workers(s->method) && !method_actor(s->method) && !s->method->of_processes)
        atomic_store_explicit(&s->method->refuses, last ? ERGON_E_NO_WORKER : ERGON_OK,
                              memory_order_relaxed);
    if (last)
        say_who_went(last, who, sizeof who);
    if (shared->has_source && shared->source.offered)
        shared->source.offered(shared->source.arg, s->method, !last, span_text(who));
}

/* It may have something to do. */
static void look_at(struct pool *p)
{
    worker_groups_wait_no_more(p);
    if (pool_has_work(p))
        pool_mark_ready(p);
}

/* Shares count from now on: each version has had its own, whatever it was given before. */
static void begin_shares(struct worker_pool *s)
{
    struct version_group *v;
    LIST_FOREACH(v, &s->versions, link)
    v->given = (v->share * s->given + 99) / 100;
}

/* Where there are workers of one version alone its share does not count, so a pool that waits may
 * have room. */
static void set_entry_there(struct manager *m, struct group_entry *e,
                            const struct worker_executor *r, bool there)
{
    struct worker_pool *s = e->pool->workers;
    struct version_group *v = e->version;
    if (there) {
        if (v->groups_there++ == 0) {
            s->versions_there++;
            begin_shares(s);
        }
        if (s->groups_there++ == 0)
            set_offered(m, s, NULL);
    } else {
        assert(v->groups_there > 0 && s->groups_there > 0);
        s->versions_there -= --v->groups_there == 0;
        if (--s->groups_there == 0)
            set_offered(m, s, r);
    }
    look_at(e->pool);
}

static void set_all_there(struct manager *m, const struct worker_executor *r, bool there)
{
    struct worker_group *g = r->member.group;
    for (uint32_t i = 0; i < g->entry_count; i++)
        set_entry_there(m, &g->entries[i], r, there);
}

bool worker_groups_there(const struct pool *p)
{
    return p->workers->groups_there > 0;
}

/* --- Groups --- */

static struct label label_of(const struct worker_executor *r)
{
    struct label l = {""};
    if (r->share < WORKER_SHARE_ALL)
        snprintf(l.text, sizeof l.text, "=%s", r->version);
    return l;
}

static bool has_share(const struct label *label)
{
    return label->text[0] != '\0';
}

static bool same_label(const struct label *a, const struct label *b)
{
    return strcmp(a->text, b->text) == 0;
}

static uint64_t mark_of(struct pool *const *pools, uint32_t count)
{
    uint64_t mark = count;
    for (uint32_t i = 0; i < count; i++)
        mark = (mark ^ pools[i]->index) * UINT64_C(0x9e3779b97f4a7c15) + (mark >> 32);
    return mark;
}

static uint32_t schema_of(const struct worker_executor *r, const struct pool *p)
{
    return worker_executor_schema(r, p->workers->method->name);
}

static bool same_group(const struct worker_group *g, const struct label *label,
                       const struct worker_executor *r, struct pool *const *pools, uint32_t count,
                       uint64_t mark)
{
    if (g->mark != mark || g->entry_count != count || !same_label(&g->label, label))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (g->entries[i].pool != pools[i] || g->entries[i].schema != schema_of(r, pools[i]))
            return false;
    return true;
}

static struct worker_group *find_group(const struct label *label, const struct worker_executor *r,
                                       struct pool *const *pools, uint32_t count)
{
    struct group_entry *e;
    uint64_t mark = mark_of(pools, count);
    LIST_FOREACH(e, &pools[0]->workers->entries, link)
    if (same_group(e->group, label, r, pools, count, mark))
        return e->group;
    return NULL;
}

static struct version_group *find_version(const struct worker_pool *s, const struct label *label)
{
    struct version_group *v;
    LIST_FOREACH(v, &s->versions, link)
    if (same_label(&v->label, label))
        return v;
    return NULL;
}

const struct pool *worker_groups_full(const struct worker_executor *r, struct pool *const *pools,
                                      uint32_t count)
{
    const struct label label = label_of(r);
    for (uint32_t i = 0; i < count && r->share < WORKER_SHARE_ALL; i++)
        if (pools[i]->workers->share_count >= VERSIONS_MAX &&
            !find_version(pools[i]->workers, &label))
            return pools[i];
    return NULL;
}

/* NULL without memory. */
static struct version_group *join_version(struct worker_pool *s, const struct label *label)
{
    struct version_group *v = find_version(s, label);
    if (!v) {
        v = calloc(1, sizeof *v);
        if (!v)
            return NULL;
        v->label = *label;
        LIST_INSERT_HEAD(&s->versions, v, link);
        s->share_count += has_share(label);
    }
    v->entries++;
    return v;
}

static void leave_version(struct worker_pool *s, struct version_group *v)
{
    assert(v->entries > 0 && (v->entries > 1 || v->groups_there == 0));
    if (--v->entries > 0)
        return;
    LIST_REMOVE(v, link);
    s->share_count -= has_share(&v->label);
    free(v);
}

static void free_group(struct worker_group *g)
{
    for (uint32_t i = 0; i < g->entry_count; i++) {
        struct group_entry *e = &g->entries[i];
        if (e->in_line)
            TAILQ_REMOVE(&g->line, e, line);
        LIST_REMOVE(e, link);
        e->pool->workers->entry_count--;
        leave_version(e->pool->workers, e->version);
    }
    free(g);
}

static bool add_entry(struct worker_group *g, const struct worker_executor *r, struct pool *p)
{
    struct group_entry *e = &g->entries[g->entry_count];
    *e = (struct group_entry){.group = g,
                              .pool = p,
                              .version = join_version(p->workers, &g->label),
                              .schema = schema_of(r, p)};
    if (!e->version)
        return false;
    LIST_INSERT_HEAD(&p->workers->entries, e, link);
    p->workers->entry_count++;
    g->entry_count++;
    return true;
}

static struct worker_group *new_group(const struct label *label, const struct worker_executor *r,
                                      struct pool **pools, uint32_t count)
{
    struct worker_group *g = calloc(1, sizeof *g + count * sizeof(struct group_entry));
    if (!g)
        return NULL;
    pairing_init(&g->open, goes_before);
    TAILQ_INIT(&g->line);
    g->label = *label;
    g->mark = mark_of(pools, count);
    for (uint32_t i = 0; i < count; i++)
        if (!add_entry(g, r, pools[i])) {
            free_group(g);
            return NULL;
        }
    return g;
}

static void take_share(struct worker_group *g, uint32_t share)
{
    for (uint32_t i = 0; i < g->entry_count; i++) {
        struct group_entry *e = &g->entries[i];
        if (e->version->share == share)
            continue;
        e->version->share = share;
        begin_shares(e->pool->workers);
        look_at(e->pool);
    }
}

int worker_group_join(struct manager *m, struct worker_executor *r, struct pool **pools,
                      uint32_t count)
{
    const struct label label = label_of(r);
    assert(!r->member.group && count > 0);
    struct worker_group *g = find_group(&label, r, pools, count);
    if (!g)
        g = new_group(&label, r, pools, count);
    if (!g)
        return -1;
    g->members++;
    r->member.group = g;
    r->member.load = (struct worker_load){.turn = ++m->roster->turns};
    take_share(g, r->share);
    return 0;
}

/* --- Workers --- */

static uint32_t room_of(const struct worker_load *l)
{
    return l->slots > l->outstanding ? l->slots - l->outstanding : 0;
}

static void set_load(struct member *mb, uint32_t outstanding, uint32_t slots, uint64_t turn)
{
    struct worker_group *g = mb->group;
    if (mb->open) {
        pairing_remove(&g->open, &mb->node);
        g->room -= room_of(&mb->load);
    }
    mb->load = (struct worker_load){.outstanding = outstanding, .slots = slots, .turn = turn};
    mb->open = slots > 0;
    if (mb->open) {
        pairing_add(&g->open, &mb->node);
        g->room += room_of(&mb->load);
    }
}

/* Before all others: it has waited.  A joined one has its turn among those of local executors. */
static void mark_ready_first(struct manager *m, struct pool *p)
{
    assert(!p->in_line);
    if (p->workers->local) {
        p->workers->called = m->roster->called = true;
        pool_mark_ready(p);
    } else if (!p->ready) {
        p->ready = true;
        STAILQ_INSERT_HEAD(p->turn, p, next);
    }
}

static void call_first(struct manager *m, struct worker_group *g)
{
    struct group_entry *e = TAILQ_FIRST(&g->line);
    if (!e || g->room == 0)
        return;
    worker_groups_wait_no_more(e->pool);
    mark_ready_first(m, e->pool);
}

void worker_group_set_there(struct manager *m, struct worker_executor *r, bool there)
{
    struct worker_group *g = r->member.group;
    if (r->member.there == there)
        return;
    r->member.there = there;
    g->there += there ? 1 : UINT32_MAX;
    if (g->there == (there ? 1 : 0))
        set_all_there(m, r, there);
}

void worker_group_update(struct manager *m, struct worker_executor *r, uint32_t bound)
{
    struct member *mb = &r->member;
    uint32_t outstanding = executor_outstanding(&r->base);
    assert(mb->group);
    if (!mb->there)
        bound = 0;
    if (mb->load.outstanding == outstanding && mb->load.slots == bound)
        return;
    set_load(mb, outstanding, bound, mb->load.turn);
    call_first(m, mb->group);
}

void worker_group_leave(struct manager *m, struct worker_executor *r)
{
    struct worker_group *g = r->member.group;
    assert(g && r->member.leaves);
    worker_group_set_there(m, r, false);
    set_load(&r->member, 0, 0, 0);
    r->member.group = NULL;
    if (--g->members == 0)
        free_group(g);
}

bool worker_group_offers(const struct worker_executor *r, const struct pool *p)
{
    const struct worker_group *g = r->member.group;
    uint32_t low = 0, high = g ? g->entry_count : 0;
    while (low < high) {
        uint32_t at = low + (high - low) / 2;
        if (g->entries[at].pool->index < p->index)
            low = at + 1;
        else
            high = at;
    }
    return g && low < g->entry_count && g->entries[low].pool == p;
}

/* --- The choice --- */

static bool had_share(const struct worker_pool *s, const struct version_group *v)
{
    return placement_had_share(v->given, s->given, v->share);
}

/* Where all versions that are there have had theirs, or there is one alone, shares say nothing. */
static bool shares_count(const struct worker_pool *s)
{
    const struct version_group *v;
    if (s->versions_there < 2)
        return false;
    LIST_FOREACH(v, &s->versions, link)
    if (v->groups_there > 0 && !had_share(s, v))
        return true;
    return false;
}

struct worker_executor *worker_groups_choose(const struct pool *p, uint32_t schema)
{
    const struct worker_pool *s = p->workers;
    const struct group_entry *e;
    struct member *best = NULL;
    bool shares = schema == 0 && shares_count(s);
    LIST_FOREACH(e, &s->entries, link)
    {
        if (e->group->room == 0 || e->schema < schema || (shares && had_share(s, e->version)))
            continue;
        struct member *mb = member_of(e->group->open.root);
        if (!best || placement_worker_before(&mb->load, &best->load))
            best = mb;
    }
    return best ? ao_of(best, struct worker_executor, member) : NULL;
}

uint32_t worker_groups_room(const struct pool *p)
{
    const struct worker_pool *s = p->workers;
    const struct group_entry *e;
    bool shares = shares_count(s);
    uint64_t room = 0;
    LIST_FOREACH(e, &s->entries, link)
    if (!shares || !had_share(s, e->version))
        room += e->group->room;
    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
}

static void halve(struct worker_pool *s)
{
    struct version_group *v;
    s->given /= 2;
    LIST_FOREACH(v, &s->versions, link)
    v->given /= 2;
}

static struct group_entry *entry_at(const struct pool *p, const struct worker_group *g)
{
    struct group_entry *e;
    LIST_FOREACH(e, &p->workers->entries, link)
    if (e->group == g)
        return e;
    return NULL;
}

void worker_groups_note_given(struct manager *m, struct pool *p, struct worker_executor *r)
{
    struct worker_pool *s = p->workers;
    struct member *mb = &r->member;
    struct group_entry *e = entry_at(p, mb->group);
    assert(mb->open && mb->load.outstanding < mb->load.slots && e);
    set_load(mb, mb->load.outstanding + 1, mb->load.slots, ++m->roster->turns);
    e->version->given++;
    if (++s->given == GIVEN_MAX)
        halve(s);
}

/* --- Pools that wait for room --- */

bool worker_group_awaited(const struct worker_executor *r)
{
    return !TAILQ_EMPTY(&r->member.group->line);
}

static void stand_in_line(struct group_entry *e, bool first)
{
    e->in_line = true;
    if (first)
        TAILQ_INSERT_HEAD(&e->group->line, e, line);
    else
        TAILQ_INSERT_TAIL(&e->group->line, e, line);
}

void worker_groups_wait(struct pool *p, bool first)
{
    struct worker_pool *s = p->workers;
    struct group_entry *e;
    bool shares = shares_count(s);
    assert(!p->in_line);
    p->in_line = true;
    TAILQ_INSERT_TAIL(s->line, s, link);
    LIST_FOREACH(e, &s->entries, link)
    if (!shares || !had_share(s, e->version))
        stand_in_line(e, first);
}

void worker_groups_wait_no_more(struct pool *p)
{
    struct worker_pool *s = p->workers;
    struct group_entry *e;
    if (!p->in_line)
        return;
    p->in_line = false;
    TAILQ_REMOVE(s->line, s, link);
    LIST_FOREACH(e, &s->entries, link)
    if (e->in_line) {
        e->in_line = false;
        TAILQ_REMOVE(&e->group->line, e, line);
    }
}

void worker_groups_call(struct manager *m, const struct pool *p)
{
    struct group_entry *e;
    LIST_FOREACH(e, &p->workers->entries, link)
    call_first(m, e->group);
}
