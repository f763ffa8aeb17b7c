/* ergon call, ping, info and methods: what asks the server itself, and calls that end with their
 * connection. */
#include "client/cli/ask.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/params.h"
#include "client/cli/table.h"
#include "client/cli/trace.h"
#include "client/cli/wording.h"

#include "base/clock.h"
#include "base/units.h"

#include <time.h>

enum {
    ASK_TIMEOUT_MS = 10 * 1000,
    PING_TIMEOUT_MS = 3000,
    PING_PAUSE_MS = 50, /* before a server that does not answer is tried again */
    NS_PER_MS = 1000 * 1000
};

static struct ergon_request *ask_server(const char *method)
{
    return ergon_request_raw(method, (struct ergon_raw){0});
}

/* ---- call ---- */

struct call_options {
    const char *deadline, *traceparent; /* as they were written; NULL: none */
    bool notify;
    bool raw;
};

static const struct option_spec CALL_OPTIONS[] = {
    {0, "deadline", "TIME", "the server gives up after this long: 250ms, 5s", OPTION_TEXT,
     offsetof(struct call_options, deadline)},
    {0, "traceparent", "CONTEXT", "the trace that it belongs to; $TRACEPARENT", OPTION_TEXT,
     offsetof(struct call_options, traceparent)},
    {0, "notify", NULL, "send it as a notification: there is no answer", OPTION_FLAG,
     offsetof(struct call_options, notify)},
    {0, "raw", NULL, "write text and bytes to a terminal as they are, whatever they do to it",
     OPTION_FLAG, offsetof(struct call_options, raw)},
    {0},
};

static enum status notify(const struct session *s, const struct task_spec *spec)
{
    enum ergon_end end = ergon_blocking_notify(s->connection, spec->method, spec->params);
    if (end != ERGON_END_OK && !s->globals->quiet)
        complain("%s: %s", spec->method, ergon_end_name(end));
    return status_of(end, "");
}

/* With a deadline or a trace it is task.call [method, params, {options}]. */
static enum status call_and_print(struct session *s, const struct task_spec *spec, bool has_options,
                                  bool raw)
{
    struct span result;
    enum status status =
        session_ask(s,
                    has_options ? ergon_request_call(spec->method, spec->params, &spec->options)
                                : ergon_request_raw(spec->method, spec->params),
                    &result);
    return status == STATUS_OK ? print_result(s->globals, result, raw) : status;
}

static bool check(const struct call_options *o)
{
    uint64_t ns;
    if (o->deadline != NULL && !units_duration(span_text(o->deadline), &ns))
        complain("option --deadline: '%s' is not %s", o->deadline,
                 units_duration_expected(span_text(o->deadline)));
    else if (o->deadline != NULL && o->notify)
        complain("--deadline is for an answer, and with --notify there is none");
    else if (o->traceparent != NULL && o->notify)
        complain("--traceparent goes with a call, and --notify sends none");
    else
        return true;
    return false;
}

/* NULL: its trace is none, and a message was printed.  The server's own methods belong to no trace.
 */
static json_t *options_of(const struct call_options *o, const char *method)
{
    json_t *trace = o->traceparent != NULL ? trace_parent(o->traceparent) : NULL;
    if (o->traceparent != NULL && trace == NULL) {
        complain("option --traceparent: '%s' is not a traceparent, as 00-TRACE-SPAN-01 with 32 and "
                 "16 hexadecimal digits",
                 o->traceparent);
        return NULL;
    }
    json_t *map = json_pack("{s:s*, s:o*}", "deadline", o->deadline, "traceparent", trace);
    if (!o->notify && !wording_is_own(method))
        trace_inherit(map);
    return map;
}

static enum status call(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct call_options *o = options;
    struct session s;
    struct task_spec spec;
    json_t *map = check(o) ? options_of(o, argv[0]) : NULL;
    bool good = map != NULL && task_spec_pack(&spec, &g->forms, map, argc, argv);
    bool has_options = json_object_size(map) > 0;
    json_decref(map);
    if (!good)
        return STATUS_USAGE;
    enum status status = session_open(&s, g, 0, false);
    if (status == STATUS_OK)
        status = o->notify ? notify(&s, &spec) : call_and_print(&s, &spec, has_options, o->raw);
    session_close(&s);
    task_spec_fini(&spec);
    return status;
}

