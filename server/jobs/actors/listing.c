#include "server/jobs/actors/listing.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "proto/job_options.h"
#include "server/jobs/accessors.h"
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/residents.h"
#include "server/jobs/actors/views.h"
#include "server/jobs/operations/channel.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/turns.h"
#include "server/jobs/persist/actor_rows.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/verbs/view.h"
#include "server/store/chunk.h"

enum {
    VIEW_WORK = 4,
    VISIT_WORK = 3,   /* see jobs_worked() */
    ROWS = 256,       /* of a page of the store, which others wait for meanwhile */
    ROWS_MOST = 10000 /* looked at for one page, so that it comes soon */
};

/* Where an actor is in the order of all. */
struct place {
    struct span type, key, tenant;
};

/* The actors whose type and key begin so. */
struct range {
    struct span type, key;
    bool whole_type; /* `type` is all of it */
    bool empty;      /* there can be none */
};

struct actor_listing {
    struct actors *actors;
    struct operation *op;
    struct range range;
    /* The last that was passed, or (`at_begin`) with which it begins. */
    struct place at;
    bool at_begin;
    uint8_t at_name[ACTOR_NAME_MAX], at_tenant[JOB_NAME_MAX]; /* what `at` points into */
    /* The first `count` in memory behind that, in order; they stay meanwhile. */
    struct actor **found;
    uint32_t count, next; /* next: that was not shown yet */
    uint32_t bucket;      /* the next to be looked at */
    bool others;          /* memory has others behind them */
    /* Rows of the store. */
    struct store_chunk *chunk;
    const struct store_actor *rows[ROWS]; /* `row_count`, in the chunk */
    uint32_t row_count, asked;
    uint32_t looked; /* at rows, in all */
    /* The answer. */
    uint32_t shown;
    size_t head; /* of the array */
    bool more;   /* there is another page */
};

/* --- The order --- */

static int compare(const struct place *a, const struct place *b)
{
    int order = span_compare(a->type, b->type);
    if (order == 0)
        order = span_compare(a->key, b->key);
    return order ? order : span_compare(a->tenant, b->tenant);
}

static struct place place_of(const struct actor *a)
{
    return (struct place){a->type->name, actor_key(a), a->tenant->name};
}

static struct place place_of_row(const struct store_actor *row)
{
    return (struct place){row->type, row->key, row->tenant};
}

static struct place place_of_name(struct span name, struct span tenant)
{
    struct span type = actor_type_of_name(name);
    return (struct place){type, span_behind(name, type.len + 1), tenant};
}

static bool begins_with(struct span text, struct span prefix)
{
    return text.len >= prefix.len && (prefix.len == 0 || !memcmp(text.at, prefix.at, prefix.len));
}

static struct range range_of(const struct actor_list_arguments *l)
{
    struct span prefix = l->prefix;
    const uint8_t *slash = prefix.len > 0 ? memchr(prefix.at, '/', prefix.len) : NULL;
    size_t len = slash ? (size_t)(slash - prefix.at) : prefix.len;
    struct range r = {.type = span_of(prefix.at, len), .whole_type = slash != NULL};
    if (slash)
        r.key = span_behind(prefix, len + 1);
    r.empty = slash && len == 0;
    if (l->type.len == 0)
        return r;
    r.empty |= slash ? !span_equal(l->type, r.type) : !begins_with(l->type, r.type);
    r.type = l->type;
    r.whole_type = true;
    return r;
}

/* Is it in the range?  The places that are follow one another. */
static bool is_within(const struct range *r, const struct place *p)
{
    bool fits = r->whole_type ? span_equal(p->type, r->type) : begins_with(p->type, r->type);
    return fits && begins_with(p->key, r->key);
}

static bool is_ahead(const struct actor_listing *s, const struct place *p)
{
    int order = compare(p, &s->at);
    return order > 0 || (order == 0 && s->at_begin);
}

/* Everything up to this one was looked at. */
static void pass(struct actor_listing *s, const struct place *p)
{
    size_t key_at = p->type.len + 1;
    assert(key_at + p->key.len <= sizeof s->at_name && p->tenant.len <= sizeof s->at_tenant);
    memcpy(s->at_name, p->type.at, p->type.len);
    s->at_name[p->type.len] = '/';
    memcpy(s->at_name + key_at, p->key.at, p->key.len);
    if (p->tenant.len > 0)
        memcpy(s->at_tenant, p->tenant.at, p->tenant.len);
    s->at = place_of_name(span_of(s->at_name, key_at + p->key.len),
                          span_of(s->at_tenant, p->tenant.len));
    s->at_begin = false;
}

