/* Large results that are kept: however many answers carry one, it is there once. */
#include <stdio.h>

#include "proto/pack.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/operations/operation.h"
#include "tests/support/rpc_stage.h"

enum { KEPT = 100000, ASKED = 16 };

/* A task of `large` that is done; its result is the job's, and whoever's asks for it. */
static const struct blob *kept_result(char id[static 15])
{
    const char *said = NULL;
    stage_ask(&peer, 1, "task.submit",
              "['large', [100000], {'durable': 'none', 'keep_size': 200000}]");
    stage_run_ms(net.v.now / AO_MS(1));
    said = strstr(stage_said_to(&peer), "'id': '");
    assert_non_null(said);
    snprintf(id, 15, "%.14s", said + 7);
    const struct job *job = stage.jobs->table.last;
    assert_int_equal(job->state, JOB_DONE);
    return job->end->result;
}

/* Nobody reads: each answer holds a reference, and no copy. */
static void ask_without_reading(struct script *k, const char *method, const char *params)
{
    k->window = 10;
    for (unsigned i = 0; i < ASKED; i++)
        stage_ask(k, (uint8_t)i, method, params);
    stage_run_ms(net.v.now / AO_MS(1));
}

static void carries_no_copy(bool raw)
{
    static struct script other;
    char id[15], params[64];
    const struct blob *kept = kept_result(id);
    struct connection *c = net_connect(&other);

    assert_int_equal(kept->refs, 1);
    conn_mode(c)->raw = raw;
    snprintf(params, sizeof params, "['%s']", id);
    ask_without_reading(&other, "task.get", params);
    assert_int_equal(kept->refs, 1 + ASKED);
    assert_true(!raw == !blob_twin(kept));
    assert_true(c->out.bytes > (uint64_t)KEPT * ASKED); /* as the limit of output counts them */
    script_widen(&other, SCRIPT_WINDOW);
    script_forget(&other);
    stage_run_ms(net.v.now / AO_MS(1));
    assert_int_equal(kept->refs, 1);
    script_reset(&other);
    stage_run_ms(net.v.now / AO_MS(1));
}

RPC_TEST(answers_about_a_large_result_share_it)
{
    carries_no_copy(false);
}

RPC_TEST(for_old_peers_it_is_rewritten_once)
{
    carries_no_copy(true);
}

RPC_TEST(answers_of_one_kept_by_its_key_share_it)
{
    static struct script other;
    const struct blob *kept;
    const char *params =
        "['large', [100000], {'key': 'k', 'keep': '1h', 'keep_size': 200000, 'durable': 'none'}]";

    stage_ask(&peer, 1, "task.call", params);
    stage_run_ms(net.v.now / AO_MS(1));
    kept = stage.jobs->table.last->end->result;
    net_connect(&other);
    ask_without_reading(&other, "task.call", params);
    assert_int_equal(stage.jobs->table.count, 1);
    assert_int_equal(kept->refs, 1 + ASKED);
    script_reset(&other);
    stage_run_ms(net.v.now / AO_MS(1));
    assert_int_equal(kept->refs, 1);
}

/* What is forgotten stays for the answers that carry it. */
RPC_TEST(an_answer_keeps_what_is_forgotten)
{
    static struct script other;
    char id[15], params[64];
    kept_result(id);
    net_connect(&other);
    snprintf(params, sizeof params, "['%s']", id);
    other.window = 10;
    stage_ask(&other, 1, "task.get", params);
    stage_run_ms(net.v.now / AO_MS(1));
    stage_ask(&peer, 2, "task.forget", params);
    stage_run_ms(net.v.now / AO_MS(1));
    assert_int_equal(stage.jobs->table.count, 0);
    script_widen(&other, SCRIPT_WINDOW);
    stage_run_ms(net.v.now / AO_MS(1));
    assert_true(other.out_len > KEPT);
    assert_int_equal(value_length(span_of(other.out, other.out_len)), other.out_len);
}

/* --- Events that are pushed --- */

enum { WATCHES = 50, CHANGES = 200 };

static void open_watches(struct script *k, const char *id)
{
    char params[64];
    stage_ask(k, 1, "server.hello", "[{'push': true}]");
    snprintf(params, sizeof params, "['%s', {'push': true}]", id);
    for (unsigned i = 0; i < WATCHES; i++)
        stage_ask(k, (uint8_t)(2 + i), "task.watch", params);
    stage_run_ms(net.v.now / AO_MS(1));
}

static void change_often(const char *id)
{
    char params[64];
    for (unsigned i = 0; i < CHANGES; i++) {
        snprintf(params, sizeof params, "['%s', {'delay': '%uh'}]", id, 2 + i);
        stage_ask(&peer, 1, "task.change", params);
        stage_run_ms(net.v.now / AO_MS(1));
        script_forget(&peer);
    }
}

static void delayed_task(char id[static 15])
{
    stage_ask(&peer, 1, "task.submit", "['echo', [7], {'durable': 'none', 'delay': '1h'}]");
    stage_run_ms(net.v.now / AO_MS(1));
    snprintf(id, 15, "%.14s", strstr(stage_said_to(&peer), "'id': '") + 7);
}

