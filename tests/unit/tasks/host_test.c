/* The table that modules get: readers, results, failures, time, cancel. */
#include <ergon/params.h>
#include <ergon/wait.h>

#include "proto/encoder.h"
#include "server/tasks/handlers/host.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/death.h"
#include "tests/support/tasks_world.h"

static const struct ergon_host *ergon_host; /* as a module has it */
static void (*body)(const struct ergon_host *host, struct ergon_task *task); /* of the handler */

static enum ao_verdict probe_step(struct ao *self, struct ergon_task *task, void *state)
{
    body(host_table(), task);
    return AO_DONE;
}

static int argument;
static const struct ergon_handler probe = {.size = sizeof probe,
                                           .kind = ERGON_STEPPED,
                                           .name = "probe",
                                           .step = probe_step,
                                           .arg = &argument};

/* What the end of a probe was. */
static enum ergon_error error;
static char code[64], text[500];
static uint8_t result[2000];
static size_t result_len;

static void on_ended(void *arg, struct call *call, struct outcome *o)
{
    error = o->error;
    result_len = o->result.len;
    if (o->result.len > 0)
        memcpy(result, o->result.at, o->result.len);
    strcpy(code, o->code ? o->code : "");
    if (o->text.len > 0)
        memcpy(text, o->text.at, o->text.len);
    text[o->text.len] = '\0';
}

static void run_probe(void (*run)(const struct ergon_host *, struct ergon_task *),
                      struct span params)
{
    ergon_host = host_table();
    body = run;
    tasks_world_init(1, 1);
    w.quiet = true;
    w.plan.message_max = 1000;
    w.plan.ended = on_ended;
    tasks_world_open();
    assert_int_equal(tasks_world_call(0, "echo", params, AO_NEVER), ERGON_OK);
    struct method m = {.handler = &probe, .module = "test"};
    stepped_make_class(&m);
    const struct call_request request = {.params = params, .deadline = AO_MS(7)};
    assert_int_equal(home_call(tasks_home(w.tasks, 0), &m, &request), ERGON_OK);
    tasks_world_fini();
}

static void read_all(const struct ergon_host *h, struct ergon_task *task)
{
    struct ergon_reader r;
    struct ergon_bytes bytes;
    int64_t i;
    uint64_t u;
    double d;
    bool b;
    uint32_t n;
    assert_int_equal(h->params_open(task, &r), 12);
    assert_false(h->read_bool(&r, &b));
    assert_true(h->read_nil(&r));
    assert_false(h->read_nil(&r));
    assert_true(h->read_bool(&r, &b) && b);
    assert_true(h->read_int(&r, &i) && i == -7);
    assert_true(h->read_uint(&r, &u) && u == 200);
    assert_true(h->read_number(&r, &d) && d == 1.5);
    assert_true(h->read_bytes(&r, &bytes) && bytes.len == 2);
    assert_true(h->read_array(&r, &n) && n == 1);
    assert_true(h->read_any(&r, &bytes) && bytes.len == 1);
    assert_true(h->read_map(&r, &n) && n == 0);
    assert_true(h->read_duration(&r, &u) && u == AO_MS(250));
    assert_true(h->read_size(&r, &u) && u == 65536);
    assert_true(h->read_size(&r, &u) && u == 9);
    assert_false(h->read_size(&r, &u));
    assert_true(h->read_bytes(&r, &bytes) && bytes.len == 1);
    assert_ptr_equal(r.at, r.end);
    assert_int_equal(h->params(task).at[0], 0x9c);
    h->result_int(task, 1);
}

TEST(readers)
{
    uint8_t buf[100], *p = enc_array(buf, 12);
    p = enc_nil(p);
    p = enc_bool(p, true);
    p = enc_int(p, -7);
    p = enc_uint(p, 200);
    p = enc_double(p, 1.5);
    p = enc_str(p, span_text("ab"));
    p = enc_nil(enc_array(p, 1));
    p = enc_map(p, 0);
    p = enc_str(p, span_text("250ms"));
    p = enc_str(p, span_text("64k"));
    p = enc_uint(p, 9);
    p = enc_str(p, span_text("x"));
    run_probe(read_all, span_of(buf, (size_t)(p - buf)));
    assert_int_equal(error, ERGON_OK);
}

/* --- By letters --- */

enum { BUF = 200 };

static bool taken; /* what ergon_params() answered */

