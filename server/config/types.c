/* The types of single values: a row of operations each. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/endpoint.h"
#include "base/units.h"
#include "server/config/key_table.h"

/* ---- what is kept as a number ---- */

/* Numbers of four bytes are at most INT32_MAX, signed or not (the test of the tables looks). */
static void store(const struct config_key *key, void *base, int64_t value)
{
    void *member = config_member(key, base);

    if (key->type->size == sizeof(bool))
        *(bool *)member = value != 0;
    else if (key->type->size == sizeof(int32_t))
        *(int32_t *)member = (int32_t)value;
    else
        *(int64_t *)member = value;
}

static int64_t load(const struct config_key *key, const void *base)
{
    const void *member = config_member(key, base);

    if (key->type->size == sizeof(bool))
        return *(const bool *)member;
    return key->type->size == sizeof(int32_t) ? *(const int32_t *)member : *(const int64_t *)member;
}

static bool equal_number(const struct config_key *key, const void *a, const void *b)
{
    return load(key, a) == load(key, b);
}

static void clear_number(const struct config_key *key, void *base)
{
    store(key, base, 0);
}

/* ---- numbers ---- */

static bool in_range(const struct config_key *key, const char *text, int64_t value, char *why)
{
    char min[32], max[32];

    if (value >= key->min && value <= key->max)
        return true;
    key->type->write(key->min, min, sizeof min);
    key->type->write(key->max, max, sizeof max);
    snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is out of range (%s to %s%s%s%s)", text, min, max,
             key->words ? ", or \"" : "", key->words ? key->words[0] : "", key->words ? "\"" : "");
    return false;
}

static enum config_outcome parse_number(const struct config_key *key, void *base, const char *text,
                                        char *why)
{
    int64_t value = key->word_value;

    if (!key->words || strcmp(text, key->words[0]) != 0) {
        if (!key->type->read(key, text, &value, why))
            return CONFIG_BAD;
        if (!(key->words && value == key->word_value) && !in_range(key, text, value, why))
            return CONFIG_BAD;
    }
    store(key, base, value);
    return CONFIG_OK;
}

static bool print_number(const struct config_key *key, const void *base, char *buf, size_t size)
{
    int64_t value = load(key, base);

    if (key->words && value == key->word_value)
        snprintf(buf, size, "%s", key->words[0]);
    else
        key->type->write(value, buf, size);
    return true;
}

/* What strtoll clamps is beyond `max`. */
static bool read_base(const char *text, int base, int64_t *value)
{
    char *end;

    *value = strtoll(text, &end, base);
    return (isdigit((unsigned char)*text) || *text == '-') && *end == '\0';
}

static bool read_whole(const struct config_key *key, const char *text, int64_t *value, char *why)
{
    if (read_base(text, 10, value))
        return true;
    if (key->words)
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is neither a whole number nor \"%s\"", text,
                 key->words[0]);
    else
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not a whole number", text);
    return false;
}

static void write_whole(int64_t value, char *buf, size_t size)
{
    snprintf(buf, size, "%" PRId64, value);
}

static bool read_mode(const struct config_key *key, const char *text, int64_t *value, char *why)
{
    (void)key;
    if (read_base(text, 8, value))
        return true;
    snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not an octal mode (write 0660)", text);
    return false;
}

static void write_mode(int64_t value, char *buf, size_t size)
{
    snprintf(buf, size, "%04" PRIo64, value);
}

static bool lacks_unit(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

static bool clamp(uint64_t n, int64_t *value)
{
    *value = n > INT64_MAX ? INT64_MAX : (int64_t)n;
    return true;
}

static bool read_duration(const struct config_key *key, const char *text, int64_t *value, char *why)
{
    uint64_t ns;

    (void)key;
    if (units_duration(span_text(text), &ns))
        return clamp(ns, value);
    if (units_duration_too_long(span_text(text)))
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is too long (at most 213503d)", text);
    else if (lacks_unit(text))
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" has no unit (write \"%.40ss\" or \"500ms\")", text,
                 text);
    else
        snprintf(why, CONFIG_WHY_MAX,
                 "\"%.40s\" is not a duration (write \"30s\", \"500ms\" or \"50us\")", text);
    return false;
}

static void write_duration(int64_t value, char *buf, size_t size)
{
    units_duration_text((uint64_t)value, buf, size);
}

static bool read_size(const struct config_key *key, const char *text, int64_t *value, char *why)
{
    uint64_t bytes;

    (void)key;
    if (units_size(span_text(text), &bytes))
        return clamp(bytes, value);
    if (lacks_unit(text))
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" has no unit (write \"%.40sk\" or \"16m\")", text,
                 text);
    else
        snprintf(why, CONFIG_WHY_MAX,
                 "\"%.40s\" is not a size (write \"512b\", \"64k\", \"16m\" or \"1g\")", text);
    return false;
}

static void write_size(int64_t value, char *buf, size_t size)
{
    units_size_text((uint64_t)value, buf, size);
}

/* What is there is kept in millionths. */
enum { RATIO_PARTS = 1000000, RATIO_DIGITS = 6 };

