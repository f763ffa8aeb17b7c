/* What the server says of itself, and what happens when there is no memory to say it. */
#include "tests/support/heap.h"
#include "tests/support/rpc_stage.h"

static void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no \"%s\" in %s", part, text);
}

RPC_TEST(info_counts_what_happened)
{
    stage_answer("echo", "[]");
    stage_answer("block", "[]");
    stage_answer("fail", "[]");
    const char *info = stage_answer("server.info", "[]");
    assert_holds(info, "1: {'server': 'ergon', 'version': '" ERGON_VERSION "', 'pid': ");
    assert_holds(info, "'draining': false, 'loops': 1, 'executors': 2, 'methods': 14, ");
    assert_holds(info, "'connections': {'open': 1, 'accepted': 1, 'closed': 0, 'messages': 3, ");
    assert_holds(info, "'protocol_errors': 0, 'unread': 0, 'partial_bytes': 0, 'newcomers': 0, "
                       "'gave_way': 0, 'limit': 0, 'newcomers_limit': 0, ");
    assert_holds(info, "'tasks': {'calls': 3, 'short_cut': 2, 'through_manager': 1, 'done': 2, "
                       "'failed': 1, 'cancelled': 0, 'late': 0, 'refused': 0}, ");
    assert_holds(info, "'workers': {'registered': 0, 'slots': 0, 'out': 0, 'done': 0, 'failed': 0, "
                       "'gone': 0, 'strange': 0}, 'kept': {'held': 0, 'limit': 2000, 'bytes': 0, "
                       "'bytes_limit': 16777216, 'ended_bytes': 0, 'ended_bytes_limit': 16777216, "
                       "'tenant_share': 0, 'submitted': 0, 'starts': 0, 'retries': 0, "
                       "'fenced': 0, 'states': {'queued': 0, ");
    assert_holds(
        info, "'dead': 0}}, 'shared': {'semaphores': 0, 'held': 0, 'waiting': 0, 'events': 0"
              "}, 'actors': {'resident': 0, 'bytes': 0, 'bytes_limit': 268435456, 'messages': 0, "
              "'loads': 0, 'unread': 0, 'passivated': 0, 'deadlocks': 0, 'last_deadlock': 0}, "
              "'feed': {'events': 0, 'bytes': 196608}, "
              "'store': nil, 'log': {'records': 0, "
              "'repeated': 0, 'dropped': 0, 'waiting': 0}, 'audit': {'records': 0, 'repeated': 0, "
              "'dropped': 0, 'waiting': 0}, 'spans': {'ended': 0, 'exported': 0, 'dropped': 0, "
              "'waiting': 0, 'failing': false}, 'cluster': nil}\n");
}

RPC_TEST(info_tells_how_long_tasks_waited_and_ran)
{
    stage_run_ms(5); /* the time is not 0 */
    stage_ask(&peer, 1, "block", "[]");
    net_run_ms(5); /* read and given; the executor takes it later */
    net.v.now += AO_MS(100);
    stage_run();
    stage_said_to(&peer);
    const char *info = stage_answer("server.info", "[]");
    assert_holds(info, "{'name': 'block', ");
    assert_holds(info, "'wait_us': {'p50': 100663, 'p95': 100663, 'p99': 100663}, ");
    assert_holds(info, "'run_us': {'p50': 1, 'p95': 1, 'p99': 1}}");
    stage_ask(&peer, 1, "hang", "[]"); /* has begun, and has not ended */
    net_run_ms(0);
    info = stage_answer("server.info", "[]");
    assert_holds(strstr(info, "'name': 'hang'"), "'run_us': nil}");
    stage_answer("server.cancel", "[1]");
    stage_run();
}

RPC_TEST(info_counts_the_methods_that_nobody_runs)
{
    struct method *m = registry_at(stage.registry, 0);

    assert_holds(stage_answer("server.info", "[]"), "'no_executor': 0, ");
    m->no_executor = true;
    assert_holds(stage_answer("server.info", "[]"), "'no_executor': 1, ");
    m->no_executor = false;
}

RPC_TEST(methods_lists_handlers_first)
{
    const char *methods = stage_answer("server.methods", "[]");
    assert_holds(methods, "1: ['echo', 'sleep', ");
    assert_holds(
        methods,
        "'large', 'server.hello', 'server.auth', 'server.ping', "
        "'server.cancel', 'server.info', 'server.methods', 'server.describe', "
        "'server.topology', 'server.debug_dump', 'server.whoami', 'server.times', "
        "'server.figures', "
        "'task.submit', 'task.submit_many', "
        "'task.call', 'task.get', 'task.wait', 'task.watch', 'task.cancel', 'task.retry', "
        "'task.forget', 'task.change', 'task.run_now', 'task.list', 'task.events', 'task.explain', "
        "'queue.list', 'queue.explain', 'queue.tenants', "
        "'queue.pause', "
        "'queue.resume', 'queue.drain', 'server.audit', 'cron.put', 'cron.list', "
        "'cron.delete', 'cron.pause', 'cron.resume', 'cron.run', 'sem.create', 'sem.delete', "
        "'sem.acquire', 'sem.release', 'sem.renew', "
        "'sem.resume', 'sem.list', 'sem.explain', 'sem.revoke', 'event.set', 'event.wait', "
        "'actor.call', 'actor.tell', 'actor.get', 'actor.list', 'actor.watch', 'actor.explain', "
        "'actor.start', "
        "'actor.stop', 'actor.wake', 'actor.drop', 'actor.remind', 'actor.forget', "
        "'actor.types', "
        "'batch.create', 'batch.add', 'batch.close', 'batch.get', 'batch.list', 'batch.cancel', "
        "'cluster.status', 'cluster.drain', 'cluster.forget', 'cluster.retry', "
        "'cluster.session', 'cluster.board', "
        "'connection.list', 'connection.kill', "
        "'worker.register', 'worker.quiet', 'worker.resume', 'worker.list', "
        "'worker.progress', 'worker.partial', 'worker.checkpoint', 'worker.submit']\n");
}

