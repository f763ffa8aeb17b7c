#include "sim/user/world.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "server/tasks/registry.h"
#include "sim/chance.h"
#include "sim/disk.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/points.h"
#include "sim/schedule.h"
#include "sim/user/expect.h"
#include "sim/user/faults.h"
#include "sim/user/load.h"
#include "sim/user/module.h"
#include "sim/user/remote.h"
#include "sim/user/report.h"
#include "sim/user/scenario.h"
#include "sim/user/tasks.h"

enum { LOOK_MS = 1000, LOOK_MOST_MS = 600000, CALM_MS = 3600000 };

static const struct sim_scenario *scenario;
static bool is_remote, looks, looking;

/* --- The server --- */

static int add_module(struct registry *r, char *error, size_t size)
{
    return sim_module_path() ? module_load(r, sim_module_path(), error, size) : 0;
}

/* Whether the server will take the module, whose records say why not. */
static bool try_module(char *error, size_t size)
{
    struct registry *r = registry_new();
    bool good = r && add_module(r, error, size) == 0;
    registry_free(r);
    return good;
}

/* JSON is YAML.  The file is there as long as the process is. */
static const char *configuration_file(const json_t *server, char path[40])
{
    int fd = memfd_create("server", MFD_CLOEXEC);
    require(fd >= 0 && json_dumpfd(server, fd, 0) == 0, "no memory for the configuration");
    snprintf(path, 40, "/proc/self/fd/%d", fd);
    return path;
}

/* The text behind "PATH:LINE: ", if it begins so. */
static const char *without_place(const char *text, const char *path)
{
    size_t len = strlen(path);
    const char *space = len > 0 && strncmp(text, path, len) == 0 ? strchr(text + len, ' ') : NULL;
    return space ? space + 1 : text;
}

bool sim_user_configure(const struct sim_scenario *s, char *error, size_t size)
{
    static const char *flags[12] = {"--loops", "2", "--manager-place", "own"};
    static char path[40];
    int n = 4;
    if (s->server) {
        flags[n++] = "--config";
        flags[n++] = configuration_file(s->server, path);
    }
    if (s->store) {
        flags[n++] = "--store";
        flags[n++] = SIM_STORE;
    }
    char why[600] = "";
    if (!try_module(error, size))
        return false;
    sim_node_leaves_memory();
    if (sim_node_configure(flags, add_module, why, sizeof why))
        return true;
    why[strcspn(why, "\n")] = '\0';
    snprintf(error, size, "%s: server: %s", s->path, without_place(why, path));
    return false;
}

void sim_user_node_changed(void)
{
    sim_load_wake();
    sim_wake_all(&looks);
}

void sim_user_start(void)
{
    sim_module_renew();
    sim_node_start();
    sim_user_node_changed();
}

/* --- Who looks at tasks --- */

static bool look(struct sim_link *l)
{
    return (scenario->cron_count == 0 || sim_user_tasks_find(l)) && sim_user_tasks_look(l);
}

static void look_until_lost(void)
{
    struct sim_link *l = sim_node_connect();
    uint64_t pause = SIM_MS(LOOK_MS);
    while (looks && sim_node_up() && look(l)) {
        bool any = sim_user_tasks_open() > 0;
        pause = any ? SIM_MS(LOOK_MS) : pause * 2 < SIM_MS(LOOK_MOST_MS) ? pause * 2 : pause;
        sim_wait_for(&looks, sim_now() + pause);
    }
    sim_net_leave(l);
}

static void run_looker(void *arg)
{
    (void)arg;
    for (;;) {
        looking = looks && sim_node_up();
        if (looking)
            look_until_lost();
        else
            sim_wait_for(&looks, SIM_NEVER);
    }
}

static void look_once(void)
{
    struct sim_link *l = sim_node_connect();
    if (!look(l))
        sim_report(NULL, NULL, NULL, "the server ends a connection, and nothing is the matter");
    sim_net_leave(l);
}

/* --- The run --- */

static void put_crons(void)
{
    bool good = false;
    while (!good && scenario->cron_count > 0) {
        while (!sim_node_up())
            sim_wait_for(&looks, SIM_NEVER);
        struct sim_link *l = sim_node_connect();
        good = sim_crons_put(scenario, l);
        sim_net_leave(l);
        if (!good)
            sim_sleep_for(SIM_MS(LOOK_MS));
    }
}

static uint64_t patience(void)
{
    uint64_t most = SIM_MS(CALM_MS);
    for (uint32_t n = 0; n < scenario->expect_count; n++)
        if (scenario->expects[n].within > most)
            most = scenario->expects[n].within;
    return most;
}

/* Those that are to end soon are checked when their time is over. */
static void check_patient(uint64_t passed)
{
    for (uint32_t n = 0; n < scenario->expect_count; n++) {
        const struct sim_expect *e = &scenario->expects[n];
        if (e->within > 0 && e->within <= passed)
            sim_expect_check(e);
    }
}

static void wait_for_ends(void)
{
    uint64_t from = sim_now(), most = patience();
    look_once();
    while (sim_user_tasks_open() > 0 && sim_now() - from < most) {
        sim_sleep_for(SIM_MS(LOOK_MS));
        look_once();
        check_patient(sim_now() - from);
    }
}

static void check_all(void)
{
    const char *wrong = sim_module_check();
    for (uint32_t n = 0; n < scenario->expect_count; n++)
        sim_expect_check(&scenario->expects[n]);
    if (wrong)
        sim_report(NULL, NULL, NULL, "%s\n  says ergon_sim_check() of the module", wrong);
}

static void run(void *arg)
{
    (void)arg;
    sim_user_start();
    if (is_remote)
        sim_remote_spawn(scenario);
    put_crons();
    sim_load_spawn(scenario);
    sim_spawn(SIM_WORLD, "looker", run_looker, NULL);
    sim_user_faults_spawn(scenario);
    looks = true;
    sim_sleep_for(scenario->lasts);
    sim_user_faults_calm();
    sim_schedule_calm();
    while (!sim_load_over())
        sim_sleep_for(SIM_MS(LOOK_MS));
    looks = false;
    sim_wake_all(&looks);
    while (looking)
        sim_sleep_for(SIM_MS(LOOK_MS));
    sim_story_all("calm: nothing more is submitted, and no faults come");
    wait_for_ends();
    check_all();
    sim_node_end(SIM_STOP);
}

void sim_user_run(const struct sim_scenario *s, bool remote, uint64_t seed)
{
    scenario = s;
    is_remote = remote;
    sim_chance_seed(seed);
    sim_schedule_shape();
    sim_schedule_mild();
    sim_disk_open();
    sim_spawn(SIM_WORLD, "world", run, NULL);
    sim_run();
}
