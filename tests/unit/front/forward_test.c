/* A front: what goes to the owner and comes back, and what becomes of it when the owner is lost.
 * The owner is played: a scripted stream. */
#include "server/front/forward.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/encoder.h"
#include "server/net/holdings.h"
#include "server/net/serving.h"
#include "tests/support/notation.h"
#include "tests/support/rpc_stage.h"

#define IDENTITY 100000 /* id of the first cluster.session */

static struct script owner;
static struct script readied[8]; /* instead, where there is a stock: each session that connects */
static uint32_t wished_stock;
static struct owner_finder *finder;
static struct forward *front;
static struct cluster_view view;
static bool unreachable;
static int connects;
static char note[CLUSTER_NOTE_MAX];

static enum cluster_role role_now(const struct cluster *c)
{
    return view.role;
}

static void view_now(const struct cluster *c, struct cluster_view *out)
{
    *out = view;
}

static void note_now(struct cluster *c, const char *text)
{
    snprintf(note, sizeof note, "%s", text);
}

static bool open_owner(struct outgoing *s)
{
    connects++;
    if (unreachable) {
        outgoing_lose(s, "Connection refused");
        return false;
    }
    if (owner.in)
        script_fini(&owner);
    script_init(&owner, &net.v, net.activator);
    script_open(&owner, &s->stream, s->loop->watcher.on_event);
    return true;
}

static bool open_readied(struct outgoing *s)
{
    assert_true(connects < (int)(sizeof readied / sizeof readied[0]));
    struct script *k = &readied[connects++];
    script_init(k, &net.v, net.activator);
    script_open(k, &s->stream, s->loop->watcher.on_event);
    return true;
}

/* The view changes, and the loop hears of it with the next run. */
static void owns(enum cluster_role role, const char *node, uint64_t epoch)
{
    view = (struct cluster_view){
        .role = role, .cluster = "c", .node = "b", .address = "unix:///owner", .epoch = epoch};
    snprintf(view.owner, sizeof view.owner, "%s", node);
    owner_finder_look(finder);
}

static int front_open(void **state)
{
    char error[200];

    stage_open(state);
    const struct cluster_roles roles = {.role = role_now, .view = view_now, .note = note_now};
    finder = owner_finder_new(&roles, 1);
    const struct forward_options options = {.roles = roles,
                                            .finder = finder,
                                            .rpc = &stage.rpc,
                                            .limits = &net.limits,
                                            .patience = AO_S(10),
                                            .stock = wished_stock,
                                            .open = wished_stock ? open_readied : open_owner,
                                            .first_identity = IDENTITY};
    wished_stock = 0;
    front = forward_new(&options, error, sizeof error);
    assert_non_null(front);
    unreachable = false;
    connects = 0;
    note[0] = '\0';
    owns(CLUSTER_FRONT, "a", 1);
    stage_run();
    return 0;
}

static int front_close(void **state)
{
    jobs_stop(stage.jobs);
    net_stop();
    forward_free(front);
    owner_finder_free(finder);
    stage.rpc.remote = NULL;
    if (owner.in)
        script_fini(&owner);
    owner = (struct script){0};
    for (size_t i = 0; i < sizeof readied / sizeof readied[0]; i++)
        if (readied[i].in)
            script_fini(&readied[i]);
    memset(readied, 0, sizeof readied);
    return stage_close(state);
}

#define FRONT_TEST(name) TEST_WITH(front_open, front_close, name)

/* A response of an owner; `error` and `result` in the notation of notation.h. */
static void answers(struct script *k, uint64_t id, const char *error, const char *result)
{
    uint8_t message[4096];
    uint8_t *p = enc_uint(enc_uint(enc_array(message, 4), 1), id);

    p += notation_pack(error, p, 1024);
    p += notation_pack(result, p, 1024);
    script_send(k, span_of(message, (size_t)(p - message)));
    stage_run_ms(net.v.now / AO_MS(1) + 1);
}

static void owner_answers(uint64_t id, const char *error, const char *result)
{
    answers(&owner, id, error, result);
}

static const char *owner_was_asked(void)
{
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    return stage_said_to(&owner);
}

static void expect_asked(const char *expected)
{
    assert_string_equal(owner_was_asked(), expected);
}

static void expect_said(const char *expected)
{
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    assert_string_equal(stage_said_to(&peer), expected);
}

#define GREETING(id, hello)                                                                        \
    "asks " id ": 'cluster.session' [{'cluster': 'c', 'version': 1, 'node': 'b', "                 \
    "'principal': 'address:192.0.2.1', 'token': '', 'tenant': 'anybody', 'free': true, "           \
    "'rights': [['*,task.any,worker.any,worker.offer.*', nil, nil, nil]], "                        \
    "'peer': '192.0.2.1:4711', 'hello': " hello "}]\n"
#define PLAIN "[0, false, false]"

/* With the request of the id 1 on its way. */
static void open_session(const char *method, const char *params)
{
    stage_ask(&peer, 1, method, params);
    expect_asked(GREETING("100000", PLAIN));
    owner_answers(IDENTITY, "nil", "true");
}

