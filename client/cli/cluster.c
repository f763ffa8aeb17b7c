/* ergon cluster: several nodes on one database.
 *
 * What concerns nodes is asked of the server.  What concerns the database is done by the ergond
 * beside us, whose driver knows it, in place of this process. */
#include "client/cli/ask.h"
#include "client/cli/become.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/table.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "proto/pack.h"

enum { CLUSTER_TIMEOUT_MS = 10 * 1000, CLOCK_DIFFERS_MS = 1000, TRIES_MAX = 2 };

/* ---- status ---- */

static struct ergon_request *request_status(void)
{
    return ergon_request_raw("cluster.status", (struct ergon_raw){NULL, 0});
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static bool has_text(const json_t *object, const char *key)
{
    return json_is_string(json_object_get(object, key));
}

static void print_problems(const json_t *answer)
{
    json_int_t clock = number(answer, "clock_ms");
    if (has_text(answer, "trouble"))
        say("\nThe database does not answer: %s\n", json_text(answer, "trouble"));
    if (number(answer, "tries") >= TRIES_MAX)
        say("\nTwo take-overs did not finish, and no node tries again: see the notes, mend the "
            "rows, then run ergon cluster retry\n");
    else if (has_text(answer, "moving_from"))
        say("\nThe tasks move from %s to another node\n", json_text(answer, "moving_from"));
    else if (!has_text(answer, "owner"))
        say("\nNo node owns the tasks: what concerns them waits\n");
    if (clock >= CLOCK_DIFFERS_MS || clock <= -CLOCK_DIFFERS_MS)
        say("\nThe clock of %s differs from the database's by %.1f s: set both by NTP\n",
            json_text(answer, "node"), (double)clock / 1000);
}

static json_t *row_of(const json_t *node, int64_t now)
{
    static const char *const as_they_are[] = {"node",    "state",   "weight",
                                              "version", "address", "note"};
    static const char *const but[] = {"silent_ms", NULL};
    char buf[40];
    json_t *row = json_object();
    for (size_t i = 0; i < sizeof as_they_are / sizeof *as_they_are; i++) {
        json_t *member = json_object_get(node, as_they_are[i]);
        json_object_set_new(row, as_they_are[i],
                            json_is_null(member) ? json_string("") : json_incref(member));
    }
    const char *heard = humanize_age(now - number(node, "silent_ms"), now, buf, sizeof buf);
    json_object_set_new(row, "heard", json_string(heard));
    table_widen(row, node, but);
    return row;
}

static void print_nodes(const struct globals *g, const json_t *nodes)
{
    static const char *const first[] = {"node",    "state",   "heard", "weight",
                                        "version", "address", "note",  NULL};
    json_t *rows = json_array(), *node;
    int64_t now = now_ms();
    size_t i;
    json_array_foreach(nodes, i, node)
    {
        json_array_append_new(rows, row_of(node, now));
    }
    table_print(rows, first, 0, colour_wanted(g, stdout));
    json_decref(rows);
}

static bool is_well(const json_t *answer)
{
    return has_text(answer, "owner") && !has_text(answer, "trouble") &&
           !has_text(answer, "moving_from") && number(answer, "tries") < TRIES_MAX;
}

static enum status show_status(const struct globals *g, json_t *answer)
{
    bool none = !has_text(answer, "cluster");
    bool was_read = json_is_integer(json_object_get(answer, "read_ms"));
    enum status status = none || is_well(answer) ? STATUS_OK : STATUS_REMOTE;
    if (g->json)
        return status;
    if (none) {
        say("no cluster: this server keeps its tasks by itself\n");
        return status;
    }
    if (!output_is_names()) {
        say("cluster   %s\n", json_text(answer, "cluster"));
        say("node      %s (%s)\n", json_text(answer, "node"), json_text(answer, "role"));
        say("owner     %s, epoch %" JSON_INTEGER_FORMAT "\n",
            has_text(answer, "owner") ? json_text(answer, "owner") : "none",
            number(answer, "epoch"));
        if (was_read)
            say("commits   %s\n\n", json_is_true(json_object_get(answer, "replicates"))
                                        ? "on the database's disk, and on a standby's"
                                        : "on the database's disk alone");
    }
    if (was_read)
        print_nodes(g, json_object_get(answer, "nodes"));
    if (!output_is_names())
        print_problems(answer);
    return status;
}

static const struct command CLUSTER_STATUS = {
    .name = "cluster status",
    .arguments = "",
    .summary = "show the nodes, the owner of the tasks, and what is wrong",
    .text = "Prints what the server that is asked knows: the owner and its epoch, and a table of\n"
            "the nodes, with the time since each renewed its row. Exit status 1: no node owns\n"
            "the tasks now, or the database does not answer.\n",
    .examples = "  ergon cluster status\n"
                "  ergon cluster status --watch\n"
                "  ergon cluster status -o json | jq -r .owner\n",
    .ask = request_status,
    .show = show_status,
    .timeout_ms = CLUSTER_TIMEOUT_MS,
    .repeats = true,
};

/* ---- drain, forget, retry ---- */

/* NULL without memory. */
static struct ergon_request *request_of(const char *method, int argc, char **argv)
{
    struct pack p;
    pack_init(&p);
    pack_array(&p, (size_t)argc);
    for (int i = 0; i < argc; i++)
        pack_str(&p, argv[i]);
    struct span packed = pack_bytes(&p);
    struct ergon_request *request =
        p.failed ? NULL : ergon_request_raw(method, (struct ergon_raw){packed.at, packed.len});
    pack_fini(&p);
    return request;
}

static enum status ask_of(struct session *s, const char *method, int argc, char **argv,
                          const char *done)
{
    json_t *answer;
    enum status status = ask_json(s, request_of(method, argc, argv), &answer);
    if (status != STATUS_OK)
        return status;
    if (s->globals->json)
        return print_json(answer);
    if (!s->globals->quiet)
        say(done, json_is_string(answer) ? json_string_value(answer) : "");
    json_decref(answer);
    return STATUS_OK;
}

/* ---- until it is done ---- */

enum { DRAIN_TIMEOUT_MS = 60 * 1000, PAUSE_MS = 100 };

struct wait_options {
    bool no_wait;
};

static const struct option_spec WAIT_OPTIONS[] = {
    {0, "no-wait", NULL, "return when the server has accepted the request", OPTION_FLAG,
     offsetof(struct wait_options, no_wait)},
    {0},
};

static bool is_late(const struct session *s)
{
    return s->give_up_ns > 0 && clock_monotonic() >= s->give_up_ns;
}

/* Asks until the cluster's rows say that it is done: then *answer is cluster.status. */
static enum status await(struct session *s, bool (*is_done)(const json_t *status, void *arg),
                         void *arg, json_t **answer)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
    struct span result;
    for (*answer = NULL; !is_late(s); nanosleep(&pause, NULL)) {
        enum status status = session_ask_again(s, request_status(), &result);
        if (status != STATUS_OK)
            return status;
        json_t *rows = json_from_value(result);
        if (rows != NULL && is_done(rows, arg)) {
            *answer = rows;
            return STATUS_OK;
        }
        json_decref(rows);
    }
    return STATUS_TIMEOUT;
}

