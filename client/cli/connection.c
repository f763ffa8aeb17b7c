/* ergon connection: who is connected to the server, and away with them. */
#include "client/cli/ask.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/pages.h"
#include "client/cli/table.h"

#include <stdlib.h>
#include <string.h>

#include <ergon/client_connections.h>

enum { CONNECTION_TIMEOUT_MS = 30 * 1000, LIST_MAX = 1000 };

/* ---- which connections ---- */

struct which_options {
    const char *principal, *address, *listener;
    uint64_t idle_ns;
    bool nobody;
};

static const struct option_spec WHICH_OPTIONS[] = {
    {0, "principal", "NAME",
     "of this principal: its full name, as the list shows it (token:alice, cert:, unix:, address:)",
     OPTION_TEXT, offsetof(struct which_options, principal)},
    {0, "nobody", NULL, "that have not said who they are", OPTION_FLAG,
     offsetof(struct which_options, nobody)},
    {0, "address", "ADDRESS", "from this address: 10.0.0.7, ::1, unix:1000, or with its port",
     OPTION_TEXT, offsetof(struct which_options, address)},
    {0, "listener", "URL", "of this listener", OPTION_TEXT,
     offsetof(struct which_options, listener)},
    {0, "idle", "TIME", "with nothing in flight, and quiet for so long", OPTION_DURATION,
     offsetof(struct which_options, idle_ns)},
    {0},
};

static struct ergon_connection_filter filter_of_which(const struct which_options *o)
{
    return (struct ergon_connection_filter){
        .size = sizeof(struct ergon_connection_filter),
        .principal = o->principal,
        .nobody = o->nobody,
        .address = o->address,
        .listener = o->listener,
        .idle_ms = (o->idle_ns + 999999) / 1000000,
    };
}

static bool means_all(const struct which_options *o)
{
    return o->principal == NULL && o->address == NULL && o->listener == NULL && o->idle_ns == 0 &&
           !o->nobody;
}

/* A name without its mechanism would match nobody, and look as if nobody were there. */
static bool is_full_name(const struct which_options *o)
{
    static const char *const mechanisms[] = {"token:", "cert:", "unix:", "address:"};
    const char *name = o->principal;

    for (size_t i = 0; name != NULL && i < sizeof mechanisms / sizeof mechanisms[0]; i++)
        if (strncmp(name, mechanisms[i], strlen(mechanisms[i])) == 0)
            return true;
    if (name == NULL)
        return true;
    complain("--principal takes the full name, as the list shows it, and not %s: token:%s, "
             "cert:%s (a certificate), unix:%s (a user), or address:%s (who was not asked)",
             name, name, name, name, name);
    return false;
}

/* ---- list ---- */

struct list_options {
    struct which_options which; /* first */
    uint64_t limit;
};

static const struct option_spec LIST_OPTIONS[] = {
    {'n', "limit", "N", "how many at most; 1000", OPTION_NUMBER,
     offsetof(struct list_options, limit)},
    {0},
};

static const struct list_options LIST_DEFAULTS = {.limit = LIST_MAX};

static const char *age_text(const json_t *object, const char *key, char *buf, size_t size)
{
    int64_t now = now_ms();
    return humanize_age(now - json_integer_value(json_object_get(object, key)), now, buf, size);
}

/* "sleep 3 s ago, +2": what has gone on longest, and how many more. */
static json_t *calls_text(const json_t *connection)
{
    const json_t *calls = json_object_get(connection, "calls");
    const json_t *oldest = json_array_get(calls, 0);
    json_int_t all = json_integer_value(json_object_get(connection, "in_flight")) +
                     json_integer_value(json_object_get(connection, "polls"));
    char age[40], text[400];
    if (oldest == NULL)
        return json_string("");
    int len = snprintf(text, sizeof text, "%.300s %s", json_text(oldest, "method"),
                       age_text(oldest, "age_ms", age, sizeof age));
    if (all > 1)
        snprintf(text + len, sizeof text - (size_t)len, ", +%" JSON_INTEGER_FORMAT, all - 1);
    return json_string(text);
}

static json_t *row_of(const json_t *c)
{
    static const char *const as_they_are[] = {"id",    "peer",     "principal", "tls",
                                              "state", "messages", "listener"};
    static const char *const sizes[] = {"bytes", "principal_bytes"};
    static const char *const in_other_words[] = {"age_ms", "idle_ms", NULL};
    char buf[40];
    json_t *row = json_object();
    for (size_t i = 0; i < sizeof as_they_are / sizeof *as_they_are; i++)
        json_object_set(row, as_they_are[i], json_object_get(c, as_they_are[i]));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        json_object_set_new(row, sizes[i], humanize_size(c, sizes[i]));
    json_object_set_new(row, "came", json_string(age_text(c, "age_ms", buf, sizeof buf)));
    json_object_set_new(row, "quiet", json_string(age_text(c, "idle_ms", buf, sizeof buf)));
    json_object_set_new(row, "calls", calls_text(c));
    table_widen(row, c, in_other_words);
    return row;
}

static struct ergon_request *ask_page(const void *options, uint64_t limit, const char *cursor)
{
    const struct list_options *o = options;
    struct ergon_connection_filter filter = filter_of_which(&o->which);
    filter.limit = limit;
    filter.cursor = cursor;
    return ergon_request_connections(&filter);
}