static void lose_owner(void)
{
    script_send_eof(&owner);
    stage_run_ms(net.v.now / AO_MS(1) + 1);
}

FRONT_TEST(a_node_runs_the_handlers_that_it_has)
{
    assert_string_equal(stage_answer("echo", "['x']"), "1: ['x']\n");
    assert_string_equal(stage_answer("server.ping", "[]"), "1: 'pong'\n");
    assert_int_equal(connects, 0);
}

FRONT_TEST(what_the_owner_has_goes_there_and_comes_back_unchanged)
{
    open_session("task.get", "['t1', {'result': true}]");
    assert_int_equal(owner.asks.quiet + owner.asks.interval * owner.asks.count, 30);
    expect_asked("asks 1: 'task.get' ['t1', {'result': true}]\n");
    owner_answers(1, "nil", "{'state': 'done'}");
    expect_said("1: {'state': 'done'}\n");
    stage_ask(&peer, 2, "task.forget", "['t1']");
    stage_ask(&peer, 3, "not.known.here", "[5]");
    stage_notify(&peer, "event.set", "['e']");
    expect_asked("asks 2: 'task.forget' ['t1']\nasks 3: 'not.known.here' [5]\n"
                 "tells: 'event.set' ['e']\n");
    owner_answers(3, "'NO_METHOD: x'", "nil");
    owner_answers(2, "nil", "1");
    expect_said("3 failed: 'NO_METHOD: x'\n2: 1\n");
    assert_int_equal(connects, 1);
}

#define NAMES_RESULT "['m', [{'$result': 't02jj1wr000000'}], {'after': 't02jj1wr000000'}]"
#define TOO_OLD                                                                                    \
    "'STORE: the node that owns the tasks is of an older version, which knows neither results as " \
    "parameters nor what attempts submit: upgrade it, or drain it (ergon cluster drain)'\n"

FRONT_TEST(an_owner_of_an_older_version_gets_nothing_that_it_would_misunderstand)
{
    open_session("task.submit", NAMES_RESULT);
    expect_said("1 failed: " TOO_OLD);
    expect_asked("");
    stage_ask(&peer, 2, "worker.submit", "[7, {'task': [['m']]}]");
    stage_ask(&peer, 3, "task.submit", "['m', ['$']]");
    expect_said("2 failed: " TOO_OLD);
    expect_asked("asks 3: 'task.submit' ['m', ['$']]\n");
    stage_notify(&peer, "worker.submit", "[7, {'task': [['m']]}]");
    expect_asked("");
    assert_true(peer.shut);
}

FRONT_TEST(an_owner_that_composes_gets_it)
{
    stage_ask(&peer, 1, "task.submit", NAMES_RESULT);
    expect_asked(GREETING("100000", PLAIN));
    owner_answers(IDENTITY, "nil", "{'other': [1], 'composes': true}");
    expect_asked("asks 1: 'task.submit' " NAMES_RESULT "\n");
    stage_ask(&peer, 2, "worker.submit", "[7, {'task': [['m']]}]");
    expect_asked("asks 2: 'worker.submit' [7, {'task': [['m']]}]\n");
}

FRONT_TEST(pushes_and_requests_of_the_owner_reach_the_client)
{
    static const uint8_t push[] = {0x93, 2, 0xa1, 'e', 0x90}, ask[] = {0x94, 0, 7, 0xa1, 'w', 0x90},
                         response[] = {0x94, 1, 7, 0xc0, 5};

    open_session("worker.register", "[['w']]");
    owner_was_asked();
    owner_answers(1, "nil", "{'worker': 'w1'}");
    expect_said("1: {'worker': 'w1'}\n");
    assert_true(conn_serves(stage.conn));
    script_send(&owner, span_of(push, sizeof push));
    script_send(&owner, span_of(ask, sizeof ask));
    expect_said("tells: 'e' []\nasks 7: 'w' []\n");
    script_send(&peer, span_of(response, sizeof response));
    expect_asked("7: 5\n");
}

FRONT_TEST(a_cancel_goes_where_the_request_is)
{
    open_session("task.wait", "['t1']");
    owner_was_asked();
    stage_ask(&peer, 2, "server.cancel", "[1]");
    expect_asked("asks 2: 'server.cancel' [1]\n");
    stage_ask(&peer, 3, "server.cancel", "[77]");
    expect_said("3: false\n");
}

FRONT_TEST(a_request_that_waits_for_an_owner_is_cancelled_here)
{
    owns(CLUSTER_FRONT, "", 1);
    stage_ask(&peer, 1, "task.wait", "['t1']");
    expect_said("");
    stage_ask(&peer, 2, "server.cancel", "[1]");
    expect_said("1 failed: 'CANCELLED: the call was cancelled'\n2: true\n");
}

FRONT_TEST(the_owner_learns_of_a_new_hello_before_the_next_request)
{
    open_session("task.get", "['t1']");
    owner_was_asked();
    stage_ask(&peer, 2, "server.hello", "[{'errors': 'pair', 'push': true}]");
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    stage_said_to(&peer);
    stage_ask(&peer, 3, "task.get", "['t2']");
    expect_asked(GREETING("100001", "[1, false, true]") "asks 3: 'task.get' ['t2']\n");
    owner_answers(IDENTITY + 1, "nil", "true");
    owner_answers(3, "nil", "5");
    expect_said("3: 5\n");
}

