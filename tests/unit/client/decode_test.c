/* Answers of the server as structs; the answers are written as JSON. */
#include <ergon/client_actors.h>

#include "client/cli/json.h"
#include "proto/pack.h"
#include "tests/support/cmocka_env.h"

static struct pack packed;

/* Valid until the next. */
static struct ergon_raw value_of(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
    if (value == NULL)
        fail_msg("%s: %s", text, error.text);
    pack_fini(&packed);
    pack_init(&packed);
    assert_true(json_to_value(&packed.packer, value));
    json_decref(value);
    struct span bytes = pack_bytes(&packed);
    return (struct ergon_raw){bytes.at, bytes.len};
}

TEST(a_submission_is_read)
{
    struct ergon_submitted s;
    assert_true(ergon_read_submitted(
        value_of("{\"id\": \"t1\", \"state\": \"queued\", \"durable\": \"replicated\","
                 " \"duplicate\": true, \"coalesced\": false, \"later\": [1]}"),
        &s));
    assert_string_equal(s.id, "t1");
    assert_string_equal(s.state, "queued");
    assert_string_equal(s.durable, "replicated");
    assert_true(s.duplicate);
    assert_false(s.coalesced);
    assert_string_equal(s.error, "");
    assert_true(ergon_read_submitted(value_of("{\"error\": \"BUSY: full\"}"), &s));
    assert_string_equal(s.error, "BUSY: full");
    assert_string_equal(s.id, "");
}

TEST(what_is_no_submission_is_refused)
{
    static const char *const others[] = {"null", "7", "[]", "{}", "{\"id\": 7}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct ergon_submitted s;
        assert_false(ergon_read_submitted(value_of(others[i]), &s));
    }
    struct ergon_submitted s;
    assert_false(ergon_read_submitted((struct ergon_raw){NULL, 0}, &s));
}

TEST(a_task_is_read)
{
    struct ergon_task_shown t;
    assert_true(ergon_read_task(
        value_of("{\"id\": \"t1\", \"method\": \"m\", \"state\": \"done\", \"reason\": \"ended\","
                 " \"attempt\": 3, \"failures\": 2, \"retries\": 5, \"crashes\": 1,"
                 " \"priority\": 9, \"tenant\": \"n\", \"key\": null, \"durable\": \"async\","
                 " \"created\": 1700000000000, \"due\": null, \"ended\": 1700000000007,"
                 " \"progress\": {\"done\": 3, \"total\": 4, \"text\": \"pages\"},"
                 " \"error\": \"FAILED: no\", \"result\": \"hi\", \"cut\": true}"),
        &t));
    assert_string_equal(t.method, "m");
    assert_int_equal(t.attempt, 3);
    assert_int_equal(t.retries, 5);
    assert_int_equal(t.crashes, 1);
    assert_string_equal(t.key, "");
    assert_int_equal(t.created, 1700000000000);
    assert_int_equal(t.due, 0);
    assert_int_equal(t.ended, 1700000000007);
    assert_int_equal(t.progress_done, 3);
    assert_string_equal(t.progress_text, "pages");
    assert_string_equal(t.error, "FAILED: no");
    assert_int_equal(t.result.len, 3);
    assert_memory_equal(t.result.at, "\xa2hi", 3);
    assert_true(t.cut);
    assert_false(t.result_hidden);
}

TEST(what_is_in_a_task_is_read)
{
    struct ergon_task_shown t;
    assert_true(ergon_read_task(
        value_of("{\"id\": \"t1\", \"result\": null, \"result_hidden\": true, \"params\": [7],"
                 " \"params_text\": \"[7]\", \"params_size\": 2, \"params_hidden\": null,"
                 " \"options\": {\"retries\": 1}}"),
        &t));
    assert_true(t.result_hidden);
    assert_int_equal(t.params.len, 2);
    assert_string_equal(t.params_text, "[7]");
    assert_int_equal(t.params_size, 2);
    assert_string_equal(t.params_hidden, "");
    assert_int_equal(t.options.len, 10);
    assert_true(ergon_read_task(value_of("{\"id\": \"t1\", \"params_hidden\": \"secret\"}"), &t));
    assert_string_equal(t.params_hidden, "secret");
}

TEST(long_strings_are_cut)
{
    struct ergon_task_shown t;
    assert_true(ergon_read_task(
        value_of("{\"id\": \"t1\", \"state\": \"a state of more than sixteen bytes\"}"), &t));
    assert_string_equal(t.state, "a state of more");
    assert_int_equal(t.result.len, 0);
}

TEST(a_string_that_needs_all_room_leaves_the_next_as_it_is)
{
    struct ergon_submitted s;
    assert_true(ergon_read_submitted(value_of("{\"state\": \"done\", \"id\": "
                                              "\"t123456789t123456789t123456789t123456789\"}"),
                                     &s));
    assert_string_equal(s.id, "t123456789t123456789t123456789t12345678");
    assert_string_equal(s.state, "done");
}

TEST(nil_is_no_result)
{
    struct ergon_task_shown t;
    assert_true(ergon_read_task(value_of("{\"id\": \"t1\", \"result\": null}"), &t));
    assert_int_equal(t.result.len, 0);
}

