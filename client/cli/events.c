/* ergon events: what happens to all tasks, across broken connections and restarts of the server. */
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ergon/client_feed.h>

enum { POLL_MS = 25 * 1000, PAGE = 1000, NAME_WIDTH = 14 };

struct events_options {
    const char *after, *event, *state, *method, *tenant, *key;
    struct option_list tasks;
    uint64_t count;
};

static const struct option_spec EVENTS_OPTIONS[] = {
    {0, "after", "CURSOR", "go on behind this one, or with the oldest that is kept: oldest",
     OPTION_TEXT, offsetof(struct events_options, after)},
    {0, "event", "NAME", "of this kind: submitted, started, attempt_failed, done, forgotten ...",
     OPTION_TEXT, offsetof(struct events_options, event)},
    {0, "state", "STATE", "by which a task comes to this state", OPTION_TEXT,
     offsetof(struct events_options, state)},
    {0, "task", "ID", "of this task; may stand several times", OPTION_LIST,
     offsetof(struct events_options, tasks)},
    {0, "method", "METHOD", "of tasks and crons of this method, or of its queue", OPTION_TEXT,
     offsetof(struct events_options, method)},
    {0, "tenant", "TENANT", "of this tenant", OPTION_TEXT, offsetof(struct events_options, tenant)},
    {0, "task-key", "KEY", "of the task with this key", OPTION_TEXT,
     offsetof(struct events_options, key)},
    {'n', "count", "N", "end when so many were printed", OPTION_NUMBER,
     offsetof(struct events_options, count)},
    {0},
};

struct following {
    const struct globals *globals;
    char cursor[64]; /* "": none yet */
    uint64_t left;   /* to be printed; UINT64_MAX: no end */
};

/* ---- printed ---- */

static void print_pair(const char *name, const char *value)
{
    if (value[0] != 0)
        say("  %s=%s", name, value);
}

static void print_line(const struct ergon_feed_event *e)
{
    char moment[48];
    say("%s  %-*s  %s%s%s", humanize_moment((int64_t)e->at, moment, sizeof moment), NAME_WIDTH,
        e->event, e->id, e->id[0] != 0 ? "  " : "", e->method);
    if (e->attempt > 0)
        printf("  attempt %" PRIu64, e->attempt);
    print_pair("tenant", e->tenant);
    print_pair("key", e->key);
    print_pair("cron", e->cron);
    print_pair("actor", e->actor);
    print_pair("batch", e->batch);
    if (e->reason[0] != 0)
        say("  %s", e->reason);
    if (e->text[0] != 0)
        say("  %s", e->text);
    putchar('\n');
}

static void print_event_json(const struct ergon_feed_event *e)
{
    json_t *event =
        json_pack("{s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "seq", (json_int_t)e->seq,
                  "at", (json_int_t)e->at, "event", e->event, "id", json_text_or_null(e->id),
                  "method", json_text_or_null(e->method), "tenant", json_text_or_null(e->tenant),
                  "key", json_text_or_null(e->key), "attempt", (json_int_t)e->attempt, "reason",
                  json_text_or_null(e->reason), "text", json_text_or_null(e->text));
    if (e->cron[0] != 0)
        json_object_set_new(event, "cron", json_string(e->cron));
    if (e->actor[0] != 0)
        json_object_set_new(event, "actor", json_string(e->actor));
    if (e->batch[0] != 0)
        json_object_set_new(event, "batch", json_string(e->batch));
    print_json(event);
}

static void print_gap(const struct globals *g, const struct ergon_feed_page *page)
{
    if (g->json)
        print_json(json_pack("{s:s, s:o}", "gap", page->gap, "missed",
                             strcmp(page->gap, "restart") == 0
                                 ? json_null()
                                 : json_integer((json_int_t)page->missed)));
    else if (strcmp(page->gap, "restart") == 0)
        puts("... the server was started anew: what happened at the end of its life before, and "
             "was not told yet, is not known");
    else
        printf("... %" PRIu64 " events of tasks are not kept any more\n", page->missed);
}