/* A newer epoch, whose owner has read the rows. */
static bool is_moved(const json_t *status, void *arg)
{
    const json_t *before = arg;
    return number(status, "epoch") > number(before, "epoch") && has_text(status, "owner") &&
           !has_text(status, "moving_from");
}

static enum status await_owner(struct session *s, const char *node, json_t *before)
{
    json_t *after;
    enum status status = await(s, is_moved, before, &after);
    if (status == STATUS_TIMEOUT)
        complain("%s was asked to hand the tasks over, and no node has taken them over in time "
                 "(see ergon cluster status)",
                 node);
    if (status != STATUS_OK)
        return status;
    json_int_t epoch = number(after, "epoch");
    if (s->globals->json)
        status = print_json(json_pack("{s:s, s:O, s:I}", "from", node, "owner",
                                      json_object_get(after, "owner"), "epoch", epoch));
    else if (!s->globals->quiet)
        say("%s owns the tasks now, epoch %" JSON_INTEGER_FORMAT "\n", json_text(after, "owner"),
            epoch);
    json_decref(after);
    return status;
}

static enum status drain(struct session *s, const void *options, int argc, char **argv)
{
    const struct wait_options *o = options;
    json_t *before, *answer;
    if (o->no_wait)
        return ask_of(s, "cluster.drain", argc, argv,
                      "%s hands the tasks over (ergon cluster status shows to which node)\n");
    enum status status = ask_json(s, request_status(), &before);
    if (status != STATUS_OK)
        return status;
    status = ask_json(s, request_of("cluster.drain", argc, argv), &answer);
    if (status == STATUS_OK)
        status = await_owner(s, json_string_value(answer), before);
    json_decref(answer);
    json_decref(before);
    return status;
}

static const json_t *row_named(const json_t *status, const char *name)
{
    const json_t *node;
    size_t i;
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (strcmp(json_text(node, "node"), name) == 0)
            return node;
    }
    return NULL;
}

struct forgetting {
    const char *node;
    uint64_t asked_at;      /* clock_monotonic() */
    json_int_t incarnation; /* in the first rows that were read after that; 0: none were */
};

