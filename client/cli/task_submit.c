/* ergon task submit and call: work comes in. */
#include "client/cli/json.h"
#include "client/cli/params.h"
#include "client/cli/people.h"
#include "client/cli/result.h"
#include "client/cli/task.h"

#include "proto/envelope.h"

struct submit_options {
    struct task_options task; /* first: TASK_OPTIONS fills it */
    bool wait;
    const char *many;
};

static const struct option_spec SUBMIT_OPTIONS[] = {
    {'w', "wait", NULL, "wait for the end and print the result", OPTION_FLAG,
     offsetof(struct submit_options, wait)},
    {0, "many", "FILE", "submit a task for each line of FILE; - is standard input", OPTION_TEXT,
     offsetof(struct submit_options, many)},
    {0},
};

bool task_pack_order(msgpack_packer *to, const json_t *options, int argc, char **argv)
{
    if (argv[0][0] == 0 || strlen(argv[0]) > METHOD_NAME_MAX) {
        complain("a method name has 1 to %d bytes", METHOD_NAME_MAX);
        return false;
    }
    return msgpack_pack_str_with_body(to, argv[0], strlen(argv[0])) == 0 &&
           params_pack(to, argc - 1, argv + 1) && json_to_value(to, options);
}

static enum status print_submitted(const struct globals *g, struct span result, char *id,
                                   size_t size)
{
    struct ergon_submitted answer;
    if (!ergon_read_submitted((struct ergon_raw){result.at, result.len}, &answer)) {
        complain("the answer of task.submit has no id");
        return STATUS_REMOTE;
    }
    snprintf(id, size, "%s", answer.id);
    if (g->json)
        return print_json(json_from_value(result));
    puts(answer.id);
    if (g->verbose)
        complain("%s, durable: %s%s%s", answer.state, answer.durable,
                 answer.duplicate ? "; the task of an earlier submission" : "",
                 answer.coalesced ? "; joined a run that was open" : "");
    return STATUS_OK;
}

/* With --wait the id goes to no one but who wants to hear more. */
static enum status wait_for(struct session *s, struct span submitted)
{
    struct ergon_submitted answer;
    struct span result;
    if (!ergon_read_submitted((struct ergon_raw){submitted.at, submitted.len}, &answer)) {
        complain("the answer of task.submit has no id");
        return STATUS_REMOTE;
    }
    if (s->globals->verbose)
        complain("%s", answer.id);
    char *id = answer.id;
    enum status status = task_await(s, &id, 1, false, &result);
    if (status == STATUS_TIMEOUT && !s->globals->quiet)
        complain("%s has not ended in time; ergon task wait %s waits on", id, id);
    if (status != STATUS_OK)
        return status;
    return task_print_end(s->globals, task_first_ended(result));
}

static enum status submit_packed(const struct globals *g, const struct submit_options *o,
                                 struct span params)
{
    struct session s;
    struct span result;
    char id[64];
    enum status status = o->wait ? session_open_lasting(&s, g) : session_open(&s, g, 0);
    if (status != STATUS_OK)
        return status;
    status = session_call(&s, "task.submit", params, &result);
    if (status == STATUS_OK)
        status = o->wait ? wait_for(&s, result) : print_submitted(g, result, id, sizeof id);
    session_close(&s);
    return status;
}

static enum status submit_one(const struct globals *g, const struct submit_options *o,
                              const json_t *options, int argc, char **argv)
{
    msgpack_sbuffer params;
    msgpack_packer packer;
    enum status status = STATUS_USAGE;
    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, 3);
    if (task_pack_order(&packer, options, argc, argv))
        status = submit_packed(g, o, span_of(params.data, params.size));
    msgpack_sbuffer_destroy(&params);
    return status;
}

static bool check(const struct submit_options *o, int argc)
{
    if (o->many == NULL && argc == 0)
        complain("an argument is missing; see ergon task submit --help");
    else if (o->many != NULL && argc > 0)
        complain("with --many the methods and parameters stand in the file");
    else if (o->many != NULL && o->wait)
        complain("--wait is for one task; ergon task wait takes many ids");
    else
        return true;
    return false;
}

static enum status submit(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct submit_options *o = options;
    if (!check(o, argc))
        return STATUS_USAGE;
    json_t *map = task_options_map(&o->task);
    if (map == NULL)
        return STATUS_USAGE;
    enum status status =
        o->many != NULL ? task_submit_file(g, o->many, map) : submit_one(g, o, map, argc, argv);
    json_decref(map);
    return status;
}

const struct command TASK_SUBMIT = {
    .name = "task submit",
    .arguments = "METHOD [ARG...]",
    .summary = "leave a task with the server and print its id",
    .text = "An ARG is as with ergon call. Prints the id alone; with --json the server's answer:\n"
            "id, state, durable (the level that was reached), duplicate and coalesced. With\n"
            "--wait it prints the result instead (with --json the whole task), and the exit\n"
            "status is that of ergon task wait. With --many each line of the file is a JSON\n"
            "array [METHOD, [ARG...], {OPTIONS}], or an object with the members method, params\n"
            "and options, named as in PROTOCOL.md; options of the command line hold for all.\n"
            "The ids come in the order of the lines; a line that is refused is named, and the\n"
            "exit status is then 1.\n",
    .examples = "  ergon task submit hash sha256 @README.md\n"
                "  ergon task submit --retries 5 --backoff 2s --task-key order-17 charge 17\n"
                "  ergon task submit --delay 1h --limit smtp=3 mail '{\"to\": \"ann\"}'\n"
                "  ergon task submit --wait hash sha256 @README.md hex\n"
                "  seq 1000 | jq -c '[\"echo\", [.]]' | ergon task submit --many -\n",
    .options = SUBMIT_OPTIONS,
    .shared = TASK_OPTIONS,
    .options_size = sizeof(struct submit_options),
    .arguments_max = -1,
    .run = submit,
};

/* ---- call ---- */

static enum status call_packed(const struct globals *g, struct span params)
{
    struct session s;
    struct span result;
    enum status status = session_open(&s, g, 0);
    if (status != STATUS_OK)
        return status;
    status = session_call(&s, "task.call", params, &result);
    if (status == STATUS_OK)
        status = result_print(g, result);
    session_close(&s);
    return status;
}

static enum status call(const struct globals *g, const void *options, int argc, char **argv)
{
    msgpack_sbuffer params;
    msgpack_packer packer;
    enum status status = STATUS_USAGE;
    json_t *map = task_options_map(options);
    if (map == NULL)
        return status;
    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, 3);
    if (task_pack_order(&packer, map, argc, argv))
        status = call_packed(g, span_of(params.data, params.size));
    msgpack_sbuffer_destroy(&params);
    json_decref(map);
    return status;
}

const struct command TASK_CALL = {
    .name = "task call",
    .arguments = "METHOD [ARG...]",
    .summary = "call a method with the options of a task",
    .text = "As ergon call, in the foreground: the result is printed, and when this program goes\n"
            "the task is cancelled. It is not durable unless --durable says so.\n",
    .examples = "  ergon task call --limit smtp=3 --retries 2 mail '{\"to\": \"ann\"}'\n"
                "  ergon task call --coalesce report --deadline 1m report 2026-11\n",
    .shared = TASK_OPTIONS,
    .options_size = sizeof(struct task_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .run = call,
};
