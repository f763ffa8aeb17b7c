#include "tests/support/cut_lives.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/operations/operation.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"

enum { CALLS = 1000 /* of the disk, in a life: cut at one of them */ };

struct cut_lives *cut_lives_new(size_t size)
{
    struct cut_lives *l = calloc(1, size);
    assert_non_null(l);
    snprintf(l->folder, sizeof l->folder, "/tmp/ergon-cuts-XXXXXX");
    assert_non_null(mkdtemp(l->folder));
    snprintf(l->path, sizeof l->path, "%s/tasks.db", l->folder);
    return l;
}

int cut_lives_free(struct cut_lives *l)
{
    char command[sizeof l->folder + 16];
    if (l->store > 0)
        print_error("that was ERGON_CUTS_FROM=%llu ERGON_CUTS=1\n", (unsigned long long)l->store);
    snprintf(command, sizeof command, "rm -r %s", l->folder);
    assert_int_equal(system(command), 0);
    free(l);
    return 0;
}

uint32_t cut_lives_below(struct cut_lives *l, uint32_t n)
{
    return chance(&l->seed, n);
}

void cut_lives_begin(struct cut_lives *l, uint64_t seed)
{
    l->store = l->seed = seed;
    fault_open(seed);
    jobs_world_init(&l->w);
    disk_store_use(l->path);
    jobs_world_keep_store(&l->w);
    l->w.quiet = true;
    l->w.options.settings.crashes = l->w.options.settings.losses = 0;
}

void cut_lives_end(struct cut_lives *l)
{
    l->fenced += counter_read(&l->w.jobs->sched.fenced);
    jobs_world_fini(&l->w);
    fault_close();
    l->store = 0;
}

static void stop_in_order(struct cut_lives *l)
{
    l->w.source.stop(l->w.source.arg, false);
    jobs_world_settle(&l->w);
    l->w.source.stop(l->w.source.arg, true);
    jobs_world_settle(&l->w);
    jobs_stop(l->w.jobs);
}

static void bury(struct cut_lives *l, enum disk_end how)
{
    disk_store_end(l->w.store, how);
    l->w.store = l->w.options.store = NULL;
    l->cuts += how == DISK_CUT;
    l->kills += how == DISK_KILL;
    l->stops += how == DISK_STOP;
    virtual_run_until(&l->w.v, l->w.v.now + AO_MS(cut_lives_below(l, 20)));
}

static enum disk_end some_death(struct cut_lives *l)
{
    return cut_lives_below(l, 4) ? DISK_CUT : DISK_KILL;
}

void cut_lives_die(struct cut_lives *l)
{
    enum disk_end how = fault_is_cut() || cut_lives_below(l, 3) ? some_death(l) : DISK_STOP;
    fault_limit(0); /* so that a stop can write what is pending */
    l->dying = how != DISK_STOP;
    if (how == DISK_STOP)
        stop_in_order(l);
    l->dying = true;
    l->lost(l);
    l->fenced += counter_read(&l->w.jobs->sched.fenced);
    jobs_world_die(&l->w);
    bury(l, how == DISK_STOP && fault_is_cut() ? DISK_CUT : how);
}

void cut_lives_boot(struct cut_lives *l, bool may_die)
{
    char error[400] = "";
    for (;;) {
        fault_heal();
        if (may_die && cut_lives_below(l, 4))
            fault_cut_at(1 + cut_lives_below(l, CALLS));
        l->w.store = l->w.options.store = disk_store_open(error, sizeof error);
        if (l->w.store && jobs_world_live(&l->w, error, sizeof error))
            break;
        if (!fault_is_cut())
            fail_msg("%s", error);
        l->boots_cut++;
        bury(l, some_death(l));
    }
    l->dying = false;
}

void cut_lives_balance(struct cut_lives *l)
{
    struct operation *op = world_operation(&l->w, &operation_server_audit);
    op->loop = NULL;
    world_give(&l->w, op);
    jobs_world_pass(&l->w, AO_S(5));
    assert_true(world_answered(&l->w, op));
    assert_int_equal(operation_result(op).at[10], 0xc3);
}

bool cut_lives_wanted(uint64_t *cuts, uint64_t *first, uint64_t usual)
{
    const char *wanted = getenv("ERGON_CUTS"), *from = getenv("ERGON_CUTS_FROM");
    *cuts = wanted ? strtoul(wanted, NULL, 10) : usual;
    *first = from ? strtoul(from, NULL, 10) : 1;
    return from != NULL;
}
