#include "server/jobs/semaphores/rows.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"

enum { SAVED_AHEAD = 256 /* that are written once more, a try */ };

/* --- Holds --- */

static void set_unsaved(struct jobs *jobs, struct hold *h)
{
    if (!h->unsaved)
        LIST_INSERT_HEAD(&jobs->semaphores->unsaved_holds, h, by_unsaved);
    h->unsaved = true;
    journal_try_later(jobs);
}

static void clear_unsaved(struct hold *h)
{
    if (h->unsaved)
        LIST_REMOVE(h, by_unsaved);
    h->unsaved = false;
}

static void link_gone(struct semaphores *all, struct hold *h)
{
    h->prev = NULL;
    h->next = all->gone;
    if (h->next)
        h->next->prev = h;
    all->gone = h;
}

static void free_gone(struct semaphores *all, struct hold *h)
{
    *(h->prev ? &h->prev->next : &all->gone) = h->next;
    if (h->next)
        h->next->prev = h->prev;
    free(h);
}

/* Writes come back in order: one that worked has a later state than one that failed before. */
bool hold_rows_returned(struct jobs *jobs, struct hold *h, const struct store_op *write)
{
    assert(h->writes > 0);
    h->writes--;
    if (write->error == STORE_OK)
        clear_unsaved(h);
    else if (write->error != STORE_REFUSED)
        set_unsaved(jobs, h);
    if (h->state != HOLD_GONE)
        return true;
    if (h->writes == 0 && !h->unsaved)
        free_gone(jobs->semaphores, h);
    return false;
}

static struct store_op *put_new(struct jobs *jobs, const struct hold *h, write_done *done)
{
    const struct limit *limit = semaphore_limit(h->semaphore);
    struct span tenant = limit->key.tenant->name, secret = span_of(h->secret, HOLD_SECRET);
    size_t bytes = tenant.len + limit->key.name.len + HOLD_SECRET + h->who.len;
    struct store_op *write = codec_row_new(jobs, STORE_ROW_PUT, &store_holds, bytes, done);
    if (!write)
        return NULL;
    uint8_t *at = (uint8_t *)(write + 1);
    *(struct store_hold *)write->row = (struct store_hold){
        .id = h->fence,
        .tenant = span_put(tenant, &at),
        .name = span_put(limit->key.name, &at),
        .secret = span_put(secret, &at),
        .principal = span_put(h->who, &at),
        .permits = h->claim.want,
        .of = limit->max,
        .since_at = h->since,
        .ends_at = h->ends == AO_NEVER ? 0 : table_wall_of(&jobs->table, h->ends),
        .ttl = codec_duration(h->ttl),
        .grace = h->grace};
    return write;
}

static struct store_op *removal_new(struct jobs *jobs, const struct hold *h, write_done *done)
{
    struct store_op *write = codec_row_new(jobs, STORE_ROW_REMOVE, &store_holds, 0, done);
    if (write)
        ((struct store_hold *)write->row)->id = h->fence;
    return write;
}

static void push(struct jobs *jobs, struct hold *h, struct store_op *write)
{
    write->owner = h;
    h->writes++;
    store_push(jobs->store, write);
}

bool hold_rows_put(struct jobs *jobs, struct hold *h, write_done *done)
{
    struct store_op *write = put_new(jobs, h, done);
    if (write)
        push(jobs, h, write);
    return write != NULL;
}

static void hold_back(struct jobs *jobs, struct store_op *write)
{
    journal_notice(jobs, write);
    hold_rows_returned(jobs, write->owner, write);
}

bool hold_rows_save(struct jobs *jobs, struct hold *h)
{
    struct store_op *write =
        h->state == HOLD_GONE ? removal_new(jobs, h, hold_back) : put_new(jobs, h, hold_back);
    if (write)
        push(jobs, h, write);
    else
        set_unsaved(jobs, h);
    return write != NULL;
}

bool hold_rows_end(struct jobs *jobs, struct hold *h, bool has_row)
{
    assert(h->state == HOLD_GONE);
    clear_unsaved(h);
    bool pushed = !has_row || hold_rows_save(jobs, h);
    if (h->writes == 0 && pushed)
        free(h);
    else
        link_gone(jobs->semaphores, h);
    return pushed;
}

void hold_rows_abandon_gone(struct jobs *jobs)
{
    while (jobs->semaphores->gone)
        free_gone(jobs->semaphores, jobs->semaphores->gone);
}

/* --- Semaphores --- */

