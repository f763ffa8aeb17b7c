/* What a turn changes: read from the map that a worker answers, or gathered one by one. */
#include "server/tasks/turn.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static struct attempt_turn *begin(void)
{
    struct blob *state = blob_copy(span_text("\x05"));
    struct attempt_turn *turn = turn_new(span_text("cart/42"), blob_bytes(state), state);
    assert_non_null(turn);
    blob_unref(state);
    turn->schema = 2;
    turn->writes = 3;
    return turn;
}

static bool reads(struct attempt_turn *turn, const char *map, size_t len, const char *wanted)
{
    char error[200] = "";
    bool good = turn_read_changes(turn, span_of(map, len), error, sizeof error);
    assert_string_equal(error, wanted);
    return good;
}

#define READS(turn, map, wanted) reads(turn, map, sizeof(map) - 1, wanted)

TEST(name_and_state_are_the_turns_own)
{
    int64_t live = heap_live();
    struct attempt_turn *turn = begin();
    assert_true(span_is(turn->actor, "cart/42"));
    assert_true(span_is(turn->state, "\x05"));
    turn_free(turn);
    turn_free(NULL);
    assert_int_equal(heap_live(), live);
}

TEST(a_map_says_what_changes)
{
    struct attempt_turn *turn = begin();
    assert_true(READS(turn, "\xc0", ""));
    assert_null(turn->changes.state);
    assert_true(READS(turn,
                      "\x83\xa5state\x2a\xa5sleep\xa2"
                      "2s\xa4stop\xa4"
                      "done",
                      ""));
    assert_true(span_is(blob_bytes(turn->changes.state), "\x2a"));
    assert_int_equal(turn->changes.schema, 3);
    assert_int_equal(turn->changes.sleep, TURN_SLEEP_TIME);
    assert_int_equal(turn->changes.sleep_for, AO_S(2));
    assert_true(turn->changes.stops);
    assert_string_equal(turn->changes.stop, "done");
    assert_true(READS(turn, "\x82\xa5state\xc0\xa6schema\x07", ""));
    assert_int_equal(turn->changes.schema, 7);
    assert_int_equal(turn->changes.sleep, TURN_SLEEP_UNSAID);
    assert_true(READS(turn,
                      "\x82\xa4"
                      "drop\xc3\xa5sleep\xc3",
                      ""));
    assert_true(turn->changes.drops);
    assert_null(turn->changes.state);
    assert_int_equal(turn->changes.sleep, TURN_SLEEP_UNTIL_WOKEN);
    assert_true(READS(turn, "\x81\xa4wake\xc3", ""));
    assert_true(turn->changes.wakes);
    turn_free(turn);
}

static void refuses(const char *map, size_t len, const char *wanted)
{
    struct attempt_turn *turn = begin();
    assert_false(reads(turn, map, len, wanted));
    assert_null(turn->changes.state);
    assert_false(turn->changes.stops);
    turn_free(turn);
}

#define REFUSES(map, wanted) refuses(map, sizeof(map) - 1, wanted)

TEST(what_is_none_changes_nothing)
{
    int64_t live = heap_live();
    REFUSES("\x05", "options must be a map");
    REFUSES("\x82\xa5state\x01\xa5stale\x01", "unknown option \"stale\"");
    REFUSES("\x82\xa5state\x01\xa5state\x01", "option \"state\" is given twice");
    REFUSES("\x82\xa5state\x01\xa5sleep\xc2",
            "option \"sleep\" must be a duration, or true: until it is woken");
    REFUSES("\x82\xa5state\x01\xa4wake\xc2", "option \"wake\" must be true");
    REFUSES("\x82\xa5state\x01\xa4stop\x01", "option \"stop\" must be a text: why");
    REFUSES("\x82\xa5state\x01\xa4stop\xa0", "`stop` is empty: it has to say why the actor stops");
    REFUSES("\x82\xa5state\x01\xa4"
            "drop\xc3",
            "`state` and `drop` exclude each other");
    REFUSES("\x82\xa5sleep\x01\xa4wake\xc3", "`sleep` and `wake` exclude each other");
    REFUSES("\x81\xa5state\x01\x02", "something follows the changes");
    REFUSES("\x81\xa6schema\x01", "`schema` is that of a new state, and there is no `state`");
    assert_int_equal(heap_live(), live);
}

TEST(one_that_reads_changes_nothing)
{
    static const char why[] = "the method is one of `reads`, and changes nothing";
    struct attempt_turn *turn = begin();
    turn->reads = true;
    assert_true(READS(turn, "\xc0", ""));
    assert_true(READS(turn, "\x80", ""));
    assert_false(READS(turn, "\x81\xa4wake\xc3", why));
    assert_string_equal(turn_set_state(turn, span_text("\x01"), 1), why);
    assert_string_equal(turn_drop_state(turn), why);
    assert_string_equal(turn_sleep(turn, 1), why);
    assert_string_equal(turn_stop(turn, span_text("")), why);
    assert_null(turn->changes.state);
    turn_free(turn);
}

