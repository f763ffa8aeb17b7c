/* ergon queue: the tasks that wait, a queue a method. */
#include "client/cli/ask.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/table.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUE_TIMEOUT_MS = 10 * 1000 };

/* ---- list ---- */

static void join_state(json_t *queue)
{
    bool paused = json_is_true(json_object_get(queue, "paused"));
    bool draining = json_is_true(json_object_get(queue, "draining"));
    json_object_del(queue, "paused");
    json_object_del(queue, "draining");
    json_object_set_new(queue, "state",
                        json_string(draining ? "draining"
                                    : paused ? "paused"
                                             : "open"));
}

static enum status show_queues(const struct globals *g, json_t *queues)
{
    static const char *const first[] = {"method",  "kind",     "state",   "queued", "delayed",
                                        "waiting", "assigned", "running", "parked", "submitted",
                                        "done",    "failed",   "oldest",  NULL};
    size_t i;
    json_t *queue;
    if (g->json)
        return STATUS_OK;
    json_array_foreach(queues, i, queue)
    {
        join_state(queue);
    }
    humanize(queues, now_ms());
    if (json_array_size(queues) > 0)
        table_print(queues, first, 0, colour_wanted(g, stdout));
    else if (!g->quiet)
        notice("no queues");
    return STATUS_OK;
}

static const struct command QUEUE_LIST = {
    .name = "queue list",
    .arguments = "",
    .summary = "list the queues with what stands in them",
    .text = "Prints a table: how many tasks are in each open state now, how many were submitted,\n"
            "done and failed since the server's start, and when the oldest that is open came.\n",
    .examples = "  ergon queue list\n"
                "  ergon queue list --json | jq '.[] | select(.paused)'\n",
    .ask = ergon_request_queues,
    .show = show_queues,
    .timeout_ms = QUEUE_TIMEOUT_MS,
    .repeats = true,
};

/* ---- tenants ---- */

struct tenants_options {
    uint64_t limit;
};

static const struct option_spec TENANTS_OPTIONS[] = {
    {'n', "limit", "N", "how many at most; 100", OPTION_NUMBER,
     offsetof(struct tenants_options, limit)},
    {0},
};

static const struct tenants_options TENANTS_DEFAULTS = {.limit = 100};

/* All pages; who is told twice is there once. */
static enum status collect_tenants(struct session *s, json_t *by_name)
{
    char cursor[64] = "";
    do {
        json_t *page, *tenant;
        size_t i;
        enum status status =
            ask_json(s, ergon_request_queue_tenants(cursor[0] != 0 ? cursor : NULL), &page);
        if (status != STATUS_OK)
            return status;
        json_array_foreach(json_object_get(page, "tenants"), i, tenant)
        {
            json_object_set(by_name, json_text(tenant, "tenant"), tenant);
        }
        snprintf(cursor, sizeof cursor, "%s", json_text(page, "next"));
        json_decref(page);
    } while (cursor[0] != 0);
    return STATUS_OK;
}

static json_int_t bytes_of(const json_t *tenant)
{
    return json_integer_value(json_object_get(tenant, "open_bytes")) +
           json_integer_value(json_object_get(tenant, "ended_bytes"));
}

static int by_bytes(const void *a, const void *b)
{
    const json_t *x = *(const json_t *const *)a, *y = *(const json_t *const *)b;
    json_int_t more = bytes_of(y) - bytes_of(x);
    return more != 0 ? (more > 0 ? 1 : -1) : strcmp(json_text(x, "tenant"), json_text(y, "tenant"));
}

/* Who has most first, as many as are wanted.  NULL without memory. */
static json_t *sorted(json_t *by_name, uint64_t limit)
{
    size_t count = json_object_size(by_name), i = 0;
    json_t **all = calloc(count + 1, sizeof *all), *array = json_array(), *tenant;
    const char *name;
    json_object_foreach(by_name, name, tenant)
    {
        if (all != NULL)
            all[i++] = tenant;
    }
    if (all != NULL)
        qsort(all, count, sizeof *all, by_bytes);
    for (i = 0; all != NULL && i < count && i < limit; i++)
        json_array_append(array, all[i]);
    free(all);
    return array;
}

static void print_tenants(const struct globals *g, json_t *tenants)
{
    static const char *const columns[] = {"tenant", "weight",      "open",        "open_bytes",
                                          "ended",  "ended_badly", "ended_bytes", "limits",
                                          "rates",  NULL};
    json_t *tenant;
    size_t i;
    json_array_foreach(tenants, i, tenant)
    {
        json_object_set_new(tenant, "open_bytes", humanize_size(tenant, "open_bytes"));
        json_object_set_new(tenant, "ended_bytes", humanize_size(tenant, "ended_bytes"));
    }
    table_print(tenants, columns, 0, colour_wanted(g, stdout));
}

