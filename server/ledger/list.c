/* task.list: newest first, a page at a time. */
#include "server/ledger/ledger_parts.h"

enum { VISITS = 10000 /* entries looked at for one page, so that the loop goes on */ };

static bool fits_names(const struct ask_filter *f, const struct entry *e)
{
    struct span key = e->more ? e->more->key.name : (struct span){0};
    return (!f->has_method || span_equal(f->method, e->queue->name)) &&
           (!f->has_tenant || span_equal(f->tenant, e->tenant->name)) &&
           (!f->has_key || span_equal(f->key, key));
}

static bool fits(struct ledger *l, struct entry *e, const struct ask_filter *f, uint64_t now)
{
    uint64_t age = now > e->created ? now - e->created : 0;

    if ((f->older > 0 && age < f->older) || (f->newer > 0 && age > f->newer) || !fits_names(f, e))
        return false;
    if (f->state < 0)
        return true;
    read_stage(l, e);
    return f->state == e->state;
}

/* The last with a lower id; from both ends, since what is forgotten first is old. */
static struct entry *last_below(const struct ledger *l, uint64_t id)
{
    struct entry *down = l->last, *up = l->first;

    while (down && down->id >= id && up && up->id < id) {
        down = down->all_prev;
        up = up->all_next;
    }
    if (!down || down->id < id)
        return down;
    return up ? up->all_prev : NULL;
}

/* Where the page begins: behind the cursor, whether or not its task is still known. */
static struct entry *begin(const struct ledger *l, uint64_t cursor)
{
    if (cursor == 0)
        return l->last;
    const struct entry *e = ledger_find(l, cursor);
    return e ? e->all_prev : last_below(l, cursor);
}

void list_serve(struct ledger *l, struct ask *a)
{
    const struct ask_filter *f = &a->filter;
    struct pack tasks;
    uint64_t now = ledger_wall(l), cursor = 0;
    uint32_t found = 0, visits = 0;
    char id[ID_TEXT_SIZE];
    struct entry *e = begin(l, f->cursor);

    pack_init(&tasks);
    for (; e && found < f->max && visits < VISITS; e = e->all_prev, visits++) {
        cursor = e->id;
        if (!ask_may_know(a, e) || !fits(l, e, f, now))
            continue;
        read_entry(l, e, 0, &tasks);
        found++;
    }
    pack_init(&a->result);
    pack_map(&a->result, 2);
    pack_str(&a->result, "tasks");
    pack_array(&a->result, found);
    pack_raw(&a->result, pack_bytes(&tasks));
    a->result.failed |= tasks.failed;
    pack_key_str(&a->result, "next", e ? id_text(cursor, id) : NULL);
    pack_fini(&tasks);
    ask_finish(l, a);
}