static void take_eight(const struct ergon_host *h, struct ergon_task *task)
{
    int64_t i;
    uint32_t u;
    double d;
    bool b;
    struct ergon_bytes s, bytes, list;
    uint64_t time;

    taken = ergon_params(task, "iudBsblt", &i, &u, &d, &b, &s, &bytes, &list, &time);
    assert_true(taken);
    assert_true(i == -7 && u == 200 && d == 3 && b && s.len == 2 && bytes.len == 3);
    struct ergon_reader r = ergon_reader_of(list);
    uint32_t count;
    assert_true(h->read_array(&r, &count) && count == 1 && h->read_nil(&r) && r.at == r.end);
    assert_int_equal(time, AO_MS(250));
}

TEST(parameters_by_letters)
{
    uint8_t buf[BUF], *p = enc_array(buf, 8);

    p = enc_bool(enc_int(enc_uint(enc_int(p, -7), 200), 3), true);
    p = enc_bin(enc_str(p, span_text("ab")), span_text("abc"));
    p = enc_str(enc_nil(enc_array(p, 1)), span_text("250ms"));
    run_probe(take_eight, span_of(buf, (size_t)(p - buf)));
    assert_int_equal(error, ERGON_OK);
}

static void take_rest(const struct ergon_host *h, struct ergon_task *task)
{
    struct ergon_bytes map = {0}, any = {0};
    uint64_t size = 0, other = 5;
    int32_t n = 6;

    taken = ergon_params(task, "mz|iau", &map, &size, &n, &any, &other);
    assert_true(taken && map.len == 1 && size == 65536);
    assert_true(n == 6 && any.len == 4 && other == 5); /* one is nil, one missing */
    h->result_nil(task);
}

TEST(parameters_that_may_be_missing_or_nil_leave_their_variables)
{
    uint8_t buf[BUF], *p = enc_array(buf, 4);

    p = enc_str(enc_nil(enc_str(enc_map(p, 0), span_text("64k"))), span_text("any"));
    run_probe(take_rest, span_of(buf, (size_t)(p - buf)));
    assert_int_equal(error, ERGON_OK);
}

static char letter; /* of the only parameter */

static void take_one(const struct ergon_host *h, struct ergon_task *task)
{
    uint64_t to[2];
    const struct ergon_param param = {to, letter == 'I' || letter == 'U' ? 4 : sizeof(uint64_t)};
    const char letters[] = {letter == 'I' ? 'i' : letter == 'U' ? 'u' : letter, '\0'};

    taken = h->take_params(task, letters, &param, 1);
}

static void refused_with(char by, struct span params, const char *want)
{
    letter = by;
    run_probe(take_one, params);
    assert_false(taken);
    assert_int_equal(error, ERGON_E_FAILED);
    assert_string_equal(code, "BAD_PARAMS");
    assert_string_equal(text, want);
}

#define WIRE(s) span_of(s, sizeof(s) - 1)

