/* The parts of the command line that need no server: options, JSON, statuses. */
#include <stdlib.h>

#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/params.h"
#include "client/cli/status.h"
#include "tests/support/cmocka_env.h"

/* ---- options ---- */

struct filled {
    bool flag;
    const char *text;
    uint64_t duration, period;
    uint64_t size;
    uint64_t number;
    struct option_list list;
};

static const struct option_spec SPECS[] = {
    {'f', "flag", NULL, "", OPTION_FLAG, offsetof(struct filled, flag)},
    {'t', "text", "T", "", OPTION_TEXT, offsetof(struct filled, text)},
    {'d', "duration", "D", "", OPTION_DURATION, offsetof(struct filled, duration)},
    {'p', "period", "P", "", OPTION_PERIOD, offsetof(struct filled, period)},
    {'s', "size", "S", "", OPTION_SIZE, offsetof(struct filled, size)},
    {'n', "number", "N", "", OPTION_NUMBER, offsetof(struct filled, number)},
    {'l', "list", "L", "", OPTION_LIST, offsetof(struct filled, list)},
    {0},
};

/* Parses words up to NULL; what is left over stands in front of them. */
static bool parse(struct filled *to, char **words, int *left, bool stop, char *why)
{
    struct option_set set = {SPECS, to};
    int count = 0;
    while (words[count] != NULL)
        count++;
    *to = (struct filled){0};
    *left = count;
    return options_parse(&set, 1, left, words, stop, why, 128);
}

TEST(options_and_arguments_mix)
{
    char *words[] = {"a",   "-f",     "--text=x", "b",  "-5", "-d", "5s", "-",
                     "-n3", "--size", "64k",      "--", "-t", "c",  NULL};
    static const char *const expected[] = {"a", "b", "-5", "-", "-t", "c"};
    struct filled f;
    char why[128] = "";
    int left;
    assert_true(parse(&f, words, &left, false, why));
    assert_true(f.flag);
    assert_string_equal(f.text, "x");
    assert_int_equal(f.duration, UINT64_C(5000000000));
    assert_int_equal(f.size, 65536);
    assert_int_equal(f.number, 3);
    assert_int_equal(left, 6);
    for (int i = 0; i < left; i++)
        assert_string_equal(words[i], expected[i]);
}

TEST(a_period_has_its_value_behind_an_equals_sign_or_none)
{
    char *words[] = {"--period=5s", "a", NULL}, *bare[] = {"--period", "5s", "-p", "7s", NULL},
         *wrong[] = {"--period=soon", NULL};
    struct filled f;
    char why[128] = "";
    int left;
    assert_true(parse(&f, words, &left, false, why));
    assert_int_equal(f.period, UINT64_C(5000000000));
    assert_true(parse(&f, bare, &left, false, why));
    assert_int_equal(f.period, UINT64_C(2000000000));
    assert_int_equal(left, 2);
    assert_false(parse(&f, wrong, &left, false, why));
}

TEST(an_option_may_stand_several_times)
{
    char *words[] = {"-l", "a", "x", "--list=b", "-lc", NULL};
    char *many[2 * OPTION_LIST_MAX + 3];
    struct filled f;
    char why[128] = "";
    int left;
    assert_true(parse(&f, words, &left, false, why));
    assert_int_equal(f.list.count, 3);
    assert_string_equal(f.list.at[0], "a");
    assert_string_equal(f.list.at[2], "c");
    for (size_t i = 0; i < 2 * OPTION_LIST_MAX + 2; i++)
        many[i] = i % 2 == 0 ? "-l" : "a";
    many[2 * OPTION_LIST_MAX + 2] = NULL;
    assert_false(parse(&f, many, &left, false, why));
    assert_non_null(strstr(why, "--list"));
}

TEST(parsing_stops_at_the_command)
{
    char *words[] = {"-t", "x", "command", "-f", NULL};
    struct filled f;
    char why[128];
    int left;
    assert_true(parse(&f, words, &left, true, why));
    assert_false(f.flag);
    assert_int_equal(left, 2);
    assert_string_equal(words[1], "-f");
}

