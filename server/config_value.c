#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "server/config_parts.h"

static void *member(const struct config_key *key, const void *base)
{
    return (char *)(uintptr_t)base + key->offset;
}

/* ---- numbers ---- */

static bool is_unsigned(enum config_type type)
{
    return type == CONFIG_COUNT || type == CONFIG_MODE || type == CONFIG_WORD;
}

static void store(const struct config_key *key, void *base, int64_t value)
{
    void *at = member(key, base);

    if (is_unsigned(key->type))
        *(uint32_t *)at = (uint32_t)value;
    else if (key->type == CONFIG_INTEGER)
        *(int32_t *)at = (int32_t)value;
    else if (key->type == CONFIG_BOOL)
        *(bool *)at = value != 0;
    else
        *(uint64_t *)at = (uint64_t)value;
}

static int64_t load(const struct config_key *key, const void *base)
{
    const void *at = member(key, base);

    if (is_unsigned(key->type))
        return *(const uint32_t *)at;
    if (key->type == CONFIG_INTEGER)
        return *(const int32_t *)at;
    if (key->type == CONFIG_BOOL)
        return *(const bool *)at;
    return (int64_t) * (const uint64_t *)at;
}

static void number_text(const struct config_key *key, int64_t value, char *buf, size_t size)
{
    if (key->type == CONFIG_DURATION)
        units_duration_text((uint64_t)value, buf, size);
    else if (key->type == CONFIG_SIZE)
        units_size_text((uint64_t)value, buf, size);
    else
        snprintf(buf, size, key->type == CONFIG_MODE ? "%04" PRIo64 : "%" PRId64, value);
}

static enum config_outcome refuse_unit(const struct config_key *key, const char *text, char *why)
{
    bool duration = key->type == CONFIG_DURATION;

    if (duration && units_duration_too_long(span_text(text)))
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is too long (at most 213503d)", text);
    else if (*text && strspn(text, "0123456789") == strlen(text))
        snprintf(why, CONFIG_WHY_MAX,
                 duration ? "\"%.40s\" has no unit (write \"%.40ss\" or \"500ms\")"
                          : "\"%.40s\" has no unit (write \"%.40sk\" or \"16m\")",
                 text, text);
    else
        snprintf(why, CONFIG_WHY_MAX,
                 duration ? "\"%.40s\" is not a duration (write \"30s\", \"500ms\" or \"50us\")"
                          : "\"%.40s\" is not a size (write \"512b\", \"64k\", \"16m\" or \"1g\")",
                 text);
    return CONFIG_BAD;
}

static enum config_outcome parse_unit(const struct config_key *key, const char *text,
                                      int64_t *value, char *why)
{
    uint64_t n = 0;
    bool good = key->type == CONFIG_DURATION ? units_duration(span_text(text), &n)
                                             : units_size(span_text(text), &n);

    if (!good)
        return refuse_unit(key, text, why);
    *value = n > INT64_MAX ? INT64_MAX : (int64_t)n;
    return CONFIG_OK;
}

static enum config_outcome parse_whole(const struct config_key *key, const char *text,
                                       int64_t *value, char *why)
{
    char *end;

    *value = strtoll(text, &end, key->type == CONFIG_MODE ? 8 : 10);
    if ((isdigit((unsigned char)*text) || *text == '-') && *end == '\0')
        return CONFIG_OK; /* what strtoll clamps is beyond `max` */
    if (key->type == CONFIG_MODE)
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not an octal mode (write 0660)", text);
    else if (key->words)
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is neither a whole number nor \"%s\"", text,
                 key->words[0]);
    else
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not a whole number", text);
    return CONFIG_BAD;
}

static enum config_outcome check_range(const struct config_key *key, const char *text,
                                       int64_t value, char *why)
{
    char min[32], max[32];

    if (value >= key->min && value <= key->max)
        return CONFIG_OK;
    number_text(key, key->min, min, sizeof min);
    number_text(key, key->max, max, sizeof max);
    snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is out of range (%s to %s%s%s%s)", text, min, max,
             key->words ? ", or \"" : "", key->words ? key->words[0] : "", key->words ? "\"" : "");
    return CONFIG_BAD;
}

