/* JSON of others, as the admin listener and the command line take it, to MessagePack and back; and
 * the YAML that is written of it.  An input is the text.
 *
 * What is packed is one whole value, no deeper than the text, and read back it is the text again;
 * what is not packed is nested too deeply, or has bytes that are no base64, by a second reading.
 * The YAML is read by the library, and says the same: each string is one to any reader. */
#include <jansson.h>
#include <msgpack.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "client/cli/yaml.h"
#include "proto/json_value.h"
#include "proto/scanner.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_MAX = 16384, DEPTH_MAX = 100 };

static const char bytes_name[] = "$bin";

/* ---- base64, a second time ---- */

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != 0 ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Bits at the end that no byte needs are not looked at; -1: it is none.  `out` has room. */
static long decode(const char *text, size_t len, uint8_t *out)
{
    size_t padding = 0, n = 0;
    unsigned have = 0, bits = 0;

    while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
        padding++;
    if (len % 4 != 0)
        return -1;
    for (size_t i = 0; i < len - padding; i++) {
        int digit = digit_of(text[i]);
        if (digit < 0)
            return -1;
        bits = bits << 6 | (unsigned)digit;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (uint8_t)(bits >> have);
        }
    }
    return (long)n;
}

/* The text of an object that stands for bytes; NULL: it is a map. */
static const json_t *bytes_of(const json_t *object)
{
    const json_t *text = json_object_get(object, bytes_name);

    return json_object_size(object) == 1 && json_is_string(text) ? text : NULL;
}

static long bytes_decode(const json_t *text, uint8_t *out)
{
    return decode(json_string_value(text), json_string_length(text), out);
}

/* ---- there and back ---- */

static bool is_good(const json_t *value, int depth)
{
    static uint8_t out[TEXT_MAX];
    const char *key;
    size_t i;
    json_t *part;

    if (depth == 0)
        return false;
    if (json_is_object(value) && bytes_of(value))
        return bytes_decode(bytes_of(value), out) >= 0;
    json_object_foreach((json_t *)(uintptr_t)value, key, part)
    {
        if (!is_good(part, depth - 1))
            return false;
    }
    json_array_foreach(value, i, part)
    {
        if (!is_good(part, depth - 1))
            return false;
    }
    return true;
}

static bool same(const json_t *a, const json_t *b);

static bool same_bytes(const json_t *a, const json_t *b)
{
    static uint8_t of_a[TEXT_MAX], of_b[TEXT_MAX];
    long n = bytes_decode(a, of_a);

    return n == bytes_decode(b, of_b) && memcmp(of_a, of_b, (size_t)n) == 0;
}

static bool same_object(const json_t *a, const json_t *b)
{
    const char *key;
    size_t len;
    json_t *part;

    if (json_object_size(a) != json_object_size(b) || !bytes_of(a) != !bytes_of(b))
        return false;
    if (bytes_of(a))
        return same_bytes(bytes_of(a), bytes_of(b));
    json_object_keylen_foreach((json_t *)(uintptr_t)a, key, len, part)
    {
        const json_t *other = json_object_getn(b, key, len);
        if (!other || !same(part, other))
            return false;
    }
    return true;
}

static bool same(const json_t *a, const json_t *b)
{
    size_t i;
    json_t *part;

    if (json_is_object(a) && json_is_object(b))
        return same_object(a, b);
    if (!json_is_array(a) || !json_is_array(b))
        return json_equal(a, b);
    if (json_array_size(a) != json_array_size(b))
        return false;
    json_array_foreach(a, i, part)
    {
        if (!same(part, json_array_get(b, i)))
            return false;
    }
    return true;
}

static void check_packed(const json_t *value)
{
    static const struct scan_limits limits = {.message_max = 1 << 20, .depth_max = DEPTH_MAX};
    msgpack_sbuffer packed;
    msgpack_packer packer;
    struct scanner s;

    msgpack_sbuffer_init(&packed);
    msgpack_packer_init(&packer, &packed, msgpack_sbuffer_write);
    bool good = json_value_pack(&packer, value, bytes_name);
    CHECK(good == is_good(value, DEPTH_MAX));
    if (good) {
        scanner_init(&s);
        CHECK(scanner_run(&s, &limits, span_of(packed.data, packed.size)) == SCAN_WHOLE);
        CHECK(s.done == packed.size);
        json_t *again = json_value_read(span_of(packed.data, packed.size), bytes_name);
        CHECK(again && same(value, again));
        json_decref(again);
    }
    msgpack_sbuffer_destroy(&packed);
}