FRONT_TEST(a_lost_owner_makes_what_was_sent_once_unsure_and_the_rest_goes_to_the_next)
{
    open_session("task.get", "['t1']");
    stage_ask(&peer, 2, "task.submit", "['m', [], {'key': 'k'}]");
    stage_ask(&peer, 3, "task.submit", "['m', [], {'priority': 1}]");
    stage_ask(&peer, 4, "task.wait", "['t1']");
    stage_ask(&peer, 5, "not.known.here", "[]");
    owner_was_asked();
    lose_owner();
    expect_said("3 failed: 'UNSURE: the node that owned the tasks was lost (it closed the "
                "connection): this may have been done'\n"
                "5 failed: 'UNSURE: the node that owned the tasks was lost (it closed the "
                "connection): this may have been done'\n");
    stage_run_ms(net.v.now / AO_MS(1) + 200);
    expect_asked(GREETING("100001", PLAIN));
    owner_answers(IDENTITY + 1, "nil", "true");
    expect_asked("asks 1: 'task.get' ['t1']\nasks 2: 'task.submit' ['m', [], {'key': 'k'}]\n"
                 "asks 4: 'task.wait' ['t1']\n");
    owner_answers(2, "nil", "'t9'");
    expect_said("2: 't9'\n");
    assert_int_equal(stage.rpc.forwarded->unsure, 2);
    assert_int_equal(stage.rpc.forwarded->resent, 3);
}

FRONT_TEST(what_a_lost_owner_may_have_done_stays_unsure_when_the_next_refuses_it)
{
    open_session("task.get", "['t1']");
    stage_ask(&peer, 2, "task.submit", "['m', [], {'key': 'k'}]");
    stage_ask(&peer, 3, "task.submit", "['m', [], {'key': 'l'}]");
    owner_was_asked();
    lose_owner();
    stage_run_ms(net.v.now / AO_MS(1) + 200);
    stage_ask(&peer, 4, "task.submit", "['m', [], {'key': 'm'}]");
    owner_was_asked();
    owner_answers(IDENTITY + 1, "nil", "true");
    owner_was_asked();
    stage_said_to(&peer);
    owner_answers(2, "'STORE: its disk is full'", "nil");
    owner_answers(3, "'BAD_PARAMS: there is no such option'", "nil");
    owner_answers(4, "'STORE: its disk is full'", "nil");
    expect_said("2 failed: 'UNSURE: the node that owned the tasks was lost, so this may have been "
                "done; since then: the store cannot write: what is to last is refused'\n"
                "3 failed: 'BAD_PARAMS: there is no such option'\n"
                "4 failed: 'STORE: its disk is full'\n");
}

FRONT_TEST(what_a_lost_owner_may_have_done_is_not_busy_without_an_owner)
{
    open_session("task.submit", "['m', [], {'key': 'k'}]");
    owner_was_asked();
    lose_owner();
    owns(CLUSTER_FRONT, "", 2);
    stage_run_ms(net.v.now / AO_MS(1) + 60000);
    assert_non_null(strstr(stage_said_to(&peer), "1 failed: 'UNSURE: "));
}

/* The owner has no byte of it, so it cannot have been done. */
FRONT_TEST(what_was_not_written_to_a_lost_owner_is_not_unsure)
{
    open_session("task.get", "['t1']");
    owner_was_asked();
    owner.window = 0;
    stage_ask(&peer, 2, "task.forget", "['t1']");
    expect_said("");
    lose_owner();
    expect_said("");
    stage_run_ms(net.v.now / AO_MS(1) + 200);
    owner_was_asked();
    owner_answers(IDENTITY + 1, "nil", "true");
    expect_asked("asks 1: 'task.get' ['t1']\nasks 2: 'task.forget' ['t1']\n");
}

/* The owner drains: it has read the session's first two messages, and no more. */
FRONT_TEST(what_an_owner_that_hands_over_did_not_read_goes_to_the_next)
{
    uint8_t closing[128];
    size_t len =
        notation_pack("[2, 'server.closing', ['DRAINING', 'x', 2]]", closing, sizeof closing);

    open_session("task.forget", "['t1']");
    stage_ask(&peer, 2, "task.forget", "['t2']");
    expect_asked("asks 1: 'task.forget' ['t1']\nasks 2: 'task.forget' ['t2']\n");
    script_send(&owner, span_of(closing, len));
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    stage_ask(&peer, 3, "task.forget", "['t3']");
    expect_asked("");
    owner_answers(1, "nil", "1");
    expect_said("1: 1\n");
    lose_owner();
    stage_run_ms(net.v.now / AO_MS(1) + 200);
    owner_was_asked();
    owner_answers(IDENTITY + 1, "nil", "true");
    expect_asked("asks 2: 'task.forget' ['t2']\nasks 3: 'task.forget' ['t3']\n");
    assert_int_equal(stage.rpc.forwarded->unsure, 0);
}

