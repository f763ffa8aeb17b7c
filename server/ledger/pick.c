#include "server/ledger/pick.h"

#include <assert.h>
#include <stdlib.h>

enum { MOVES = 8 /* by age, an operation */ };

void pick_init(struct pick *p, ao_time ageing)
{
    *p = (struct pick){.ageing = ageing};
}

/* --- Rings of shares --- */

static void ring_add(struct pick_share **ring, struct pick_share *s)
{
    struct pick_share *head = *ring;
    s->ring = ring;
    if (head) { /* behind all: before the head */
        s->prev = head->prev;
        s->next = head;
        head->prev->next = s;
        head->prev = s;
    } else {
        *ring = s->prev = s->next = s;
    }
}

static void ring_remove(struct pick_share *s)
{
    if (*s->ring == s)
        *s->ring = s->next == s ? NULL : s->next;
    s->prev->next = s->next;
    s->next->prev = s->prev;
    s->ring = NULL;
}

/* --- A tenant's share of a level --- */

static uint32_t weight_of(const struct pick_share *s)
{
    return s->tenant->weight > 0 ? s->tenant->weight : 1;
}

static bool is_empty(const struct pick_share *s)
{
    return s->again.count == 0 && s->risen.count == 0 && s->born.count == 0;
}

static struct entry *head_of(const struct pick_share *s)
{
    struct entry *risen = s->risen.first, *born = s->born.first;
    if (s->again.first)
        return s->again.first;
    if (!risen || !born)
        return risen ? risen : born;
    return risen->id < born->id ? risen : born;
}

static struct pick_share *share_of(unsigned kind, const struct entry *e)
{
    return &e->tenant->shares[kind][e->level];
}

static bool make_shares(struct tenant *t, unsigned kind)
{
    if (!t->shares[kind] && (t->shares[kind] = calloc(PICK_LEVELS, sizeof(struct pick_share))))
        for (int i = 0; i < PICK_LEVELS; i++)
            t->shares[kind][i].tenant = t;
    return t->shares[kind] != NULL;
}

/* It has something now.  Where there is nobody to overtake there are no newcomers. */
static void share_enter(struct pick_level *level, struct pick_share *s)
{
    if (s->ring)
        return;
    s->left = 0;
    level->shares++;
    level->weights += weight_of(s);
    bool fresh = level->turn && level->served >= s->fresh_from;
    ring_add(fresh ? &level->fresh : &level->turn, s);
}

static void share_leave(struct pick_level *level, struct pick_share *s)
{
    level->shares--;
    level->weights -= weight_of(s);
    ring_remove(s);
}

/* --- An entry in its level --- */

static void enter(struct pick *p, struct entry_list *list, struct pick_share *s, struct entry *e)
{
    struct pick_level *level = &p->levels[e->level];
    entry_push(list, e);
    e->older = level->youngest;
    e->younger = NULL;
    *(level->youngest ? &level->youngest->younger : &level->oldest) = e;
    if (level->youngest && e->entered < level->youngest->entered)
        e->entered = level->youngest->entered;
    level->youngest = e;
    level->count++;
    p->count++;
    share_enter(level, s);
}

/* Its share may be empty then. */
static void leave(struct pick *p, struct entry *e)
{
    struct pick_level *level = &p->levels[e->level];
    entry_unlink(e);
    *(e->older ? &e->older->younger : &level->oldest) = e->younger;
    *(e->younger ? &e->younger->older : &level->youngest) = e->older;
    e->older = e->younger = NULL;
    level->count--;
    p->count--;
}

/* --- Ageing --- */

static void rise(struct pick *p, unsigned kind, struct entry *e)
{
    struct pick_share *from = share_of(kind, e), *to = from + 1;
    bool again = e->list == &from->again;
    leave(p, e);
    if (is_empty(from))
        share_leave(&p->levels[e->level], from);
    e->level++;
    e->entered += p->ageing;
    enter(p, again ? &to->again : &to->risen, to, e);
}

