/* ergon worker: a command as a service, and the workers that a server has. */
#include "base/utf8.h"
#include "client/cli/ask.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/pages.h"
#include "client/cli/synonyms.h"
#include "client/cli/table.h"
#include "client/cli/worker_actor.h"
#include "client/cli/worker_serve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ergon/client_workers.h>

enum {
    WORKER_TIMEOUT_MS = 30 * 1000,
    LIST_MAX = 1000,
    SLOTS_MAX = 4096,
    VERSION_MAX = 32, /* bytes */
    HOST_BYTES = 64,
    OFFERED_MAX = 64, /* of the name of a method */
    SHARE_MAX = 100,  /* percent */
    REQUEST_MAX = 32 << 20,
    RESULT_MAX = 16 << 20, /* limits.message of a server */
    MESSAGE_LEAST = 4096
};

/* ---- a command as a service ---- */

struct serve_options {
    struct actor_type_options actor; /* first: ACTOR_TYPE_OPTIONS fills it */
    struct option_list methods;
    const char *name, *version, *input, *output, *on_lost;
    uint64_t slots, share, grace_ns, lease_ns, message;
    bool secret, no_secret;
};

static const struct option_spec SERVE_OPTIONS[] = {
    {'m', "method", "NAME", "what it answers; may stand several times", OPTION_LIST,
     offsetof(struct serve_options, methods)},
    {'n', "slots", "N", "commands at a time; 1", OPTION_NUMBER,
     offsetof(struct serve_options, slots)},
    {0, "input", "FORM", "how it gets parameters: json (a line), raw, or args; json", OPTION_TEXT,
     offsetof(struct serve_options, input)},
    {0, "output", "FORM", "what its output is: auto, json or bin; auto", OPTION_TEXT,
     offsetof(struct serve_options, output)},
    {0, "grace", "TIME", "at SIGTERM, how long what runs may take; 30s", OPTION_DURATION,
     offsetof(struct serve_options, grace_ns)},
    {0, "on-lost", "WHAT", "at a lost connection: kill what runs, or let it finish; kill",
     OPTION_TEXT, offsetof(struct serve_options, on_lost)},
    {0, "lease", "TIME", "the server hears of the worker at least so often, or gives it up",
     OPTION_DURATION, offsetof(struct serve_options, lease_ns)},
    {0, "message", "SIZE", "the longest request and result that it takes; 32m and 16m", OPTION_SIZE,
     offsetof(struct serve_options, message)},
    {0, "name", "NAME", "as it is shown in the list; HOST:PID", OPTION_TEXT,
     offsetof(struct serve_options, name)},
    {0, "version", "V", "of COMMAND, as it is shown in the list, and for --share", OPTION_TEXT,
     offsetof(struct serve_options, version)},
    {0, "share", "N", "all workers of this version get N percent of the tasks at most; 100",
     OPTION_NUMBER, offsetof(struct serve_options, share)},
    {0, "secret", NULL, "nobody is shown the parameters of these methods", OPTION_FLAG,
     offsetof(struct serve_options, secret)},
    {0, "no-secret", NULL, "takes back what an earlier --secret said", OPTION_FLAG,
     offsetof(struct serve_options, no_secret)},
    {0},
};

static const struct serve_options SERVE_DEFAULTS = {.slots = 1,
                                                    .input = "json",
                                                    .output = "auto",
                                                    .on_lost = "kill",
                                                    .grace_ns = UINT64_C(30000000000)};

static enum status wrong(const char *option, const char *value, const char *expected)
{
    complain("option --%s: '%s' is not %s; see ergon worker --help", option, value, expected);
    return STATUS_USAGE;
}

static enum status plan_version(struct worker_plan *plan, const struct serve_options *o)
{
    size_t len = o->version != NULL ? strlen(o->version) : 0;
    if (o->version != NULL && (len == 0 || len > VERSION_MAX))
        return wrong("version", o->version, "a text of 1 to 32 bytes");
    if (o->share > SHARE_MAX) {
        complain("option --share: it is in percent, 1 to %d", SHARE_MAX);
        return STATUS_USAGE;
    }
    if (o->share > 0 && o->version == NULL) {
        complain("option --share: it is that of a version; say which by --version");
        return STATUS_USAGE;
    }
    plan->version = o->version;
    plan->share = (uint32_t)o->share;
    return STATUS_OK;
}

