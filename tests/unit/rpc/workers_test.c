/* Workers over scripted connections: what is sent when, what becomes of each answer, and that no
 * failure of memory leaves anything behind. */
#include <stdio.h>

#include "proto/encoder.h"
#include "server/net/connection/net_loop.h"
#include "server/net/serving.h"
#include "server/workers/workers.h"
#include "tests/support/heap.h"
#include "tests/support/notation.h"
#include "tests/support/rpc_stage.h"

static struct script caller, other, third;

/* A response of a worker: `value` in the notation. */
static void respond(struct script *k, uint32_t number, const char *error, const char *result)
{
    static uint8_t message[4096];
    uint8_t *p = enc_uint(enc_uint(enc_array(message, 4), 1), number);
    p += notation_pack(error, p, 1024);
    p += notation_pack(result, p, 1024);
    script_send(k, span_of(message, (size_t)(p - message)));
}

static void says(struct script *k, const char *wanted)
{
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_string_equal(stage_said_to(k), wanted);
}

/* Its numbers begin at 8192. */
static void unmask(struct connection *c)
{
    struct worker_link *link = conn_service(c);
    link->requests.mask = 0;
}

static void registered(const char *params)
{
    net_connect(&caller);
    stage_ask(&peer, 1, "worker.register", params);
    says(&peer, "1: {'worker': 'w1', 'slots': 2, 'methods': 1, 'out': 0}\n");
    unmask(stage.conn);
}

RPC_TEST(a_call_becomes_a_request_and_its_answer_the_result)
{
    registered("[['twice'], {'slots': 2}]");
    stage_ask(&caller, 7, "twice", "[21]");
    says(&peer, "asks 8192: 'twice' [21]\n");
    respond(&peer, 8192, "nil", "42");
    says(&caller, "7: 42\n");
}

/* The server blanks control characters in a worker's names and in its errors. */
RPC_TEST(a_failed_task_says_who_ran_it_and_keeps_the_traceback)
{
    registered("[['twice'], {'slots': 2, 'name': 'a\x1b[2Jb', 'host': 'h\n7', 'version': 'v\t1'}]");
    stage_ask(&caller, 7, "task.call", "['twice', [], {'key': 'k', 'keep': '1h'}]");
    says(&peer, "asks 8192: 'twice' []\n");
    respond(&peer, 8192, "{'code': 'BAD', 'message': 'no', 'traceback': 'in f\n\x1b[31mline 2'}",
            "nil");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_non_null(strstr(stage_said_to(&caller), "7 failed: "));
    stage_ask(&caller, 8, "task.list", "[]");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    const char *id = strstr(stage_said_to(&caller), "'id': '");
    assert_non_null(id);
    char params[100];
    snprintf(params, sizeof params, "['%.*s', {'attempts': true}]", (int)strcspn(id + 7, "'"),
             id + 7);
    stage_ask(&caller, 9, "task.get", params);
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    const char *said = stage_said_to(&caller);
    assert_non_null(
        strstr(said, "'worker': 'w1', 'name': 'a [2Jb', 'host': 'h 7', 'version': 'v 1'"));
    assert_non_null(strstr(said, "'outcome': 'failed', 'error': 'BAD: no', "
                                 "'traceback': 'in f\n [31mline 2', 'traceback_size': 16}"));
}

/* A caller gets the code and the text. */
RPC_TEST(a_call_that_fails_has_no_traceback)
{
    registered("[['twice'], {'slots': 2}]");
    stage_ask(&caller, 7, "twice", "[]");
    says(&peer, "asks 8192: 'twice' []\n");
    respond(&peer, 8192, "{'code': 'BAD', 'message': 'no', 'traceback': 'in f'}", "nil");
    says(&caller, "7 failed: 'BAD: no'\n");
}

/* Clients and the nodes of a cluster repeat what the server itself answers DRAINING. */
RPC_TEST(a_handler_does_not_say_that_the_server_drains)
{
    registered("[['twice'], {'slots': 2}]");
    stage_ask(&caller, 7, "twice", "[]");
    says(&peer, "asks 8192: 'twice' []\n");
    respond(&peer, 8192, "'DRAINING: the server is shutting down'", "nil");
    says(&caller, "7 failed: 'FAILED: DRAINING: the server is shutting down'\n");
}

