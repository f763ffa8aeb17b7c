/* ergon queue: the tasks that wait, a queue a method. */
#include "client/cli/ask.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/table.h"

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
        complain("there is no queue yet");
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

static const struct command *const PARTS[] = {&QUEUE_LIST,   &QUEUE_EXPLAIN, &QUEUE_PAUSE,
                                              &QUEUE_RESUME, &QUEUE_DRAIN,   NULL};

const struct command QUEUE = {
    .name = "queue",
    .summary = "show and steer the queues, one a method",
    .text = "A queue holds the tasks of one method.\n",
    .examples = "  ergon queue list\n"
                "  ergon queue explain mail\n"
                "  ergon queue pause mail\n",
    .parts = PARTS,
};
