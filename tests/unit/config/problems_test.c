/* What is wrong is told with its place, and with what to write instead. */
#include "server/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

/* ---- one value ---- */

SCRATCH_TEST(file_problems_have_lines)
{
    scratch_refused(
        "listen:\n"
        "  - url: ergon://127.0.0.1\n"
        "    idle_timeout: 30\n"
        "    tls: {cetr: x}\n"
        "drian: 8s\n"
        "limits: {message: 16, depth: 1, in_flight: many, connections: -1, a.b: 1}\n"
        "measure: fastest\n"
        "shortcut: maybe\n"
        "loops: {cores: 3-1}\n",
        NULL, NULL,
        "ergond.yaml:3: listen[0].idle_timeout: \"30\" has no unit (write \"30s\" or "
        "\"500ms\")\n"
        "ergond.yaml:4: listen[0].tls.cetr: unknown key (did you mean \"cert\"?)\n"
        "ergond.yaml:5: drian: unknown key (did you mean \"drain\"?)\n"
        "ergond.yaml:6: limits.message: \"16\" has no unit (write \"16k\" or \"16m\")\n"
        "ergond.yaml:6: limits.depth: \"1\" is out of range (2 to 128)\n"
        "ergond.yaml:6: limits.in_flight: \"many\" is not a whole number\n"
        "ergond.yaml:6: limits.connections: \"-1\" is out of range (1 to 16777216, or "
        "\"auto\")\n"
        "ergond.yaml:6: limits.a.b: unknown key\n"
        "ergond.yaml:7: measure: \"fastest\" is not one of occupancy, length, priority, "
        "weight, completion\n"
        "ergond.yaml:8: shortcut: \"maybe\" is neither true nor false\n"
        "ergond.yaml:9: loops.cores: \"3-1\" is not a list of at most 1024 cores (write "
        "\"0-2,5\")\n");
}

SCRATCH_TEST(a_wrong_shape_is_told)
{
    scratch_refused("drain: [1s]\n"
                    "limits: 3\n"
                    "listen: {url: ergon://127.0.0.1}\n"
                    "modules: [{a: b}]\n"
                    "measure:\n"
                    "drain: 2s\n"
                    "executors:\n"
                    "  list: [blocking]\n"
                    "tenants: [ada]\n"
                    "? [a]\n"
                    ": b\n",
                    NULL, NULL,
                    "ergond.yaml:1: drain: is a list (write a single value)\n"
                    "ergond.yaml:2: limits: is a group of keys (write them below it, indented)\n"
                    "ergond.yaml:3: listen: is a map (write a list: - ...)\n"
                    "ergond.yaml:4: modules[0]: an element of this list is a single value\n"
                    "ergond.yaml:5: measure: has no value (write one, or leave the key out)\n"
                    "ergond.yaml:6: \"drain\" is set a second time (first in line 1)\n"
                    "ergond.yaml:8: executors.list[0]: \"blocking\" is not a map (write - kind: "
                    "stepped)\n"
                    "ergond.yaml:9: tenants[0]: \"ada\" is not a map (write - name: ada)\n"
                    "ergond.yaml:10: a key is a single word\n");
    scratch_refused("- a\n", NULL, NULL,
                    "ergond.yaml:1: the file is not a map (write key: value)\n");
    scratch_refused("a\n---\nb\n", NULL, NULL,
                    "ergond.yaml:1: the file is not a map (write key: value)\n"
                    "ergond.yaml:3: a second document begins here; one file holds one\n");
}

SCRATCH_TEST(what_is_not_yaml_is_told_with_its_line)
{
    assert_null(scratch_load("drain: 1s\nlimits: {message: 1m\nlog: x\n", NULL, NULL));
    assert_non_null(strstr(scratch.errors, "ergond.yaml:3: this is not YAML: "));
    assert_null(scratch_load("a: \"\xff\"\n", NULL, NULL));
    assert_non_null(strstr(scratch.errors, "this is not YAML: "));
    scratch_refused("drain: \"1s\\0\"\n", NULL, NULL,
                    "ergond.yaml:1: drain: a value cannot contain a NUL byte\n");
}

/* An alias to a node that holds it would be endless for a walk that follows the tree. */
SCRATCH_TEST(a_tree_that_bites_its_tail_ends)
{
    assert_null(scratch_load("&a\nlimits: *a\n", NULL, NULL));
    assert_non_null(strstr(scratch.errors, "limits.limits: unknown key"));
}

