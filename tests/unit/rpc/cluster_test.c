/* cluster.*: of a server without a cluster, and of one whose cluster is a fake engine. */
#include "base/clock.h"
#include "server/cluster/cluster.h"
#include "tests/support/rpc_stage.h"
#include "tests/unit/cluster/fake_engine.h"

static void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no \"%s\" in %s", part, text);
}

static void take(void *arg, const struct engine_owner *owner, bool keeps_board)
{
    (void)arg;
    (void)owner;
    (void)keeps_board;
}

static void ended(void *arg, enum cluster_end why)
{
    (void)arg;
    (void)why;
}

static struct cluster *node(const char *name)
{
    const struct cluster_options options = {.engine = &fake_engine,
                                            .where = "fake",
                                            .cluster = "test",
                                            .node = name,
                                            .version = "1.2",
                                            .weight = 100,
                                            .lease = AO_S(5),
                                            .take = take,
                                            .ended = ended};
    struct cluster *c = cluster_new(&options);
    char error[200];

    assert_int_equal(cluster_open(c, "unix:///x", error, sizeof error), 0);
    return c;
}

RPC_TEST(a_server_without_a_cluster_says_so)
{
    assert_string_equal(stage_answer("cluster.status", "[]"),
                        "1: {'cluster': nil, 'node': nil, 'role': 'alone', 'owner': nil, 'epoch': "
                        "0, 'moving_from': nil, 'moving_since': nil, 'takeovers': 0, "
                        "'renewed_ms': nil, 'may_act': true, 'boards': 0, 'tries': 0, "
                        "'replicates': false, 'clock_ms': 0, 'read_ms': nil, 'trouble': nil, "
                        "'nodes': []}\n");
    assert_holds(stage_answer("cluster.retry", "[]"), "NOT_FOUND: there is no cluster");
    assert_holds(stage_answer("cluster.drain", "[]"), "NOT_FOUND: there is no cluster");
    assert_holds(stage_answer("cluster.forget", "[]"), "BAD_PARAMS: ");
    assert_holds(stage_answer("server.info", "[]"), ", 'cluster': nil}\n");
}

RPC_TEST(status_tells_nodes_owner_and_trouble)
{
    fake_rows = (struct fake_rows){.view.clock = clock_wall()};
    struct cluster *c = stage.shared.cluster = node("a");

    cluster_step(c);
    cluster_owns(c);
    cluster_step(c);
    cluster_step(c);
    const char *said = stage_answer("cluster.status", "[]");
    assert_holds(said,
                 "1: {'cluster': 'test', 'node': 'a', 'role': 'owner', 'owner': 'a', 'epoch': 1, ");
    assert_holds(said, "'may_act': true, 'boards': 0, 'tries': 1, ");
    assert_holds(said, "'trouble': nil, 'nodes': [{'node': 'a', 'state': 'owner', 'address': "
                       "'unix:///x', 'version': '");
    assert_holds(stage_answer("server.info", "[]"),
                 ", 'cluster': {'node': 'a', 'role': 'owner', 'owner': 'a', 'epoch': 1, "
                 "'moving_from': nil, 'moving_since': nil, 'renewed_ms': ");
    assert_holds(stage_answer("cluster.drain", "['b']"), "NOT_FOUND: b: no node of this name");
    assert_holds(stage_answer("cluster.forget", "['a']"), "NOT_FOUND: a: it owns the tasks");
    assert_holds(stage_answer("cluster.forget", "['']"), "NOT_FOUND: no node has a name of");
    assert_holds(stage_answer("cluster.retry", "[]"), "NOT_FOUND: no take-over has failed twice");
    assert_string_equal(stage_answer("cluster.drain", "[]"), "1: 'a'\n");
    cluster_step(c);
    assert_string_equal(fake_node("a")->state, "draining");
    fake_rows.all_away = true;
    for (int tries = 0; tries < 5000 && !strstr(said, "connection refused"); tries++) {
        cluster_step(c);
        said = stage_answer("cluster.status", "[]");
    }
    assert_holds(said, "'trouble': 'connection refused; it is tried again'");
    assert_holds(stage_answer("cluster.drain", "[]"), "BUSY: a: the cluster's database does");
    stage.shared.cluster = NULL;
    cluster_free(c);
}