/* What a type of actors says beside its methods. */
static enum status plan_actor(struct worker_plan *plan, const struct serve_options *o)
{
    const struct actor_type_options *a = &o->actor;
    bool forms = strcmp(o->input, "json") == 0 && strcmp(o->output, "auto") == 0;
    if (a->type == NULL && (a->durable != NULL || a->idle_ns > 0 || a->reads.count > 0)) {
        complain("--reads, --durable and --idle are options of a type; say which by --actor");
        return STATUS_USAGE;
    }
    if (a->type != NULL && !forms) {
        complain("with --actor a command gets and answers a line of JSON: no --input, no --output");
        return STATUS_USAGE;
    }
    if (a->type != NULL) {
        plan->input = INPUT_TURN;
        plan->output = OUTPUT_TURN;
    }
    return STATUS_OK;
}

static enum status plan_message(struct worker_plan *plan, uint64_t size)
{
    if (size > 0 && (size < MESSAGE_LEAST || size > UINT32_MAX)) {
        complain("option --message: it is 4k to %lu bytes", (unsigned long)UINT32_MAX);
        return STATUS_USAGE;
    }
    plan->request_max = size > 0 ? (uint32_t)size : REQUEST_MAX;
    plan->result_max = size > 0 ? (uint32_t)size : RESULT_MAX;
    return STATUS_OK;
}

static enum status plan_of(struct worker_plan *plan, const struct serve_options *o)
{
    bool finish = strcmp(o->on_lost, "finish") == 0;
    if (o->methods.count == 0) {
        complain("which methods? Give --method NAME, or one of the commands list, quiet and "
                 "resume; see ergon worker --help");
        return STATUS_USAGE;
    }
    for (size_t i = 0; i < o->methods.count; i++)
        if (o->methods.at[i][0] == 0 || strlen(o->methods.at[i]) > OFFERED_MAX)
            return wrong("method", o->methods.at[i], "a name of 1 to 64 bytes");
    if (!input_form_of(o->input, &plan->input))
        return wrong("input", o->input, "json, raw or args");
    if (!output_form_of(o->output, &plan->output))
        return wrong("output", o->output, "auto, json or bin");
    if (!finish && strcmp(o->on_lost, "kill") != 0)
        return wrong("on-lost", o->on_lost, "kill or finish");
    if (o->slots > SLOTS_MAX) {
        complain("option --slots: there are at most %d", SLOTS_MAX);
        return STATUS_USAGE;
    }
    if (o->secret && o->no_secret) {
        complain("--secret or --no-secret, not both");
        return STATUS_USAGE;
    }
    plan->secrecy = o->secret      ? ERGON_SECRECY_SECRET
                    : o->no_secret ? ERGON_SECRECY_OPEN
                                   : ERGON_SECRECY_UNSAID;
    plan->finish = finish;
    plan->slots = (uint32_t)o->slots;
    plan->methods = o->methods.at;
    plan->method_count = o->methods.count;
    plan->grace_ms = o->grace_ns / 1000000;
    plan->lease_ms = (o->lease_ns + 999999) / 1000000;
    enum status status = plan_message(plan, o->message);
    if (status == STATUS_OK)
        status = plan_version(plan, o);
    return status == STATUS_OK ? plan_actor(plan, o) : status;
}

static enum status serve_actors(const struct globals *g, struct worker_plan *plan,
                                const struct serve_options *o)
{
    struct actor_offer offer;
    enum status status = STATUS_USAGE;
    if (actor_offer_init(&offer, &o->actor, &o->methods)) {
        struct span actors = pack_bytes(&offer.actors);
        plan->methods = offer.methods;
        plan->actors = (struct ergon_raw){actors.at, actors.len};
        status = worker_serve(g, plan);
    }
    actor_offer_fini(&offer);
    return status;
}