/* It read them before it said that it closes, and its jobs took no more. */
FRONT_TEST(what_an_owner_that_hands_over_refuses_goes_to_the_next)
{
    open_session("task.forget", "['t1']");
    stage_ask(&peer, 2, "task.forget", "['t2']");
    expect_asked("asks 1: 'task.forget' ['t1']\nasks 2: 'task.forget' ['t2']\n");
    owner_answers(2, "'DRAINING: the server is shutting down'", "nil");
    owner_answers(1, "nil", "1");
    stage_ask(&peer, 3, "task.forget", "['t3']");
    expect_asked("");
    expect_said("1: 1\n");
    lose_owner();
    stage_run_ms(net.v.now / AO_MS(1) + 200);
    owner_was_asked();
    owner_answers(IDENTITY + 1, "nil", "true");
    expect_asked("asks 2: 'task.forget' ['t2']\nasks 3: 'task.forget' ['t3']\n");
    assert_int_equal(stage.rpc.forwarded->unsure, 0);
}

/* Of one queue, which stays with its owner: the session goes on. */
FRONT_TEST(a_queue_that_is_drained_is_no_hand_over)
{
    open_session("task.submit", "['m', []]");
    expect_asked("asks 1: 'task.submit' ['m', []]\n");
    owner_answers(1, "'DRAINING: the queue m is being drained'", "nil");
    expect_said("1 failed: 'DRAINING: the queue m is being drained'\n");
    stage_ask(&peer, 2, "task.get", "['t1']");
    expect_asked("asks 2: 'task.get' ['t1']\n");
}

FRONT_TEST(an_owner_that_closes_and_does_not_end_is_not_waited_for_longer_than_patience)
{
    uint8_t closing[64],
        *p = enc_str(enc_uint(enc_array(closing, 3), 2), span_text("server.closing"));

    open_session("task.get", "['t1']");
    owner_was_asked();
    p = enc_str(enc_str(enc_array(p, 3), span_text("DRAINING")), span_text("bye"));
    p = enc_uint(p, 2);
    script_send(&owner, span_of(closing, (size_t)(p - closing)));
    stage_run_ms(net.v.now / AO_MS(1) + 2);
    stage_ask(&peer, 2, "task.forget", "['t1']");
    stage_run_ms(net.v.now / AO_MS(1) + 10300);
    assert_non_null(strstr(stage_said_to(&peer), "2 failed: 'BUSY: "));
}

FRONT_TEST(a_connection_with_something_at_a_lost_owner_is_closed)
{
    open_session("sem.acquire", "['s']");
    owner_was_asked();
    owner_answers(1, "nil", "{'hold': 'h'}");
    stage_said_to(&peer);
    lose_owner();
    stage_run_ms(net.v.now / AO_MS(1) + 10);
    assert_true(peer.shut);
}

FRONT_TEST(a_watch_with_pushes_ends_with_the_owner)
{
    open_session("task.watch", "['t1', {'push': true}]");
    owner_was_asked();
    lose_owner();
    stage_run_ms(net.v.now / AO_MS(1) + 10);
    assert_non_null(strstr(stage_said_to(&peer), "1 failed: 'UNSURE"));
    assert_true(peer.shut);
}

static void drain(void)
{
    atomic_store(&stage.rpc.shared->draining, true);
    forward_drain(front);
}

/* The owner's answer to a poll that was answered here already goes to nobody. */
FRONT_TEST(a_drain_answers_what_only_reads_and_waits)
{
    open_session("task.wait", "['t1']");
    stage_ask(&peer, 2, "task.call", "['m', []]");
    stage_ask(&peer, 3, "sem.acquire", "['s']");
    stage_ask(&peer, 4, "task.watch", "['t1', {'push': true}]");
    owner_was_asked();
    drain();
    expect_said("1 failed: 'DRAINING: the server is shutting down'\n"
                "4 failed: 'DRAINING: the server is shutting down'\n");
    assert_int_equal(conn_polls(stage.conn), 1);
    owner_answers(1, "nil", "[]");
    owner_answers(2, "nil", "7");
    expect_said("2: 7\n");
}

FRONT_TEST(a_poll_that_is_read_in_a_drain_does_not_delay_it)
{
    open_session("task.get", "['t1']");
    owner_was_asked();
    drain();
    stage_ask(&peer, 2, "event.wait", "['e']");
    expect_said("2 failed: 'DRAINING: the server is shutting down'\n");
    owner_answers(1, "nil", "{'state': 'done'}");
    expect_said("1: {'state': 'done'}\n");
}

FRONT_TEST(without_an_owner_requests_wait_until_patience_ends)
{
    owns(CLUSTER_FRONT, "", 1);
    snprintf(view.moving_from, sizeof view.moving_from, "a");
    owner_finder_look(finder);
    stage_ask(&peer, 1, "task.forget", "['t1']");
    uint64_t began = net.v.now / AO_MS(1);
    stage_run_ms(began + 9900);
    assert_string_equal(stage_said_to(&peer), "");
    stage_run_ms(began + 10300);
    assert_string_equal(stage_said_to(&peer),
                        "1 failed: 'BUSY: no node owns the tasks now: they move from a; try again "
                        "later'\n");
    assert_int_equal(connects, 0);
}

