#include "client/cli/yaml.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

/* What the library's write handler fills. */
struct text {
    char *at; /* owned; a zero stands behind the last byte */
    size_t len, cap;
};

static int append(void *data, unsigned char *bytes, size_t len)
{
    struct text *t = data;
    if (t->len + len + 1 > t->cap) {
        size_t cap = 2 * (t->len + len + 1);
        char *at = realloc(t->at, cap);
        if (at == NULL)
            return 0;
        t->at = at;
        t->cap = cap;
    }
    memcpy(t->at + t->len, bytes, len);
    t->len += len;
    t->at[t->len] = 0;
    return 1;
}

/* ---- strings and numbers ---- */

/* What some reader takes for a truth or for nothing. */
static bool is_reserved(const char *text)
{
    static const char *const words[] = {"y",   "yes",   "n",    "no",  "true", "on",
                                        "off", "false", "null", "nan", "inf",  NULL};
    for (const char *const *word = words; *word != NULL; word++)
        if (strcasecmp(text, *word) == 0)
            return true;
    return false;
}

/* Begins with a letter, and holds nothing that means something to YAML anywhere. */
static bool is_plain(const char *text, size_t len)
{
    if (len == 0 || len > 120 || !isalpha((unsigned char)text[0]) || is_reserved(text))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && (text[i] == 0 || strchr("_-./", text[i]) == NULL))
            return false;
    return true;
}

static int put_scalar(yaml_emitter_t *to, const char *text, size_t len, bool string)
{
    yaml_event_t event;
    bool plain = !string || is_plain(text, len);
    return yaml_scalar_event_initialize(
               &event, NULL, NULL, (const yaml_char_t *)text, (int)len, plain, 1,
               plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE) &&
           yaml_emitter_emit(to, &event);
}

static int put_word(yaml_emitter_t *to, const char *text)
{
    return put_scalar(to, text, strlen(text), false);
}

/* YAML 1.1 knows a number by its point, and its exponent by a sign. */
static int put_real(yaml_emitter_t *to, double v)
{
    char digits[40], text[48];
    snprintf(digits, sizeof digits, "%.17g", v);
    for (int precision = 1; precision < 17; precision++) {
        char shorter[40];
        snprintf(shorter, sizeof shorter, "%.*g", precision, v);
        if (strtod(shorter, NULL) == v) {
            memcpy(digits, shorter, sizeof digits);
            break;
        }
    }
    size_t mantissa = strcspn(digits, "e");
    bool point = memchr(digits, '.', mantissa) != NULL;
    snprintf(text, sizeof text, "%.*s%s%s", (int)mantissa, digits, point ? "" : ".0",
             digits + mantissa);
    return put_word(to, text);
}

/* ---- values ---- */

static int put(yaml_emitter_t *to, const json_t *value);

static int put_list(yaml_emitter_t *to, const json_t *list)
{
    yaml_event_t event;
    size_t count = json_array_size(list);
    int good = yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                    count > 0 ? YAML_BLOCK_SEQUENCE_STYLE
                                                              : YAML_FLOW_SEQUENCE_STYLE) &&
               yaml_emitter_emit(to, &event);
    for (size_t i = 0; good && i < count; i++)
        good = put(to, json_array_get(list, i));
    return good && yaml_sequence_end_event_initialize(&event) && yaml_emitter_emit(to, &event);
}

static int put_object(yaml_emitter_t *to, const json_t *object)
{
    yaml_event_t event;
    const char *key;
    size_t len;
    json_t *value;
    int good = yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                                   json_object_size(object) > 0
                                                       ? YAML_BLOCK_MAPPING_STYLE
                                                       : YAML_FLOW_MAPPING_STYLE) &&
               yaml_emitter_emit(to, &event);
    json_object_keylen_foreach((json_t *)object, key, len, value)
    {
        good = good && put_scalar(to, key, len, true) && put(to, value);
    }
    return good && yaml_mapping_end_event_initialize(&event) && yaml_emitter_emit(to, &event);
}

static int put_integer(yaml_emitter_t *to, json_int_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, v);
    return put_word(to, text);
}

/* Recursion is bounded by the depth of the value, which who made it has bounded. */
static int put(yaml_emitter_t *to, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return put_object(to, value);
    case JSON_ARRAY:
        return put_list(to, value);
    case JSON_STRING:
        return put_scalar(to, json_string_value(value), json_string_length(value), true);
    case JSON_INTEGER:
        return put_integer(to, json_integer_value(value));
    case JSON_REAL:
        return put_real(to, json_real_value(value));
    case JSON_TRUE:
        return put_word(to, "true");
    case JSON_FALSE:
        return put_word(to, "false");
    case JSON_NULL:
        return put_word(to, "null");
    }
    return 0;
}

char *yaml_text(const json_t *value, bool marked)
{
    yaml_emitter_t to;
    yaml_event_t event;
    struct text text = {0};
    if (!yaml_emitter_initialize(&to))
        return NULL;
    yaml_emitter_set_output(&to, append, &text);
    yaml_emitter_set_unicode(&to, 1);
    yaml_emitter_set_width(&to, -1); /* a string is never folded */
    int good = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
               yaml_emitter_emit(&to, &event) &&
               yaml_document_start_event_initialize(&event, NULL, NULL, NULL, !marked) &&
               yaml_emitter_emit(&to, &event) && put(&to, value) &&
               yaml_document_end_event_initialize(&event, 1) && yaml_emitter_emit(&to, &event) &&
               yaml_stream_end_event_initialize(&event) && yaml_emitter_emit(&to, &event);
    yaml_emitter_delete(&to);
    if (good)
        return text.at;
    free(text.at);
    return NULL;
}
