/* ergon task: the group, and its commands that ask one thing about one task. */
#include "client/cli/task.h"

#include "client/cli/explain.h"
#include "client/cli/people.h"
#include "client/cli/render.h"
#include "client/cli/result.h"

enum { ASK_TIMEOUT_MS = 10 * 1000 };

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

/* ---- get ---- */

struct get_options {
    bool history;
    bool result;
};

static const struct option_spec GET_OPTIONS[] = {
    {0, "history", NULL, "with everything that happened to it", OPTION_FLAG,
     offsetof(struct get_options, history)},
    {0, "result", NULL, "nothing but the result, as ergon call prints it", OPTION_FLAG,
     offsetof(struct get_options, result)},
    {0},
};

static enum status print_task(const struct globals *g, json_t *task)
{
    if (g->json)
        return print_json(task);
    people_object(task, people_now());
    render_object(task, colour_wanted(g, stdout));
    json_decref(task);
    return STATUS_OK;
}

static enum status get_result(struct session *s, const char *id)
{
    struct ergon_request *request = ergon_request_get(id, 0);
    const struct ergon_answer *answer;
    ergon_blocking_ask(s->connection, request, session_time_left(s), &answer);
    if (answer->outcome != ERGON_END_OK) {
        if (!s->globals->quiet)
            complain("task.get: %s%s%s", answer->code, answer->code[0] != 0 ? ": " : "",
                     answer->text);
        return status_of(answer->outcome, answer->code);
    }
    struct ergon_task_shown task;
    if (ergon_read_task(answer->result, &task) && task.ended == 0) {
        complain("%s is %s: there is no result yet; see ergon task wait", id, task.state);
        return STATUS_REMOTE;
    }
    struct globals plain = *s->globals;
    plain.json = false;
    return task_print_end(s->globals->json ? s->globals : &plain,
                          span_of(answer->result.at, answer->result.len));
}

static enum status get(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct get_options *o = options;
    struct session s;
    json_t *task;
    (void)argc;
    enum status status = session_open(&s, g, ASK_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    if (o->result) {
        status = get_result(&s, argv[0]);
    } else {
        status =
            ask_json(&s, "task.get", json_pack("[s{sb}]", argv[0], "history", o->history), &task);
        if (status == STATUS_OK)
            status = print_task(g, task);
    }
    session_close(&s);
    return status;
}

const struct command TASK_GET = {
    .name = "task get",
    .arguments = "ID",
    .summary = "show a task: state, attempts, times, result",
    .text = "Prints what the server knows of the task; the error is that of the last attempt, or\n"
            "of the whole. With --result only the result is printed, and the exit status is that\n"
            "of ergon task wait.\n",
    .examples = "  ergon task get t0abc4k2mq7rz\n"
                "  ergon task get --history t0abc4k2mq7rz\n"
                "  ergon task get --json t0abc4k2mq7rz | jq .state\n",
    .options = GET_OPTIONS,
    .options_size = sizeof(struct get_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = get,
};

/* ---- cancel, retry ---- */

/* Each id in turn; the first status that is not good is that of all. */
static enum status for_each(const struct globals *g, const char *verb, int argc, char **argv,
                            enum status (*print)(const struct globals *g, json_t *answer))
{
    struct session s;
    enum status status = session_open(&s, g, ASK_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < argc; i++) {
        json_t *answer;
        enum status one = ask_json(&s, verb, json_pack("[s]", argv[i]), &answer);
        if (one == STATUS_OK)
            one = print(g, answer);
        if (status == STATUS_OK)
            status = one;
    }
    session_close(&s);
    return status;
}

static enum status print_state(const struct globals *g, json_t *answer)
{
    if (g->json)
        return print_json(answer);
    printf("%s %s\n", people_text(answer, "id"), people_text(answer, "state"));
    json_decref(answer);
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

static enum status print_cancelled(const struct globals *g, json_t *answer)
{
    const char *id = people_text(answer, "id");
    const char *state = people_text(answer, "state");
    bool good = json_is_true(json_object_get(answer, "cancelled"));
    if (!good && !g->quiet)
        say_not_cancelled(id, state);
    if (g->json) {
        enum status printed = print_json(answer);
        return good ? printed : STATUS_REMOTE;
    }
    if (good)
        printf("%s %s\n", id, what_cancelling_did(state));
    json_decref(answer);
    return good ? STATUS_OK : STATUS_REMOTE;
}

static enum status cancel(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)options;
    return for_each(g, "task.cancel", argc, argv, print_cancelled);
}

const struct command TASK_CANCEL = {
    .name = "task cancel",
    .arguments = "ID...",
    .summary = "cancel tasks that have not ended",
    .text = "A handler that runs is told to stop; its task has not ended before it returns. Exit\n"
            "status 1: one had ended before, or it is a coalesced run that others still want.\n",
    .examples = "  ergon task cancel t0abc4k2mq7rz\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .run = cancel,
};

static enum status retry(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)options;
    return for_each(g, "task.retry", argc, argv, print_state);
}

const struct command TASK_RETRY = {
    .name = "task retry",
    .arguments = "ID...",
    .summary = "queue tasks again that ended otherwise than done",
    .text = "Prints the id and the state of each. It has all its retries again; the number of\n"
            "its attempts goes on growing.\n",
    .examples = "  ergon task retry t0abc4k2mq7rz\n"
                "  ergon task list --state dead --json | jq -r '.[].id' | xargs ergon task retry\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .run = retry,
};

/* ---- explain ---- */

static enum status explain(const struct globals *g, const void *options, int argc, char **argv)
{
    struct session s;
    json_t *answer;
    (void)options;
    (void)argc;
    enum status status = session_open(&s, g, ASK_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    status = ask_json(&s, "task.explain", json_pack("[s]", argv[0]), &answer);
    if (status == STATUS_OK && g->json)
        status = print_json(answer);
    else if (status == STATUS_OK)
        status = explain_print(g, answer);
    session_close(&s);
    return status;
}

const struct command TASK_EXPLAIN = {
    .name = "task explain",
    .arguments = "ID",
    .summary = "say why a task is where it is",
    .text = "Prints one sentence, then what it is made of: what is ahead in the queue, which\n"
            "limit or bucket holds it and when that lets go, which executors are full, what it\n"
            "waits for, when the next attempt comes and why the last one failed.\n",
    .examples = "  ergon task explain t0abc4k2mq7rz\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = explain,
};

/* ---- the group ---- */

static const struct command *const PARTS[] = {&TASK_SUBMIT,  &TASK_CALL,   &TASK_GET,   &TASK_WAIT,
                                              &TASK_WATCH,   &TASK_CANCEL, &TASK_RETRY, &TASK_LIST,
                                              &TASK_EXPLAIN, NULL};

const struct command TASK = {
    .name = "task",
    .summary = "leave tasks with the server, follow and steer them",
    .text = "A submitted task outlives its connection: the server keeps it, runs it when its\n"
            "turn has come, tries it again, and remembers how it ended.\n",
    .examples = "  id=$(ergon task submit --retries 5 hash sha256 @README.md)\n"
                "  ergon task wait $id\n"
                "  ergon task explain $id\n"
                "  ergon task submit --help\n",
    .parts = PARTS,
};
