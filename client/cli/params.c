#include "client/cli/params.h"

#include "client/cli/cli.h"
#include "client/cli/files.h"
#include "client/cli/json.h"
#include "proto/envelope.h"

static bool pack_file(msgpack_packer *to, const char *path)
{
    struct file_bytes file;
    if (path[0] == 0) {
        complain("a file name stands behind @; --string @ is the string");
        return false;
    }
    if (!file_read(path, UINT32_MAX, &file))
        return false;
    bool good = msgpack_pack_bin_with_body(to, file.at, file.len) == 0;
    if (!good)
        complain_as("MEMORY", NULL, "out of memory");
    file_bytes_fini(&file);
    return good;
}

static bool pack_string(msgpack_packer *to, const char *text)
{
    return msgpack_pack_str_with_body(to, text, strlen(text)) == 0;
}

/* A sign, digits with at most one point or comma, an exponent; or 0x and digits.  "10s",
 * "2026-11-22" and "10.0.0.1" are none. */
static bool is_nearly_number(const char *text)
{
    const char *c = text + (*text == '-' || *text == '+');
    size_t whole = strspn(c, "0123456789");
    if (whole == 1 && *c == '0' && (c[1] == 'x' || c[1] == 'X'))
        return c[2] != 0 && c[2 + strspn(c + 2, "0123456789abcdefABCDEF")] == 0;
    c += whole;
    size_t rest = 0;
    if (*c == '.' || *c == ',')
        rest = strspn(++c, "0123456789");
    c += rest;
    if (whole + rest > 0 && (*c == 'e' || *c == 'E')) {
        c++;
        c += *c == '-' || *c == '+';
        c += strspn(c, "0123456789");
    }
    return whole + rest > 0 && *c == 0;
}

static bool is_meant_as_json(const char *text)
{
    return (text[0] != 0 && strchr("{[\"", text[0]) != NULL) || is_nearly_number(text);
}

static bool pack_value(msgpack_packer *to, json_t *value, const char *text)
{
    bool good = json_to_value(to, value);
    if (!good)
        complain("cannot send %.60s: nested too deeply, or $bytes is not base64", text);
    json_decref(value);
    return good;
}

static bool refuse_json(const char *text, const json_error_t *error)
{
    complain_as("USAGE", "--string TEXT sends it as a string", "%.60s%s is no JSON: %s, at byte %d",
                text, strlen(text) > 60 ? "..." : "", error->text, error->position);
    return false;
}

static bool pack_text(msgpack_packer *to, const char *text, bool json)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (value != NULL)
        return pack_value(to, value, text);
    if (json_error_code(&error) == json_error_numeric_overflow) {
        complain_as("USAGE", "--string sends it as a string", "the number %s is too large", text);
        return false;
    }
    return json || is_meant_as_json(text) ? refuse_json(text, &error) : pack_string(to, text);
}

/* An argument is the very text that the option was given. */
static bool stands_in(const struct option_list *list, const char *argument)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i] == argument)
            return true;
    return false;
}

bool params_pack(msgpack_packer *to, const struct param_forms *forms, int argc, char **argv)
{
    bool standard_input = false;
    if (msgpack_pack_array(to, (size_t)argc) != 0)
        return false;
    for (int i = 0; i < argc; i++) {
        const char *text = argv[i];
        bool good;
        if (forms != NULL && stands_in(&forms->strings, text)) {
            good = pack_string(to, text);
        } else if (forms != NULL && stands_in(&forms->jsons, text)) {
            good = pack_text(to, text, true);
        } else if (strcmp(text, "-") == 0 && standard_input) {
            complain("standard input can be only one argument");
            good = false;
        } else if (strcmp(text, "-") == 0) {
            standard_input = true;
            good = pack_file(to, text);
        } else {
            good = text[0] == '@' ? pack_file(to, text + 1) : pack_text(to, text, false);
        }
        if (!good)
            return false;
    }
    return true;
}

static struct ergon_raw raw_of(const struct pack *p)
{
    struct span bytes = pack_bytes(p);
    return (struct ergon_raw){bytes.at, bytes.len};
}

bool task_spec_pack(struct task_spec *o, const struct param_forms *forms, const json_t *options,
                    int argc, char **argv)
{
    *o = (struct task_spec){.method = argv[0], .options.size = sizeof o->options};
    if (argv[0][0] == 0 || strlen(argv[0]) > METHOD_NAME_MAX) {
        complain("a method name has 1 to %d bytes", METHOD_NAME_MAX);
        return false;
    }
    pack_init(&o->packed_params);
    pack_init(&o->packed_options);
    if (!params_pack(&o->packed_params.packer, forms, argc - 1, argv + 1) ||
        (options != NULL && !json_to_value(&o->packed_options.packer, options))) {
        task_spec_fini(o);
        return false;
    }
    o->params = raw_of(&o->packed_params);
    o->options.more = raw_of(&o->packed_options);
    return true;
}

void task_spec_fini(struct task_spec *o)
{
    pack_fini(&o->packed_params);
    pack_fini(&o->packed_options);
}

struct ergon_request *json_request(const char *method, json_t *params)
{
    struct pack p;
    struct ergon_request *request = NULL;
    pack_init(&p);
    if (params != NULL && json_to_value(&p.packer, params))
        request = ergon_request_raw(method, raw_of(&p));
    pack_fini(&p);
    json_decref(params);
    return request;
}