TEST(wrong_options_are_refused)
{
    char *cases[][3] = {
        {"--flags", NULL}, {"-x", NULL},          {"--text", NULL},        {"--duration", "5"},
        {"--number", "0"}, {"--number=-1", NULL}, {"--flag=yes", NULL},    {"--size", "many"},
        {"-fx", NULL},     {"--number", "1x"},    {"--duration=-1s", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct filled f;
        char why[128] = "";
        int left;
        assert_false(parse(&f, cases[i], &left, false, why));
        assert_true(why[0] != 0);
    }
}

/* ---- JSON ---- */

static void expect_packed(char *argument, const char *bytes, size_t len)
{
    msgpack_sbuffer out;
    msgpack_packer packer;
    msgpack_sbuffer_init(&out);
    msgpack_packer_init(&packer, &out, msgpack_sbuffer_write);
    assert_true(params_pack(&packer, &(struct param_forms){0}, 1, &argument));
    assert_int_equal(out.size, len + 1);
    assert_memory_equal(out.data + 1, bytes, len);
    msgpack_sbuffer_destroy(&out);
}

TEST(arguments_are_json_or_strings)
{
    expect_packed("hello", "\xa5hello", 6);
    expect_packed("5", "\x05", 1);
    expect_packed("-1", "\xff", 1);
    expect_packed("null", "\xc0", 1);
    expect_packed("\"5\"",
                  "\xa1"
                  "5",
                  2);
    expect_packed("[1,true]", "\x92\x01\xc3", 3);
    expect_packed("{\"a\":2}",
                  "\x81\xa1"
                  "a\x02",
                  4);
    expect_packed("{\"$bytes\":\"aGk=\"}", "\xc4\x02hi", 4);
    expect_packed("{\"$bytes\":\"\"}", "\xc4\x00", 2);
    expect_packed("10s",
                  "\xa3"
                  "10s",
                  4);
    expect_packed("@/dev/null", "\xc4\x00", 2);
}

static void expect_json(const char *bytes, size_t len, const char *expected)
{
    json_t *value = json_from_value(span_of(bytes, len));
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    json_decref(value);
}

TEST(every_value_has_a_json_form)
{
    expect_json("\xc0", 1, "null");
    expect_json("\xc2", 1, "false");
    expect_json("\xff", 1, "-1");
    expect_json("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9, "\"18446744073709551615\"");
    expect_json("\xd3\x80\0\0\0\0\0\0\0", 9, "-9223372036854775808");
    expect_json("\xcb\x3f\xf8\0\0\0\0\0\0", 9, "1.5");
    expect_json("\xcb\x40\x14\0\0\0\0\0\0", 9, "5.0");
    expect_json("\xca\x7f\xc0\0\0", 5, "\"nan\"");
    expect_json("\xca\xff\x80\0\0", 5, "\"-inf\"");
    expect_json("\xa0", 1, "\"\"");
    expect_json("\xa3"
                "a\0b",
                4, "\"a\\u0000b\"");
    expect_json("\xa1\xff", 2, "{\"$bytes\":\"/w==\"}");
    expect_json("\xc4\x02hi", 4, "{\"$bytes\":\"aGk=\"}");
    expect_json("\xc4\x00", 2, "{\"$bytes\":\"\"}");
    expect_json("\xd4\xff\x2a", 3, "{\"$ext\":[-1,\"Kg==\"]}");
    expect_json("\xc7\x02\x05hi", 5, "{\"$ext\":[5,\"aGk=\"]}");
    expect_json("\x82\x01\x02\xa1k\x91\xc0", 7, "{\"1\":2,\"k\":[null]}");
}

TEST(too_deep_or_bad_base64_is_refused)
{
    char deep[512] = "";
    msgpack_sbuffer out;
    msgpack_packer packer;
    memset(deep, '[', 200);
    memset(deep + 200, ']', 200);
    char *cases[] = {deep,
                     "{\"$bytes\":\"a\"}",
                     "{\"$bytes\":\"****\"}",
                     "999999999999999999999999",
                     "[1",
                     "{",
                     "\"",
                     "007",
                     "1,5",
                     ".5"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        msgpack_sbuffer_init(&out);
        msgpack_packer_init(&packer, &out, msgpack_sbuffer_write);
        assert_false(params_pack(&packer, &(struct param_forms){0}, 1, &cases[i]));
        msgpack_sbuffer_destroy(&out);
    }
}

/* ---- statuses ---- */

TEST(statuses_are_stable)
{
    assert_int_equal(status_of(ERGON_END_OK, ""), 0);
    assert_int_equal(status_of(ERGON_END_ERROR, "FAILED"), 1);
    assert_int_equal(status_of(ERGON_END_ERROR, ""), 1);
    assert_int_equal(status_of(ERGON_END_INVALID, ""), 2);
    assert_int_equal(status_of(ERGON_END_UNREACHABLE, ""), 3);
    assert_int_equal(status_of(ERGON_END_BROKEN, ""), 3);
    assert_int_equal(status_of(ERGON_END_DENIED, ""), 4);
    assert_int_equal(status_of(ERGON_END_ERROR, "AUTH"), 4);
    assert_int_equal(status_of(ERGON_END_ERROR, "DENIED"), 4);
    assert_int_equal(status_of(ERGON_END_TIMEOUT, ""), 5);
    assert_int_equal(status_of(ERGON_END_ERROR, "DEADLINE"), 5);
    assert_int_equal(status_of(ERGON_END_ERROR, "NO_METHOD"), 6);
    assert_int_equal(status_of(ERGON_END_ERROR, "NOT_FOUND"), 6);
    assert_int_equal(status_of(ERGON_END_ERROR, "BUSY"), 7);
    assert_int_equal(status_of(ERGON_END_ERROR, "TOO_LARGE"), 7);
    assert_int_equal(status_of(ERGON_END_ERROR, "DRAINING"), 7);
}
