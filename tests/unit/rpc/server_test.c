/* hello, auth, ping, cancel: what a client says to its connection. */
#include "tests/support/rpc_stage.h"

#define LIMITS "'limits': {'message': 1048576, 'depth': 32, 'in_flight': 1000}}"
#define NAMED  ": a role, or its line in the token file, has to name it'\n"
#define HELLO                                                                                      \
    "1: {'server': 'ergon', 'version': '" ERGON_VERSION                                            \
    "', 'protocol': 1, 'principal': 'address:192.0.2.1', 'methods': 14, " LIMITS "\n"

static void answers(const char *method, const char *params, const char *expected)
{
    assert_string_equal(stage_answer(method, params), expected);
}

RPC_TEST(hello_tells_what_the_server_is)
{
    answers("server.hello", "[]", HELLO);
    answers("server.hello", "nil", HELLO);
    answers("server.hello", "[nil]", HELLO);
    answers("server.hello", "[{}]", HELLO);
}

RPC_TEST(hello_chooses_the_shape_of_errors)
{
    answers("none", "[]",
            "1 failed: 'NO_METHOD: no method \"none\"; server.methods lists what there is'\n");
    answers("server.hello", "[{'errors': 'pair'}]", HELLO);
    answers("none", "[]",
            "1 failed: [-32601, 'NO_METHOD: no method \"none\"; server.methods lists what there "
            "is']\n");
    answers("server.hello", "[{'errors': 'map'}]", HELLO);
    answers("none", "[]",
            "1 failed: {'code': -32601, 'message': 'NO_METHOD: no method \"none\"; server.methods "
            "lists what there is', 'retryable': false, 'data': nil}\n");
    answers("server.hello", "[{'push': true}]", HELLO);
    assert_int_equal(conn_mode(stage.conn)->error_shape, ERROR_SHAPE_MAP);
    answers("server.hello", "[{'errors': 'text'}]", HELLO);
    answers("fail", "[]", "1 failed: 'NO_LUCK: none today'\n");
}

RPC_TEST(hello_takes_effect_from_its_own_answer_on)
{
    stage_ask(&peer, 1, "none", "[]");
    stage_notify(&peer, "server.hello", "[{'errors': 'pair'}]");
    stage_ask(&peer, 2, "fail", "[]");
    assert_string_equal(
        stage_said(),
        "1 failed: 'NO_METHOD: no method \"none\"; server.methods lists what there is'\n"
        "2 failed: [1, 'NO_LUCK: none today']\n");
}

RPC_TEST(hello_refuses_what_it_does_not_know)
{
    answers("server.hello", "[{'error': 'pair'}]",
            "1 failed: 'BAD_PARAMS: unknown option \"error\"'\n");
    answers("server.hello", "[{'raw': true, 'raw': true}]",
            "1 failed: 'BAD_PARAMS: option \"raw\" is given twice'\n");
    answers("server.hello", "[{'raw': 1}]",
            "1 failed: 'BAD_PARAMS: option \"raw\" must be true or false'\n");
    answers("server.hello", "[{'errors': 'json'}]",
            "1 failed: 'BAD_PARAMS: option \"errors\" must be \"text\", \"pair\" or \"map\"'\n");
    answers("server.hello", "[{'errors': 1}]",
            "1 failed: 'BAD_PARAMS: option \"errors\" must be \"text\", \"pair\" or \"map\"'\n");
    answers("server.hello", "[{1: 2}]",
            "1 failed: 'BAD_PARAMS: the name of an option must be a string'\n");
    answers("server.hello", "['pair']", "1 failed: 'BAD_PARAMS: options must be a map'\n");
    answers(
        "server.hello", "[{}, 1]",
        "1 failed: 'BAD_PARAMS: server.hello takes [{errors: text|pair|map, raw: bool, push: bool, "
        "half_close: bool}]'\n");
}

RPC_TEST(a_refused_hello_changes_nothing)
{
    stage_answer("server.hello", "[{'raw': true, 'errors': 'json'}]");
    assert_false(conn_mode(stage.conn)->raw);
}

RPC_TEST(ping_pongs)
{
    answers("server.ping", "[]", "1: 'pong'\n");
}

RPC_TEST(cancel_names_an_id_by_value)
{
    static const uint8_t hang[] = "\x94\x00\xd1\x00\x05\xa4hang\x90"; /* id 5 as int 16 */

    script_send(&peer, span_of(hang, sizeof hang - 1));
    stage_notify(&peer, "server.cancel", "[5]");
    assert_string_equal(stage_said(), "5 failed: 'CANCELLED: the call was cancelled'\n");
    answers("server.cancel", "[5]", "1: false\n");
}

