/* task.call: a call with options. */
#include "tests/support/rpc_stage.h"

static void answers(const char *params, const char *expected)
{
    assert_string_equal(stage_answer("task.call", params), expected);
}

RPC_TEST(it_calls_a_handler)
{
    answers("['echo', [5, 6]]", "1: [5, 6]\n");
    answers("['echo', [5], {}]", "1: [5]\n");
    answers("['echo', [5], nil]", "1: [5]\n");
    answers("['echo', 5]", "1: 5\n");
    answers("['echo']", "1: nil\n");
    answers("'echo'", "1: nil\n");
    answers("['block', [5]]", "1: [5]\n");
}

RPC_TEST(only_handlers_can_be_called_so)
{
    answers("['none']", "1 failed: 'NO_METHOD: no handler \"none\"; server.methods lists what "
                        "there is'\n");
    answers("['server.ping']", "1 failed: 'NO_METHOD: no handler \"server.ping\"; server.methods "
                               "lists what there is'\n");
    answers("['task.call', ['echo']]", "1 failed: 'NO_METHOD: no handler \"task.call\"; "
                                       "server.methods lists what there is'\n");
}

RPC_TEST(what_does_not_fit_is_refused)
{
    static const char usage[] =
        "1 failed: 'BAD_PARAMS: task.call takes [method, [params], {options}]'\n";
    static const char duration[] = "1 failed: 'BAD_PARAMS: option \"deadline\" must be a duration: "
                                   "milliseconds, or text such as \"250ms\", at most 213503d'\n";

    answers("[]", usage);
    answers("[5]", usage);
    answers("['echo', [], {}, 1]", usage);
    answers("['echo', [], 5]", "1 failed: 'BAD_PARAMS: options must be a map'\n");
    answers("['echo', [], {'prioritee': 1}]",
            "1 failed: 'BAD_PARAMS: unknown option \"prioritee\"'\n");
    answers("['echo', [], {'deadline': 5, 'deadline': 5}]",
            "1 failed: 'BAD_PARAMS: option \"deadline\" is given twice'\n");
    answers("['echo', [], {'deadline': '5'}]", duration);
    answers("['echo', [], {'deadline': -5}]", duration);
    answers("['echo', [], {'deadline': [5]}]", duration);
}

RPC_TEST(a_deadline_is_told_when_it_passes)
{
    stage_ask(&peer, 1, "task.call", "['sleep', [100], {'deadline': '20ms'}]");
    stage_ask(&peer, 2, "task.call", "['sleep', [10], {'deadline': 20}]");
    stage_ask(&peer, 3, "task.call", "['sleep', [10], {'deadline': '1d'}]");
    stage_run_ms(19);
    assert_string_equal(stage_said_to(&peer), "2: [10]\n3: [10]\n");
    stage_run_ms(20);
    assert_string_equal(stage_said_to(&peer),
                        "1 failed: 'DEADLINE: the deadline passed before the result was there'\n");
    assert_string_equal(stage_said(), "");
}

RPC_TEST(no_time_at_all_is_no_time_to_run)
{
    answers("['echo', [5], {'deadline': 0}]",
            "1 failed: 'DEADLINE: the deadline passed before the result was there'\n");
}

/* More than the clock can count is never. */
RPC_TEST(a_deadline_beyond_time_is_none)
{
    answers("['sleep', [10], {'deadline': 9223372036854775807}]",
            "1 failed: 'BAD_PARAMS: option \"deadline\" must be a duration: "
            "milliseconds, or text such as \"250ms\", at most 213503d'\n");
    answers("['sleep', [10], {'deadline': '200000d'}]", "1: [10]\n");
}

RPC_TEST(a_notification_of_it_answers_nothing)
{
    stage_notify(&peer, "task.call", "['echo', [5]]");
    stage_notify(&peer, "task.call", "['none']");
    stage_notify(&peer, "task.call", "['sleep', [50], {'deadline': 5}]");
    assert_string_equal(stage_said(), "");
    assert_int_equal(stage.conn->in_flight, 0);
}