RPC_TEST(whoami_tells_what_one_may)
{
    const char *me = stage_answer("server.whoami", "[]");
    assert_holds(me, "1: {'principal': '");
    assert_holds(me, "'unconfigured': true, 'others': true, 'params': true, 'grants': "
                     "[{'methods': ['*', 'task.any', 'worker.any', 'worker.offer.*'], 'tenants': "
                     "nil, 'queues': nil, 'keys': nil}], "
                     "'allow': nil, 'methods': ['server.hello', ");
    assert_holds(me, "'worker.submit'], 'limits': {'message': ");
}

RPC_TEST(times_are_histograms_of_the_busiest)
{
    assert_holds(stage_answer("server.times", "[]"), "'more': 0, 'bounds': [1024, 1536, 2048, ");
    stage_answer("echo", "[1]");
    const char *times = stage_answer("server.times", "[{'limit': 1}]");
    assert_holds(times, "'methods': [{'name': 'echo', 'done': 1, 'failed': 0, 'wait': [");
    assert_holds(stage_answer("server.times", "[{'limit': 65}]"), "BAD_PARAMS: ");
    assert_holds(stage_answer("server.times", "[{'limit': 0}]"), "BAD_PARAMS: ");
    assert_holds(stage_answer("server.times", "[{}, 1]"),
                 "BAD_PARAMS: server.times takes [{limit: int}]");
}

RPC_TEST(describe_tells_of_handlers_and_of_the_servers_own)
{
    assert_string_equal(stage_answer("server.describe", "['block']"),
                        "1: {'name': 'block', 'kind': 'blocking', 'summary': nil, 'params': nil, "
                        "'module': 'test', 'executors': 1}\n");
    assert_holds(stage_answer("server.describe", "['echo']"), "'kind': 'stepped'");
    assert_string_equal(
        stage_answer("server.describe", "['server.ping']"),
        "1: {'name': 'server.ping', 'kind': 'server', 'summary': 'answers \"pong\"', "
        "'params': '[]', 'module': 'server', 'executors': -1}\n");
    assert_holds(stage_answer("server.describe", "['none']"), "1 failed: 'NOT_FOUND: ");
    assert_holds(stage_answer("server.describe", "[]"), "1 failed: 'BAD_PARAMS: ");
    assert_holds(stage_answer("server.describe", "[5]"), "1 failed: 'BAD_PARAMS: ");
}

RPC_TEST(topology_shows_executors_at_work)
{
    stage_ask(&peer, 1, "hang", "[]");
    stage_ask(&peer, 2, "block", "[]");
    net_run_ms(0);
    stage_ask(&peer, 3, "server.topology", "[]");
    net_run_ms(0);
    const char *topology = stage_said_to(&peer);
    assert_holds(topology, "3: {'loops': [{'name': 'loop', 'connections': 1, ");
    assert_holds(topology, "'long_steps': 0, 'longest_step_us': 0, 'longest_step_minute_us': 0, ");
    assert_holds(topology, "{'name': 'stepped 0', 'kind': 'stepped', 'loop': 0, 'core': -1, "
                           "'priority': 0, 'weight': 1, 'queue': 64, ");
    assert_holds(topology, "'outstanding': 0, 'parked': 1, ");
    assert_holds(topology, "{'name': 'blocking 1', 'kind': 'blocking', 'loop': -1, ");
    assert_holds(topology, "'outstanding': 1, 'parked': 0, ");
    assert_holds(
        topology,
        "'manager': {'place': 'loop', 'queued': 0, 'queue': 1000, "
        "'short_cut': true, 'principals': []}, 'measure': 'occupancy', 'idle': 'sleep'}\n");
    stage_ask(&peer, 4, "server.cancel", "[1]");
    stage_run();
}

/* A request whose n-th allocation fails is answered, refused with MEMORY, or its connection ends:
 * never silence, and never half an answer.  True when it was refused. */
static bool ask_without_memory(const char *method, int n, bool *met)
{
    static struct script other;

    net_connect(&other);
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    stage_ask(&other, 7, method, "[]");
    heap_fail_at(n);
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    *met = heap_failed();
    heap_fail_at(0);
    const char *said = stage_said_to(&other);
    bool refused = strcmp(said, "7 failed: 'MEMORY: the server is out of memory'\n") == 0;
    assert_string_not_equal(said, "7: nil\n");
    assert_true(refused || strncmp(said, "7: ", 3) == 0 ||
                (*said == '\0' && (other.closed || other.shut)));
    script_reset(&other);
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    return refused;
}

RPC_TEST(without_memory_there_is_an_error)
{
    static const char *const methods[] = {"server.hello",    "server.info", "server.methods",
                                          "server.topology", "task.list",   "queue.list"};

    for (int i = 0; i < 10; i++)
        stage_ask(&peer, 1, "task.submit", "['echo', [], {'delay': '1h'}]");
    stage_run_ms(1);
    stage_said_to(&peer);
    for (unsigned i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        unsigned refused = 0;
        bool met = true;
        for (int n = 1; met; n++)
            refused += ask_without_memory(methods[i], n, &met);
        assert_true(refused > 0);
    }
}
