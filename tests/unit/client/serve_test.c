/* A client that answers: requests of its server, good and hostile, and what becomes of them when
 * the connection goes. */
#include "tests/unit/client/world.h"

#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ergon/client_serve.h>
#include <ergon/client_workers.h>

#include "client/lib/client.h"
#include "proto/encoder.h"
#include "proto/error_value.h"
#include "proto/reader.h"

enum { REQUESTS = 8 };

/* What the program has been handed, and what its server has heard. */
struct work {
    struct world *world;
    struct ergon_served *open[REQUESTS]; /* NULL: answered */
    unsigned requests, gone;             /* callbacks */
    ergon_served_fn *at_once;            /* called with each request; NULL: it is kept in `open` */
    ergon_served_fn *at_gone;
    unsigned answers; /* that the server has read */
    unsigned registered;
    char ids[REQUESTS + 1];      /* of those answers, as digits */
    struct error_value error;    /* of the last answer */
    size_t error_len;            /* bytes of it as it came, */
    uint8_t raw[64 * 1024];      /* which begins so */
    size_t result_len;           /* likewise, bytes; 0: an error */
    uint8_t result[64];          /* the beginning of it */
    char told[32];               /* the last notification */
    unsigned said;               /* notifications that the server has read, */
    uint8_t say[64];             /* the method and the parameters of the last, */
    size_t say_len;              /* so many bytes */
    enum ergon_state states[16]; /* each change */
    unsigned state_count;
};

static void read_answer(struct work *k, const struct envelope *e)
{
    static const uint8_t nil = 0xc0;
    struct reader r = reader_of(e->msgid);
    uint64_t id = 0;
    assert_true(read_uint(&r, &id));
    if (k->answers < REQUESTS)
        k->ids[k->answers] = (char)('0' + id % 10);
    k->answers++;
    k->result_len = 0;
    if (!span_equal(e->error, span_of(&nil, 1))) {
        error_value_read(e->error, &k->error);
        k->error_len = e->error.len;
        assert_true(k->error_len <= sizeof k->raw);
        memcpy(k->raw, e->error.at, k->error_len);
        return;
    }
    k->error = (struct error_value){.code = {0}};
    k->result_len = e->result.len;
    size_t len = e->result.len < sizeof k->result ? e->result.len : sizeof k->result;
    memcpy(k->result, e->result.at, len);
}

static void read_notification(struct work *k, const struct envelope *e)
{
    assert_true(e->method.len + e->params.len <= sizeof k->say);
    memcpy(k->say, e->method.at, e->method.len);
    memcpy(k->say + e->method.len, e->params.at, e->params.len);
    k->say_len = e->method.len + e->params.len;
    k->said++;
}

static void on_message(struct scripted *s, const struct envelope *e)
{
    struct work *k = s->user;
    if (e->type == ENVELOPE_RESPONSE)
        read_answer(k, e);
    else if (span_is(e->method, "worker.register"))
        k->registered++;
    else if (e->type == ENVELOPE_REQUEST)
        answer_with_name(s, e);
    else
        read_notification(k, e);
}

static void on_request(void *arg, struct ergon_served *served)
{
    struct work *k = arg;
    unsigned n = k->requests++;
    if (k->at_once != NULL)
        k->at_once(k, served);
    else
        k->open[n] = served;
}

static void on_gone(void *arg, struct ergon_served *served)
{
    struct work *k = arg;
    k->gone++;
    assert_true(ergon_served_gone(served));
    if (k->at_gone != NULL)
        k->at_gone(k, served);
}

static void on_told(void *arg, const char *method, struct ergon_raw params)
{
    struct work *k = arg;
    snprintf(k->told, sizeof k->told, "%s %zu", method, params.len);
}

static void on_state(void *arg, enum ergon_state state, const char *why)
{
    struct work *k = arg;
    if (k->state_count < sizeof k->states / sizeof *k->states)
        k->states[k->state_count++] = state;
    if (state == ERGON_STATE_READY)
        assert_int_equal(
            ergon_client_notify(k->world->client, "worker.register", (struct ergon_raw){0}),
            ERGON_END_OK);
}