SCRATCH_TEST(other_sources_name_themselves)
{
    scratch_refused(NULL, LIST("ERGON_DRAIN=8", "ERGON_MODULE="),
                    LIST("--log-level", "loud", "--drain=", "--drain=99999999d"),
                    "ERGON_DRAIN: \"8\" has no unit (write \"8s\" or \"500ms\")\n"
                    "--log-level: \"loud\" is not one of debug, info, warn, error\n"
                    "--drain: \"\" is not a duration (write \"30s\", \"500ms\" or \"50us\")\n"
                    "--drain: \"99999999d\" is too long (at most 213503d)\n");
    scratch_refused(NULL, NULL, LIST("--frobnicate", "x", "--listen"),
                    "--frobnicate: no such flag (see --help)\n"
                    "--listen: needs a value (--listen=VALUE)\n"
                    "x: a word that belongs to no flag (see --help)\n");
}

SCRATCH_TEST(excess_is_refused)
{
    char flag[5000] = "--tokens=";

    memset(flag + 9, 'a', 4096);
    assert_null(scratch_load(NULL, NULL, LIST(flag)));
    assert_non_null(strstr(scratch.errors, "a value is limited to 4095 bytes"));
    scratch_refused(
        NULL, NULL, LIST("--loops-cores=0-1024"),
        "--loops-cores: \"0-1024\" is not a list of at most 1024 cores (write \"0-2,5\")\n");
    memcpy(flag, "--loops-cores=0", 16);
    for (int i = 1; i < 1024; i++)
        strcat(flag, ",0");
    scratch_accepted(NULL, NULL, LIST(flag));
}

/* Not one of the common pair: that would be the key of another certificate. */
SCRATCH_TEST(a_certificate_of_its_own_needs_a_key_of_its_own)
{
    assert_null(scratch_load("listen: [{url: 'ergons://127.0.0.1:1', tls: {cert: /dev/null}}]\n"
                             "tls: {cert: /dev/null, key: /dev/zero}\n",
                             NULL, NULL));
    assert_non_null(strstr(scratch.errors, "tls.key: is missing: ergons:// needs a private key"));
}

SCRATCH_TEST(cores_that_the_machine_lacks_are_refused)
{
    assert_null(scratch_load(NULL, NULL, LIST("--loops-cores=0,4095")));
    assert_non_null(
        strstr(scratch.errors, "--loops-cores: core 4095 does not exist (this machine"));
    assert_null(scratch_load("executors: {list: [{kind: blocking, core: 4095}]}\n", NULL, NULL));
    assert_non_null(strstr(scratch.errors, "executors.list[0].core: core 4095 does not exist"));
}

/* ---- a cluster ---- */

SCRATCH_TEST(a_cluster_needs_a_database)
{
    scratch_refused("store: /tmp/tasks.db\ncluster: {name: prod, weight: 0}\n", NULL, NULL,
                    "ergond.yaml:2: cluster.name: has no meaning without a database (write store: "
                    "postgresql://HOST/NAME)\n");
    scratch_refused("cluster: {node: 'a b', lease: 1s}\n", NULL, LIST("--store=postgresql:///db"),
                    "ergond.yaml:1: cluster.node: \"a b\": write at most 63 letters, digits, dots, "
                    "hyphens, underscores\n"
                    "ergond.yaml:1: cluster.lease: \"1s\" is out of range (3s to 5m)\n");
    scratch_refused("cluster: {offer: [a, 'b*c', 'd,e'], work: false}\n", NULL,
                    LIST("--store=postgresql:///db"),
                    "ergond.yaml:1: cluster.offer: \"b*c\": '*' is allowed only at the end of a "
                    "pattern\n"
                    "ergond.yaml:1: cluster.offer: \"d,e\": a pattern has neither a comma nor a "
                    "blank\n"
                    "ergond.yaml:1: cluster.offer: has no meaning with cluster.work: false, which "
                    "offers nothing\n");
    struct config *c =
        scratch_accepted(NULL, LIST("STATE_DIRECTORY=/tmp"), LIST("--store=service=ergon"));
    assert_true(c->cluster.exists);
    assert_string_equal(c->cluster.state, "/tmp");
    assert_false(scratch_accepted(NULL, NULL, LIST("--store=/tmp/service=ergon"))->cluster.exists);
}