RPC_TEST(cancel_reaches_each_kind_of_call)
{
    stage_ask(&peer, 2, "hang", "[]");
    stage_ask(&peer, 3, "block", "[]"); /* waits for its thread */
    stage_ask(&peer, 4, "server.cancel", "[2]");
    stage_ask(&peer, 5, "server.cancel", "[3]");
    assert_string_equal(stage_said(), "2 failed: 'CANCELLED: the call was cancelled'\n"
                                      "4: true\n"
                                      "3 failed: 'CANCELLED: the call was cancelled'\n"
                                      "5: true\n");
}

RPC_TEST(of_two_calls_with_one_id_one_is_cancelled)
{
    stage_ask(&peer, 2, "hang", "[]");
    stage_ask(&peer, 2, "hang", "[]");
    stage_notify(&peer, "server.cancel", "[2]");
    assert_string_equal(stage_said(), "2 failed: 'CANCELLED: the call was cancelled'\n");
    answers("server.cancel", "[2]", "2 failed: 'CANCELLED: the call was cancelled'\n1: true\n");
    answers("server.cancel", "[2]", "1: false\n");
}

RPC_TEST(a_notification_cannot_be_cancelled)
{
    stage_notify(&peer, "hang", "[]");
    answers("server.cancel", "[0]", "1: false\n");
    answers("server.cancel", "['x']", "1: false\n");
    answers("server.cancel", "[-1]", "1: false\n");
}

RPC_TEST(cancel_wants_one_id)
{
    answers("server.cancel", "[]", "1 failed: 'BAD_PARAMS: server.cancel takes [msgid: int]'\n");
    answers("server.cancel", "[1, 2]",
            "1 failed: 'BAD_PARAMS: server.cancel takes [msgid: int]'\n");
}

RPC_TEST(without_a_table_no_token_is_good)
{
    answers("server.auth", "['x']", "1 failed: 'AUTH: this server has no token file'\n");
    answers("server.auth", "[]", "1 failed: 'BAD_PARAMS: server.auth takes [token: str]'\n");
    answers("server.auth", "[1]", "1 failed: 'BAD_PARAMS: server.auth takes [token: str]'\n");
}

RPC_TEST_GUARDED(before_a_token_only_four_methods_are_open)
{
    static const char *const guarded[] = {"echo", "server.info", "server.methods", "none"};

    for (size_t i = 0; i < sizeof guarded / sizeof guarded[0]; i++)
        answers(guarded[i], "[]",
                "1 failed: 'AUTH: authentication required: call server.auth with a token'\n");
    answers("task.call", "['echo']",
            "1 failed: 'AUTH: authentication required: call server.auth with a token'\n");
    answers("server.ping", "[]", "1: 'pong'\n");
    answers("server.cancel", "[1]", "1: false\n");
    stage_notify(&peer, "nvim_set_client_info", "[]");
    assert_string_equal(stage_said(), "");
}

RPC_TEST_GUARDED(a_token_says_who_may_what)
{
    answers("server.auth", "['" STAGE_BOB "']", "1: 'token:bob'\n");
    answers("echo", "[5]", "1: [5]\n");
    answers("fail", "[]", "1 failed: 'DENIED: token:bob may not call \"fail\"" NAMED);
    answers("task.call", "['fail']", "1 failed: 'DENIED: token:bob may not call \"fail\"" NAMED);
    answers("none", "[]", "1 failed: 'DENIED: token:bob may not call \"none\"" NAMED);
    answers("server.auth", "['" STAGE_ALICE "']", "1: 'token:alice'\n");
    answers("fail", "[]", "1 failed: 'NO_LUCK: none today'\n");
    answers("server.auth", "['" STAGE_ALICE " ']", "1 failed: 'AUTH: no such token'\n");
    answers("echo", "[5]", "1: [5]\n"); /* still alice */
}

RPC_TEST_GUARDED(too_many_wrong_tokens_close_the_connection)
{
    answers("server.auth", "['a']", "1 failed: 'AUTH: no such token'\n");
    answers("server.auth", "['b']", "1 failed: 'AUTH: no such token'\n");
    answers("server.auth", "['c']", "1 failed: 'AUTH: no such token'\n");
    assert_true(peer.shut);
}