static struct ergon_serve_options options_of(struct work *k, uint32_t slots)
{
    return (struct ergon_serve_options){.size = sizeof(struct ergon_serve_options),
                                        .slots = slots,
                                        .on_request = on_request,
                                        .on_gone = on_gone,
                                        .on_notification = on_told,
                                        .arg = k};
}

/* A client that serves, and is connected. */
static struct world *begin(void **state, struct work *k, uint32_t slots)
{
    struct ergon_serve_options options = options_of(k, slots);
    *k = (struct work){.world = *state};
    world_open(state, on_message, k,
               (struct ergon_options){.on_state = on_state, .on_state_arg = k});
    assert_int_equal(ergon_client_serve(k->world->client, &options), ERGON_END_OK);
    ergon_client_connect(k->world->client);
    scripted_until(&k->world->server, &k->registered, 1);
    return k->world;
}

/* [0, id, method, [7]] */
static void ask(struct world *w, uint8_t id, const char *method)
{
    uint8_t bytes[64];
    uint8_t *p = enc_uint(enc_uint(enc_array(bytes, 4), 0), id);
    p = enc_uint(enc_array(enc_str(p, span_text(method)), 1), 7);
    scripted_send(&w->server, bytes, (size_t)(p - bytes));
}

static struct ergon_raw raw(const char *bytes)
{
    return (struct ergon_raw){bytes, strlen(bytes)};
}

static void until_answers(struct work *k, unsigned count)
{
    scripted_until(&k->world->server, &k->answers, count);
}

static void until_requests(struct work *k, unsigned count)
{
    scripted_until(&k->world->server, &k->requests, count);
}

/* ---- answers ---- */

static void give_back(void *arg, struct ergon_served *served)
{
    assert_string_equal(served->method, "img.resize");
    assert_null(served->user);
    assert_false(ergon_served_gone(served));
    assert_int_equal(ergon_served_answer(served, served->params), ERGON_END_OK);
}

WORLD_TEST(a_request_is_answered_at_once)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    k.at_once = give_back;
    ask(w, 3, "img.resize");
    until_answers(&k, 1);
    assert_string_equal(k.ids, "3");
    assert_int_equal(k.result_len, 2);
    assert_memory_equal(k.result, "\x91\x07", 2);
    assert_int_equal(w->client->stats.unasked, 0);
}

WORLD_TEST(requests_are_answered_later_in_any_order)
{
    struct work k;
    struct world *w = begin(state, &k, 3);
    for (uint8_t id = 1; id <= 3; id++)
        ask(w, id, "x");
    until_requests(&k, 3);
    assert_int_equal(ergon_client_slots_taken(w->client), 3);
    assert_int_equal(k.answers, 0);
    assert_int_equal(ergon_served_answer(k.open[2], raw("\xa1z")), ERGON_END_OK);
    assert_int_equal(ergon_served_answer(k.open[0], (struct ergon_raw){0}), ERGON_END_OK);
    assert_int_equal(ergon_served_fail(k.open[1], "NO_SPACE", "disk full"), ERGON_END_OK);
    until_answers(&k, 3);
    assert_string_equal(k.ids, "312");
    assert_string_equal(k.error.code, "NO_SPACE");
    assert_string_equal(k.error.text, "disk full");
    assert_int_equal(ergon_client_slots_taken(w->client), 0);
}

WORLD_TEST(an_error_has_a_code_whatever_the_program_says)
{
    static const struct {
        const char *code, *text, *read_code, *read_text;
    } rows[] = {
        {"BUSY", "later", "BUSY", "later"},
        {"low", "no", "FAILED", "no"},
        {NULL, "no", "FAILED", "no"},
        {"BUSY", NULL, "BUSY", "a limit is reached; try again later"},
        {NULL, "", "FAILED", "the handler failed; the text is its own"},
        {"X", "b\xff", "X", "b\xef\xbf\xbd"},
    };
    struct work k;
    struct world *w = begin(state, &k, 1);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        ask(w, (uint8_t)i, "x");
        until_requests(&k, i + 1);
        assert_int_equal(ergon_served_fail(k.open[i], rows[i].code, rows[i].text), ERGON_END_OK);
        until_answers(&k, i + 1);
        assert_string_equal(k.error.code, rows[i].read_code);
        assert_string_equal(k.error.text, rows[i].read_text);
    }
}

