/* ergon event: a number that grows, and those who wait for it. */
#include "client/cli/ask.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/params.h"
#include "proto/reader.h"

#include <inttypes.h>
#include <stdlib.h>

#include <ergon/client_sems.h>

enum { EVENT_TIMEOUT_MS = 10 * 1000 };

/* ---- set ---- */

static enum status show_set(const struct globals *g, json_t *answer)
{
    if (!g->json)
        printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(json_object_get(answer, "seq")));
    return STATUS_OK;
}

/* The value is the only element of the array that arguments become. */
static enum status set(struct session *s, const void *options, int argc, char **argv)
{
    struct pack p;
    struct reader r;
    uint32_t count;
    struct span value = {0};
    (void)options;
    pack_init(&p);
    enum status status = STATUS_USAGE;
    if (params_pack(&p.packer, &s->globals->forms, argc - 1, argv + 1)) {
        read_params(pack_bytes(&p), &r, &count);
        if (count > 0)
            read_any(&r, &value);
        status = ask_and_show(
            s, ergon_request_event_set(argv[0], (struct ergon_raw){value.at, value.len}), show_set);
    }
    pack_fini(&p);
    return status;
}

static const struct command EVENT_SET = {
    .name = "event set",
    .arguments = "NAME [VALUE]",
    .summary = "let an event happen",
    .text = "Prints its number, which is higher each time. A VALUE is as an argument of ergon\n"
            "call: JSON, a string, @FILE or - for bytes.\n",
    .examples = "  ergon event set deployed 1.4.2\n",
    .arguments_min = 1,
    .arguments_max = 2,
    .talk = set,
    .timeout_ms = EVENT_TIMEOUT_MS,
};

/* ---- wait ---- */

struct wait_options {
    uint64_t from;
};

static const struct option_spec WAIT_OPTIONS[] = {
    {'f', "from", "N", "the first number that counts; without it, the next one", OPTION_NUMBER,
     offsetof(struct wait_options, from)},
    {0},
};

static enum status print_event(const struct globals *g, struct span result, json_t *answer)
{
    struct reader r = reader_of(result);
    struct span key, value = {0};
    uint32_t pairs = 0;
    if (g->json)
        return print_json(json_incref(answer));
    for (read_map(&r, &pairs); pairs > 0; pairs--) {
        bool named = read_text(&r, &key) && span_is(key, "value");
        struct span any;
        read_any(&r, &any);
        if (named)
            value = any;
    }
    return value.len > 0 ? print_result(g, value, false) : STATUS_OK;
}

/* One request: *from is the number that is waited for; 0: none yet, and the answer says which is
 * the next.  *answer is the caller's, and NULL when the time of the request was over. */
static enum status wait_once(struct session *s, const char *name, uint64_t *from,
                             struct span *result, json_t **answer)
{
    uint64_t limit_ms = *from == 0 ? ERGON_ZERO : session_poll_ms(s);
    enum status status =
        session_ask_again(s, ergon_request_event_wait(name, *from, limit_ms), result);
    *answer = status == STATUS_OK ? json_from_value(*result) : NULL;
    if (*answer == NULL || !json_is_true(json_object_get(*answer, "timeout")))
        return status;
    if (*from == 0)
        *from = (uint64_t)json_integer_value(json_object_get(*answer, "seq")) + 1;
    json_decref(*answer);
    *answer = NULL;
    return STATUS_OK;
}

/* First it asks which number is the next: so nothing is missed while a connection is made again. */
static enum status wait(struct session *s, const void *options, int argc, char **argv)
{
    const struct wait_options *o = options;
    uint64_t from = o->from;
    (void)argc;
    for (;;) {
        struct span result;
        json_t *answer;
        enum status status = wait_once(s, argv[0], &from, &result, &answer);
        if (status == STATUS_OK && answer != NULL)
            status = print_event(s->globals, result, answer);
        else if (status == STATUS_OK && s->give_up_ns > 0 && session_time_left(s) <= 1)
            status = STATUS_TIMEOUT;
        else if (status == STATUS_OK)
            continue;
        json_decref(answer);
        return status;
    }
}

static const struct command EVENT_WAIT = {
    .name = "event wait",
    .arguments = "NAME",
    .summary = "wait until an event happens",
    .text = "Prints its value; with --json an object with its number (seq), too. Who goes on from\n"
            "that number plus one (--from) misses nothing but values that were overwritten. With\n"
            "--timeout the exit status is 5 when nothing has happened.\n",
    .examples = "  ergon event wait deployed\n"
                "  ergon event wait deployed --from 8 --timeout 1h --json\n",
    .options = WAIT_OPTIONS,
    .options_size = sizeof(struct wait_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .talk = wait,
    .durable = true,
};

static const struct command *const PARTS[] = {&EVENT_SET, &EVENT_WAIT, NULL};

const struct command EVENT = {
    .name = "event",
    .summary = "let events happen, and wait for them",
    .text = "An event has a number, which is higher each time it happens, and its last value.\n",
    .examples = "  ergon event set deployed 1.4.2\n"
                "  ergon event wait deployed\n",
    .parts = PARTS,
};