const struct command CALL = {
    .name = "call",
    .arguments = "METHOD [ARG...]",
    .summary = "call a method and print its result",
    .text = "An ARG that parses as JSON is JSON, @FILE is the bytes of the file, - is the bytes\n"
            "of standard input, and anything else is a string; but what begins with [, { or a\n"
            "quote, or is nearly a number (007, 1,5), and is no JSON, is an error. --string and\n"
            "--json-arg say outright what an ARG is.\n"
            "A result that is a single string or bytes is written as it is, but on a terminal\n"
            "with \\u001b and \\xff for what would steer it or is no text, unless with --raw;\n"
            "every other one, and every one with --json, as JSON, where bytes are\n"
            "{\"$bytes\": \"base64\"}. An ARG may hold such an object too. Without --timeout it\n"
            "waits as long as it takes; interrupted (Ctrl-C), it cancels the call.\n",
    .examples = "  ergon call echo hello\n"
                "  ergon call sum '[1, 2, 3]'\n"
                "  ergon call hash sha256 @README.md hex\n"
                "  tar c docs | ergon call compress - > docs.tar.gz\n"
                "  ergon call echo --string 007 --string @x\n"
                "  ergon call --deadline 2s sleep 10s\n",
    .options = CALL_OPTIONS,
    .options_size = sizeof(struct call_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .parameters = true,
    .run = call,
};

/* ---- ping ---- */

struct ping_options {
    uint64_t wait_ns; /* 0: not given */
};

static const struct option_spec PING_OPTIONS[] = {
    {0, "wait", "TIME", "try until the server answers, at most so long: 5s", OPTION_DURATION,
     offsetof(struct ping_options, wait_ns)},
    {0},
};

/* A connection and a ping that print nothing.  `why` says what went wrong. */
static enum ergon_end try_once(const struct globals *g, uint32_t timeout_ms, char *why, size_t size,
                               bool *worth_another)
{
    struct ergon_options options = session_options(g);
    struct ergon_blocking *connection;
    const struct ergon_answer *a;
    options.connect_timeout_ms = timeout_ms;
    enum ergon_end end = ergon_blocking_open(&options, &connection, why, size);
    *worth_another = end == ERGON_END_UNREACHABLE;
    if (end != ERGON_END_OK)
        return end;
    end = ergon_blocking_call(connection, "server.ping", (struct ergon_raw){0}, timeout_ms, &a);
    *worth_another = end == ERGON_END_TIMEOUT || end == ERGON_END_BROKEN ||
                     (end == ERGON_END_ERROR &&
                      (strcmp(a->code, "BUSY") == 0 || strcmp(a->code, "DRAINING") == 0));
    snprintf(why, size, "%s%s%s", a->code, a->code[0] != 0 ? ": " : "", a->text);
    ergon_blocking_close(connection);
    return end;
}

/* Tries until the server answers, or says something that no waiting will change: STATUS_OK, and an
 * ordinary ping tells what it is.  Otherwise the time was up, and a message was printed. */
static enum status wait_for_answer(const struct globals *g, uint64_t wait_ns)
{
    const struct timespec pause = {.tv_nsec = PING_PAUSE_MS * NS_PER_MS};
    uint64_t one_ns = g->timeout_ns > 0 ? g->timeout_ns : (uint64_t)PING_TIMEOUT_MS * NS_PER_MS;
    uint64_t end_ns = clock_monotonic() + wait_ns;
    char why[512], limit[32];
    for (;;) {
        bool worth_another;
        uint64_t now = clock_monotonic(), left_ns = now < end_ns ? end_ns - now : 0;
        uint64_t ms = (left_ns < one_ns ? left_ns : one_ns) / NS_PER_MS;
        enum ergon_end end =
            try_once(g, ms > 0 ? (uint32_t)ms : 1, why, sizeof why, &worth_another);
        if (!worth_another)
            return STATUS_OK;
        if (clock_monotonic() + PING_PAUSE_MS * NS_PER_MS >= end_ns) {
            if (!g->quiet)
                complain_as(session_code(end), session_advice(g, end, why),
                            "no answer from %s within %s: %s", g->server,
                            units_duration_text(wait_ns, limit, sizeof limit), why);
            return STATUS_CONNECT;
        }
        nanosleep(&pause, NULL);
    }
}

static void print_pong(const struct globals *g, double ms)
{
    if (g->json)
        print_json(json_pack("{s:s, s:f}", "server", g->server, "ms", ms));
    else if (!g->quiet)
        printf("pong from %s in %.3f ms\n", g->server, ms);
}

static enum status ping(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct ping_options *o = options;
    struct session s;
    struct span result;
    (void)argc;
    (void)argv;
    if (o->wait_ns > 0 && wait_for_answer(g, o->wait_ns) != STATUS_OK)
        return STATUS_CONNECT;
    enum status status = session_open(&s, g, PING_TIMEOUT_MS, false);
    if (status != STATUS_OK)
        return status;
    uint64_t start = clock_monotonic();
    status = session_ask(&s, ask_server("server.ping"), &result);
    if (status == STATUS_OK)
        print_pong(g, (double)(clock_monotonic() - start) / 1e6);
    session_close(&s);
    return status;
}

const struct command PING = {
    .name = "ping",
    .arguments = "",
    .summary = "ask whether the server answers, and how fast",
    .text =
        "Connects, calls server.ping, and prints how long the answer took (the connection\n"
        "not counted). Gives up after 3 s, or --timeout. With -q nothing is printed: the\n"
        "exit status is all that a health check needs. With --wait it tries again and again,\n"
        "each time as long as above, until the server answers; exit status 3 when it has not.\n",
    .examples = "  ergon ping\n"
                "  ergond & ergon ping --wait 5s\n"
                "  ergon ping -q --timeout 1s && echo up\n"
                "  ergon -s unix:///run/ergon.sock ping\n",
    .options = PING_OPTIONS,
    .options_size = sizeof(struct ping_options),
    .run = ping,
};

/* ---- info ---- */

static enum status print_info(const struct globals *g, json_t *info, json_t *topology)
{
    bool colour = colour_wanted(g, stdout);
    if (g->json)
        return print_json(json_pack("{s:O, s:O*}", "info", info, "topology", topology));
    object_print(info, colour);
    if (topology != NULL) {
        putchar('\n');
        object_print(topology, colour);
    }
    return STATUS_OK;
}

static enum status info(struct session *s, const void *options, int argc, char **argv)
{
    struct span result;
    json_t *about, *topology = NULL;
    (void)options;
    (void)argc;
    (void)argv;
    enum status status = ask_json(s, ask_server("server.info"), &about);
    if (status != STATUS_OK)
        return status;
    if (session_try(s, ask_server("server.topology"), &result) == STATUS_OK)
        topology = json_from_value(result);
    status = print_info(s->globals, about, topology);
    json_decref(about);
    json_decref(topology);
    return status;
}

const struct command INFO = {
    .name = "info",
    .arguments = "",
    .summary = "show the server, its loops and its executors",
    .text = "Prints the answers of server.info and server.topology: each executor with its\n"
            "kind, state, queue length, bound in force, and the tasks that are outstanding,\n"
            "parked, turning and done; and each handler that has run, with its steps and time.\n"
            "With --json, one object with the members info and topology.\n",
    .examples = "  ergon info\n"
                "  ergon info --json | jq .topology\n",
    .talk = info,
    .timeout_ms = ASK_TIMEOUT_MS,
    .repeats = true,
};

/* ---- methods ---- */

/* What server.describe says, or the bare name where it says nothing. */
static json_t *describe(struct session *s, json_t *name)
{
    struct span result;
    struct ergon_request *request = json_request("server.describe", json_pack("[O]", name));
    if (session_try(s, request, &result) != STATUS_OK)
        return json_pack("{s:O}", "name", name);
    return json_from_value(result);
}

static enum status print_methods(struct session *s, json_t *names)
{
    static const char *const columns[] = {"name", "kind", "module", "executors", "summary", NULL};
    const struct globals *g = s->globals;
    bool described = g->verbose || g->format == FORMAT_WIDE;
    size_t i;
    json_t *name;
    json_t *all = json_array();
    json_array_foreach(names, i, name)
    {
        json_array_append_new(all, described ? describe(s, name) : json_incref(name));
    }
    if (g->json)
        return print_json(all);
    if (json_array_size(all) == 0 && !g->quiet)
        notice("no methods");
    else if (described)
        table_print(all, columns, 0, colour_wanted(g, stdout));
    else
        json_array_foreach(all, i, name)
        {
            say("%s\n", json_string_value(name));
        }
    json_decref(all);
    return STATUS_OK;
}

static enum status methods(struct session *s, const void *options, int argc, char **argv)
{
    json_t *names;
    (void)options;
    (void)argc;
    (void)argv;
    enum status status = ask_json(s, ask_server("server.methods"), &names);
    if (status == STATUS_OK && json_is_array(names)) {
        status = print_methods(s, names);
    } else if (status == STATUS_OK) {
        complain("the answer of server.methods is no list");
        status = STATUS_REMOTE;
    }
    json_decref(names);
    return status;
}

const struct command METHODS = {
    .name = "methods",
    .arguments = "",
    .summary = "list the methods of the server",
    .text = "Prints a name a line; with -v or -o wide a table with the kind of each, how many "
            "executors run\n"
            "that (0: its calls answer NO_EXECUTOR), and the summary; with\n"
            "--json an array of names, or with -v of objects.\n",
    .examples = "  ergon methods\n"
                "  ergon methods -v\n",
    .talk = methods,
    .timeout_ms = ASK_TIMEOUT_MS,
};