SCRATCH_TEST(a_file_is_not_replicated)
{
    scratch_refused("store: /tmp/tasks.db\nstore_require: replicated\n", NULL,
                    LIST("--store-replicated=by-storage"),
                    "ergond.yaml:2: store_require: replicated needs a database (write store: "
                    "postgresql://HOST/NAME)\n"
                    "--store-replicated: by-storage is for a database (write store: "
                    "postgresql://HOST/NAME)\n");
    scratch_refused(
        "store_require: much\n", NULL, NULL,
        "ergond.yaml:1: store_require: \"much\" is not one of auto, any, fsync, replicated\n");
    struct config *c =
        scratch_accepted(NULL, NULL, LIST("--store=postgresql:///tasks", "--store-require=fsync"));
    assert_int_equal(c->store_require, CONFIG_REQUIRE_FSYNC);
}

SCRATCH_TEST(administering_needs_a_database_and_a_verb)
{
    struct config *c = scratch_accepted(
        NULL, NULL, LIST("--cluster-admin=init", "--store=postgres:///x", "--cluster-role=r"));
    assert_int_equal(scratch.action, CONFIG_ADMINISTER);
    assert_int_equal(c->verb, CONFIG_VERB_INIT);
    assert_string_equal(c->grant, "r");
    scratch_refused(NULL, NULL, LIST("--cluster-admin=drop", "--store=postgres:///x"),
                    "--cluster-admin: \"drop\" is not one of init, upgrade, upgrade-check, "
                    "upgrade-finish, look, look-json\n");
    scratch_refused(NULL, NULL, LIST("--cluster-admin=init"),
                    "--cluster-admin: the store is no database (write --store "
                    "postgresql://HOST/NAME)\n");
}

SCRATCH_TEST(a_password_does_not_belong_in_the_url)
{
    static const char *const urls[] = {"--store=postgresql://ergon:x@db/tasks",
                                       "--store=postgres:///tasks?user=ergon&password=x"};

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        scratch_refused(NULL, NULL, LIST(urls[i]),
                        "--store: has a password (write it into .pgpass, a service file or "
                        "a systemd credential)\n");
    scratch_accepted(NULL, NULL, LIST("--store=postgresql://ergon@[::1]:5432/tasks"));
}

#define CLUSTER "store: postgresql:///tasks\ncluster:\n"

SCRATCH_TEST(nodes_need_an_authority_of_their_own)
{
    static const char ca[] = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    static const char yaml[] =
        CLUSTER "  {listen: 'ergons://127.0.0.1:1', ca: %s, cert: /dev/null, "
                "key: /dev/null}\nlisten:\n"
                "  - {url: 'ergons://127.0.0.1:2', tls: {cert: /dev/null, "
                "key: /dev/null, client_ca: %s}}\n";
    static const char *const copies[] = {
        "# a copy\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"
        "-----BEGIN X509 CERTIFICATE-----\r\nMI\r\nIB \r\n-----END X509 CERTIFICATE-----\r\n",
    };
    char nodes[512], clients[512], text[2048];

    snprintf(clients, sizeof clients, "%s", scratch_write("clients.pem", ca));
    snprintf(nodes, sizeof nodes, "%s", scratch_write("nodes.pem", "# a copy\n"));
    snprintf(text, sizeof text, yaml, nodes, clients);
    scratch_accepted(text, NULL, NULL);
    scratch_write("nodes.pem", "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n");
    scratch_accepted(text, NULL, NULL);
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        scratch_write("nodes.pem", copies[i]);
        scratch_refused(text, NULL, NULL,
                        "ergond.yaml:3: cluster.ca: has an authority that listen[0] takes client "
                        "certificates of, so its clients could act as a node (give the nodes an "
                        "authority of their own)\n");
    }
}

/* SEQUENCE {SEQUENCE {[0] {INTEGER}, INTEGER, 4 times SEQUENCE {}, SEQUENCE {key}}}, and no more of
 * a certificate. */
