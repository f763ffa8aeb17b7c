/* ergon task wait and watch: to the end of tasks, across broken connections. */
#include "client/cli/contents.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/task.h"

#include "base/clock.h"
#include "proto/reader.h"

#include <stdlib.h>

enum { POLL_MS = 30 * 1000, IDS_MAX = 1024, NAME_WIDTH = 14 /* of "attempt_failed" */ };

enum status task_status(const char *state, const char *error)
{
    char code[40];
    if (strcmp(state, "done") == 0)
        return STATUS_OK;
    if (strcmp(state, "expired") == 0)
        return STATUS_TIMEOUT;
    snprintf(code, sizeof code, "%.*s", (int)strcspn(error, ":"), error);
    return status_of(ERGON_END_ERROR, code);
}

/* ---- wait ---- */

struct wait_options {
    bool any;
    bool result;
};

static const struct option_spec WAIT_OPTIONS[] = {
    {0, "any", NULL, "the first that ends is enough", OPTION_FLAG,
     offsetof(struct wait_options, any)},
    {0, "result", NULL, "of one task: print its result, as ergon call does", OPTION_FLAG,
     offsetof(struct wait_options, result)},
    {0},
};

static struct span member(struct span map, const char *key)
{
    struct ergon_raw value = ergon_read_member((struct ergon_raw){map.at, map.len}, key);
    return span_of(value.at, value.len);
}

static uint32_t members_of(struct span answer, const char *key)
{
    struct reader r = reader_of(member(answer, key));
    uint32_t count = 0;
    read_array(&r, &count);
    return count;
}

/* The first task of such an answer, raw; empty if there is none. */
static struct span first_ended(struct span answer)
{
    struct reader r = reader_of(member(answer, "ended"));
    struct span task = {0};
    uint32_t count;
    if (read_array(&r, &count) && count > 0)
        read_any(&r, &task);
    return task;
}

/* Waits until the tasks have ended, or with `any` one of them, whatever the connection does.
 * STATUS_OK, STATUS_TIMEOUT (when the session's time is up: no message), or another with a message.
 * *answer is the last of task.wait, valid until the next request; empty if there was none. */
static enum status await(struct session *s, const char *const *ids, size_t count, bool any,
                         struct span *answer)
{
    unsigned flags = (any ? ERGON_ASK_ANY : 0) | (count > 1 ? ERGON_ASK_NO_RESULT : 0);
    for (;;) {
        uint32_t left = session_time_left(s);
        uint32_t poll_ms = left > 0 && left < POLL_MS ? left : POLL_MS;
        enum status status =
            session_ask_again(s, ergon_request_wait(ids, count, poll_ms, flags), answer);
        if (status != STATUS_OK)
            return status;
        if (any ? members_of(*answer, "ended") > 0 : members_of(*answer, "open") == 0)
            return STATUS_OK;
        if (s->give_up_ns != 0 && clock_monotonic() >= s->give_up_ns)
            return STATUS_TIMEOUT;
    }
}

/* Why there is none. */
static void say_no_result(const struct ergon_task_shown *task)
{
    if (task->cut)
        complain("%s: the result was larger than --keep-size, and is not kept", task->id);
    else
        complain("%s: %s%s%s", task->id, task->state, task->error[0] != 0 ? ": " : "", task->error);
}

enum status task_print_end(const struct globals *g, struct span raw)
{
    struct ergon_task_shown task;
    if (!ergon_read_task((struct ergon_raw){raw.at, raw.len}, &task)) {
        complain("the answer holds no task");
        return STATUS_REMOTE;
    }
    enum status status = task_status(task.state, task.error);
    if (status == STATUS_OK && task.cut)
        status = STATUS_LIMIT;
    if (g->json) {
        enum status printed = print_json(json_from_value(raw));
        return status == STATUS_OK ? printed : status;
    }
    if (status == STATUS_OK && task.result_hidden) {
        complain_as("DENIED", NULL, "%s: the result is %s, or %s", task.id,
                    contents_hidden("denied"), task.method);
        return STATUS_AUTH;
    }
    if (status == STATUS_OK)
        return print_result(g, member(raw, "result"), false);
    if (!g->quiet)
        say_no_result(&task);
    return status;
}

enum status task_await_end(struct session *s, const char *id)
{
    struct span answer;
    s->goes_on = id;
    enum status status = await(s, &id, 1, false, &answer);
    s->goes_on = NULL;
    if (status == STATUS_TIMEOUT && !s->globals->quiet)
        complain_as("TIMEOUT", NULL, "%s has not ended in time; ergon task wait %s waits on", id,
                    id);
    return status == STATUS_OK ? task_print_end(s->globals, first_ended(answer)) : status;
}

static enum status print_lines(struct span answer)
{
    struct ergon_raw raw = {answer.at, answer.len};
    struct ergon_task_shown task;
    enum status status = STATUS_OK;
    for (size_t at = 0; ergon_next_task(raw, &at, &task);) {
        say("%s %s%s", task.id, task.state, task.error[0] != 0 ? " " : "");
        print_text(task.error);
        putchar('\n');
        if (status == STATUS_OK)
            status = task_status(task.state, task.error);
    }
    return status;
}