RPC_TEST(no_more_than_its_slots_are_sent)
{
    registered("[['twice'], {'slots': 2}]");
    for (uint8_t i = 1; i <= 3; i++)
        stage_ask(&caller, i, "twice", "[]");
    says(&peer, "asks 8192: 'twice' []\nasks 8193: 'twice' []\n");
    respond(&peer, 8193, "nil", "true");
    says(&peer, "asks 16385: 'twice' []\n");
    says(&caller, "2: true\n");
}

RPC_TEST(what_has_not_been_handed_over_is_no_loss)
{
    registered("[['twice'], {'slots': 2}]");
    peer.window = 0;
    stage_ask(&caller, 7, "twice", "[]");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    struct connection *c = net_connect(&other);
    stage_ask(&other, 1, "worker.register", "[['twice'], {'slots': 2}]");
    says(&other, "1: {'worker': 'w2', 'slots': 2, 'methods': 1, 'out': 0}\n");
    unmask(c);
    script_reset(&peer);
    says(&other, "asks 8192: 'twice' []\n");
    respond(&other, 8192, "nil", "'other'");
    says(&caller, "7: 'other'\n");
}

RPC_TEST(what_has_been_handed_over_is_lost)
{
    registered("[['twice'], {'slots': 2}]");
    stage_ask(&caller, 7, "twice", "[]");
    says(&peer, "asks 8192: 'twice' []\n");
    script_reset(&peer);
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    const char *said = stage_said_to(&caller);
    assert_non_null(strstr(said, "7 failed: 'WORKER_LOST: worker w1 at "));
}

RPC_TEST(what_has_been_handed_over_in_part_is_lost)
{
    registered("[['twice'], {'slots': 2}]");
    peer.window = 1; /* byte of the request */
    stage_ask(&caller, 7, "twice", "[]");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    script_reset(&peer);
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_non_null(strstr(stage_said_to(&caller), "7 failed: 'WORKER_LOST: worker w1 at "));
}

/* `caller` asks for `twice` with 5,000 bytes. */
static void ask_long(void)
{
    static char params[6000];
    snprintf(params, sizeof params, "['%05000d']", 0);
    stage_ask(&caller, 7, "twice", params);
    stage_run_ms(net.v.now / AO_MS(1) + 5);
}

RPC_TEST(a_request_that_is_longer_than_its_worker_takes_is_refused)
{
    registered("[['twice'], {'slots': 2, 'message': 4096}]");
    ask_long();
    const char *said = stage_said_to(&caller);
    assert_non_null(strstr(said, "7 failed: 'TOO_LARGE: the request has up to 5"));
    assert_non_null(strstr(said, " bytes, and worker w1 takes 4096 (its option `message`)'"));
    for (uint8_t i = 1; i <= 3; i++)
        stage_ask(&caller, i, "twice", "[]");
    says(&peer, "asks 8192: 'twice' []\nasks 8193: 'twice' []\n");
}

RPC_TEST(a_task_that_is_longer_than_its_worker_takes_has_failed_at_once)
{
    static char params[6000];
    registered("[['twice'], {'slots': 2, 'message': 4096, 'context': true}]");
    snprintf(params, sizeof params, "['twice', ['%04000d'], {'retries': 5}]", 0);
    stage_ask(&caller, 7, "task.call", params); /* 4096 with the context */
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_non_null(strstr(stage_said_to(&caller), "7 failed: 'TOO_LARGE: the request has up to "));
    assert_string_equal(stage_said_to(&peer), "");
}

RPC_TEST(a_worker_that_says_no_bound_is_sent_everything)
{
    registered("[['twice'], {'slots': 2}]");
    ask_long();
    assert_non_null(strstr(stage_said_to(&peer), "asks 8192: 'twice' ['0000"));
}