bool actor_cursor_read(struct span cursor, struct span *name, struct span *tenant)
{
    size_t at = 0, len = 0;
    while (at < cursor.len && at < 3 && cursor.at[at] >= '0' && cursor.at[at] <= '9')
        len = 10 * len + (size_t)(cursor.at[at++] - '0');
    if (at == 0 || at >= cursor.len || cursor.at[at] != ':' || cursor.len - at - 1 < len)
        return false;
    *name = span_of(cursor.at + at + 1, len);
    *tenant = span_behind(cursor, at + 1 + len);
    return len <= ACTOR_NAME_MAX && tenant->len <= JOB_NAME_MAX &&
           actor_type_of_name(*name).len > 0;
}

static void pack_cursor(struct pack *p, const struct actor_listing *s)
{
    struct span name = span_of(s->at_name, s->at.type.len + 1 + s->at.key.len);
    char head[8];
    size_t len = (size_t)snprintf(head, sizeof head, "%u:", (unsigned)name.len);
    msgpack_pack_str(&p->packer, len + name.len + s->at.tenant.len);
    msgpack_pack_str_body(&p->packer, head, len);
    msgpack_pack_str_body(&p->packer, name.at, name.len);
    msgpack_pack_str_body(&p->packer, s->at.tenant.at, s->at.tenant.len);
}

/* --- Memory --- */

static bool may_show(const struct operation *op, struct span tenant, struct span name)
{
    const struct rights_object object = {.tenant = tenant, .key = name};
    return (op->actors.tenant.len == 0 || span_equal(tenant, op->actors.tenant)) &&
           operation_may_object(op, &object);
}

static bool stage_fits(const struct actor_list_arguments *l, enum actor_stage stage)
{
    return l->stage < 0 || (int)stage == l->stage;
}

/* That of one whose state is not here is known with its row. */
static bool is_wanted(const struct actor_listing *s, const struct actor *a)
{
    const struct place p = place_of(a);
    return is_within(&s->range, &p) && is_ahead(s, &p) && actor_is_there(a) &&
           (a->residence != ACTOR_HERE || stage_fits(&s->op->actors, actor_stage(a))) &&
           may_show(s->op, a->tenant->name, actor_name(a));
}

/* Below 0: a comes before b. */
static int compare_actors(const struct actor_listing *s, const struct actor *a,
                          const struct actor *b)
{
    const struct place pa = place_of(a), pb = place_of(b);
    uint32_t wait_a = actor_waiting(a), wait_b = actor_waiting(b);
    if (s->op->actors.busiest && wait_a != wait_b)
        return wait_a > wait_b ? -1 : 1;
    return compare(&pa, &pb);
}

static void let_go(struct actor *a)
{
    a->jobs--;
    actor_settle(a);
}

static bool has_taken(const struct actor_listing *s, const struct actor *a)
{
    bool taken = false;
    for (uint32_t i = 0; i < s->count && !taken; i++)
        taken = s->found[i] == a;
    return taken;
}

/* Among the first `max`; one that was met before, since its bucket was split meanwhile, is not
 * taken twice. */
static void take(struct actor_listing *s, struct actor *a)
{
    uint32_t at = 0, max = s->op->actors.max;
    for (uint32_t end = s->count; at < end;) {
        uint32_t middle = at + (end - at) / 2;
        if (compare_actors(s, s->found[middle], a) > 0)
            end = middle;
        else
            at = middle + 1;
    }
    bool known = at > 0 && s->found[at - 1] == a;
    if (known || (s->op->actors.busiest && has_taken(s, a)))
        return;
    s->others |= s->count == max;
    if (at == max)
        return;
    if (s->count == max)
        let_go(s->found[max - 1]);
    else
        s->count++;
    memmove(&s->found[at + 1], &s->found[at], (s->count - 1 - at) * sizeof s->found[0]);
    s->found[at] = a;
    a->jobs++; /* it stays, while the page is made */
}

static void forget_found(struct actor_listing *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        let_go(s->found[i]);
    s->count = s->next = s->bucket = 0;
    s->others = false;
}

/* True: all were looked at. */
static bool scan(struct actor_listing *s)
{
    const struct hash_table *all = &s->actors->by_name;
    uint32_t begun = jobs_work(s->actors->jobs);
    for (; s->bucket < all->size && jobs_work(s->actors->jobs) - begun < TURN_WORK; s->bucket++) {
        jobs_worked(s->actors->jobs, 1);
        for (struct hash_link *link = all->buckets[s->bucket]; link; link = link->next) {
            if (!is_wanted(s, (struct actor *)link))
                continue;
            jobs_worked(s->actors->jobs, VISIT_WORK);
            take(s, (struct actor *)link);
        }
    }
    return s->bucket >= all->size;
}

