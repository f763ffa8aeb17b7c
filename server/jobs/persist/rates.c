#include "server/jobs/persist/rates.h"

#include <assert.h>

#include "base/clock.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/names.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/sched/numbers.h"

enum { NUMBER = 8, PAIR = 2 * NUMBER /* bytes */ };

/* The time of the row of a limit, which no rate has. */
#define LIMIT_ROW_PER AO_NEVER

/* The time of a row that is written now, Unix ns: of two numbers of a limit or a rate, that of the
 * row counts unless a task was created later (sched/numbers.c).  So it is not before the last task
 * was created, though the clock was set back since. */
static uint64_t row_time(const struct jobs *jobs)
{
    uint64_t now = table_wall(jobs_table(jobs));
    return now > jobs_table(jobs)->created ? now : jobs_table(jobs)->created;
}

/* --- Limits --- */

/* What could not be written is written when the store works again. */
static void limit_written(struct jobs *jobs, struct store_op *write)
{
    const struct store_rate *row = (const struct store_rate *)write->row;
    const struct tenant *tenant = table_tenant_find(jobs_table(jobs), row->tenant);
    struct limit *limit =
        tenant ? limit_find(jobs_scheduler(jobs)->limits, tenant, row->key) : NULL;
    journal_notice(jobs, write);
    if (write->error != STORE_OK && write->error != STORE_REFUSED && limit && limit->row == row->id)
        limit_note(jobs_scheduler(jobs)->limits, limit);
}

/* Without memory the row stays: the next start finds that nothing uses it. */
static void remove_limit_row(struct jobs *jobs, const struct limit *limit)
{
    struct store_op *write = codec_row_new(jobs, STORE_ROW_REMOVE, &store_rates, 0, journal_notice);
    if (!write)
        return;
    ((struct store_rate *)write->row)->id = limit->row;
    store_push(jobs_store(jobs), write);
}

/* Without memory the row says the old size until the next change. */
static void put_limit(struct jobs *jobs, struct limit *limit)
{
    struct span tenant = limit->key.tenant->name;
    struct store_op *write = codec_row_new(jobs, STORE_ROW_PUT, &store_rates,
                                           tenant.len + limit->key.name.len, limit_written);
    if (!write)
        return;
    if (limit->row == 0) {
        limit->row = ++jobs_journal(jobs)->last_rate;
        limit->key.tenant->jobs++; /* as a rate: it counts as one of its tenant */
    }
    uint8_t *at = (uint8_t *)(write + 1);
    *(struct store_rate *)write->row = (struct store_rate){.id = limit->row,
                                                           .tenant = span_put(tenant, &at),
                                                           .key = span_put(limit->key.name, &at),
                                                           .max = limit->max,
                                                           .per = LIMIT_ROW_PER,
                                                           .noted_at = row_time(jobs)};
    store_push(jobs_store(jobs), write);
}

static void write_limits(struct jobs *jobs)
{
    struct limit *limit;
    while (jobs_store_usable(jobs) && (limit = limit_next_to_note(&jobs_scheduler(jobs)->notes)))
        if (limit->refs > 0) {
            put_limit(jobs, limit);
        } else {
            remove_limit_row(jobs, limit);
            numbers_drop_limit(jobs_scheduler(jobs), limit);
        }
}

/* --- Rates --- */

static uint8_t *put_number(uint8_t *to, uint64_t number)
{
    for (unsigned byte = 0; byte < NUMBER; byte++)
        *to++ = (uint8_t)(number >> (56 - 8 * byte));
    return to;
}

static uint64_t get_number(const uint8_t *from)
{
    uint64_t number = 0;
    for (unsigned byte = 0; byte < NUMBER; byte++)
        number = number << 8 | from[byte];
    return number;
}

static struct span put_starts(const struct start_window *w, ao_time now, uint8_t *to)
{
    uint8_t *at = to;
    for (uint32_t i = 0; i < w->length; i++) {
        const struct start_mark *mark = start_window_mark(w, i);
        at = put_number(at, start_window_age(mark, now));
        at = put_number(at, mark->count);
    }
    return span_of(to, (size_t)(at - to));
}

