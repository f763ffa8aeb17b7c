#include "client/cli/ask.h"

#include "client/cli/contents.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/repeat.h"
#include "client/cli/table.h"

enum status ask_json(struct session *s, struct ergon_request *request, json_t **answer)
{
    struct span result;
    enum status status = session_ask(s, request, &result);
    *answer = status == STATUS_OK ? json_from_value(result) : NULL;
    if (status == STATUS_OK && *answer == NULL) {
        complain("the answer cannot be shown");
        status = STATUS_REMOTE;
    }
    return status;
}

enum status ask_and_show(struct session *s, struct ergon_request *request, show_fn *show)
{
    json_t *answer;
    enum status status = ask_json(s, request, &answer);
    if (status != STATUS_OK)
        return status;
    if (s->globals->json)
        status = print_json(json_incref(answer));
    enum status judged = show(s->globals, answer);
    json_decref(answer);
    return judged != STATUS_OK ? judged : status;
}

/* The first status that is not good is that of all. */
static enum status ask_each(struct session *s, const struct command *c, int argc, char **argv)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < argc; i++) {
        s->about = argc > 1 ? argv[i] : NULL;
        enum status one = ask_and_show(s, c->ask_each(argv[i]), c->show);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

struct round {
    const struct command *command;
    const void *options;
    int argc;
    char **argv;
};

static enum status run_round(struct session *s, void *arg)
{
    const struct round *r = arg;
    const struct command *c = r->command;
    if (c->talk != NULL)
        return c->talk(s, r->options, r->argc, r->argv);
    if (c->ask != NULL)
        return ask_and_show(s, c->ask(), c->show);
    return ask_each(s, c, r->argc, r->argv);
}

enum status command_run(const struct command *c, const struct globals *g, const void *options,
                        int argc, char **argv)
{
    struct session s;
    if (c->run != NULL)
        return c->run(g, options, argc, argv);
    struct round round = {c, options, argc, argv};
    enum status status = session_open(&s, g, c->timeout_ms, c->durable || g->watch_ns > 0);
    if (status != STATUS_OK)
        return status;
    status = g->watch_ns > 0 ? repeat(&s, c->name, run_round, &round) : run_round(&s, &round);
    session_close(&s);
    return status;
}

enum status show_explanation(const struct globals *g, json_t *answer)
{
    const char *name = json_text(answer, "id");
    if (g->json)
        return STATUS_OK;
    contents_tidy(answer);
    humanize(answer, now_ms());
    print_text(name[0] != 0 ? name : json_text(answer, "method"));
    fputs(": ", stdout);
    print_text(json_text(answer, "text"));
    puts("\n");
    json_object_del(answer, "text");
    json_object_del(answer, "id");
    object_print(answer, colour_wanted(g, stdout));
    return STATUS_OK;
}
