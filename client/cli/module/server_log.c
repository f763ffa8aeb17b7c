#include "client/cli/module/server_log.h"

#include <stdio.h>

#include "client/cli/json.h"

/* The first word of a backtrace that is of the module's file. */
static void find_place(struct server_log *l, const char *trace)
{
    size_t len = strlen(l->module);
    for (const char *at = trace; *at != 0;) {
        size_t word = strcspn(at, " ");
        if (word > len && strncmp(at, l->module, len) == 0 && at[len] == '+') {
            snprintf(l->next.place, sizeof l->next.place, "%.*s", (int)word, at);
            return;
        }
        at += word + strspn(at + word, " ");
    }
}

static void on_signal(struct server_log *l, const json_t *line)
{
    const char *address = json_text(line, "address");
    snprintf(l->next.reason, sizeof l->next.reason, "%.40s%s%.40s", json_text(line, "signal"),
             address[0] != 0 ? " at " : "", address);
    find_place(l, json_text(line, "backtrace"));
}

static void on_exit_call(struct server_log *l, const json_t *line)
{
    snprintf(l->next.reason, sizeof l->next.reason, "exit(%.0f) was called",
             json_figure(line, "status"));
    find_place(l, json_text(line, "backtrace"));
}

/* What the process itself said comes first; the end of one that was stuck is a signal, too. */
static void on_end(struct server_log *l, const json_t *line)
{
    const char *handler = json_text(line, "handler"), *reason = json_text(line, "reason");
    bool is_signal = strncmp(handler, "SIG", 3) == 0 || strncmp(handler, "exit", 4) == 0;
    if (l->next.reason[0] == 0 || (handler[0] != 0 && !is_signal))
        snprintf(l->next.reason, sizeof l->next.reason, "%.190s",
                 handler[0] != 0 ? handler : reason);
    l->last = l->next;
    l->next = (struct death){.reason = ""};
    l->deaths++;
}

static void on_refusal(struct server_log *l, const json_t *line)
{
    const char *why = json_text(line, "why"), *reason = json_text(line, "reason");
    snprintf(l->refusal, sizeof l->refusal, "%.390s",
             why[0] != 0      ? why
             : reason[0] != 0 ? reason
                              : json_text(line, "msg"));
}

/* The module itself. */
static void on_word(struct server_log *l, const json_t *line)
{
    snprintf(l->said, sizeof l->said, "%.190s", json_text(line, "text"));
}

/* "SUMMARY: AddressSanitizer: heap-buffer-overflow thumbs.c:9 in scale" */
static void on_summary(struct server_log *l, const char *text)
{
    size_t tool = strcspn(text, " "), kind = tool;
    if (text[tool] != 0)
        kind += 1 + strcspn(text + tool + 1, " ");
    snprintf(l->next.reason, sizeof l->next.reason, "%.*s", (int)(kind < 190 ? kind : 190), text);
    snprintf(l->next.place, sizeof l->next.place, "%.150s", text[kind] != 0 ? text + kind + 1 : "");
}

/* The module, or a library of it, has printed each line that is not of the log. */
static void on_output(struct server_log *l, const char *line)
{
    static const char summary[] = "SUMMARY: ";
    size_t len = strlen(l->next.output);
    if (strncmp(line, summary, sizeof summary - 1) == 0)
        on_summary(l, line + sizeof summary - 1);
    snprintf(l->next.output + len, sizeof l->next.output - len, "%s%s", len > 0 ? "\n" : "", line);
}

void server_log_line(struct server_log *l, const char *text)
{
    static const struct {
        const char *event;
        void (*fn)(struct server_log *l, const json_t *line);
    } events[] = {
        {"the process of the module dies of a signal", on_signal},
        {"exit() was called in the process of the module", on_exit_call},
        {"process of a module ended", on_end},
        {"process of a module does not start", on_refusal},
        {"process of a module refuses to run", on_refusal},
        {"process of a module does not load it in time", on_refusal},
        {"cannot start", on_refusal},
        {"module", on_word},
    };
    json_t *line = json_loads(text, 0, NULL);
    const char *event = json_text(line, "msg");
    if (l->verbose)
        fprintf(stderr, "%s\n", text);
    if (event[0] == 0 && text[0] != 0)
        on_output(l, text);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (strcmp(event, events[i].event) == 0)
            events[i].fn(l, line);
    json_decref(line);
}