FRONT_TEST(while_the_tasks_move_that_explains_where_they_are)
{
    owns(CLUSTER_FRONT, "", 1);
    snprintf(view.moving_from, sizeof view.moving_from, "a");
    view.moving_since = AO_S(1700000000);
    owner_finder_look(finder);
    stage_ask(&peer, 1, "task.explain", "['t1']");
    stage_ask(&peer, 2, "queue.explain", "['mail']");
    stage_ask(&peer, 3, "task.get", "['t1']");
    stage_run_ms(net.v.now / AO_MS(1) + 200);
    assert_string_equal(
        stage_said_to(&peer),
        "1: {'id': 't1', 'state': nil, 'reason': 'moving', 'text': 'no node owns the tasks now: "
        "they move from a; try again later', 'moving_from': 'a', 'moving_since': 1700000000000}\n"
        "2: {'method': 'mail', 'state': nil, 'reason': 'moving', 'text': 'no node owns the tasks "
        "now: they move from a; try again later', 'moving_from': 'a', 'moving_since': "
        "1700000000000}\n");
}

FRONT_TEST(an_owner_that_cannot_be_reached_is_named)
{
    unreachable = true;
    stage_ask(&peer, 1, "task.list", "[]");
    stage_run_ms(net.v.now / AO_MS(1) + 10300);
    assert_string_equal(stage_said_to(&peer),
                        "1 failed: 'BUSY: node a owns the tasks, and cannot be reached from here: "
                        "Connection refused'\n");
    assert_true(connects > 8);
    assert_string_equal(note, "cannot reach the owner: Connection refused");
    unreachable = false;
    stage_run_ms(net.v.now / AO_MS(1) + 1100);
    open_session("task.list", "[]");
    assert_string_equal(note, "");
}

FRONT_TEST(a_note_about_an_owner_ends_with_it)
{
    unreachable = true;
    stage_ask(&peer, 1, "task.list", "[]");
    stage_run_ms(net.v.now / AO_MS(1) + 100);
    assert_string_equal(note, "cannot reach the owner: Connection refused");
    owns(CLUSTER_OWNER, "b", 2);
    assert_string_equal(note, "");
}

/* Else each of them would try a session, again and again. */
FRONT_TEST(clients_of_an_owner_that_cannot_be_reached_try_one_at_a_time)
{
    enum { CLIENTS = 24, TRIES = 12 /* in 8 s: the pause is a second in the end */ };
    static struct script clients[CLIENTS];

    unreachable = true;
    for (int i = 0; i < CLIENTS; i++)
        net_connect(&clients[i]);
    stage_run();
    stage_ask(&peer, 1, "task.list", "[]");
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    for (int i = 0; i < CLIENTS; i++)
        stage_ask(&clients[i], 1, "task.list", "[]");
    stage_run_ms(net.v.now / AO_MS(1) + 8000);
    assert_in_range(connects, 8, TRIES);
    unreachable = false;
    stage_run_ms(net.v.now / AO_MS(1) + 1100);
    int before = connects;
    expect_asked(GREETING("100000", PLAIN));
    owner_answers(IDENTITY, "nil", "true");
    stage_run_ms(net.v.now / AO_MS(1) + 2);
    assert_int_equal(connects, before + CLIENTS); /* all others, at once */
}

/* It reads the tasks, and may be done at any moment. */
FRONT_TEST(an_owner_that_the_tasks_move_to_is_tried_often)
{
    unreachable = true;
    owns(CLUSTER_FRONT, "c", 2);
    view.moving_since = AO_S(1700000000);
    owner_finder_look(finder);
    stage_ask(&peer, 1, "task.list", "[]");
    int before = connects;
    stage_run_ms(net.v.now / AO_MS(1) + 5000);
    assert_in_range(connects - before, 20, 60);
}

/* It says how long it waits; patience is longer. */
FRONT_TEST(without_an_owner_a_request_ends_at_its_own_deadline)
{
    owns(CLUSTER_FRONT, "", 1);
    stage_ask(&peer, 1, "task.wait", "['t1', {'timeout': '3s'}]");
    stage_ask(&peer, 2, "sem.acquire", "['s', {'of': 1, 'wait': '4s'}]");
    stage_ask(&peer, 3, "task.submit", "['m', [], {'deadline': '2s'}]");
    stage_ask(&peer, 4, "task.list", "[]");
    uint64_t began = net.v.now / AO_MS(1);
    stage_run_ms(began + 1900);
    assert_string_equal(stage_said_to(&peer), "");
    stage_run_ms(began + 2200);
    assert_non_null(strstr(stage_said_to(&peer), "3 failed: 'BUSY: "));
    stage_run_ms(began + 4200);
    const char *said = stage_said_to(&peer);
    assert_non_null(strstr(said, "1 failed: 'BUSY: "));
    assert_non_null(strstr(said, "2 failed: 'BUSY: "));
    assert_null(strstr(said, "4 failed"));
}