WORLD_TEST(a_result_that_cannot_be_sent_is_answered_all_the_same)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    struct ergon_serve_options options = options_of(&k, 1);
    uint8_t large[5000] = {0xc5, (5000 - 3) >> 8, (5000 - 3) & 0xff};
    options.answer_max = 4096;
    assert_int_equal(ergon_client_serve(w->client, &options), ERGON_END_OK);
    ask(w, 1, "x");
    until_requests(&k, 1);
    assert_int_equal(ergon_served_answer(k.open[0], raw("\x92\x01")), ERGON_END_INVALID);
    until_answers(&k, 1);
    assert_string_equal(k.error.code, "INTERNAL");
    ask(w, 2, "x");
    until_requests(&k, 2);
    assert_int_equal(ergon_served_answer(k.open[1], (struct ergon_raw){large, sizeof large}),
                     ERGON_END_INVALID);
    until_answers(&k, 2);
    assert_string_equal(k.error.code, "TOO_LARGE");
    assert_int_equal(ergon_served_answer(NULL, raw("\xc0")), ERGON_END_INVALID);
    assert_int_equal(ergon_served_fail(NULL, NULL, NULL), ERGON_END_INVALID);
}

WORLD_TEST(an_error_without_end_is_cut)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    char *text = calloc(1, 1 << 20);
    memset(text, 'a', (1 << 20) - 1);
    ask(w, 1, "x");
    until_requests(&k, 1);
    assert_int_equal(ergon_served_fail(k.open[0], "LONG", text), ERGON_END_OK);
    until_answers(&k, 1);
    assert_string_equal(k.error.code, "LONG");
    free(text);
}

static void expect_failure(struct work *k, unsigned id, const char *traceback, const char *bytes,
                           size_t len)
{
    ask(k->world, (uint8_t)id, "x");
    until_requests(k, id);
    assert_int_equal(ergon_served_fail_with(k->open[id - 1], "NO_SPACE", "full\xff", traceback),
                     ERGON_END_OK);
    until_answers(k, id);
    assert_string_equal(k->error.code, "NO_SPACE");
    assert_string_equal(k->error.text, "full\xef\xbf\xbd");
    assert_int_equal(k->error_len, len);
    assert_memory_equal(k->raw, bytes, len);
}

WORLD_TEST(a_failure_goes_with_its_traceback)
{
    static const char whole[] = "\x83\xa4"
                                "code\xa8NO_SPACE\xa7message\xa7"
                                "full\xef\xbf\xbd"
                                "\xa9traceback\xa7"
                                "a\n\xef\xbf\xbd"
                                "bc";
    static const char none[] = "\xb1NO_SPACE: full\xef\xbf\xbd";
    struct work k;
    begin(state, &k, 1);
    expect_failure(&k, 1,
                   "a\n\xff"
                   "bc",
                   whole, sizeof whole - 1);
    expect_failure(&k, 2, "", none, sizeof none - 1);
    expect_failure(&k, 3, NULL, none, sizeof none - 1);
}

/* The end of it counts, also where its bytes become more, or an answer may be shorter. */
WORLD_TEST(a_traceback_without_end_is_cut_at_its_begin)
{
    static const struct {
        uint32_t answer_max;
        int fill;
        size_t least, most;
    } rows[] = {
        {0, 'a', 16384, 16384}, {0, 0xff, 16382, 16384}, {4100, 'a', 4, 4}, {4096, 'a', 0, 0}};
    struct work k;
    struct world *w = begin(state, &k, 1);
    char *text = calloc(1, 1 << 20);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ergon_serve_options options = options_of(&k, 1);
        options.answer_max = rows[i].answer_max;
        assert_int_equal(ergon_client_serve(w->client, &options), ERGON_END_OK);
        memset(text, rows[i].fill, (1 << 20) - 1);
        memcpy(text + (1 << 20) - 4, "end", 3);
        ask(w, (uint8_t)i, "x");
        until_requests(&k, i + 1);
        assert_int_equal(ergon_served_fail_with(k.open[i], "LONG", "l", text), ERGON_END_OK);
        until_answers(&k, i + 1);
        assert_string_equal(k.error.code, "LONG");
        size_t head = rows[i].most == 0 ? strlen("LONG: l") + 1 : k.error_len - rows[i].most;
        assert_true(k.error_len >= head + rows[i].least && head < 64);
        if (rows[i].most > 0)
            assert_memory_equal(k.raw + k.error_len - 3, "end", 3);
    }
    free(text);
}

