/* ergon queue: the tasks that wait, a queue a method. */
#include "client/cli/explain.h"
#include "client/cli/people.h"
#include "client/cli/render.h"
#include "client/cli/result.h"

enum { QUEUE_TIMEOUT_MS = 10 * 1000 };

/* One method of the server with one name; its answer goes to `print`, which frees it. */
static enum status ask_and_print(const struct globals *g, const char *verb, json_t *params,
                                 enum status (*print)(const struct globals *g, json_t *answer))
{
    struct session s;
    json_t *answer;
    enum status status = session_open(&s, g, QUEUE_TIMEOUT_MS);
    if (status != STATUS_OK) {
        json_decref(params);
        return status;
    }
    status = ask_json(&s, verb, params, &answer);
    if (status == STATUS_OK)
        status = g->json ? print_json(answer) : print(g, answer);
    session_close(&s);
    return status;
}

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

static enum status print_queues(const struct globals *g, json_t *queues)
{
    static const char *const first[] = {"method",  "kind",     "state",   "queued", "delayed",
                                        "waiting", "assigned", "running", "parked", "submitted",
                                        "done",    "failed",   "oldest",  NULL};
    size_t i;
    json_t *queue;
    json_array_foreach(queues, i, queue)
    {
        join_state(queue);
    }
    people_object(queues, people_now());
    if (json_array_size(queues) > 0)
        render_table(queues, first, 0, colour_wanted(g, stdout));
    else if (!g->quiet)
        complain("there is no queue yet");
    json_decref(queues);
    return STATUS_OK;
}

static enum status list(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)options;
    (void)argc;
    (void)argv;
    return ask_and_print(g, "queue.list", json_array(), print_queues);
}

static const struct command QUEUE_LIST = {
    .name = "queue list",
    .arguments = "",
    .summary = "list the queues with what stands in them",
    .text = "Prints a table: how many tasks are in each open state now, how many were submitted,\n"
            "done and failed since the server's start, and when the oldest that is open came.\n",
    .examples = "  ergon queue list\n"
                "  ergon queue list --json | jq '.[] | select(.paused)'\n",
    .run = list,
};

/* ---- explain ---- */

static enum status explain(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)options;
    (void)argc;
    return ask_and_print(g, "queue.explain", json_pack("[s]", argv[0]), explain_print);
}

static const struct command QUEUE_EXPLAIN = {
    .name = "queue explain",
    .arguments = "METHOD",
    .summary = "say why a queue moves, or does not",
    .text = "Prints one sentence, then the queue, and the executors of its kind.\n",
    .examples = "  ergon queue explain mail\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = explain,
};

/* ---- pause, resume, drain ---- */

static enum status print_queue(const struct globals *g, json_t *queue)
{
    (void)g;
    join_state(queue);
    render_text(people_text(queue, "method"));
    printf(" %s\n", people_text(queue, "state"));
    json_decref(queue);
    return STATUS_OK;
}

static enum status steer(const struct globals *g, const char *verb, int argc, char **argv)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < argc; i++) {
        enum status one = ask_and_print(g, verb, json_pack("[s]", argv[i]), print_queue);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

static enum status pause_queue(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)options;
    return steer(g, "queue.pause", argc, argv);
}

static enum status resume(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)options;
    return steer(g, "queue.resume", argc, argv);
}

static enum status drain(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)options;
    return steer(g, "queue.drain", argc, argv);
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
    .run = pause_queue,
};

static const struct command QUEUE_RESUME = {
    .name = "queue resume",
    .arguments = "METHOD...",
    .summary = "end a pause or a drain",
    .text = "Tasks of the method are started and taken again.\n",
    .examples = "  ergon queue resume mail\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .run = resume,
};

static const struct command QUEUE_DRAIN = {
    .name = "queue drain",
    .arguments = "METHOD...",
    .summary = "take no new tasks of a method, and run those that are there",
    .text = "New ones are answered DRAINING until ergon queue resume.\n",
    .examples = "  ergon queue drain mail\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .run = drain,
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