static enum status list(struct session *s, const void *options, int argc, char **argv)
{
    static const char *const columns[] = {
        "id",       "peer",  "principal",       "tls",   "came",     "quiet",
        "messages", "bytes", "principal_bytes", "state", "listener", "calls",
        NULL};
    const struct list_options *o = options;
    const struct paged_list connections = {.key = "connections",
                                           .none = "no connections",
                                           .options = o,
                                           .limit = o->limit,
                                           .ask = ask_page,
                                           .row_of = row_of,
                                           .columns = columns};
    (void)argc;
    (void)argv;
    return is_full_name(&o->which) ? pages_show(s, &connections) : STATUS_USAGE;
}

static const struct command CONNECTION_LIST = {
    .name = "connection list",
    .arguments = "",
    .summary = "list who is connected, and what they have in flight",
    .text = "Prints a table: who it is and from where, when it came, for how long it has been\n"
            "quiet, messages so far, the bytes that it holds and those of all its principal, and\n"
            "the call that has gone on longest. With --json an array, with more figures and up\n"
            "to 8 calls of each. All conditions must hold.\n",
    .examples = "  ergon connection list\n"
                "  ergon connection list --principal token:alice --json | jq '.[].calls'\n"
                "  ergon connection list --nobody\n",
    .options = LIST_OPTIONS,
    .shared = WHICH_OPTIONS,
    .options_size = sizeof(struct list_options),
    .defaults = &LIST_DEFAULTS,
    .talk = list,
    .timeout_ms = CONNECTION_TIMEOUT_MS,
    .repeats = true,
};

/* ---- kill ---- */

struct kill_options {
    struct which_options which; /* first */
    bool all, dry_run;
};

static const struct option_spec KILL_OPTIONS[] = {
    {0, "all", NULL, "all connections but this one, where no other option says which", OPTION_FLAG,
     offsetof(struct kill_options, all)},
    {0, "dry-run", NULL, "only say how many it would be", OPTION_FLAG,
     offsetof(struct kill_options, dry_run)},
    {0},
};

static enum status kill_those(struct session *s, const struct ergon_connection_filter *filter,
                              unsigned flags, json_int_t *killed)
{
    json_t *answer;
    enum status status = ask_json(s, ergon_request_kill_connections(filter, flags), &answer);
    if (status != STATUS_OK)
        return status;
    *killed += json_integer_value(json_object_get(answer, "killed"));
    if (json_integer_value(json_object_get(answer, "away")) > 0)
        notice("some may be left: a loop of the server does not answer; see ergon info");
    if (s->globals->json)
        status = print_json(json_incref(answer));
    json_decref(answer);
    return status;
}

/* The first status that is not good is that of all. */
static enum status kill_each(struct session *s, unsigned flags, int argc, char **argv,
                             json_int_t *killed)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < argc; i++) {
        struct ergon_connection_filter filter = {.size = sizeof filter,
                                                 .id = strtoull(argv[i], NULL, 10)};
        enum status one = kill_those(s, &filter, flags, killed);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

static bool are_ids(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strspn(argv[i], "0123456789") != strlen(argv[i]) || strlen(argv[i]) > 19 ||
            strtoull(argv[i], NULL, 10) == 0) {
            complain("'%s' is no id of a connection; see ergon connection list", argv[i]);
            return false;
        }
    return true;
}

static bool is_clear(const struct kill_options *o, int argc)
{
    bool filter = !means_all(&o->which) || o->all;
    if (argc > 0 && filter)
        complain("either ids, or options that say which connections; not both");
    else if (argc == 0 && !filter)
        complain("which connections? Give ids, or options as --principal or --address; --all for "
                 "all");
    else
        return true;
    return false;
}

static enum status kill_command(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct kill_options *o = options;
    struct session s;
    json_int_t killed = 0;
    if (!is_full_name(&o->which) || !is_clear(o, argc) || !are_ids(argc, argv))
        return STATUS_USAGE;
    enum status status = session_open(&s, g, CONNECTION_TIMEOUT_MS, false);
    if (status != STATUS_OK)
        return status;
    struct ergon_connection_filter filter = filter_of_which(&o->which);
    unsigned flags = (o->all ? ERGON_MATCH_ALL : 0u) | (o->dry_run ? ERGON_MATCH_DRY_RUN : 0u);
    status = argc > 0 ? kill_each(&s, flags, argc, argv, &killed)
                      : kill_those(&s, &filter, flags, &killed);
    session_close(&s);
    if (!g->json && (status == STATUS_OK || killed > 0))
        say("%" JSON_INTEGER_FORMAT " connection%s %skilled\n", killed, killed == 1 ? "" : "s",
            o->dry_run ? "would be " : "");
    return status;
}

static const struct command CONNECTION_KILL = {
    .name = "connection kill",
    .arguments = "[ID...]",
    .summary = "close connections at once",
    .text = "Their calls are cancelled: what waits is dropped, what runs is told to stop. Tasks\n"
            "that they submitted live on. Instead of ids, options say which: all conditions must\n"
            "hold. The connection of this command is spared. Whoever was closed may come again:\n"
            "take its token away first (ergon token), or close the listener to it.\n",
    .examples = "  ergon connection kill 4711\n"
                "  ergon connection kill --principal token:alice --dry-run\n"
                "  ergon connection kill --address 10.0.0.7\n",
    .options = KILL_OPTIONS,
    .shared = WHICH_OPTIONS,
    .options_size = sizeof(struct kill_options),
    .arguments_max = -1,
    .run = kill_command,
};

static const struct command *const PARTS[] = {&CONNECTION_LIST, &CONNECTION_KILL, NULL};

const struct command CONNECTION = {
    .name = "connection",
    .summary = "see who is connected, and close connections",
    .text = "The server's connections, with what they have in flight.\n",
    .examples = "  ergon connection list\n"
                "  ergon connection kill --principal token:alice\n",
    .parts = PARTS,
};
