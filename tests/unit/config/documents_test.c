/* Holds docs/configuration.md and docs/ergond.yaml against the table of keys. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/key_table.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

static char *read_all(const char *path)
{
    FILE *in = fopen(path, "re");
    size_t size = 1 << 18;
    char *text = calloc(1, size);

    assert_non_null(in);
    assert_non_null(text);
    assert_in_range(fread(text, 1, size, in), 1, size - 1);
    fclose(in);
    return text;
}

static bool is_word_of(const char *word, const struct config_key *key)
{
    for (size_t i = 0; word && key->words && key->words[i]; i++)
        if (strcmp(key->words[i], word) == 0)
            return true;
    return false;
}

/* The words to choose from, or the type and a word beside it.  A default says its own word. */
static void put_type(const struct config_key *key, FILE *out)
{
    bool chosen = key->type == &config_word;

    fprintf(out, " (%s", chosen ? "" : key->type->name);
    if (chosen || !is_word_of(key->normal, key))
        for (size_t i = 0; key->words && key->words[i]; i++)
            fprintf(out, "%s`%s`", !chosen ? " or " : i ? ", " : "", key->words[i]);
    fprintf(out, key->normal ? "; `%s`)" : ")", key->normal);
}

/* Does the path give the flag, with hyphens for dots and underscores? */
static bool is_regular(const struct config_key *key)
{
    const char *path = key->path, *name = key->name;

    while (*path && *name && (*path == *name || (strchr("._", *path) && *name == '-'))) {
        path++;
        name++;
    }
    return !*path && !*name;
}

static void put_names(const struct config_key *key, FILE *out)
{
    char variable[80];

    if (key->type == &config_secret) {
        config_env_name(key, variable, sizeof variable);
        fprintf(out, " `%s` `%s_FILE`", variable, variable);
    } else if (key->name && !is_regular(key))
        fprintf(out, " `--%s`", key->name);
}

/* The line of one key in the reference. */
static void put_row(const struct config_key *key, bool top, char *row, size_t size)
{
    FILE *out = fmemopen(row, size, "w");

    fprintf(out, "- `%s`", key->path);
    if (top)
        put_names(key, out);
    put_type(key, out);
    fprintf(out, ": %s%s\n", key->help, key->live ? " (reloaded)" : "");
    fclose(out);
}

static size_t check_table(const char *reference, const struct config_table *table)
{
    size_t missing = 0;

    for (size_t i = 0; i < table->count; i++) {
        char row[1024];
        put_row(&table->keys[i], table == &config_keys, row, sizeof row);
        if (strstr(reference, row))
            continue;
        missing++;
        print_error("%s", row);
    }
    return missing;
}

/* As the manual writes a flag. */
static void put_manual_name(const char *name, char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");

    fputs("\\fB\\-\\-", out);
    for (; *name; name++)
        fprintf(out, "%s%c", *name == '-' ? "\\" : "", *name);
    fputs("\\fR", out);
    fclose(out);
}

/* The section with this heading, which `mark` begins, and its end; NULL: there is none. */
static const char *section_of(const char *text, const char *mark, const char *heading,
                              const char **end)
{
    char line[128];

    snprintf(line, sizeof line, "\n%s %s\n", mark, heading);
    const char *at = strstr(text, line);
    if (at == NULL)
        return NULL;
    at += strlen(line);
    *end = strstr(at, mark);
    if (*end == NULL)
        *end = at + strlen(at);
    return at;
}

/* The reference and the manual have the headings of --help, with the same keys below them. */
TEST(the_keys_have_the_headings_of_help)
{
    char *reference = read_all(REFERENCE_PATH), *manual = read_all(MANUAL_PATH);
    const char *at = NULL, *end = NULL, *in_manual = NULL, *manual_end = NULL;
    char text[160];

    for (size_t i = 0; i < config_keys.count; i++) {
        const struct config_key *key = &config_keys.keys[i];
        if (key->heading) {
            at = section_of(reference, "###", key->heading, &end);
            in_manual = section_of(manual, ".SS", key->heading, &manual_end);
        }
        if (!at || !in_manual)
            fail_msg("no section \"%s\" in docs/configuration.md or docs/man", key->heading);
        snprintf(text, sizeof text, "- `%s`", key->path);
        if (!(strstr(at, text) && strstr(at, text) < end))
            fail_msg("docs/configuration.md: %s is below another heading", key->path);
        if (!key->name || key->type == &config_secret)
            continue;
        put_manual_name(key->name, text, sizeof text);
        if (!(strstr(in_manual, text) && strstr(in_manual, text) < manual_end))
            fail_msg("docs/man/ergond.8: %s is below another heading, or missing", text);
    }
    free(reference);
    free(manual);
}

/* An entry of `admin.listen` has the keys of an entry of `listen`, in the same words, but for those
 * that one sentence names: the reference has one list for both. */
static void check_admin_keys(const char *reference)
{
    char missing[256] = "Not in [`admin.listen`](admin.md):";
    size_t length = strlen(missing), shared = 0;

    for (size_t i = 0; i < config_listener_keys.count; i++) {
        const char *path = config_listener_keys.keys[i].path;
        size_t k = 0;
        while (k < config_admin_keys.count && strcmp(config_admin_keys.keys[k].path, path) != 0)
            k++;
        if (k < config_admin_keys.count)
            shared++;
        else
            length += (size_t)snprintf(missing + length, sizeof missing - length, " `%s`,", path);
        assert_true(length < sizeof missing);
    }
    assert_int_equal(shared, config_admin_keys.count);
    missing[length - 1] = '.';
    if (!strstr(reference, missing))
        fail_msg("docs/configuration.md lacks: %s", missing);
}

