/* ergon task cancel, retry, forget: of tasks by their ids, or of all that a filter means; and
 * change, run-now. */
#include "client/cli/ask.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/task.h"
#include "client/cli/humanize.h"
#include "client/cli/params.h"
#include "client/cli/task_filter.h"
#include "client/cli/task_options.h"

#include <inttypes.h>
#include <string.h>

enum { ASK_TIMEOUT_MS = 10 * 1000 };

struct steer_options {
    struct filter_options filter; /* first */
    bool all, dry_run;
};

static const struct option_spec STEER_OPTIONS[] = {
    {0, "all", NULL, "all tasks, where no other option says which", OPTION_FLAG,
     offsetof(struct steer_options, all)},
    {0, "dry-run", NULL, "only say how many it would be", OPTION_FLAG,
     offsetof(struct steer_options, dry_run)},
    {0},
};

struct steering {
    const char *did; /* as the server's answer has it */
    struct ergon_request *(*one)(const char *id);
    show_fn *show;
    struct ergon_request *(*matching)(const struct ergon_task_filter *filter, unsigned flags);
};

/* ---- one by its id ---- */

static enum status show_state(const struct globals *g, json_t *answer)
{
    if (!g->json)
        say("%s %s\n", json_text(answer, "id"), json_text(answer, "state"));
    return STATUS_OK;
}

/* A handler that runs is told, and its task has not ended before it returns. */
static const char *what_cancelling_did(const char *state)
{
    bool out = strcmp(state, "assigned") == 0 || strcmp(state, "running") == 0 ||
               strcmp(state, "parked") == 0;
    return out ? "is told to stop" : "cancelled";
}

static void say_not_cancelled(const char *id, const char *state)
{
    static const char *const ends[] = {"done", "failed", "cancelled", "expired", "dead", NULL};
    for (const char *const *end = ends; *end != NULL; end++)
        if (strcmp(state, *end) == 0) {
            complain("%s is not cancelled by this: it had ended before, as %s", id, state);
            return;
        }
    complain("%s is not cancelled: others still want it", id);
}

static enum status show_cancelled(const struct globals *g, json_t *answer)
{
    const char *id = json_text(answer, "id");
    const char *state = json_text(answer, "state");
    bool good = json_is_true(json_object_get(answer, "cancelled"));
    if (!good && !g->quiet)
        say_not_cancelled(id, state);
    if (good && !g->json)
        say("%s %s\n", id, what_cancelling_did(state));
    return good ? STATUS_OK : STATUS_REMOTE;
}

static enum status show_forgotten(const struct globals *g, json_t *answer)
{
    if (!g->json)
        say("%s forgotten\n", json_text(answer, "id"));
    return STATUS_OK;
}

