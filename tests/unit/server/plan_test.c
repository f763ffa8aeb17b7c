/* From configuration to what the parts want. */
#include "server/plan.h"

#include <stdlib.h>
#include <string.h>

#include "server/system/machine.h"
#include "tests/support/heap.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

static struct config *configure(const char *yaml)
{
    return scratch_accepted(yaml, NULL, NULL);
}

/* ---- loops ---- */

SCRATCH_TEST(there_are_as_many_loops_as_wanted_or_as_processors)
{
    struct config *c = configure("loops: {count: 7}\n");

    assert_int_equal(plan_loops(c), 7);
    c = configure("loops: {count: auto}\n");
    assert_int_equal(plan_loops(c), cpus_count());
}

SCRATCH_TEST(the_first_loops_have_the_cores)
{
    struct config *c = configure("loops: {count: 3, cores: 0}\nidle: {mode: spin, spin: 30us}\n"
                                 "step_limit: 20ms\n");

    struct activator_options first = plan_loop(c, 0), second = plan_loop(c, 1);
    assert_int_equal(first.core, 0);
    assert_int_equal(second.core, -1);
    assert_int_equal(first.idle, IDLE_SPIN);
    assert_int_equal(first.spin, AO_US(30));
    assert_int_equal(first.step_limit, AO_MS(20));
    assert_int_not_equal(first.seed, second.seed);
    assert_int_equal(plan_loop(c, UINT32_MAX).core, -1); /* the manager's */
}

SCRATCH_TEST(idle_modes_keep_their_names)
{
    static const struct {
        const char *yaml, *name;
        enum idle_mode mode;
    } modes[] = {{"idle: {mode: sleep}\n", "sleep", IDLE_SLEEP},
                 {"idle: {mode: spin}\n", "spin", IDLE_SPIN},
                 {"idle: {mode: never}\n", "never", IDLE_NEVER}};

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct config *c = configure(modes[i].yaml);
        assert_string_equal(plan_idle_name(c), modes[i].name);
        assert_int_equal(plan_loop(c, 0).idle, modes[i].mode);
    }
}

/* 1024 loops are more than most machines have processors; whether this one does, cpus_spare() says.
 */
SCRATCH_TEST(without_a_processor_each_they_sleep)
{
    struct config *c = configure("loops: {count: 1024}\nidle: {mode: auto}\n");
    bool spare = cpus_spare(1024);

    assert_int_equal(plan_idle(c), spare ? IDLE_AUTO : IDLE_SLEEP);
    assert_string_equal(plan_idle_name(c), spare ? "auto" : "sleep");
}

SCRATCH_TEST(with_a_processor_each_they_learn_by_themselves)
{
    struct config *c = configure("loops: {count: 1}\n");

    assert_int_equal(plan_idle(c), cpus_spare(1) ? IDLE_AUTO : IDLE_SLEEP);
    assert_non_null(plan_loop(c, 0).preemptions);
}

/* ---- limits ---- */

SCRATCH_TEST(limits_are_taken_over)
{
    struct config *c = configure("limits: {message: 1m, depth: 20, connections: 77,\n"
                                 "  connections_per_address: 7, in_flight: 50, output: 64k,\n"
                                 "  partial: 8m, handshake_timeout: 3s, idle_timeout: 4s,\n"
                                 "  auth_failures: 2}\n");

    struct net_limits l = plan_limits(c, 2);
    assert_int_equal(l.scan.message_max, 1 << 20);
    assert_int_equal(l.scan.depth_max, 20);
    assert_int_equal(l.connections, 77);
    assert_int_equal(l.connections_per_address, 7);
    assert_int_equal(l.in_flight, 50);
    assert_int_equal(l.output_max, 64 << 10);
    assert_int_equal(l.partial.shared, 7 << 20);
    assert_int_equal(l.partial.own, 1 << 19); /* of each loop */
    assert_int_equal(l.handshake_timeout, AO_S(3));
    assert_int_equal(l.idle_timeout, AO_S(4));
    assert_int_equal(l.auth_failures, 2);
}

SCRATCH_TEST(there_is_room_for_one_whole_message)
{
    struct config *c = configure("limits: {message: 1m, partial: 2m}\n");

    assert_int_equal(plan_limits(c, 64).partial.shared, (2 << 20) + (128 << 10));
    assert_int_equal(plan_limits(c, 1).partial.own, 256 << 10);
    assert_int_equal(plan_limits(c, 64).partial.own, 16 << 10);
}

static uint32_t handshakes_of(const char *limits, uint32_t loops)
{
    return plan_limits(configure(limits), loops).handshakes;
}

