#include "client/cli/result.h"

#include "client/cli/json.h"
#include "proto/reader.h"

#include <unistd.h>

enum status result_print(const struct globals *g, struct span result)
{
    struct reader r = reader_of(result);
    struct span text;
    bool terminal = isatty(STDOUT_FILENO);
    if (!g->json && read_text(&r, &text)) {
        fwrite(text.at, 1, text.len, stdout);
        if (terminal && (text.len == 0 || text.at[text.len - 1] != '\n'))
            putchar('\n');
        return STATUS_OK;
    }
    json_t *value = json_from_value(result);
    bool good = json_print(value, terminal && !g->json);
    json_decref(value);
    if (!good)
        complain("the result cannot be shown as JSON");
    return good ? STATUS_OK : STATUS_REMOTE;
}

enum status print_json(json_t *value)
{
    bool good = json_print(value, false);
    json_decref(value);
    if (!good)
        complain("the answer cannot be shown as JSON");
    return good ? STATUS_OK : STATUS_REMOTE;
}

enum status ask_json(struct session *s, const char *method, json_t *params, json_t **result)
{
    msgpack_sbuffer bytes;
    msgpack_packer packer;
    struct span answer;
    enum status status = STATUS_REMOTE;
    *result = NULL;
    msgpack_sbuffer_init(&bytes);
    msgpack_packer_init(&packer, &bytes, msgpack_sbuffer_write);
    if (params == NULL || !json_to_value(&packer, params))
        complain("the parameters of %s cannot be packed", method);
    else
        status = session_call(s, method, span_of(bytes.data, bytes.size), &answer);
    if (status == STATUS_OK && (*result = json_from_value(answer)) == NULL) {
        complain("the answer of %s cannot be shown", method);
        status = STATUS_REMOTE;
    }
    msgpack_sbuffer_destroy(&bytes);
    json_decref(params);
    return status;
}
