/* server.audit: checks that the accounts balance: submitted = ended, in all ways, + open.
 *
 * The audit compares the accounts with a census of all jobs, and the store's counters with a count
 * of its rows, which is made in steps.  Changes of rows that a step has already counted are added
 * to the count (journal.h): the store applies operations in the order in which they come back, so a
 * write that comes back after a step was not seen by it.  An operation that comes while an audit is
 * under way is answered with it, since its answer holds for the moment at which it ends. */
#include "server/jobs/verbs/audit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/accessors.h"
#include "server/jobs/actors/counts.h"
#include "server/jobs/batches/members.h"
#include "server/jobs/core/walk.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/scheduler.h"

enum {
    DIFFERENCES = 8,
    WALK_BUDGET = 2000 /* jobs visited in a step */
};

struct audit {
    struct operation *operations; /* are answered with it; linked by `next` */
    struct job_census census;
    uint64_t rows_open;
    struct store_counts counters; /* as they were when the last rows were counted */
    bool rows_done;
    enum store_error rows_error;
};

static const enum job_state ends[] = {JOB_DONE, JOB_FAILED, JOB_CANCELLED, JOB_EXPIRED, JOB_DEAD};
enum { ENDS = sizeof ends / sizeof ends[0] };

struct differences {
    char texts[DIFFERENCES][160];
    uint32_t count;
};

static void differ(struct differences *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void differ(struct differences *d, const char *format, ...)
{
    va_list args;

    if (d->count == DIFFERENCES)
        return;
    va_start(args, format);
    vsnprintf(d->texts[d->count++], sizeof d->texts[0], format, args);
    va_end(args);
}

static uint64_t sum_ended(const struct job_sums *account)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < ENDS; i++)
        sum += account->ended[ends[i]];
    return sum;
}

static void check_account(struct differences *d, const char *name, const struct job_sums *account,
                          uint64_t open)
{
    uint64_t ended = sum_ended(account);
    if (account->submitted != ended + open)
        differ(d, "%s: %" PRIu64 " submitted, but %" PRIu64 " ended and %" PRIu64 " open", name,
               account->submitted, ended, open);
}

/* Every queue counts its own jobs; the sum is the number of all jobs. */
static void check_queues(const struct jobs *jobs, const struct audit *au, struct differences *d)
{
    for (unsigned s = 0; s < JOB_STATE_COUNT; s++) {
        uint64_t sum = 0;
        for (const struct job_queue *q = jobs_table(jobs)->queues; q; q = q->next)
            sum += counter_read(&q->by_state[s]);
        if (sum != au->census.states[s])
            differ(d, "queues count %" PRIu64 " %s, but there are %" PRIu64, sum,
                   job_state_names[s], au->census.states[s]);
    }
}

static void check_rows(struct differences *d, const struct audit *au)
{
    const struct store_counts *c = &au->counters;
    uint64_t ended = (uint64_t)(c->done + c->failed + c->cancelled + c->expired + c->dead);

    if ((uint64_t)c->submitted != ended + au->rows_open)
        differ(d,
               "store: %" PRIi64 " submitted, but %" PRIu64 " ended and %" PRIu64 " rows are open",
               c->submitted, ended, au->rows_open);
}

static void pack_account(struct pack *p, const char *name, const struct job_sums *account,
                         uint64_t open)
{
    pack_str(p, name);
    pack_map(p, 2 + ENDS);
    pack_key_uint(p, "submitted", account->submitted);
    for (unsigned i = 0; i < ENDS; i++)
        pack_key_uint(p, job_state_names[ends[i]], account->ended[ends[i]]);
    pack_key_uint(p, "open", open);
}

static struct actors *actors_of(const struct jobs *jobs)
{
    return jobs_scheduler(jobs)->messages.arg;
}

/* Rows of actors; nil: they were not counted. */
static void pack_actors(struct pack *p, const struct jobs *jobs)
{
    bool known;
    uint64_t rows, counted;
    counts_checked(actors_of(jobs), &known, &rows, &counted);
    pack_str(p, "actors");
    if (known)
        pack_uint(p, rows);
    else
        pack_nil(p);
}

static void pack_rows(struct pack *p, const struct jobs *jobs, const struct audit *au, bool known)
{
    pack_str(p, "store");
    if (!known) {
        pack_nil(p);
        return;
    }
    const struct store_counts *c = &au->counters;
    pack_map(p, 3 + ENDS);
    pack_key_int(p, "submitted", c->submitted);
    pack_key_int(p, "done", c->done);
    pack_key_int(p, "failed", c->failed);
    pack_key_int(p, "cancelled", c->cancelled);
    pack_key_int(p, "expired", c->expired);
    pack_key_int(p, "dead", c->dead);
    pack_key_uint(p, "open", au->rows_open);
    pack_actors(p, jobs);
}

static void check_actors(const struct jobs *jobs, struct differences *d)
{
    bool known;
    uint64_t rows, counted;
    counts_checked(actors_of(jobs), &known, &rows, &counted);
    if (known && rows != counted)
        differ(d, "store: %" PRIu64 " actors counted, but %" PRIu64 " rows", counted, rows);
}

static void check_batches(const struct jobs *jobs, struct differences *d)
{
    char text[sizeof d->texts[0]];
    if (!members_audit(jobs, text, sizeof text))
        differ(d, "%s", text);
}