/* False: nobody reads what is printed. */
static bool print_page(struct following *f, const struct ergon_feed_page *page)
{
    struct ergon_feed_event event;
    if (page->gap[0] != 0)
        print_gap(f->globals, page);
    for (size_t at = 0; ergon_next_event(page, &at, &event); f->left -= f->left != UINT64_MAX)
        if (f->globals->json)
            print_event_json(&event);
        else
            print_line(&event);
    snprintf(f->cursor, sizeof f->cursor, "%s", page->next);
    return fflush(stdout) == 0;
}

/* So that who goes on later misses nothing. */
static void tell_cursor(void *arg)
{
    const struct following *f = arg;
    if (f->cursor[0] != 0 && !f->globals->quiet)
        notice("to go on from here: ergon events --after %s", f->cursor);
}

/* ---- followed ---- */

static struct ergon_request *next_page(const struct session *s, const struct events_options *o,
                                       const struct following *f)
{
    uint32_t left_ms = session_time_left(s);
    struct ergon_feed_filter filter = {
        .size = sizeof filter,
        .after = f->cursor[0] != 0 ? f->cursor : o->after,
        .event = o->event,
        .state = o->state,
        .method = o->method,
        .tenant = o->tenant,
        .key = o->key,
        .wait_ms = left_ms > 0 && left_ms < POLL_MS ? left_ms : POLL_MS,
        .max = f->left < PAGE ? f->left : PAGE,
        .ids = o->tasks.at,
        .id_count = o->tasks.count,
    };
    /* Where it begins is known at once, so that nothing is missed while a connection breaks. */
    if (filter.after == NULL)
        filter.wait_ms = ERGON_ZERO;
    return ergon_request_events(&filter);
}

/* A server that stops answers what waits: it is asked again when it is back. */
static enum status follow(struct session *s, const struct events_options *o, struct following *f)
{
    while (f->left > 0) {
        struct span answer;
        struct ergon_feed_page page;
        enum status status = session_ask_again(s, next_page(s, o, f), &answer);
        if (status != STATUS_OK)
            return status;
        if (!ergon_read_feed((struct ergon_raw){answer.at, answer.len}, &page)) {
            complain("the answer is no page of events");
            return STATUS_REMOTE;
        }
        if (!print_page(f, &page))
            return STATUS_REMOTE;
        if (f->left > 0 && s->give_up_ns > 0 && session_time_left(s) <= 1)
            return STATUS_TIMEOUT;
    }
    return STATUS_OK;
}

static enum status events(struct session *s, const void *options, int argc, char **argv)
{
    const struct events_options *o = options;
    struct following f = {.globals = s->globals, .left = o->count > 0 ? o->count : UINT64_MAX};
    (void)argc;
    (void)argv;
    session_last_words(s, tell_cursor, &f);
    enum status status = follow(s, o, &f);
    if (status != STATUS_OK)
        tell_cursor(&f);
    return status;
}

const struct command EVENTS = {
    .name = "events",
    .arguments = "",
    .summary = "follow what happens to all tasks",
    .text = "Follows what happens to tasks, pauses of queues and crons, stops of actors.\n"
            "Prints a line for each event as it happens: local time, event, id, method, attempt,\n"
            "tenant, key, and what the server says. With --json an object a line. It goes on\n"
            "across broken connections and restarts of the server, and says so where events were\n"
            "missed (with --json by an object with gap). All conditions must hold. When it ends\n"
            "before its count, it prints the cursor that goes on. Exit status 130 on Ctrl-C, 5\n"
            "when --timeout is over.\n",
    .examples = "  ergon events\n"
                "  ergon events --state failed --method hash\n"
                "  ergon events --after oldest --task t07mz3cme00001\n"
                "  ergon events --after oldest --json | jq -r 'select(.event == \"dead\").id'\n",
    .options = EVENTS_OPTIONS,
    .options_size = sizeof(struct events_options),
    .talk = events,
    .durable = true,
};
