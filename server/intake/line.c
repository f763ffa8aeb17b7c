#include "server/intake/line.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALL_MS = 60 * 1000 /* it waits for a commit; a database that is away takes longer */ };

struct line {
    char role[LINE_ROLE_MAX];
    struct gateway_peer *peer;
    bool open, lost; /* neither: it opens */
};

/* ---- what libergon calls, within event_base_loop() ---- */

static void opened(void *arg, const char *principal, const char *code, const char *text)
{
    struct line *line = arg;

    (void)code;
    (void)text;
    line->open = principal != NULL;
    line->lost = !principal;
}

static void lost(void *arg)
{
    struct line *line = arg;

    line->open = false;
    line->lost = true;
}

static const struct gateway_port port = {.opened = opened, .lost = lost};

struct waiting {
    struct line_answer *answer;
    bool done;
};

static void say(struct line_answer *answer, const char *code, const char *text)
{
    snprintf(answer->code, sizeof answer->code, "%s", code);
    snprintf(answer->text, sizeof answer->text, "%s", text ? text : "");
}

static void answered(void *arg, const struct gateway_answer *a)
{
    struct waiting *w = arg;

    w->done = true;
    w->answer->result = json_incref(a->result);
    if (!a->result)
        say(w->answer, a->code, a->text);
}

/* ---- lines ---- */

static bool is_stopping(const struct lines *lines)
{
    return atomic_load_explicit(lines->stopping, memory_order_relaxed);
}

static void close_line(struct line *line)
{
    gateway_close(line->peer);
    free(line);
}

void lines_close(struct lines *lines)
{
    while (lines->count > 0)
        close_line(lines->at[--lines->count]);
}

void lines_sweep(struct lines *lines)
{
    for (uint32_t i = lines->count; i-- > 0;)
        if (!lines->at[i]->open) {
            close_line(lines->at[i]);
            lines->at[i] = lines->at[--lines->count];
        }
}

static struct line *open_line(struct lines *lines, const char *role)
{
    struct net_origin from = {.is_user = true, .uid = getuid()};
    struct line *line = calloc(1, sizeof *line);

    if (!line)
        return NULL;
    snprintf(line->role, sizeof line->role, "%s", role);
    snprintf(from.certificate, sizeof from.certificate, "%s", role);
    line->peer = gateway_open(&lines->gateway, lines->listener, &from, NULL, &port, line);
    while (line->peer && !line->open && !line->lost && !is_stopping(lines))
        event_base_loop(lines->gateway.base, EVLOOP_ONCE);
    if (line->peer && line->open)
        return line;
    close_line(line);
    return NULL;
}

static struct line *line_of(struct lines *lines, const char *role)
{
    event_base_loop(lines->gateway.base, EVLOOP_NONBLOCK); /* what was lost since */
    lines_sweep(lines);
    for (uint32_t i = 0; i < lines->count; i++)
        if (strcmp(lines->at[i]->role, role) == 0)
            return lines->at[i];
    if (lines->count == LINE_ROLES)
        lines_close(lines);
    struct line *line = open_line(lines, role);
    if (line)
        lines->at[lines->count++] = line;
    return line;
}

void lines_call(struct lines *lines, const char *role, const char *method, const json_t *params,
                struct line_answer *answer)
{
    struct waiting w = {.answer = answer};
    const char *code = "CLOSED";

    *answer = (struct line_answer){.result = NULL};
    struct line *line = line_of(lines, role);
    struct gateway_call *call =
        line ? gateway_call(line->peer, method, params, CALL_MS, answered, &w, &code) : NULL;
    if (!call) {
        say(answer, code, "");
        return;
    }
    while (!w.done && !is_stopping(lines))
        event_base_loop(lines->gateway.base, EVLOOP_ONCE);
    if (!w.done)
        gateway_cancel(call);
}