WORLD_TEST(a_notification_is_passed_on)
{
    static const uint8_t told[] = "\x93\x02\xadworker.cancel\x92\x01\xa4gone";
    struct work k;
    struct world *w = begin(state, &k, 1);
    scripted_send(&w->server, told, sizeof told - 1);
    while (k.told[0] == 0)
        event_base_loop(w->server.base, EVLOOP_ONCE);
    assert_string_equal(k.told, "worker.cancel 7");
}

static void said(struct work *k, unsigned count, const char *bytes, size_t len)
{
    scripted_until(&k->world->server, &k->said, count);
    assert_int_equal(k->say_len, len);
    assert_memory_equal(k->say, bytes, len);
}

#define SAID(count, bytes) said(&k, count, bytes, sizeof bytes - 1)

WORLD_TEST(what_is_known_before_the_answer_is_told)
{
    struct work k;
    struct ergon_client *c = begin(state, &k, 1)->client;
    assert_int_equal(ergon_worker_progress(c, 300, 1, 2, "x"), ERGON_END_OK);
    SAID(1, "worker.progress\x94\xcd\x01\x2c\x01\x02\xa1x");
    assert_int_equal(ergon_worker_partial(c, 300, raw("\xa4half")), ERGON_END_OK);
    SAID(2, "worker.partial\x92\xcd\x01\x2c\xa4half");
    assert_int_equal(ergon_worker_partial(c, 300, (struct ergon_raw){0}), ERGON_END_OK);
    SAID(3, "worker.partial\x92\xcd\x01\x2c\xc0");
    assert_int_equal(ergon_worker_checkpoint(c, 300, raw("\xa4half")), ERGON_END_OK);
    SAID(4, "worker.checkpoint\x92\xcd\x01\x2c\xa4half");
}

/* ---- refusals ---- */

WORLD_TEST(more_than_the_slots_are_refused_at_once)
{
    struct work k;
    struct world *w = begin(state, &k, 2);
    for (uint8_t id = 1; id <= 3; id++)
        ask(w, id, "x");
    until_answers(&k, 1);
    assert_string_equal(k.ids, "3");
    assert_string_equal(k.error.code, "BUSY");
    assert_int_equal(k.requests, 2);
    assert_int_equal(w->client->stats.unasked, 1);
    ergon_served_answer(k.open[0], raw("\xc3"));
    until_answers(&k, 2);
    ask(w, 4, "x");
    until_requests(&k, 3);
    ergon_served_answer(k.open[1], raw("\xc3"));
    ergon_served_answer(k.open[2], raw("\xc3"));
    until_answers(&k, 4);
    assert_string_equal(k.ids, "3124");
}

WORLD_TEST(who_serves_no_more_hands_back)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    ask(w, 1, "x");
    until_requests(&k, 1);
    assert_int_equal(ergon_client_serve(w->client, NULL), ERGON_END_OK);
    ask(w, 2, "x");
    until_answers(&k, 1);
    assert_string_equal(k.error.code, "AGAIN");
    assert_int_equal(ergon_served_answer(k.open[0], raw("\xc3")), ERGON_END_OK);
    until_answers(&k, 2);
    assert_string_equal(k.ids, "21");
}

/* A C string would end there, and be another method. */
WORLD_TEST(a_method_with_a_nul_is_none)
{
    static const uint8_t request[] = "\x94\x00\x05\xa3x\x00y\x90";
    struct work k;
    struct world *w = begin(state, &k, 1);
    scripted_send(&w->server, request, sizeof request - 1);
    until_answers(&k, 1);
    assert_string_equal(k.error.code, "NO_METHOD");
    assert_int_equal(k.requests, 0);
}

WORLD_TEST(what_is_no_way_to_serve_is_refused)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    struct ergon_serve_options good = options_of(&k, 1), bad = good;
    bad.size = 0;
    assert_int_equal(ergon_client_serve(w->client, &bad), ERGON_END_INVALID);
    bad = good;
    bad.on_request = NULL;
    assert_int_equal(ergon_client_serve(w->client, &bad), ERGON_END_INVALID);
    bad = good;
    bad.answer_max = 4095;
    assert_int_equal(ergon_client_serve(w->client, &bad), ERGON_END_INVALID);
}

