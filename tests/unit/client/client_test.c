/* The life of a client and its connection: each way in which a call ends without an answer. */
#include "tests/unit/client/world.h"

#include <stdio.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

WORLD_TEST(a_timeout_ends_the_call_and_tells_the_server)
{
    unsigned cancels = 0;
    struct world *w = world_open(state, note_cancel, &cancels, (struct ergon_options){0});
    ergon_client_connect(w->client);
    world_until_ready(w);
    struct seen *seen = world_call(w, "x", 1);
    scripted_until(&w->server, &cancels, 1);
    assert_int_equal(seen->outcome, ERGON_END_TIMEOUT);
    assert_int_equal(w->total, 1);
}

WORLD_TEST(cancel_ends_the_call_at_once)
{
    unsigned cancels = 0;
    struct world *w = world_open(state, note_cancel, &cancels, (struct ergon_options){0});
    struct seen *seen = world_call(w, "x", 0);
    scripted_until(&w->server, &w->server.messages, 1);
    assert_true(ergon_client_cancel(w->client, seen->id));
    assert_int_equal(seen->outcome, ERGON_END_CANCELLED);
    assert_false(ergon_client_cancel(w->client, seen->id));
    scripted_until(&w->server, &cancels, 1);
    assert_int_equal(w->total, 1);
}

WORLD_TEST(a_cancelled_call_that_waits_is_never_sent)
{
    struct world *w = world_open(state, answer_with_name, NULL, (struct ergon_options){0});
    struct seen *first = world_call(w, "first", 0);
    struct seen *second = world_call(w, "second", 0);
    assert_true(ergon_client_cancel(w->client, first->id));
    world_until(w, 2);
    assert_int_equal(w->server.messages, 1);
    assert_string_equal(second->result, "second");
}

/* ---- broken connections ---- */

static void hang_up_once(struct scripted *s, const struct envelope *e)
{
    if (s->accepted == 1)
        scripted_hang_up(s);
    else
        answer_with_name(s, e);
}

WORLD_TEST(a_broken_connection_ends_what_was_sent_and_comes_back)
{
    struct ergon_client_stats stats;
    struct world *w = world_open(state, hang_up_once, NULL, (struct ergon_options){0});
    struct seen *broken = world_call(w, "broken", 0);
    world_until(w, 1);
    assert_int_equal(broken->outcome, ERGON_END_BROKEN);
    assert_int_equal(ergon_client_state(w->client), ERGON_STATE_BACKING_OFF);
    struct seen *after = world_call(w, "after", 0);
    world_until(w, 2);
    assert_string_equal(after->result, "after");
    assert_int_equal(w->server.accepted, 2);
    assert_int_equal(w->server.messages, 2); /* the broken one was not sent again */
    ergon_client_stats(w->client, &stats);
    assert_int_equal(stats.connects, 2);
}

/* The server goes while it is told who asks: what has not been sent is sent to the next. */
WORLD_TEST(what_waits_outlives_an_attempt_that_fails)
{
    struct world *w =
        world_open(state, hang_up_once, NULL, (struct ergon_options){.token = "good"});
    struct seen *seen = world_call(w, "x", 0);
    world_until(w, 1);
    assert_int_equal(seen->outcome, ERGON_END_OK);
    assert_string_equal(seen->result, "x");
    assert_int_equal(w->server.accepted, 2);
    assert_int_equal(w->server.messages, 3); /* the token twice, and the call once */
}

static void hang_up_twice(struct scripted *s, const struct envelope *e)
{
    if (s->accepted <= 2)
        scripted_hang_up(s);
    else
        answer_with_name(s, e);
}

/* A server that is full accepts, says nothing and closes. */
WORLD_TEST(the_back_off_grows_until_the_server_says_something)
{
    struct seen *last = NULL;
    struct world *w = world_open(state, hang_up_twice, NULL, (struct ergon_options){0});
    for (unsigned i = 0; i < 3; i++) {
        last = world_call(w, "x", 0);
        world_until(w, i + 1);
        assert_int_equal(w->client->attempt, i < 2 ? i + 1 : 0);
    }
    assert_int_equal(last->outcome, ERGON_END_OK);
}

/* The clock is the test's: it looks how long the client means to wait, and ends the wait. */
static uint32_t pause_ms(const struct world *w)
{
    struct timeval now, end, left;
    assert_int_equal(ergon_client_state(w->client), ERGON_STATE_BACKING_OFF);
    assert_true(event_pending(&w->client->timer, EV_TIMEOUT, &end));
    evutil_gettimeofday(&now, NULL);
    evutil_timersub(&end, &now, &left);
    return (uint32_t)(left.tv_sec * 1000 + left.tv_usec / 1000);
}

static void hang_up_six_times(struct scripted *s, const struct envelope *e)
{
    if (s->accepted <= 6)
        scripted_hang_up(s);
    else
        answer_with_name(s, e);
}