static enum status tenants(struct session *s, const void *options, int argc, char **argv)
{
    const struct tenants_options *o = options;
    json_t *by_name = json_object();
    (void)argc;
    (void)argv;
    enum status status = collect_tenants(s, by_name);
    json_t *rows = sorted(by_name, o->limit);
    size_t all = json_object_size(by_name);
    if (status == STATUS_OK && s->globals->json)
        status = print_json(json_incref(rows));
    else if (status == STATUS_OK && json_array_size(rows) > 0)
        print_tenants(s->globals, rows);
    else if (status == STATUS_OK && !s->globals->quiet)
        notice("no tenants");
    if (status == STATUS_OK && all > json_array_size(rows) && !s->globals->quiet)
        notice("there are more; see --limit");
    json_decref(rows);
    json_decref(by_name);
    return status;
}

static const struct command QUEUE_TENANTS = {
    .name = "queue tenants",
    .arguments = "",
    .summary = "list the tenants with what each holds",
    .text = "Prints a table, who has most first: the weight, open tasks and what they take, tasks\n"
            "that have ended and are kept, how many of these failed or are dead, and what they\n"
            "take; names of limits and of rates that are in use. Where kept tasks take more than\n"
            "they may, who keeps most forgets its oldest.\n",
    .examples = "  ergon queue tenants\n"
                "  ergon queue tenants --json | jq 'map(.ended_bytes) | add'\n",
    .options = TENANTS_OPTIONS,
    .options_size = sizeof(struct tenants_options),
    .defaults = &TENANTS_DEFAULTS,
    .talk = tenants,
    .timeout_ms = QUEUE_TIMEOUT_MS,
};

/* ---- explain ---- */

static const struct command QUEUE_EXPLAIN = {
    .name = "queue explain",
    .arguments = "METHOD",
    .summary = "say why a queue moves, or does not",
    .text = "Prints one sentence, then the queue, and the executors of its kind.\n",
    .examples = "  ergon queue explain mail\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .ask_each = ergon_request_queue_explain,
    .show = show_explanation,
    .timeout_ms = QUEUE_TIMEOUT_MS,
};

/* ---- pause, resume, drain ---- */

static enum status show_queue(const struct globals *g, json_t *queue)
{
    if (g->json)
        return STATUS_OK;
    join_state(queue);
    print_text(json_text(queue, "method"));
    say(" %s\n", json_text(queue, "state"));
    return STATUS_OK;
}

static const struct command QUEUE_PAUSE = {
    .name = "queue pause",
    .arguments = "METHOD...",
    .summary = "start no more tasks of a method",
    .text = "Tasks are still taken, and wait; what runs goes on. A pause lasts across restarts if\n"
            "the server has a store. Plain calls are not concerned.\n",
    .examples = "  ergon queue pause mail\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ergon_request_queue_pause,
    .show = show_queue,
    .timeout_ms = QUEUE_TIMEOUT_MS,
};

static const struct command QUEUE_RESUME = {
    .name = "queue resume",
    .arguments = "METHOD...",
    .summary = "end a pause or a drain",
    .text = "Tasks of the method are started and taken again.\n",
    .examples = "  ergon queue resume mail\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ergon_request_queue_resume,
    .show = show_queue,
    .timeout_ms = QUEUE_TIMEOUT_MS,
};

static const struct command QUEUE_DRAIN = {
    .name = "queue drain",
    .arguments = "METHOD...",
    .summary = "take no new tasks of a method, and run those that are there",
    .text = "New ones are answered DRAINING until ergon queue resume, also after a restart if the\n"
            "server has a store.\n",
    .examples = "  ergon queue drain mail\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ergon_request_queue_drain,
    .show = show_queue,
    .timeout_ms = QUEUE_TIMEOUT_MS,
};

static const struct command *const PARTS[] = {
    &QUEUE_LIST, &QUEUE_TENANTS, &QUEUE_EXPLAIN, &QUEUE_PAUSE, &QUEUE_RESUME, &QUEUE_DRAIN, NULL};

const struct command QUEUE = {
    .name = "queue",
    .summary = "show and steer the queues, one a method",
    .text = "A queue holds the tasks of one method.\n",
    .examples = "  ergon queue list\n"
                "  ergon queue tenants\n"
                "  ergon queue explain mail\n"
                "  ergon queue pause mail\n",
    .parts = PARTS,
};