SCRATCH_TEST(handshakes_take_a_sixteenth_of_the_memory_at_most)
{
    assert_int_equal(handshakes_of("limits: {memory: 4g}\n", 2), 1024);
    assert_int_equal(handshakes_of("limits: {memory: 128m}\n", 2), (8 << 10) / 46 / 2);
    assert_int_equal(handshakes_of("limits: {memory: 1m}\n", 2), 16); /* or nobody got in */
    assert_int_equal(handshakes_of("limits: {memory: 128m, handshakes: 5000}\n", 2), 2500);
}

SCRATCH_TEST(as_many_connections_as_open_files_allow)
{
    struct config *c = configure("limits: {connections: auto}\n");

    assert_true(plan_limits(c, 1).connections > 0);
}

/* ---- executors ---- */

SCRATCH_TEST(each_loop_has_a_stepped_executor_by_default)
{
    struct config *c = configure("executors:\n  stepped: {queue: 9, parked: 8}\n"
                                 "  blocking: {count: 2, queue: 7}\n");
    uint32_t count;
    struct executor_plan *e = plan_executors(c, 3, &count);

    assert_int_equal(count, 7);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(e[i].kind, ERGON_STEPPED);
        assert_int_equal(e[i].loop, i);
        assert_int_equal(e[i].queue, 9);
        assert_int_equal(e[i].parked, 8);
        assert_int_equal(e[i].weight, 1);
    }
    for (uint32_t i = 3; i < 7; i++) {
        assert_int_equal(e[i].kind, ERGON_BLOCKING);
        assert_int_equal(e[i].spare, i >= 5);
        assert_int_equal(e[i].queue, 7);
        assert_int_equal(e[i].core, -1);
        assert_int_equal(e[i].priority, 0);
    }
    free(e);
}

SCRATCH_TEST(a_list_is_taken_as_it_stands)
{
    struct config *c = configure("loops: {count: 2}\nexecutors:\n  stepped: {parked: 8}\n  list:\n"
                                 "    - {kind: blocking, queue: 1, core: 0, priority: 5}\n"
                                 "    - {kind: stepped, queue: 2, weight: 3}\n"
                                 "    - {kind: stepped, queue: 3, loop: 1}\n"
                                 "    - {kind: stepped, queue: 4}\n");
    uint32_t count;
    struct executor_plan *e = plan_executors(c, 2, &count);

    assert_int_equal(count, 5);
    assert_int_equal(e[0].kind, ERGON_BLOCKING);
    assert_int_equal(e[0].queue, 1);
    assert_int_equal(e[0].core, 0);
    assert_int_equal(e[0].priority, 5);
    assert_int_equal(e[1].weight, 3);
    assert_int_equal(e[1].parked, 8);
    assert_int_equal(e[1].loop, 0); /* without a loop of their own: in turn */
    assert_int_equal(e[2].loop, 1);
    assert_int_equal(e[3].loop, 0);
    assert_true(e[4].spare); /* like the one it stands in for */
    assert_int_equal(e[4].queue, 1);
    assert_int_equal(e[4].priority, 5);
    free(e);
}

static uint32_t spares_of(const char *yaml)
{
    uint32_t count, spares = 0;
    struct executor_plan *e = plan_executors(configure(yaml), 2, &count);

    for (uint32_t i = 0; i < count; i++) {
        assert_true(e[i].spare || spares == 0); /* they stand last */
        spares += e[i].spare;
    }
    free(e);
    return spares;
}

SCRATCH_TEST(so_many_may_stand_in)
{
    assert_int_equal(spares_of("executors:\n  blocking: {count: 3}\n"), 3);
    assert_int_equal(spares_of("executors:\n  blocking: {count: 3, max: 10}\n"), 7);
    assert_int_equal(spares_of("executors:\n  blocking: {count: 3, max: 3}\n"), 0);
    assert_int_equal(spares_of("executors:\n  blocking: {count: 0, max: 5}\n"), 0);
    assert_int_equal(spares_of("executors:\n  blocking: {count: 0}\n"), 0);
}

/* ---- listeners ---- */

/* Of the first listener; its methods are the caller's. */
static struct listener_options plan_one(const struct config *c)
{
    struct listener_options o;

    assert_true(plan_listener(c, &c->listeners[0], &o));
    return o;
}

