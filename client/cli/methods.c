/* ergon methods: what the server can be asked. */
#include "client/cli/json.h"
#include "client/cli/render.h"
#include "client/cli/session.h"

#include "proto/encoder.h"

enum { METHODS_TIMEOUT_MS = 10 * 1000, NAME_MAX_BYTES = 256 };

static const char *const COLUMNS[] = {"name", "kind", "module", "summary", NULL};

/* What server.describe says, or the bare name where it says nothing. */
static json_t *describe(struct session *s, const json_t *name)
{
    uint8_t params[1 + ENC_HEAD_MAX + NAME_MAX_BYTES];
    struct span text = span_of(json_string_value(name), json_string_length(name));
    struct span result;
    if (text.len > NAME_MAX_BYTES)
        return NULL;
    uint8_t *end = enc_str(enc_array(params, 1), text);
    struct span packed = span_of(params, (size_t)(end - params));
    if (session_try(s, "server.describe", packed, &result) != STATUS_OK)
        return json_pack("{s:O}", "name", name);
    return json_from_value(result);
}

static json_t *describe_all(struct session *s, const json_t *names)
{
    size_t i;
    json_t *name;
    json_t *all = json_array();
    json_array_foreach((json_t *)names, i, name)
    {
        json_t *one = json_is_string(name) ? describe(s, name) : json_incref(name);
        json_array_append_new(all, one);
    }
    return all;
}

static void print_names(const json_t *names)
{
    size_t i;
    json_t *name;
    json_array_foreach((json_t *)names, i, name)
    {
        if (json_is_string(name))
            puts(json_string_value(name));
    }
}

static enum status print_methods(struct session *s, json_t *names)
{
    bool good = json_is_array(names);
    json_t *all = s->globals->verbose && good ? describe_all(s, names) : json_incref(names);
    if (s->globals->json)
        good = json_print(all, false);
    else if (good && s->globals->verbose)
        render_table(all, COLUMNS, 0, colour_wanted(s->globals, stdout));
    else
        print_names(names);
    if (!good)
        complain("the answer of server.methods is no list");
    json_decref(all);
    return good ? STATUS_OK : STATUS_REMOTE;
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    struct session s;
    struct span result;
    (void)options;
    (void)argc;
    (void)argv;
    enum status status = session_open(&s, g, METHODS_TIMEOUT_MS);
    if (status != STATUS_OK)
        return status;
    status = session_call(&s, "server.methods", span_of(NULL, 0), &result);
    if (status == STATUS_OK) {
        json_t *names = json_from_value(result);
        status = print_methods(&s, names);
        json_decref(names);
    }
    session_close(&s);
    return status;
}

const struct command METHODS = {
    .name = "methods",
    .arguments = "",
    .summary = "list the methods of the server",
    .text = "Prints a name a line; with -v a table with the kind and the summary of each; with\n"
            "--json an array of names, or with -v of objects.\n",
    .examples = "  ergon methods\n"
                "  ergon methods -v\n",
    .run = run,
};