SCRATCH_TEST(an_authority_that_was_issued_again_is_the_same)
{
    static const char yaml[] =
        CLUSTER "  {listen: 'ergons://127.0.0.1:1', ca: %s, cert: /dev/null, "
                "key: /dev/null}\nlisten:\n"
                "  - {url: 'ergons://127.0.0.1:2', tls: {cert: /dev/null, "
                "key: /dev/null, client_ca: %s}}\n";
    static const char first[] = "-----BEGIN CERTIFICATE-----\n",
                      last[] = "\n-----END CERTIFICATE-----\n";
    static const char *const again[] = {
        "MBcwFaADAgECAgECMAAwADAAMAAwA2tleQ==",
        "MBIwEAIBBDAAMAAwADAAMANrZXk="}; /* another number; no version */
    char nodes[512], clients[512], text[2048], pem[200];

    snprintf(pem, sizeof pem, "%s%s%s", first, "MBcwFaADAgECAgEBMAAwADAAMAAwA2tleQ==", last);
    snprintf(clients, sizeof clients, "%s", scratch_write("clients.pem", pem));
    snprintf(pem, sizeof pem, "%s%s%s", first,
             "MBcwFaADAgECAgEDMAAwADAAMAAwA2tleA==", last); /* another key */
    snprintf(nodes, sizeof nodes, "%s", scratch_write("nodes.pem", pem));
    snprintf(text, sizeof text, yaml, nodes, clients);
    scratch_accepted(text, NULL, NULL);
    for (size_t i = 0; i < sizeof again / sizeof again[0]; i++) {
        snprintf(pem, sizeof pem, "%s%s%s", first, again[i], last);
        scratch_write("nodes.pem", pem);
        scratch_refused(text, NULL, NULL,
                        "ergond.yaml:3: cluster.ca: has an authority that listen[0] takes client "
                        "certificates of, so its clients could act as a node (give the nodes an "
                        "authority of their own)\n");
    }
}

SCRATCH_TEST(other_nodes_reach_the_listener)
{
    scratch_refused(CLUSTER "  {listen: 'ergons://127.0.0.1:1'}\n", NULL, NULL,
                    "cluster.ca: is missing: ergons:// at cluster.listen needs it\n"
                    "cluster.cert: is missing: ergons:// at cluster.listen needs it\n"
                    "cluster.key: is missing: ergons:// at cluster.listen needs it\n");
    scratch_refused(CLUSTER "  {address: 'ergons://a.example.org:1'}\n", NULL, NULL,
                    "ergond.yaml:3: cluster.address: has no meaning without cluster.listen\n");
    scratch_refused(
        CLUSTER "  {listen: 'ergon://127.0.0.1:1'}\n", NULL, NULL,
        "ergond.yaml:3: cluster.listen: ergon://127.0.0.1:1 has no TLS, so that whoever "
        "reaches it can act as a node (use ergons://, or unix:// on one machine, or "
        "accept it with insecure: true or --insecure)\n");
    scratch_refused(CLUSTER "  {listen: 'ergon://0.0.0.0:1'}\ninsecure: true\n", NULL, NULL,
                    "cluster.address: is missing: other nodes cannot connect to ergon://0.0.0.0:1 "
                    "(write ergons://NAME:PORT)\n");
    scratch_refused(CLUSTER "  {listen: 'unix:///tmp/x.sock', state: /nowhere}\n"
                            "listen: ['unix:///tmp/x.sock']\n",
                    NULL, NULL,
                    "ergond.yaml:3: cluster.listen: listens where listen[0] does already\n"
                    "ergond.yaml:3: cluster.state: /nowhere: cannot be written: No such file or "
                    "directory\n");
    scratch_accepted(CLUSTER "  {listen: 'unix:///tmp/x.sock'}\n", NULL, NULL);
}

/* ---- values that do not go together ---- */

SCRATCH_TEST(an_open_listener_needs_tls_or_tokens)
{
    char tokens[128];

    scratch_refused(
        NULL, NULL, LIST("--listen=ergon://0.0.0.0"),
        "--listen: listen[0]: ergon://0.0.0.0 can be reached from other machines without TLS "
        "and without tokens (use ergons://, or tokens_file and auth: token, or listen on "
        "127.0.0.1, or accept it with insecure: true or --insecure)\n");
    scratch_accepted(NULL, NULL, LIST("--listen=ergon://0.0.0.0", "--insecure"));
    scratch_accepted("listen: [{url: 'ergon://[::]', insecure: true}]\n", NULL, NULL);
    snprintf(tokens, sizeof tokens, "--tokens=%s", scratch_write("tokens", ""));
    struct config *c = scratch_accepted(NULL, NULL, LIST("--listen=ergon://0.0.0.0", tokens));
    assert_int_equal(c->listeners[0].auth, LISTENER_AUTH_TOKEN);
    assert_null(scratch_load("listen: [{url: 'ergon://[::]', auth: none}]\n", NULL, LIST(tokens)));
}

