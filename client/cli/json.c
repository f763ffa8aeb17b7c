#include "client/cli/json.h"

#include "proto/json_value.h"

static const char BYTES[] = "$bytes";

json_t *json_from_value(struct span value)
{
    return json_value_read(value, BYTES);
}

bool json_to_value(msgpack_packer *to, const json_t *from)
{
    return json_value_pack(to, from, BYTES);
}

const char *json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

double json_figure(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

json_t *json_text_or_null(const char *text)
{
    return text[0] != 0 ? json_string(text) : json_null();
}