/* From the top down, so that nobody takes two steps at once. */
static void age(struct pick *p, unsigned kind, ao_time now)
{
    int moves = p->ageing > 0 ? MOVES : 0;
    for (int i = PICK_LEVELS - 2; i >= 0; i--) {
        struct entry *e = p->levels[i].oldest;
        for (; e && moves > 0 && now >= e->entered && now - e->entered >= p->ageing; moves--) {
            rise(p, kind, e);
            e = p->levels[i].oldest;
        }
    }
}

/* --- Queued and taken --- */

bool pick_add(struct pick *p, unsigned kind, struct entry *e, bool front, ao_time now)
{
    assert(kind < PICK_KINDS && e->priority < PICK_LEVELS && !e->list);
    if (!make_shares(e->tenant, kind))
        return false;
    age(p, kind, now);
    if (!front || e->level < e->priority)
        e->level = e->priority;
    e->entered = now;
    struct pick_share *s = share_of(kind, e);
    enter(p, front ? &s->again : &s->born, s, e);
    return true;
}

void pick_remove(struct pick *p, unsigned kind, struct entry *e)
{
    struct pick_share *s = share_of(kind, e);
    leave(p, e);
    if (is_empty(s))
        share_leave(&p->levels[e->level], s);
}

/* A newcomer has had its first: it goes on as everybody does. */
static void served_fresh(struct pick_level *level, struct pick_share *s)
{
    ring_remove(s);
    ring_add(&level->turn, s);
}

static void served_turn(struct pick_level *level, struct pick_share *s)
{
    if (s->left == 0)
        s->left = weight_of(s);
    if (--s->left == 0)
        level->turn = s->next;
}

static struct entry *take_of(struct pick *p, struct pick_level *level)
{
    bool fresh = level->fresh && (!level->was_fresh || !level->turn);
    struct pick_share *s = fresh ? level->fresh : level->turn;
    struct entry *e = head_of(s);
    leave(p, e);
    level->was_fresh = fresh;
    level->served++;
    s->fresh_from = level->served + level->weights;
    if (fresh)
        served_fresh(level, s);
    else
        served_turn(level, s);
    if (is_empty(s))
        share_leave(level, s);
    return e;
}

struct entry *pick_take(struct pick *p, unsigned kind, ao_time now)
{
    age(p, kind, now);
    for (int i = PICK_LEVELS - 1; i >= 0; i--)
        if (p->levels[i].count > 0)
            return take_of(p, &p->levels[i]);
    return NULL;
}

/* --- Where one stands --- */

/* Those that stand before it in its own list. */
static uint32_t before_in_list(const struct entry *e, uint32_t max)
{
    uint32_t n = 0;
    for (e = e->prev; e && n < max; e = e->prev)
        n++;
    return n;
}

/* Those of the list with a lower id, as far as they stand at its head. */
static uint32_t older_in(const struct entry_list *list, const struct entry *than, uint32_t max)
{
    uint32_t n = 0;
    for (const struct entry *e = list->first; e && e->id < than->id && n < max; e = e->next)
        n++;
    return n;
}

static uint32_t own_before(const struct pick_share *s, const struct entry *e, uint32_t max)
{
    uint32_t n = before_in_list(e, max);
    if (e->list == &s->again)
        return n;
    n += s->again.count;
    return n < max ? n + older_in(e->list == &s->born ? &s->risen : &s->born, e, max - n) : n;
}

void pick_place(const struct pick *p, unsigned kind, const struct entry *e, uint32_t max,
                struct pick_place *out)
{
    const struct pick_share *s = share_of(kind, e);
    const struct pick_level *level = &p->levels[e->level];
    uint32_t own = own_before(s, e, max);
    *out = (struct pick_place){
        .own = own < max ? own : max, .own_is_least = own >= max, .tenants = level->shares};
    out->others = level->count - s->again.count - s->risen.count - s->born.count;
    for (int i = e->level + 1; i < PICK_LEVELS; i++)
        out->higher += p->levels[i].count;
}
