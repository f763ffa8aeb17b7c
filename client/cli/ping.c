/* ergon ping: is the server there?  Good as a health check. */
#include "client/cli/json.h"
#include "client/cli/session.h"

enum { PING_TIMEOUT_MS = 3000 };

static void print_pong(const struct globals *g, double ms)
{
    if (g->json)
        printf("{\"server\":\"%s\",\"ms\":%.3f}\n", g->server, ms);
    else if (!g->quiet)
        printf("pong from %s in %.3f ms\n", g->server, ms);
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    struct session s;
    struct span result;
    (void)options;
    (void)argc;
    (void)argv;
    enum status status = session_open(&s, g, PING_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    uint64_t start = session_now_ns();
    status = session_call(&s, "server.ping", span_of(NULL, 0), &result);
    if (status == STATUS_OK)
        print_pong(g, (double)(session_now_ns() - start) / 1e6);
    session_close(&s);
    return status;
}

const struct command PING = {
    .name = "ping",
    .arguments = "",
    .summary = "ask whether the server answers, and how fast",
    .text = "Connects, calls server.ping, and prints how long the answer took (the connection\n"
            "not counted). Gives up after 3 s, or --timeout. With -q nothing is printed: the\n"
            "exit status is all that a health check needs.\n",
    .examples = "  ergon ping\n"
                "  ergon ping -q --timeout 1s && echo up\n"
                "  ergon -s unix:///run/ergon.sock ping\n",
    .run = run,
};
