/* The counting for server.audit, in small steps: a million jobs would hold up everything else
 * for half a second, a million rows the store.
 *
 * What changes meanwhile is counted with it if it stands behind the walk, and found by the walk if
 * it stands before it.  The same goes for rows: operations come back in the order in which they
 * were applied, so those that come back behind a count of rows were not seen by it.  Who asks while
 * an audit is under way is answered with it: it is about the moment at which it ends. */
#include <stdlib.h>

#include "server/jobs/service/audit.h"

enum { WALK_BUDGET = 2000 /* jobs, a step */ };

/* --- Jobs --- */

/* Behind the last one are those that come now. */
static void go_to(struct audit *au, struct job *next)
{
    au->at = next;
    if (!next)
        au->upto = UINT64_MAX;
}

static void add(const struct jobs *jobs, const struct job *job, uint64_t one)
{
    struct audit *au = jobs->audit;
    if (!au || job->id > au->upto || job->state == JOB_NEW)
        return;
    au->states[job->state] += one;
    if (job_state_open((enum job_state)job->state))
        au->open[job->durable != DURABLE_NONE] += one;
}

void audit_changing(const struct jobs *jobs, const struct job *job)
{
    add(jobs, job, (uint64_t)-1);
}

void audit_changed(const struct jobs *jobs, const struct job *job)
{
    add(jobs, job, 1);
}

void audit_freed(const struct jobs *jobs, const struct job *job)
{
    audit_changing(jobs, job);
    if (jobs->audit && jobs->audit->at == job)
        go_to(jobs->audit, job->all_next);
}

static void walk(struct jobs *jobs, struct audit *au)
{
    for (int budget = WALK_BUDGET; au->at && budget > 0; budget--) {
        au->upto = au->at->id;
        audit_changed(jobs, au->at);
        go_to(au, au->at->all_next);
    }
}

/* --- Rows --- */

static void ask_rows(struct jobs *jobs, struct audit *au, uint64_t from)
{
    struct store_op *write = codec_write_new(jobs, STORE_COUNT, 0);
    au->rows_done = !write;
    au->rows_error = write ? STORE_OK : STORE_MEMORY;
    if (!write)
        return;
    write->audit.from = from;
    store_push(jobs->store, write);
}

void audit_rows(struct jobs *jobs, const struct store_op *write)
{
    struct audit *au = jobs->audit;
    if (!au)
        return;
    if (write->error != STORE_OK) {
        au->rows_done = true;
        au->rows_error = write->error;
        return;
    }
    au->rows_open += write->audit.open;
    au->rows_below = write->audit.next;
    au->counters = write->audit.counters;
    if (write->audit.next > 0)
        ask_rows(jobs, au, write->audit.next);
    else
        au->rows_done = true;
}

void audit_row_changed(struct jobs *jobs, const struct store_op *write)
{
    const struct store_counts *c = &write->add;
    struct audit *au = jobs->audit;
    if (au && !au->rows_done && write->task.id < au->rows_below)
        au->rows_open +=
            (uint64_t)(c->submitted - c->done - c->failed - c->cancelled - c->expired - c->dead);
}

/* --- The whole --- */

static void serve(struct jobs *jobs, struct operation *op)
{
    struct audit *au = jobs->audit ? jobs->audit : calloc(1, sizeof *au);
    if (!au) {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return;
    }
    op->next = au->operations;
    au->operations = op;
    if (jobs->audit)
        return;
    jobs->audit = au;
    go_to(au, jobs->first);
    au->rows_done = !jobs->store;
    if (jobs->store)
        ask_rows(jobs, au, 0);
    ao_activate(&jobs->ao);
}

bool audit_go_on(struct jobs *jobs)
{
    struct audit *au = jobs->audit;
    struct operation *op;
    if (!au)
        return true;
    walk(jobs, au);
    if (au->at || !au->rows_done)
        return !au->at; /* the rows come by themselves */
    jobs->audit = NULL;
    while ((op = au->operations)) {
        au->operations = op->next;
        audit_answer(jobs, op, au);
    }
    free(au);
    return true;
}

void audit_stop(struct jobs *jobs)
{
    struct audit *au = jobs->audit;
    struct operation *op;
    while (au && (op = au->operations)) {
        au->operations = op->next;
        operation_refuse_plain(op, ERGON_E_DRAINING);
    }
    free(au);
    jobs->audit = NULL;
}

const struct operation_class operation_audit = {.serve = serve};
