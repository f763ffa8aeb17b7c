/* actor.explain, and what is shown of the messages meanwhile: each reason, while the handler runs
 * and after. */
#include <stdio.h>
#include <string.h>

#include "proto/job_options.h"
#include "tests/support/jobs_actors.h"
#include "tests/support/notation.h"

#define KEPT_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true)

static const struct actor_policy durable = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                            .durable = ACTOR_DURABLE_FSYNC};

static const char *shown(struct jobs_world *w, struct operation *op)
{
    static char text[4096];
    world_give(w, op);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return notation_show(operation_result(op), text, sizeof text);
}

static void act(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->actor.name = span_text("cart/1");
    op->actor.reason = span_text("sold out");
    shown(w, op);
}

/* The actor's reason, and a part of its text. */
static void says(struct jobs_world *w, const char *reason, const char *part)
{
    struct operation *op = world_operation(w, &operation_actor_explain);
    char pair[64];
    op->actor.name = span_text("cart/1");
    const char *text = shown(w, op);
    snprintf(pair, sizeof pair, "'reason': '%s'", reason);
    stage_holds(text, pair);
    stage_holds(text, part);
}

/* The message's, of all that show it. */
static void waits(struct jobs_world *w, uint64_t id, const char *reason)
{
    char pair[64];
    snprintf(pair, sizeof pair, "'reason': '%s'", reason);
    stage_holds(shown(w, world_about(w, &operation_task_get, id)), pair);
    stage_holds(shown(w, world_about(w, &operation_task_explain, id)), pair);
}

static void begin(struct jobs_world *w)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    offer(w, "cart", w->store ? &durable : &usual, methods);
}

static uint64_t tell(struct jobs_world *w)
{
    uint64_t id = jobs_world_submit(w, &TELL("cart/1", "cart.add"));
    jobs_world_pass(w, AO_MS(5));
    return id;
}

ACTOR_TEST(behind_the_head_it_is_actor)
{
    begin(w);
    uint64_t a = tell(w), b = tell(w);
    says(w, "running", "cart/1 is active: cart.add (");
    says(w, "running", "its handler runs; 1 messages wait behind it");
    waits(w, a, "running");
    waits(w, b, "actor");
    answer(w, a, "\x01");
    waits(w, b, "running");
    answer(w, b, NULL);
    says(w, "sleep", "cart/1 sleeps until a message comes");
}

ACTOR_TEST(without_a_host_it_is_no_executor)
{
    begin(w);
    answer(w, tell(w), "\x01");
    world_offer(w, "cart.add", false, "w1 was killed");
    uint64_t a = tell(w), b = tell(w);
    says(w, "no_executor", "no worker offers \"cart.add\" now; the last one left");
    waits(w, a, "no_executor");
    waits(w, b, "actor");
    world_offer(w, "cart.add", true, "");
    jobs_world_settle(w);
    says(w, "running", "its handler runs");
}

ACTOR_TEST(all_that_wait_at_a_stopped_one_are_stopped)
{
    begin(w);
    uint64_t a = tell(w), b = tell(w), c = tell(w);
    act(w, &operation_actor_stop);
    says(w, "stopped", "cart/1 is stopped: sold out; 2 messages wait.  To go on: actor.start");
    waits(w, a, "running");
    waits(w, b, "stopped");
    waits(w, c, "stopped");
    answer(w, a, "\x01");
    waits(w, b, "stopped");
    waits(w, c, "stopped");
    uint64_t d = tell(w);
    waits(w, d, "stopped");
    act(w, &operation_actor_start);
    waits(w, b, "running");
    waits(w, c, "actor");
    waits(w, d, "actor");
}

ACTOR_TEST(until_a_late_handler_returns_it_is_overrun)
{
    begin(w);
    uint64_t a = post(w, &TELL("cart/1", "cart.add", .timeout = AO_S(1), .retries = 0,
                               .said = 1u << JOB_OPTION_timeout | 1u << JOB_OPTION_retries));
    struct world_run *late = world_run_of(w, a);
    w->stubborn = true;
    jobs_world_pass(w, AO_S(2));
    says(w, "overrun", "an attempt that was given up has not returned");
    uint64_t b = tell(w);
    says(w, "overrun", "holds its actor until it has returned; 0 messages wait behind it");
    waits(w, b, "overrun");
    world_finish(late, "\xc0");
    jobs_world_settle(w);
    says(w, "running", "its handler runs");
    waits(w, b, "running");
}

KEPT_TEST(while_its_state_is_read_it_is_loading)
{
    begin(w);
    answer(w, tell(w), "\x01");
    jobs_world_pass(w, durable.idle + AO_S(1));
    assert_null(actor_of(w, "cart/1"));
    w->store->error = STORE_IO;
    uint64_t a = jobs_world_submit(w, &TELL("cart/1", "cart.add"));
    jobs_world_settle(w);
    waits(w, a, "loading");
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    waits(w, a, "running");
}

KEPT_TEST(until_its_effect_is_on_disk_it_is_commit)
{
    begin(w);
    uint64_t a = tell(w), b = tell(w);
    waits(w, a, "running");
    answer(w, a, "\x01");
    says(w, "commit", "its end is being written to disk; 1 messages wait behind it");
    waits(w, a, "commit");
    waits(w, b, "actor");
    jobs_world_pass(w, AO_MS(5));
    waits(w, b, "running");
}

KEPT_TEST(while_the_disk_fails_it_is_store)
{
    begin(w);
    uint64_t a = tell(w), b = tell(w);
    w->store->error = STORE_FULL;
    answer(w, a, "\x01");
    jobs_world_pass(w, AO_MS(5));
    says(w, "store", "make room");
    waits(w, a, "store");
    waits(w, b, "actor");
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    waits(w, b, "running");
}

ACTOR_TEST(one_that_is_not_there_says_why)
{
    begin(w);
    for (unsigned n = 0; n < 2; n++) {
        struct operation *op = world_operation(w, &operation_actor_explain);
        op->actor.name = span_text("cart/1");
        world_give(w, op);
        assert_int_equal(op->reply.error, ERGON_E_NOT_FOUND);
        stage_holds(op->reply.text, "it has neither a state nor a message");
        answer(w, tell(w), NULL); /* a turn that sets no state leaves none */
    }
}
