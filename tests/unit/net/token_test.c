/* Token files: what is accepted, what is refused and how it is said, who a token is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/net/auth/principal.h"
#include "server/net/auth/token.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

/* SHA-256 of "secret" and of "". */
#define SECRET "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
#define EMPTY  "sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"

static char path[] = "/tmp/ergon-tokens-XXXXXX";
static char error[256];

static int make_file(void **state)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int remove_file(void **state)
{
    return unlink(path);
}

static struct token_table *load(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    error[0] = '\0';
    return token_table_load(path, NULL, error, sizeof error);
}

TEST(a_token_is_a_principal)
{
    struct token_table *t = load("# who may what\n\n" SECRET " alice echo,server.*\t# hers\n"
                                 "  " EMPTY "\tnobody *\n");

    assert_non_null(t);
    const struct principal *alice = token_table_find(t, span_text("secret"));
    assert_string_equal(principal_name(alice), "token:alice");
    assert_string_equal(principal_name(token_table_find(t, span_text(""))), "token:nobody");
    assert_null(token_table_find(t, span_text("secret ")));
    assert_null(token_table_find(t, span_text("Secret")));
    principal_ref(alice); /* outlives the table */
    token_table_unref(token_table_ref(t));
    token_table_unref(t);
    assert_true(principal_may(alice, span_text("echo")));
    principal_unref(alice);
}

TEST(a_token_that_has_ended_is_none)
{
    struct token_table *t = load(SECRET " alice echo expires=2001-01-01T00:00:00Z\n" EMPTY
                                        " bob echo expires=2200-01-01T00:00:00Z\n");

    assert_non_null(t);
    assert_null(token_table_find(t, span_text("secret")));
    assert_string_equal(principal_name(token_table_find(t, span_text(""))), "token:bob");
    token_table_unref(t);
}

static void note_change(void *arg, const char *principal, const char *how)
{
    char *told = arg;
    size_t len = strlen(told);

    snprintf(told + len, 200 - len, "%s %s;", principal, how);
}

TEST(what_has_changed_is_told)
{
    struct token_table *before = load(SECRET " alice echo\n" EMPTY " bob echo\n");
    struct token_table *ends = load(SECRET " alice echo expires=2200-01-01T00:00:00Z\n");
    char told[200] = "";

    token_table_compare(before, ends, note_change, told);
    assert_string_equal(told, "token:bob removed;token:alice changed;");
    told[0] = '\0';
    token_table_compare(ends, before, note_change, told);
    assert_string_equal(told, "token:alice changed;token:bob added;");
    token_table_unref(before);
    token_table_unref(ends);
}

TEST(the_first_line_that_seems_to_grant_more_is_named)
{
    struct token_table *t = load(SECRET " alice echo\n" EMPTY " bob *\n" SECRET " carol *\n");

    assert_non_null(t);
    assert_int_equal(token_table_vain_line(t), 2);
    token_table_unref(t);
}