WORLD_TEST(pauses_double_up_to_the_longest_and_are_spread)
{
    enum { FIRST = 1000 * 1000, LONGEST = 8 * FIRST, TEST_TAKES = FIRST / 4 }; /* ms */
    uint32_t shortest = UINT32_MAX, longest = 0;
    struct world *w =
        world_open(state, hang_up_six_times, NULL,
                   (struct ergon_options){.backoff_min_ms = FIRST, .backoff_max_ms = LONGEST});
    for (unsigned attempt = 0; attempt < 6; attempt++) {
        uint32_t full = attempt < 3 ? (uint32_t)FIRST << attempt : LONGEST;
        world_call(w, "x", 0);
        world_until(w, attempt + 1);
        uint32_t pause = pause_ms(w);
        assert_in_range(pause, full / 2 - TEST_TAKES, full);
        if (full == LONGEST) {
            shortest = pause < shortest ? pause : shortest;
            longest = pause > longest ? pause : longest;
        }
        event_active(&w->client->timer, EV_TIMEOUT, 1);
    }
    assert_true(longest - shortest > 100); /* clients do not come back together */
    struct seen *answered = world_call(w, "x", 0);
    world_until(w, 7);
    assert_int_equal(answered->outcome, ERGON_END_OK);
    scripted_hang_up(&w->server); /* and now it begins anew */
    while (ergon_client_state(w->client) != ERGON_STATE_BACKING_OFF)
        event_base_loop(w->server.base, EVLOOP_ONCE);
    assert_in_range(pause_ms(w), FIRST / 2 - TEST_TAKES, FIRST);
}

/* The port of a server that has gone is nobody's. */
WORLD_TEST(without_reconnect_waiting_calls_end)
{
    struct scripted gone;
    scripted_start(&gone, NULL, NULL);
    memcpy(((struct world *)*state)->server.url, gone.url, sizeof gone.url);
    scripted_stop(&gone);
    struct world *w = world_open(state, NULL, NULL, (struct ergon_options){.no_reconnect = true});
    struct seen *seen = world_call(w, "x", 0);
    world_until(w, 1);
    assert_int_equal(seen->outcome, ERGON_END_UNREACHABLE);
    assert_int_equal(ergon_client_state(w->client), ERGON_STATE_IDLE);
}

static void give_up_the_second(void *arg, enum ergon_state state, const char *why)
{
    struct world *w = arg;
    (void)why;
    if (state != ERGON_STATE_IDLE || w->called != 3)
        return;
    assert_int_equal(w->total, 0); /* its connection has failed, and it has not been answered yet */
    assert_true(ergon_client_cancel(w->client, w->calls[1].id));
    assert_false(ergon_client_cancel(w->client, w->calls[1].id));
    for (int n = 0; n < 2; n++) /* those that are about to end count no more */
        world_call(w, "x", 0);
}

static void hang_up_at_the_third(struct scripted *s, const struct envelope *e)
{
    (void)e;
    if (++*(unsigned *)s->user == 3)
        scripted_hang_up(s);
}

WORLD_TEST(a_call_can_be_given_up_while_a_failure_is_told)
{
    unsigned requests = 0;
    struct ergon_options options = {.no_reconnect = true,
                                    .calls_max = 3,
                                    .on_state = give_up_the_second,
                                    .on_state_arg = *state};
    struct world *w = world_open(state, hang_up_at_the_third, &requests, options);
    for (int n = 0; n < 3; n++)
        world_call(w, "x", 0);
    world_until(w, 3);
    assert_int_equal(w->calls[0].outcome, ERGON_END_BROKEN);
    assert_int_equal(w->calls[1].outcome, ERGON_END_CANCELLED);
    assert_int_equal(w->calls[2].outcome, ERGON_END_BROKEN);
}

/* ---- limits, and a server that asks ---- */

static void say_nothing(struct scripted *s, const struct envelope *e)
{
    (void)s;
    (void)e;
}

WORLD_TEST(no_more_calls_than_calls_max_are_kept)
{
    struct world *w = world_open(state, say_nothing, NULL, (struct ergon_options){.calls_max = 2});
    const struct ergon_raw none = {0};
    ergon_client_connect(w->client);
    world_until_ready(w);
    world_call(w, "x", 0);
    struct seen *second = world_call(w, "y", 0);
    assert_int_equal(ergon_client_call(w->client, "z", none, 0, seen_answer, &w->calls[7]), 0);
    assert_true(ergon_client_cancel(w->client, second->id));
    world_call(w, "z", 0);
}

static void answer_what_was_not_sent(struct scripted *s, const struct envelope *e)
{
    scripted_answer(s, span_of(s->user, 1), "early");
    answer_with_name(s, e);
}

