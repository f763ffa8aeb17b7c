/* ergon info: what the server is, and what its activators and executors do. */
#include "client/cli/json.h"
#include "client/cli/render.h"
#include "client/cli/session.h"

enum { INFO_TIMEOUT_MS = 10 * 1000 };

static enum status print_info(const struct globals *g, json_t *info, json_t *topology)
{
    bool colour = colour_wanted(g, stdout);
    if (g->json) {
        json_t *both = json_pack("{s:O, s:O*}", "info", info, "topology", topology);
        bool good = json_print(both, false);
        json_decref(both);
        return good ? STATUS_OK : STATUS_REMOTE;
    }
    render_object(info, colour);
    if (topology != NULL) {
        putchar('\n');
        render_object(topology, colour);
    }
    return STATUS_OK;
}

static enum status ask_and_print(struct session *s)
{
    struct span result;
    json_t *topology = NULL;
    enum status status = session_call(s, "server.info", span_of(NULL, 0), &result);
    if (status != STATUS_OK)
        return status;
    json_t *info = json_from_value(result);
    if (session_try(s, "server.topology", span_of(NULL, 0), &result) == STATUS_OK)
        topology = json_from_value(result);
    if (info != NULL)
        status = print_info(s->globals, info, topology);
    else
        complain("the answer of server.info cannot be shown");
    json_decref(info);
    json_decref(topology);
    return info != NULL ? status : STATUS_REMOTE;
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    struct session s;
    (void)options;
    (void)argc;
    (void)argv;
    enum status status = session_open(&s, g, INFO_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    status = ask_and_print(&s);
    session_close(&s);
    return status;
}

const struct command INFO = {
    .name = "info",
    .arguments = "",
    .summary = "show the server, its loops and its executors",
    .text = "Prints the answers of server.info and server.topology: each executor with its\n"
            "kind, queue length, bound in force, and the tasks that are outstanding, parked\n"
            "and done. With --json, one object with the members info and topology.\n",
    .examples = "  ergon info\n"
                "  ergon info --json | jq .topology\n",
    .run = run,
};
