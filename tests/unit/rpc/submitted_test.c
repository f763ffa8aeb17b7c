/* task.*, queue.*, cron.* and server.audit: what they take and what they refuse. */
#include <stdio.h>

#include "proto/encoder.h"
#include "proto/job_options.h"
#include "tests/support/rpc_stage.h"

/* What is answered at this moment: by the end of time the tasks would be forgotten. */
static const char *answer(const char *method, const char *params)
{
    stage_ask(&peer, 1, method, params);
    stage_run_ms(net.v.now / AO_MS(1));
    return stage_said_to(&peer);
}

/* The error of a request; whole, or how it begins. */
static void refuses(const char *method, const char *params, const char *error)
{
    char wanted[512];

    snprintf(wanted, sizeof wanted, "1 failed: '%s", error);
    const char *said = answer(method, params);
    if (strncmp(said, wanted, strlen(wanted)) != 0)
        fail_msg("%s %s: %s, not %s", method, params, said, wanted);
}

static void holds(const char *method, const char *params, const char *part)
{
    const char *said = answer(method, params);
    if (strncmp(said, "1: ", 3) != 0 || !strstr(said, part))
        fail_msg("%s %s: %s does not hold %s", method, params, said, part);
}

/* An id, and the parameters that name it in place of each %s. */
static const char *submitted(const char *params)
{
    static char id[16];
    const char *at = strstr(answer("task.submit", params), "'id': '");

    assert_non_null(at);
    snprintf(id, sizeof id, "%.14s", at + 7);
    return id;
}

static const char *with(const char *params, const char *id)
{
    static char text[256];
    snprintf(text, sizeof text, params, id);
    return text;
}

/* --- Each option wrong --- */

RPC_TEST(each_option_of_a_task_says_what_it_must_be)
{
#define DURATION "a duration: milliseconds, or text such as \"250ms\", at most 213503d"
#define NAME     "a string of 1 to 256 bytes of UTF-8 without U+0000"
    static const struct {
        const char *option, *must_be, *wrong[4];
    } options[] = {
        {"priority", "a number from 0 to 9; 9 goes first", {"10", "-1", "'high'", "nil"}},
        {"delay", DURATION, {"-1", "'soon'", "[]", "true"}},
        {"at",
         "Unix milliseconds, or RFC 3339 text with an offset",
         {"-1", "'2026-02-30T00:00:00Z'", "'tomorrow'", "1.5"}},
        {"timeout", DURATION ", more than 0", {"0", "'0s'", "{}", "-5"}},
        {"deadline", DURATION, {"-1", "'5'", "[5]", "nil"}},
        {"retries", "a number from 0 to 4294967295", {"-1", "4294967296", "'3'", "1.5"}},
        {"backoff", DURATION, {"-1", "'x'", "[]", "nil"}},
        {"backoff_max", DURATION, {"-1", "'x'", "[]", "nil"}},
        {"backoff_jitter",
         "a number from 0 to 100: percent of the back-off",
         {"101", "-1", "'half'", "nil"}},
        {"key", NAME, {"''", "5", "'caf\xe9'", "nil"}},
        {"coalesce", NAME, {"''", "5", "'caf\xe9'", "nil"}},
        {"limit",
         "a map of {key: string of 1 to 256 bytes of UTF-8 without U+0000, max: number from 1, "
         "take: "
         "number from 1 to max}, take by choice, and no more",
         {"{'key': '\xe9', 'max': 1}", "{'key': 'k'}", "{'key': 'k', 'max': 0}",
          "{'key': 'k', 'key': 'k'}"}},
        {"rate",
         "a map of {key: string of 1 to 256 bytes of UTF-8 without U+0000, max: number from 1, "
         "per: "
         "duration}, no more",
         {"{'key': '\xe9', 'max': 3, 'per': 1}", "{'key': 'k', 'max': 3}",
          "{'key': 'k', 'max': 3, 'per': 0}", "{'key': 'k', 'max': 3, 'per': '1s', 'x': 1}"}},
        {"tenant", NAME, {"''", "5", "'caf\xe9'", "nil"}},
        {"after",
         "an id of a task, or a list of at most 1024",
         {"5", "'x'", "['t0000000000001', 5]", "{}"}},
        {"keep", DURATION, {"-1", "'long'", "[]", "nil"}},
        {"keep_size", "a size: bytes, or text such as \"64k\"", {"-1", "'big'", "[]", "nil"}},
        {"durable",
         "\"none\", \"async\", \"fsync\" or \"replicated\"",
         {"'disk'", "true", "1", "nil"}},
    };
    char params[200], error[200];

    for (unsigned i = 0; i < sizeof options / sizeof options[0]; i++)
        for (unsigned k = 0; k < 4; k++) {
            snprintf(params, sizeof params, "['echo', [], {'%s': %s}]", options[i].option,
                     options[i].wrong[k]);
            snprintf(error, sizeof error, "BAD_PARAMS: option \"%s\" must be %s'\n",
                     options[i].option, options[i].must_be);
            refuses("task.submit", params, error);
            refuses("task.call", params, error);
        }
}