static enum status serve(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct serve_options *o = options;
    char name[64], host[HOST_BYTES + 1] = "";
    struct worker_plan plan = {.command = argv, .words = (size_t)argc};
    const char *likely = o->methods.count == 0 ? synonym_likely("worker", argv[0]) : NULL;
    if (likely != NULL) {
        complain("unknown command 'worker %s'; did you mean %s?", argv[0], likely);
        return STATUS_USAGE;
    }
    enum status status = plan_of(&plan, o);
    if (status != STATUS_OK)
        return status;
    gethostname(host, sizeof host - 1);
    plan.host = host[0] != 0 && utf8_valid(span_text(host)) ? host : NULL;
    snprintf(name, sizeof name, "%.50s:%d", host, (int)getpid());
    plan.name = o->name != NULL ? o->name : name;
    return o->actor.type != NULL ? serve_actors(g, &plan, o) : worker_serve(g, &plan);
}

/* ---- list ---- */

struct list_options {
    const char *method;
    uint64_t limit;
};

static const struct option_spec LIST_OPTIONS[] = {
    {'m', "method", "NAME", "that offer this method", OPTION_TEXT,
     offsetof(struct list_options, method)},
    {'n', "limit", "N", "how many at most; 1000", OPTION_NUMBER,
     offsetof(struct list_options, limit)},
    {0},
};

static const struct list_options LIST_DEFAULTS = {.limit = LIST_MAX};

/* "resize, thumbnail, +3" */
static json_t *methods_text(const json_t *methods)
{
    char text[120] = "";
    size_t len = 0, count = json_array_size(methods), i = 0;
    for (; i < count && len < 60; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.40s", i > 0 ? ", " : "",
                                json_string_value(json_array_get(methods, i)));
    if (i < count)
        snprintf(text + len, sizeof text - len, ", +%zu", count - i);
    return json_string(text);
}

/* "resize for 3 s, +2" */
static json_t *calls_text(const json_t *calls)
{
    const json_t *first = json_array_get(calls, 0);
    char text[120], more[24] = "";
    if (first == NULL)
        return json_string("");
    if (json_array_size(calls) > 1)
        snprintf(more, sizeof more, ", +%zu", json_array_size(calls) - 1);
    snprintf(text, sizeof text, "%.60s for %" JSON_INTEGER_FORMAT " s%s",
             json_text(first, "method"),
             json_integer_value(json_object_get(first, "for_ms")) / 1000, more);
    return json_string(text);
}

static json_t *row_of(const json_t *w)
{
    static const char *const as_they_are[] = {"worker", "name", "principal", "version", "state",
                                              "slots",  "out",  "late",      "done",    "failed"};
    static const char *const in_other_words[] = {"since", NULL};
    char buf[40];
    json_t *row = json_object();
    for (size_t i = 0; i < sizeof as_they_are / sizeof *as_they_are; i++)
        json_object_set(row, as_they_are[i], json_object_get(w, as_they_are[i]));
    json_object_set_new(row, "methods", methods_text(json_object_get(w, "methods")));
    json_object_set_new(row, "calls", calls_text(json_object_get(w, "calls")));
    json_object_set_new(row, "came",
                        json_string(humanize_age(json_integer_value(json_object_get(w, "since")),
                                                 now_ms(), buf, sizeof buf)));
    table_widen(row, w, in_other_words);
    return row;
}

static struct ergon_request *ask_page(const void *options, uint64_t limit, const char *cursor)
{
    const struct list_options *o = options;
    struct ergon_worker_filter filter = {
        .size = sizeof filter, .method = o->method, .limit = limit, .cursor = cursor};
    return ergon_request_workers(&filter);
}

static enum status list(struct session *s, const void *options, int argc, char **argv)
{
    static const char *const columns[] = {"worker",  "name",    "principal", "state", "came",
                                          "version", "methods", "slots",     "out",   "late",
                                          "done",    "failed",  "calls",     NULL};
    const struct paged_list workers = {.key = "workers",
                                       .none = "no workers",
                                       .options = options,
                                       .limit = ((const struct list_options *)options)->limit,
                                       .ask = ask_page,
                                       .row_of = row_of,
                                       .columns = columns};
    (void)argc;
    (void)argv;
    return pages_show(s, &workers);
}

static const struct command WORKER_LIST = {
    .name = "worker list",
    .arguments = "",
    .summary = "list the workers, and what they work on",
    .text = "Prints a table: what each offers, how many requests it takes at a time and how many\n"
            "it has, how many it has done and failed, how many it still works on that nobody\n"
            "waits for any more (late), and the one that it has worked on for longest. With\n"
            "--json an array, with more.\n",
    .examples = "  ergon worker list\n"
                "  ergon worker list --method thumbnail --json | jq '.[].calls'\n",
    .options = LIST_OPTIONS,
    .options_size = sizeof(struct list_options),
    .defaults = &LIST_DEFAULTS,
    .talk = list,
    .timeout_ms = WORKER_TIMEOUT_MS,
    .repeats = true,
};