TEST(a_version_of_an_actor_is_read)
{
    struct ergon_actor_version v;
    assert_true(ergon_read_actor_version(
        value_of("{\"version\": 7, \"stage\": \"active\", \"state\": 9}"), &v));
    assert_true(v.version == 7 && v.state.len == 1 && !v.timeout && !v.state_hidden);
    assert_true(ergon_read_actor_version(
        value_of("{\"version\": 0, \"stage\": \"sleeping\", \"timeout\": true}"), &v));
    assert_true(v.timeout && v.state.len == 0);
    assert_false(ergon_read_actor_version(value_of("{\"version\": 7}"), &v));
}

TEST(an_actor_is_read)
{
    struct ergon_actor_shown a;
    assert_true(ergon_read_actor(
        value_of(
            "{\"actor\": \"c/1\", \"tenant\": \"t\", \"stage\": \"active\", \"next\": 5,"
            " \"turn\": {\"id\": \"t1\", \"method\": \"c.add\", \"attempt\": 2, \"started\": 3},"
            " \"version\": 7, \"schema\": 1, \"waiting\": 4, \"oldest\": 6, \"failures\": 8, "
            "\"stopped\": null,"
            " \"state\": 9, \"state_hidden\": true, \"resident\": true, \"reason\": \"actor\", "
            "\"text\": \"why\"}"),
        &a));
    assert_string_equal(a.turn_method, "c.add");
    assert_int_equal(a.turn_attempt * 10 + a.turn_started, 23);
    assert_int_equal(a.version * 1000 + a.schema * 100 + a.waiting * 10 + a.oldest, 7146);
    assert_int_equal(a.failures, 8);
    assert_string_equal(a.stopped, "");
    assert_memory_equal(a.state.at, "\x09", 1);
    assert_true(a.state_hidden && a.resident);
    assert_string_equal(a.text, "why");
    assert_true(
        ergon_read_actor(value_of("{\"actor\": \"c/1\", \"turn\": null, \"state\": null}"), &a));
    assert_string_equal(a.turn_id, "");
    assert_int_equal(a.state.len, 0);
    assert_false(ergon_read_actor(value_of("{\"stage\": \"active\"}"), &a));
}

TEST(actors_and_types_are_read_one_by_one)
{
    struct ergon_actor_shown a;
    struct ergon_actor_type_shown t;
    struct ergon_raw answer =
        value_of("{\"actors\": [{\"actor\": \"c/1\"}, {\"actor\": \"c/2\"}], \"next\": null}");
    size_t at = 0;
    assert_true(ergon_next_actor(answer, &at, &a) && ergon_next_actor(answer, &at, &a));
    assert_string_equal(a.actor, "c/2");
    assert_false(ergon_next_actor(answer, &at, &a));
    answer =
        value_of("[{\"type\": \"c\", \"schema\": 1, \"steps\": true, \"actors\": 4,"
                 " \"active\": 3, \"stopped\": 2, \"durable\": \"fsync\", \"on_failure\": \"stop\","
                 " \"intensity\": 5, \"window\": 60, \"supervisor\": \"ops/main\", "
                 "\"pipeline\": true}]");
    at = 0;
    assert_true(ergon_next_actor_type(answer, &at, &t));
    assert_string_equal(t.type, "c");
    assert_int_equal(t.actors * 100 + t.active * 10 + t.stopped, 432);
    assert_true(t.steps);
    assert_string_equal(t.durable, "fsync");
    assert_string_equal(t.on_failure, "stop");
    assert_int_equal(t.intensity * 100 + t.window_ms, 560);
    assert_true(t.pipeline);
    assert_string_equal(t.supervisor, "ops/main");
    assert_false(ergon_next_actor_type(answer, &at, &t));
}

TEST(tasks_are_read_one_by_one)
{
    static const char *const answers[] = {
        "{\"tasks\": [{\"id\": \"a\"}, {\"id\": \"b\"}, {\"id\": \"c\"}], \"next\": \"c\"}",
        "{\"ended\": [{\"id\": \"a\"}, {\"id\": \"b\"}, {\"id\": \"c\"}], \"open\": [\"d\"]}"};
    for (size_t i = 0; i < 2; i++) {
        struct ergon_task_shown t;
        struct ergon_raw answer = value_of(answers[i]);
        size_t at = 0;
        char seen[8] = "";
        while (strlen(seen) < sizeof seen - 1 && ergon_next_task(answer, &at, &t))
            strcat(seen, t.id);
        assert_string_equal(seen, "abc");
    }
    size_t at = 0;
    struct ergon_task_shown t;
    assert_false(ergon_next_task((struct ergon_raw){"\x80", 1}, &at, &t));
}

TEST(a_member_is_found_whatever_the_keys_are)
{
    /* {1: 2, "a": "b"} */
    static const uint8_t map[] = {0x82, 1, 2, 0xa1, 'a', 0xa1, 'b'};
    struct ergon_raw raw = {map, sizeof map};
    assert_int_equal(ergon_read_member(raw, "a").len, 2);
    assert_int_equal(ergon_read_member(raw, "b").len, 0);
    assert_int_equal(ergon_read_member((struct ergon_raw){map + 1, 1}, "a").len, 0);
}

static int free_packed(void **state)
{
    pack_fini(&packed);
    return 0;
}

TEST_GROUP(NULL, free_packed)
