#include "client/cli/actor_steer.h"

#include "client/cli/ask.h"
#include "client/cli/json.h"
#include "client/cli/output.h"

#include <ergon/client_actors.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STEER_TIMEOUT_MS = 10 * 1000, PAGE = 1000, CURSOR = 512 /* it has two names */ };

struct steer_options {
    const char *tenant, *type, *prefix, *stage;
    const char *reason;
    bool all, dry_run, reset;
};

static const struct option_spec STEER_OPTIONS[] = {
    {0, "tenant", "NAME", "whose they are; one's own, or all with --type, --prefix, --stage, --all",
     OPTION_TEXT, offsetof(struct steer_options, tenant)},
    {0, "type", "TYPE", "all of this type", OPTION_TEXT, offsetof(struct steer_options, type)},
    {0, "prefix", "TEXT", "all whose names begin so, as in cart/eu-", OPTION_TEXT,
     offsetof(struct steer_options, prefix)},
    {0, "stage", "STAGE", "all in this stage: active, sleeping or stopped", OPTION_TEXT,
     offsetof(struct steer_options, stage)},
    {0, "all", NULL, "all actors, where no other option says which", OPTION_FLAG,
     offsetof(struct steer_options, all)},
    {0, "dry-run", NULL, "only say how many it would be", OPTION_FLAG,
     offsetof(struct steer_options, dry_run)},
    {0},
};

struct steering {
    const char *did; /* "stopped" */
    struct ergon_request *(*make)(const char *actor, const struct ergon_actor_options *options);
    const char *stage; /* the only one in which there is something to do; NULL: any */
    const char *never; /* one in which there is not; NULL: none */
};

static struct ergon_request *about(const struct steering *st, const struct steer_options *o,
                                   const char *name, const char *tenant)
{
    struct ergon_actor_options options = {
        .size = sizeof options, .tenant = tenant, .reset = o->reset, .reason = o->reason};
    return st->make(name, &options);
}

/* ---- some, by their names ---- */

static enum status steer_one(struct session *s, const struct steering *st,
                             const struct steer_options *o, const char *name)
{
    json_t *answer;
    enum status status = ask_json(s, about(st, o, name, o->tenant), &answer);
    if (status != STATUS_OK)
        return status;
    if (s->globals->json)
        return print_json(answer);
    if (output_is_names())
        say("%s\n", name);
    else if (!s->globals->quiet)
        say("%s  %s\n", name,
            st->make == ergon_request_actor_drop ? st->did : json_text(answer, "stage"));
    json_decref(answer);
    return STATUS_OK;
}

