/* The cluster that a server belongs to: cluster.status, which is asked of a node alone. */
#include "client/cli/doctor/checks.h"

#include "client/cli/json.h"

#include <string.h>

enum { CLOCK_MS = 1000, TRIES_MAX = 2 };

static void look_owner(struct visit *v)
{
    const json_t *owner = fact(v, "cluster.owner");
    double tries = figure(v, "cluster.tries");
    if (tries >= TRIES_MAX)
        found(v, "", json_pack("{s:f}", "tries", tries),
              "two take-overs did not finish, and no node tries again: the tasks have no owner");
    else if (json_is_null(owner))
        found(v, "", json_pack("{s:f}", "epoch", figure(v, "cluster.epoch")),
              "no node of the cluster owns the tasks: calls about them wait, and are refused then");
}

static void look_database(struct visit *v)
{
    const json_t *trouble = fact(v, "cluster.trouble");
    if (json_is_string(trouble))
        found(v, "", json_pack("{s:s}", "trouble", json_string_value(trouble)),
              "the cluster's database does not answer: %s", json_string_value(trouble));
}

/* What the owner's store last promised tells more than the settings: storage may replicate below
 * them. */
static void look_standby(struct visit *v)
{
    const json_t *level = fact(v, "info.store.level"), *role = fact(v, "cluster.role");
    if (json_is_string(role) && strcmp(json_string_value(role), "owner") == 0 &&
        json_is_string(level) && strcmp(json_string_value(level), "replicated") != 0)
        found(v, "", json_pack("{s:s}", "level", json_string_value(level)),
              "the last commit was %s only: no standby of the database has it",
              json_string_value(level));
}

static bool is_gone(const json_t *node)
{
    return strcmp(json_text(node, "state"), "dead") == 0 ||
           strcmp(json_text(node, "state"), "left") == 0;
}

static bool may_own(const json_t *node)
{
    return !is_gone(node) && json_integer_value(json_object_get(node, "weight")) > 0;
}

static void look_successor(struct visit *v)
{
    const json_t *nodes = fact(v, "cluster.nodes"), *node;
    size_t i, count = 0;
    json_array_foreach(nodes, i, node)
    {
        count += may_own(node);
    }
    if (json_is_array(nodes) && count == 1)
        found(v, "", json_pack("{s:i}", "nodes", (int)count),
              "one node alone may own the tasks: when it is lost, nothing takes over");
}

static void look_dead(struct visit *v)
{
    const json_t *node;
    size_t i;
    json_array_foreach(fact(v, "cluster.nodes"), i, node)
    {
        if (strcmp(json_text(node, "state"), "dead") == 0)
            found(v, json_text(node, "node"),
                  json_pack("{s:O}", "silent_ms", json_object_get(node, "silent_ms")),
                  "the node %s is dead", json_text(node, "node"));
    }
}

static void look_notes(struct visit *v)
{
    const json_t *node;
    size_t i;
    json_array_foreach(fact(v, "cluster.nodes"), i, node)
    {
        const json_t *note = json_object_get(node, "note");
        if (json_is_string(note))
            found(v, json_text(node, "node"), json_pack("{s:s}", "note", json_string_value(note)),
                  "the node %s says: %s", json_text(node, "node"), json_string_value(note));
    }
}

static void look_clock(struct visit *v)
{
    double ahead = figure(v, "cluster.clock_ms");
    if (ahead >= CLOCK_MS || ahead <= -CLOCK_MS)
        found(v, "", json_pack("{s:f}", "clock_ms", ahead),
              "the clocks of the node and of the cluster's database differ by %.1f s; from 10 s "
              "on the node owns no tasks",
              (ahead < 0 ? -ahead : ahead) / 1000);
}

static void look_versions(struct visit *v)
{
    const json_t *nodes = fact(v, "cluster.nodes"), *node, *first = json_array_get(nodes, 0);
    size_t i;
    json_array_foreach(nodes, i, node)
    {
        if (may_own(node) && strcmp(json_text(node, "version"), json_text(first, "version")) != 0) {
            found(v, "",
                  json_pack("{s:s, s:s}", "one", json_text(first, "version"), "other",
                            json_text(node, "version")),
                  "nodes of the versions %s and %s are in one cluster", json_text(first, "version"),
                  json_text(node, "version"));
            return;
        }
    }
}

static const json_t *settings_of(struct visit *v, const char *name)
{
    const json_t *node;
    size_t i;
    json_array_foreach(fact(v, "cluster.nodes"), i, node)
    {
        if (strcmp(json_text(node, "node"), name) == 0)
            return json_object_get(node, "settings");
    }
    return NULL;
}

static void look_settings(struct visit *v)
{
    const json_t *owner = fact(v, "cluster.owner"), *node;
    const json_t *common = json_is_string(owner) ? settings_of(v, json_string_value(owner)) : NULL;
    size_t i;
    if (!json_is_string(common))
        return;
    json_array_foreach(fact(v, "cluster.nodes"), i, node)
    {
        const json_t *own = json_object_get(node, "settings");
        if (is_gone(node) || !json_is_string(own) || json_equal(own, common))
            continue;
        found(v, json_text(node, "node"), json_pack("{s:O}", "owner", owner),
              "the roles, tenants, cluster.lease or cluster.patience of the node %s differ from "
              "those of the owner %s",
              json_text(node, "node"), json_string_value(owner));
    }
}

const struct check CHECKS_CLUSTER[] = {
    {"cluster_no_owner", "error", look_owner,
     "ergon cluster status shows the nodes and their notes; after two failures mend the rows and "
     "run ergon cluster retry"},
    {"cluster_database", "error", look_database,
     "see to the database and the way to it; the node goes on by itself"},
    {"cluster_no_standby", "error", look_standby,
     "start a standby, and see synchronous_standby_names: ergon cluster doctor URL; where the "
     "storage replicates, write store_replicated: by-storage"},
    {"cluster_no_successor", "warning", look_successor,
     "start another node with a cluster.weight above 0"},
    {"cluster_node_dead", "warning", look_dead, "start it again, or ergon cluster forget {}"},
    {"cluster_settings", "warning", look_settings,
     "compare ergond --print-config of both; correct the file of {}, and reload or restart it"},
    {"cluster_note", "warning", look_notes, "the log of {} says more"},
    {"cluster_clock", "warning", look_clock, "set the clocks of both machines by NTP"},
    {"cluster_versions", "note", look_versions,
     "replace the nodes of the older version, then ergon cluster upgrade --finish URL"},
    {0},
};
