#include "server/workers/worker_group.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/tasks/job_source.h"
#include "server/tasks/manager/pools.h"

enum { GIVEN_MAX = 1024 /* what was given to versions is halved then: old times count less */ };

/* Who shares what a version is given: the version behind a '=', of workers that have all of it "".
 * So those are one crew, however many versions they name. */
struct label {
    char text[REMOTE_VERSION_MAX + 2];
};

/* The workers of one label, of one pool. */
struct version_group {
    LIST_ENTRY(version_group) link;
    struct label label;
    uint32_t share; /* percent, as the last of them has said that joined */
    uint32_t given;
    uint32_t berths;
    uint32_t crews_there; /* with a worker that is there */
};

/* A pool at a crew. */
struct berth {
    struct crew *crew;
    struct pool *pool;
    struct version_group *version;
    LIST_ENTRY(berth) link;  /* of the pool */
    TAILQ_ENTRY(berth) line; /* of the crew, while it waits there */
    bool in_line;
};
TAILQ_HEAD(berth_line, berth);

struct crew {
    struct pairing_heap open; /* workers that may be given tasks, by occupancy */
    struct berth_line line;   /* pools that wait for room */
    uint64_t room;            /* tasks, at those that are open */
    uint32_t members;         /* workers */
    uint32_t there;           /* of these, that are not quiet */
    struct label label;
    uint64_t mark; /* of the pools; others hardly ever have the same */
    uint32_t berth_count;
    struct berth berths[]; /* sorted by the pool's index */
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

static struct pool *new_pool(struct manager *m, struct method *method, uint32_t most)
{
    uint32_t docks = m->shared->docks.count;
    size_t size = sizeof(struct staff) + docks * sizeof(struct offer_figures);
    struct staff *s = aligned_alloc(alignof(struct staff), size);
    struct pool *p = s ? pools_add(m, most) : NULL;
    if (!p) {
        free(s);
        return NULL;
    }
    memset(s, 0, size);
    s->pool = p;
    s->method = method;
    s->docks = docks;
    LIST_INIT(&s->berths);
    LIST_INIT(&s->versions);
    p->staff = s;
    return p;
}

struct pool *staff_new_pool(struct manager *m, struct method *method)
{
    struct pool *p = new_pool(m, method, 0);
    if (p)
        p->group = m->shared->docks;
    return p;
}

static void add_group(struct executor_group *to, const struct executor_group *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        to->list[to->count++] = from->list[i];
}

struct pool *staff_new_joined(struct manager *m, struct method *method, struct pool *local)
{
    const struct executor_group *docks = &m->shared->docks;
    struct pool *p = new_pool(m, method, local->group.count + docks->count);
    if (!p)
        return NULL;
    p->local = local;
    p->stepped = local->stepped;
    add_group(&p->group, &local->group);
    add_group(&p->group, docks);
    m->joined++;
    return p;
}

void staff_free(struct staff *s)
{
    struct berth *b;
    while ((b = LIST_POP(&s->berths, link)))
        if (--b->crew->berth_count == 0)
            free(b->crew);
    struct version_group *v;
    while ((v = LIST_POP(&s->versions, link)))
        free(v);
    for (uint32_t i = 0; i < s->docks; i++)
        times_fini(&s->figures[i].times);
    free(s);
}

/* Why one was lost is written before it leaves; one that is quiet may be about to. */
static void say_who_went(const struct remote *r, char *text, size_t size)
{
    if (r->member.leaves)
        snprintf(text, size, "%s", r->why);
    else
        snprintf(text, size, "worker w%u wants no more tasks", r->base.index);
}

/* On the edges between none and some workers; `last` is the one that went.  Calls that are refused
 * from now on may be on their way here: the pool answers them. */
static void set_offered(struct manager *m, struct staff *s, const struct remote *last)
{
    char who[sizeof last->why] = "";
    const struct tasks_shared *shared = m->shared;
    if (s->pool->local) /* its handler is always there */
        return;
    atomic_store_explicit(&s->method->refuses, last ? ERGON_E_NO_WORKER : ERGON_OK,
                          memory_order_relaxed);
    if (last)
        say_who_went(last, who, sizeof who);
    if (shared->has_source && shared->source.offered)
        shared->source.offered(shared->source.arg, s->method, !last, span_text(who));
}

/* It may have something to do. */
static void look_at(struct manager *m, struct pool *p)
{
    crews_wait_no_more(m, p);
    if (pool_has_work(p))
        manager_stir(m, p);
}

/* Shares count from now on: each version has had its own, whatever it was given before. */
static void begin_shares(struct staff *s)
{
    struct version_group *v;
    LIST_FOREACH(v, &s->versions, link)
    v->given = (v->share * s->given + 99) / 100;
}

/* Where there are workers of one version alone the share of that says nothing, so who waits may
 * have room. */
static void enter_berth(struct manager *m, struct berth *b, const struct remote *r, bool there)
{
    struct staff *s = b->pool->staff;
    struct version_group *v = b->version;
    if (there) {
        if (v->crews_there++ == 0) {
            s->versions_there++;
            begin_shares(s);
        }
        if (s->crews_there++ == 0)
            set_offered(m, s, NULL);
    } else {
        s->versions_there -= --v->crews_there == 0;
        if (--s->crews_there == 0)
            set_offered(m, s, r);
    }
    look_at(m, b->pool);
}

static void enter_all(struct manager *m, const struct remote *r, bool there)
{
    struct crew *c = r->member.crew;
    for (uint32_t i = 0; i < c->berth_count; i++)
        enter_berth(m, &c->berths[i], r, there);
}

bool crews_there(const struct pool *p)
{
    return p->staff->crews_there > 0;
}

/* --- Crews --- */

static struct label label_of(const struct remote *r)
{
    struct label l = {""};
    if (r->share < REMOTE_SHARE_ALL)
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

static bool same_crew(const struct crew *c, const struct label *label, struct pool *const *pools,
                      uint32_t count, uint64_t mark)
{
    if (c->mark != mark || c->berth_count != count || !same_label(&c->label, label))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (c->berths[i].pool != pools[i])
            return false;
    return true;
}

static struct crew *find_crew(const struct label *label, struct pool *const *pools, uint32_t count)
{
    struct berth *b;
    uint64_t mark = mark_of(pools, count);
    LIST_FOREACH(b, &pools[0]->staff->berths, link)
    if (same_crew(b->crew, label, pools, count, mark))
        return b->crew;
    return NULL;
}

static struct version_group *find_version(const struct staff *s, const struct label *label)
{
    struct version_group *v;
    LIST_FOREACH(v, &s->versions, link)
    if (same_label(&v->label, label))
        return v;
    return NULL;
}

const struct pool *crews_full(const struct remote *r, struct pool *const *pools, uint32_t count)
{
    const struct label label = label_of(r);
    for (uint32_t i = 0; i < count && r->share < REMOTE_SHARE_ALL; i++)
        if (pools[i]->staff->share_count >= VERSIONS_MAX && !find_version(pools[i]->staff, &label))
            return pools[i];
    return NULL;
}

/* NULL without memory. */
static struct version_group *join_version(struct staff *s, const struct label *label)
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
    v->berths++;
    return v;
}

static void leave_version(struct staff *s, struct version_group *v)
{
    if (--v->berths > 0)
        return;
    LIST_REMOVE(v, link);
    s->share_count -= has_share(&v->label);
    free(v);
}

static void free_crew(struct crew *c)
{
    for (uint32_t i = 0; i < c->berth_count; i++) {
        struct berth *b = &c->berths[i];
        if (b->in_line)
            TAILQ_REMOVE(&c->line, b, line);
        LIST_REMOVE(b, link);
        b->pool->staff->berth_count--;
        leave_version(b->pool->staff, b->version);
    }
    free(c);
}

static bool add_berth(struct crew *c, struct pool *p)
{
    struct berth *b = &c->berths[c->berth_count];
    *b = (struct berth){.crew = c, .pool = p, .version = join_version(p->staff, &c->label)};
    if (!b->version)
        return false;
    LIST_INSERT_HEAD(&p->staff->berths, b, link);
    p->staff->berth_count++;
    c->berth_count++;
    return true;
}

static struct crew *new_crew(const struct label *label, struct pool **pools, uint32_t count)
{
    struct crew *c = calloc(1, sizeof *c + count * sizeof(struct berth));
    if (!c)
        return NULL;
    pairing_init(&c->open, goes_before);
    TAILQ_INIT(&c->line);
    c->label = *label;
    c->mark = mark_of(pools, count);
    for (uint32_t i = 0; i < count; i++)
        if (!add_berth(c, pools[i])) {
            free_crew(c);
            return NULL;
        }
    return c;
}

static void take_share(struct manager *m, struct crew *c, uint32_t share)
{
    for (uint32_t i = 0; i < c->berth_count; i++) {
        struct berth *b = &c->berths[i];
        if (b->version->share == share)
            continue;
        b->version->share = share;
        begin_shares(b->pool->staff);
        look_at(m, b->pool);
    }
}

int crew_join(struct manager *m, struct remote *r, struct pool **pools, uint32_t count)
{
    const struct label label = label_of(r);
    struct crew *c = find_crew(&label, pools, count);
    if (!c)
        c = new_crew(&label, pools, count);
    if (!c)
        return -1;
    c->members++;
    r->member.crew = c;
    r->member.load = (struct worker_load){.turn = ++m->turns};
    take_share(m, c, r->share);
    return 0;
}

/* --- Workers --- */

static uint32_t room_of(const struct worker_load *l)
{
    return l->slots > l->outstanding ? l->slots - l->outstanding : 0;
}

static void set_load(struct member *mb, uint32_t outstanding, uint32_t slots, uint64_t turn)
{
    struct crew *c = mb->crew;
    if (mb->open) {
        pairing_remove(&c->open, &mb->node);
        c->room -= room_of(&mb->load);
    }
    mb->load = (struct worker_load){.outstanding = outstanding, .slots = slots, .turn = turn};
    mb->open = slots > 0;
    if (mb->open) {
        pairing_add(&c->open, &mb->node);
        c->room += room_of(&mb->load);
    }
}

/* Before all others: it has waited.  A joined one has its turn among those of local executors. */
static void stir_first(struct manager *m, struct pool *p)
{
    if (p->local) {
        p->staff->called = m->called = true;
        manager_stir(m, p);
    } else if (!p->stirs) {
        p->stirs = true;
        STAILQ_INSERT_HEAD(&m->serving, p, next);
    }
}

static void call_first(struct manager *m, struct crew *c)
{
    struct berth *b = TAILQ_FIRST(&c->line);
    if (!b || c->room == 0)
        return;
    crews_wait_no_more(m, b->pool);
    stir_first(m, b->pool);
}

void crew_set_there(struct manager *m, struct remote *r, bool there)
{
    struct crew *c = r->member.crew;
    if (r->member.there == there)
        return;
    r->member.there = there;
    c->there += there ? 1 : UINT32_MAX;
    if (c->there == (there ? 1 : 0))
        enter_all(m, r, there);
}

void crew_update(struct manager *m, struct remote *r, uint32_t bound)
{
    struct member *mb = &r->member;
    uint32_t outstanding = executor_outstanding(&r->base);
    if (!mb->there)
        bound = 0;
    if (mb->load.outstanding == outstanding && mb->load.slots == bound)
        return;
    set_load(mb, outstanding, bound, mb->load.turn);
    call_first(m, mb->crew);
}

void crew_leave(struct manager *m, struct remote *r)
{
    struct crew *c = r->member.crew;
    crew_set_there(m, r, false);
    set_load(&r->member, 0, 0, 0);
    r->member.crew = NULL;
    if (--c->members == 0)
        free_crew(c);
}

bool crew_offers(const struct remote *r, const struct pool *p)
{
    const struct crew *c = r->member.crew;
    uint32_t low = 0, high = c ? c->berth_count : 0;
    while (low < high) {
        uint32_t at = low + (high - low) / 2;
        if (c->berths[at].pool->index < p->index)
            low = at + 1;
        else
            high = at;
    }
    return c && low < c->berth_count && c->berths[low].pool == p;
}

/* --- The choice --- */

static bool had_share(const struct staff *s, const struct version_group *v)
{
    return placement_had_share(v->given, s->given, v->share);
}

/* Where all versions that are there have had theirs, or there is one alone, shares say nothing. */
static bool shares_count(const struct staff *s)
{
    const struct version_group *v;
    if (s->versions_there < 2)
        return false;
    LIST_FOREACH(v, &s->versions, link)
    if (v->crews_there > 0 && !had_share(s, v))
        return true;
    return false;
}

struct remote *crews_choose(const struct pool *p)
{
    const struct staff *s = p->staff;
    const struct berth *b;
    struct member *best = NULL;
    bool shares = shares_count(s);
    LIST_FOREACH(b, &s->berths, link)
    {
        if (b->crew->room == 0 || (shares && had_share(s, b->version)))
            continue;
        struct member *mb = member_of(b->crew->open.root);
        if (!best || placement_worker_before(&mb->load, &best->load))
            best = mb;
    }
    return best ? ao_of(best, struct remote, member) : NULL;
}

uint32_t crews_room(const struct pool *p)
{
    const struct staff *s = p->staff;
    const struct berth *b;
    bool shares = shares_count(s);
    uint64_t room = 0;
    LIST_FOREACH(b, &s->berths, link)
    if (!shares || !had_share(s, b->version))
        room += b->crew->room;
    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
}

static void halve(struct staff *s)
{
    struct version_group *v;
    s->given /= 2;
    LIST_FOREACH(v, &s->versions, link)
    v->given /= 2;
}

static struct berth *berth_at(const struct pool *p, const struct crew *c)
{
    struct berth *b;
    LIST_FOREACH(b, &p->staff->berths, link)
    if (b->crew == c)
        return b;
    return NULL;
}

void crews_note_given(struct manager *m, struct pool *p, struct remote *r)
{
    struct staff *s = p->staff;
    struct member *mb = &r->member;
    struct berth *b = berth_at(p, mb->crew);
    set_load(mb, mb->load.outstanding + 1, mb->load.slots, ++m->turns);
    b->version->given++;
    if (++s->given == GIVEN_MAX)
        halve(s);
}

/* --- Who waits for room --- */

bool crew_awaited(const struct remote *r)
{
    return !TAILQ_EMPTY(&r->member.crew->line);
}

static void stand_in_line(struct berth *b, bool first)
{
    b->in_line = true;
    if (first)
        TAILQ_INSERT_HEAD(&b->crew->line, b, line);
    else
        TAILQ_INSERT_TAIL(&b->crew->line, b, line);
}

void crews_wait(struct manager *m, struct pool *p, bool first)
{
    struct staff *s = p->staff;
    struct berth *b;
    bool shares = shares_count(s);
    s->waits = true;
    TAILQ_INSERT_TAIL(&m->waiting, s, link);
    LIST_FOREACH(b, &s->berths, link)
    if (!shares || !had_share(s, b->version))
        stand_in_line(b, first);
}

void crews_wait_no_more(struct manager *m, struct pool *p)
{
    struct staff *s = p->staff;
    struct berth *b;
    if (!s->waits)
        return;
    s->waits = false;
    TAILQ_REMOVE(&m->waiting, s, link);
    LIST_FOREACH(b, &s->berths, link)
    if (b->in_line) {
        b->in_line = false;
        TAILQ_REMOVE(&b->crew->line, b, line);
    }
}

void crews_call(struct manager *m, const struct pool *p)
{
    struct berth *b;
    LIST_FOREACH(b, &p->staff->berths, link)
    call_first(m, b->crew);
}