static void ask_before_the_token_is_taken(struct scripted *s, const struct envelope *e)
{
    struct work *k = s->user;
    if (e->type == ENVELOPE_REQUEST && span_is(e->method, "server.auth")) {
        ask(k->world, 1, "x");
        answer_with_name(s, e);
        ask(k->world, 2, "x");
        return;
    }
    on_message(s, e);
}

WORLD_TEST(nothing_is_served_before_the_connection_is_ready)
{
    struct work k = {.world = *state};
    struct ergon_serve_options options = options_of(&k, 1);
    world_open(state, ask_before_the_token_is_taken, &k, (struct ergon_options){.token = "good"});
    assert_int_equal(ergon_client_serve(k.world->client, &options), ERGON_END_OK);
    ergon_client_connect(k.world->client);
    until_answers(&k, 1);
    assert_string_equal(k.error.code, "BUSY");
    until_requests(&k, 1);
    ergon_served_answer(k.open[0], raw("\xc3"));
    until_answers(&k, 2);
    assert_string_equal(k.ids, "12");
}

/* ---- hostile servers ---- */

/* The ids are the server's business. */
WORLD_TEST(two_requests_of_one_id_are_answered_each)
{
    struct work k;
    struct world *w = begin(state, &k, 3);
    ask(w, 7, "x");
    ask(w, 7, "y");
    until_requests(&k, 2);
    assert_string_equal(k.open[0]->method, "x");
    assert_string_equal(k.open[1]->method, "y");
    ergon_served_answer(k.open[1], raw("\xc3"));
    ergon_served_answer(k.open[0], raw("\xc2"));
    until_answers(&k, 2);
    assert_string_equal(k.ids, "77");
    assert_int_equal(*k.result, 0xc2);
}

enum { LARGE = 4 * 1024 * 1024 };

static void check_large(void *arg, struct ergon_served *served)
{
    const uint8_t *at = served->params.at;
    assert_int_equal(served->params.len, LARGE + 5);
    assert_int_equal(at[0], 0xc6);
    assert_int_equal(at[5 + LARGE - 1], 'z');
    assert_int_equal(ergon_served_answer(served, served->params), ERGON_END_OK);
}

/* [0, 1, "x", <bytes>] */
static uint8_t *large_request(size_t len, size_t *total)
{
    uint8_t *bytes = calloc(1, 16 + len);
    uint8_t *p = enc_uint(enc_uint(enc_array(bytes, 4), 0), 1);
    p = enc_bin_head(enc_str(p, span_text("x")), (uint32_t)len) + len;
    p[-1] = 'z';
    *total = (size_t)(p - bytes);
    return bytes;
}

WORLD_TEST(large_parameters_arrive_whole_and_larger_ones_end_the_connection)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    size_t len;
    uint8_t *bytes = large_request(LARGE, &len);
    k.at_once = check_large;
    scripted_send(&w->server, bytes, len);
    until_answers(&k, 1);
    assert_int_equal(k.result_len, LARGE + 5);
    free(bytes);
    bytes = large_request(33 * 1024 * 1024, &len);
    scripted_send(&w->server, bytes, 64);
    scripted_until(&w->server, &k.registered, 2);
    assert_int_equal(k.requests, 1);
    free(bytes);
}

static void answer_large(void *arg, struct ergon_served *served)
{
    size_t len = 15 * 1024 * 1024;
    uint8_t *bytes = calloc(1, len);
    enc_bin_head(bytes, (uint32_t)len - 5);
    assert_int_equal(ergon_served_answer(served, (struct ergon_raw){bytes, len}), ERGON_END_OK);
    free(bytes);
}

/* Its answer waits in the library, and nothing more is taken on meanwhile. */
WORLD_TEST(a_slot_is_taken_until_its_answer_is_written)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    k.at_once = answer_large;
    bufferevent_disable(w->server.connection, EV_READ);
    ask(w, 1, "x");
    until_requests(&k, 1);
    assert_int_equal(ergon_client_slots_taken(w->client), 1);
    ask(w, 2, "x");
    while (w->client->stats.unasked == 0)
        event_base_loop(w->server.base, EVLOOP_ONCE);
    bufferevent_enable(w->server.connection, EV_READ);
    until_answers(&k, 2);
    assert_string_equal(k.ids, "12");
    assert_string_equal(k.error.code, "BUSY");
    assert_int_equal(ergon_client_slots_taken(w->client), 0);
    ask(w, 3, "x");
    until_answers(&k, 3);
    assert_true(k.result_len > 0);
}