RPC_TEST(a_worker_says_which_parameters_are_secret)
{
    static const struct {
        const char *params, *said;
    } cases[] = {
        {"[['a', 'b'], {'secret': ['b']}]",
         "1: {'worker': 'w1', 'slots': 1, 'methods': 2, 'out': 0}\n"},
        {"[['c'], {'secret': true}]", "1: {'worker': 'w2', 'slots': 1, 'methods': 1, 'out': 0}\n"},
        {"[['d'], {'secret': false}]", "1: {'worker': 'w3', 'slots': 1, 'methods': 1, 'out': 0}\n"},
        {"[['e'], {'secret': ['b']}]", NULL},
        {"[['e'], {'secret': [7]}]", NULL},
        {"[['e'], {'secret': 'e'}]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_ask(&peer, 1, "worker.register", cases[i].params);
        stage_run_ms(net.v.now / AO_MS(1) + 5);
        const char *said = stage_said_to(&peer);
        if (cases[i].said)
            assert_string_equal(said, cases[i].said);
        else
            assert_non_null(strstr(said, "BAD_PARAMS"));
    }
    const char *queues = stage_answer("queue.list", "[]");
    assert_non_null(strstr(queues, "'method': 'a', 'kind': 'worker', 'paused': false, 'draining': "
                                   "false, 'secret': false"));
    assert_non_null(strstr(queues, "'method': 'b', 'kind': 'worker', 'paused': false, 'draining': "
                                   "false, 'secret': true"));
    assert_non_null(strstr(queues, "'method': 'c', 'kind': 'worker', 'paused': false, 'draining': "
                                   "false, 'secret': true"));
}

RPC_TEST(a_bound_that_no_request_fits_is_refused)
{
    stage_ask(&peer, 1, "worker.register", "[['twice'], {'message': 4095}]");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_non_null(strstr(stage_said_to(&peer), "1 failed: 'BAD_PARAMS: "));
}

RPC_TEST(an_answer_before_the_request_closes_the_connection)
{
    registered("[['twice'], {'slots': 2}]");
    peer.window = 3;
    stage_ask(&caller, 7, "twice", "[]");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    respond(&peer, 8192, "nil", "'I know'");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_true(peer.closed);
    assert_non_null(strstr(stage_said_to(&caller), "7 failed: 'WORKER_LOST: "));
}

RPC_TEST(a_worker_whose_output_is_full_gets_no_task)
{
    registered("[['twice'], {'slots': 2}]");
    struct connection *c = stage.conn;
    peer.window = 0;
    net.loop->limits.output_max = 1;
    stage_ask(&caller, 1, "twice", "[1]");
    stage_ask(&caller, 2, "twice", "[2]");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_true(conn_output_full(c));
    script_widen(&peer, 1 << 20);
    says(&peer, "asks 8192: 'twice' [1]\nasks 8193: 'twice' [2]\n");
}

RPC_TEST(a_lease_asks_once_and_ends)
{
    registered("[['twice'], {'slots': 2, 'lease': '3s'}]");
    uint64_t from = net.v.now / AO_MS(1);
    stage_run_ms(from + 1100);
    assert_string_equal(stage_said_to(&peer), "asks 8192: 'worker.ping' []\n");
    respond(&peer, 8192, "'NO_METHOD: so what'", "nil");
    stage_run_ms(from + 2500);
    assert_string_equal(stage_said_to(&peer), "asks 16384: 'worker.ping' []\n");
    stage_run_ms(from + 4000);
    assert_string_equal(stage_said_to(&peer), "");
    assert_false(peer.closed);
    stage_run_ms(from + 8000);
    assert_true(peer.closed);
}

RPC_TEST(bytes_of_a_message_that_is_not_whole_renew_a_lease)
{
    static const uint8_t begin[] = {0x94, 1, 0xcd, 0x20, 0, 0xc0, 0xdb, 0, 0, 1, 0};
    registered("[['twice'], {'slots': 2, 'lease': '3s'}]");
    stage_ask(&caller, 7, "twice", "[]");
    says(&peer, "asks 8192: 'twice' []\n");
    script_send(&peer, span_of(begin, sizeof begin));
    uint64_t from = net.v.now / AO_MS(1);
    for (int i = 1; i <= 20; i++) {
        stage_run_ms(from + (uint64_t)i * 1000);
        script_send(&peer, span_text("x"));
    }
    assert_false(peer.closed);
}

/* The caller's last call has gone unanswered since it left; another's is lost with it. */
RPC_TEST(a_worker_that_goes_on_in_vain_is_given_up)
{
    stage.shared.give_up = AO_S(10);
    registered("[['twice'], {'slots': 2}]");
    net_connect(&other);
    stage_ask(&caller, 7, "twice", "[1]");
    says(&peer, "asks 8192: 'twice' [1]\n");
    stage_ask(&other, 8, "twice", "[2]");
    says(&peer, "asks 8193: 'twice' [2]\n");
    uint64_t from = net.v.now / AO_MS(1);
    stage_run_ms(from + 60000);
    assert_false(peer.closed); /* somebody waits for each */
    script_reset(&caller);
    stage_run_ms(from + 69900);
    assert_false(peer.closed);
    assert_string_equal(stage_said_to(&other), "");
    stage_run_ms(from + 70100);
    assert_true(peer.closed);
    const char *said = stage_said_to(&other);
    assert_non_null(strstr(said, "8 failed: 'WORKER_LOST: worker w1 at "));
    assert_non_null(strstr(said, "longer than workers.give_up"));
}

/* One that is answered in time is forgotten, and the next has all of the time again. */
RPC_TEST(a_late_answer_saves_a_worker)
{
    stage.shared.give_up = AO_S(10);
    registered("[['twice'], {'slots': 2}]");
    net_connect(&other);
    stage_ask(&caller, 7, "twice", "[1]");
    says(&peer, "asks 8192: 'twice' [1]\n");
    stage_ask(&other, 8, "twice", "[2]");
    says(&peer, "asks 8193: 'twice' [2]\n");
    uint64_t from = net.v.now / AO_MS(1);
    script_reset(&caller);
    stage_run_ms(from + 6000);
    script_reset(&other);
    stage_run_ms(from + 9000);
    respond(&peer, 8192, "nil", "2");
    stage_run_ms(from + 15900);
    assert_false(peer.closed);
    respond(&peer, 8193, "nil", "4");
    stage_run_ms(from + 60000);
    assert_false(peer.closed);
    net_connect(&third);
    stage_ask(&third, 9, "twice", "[3]");
    says(&peer, "asks 16385: 'twice' [3]\n");
    script_reset(&third);
    stage_run_ms(from + 69900);
    assert_false(peer.closed);
    stage_run_ms(from + 70100);
    assert_true(peer.closed);
}

RPC_TEST(without_a_time_to_give_up_a_worker_may_go_on)
{
    registered("[['twice'], {'slots': 2}]");
    stage_ask(&caller, 7, "twice", "[1]");
    says(&peer, "asks 8192: 'twice' [1]\n");
    script_reset(&caller);
    stage_run_ms(net.v.now / AO_MS(1) + 600000);
    assert_false(peer.closed);
}

RPC_TEST(quiet_is_answered_when_the_manager_has_let_go)
{
    registered("[['twice'], {'slots': 2}]");
    stage_ask(&peer, 2, "worker.quiet", "[]");
    says(&peer, "2: {'worker': 'w1', 'slots': 2, 'methods': 1, 'out': 0}\n");
    stage_ask(&caller, 7, "twice", "[]");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_non_null(strstr(stage_said_to(&caller), "NO_WORKER"));
    stage_ask(&caller, 8, "worker.resume", "['w1']");
    says(&caller, "8: {'worker': 'w1', 'slots': 2, 'methods': 1, 'out': 0}\n");
    stage_ask(&caller, 9, "twice", "[]");
    says(&peer, "asks 8192: 'twice' []\n");
}

RPC_TEST(who_asks_and_leaves_leaves_nothing_behind)
{
    registered("[['twice'], {'slots': 2}]");
    stage_ask(&caller, 8, "worker.quiet", "['w1']");
    script_reset(&caller);
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    stage_ask(&peer, 2, "worker.quiet", "[]");
    script_reset(&peer);
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_true(peer.closed);
}

/* --- Many names --- */

/* The names "m1000" and so on. */
static void ask_to_register(uint8_t id, unsigned from, unsigned count)
{
    static uint8_t message[16 << 10];
    char name[16];
    uint8_t *p = enc_uint(enc_uint(enc_array(message, 4), 0), id);

    p = enc_str(p, span_text("worker.register"));
    p = enc_array(enc_array(p, 1), count);
    for (unsigned i = from; i < from + count; i++) {
        snprintf(name, sizeof name, "m%u", i);
        p = enc_str(p, span_text(name));
    }
    script_send(&peer, span_of(message, (size_t)(p - message)));
}

RPC_TEST(a_name_is_offered_once_on_a_connection)
{
    enum { NAMES = 100, REGISTRATIONS = 5 };
    char wanted[80];

    for (unsigned i = 1; i <= REGISTRATIONS; i++) {
        ask_to_register((uint8_t)i, 1000 + i * NAMES, NAMES);
        snprintf(wanted, sizeof wanted,
                 "%u: {'worker': 'w%u', 'slots': 1, 'methods': %u, 'out': 0}\n", i, i, NAMES);
        says(&peer, wanted);
    }
    ask_to_register(6, 1000 + 2 * NAMES - 1, 1);
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_non_null(
        strstr(stage_said_to(&peer), "\"m1199\" is offered on this connection already"));
    stage_ask(&peer, 7, "worker.register", "[['free', 'twice', 'twice'], {'slots': 1}]");
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_non_null(
        strstr(stage_said_to(&peer), "\"twice\" is offered on this connection already"));
    stage_ask(&peer, 8, "worker.register", "[['free', 'twice'], {'slots': 1}]");
    says(&peer, "8: {'worker': 'w6', 'slots': 1, 'methods': 2, 'out': 0}\n");
}

static unsigned compared;

int __wrap_memcmp(const void *a, const void *b, size_t n);
int __real_memcmp(const void *a, const void *b, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n)
{
    compared++;
    return __real_memcmp(a, b, n);
}

int __wrap_bcmp(const void *a, const void *b, size_t n); /* what Clang makes of it */
int __wrap_bcmp(const void *a, const void *b, size_t n)
{
    return __wrap_memcmp(a, b, n);
}

/* A comparison for each pair of names, 499,500, would hold up the loop. */
RPC_TEST(a_name_is_compared_with_few_others)
{
    compared = 0;
    ask_to_register(1, 1000, 1000);
    stage_run_ms(net.v.now / AO_MS(1) + 5);
    assert_non_null(strstr(stage_said_to(&peer), "'w1'"));
    assert_in_range(compared, 1, 20000);
}

static void forget_line(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

/* Every allocation of a registration and of a call through it fails once.  True: one did. */
static bool meet(int64_t n)
{
    stage_open(NULL);
    net.record = forget_line;
    net_connect(&caller);
    stage_run_ms(1);
    heap_fail_at(n);
    stage_ask(&peer, 1, "worker.register",
              "[['twice'], {'slots': 2, 'context': true, 'lease': '9s'}]");
    stage_run_ms(10);
    if (strstr(stage_said_to(&peer), "'w1'")) {
        unmask(stage.conn);
        stage_ask(&caller, 2, "twice", "[1]");
        stage_run_ms(20);
        if (strstr(stage_said_to(&peer), "asks"))
            respond(&peer, 8192, "nil", "'two'");
        stage_run_ms(30);
    }
    bool failed = heap_failed();
    heap_fail_at(0);
    stage_run_ms(40);
    if (!peer.closed) { /* who comes next is served */
        script_forget(&peer);
        stage_ask(&peer, 9, "server.ping", "[]");
        stage_run_ms(50);
        assert_non_null(strstr(stage_said_to(&peer), "9: 'pong'\n"));
    }
    stage_close(NULL);
    script_fini(&caller);
    caller = (struct script){0};
    return failed;
}

TEST(every_allocation_of_a_registration_and_a_call_fails_once)
{
    int64_t n = 1, live = heap_live();
    while (meet(n))
        n++;
    assert_in_range(n, 5, 500);
    assert_int_equal(heap_live(), live);
}