/* A pause has the id of a call, and no server has heard of it. */
WORLD_TEST(an_answer_to_what_was_not_sent_is_ignored)
{
    uint8_t id = 0;
    unsigned total = 0;
    struct seen paused = {.total = &total};
    struct ergon_client_stats stats;
    struct world *w = world_open(state, answer_what_was_not_sent, &id, (struct ergon_options){0});
    id = (uint8_t)client_pause(w->client, 60000, seen_answer, &paused);
    struct seen *seen = world_call(w, "x", 0);
    world_until(w, 1);
    assert_string_equal(seen->result, "x");
    assert_int_equal(total, 0);
    ergon_client_stats(w->client, &stats);
    assert_int_equal(stats.unknown_ids, 1);
    assert_true(ergon_client_cancel(w->client, id));
    assert_int_equal(total, 1);
}

struct asked {
    unsigned refusals;
};

static void ask_back(struct scripted *s, const struct envelope *e)
{
    struct asked *asked = s->user;
    static const uint8_t request[] = {0x94, 0, 7, 0xa1, 'x', 0x90};
    if (e->type == ENVELOPE_RESPONSE)
        asked->refusals += e->error.len > 1;
    else
        scripted_send(s, request, sizeof request);
}

WORLD_TEST(a_server_that_asks_is_refused_at_once)
{
    struct asked asked = {0};
    struct world *w = world_open(state, ask_back, &asked, (struct ergon_options){0});
    world_call(w, "x", 0);
    scripted_until(&w->server, &asked.refusals, 1);
    assert_int_equal(w->total, 0);
}

/* ---- freeing ---- */

WORLD_TEST(free_ends_every_call_once)
{
    struct world *w = world_open(state, NULL, NULL, (struct ergon_options){0});
    struct seen *sent = world_call(w, "sent", 60000);
    scripted_until(&w->server, &w->server.messages, 1);
    ergon_client_free(w->client);
    assert_int_equal(sent->outcome, ERGON_END_CLOSED);
    world_open(state, NULL, NULL, (struct ergon_options){0});
    struct seen *waits = world_call(w, "waits", 60000);
    ergon_client_free(w->client);
    w->client = NULL;
    assert_int_equal(waits->outcome, ERGON_END_CLOSED);
    assert_int_equal(w->total, 2);
}

struct freeing {
    struct world *world;
    unsigned count;
};

static void on_answer_free(void *arg, const struct ergon_answer *a)
{
    struct freeing *f = arg;
    f->count++;
    if (a->outcome != ERGON_END_OK)
        return;
    ergon_client_free(f->world->client);
    f->world->client = NULL;
}

WORLD_TEST(a_callback_may_free_the_client)
{
    struct world *w = world_open(state, answer_with_name, NULL, (struct ergon_options){0});
    struct freeing f = {.world = w};
    for (int i = 0; i < 3; i++)
        assert_true(
            ergon_client_call(w->client, "x", (struct ergon_raw){0}, 0, on_answer_free, &f) != 0);
    scripted_until(&w->server, &f.count, 3);
    assert_int_equal(f.count, 3);
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
    answer_with_name(s, e);
}

WORLD_TEST(the_token_goes_first)
{
    struct world *w = world_open(state, check_token, NULL, (struct ergon_options){.token = "good"});
    struct seen *seen = world_call(w, "x", 0);
    world_until(w, 1);
    assert_int_equal(seen->outcome, ERGON_END_OK);
    assert_int_equal(w->server.messages, 2);
}

WORLD_TEST(a_refused_token_ends_waiting_calls)
{
    struct world *w = world_open(state, check_token, NULL, (struct ergon_options){.token = "bad"});
    struct seen *seen = world_call(w, "x", 0);
    world_until(w, 1);
    assert_int_equal(seen->outcome, ERGON_END_DENIED);
    assert_int_equal(w->server.messages, 1);
}

/* ---- a server that has no room ---- */

static void say_no_room(struct scripted *s, const struct envelope *e)
{
    static const char closing[] = "\x93\x02\xaeserver.closing\x92\xa4"
                                  "BUSY\xa4"
                                  "full";
    (void)e;
    scripted_send(s, closing, sizeof closing - 1);
}

static void expect_back_off_grows(struct world *w)
{
    for (unsigned i = 0; i < 3; i++) {
        world_call(w, "x", 0);
        world_until(w, i + 1);
        assert_int_equal(w->client->attempt, i + 1);
    }
}

WORLD_TEST(the_back_off_grows_while_the_server_has_no_room)
{
    expect_back_off_grows(world_open(state, say_no_room, NULL, (struct ergon_options){0}));
}

static void refuse_token(struct scripted *s, const struct envelope *e)
{
    scripted_refuse(s, e->msgid, "AUTH: no such token");
}