/* Its row is gone, or is that of a process that has joined since then. */
static bool is_forgotten(const json_t *status, void *arg)
{
    struct forgetting *f = arg;
    const json_t *row = row_named(status, f->node);
    uint64_t passed_ms = (clock_monotonic() - f->asked_at) / 1000000;
    if (row == NULL)
        return true;
    if ((uint64_t)number(status, "read_ms") >= passed_ms)
        return false;
    if (f->incarnation == 0)
        f->incarnation = number(row, "incarnation");
    return f->incarnation != number(row, "incarnation");
}

static enum status await_forgotten(struct session *s, const char *node)
{
    struct forgetting f = {.node = node, .asked_at = clock_monotonic()};
    json_t *after;
    enum status status = await(s, is_forgotten, &f, &after);
    json_decref(after);
    if (status == STATUS_TIMEOUT)
        complain("%s is still in the list: the database has not taken the request in time, and it "
                 "is repeated (see ergon cluster status)",
                 node);
    if (status == STATUS_OK && s->globals->json)
        status = print_json(json_string(node));
    else if (status == STATUS_OK && !s->globals->quiet)
        say("%s is forgotten\n", node);
    return status;
}

static enum status forget(struct session *s, const void *options, int argc, char **argv)
{
    const struct wait_options *o = options;
    json_t *answer;
    if (o->no_wait)
        return ask_of(s, "cluster.forget", argc, argv, "%s is to be forgotten\n");
    enum status status = ask_json(s, request_of("cluster.forget", argc, argv), &answer);
    if (status == STATUS_OK)
        status = await_forgotten(s, json_string_value(answer));
    json_decref(answer);
    return status;
}

static enum status retry(struct session *s, const void *options, int argc, char **argv)
{
    (void)options;
    return ask_of(s, "cluster.retry", argc, argv, "%sthe nodes may take over again\n");
}

static const struct command CLUSTER_DRAIN = {
    .name = "cluster drain",
    .arguments = "[NODE]",
    .summary = "let the owner hand the tasks over to another node",
    .text = "The owner writes what it has, and exits with status 75; the service manager starts\n"
            "it again. Returns when another node owns the tasks, and prints its name. Exit\n"
            "status 5: no node took over within --timeout (60 s). NODE must be the owner.\n",
    .examples = "  ergon cluster drain\n"
                "  ergon cluster drain node-a\n",
    .options = WAIT_OPTIONS,
    .options_size = sizeof(struct wait_options),
    .arguments_max = 1,
    .talk = drain,
    .timeout_ms = DRAIN_TIMEOUT_MS,
    .durable = true,
};

