#include "client/cli/params.h"

#include "client/cli/cli.h"
#include "client/cli/files.h"
#include "client/cli/json.h"
#include "proto/envelope.h"

static bool pack_file(msgpack_packer *to, const char *path)
{
    struct file_bytes file;
    if (path[0] == 0) {
        complain("a file name stands behind @; '\"@\"' is the string @");
        return false;
    }
    if (!file_read(path, UINT32_MAX, &file))
        return false;
    bool good = msgpack_pack_bin_with_body(to, file.at, file.len) == 0;
    if (!good)
        complain("out of memory");
    file_bytes_fini(&file);
    return good;
}

static bool pack_text(msgpack_packer *to, const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (value == NULL && json_error_code(&error) == json_error_numeric_overflow) {
        complain("the number %s is too large; quote it to send a string", text);
        return false;
    }
    if (value == NULL)
        return msgpack_pack_str_with_body(to, text, strlen(text)) == 0;
    bool good = json_to_value(to, value);
    if (!good)
        complain("cannot send %.60s: nested too deeply, or $bytes is not base64", text);
    json_decref(value);
    return good;
}

bool params_pack(msgpack_packer *to, int argc, char **argv)
{
    bool standard_input = false;
    if (msgpack_pack_array(to, (size_t)argc) != 0)
        return false;
    for (int i = 0; i < argc; i++) {
        bool dash = strcmp(argv[i], "-") == 0;
        if (dash && standard_input) {
            complain("standard input can be only one argument");
            return false;
        }
        standard_input = standard_input || dash;
        bool bytes = dash || argv[i][0] == '@';
        if (!(bytes ? pack_file(to, argv[i] + (dash ? 0 : 1)) : pack_text(to, argv[i])))
            return false;
    }
    return true;
}

static struct ergon_raw raw_of(const struct pack *p)
{
    struct span bytes = pack_bytes(p);
    return (struct ergon_raw){bytes.at, bytes.len};
}

bool task_spec_pack(struct task_spec *o, const json_t *options, int argc, char **argv)
{
    *o = (struct task_spec){.method = argv[0], .options.size = sizeof o->options};
    if (argv[0][0] == 0 || strlen(argv[0]) > METHOD_NAME_MAX) {
        complain("a method name has 1 to %d bytes", METHOD_NAME_MAX);
        return false;
    }
    pack_init(&o->packed_params);
    pack_init(&o->packed_options);
    if (!params_pack(&o->packed_params.packer, argc - 1, argv + 1) ||
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
