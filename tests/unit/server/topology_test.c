/* A hundred topologies, from configuration to real threads and listeners, each with work in flight
 * from inside and from outside when it is taken apart. */
#include "server/topology.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/modules/builtin.h"
#include "tests/support/heap.h"
#include "tests/support/virtual.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/server/peer.h"
#include "tests/support/scratch.h"
#include "tests/unit/server/shape.h"

extern const struct ergon_module_info *const demo_module; /* linked in */

enum {
    TOPOLOGIES = 100,
#ifdef __SANITIZE_ADDRESS__
    MEMORY_TOPOLOGIES = 2,
#else
    MEMORY_TOPOLOGIES = 6, /* those whose allocations fail, one by one */
#endif
    PEERS = 3,
    ROUNDS = 3, /* of the work below, from each side */
    PATIENCE_S = 60
};

/* How it ends, by turns. */
enum ending {
    END_DRAINED,   /* all work ends by itself */
    END_CANCELLED, /* some work would take a minute */
    END_CUT,       /* without a drain, whatever is under way */
    END_UNUSED,    /* listens, but was never started */
    ENDINGS
};

struct work {
    const char *method;
    const char *params;
};

static const struct work brief_work[] = {
    {"echo", "\x91\x05"},
    {"sleep", "\x91\xa3"
              "2ms"},
    {"burn", "\x91\xa5"
             "200us"},
    {"sum", "\x93\x01\x02\x03"},
    {"block", "\x91\xa5"
              "500us"},
    {"fail", "\x90"},
    {"hash", "\x92\xa6"
             "sha256"
             "\xa1x"},
};
static const struct work long_work[] = {
    {"sleep", "\x91\xa3"
              "60s"},
    {"block", "\x91\xa3"
              "60s"},
    {"burn", "\x91\xa3"
             "60s"},
};
/* Tasks that last: from outside only. */
static const struct work brief_kept[] = {
    {"task.submit", "\x92\xa4"
                    "echo\x91\x05"},
    {"task.submit", "\x93\xa5"
                    "sleep\x91\xa3"
                    "2ms\x81\xa7"
                    "durable\xa4none"},
    {"task.call", "\x93\xa5"
                  "block\x91\xa5"
                  "500us\x81\xa8"
                  "priority\x09"},
    {"queue.list", "\x90"},
};
static const struct work long_kept[] = {
    {"task.submit", "\x92\xa5"
                    "block\x91\xa3"
                    "60s"},
    {"task.call", "\x93\xa5"
                  "sleep\x91\xa3"
                  "60s\x81\xa8"
                  "priority\x09"},
};
enum {
    BRIEF_KEPT = sizeof brief_kept / sizeof brief_kept[0],
    LONG_KEPT = sizeof long_kept / sizeof long_kept[0]
};
enum {
    BRIEF = sizeof brief_work / sizeof brief_work[0],
    LONG = sizeof long_work / sizeof long_work[0]
};

static struct registry *registry;
static uint64_t current; /* seed */

struct whole { /* one server */
    struct config *config;
    struct topology *topology;
    struct peer peers[PEERS];
    uint32_t submitted; /* and accepted */
    sem_t ended;        /* posted for each of those */
    sem_t drained;
};

static void wait_for(sem_t *sem, const char *what)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    if (sem_clockwait(sem, CLOCK_MONOTONIC, &until) != 0)
        fail_msg("seed %lu: %s never came", (unsigned long)current, what);
}

static void on_ended(void *arg, const struct outcome *outcome)
{
    struct whole *w = arg;

    sem_post(&w->ended);
}

static void on_drained(void *arg)
{
    struct whole *w = arg;

    sem_post(&w->drained);
}

static struct config *configure(const struct shape *shape)
{
    char yaml[SHAPE_YAML_MAX];

    shape_yaml(shape, scratch.directory, yaml, sizeof yaml);
    struct config *c = scratch_load(yaml, NULL, NULL);
    assert_string_equal(scratch.errors, "");
    return c;
}

static void build(struct whole *w, const struct shape *shape)
{
    char error[512] = "";

    *w = (struct whole){.config = configure(shape)};
    sem_init(&w->ended, 0, 0);
    sem_init(&w->drained, 0, 0);
    w->topology = topology_build(w->config, registry, error, sizeof error);
    if (!w->topology || topology_listen(w->topology, w->config, error, sizeof error) != 0)
        fail_msg("%s", error);
}

static void take_apart(struct whole *w)
{
    topology_free(w->topology);
    config_free(w->config);
    sem_destroy(&w->ended);
    sem_destroy(&w->drained);
}

/* What is left of brief work is read back by the next; a minute of it is not. */
static void forget_long_work(void)
{
    static const char *const files[] = {"tasks.db", "tasks.db-wal", "tasks.db-shm"};
    char path[128];

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch.directory, files[i]);
        unlink(path);
    }
}

static void check_shown(const struct whole *w, const struct shape *shape)
{
    struct tasks_info info;
    struct executor_info executor;
    struct tasks *tasks = w->topology->tasks;

    tasks_info(tasks, &info);
    assert_int_equal(info.executors, shape->executors);
    assert_int_equal(info.policy, shape->policy);
    assert_int_equal(info.short_cut_on, shape->short_cut);
    assert_int_equal(info.manager_on_loop, !shape->own_manager);
    for (uint32_t i = 0; i < info.executors; i++) {
        tasks_executor_info(tasks, i, &executor);
        assert_int_equal(executor.queue, shape->queue);
        assert_int_equal(executor.loop >= 0, executor.kind == ERGON_STEPPED);
    }
}

static struct span params_of(const struct work *work)
{
    return span_text(work->params);
}