/* The time that a request waits at this node counts for its deadline. */
FRONT_TEST(the_owner_learns_what_is_left_of_the_time_that_a_client_waits)
{
    owns(CLUSTER_FRONT, "", 1);
    stage_ask(&peer, 1, "task.submit", "['m', [], {'deadline': '8s', 'key': 'k'}]");
    stage_ask(&peer, 2, "task.wait", "[['t1'], {'all': true, 'timeout': 6500}]");
    stage_ask(&peer, 3, "task.wait", "['t1', {'timeout': 0}]");
    stage_ask(&peer, 4, "task.submit", "['m', [], {'keep': '8s'}]");
    expect_said("");
    stage_run_ms(net.v.now / AO_MS(1) + 500);
    owns(CLUSTER_FRONT, "a", 2);
    expect_asked(GREETING("100000", PLAIN));
    owner_answers(IDENTITY, "nil", "true");
    const char *asked = owner_was_asked();
    uint64_t deadline = 0, timeout = 0;
    assert_int_equal(sscanf(asked,
                            "asks 1: 'task.submit' ['m', [], {'deadline': %" SCNu64
                            ", 'key': 'k'}]\nasks 2: 'task.wait' [['t1'], {'all': true, "
                            "'timeout': %" SCNu64 "}]\n",
                            &deadline, &timeout),
                     2);
    assert_in_range(deadline, 7400, 7500);
    assert_in_range(timeout, 5900, 6000);
    assert_non_null(strstr(asked, "asks 3: 'task.wait' ['t1', {'timeout': 0}]\n"
                                  "asks 4: 'task.submit' ['m', [], {'keep': '8s'}]\n"));
}

/* The session takes longer than that, and the owner is there. */
FRONT_TEST(a_request_that_waits_for_nothing_waits_for_its_session)
{
    stage_ask(&peer, 1, "task.wait", "['t1', {'timeout': 0}]");
    expect_asked(GREETING("100000", PLAIN));
    stage_run_ms(net.v.now / AO_MS(1) + 500);
    owner_answers(IDENTITY, "nil", "true");
    expect_asked("asks 1: 'task.wait' ['t1', {'timeout': 0}]\n");
}

/* It was sent long ago, and is sent again: it waits for the next owner as any other. */
FRONT_TEST(a_long_wait_that_has_lost_its_owner_has_patience_anew)
{
    open_session("task.wait", "['t1', {'timeout': '1h'}]");
    owner_was_asked();
    stage_run_ms(net.v.now / AO_MS(1) + 60000);
    owns(CLUSTER_FRONT, "", 1);
    uint64_t began = net.v.now / AO_MS(1);
    stage_run_ms(began + 9000);
    assert_string_equal(stage_said_to(&peer), "");
    stage_run_ms(began + 10300);
    assert_non_null(strstr(stage_said_to(&peer), "1 failed: 'BUSY: "));
}

FRONT_TEST(what_waits_goes_to_an_owner_that_comes_up)
{
    owns(CLUSTER_FRONT, "", 1);
    stage_ask(&peer, 1, "task.forget", "['t1']");
    expect_said("");
    owns(CLUSTER_FRONT, "a", 2);
    expect_asked(GREETING("100000", PLAIN));
    owner_answers(IDENTITY, "nil", "true");
    expect_asked("asks 1: 'task.forget' ['t1']\n");
}

FRONT_TEST(what_waits_is_served_here_when_this_node_owns)
{
    owns(CLUSTER_FRONT, "", 1);
    stage_ask(&peer, 1, "task.submit", "['echo', [5]]");
    stage_ask(&peer, 2, "not.known.here", "[]");
    expect_said("");
    owns(CLUSTER_OWNER, "b", 2);
    stage_run();
    const char *said = stage_said_to(&peer);
    assert_non_null(strstr(said, "1: {'id': 't"));
    assert_non_null(strstr(said, "2 failed: 'NO_METHOD: "));
    assert_int_equal(connects, 0);
}

FRONT_TEST(what_a_lost_owner_may_have_done_stays_unsure_when_this_node_refuses_it)
{
    open_session("task.submit", "['echo', [5], {'key': 'k'}]");
    owner_was_asked();
    lose_owner();
    jobs_stop(stage.jobs);
    owns(CLUSTER_OWNER, "b", 2);
    stage_run();
    assert_string_equal(stage_said_to(&peer),
                        "1 failed: 'UNSURE: the node that owned the tasks was lost, so this may "
                        "have been done; since then: the server is shutting down'\n");
}

static int losses;

static void note_lost(struct outgoing *s, const char *why)
{
    losses++;
}

/* What was to connect, and is given up before its step, does not connect behind its owner's back.
 */
FRONT_TEST(a_session_that_is_lost_before_it_connects_stays_idle)
{
    static const struct outgoing_port port = {.lost = note_lost};
    static const struct outgoing_target target = {.count = 0};
    struct outgoing_loop loop;
    struct outgoing s;

    losses = 0;
    assert_true(outgoing_loop_init(&loop, net.activator, NULL, NULL, NULL));
    loop.open = open_owner;
    outgoing_init(&s, &loop, &port);
    outgoing_connect(&s, &target);
    outgoing_lose(&s, "another node owns them now");
    stage_run();
    assert_int_equal(losses, 1);
    assert_int_equal(connects, 0);
    outgoing_connect(&s, &target); /* it is IDLE */
    outgoing_fini(&s);
    outgoing_loop_fini(&loop);
}

