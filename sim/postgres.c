#include "sim/postgres.h"

#include <inttypes.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/check.h"
#include "sim/chance.h"
#include "sim/pg/call.h"
#include "sim/pg/handles.h"
#include "sim/points.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"

enum { PAUSE_MS = 400, OUTAGE_MS = 600, RETRY_MS = 10000, FILES_MAX = 1024 };

static struct pg *pg;
static struct {
    bool breaks, fails, cancels, dies, lags;
} faults;
static struct pg_shape shape;
static bool calm, spared;

/* --- What the model needs --- */

static uint64_t now(void *arg)
{
    (void)arg;
    return sim_now();
}

static uint64_t wall(void *arg)
{
    (void)arg;
    return sim_wall_right();
}

static uint64_t below(void *arg, uint64_t n)
{
    (void)arg;
    return sim_below(SIM_ENGINE, n);
}

static void changed(void *arg)
{
    (void)arg;
    sim_wake_all(&pg);
}

/* Descriptors that fibers of this process have written, and that were not read since.  To ask the
 * system instead took an eighth of the time of a run. */
static bool written[FILES_MAX];

static bool is_written(int fd)
{
    return fd >= 0 && fd < FILES_MAX && written[fd];
}

static void wait_for(void *arg, int wake, uint64_t until)
{
    (void)arg;
    sim_point("poll");
    if (!is_written(wake) && until > sim_now())
        sim_wait_for(&pg, until);
}

int __real_eventfd_write(int fd, eventfd_t value);
int __wrap_eventfd_write(int fd, eventfd_t value);
int __real_eventfd_read(int fd, eventfd_t *value);
int __wrap_eventfd_read(int fd, eventfd_t *value);

int __wrap_eventfd_write(int fd, eventfd_t value)
{
    int result = __real_eventfd_write(fd, value);
    require(fd < FILES_MAX, "a descriptor is too large for the simulation");
    written[fd] = true;
    changed(NULL);
    return result;
}

int __wrap_eventfd_read(int fd, eventfd_t *value)
{
    if (!is_written(fd))
        return -1; /* it does not block */
    written[fd] = false;
    return __real_eventfd_read(fd, value);
}

/* --- In the place of postgresql.so --- */

const struct store_driver *__real_driver_find(const char *where, char *error, size_t size);
const struct store_driver *__wrap_driver_find(const char *where, char *error, size_t size);
const void *__wrap_driver_symbol(const char *where, const char *symbol, char *error, size_t size);

const struct store_driver *__wrap_driver_find(const char *where, char *error, size_t size)
{
    return driver_is_url(where) ? &pg_store_driver : __real_driver_find(where, error, size);
}

const void *__wrap_driver_symbol(const char *where, const char *symbol, char *error, size_t size)
{
    (void)where;
    (void)error;
    (void)size;
    require(strcmp(symbol, CLUSTER_ENGINE_SYMBOL) == 0, "a symbol that the model lacks");
    return &pg_cluster_engine;
}

/* --- Begin --- */

void sim_postgres_open(void)
{
    static const struct pg_env env = {
        .now = now, .wall = wall, .below = below, .changed = changed, .wait = wait_for};
    shape = (struct pg_shape){.net = SIM_MS(1) << sim_below(SIM_ENGINE, 5),
                              .work = SIM_MS(1),
                              .flush = SIM_MS(1) << sim_below(SIM_ENGINE, 4),
                              .lag = SIM_MS(1) << sim_below(SIM_ENGINE, 6),
                              .synchronous = true};
    faults.breaks = sim_one_in(SIM_ENGINE, 2);
    faults.fails = sim_one_in(SIM_ENGINE, 3);
    faults.cancels = sim_one_in(SIM_ENGINE, 4);
    faults.dies = sim_one_in(SIM_ENGINE, 3);
    faults.lags = sim_one_in(SIM_ENGINE, 3);
    pg = pg_new(&env, &shape, SIM_POSTGRES_CLUSTER);
    pg_handles_of(pg);
}

struct pg *sim_postgres(void)
{
    return pg;
}

void sim_postgres_died(const char *node, bool power)
{
    if (pg)
        pg_node_died(pg, node, power);
}

/* --- Faults --- */

static uint64_t any(uint64_t n)
{
    return sim_below(SIM_ENGINE, n);
}

static void break_links(void)
{
    if (!faults.breaks)
        return;
    sim_tell("all connections to PostgreSQL break");
    pg_break(pg, NULL);
}

static void fail(void)
{
    static const char *const states[] = {"57014", "40001", "55P03", "57P01"};
    const char *state = states[any(sizeof states / sizeof *states)];
    if (!faults.fails)
        return;
    sim_tell("statements of PostgreSQL fail: %s", state);
    pg_fail(pg, state, 1 + any(4));
    sim_sleep_for(1 + any(SIM_MS(OUTAGE_MS)));
    pg_fail(pg, "", 0);
}

static void cancel(void)
{
    if (!faults.cancels)
        return;
    sim_tell("commits of PostgreSQL do not wait for a standby");
    pg_cancel_waits(pg);
}

static void die(void)
{
    int primary = pg_primary(pg), next = pg_most_advanced(pg);
    if (!faults.dies || next < 0)
        return;
    sim_tell("PostgreSQL dies");
    pg_kill(pg, primary);
    sim_sleep_for(1 + any(SIM_MS(OUTAGE_MS)));
    if (any(3) == 0) {
        sim_tell("PostgreSQL starts again");
        pg_start(pg, primary);
        return;
    }
    sim_tell("standby %d of PostgreSQL takes its place", next);
    pg_promote(pg, next);
    sim_sleep_for(1 + any(SIM_MS(OUTAGE_MS)));
    pg_follow(pg, primary);
}

void sim_postgres_lag(uint64_t ns)
{
    struct pg_shape slow = shape;
    if (ns > 0)
        slow.lag = ns;
    pg_set_shape(pg, &slow);
}

static void lag(void)
{
    if (!faults.lags)
        return;
    sim_tell("the standbys of PostgreSQL lag");
    sim_postgres_lag(SIM_MS(OUTAGE_MS));
    sim_sleep_for(1 + any(SIM_MS(OUTAGE_MS)));
    sim_postgres_lag(0);
}

static void run(void *arg)
{
    static void (*const all[])(void) = {break_links, fail, cancel, die, lag};
    (void)arg;
    for (;;) {
        sim_sleep_for(1 + any(SIM_MS(PAUSE_MS)));
        if (calm)
            sim_sleep(SIM_NEVER);
        else if (!spared)
            all[any(sizeof all / sizeof *all)]();
    }
}

void sim_postgres_spawn(void)
{
    if (pg)
        sim_spawn(SIM_WORLD, "engine", run, NULL);
}

bool sim_postgres_falters(void)
{
    return faults.breaks || faults.fails || faults.cancels || faults.dies || faults.lags;
}

static void retry(void)
{
    struct pg_link *link = pg_connect(pg, "operator");
    if (!link)
        return;
    pg_send(link, pg_call_new(PG_RETRY));
    pg_close(link);
}

void sim_postgres_spare(bool on)
{
    static uint64_t retry_at;
    if (pg && on && sim_now() >= retry_at) {
        retry();
        retry_at = sim_now() + SIM_MS(RETRY_MS);
    }
    spared = on;
}

void sim_postgres_calm(void)
{
    calm = true;
}
