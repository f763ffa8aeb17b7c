/* Reads the rows of a database as those of a file are read. */
#include <stdio.h>
#include <string.h>

#include "server/store/chunk.h"
#include "server/store/driver.h"
#include "server/store/offline/salvage.h"

enum { LINE = 600 };

static const struct store_table *const tables[] = {&store_queues, &store_rates,  &store_semaphores,
                                                   &store_holds,  &store_crons,  &store_actor_types,
                                                   &store_actors, &store_batches};

struct reading {
    const struct store_offline *o;
    const struct salvage_taker *taker;
    struct store_marks marks;
    struct row_counters counters;
    const char *fault; /* what is wrong with the row at hand */
    bool stopped;      /* the taker wants no more */
};

static void on_marks(void *arg, const struct store_marks *marks)
{
    struct reading *r = arg;
    r->marks = *marks;
    r->counters.last_id = marks->last_id;
    r->counters.last_fence = marks->last_fence;
    r->counters.committed_at = marks->committed_at;
    r->counters.commits = marks->commits;
}

static void on_counts(void *arg, const struct store_counts *c)
{
    struct row_counters *to = &((struct reading *)arg)->counters;
    to->submitted = (uint64_t)c->submitted;
    to->done = (uint64_t)c->done;
    to->failed = (uint64_t)c->failed;
    to->cancelled = (uint64_t)c->cancelled;
    to->expired = (uint64_t)c->expired;
    to->dead = (uint64_t)c->dead;
}

static bool taken(struct reading *r, bool good)
{
    r->stopped |= !good;
    return good;
}

static const struct salvage_plain *plain_of(const struct store_table *table)
{
    const struct salvage_plain *plain = salvage_plain;
    while (plain->map != table)
        plain++;
    return plain;
}

static bool on_row(void *arg, const struct store_table *table, const void *row)
{
    struct reading *r = arg;
    const struct salvage_plain *plain = plain_of(table);
    union salvage_row copy;
    memcpy(&copy, row, sizeof copy);
    r->fault = salvage_fault(r->o, plain, &copy);
    return !r->fault && taken(r, r->taker->plain(r->taker->arg, plain, &copy));
}

/* The number of the attempt as the next owner would have it. */
static bool on_task(void *arg, const struct store_task *task)
{
    struct reading *r = arg;
    struct store_task copy = *task;
    copy.attempt = store_attempt(task, r->marks.boards);
    bool has_life = task->has_life || copy.attempt > 0;
    r->fault = r->o->task_fault(&copy);
    return !r->fault && taken(r, r->taker->task(r->taker->arg, &copy, has_life));
}

static bool on_event(void *arg, const struct store_event *event)
{
    struct reading *r = arg;
    r->fault = r->o->event_fault(event);
    return !r->fault && taken(r, r->taker->event(r->taker->arg, event));
}

static enum store_offline_end find(struct reading *r, const char *text, enum store_offline_end end)
{
    if (!r->stopped)
        r->taker->finding(r->taker->arg, text, false);
    return end;
}

static int read_chunk(struct reading *r, const struct store_driver *d, void *engine, char *text,
                      size_t size)
{
    struct store_fault fault = {.error = STORE_MEMORY, .text = "no memory for the rows"};
    const struct store_reader reader = {.arg = r,
                                        .marks = on_marks,
                                        .counts = on_counts,
                                        .row = on_row,
                                        .task = on_task,
                                        .event = on_event,
                                        .tables = tables,
                                        .table_count = sizeof tables / sizeof *tables,
                                        .fault = &r->fault};
    struct store_chunk *chunk = store_chunk_new();
    int more = chunk ? d->load(engine, 0, chunk, &fault) : -1;
    if (more < 0)
        snprintf(text, size, "%s", fault.text);
    else if (store_chunk_read(chunk, &reader, UINT32_MAX, text, size) < 0)
        more = -1;
    store_chunk_free(chunk);
    return more;
}

static enum store_offline_end read_all(struct reading *r, const struct store_driver *d,
                                       void *engine)
{
    char text[LINE];
    int more;
    do
        more = read_chunk(r, d, engine, text, sizeof text);
    while (more > 0);
    if (more < 0)
        return find(r, text, OFFLINE_DAMAGED);
    return taken(r, r->taker->counters(r->taker->arg, &r->counters)) ? OFFLINE_GOOD
                                                                     : OFFLINE_DAMAGED;
}

static enum store_offline_end read_database(const struct store_offline *o,
                                            const struct salvage_taker *taker)
{
    struct reading r = {.o = o, .taker = taker};
    struct store_fault fault;
    char text[LINE];
    const struct store_driver *d = driver_find(o->path, text, sizeof text);
    if (!d)
        return find(&r, text, OFFLINE_UNREADABLE);
    const struct store_setup setup = {.where = o->path,
                                      .names = row_names_of(o->states, o->state_count),
                                      .tables = tables,
                                      .table_count = sizeof tables / sizeof *tables};
    void *engine = d->open(&setup, &fault);
    if (!engine)
        return find(&r, fault.text, OFFLINE_UNREADABLE);
    struct store_state state;
    d->state(engine, &state);
    enum store_offline_end end = state.error == STORE_AWAY
                                     ? find(&r, d->fault(engine)->text, OFFLINE_UNREADABLE)
                                     : read_all(&r, d, engine);
    d->close(engine);
    return end;
}

enum store_offline_end offline_read(const struct store_offline *o,
                                    const struct salvage_taker *taker)
{
    return driver_is_url(o->path) ? read_database(o, taker) : salvage(o, taker);
}
