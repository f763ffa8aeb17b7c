/* ergon task watch: what happens to a task, a line an event, until it ends. */
#include "client/cli/json.h"
#include "client/cli/people.h"
#include "client/cli/render.h"
#include "client/cli/result.h"
#include "client/cli/task.h"

#include <stdlib.h>

enum { NAME_WIDTH = 14 /* of "attempt_failed" */ };

struct watch_options {
    uint64_t from;
};

static const struct option_spec OPTIONS[] = {
    {0, "from", "N", "begin with event number N; 1", OPTION_NUMBER,
     offsetof(struct watch_options, from)},
    {0},
};

/* What a watch shows, and what it saw last. */
struct watching {
    const struct globals *globals;
    struct ergon_event last;
};

static void print_data(struct ergon_raw data)
{
    json_t *value = data.len > 0 ? json_from_value(span_of(data.at, data.len)) : NULL;
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (text != NULL)
        printf("  %s", text);
    free(text);
    json_decref(value);
}

static void print_line(const struct ergon_event *e)
{
    char clock[40];
    if (e->missed > 0)
        printf("... %llu events are not remembered any more\n", (unsigned long long)e->missed);
    printf("%s  %s", people_clock((int64_t)e->at, people_now(), clock, sizeof clock), e->name);
    if (e->attempt > 0)
        printf("%*s  attempt %llu", NAME_WIDTH - (int)strlen(e->name), "",
               (unsigned long long)e->attempt);
    if (e->reason[0] != 0)
        printf("  %s", e->reason);
    if (e->text[0] != 0) {
        fputs("  ", stdout);
        render_text(e->text);
    }
    print_data(e->data);
    putchar('\n');
}

static json_t *text_or_null(const char *text)
{
    return text[0] != 0 ? json_string(text) : json_null();
}

static void print_event_json(const struct ergon_event *e)
{
    struct span data = span_of(e->data.at, e->data.len);
    print_json(json_pack(
        "{s:I, s:I, s:s, s:I, s:o, s:o, s:o, s:I}", "seq", (json_int_t)e->seq, "at",
        (json_int_t)e->at, "event", e->name, "attempt", (json_int_t)e->attempt, "reason",
        text_or_null(e->reason), "text", text_or_null(e->text), "data",
        data.len > 0 ? json_from_value(data) : json_null(), "missed", (json_int_t)e->missed));
}

static bool on_event(void *arg, const struct ergon_event *event)
{
    struct watching *w = arg;
    if (w->globals->json)
        print_event_json(event);
    else
        print_line(event);
    w->last = *event;
    return fflush(stdout) == 0; /* who reads has gone: nobody wants to hear more */
}

static enum status watch(struct session *s, const char *id, uint64_t from)
{
    const struct globals *g = s->globals;
    struct watching w = {.globals = g};
    const struct ergon_answer *answer;
    enum ergon_end end =
        ergon_blocking_watch(s->connection, id, from, session_time_left(s), on_event, &w, &answer);
    if (end == ERGON_END_OK)
        return task_status(w.last.name, w.last.text);
    if (end != ERGON_END_CANCELLED && !g->quiet)
        complain("task.watch: %s%s%s", answer->code, answer->code[0] != 0 ? ": " : "",
                 answer->text);
    return status_of(end, answer->code);
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct watch_options *o = options;
    struct session s;
    (void)argc;
    enum status status = session_open_lasting(&s, g);
    if (status != STATUS_OK)
        return status;
    status = watch(&s, argv[0], o->from);
    session_close(&s);
    return status;
}

const struct command TASK_WATCH = {
    .name = "task watch",
    .arguments = "ID",
    .summary = "follow what happens to a task, to its end",
    .text =
        "Prints what happened so far, then each event as it happens, a line each: time, event,\n"
        "attempt, and what the handler or the server says. With --json an object a line. A\n"
        "connection that breaks is made again, and no event is missed or told twice.\n"
        "Interrupting it leaves the task alone. The exit status is that of ergon task wait.\n",
    .examples =
        "  ergon task watch t0abc4k2mq7rz\n"
        "  ergon task watch --json t0abc4k2mq7rz | jq -c 'select(.event == \"progress\")'\n",
    .options = OPTIONS,
    .options_size = sizeof(struct watch_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