/* They change while they are looked for. */
static void sort_again(struct actor_listing *s)
{
    for (uint32_t i = 1; i < s->count; i++) {
        struct actor *a = s->found[i];
        uint32_t at = i;
        for (; at > 0 && compare_actors(s, s->found[at - 1], a) > 0; at--)
            s->found[at] = s->found[at - 1];
        s->found[at] = a;
    }
}

/* --- The answer --- */

static void finish(struct actor_listing *s)
{
    struct pack *p = &s->op->reply.result;
    view_array_end(p, s->head, s->shown);
    pack_str(p, "next");
    if (s->more)
        pack_cursor(p, s);
    else
        pack_nil(p);
    forget_found(s);
    operation_finish(s->op);
}

static void refuse(struct actor_listing *s, enum ergon_error error, const char *why)
{
    forget_found(s);
    operation_refuse(s->op, error, "%s", why);
}

/* False: the page is full, and this would be on the next. */
static bool show(struct actor_listing *s, const struct actor_view *v)
{
    struct pack *p = &s->op->reply.result;
    if (!actor_view_is_there(v) || !stage_fits(&s->op->actors, v->stage))
        return true;
    s->more = s->shown == s->op->actors.max;
    if (s->more)
        return false;
    jobs_worked(s->actors->jobs, VIEW_WORK);
    pack_map(p, ACTOR_VIEW_PAIRS);
    actor_view_pack(s->actors->jobs, p, v);
    s->shown++;
    return true;
}

/* Those in memory before this place (NULL: all), which are not in the store.  False: as show(). */
static bool show_found(struct actor_listing *s, const struct place *end)
{
    for (; s->next < s->count; s->next++) {
        const struct place p = place_of(s->found[s->next]);
        const struct actor_view v = actor_view_of(s->found[s->next]);
        int order = end ? compare(&p, end) : -1;
        if (order > 0)
            break;
        if (order == 0)
            continue; /* it is shown with its row */
        if (!show(s, &v))
            return false;
        pass(s, &p);
    }
    return true;
}

/* --- Rows --- */

/* False: as show(). */
static bool show_row(struct actor_listing *s, const struct store_actor *row)
{
    char text[ACTOR_NAME_MAX + 1];
    int len = snprintf(text, sizeof text, "%.*s/%.*s", (int)row->type.len,
                       (const char *)row->type.at, (int)row->key.len, (const char *)row->key.at);
    struct span name = span_of(text, (size_t)len);
    const struct actor *a = actor_find(s->actors, row->tenant, name);
    const struct actor_type *type = actor_type_find(s->actors, row->type);
    struct actor_view v;
    if (!may_show(s->op, row->tenant, name))
        return true;
    if (a && a->residence == ACTOR_HERE)
        v = actor_view_of(a);
    else if (type && type->policy.durable != DURABLE_NONE && !row_check_actor(row) &&
             utf8_is_name(name, ACTOR_NAME_MAX))
        v = actor_view_of_row(type, name, row, a);
    else
        return true; /* no message to it would find this state */
    return show(s, &v);
}

/* What became of the rows. */
enum merged {
    PAGE_FULL,
    ROWS_LEFT, /* the store has more of them */
    ROWS_OVER,
    FOUND_OVER, /* memory may have some before the next row */
};

static bool is_behind_found(const struct actor_listing *s, const struct place *p)
{
    const struct place last = s->others ? place_of(s->found[s->count - 1]) : *p;
    return compare(p, &last) > 0;
}

static enum merged merge(struct actor_listing *s)
{
    for (uint32_t i = 0; i < s->row_count; i++) {
        const struct place p = place_of_row(s->rows[i]);
        jobs_worked(s->actors->jobs, 1);
        if (!is_ahead(s, &p))
            continue;
        if (!is_within(&s->range, &p))
            return ROWS_OVER;
        if (is_behind_found(s, &p))
            return FOUND_OVER;
        if (!show_found(s, &p) || !show_row(s, s->rows[i]))
            return PAGE_FULL;
        pass(s, &p);
    }
    return s->row_count < s->asked ? ROWS_OVER : ROWS_LEFT;
}

