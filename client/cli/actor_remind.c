#include "client/cli/actor_remind.h"

#include "base/instant.h"
#include "client/cli/ask.h"
#include "client/cli/contents.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/params.h"
#include "client/cli/task_options.h"

#include <ergon/client_actors.h>

enum { REMIND_TIMEOUT_MS = 10 * 1000, MS_NS = 1000000 };

struct remind_options {
    const char *tenant; /* first */
    uint64_t in_ns, every_ns;
    const char *at;
};

static const struct option_spec REMIND_OPTIONS[] = {
    {0, "in", "TIME", "it comes after so long", OPTION_DURATION,
     offsetof(struct remind_options, in_ns)},
    {0, "at", "WHEN", "it comes then: 2026-11-22T09:30:00+01:00", OPTION_TEXT,
     offsetof(struct remind_options, at)},
    {0, "every", "TIME", "and again and again", OPTION_DURATION,
     offsetof(struct remind_options, every_ns)},
    {0, "tenant", "NAME", "whose it is; one's own", OPTION_TEXT,
     offsetof(struct remind_options, tenant)},
    {0},
};

static const struct remind_options REMIND_DEFAULTS = {.in_ns = UINT64_MAX};

/* False, and complains. */
static bool read_times(const struct remind_options *o, struct ergon_reminder *when)
{
    uint64_t at = 0;
    if (o->at != NULL && !instant_parse(span_text(o->at), &at)) {
        complain("option --at: '%s' is no moment with its offset, as 2026-11-22T09:30:00Z", o->at);
        return false;
    }
    *when = (struct ergon_reminder){.size = sizeof *when,
                                    .tenant = o->tenant,
                                    .at_ms = at / MS_NS,
                                    .every_ms = (o->every_ns + MS_NS - 1) / MS_NS};
    if (o->in_ns != UINT64_MAX)
        when->in_ms = o->in_ns > 0 ? (o->in_ns + MS_NS - 1) / MS_NS : ERGON_ZERO;
    return true;
}

static enum status ask_remind(struct session *s, const struct ergon_reminder *when,
                              const struct task_spec *spec, char **argv)
{
    json_t *answer;
    struct ergon_request *r =
        ergon_request_actor_remind(argv[0], argv[1], spec->method, spec->params, when);
    enum status status = ask_json(s, r, &answer);
    if (status != STATUS_OK)
        return status;
    if (s->globals->json)
        return print_json(answer);
    say("%s\n", json_text(answer, "id"));
    json_decref(answer);
    return STATUS_OK;
}

static enum status remind(struct session *s, const void *options, int argc, char **argv)
{
    struct ergon_reminder when;
    struct task_spec spec;
    json_t *none = json_object();
    bool good = none != NULL && read_times(options, &when) &&
                task_spec_pack(&spec, &s->globals->forms, none, argc - 2, argv + 2);
    json_decref(none);
    if (!good)
        return STATUS_USAGE;
    enum status status = ask_remind(s, &when, &spec, argv);
    task_spec_fini(&spec);
    return status;
}

const struct command ACTOR_REMIND = {
    .name = "actor remind",
    .arguments = "TYPE/KEY NAME METHOD [ARG...]",
    .summary = "send an actor a message at a time, and again",
    .text = "It takes the place of the reminder that had this name, and is a task whose id is\n"
            "printed: ergon task run-now fires it. ergon actor get shows the reminders.\n",
    .examples = "  ergon actor remind --in 30m cart/42 nudge expire\n"
                "  ergon actor remind --every 1h counter/eggs hourly add 1\n",
    .options = REMIND_OPTIONS,
    .options_size = sizeof(struct remind_options),
    .defaults = &REMIND_DEFAULTS,
    .arguments_min = 3,
    .arguments_max = -1,
    .parameters = true,
    .talk = remind,
    .timeout_ms = REMIND_TIMEOUT_MS,
};

static enum status forget(struct session *s, const void *options, int argc, char **argv)
{
    const struct remind_options *o = options;
    struct ergon_actor_options of = {.size = sizeof of, .tenant = o->tenant};
    enum status status = STATUS_OK;
    for (int i = 1; i < argc && status == STATUS_OK; i++) {
        json_t *answer;
        status = ask_json(s, ergon_request_actor_forget(argv[0], argv[i], &of), &answer);
        if (status == STATUS_OK && !json_is_true(answer)) {
            complain("%s has no reminder '%s' whose turn has not begun", argv[0], argv[i]);
            status = STATUS_REMOTE;
        }
        if (status == STATUS_OK)
            json_decref(answer);
    }
    return status;
}

static const struct option_spec FORGET_OPTIONS[] = {
    {0, "tenant", "NAME", "whose it is; one's own", OPTION_TEXT,
     offsetof(struct remind_options, tenant)},
    {0},
};

const struct command ACTOR_FORGET = {
    .name = "actor forget",
    .arguments = "TYPE/KEY NAME...",
    .summary = "forget reminders of an actor",
    .text = "What runs goes on.\n",
    .examples = "  ergon actor forget cart/42 nudge\n",
    .options = FORGET_OPTIONS,
    .options_size = sizeof(struct remind_options),
    .arguments_min = 2,
    .arguments_max = -1,
    .talk = forget,
    .timeout_ms = REMIND_TIMEOUT_MS,
};
