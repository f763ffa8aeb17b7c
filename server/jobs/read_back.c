#include "server/jobs/read_back.h"

#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/table.h"
#include "server/jobs/effects.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/rates.h"
#include "server/jobs/persist/recover.h"
#include "server/jobs/subsystem.h"

static bool memory(struct read_back *r, bool good)
{
    if (!good)
        r->failure = "no memory for the tasks in the store";
    return good;
}

static void read_marks(void *arg, const struct store_marks *marks)
{
    struct read_back *r = arg;
    if (r->marks)
        r->marks(r->jobs, marks);
}

static void read_counts(void *arg, const struct store_counts *counts)
{
    struct read_back *r = arg;
    recover_counts(r->jobs, counts);
}

static bool take_queue(struct jobs *jobs, const void *row, const char **fault)
{
    (void)fault;
    return recover_queue(jobs, row);
}

static bool take_rate(struct jobs *jobs, const void *row, const char **fault)
{
    *fault = row_check_rate(row);
    return !*fault && rates_recover(jobs, row);
}

static const struct subsystem_rows own_rows[] = {{&store_queues, take_queue},
                                                 {&store_rates, take_rate}};

/* The n-th of those of the jobs and of the subsystems; NULL: there are no more. */
static const struct subsystem_rows *rows_at(size_t n)
{
    const size_t own = sizeof own_rows / sizeof *own_rows;
    return n < own ? &own_rows[n] : subsystems_rows(n - own);
}

static bool read_row(void *arg, const struct store_table *table, const void *row)
{
    struct read_back *r = arg;
    const struct subsystem_rows *of = NULL;
    if (table == &store_node_boards) {
        r->fault = "it is no node of a cluster";
        return r->board && r->board(r->jobs, row);
    }
    for (size_t n = 0; !of || of->table != table; n++) {
        of = rows_at(n);
        assert(of); /* the table is one of `tables` */
    }
    r->fault = NULL;
    bool good = of->recover(r->jobs, row, &r->fault);
    return good || (!r->fault && memory(r, false));
}

static bool read_task(void *arg, const struct store_task *row)
{
    struct read_back *r = arg;
    const char *failure;
    r->fault = row->id < jobs_table(r->jobs)->next_id ? row_check_task(row)
                                                      : "its id is higher than any that was given "
                                                        "out";
    if (r->fault)
        return false;
    if (!recover_task(r->jobs, row, &failure)) {
        r->failure = failure;
        return false;
    }
    effects_apply(r->jobs);
    if (r->in_steps)
        ao_deactivate(&jobs_table(r->jobs)->last->timer);
    return true;
}

static bool read_event(void *arg, const struct store_event *row)
{
    struct read_back *r = arg;
    r->fault = row_check_event(row);
    if (r->fault)
        return false;
    if (table_find(jobs_table(r->jobs), row->id))
        replay_event(r->jobs, row);
    else
        r->strays++;
    return true;
}

void read_back_init(struct read_back *r, struct jobs *jobs)
{
    *r = (struct read_back){.jobs = jobs,
                            .reader = {.arg = r,
                                       .marks = read_marks,
                                       .counts = read_counts,
                                       .task = read_task,
                                       .event = read_event,
                                       .tables = r->tables,
                                       .row = read_row,
                                       .fault = &r->fault}};
    for (const struct subsystem_rows *rows; (rows = rows_at(r->reader.table_count));) {
        assert(r->reader.table_count < READ_BACK_TABLES);
        r->tables[r->reader.table_count++] = rows->table;
    }
}

int read_back_end(const struct read_back *r, int result, char *error, size_t size)
{
    /* Only histories of tasks that are lost are lost with them; `ergon store check` says which. */
    if (r->strays > 0)
        log_warn("the store has events of tasks that it does not have",
                 LOG_UINT("events", r->strays));
    if (!r->failure)
        return result;
    snprintf(error, size, "%s", r->failure);
    return -1;
}
