#include "tests/support/random.h"
#include "tests/support/store_model.h"

#include <stdio.h>
#include <string.h>

enum { PARAMS_MAX = 9000, RESULT_MAX = 6000 }; /* beyond a page, too */

/* Of every task the same bytes from its own place on, so that what is mixed up is seen. */
static uint8_t pattern[MODEL_TASKS + PARAMS_MAX + RESULT_MAX];

static const uint8_t *bytes_of(uint64_t id)
{
    if (!pattern[1])
        for (size_t n = 0; n < sizeof pattern; n++)
            pattern[n] = (uint8_t)(n * 2654435761u >> 11 | 1);
    return pattern + id;
}

/* Most are short. */
static uint16_t size_by_chance(uint64_t *random, uint64_t most)
{
    return (uint16_t)chance(random, chance(random, 8) ? 300 : most);
}

/* --- Plans --- */

static void plan_put(const struct model *m, uint64_t *random, struct planned *p)
{
    *p = (struct planned){.kind = STORE_PUT,
                          .id = m->last_id + 1,
                          .row = {.there = true, .params = size_by_chance(random, PARAMS_MAX)},
                          .add = {.submitted = 1}};
}

static void plan_start(const struct model *m, uint64_t id, struct planned *p)
{
    *p = (struct planned){.kind = STORE_CHANGE, .id = id, .row = m->rows[id]};
    p->row.attempt++;
}

static void plan_end(const struct model *m, uint64_t *random, uint64_t id, struct planned *p)
{
    *p = (struct planned){.kind = STORE_CHANGE, .id = id, .row = m->rows[id]};
    p->row.state = (uint8_t)(CLIENT_DONE + chance(random, 4));
    if (chance(random, 2))
        p->row.result = (uint16_t)(1 + size_by_chance(random, RESULT_MAX - 1));
    p->add.done = p->row.state == CLIENT_DONE;
    p->add.failed = p->row.state == CLIENT_FAILED;
    p->add.cancelled = p->row.state == CLIENT_CANCELLED;
    p->add.dead = p->row.state == CLIENT_DEAD;
}

static void plan_event(const struct model *m, uint64_t id, struct planned *p)
{
    *p = (struct planned){.kind = STORE_EVENT, .id = id, .row = m->rows[id]};
    p->row.events++;
}

bool model_plan(const struct model *m, uint64_t *random, struct planned *p)
{
    uint64_t id = m->last_id ? 1 + chance(random, m->last_id) : 0;
    bool room = m->last_id + 1 < MODEL_TASKS;
    if (id && !m->rows[id].there)
        id = m->last_id;
    if (!id || !m->rows[id].there || chance(random, 5) < 2) {
        if (room)
            plan_put(m, random, p);
        return room;
    }
    if (m->rows[id].state != CLIENT_OPEN)
        *p = (struct planned){.kind = STORE_REMOVE, .id = id};
    else if (chance(random, 3) == 0)
        plan_event(m, id, p);
    else if (chance(random, 2))
        plan_start(m, id, p);
    else
        plan_end(m, random, id, p);
    return true;
}

static void add_up(struct store_counts *sum, const struct store_counts *more)
{
    sum->submitted += more->submitted;
    sum->done += more->done;
    sum->failed += more->failed;
    sum->cancelled += more->cancelled;
    sum->expired += more->expired;
    sum->dead += more->dead;
}

void model_apply(struct model *m, const struct planned *p)
{
    m->rows[p->id] = p->row;
    if (p->id > m->last_id)
        m->last_id = p->id;
    add_up(&m->counts, &p->add);
}

struct store_op *model_op(const struct planned *p)
{
    struct store_op *op = client_op(p->kind);
    op->add = p->add;
    if (p->kind == STORE_EVENT) {
        op->event = (struct store_event){
            .id = p->id, .seq = p->row.events, .at = 5, .what = span_text("progress")};
        return op;
    }
    op->task = (struct store_task){.id = p->id,
                                   .method = span_text("m"),
                                   .created = 1,
                                   .durable = 2,
                                   .state = p->row.state,
                                   .attempt = p->row.attempt,
                                   .params = span_of(bytes_of(p->id), p->row.params),
                                   .result = span_of(bytes_of(p->id + PARAMS_MAX), p->row.result)};
    return op;
}

/* --- What is there --- */

struct reading {
    struct model *model;
    uint64_t bad; /* id */
};

static void read_counts(void *arg, const struct store_counts *counts)
{
    ((struct reading *)arg)->model->counts = *counts;
}

static bool no_row(void *arg, const struct store_table *table, const void *row)
{
    return false;
}

static bool read_task(void *arg, const struct store_task *t)
{
    struct reading *r = arg;
    bool good = t->id > 0 && t->id < MODEL_TASKS && span_is(t->method, "m") &&
                span_equal(t->params, span_of(bytes_of(t->id), t->params.len)) &&
                span_equal(t->result, span_of(bytes_of(t->id + PARAMS_MAX), t->result.len));
    if (!good) {
        r->bad = t->id;
        return false;
    }
    r->model->rows[t->id] = (struct model_row){.there = true,
                                               .state = t->state,
                                               .params = (uint16_t)t->params.len,
                                               .result = (uint16_t)t->result.len,
                                               .attempt = t->attempt};
    return true;
}

static bool view_event(void *arg, const struct store_event *e)
{
    struct reading *r = arg;
    struct model_row *row = &r->model->rows[e->id];
    if (!row->there || e->seq != row->events + 1)
        r->bad = e->id;
    row->events++;
    return r->bad == 0;
}

bool model_read(struct model *m, const struct store_options *options, char *error, size_t size)
{
    struct reading r = {.model = m};
    static const struct store_table *const tables[] = {&store_queues, &store_rates, &store_crons};
    const struct store_reader reader = {.arg = &r,
                                        .counts = read_counts,
                                        .tables = tables,
                                        .table_count = sizeof tables / sizeof *tables,
                                        .row = no_row,
                                        .task = read_task,
                                        .event = view_event};
    *m = (struct model){0};
    struct store *s = store_open(options, error, size);
    if (!s)
        return false;
    bool good = store_load(s, &reader, error, size) == 0;
    if (r.bad)
        snprintf(error, size, "task %llu is not what was written", (unsigned long long)r.bad);
    m->last_id = store_last_id(s);
    store_close(s);
    return good;
}

static bool same_row(const struct model_row *a, const struct model_row *b)
{
    return a->there == b->there && a->state == b->state && a->params == b->params &&
           a->result == b->result && a->attempt == b->attempt && a->events == b->events;
}

bool model_equal(const struct model *a, const struct model *b)
{
    for (int id = 0; id < MODEL_TASKS; id++)
        if (!same_row(&a->rows[id], &b->rows[id]))
            return false;
    return a->last_id == b->last_id && memcmp(&a->counts, &b->counts, sizeof a->counts) == 0;
}

bool model_balances(const struct model *m)
{
    const struct store_counts *c = &m->counts;
    int64_t open = 0;
    for (int id = 0; id < MODEL_TASKS; id++)
        open += m->rows[id].there && m->rows[id].state == CLIENT_OPEN;
    return c->submitted == c->done + c->failed + c->cancelled + c->expired + c->dead + open;
}
