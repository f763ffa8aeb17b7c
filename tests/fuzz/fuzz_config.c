/* The configuration.  An input has up to three parts, with a line "%" between them: the file, the
 * variables (NAME=VALUE, a line each), the flags (a line each).
 *
 * What is refused says why.  What is accepted is printed as a file that is accepted without
 * variables and flags, and means the same. */
#include "server/config/config.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"

#include <errno.h>

enum { WORDS_MAX = 24, WORD_MAX = 8192, TEXT_MAX = 65536, PRINTED_MAX = 1 << 20 };

struct words {
    char text[WORDS_MAX][WORD_MAX];
    char *at[WORDS_MAX + 3]; /* as argv and envp are */
    int count;
};

static struct words variables, flags;
static struct fuzz_file file;
static char config_flag[64], errors[PRINTED_MAX], printed[PRINTED_MAX];

/* --- The input --- */

static struct span next_line(struct span *rest)
{
    struct span line = *rest;
    const uint8_t *end = rest->len > 0 ? memchr(rest->at, '\n', rest->len) : NULL;

    if (end)
        line.len = (size_t)(end - rest->at);
    *rest = span_behind(*rest, end ? line.len + 1 : line.len);
    return line;
}

/* Up to the next line "%", and behind it. */
static struct span next_part(struct span *rest)
{
    const uint8_t *from = rest->at;

    while (rest->len > 0) {
        const uint8_t *line = rest->at;
        if (span_is(next_line(rest), "%"))
            return span_of(from, (size_t)(line - from));
    }
    return span_of(from, (size_t)(rest->at - from));
}

static void add_word(struct words *w, struct span word)
{
    if (w->count == WORDS_MAX)
        return;
    size_t len = word.len < WORD_MAX - 1 ? word.len : WORD_MAX - 1;
    memcpy(w->text[w->count], word.at, len);
    w->text[w->count][len] = '\0';
    w->at[w->count] = w->text[w->count];
    w->count++;
}

/* Does it name a file that would be read? */
static bool names_file(struct span line)
{
    const uint8_t *is = line.len > 0 ? memchr(line.at, '=', line.len) : NULL;
    struct span name = span_of(line.at, is ? (size_t)(is - line.at) : 0);
    return span_is(name, "ERGON_CONFIG") || (name.len > 5 && memcmp(is - 5, "_FILE", 5) == 0);
}

/* No other file than the one in memory is read. */
static void take_variables(struct span part)
{
    variables.count = 0;
    while (part.len > 0) {
        struct span line = next_line(&part);
        if (!names_file(line))
            add_word(&variables, line);
    }
    variables.at[variables.count] = NULL;
}

/* The last of several --config counts. */
static void take_flags(struct span part)
{
    flags.count = 0;
    add_word(&flags, span_text("ergond"));
    while (part.len > 0 && flags.count < WORDS_MAX - 1)
        add_word(&flags, next_line(&part));
    flags.at[flags.count++] = config_flag;
    flags.at[flags.count] = NULL;
}

/* --- The configuration --- */

static struct config *load(char *const *envp, int argc, char *const *argv,
                           enum config_action *action)
{
    FILE *out = fmemopen(errors, sizeof errors, "w");

    CHECK(out);
    errors[0] = '\0';
    const struct config_input in = {.argc = argc, .argv = argv, .envp = envp, .errors = out};
    struct config *c = config_load(&in, action);
    int why = errno;
    fclose(out);
    size_t len = strlen(errors);
    CHECK(c ? len == 0 : why == EINVAL && len > 0 && errors[len - 1] == '\n');
    return c;
}

static size_t print(const struct config *c)
{
    FILE *out = fmemopen(printed, sizeof printed, "w");

    CHECK(out);
    CHECK(config_print(c, out));
    long len = ftell(out);
    fclose(out);
    CHECK(len > 0 && (size_t)len < sizeof printed);
    return (size_t)len;
}

static void differs(void *arg, const char *path, bool live)
{
    (void)arg;
    (void)live;
    if (strcmp(path, "tls.key_password") == 0)
        return; /* it is masked */
    fprintf(stderr, "printed, and read back as another: %s\n%s\n", path, printed);
    abort();
}

static void check_printed(const struct config *c)
{
    char *const argv[] = {(char[]){"ergond"}, config_flag, NULL};
    char *const none[] = {NULL};
    enum config_action action;

    fuzz_file_set(&file, span_of(printed, print(c)));
    struct config *again = load(none, 2, argv, &action);
    if (!again) {
        fprintf(stderr, "printed, and refused: %s\n%s\n", errors, printed);
        abort();
    }
    config_compare(c, again, differs, NULL);
    config_free(again);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct span rest = span_of(data, size);
    enum config_action action;

    if (size > TEXT_MAX)
        return;
    if (config_flag[0] == '\0') {
        fuzz_file_open(&file, rest);
        snprintf(config_flag, sizeof config_flag, "--config=%s", file.path);
    }
    fuzz_file_set(&file, next_part(&rest));
    take_variables(next_part(&rest));
    take_flags(rest);
    struct config *c = load(variables.at, flags.count, flags.at, &action);
    if (c && action <= CONFIG_PRINT)
        check_printed(c);
    config_free(c);
}