static struct span put_name(struct span name, uint8_t *to)
{
    return span_of(name.len > 0 ? memcpy(to, name.at, name.len) : to, name.len);
}

/* The clock is read before the wall clock: the starts look younger by what lies between. */
static void fill(struct jobs *jobs, const struct rate *r, uint32_t promised, struct store_op *write)
{
    uint8_t *more = (uint8_t *)(write + 1);
    struct store_rate *row = (struct store_rate *)write->row;
    struct span tenant = r->key.tenant->name;
    row->id = r->note.row;
    row->max = r->of.max;
    row->per = r->of.per;
    row->promised = promised;
    row->starts = put_starts(&r->starts, activator_clock(jobs_activator(jobs)), more);
    row->key = put_name(r->key.name, more + row->starts.len);
    row->tenant = put_name(tenant, more + row->starts.len + r->key.name.len);
    row->noted_at = row_time(jobs);
}

/* --- Written --- */

/* Rows are numbered upwards, and read back in this order: the newest is the last of the list.  Of
 * two rows of one rate, as an import may make them, the later counts. */
static void set_row(struct jobs *jobs, struct rate *r, uint64_t row)
{
    struct rate_rows *rows = &jobs_scheduler(jobs)->notes.rows;
    if (r->note.row > 0)
        TAILQ_REMOVE(rows, r, note.by_row);
    assert(TAILQ_EMPTY(rows) || TAILQ_LAST(rows, rate_rows)->note.row < row);
    r->note.row = row;
    TAILQ_INSERT_TAIL(rows, r, note.by_row);
}

static void told(struct jobs *jobs, struct store_op *write)
{
    struct rate *r = write->owner;
    journal_notice(jobs, write);
    assert(r->note.writes > 0);
    r->note.writes--;
    r->note.stale |= write->error != STORE_OK;
    if (r->note.writes == 0)
        r->note.promised = r->note.asked;
    admission_noted(jobs_scheduler(jobs), r);
}

static void forgotten(struct jobs *jobs, struct store_op *write)
{
    journal_notice(jobs, write);
}

/* A start that no job waits for is promised no longer. */
static uint32_t to_promise(struct rate *r, ao_time now)
{
    bool needed = r->held > 0 || gate_has_lines(&r->gate) || r->gate.called > 0;
    if (!needed)
        r->note.promised = 0;
    return r->note.promised + rate_wants(r, now);
}

static void put(struct jobs *jobs, struct rate *r, uint32_t promised)
{
    size_t more = r->starts.length * PAIR + r->key.name.len + r->key.tenant->name.len;
    struct store_op *write = codec_row_new(jobs, STORE_ROW_PUT, &store_rates, more, told);
    r->note.told_at = table_now(jobs_table(jobs));
    r->note.asked = promised;
    r->note.stale = !write;
    r->untold = false;
    if (!write) { /* no memory: as when the store fails */
        r->note.promised = promised;
        return;
    }
    if (r->note.row == 0)
        set_row(jobs, r, ++jobs_journal(jobs)->last_rate);
    fill(jobs, r, promised, write);
    write->owner = r;
    r->note.writes++;
    store_push(jobs_store(jobs), write);
}

/* Without memory the row stays, and the next start finds that it is past. */
static void remove_row(struct jobs *jobs, struct rate *r)
{
    if (r->note.row == 0)
        return;
    struct store_op *write = codec_row_new(jobs, STORE_ROW_REMOVE, &store_rates, 0, forgotten);
    if (write) {
        ((struct store_rate *)write->row)->id = r->note.row;
        store_push(jobs_store(jobs), write);
    }
    TAILQ_REMOVE(&jobs_scheduler(jobs)->notes.rows, r, note.by_row);
    r->note.row = 0;
}

static void tell(struct jobs *jobs, struct rate *r)
{
    if (rate_is_past(r)) {
        remove_row(jobs, r);
        admission_noted(jobs_scheduler(jobs), r);
    } else if (r->note.writes == 0 || r->untold) { /* else it is looked at when that is back */
        put(jobs, r,
            r->note.writes > 0 ? r->note.asked : to_promise(r, table_now(jobs_table(jobs))));
        if (r->note.writes == 0)
            admission_noted(jobs_scheduler(jobs), r);
    }
}

