#include "client/cli/actor_watch.h"

#include "client/cli/json.h"
#include "client/cli/output.h"

#include <ergon/client_actors.h>
#include <inttypes.h>
#include <stdlib.h>

struct watch_options {
    const char *tenant;
    uint64_t from;
    bool once;
};

static const struct option_spec WATCH_OPTIONS[] = {
    {'f', "from", "N", "the first version that counts; 1", OPTION_NUMBER,
     offsetof(struct watch_options, from)},
    {0, "once", NULL, "end after the first", OPTION_FLAG, offsetof(struct watch_options, once)},
    {0, "tenant", "NAME", "whose it is; one's own", OPTION_TEXT,
     offsetof(struct watch_options, tenant)},
    {0},
};

static const struct watch_options WATCH_DEFAULTS = {.from = 1};

static void print_state(const struct ergon_actor_version *v)
{
    json_t *state = v->state.len > 0 ? json_from_value(span_of(v->state.at, v->state.len)) : NULL;
    char *text = state ? json_dumps(state, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (text)
        print_text(text);
    else
        fputs(v->state_hidden ? "(hidden)" : "-", stdout);
    free(text);
    json_decref(state);
}

/* False: nobody reads any more. */
static bool print_version(const struct globals *g, struct span answer,
                          const struct ergon_actor_version *v)
{
    if (g->json) {
        print_json(json_from_value(answer));
    } else {
        printf("%" PRIu64 "  ", v->version);
        print_text(v->stage);
        fputs("  ", stdout);
        print_state(v);
        putchar('\n');
    }
    return fflush(stdout) == 0;
}

/* One request.  False: the watch is over, with this status. */
static bool watch_once(struct session *s, const char *actor, struct watch_options *o,
                       enum status *status)
{
    struct span answer;
    struct ergon_actor_version v;
    const struct ergon_actor_options ask = {
        .size = sizeof ask, .tenant = o->tenant, .from = o->from, .timeout_ms = session_poll_ms(s)};
    *status = session_ask_again(s, ergon_request_actor_watch(actor, &ask), &answer);
    if (*status != STATUS_OK)
        return false;
    if (!ergon_read_actor_version((struct ergon_raw){answer.at, answer.len}, &v)) {
        complain("the answer of actor.watch has no version");
        *status = STATUS_REMOTE;
        return false;
    }
    if (!v.timeout) {
        o->from = v.version + 1;
        return print_version(s->globals, answer, &v) && !o->once;
    }
    *status = s->give_up_ns > 0 && session_time_left(s) <= 1 ? STATUS_TIMEOUT : STATUS_OK;
    return *status == STATUS_OK;
}

static enum status watch(struct session *s, const void *options, int argc, char **argv)
{
    struct watch_options o = *(const struct watch_options *)options;
    enum status status = STATUS_OK;
    (void)argc;
    while (watch_once(s, argv[0], &o, &status))
        ;
    return status;
}

const struct command ACTOR_WATCH = {
    .name = "actor watch",
    .arguments = "TYPE/KEY",
    .summary = "follow an actor: its state now, and at each change",
    .text =
        "Prints version, stage and state, a line each time; with --json an object a line. One\n"
        "that is dropped has version 0. A connection that breaks is made again, and nothing is\n"
        "missed but versions in between. With --timeout the exit status is 5 when it is over.\n",
    .examples = "  ergon actor watch cart/42\n"
                "  ergon actor watch --once --from 8 cart/42\n",
    .options = WATCH_OPTIONS,
    .options_size = sizeof(struct watch_options),
    .defaults = &WATCH_DEFAULTS,
    .arguments_min = 1,
    .arguments_max = 1,
    .talk = watch,
    .durable = true,
};
