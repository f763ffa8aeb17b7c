#include "proto/json_value.h"

#include "proto/reader.h"

#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_TEXT_MAX = 4096 };  /* bytes of a key that is no string */
enum { JSON_DEPTH_MAX = 100 }; /* levels packed; a server refuses more anyway */

/* ---- from MessagePack ---- */

/* A value being read, and the member that stands for bytes. */
struct source {
    struct reader r;
    const char *bytes;
};

static json_t *read_value(struct source *s);

static json_t *base64(struct span bytes)
{
    if (bytes.len > INT32_MAX / 2)
        return NULL;
    char *text = malloc(4 * ((bytes.len + 2) / 3) + 1);
    if (text == NULL)
        return NULL;
    int len = EVP_EncodeBlock((unsigned char *)text, bytes.at, (int)bytes.len);
    json_t *value = json_stringn(text, (size_t)len);
    free(text);
    return value;
}

static json_t *from_bytes(const struct source *s, struct span bytes)
{
    return json_pack_ex(NULL, 0, "{s:o}", s->bytes, base64(bytes));
}

static json_t *read_string(struct source *s)
{
    struct span text;
    if (!read_text(&s->r, &text))
        return NULL;
    json_t *value = text.len == 0 ? json_string("") : json_stringn((const char *)text.at, text.len);
    return value != NULL ? value : from_bytes(s, text);
}

static json_t *read_bytes(struct source *s)
{
    struct span bytes;
    return read_text(&s->r, &bytes) ? from_bytes(s, bytes) : NULL;
}

static json_t *read_float(struct reader *r)
{
    double v;
    if (!read_number(r, &v))
        return NULL;
    if (isnan(v))
        return json_string("nan");
    if (isinf(v))
        return json_string(v > 0 ? "inf" : "-inf");
    return json_real(v);
}

static json_t *read_integer(struct reader *r)
{
    int64_t v;
    uint64_t large;
    if (read_int(r, &v))
        return json_integer(v);
    return read_uint(r, &large) ? json_sprintf("%llu", (unsigned long long)large) : NULL;
}

/* fixext 1 to 16, ext 8 to 32: the type stands behind the length, the bytes behind the type. */
static json_t *read_ext(struct reader *r)
{
    struct span raw;
    if (!read_any(r, &raw))
        return NULL;
    size_t head = raw.at[0] >= 0xd4 ? 1 : raw.at[0] == 0xc7 ? 2 : raw.at[0] == 0xc8 ? 3 : 5;
    int type = (int8_t)raw.at[head];
    json_t *bytes = base64(span_of(raw.at + head + 1, raw.len - head - 1));
    return json_pack_ex(NULL, 0, "{s:[io]}", "$ext", type, bytes);
}

static json_t *read_list(struct source *s)
{
    uint32_t count;
    json_t *list = json_array();
    if (!read_array(&s->r, &count))
        goto failed;
    for (; count > 0; count--)
        if (json_array_append_new(list, read_value(s)) != 0)
            goto failed;
    return list;
failed:
    json_decref(list);
    return NULL;
}

/* A key as an object of JSON can have it; the caller frees.  The text of a key within a key is
 * escaped again, and doubles at each level, so a long one only says how long it is. */
static char *key_text(json_t *key, size_t *len)
{
    char *text = NULL;
    if (json_is_string(key)) {
        *len = json_string_length(key);
        text = malloc(*len + 1);
        if (text != NULL)
            memcpy(text, json_string_value(key), *len + 1);
    } else if (key != NULL) {
        text = json_dumps(key, JSON_COMPACT | JSON_ENCODE_ANY);
        *len = text != NULL ? strlen(text) : 0;
        if (*len > KEY_TEXT_MAX)
            *len = (size_t)snprintf(text, KEY_TEXT_MAX, "(%zu bytes of JSON)", *len);
    }
    json_decref(key);
    return text;
}

static json_t *read_object(struct source *s)
{
    uint32_t pairs;
    json_t *object = json_object();
    if (!read_map(&s->r, &pairs))
        goto failed;
    for (; pairs > 0; pairs--) {
        size_t len;
        char *key = key_text(read_value(s), &len);
        json_t *value = read_value(s);
        if (key == NULL || json_object_setn_new(object, key, len, value) != 0) {
            if (key == NULL)
                json_decref(value);
            free(key);
            goto failed;
        }
        free(key);
    }
    return object;
failed:
    json_decref(object);
    return NULL;
}