static enum status print_all(const struct globals *g, struct span answer)
{
    struct ergon_raw raw = {answer.at, answer.len};
    struct ergon_task_shown task;
    enum status status = STATUS_OK;
    if (!g->json)
        return print_lines(answer);
    status = print_json(json_from_value(answer));
    for (size_t at = 0; status == STATUS_OK && ergon_next_task(raw, &at, &task);)
        status = task_status(task.state, task.error);
    return status;
}

/* The time is up; `answer` may be empty. */
static void print_late(const struct globals *g, struct span answer)
{
    uint32_t open = members_of(answer, "open");
    if (answer.len > 0)
        print_all(g, answer);
    if (!g->quiet)
        complain_as("TIMEOUT", NULL, "the time is up, and %s not ended",
                    open > 1 ? "some have" : "it has");
}

static enum status wait_and_print(const struct globals *g, const struct wait_options *o, int argc,
                                  char **argv)
{
    struct session s;
    struct span answer = {0};
    enum status status = session_open(&s, g, 0, true);
    if (status != STATUS_OK)
        return status;
    s.goes_on = argc == 1 ? argv[0] : NULL;
    status = await(&s, (const char *const *)argv, (size_t)argc, o->any, &answer);
    if (status == STATUS_OK && o->result)
        status = task_print_end(g, first_ended(answer));
    else if (status == STATUS_OK)
        status = print_all(g, answer);
    else if (status == STATUS_TIMEOUT)
        print_late(g, answer);
    session_close(&s);
    return status;
}

static enum status wait_for(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct wait_options *o = options;
    if (o->result && argc > 1)
        complain("--result is for one task");
    else if (argc > IDS_MAX)
        complain("at most %d ids at a time", IDS_MAX);
    else
        return wait_and_print(g, o, argc, argv);
    return STATUS_USAGE;
}

const struct command TASK_WAIT = {
    .name = "task wait",
    .arguments = "ID...",
    .summary = "wait until tasks have ended",
    .text = "Waits for all of them, however long it takes, or --timeout; a connection that breaks\n"
            "is made again. Prints the id and the state of each, with its error; with --json one\n"
            "object with the members ended and open. The exit status is 0 if all that ended are\n"
            "done; else 5 for one that expired, or the status of its error; 5 too when the time\n"
            "is up.\n",
    .examples = "  ergon task wait t0abc4k2mq7rz\n"
                "  ergon task wait --result t0abc4k2mq7rz\n"
                "  ergon task wait --any --timeout 1m t0abc4k2mq7rz t0abc4k2mq7s0\n",
    .options = WAIT_OPTIONS,
    .options_size = sizeof(struct wait_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .run = wait_for,
};

/* ---- watch ---- */

struct watch_options {
    uint64_t from;
};

static const struct option_spec WATCH_OPTIONS[] = {
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
    say("%s  %s", humanize_clock((int64_t)e->at, now_ms(), clock, sizeof clock), e->name);
    if (e->attempt > 0)
        printf("%*s  attempt %llu", NAME_WIDTH - (int)strlen(e->name), "",
               (unsigned long long)e->attempt);
    if (e->reason[0] != 0)
        say("  %s", e->reason);
    if (e->text[0] != 0) {
        fputs("  ", stdout);
        print_text(e->text);
    }
    print_data(e->data);
    putchar('\n');
}

static void print_event_json(const struct ergon_event *e)
{
    struct span data = span_of(e->data.at, e->data.len);
    print_json(json_pack(
        "{s:I, s:I, s:s, s:I, s:o, s:o, s:o, s:I}", "seq", (json_int_t)e->seq, "at",
        (json_int_t)e->at, "event", e->name, "attempt", (json_int_t)e->attempt, "reason",
        json_text_or_null(e->reason), "text", json_text_or_null(e->text), "data",
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

/* There was nothing to tell from where the watch began. */
static enum status ended_before(struct session *s, const char *id)
{
    struct span answer;
    struct ergon_task_shown task = {0};
    enum status status = session_ask(s, ergon_request_get(id, ERGON_ASK_NO_RESULT), &answer);
    if (status != STATUS_OK)
        return status;
    ergon_read_task((struct ergon_raw){answer.at, answer.len}, &task);
    return task_status(task.state, task.error);
}

static enum status watch(struct session *s, const void *options, int argc, char **argv)
{
    const struct watch_options *o = options;
    struct watching w = {.globals = s->globals};
    const struct ergon_answer *answer;
    (void)argc;
    session_waits(s);
    enum ergon_end end = ergon_blocking_watch(s->connection, argv[0], o->from, session_time_left(s),
                                              on_event, &w, &answer);
    session_waited(s);
    if (end == ERGON_END_OK)
        return w.last.seq > 0 ? task_status(w.last.name, w.last.text) : ended_before(s, argv[0]);
    if (end == ERGON_END_INVALID) { /* no id is as long as that */
        complain_by(s->globals->command, "NOT_FOUND", "ergon task list shows those that there are",
                    "no such task");
        return STATUS_NOT_FOUND;
    }
    return end == ERGON_END_CANCELLED ? status_of(end, "")
                                      : session_complain(s, "task.watch", answer);
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
    .options = WATCH_OPTIONS,
    .options_size = sizeof(struct watch_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .talk = watch,
    .durable = true,
};
