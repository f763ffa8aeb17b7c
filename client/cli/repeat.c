#include "client/cli/repeat.h"

#include "base/clock.h"
#include "client/cli/humanize.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SCREEN_BYTES = 1 << 20, /* of one round, which a terminal gets at once */
    ROUND_MS = 10 * 1000,   /* for one round, where --timeout is not given */
    NS_PER_MS = 1000 * 1000,
    NS_PER_S = 1000 * 1000 * 1000
};

const struct option_spec REPEAT_OPTIONS[] = {
    {0, "watch", "TIME", "again and again, every 2s or as it says, until interrupted",
     OPTION_PERIOD, offsetof(struct globals, watch_ns)},
    {0},
};

static bool worth_another(enum status status)
{
    return status == STATUS_OK || status == STATUS_CONNECT || status == STATUS_TIMEOUT ||
           status == STATUS_LIMIT;
}

/* False: nobody reads. */
static bool write_all(const char *text)
{
    size_t len = strlen(text);
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

/* Stands before the round, which is still in the buffer. */
static bool print_head(const struct globals *g, const char *title, bool terminal)
{
    char moment[48], head[256];
    humanize_moment(now_ms(), moment, sizeof moment);
    if (g->json)
        return true;
    if (terminal)
        snprintf(head, sizeof head, "\033[H\033[Jergon %s   %s\n\n", title, moment);
    else
        snprintf(head, sizeof head, "%s\n", moment);
    return write_all(head);
}

/* An interrupt ends the program here, for nothing waits for the server. */
static void rest(uint64_t ns)
{
    struct timespec left = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    while (nanosleep(&left, &left) != 0) {
    }
}

enum status repeat(struct session *s, const char *title,
                   enum status (*round)(struct session *s, void *arg), void *arg)
{
    const struct globals *g = s->globals;
    bool terminal = isatty(STDOUT_FILENO);
    uint64_t limit_ns = g->timeout_ns > 0 ? g->timeout_ns : (uint64_t)ROUND_MS * NS_PER_MS;
    setvbuf(stdout, NULL, _IOFBF, SCREEN_BYTES);
    for (;;) {
        s->give_up_ns = clock_monotonic() + limit_ns;
        enum status status = round(s, arg);
        if (!worth_another(status))
            return status;
        if (status == STATUS_OK && !g->json && !terminal)
            putchar('\n');
        if ((status == STATUS_OK && !print_head(g, title, terminal)) || fflush(stdout) != 0)
            return STATUS_REMOTE;
        rest(g->watch_ns);
    }
}
