/* Answers and errors, good and strange, as the calls of a client see them. */
#include "tests/unit/client/seen.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/encoder.h"
#include "proto/reader.h"

enum { MANY = 1000 };

/* ---- good answers ---- */

static void a_call_is_answered(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&s, seen_answer_with_name, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    assert_int_equal(ergon_client_state(client), ERGON_STATE_IDLE);
    seen_call(client, "hello", &seen, 0);
    assert_int_equal(ergon_client_state(client), ERGON_STATE_CONNECTING);
    scripted_until(&s, &total, 1);
    assert_int_equal(seen.outcome, ERGON_END_OK);
    assert_string_equal(seen.result, "hello");
    assert_int_equal(ergon_client_state(client), ERGON_STATE_READY);
    ergon_client_free(client);
    assert_int_equal(total, 1);
    scripted_stop(&s);
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

static void answers_in_any_order_find_their_calls(void **state)
{
    struct scripted s;
    struct held *held = calloc(1, sizeof *held);
    struct seen *seen = calloc(MANY, sizeof *seen);
    unsigned total = 0;
    (void)state;
    scripted_start(&s, hold, held);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    for (unsigned i = 0; i < MANY; i++) {
        seen[i].total = &total;
        seen_call(client, "x", &seen[i], 0);
    }
    scripted_until(&s, &total, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        assert_int_equal(seen[i].count, 1);
        assert_string_equal(seen[i].result, text);
    }
    ergon_client_free(client);
    scripted_stop(&s);
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

static void an_answer_may_come_byte_by_byte(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&s, NULL, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    seen_call(client, "x", &seen, 0);
    scripted_until(&s, &s.accepted, 1);
    while (ergon_client_state(client) != ERGON_STATE_READY)
        event_base_loop(s.base, EVLOOP_ONCE);
    scripted_until(&s, &s.messages, 1);
    static const uint8_t id = 1;
    drip(&s, &(struct envelope){.msgid = span_of(&id, 1)});
    scripted_until(&s, &total, 1);
    assert_string_equal(seen.result, "drop by drop");
    ergon_client_free(client);
    scripted_stop(&s);
}

/* ---- errors and strange answers ---- */

static void refuse(struct scripted *s, const struct envelope *e)
{
    scripted_refuse(s, e->msgid, "BUSY: the queue is full");
}

static void an_error_has_code_and_text(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&s, refuse, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    seen_call(client, "x", &seen, 0);
    scripted_until(&s, &total, 1);
    assert_int_equal(seen.outcome, ERGON_END_ERROR);
    assert_string_equal(seen.code, "BUSY");
    assert_string_equal(seen.text, "the queue is full");
    ergon_client_free(client);
    scripted_stop(&s);
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

static void unknown_ids_are_counted_and_requests_refused(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen seen = {.total = &total};
    struct ergon_client_stats stats;
    (void)state;
    scripted_start(&s, answer_strangely, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){0});
    seen_call(client, "x", &seen, 0);
    scripted_until(&s, &s.messages, 2); /* the call, and the refusal of our request */
    ergon_client_stats(client, &stats);
    assert_int_equal(total, 1);
    assert_string_equal(seen.result, "good");
    assert_int_equal(stats.unknown_ids, 2);
    assert_int_equal(stats.unasked, 2);
    assert_int_equal(stats.answers, 1);
    ergon_client_free(client);
    scripted_stop(&s);
}

static void send_garbage(struct scripted *s, const struct envelope *e)
{
    (void)e;
    scripted_send(s, "\xc1", 1);
}

static void what_is_no_messagepack_breaks_the_connection(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&s, send_garbage, NULL);
    struct ergon_client *client = seen_client(&s, (struct ergon_options){.no_reconnect = true});
    seen_call(client, "x", &seen, 0);
    scripted_until(&s, &total, 1);
    assert_int_equal(seen.outcome, ERGON_END_BROKEN);
    assert_int_equal(ergon_client_state(client), ERGON_STATE_IDLE);
    ergon_client_free(client);
    scripted_stop(&s);
}

static void send_large(struct scripted *s, const struct envelope *e)
{
    static const uint8_t head[] = {0x94, 1, 1, 0xc0, 0xdd, 0xff, 0xff, 0xff, 0xff};
    (void)e;
    scripted_send(s, head, sizeof head);
}

static void a_message_over_the_limit_breaks_the_connection(void **state)
{
    struct scripted s;
    unsigned total = 0;
    struct seen seen = {.total = &total};
    (void)state;
    scripted_start(&s, send_large, NULL);
    struct ergon_client *client =
        seen_client(&s, (struct ergon_options){.no_reconnect = true, .message_max = 1024});
    seen_call(client, "x", &seen, 0);
    scripted_until(&s, &total, 1);
    assert_int_equal(seen.outcome, ERGON_END_BROKEN);
    ergon_client_free(client);
    scripted_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_answered),
        cmocka_unit_test(answers_in_any_order_find_their_calls),
        cmocka_unit_test(an_answer_may_come_byte_by_byte),
        cmocka_unit_test(an_error_has_code_and_text),
        cmocka_unit_test(unknown_ids_are_counted_and_requests_refused),
        cmocka_unit_test(what_is_no_messagepack_breaks_the_connection),
        cmocka_unit_test(a_message_over_the_limit_breaks_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
