/* Parameters as a command gets them, its output as a value, its lines as progress. */
#include "client/cli/worker_form.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/json.h"
#include "tests/support/cmocka_env.h"

static char *const COMMAND[] = {"cmd", "-x"};

/* The parameters that a JSON text stands for. */
static struct pack packed(const char *json)
{
    struct pack p;
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    pack_init(&p);
    assert_true(json_to_value(&p.packer, value));
    json_decref(value);
    return p;
}

static const char *read_work(struct work *w, const struct pack *p, enum input_form form)
{
    struct span bytes = pack_bytes(p);
    return work_read(w, "a.b.add", (struct ergon_raw){bytes.at, bytes.len}, form, COMMAND, 2);
}

static void input_is(const char *params, enum input_form form, const char *input, const char *task)
{
    struct work w;
    struct pack p = packed(params);
    assert_null(read_work(&w, &p, form));
    assert_true(span_is(w.input, input));
    assert_string_equal(json_text(w.context, "task"), task);
    assert_string_equal(w.argv[1], "-x");
    assert_null(w.argv[2]);
    work_fini(&w);
    pack_fini(&p);
}

TEST(parameters_become_a_line_of_json)
{
    input_is("[1,\"a\\n\",{\"b\":null}]", INPUT_JSON, "[1,\"a\\n\",{\"b\":null}]\n", "");
    input_is("[]", INPUT_JSON, "[]\n", "");
    input_is("null", INPUT_JSON, "[]\n", "");
    input_is("7", INPUT_JSON, "[7]\n", "");
}

TEST(the_context_is_no_parameter)
{
    input_is("[1,{\"call\":3,\"task\":\"t1\"}]", INPUT_JSON, "[1]\n", "t1");
    input_is("[{\"call\":3,\"task\":null}]", INPUT_JSON, "[]\n", "");
    input_is("[{\"task\":\"t1\"}]", INPUT_JSON, "[{\"task\":\"t1\"}]\n", "");
    input_is("[{\"call\":1},2]", INPUT_JSON, "[{\"call\":1},2]\n", "");
}

TEST(a_turn_is_a_line_of_json)
{
    struct work w;
    struct pack p = packed("[1,{\"call\":3}]");
    input_is("[1,\"a\",{\"call\":3,\"actor\":\"a.b/c/d\",\"state\":{\"n\":1},\"schema\":2,"
             "\"version\":3}]",
             INPUT_TURN,
             "{\"actor\":\"a.b/c/d\",\"method\":\"add\",\"params\":[1,\"a\"],\"state\":{\"n\":1},"
             "\"schema\":2,\"version\":3}\n",
             "");
    input_is("[{\"call\":3,\"actor\":\"a.b/\",\"state\":null}]", INPUT_TURN,
             "{\"actor\":\"a.b/\",\"method\":\"add\",\"params\":[],\"state\":null,"
             "\"schema\":null,\"version\":null}\n",
             "");
    assert_non_null(read_work(&w, &p, INPUT_TURN)); /* it is no message to an actor */
    work_fini(&w);
    pack_fini(&p);
}

TEST(bytes_are_the_only_parameter)
{
    input_is("[\"abc\",{\"call\":1}]", INPUT_RAW, "abc", "");
    input_is("[{\"$bytes\":\"YWJj\"}]", INPUT_RAW, "abc", "");
    input_is("[\"\"]", INPUT_RAW, "", "");
    static const char *const refused[] = {"[]", "[1]", "[\"a\",\"b\"]", "[{\"call\":1}]"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct work w;
        struct pack p = packed(refused[i]);
        assert_non_null(read_work(&w, &p, INPUT_RAW));
        work_fini(&w);
        pack_fini(&p);
    }
}

TEST(parameters_become_arguments)
{
    static const char *const expected[] = {"cmd",  "-x",  "a b", "",         "7",
                                           "null", "1.5", "abc", "[1,\"x\"]"};
    struct work w;
    struct pack p =
        packed("[\"a b\",\"\",7,null,1.5,{\"$bytes\":\"YWJj\"},[1,\"x\"],{\"call\":1}]");
    assert_null(read_work(&w, &p, INPUT_ARGS));
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(w.argv[i], expected[i]);
    assert_null(w.argv[sizeof expected / sizeof *expected]);
    assert_int_equal(w.input.len, 0);
    work_fini(&w);
    pack_fini(&p);

    p = packed("[\"good\",{\"$bytes\":\"AGE=\"}]"); /* a zero, and an a */
    assert_non_null(read_work(&w, &p, INPUT_ARGS));
    work_fini(&w);
    pack_fini(&p);
}

static void output_is(enum output_form form, const char *bytes, size_t len, const char *json)
{
    struct pack p;
    pack_init(&p);
    const char *wrong = output_pack(&p, form, span_of(bytes, len));
    if (json == NULL) {
        assert_non_null(wrong);
    } else {
        assert_null(wrong);
        json_t *value = json_from_value(pack_bytes(&p));
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        assert_string_equal(text, json);
        free(text);
        json_decref(value);
    }
    pack_fini(&p);
}