/* False: the rows are not known. */
static bool check(const struct jobs *jobs, const struct audit *au, struct differences *d)
{
    check_account(d, "durable tasks", &jobs_table(jobs)->durable, au->census.open[1]);
    check_account(d, "tasks in memory", &jobs_table(jobs)->in_memory, au->census.open[0]);
    check_queues(jobs, au, d);
    check_actors(jobs, d);
    check_batches(jobs, d);
    if (!jobs_store(jobs))
        return true;
    if (au->rows_error == STORE_OK)
        check_rows(d, au);
    return au->rows_error == STORE_OK;
}

static void pack_verdict(struct pack *p, bool whole, bool balanced)
{
    pack_str(p, "balanced");
    if (balanced && !whole)
        pack_nil(p);
    else
        pack_bool(p, balanced);
}

static void answer(struct jobs *jobs, struct operation *op, const struct audit *au)
{
    struct differences d = {0};
    struct pack *p = &op->reply.result;

    bool whole = check(jobs, au, &d);
    pack_init(p);
    pack_map(p, 6);
    pack_verdict(p, whole, d.count == 0);
    pack_account(p, "kept", &jobs_table(jobs)->durable, au->census.open[1]);
    pack_account(p, "fleeting", &jobs_table(jobs)->in_memory, au->census.open[0]);
    pack_rows(p, jobs, au, jobs_store(jobs) && au->rows_error == STORE_OK);
    pack_str(p, "differences");
    pack_array(p, d.count);
    for (uint32_t i = 0; i < d.count; i++)
        pack_str(p, d.texts[i]);
    pack_key_str(p, "store_error", whole ? NULL : store_error_text(au->rows_error));
    operation_finish(op);
}

/* --- Rows --- */

static void rows_counted(struct jobs *jobs, struct store_op *write);

static void end_rows(struct jobs *jobs, struct audit *au, enum store_error error)
{
    assert(!au->rows_done);
    au->rows_done = true;
    au->rows_error = error;
    au->rows_open = jobs_journal(jobs)->rows_open;
    jobs_journal(jobs)->rows_below = 0;
}

static void count_rows(struct jobs *jobs, struct audit *au, uint64_t from)
{
    struct store_op *write = codec_write_new(jobs, STORE_COUNT, 0, rows_counted);
    if (!write) {
        end_rows(jobs, au, STORE_MEMORY);
        return;
    }
    write->audit.from = from;
    store_push(jobs_store(jobs), write);
}

static void rows_counted(struct jobs *jobs, struct store_op *write)
{
    struct audit *au = *jobs_audit(jobs);
    if (!au)
        return;
    if (write->error == STORE_OK) {
        assert(write->audit.next == 0 || write->audit.next > write->audit.from);
        jobs_journal(jobs)->rows_open += write->audit.open;
        jobs_journal(jobs)->rows_below = write->audit.next;
        au->counters = write->audit.counters;
    }
    if (write->error == STORE_OK && write->audit.next > 0)
        count_rows(jobs, au, write->audit.next);
    else
        end_rows(jobs, au, write->error);
}

/* --- The audit --- */

static void serve(struct jobs *jobs, struct operation *op)
{
    struct audit *au = *jobs_audit(jobs) ? *jobs_audit(jobs) : calloc(1, sizeof *au);
    if (!au) {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return;
    }
    op->next = au->operations;
    au->operations = op;
    if (*jobs_audit(jobs))
        return;
    assert(!jobs_table(jobs)->census); /* of the audit alone */
    *jobs_audit(jobs) = au;
    job_census_begin(&au->census, jobs_table(jobs)->first);
    members_audit_begin(jobs, &au->census);
    jobs_table(jobs)->census = &au->census;
    jobs_journal(jobs)->rows_open = 0;
    counts_check(actors_of(jobs));
    au->rows_done = !jobs_store(jobs);
    if (jobs_store(jobs))
        count_rows(jobs, au, 0);
    jobs_activate(jobs);
}

bool audit_go_on(struct jobs *jobs)
{
    struct audit *au = *jobs_audit(jobs);
    struct operation *op;
    if (!au)
        return true;
    bool walked = job_census_walk(&au->census, WALK_BUDGET);
    bool known;
    uint64_t rows, counted;
    bool actors_done = counts_checked(actors_of(jobs), &known, &rows, &counted);
    if (!walked || !au->rows_done || !actors_done)
        return walked; /* rows_counted() goes on with the rows, counts.h with those of actors */
    assert(jobs_table(jobs)->census == &au->census && au->operations);
    *jobs_audit(jobs) = NULL;
    jobs_table(jobs)->census = NULL;
    while ((op = au->operations)) {
        au->operations = op->next;
        answer(jobs, op, au);
    }
    free(au);
    return true;
}

void audit_stop(struct jobs *jobs)
{
    struct audit *au = *jobs_audit(jobs);
    struct operation *op;
    while (au && (op = au->operations)) {
        au->operations = op->next;
        operation_refuse_plain(op, ERGON_E_DRAINING);
    }
    free(au);
    *jobs_audit(jobs) = NULL;
    jobs_table(jobs)->census = NULL;
}

const struct operation_class operation_server_audit = {.method = method_server_audit,
                                                       .serve = serve};