/* ---- YAML ---- */

/* What a reader of YAML 1.1 or 1.2 takes a word without quotes for, that begins as a string of ours
 * may, if not for a string. */
static bool is_other(const char *text)
{
    static const char *const words[] = {"y",  "n",   "yes",  "no",   "true", "false",
                                        "on", "off", "null", ".nan", ".inf", NULL};

    for (const char *const *word = words; *word; word++)
        if (strcasecmp(text, *word) == 0)
            return true;
    return !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *text);
}

static bool is_scalar(const yaml_node_t *node, const json_t *value)
{
    const char *text = (const char *)node->data.scalar.value;
    size_t len = node->data.scalar.length;
    bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    char *end;

    if (json_is_string(value))
        return len == json_string_length(value) &&
               memcmp(text, json_string_value(value), len) == 0 && !(plain && is_other(text));
    if (!plain)
        return false;
    if (json_is_integer(value))
        return strtoll(text, &end, 10) == json_integer_value(value) && *end == 0;
    if (json_is_real(value)) /* 1.1 knows it by the point, and wants a sign behind the e */
        return strtod(text, &end) == json_real_value(value) && *end == 0 && strchr(text, '.') &&
               (!strchr(text, 'e') || strchr("+-", strchr(text, 'e')[1]));
    return strcmp(text, json_is_null(value) ? "null" : json_is_true(value) ? "true" : "false") == 0;
}

static bool is_node(yaml_document_t *d, int index, const json_t *value);

static bool is_mapping(yaml_document_t *d, const yaml_node_t *node, const json_t *value)
{
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    const char *key;
    size_t len;
    json_t *part;

    json_object_keylen_foreach((json_t *)(uintptr_t)value, key, len, part)
    {
        json_t *name = json_stringn(key, len);
        bool good = pair < node->data.mapping.pairs.top && is_node(d, pair->key, name) &&
                    is_node(d, pair->value, part);
        json_decref(name);
        if (!good)
            return false;
        pair++;
    }
    return pair == node->data.mapping.pairs.top;
}

static bool is_sequence(yaml_document_t *d, const yaml_node_t *node, const json_t *value)
{
    const yaml_node_item_t *item = node->data.sequence.items.start;
    size_t i;
    json_t *part;

    json_array_foreach(value, i, part)
    {
        if (item == node->data.sequence.items.top || !is_node(d, *item++, part))
            return false;
    }
    return item == node->data.sequence.items.top;
}

static bool is_node(yaml_document_t *d, int index, const json_t *value)
{
    const yaml_node_t *node = yaml_document_get_node(d, index);

    if (json_is_object(value))
        return node->type == YAML_MAPPING_NODE && is_mapping(d, node, value);
    if (json_is_array(value))
        return node->type == YAML_SEQUENCE_NODE && is_sequence(d, node, value);
    return node->type == YAML_SCALAR_NODE && is_scalar(node, value);
}

static void check_yaml(const json_t *value, bool marked)
{
    yaml_parser_t parser;
    yaml_document_t d;
    char *text = yaml_text(value, marked);

    CHECK(text && *text && text[strlen(text) - 1] == '\n');
    CHECK(!marked || strncmp(text, "---", 3) == 0);
    CHECK(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    CHECK(yaml_parser_load(&parser, &d));
    CHECK(yaml_document_get_root_node(&d) && is_node(&d, 1, value));
    yaml_document_delete(&d);
    CHECK(yaml_parser_load(&parser, &d) && !yaml_document_get_root_node(&d));
    yaml_document_delete(&d);
    yaml_parser_delete(&parser);
    free(text);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    const size_t how = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
    json_error_t error;

    if (size > TEXT_MAX)
        return;
    json_t *value = json_loadb((const char *)data, size, how, &error);
    if (!value)
        return;
    check_packed(value);
    if (is_good(value, DEPTH_MAX))
        check_yaml(value, size % 2);
    json_decref(value);
}