static void submit(struct whole *w, const struct work *work)
{
    enum ergon_error error = tasks_add(w->topology->tasks, span_text(work->method), params_of(work),
                                       AO_NEVER, on_ended, w);

    assert_int_equal(error, ERGON_OK);
    w->submitted++;
}

static void work_from_inside(struct whole *w, const struct work *work, int count)
{
    for (int i = 0; i < count; i++)
        submit(w, &work[i]);
}

static void work_from_outside(struct whole *w, const struct work *work, int count)
{
    for (int n = 0; n < PEERS; n++)
        for (int i = 0; i < count; i++)
            peer_send(&w->peers[n], work[i].method, params_of(&work[i]));
}

static void open_peers(struct whole *w)
{
    struct acceptor *a = w->topology->acceptor;

    for (uint32_t n = 0; n < PEERS; n++)
        peer_open(&w->peers[n], acceptor_url(a, n % acceptor_count(a)));
}

/* A ping that is answered: the server has read all that was sent before. */
static void be_read(struct peer *p)
{
    uint32_t got = 0;

    peer_send(p, "server.ping", span_text("\x90"));
    while (memmem(p->in, p->have, "\xa4pong", 5) == NULL) {
        uint32_t now = peer_receive(p, got + 1);
        assert_true(now > got);
        got = now;
    }
}

static void start_work(struct whole *w, enum ending ending)
{
    open_peers(w);
    for (int i = 0; i < ROUNDS; i++) {
        work_from_inside(w, brief_work, BRIEF);
        work_from_outside(w, brief_work, BRIEF);
        work_from_outside(w, brief_kept, BRIEF_KEPT);
    }
    if (ending == END_CANCELLED) {
        work_from_inside(w, long_work, LONG);
        work_from_outside(w, long_work, LONG);
        work_from_outside(w, long_kept, LONG_KEPT);
    }
    for (int n = 0; n < PEERS; n++)
        be_read(&w->peers[n]);
}

/* Each request that was read has its one response, each accepted task its one end. */
static void all_ends(struct whole *w)
{
    for (int n = 0; n < PEERS; n++) {
        assert_int_equal(peer_receive_all(&w->peers[n]), w->peers[n].next_id);
        peer_close(&w->peers[n]);
    }
    wait_for(&w->drained, "the end of the drain");
    for (uint32_t i = 0; i < w->submitted; i++)
        wait_for(&w->ended, "the end of a task");
    assert_int_equal(sem_trywait(&w->ended), -1);
}

static void end(struct whole *w, enum ending ending)
{
    struct acceptor *a = w->topology->acceptor;

    if (ending == END_DRAINED || ending == END_CANCELLED) {
        net_drain(a, on_drained, w);
        if (ending == END_CANCELLED)
            tasks_cancel_all(w->topology->tasks);
        all_ends(w);
    }
    net_abort(a);
    assert_int_equal(topology_stop(w->topology, AO_S(PATIENCE_S)), 0);
}

static void live_through(uint64_t seed)
{
    struct shape shape = shape_of(seed);
    enum ending ending = (enum ending)(seed % ENDINGS);
    struct whole w;
    char error[256] = "";

    current = seed;
    build(&w, &shape);
    check_shown(&w, &shape);
    if (ending != END_UNUSED) {
        if (topology_start(w.topology, error, sizeof error) != 0)
            fail_msg("seed %lu: %s", (unsigned long)seed, error);
        start_work(&w, ending);
        end(&w, ending);
    }
    take_apart(&w);
    if (ending == END_CANCELLED)
        forget_long_work();
    if (ending == END_CUT)
        for (int n = 0; n < PEERS; n++)
            peer_close(&w.peers[n]);
}

TEST(a_hundred_topologies)
{
    int64_t before = heap_live();
    for (uint64_t seed = 0; seed < TOPOLOGIES; seed++) {
        live_through(seed);
        if (heap_live() != before)
            fail_msg("seed %lu: %ld blocks left", (unsigned long)seed,
                     (long)(heap_live() - before));
    }
}

static int build_once(void *arg)
{
    char error[256] = "";
    struct topology *t = topology_build(arg, registry, error, sizeof error);

    if (!t) {
        assert_string_not_equal(error, "");
        return -1;
    }
    topology_free(t);
    return 0;
}

TEST(without_memory_nothing_stays)
{
    for (uint64_t seed = 0; seed < MEMORY_TOPOLOGIES; seed++) {
        struct shape shape = shape_of(seed);
        struct config *config = configure(&shape);
        heap_fail_each(build_once, config);
        config_free(config);
    }
}

TEST(a_server_needs_no_executor_of_each_kind)
{
    static const char *const lists[] = {"executors: {list: [{kind: stepped, queue: 1}]}\n",
                                        "executors: {list: [{kind: blocking, queue: 1}]}\n",
                                        "executors: {blocking: {count: 0}}\n"};

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        char error[256] = "";
        struct config *config = scratch_load(lists[i], NULL, NULL);
        assert_string_equal(scratch.errors, "");
        struct topology *t = topology_build(config, registry, error, sizeof error);
        assert_string_equal(error, "");
        assert_non_null(t);
        topology_free(t);
        config_free(config);
    }
}

static int set_up(void **state)
{
    char error[256];

    virtual_silence();
    scratch_make(state);
    registry = registry_new();
    for (size_t i = 0; builtin_modules[i]; i++)
        if (module_add(registry, *builtin_modules[i], error, sizeof error) != 0)
            return -1;
    return module_add(registry, demo_module, error, sizeof error);
}

static int tear_down(void **state)
{
    registry_free(registry);
    scratch_remove(state);
    return 0;
}

TEST_GROUP(set_up, tear_down)