static void clear_semaphore_unsaved(struct semaphore *s)
{
    if (s->unsaved)
        LIST_REMOVE(s, by_unsaved);
    s->unsaved = false;
}

static void set_semaphore_unsaved(struct jobs *jobs, struct semaphore *s)
{
    if (!s->unsaved)
        LIST_INSERT_HEAD(&jobs->semaphores->unsaved, s, by_unsaved);
    s->unsaved = true;
    journal_try_later(jobs);
}

static bool wants_row(const struct semaphore *s)
{
    return semaphore_limit(s)->kept && s->durable;
}

static void semaphore_back(struct jobs *jobs, struct store_op *write)
{
    struct semaphore *s = write->owner;
    journal_notice(jobs, write);
    s->writes--;
    if (write->error == STORE_OK)
        clear_semaphore_unsaved(s);
    else if (write->error != STORE_REFUSED)
        set_semaphore_unsaved(jobs, s);
    if (s->writes == 0 && !s->unsaved && !wants_row(s))
        s->row = 0;
    semaphore_settle(jobs, s);
}

static struct store_op *semaphore_put_new(struct jobs *jobs, const struct semaphore *s)
{
    const struct limit *limit = semaphore_limit(s);
    struct span tenant = limit->key.tenant->name;
    struct store_op *write = codec_row_new(jobs, STORE_ROW_PUT, &store_semaphores,
                                           tenant.len + limit->key.name.len, semaphore_back);
    if (!write)
        return NULL;
    uint8_t *at = (uint8_t *)(write + 1);
    *(struct store_semaphore *)write->row =
        (struct store_semaphore){.id = s->row,
                                 .tenant = span_put(tenant, &at),
                                 .name = span_put(limit->key.name, &at),
                                 .permits = limit->max};
    return write;
}

static struct store_op *semaphore_removal_new(struct jobs *jobs, const struct semaphore *s)
{
    struct store_op *write =
        codec_row_new(jobs, STORE_ROW_REMOVE, &store_semaphores, 0, semaphore_back);
    if (write)
        ((struct store_semaphore *)write->row)->id = s->row;
    return write;
}

bool semaphore_rows_save(struct jobs *jobs, struct semaphore *s)
{
    if (wants_row(s) && s->row == 0)
        s->row = stamp_next(&jobs->table.last_stamp, table_wall(&jobs->table));
    if (s->row == 0)
        return true;
    struct store_op *write =
        wants_row(s) ? semaphore_put_new(jobs, s) : semaphore_removal_new(jobs, s);
    if (!write) {
        set_semaphore_unsaved(jobs, s);
        return false;
    }
    write->owner = s;
    s->writes++;
    store_push(jobs->store, write);
    return true;
}

void semaphore_rows_abandon(struct semaphore *s)
{
    clear_semaphore_unsaved(s);
    s->row = 0;
    s->writes = 0;
}

/* --- Written once more --- */

/* One whose write is under way leaves the list before that is back. */
static void save_semaphore(struct jobs *jobs, struct semaphore *s)
{
    clear_semaphore_unsaved(s);
    semaphore_rows_save(jobs, s);
}

static void save_hold(struct jobs *jobs, struct hold *h)
{
    clear_unsaved(h);
    hold_rows_save(jobs, h);
}

/* While the store fails only one is tried. */
bool semaphores_save(struct jobs *jobs)
{
    struct semaphores *all = jobs->semaphores;
    bool any = !LIST_EMPTY(&all->unsaved) || !LIST_EMPTY(&all->unsaved_holds);
    int left = jobs_store_usable(jobs) ? SAVED_AHEAD : 1;
    for (; left > 0 && !LIST_EMPTY(&all->unsaved); left--)
        save_semaphore(jobs, LIST_FIRST(&all->unsaved));
    for (; left > 0 && !LIST_EMPTY(&all->unsaved_holds); left--)
        save_hold(jobs, LIST_FIRST(&all->unsaved_holds));
    return any;
}

void semaphores_flush(struct jobs *jobs)
{
    struct semaphore *s_next;
    struct hold *h_next;
    for (struct semaphore *s = LIST_FIRST(&jobs->semaphores->unsaved); s; s = s_next) {
        s_next = LIST_NEXT(s, by_unsaved);
        save_semaphore(jobs, s);
    }
    for (struct hold *h = LIST_FIRST(&jobs->semaphores->unsaved_holds); h; h = h_next) {
        h_next = LIST_NEXT(h, by_unsaved);
        save_hold(jobs, h);
    }
}