static const struct command CLUSTER_FORGET = {
    .name = "cluster forget",
    .arguments = "NODE",
    .summary = "remove a node that is gone from the list",
    .text = "Returns when the node is not in the list any more; exit status 5: it was within\n"
            "--timeout (10 s). A node that still runs exits with status 75, and joins when it is\n"
            "started again. The owner cannot be forgotten.\n",
    .examples = "  ergon cluster forget node-c\n",
    .options = WAIT_OPTIONS,
    .options_size = sizeof(struct wait_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .talk = forget,
    .timeout_ms = CLUSTER_TIMEOUT_MS,
};

static const struct command CLUSTER_RETRY = {
    .name = "cluster retry",
    .arguments = "",
    .summary = "let the nodes take over again after two failures",
    .text = "After two take-overs that did not finish, for example because a row is damaged, no\n"
            "node tries again. The notes of ergon cluster status say why: repair that first.\n",
    .examples = "  ergon cluster retry\n",
    .talk = retry,
    .timeout_ms = CLUSTER_TIMEOUT_MS,
};

/* ---- the database ---- */

struct init_options {
    const char *name, *role, *import;
};

static const struct option_spec INIT_OPTIONS[] = {
    {0, "name", "NAME", "name of the cluster, as in cluster.name of its nodes (ergon)", OPTION_TEXT,
     offsetof(struct init_options, name)},
    {0, "role", "ROLE", "database role of the nodes, which gets the rights that they need",
     OPTION_TEXT, offsetof(struct init_options, role)},
    {0, "import", "FILE", "tasks of this store, backup or export", OPTION_TEXT,
     offsetof(struct init_options, import)},
    {0},
};

static enum status administer(const char *verb, const char *url, const char *name, const char *role,
                              const char *import)
{
    enum { MOST = 12 };
    char *argv[MOST] = {(char *)"ergond", (char *)"--cluster-admin", (char *)verb,
                        (char *)"--store", (char *)url};
    size_t n = 5;
    if (name != NULL) {
        argv[n++] = (char *)"--cluster";
        argv[n++] = (char *)name;
    }
    if (role != NULL) {
        argv[n++] = (char *)"--cluster-role";
        argv[n++] = (char *)role;
    }
    if (import != NULL) {
        argv[n++] = (char *)"--cluster-import";
        argv[n++] = (char *)import;
    }
    return become(argv, "which knows the database", "install the server here");
}

static enum status init(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct init_options *o = options;
    (void)g;
    (void)argc;
    return administer("init", argv[0], o->name, o->role, o->import);
}

static const struct command CLUSTER_INIT = {
    .name = "cluster init",
    .arguments = "URL",
    .summary = "make the tables of a cluster in a PostgreSQL database",
    .text = "Connects as a role that may create a schema. The schema ergon must not be there.\n"
            "With CREATEROLE it also makes the roles of applications, ergon_submit and\n"
            "ergon_read.\n"
            "Write no password in the URL: libpq finds it in .pgpass or a service file. With\n"
            "--import: no server may use that store. Exit status 1: a row or a line was refused,\n"
            "and none was imported; 2: nothing was done.\n",
    .examples = "  ergon cluster init postgresql://admin@db.example.org/tasks --role ergon\n"
                "  ergon cluster init service=tasks --name billing\n"
                "  ergon cluster init postgresql:///tasks --import /var/lib/ergon/tasks.db\n",
    .options = INIT_OPTIONS,
    .options_size = sizeof(struct init_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = init,
    .offline = true,
};

struct upgrade_options {
    const char *role;
    bool check, finish;
};

static const struct option_spec UPGRADE_OPTIONS[] = {
    {0, "check", NULL, "print the versions, and change nothing", OPTION_FLAG,
     offsetof(struct upgrade_options, check)},
    {0, "finish", NULL, "refuse nodes of the version before from now on", OPTION_FLAG,
     offsetof(struct upgrade_options, finish)},
    {0, "role", "ROLE", "database role of the nodes, which gets the rights to what is new",
     OPTION_TEXT, offsetof(struct upgrade_options, role)},
    {0},
};

static enum status upgrade(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct upgrade_options *o = options;
    (void)g;
    (void)argc;
    if (o->check && o->finish) {
        complain("either --check or --finish, not both");
        return STATUS_USAGE;
    }
    return administer(o->check    ? "upgrade-check"
                      : o->finish ? "upgrade-finish"
                                  : "upgrade",
                      argv[0], NULL, o->role, NULL);
}

static const struct command CLUSTER_UPGRADE = {
    .name = "cluster upgrade",
    .arguments = "URL",
    .summary = "bring the tables of a cluster to the version of this program",
    .text = "Before the first node of a new version starts: adds tables and columns, which the\n"
            "nodes of the version before ignore. Once all nodes are replaced: --finish. Exit\n"
            "status 2: nothing was done.\n",
    .examples = "  ergon cluster upgrade --check postgresql://admin@db.example.org/tasks\n"
                "  ergon cluster upgrade postgresql://admin@db.example.org/tasks\n"
                "  ergon cluster upgrade --finish postgresql://admin@db.example.org/tasks\n",
    .options = UPGRADE_OPTIONS,
    .options_size = sizeof(struct upgrade_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = upgrade,
    .offline = true,
};

static enum status examine(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)options;
    (void)argc;
    return administer(g->json ? "look-json" : "look", argv[0], NULL, NULL, NULL);
}

static const struct command CLUSTER_DOCTOR = {
    .name = "cluster doctor",
    .arguments = "URL",
    .summary = "check the settings of a cluster's database",
    .text =
        "Prints settings and figures that decide whether acknowledged tasks survive: standbys,\n"
        "disks, held transactions, vacuum. With -o json a line of JSON each. Exit status 0:\n"
        "all is good; 1: something is bad; 2: the database cannot be read.\n",
    .examples = "  ergon cluster doctor postgresql://ergon@db.example.org/tasks\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = examine,
    .offline = true,
};

static const struct command *const PARTS[] = {
    &CLUSTER_STATUS, &CLUSTER_DRAIN,  &CLUSTER_FORGET,  &CLUSTER_RETRY,
    &CLUSTER_INIT,   &CLUSTER_DOCTOR, &CLUSTER_UPGRADE, NULL};

const struct command CLUSTER = {
    .name = "cluster",
    .summary = "see the nodes of a cluster, move its tasks, prepare its database",
    .text = "The nodes of a cluster share a PostgreSQL database. One node owns the tasks; when it\n"
            "is gone, another takes over.\n",
    .examples = "  ergon cluster init postgresql://admin@db.example.org/tasks --role ergon\n"
                "  ergon cluster status\n"
                "  ergon cluster drain\n",
    .parts = PARTS,
};
