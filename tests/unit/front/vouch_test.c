/* cluster.session at the owner: which nodes are believed, and what their clients may. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/pack.h"
#include "server/access/rights.h"
#include "server/front/forward.h"
#include "server/front/vouch.h"
#include "server/net/auth/peer.h"
#include "server/net/auth/principal.h"
#include "server/net/connection/admit.h"
#include "server/net/connection_rights.h"
#include "tests/support/rpc_stage.h"

static struct owner_finder *finder;
static struct forward *front;
static enum cluster_role role = CLUSTER_OWNER;
static struct script node;
static struct connection *conn;

static enum cluster_role role_now(const struct cluster *c)
{
    return role;
}

static void view_now(const struct cluster *c, struct cluster_view *out)
{
    *out = (struct cluster_view){.role = role, .cluster = "c", .node = "a"};
}

/* The listener is one of nodes, on a Unix socket. */
static int owner_open(void **state)
{
    char error[200];

    stage_open(state);
    const struct cluster_roles roles = {.role = role_now, .view = view_now};
    role = CLUSTER_OWNER;
    finder = owner_finder_new(&roles, 1);
    const struct forward_options options = {
        .roles = roles, .finder = finder, .rpc = &stage.rpc, .limits = &net.limits};
    front = forward_new(&options, error, sizeof error);
    assert_non_null(front);
    stage_run(); /* `peer` comes by a listener of clients */
    net.rules.auth = LISTENER_AUTH_NODE;
    conn = net_connect_from(&node, peer_key_of_user(geteuid()));
    stage_run();
    return 0;
}

static int owner_close(void **state)
{
    jobs_stop(stage.jobs);
    net_stop();
    forward_free(front);
    owner_finder_free(finder);
    stage.rpc.remote = NULL;
    return stage_close(state);
}

#define OWNER_TEST(name) TEST_WITH(owner_open, owner_close, name)

static const char *node_asks(const char *method, const char *params)
{
    stage_ask(&node, 1, method, params);
    stage_run();
    return stage_said_to(&node);
}

#define HEAD                                                                                       \
    "[{'cluster': 'c', 'version': 1, 'node': 'b', 'principal': 'address:192.0.2.7', "              \
    "'tenant': 'anybody', 'peer': '192.0.2.7:99', 'hello': [0, false, false], "
#define FREE HEAD "'free': true, 'rights': [['*,task.any', nil, nil, nil]]}]"

OWNER_TEST(a_node_speaks_for_its_client)
{
    assert_string_equal(node_asks("task.list", "[]"),
                        "1 failed: 'AUTH: authentication required: call server.auth with a "
                        "token'\n");
    assert_string_equal(node_asks("cluster.session", FREE), "1: {'composes': true}\n");
    assert_string_equal(principal_name(conn_principal(conn)), "address:192.0.2.7");
    assert_string_equal(conn_peer(conn), "192.0.2.7:99");
    assert_string_equal(conn_vouched(conn)->via, "b");
    assert_non_null(strstr(node_asks("task.submit", "['echo', [5]]"), "1: {'id': 't"));
}

OWNER_TEST(another_cluster_version_or_role_is_refused)
{
    assert_non_null(strstr(node_asks("cluster.session", "[{'cluster': 'd', 'version': 1}]"),
                           "DENIED: this node belongs to the cluster c, not to d"));
    assert_non_null(strstr(node_asks("cluster.session", "[{'cluster': 'c', 'version': 2}]"),
                           "DENIED: this node speaks version 1 of the cluster's protocol, not 2"));
    role = CLUSTER_FRONT;
    assert_non_null(
        strstr(node_asks("cluster.session", FREE), "BUSY: node a does not own the tasks"));
    assert_null(conn_principal(conn));
}

