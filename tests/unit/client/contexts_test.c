/* The file of contexts, YAML as it is written, and which columns fit a terminal. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/contexts.h"
#include "client/cli/table.h"
#include "client/cli/yaml.h"
#include "tests/support/cmocka_env.h"

static json_t *parse(const char *text, char *why)
{
    return contexts_parse(text, strlen(text), why, 256);
}

static void expect_wrong(const char *text, const char *expected)
{
    char why[256] = "";
    assert_null(parse(text, why));
    if (strstr(why, expected) != why)
        print_error("%s\nis refused by: %s\n", text, why);
    assert_ptr_equal(strstr(why, expected), why);
}

TEST(what_is_written_is_read_back)
{
    static const char *const values[] = {"plain", "yes",  "~",  "1e3",         "a: b",  "#x",
                                         "- y",   "'",    "\"", "k\xc3\xa4se", "%a",    "\\n",
                                         "[",     "{a}",  "&b", "!c",          " lead", "trail ",
                                         "|",     "null", "="};
    char why[256];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        json_t *all = json_pack("{s:s, s:{s:{s:s, s:b, s:s}, s:{}}}", "current", "a", "contexts",
                                "a", "server_name", values[i], "insecure", 1, "timeout", "5s", "b");
        char *text = yaml_text(all, false);
        json_t *again = parse(text, why);
        assert_non_null(again);
        assert_true(json_equal(all, again));
        json_decref(all);
        json_decref(again);
        free(text);
    }
}

TEST(a_wrong_file_is_refused_with_its_line)
{
    char long_name[200] = "contexts:\n  ";
    memset(long_name + 12, 'a', 100);
    memcpy(long_name + 112, ": {}\n", 6);
    expect_wrong(long_name, "2: no name of a context");
    expect_wrong("contexts: {.a: {}}\n", "1: no name of a context");
    expect_wrong("contexts: {a/b: {}}\n", "1: no name of a context");
    expect_wrong("contexts:\n  a: {}\n  a: {}\n", "3: stands twice: a");
    expect_wrong("contexts: {a: {}}\n---\ncontexts: {b: {}}\n", "3: a second document");
    expect_wrong("- a\n", "1: names with values");
    expect_wrong("contexts: 5\n", "1: names with values");
    expect_wrong("contexs: {}\n", "1: there is no setting 'contexs'; did you mean 'contexts'?");
    expect_wrong("contexts:\n  a:\n    token: {}\n", "3: token: one line of text");
    expect_wrong("contexts:\n  a:\n    token: \"a\\nb\"\n", "3: token: one line of text");
    expect_wrong("contexts:\n  a:\n    token: \"a\\0b\"\n", "3: token: one line of text");
    expect_wrong("contexts:\n  a:\n    token: \"\\e[31m\"\n", "3: token: one line of text");
    expect_wrong("contexts:\n  a:\n    insecure: perhaps\n", "3: insecure: true or false");
    expect_wrong("contexts:\n  a:\n    output: xml\n", "3: output: table, wide");
    expect_wrong("contexts:\n  ? [a]\n  : {}\n", "2: a name is wanted");
    expect_wrong("contexts: {a: {}}\ncurrent: [a]\n", "2: current: ");
    expect_wrong("contexts: {a: {}}\n\ncurrent: c\n", "3: the current context 'c'");
    expect_wrong("a: [\n", "2: ");
    expect_wrong("\xff\xfe\x01", "1: ");
}

TEST(no_cut_or_damage_of_a_file_does_harm)
{
    static const char whole[] =
        "current: a\ncontexts:\n  a:\n    server: unix:///x\n    token: 't'\n"
        "  b: &b {timeout: 5s, insecure: true}\n";
    char text[sizeof whole], why[256];
    for (size_t at = 0; at < sizeof whole - 1; at++)
        for (int c = 0; c < 256; c += 3) {
            memcpy(text, whole, sizeof whole);
            text[at] = (char)c;
            json_decref(contexts_parse(text, sizeof whole - 1, why, sizeof why));
            json_decref(contexts_parse(whole, at, why, sizeof why));
        }
}

TEST(contexts_are_renamed_and_deleted_in_place)
{
    char why[256];
    json_t *all = parse("current: b\ncontexts: {a: {}, b: {}, c: {}}\n", why);
    contexts_rename(all, "b", "x");
    assert_string_equal(contexts_current(all), "x");
    char *text = yaml_text(all, false);
    assert_string_equal(text, "current: x\ncontexts:\n  a: {}\n  x: {}\n  c: {}\n");
    free(text);
    contexts_delete(all, "x");
    assert_null(contexts_current(all));
    assert_null(contexts_find(all, "x"));
    assert_non_null(contexts_find(all, "c"));
    json_decref(all);
}

static void expect_yaml(json_t *value, const char *expected)
{
    char *text = yaml_text(value, false);
    assert_string_equal(text, expected);
    free(text);
    json_decref(value);
}

TEST(yaml_quotes_what_would_be_read_as_something_else)
{
    expect_yaml(json_pack("[s,s,s,s,s,s]", "no", "1", "a b", "", "t0abc-1", "off"),
                "- \"no\"\n- \"1\"\n- \"a b\"\n- \"\"\n- t0abc-1\n- \"off\"\n");
    expect_yaml(json_pack("{s:f, s:f, s:f}", "a", 1e20, "b", 0.1, "c", -2.0),
                "a: 1.0e+20\nb: 0.1\nc: -2.0\n");
    expect_yaml(
        json_pack("{s:[], s:{}, s:n, s:b, s:I}", "a", "b", "c", "d", 1, "e", (json_int_t)INT64_MIN),
        "a: []\nb: {}\nc: null\nd: true\ne: -9223372036854775808\n");
    expect_yaml(json_pack("{s:i}", "yes", 1), "\"yes\": 1\n");
}

TEST(columns_go_from_the_right_and_the_last_is_cut)
{
    const size_t widths[] = {10, 8, 30, 5};
    const uint64_t texts = 7; /* the last is of numbers */
    assert_int_equal(table_fit(widths, 4, texts, 59), 4);
    assert_int_equal(table_fit(widths, 4, texts, 58), 3); /* numbers are not cut */
    assert_int_equal(table_fit(widths, 4, texts, 52), 3);
    assert_int_equal(table_fit(widths, 4, texts, 32), 3); /* cut to 10 */
    assert_int_equal(table_fit(widths, 4, texts, 31), 2);
    assert_int_equal(table_fit(widths, 4, texts, 1), 2); /* these two stay */
    assert_int_equal(table_fit(widths, 1, texts, 1), 1);
    assert_int_equal(table_fit(widths, 0, texts, 80), 0);
}