static bool collect(void *arg, const struct store_table *table, const void *row)
{
    struct actor_listing *s = arg;
    const struct store_actor *actor = row;
    assert(table == &store_actors && s->row_count < ROWS);
    (void)table;
    if (actor->type.len + 1 + actor->key.len > ACTOR_NAME_MAX || actor->tenant.len > JOB_NAME_MAX)
        return false;
    s->rows[s->row_count++] = actor;
    return true;
}

/* False, and a text: a row cannot be. */
static bool read_rows(struct actor_listing *s, char *error, size_t size)
{
    const struct store_reader reader = {.arg = s, .row = collect};
    s->row_count = 0;
    return store_chunk_read(s->chunk, &reader, ROWS, error, size) == 0;
}

static void back(struct jobs *jobs, struct store_op *page);

static void ask(struct actor_listing *s)
{
    struct store_op *page = codec_row_new(s->actors->jobs, STORE_ROW_PAGE, &store_actors, 0, back);
    uint32_t left = s->op->actors.max - s->shown + 2; /* that at which it begins, and one more */
    if (!page) {
        refuse(s, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
        return;
    }
    s->asked = s->looked == 0 && left < ROWS ? left : ROWS;
    page->owner = s;
    page->limit = s->asked;
    page->chunk = s->chunk;
    *(struct store_actor *)page->row =
        (struct store_actor){.tenant = s->at.tenant, .type = s->at.type, .key = s->at.key};
    store_push(jobs_store(s->actors->jobs), page);
}

/* All that is in memory of this part of the order was shown. */
static void found_over(struct actor_listing *s)
{
    bool others = s->others;
    forget_found(s);
    if (others)
        channel_serve_again(s->actors->jobs, s->op);
    else
        finish(s);
}

static void go_on(struct actor_listing *s, enum merged merged)
{
    if (merged == ROWS_LEFT && s->looked < ROWS_MOST) {
        ask(s);
        return;
    }
    s->more |= merged == ROWS_LEFT;
    if (s->more || !show_found(s, NULL))
        finish(s);
    else
        found_over(s);
}

static void back(struct jobs *jobs, struct store_op *page)
{
    struct actor_listing *s = page->owner;
    char error[200] = "";
    journal_notice(jobs, page);
    s->chunk = page->chunk;
    if (page->error != STORE_OK) {
        refuse(s, sync_error(page->error), store_error_text(page->error));
    } else if (!read_rows(s, error, sizeof error)) {
        refuse(s, ERGON_E_STORE, "an actor of the store has a name that is too long");
    } else {
        s->looked += s->row_count;
        go_on(s, merge(s));
    }
}

/* --- The operation --- */

static void begin_at(struct actor_listing *s)
{
    struct span name, tenant, cursor = s->op->actors.cursor;
    s->range = range_of(&s->op->actors);
    s->at = (struct place){.type = s->range.type, .key = s->range.key};
    s->at_begin = true;
    if (cursor.len == 0 || !actor_cursor_read(cursor, &name, &tenant))
        return;
    const struct place p = place_of_name(name, tenant);
    if (is_ahead(s, &p))
        pass(s, &p);
}

/* False: it was refused. */
static bool begin(struct actors *actors, struct operation *op)
{
    struct actor_listing *s = op->actors.listing = calloc(1, sizeof *s);
    struct pack *p = &op->reply.result;
    if (s)
        s->found = calloc(op->actors.max, sizeof(struct actor *));
    if (!s || !s->found) {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return false;
    }
    op->begun = true;
    s->actors = actors;
    s->op = op;
    begin_at(s);
    pack_init(p);
    pack_map(p, 2);
    pack_str(p, "actors");
    s->head = view_array_begin(p);
    return true;
}

bool listing_serve(struct actors *actors, struct operation *op)
{
    if (!op->begun && !begin(actors, op))
        return true;
    struct actor_listing *s = op->actors.listing;
    const struct store *store = jobs_store(actors->jobs);
    bool stored = store && store_keeps(store, STORE_KEEPS_ACTORS) && !op->actors.busiest;
    if (s->range.empty) {
        finish(s);
        return true;
    }
    if (!scan(s))
        return false;
    if (op->actors.busiest) {
        sort_again(s);
        s->others = false; /* it has one page */
    }
    if (stored)
        ask(s);
    else if (show_found(s, NULL))
        found_over(s);
    else
        finish(s);
    return true;
}

void listing_fini(struct operation *op)
{
    struct actor_listing *s = op->actors.listing;
    if (!s)
        return;
    store_chunk_free(s->chunk);
    free(s->found);
    free(s);
}