/* Recursion is bounded by the depth that the scanner allowed. */
static json_t *read_value(struct source *s)
{
    struct reader *r = &s->r;
    bool truth;
    if (reader_at_end(r))
        return NULL;
    uint8_t first = *r->at;
    if (read_nil(r))
        return json_null();
    if (read_bool(r, &truth))
        return json_boolean(truth);
    if ((first & 0xf0) == 0x90 || first == 0xdc || first == 0xdd)
        return read_list(s);
    if ((first & 0xf0) == 0x80 || first == 0xde || first == 0xdf)
        return read_object(s);
    if (first >= 0xc4 && first <= 0xc6)
        return read_bytes(s);
    if ((first & 0xe0) == 0xa0 || (first >= 0xd9 && first <= 0xdb))
        return read_string(s);
    if (first == 0xca || first == 0xcb)
        return read_float(r);
    if ((first >= 0xc7 && first <= 0xc9) || (first >= 0xd4 && first <= 0xd8))
        return read_ext(r);
    return read_integer(r);
}

json_t *json_value_read(struct span value, const char *bytes)
{
    struct source s = {reader_of(value), bytes};
    return read_value(&s);
}

/* ---- to MessagePack ---- */

/* Where a value goes, and the member that stands for bytes. */
struct sink {
    msgpack_packer *to;
    const char *bytes;
};

static bool pack(const struct sink *s, const json_t *from, int depth);

/* How many '=' it ends with: 0 to 2; -1: it is no base64.  OpenSSL would pass over blanks at both
 * ends, and take a '=' anywhere for a digit of 0. */
static int padding_of(const char *text, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = strspn(text, digits);
    if (len % 4 != 0 || len > INT32_MAX || len - count > 2)
        return -1;
    return strspn(text + count, "=") == len - count ? (int)(len - count) : -1;
}

static bool pack_base64(msgpack_packer *to, const json_t *text)
{
    size_t len = json_string_length(text);
    const char *from = json_string_value(text);
    int padding = padding_of(from, len);
    unsigned char *bytes = padding >= 0 ? malloc(len / 4 * 3 + 1) : NULL;
    if (bytes == NULL)
        return false;
    /* Padding decodes to zeros that nobody sent. */
    int n = EVP_DecodeBlock(bytes, (const unsigned char *)from, (int)len) - padding;
    bool good = n >= 0 && msgpack_pack_bin_with_body(to, bytes, (size_t)n) == 0;
    free(bytes);
    return good;
}

static bool pack_object(const struct sink *s, const json_t *from, int depth)
{
    msgpack_packer *to = s->to;
    const json_t *bytes = json_object_get(from, s->bytes);
    const char *key;
    size_t key_len;
    json_t *value;
    if (json_is_string(bytes) && json_object_size(from) == 1)
        return pack_base64(to, bytes);
    bool good = msgpack_pack_map(to, json_object_size(from)) == 0;
    json_object_keylen_foreach((json_t *)from, key, key_len, value)
    {
        good =
            good && msgpack_pack_str_with_body(to, key, key_len) == 0 && pack(s, value, depth - 1);
    }
    return good;
}

static bool pack_list(const struct sink *s, const json_t *from, int depth)
{
    size_t count = json_array_size(from);
    bool good = msgpack_pack_array(s->to, count) == 0;
    for (size_t i = 0; good && i < count; i++)
        good = pack(s, json_array_get(from, i), depth - 1);
    return good;
}

static bool pack(const struct sink *s, const json_t *from, int depth)
{
    msgpack_packer *to = s->to;

    if (depth <= 0)
        return false;
    switch (json_typeof(from)) {
    case JSON_OBJECT:
        return pack_object(s, from, depth);
    case JSON_ARRAY:
        return pack_list(s, from, depth);
    case JSON_STRING:
        return msgpack_pack_str_with_body(to, json_string_value(from), json_string_length(from)) ==
               0;
    case JSON_INTEGER:
        return msgpack_pack_int64(to, json_integer_value(from)) == 0;
    case JSON_REAL:
        return msgpack_pack_double(to, json_real_value(from)) == 0;
    case JSON_TRUE:
        return msgpack_pack_true(to) == 0;
    case JSON_FALSE:
        return msgpack_pack_false(to) == 0;
    case JSON_NULL:
        return msgpack_pack_nil(to) == 0;
    }
    return false;
}

bool json_value_pack(msgpack_packer *to, const json_t *from, const char *bytes)
{
    const struct sink s = {to, bytes};
    return pack(&s, from, JSON_DEPTH_MAX);
}
