/* Answers and errors, good and strange, as the calls of a client see them. */
#include "tests/unit/client/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/encoder.h"
#include "proto/reader.h"

enum { MANY = 1000 };

/* ---- good answers ---- */

WORLD_TEST(a_call_is_answered)
{
    struct world *w = world_open(state, answer_with_name, NULL, (struct ergon_options){0});
    assert_int_equal(ergon_client_state(w->client), ERGON_STATE_IDLE);
    struct seen *seen = world_call(w, "hello", 0);
    assert_int_equal(ergon_client_state(w->client), ERGON_STATE_CONNECTING);
    world_until(w, 1);
    assert_int_equal(seen->outcome, ERGON_END_OK);
    assert_string_equal(seen->result, "hello");
    assert_int_equal(ergon_client_state(w->client), ERGON_STATE_READY);
}

/* Holds all requests back and answers them last first. */
struct held {
    struct scripted *server;
    uint8_t ids[MANY][MSGID_MAX];
    size_t lens[MANY];
    unsigned count;
};

static void hold(struct scripted *s, const struct envelope *e)
{
    struct held *held = s->user;
    memcpy(held->ids[held->count], e->msgid.at, e->msgid.len);
    held->lens[held->count++] = e->msgid.len;
    if (held->count < MANY)
        return;
    for (unsigned i = MANY; i-- > 0;) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        scripted_answer(s, span_of(held->ids[i], held->lens[i]), text);
    }
}

WORLD_TEST(answers_in_any_order_find_their_calls)
{
    struct held *held = calloc(1, sizeof *held);
    struct seen *seen = calloc(MANY, sizeof *seen);
    struct world *w = world_open(state, hold, held, (struct ergon_options){0});
    for (unsigned i = 0; i < MANY; i++) {
        seen[i].total = &w->total;
        assert_true(ergon_client_call(w->client, "x", (struct ergon_raw){0}, 0, seen_answer,
                                      &seen[i]) != 0);
    }
    world_until(w, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        assert_int_equal(seen[i].count, 1);
        assert_string_equal(seen[i].result, text);
    }
    free(held);
    free(seen);
}

/* A byte a turn of the loop. */
static void drip(struct scripted *s, const struct envelope *e)
{
    uint8_t bytes[64];
    uint8_t *end = enc_str(enc_response_head(bytes, e->msgid), span_text("drop by drop"));
    for (uint8_t *p = bytes; p < end; p++) {
        scripted_send(s, p, 1);
        event_base_loop(s->base, EVLOOP_NONBLOCK);
    }
}

WORLD_TEST(an_answer_may_come_byte_by_byte)
{
    struct world *w = world_open(state, NULL, NULL, (struct ergon_options){0});
    struct seen *seen = world_call(w, "x", 0);
    scripted_until(&w->server, &w->server.accepted, 1);
    world_until_ready(w);
    scripted_until(&w->server, &w->server.messages, 1);
    static const uint8_t id = 1;
    drip(&w->server, &(struct envelope){.msgid = span_of(&id, 1)});
    world_until(w, 1);
    assert_string_equal(seen->result, "drop by drop");
}

/* ---- errors and strange answers ---- */

static void refuse(struct scripted *s, const struct envelope *e)
{
    scripted_refuse(s, e->msgid, "BUSY: the queue is full");
}

WORLD_TEST(an_error_has_code_and_text)
{
    struct world *w = world_open(state, refuse, NULL, (struct ergon_options){0});
    struct seen *seen = world_call(w, "x", 0);
    world_until(w, 1);
    assert_int_equal(seen->outcome, ERGON_END_ERROR);
    assert_string_equal(seen->code, "BUSY");
    assert_string_equal(seen->text, "the queue is full");
}

static void answer_strangely(struct scripted *s, const struct envelope *e)
{
    static const uint8_t unknown[] = {0x94, 1, 0xcd, 0x7f, 0xff, 0xc0, 0xc0};
    static const uint8_t notification[] = {0x93, 2, 0xa1, 'n', 0x90};
    static const uint8_t request[] = {0x94, 0, 7, 0xa1, 'r', 0x90};
    if (e->type != ENVELOPE_REQUEST)
        return;
    scripted_send(s, unknown, sizeof unknown);
    scripted_send(s, notification, sizeof notification);
    scripted_send(s, request, sizeof request);
    scripted_answer(s, e->msgid, "good");
    scripted_answer(s, e->msgid, "again");
}

WORLD_TEST(unknown_ids_are_counted_and_requests_refused)
{
    struct ergon_client_stats stats;
    struct world *w = world_open(state, answer_strangely, NULL, (struct ergon_options){0});
    struct seen *seen = world_call(w, "x", 0);
    scripted_until(&w->server, &w->server.messages,
                   2); /* the call, and the refusal of our request */
    ergon_client_stats(w->client, &stats);
    assert_int_equal(w->total, 1);
    assert_string_equal(seen->result, "good");
    assert_int_equal(stats.unknown_ids, 2);
    assert_int_equal(stats.unasked, 2);
    assert_int_equal(stats.answers, 1);
}

static void send_garbage(struct scripted *s, const struct envelope *e)
{
    scripted_send(s, "\xc1", 1);
}

WORLD_TEST(what_is_no_messagepack_breaks_the_connection)
{
    struct world *w =
        world_open(state, send_garbage, NULL, (struct ergon_options){.no_reconnect = true});
    struct seen *seen = world_call(w, "x", 0);
    world_until(w, 1);
    assert_int_equal(seen->outcome, ERGON_END_BROKEN);
    assert_int_equal(ergon_client_state(w->client), ERGON_STATE_IDLE);
}

static void send_large(struct scripted *s, const struct envelope *e)
{
    static const uint8_t head[] = {0x94, 1, 1, 0xc0, 0xdd, 0xff, 0xff, 0xff, 0xff};
    scripted_send(s, head, sizeof head);
}

WORLD_TEST(a_message_over_the_limit_breaks_the_connection)
{
    struct world *w = world_open(state, send_large, NULL,
                                 (struct ergon_options){.no_reconnect = true, .message_max = 1024});
    struct seen *seen = world_call(w, "x", 0);
    world_until(w, 1);
    assert_int_equal(seen->outcome, ERGON_END_BROKEN);
}
