/* The life of a client and its connection: each way in which a call ends without an answer. */
#include "tests/unit/client/seen.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/lib/client.h"
#include "proto/encoder.h"
#include "proto/reader.h"

/* ---- timeouts and cancelling ---- */

static void note_cancel(struct scripted *s, const struct envelope *e)
{
    unsigned *cancels = s->user;
    if (e->type == ENVELOPE_NOTIFICATION && span_is(e->method, "server.cancel"))
        (*cancels)++;
}

static void a_timeout_ends_the_call_and_tells_the_server(void **state)
{
    struct scripted s;
    unsigned total = 0;
    unsigned cancels = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&s, note_cancel, &cancels);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    ergon_client_connect(client);
    while (ergon_client_state(client) != ERGON_STATE_READY)
        event_base_loop(s.base, EVLOOP_ONCE);
    seen_call(client, "x", &seen, 1);
    scripted_until(&s, &cancels, 1);
    assert_int_equal(seen.outcome, ERGON_END_TIMEOUT);
    assert_int_equal(total, 1);
    ergon_client_free(client);
    assert_int_equal(total, 1);
    scripted_stop(&s);
}

static void cancel_ends_the_call_at_once(void **state)
{
    struct scripted s;
    unsigned total = 0;
    unsigned cancels = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&s, note_cancel, &cancels);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    ergon_call_id id = seen_call(client, "x", &seen, 0);
    scripted_until(&s, &s.messages, 1);
    assert_true(ergon_client_cancel(client, id));
    assert_int_equal(seen.outcome, ERGON_END_CANCELLED);
    assert_false(ergon_client_cancel(client, id));
    scripted_until(&s, &cancels, 1);
    assert_int_equal(total, 1);
    ergon_client_free(client);
    scripted_stop(&s);
}

static void a_cancelled_call_that_waits_is_never_sent(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen first = {.total = &total};
    struct seen second = {.total = &total};
    (void)state;
    scripted_start(&s, seen_answer_with_name, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    ergon_call_id id = seen_call(client, "first", &first, 0);
    seen_call(client, "second", &second, 0);
    assert_true(ergon_client_cancel(client, id));
    scripted_until(&s, &total, 2);
    assert_int_equal(s.messages, 1);
    assert_string_equal(second.result, "second");
    ergon_client_free(client);
    scripted_stop(&s);
}

/* ---- broken connections ---- */

static void hang_up_once(struct scripted *s, const struct envelope *e)
{
    if (s->accepted == 1)
        scripted_hang_up(s);
    else
        seen_answer_with_name(s, e);
}

static void a_broken_connection_ends_what_was_sent_and_comes_back(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen broken = {.total = &total};
    struct seen after = {.total = &total};
    struct ergon_client_stats stats;
    (void)state;
    scripted_start(&s, hang_up_once, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    seen_call(client, "broken", &broken, 0);
    scripted_until(&s, &total, 1);
    assert_int_equal(broken.outcome, ERGON_END_BROKEN);
    assert_int_equal(ergon_client_state(client), ERGON_STATE_BACKING_OFF);
    seen_call(client, "after", &after, 0);
    scripted_until(&s, &total, 2);
    assert_string_equal(after.result, "after");
    assert_int_equal(s.accepted, 2);
    assert_int_equal(s.messages, 2); /* the broken one was not sent again */
    ergon_client_stats(client, &stats);
    assert_int_equal(stats.connects, 2);
    ergon_client_free(client);
    scripted_stop(&s);
}

static void hang_up_twice(struct scripted *s, const struct envelope *e)
{
    if (s->accepted <= 2)
        scripted_hang_up(s);
    else
        seen_answer_with_name(s, e);
}

/* A server that is full accepts, says nothing and closes. */
static void the_back_off_grows_until_the_server_says_something(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen seen[3] = {{.total = &total}, {.total = &total}, {.total = &total}};
    (void)state;
    scripted_start(&s, hang_up_twice, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    for (unsigned i = 0; i < 3; i++) {
        seen_call(client, "x", &seen[i], 0);
        scripted_until(&s, &total, i + 1);
        assert_int_equal(client->attempt, i < 2 ? i + 1 : 0);
    }
    assert_int_equal(seen[2].outcome, ERGON_END_OK);
    ergon_client_free(client);
    scripted_stop(&s);
}

/* A port that was ours and is nobody's. */
static void without_reconnect_waiting_calls_end(void **state)
{
    struct scripted gone;
    struct scripted s;
    unsigned total = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&gone, NULL, NULL);
    scripted_start(&s, NULL, NULL);
    memcpy(s.url, gone.url, sizeof s.url);
    scripted_stop(&gone);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){.no_reconnect = true});
    seen_call(client, "x", &seen, 0);
    scripted_until(&s, &total, 1);
    assert_int_equal(seen.outcome, ERGON_END_UNREACHABLE);
    assert_int_equal(ergon_client_state(client), ERGON_STATE_IDLE);
    ergon_client_free(client);
    scripted_stop(&s);
}

/* ---- freeing ---- */