static bool read_ratio(const struct config_key *key, const char *text, int64_t *value, char *why)
{
    size_t digits = strspn(text, "0123456789");
    const char *point = text + digits, *rest = *point == '.' ? point + 1 : point;
    size_t behind = strspn(rest, "0123456789");
    int64_t part = RATIO_PARTS;

    (void)key;
    if (digits == 0 || digits > 1 || rest[behind] || (*point == '.' && behind == 0) ||
        behind > RATIO_DIGITS) {
        snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not a ratio (write \"0\", \"0.01\" or \"1\")",
                 text);
        return false;
    }
    *value = (*text - '0') * (int64_t)RATIO_PARTS;
    for (size_t i = 0; i < behind; i++)
        *value += (rest[i] - '0') * (part /= 10);
    return true;
}

static void write_ratio(int64_t value, char *buf, size_t size)
{
    snprintf(buf, size, "%" PRId64 ".%06" PRId64, value / RATIO_PARTS, value % RATIO_PARTS);
    size_t len = strlen(buf);
    while (buf[len - 1] == '0')
        buf[--len] = '\0';
    if (buf[len - 1] == '.')
        buf[len - 1] = '\0';
}

/* ---- words and truth ---- */

static enum config_outcome parse_word(const struct config_key *key, void *base, const char *text,
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

static bool print_word(const struct config_key *key, const void *base, char *buf, size_t size)
{
    snprintf(buf, size, "%s", key->words[load(key, base)]);
    return true;
}

static enum config_outcome parse_bool(const struct config_key *key, void *base, const char *text,
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

static bool print_bool(const struct config_key *key, const void *base, char *buf, size_t size)
{
    snprintf(buf, size, "%s", load(key, base) ? "true" : "false");
    return true;
}

/* ---- texts ---- */

enum { TEXT_MAX = 4095 };

static char **text_at(const struct config_key *key, const void *base)
{
    return config_member(key, base);
}

static void clear_text(const struct config_key *key, void *base)
{
    char **text = text_at(key, base);

    free(*text);
    *text = NULL;
}

static void clear_secret(const struct config_key *key, void *base)
{
    char *text = *text_at(key, base);

    if (text)
        explicit_bzero(text, strlen(text));
    clear_text(key, base);
}

static enum config_outcome set_text(const struct config_key *key, void *base, const char *text,
                                    const char *wrong, char *why)
{
    char *copy;

    if (*text == '\0')
        wrong = "an empty value; leave the key out instead";
    else if (strlen(text) > TEXT_MAX)
        wrong = "a value is limited to 4095 bytes";
    if (wrong) {
        snprintf(why, CONFIG_WHY_MAX, "\"%.100s\": %s", text, wrong);
        return CONFIG_BAD;
    }
    copy = strdup(text);
    if (!copy)
        return CONFIG_NO_MEMORY;
    key->type->clear(key, base);
    *text_at(key, base) = copy;
    return CONFIG_OK;
}

static enum config_outcome parse_text(const struct config_key *key, void *base, const char *text,
                                      char *why)
{
    return set_text(key, base, text, NULL, why);
}

static enum config_outcome parse_url(const struct config_key *key, void *base, const char *text,
                                     char *why)
{
    struct url url;

    return set_text(key, base, text, url_parse(text, URL_LISTEN, &url), why);
}

/* A node's name, or a cluster's: it goes into rows, certificates and metrics. */
static enum config_outcome parse_nodename(const struct config_key *key, void *base,
                                          const char *text, char *why)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-";
    bool fits = strlen(text) < CONFIG_NODE_NAME_MAX && text[strspn(text, allowed)] == '\0';

    return set_text(key, base, text,
                    fits ? NULL : "write at most 63 letters, digits, dots, hyphens, underscores",
                    why);
}

/* One that others connect to. */
static enum config_outcome parse_reach(const struct config_key *key, void *base, const char *text,
                                       char *why)
{
    struct url url;

    return set_text(key, base, text, url_parse(text, URL_CONNECT, &url), why);
}

static enum config_outcome parse_adminurl(const struct config_key *key, void *base,
                                          const char *text, char *why)
{
    struct url url;

    return set_text(key, base, text, url_parse(text, URL_ADMIN, &url), why);
}

static enum config_outcome parse_collector(const struct config_key *key, void *base,
                                           const char *text, char *why)
{
    struct endpoint endpoint;

    return set_text(key, base, text, endpoint_parse(text, &endpoint), why);
}

static bool print_text(const struct config_key *key, const void *base, char *buf, size_t size)
{
    const char *text = *text_at(key, base);

    snprintf(buf, size, "%s", text ? text : "");
    return text != NULL;
}

static bool equal_text(const struct config_key *key, const void *a, const void *b)
{
    const char *x = *text_at(key, a), *y = *text_at(key, b);

    return x == y || (x && y && strcmp(x, y) == 0);
}

/* ---- cores ---- */

enum { CORE_MAX = 4095, CORES_MAX = 1024 };

static struct config_cores *cores_at(const struct config_key *key, const void *base)
{
    return config_member(key, base);
}

static void clear_cores(const struct config_key *key, void *base)
{
    struct config_cores *cores = cores_at(key, base);

    free(cores->at);
    *cores = (struct config_cores){0};
}

static bool take_number(const char **text, uint32_t *n)
{
    size_t digits = strspn(*text, "0123456789");

    *n = 0;
    if (digits == 0 || digits > 4)
        return false;
    for (size_t i = 0; i < digits; i++)
        *n = *n * 10 + (uint32_t)(*(*text)++ - '0');
    return *n <= CORE_MAX;
}

/* "3" or "0-2" */
static bool take_range(const char **text, uint32_t *first, uint32_t *last)
{
    if (!take_number(text, first))
        return false;
    *last = *first;
    if (**text != '-')
        return true;
    ++*text;
    return take_number(text, last) && *last >= *first;
}

static bool add_cores(struct config_cores *cores, uint32_t first, uint32_t last)
{
    size_t more = last - first + 1;
    uint32_t *at = realloc(cores->at, (cores->count + more) * sizeof *at);

    if (!at)
        return false;
    cores->at = at;
    for (uint32_t core = first; core <= last; core++)
        at[cores->count++] = core;
    return true;
}

static enum config_outcome read_cores(const char *text, struct config_cores *cores)
{
    uint32_t first, last;

    for (;; text++) {
        if (!take_range(&text, &first, &last) || cores->count + last - first >= CORES_MAX)
            return CONFIG_BAD;
        if (!add_cores(cores, first, last))
            return CONFIG_NO_MEMORY;
        if (*text != ',')
            return *text == '\0' ? CONFIG_OK : CONFIG_BAD;
    }
}

static enum config_outcome parse_cores(const struct config_key *key, void *base, const char *text,
                                       char *why)
{
    struct config_cores cores = {0};
    enum config_outcome outcome = read_cores(text, &cores);

    if (outcome == CONFIG_OK) {
        clear_cores(key, base);
        *cores_at(key, base) = cores;
        return CONFIG_OK;
    }
    free(cores.at);
    snprintf(why, CONFIG_WHY_MAX, "\"%.40s\" is not a list of at most 1024 cores (write \"0-2,5\")",
             text);
    return outcome;
}

static bool print_cores(const struct config_key *key, const void *base, char *buf, size_t size)
{
    const struct config_cores *cores = cores_at(key, base);
    size_t used = 0;

    *buf = '\0';
    for (size_t i = 0; i < cores->count && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%u", i ? "," : "", cores->at[i]);
    return cores->count > 0;
}

static bool equal_cores(const struct config_key *key, const void *a, const void *b)
{
    const struct config_cores *x = cores_at(key, a), *y = cores_at(key, b);

    return x->count == y->count &&
           (x->count == 0 || memcmp(x->at, y->at, x->count * sizeof *x->at) == 0);
}

/* ---- the rows ---- */

/* clang-format off */
#define NUMBER_OF(type, what)                                                                      \
    .size = sizeof(type), .parse = parse_number, .print = print_number, .equal = equal_number,     \
    .clear = clear_number, .read = read_##what, .write = write_##what
#define WORD_OF(type, what)                                                                        \
    .size = sizeof(type), .parse = parse_##what, .print = print_##what, .equal = equal_number,     \
    .clear = clear_number
#define TEXT_AS(what, how)                                                                         \
    .parse = parse_##what, .print = print_text, .equal = equal_text, .clear = clear_##how

const struct config_type config_bool = {"true or false", "[=BOOL]", WORD_OF(bool, bool)};
const struct config_type config_word = {"word", " WORD", WORD_OF(uint32_t, word)};
const struct config_type config_count = {"number", " N", NUMBER_OF(uint32_t, whole)};
const struct config_type config_integer = {"number", " N", NUMBER_OF(int32_t, whole)};
const struct config_type config_mode = {"octal mode", " MODE", true, NUMBER_OF(uint32_t, mode)};
const struct config_type config_size = {"size", " SIZE", NUMBER_OF(uint64_t, size)};
const struct config_type config_ratio = {"ratio", " RATIO", NUMBER_OF(uint32_t, ratio)};
const struct config_type config_duration = {"time", " TIME", NUMBER_OF(uint64_t, duration)};
const struct config_type config_path = {"path", " PATH", true, TEXT_AS(text, text)};
const struct config_type config_name = {"text", " NAME", true, TEXT_AS(text, text)};
const struct config_type config_secret = {"secret", "", TEXT_AS(text, secret)};
const struct config_type config_url = {"URL", " URL", true, TEXT_AS(url, text)};
const struct config_type config_nodename = {"text", " NAME", true, TEXT_AS(nodename, text)};
const struct config_type config_reach = {"URL", " URL", true, TEXT_AS(reach, text)};
const struct config_type config_adminurl = {"URL", " URL", true, TEXT_AS(adminurl, text)};
const struct config_type config_collector = {"URL", " URL", true, TEXT_AS(collector, text)};
const struct config_type config_corelist = {
    "cores", " CORES", true,
    .parse = parse_cores, .print = print_cores, .equal = equal_cores, .clear = clear_cores};
/* clang-format on */