/* The first status that is not good is that of all. */
static enum status each(struct session *s, const struct steering *st, int argc, char **argv)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < argc; i++) {
        s->about = argc > 1 ? argv[i] : NULL;
        enum status one = ask_and_show(s, st->one(argv[i]), st->show);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

/* ---- all that a filter means ---- */

/* Of what is forgotten: names that stay, since tasks that are open use them, or since starts of
 * tasks that were forgotten count for their time. */
static void say_names(json_t *answer)
{
    json_int_t limits = json_integer_value(json_object_get(answer, "limits"));
    json_int_t rates = json_integer_value(json_object_get(answer, "rates"));
    if (limits + rates > 0)
        say(" (in use: %" JSON_INTEGER_FORMAT " limit%s, %" JSON_INTEGER_FORMAT " rate%s)", limits,
            limits == 1 ? "" : "s", rates, rates == 1 ? "" : "s");
}

static enum status show_count(const struct globals *g, const struct steering *st, json_t *answer)
{
    json_int_t count = json_integer_value(json_object_get(answer, st->did));
    bool dry = json_is_true(json_object_get(answer, "dry_run"));
    if (g->json)
        return STATUS_OK;
    say("%" JSON_INTEGER_FORMAT " task%s %s%s", count, count == 1 ? "" : "s",
        dry ? "would be " : "", st->did);
    say_names(answer);
    say("\n");
    return STATUS_OK;
}

static enum status matching(struct session *s, const struct steering *st,
                            const struct steer_options *o)
{
    struct ergon_task_filter filter = filter_of(&o->filter);
    unsigned flags = (o->all ? ERGON_MATCH_ALL : 0u) | (o->dry_run ? ERGON_MATCH_DRY_RUN : 0u);
    json_t *answer;
    enum status status = ask_json(s, st->matching(&filter, flags), &answer);
    if (status != STATUS_OK)
        return status;
    if (s->globals->json)
        status = print_json(json_incref(answer));
    show_count(s->globals, st, answer);
    json_decref(answer);
    return status;
}

/* ---- the commands ---- */

static bool is_clear(const struct steer_options *o, int argc)
{
    bool filter = !filter_is_empty(&o->filter) || o->all;
    if (argc > 0 && (filter || o->dry_run))
        complain("either ids, or options that say which tasks; not both");
    else if (argc == 0 && !filter)
        complain("which tasks? Give ids, or options as --state or --older; --all for all");
    else
        return true;
    return false;
}

/* What a filter means may be a million tasks: only --timeout limits it. */
static enum status steer(const struct globals *g, const struct steer_options *o,
                         const struct steering *st, int argc, char **argv)
{
    struct session s;
    if (!is_clear(o, argc))
        return STATUS_USAGE;
    enum status status = session_open(&s, g, argc > 0 ? ASK_TIMEOUT_MS : 0, false);
    if (status != STATUS_OK)
        return status;
    status = argc > 0 ? each(&s, st, argc, argv) : matching(&s, st, o);
    session_close(&s);
    return status;
}

static enum status cancel(const struct globals *g, const void *options, int argc, char **argv)
{
    static const struct steering st = {"cancelled", ergon_request_cancel, show_cancelled,
                                       ergon_request_cancel_matching};
    return steer(g, options, &st, argc, argv);
}

const struct command TASK_CANCEL = {
    .name = "task cancel",
    .arguments = "[ID...]",
    .summary = "cancel tasks that have not ended",
    .text = "A handler that runs is told to stop; its task has not ended before it returns. Exit\n"
            "status 1: one had ended before, or it is a coalesced run that others still want.\n"
            "Instead of ids, options say which tasks: all conditions must hold. Then it prints\n"
            "how many were cancelled, for all who share a coalesced run.\n",
    .examples = "  ergon task cancel t0abc4k2mq7rz\n"
                "  ergon task cancel --state waiting --method hash --older 1h --dry-run\n",
    .options = STEER_OPTIONS,
    .shared = FILTER_OPTIONS,
    .options_size = sizeof(struct steer_options),
    .arguments_max = -1,
    .run = cancel,
};

static enum status retry(const struct globals *g, const void *options, int argc, char **argv)
{
    static const struct steering st = {"retried", ergon_request_retry, show_state,
                                       ergon_request_retry_matching};
    return steer(g, options, &st, argc, argv);
}

const struct command TASK_RETRY = {
    .name = "task retry",
    .arguments = "[ID...]",
    .summary = "queue tasks again that ended otherwise than done",
    .text = "Prints the id and the state of each. It has all its retries again; the number of\n"
            "its attempts goes on growing. Instead of ids, options say which tasks: all\n"
            "conditions must hold. Then it prints how many were tried again.\n",
    .examples = "  ergon task retry t0abc4k2mq7rz\n"
                "  ergon task retry --state dead --method mail --newer 1d\n",
    .options = STEER_OPTIONS,
    .shared = FILTER_OPTIONS,
    .options_size = sizeof(struct steer_options),
    .arguments_max = -1,
    .run = retry,
};

static enum status forget(const struct globals *g, const void *options, int argc, char **argv)
{
    static const struct steering st = {"forgotten", ergon_request_forget, show_forgotten,
                                       ergon_request_forget_matching};
    return steer(g, options, &st, argc, argv);
}

const struct command TASK_FORGET = {
    .name = "task forget",
    .arguments = "[ID...]",
    .summary = "forget tasks that have ended, before their time",
    .text = "Their results and histories go, and their keys are free again. Instead of ids,\n"
            "options say which tasks: all conditions must hold. Then it prints how many were\n"
            "forgotten, and how many names of limits and rates are still in use; those that have\n"
            "not ended stay.\n",
    .examples = "  ergon task forget t0abc4k2mq7rz\n"
                "  ergon task forget --state failed --older 1d\n"
                "  ergon task forget --all --dry-run\n",
    .options = STEER_OPTIONS,
    .shared = FILTER_OPTIONS,
    .options_size = sizeof(struct steer_options),
    .arguments_max = -1,
    .run = forget,
};

/* ---- change, run-now ---- */

static enum status show_changed(const struct globals *g, json_t *answer)
{
    char text[40];
    json_int_t due = json_integer_value(json_object_get(answer, "due"));
    if (g->json)
        return STATUS_OK;
    say("%s %s, priority %" JSON_INTEGER_FORMAT, json_text(answer, "id"),
        json_text(answer, "state"), json_integer_value(json_object_get(answer, "priority")));
    if (due > 0)
        say(", %s", humanize_clock(due, now_ms(), text, sizeof text));
    puts("");
    return STATUS_OK;
}

#define CHANGE_OPTION(option, flag, argument, help)                                                \
    {                                                                                              \
        0, flag, argument, help, OPTION_TEXT, offsetof(struct task_options, option)                \
    }
static const struct option_spec CHANGE_OPTIONS[] = {
    CHANGE_OPTION(priority, "priority", "N", "0 to 9, higher goes first"),
    CHANGE_OPTION(delay, "delay", "TIME", "not before then, from now: 30s, 2h; 0s: at once"),
    CHANGE_OPTION(at, "at", "WHEN", "the same: 2026-11-22T09:30:00+01:00, or Unix ms"),
    {0},
};

static enum status change_each(struct session *s, json_t *map, int argc, char **argv)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < argc; i++) {
        json_t *params = json_pack("[s, O]", argv[i], map);
        s->about = argc > 1 ? argv[i] : NULL;
        enum status one = ask_and_show(s, json_request("task.change", params), show_changed);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

static enum status change(const struct globals *g, const void *options, int argc, char **argv)
{
    struct session s;
    json_t *map = task_options_map(options);
    if (map == NULL)
        return STATUS_USAGE;
    if (json_object_size(map) == 0) {
        complain("nothing is to change: give --priority, --delay or --at");
        json_decref(map);
        return STATUS_USAGE;
    }
    enum status status = session_open(&s, g, ASK_TIMEOUT_MS, false);
    if (status == STATUS_OK) {
        status = change_each(&s, map, argc, argv);
        session_close(&s);
    }
    json_decref(map);
    return status;
}

const struct command TASK_CHANGE = {
    .name = "task change",
    .arguments = "ID...",
    .summary = "give tasks that wait another priority or time",
    .text = "Prints the id, the state, the priority and the time of each. One that waits for a\n"
            "limit, a rate or other tasks goes on to wait for these. Exit status 1: one does not\n"
            "wait, but runs or has ended.\n",
    .examples = "  ergon task change --priority 9 t0abc4k2mq7rz\n"
                "  ergon task change --delay 2h t0abc4k2mq7rz\n",
    .options = CHANGE_OPTIONS,
    .options_size = sizeof(struct task_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .run = change,
};

const struct command TASK_RUN_NOW = {
    .name = "task run-now",
    .arguments = "ID...",
    .summary = "let tasks that wait for a time wait for it no more",
    .text = "What is delayed, or waits for its next attempt, joins its queue at once; what waits\n"
            "for a limit, a rate, other tasks or its turn waits on. Prints the id, the state and\n"
            "the priority of each.\n",
    .examples = "  ergon task run-now t0abc4k2mq7rz\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ergon_request_run_now,
    .show = show_changed,
    .timeout_ms = ASK_TIMEOUT_MS,
};
