#include "client/cli/ask.h"

#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
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

static enum status ask_and_show(struct session *s, struct ergon_request *request, show_fn *show)
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

enum status ask_once(const struct globals *g, uint32_t timeout_ms, struct ergon_request *request,
                     show_fn *show)
{
    struct session s;
    enum status status = session_open(&s, g, timeout_ms);
    if (status == STATUS_OK)
        status = ask_and_show(&s, request, show);
    else
        ergon_request_free(request);
    session_close(&s);
    return status;
}

/* The first status that is not good is that of all. */
static enum status ask_each(const struct command *c, const struct globals *g, int argc, char **argv)
{
    struct session s;
    enum status status = session_open(&s, g, c->timeout_ms);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < argc; i++) {
        enum status one = ask_and_show(&s, c->ask_each(argv[i]), c->show);
        if (status == STATUS_OK)
            status = one;
    }
    session_close(&s);
    return status;
}

enum status ask_command(const struct command *c, const struct globals *g, int argc, char **argv)
{
    return c->ask != NULL ? ask_once(g, c->timeout_ms, c->ask(), c->show)
                          : ask_each(c, g, argc, argv);
}

enum status show_explanation(const struct globals *g, json_t *answer)
{
    const char *name = json_text(answer, "id");
    if (g->json)
        return STATUS_OK;
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