TEST(a_state_has_a_bound)
{
    static char large[102] = "\xd9\x62";
    struct attempt_turn *turn = begin();
    turn->state_max = 100;
    assert_null(turn_set_state(turn, span_of(large, 100), 1));
    assert_string_equal(turn_set_state(turn, span_of(large, 101), 1), TURN_STATE_TOO_LARGE);
    assert_int_equal(turn->changes.state->len, 100); /* the last that was good */
    heap_fail_at(1);
    assert_string_equal(turn_set_state(turn, span_of(large, 2), 1),
                        "there is no memory for the state");
    turn_free(turn);
}

/* --- What it sends --- */

TEST(messages_and_tasks_are_kept_in_order)
{
    int64_t live = heap_live();
    struct attempt_turn *turn = begin();
    assert_true(READS(turn,
                      "\x82\xa4tell\x92"
                      "\x93\xa3"
                      "a/1\xa3"
                      "add\x91\x01"
                      "\x94\xa3"
                      "b/2\xa3"
                      "add\x90\x81\xa4keep\x01"
                      "\xa4task\x91\x91\xa4"
                      "echo",
                      ""));
    const struct turn_message *m = turn->changes.messages.first;
    assert_int_equal(turn->changes.messages.count, 3);
    assert_true(span_is(m->to, "a/1") && span_is(m->method, "a.add"));
    assert_true(span_is(m->params, "\x91\x01") && m->options.len == 0);
    m = m->next;
    assert_true(span_is(m->to, "b/2") && span_is(m->method, "b.add"));
    assert_true(span_is(m->params, "\x90") && span_is(m->options, "\x81\xa4keep\x01"));
    m = m->next;
    assert_true(m->to.len == 0 && span_is(m->method, "echo") && span_is(m->params, "\x90"));
    assert_null(m->next);
    assert_true(READS(turn, "\xc0", ""));
    assert_null(turn->changes.messages.first);
    turn_free(turn);
    assert_int_equal(heap_live(), live);
}

TEST(what_is_no_message_is_refused)
{
    static const char tell[] = "`tell`, entry 1: expected [actor, method, params, {options}]";
    static const char name[] = "`tell`, entry 1: an actor has a name TYPE/KEY of at most 200 bytes "
                               "of UTF-8 without U+0000";
    int64_t live = heap_live();
    REFUSES("\x81\xa4tell\x01", "option \"tell\" must be an array of arrays");
    REFUSES("\x81\xa4tell\x91\x01", tell);
    REFUSES("\x81\xa4tell\x91\x91\xa3"
            "a/1",
            tell);
    REFUSES("\x81\xa4tell\x91\x92\xa0\xa3"
            "add",
            tell);
    REFUSES("\x81\xa4tell\x91\x94\xa3"
            "a/1\xa3"
            "add\x90\x01",
            tell);
    REFUSES("\x81\xa4tell\x91\x95\xa3"
            "a/1\xa3"
            "add\x90\x80\x01",
            tell);
    REFUSES("\x81\xa4tell\x91\x92\xa2"
            "a/\xa3"
            "add",
            name);
    REFUSES("\x82\xa5state\x01\xa4tell\x92\x92\xa3"
            "a/1\xa3"
            "add\x92\xa1"
            "a\xa3"
            "add",
            "`tell`, entry 2: an actor has a name TYPE/KEY of at most 200 bytes of UTF-8 without "
            "U+0000");
    REFUSES("\x81\xa4tell\x91\x92\xa3"
            "a/1\xa0",
            "`tell`, entry 1: the name of the method is empty or too long, or no UTF-8");
    REFUSES("\x81\xa4task\x91\x90", "`task`, entry 1: expected [method, params, {options}]");
    assert_int_equal(heap_live(), live);
}

TEST(a_turn_sends_no_more_than_it_may)
{
    static char large[TURN_MESSAGES_BYTES];
    struct attempt_turn *turn = begin();
    struct turn_message_parts parts = {.to = span_text("a/1"), .method = span_text("add")};
    for (int i = 0; i < TURN_MESSAGES_MAX; i++)
        assert_null(turn_send(turn, &parts));
    assert_string_equal(turn_send(turn, &parts),
                        "a turn or an attempt sends at most 100 messages and tasks");
    turn_drop_changes(turn);
    parts.params = span_of(large, sizeof large - 9);
    assert_null(turn_send(turn, &parts));
    parts.params = (struct span){0};
    assert_string_equal(turn_send(turn, &parts),
                        "the messages and tasks of a turn or an attempt have at most 1 MiB");
    turn->reads = true;
    assert_string_equal(turn_send(turn, &parts),
                        "the method is one of `reads`, and changes nothing");
    turn_drop_changes(turn);
    turn->reads = false;
    heap_fail_at(1);
    assert_string_equal(turn_send(turn, &parts), "there is no memory for the message");
    turn_free(turn);
}

TEST(the_last_word_of_a_sleep_counts)
{
    struct attempt_turn *turn = begin();
    assert_null(turn_sleep(turn, AO_NEVER));
    assert_null(turn_wake(turn));
    assert_int_equal(turn->changes.sleep, TURN_SLEEP_UNSAID);
    assert_null(turn_sleep(turn, AO_S(1)));
    assert_false(turn->changes.wakes);
    turn_free(turn);
}
