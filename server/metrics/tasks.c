/* Calls, executors, jobs, and the store. */
#include "server/metrics/families.h"
#include "server/tasks/tasks.h"

static void write_refusals(struct metrics_text *t, const struct rpc_shared *s,
                           const struct tasks_info *tasks)
{
    static const struct metrics_family f = {
        "ergon_refusals", METRICS_COUNTER, NULL,
        "What was refused at a limit: calls for which the common queue or their principal had no "
        "room, allocations for which an account had none, connections that gave way."};
    struct accounts_figures accounts = accounts_figures(s->accounts);
    struct net_loop_stats n = {0};

    for (uint32_t i = 0; i < s->loop_count; i++)
        net_loop_add_stats(s->net_loops[i], &n);
    metrics_begin(t, &f);
    metrics_count(t, &f, "reason=\"queue\"", tasks->busy_refused);
    metrics_count(t, &f, "reason=\"memory\"", accounts.refused);
    metrics_count(t, &f, "reason=\"connections\"", n.gave_way);
}

void write_tasks(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family calls = {"ergon_calls", METRICS_COUNTER, NULL,
                                                "Calls that became tasks, by their way."};
    static const struct metrics_family ended = {"ergon_calls_ended", METRICS_COUNTER, NULL,
                                                "Calls that were answered, by how."};
    struct tasks_info i;

    tasks_info(s->tasks, &i);
    metrics_begin(t, &calls);
    metrics_count(t, &calls, "way=\"short_cut\"", i.short_cut);
    metrics_count(t, &calls, "way=\"manager\"", i.through_manager);
    metrics_begin(t, &ended);
    metrics_count(t, &ended, "outcome=\"done\"", i.done);
    metrics_count(t, &ended, "outcome=\"failed\"", i.failed);
    metrics_count(t, &ended, "outcome=\"cancelled\"", i.cancelled);
    metrics_count(t, &ended, "outcome=\"late\"", i.late);
    write_refusals(t, s, &i);
    write_one(t, "ergon_common_queue_tasks", METRICS_GAUGE, NULL, i.queued,
              "Tasks of calls that wait for an executor or a worker.");
    write_one(t, "ergon_common_queue_limit_tasks", METRICS_GAUGE, NULL, i.queue_max,
              "The most that may wait.");
}

enum executor_field { OUTSTANDING, BOUND, PARKED, DONE, FAILED, BUSY, FIELDS };

static uint64_t field_of(const struct executor_info *e, enum executor_field field)
{
    switch (field) {
    case OUTSTANDING:
        return e->outstanding;
    case BOUND:
        return e->bound;
    case PARKED:
        return e->parked;
    case DONE:
        return e->done;
    case FAILED:
        return e->failed;
    case BUSY:
        return e->busy_ns;
    case FIELDS:
        break;
    }
    __builtin_unreachable();
}

void write_executors(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family families[FIELDS] = {
        [OUTSTANDING] = {"ergon_executor_outstanding_tasks", METRICS_GAUGE, NULL,
                         "Tasks that the executor has and that neither wait nor take turns."},
        [BOUND] = {"ergon_executor_bound_tasks", METRICS_GAUGE, NULL,
                   "How many it is given at once now."},
        [PARKED] = {"ergon_executor_parked_tasks", METRICS_GAUGE, NULL,
                    "Tasks that have begun there and wait for something."},
        [DONE] = {"ergon_executor_done", METRICS_COUNTER, NULL, "Tasks that were done."},
        [FAILED] = {"ergon_executor_failed", METRICS_COUNTER, NULL, "Tasks that failed."},
        [BUSY] = {"ergon_executor_busy_seconds", METRICS_COUNTER, "seconds",
                  "Time in handlers; of brief ones one in 16 is measured and counted for all."}};
    struct tasks_info all;

    tasks_info(s->tasks, &all);
    for (enum executor_field field = 0; field < FIELDS; field++) {
        metrics_begin(t, &families[field]);
        for (uint32_t i = 0; i < all.executors; i++) {
            struct executor_info e;
            char labels[LABELS_MAX] = "";
            tasks_executor_info(s->tasks, i, &e);
            metrics_label(labels, sizeof labels, "executor", e.name);
            if (field == BUSY)
                metrics_ns(t, &families[field], labels, field_of(&e, field));
            else
                metrics_count(t, &families[field], labels, field_of(&e, field));
        }
    }
}

static const uint64_t ms_per_second = 1000;

static void write_store(struct metrics_text *t, const struct jobs_info *j)
{
    static const struct metrics_family commits = {
        "ergon_store_commit_seconds", METRICS_HISTOGRAM, "seconds",
        "How long commits took, with the wait for the disk. Each commit counts."};

    if (!j->has_store)
        return;
    metrics_begin(t, &commits);
    metrics_histogram(t, &commits, "", &j->commit_times);
    write_one(t, "ergon_store_operations", METRICS_COUNTER, NULL, j->operations,
              "Operations that were committed; each writes the rows of one task, or the like.");
    write_one(t, "ergon_store_backlog_operations", METRICS_GAUGE, NULL, j->store_under_way,
              "Operations that wait for their commit, or are committed now.");
    write_one(t, "ergon_store_tasks", METRICS_GAUGE, NULL, j->durable,
              "Submitted tasks that the store has, or is about to have; each has one to three rows "
              "there, and its history.");
    write_one(t, "ergon_store_unfolded_rows", METRICS_GAUGE, NULL, j->store_unfolded,
              "Rows of turns of actors that are not in the rows of their actors yet, about.");
    write_one(t, "ergon_store_size_bytes", METRICS_GAUGE, "bytes", j->store_bytes,
              "The file and its log on disk.");
    if (j->store_room_known)
        write_one(t, "ergon_store_free_bytes", METRICS_GAUGE, "bytes", j->store_room,
                  "What the file system of the store has left.");
    write_one(t, "ergon_store_last_backup_seconds", METRICS_GAUGE, "seconds",
              j->store_backup / ms_per_second,
              "When the last backup of the store began, since 1970; 0: there is none.");
    write_one(t, "ergon_store_error", METRICS_GAUGE, NULL, j->store_error != NULL,
              "1 while the store cannot write, else 0.");
}

/* Those of the jobs and their subsystems, each a family of one sample. */
static void write_figures(struct metrics_text *t, const struct jobs_info *j)
{
    const struct figure *f;

    for (size_t n = 0; (f = jobs_figure(n)); n++)
        if (f->family)
            write_one(t, f->family, f->counts ? METRICS_COUNTER : METRICS_GAUGE, f->unit,
                      figure_value(f, j), f->help);
}

void write_jobs(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family states = {"ergon_tasks", METRICS_GAUGE, NULL,
                                                 "Submitted tasks that are kept, by state."};
    static const struct metrics_family late = {
        "ergon_cron_late_seconds", METRICS_HISTOGRAM, "seconds",
        "How long after its time a cron's task was submitted: for want of room, or since no server "
        "ran."};
    struct jobs_info j;

    jobs_look(s->jobs); /* for the next scrape */
    jobs_info(s->jobs, &j);
    metrics_begin(t, &states);
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++) {
        char labels[LABELS_MAX] = "";
        metrics_count(t, &states, metrics_label(labels, sizeof labels, "state", job_state_names[i]),
                      j.by_state[i]);
    }
    write_figures(t, &j);
    metrics_begin(t, &late);
    metrics_histogram(t, &late, "", &j.cron_late);
    write_store(t, &j);
}