FRONT_TEST(a_session_ends_when_another_owns)
{
    open_session("task.get", "['t1']");
    owner_was_asked();
    owns(CLUSTER_FRONT, "c", 2);
    expect_asked(GREETING("100001", PLAIN));
    owner_answers(IDENTITY + 1, "nil", "true");
    expect_asked("asks 1: 'task.get' ['t1']\n");
}

FRONT_TEST(a_session_that_is_refused_says_why)
{
    stage_ask(&peer, 1, "task.list", "[]");
    expect_asked(GREETING("100000", PLAIN));
    owner_answers(IDENTITY, "'DENIED: this node belongs to the cluster d, not to c'", "nil");
    for (uint64_t id = IDENTITY + 1; stage_said_to(&peer)[0] == '\0';) {
        assert_true(id < IDENTITY + 200);
        stage_run_ms(net.v.now / AO_MS(1) + 100);
        if (owner.out_len > 0) {
            stage_said_to(&owner);
            owner_answers(id++, "'DENIED: this node belongs to the cluster d, not to c'", "nil");
        }
    }
    assert_string_equal(stage.said,
                        "1 failed: 'BUSY: node a owns the tasks, and cannot be reached from here: "
                        "DENIED: this node belongs to the cluster d, not to c'\n");
}

static int refusals_in(uint64_t ms, const char *error)
{
    uint64_t until = net.v.now / AO_MS(1) + ms, id = IDENTITY;

    while (net.v.now / AO_MS(1) < until) {
        stage_run_ms(net.v.now / AO_MS(1) + 10);
        if (owner.out_len == 0)
            continue;
        stage_said_to(&owner);
        owner_answers(id++, error, "nil");
    }
    return (int)(id - IDENTITY);
}

FRONT_TEST(a_session_that_is_refused_is_tried_ever_more_seldom)
{
    stage_ask(&peer, 1, "task.list", "[]");
    int tries = refusals_in(9000, "'DENIED: this node belongs to the cluster d, not to c'");
    assert_in_range(tries, 5, 15);
    assert_string_equal(note, "cannot reach the owner: DENIED: this node belongs to the cluster d, "
                              "not to c");
}

FRONT_TEST(a_client_that_is_refused_is_no_trouble_of_the_node)
{
    stage_ask(&peer, 1, "task.list", "[]");
    assert_true(refusals_in(3000, "'AUTH: this node has no such token'") > 0);
    assert_string_equal(note, "");
}

/* --- The stock --- */

static int front_open_stocked(void **state)
{
    wished_stock = 2;
    return front_open(state);
}

#define STOCK_TEST(name) TEST_WITH(front_open_stocked, front_close, name)

static const char *was_asked(int session)
{
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    return stage_said_to(&readied[session]);
}

/* The first client has session 0, and two are ready. */
static void fill_stock(void)
{
    stage_run();
    assert_int_equal(connects, 0); /* without a client there is no stock */
    stage_ask(&peer, 1, "task.get", "['t1']");
    assert_string_equal(was_asked(0), GREETING("100000", PLAIN));
    answers(&readied[0], IDENTITY, "nil", "true");
    assert_string_equal(was_asked(0), "asks 1: 'task.get' ['t1']\n");
    assert_int_equal(connects, 1); /* the client's requests come first */
    stage_run_ms(net.v.now / AO_MS(1) + 100);
    assert_int_equal(connects, 3);
    assert_int_equal(readied[1].out_len + readied[2].out_len, 0);
    assert_int_equal(stage.rpc.forwarded->sessions, 1);
}

/* Returns the session of the stock on which a client is named; -1: on none of it. */
static int greeted_on(struct script *client, uint8_t id)
{
    stage_ask(client, id, "task.get", "['t2']");
    for (int i = 1; i < connects; i++)
        if (strcmp(was_asked(i), GREETING("100001", PLAIN)) == 0)
            return i;
    return -1;
}

STOCK_TEST(a_new_client_gets_a_session_that_is_ready)
{
    static struct script other;

    fill_stock();
    net_connect(&other);
    stage_run();
    int at = greeted_on(&other, 7);
    assert_in_range(at, 1, 2);
    assert_int_equal(connects, 3); /* one is left */
    answers(&readied[at], IDENTITY + 1, "nil", "true");
    assert_string_equal(was_asked(at), "asks 7: 'task.get' ['t2']\n");
    stage_run_ms(net.v.now / AO_MS(1) + 100);
    assert_int_equal(connects, 4); /* and the stock is full again */
    answers(&readied[at], 7, "nil", "5");
    assert_string_equal(stage_said_to(&other), "7: 5\n");
    assert_int_equal(stage.rpc.forwarded->sessions, 2);
}