/* The first status that is not good is that of all. */
static enum status each(struct session *s, const struct steering *st, const struct steer_options *o,
                        int argc, char **argv)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < argc; i++) {
        s->about = argc > 1 ? argv[i] : NULL;
        enum status one = steer_one(s, st, o, argv[i]);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

/* ---- all that the options mean ---- */

static struct ergon_request *ask_page(const struct steering *st, const struct steer_options *o,
                                      const char *cursor)
{
    struct ergon_actor_filter filter = {.size = sizeof filter,
                                        .type = o->type,
                                        .prefix = o->prefix,
                                        .stage = o->stage ? o->stage : st->stage,
                                        .tenant = o->tenant,
                                        .limit = PAGE,
                                        .cursor = cursor[0] ? cursor : NULL};
    return ergon_request_actors(&filter);
}

/* Nothing, if there is nothing to do, or it has gone since the page was made. */
static enum status steer_listed(struct session *s, const struct steering *st,
                                const struct steer_options *o, const json_t *actor, uint64_t *count)
{
    const char *name = json_text(actor, "actor"), *tenant = json_text(actor, "tenant");
    struct span result;
    enum status status = STATUS_OK;
    if (st->never && strcmp(json_text(actor, "stage"), st->never) == 0)
        return STATUS_OK;
    if (!o->dry_run)
        status = session_try(s, about(st, o, name, tenant[0] ? tenant : NULL), &result);
    if (status == STATUS_AUTH)
        complain("%s cannot be %s: permission denied", name, st->did);
    if (status == STATUS_OK) {
        ++*count;
        if (output_is_names() && !s->globals->json)
            say("%s\n", name);
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* The cursor is that of the next page, "" behind the last. */
static enum status steer_page(struct session *s, const struct steering *st,
                              const struct steer_options *o, char cursor[CURSOR], uint64_t *count)
{
    json_t *page, *actor;
    size_t i;
    enum status status = ask_json(s, ask_page(st, o, cursor), &page);
    if (status != STATUS_OK)
        return status;
    json_array_foreach(json_object_get(page, "actors"), i, actor)
    {
        if (status == STATUS_OK)
            status = steer_listed(s, st, o, actor, count);
    }
    snprintf(cursor, CURSOR, "%s", json_text(page, "next"));
    json_decref(page);
    return status;
}

static enum status show_count(const struct globals *g, const struct steering *st,
                              const struct steer_options *o, uint64_t count)
{
    if (g->json)
        return print_json(
            json_pack("{s:I, s:b}", st->did, (json_int_t)count, "dry_run", (int)o->dry_run));
    if (!output_is_names())
        say("%" PRIu64 " actor%s %s%s\n", count, count == 1 ? "" : "s",
            o->dry_run ? "would be " : "", st->did);
    return STATUS_OK;
}

/* Acts before a failure are counted, too. */
static enum status matching(struct session *s, const struct steering *st,
                            const struct steer_options *o)
{
    char cursor[CURSOR] = "";
    uint64_t count = 0;
    enum status status;
    do
        status = steer_page(s, st, o, cursor, &count);
    while (status == STATUS_OK && cursor[0]);
    enum status shown = show_count(s->globals, st, o, count);
    return status != STATUS_OK ? status : shown;
}

/* ---- the commands ---- */

static bool is_clear(const struct steer_options *o, int argc)
{
    bool filter = o->type || o->prefix || o->stage || o->all;
    if (argc > 0 && (filter || o->dry_run))
        complain("either names, or options that say which actors; not both");
    else if (argc == 0 && !filter)
        complain("which actors? Give names, or --type, --prefix or --stage; --all for all");
    else
        return true;
    return false;
}

/* The options may mean a million actors: only --timeout limits the time. */
static enum status steer(const struct globals *g, const struct steer_options *o,
                         const struct steering *st, int argc, char **argv)
{
    struct session s;
    if (!is_clear(o, argc))
        return STATUS_USAGE;
    enum status status = session_open(&s, g, argc > 0 ? STEER_TIMEOUT_MS : 0, false);
    if (status != STATUS_OK)
        return status;
    status = argc > 0 ? each(&s, st, o, argc, argv) : matching(&s, st, o);
    session_close(&s);
    return status;
}

static enum status start(const struct globals *g, const void *options, int argc, char **argv)
{
    static const struct steering st = {"started", ergon_request_actor_start, "stopped", NULL};
    const struct steer_options *o = options;
    struct steering any = st;
    if (o->reset)
        any.stage = NULL; /* the state of one that is not stopped goes, too */
    return steer(g, o, &any, argc, argv);
}

static const struct option_spec START_OPTIONS[] = {
    {0, "reset", NULL, "without its state", OPTION_FLAG, offsetof(struct steer_options, reset)},
    {0},
};

const struct command ACTOR_START = {
    .name = "actor start",
    .arguments = "[TYPE/KEY...]",
    .summary = "let stopped actors go on",
    .text =
        "Their messages run again, in their order. Prints the stage. Instead of names, options\n"
        "say which actors: all conditions must hold. Then it prints how many were started.\n",
    .examples = "  ergon actor start twin/boiler-7\n"
                "  ergon actor start --reset twin/boiler-7\n"
                "  ergon actor start --type twin\n",
    .options = START_OPTIONS,
    .shared = STEER_OPTIONS,
    .options_size = sizeof(struct steer_options),
    .arguments_max = -1,
    .run = start,
};

static enum status stop(const struct globals *g, const void *options, int argc, char **argv)
{
    static const struct steering st = {"stopped", ergon_request_actor_stop, NULL, "stopped"};
    return steer(g, options, &st, argc, argv);
}

static const struct option_spec STOP_OPTIONS[] = {
    {0, "reason", "TEXT", "what callers get to read", OPTION_TEXT,
     offsetof(struct steer_options, reason)},
    {0},
};

const struct command ACTOR_STOP = {
    .name = "actor stop",
    .arguments = "[TYPE/KEY...]",
    .summary = "stop actors: they run no message until ergon actor start",
    .text = "What runs goes on. Callers are answered STOPPED, other messages wait. Instead of\n"
            "names, options say which actors: all conditions must hold. Then it prints how many\n"
            "were stopped.\n",
    .examples =
        "  ergon actor stop --reason 'wrong prices' cart/42\n"
        "  ergon actor stop --type cart --prefix cart/eu- --reason 'wrong prices' --dry-run\n",
    .options = STOP_OPTIONS,
    .shared = STEER_OPTIONS,
    .options_size = sizeof(struct steer_options),
    .arguments_max = -1,
    .run = stop,
};

static enum status wake(const struct globals *g, const void *options, int argc, char **argv)
{
    static const struct steering st = {"woken", ergon_request_actor_wake, "sleeping", NULL};
    return steer(g, options, &st, argc, argv);
}

const struct command ACTOR_WAKE = {
    .name = "actor wake",
    .arguments = "[TYPE/KEY...]",
    .summary = "end the sleep of stepped actors",
    .text = "Their next step comes now. An actor that is not stepped stays as it is. Instead of\n"
            "names, options say which actors: all conditions must hold. Then it prints how many\n"
            "were asleep.\n",
    .examples = "  ergon actor wake ticker/tea\n",
    .shared = STEER_OPTIONS,
    .options_size = sizeof(struct steer_options),
    .arguments_max = -1,
    .run = wake,
};

static enum status drop(const struct globals *g, const void *options, int argc, char **argv)
{
    static const struct steering st = {"dropped", ergon_request_actor_drop, NULL, NULL};
    return steer(g, options, &st, argc, argv);
}

const struct command ACTOR_DROP = {
    .name = "actor drop",
    .arguments = "[TYPE/KEY...]",
    .summary = "forget actors, with their states and messages",
    .text = "Their messages are cancelled; what runs changes nothing any more. Instead of names,\n"
            "options say which actors: all conditions must hold. Then it prints how many were\n"
            "dropped.\n",
    .examples = "  ergon actor drop cart/42\n"
                "  ergon actor drop --prefix cart/test- --dry-run\n",
    .shared = STEER_OPTIONS,
    .options_size = sizeof(struct steer_options),
    .arguments_max = -1,
    .run = drop,
};
