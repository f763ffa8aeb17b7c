/* ergon task wait: until tasks have ended, across broken connections. */
#include "client/cli/json.h"
#include "client/cli/render.h"
#include "client/cli/result.h"
#include "client/cli/task.h"

#include "proto/reader.h"

enum { POLL_MS = 30 * 1000, IDS_MAX = 1024 };

struct wait_options {
    bool any;
    bool result;
};

static const struct option_spec OPTIONS[] = {
    {0, "any", NULL, "the first that ends is enough", OPTION_FLAG,
     offsetof(struct wait_options, any)},
    {0, "result", NULL, "of one task: print its result, as ergon call does", OPTION_FLAG,
     offsetof(struct wait_options, result)},
    {0},
};

/* ---- asking ---- */

static void pack_text(msgpack_packer *to, const char *text)
{
    msgpack_pack_str_with_body(to, text, strlen(text));
}

/* Memory is the only thing that can be missing, and then the server refuses what it gets. */
static void pack_wait(msgpack_packer *to, char **ids, int count, bool any, uint32_t poll_ms)
{
    msgpack_pack_array(to, 2);
    msgpack_pack_array(to, (size_t)count);
    for (int i = 0; i < count; i++)
        pack_text(to, ids[i]);
    msgpack_pack_map(to, 3);
    pack_text(to, "timeout");
    msgpack_pack_uint32(to, poll_ms);
    pack_text(to, "any");
    any ? msgpack_pack_true(to) : msgpack_pack_false(to);
    pack_text(to, "result");
    count == 1 ? msgpack_pack_true(to) : msgpack_pack_false(to);
}

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

struct span task_first_ended(struct span answer)
{
    struct reader r = reader_of(member(answer, "ended"));
    struct span task = {0};
    uint32_t count;
    if (read_array(&r, &count) && count > 0)
        read_any(&r, &task);
    return task;
}

static enum status poll_once(struct session *s, char **ids, int count, bool any,
                             struct span *answer)
{
    msgpack_sbuffer params;
    msgpack_packer packer;
    uint32_t left = session_time_left(s);
    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    pack_wait(&packer, ids, count, any, left > 0 && left < POLL_MS ? left : POLL_MS);
    enum status status = session_insist(s, "task.wait", span_of(params.data, params.size), answer);
    msgpack_sbuffer_destroy(&params);
    return status;
}

enum status task_await(struct session *s, char **ids, int count, bool any, struct span *answer)
{
    for (;;) {
        enum status status = poll_once(s, ids, count, any, answer);
        if (status != STATUS_OK)
            return status;
        if (any ? members_of(*answer, "ended") > 0 : members_of(*answer, "open") == 0)
            return STATUS_OK;
        if (s->give_up_ns != 0 && session_now_ns() >= s->give_up_ns)
            return STATUS_TIMEOUT;
    }
}

/* ---- telling ---- */

enum status task_print_end(const struct globals *g, struct span raw)
{
    struct ergon_task_shown task;
    if (!ergon_read_task((struct ergon_raw){raw.at, raw.len}, &task)) {
        complain("the answer holds no task");
        return STATUS_REMOTE;
    }
    enum status status = task_status(task.state, task.error);
    if (g->json) {
        enum status printed = print_json(json_from_value(raw));
        return status == STATUS_OK ? printed : status;
    }
    if (status != STATUS_OK) {
        if (!g->quiet)
            complain("%s: %s%s%s", task.id, task.state, task.error[0] != 0 ? ": " : "", task.error);
        return status;
    }
    if (task.cut) {
        complain("%s: the result was larger than --keep-size, and is not kept", task.id);
        return STATUS_LIMIT;
    }
    return result_print(g, member(raw, "result"));
}

static enum status print_lines(struct span answer)
{
    struct ergon_raw raw = {answer.at, answer.len};
    struct ergon_task_shown task;
    enum status status = STATUS_OK;
    for (size_t at = 0; ergon_next_task(raw, &at, &task);) {
        printf("%s %s%s", task.id, task.state, task.error[0] != 0 ? " " : "");
        render_text(task.error);
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
    print_json(json_from_value(answer));
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
        complain("the time is up, and %s not ended", open > 1 ? "some have" : "it has");
}

static enum status wait_and_print(const struct globals *g, const struct wait_options *o, int argc,
                                  char **argv)
{
    struct session s;
    struct span answer = {0};
    enum status status = session_open_lasting(&s, g);
    if (status != STATUS_OK)
        return status;
    status = task_await(&s, argv, argc, o->any, &answer);
    if (status == STATUS_OK && o->result)
        status = task_print_end(g, task_first_ended(answer));
    else if (status == STATUS_OK)
        status = print_all(g, answer);
    else if (status == STATUS_TIMEOUT)
        print_late(g, answer);
    session_close(&s);
    return status;
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
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
    .options = OPTIONS,
    .options_size = sizeof(struct wait_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .run = run,
};