SCRATCH_TEST(a_listener_keeps_its_rules)
{
    struct listener_options o = plan_one(configure("listen:\n  - url: unix:///tmp/x.sock\n"
                                                   "    auth: peer\n    allow: [echo, 'sum*']\n"
                                                   "    mode: '0640'\n    raw: true\n"
                                                   "    max_connections: 5\n"));

    assert_string_equal(o.url, "unix:///tmp/x.sock");
    assert_int_equal(o.auth, LISTENER_AUTH_PEER);
    assert_string_equal(o.methods, "echo,sum*");
    assert_int_equal(o.unix_mode, 0640);
    assert_int_equal(o.connections, 5);
    assert_true(o.raw);
    assert_null(o.tls.cert);
    free((char *)(uintptr_t)o.methods);
}

SCRATCH_TEST(without_a_list_everything_is_allowed)
{
    struct listener_options o = plan_one(configure("listen: [ergon://127.0.0.1:0]\n"));

    assert_null(o.methods);
    assert_int_equal(o.auth, LISTENER_AUTH_NONE);
    free((char *)(uintptr_t)o.methods);
}

SCRATCH_TEST(tls_is_for_tls_listeners)
{
    char yaml[1024], pem[128];

    snprintf(pem, sizeof pem, "%s", scratch_write("a.pem", "x"));
    snprintf(yaml, sizeof yaml,
             "tls: {cert: %s, key: %s, client_ca: %s, min_version: 1.3}\n"
             "listen:\n  - url: ergons://127.0.0.1:0\n    tls: {client_cert: optional}\n"
             "  - ergon://127.0.0.1:0\n",
             pem, pem, pem);
    struct config *c = configure(yaml);
    struct listener_options o = plan_one(c), plain;
    assert_string_equal(o.tls.cert, pem);
    assert_string_equal(o.tls.key, pem);
    assert_string_equal(o.tls.client_ca, pem);
    assert_int_equal(o.tls.client_cert, CLIENT_CERT_OPTIONAL);
    assert_true(o.tls.min_tls13);
    assert_true(plan_listener(c, &c->listeners[1], &plain));
    assert_null(plain.tls.cert);
    free((char *)(uintptr_t)plain.methods);
    free((char *)(uintptr_t)o.methods);
}

/* ---- memory ---- */

SCRATCH_TEST(what_may_be_held_fits_the_machine)
{
    uint64_t machine = memory_usable("");
    struct config *c = configure(NULL);
    struct jobs_settings jobs = plan_jobs(c);
    assert_int_equal(jobs.limits.bytes, machine / 4);
    assert_int_equal(jobs.limits.kept_bytes, machine / 4 / 4);
    assert_int_equal(jobs.limits.actors.bytes, machine / 4 / 2);
    assert_true(plan_accounts(c).bytes_in_all + jobs.limits.bytes <= machine / 4 * 3);
    c = configure("tasks: {bytes: 8m}\n");
    assert_int_equal(plan_jobs(c).limits.bytes, 8 << 20);
    assert_int_equal(plan_jobs(c).limits.kept_bytes, 2 << 20);
    assert_int_equal(plan_jobs(c).limits.actors.bytes, 4 << 20);
    c = configure("tasks: {kept_bytes: 0}\n");
    assert_int_equal(plan_jobs(c).limits.kept_bytes, 0);
    c = configure("actors: {bytes: 3m}\n");
    assert_int_equal(plan_jobs(c).limits.actors.bytes, 3 << 20);
}

SCRATCH_TEST(a_database_replicates_unless_it_need_not)
{
    struct config *c = configure(NULL);
    assert_int_equal(plan_durable(c), DURABLE_NONE);
    c = configure("store: tasks.db\n");
    assert_int_equal(plan_durable(c), DURABLE_FSYNC);
    assert_false(durable_is_awaited(plan_store_require(c)));
    c = configure("store: postgresql:///tasks\n");
    assert_int_equal(plan_durable(c), DURABLE_REPLICATED);
    assert_int_equal(plan_store_require(c), DURABLE_REPLICATED);
    c = configure("store: postgresql:///tasks\nstore_require: fsync\n");
    assert_int_equal(plan_durable(c), DURABLE_FSYNC);
    assert_int_equal(plan_store_require(c), DURABLE_FSYNC);
}

static int plan_all(void *arg)
{
    struct config *c = arg;
    struct listener_options o = {0};
    uint32_t count;
    struct executor_plan *e = plan_executors(c, 2, &count);
    bool good = e && plan_listener(c, &c->listeners[0], &o);

    free(e);
    free((char *)(uintptr_t)o.methods);
    return good ? 0 : -1;
}

SCRATCH_TEST(without_memory_there_is_no_plan)
{
    struct config *c = configure(NULL);

    heap_fail_each(plan_all, c);
}