STOCK_TEST(what_is_ready_ends_with_its_owner)
{
    static const uint8_t closing[] = {0x93, 2,   0xae, 's', 'e', 'r', 'v',  'e',  'r',  '.', 'c',
                                      'l',  'o', 's',  'i', 'n', 'g', 0x93, 0xa0, 0xa0, 0};

    fill_stock();
    script_send(&readied[1], span_of(closing, sizeof closing));
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    assert_true(readied[1].closed);
    owns(CLUSTER_FRONT, "c", 2);
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    assert_true(readied[2].shut);
    script_send_eof(&readied[2]);
    stage_run_ms(net.v.now / AO_MS(1) + 1);
    assert_true(readied[2].closed);
}

/* Nobody hears that a session is dead before it is used: no client gets BUSY for that. */
STOCK_TEST(a_session_that_was_lost_in_the_stock_is_replaced)
{
    static struct script other;

    fill_stock();
    net_connect(&other);
    stage_run();
    int at = greeted_on(&other, 7);
    assert_in_range(at, 1, 2);
    stage_run_ms(net.v.now / AO_MS(1) + 4000);
    assert_true(readied[at].closed);
    assert_true(readied[3 - at].shut); /* it is as old */
    assert_int_equal(connects, 4);
    assert_string_equal(was_asked(3), GREETING("100002", PLAIN));
    answers(&readied[3], IDENTITY + 2, "nil", "true");
    assert_string_equal(was_asked(3), "asks 7: 'task.get' ['t2']\n");
    assert_string_equal(note, "");
}

static int front_open_limited(void **state)
{
    net_wish.connection_bytes = 1 << 20;
    return front_open(state);
}

/* It is charged what it sends, until the owner reads that. */
TEST_WITH(front_open_limited, front_close, a_client_is_stopped_while_the_owner_does_not_read)
{
    enum { LONG = 60000, SENT = 200 };
    static uint8_t message[LONG + 32];

    open_session("task.get", "['t1']");
    owner_was_asked();
    owner.window = 0;
    uint8_t *p = enc_array(enc_str(enc_uint(enc_array(message, 3), 2), span_text("event.set")), 1);
    p = enc_bin_head(p, LONG);
    size_t len = (size_t)(p - message) + LONG;
    for (int i = 0; i < SENT && peer.in_len + len <= SCRIPT_ROOM; i++) {
        script_send(&peer, span_of(message, len));
        stage_run_ms(net.v.now / AO_MS(1) + 2);
    }
    assert_true(peer.in_len > 0);
    assert_true(conn_bytes(stage.conn) >= 1 << 20);
    assert_true(conn_bytes(stage.conn) < 3 << 20);
}

/* It reads nothing: what the owner sends is left in the socket. */
FRONT_TEST(a_client_that_does_not_read_stops_its_session)
{
    enum { PUSH = 60000, PUSHES = 100 };
    static uint8_t push[PUSH + 16];

    open_session("task.get", "['t1']");
    owner_was_asked();
    uint8_t *p = enc_bin_head(enc_str(enc_uint(enc_array(push, 3), 2), span_text("e")), PUSH);
    size_t len = (size_t)(p - push) + PUSH;
    peer.window = 0;
    for (int i = 0; i < PUSHES && owner.in_len + len <= SCRIPT_ROOM; i++) {
        script_send(&owner, span_of(push, len));
        stage_run_ms(net.v.now / AO_MS(1) + 2);
    }
    assert_true(owner.in_len > 0);
    assert_true(conn_output_full(stage.conn));
    size_t left = owner.in_len;
    for (int i = 0; i < 8 && owner.in_len == left; i++) {
        script_forget(&peer);
        script_widen(&peer, 1 << 20);
        stage_run_ms(net.v.now / AO_MS(1) + 20);
    }
    assert_true(owner.in_len < left);
}

FRONT_TEST(the_end_of_a_client_ends_its_session)
{
    open_session("task.wait", "['t1']");
    owner_was_asked();
    stage_notify(&peer, "event.set", "['e']");
    script_leave(&peer);
    stage_run_ms(net.v.now / AO_MS(1) + 10);
    assert_string_equal(stage_said_to(&owner), "tells: 'event.set' ['e']\n");
    assert_true(owner.shut);
    script_send_eof(&owner);
    stage_run_ms(net.v.now / AO_MS(1) + 10);
    assert_true(owner.closed);
    assert_int_equal(stage.rpc.forwarded->sessions, 0);
}

FRONT_TEST(a_long_answer_passes)
{
    enum { LONG = 300000 };
    static uint8_t answer[LONG + 32];

    open_session("task.get", "['t1']");
    owner_was_asked();
    uint8_t *p = enc_nil(enc_uint(enc_uint(enc_array(answer, 4), 1), 1));
    p = enc_bin_head(p, LONG);
    script_send(&owner, span_of(answer, (size_t)(p - answer) + LONG));
    stage_run_ms(net.v.now / AO_MS(1) + 20);
    assert_int_equal(peer.out_len, (size_t)(p - answer) + LONG);
    assert_memory_equal(peer.out, answer, (size_t)(p - answer));
}
