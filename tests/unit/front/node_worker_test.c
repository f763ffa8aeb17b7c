/* A node as a worker of the owner: what it offers, what it runs, and how that ends.  The owner is
 * played: a scripted stream.  What it asks runs in the task system of the stage. */
#include <stdio.h>
#include <string.h>

#include "proto/encoder.h"
#include "server/front/node_worker.h"
#include "tests/support/notation.h"
#include "tests/support/rpc_stage.h"

static struct script owner;
static struct owner_finder *finder;
static struct node_worker *worker;
static struct cluster_view view;
static char note[CLUSTER_NOTE_MAX];
static int notes;

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
    notes++;
}

static bool open_script(struct outgoing *s, struct script *k)
{
    if (k->in)
        script_fini(k);
    script_init(k, &net.v, net.activator);
    script_open(k, &s->stream, s->loop->watcher.on_event);
    return true;
}

static bool open_owner(struct outgoing *s)
{
    return open_script(s, &owner);
}

static void run_a_while(uint64_t ms)
{
    stage_run_ms(net.v.now / AO_MS(1) + ms);
}

static void owns(enum cluster_role role, const char *node)
{
    view = (struct cluster_view){
        .role = role, .cluster = "c", .node = "b", .address = "unix:///owner", .epoch = 1};
    snprintf(view.owner, sizeof view.owner, "%s", node);
    owner_finder_look(finder);
    run_a_while(1);
}

static int worker_open(void **state)
{
    char error[200];

    stage_open(state);
    notes = 0;
    const struct cluster_roles roles = {.role = role_now, .view = view_now, .note = note_now};
    finder = owner_finder_new(&roles, 1);
    const struct node_worker_options options = {.finder = finder,
                                                .activator = net.activator,
                                                .registry = stage.registry,
                                                .tasks = stage.tasks,
                                                .node = "b",
                                                .slots = {2},
                                                .open = open_owner};
    worker = node_worker_new(&options, error, sizeof error);
    assert_non_null(worker);
    return 0;
}

static int worker_close(void **state)
{
    jobs_stop(stage.jobs);
    net_stop();
    tasks_clear(stage.tasks);
    node_worker_free(worker);
    owner_finder_free(finder);
    if (owner.in)
        script_fini(&owner);
    owner = (struct script){0};
    return stage_close(state);
}

#define WORKER_TEST(name) TEST_WITH(worker_open, worker_close, name)

static void put_message(struct script *k, const char *message)
{
    uint8_t bytes[1024];

    script_send(k, span_of(bytes, notation_pack(message, bytes, sizeof bytes)));
}

static void send_message(struct script *k, const char *message)
{
    put_message(k, message);
    run_a_while(2);
}

static void expect_sent(struct script *k, const char *expected)
{
    run_a_while(2);
    assert_string_equal(stage_said_to(k), expected);
}

static void offer(void)
{
    owns(CLUSTER_FRONT, "a");
    expect_sent(&owner, "asks 1: 'cluster.session' [{'cluster': 'c', 'version': 1, 'node': 'b', "
                        "'principal': 'cert:b', 'tenant': 'cert:b', 'rights': [], 'peer': 'b', "
                        "'work': true}]\n");
    send_message(&owner, "[1, 1, nil, true]");
    run_a_while(2);
    const char *said = stage_said_to(&owner);
    assert_non_null(strstr(said, "asks 2: 'worker.register' [["));
    assert_non_null(strstr(said, "{'slots': 2, 'name': 'b', 'version': '" ERGON_VERSION
                                 "', 'context': true, 'host': 'b', 'lease': '10s'}]\n"));
    send_message(&owner, "[1, 2, nil, {'worker': 'w1'}]");
}

WORKER_TEST(blocking_handlers_are_offered_to_the_owner)
{
    owns(CLUSTER_FRONT, "a");
    stage_said_to(&owner);
    send_message(&owner, "[1, 1, nil, true]");
    run_a_while(2);
    const char *said = stage_said_to(&owner);
    for (uint32_t i = 0; i < registry_count(stage.registry); i++) {
        const struct method *m = registry_at(stage.registry, i);
        char quoted[80];
        snprintf(quoted, sizeof quoted, "'%s'", method_name(m));
        assert_int_equal(strstr(said, quoted) != NULL, m->handler->kind == ERGON_BLOCKING);
    }
}

WORKER_TEST(what_the_owner_asks_runs_here_and_its_answer_goes_up)
{
    offer();
    send_message(&owner, "[0, 8192, 'block', ['a', [5], {'call': 8192, 'attempt': 2}]]");
    expect_sent(&owner, "8192: ['a', [5]]\n");
    send_message(&owner, "[0, 8193, 'block', [{}]]");
    expect_sent(&owner, "8193: []\n");
    send_message(&owner,
                 "[0, 8194, 'block', [1, {'left': 500, 'what a later version says': [1]}]]");
    expect_sent(&owner, "8194: [1]\n");
}

#define SUBMITS   "[0, 8192, 'submit', [{'task': 't0000000000007'}]]"
#define SUBMITTED "tells: 'worker.submit' [8192, {'task': [['echo', [], {}]]}]\n8192: nil\n"

WORKER_TEST(what_an_attempt_submits_goes_before_its_answer)
{
    owns(CLUSTER_FRONT, "a");
    send_message(&owner, "[1, 1, nil, {'composes': true}]");
    run_a_while(2);
    send_message(&owner, "[1, 2, nil, {'worker': 'w1'}]");
    stage_said_to(&owner);
    send_message(&owner, SUBMITS);
    expect_sent(&owner, SUBMITTED);
}

