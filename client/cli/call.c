/* ergon call: one call, its result to standard output. */
#include "client/cli/params.h"
#include "client/cli/result.h"
#include "client/cli/session.h"

#include "proto/envelope.h"
#include "base/units.h"

struct call_options {
    const char *deadline; /* as it was written; NULL: none */
    bool notify;
};

static const struct option_spec OPTIONS[] = {
    {0, "deadline", "TIME", "the server gives up after this long: 250ms, 5s", OPTION_TEXT,
     offsetof(struct call_options, deadline)},
    {0, "notify", NULL, "send it as a notification: there is no answer", OPTION_FLAG,
     offsetof(struct call_options, notify)},
    {0},
};

/* task.call [method, [params], {deadline}] around what is sent otherwise. */
static bool pack_deadline(msgpack_packer *to, const char *method, const char *deadline, int argc,
                          char **argv)
{
    return msgpack_pack_array(to, 3) == 0 &&
           msgpack_pack_str_with_body(to, method, strlen(method)) == 0 &&
           params_pack(to, argc, argv) && msgpack_pack_map(to, 1) == 0 &&
           msgpack_pack_str_with_body(to, "deadline", strlen("deadline")) == 0 &&
           msgpack_pack_str_with_body(to, deadline, strlen(deadline)) == 0;
}

static enum status call_and_print(const struct globals *g, const struct call_options *o,
                                  const char *method, struct span params)
{
    struct session s;
    struct span result;
    enum status status = session_open(&s, g, 0);
    if (status != STATUS_OK)
        return status;
    if (o->notify)
        status = session_notify(&s, method, params);
    else
        status = session_call(&s, method, params, &result);
    if (status == STATUS_OK && !o->notify)
        status = result_print(g, result);
    session_close(&s);
    return status;
}

static bool check(const struct call_options *o, const char *method)
{
    uint64_t ns;
    if (method[0] == 0 || strlen(method) > METHOD_NAME_MAX)
        complain("a method name has 1 to %d bytes", METHOD_NAME_MAX);
    else if (o->deadline != NULL && !units_duration(span_text(o->deadline), &ns))
        complain("option --deadline: '%s' is not %s", o->deadline,
                 units_duration_expected(span_text(o->deadline)));
    else if (o->deadline != NULL && o->notify)
        complain("--deadline is for an answer, and with --notify there is none");
    else
        return true;
    return false;
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct call_options *o = options;
    const char *method = argv[0];
    msgpack_sbuffer params;
    msgpack_packer packer;
    enum status status = STATUS_USAGE;
    if (!check(o, method))
        return status;
    msgpack_sbuffer_init(&params);
    msgpack_packer_init(&packer, &params, msgpack_sbuffer_write);
    bool packed = o->deadline != NULL
                      ? pack_deadline(&packer, method, o->deadline, argc - 1, argv + 1)
                      : params_pack(&packer, argc - 1, argv + 1);
    if (packed)
        status = call_and_print(g, o, o->deadline != NULL ? "task.call" : method,
                                span_of(params.data, params.size));
    msgpack_sbuffer_destroy(&params);
    return status;
}

const struct command CALL = {
    .name = "call",
    .arguments = "METHOD [ARG...]",
    .summary = "call a method and print its result",
    .text = "An ARG that parses as JSON is JSON, @FILE is the bytes of the file, - is the bytes\n"
            "of standard input, and anything else is a string ('\"@x\"' is the string @x).\n"
            "A result that is a single string or bytes is written as it is; every other one,\n"
            "and every one with --json, as JSON, where bytes are {\"$bytes\": \"base64\"}. An\n"
            "ARG may hold such an object too. Without --timeout it waits as long as it takes.\n",
    .examples = "  ergon call echo hello\n"
                "  ergon call sum '[1, 2, 3]'\n"
                "  ergon call hash sha256 @README.md hex\n"
                "  tar c docs | ergon call compress - > docs.tar.gz\n"
                "  ergon call --deadline 2s sleep 10s\n",
    .options = OPTIONS,
    .options_size = sizeof(struct call_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .run = run,
};