RPC_TEST(each_method_says_what_it_takes)
{
    static const struct {
        const char *method, *params, *error;
    } wrong[] = {
        {"task.submit", "[]", "BAD_PARAMS: task.submit takes [method"},
        {"task.submit", "['none']", "NO_METHOD: no handler \"none\""},
        {"task.submit", "['echo', [], {'prioritee': 1}]", "BAD_PARAMS: unknown option"},
        {"task.submit", "['echo', [], {}, 5]", "BAD_PARAMS: task.submit takes"},
        {"task.submit_many", "[]", "BAD_PARAMS: task.submit_many takes"},
        {"task.submit_many", "[[]]", "BAD_PARAMS: task.submit_many takes"},
        {"task.submit_many", "[[['echo'], []]]",
         "BAD_PARAMS: task 2 of the list: task.submit_many"},
        {"task.submit_many", "[[['echo'], ['none']]]", "NO_METHOD: task 2 of the list: no handler"},
        {"task.submit_many", "[[['echo']], {'x': 1}]", "BAD_PARAMS: unknown option \"x\""},
        {"task.get", "[]", "BAD_PARAMS: task.get takes [id"},
        {"task.get", "['x']", "BAD_PARAMS: task.get takes [id"},
        {"task.get", "['t0000000000001', {'result': 5}]", "BAD_PARAMS: option \"result\""},
        {"task.get", "['t0000000000001', {}, 5]", "BAD_PARAMS: behind the id"},
        {"task.get", "['t0000000000001']", "NOT_FOUND: no task t0000000000001"},
        {"task.wait", "[]", "BAD_PARAMS: task.wait takes [id: str or [ids]"},
        {"task.wait", "[[]]", "BAD_PARAMS: task.wait takes 1 to 1024 ids"},
        {"task.wait", "['t0000000000001', {'timeout': '61m'}]", "BAD_PARAMS: option \"timeout\""},
        {"task.wait", "['t0000000000001', {'any': 1}]", "BAD_PARAMS: option \"any\""},
        {"task.watch", "[5]", "BAD_PARAMS: task.watch takes [id"},
        {"task.watch", "['t0000000000001', {'from': 0}]", "BAD_PARAMS: option \"from\""},
        {"task.watch", "['t0000000000001', {'max': 0}]", "BAD_PARAMS: option \"max\""},
        {"task.watch", "['t0000000000001', {'push': true}]", "BAD_PARAMS: push is for"},
        {"task.cancel", "[]", "BAD_PARAMS: task.cancel takes [id: str or {state"},
        {"task.retry", "[5]", "BAD_PARAMS: task.retry takes [id: str or {state"},
        {"task.explain", "['t0000000000001', 5]", "BAD_PARAMS: options must be a map"},
        {"task.explain", "['t0000000000001', {'x': 1}]", "BAD_PARAMS: unknown option \"x\""},
        {"task.list", "[{'state': 'lost'}]", "BAD_PARAMS: option \"state\""},
        {"task.list", "[{'limit': 0}]", "BAD_PARAMS: option \"limit\""},
        {"task.list", "[{'cursor': 'x'}]", "BAD_PARAMS: option \"cursor\""},
        {"task.list", "[{}, 5]", "BAD_PARAMS: task.list takes"},
        {"queue.list", "[5]", "BAD_PARAMS: queue.list takes []"},
        {"queue.explain", "[]", "BAD_PARAMS: queue.explain takes [method: str]"},
        {"queue.pause", "['none']", "NOT_FOUND: no method \"none\""},
        {"queue.resume", "[5]", "BAD_PARAMS: queue.resume takes [method: str]"},
        {"queue.drain", "['echo', 5]", "BAD_PARAMS: queue.drain takes [method: str]"},
        {"server.audit", "[5]", "BAD_PARAMS: server.audit takes []"},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuses(wrong[i].method, wrong[i].params, wrong[i].error);
    holds("server.audit", "[]", "'balanced': true");
}

RPC_TEST(each_method_of_crons_says_what_it_takes)
{
    static const struct {
        const char *method, *params, *error;
    } wrong[] = {
        {"cron.put", "['tick', '@daily']", "BAD_PARAMS: cron.put takes"},
        {"cron.put", "['tick', '@daily', 'none']", "NO_METHOD: no handler \"none\""},
        {"cron.put", "['tick', '60 * * * *', 'echo']", "BAD_PARAMS: the minute"},
        {"cron.put", "['tick', '@daily', 'echo', [], {'zone': '/etc/passwd'}]",
         "BAD_PARAMS: there is no time zone"},
        {"cron.put", "['tick', '@daily', 'echo', [], {'overlap': 'both'}]",
         "BAD_PARAMS: option \"overlap\""},
        {"cron.put", "['tick', '@daily', 'echo', [], {'catch_up': 2}]",
         "BAD_PARAMS: option \"catch_up\""},
        {"cron.put", "['tick', '@daily', 'echo', [], {'key': 'k'}]",
         "BAD_PARAMS: the tasks of a cron cannot"},
        {"cron.put", "['tick', '@daily', 'echo', [], {'durable': 'fsync'}]", "STORE: "},
        {"cron.list", "[5]", "BAD_PARAMS: cron.list takes []"},
        {"cron.delete", "[]", "BAD_PARAMS: cron.delete takes [name: str, {tenant: str}]"},
        {"cron.pause", "['a', {}, 1]", "BAD_PARAMS: cron.pause takes [name: str, {tenant: str}]"},
        {"cron.resume", "[1]", "BAD_PARAMS: cron.resume takes [name: str, {tenant: str}]"},
        {"cron.pause", "['none']", "NOT_FOUND: there is no cron"},
        {"cron.run", "[1]", "BAD_PARAMS: cron.run takes [name: str, {tenant: str}]"},
        {"cron.run", "['none']", "NOT_FOUND: there is no cron"},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuses(wrong[i].method, wrong[i].params, wrong[i].error);
}

RPC_TEST(a_filter_says_which_tasks_it_means)
{
    static const struct {
        const char *method, *params, *error;
    } wrong[] = {
        {"task.cancel", "[{}]", "BAD_PARAMS: the filter is empty; to select all tasks, pass"},
        {"task.cancel", "[{'all': false}]", "BAD_PARAMS: the filter is empty"},
        {"task.cancel", "[{'dry_run': true}]", "BAD_PARAMS: the filter is empty"},
        {"task.cancel", "[{'state': 'lost'}]", "BAD_PARAMS: option \"state\""},
        {"task.cancel", "[{'limit': 5}]", "BAD_PARAMS: unknown option \"limit\""},
        {"task.cancel", "[{'all': true}, 5]", "BAD_PARAMS: task.cancel takes [id: str or {state"},
        {"task.retry", "[{}]", "BAD_PARAMS: the filter is empty"},
        {"task.forget", "[5]", "BAD_PARAMS: task.forget takes [id: str or {state"},
        {"task.forget", "[{}]", "BAD_PARAMS: the filter is empty"},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuses(wrong[i].method, wrong[i].params, wrong[i].error);
}

/* --- What they answer --- */

RPC_TEST(a_task_is_submitted_and_looked_at)
{
    const char *id = submitted("['echo', [7], {'durable': 'none', 'key': 'k', 'priority': 9}]");
    holds("task.wait", with("['%s']", id), "'result': [7]");
    holds("task.get", with("['%s', {'history': true}]", id), "'event': 'done'");
    holds("task.submit", "['echo', [8], {'durable': 'none', 'key': 'k'}]", "'duplicate': true");
    holds("task.watch", with("['%s']", id), "'ended': true");
    holds("task.cancel", with("['%s']", id), "'cancelled': false");
    holds("task.explain", with("['%s']", id), "'reason': 'ended'");
    holds("task.list", "[{'key': 'k'}]", id);
    refuses("task.retry", with("['%s']", id), "BAD_PARAMS: task t");
    holds("task.forget", with("['%s']", id), "'forgotten': true");
    refuses("task.get", with("['%s']", id), "NOT_FOUND: no task");
}

/* One that is waited for where it is called is not kept. */
RPC_TEST(with_a_store_a_task_lasts_unless_it_says_otherwise)
{
    stage.shared.default_durable = DURABLE_FSYNC; /* but these jobs have none, and say so */
    refuses("task.submit", "['echo', [7]]", "STORE: ");
    holds("task.submit_many", "[[['echo', [7]]]]", "{'error': 'STORE: ");
    refuses("cron.put", "['tick', '@daily', 'echo']", "STORE: ");
    submitted("['echo', [7], {'durable': 'none'}]");
    holds("task.call", "['echo', [7]]", "[7]");
    stage.shared.default_durable = DURABLE_NONE;
    submitted("['echo', [7]]");
}

RPC_TEST(a_task_that_waits_is_changed)
{
    const char *id = submitted("['echo', [7], {'durable': 'none', 'delay': '1h'}]");
    refuses("task.change", "[]", "BAD_PARAMS: task.change takes [id");
    refuses("task.change", with("['%s']", id), "BAD_PARAMS: nothing is to change");
    refuses("task.change", with("['%s', {'priority': 10}]", id), "BAD_PARAMS: option \"priority\"");
    refuses("task.change", with("['%s', {'delay': -1}]", id), "BAD_PARAMS: option \"delay\"");
    refuses("task.change", with("['%s', {'at': 'soon'}]", id), "BAD_PARAMS: option \"at\"");
    refuses("task.change", with("['%s', {'retries': 1}]", id), "BAD_PARAMS: unknown option");
    refuses("task.run_now", "[5]", "BAD_PARAMS: task.run_now takes [id: str]");
    holds("task.change", with("['%s', {'priority': 0, 'delay': '2h'}]", id),
          "'state': 'delayed', 'priority': 0, 'due': ");
    holds("task.run_now", with("['%s']", id), "'priority': 0, 'due': nil");
    holds("task.wait", with("['%s']", id), "'result': [7]");
}

RPC_TEST(a_time_that_has_come_long_ago_is_a_time)
{
    const char *id = submitted("['echo', [7], {'durable': 'none', 'delay': '1h'}]");
    holds("task.change", with("['%s', {'at': 0, 'delay': '2h'}]", id), "'due': nil");
    holds("task.wait", with("['%s']", id), "'result': [7]");
}

RPC_TEST(tasks_are_steered_by_a_filter)
{
    submitted("['echo', [7], {'durable': 'none', 'delay': '1h', 'tenant': 'a'}]");
    submitted("['sleep', [7], {'durable': 'none', 'delay': '1h', 'tenant': 'a'}]");
    holds("task.cancel", "[{'state': 'delayed', 'method': 'echo', 'tenant': 'a', 'newer': '1h'}]",
          "{'matched': 1, 'cancelled': 1, 'dry_run': false}");
    holds("task.retry", "[{'state': 'cancelled', 'dry_run': true}]",
          "{'matched': 1, 'retried': 1, 'dry_run': true}");
    holds("task.forget", "[{'all': true}]",
          "{'matched': 2, 'forgotten': 1, 'dry_run': false, 'limits': 0, 'rates': 0}");
}

RPC_TEST(each_part_of_a_filter_means_something)
{
    static const char *const filters[] = {"'state': 'dead'", "'method': 'sleep'", "'tenant': 'b'",
                                          "'key': 'k'",      "'older': '1h'",     "'newer': 0"};

    submitted("['echo', [7], {'durable': 'none', 'delay': '1h', 'tenant': 'a'}]");
    stage_run_ms(1000);
    for (unsigned i = 0; i < sizeof filters / sizeof filters[0]; i++)
        holds("task.cancel", with("[{%s}]", filters[i]), "'matched': 0");
}

/* Clients of other hands give up after ten seconds. */
RPC_TEST(a_watch_is_answered_though_nothing_happens)
{
    const char *id = submitted("['echo', [7], {'durable': 'none', 'delay': '1h'}]");

    stage_ask(&peer, 1, "task.watch", with("['%s', {'from': 50}]", id));
    stage_run_ms(7000);
    assert_string_equal(stage_said_to(&peer), "");
    stage_run_ms(9000);
    assert_non_null(strstr(stage_said_to(&peer), "'events': []"));
}

/* How often the bytes stand in what the peer was sent, which is too long for a text. */
static unsigned times_sent(const char *bytes)
{
    unsigned n = 0;
    const uint8_t *at = peer.out, *end = peer.out + peer.out_len;

    while ((at = memmem(at, (size_t)(end - at), bytes, strlen(bytes))) != NULL)
        n++, at++;
    script_forget(&peer);
    return n;
}

/* [0, 1, "task.submit_many", [["echo", ...], {"delay": "1h"}]] */
static void submit_many(uint32_t count)
{
    static uint8_t bytes[1 << 17];
    uint8_t *p = enc_uint(enc_uint(enc_array(bytes, 4), 0), 1);

    p = enc_array(enc_array(enc_str(p, span_text("task.submit_many")), 2), count);
    for (uint32_t i = 0; i < count; i++)
        p = enc_str(p, span_text("echo"));
    *p++ = 0x81;
    p = enc_str(enc_str(p, span_text("delay")), span_text("1h"));
    script_send(&peer, span_of(bytes, (size_t)(p - bytes)));
    stage_run_ms(net.v.now / AO_MS(1) + 1);
}

RPC_TEST(a_request_and_a_page_have_a_longest_size)
{
    enum { ALL = 1100, PAGE = 1000 };

    submit_many(16385);
    assert_string_equal(stage_said_to(&peer),
                        "1 failed: 'TOO_LARGE: at most 16384 tasks in one request'\n");
    submit_many(ALL);
    assert_int_equal(times_sent("\xa2id"), ALL);
    stage_ask(&peer, 1, "task.list", "[{'limit': 5000}]");
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    assert_int_equal(times_sent("\xa2id"), PAGE);
}

/* [0, 1, "task.submit", ["echo", [], {"after": [id, ...]}]] */
RPC_TEST(a_task_comes_after_a_bounded_number)
{
    static uint8_t bytes[1 << 16];
    uint8_t *p = enc_uint(enc_uint(enc_array(bytes, 4), 0), 1);

    p = enc_array(enc_str(p, span_text("task.submit")), 3);
    p = enc_array(enc_str(p, span_text("echo")), 0);
    *p++ = 0x81;
    p = enc_array(enc_str(p, span_text("after")), JOB_AFTER_MAX + 1);
    for (uint32_t i = 0; i <= JOB_AFTER_MAX; i++)
        p = enc_str(p, span_text("t0000000000001"));
    script_send(&peer, span_of(bytes, (size_t)(p - bytes)));
    stage_run_ms(1);
    assert_non_null(strstr(stage_said_to(&peer), "BAD_PARAMS: option \"after\""));
}

/* It is answered that, and nothing else later. */
RPC_TEST(who_waits_for_a_task_can_give_up)
{
    char id[16];

    snprintf(id, sizeof id, "%s", submitted("['echo', [7], {'durable': 'none', 'delay': '1h'}]"));
    stage_ask(&peer, 7, "task.wait", with("['%s']", id));
    stage_run_ms(1);
    stage_ask(&peer, 8, "server.cancel", "[7]");
    stage_run_ms(2);
    const char *said = stage_said_to(&peer);
    assert_non_null(strstr(said, "7 failed: 'CANCELLED: "));
    assert_non_null(strstr(said, "8: true\n"));
    assert_null(strstr(strstr(said, "7 failed") + 1, "7 failed"));
    assert_null(strstr(said, "7: "));
    holds("task.run_now", with("['%s']", id), id);
    stage_run_ms(3600 * 1000);
    assert_string_equal(stage_said_to(&peer), "");
}

RPC_TEST(events_are_pushed_until_nobody_wants_them)
{
    char id[16];

    stage_answer("server.hello", "[{'push': true}]");
    snprintf(id, sizeof id, "%s", submitted("['echo', [7], {'durable': 'none', 'delay': '1h'}]"));
    stage_ask(&peer, 7, "task.watch", with("['%s', {'push': true}]", id));
    stage_run_ms(1);
    assert_int_not_equal(times_sent("\xaatask.event"), 0);
    stage_ask(&peer, 9, "task.run_now", with("['%s']", id));
    stage_ask(&peer, 8, "server.cancel", "[7]"); /* before the jobs have seen the other */
    stage_run_ms(2);
    assert_int_equal(times_sent("\xaatask.event"), 0);
}

/* A peer of 2013 knows no str 8. */
RPC_TEST(events_are_pushed_as_the_peer_reads_them)
{
    static const char text[] = "\xda\0#not before 36000000000 ms from then";
    char id[16];

    stage_answer("server.hello", "[{'push': true, 'raw': true}]");
    stage_ask(&peer, 1, "task.submit", "['echo', [7], {'durable': 'none', 'delay': '1h'}]");
    stage_run_ms(1);
    snprintf(id, sizeof id, "%.14s", strstr(stage_said_to(&peer), "'id': '") + 7);
    stage_ask(&peer, 7, "task.watch", with("['%s', {'push': true}]", id));
    stage_ask(&peer, 8, "task.change", with("['%s', {'delay': '10000h'}]", id));
    stage_run_ms(2);
    assert_non_null(memmem(peer.out, peer.out_len, text, sizeof text - 1));
    script_forget(&peer);
}

RPC_TEST(events_are_asked_for_as_they_are_offered)
{
    static const struct {
        const char *params, *error;
    } wrong[] = {
        {"[{}, 5]", "BAD_PARAMS: task.events takes [{after: str"},
        {"[{'after': 'x'}]", "BAD_PARAMS: option \"after\""},
        {"[{'after': 't0000000000001-0'}]", "BAD_PARAMS: option \"after\""},
        {"[{'max': 0}]", "BAD_PARAMS: option \"max\""},
        {"[{'timeout': '61m'}]", "BAD_PARAMS: option \"timeout\""},
        {"[{'event': 'progress'}]", "BAD_PARAMS: option \"event\""},
        {"[{'event': ['done', 5]}]", "BAD_PARAMS: option \"event\""},
        {"[{'state': 'parked'}]", "BAD_PARAMS: option \"state\""},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuses("task.events", wrong[i].params, wrong[i].error);
}

RPC_TEST(events_of_all_tasks_are_read_by_kind_and_name)
{
    answer("task.submit", "['echo', [1], {'durable': 'none', 'tenant': 'a', 'delay': '1h'}]");
    answer("task.submit", "['echo', [1], {'durable': 'none', 'tenant': 'b', 'delay': '1h'}]");
    holds("task.events", "[{'after': 'oldest', 'timeout': 0}]", "'event': 'submitted'");
    holds("task.events", "[{'after': 'oldest', 'timeout': 0, 'tenant': 'b'}]", "'tenant': 'b'");
    const char *said = answer("task.events", "[{'after': 'oldest', 'timeout': 0, 'tenant': 'b'}]");
    assert_null(strstr(said, "'tenant': 'a'"));
    holds("task.events", "[{'after': 'oldest', 'timeout': 0, 'event': ['done', 'dead']}]",
          "{'events': [], 'next': '");
    holds("task.events", "[{'after': 'oldest', 'timeout': 0, 'state': 'done'}]",
          "{'events': [], 'next': '");
    holds("task.events", "[{'timeout': 0}]", "-3', 'gap': nil, 'missed': 0}");
    holds("task.events", "[{'timeout': 0, 'after': 't0000000000001-9', 'event': []}]",
          "'gap': 'restart', 'missed': nil}");
}

RPC_TEST(common_options_are_those_of_who_says_nothing)
{
    holds("task.submit_many",
          "[[['echo', [1]], ['echo', [2], {'tenant': 'b'}], 'echo'], {'tenant': 'a', 'delay': 5}]",
          "'id'");
    holds("task.list", "[{'tenant': 'b'}]", "'next': nil");
    const char *said = answer("task.list", "[{'tenant': 'a'}]");
    assert_non_null(strstr(said, "'tenant': 'a'"));
    assert_null(strstr(said, "'tenant': 'b'"));
}

RPC_TEST(long_polls_are_limited)
{
    const char *id = submitted("['sleep', [3600000], {'durable': 'none'}]");
    char params[64];

    snprintf(params, sizeof params, "['%s', {'timeout': '1h'}]", id);
    for (unsigned i = 0; i < 1024; i++) {
        stage_ask(&peer, 2, "task.wait", params);
        stage_run_ms(net.v.now / AO_MS(1));
    }
    stage_ask(&peer, 1, "task.wait", params);
    stage_run_ms(net.v.now / AO_MS(1));
    assert_non_null(strstr(stage_said_to(&peer), "1 failed: 'BUSY: 1024 requests"));
    assert_int_equal(stage.conn->polls, 1024);
}

/* --- Who may --- */

static void become(const char *token)
{
    char params[64];
    snprintf(params, sizeof params, "['%s']", token);
    holds("server.auth", params, "");
}

RPC_TEST_GUARDED(nobody_submits_before_it_is_known)
{
    refuses("task.submit", "['echo']", "AUTH: ");
    refuses("task.submit_many", "[['echo']]", "AUTH: ");
    refuses("task.call", "['echo', [], {'priority': 1}]", "AUTH: ");
    refuses("cron.put", "['tick', '@daily', 'echo']", "AUTH: ");
    refuses("task.list", "[]", "AUTH: ");
}

RPC_TEST_GUARDED(a_list_of_methods_counts_for_tasks_too)
{
    become(STAGE_BOB);
    refuses("task.submit", "['sleep', [1]]", "DENIED: token:bob may not call \"sleep\"");
    refuses("task.get", "['t0000000000001']", "DENIED: ");
    refuses("cron.put", "['tick', '@daily', 'echo']",
            "DENIED: token:bob may not call \"cron.put\"");
    refuses("task.submit", "['echo', [], {'tenant': 'alice'}]",
            "DENIED: token:bob may not submit for another tenant");
    holds("task.submit", "['echo', [], {'tenant': 'bob', 'durable': 'none'}]", "'id'");
}

RPC_TEST_GUARDED(tasks_of_other_tenants_do_not_exist)
{
    static const char *const methods[] = {"task.get",   "task.wait",   "task.watch",  "task.cancel",
                                          "task.retry", "task.forget", "task.explain"};

    become(STAGE_ALICE);
    const char *id = submitted("['echo', [1], {'durable': 'none'}]");
    become(STAGE_CAROL);
    for (unsigned i = 0; i < sizeof methods / sizeof methods[0]; i++)
        refuses(methods[i], with("['%s']", id), "NOT_FOUND: no task");
    holds("task.cancel", "[{'all': true}]", "'matched': 0");
    holds("task.list", "[]", "{'tasks': [], 'next': nil}");
    id = submitted("['echo', [2], {'durable': 'none'}]");
    holds("task.wait", with("['%s']", id), "'result': [2]");
    holds("task.list", "[]", "'tenant': 'carol'");
    become(STAGE_ALICE);
    holds("task.get", with("['%s']", id), "'result': [2]");
}