WORKER_TEST(an_attempt_that_submits_fails_where_the_owner_would_not_know_what_that_is)
{
    offer();
    send_message(&owner, SUBMITS);
    expect_sent(&owner, "8192 failed: 'STORE: the node that owns the tasks is of an older version, "
                        "which knows neither results as parameters nor what attempts submit: "
                        "upgrade it, or drain it (ergon cluster drain)'\n");
}

WORKER_TEST(what_was_offered_first_runs_while_the_rest_is_offered)
{
    owns(CLUSTER_FRONT, "a");
    send_message(&owner, "[1, 1, nil, true]");
    run_a_while(2);
    stage_said_to(&owner);
    send_message(&owner, "[0, 8192, 'block', [{}]]"); /* before the answer to 'worker.register' */
    expect_sent(&owner, "8192: []\n");
    send_message(&owner, "[1, 2, nil, {'worker': 'w1'}]");
    assert_false(owner.closed);
}

WORKER_TEST(an_owner_that_asks_before_anything_was_offered_is_left)
{
    owns(CLUSTER_FRONT, "a");
    send_message(&owner, "[0, 8192, 'block', [{}]]");
    run_a_while(2);
    assert_true(owner.closed);
}

WORKER_TEST(a_call_that_has_not_begun_is_withdrawn)
{
    offer();
    put_message(&owner, "[0, 8192, 'block', [1, {}]]");
    send_message(&owner, "[2, 'worker.cancel', [8192, 'cancelled']]");
    expect_sent(&owner, "8192 failed: 'CANCELLED: the call was cancelled'\n");
    send_message(&owner, "[2, 'worker.cancel', [8192, 'cancelled']]"); /* it is over */
    expect_sent(&owner, "");
}

WORKER_TEST(one_call_more_than_there_is_room_for_is_given_back)
{
    offer();
    for (int i = 0; i < 5; i++) {
        char message[64];
        snprintf(message, sizeof message, "[0, %d, 'block', [{}]]", 8192 + i);
        put_message(&owner, message);
    }
    run_a_while(2);
    const char *said = stage_said_to(&owner);
    assert_non_null(strstr(said, "8196 failed: 'AGAIN: 1s'\n"));
    assert_non_null(strstr(said, "8195: []\n"));
}

WORKER_TEST(a_ping_is_answered)
{
    offer();
    send_message(&owner, "[0, 8192, 'worker.ping', []]");
    expect_sent(&owner, "8192: nil\n");
}

static void note_drained(void *arg)
{
    ++*(int *)arg;
}

WORKER_TEST(a_server_that_drains_answers_first)
{
    int drained = 0;

    offer();
    node_worker_on_drained(worker, note_drained, &drained);
    put_message(&owner, "[0, 8192, 'block', [1, {}]]");
    tasks_drain_jobs(stage.tasks, node_worker_tasks_drained, worker);
    run_a_while(2);
    expect_sent(&owner, "asks 4: 'worker.quiet' []\n8192 failed: 'AGAIN: 0'\n");
    assert_int_equal(drained, 0); /* more may be on its way */
    put_message(&owner, "[0, 8193, 'block', [2, {}]]");
    send_message(&owner, "[1, 4, nil, {'out': 1}]");
    expect_sent(&owner, "8193 failed: 'AGAIN: 0'\n");
    assert_int_equal(drained, 1);
}

WORKER_TEST(an_owner_that_sends_what_was_not_asked_is_left)
{
    static const char *const bad[] = {
        "[1, 2, nil, {'worker': 'w1'}]",
        "[1, 99, nil, true]",
        "[1, 'x', nil, true]",
        "[0, 7, 'server.info', [{}]]",
        "[0, 7, 'server.connections', [{}]]",
        "[0, 7, 'block', []]",
        "[0, 7, 'block', [1, 2]]",
        "[0, 7, 'block', [{'attempt': 0}]]",
        "[0, 7, 'block', [{'task': 'x'}]]",
        "[0, 7, 'block', [{'params': 3}]]",
        "[0, 7, 'block', [{'params': [0, 3]}]]", /* it shares no memory with the owner */
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        offer();
        send_message(&owner, bad[i]);
        run_a_while(2);
        assert_true(owner.closed);
        owns(CLUSTER_OWNER, "b");
        run_a_while(1100);
    }
}

WORKER_TEST(an_owner_that_is_lost_ends_its_calls_and_is_sought_again)
{
    offer();
    script_send_eof(&owner);
    run_a_while(10);
    run_a_while(1100);
    assert_non_null(strstr(stage_said_to(&owner), "asks 1: 'cluster.session'"));
}

WORKER_TEST(a_node_that_owns_offers_nothing)
{
    owns(CLUSTER_OWNER, "b");
    run_a_while(2000);
    assert_null(owner.in);
}

WORKER_TEST(an_owner_that_refuses_is_asked_again_later)
{
    owns(CLUSTER_FRONT, "a");
    stage_said_to(&owner);
    for (int i = 0; i < 3; i++) {
        send_message(&owner, "[1, 1, 'DENIED: this node belongs to the cluster d', nil]");
        assert_true(owner.closed);
        run_a_while(1100);
        assert_non_null(strstr(stage_said_to(&owner), "asks 1: 'cluster.session'"));
    }
    assert_string_equal(note, "cannot reach the owner: DENIED: this node belongs to the cluster d");
    assert_int_equal(notes, 1);
}