SCRATCH_TEST(a_listener_takes_over_the_common_certificate)
{
    char flag[128];

    snprintf(flag, sizeof flag, "--tls-cert=%s", scratch_write("cert", ""));
    struct config *c =
        scratch_accepted("listen:\n"
                         "  - ergons://[::]:0\n"
                         "  - {url: 'ergons://[::]:0', auth: cert}\n"
                         "  - {url: 'ergons://[::]:0', tls: {client_cert: required}}\n"
                         "tls: {key: /dev/null, client_ca: /dev/null}\n",
                         NULL, LIST(flag));
    assert_string_equal(c->listeners[0].cert, c->tls.cert);
    assert_string_equal(c->listeners[0].key, "/dev/null");
    assert_int_equal(c->listeners[0].client_cert, CLIENT_CERT_NONE);
    assert_int_equal(c->listeners[1].client_cert, CLIENT_CERT_REQUIRED);
    assert_int_equal(c->listeners[2].auth, LISTENER_AUTH_CERT);
}

SCRATCH_TEST(what_does_not_go_together_is_told)
{
    scratch_refused(
        "listen:\n"
        "  - {url: 'ergons://[::]:0', auth: cert}\n"
        "  - {url: 'ergon://127.0.0.1:9', auth: token, mode: 0600, tls: {cert: /dev/null}}\n"
        "  - {url: 'ergon://127.0.0.1:9', auth: peer}\n"
        "  - {auth: none}\n"
        "tls:\n"
        "  key: /nowhere\n"
        "limits: {message: 1g}\n"
        "loops: {count: 2}\n"
        "executors: {list: [{loop: 2}, {kind: blocking, loop: 0}]}\n"
        "tenants: [{weight: 2}, {name: a}, {name: a}]\n"
        "store: /nowhere/at/all.db\n",
        NULL, NULL,
        "ergond.yaml:2: listen[0].tls.cert: is missing: ergons:// needs a certificate (here, "
        "or tls.cert)\n"
        "ergond.yaml:2: listen[0].tls.client_ca: is missing: client certificates are checked "
        "against it (here, or tls.client_ca)\n"
        "ergond.yaml:3: listen[1].tls.cert: has no meaning without TLS (write ergons:// in the "
        "URL)\n"
        "ergond.yaml:3: listen[1].auth: is token, but there is no tokens_file (make a token "
        "with: ergon token)\n"
        "ergond.yaml:3: listen[1].mode: is for unix:// listeners only\n"
        "ergond.yaml:4: listen[2].auth: is peer, which only a unix:// listener can know\n"
        "ergond.yaml:4: listen[2].url: listens where listen[1] does already\n"
        "ergond.yaml:5: listen[3].url: is missing (write url: ergon://127.0.0.1:7466)\n"
        "ergond.yaml:10: executors.list[0].loop: there are 2 loops, counted from 0\n"
        "ergond.yaml:10: executors.list[1].loop: a blocking executor has a thread of its own "
        "and no loop\n"
        "ergond.yaml:11: tenants[0].name: is missing (write name: ada)\n"
        "ergond.yaml:11: tenants[2].name: is that of tenants[1] already\n"
        "limits.partial: is smaller than limits.message, so no message of that size could "
        "ever arrive (make it larger)\n"
        "ergond.yaml:12: store: /nowhere/at: cannot be written: No such file or directory\n"
        "ergond.yaml:7: tls.key: /nowhere: cannot be read: No such file or directory\n");
    scratch_refused("store: /dev/null\n", NULL, NULL,
                    "ergond.yaml:1: store: /dev/null: is no regular file (name one, or one to be "
                    "made)\n");
    scratch_refused(
        "executors: {blocking: {count: 4, max: 3}}\n", NULL, NULL,
        "ergond.yaml:1: executors.blocking.max: is smaller than the number of blocking executors "
        "(make it as large, or auto: twice as many)\n");
    scratch_refused("listen: []\n", NULL, NULL,
                    "ergond.yaml:1: listen: names no place to listen at\n");
}