TEST(the_reference_holds_every_key)
{
    char *reference = read_all(REFERENCE_PATH);
    size_t rows = 0;

    if (check_table(reference, &config_keys) + check_table(reference, &config_listener_keys) +
            check_table(reference, &config_admin_keys) +
            check_table(reference, &config_executor_keys) +
            check_table(reference, &config_tenant_keys) +
            check_table(reference, &config_role_keys) >
        0)
        fail_msg("docs/configuration.md lacks the lines above");
    for (const char *at = strstr(reference, "\n## Reference"); (at = strstr(at, "\n- `")); at++)
        rows++;
    assert_int_equal(rows, config_keys.count + config_listener_keys.count +
                               config_executor_keys.count + config_tenant_keys.count +
                               config_role_keys.count);
    check_admin_keys(reference);
    free(reference);
}

static void differs(void *arg, const char *path, bool live)
{
    fail_msg("docs/ergond.yaml: %s is not the default", path);
}

SCRATCH_TEST(the_example_is_accepted_and_holds_the_defaults)
{
    char *example = read_all(EXAMPLE_PATH);

    struct config *normal = scratch_load(NULL, NULL, NULL);
    struct config *c = scratch_load(example, NULL, NULL);
    assert_string_equal(scratch.errors, "");
    config_compare(normal, c, differs, NULL);
    config_free(normal);
    config_free(c);
    free(example);
}

enum { LEVELS_MAX = 8, KEY_MAX = 64 };

/* Of a line: where its key stands, what stands in a comment as if it did not.  -1: it has none. */
static int key_of(const char *line, char key[KEY_MAX])
{
    int blanks = (int)strspn(line, " "), column = blanks;
    const char *at = line + blanks;

    if (*at == '#') {
        at += at[1] == ' ' ? 2 : 1;
        blanks = (int)strspn(at, " ");
        column += blanks;
        at += blanks;
    }
    if (strncmp(at, "- ", 2) == 0) {
        column += 2;
        at += 2;
    }
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    if (length == 0 || length >= KEY_MAX || at[length] != ':')
        return -1;
    snprintf(key, KEY_MAX, "%.*s", (int)length, at);
    return column;
}

/* Is there a line of the key with this path, below those that it names? */
static bool shows_key(const char *text, const char *path)
{
    struct {
        int column;
        size_t length; /* of the path down to it */
    } above[LEVELS_MAX];
    char here[LEVELS_MAX * KEY_MAX] = "", key[KEY_MAX];
    size_t depth = 0;

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        int column = key_of(line, key);
        if (column < 0)
            continue;
        while (depth > 0 && above[depth - 1].column >= column)
            depth--;
        assert_true(depth < LEVELS_MAX);
        size_t length = depth > 0 ? above[depth - 1].length : 0;
        length += (size_t)sprintf(here + length, "%s%s", depth > 0 ? "." : "", key);
        above[depth].column = column;
        above[depth++].length = length;
        if (strcmp(here, path) == 0)
            return true;
    }
    return false;
}

TEST(the_example_shows_every_key)
{
    static const struct {
        const struct config_table *table;
        const char *below;
    } tables[] = {{&config_keys, ""},
                  {&config_listener_keys, "listen."},
                  {&config_admin_keys, "admin.listen."},
                  {&config_executor_keys, "executors.list."},
                  {&config_tenant_keys, "tenants."},
                  {&config_role_keys, "roles."}};
    char *example = read_all(EXAMPLE_PATH), path[256];
    size_t missing = 0;

    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t i = 0; i < tables[t].table->count; i++) {
            snprintf(path, sizeof path, "%s%s", tables[t].below, tables[t].table->keys[i].path);
            if (!shows_key(example, path)) {
                print_error("%s\n", path);
                missing++;
            }
        }
    if (missing > 0)
        fail_msg("docs/ergond.yaml does not show the keys above");
    free(example);
}

TEST(the_table_is_sound)
{
    for (size_t i = 0; i < config_keys.count; i++) {
        const struct config_key *key = &config_keys.keys[i];
        assert_true(key->help && *key->help);
        if (key->type->size == sizeof(int32_t))
            assert_true(key->min >= INT32_MIN && key->max <= INT32_MAX);
        for (const char *c = key->name ? key->name : ""; *c; c++)
            assert_true(islower((unsigned char)*c) || *c == '-');
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(config_keys.keys[k].path, key->path);
            if (key->name && config_keys.keys[k].name)
                assert_string_not_equal(config_keys.keys[k].name, key->name);
        }
    }
    assert_in_range(config_listener_keys.count, 1, 32); /* bits of `given` */
    assert_in_range(config_admin_keys.count, 1, 32);
    assert_in_range(config_executor_keys.count, 1, 32);
    assert_in_range(config_tenant_keys.count, 1, 32);
    assert_string_equal(config_listener_keys.keys[0].path, "url");
}