/* So many refusals, in all, that a server which did not read them would be cut off. */
WORLD_TEST(a_server_that_reads_may_ask_for_ever)
{
    enum { AT_ONCE = 20 * 1000, TIMES = 14 };
    struct work k;
    struct world *w = begin(state, &k, 1);
    static const uint8_t request[] = "\x94\x00\x05\xa1x\x90";
    size_t len = sizeof request - 1;
    uint8_t *bytes = malloc(AT_ONCE * len);
    for (size_t i = 0; i < AT_ONCE; i++)
        memcpy(bytes + i * len, request, len);
    ergon_client_serve(w->client, NULL);
    for (unsigned n = 1; n <= TIMES; n++) {
        scripted_send(&w->server, bytes, AT_ONCE * len);
        until_answers(&k, n * AT_ONCE);
    }
    free(bytes);
    assert_int_equal(w->server.accepted, 1);
}

/* Reads nothing, on its first connection. */
WORLD_TEST(a_server_that_asks_and_never_reads_loses_the_connection)
{
    enum { FLOOD = 600 * 1000 };
    struct work k;
    struct world *w = begin(state, &k, 1);
    static const uint8_t request[] = "\x94\x00\x05\xa1x\x90";
    uint8_t *bytes = malloc(FLOOD * (sizeof request - 1));
    for (size_t i = 0; i < FLOOD; i++)
        memcpy(bytes + i * (sizeof request - 1), request, sizeof request - 1);
    bufferevent_disable(w->server.connection, EV_READ);
    scripted_send(&w->server, bytes, FLOOD * (sizeof request - 1));
    free(bytes);
    until_requests(&k, 1);
    scripted_until(&w->server, &k.gone, 1);
    assert_string_equal(w->client->why, "the server goes on asking and reads no answers");
    assert_int_equal(ergon_served_answer(k.open[0], raw("\xc3")), ERGON_END_BROKEN);
    scripted_until(&w->server, &k.registered, 2);
}

/* ---- lost connections ---- */

WORLD_TEST(a_loss_is_told_and_the_next_connection_serves)
{
    struct work k;
    struct world *w = begin(state, &k, 3);
    ask(w, 1, "x");
    ask(w, 2, "x");
    until_requests(&k, 2);
    k.open[0]->user = &k;
    scripted_hang_up(&w->server);
    scripted_until(&w->server, &k.registered, 2);
    assert_int_equal(k.gone, 2);
    assert_int_equal(ergon_client_slots_taken(w->client), 2); /* the program still works on them */
    ask(w, 3, "x");
    ask(w, 4, "x");
    until_answers(&k, 1);
    assert_string_equal(k.ids, "4");
    assert_string_equal(k.error.code, "BUSY");
    assert_ptr_equal(k.open[0]->user, &k);
    assert_memory_equal(k.open[0]->params.at, "\x91\x07", 2);
    assert_int_equal(ergon_served_answer(k.open[0], raw("\xc3")), ERGON_END_BROKEN);
    assert_int_equal(ergon_served_fail(k.open[1], NULL, "late"), ERGON_END_BROKEN);
    assert_int_equal(ergon_client_slots_taken(w->client), 1);
    assert_int_equal(ergon_served_answer(k.open[2], raw("\xc3")), ERGON_END_OK);
    until_answers(&k, 2);
    assert_string_equal(k.ids, "43");
    assert_int_equal(k.states[k.state_count - 3], ERGON_STATE_BACKING_OFF);
    assert_int_equal(k.states[k.state_count - 1], ERGON_STATE_READY);
}

static void let_all_go(void *arg, struct ergon_served *served)
{
    struct work *k = arg;
    for (int i = 0; i < 3; i++) {
        if (k->open[i] != NULL)
            assert_int_equal(ergon_served_answer(k->open[i], raw("\xc3")), ERGON_END_BROKEN);
        k->open[i] = NULL;
    }
}

