/* ergon ping: is the server there?  Good as a health check, and with --wait at a start. */
#include "client/cli/session.h"

#include "base/units.h"

#include <time.h>

enum { PING_TIMEOUT_MS = 3000, PAUSE_MS = 50, NS_PER_MS = 1000 * 1000 };

struct ping_options {
    uint64_t wait_ns; /* 0: not given */
};

static const struct option_spec OPTIONS[] = {
    {0, "wait", "TIME", "try until the server answers, at most so long: 5s", OPTION_DURATION,
     offsetof(struct ping_options, wait_ns)},
    {0},
};

static void print_pong(const struct globals *g, double ms)
{
    if (g->json)
        printf("{\"server\":\"%s\",\"ms\":%.3f}\n", g->server, ms);
    else if (!g->quiet)
        printf("pong from %s in %.3f ms\n", g->server, ms);
}

/* ---- waiting ---- */

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
    const struct timespec pause = {.tv_nsec = PAUSE_MS * NS_PER_MS};
    uint64_t one_ns = g->timeout_ns > 0 ? g->timeout_ns : (uint64_t)PING_TIMEOUT_MS * NS_PER_MS;
    uint64_t end_ns = session_now_ns() + wait_ns;
    char why[512], limit[32];
    for (;;) {
        bool worth_another;
        uint64_t now = session_now_ns(), left_ns = now < end_ns ? end_ns - now : 0;
        uint64_t ms = (left_ns < one_ns ? left_ns : one_ns) / NS_PER_MS;
        enum ergon_end end =
            try_once(g, ms > 0 ? (uint32_t)ms : 1, why, sizeof why, &worth_another);
        if (!worth_another)
            return STATUS_OK;
        if (session_now_ns() + PAUSE_MS * NS_PER_MS >= end_ns) {
            if (!g->quiet)
                complain("no answer from %s within %s: %s%s", g->server,
                         units_duration_text(wait_ns, limit, sizeof limit), why,
                         session_advice(g, end));
            return STATUS_CONNECT;
        }
        nanosleep(&pause, NULL);
    }
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct ping_options *o = options;
    struct session s;
    struct span result;
    (void)argc;
    (void)argv;
    if (o->wait_ns > 0 && wait_for_answer(g, o->wait_ns) != STATUS_OK)
        return STATUS_CONNECT;
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
    .text =
        "Connects, calls server.ping, and prints how long the answer took (the connection\n"
        "not counted). Gives up after 3 s, or --timeout. With -q nothing is printed: the\n"
        "exit status is all that a health check needs. With --wait it tries again and again,\n"
        "each time as long as above, until the server answers; exit status 3 when it has not.\n",
    .examples = "  ergon ping\n"
                "  ergond & ergon ping --wait 5s\n"
                "  ergon ping -q --timeout 1s && echo up\n"
                "  ergon -s unix:///run/ergon.sock ping\n",
    .options = OPTIONS,
    .options_size = sizeof(struct ping_options),
    .run = run,
};