TEST(a_wrong_parameter_is_named_with_what_it_must_be)
{
    const struct {
        char letter;
        struct span params;
        const char *text;
    } cases[] = {
        {'i', WIRE("\x91\xa1x"), "parameter 1 of probe must be an integer, not text"},
        {'i', WIRE("\x91\xcb\x3f\xf8\0\0\0\0\0\0"),
         "parameter 1 of probe must be an integer, not a number with a fraction"},
        {'i', WIRE("\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
         "parameter 1 of probe must be an integer from -9223372036854775808 to "
         "9223372036854775807"},
        {'I', WIRE("\x91\xce\x80\0\0\0"),
         "parameter 1 of probe must be an integer from -2147483648 to 2147483647"},
        {'u', WIRE("\x91\xff"),
         "parameter 1 of probe must be an integer from 0 to 18446744073709551615"},
        {'U', WIRE("\x91\xcf\0\0\0\1\0\0\0\0"),
         "parameter 1 of probe must be an integer from 0 to 4294967295"},
        {'d', WIRE("\x91\xc2"), "parameter 1 of probe must be a number, not false"},
        {'B', WIRE("\x91\x01"), "parameter 1 of probe must be true or false, not an integer"},
        {'s', WIRE("\x91\xc4\1x"), "parameter 1 of probe must be text, not bytes"},
        {'b', WIRE("\x91\x90"), "parameter 1 of probe must be bytes or text, not an array"},
        {'l', WIRE("\x91\x80"), "parameter 1 of probe must be an array, not a map"},
        {'m', WIRE("\x91\xc0"), "parameter 1 of probe must be a map, not nil"},
        {'t', WIRE("\x91\xa1x"),
         "parameter 1 of probe must be a duration (\"250ms\", or milliseconds)"},
        {'z', WIRE("\x91\xa1x"), "parameter 1 of probe must be a size (\"64k\", or bytes)"},
        {'i', WIRE("\x90"), "probe takes 1 parameter, not 0"},
        {'i', WIRE("\x92\1\1"), "probe takes 1 parameter, not 2"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused_with(cases[i].letter, cases[i].params, cases[i].text);
}

static void take_some(const struct ergon_host *h, struct ergon_task *task)
{
    int64_t a, b;

    taken = ergon_params(task, "i|i", &a, &b);
    (void)h;
}

TEST(the_count_of_parameters_has_bounds)
{
    run_probe(take_some, WIRE("\x90"));
    assert_string_equal(text, "probe takes at least 1 parameter, not 0");
    run_probe(take_some, WIRE("\x93\1\1\1"));
    assert_string_equal(text, "probe takes at most 2 parameters, not 3");
    run_probe(take_some, WIRE("\x92\1\xa1x"));
    assert_string_equal(text, "parameter 2 of probe must be an integer, not text");
}

static int which; /* of the results below */

static void put_one(const struct ergon_host *h, struct ergon_task *task)
{
    const struct ergon_bytes three = {(const uint8_t *)"abc", 3},
                             raw = {(const uint8_t *)"\x07", 1};
    const char *none = NULL;

    (void)h;
    switch (which) {
    case 0:
        assert_true(ergon_result(task, "i", -3));
        break;
    case 1:
        assert_true(ergon_result(task, "u", sizeof(uint64_t)));
        break;
    case 2:
        assert_true(ergon_result(task, "B", 2 > 1));
        break;
    case 3:
        assert_true(ergon_result(task, "s", "abc"));
        break;
    case 4:
        assert_true(ergon_result(task, "b", three));
        break;
    case 5:
        assert_true(ergon_result(task, "a", raw));
        break;
    case 6:
        assert_true(ergon_result(task, "n"));
        break;
    case 7:
        assert_true(ergon_result(task, "[]"));
        break;
    case 8:
        assert_true(ergon_result(task, "[sasd]", three, raw, none, 0.5f));
        break;
    case 9:
        assert_true(ergon_result(task, "{siss}", "n", 1, "t", three));
        break;
    default:
        assert_true(ergon_result(task, "{}"));
    }
}

TEST(results_by_letters)
{
    const struct span want[] = {
        WIRE("\xfd"),
        WIRE("\x08"),
        WIRE("\xc3"),
        WIRE("\xa3"
             "abc"),
        WIRE("\xc4\3"
             "abc"),
        WIRE("\x07"),
        WIRE("\xc0"),
        WIRE("\x90"),
        WIRE("\x94\xa3"
             "abc\x07\xc0\xcb\x3f\xe0\0\0\0\0\0\0"),
        WIRE("\x82\xa1n\x01\xa1t\xa3"
             "abc"),
        WIRE("\x80"),
    };

    for (which = 0; which < (int)(sizeof want / sizeof *want); which++) {
        run_probe(put_one, WIRE("\x90"));
        assert_int_equal(error, ERGON_OK);
        assert_true(span_equal(span_of(result, result_len), want[which]));
    }
}

static void put_too_much(const struct ergon_host *h, struct ergon_task *task)
{
    static const uint8_t zeros[996];

    (void)h;
    taken = ergon_result(task, "[b]", ((struct ergon_bytes){zeros, sizeof zeros}));
}

TEST(a_result_by_letters_that_is_too_large_fails)
{
    run_probe(put_too_much, WIRE("\x90"));
    assert_false(taken);
    assert_int_equal(error, ERGON_E_TOO_LARGE);
}

static void set_results(const struct ergon_host *h, struct ergon_task *task)
{
    assert_true(h->result_nil(task));
    assert_true(h->result_bool(task, true));
    assert_true(h->result_double(task, 0.5));
    assert_true(h->result_str(task, "abc", 3));
    assert_true(h->result_raw(task, "\x93\x01\x02\x03", 4));
    assert_true(h->result_bin(task, "abc", 3));
}

static void write_result(const struct ergon_host *h, struct ergon_task *task)
{
    assert_int_equal(h->result_write(task, "\x92", 1), 0);
    assert_int_equal(h->result_write(task, "\x01\x02", 2), 0);
}

static void use_room(const struct ergon_host *h, struct ergon_task *task)
{
    uint8_t *p = h->result_room(task, 900);
    memset(p, 0xc0, 900);
    h->result_done(task, 3);
}

static void too_large(const struct ergon_host *h, struct ergon_task *task)
{
    assert_int_equal(h->message_max(task), 1000);
    assert_null(h->result_room(task, 1001));
    assert_false(h->result_int(task, 1));
    assert_int_equal(h->result_write(task, "x", 1), -1);
}

TEST(results)
{
    run_probe(set_results, params_none());
    assert_int_equal(result_len, 5);
    assert_memory_equal(result,
                        "\xc4\x03"
                        "abc",
                        5);
    run_probe(write_result, params_none());
    assert_int_equal(result_len, 3);
    assert_memory_equal(result, "\x92\x01\x02", 3);
    run_probe(use_room, params_none());
    assert_int_equal(result_len, 3);
    run_probe(too_large, params_none());
    assert_int_equal(error, ERGON_E_TOO_LARGE);
}

static void fail_well(const struct ergon_host *h, struct ergon_task *task)
{
    (h->fail)(task, "MY_CODE_1", "words");
    (h->fail)(task, "OTHER", "later words");
}

static void fail_badly(const struct ergon_host *h, struct ergon_task *task)
{
    (h->fail)(task, "my code", NULL);
}

/* Of the most characters that a code may have; and of one more. */
#define CODE_OF_32 "A_CODE_OF_32_CHARACTERS_AND_MORE"
_Static_assert(sizeof CODE_OF_32 - 1 == TASK_CODE_MAX, "the longest code");

static void fail_at_length(const struct ergon_host *h, struct ergon_task *task)
{
    (h->fail)(task, CODE_OF_32, NULL);
}

static void fail_too_long(const struct ergon_host *h, struct ergon_task *task)
{
    (h->fail)(task, CODE_OF_32 "S", NULL);
}

TEST(a_code_that_is_too_long_is_none)
{
    run_probe(fail_at_length, params_none());
    assert_string_equal(code, CODE_OF_32);
    run_probe(fail_too_long, params_none());
    assert_int_equal(error, ERGON_E_FAILED);
    assert_string_equal(code, "FAILED");
}

TEST(failures)
{
    run_probe(fail_well, params_none());
    assert_int_equal(error, ERGON_E_FAILED);
    assert_string_equal(code, "MY_CODE_1");
    assert_string_equal(text, "words");
    run_probe(fail_badly, params_none());
    assert_string_equal(code, "FAILED");
    assert_string_equal(text, "");
}

static void look_around(const struct ergon_host *h, struct ergon_task *task)
{
    struct ergon_outcome out;
    assert_ptr_equal(h->arg(task), &argument);
    assert_false(h->cancelled(task));
    assert_int_equal(h->now(task), 0);
    assert_int_equal(h->time_left(task), AO_MS(7));
    assert_non_null(h->alloc(task, 10));
    assert_non_null(h->port(task));
    h->call(task, "echo", (struct ergon_bytes){0}, &out);
    assert_false(out.ok);
    assert_string_equal(out.code, "FAILED");
}

TEST(the_task_around)
{
    const struct ergon_host *h = host_table();
    run_probe(look_around, params_none());
    assert_int_equal(error, ERGON_OK);
    assert_int_equal(h->size, sizeof *h);
    assert_int_equal(h->major, ERGON_ABI_MAJOR);
    for (void *const *p = (void *const *)&h->register_handler; p < (void *const *)(h + 1); p++)
        assert_non_null(*p);
}

/* --- Misuse --- */

static void more_than_the_room(const struct ergon_host *h, struct ergon_task *task)
{
    (void)h->result_room(task, 900);
    h->result_done(task, 100000);
}

static void length_without_room(const struct ergon_host *h, struct ergon_task *task)
{
    h->result_done(task, 1);
}

static void outcome_taken_twice(const struct ergon_host *h, struct ergon_task *task)
{
    struct ergon_outcome out;
    struct ergon_call *call = h->call_start(task, "echo", (struct ergon_bytes){0});
    h->call_outcome(call, &out);
    assert_string_equal(out.code, "CANCELLED"); /* it was given up before its end */
    h->call_outcome(call, &out);
}

static void outcome_awaited_afterwards(const struct ergon_host *h, struct ergon_task *task)
{
    struct ergon_outcome out;
    struct ao_wait wait = {0};
    struct ergon_call *call = h->call_start(task, "echo", (struct ergon_bytes){0});
    h->call_outcome(call, &out);
    h->call_await(call, &wait);
}

static void misuse(void *run)
{
    void (**body_of)(const struct ergon_host *, struct ergon_task *) = run;
    run_probe(*body_of, params_none());
}

TEST(misuse_by_a_handler_is_named)
{
    static const struct {
        void (*run)(const struct ergon_host *, struct ergon_task *);
        const char *text;
    } cases[] = {
        {more_than_the_room, "the result is longer than the room that was asked for"},
        {length_without_room, "the result is longer than the room that was asked for"},
        {outcome_taken_twice, "host_call_outcome(): the outcome of the call was taken before"},
        {outcome_awaited_afterwards, "host_call_await(): the outcome of the call was taken before"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_misuse(misuse, (void *)(uintptr_t)&cases[i].run, cases[i].text);
}
