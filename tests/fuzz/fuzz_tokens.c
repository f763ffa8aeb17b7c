/* The token file.  An input is the file's text.
 *
 * Lines of known tokens are looked up a second time, by plain search; what is accepted is accepted
 * up to each of its lines; and no error quotes a word of the file. */
#include "server/net/auth/crypto.h"
#include "server/net/auth/principal.h"
#include "server/net/auth/token.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"

#include <ctype.h>
#include <strings.h>

enum { TEXT_MAX = 16384, CUTS_MAX = 16 };

static const char *const tokens[] = {"a", "b", "secret"};
static const char marker[] = "Qx7Zk3Wv";

static char text[TEXT_MAX + sizeof marker];
static struct fuzz_file file;

/* --- The second reading --- */

static const char *hash_of(const char *token)
{
    static char hex[2 * SHA256_SIZE + 1];
    uint8_t hash[SHA256_SIZE];

    CHECK(crypto_sha256(span_text(token), hash));
    for (int i = 0; i < SHA256_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    return hex;
}

struct words {
    char line[TEXT_MAX + 1];
    const char *name, *methods; /* in `line` */
};

/* The next word of a line, ended in place; "": there is none. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t\r");
    char *end = word + strcspn(word, " \t\r");

    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* The words of the last line of this token; false: there is none. */
static bool find_line(const char *token, struct words *found)
{
    static char copy[TEXT_MAX + 1];
    const char *hash = hash_of(token);
    bool any = false;

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char *rest = copy;
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "#\n"), line);
        const char *first = next_word(&rest);
        if (strncmp(first, "sha256:", 7) != 0 || strcasecmp(first + 7, hash) != 0)
            continue;
        found->name = next_word(&rest);
        found->methods = next_word(&rest);
        memcpy(found->line, copy, sizeof copy);
        found->name = found->line + (found->name - copy);
        found->methods = found->line + (found->methods - copy);
        any = true;
    }
    return any;
}

static bool list_fits(const char *list, const char *method)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        size_t len = strcspn(at, ",");
        bool over_others = strcmp(method, "task.any") == 0;
        if (len > 0 && at[len - 1] == '*' && !over_others
                ? strncmp(method, at, len - 1) == 0
                : len == strlen(method) && memcmp(method, at, len) == 0)
            return true;
    }
    return false;
}

static void check_token(const struct token_table *t, const char *token)
{
    static const char *const methods[] = {"echo", "server.ping", "server.pin", "", "task.any"};
    static struct words w;
    const struct principal *p = token_table_find(t, span_text(token));

    CHECK((p != NULL) == find_line(token, &w));
    if (p == NULL)
        return;
    CHECK(strncmp(principal_name(p), "token:", 6) == 0 &&
          strcmp(principal_name(p) + 6, w.name) == 0);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        CHECK(principal_may(p, span_text(methods[i])) == list_fits(w.methods, methods[i]));
}

/* --- The file --- */

static struct token_table *load(const char *content, size_t len, char *error, size_t size)
{
    fuzz_file_set(&file, span_of(content, len));
    error[0] = '\0';
    struct token_table *t = token_table_load(file.path, NULL, error, size);
    CHECK((t == NULL) == (error[0] != '\0'));
    return t;
}

/* What is accepted is accepted up to each line. */
static void check_cuts(size_t len)
{
    char error[400];
    unsigned cuts = 0;

    for (size_t at = 0; at < len && cuts < CUTS_MAX; at++)
        if (text[at] == '\n') {
            struct token_table *t = load(text, at + 1, error, sizeof error);
            CHECK(t != NULL);
            token_table_unref(t);
            cuts++;
        }
}

/* A secret anywhere in the file: whatever is wrong then, nobody reads it in the log. */
static void check_quotes(size_t len, size_t at)
{
    char error[400];

    memmove(text + at + sizeof marker - 1, text + at, len - at);
    memcpy(text + at, marker, sizeof marker - 1);
    token_table_unref(load(text, len + sizeof marker - 1, error, sizeof error));
    CHECK(strstr(error, marker) == NULL);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    char error[400];

    if (size > TEXT_MAX || memchr(data, '\0', size) != NULL)
        return;
    if (file.path[0] == '\0')
        fuzz_file_open(&file, span_of(NULL, 0));
    memcpy(text, data, size);
    text[size] = '\0';
    struct token_table *t = load(text, size, error, sizeof error);
    if (t != NULL) {
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
            check_token(t, tokens[i]);
        token_table_unref(t);
        check_cuts(size);
    }
    check_quotes(size, size > 0 ? data[size / 2] % size : 0);
}