TEST(how_somebody_said_who_it_is_is_part_of_the_name)
{
    static const struct {
        enum principal_mechanism how;
        const char *name, *full, *tenant;
    } cases[] = {
        {PRINCIPAL_TOKEN, "alice", "token:alice", "alice"},
        {PRINCIPAL_UNIX, "alice", "unix:alice", "alice"},
        {PRINCIPAL_CERT, "alice", "cert:alice", "cert:alice"},
        {PRINCIPAL_ADDRESS, "192.0.2.7", "address:192.0.2.7", "anybody"},
        {PRINCIPAL_TOKEN, "anybody", "token:anybody", "token:anybody"},
        {PRINCIPAL_UNIX, "anybody", "unix:anybody", "unix:anybody"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct principal *p = principal_new(&(struct principal_options){
            cases[i].how, cases[i].name, .tenant = NULL, .methods = "*"});
        assert_string_equal(principal_name(p), cases[i].full);
        assert_string_equal(principal_tenant(p), cases[i].tenant);
        principal_unref(p);
    }
    const struct principal *p = principal_new(&(struct principal_options){
        PRINCIPAL_UNIX, "alice", .tenant = "elsewhere", .methods = "*"});
    assert_string_equal(principal_tenant(p), "elsewhere");
    principal_unref(p);
}

TEST(a_table_knows_the_names_of_its_tokens)
{
    struct token_table *t = load(SECRET " alice echo\n");

    assert_true(token_table_names(t, "alice"));
    assert_false(token_table_names(t, "bob"));
    assert_false(token_table_names(t, "token:alice"));
    token_table_unref(t);
}

TEST(a_pattern_is_a_name_or_its_beginning)
{
    static const struct {
        const char *methods, *method;
        bool may;
    } cases[] = {
        {"*", "anything", true},       {"*", "", true},
        {"echo", "echo", true},        {"echo", "echo2", false},
        {"echo", "ech", false},        {"server.*", "server.ping", true},
        {"server.*", "server.", true}, {"server.*", "server", false},
        {"a,b,c*", "b", true},         {"a,b,c*", "cat", true},
        {"a,b,c*", "d", false},        {"", "echo", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct principal *p = principal_new(&(struct principal_options){
            PRINCIPAL_TOKEN, "p", .tenant = NULL, .methods = cases[i].methods});
        assert_int_equal(principal_may(p, span_text(cases[i].method)), cases[i].may);
        principal_unref(p);
    }
    principal_unref(NULL);
}

TEST(what_is_wrong_is_said_with_its_line)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"secret alice *\n", ":1: a line starts with \"sha256:\""},
        {"\n#\n" SECRET "\n",
         ":3: a line is \"sha256:HASH PRINCIPAL METHOD[,METHOD...] [expires=TIME]\""},
        {SECRET " alice\n", ":1: a line is"},
        {SECRET "0 alice *\n", ":1: the hash has 65 characters instead of 64"},
        {"sha256:2bb80d alice *\n", ":1: the hash has 6 characters instead of 64"},
        {"sha256:zzb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b a *\n",
         "no hex digit"},
        {SECRET " alice a, b\n", ":1: only expires=TIME may follow the methods"},
        {SECRET " alice a,,b\n", ":1: a method is empty"},
        {SECRET " alice a,\n", ":1: a method is empty"},
        {SECRET " alice a*b\n", ":1: '*' is allowed only at the end"},
        {SECRET " alice a expires=soon\n", ":1: the end of a token is a moment"},
        {SECRET " alice a expires=2027-01-01T00:00:00Z more\n", ":1: methods are separated"},
        {SECRET " cert:alice a\n", ":1: the name of a principal cannot begin with token:"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(load(cases[i].text));
        assert_non_null(strstr(error, cases[i].expected));
        assert_ptr_equal(strstr(error, path), error);
        assert_null(strstr(error, "secret")); /* nothing of the line is shown */
    }
    assert_null(token_table_load("/nowhere/tokens", NULL, error, sizeof error));
    assert_string_equal(error, "/nowhere/tokens: No such file or directory");
}

/* Its end is not taken for a line of its own. */
TEST(a_line_that_is_too_long_is_refused)
{
    static char text[3 * 4096];
    memset(text, ' ', 4200);
    strcpy(text + 4200, SECRET " alice *\n");
    assert_null(load(text));
    assert_non_null(strstr(error, ":1: the line is longer than 4094 characters"));
}

TEST(an_empty_file_knows_nobody)
{
    struct token_table *t = load("");

    assert_non_null(t);
    assert_null(token_table_find(t, span_text("")));
    token_table_unref(t);
    token_table_unref(NULL);
}

static int attempt(void *arg)
{
    struct token_table *t = token_table_load(arg, NULL, error, sizeof error);

    if (t == NULL)
        return -1;
    token_table_unref(t);
    return 0;
}

TEST(without_memory_it_is_refused)
{
    token_table_unref(load(SECRET " a *\n" EMPTY " b *\n" SECRET " c *\n"));
    heap_fail_each(attempt, path);
}

TEST_GROUP(make_file, remove_file)