void rates_write(struct jobs *jobs)
{
    struct rate *r;
    if (jobs_table(jobs)->recovering || jobs_table(jobs)->reading)
        return;
    write_limits(jobs);
    jobs_scheduler(jobs)->notes.any = !LIST_EMPTY(&jobs_scheduler(jobs)->notes.limits);
    while ((r = jobs_scheduler(jobs)->notes.rates)) {
        jobs_scheduler(jobs)->notes.rates = r->note.next;
        r->note.listed = false;
        tell(jobs, r);
    }
}

static void flush(struct jobs *jobs, struct rate *r)
{
    start_window_pass(&r->starts, r->of, table_now(jobs_table(jobs)));
    if (r->starts.length > 0 || (r->refs > 0 && r->moved))
        put(jobs, r, 0);
    else
        remove_row(jobs, r);
}

void rates_flush(struct jobs *jobs)
{
    struct rate *r, *next;
    if (jobs_table(jobs)->reading)
        return;
    write_limits(jobs);
    for (r = TAILQ_FIRST(&jobs_scheduler(jobs)->notes.rows); r; r = next) {
        next = TAILQ_NEXT(r, note.by_row);
        flush(jobs, r);
    }
    for (r = limit_table_rate(jobs_scheduler(jobs)->limits, NULL); r; r = next) {
        next = limit_table_rate(jobs_scheduler(jobs)->limits, r);
        if (r->note.row == 0)
            flush(jobs, r);
    }
}

/* --- Read back --- */

static bool recover_limit(struct jobs *jobs, const struct store_rate *row)
{
    struct tenant *tenant = table_tenant(jobs_table(jobs), row->tenant);
    struct limit *limit =
        tenant ? limit_get(jobs_scheduler(jobs)->limits, tenant, row->key, row->max) : NULL;
    if (!limit)
        return false;
    if (limit->row == 0)
        tenant->jobs++;
    assert(jobs_table(jobs)->recovering && row->id > 0);
    limit->row = row->id;
    limit->row_at = row->noted_at;
    limit->moved = true;
    limit->durable = DURABLE_ASYNC; /* at least */
    limit_note(jobs_scheduler(jobs)->limits, limit);
    return true;
}

bool rates_recover(struct jobs *jobs, const struct store_rate *row)
{
    if (jobs_journal(jobs)->last_rate < row->id)
        jobs_journal(jobs)->last_rate = row->id;
    if (row->per == LIMIT_ROW_PER)
        return recover_limit(jobs, row);
    const struct start_rate of = {row->max, row->per};
    struct tenant *tenant = table_tenant(jobs_table(jobs), row->tenant);
    struct rate *r = tenant ? admission_rate(jobs_scheduler(jobs), tenant, row->key, of) : NULL;
    ao_time now = activator_clock(jobs_activator(jobs));
    uint64_t wall = table_wall(jobs_table(jobs));
    ao_time since = wall > row->noted_at ? wall - row->noted_at : 0;
    assert(jobs_table(jobs)->recovering && row->id > 0);
    if (!r)
        return false;
    for (size_t at = 0; at + PAIR <= row->starts.len; at += PAIR) {
        ao_time age = get_number(row->starts.at + at);
        age = clock_after(since, age);
        uint64_t count = get_number(row->starts.at + at + NUMBER);
        start_window_add_past(&r->starts, r->of, age, count < UINT32_MAX ? count : UINT32_MAX, now);
    }
    start_window_add_past(&r->starts, r->of, 0, row->promised, now);
    set_row(jobs, r, row->id);
    r->note.row_at = row->noted_at;
    r->moved = true;
    r->note.told_at = table_now(jobs_table(jobs));
    r->note.stale = true; /* nothing is promised any more */
    start_window_pass(&r->starts, r->of, now);
    admission_weigh(jobs_scheduler(jobs), r);
    admission_noted(jobs_scheduler(jobs), r);
    return true;
}
