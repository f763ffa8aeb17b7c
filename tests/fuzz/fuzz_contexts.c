/* The file of contexts of the command line.  An input is the file's text.
 *
 * What is accepted holds names and values that are allowed, is written as a file that is accepted
 * and means the same, and stays one when a context is renamed or deleted; what is refused says
 * why, with a line of the text, in one line, and quotes no token. */
#include <string.h>

#include "client/cli/contexts.h"
#include "client/cli/yaml.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_output.h"

enum { TEXT_MAX = 16384, WHY_SIZE = 512 };

static const char marker[] = "Qx7Zk3Wv"; /* a token */

static bool is_key(const char *name)
{
    for (const char *const *key = CONTEXT_KEYS; *key; key++)
        if (strcmp(name, *key) == 0)
            return true;
    return false;
}

static void check_context(const json_t *context)
{
    const char *key;
    json_t *value;

    CHECK(json_is_object(context));
    json_object_foreach((json_t *)(uintptr_t)context, key, value)
    {
        bool truth = strcmp(key, "insecure") == 0;
        CHECK(is_key(key));
        CHECK(truth ? json_is_boolean(value) : json_is_string(value));
        if (truth)
            continue;
        struct span text = span_text(json_string_value(value));
        CHECK(text.len > 0 && text.len <= CONTEXT_VALUE_MAX);
        CHECK(text.len == json_string_length(value));
        fuzz_check_plain(text, true);
        CHECK(context_value_wrong(key, json_string_value(value)) == NULL);
    }
}

static void check_contexts(const json_t *all)
{
    const char *name, *current = contexts_current(all);
    json_t *context;

    CHECK(json_is_object(json_object_get(all, "contexts")));
    CHECK(json_object_size(all) == (current ? 2 : 1));
    CHECK(!current || contexts_find(all, current));
    json_object_foreach(json_object_get(all, "contexts"), name, context)
    {
        CHECK(context_name_is_good(name) && contexts_find(all, name) == context);
        check_context(context);
    }
}

/* As it is written, and read anew. */
static void check_written(const json_t *all)
{
    char why[WHY_SIZE], *text = yaml_text(all, false);

    CHECK(text);
    json_t *again = contexts_parse(text, strlen(text), why, sizeof why);
    CHECK(again && json_equal(all, again));
    json_decref(again);
    free(text);
}

static void check_changed(json_t *all)
{
    static const char other[] = "another-one";
    void *first = json_object_iter(json_object_get(all, "contexts"));
    size_t count = json_object_size(json_object_get(all, "contexts"));
    char name[CONTEXT_NAME_MAX + 1];

    if (!first || contexts_find(all, other))
        return;
    snprintf(name, sizeof name, "%s", json_object_iter_key(first));
    bool current = contexts_current(all) && strcmp(contexts_current(all), name) == 0;
    contexts_rename(all, name, other);
    CHECK(!contexts_find(all, name) && contexts_find(all, other));
    CHECK(!current || strcmp(contexts_current(all), other) == 0);
    check_contexts(all);
    check_written(all);
    contexts_delete(all, other);
    CHECK(json_object_size(json_object_get(all, "contexts")) == count - 1);
    CHECK(!current || !contexts_current(all));
    check_contexts(all);
    check_written(all);
}

static void check_why(const char *why, size_t lines)
{
    char *end;
    unsigned long line = strtoul(why, &end, 10);

    CHECK(end > why && *end == ':' && strlen(why) < WHY_SIZE - 1);
    CHECK(line >= 1 && line <= lines + 1);
    fuzz_check_plain(span_text(why), true);
}

/* The ends of lines that YAML knows. */
static size_t lines_of(const uint8_t *text, size_t size)
{
    size_t lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n' || text[i] == '\r' || text[i] == 0x85 || text[i] == 0xa8 ||
                 text[i] == 0xa9 || text[i] == 0x28 || text[i] == 0x29;
    return lines;
}

static void check_quotes(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX + 64];
    char why[WHY_SIZE] = "";
    size_t len = (size_t)snprintf(text, sizeof text, "contexts: {x: {token: %s}}\n", marker);

    if (memmem(data, size, marker, strlen(marker)))
        return;      /* as a name it may be quoted */
    len -= size % 4; /* the token may go on there */
    memcpy(text + len, data, size);
    json_t *all = contexts_parse(text, len + size, why, sizeof why);
    CHECK(all || !strstr(why, marker));
    json_decref(all);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    char why[WHY_SIZE] = "";

    if (size > TEXT_MAX)
        return;
    json_t *all = contexts_parse((const char *)data, size, why, sizeof why);
    if (all) {
        check_contexts(all);
        check_written(all);
        check_changed(all);
        json_decref(all);
    } else {
        check_why(why, lines_of(data, size));
    }
    check_quotes(data, size);
}