/* ---- quiet, resume ---- */

static enum status show_worker(const struct globals *g, json_t *answer)
{
    if (g->json)
        return STATUS_OK;
    print_text(json_text(answer, "worker"));
    printf(": %" JSON_INTEGER_FORMAT " out\n", json_integer_value(json_object_get(answer, "out")));
    return STATUS_OK;
}

static const struct command WORKER_QUIET = {
    .name = "worker quiet",
    .arguments = "WORKER...",
    .summary = "give a worker nothing more",
    .text = "What it works on goes on; once the command returns nothing more comes. Prints how\n"
            "much it still works on.\n",
    .examples = "  ergon worker quiet w17\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ergon_request_worker_quiet,
    .show = show_worker,
    .timeout_ms = WORKER_TIMEOUT_MS,
};

static const struct command WORKER_RESUME = {
    .name = "worker resume",
    .arguments = "WORKER...",
    .summary = "give a worker work again",
    .text = "Takes back what ergon worker quiet did.\n",
    .examples = "  ergon worker resume w17\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ergon_request_worker_resume,
    .show = show_worker,
    .timeout_ms = WORKER_TIMEOUT_MS,
};

static const struct command *const PARTS[] = {&WORKER_LIST, &WORKER_QUIET, &WORKER_RESUME, NULL};

const struct command WORKER = {
    .name = "worker",
    .arguments = "--method NAME... -- COMMAND [ARG...]",
    .summary = "make a command a service; see the workers",
    .text =
        "Runs COMMAND once for each request that the server sends. Parameters come as one line\n"
        "of JSON on its standard input (raw: the bytes of the only one; args: as arguments).\n"
        "Its standard output is the result: JSON as its value, other text as a string, what is\n"
        "no text as bytes, nothing as nil (json: JSON alone; bin: always bytes). Lines on its\n"
        "standard error are progress, and '3/10 text' tells how much of what is done. Exit\n"
        "status 0: done; 75: again in 10 s; 65: BAD_PARAMS; another: an error EXIT with the last\n"
        "line of standard error; a signal: an error KILLED. The last 16 KiB of standard error\n"
        "go with an error, as the traceback of the attempt.\n\n"
        "It finds ERGON_METHOD, ERGON_TASK, ERGON_ATTEMPT, ERGON_TENANT and ERGON_LEFT_MS (to\n"
        "the deadline) in its environment, and TRACEPARENT of a traced task, but not ERGON_TOKEN.\n"
        "When nobody wants the result any more, it and all that it has started get SIGTERM, and\n"
        "SIGKILL after 5 s. When this command ends, however it does, they get SIGKILL.\n\n"
        "The server answers TOO_LARGE for a request that is longer than --message.\n\n"
        "At SIGTERM it takes nothing more, waits for --grace, gives back what is left, and ends.\n"
        "A connection that breaks is made again, for ever. To try a new version on a few tasks,\n"
        "start a worker of it with --version and --share.\n\n"
        "With --actor the command runs messages to actors of that type, and methods are named\n"
        "without it. It gets a line of JSON, an object of actor, method, params, state, schema\n"
        "and version, and writes one: result, and the changes by their names (state, drop,\n"
        "sleep, wake, stop, tell, task), each of which may be missing.\n",
    .examples = "  ergon worker --method thumbnail --slots 4 --input raw --output bin -- \\\n"
                "      convert - -resize 200x200 jpg:-\n"
                "  ergon worker --method disk.free --input args -- df --output=avail\n"
                "  ergon worker --actor count --method add -- \\\n"
                "      jq -c '{state: (.state + .params[0]), result: (.state + .params[0])}'\n"
                "  ergon worker list\n",
    .parts = PARTS,
    .options = SERVE_OPTIONS,
    .shared = ACTOR_TYPE_OPTIONS,
    .options_size = sizeof(struct serve_options),
    .defaults = &SERVE_DEFAULTS,
    .arguments_min = 1,
    .arguments_max = -1,
    .run = serve,
};
