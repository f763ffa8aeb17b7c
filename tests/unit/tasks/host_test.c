/* The table that modules get: readers, results, failures, time, cancel. */
#include <ergon/wait.h>

#include "proto/encoder.h"
#include "server/tasks/handlers/host.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/death.h"
#include "tests/support/tasks_world.h"

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