#define OUTPUT_IS(form, text, json) output_is(form, text, sizeof text - 1, json)

TEST(output_becomes_a_value)
{
    OUTPUT_IS(OUTPUT_AUTO, "", "null");
    OUTPUT_IS(OUTPUT_AUTO, " [1, 2]\n", "[1,2]");
    OUTPUT_IS(OUTPUT_AUTO, "\"a\\u0000b\"", "\"a\\u0000b\"");
    OUTPUT_IS(OUTPUT_AUTO, "a\nb\n", "\"a\\nb\"");
    OUTPUT_IS(OUTPUT_AUTO, "{} {}", "\"{} {}\"");
    OUTPUT_IS(OUTPUT_AUTO, "\n", "\"\"");
    OUTPUT_IS(OUTPUT_AUTO, "\xff\n", "{\"$bytes\":\"/wo=\"}");
    OUTPUT_IS(OUTPUT_AUTO, "{\"$bytes\": \"*\"}", NULL);
    OUTPUT_IS(OUTPUT_TURN, "", "[null,null]");
    OUTPUT_IS(OUTPUT_TURN, "{\"result\": 7}\n", "[7,null]");
    OUTPUT_IS(OUTPUT_TURN, "{\"state\": null, \"wake\": true}",
              "[null,{\"state\":null,\"wake\":true}]");
    OUTPUT_IS(OUTPUT_TURN, "7", NULL);
    OUTPUT_IS(OUTPUT_TURN, "{} {}", NULL);
    OUTPUT_IS(OUTPUT_TURN, "{\"state\": {\"$bytes\": \"*\"}}", NULL);
    OUTPUT_IS(OUTPUT_TURN, "{\"result\": {\"$bytes\": \"*\"}, \"state\": 1}", NULL);
    OUTPUT_IS(OUTPUT_JSON, "7", "7");
    OUTPUT_IS(OUTPUT_JSON, "", NULL);
    OUTPUT_IS(OUTPUT_JSON, "seven", NULL);
    OUTPUT_IS(OUTPUT_BIN, "7", "{\"$bytes\":\"Nw==\"}");
    OUTPUT_IS(OUTPUT_BIN, "", "{\"$bytes\":\"\"}");
}

static void progress_is(const char *line, uint64_t done, uint64_t total, const char *text)
{
    uint64_t d, t;
    struct span rest = progress_read(span_text(line), &d, &t);
    assert_true(span_is(rest, text));
    assert_int_equal(d, done);
    assert_int_equal(t, total);
}

TEST(a_line_may_say_how_much_is_done)
{
    progress_is("3/10 half way", 3, 10, "half way");
    progress_is("3/10", 3, 10, "");
    progress_is("half way", 0, 0, "half way");
    progress_is("3/x", 0, 0, "3/x");
    progress_is("3/10x", 0, 0, "3/10x");
    progress_is("/10", 0, 0, "/10");
    progress_is("3", 0, 0, "3");
    progress_is("", 0, 0, "");
    progress_is("99999999999999999999/1", 0, 0, "99999999999999999999/1");
}

static void tail_is(const char *bytes, size_t len, const char *text)
{
    struct error_tail t = {0};
    error_tail_add(&t, bytes, len / 2);
    error_tail_add(&t, bytes + len / 2, len - len / 2);
    assert_string_equal(error_tail_text(&t), text);
    error_tail_fini(&t);
}

#define TAIL_IS(bytes, text) tail_is(bytes, sizeof bytes - 1, text)

TEST(the_end_of_standard_error_is_shown)
{
    TAIL_IS("", "");
    TAIL_IS("a\n\tb", "a\n\tb");
    TAIL_IS("a\0b", "ab");
    TAIL_IS("1\r22\r\n\r\rx\r", "22\nx");
    TAIL_IS("12\r3\n45\r6", "3\n6");
}

/* Whatever the pieces in which it comes: the last 16 KiB, from the begin of a line on. */
TEST(the_end_of_much_is_shown_from_a_line_on)
{
    static char bytes[5 * ERROR_TAIL_MAX];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i % 100 == 99 ? '\n' : (char)('a' + i % 26);
    for (size_t piece = 1; piece <= sizeof bytes; piece *= 3) {
        struct error_tail t = {0};
        for (size_t at = 0; at < sizeof bytes; at += piece)
            error_tail_add(&t, bytes + at, piece < sizeof bytes - at ? piece : sizeof bytes - at);
        const char *text = error_tail_text(&t);
        size_t len = strlen(text);
        assert_in_range(len, ERROR_TAIL_MAX - 100, ERROR_TAIL_MAX);
        assert_memory_equal(text, bytes + sizeof bytes - len, len);
        assert_int_equal((sizeof bytes - len) % 100, 0);
        error_tail_fini(&t);
    }
}

TEST(forms_have_names)
{
    enum input_form in;
    enum output_form out;
    assert_true(input_form_of("args", &in));
    assert_int_equal(in, INPUT_ARGS);
    assert_true(output_form_of("bin", &out));
    assert_int_equal(out, OUTPUT_BIN);
    assert_false(input_form_of("bin", &in));
    assert_false(output_form_of("", &out));
}