static void free_ends_every_call_once(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen sent = {.total = &total};
    struct seen waits = {.total = &total};
    (void)state;
    scripted_start(&s, NULL, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    seen_call(client, "sent", &sent, 60000);
    scripted_until(&s, &s.messages, 1);
    struct ergon_client *idle = seen_client(&s, (struct ergon_options){0});
    seen_call(idle, "waits", &waits, 60000);
    ergon_client_free(client);
    ergon_client_free(idle);
    assert_int_equal(total, 2);
    assert_int_equal(sent.outcome, ERGON_END_CLOSED);
    assert_int_equal(waits.outcome, ERGON_END_CLOSED);
    scripted_stop(&s);
}

struct freeing {
    struct ergon_client *client;
    unsigned count;
};

static void on_answer_free(void *arg, const struct ergon_answer *a)
{
    struct freeing *f = arg;
    f->count++;
    if (a->outcome == ERGON_END_OK)
        ergon_client_free(f->client);
}

static void a_callback_may_free_the_client(void **state)
{
    struct scripted s;
    struct freeing f = {0};
    (void)state;
    scripted_start(&s, seen_answer_with_name, NULL);
    f.client = seen_client(&s, (struct ergon_options){0});
    for (int i = 0; i < 3; i++)
        assert_true(
            ergon_client_call(f.client, "x", (struct ergon_raw){0}, 0, on_answer_free, &f) != 0);
    scripted_until(&s, &f.count, 3);
    assert_int_equal(f.count, 3);
    scripted_stop(&s);
}

/* ---- server.auth ---- */

static void check_token(struct scripted *s, const struct envelope *e)
{
    struct reader r;
    struct span token;
    uint32_t count;
    if (s->messages == 1) {
        assert_true(span_is(e->method, "server.auth"));
        read_params(e->params, &r, &count);
        assert_true(read_text(&r, &token));
        if (!span_is(token, "good")) {
            scripted_refuse(s, e->msgid, "AUTH: no such token");
            return;
        }
    }
    seen_answer_with_name(s, e);
}

static void the_token_goes_first(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&s, check_token, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){.token = "good"});
    seen_call(client, "x", &seen, 0);
    scripted_until(&s, &total, 1);
    assert_int_equal(seen.outcome, ERGON_END_OK);
    assert_int_equal(s.messages, 2);
    ergon_client_free(client);
    scripted_stop(&s);
}

static void a_refused_token_ends_waiting_calls(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&s, check_token, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){.token = "bad"});
    seen_call(client, "x", &seen, 0);
    scripted_until(&s, &total, 1);
    assert_int_equal(seen.outcome, ERGON_END_DENIED);
    assert_int_equal(s.messages, 1);
    ergon_client_free(client);
    scripted_stop(&s);
}

/* ---- arguments ---- */

static void wrong_arguments_are_refused_without_a_callback(void **state)
{
    struct scripted s;
    static const uint8_t two[] = {0x90, 0x90};
    static const uint8_t half[] = {0x92, 0x01};
    char long_name[METHOD_NAME_MAX + 2];
    (void)state;
    scripted_start(&s, NULL, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){.calls_max = 1});
    struct seen seen = {0};
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    struct ergon_raw none = {0};
    struct ergon_raw bad1 = {two, sizeof two};
    struct ergon_raw bad2 = {half, sizeof half};
    assert_int_equal(ergon_client_call(client, "", none, 0, seen_answer, &seen), 0);
    assert_int_equal(ergon_client_call(client, long_name, none, 0, seen_answer, &seen), 0);
    assert_int_equal(ergon_client_call(client, "x", bad1, 0, seen_answer, &seen), 0);
    assert_int_equal(ergon_client_call(client, "x", bad2, 0, seen_answer, &seen), 0);
    assert_true(ergon_client_call(client, "x", none, 0, NULL, NULL) != 0);
    assert_int_equal(ergon_client_call(client, "x", none, 0, seen_answer, &seen), 0);
    ergon_client_free(client);
    scripted_stop(&s);
}

/* OpenSSL would take it for: any name will do. */
static void an_empty_server_name_is_refused(void **state)
{
    struct ergon_client *client;
    char why[128];
    struct event_base *base = event_base_new();
    struct ergon_options o = {.size = sizeof o, .url = "ergons://h", .server_name = ""};
    (void)state;
    assert_int_equal(ergon_client_new(base, &o, &client, why, sizeof why), ERGON_END_INVALID);
    assert_null(client);
    assert_non_null(strstr(why, "server name"));
    event_base_free(base);
}

static void a_bad_url_is_refused(void **state)
{
    struct ergon_client *client;
    char why[128];
    struct event_base *base = event_base_new();
    struct ergon_options o = {.size = sizeof o, .url = "http://x"};
    (void)state;
    assert_int_equal(ergon_client_new(base, &o, &client, why, sizeof why), ERGON_END_INVALID);
    assert_null(client);
    assert_non_null(strstr(why, "ergon://"));
    event_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timeout_ends_the_call_and_tells_the_server),
        cmocka_unit_test(cancel_ends_the_call_at_once),
        cmocka_unit_test(a_cancelled_call_that_waits_is_never_sent),
        cmocka_unit_test(a_broken_connection_ends_what_was_sent_and_comes_back),
        cmocka_unit_test(the_back_off_grows_until_the_server_says_something),
        cmocka_unit_test(without_reconnect_waiting_calls_end),
        cmocka_unit_test(free_ends_every_call_once),
        cmocka_unit_test(a_callback_may_free_the_client),
        cmocka_unit_test(the_token_goes_first),
        cmocka_unit_test(a_refused_token_ends_waiting_calls),
        cmocka_unit_test(wrong_arguments_are_refused_without_a_callback),
        cmocka_unit_test(an_empty_server_name_is_refused),
        cmocka_unit_test(a_bad_url_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