WORLD_TEST(who_is_told_of_one_loss_may_let_all_go)
{
    struct work k;
    struct world *w = begin(state, &k, 3);
    for (uint8_t id = 1; id <= 3; id++)
        ask(w, id, "x");
    until_requests(&k, 3);
    k.at_gone = let_all_go;
    scripted_hang_up(&w->server);
    scripted_until(&w->server, &k.registered, 2);
    assert_int_equal(k.gone, 1);
    assert_int_equal(ergon_client_slots_taken(w->client), 0);
}

static void answer_while_backing_off(void *arg, enum ergon_state state, const char *why)
{
    struct work *k = arg;
    on_state(k, state, why);
    if (state == ERGON_STATE_BACKING_OFF)
        let_all_go(k, NULL);
}

WORLD_TEST(an_answer_while_the_connection_closes_is_dropped)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    w->client->settings.options.on_state = answer_while_backing_off;
    ask(w, 1, "x");
    until_requests(&k, 1);
    scripted_hang_up(&w->server);
    scripted_until(&w->server, &k.registered, 2);
    assert_int_equal(k.gone, 0); /* it had let go before it was told */
    assert_int_equal(ergon_client_slots_taken(w->client), 0);
}

WORLD_TEST(an_answer_that_waits_is_lost_with_its_connection)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    k.at_once = answer_large;
    bufferevent_disable(w->server.connection, EV_READ);
    ask(w, 1, "x");
    until_requests(&k, 1);
    scripted_hang_up(&w->server);
    scripted_until(&w->server, &k.registered, 2);
    assert_int_equal(k.gone, 0);
    assert_int_equal(ergon_client_slots_taken(w->client), 0);
}

/* ---- freeing ---- */

static void free_client(void *arg, struct ergon_served *served)
{
    struct work *k = arg;
    ergon_client_free(k->world->client);
    k->world->client = NULL;
}

WORLD_TEST(requests_outlive_the_client)
{
    struct work k;
    struct world *w = begin(state, &k, 2);
    ask(w, 1, "x");
    ask(w, 2, "x");
    until_requests(&k, 2);
    free_client(&k, NULL);
    assert_int_equal(k.gone, 2);
    assert_true(ergon_served_gone(k.open[0]));
    assert_memory_equal(k.open[0]->params.at, "\x91\x07", 2);
    assert_int_equal(ergon_served_answer(k.open[0], raw("\xc3")), ERGON_END_CLOSED);
    assert_int_equal(ergon_served_fail(k.open[1], NULL, ""), ERGON_END_CLOSED);
}

static void free_then_answer(void *arg, struct ergon_served *served)
{
    free_client(arg, served);
    assert_int_equal(ergon_served_answer(served, raw("\xc3")), ERGON_END_BROKEN);
}

WORLD_TEST(the_client_may_be_freed_by_who_is_handed_a_request)
{
    struct work k;
    struct world *w = begin(state, &k, 2);
    k.at_once = free_then_answer;
    ask(w, 1, "x");
    ask(w, 2, "x");
    until_requests(&k, 1);
    assert_int_equal(k.gone, 1);
}

WORLD_TEST(the_client_may_be_freed_by_who_is_told_of_a_loss)
{
    struct work k;
    struct world *w = begin(state, &k, 3);
    for (uint8_t id = 1; id <= 3; id++)
        ask(w, id, "x");
    until_requests(&k, 3);
    k.at_gone = free_client;
    scripted_hang_up(&w->server);
    scripted_until(&w->server, &k.gone, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ergon_served_answer(k.open[i], raw("\xc3")), ERGON_END_CLOSED);
}

/* ---- the end of a connection ---- */

/* Another process may hold the socket, as a guardian does: only its own end keeps the connection.
 */
WORLD_TEST(a_client_ends_its_connection_for_all_who_hold_it)
{
    struct work k;
    struct world *w = begin(state, &k, 1);
    assert_int_equal(ergon_client_state(w->client), ERGON_STATE_READY);
    int held = dup(ergon_client_socket(w->client));
    assert_true(held >= 0);
    ergon_client_free(w->client);
    w->client = NULL;
    scripted_until(&w->server, &w->server.ended, 1);
    close(held);
}