RPC_TEST(who_watches_and_does_not_read_is_let_go)
{
    static struct script other;
    char id[15];
    struct connection *c = net_connect(&other);
    uint64_t limit = c->loop->limits.output_max;
    delayed_task(id);
    c->loop->limits.output_max = 20000;
    other.window = 10;
    open_watches(&other, id);
    change_often(id);
    assert_int_equal(conn_polls(c), 0);
    assert_in_range(c->out.bytes, 10000, 20000 + WATCHES * 300);
    script_widen(&other, SCRIPT_WINDOW);
    stage_run_ms(net.v.now / AO_MS(1));
    assert_non_null(memmem(other.out, other.out_len, "watch again from ", 17));
    c->loop->limits.output_max = limit;
    script_reset(&other);
    stage_run_ms(net.v.now / AO_MS(1));
}

RPC_TEST(who_reads_what_is_pushed_keeps_the_watch)
{
    static struct script other;
    char id[15];
    struct connection *c = net_connect(&other);
    uint64_t limit = c->loop->limits.output_max;
    delayed_task(id);
    c->loop->limits.output_max = 20000;
    open_watches(&other, id);
    script_forget(&other);
    change_often(id);
    assert_int_equal(conn_polls(c), WATCHES);
    c->loop->limits.output_max = limit;
    script_reset(&other);
    stage_run_ms(net.v.now / AO_MS(1));
}

/* It is packed once, and each output holds a reference. */
RPC_TEST(a_large_event_is_shared_by_all_who_watch)
{
    static struct script others[3];
    char id[15], params[64];
    delayed_task(id);
    change_often(id);
    snprintf(params, sizeof params, "['%s', {'push': true}]", id);
    for (unsigned i = 0; i < 3; i++) {
        net_connect(&others[i]);
        stage_ask(&others[i], 1, "server.hello", "[{'push': true}]");
        others[i].window = 10;
        stage_ask(&others[i], 2, "task.watch", params);
    }
    stage_run_ms(net.v.now / AO_MS(1));
    unsigned shared = 0;
    for (unsigned i = 0; i < EVENT_BATCHES; i++) {
        const struct blob *events = stage.jobs->event_batches.batches[i].events;
        shared += events && events->len >= PACK_SHARED_MIN && events->refs == 1 + 3;
    }
    assert_true(shared > 0);
    for (unsigned i = 0; i < 3; i++)
        script_reset(&others[i]);
    stage_run_ms(net.v.now / AO_MS(1));
}

/* --- Requests that wait --- */

/* A long poll holds what was read of its parameters, not the message that they came in. */
RPC_TEST(who_waits_keeps_ids_and_no_message)
{
    static char params[4096];
    char id[15], zeros[700];
    delayed_task(id);
    memset(zeros, '0', sizeof zeros - 1);
    zeros[sizeof zeros - 1] = 0;
    snprintf(params, sizeof params, "['%s', {'timeout': '%ss'}]", id, zeros);
    stage_ask(&peer, 1, "task.wait", params);
    stage_run_ms(net.v.now / AO_MS(1));
    assert_non_null(strstr(stage_said_to(&peer), "1 failed: 'BAD_PARAMS: "));
    snprintf(params, sizeof params, "['%s', {'timeout': '5s'}]", id);
    stage_ask(&peer, 1, "task.wait", params);
    stage_run_ms(net.v.now / AO_MS(1));
    const struct operation *op = stage.jobs->table.last->waits->op;
    assert_null(op->memory.at);
    assert_ptr_equal(op->wait.ids, op->room);
}

/* The job has the parameters: its call does not keep them, too. */
RPC_TEST(a_call_that_waits_gives_up_its_message)
{
    static char params[2048], long_text[700];
    memset(long_text, 'x', sizeof long_text - 1);
    snprintf(params, sizeof params, "['echo', ['%s'], {'delay': '1h'}]", long_text);
    stage_ask(&peer, 1, "task.call", params);
    stage_run_ms(net.v.now / AO_MS(1));
    const struct operation *op = stage.jobs->table.last->waits->op;
    assert_ptr_equal(op->cls, &operation_task_call);
    assert_null(op->memory.at);
    assert_true(stage.jobs->table.last->params_len > 700 - 2);
}

RPC_TEST(what_nobody_takes_is_refused)
{
    static const char *const methods[] = {"server.ping",     "server.info",  "server.methods",
                                          "server.topology", "server.audit", "queue.list",
                                          "cron.list"};
    char wanted[100];
    for (unsigned i = 0; i < sizeof methods / sizeof *methods; i++) {
        snprintf(wanted, sizeof wanted, "1 failed: 'BAD_PARAMS: %s takes [], and was given 2'\n",
                 methods[i]);
        assert_string_equal(stage_answer(methods[i], "[1, {}]"), wanted);
    }
}

/* What waits for its answer is charged to its connection, with the room that the answer may take.
 */
RPC_TEST(operations_under_way_are_charged)
{
    char id[15], params[64];
    delayed_task(id);
    assert_int_equal(stage.conn->outside, 0);
    snprintf(params, sizeof params, "['%s', {'timeout': '5s'}]", id);
    stage_ask(&peer, 1, "task.wait", params);
    stage_ask(&peer, 2, "task.watch", "['t0000000000001']");
    stage_run_ms(net.v.now / AO_MS(1));
    assert_in_range(stage.conn->outside, sizeof(struct operation) + 1024,
                    sizeof(struct operation) + 4096);
    stage_run_ms(net.v.now / AO_MS(1) + 6000);
    assert_non_null(strstr(stage_said_to(&peer), "1: "));
    assert_int_equal(stage.conn->outside, 0);
}