static enum config_outcome set_number(const struct config_key *key, void *base, const char *text,
                                      char *why)
{
    bool units = key->type == CONFIG_DURATION || key->type == CONFIG_SIZE;
    int64_t value = key->word_value;
    enum config_outcome outcome = CONFIG_OK;

    if (!key->words || strcmp(text, key->words[0]) != 0) {
        outcome = units ? parse_unit(key, text, &value, why) : parse_whole(key, text, &value, why);
        if (outcome == CONFIG_OK && !(key->words && value == key->word_value))
            outcome = check_range(key, text, value, why);
    }
    if (outcome == CONFIG_OK)
        store(key, base, value);
    return outcome;
}

/* ---- words and truth ---- */

static enum config_outcome set_word(const struct config_key *key, void *base, const char *text,
                                    char *why)
{
    int n;

    for (int i = 0; key->words[i]; i++)
        if (strcmp(key->words[i], text) == 0) {
            store(key, base, i);
            return CONFIG_OK;
        }
    n = snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not one of", text);
    for (int i = 0; key->words[i] && n < CONFIG_WHY_MAX; i++)
        n += snprintf(why + n, (size_t)(CONFIG_WHY_MAX - n), "%s %s", i ? "," : "", key->words[i]);
    return CONFIG_BAD;
}

static enum config_outcome set_bool(const struct config_key *key, void *base, const char *text,
                                    char *why)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};

    for (int i = 0; i < 8; i++)
        if (strcmp(words[i], text) == 0) {
            store(key, base, i % 2);
            return CONFIG_OK;
        }
    snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is neither true nor false", text);
    return CONFIG_BAD;
}

/* ---- all types ---- */

enum config_outcome config_value_set(const struct config_key *key, void *base, const char *text,
                                     char *why)
{
    switch (key->type) {
    case CONFIG_BOOL:
        return set_bool(key, base, text, why);
    case CONFIG_COUNT:
    case CONFIG_INTEGER:
    case CONFIG_MODE:
    case CONFIG_SIZE:
    case CONFIG_DURATION:
        return set_number(key, base, text, why);
    case CONFIG_WORD:
        return set_word(key, base, text, why);
    case CONFIG_TEXT:
    case CONFIG_NAME:
    case CONFIG_SECRET:
    case CONFIG_URL:
        return config_text_set(key, base, text, why);
    case CONFIG_CORES:
        return config_cores_set(key, base, text, why);
    case CONFIG_TEXTS:
    case CONFIG_LISTENERS:
    case CONFIG_EXECUTORS:
    case CONFIG_TENANTS:
        break;
    }
    return config_list_add(key, base, text, why);
}

static bool is_owned(enum config_type type)
{
    return type >= CONFIG_TEXT;
}

static bool number_or_word_text(const struct config_key *key, int64_t value, char *buf, size_t size)
{
    if (key->type == CONFIG_BOOL)
        snprintf(buf, size, "%s", value ? "true" : "false");
    else if (key->type == CONFIG_WORD)
        snprintf(buf, size, "%s", key->words[value]);
    else if (key->words && value == key->word_value)
        snprintf(buf, size, "%s", key->words[0]);
    else
        number_text(key, value, buf, size);
    return true;
}

bool config_value_text(const struct config_key *key, const void *base, char *buf, size_t size)
{
    *buf = '\0';
    return is_owned(key->type) ? config_text_text(key, base, buf, size)
                               : number_or_word_text(key, load(key, base), buf, size);
}

bool config_value_equal(const struct config_key *key, const void *a, const void *b)
{
    return is_owned(key->type) ? config_text_equal(key, a, b) : load(key, a) == load(key, b);
}

void config_value_clear(const struct config_key *key, void *base)
{
    if (is_owned(key->type))
        config_text_clear(key, base);
    else
        store(key, base, 0);
}