OWNER_TEST(a_claim_must_be_whole)
{
    static const char *const bad[] = {
        HEAD "'free': true, 'rights': 5}]",
        HEAD "'free': true, 'rights': [[nil, nil, nil, nil]]}]",
        HEAD "'free': true, 'rights': [['*', nil, nil]]}]",
        "[{'cluster': 'c', 'version': 1, 'principal': 'alice', 'rights': []}]",
        "[{'cluster': 'c', 'version': 1}]",
        "[{'cluster': 'c', 'version': 1, 'node': '', 'peer': 'p', 'tenant': 't', 'rights': [], "
        "'principal': 'address:a'}]",
        "[{'cluster': 'c', 'version': 1, 'node': 'b', 'peer': 'p', 'tenant': '', 'rights': [], "
        "'principal': 'address:a'}]",
        "[{'cluster': 'c', 'version': 1, 'node': 'b', 'peer': 'p', 'tenant': 't', 'rights': [], "
        "'principal': 'address:a', 'token': 'short'}]",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_string_equal(node_asks("cluster.session", bad[i]),
                            "1 failed: 'AUTH: the claim is malformed'\n");
    assert_non_null(strstr(node_asks("cluster.session", "[]"), "BAD_PARAMS"));
    assert_null(conn_principal(conn));
}

OWNER_TEST(a_listener_of_clients_serves_no_session)
{
    net.rules.auth = LISTENER_AUTH_NONE;
    stage_ask(&peer, 1, "cluster.session", FREE);
    stage_run();
    assert_string_equal(stage_said_to(&peer),
                        "1 failed: 'DENIED: cluster.session is for nodes, at cluster.listen "
                        "only'\n");
}

OWNER_TEST(another_user_of_the_machine_is_no_node)
{
    static struct script stranger;

    net_connect_from(&stranger, peer_key_of_user(geteuid() + 1));
    stage_run();
    assert_true(stranger.closed);
}

static bool may(const char *method)
{
    return principal_may(conn_principal(conn), span_text(method));
}

static void speak(const char *rights)
{
    char params[1024];

    snprintf(params, sizeof params, HEAD "'free': false, 'rights': [%s]}]", rights);
    assert_string_equal(node_asks("cluster.session", params), "1: {'composes': true}\n");
}

OWNER_TEST(the_front_may_grant_less)
{
    speak("['task.get,task.li*', nil, nil, nil]");
    assert_true(may("task.get") && may("task.list"));
    assert_false(may("task.cancel") || may("task.any") || may("worker.offer.x"));
    assert_non_null(strstr(node_asks("task.forget", "['t1']"), "DENIED"));
}

OWNER_TEST(the_owner_may_grant_less)
{
    const struct role roles[] = {{.name = "few",
                                  .members = "address:*",
                                  .methods = "task.get,queue.*,task.any",
                                  .tenants = "x*",
                                  .queues = "a*"}};

    net.loop->roles = role_table_new(roles, 1);
    speak("['*,worker.offer.*', 'xy,z', 'ab,b', nil]");
    struct rights_grant g;
    assert_true(rights_grant(principal_rights(conn_principal(conn)), 0, &g));
    assert_string_equal(g.methods, "task.get,queue.*");
    assert_string_equal(g.tenants, "xy");
    assert_string_equal(g.queues, "ab");
    assert_null(g.keys);
    assert_false(may("task.any") || may("task.list") || may("worker.offer.x"));
    assert_true(may("task.get") && may("queue.list"));
}

static uint32_t grants(void)
{
    const struct rights *rights = principal_rights(conn_principal(conn));
    struct rights_grant g;
    uint32_t count = 0;

    while (rights_grant(rights, count, &g))
        count++;
    return count;
}

/* The same with a grant for each i below `count`, of the methods that `format` makes of it. */
static const char *node_claims(struct span principal, int count, const char *format)
{
    char methods[32];
    struct pack p;

    pack_init(&p);
    pack_array(&p, 4);
    pack_uint(&p, 0);
    pack_uint(&p, 1);
    pack_str(&p, "cluster.session");
    pack_array(&p, 1);
    pack_map(&p, 7);
    pack_key_str(&p, "cluster", "c");
    pack_key_uint(&p, "version", VOUCH_VERSION);
    pack_key_str(&p, "node", "b");
    pack_key_span(&p, "principal", principal);
    pack_key_str(&p, "tenant", "anybody");
    pack_key_str(&p, "peer", "192.0.2.7:99");
    pack_str(&p, "rights");
    pack_array(&p, (uint32_t)count);
    for (int i = 0; i < count; i++) {
        snprintf(methods, sizeof methods, format, i);
        pack_array(&p, 4);
        pack_str(&p, methods);
        for (int part = 1; part < 4; part++)
            pack_nil(&p);
    }
    script_send(&node, pack_bytes(&p));
    pack_fini(&p);
    stage_run();
    return stage_said_to(&node);
}

enum { ROLES = 40 };

static void configure(const char *format)
{
    static char methods[ROLES][32];
    struct role roles[ROLES];

    for (int i = 0; i < ROLES; i++) {
        snprintf(methods[i], sizeof methods[i], format, i);
        roles[i] = (struct role){.name = "r", .members = "address:*", .methods = methods[i]};
    }
    net.loop->roles = role_table_new(roles, ROLES);
}

static const char client[] = "address:192.0.2.7";

OWNER_TEST(a_name_with_a_nul_is_no_name)
{
    assert_string_equal(node_claims(span_of("address:a\0b", 11), 1, "m%d"),
                        "1 failed: 'AUTH: the claim is malformed'\n");
}

/* They are not multiplied by one another. */
OWNER_TEST(grants_that_both_nodes_have_stay_as_they_are)
{
    configure("task.get,m%d.*");
    assert_string_equal(node_claims(span_text(client), ROLES, "task.get,m%d.*"),
                        "1: {'composes': true}\n");
    assert_int_equal(grants(), ROLES);
    assert_true(may("m7.x") && may("task.get"));
    assert_false(may("task.list"));
}

OWNER_TEST(roles_that_differ_in_too_many_grants_are_refused)
{
    configure("m%d.*");
    assert_string_equal(node_claims(span_text(client), ROLES, "m%d.x"),
                        "1 failed: 'AUTH: its roles differ too much between the nodes'\n");
    assert_string_equal(node_claims(span_text(client), ROLES / 2, "m%d.x"),
                        "1: {'composes': true}\n");
    assert_true(may("m7.x"));
    assert_false(may("m7.y") || may("m37.x"));
}

OWNER_TEST(what_the_listener_of_the_client_allows_holds_here_too)
{
    char params[1024];

    snprintf(params, sizeof params,
             HEAD "'allow': 'task.l*,queue.*', 'free': false, "
                  "'rights': [['task.*', nil, nil, nil]]}]");
    assert_string_equal(node_asks("cluster.session", params), "1: {'composes': true}\n");
    assert_true(may("task.list"));
    assert_false(may("task.get") || may("queue.list"));
}

static void read_roles_again(const char *methods, bool lower)
{
    const struct role roles[] = {{.name = "r", .members = "address:*", .methods = methods}};

    net.loop->roles = role_table_new(roles, 1);
    net.loop->lower = lower;
    renewal_start(net.loop);
    stage_run();
}

OWNER_TEST(a_reload_at_the_owner_lowers_a_session)
{
    speak("['task.get,task.list', nil, nil, nil]");
    read_roles_again("task.*", true);
    assert_true(may("task.get") && may("task.list"));
    assert_false(may("task.cancel"));
    role_table_unref(net.loop->roles);
    read_roles_again("task.get", true);
    assert_true(may("task.get"));
    assert_false(may("task.list"));
}

OWNER_TEST(a_reload_at_the_owner_closes_a_session_that_may_less)
{
    speak("['task.get,task.list', nil, nil, nil]");
    read_roles_again("task.get", false);
    stage_said_to(&node);
    assert_true(node.shut);
}

OWNER_TEST(tenants_that_differ_are_refused)
{
    const struct role roles[] = {
        {.name = "r", .members = "address:*", .methods = "*", .tenant = "other"}};

    net.loop->roles = role_table_new(roles, 1);
    assert_non_null(strstr(node_asks("cluster.session", FREE), "gives it another tenant"));
}

OWNER_TEST(a_token_must_be_known_here_too)
{
    assert_non_null(strstr(
        node_asks("cluster.session",
                  "[{'cluster': 'c', 'version': 1, 'node': 'b', 'principal': 'token:alice', "
                  "'token': '12345678901234567890123456789012', 'tenant': 'alice', 'peer': 'p', "
                  "'rights': [['*', nil, nil, nil]]}]"),
        "this node has no such token"));
}