WORLD_TEST(the_back_off_grows_while_the_token_is_refused)
{
    struct ergon_options options = {.token = "bad"};
    expect_back_off_grows(world_open(state, refuse_token, NULL, options));
}

/* ---- arguments ---- */

WORLD_TEST(wrong_arguments_are_refused_without_a_callback)
{
    static const uint8_t two[] = {0x90, 0x90};
    static const uint8_t half[] = {0x92, 0x01};
    char long_name[METHOD_NAME_MAX + 2];
    struct world *w = world_open(state, NULL, NULL, (struct ergon_options){.calls_max = 1});
    struct seen seen = {0};
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    struct ergon_raw none = {0};
    struct ergon_raw bad1 = {two, sizeof two};
    struct ergon_raw bad2 = {half, sizeof half};
    assert_int_equal(ergon_client_call(w->client, "", none, 0, seen_answer, &seen), 0);
    assert_int_equal(ergon_client_call(w->client, long_name, none, 0, seen_answer, &seen), 0);
    assert_int_equal(ergon_client_call(w->client, "x", bad1, 0, seen_answer, &seen), 0);
    assert_int_equal(ergon_client_call(w->client, "x", bad2, 0, seen_answer, &seen), 0);
    assert_true(ergon_client_call(w->client, "x", none, 0, NULL, NULL) != 0);
    assert_int_equal(ergon_client_call(w->client, "x", none, 0, seen_answer, &seen), 0);
}

static void refused(struct ergon_options o, const char *what)
{
    struct ergon_client *client;
    char why[128];
    struct event_base *base = event_base_new();
    o.size = sizeof o;
    assert_int_equal(ergon_client_new(base, &o, &client, why, sizeof why), ERGON_END_INVALID);
    assert_null(client);
    assert_non_null(strstr(why, what));
    event_base_free(base);
}

/* Whoever was built against an older header has fewer, and what stands behind is not ours. */
TEST(options_of_an_older_program_end_where_it_says)
{
    struct ergon_client *client;
    char why[128];
    struct event_base *base = event_base_new();
    struct ergon_options o = {.size = offsetof(struct ergon_options, calls_max),
                              .url = "ergon://h",
                              .message_max = 77,
                              .calls_max = 78};
    assert_int_equal(ergon_client_new(base, &o, &client, why, sizeof why), ERGON_END_OK);
    assert_int_equal(client->settings.options.message_max, 77);
    assert_int_not_equal(client->settings.options.calls_max, 78);
    ergon_client_free(client);
    event_base_free(base);
}

/* OpenSSL would take it for: any name will do. */
TEST(an_empty_server_name_is_refused)
{
    refused((struct ergon_options){.url = "ergons://h", .server_name = ""}, "server name");
}

TEST(a_bad_url_is_refused)
{
    refused((struct ergon_options){.url = "http://x"}, "ergon://");
    refused((struct ergon_options){.url = NULL}, "required");
}

/* ---- sockets of the caller ---- */

static int give_socket(void *arg)
{
    int *fd = arg, given = *fd;

    *fd = -1;
    return given;
}

static void no_answer(void *arg, const struct ergon_answer *a)
{
    *(enum ergon_end *)arg = a->outcome;
}

/* A client over one end of a pair; a second attempt finds no socket. */
TEST(a_socket_of_the_caller_is_taken_once)
{
    struct event_base *base = event_base_new();
    struct ergon_client *client;
    enum ergon_end first = ERGON_END_OK, second = ERGON_END_OK;
    char said[512] = "";
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    int given = ends[0];
    const struct ergon_options options = {.size = sizeof options,
                                          .url = "unix:///nowhere",
                                          .no_reconnect = true,
                                          .open_socket = give_socket,
                                          .open_socket_arg = &given};
    assert_int_equal(ergon_client_new(base, &options, &client, NULL, 0), ERGON_END_OK);
    assert_int_not_equal(
        ergon_client_call(client, "x", (struct ergon_raw){0}, 0, no_answer, &first), 0);
    while (ergon_client_state(client) != ERGON_STATE_READY)
        event_base_loop(base, EVLOOP_ONCE);
    while (!memmem(said, sizeof said, "server.hello", 12)) {
        event_base_loop(base, EVLOOP_NONBLOCK);
        recv(ends[1], said, sizeof said, MSG_DONTWAIT);
    }
    close(ends[1]);
    while (first == ERGON_END_OK)
        event_base_loop(base, EVLOOP_ONCE);
    assert_int_equal(first, ERGON_END_BROKEN);
    assert_int_not_equal(
        ergon_client_call(client, "x", (struct ergon_raw){0}, 0, no_answer, &second), 0);
    while (second == ERGON_END_OK)
        event_base_loop(base, EVLOOP_ONCE);
    assert_int_equal(second, ERGON_END_UNREACHABLE);
    ergon_client_free(client);
    event_base_free(base);
}
