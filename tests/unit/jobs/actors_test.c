/* Actors: one message at a time, in order of arrival; states that turns change; steps, sleep, stop;
 * and what a message that may not be is answered. */
#include <stdio.h>
#include <string.h>

#include "proto/job_options.h"
#include "proto/reader.h"
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/mailboxes.h"
#include "server/jobs/actors/steps.h"
#include "server/jobs/effects.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_actors.h"

static void offer_usual(struct jobs_world *w)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    static const char *const steps[] = {"tick.add", "tick.step", NULL};
    offer(w, "cart", &usual, methods);
    offer(w, "tick", &usual, steps);
}

static uint64_t tell(struct jobs_world *w, const char *to)
{
    return post(w, &TELL(to, "cart.add"));
}

ACTOR_TEST(messages_run_one_at_a_time_in_order)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1"), c = tell(w, "cart/1");
    uint64_t other = tell(w, "cart/2");
    assert_true(is_out(w, a) && is_out(w, other));
    is_waiting(w, b, JOB_WHY_ACTOR);
    is_waiting(w, c, JOB_WHY_ACTOR);
    answer(w, a, "\x01");
    assert_true(is_out(w, b) && !is_out(w, c));
    answer(w, b, NULL);
    answer(w, c, "\x03");
    has_state(w, "cart/1", "\x03", 2);
    assert_int_equal(actor_stage(actor_of(w, "cart/1")), ACTOR_SLEEPING);
    assert_int_equal(actor_stage(actor_of(w, "cart/2")), ACTOR_ACTIVE);
}

ACTOR_TEST(a_turn_has_the_state_of_the_one_before)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    const struct attempt_turn *turn = world_run_of(w, a)->run.turn;
    assert_true(span_is(turn->actor, "cart/1"));
    assert_int_equal(turn->state.len, 0);
    assert_int_equal(turn->version, 0);
    answer(w, a, "\x07");
    turn = world_run_of(w, b)->run.turn;
    assert_true(span_is(turn->state, "\x07"));
    assert_int_equal(turn->version, 1);
    assert_int_equal(turn->schema, 1);
    assert_null(turn_drop_state(world_run_of(w, b)->run.turn));
    answer(w, b, NULL);
    has_state(w, "cart/1", NULL, 2);
}

ACTOR_TEST(a_turn_that_fails_changes_nothing_and_a_retry_keeps_its_place)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    assert_null(turn_set_state(world_run_of(w, a)->run.turn, span_text("\x09"), 1));
    fail_it(w, a, "FAILED");
    assert_int_equal(world_state(w, a), JOB_DELAYED);
    is_waiting(w, b, JOB_WHY_ACTOR);
    jobs_world_pass(w, AO_S(1));
    assert_true(is_out(w, a) && !is_out(w, b));
    assert_int_equal(world_run_of(w, a)->run.turn->state.len, 0);
    world_again(world_run_of(w, a), AO_S(5));
    jobs_world_pass(w, AO_S(4));
    is_waiting(w, b, JOB_WHY_ACTOR);
    jobs_world_pass(w, AO_S(1));
    fail_it(w, a, "PERMANENT"); /* given up: the next goes on */
    assert_true(is_out(w, b));
    answer(w, b, "\x01");
    has_state(w, "cart/1", "\x01", 1);
}

static void run_now(struct jobs_world *w, uint64_t id)
{
    struct operation *op = world_operation(w, &operation_task_run_now);
    op->change.id = id;
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_OK);
}

/* One that was given up joins at the end; the others keep their places. */
ACTOR_TEST(people_end_a_wait_and_try_again_and_move_no_other)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1"), c = tell(w, "cart/1");
    fail_it(w, a, "PERMANENT");
    assert_int_equal(world_state(w, a), JOB_FAILED);
    assert_true(is_out(w, b));
    assert_true(world_retry(w, world_job(w, a)));
    is_waiting(w, a, JOB_WHY_ACTOR);
    uint64_t d = tell(w, "cart/1");
    fail_it(w, b, "FAILED");
    assert_int_equal(world_state(w, b), JOB_DELAYED);
    run_now(w, b);
    jobs_world_settle(w);
    assert_true(is_out(w, b));
    uint64_t later = post(w, &TELL("cart/1", "cart.add", .delay = AO_S(60)));
    run_now(w, later);
    is_waiting(w, later, JOB_WHY_ACTOR);
    uint64_t order[] = {b, c, a, d, later};
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        answer(w, order[i], NULL);
    assert_null(actor_of(w, "cart/1"));
}

ACTOR_TEST(an_attempt_that_is_late_holds_its_actor_and_changes_nothing)
{
    offer_usual(w);
    uint64_t a = post(w, &TELL("cart/1", "cart.add", .timeout = AO_S(1), .retries = 0,
                               .said = 1u << JOB_OPTION_timeout | 1u << JOB_OPTION_retries));
    uint64_t b = tell(w, "cart/1");
    struct world_run *late = world_run_of(w, a);
    w->stubborn = true;
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, a), JOB_FAILED);
    is_waiting(w, b, JOB_WHY_OVERRUN);
    assert_int_equal(actor_stage(actor_of(w, "cart/1")), ACTOR_ACTIVE);
    assert_null(turn_set_state(late->run.turn, span_text("\x09"), 1));
    world_finish(late, "\xc0");
    jobs_world_settle(w);
    assert_true(is_out(w, b));
    has_state(w, "cart/1", NULL, 0);
    answer(w, b, "\x01");
}

ACTOR_TEST(a_retry_waits_for_its_own_late_attempt)
{
    offer_usual(w);
    uint64_t a =
        post(w, &TELL("cart/1", "cart.add", .timeout = AO_S(1), .said = 1u << JOB_OPTION_timeout));
    struct world_run *late = world_run_of(w, a);
    w->stubborn = true;
    jobs_world_pass(w, AO_S(3));
    is_waiting(w, a, JOB_WHY_OVERRUN);
    world_finish(late, "\xc0");
    jobs_world_settle(w);
    assert_true(is_out(w, a));
    assert_int_equal(world_run_of(w, a)->run.attempt, 2);
    answer(w, a, "\x02");
    has_state(w, "cart/1", "\x02", 1);
}

ACTOR_TEST(one_that_is_cancelled_leaves_its_place)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1"), c = tell(w, "cart/1");
    assert_true(world_cancel(w, world_job(w, b)));
    is_waiting(w, c, JOB_WHY_ACTOR);
    assert_true(world_cancel(w, world_job(w, a))); /* its handler obeys */
    jobs_world_settle(w);
    if (world_run_of(w, a))
        world_finish(world_run_of(w, a), "\xc0");
    jobs_world_settle(w);
    assert_true(is_out(w, c));
    answer(w, c, "\x01");
    has_state(w, "cart/1", "\x01", 1);
}

ACTOR_TEST(a_lost_worker_changes_nothing)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    assert_null(turn_set_state(world_run_of(w, a)->run.turn, span_text("\x09"), 1));
    world_lose(world_run_of(w, a), LOSS_IN_COMPANY, "gone");
    jobs_world_pass(w, AO_S(2));
    assert_true(is_out(w, a) && !is_out(w, b));
    answer(w, a, NULL);
    answer(w, b, NULL);
    has_state(w, "cart/1", NULL, 0);
}

ACTOR_TEST(one_that_is_withdrawn_keeps_its_place)
{
    offer_usual(w);
    w->holds = true;
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    jobs_world_pass(w, AO_MS(5)); /* it did not begin, and was given again */
    is_waiting(w, b, JOB_WHY_ACTOR);
    w->holds = false;
    world_begin(world_run_of(w, a));
    answer(w, a, "\x01");
    answer(w, b, "\x02");
    has_state(w, "cart/1", "\x02", 2);
}

ACTOR_TEST(one_that_reads_goes_through_no_mailbox)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1");
    answer(w, a, "\x05");
    uint64_t b = tell(w, "cart/1"), reads = post(w, &TELL("cart/1", "cart.read"));
    assert_true(is_out(w, b) && is_out(w, reads));
    struct attempt_turn *turn = world_run_of(w, reads)->run.turn;
    assert_true(turn->reads && span_is(turn->state, "\x05"));
    answer(w, reads, NULL);
    answer(w, b, "\x06");
    has_state(w, "cart/1", "\x06", 2);
}

/* --- Stop, start, drop --- */

static bool stop(struct jobs_world *w, const char *name)
{
    bool stopped = actor_stop(actor_of(w, name), span_text("why not"));
    effects_apply(w->jobs);
    jobs_world_settle(w);
    return stopped;
}

static void start(struct jobs_world *w, const char *name)
{
    actor_start(actor_of(w, name));
    effects_apply(w->jobs);
    jobs_world_settle(w);
}

ACTOR_TEST(a_stopped_actor_keeps_messages_and_refuses_calls)
{
    char text[JOB_TEXT_MAX];
    struct submitted done;
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    uint64_t call = post(w, &TELL("cart/1", "cart.add", .answers = true, .calls = true));
    struct operation *waits = world_operation(w, &operation_actor_call);
    struct job_spec spec = TELL("cart/1", "cart.add", .answers = true, .calls = true);
    waits->submission.specs = &spec;
    waits->submission.count = 1;
    waits->submission.caller = 0;
    world_give(w, waits);
    assert_true(stop(w, "cart/1"));
    assert_true(world_answered(w, waits));
    assert_int_equal(waits->reply.error, ERGON_E_STOPPED);
    assert_string_equal(waits->reply.text, "cart/1 is stopped: why not");
    assert_true(is_out(w, a)); /* it goes on */
    is_waiting(w, b, JOB_WHY_ACTOR);
    assert_null(world_job(w, call)); /* nobody keeps it */
    answer(w, a, "\x01");
    is_waiting(w, b, JOB_WHY_STOPPED);
    assert_int_equal(actor_stage(actor_of(w, "cart/1")), ACTOR_STOPPED);
    assert_int_equal(world_submit(w, &TELL("cart/1", "cart.add", .answers = true, .calls = true),
                                  &done, text, sizeof text),
                     ERGON_E_STOPPED);
    assert_string_equal(text, "cart/1 is stopped: why not");
    assert_int_equal(world_submit(w, &TELL("cart/1", "cart.read"), &done, text, sizeof text),
                     ERGON_E_STOPPED);
    uint64_t c = tell(w, "cart/1");
    is_waiting(w, c, JOB_WHY_ACTOR);
    start(w, "cart/1");
    assert_true(is_out(w, b) && !is_out(w, c));
    answer(w, b, NULL);
    answer(w, c, NULL);
}

ACTOR_TEST(one_that_is_queued_waits_for_the_start)
{
    offer_usual(w);
    w->room[POOL_OF_WORKERS] = 0;
    uint64_t a = tell(w, "cart/1");
    assert_int_equal(world_state(w, a), JOB_QUEUED);
    stop(w, "cart/1");
    is_waiting(w, a, JOB_WHY_STOPPED);
    w->room[POOL_OF_WORKERS] = 4;
    start(w, "cart/1");
    assert_true(is_out(w, a));
    answer(w, a, NULL);
}

ACTOR_TEST(a_turn_stops_its_actor)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1"), b = tell(w, "cart/1");
    assert_null(turn_stop(world_run_of(w, a)->run.turn, span_text("sold out")));
    answer(w, a, "\x01");
    has_state(w, "cart/1", "\x01", 1);
    is_waiting(w, b, JOB_WHY_STOPPED);
    assert_string_equal(actor_of(w, "cart/1")->more->stopped, "sold out");
}

ACTOR_TEST(a_dropped_actor_is_as_if_it_had_never_been)
{
    offer_usual(w);
    uint64_t a = tell(w, "cart/1");
    answer(w, a, "\x01");
    a = tell(w, "cart/1");
    uint64_t b = tell(w, "cart/1");
    struct world_run *fenced = world_run_of(w, a);
    w->stubborn = true;
    actor_drop(actor_of(w, "cart/1"));
    effects_apply(w->jobs);
    assert_int_equal(world_state(w, a), JOB_CANCELLED);
    assert_int_equal(world_state(w, b), JOB_CANCELLED);
    uint64_t c = tell(w, "cart/1");
    is_waiting(w, c, JOB_WHY_OVERRUN);
    assert_null(turn_set_state(fenced->run.turn, span_text("\x09"), 1));
    world_finish(fenced, "\xc0");
    jobs_world_settle(w);
    assert_int_equal(world_run_of(w, c)->run.turn->state.len, 0);
    answer(w, c, "\x02");
    has_state(w, "cart/1", "\x02", 1);
}

/* --- What is refused --- */

static void refuses(struct jobs_world *w, struct job_spec spec, enum ergon_error error,
                    const char *wanted)
{
    char text[JOB_TEXT_MAX] = "";
    struct submitted done;
    uint64_t count = w->jobs->table.count;
    assert_int_equal(world_submit(w, &spec, &done, text, sizeof text), error);
    stage_holds(text, wanted);
    assert_int_equal(w->jobs->table.count, count);
}

ACTOR_TEST(what_is_no_message_is_refused)
{
    static char longest[ACTOR_NAME_MAX + 2] = "cart/";
    offer_usual(w);
    memset(longest + 5, 'x', ACTOR_NAME_MAX - 4);
    refuses(w, TELL("cart", "cart.add"), ERGON_E_BAD_PARAMS, "TYPE/KEY");
    refuses(w, TELL("cart/", "cart.add"), ERGON_E_BAD_PARAMS, "TYPE/KEY");
    refuses(w, TELL("/42", "cart.add"), ERGON_E_BAD_PARAMS, "TYPE/KEY");
    refuses(w, TELL("cart/\xff", "cart.add"), ERGON_E_BAD_PARAMS, "TYPE/KEY");
    refuses(w, TELL(longest, "cart.add"), ERGON_E_BAD_PARAMS, "TYPE/KEY");
    refuses(w, TELL("order/7", "cart.add"), ERGON_E_BAD_PARAMS, "not of \"order/7\"");
    refuses(w, TELL("cart/1", "work"), ERGON_E_BAD_PARAMS, "no method of an actor");
    refuses(w, TELL("cart/1", "cart.gone"), ERGON_E_NO_METHOD, "cart.gone");
    refuses(w, TELL("tick/1", "tick.step"), ERGON_E_BAD_PARAMS, "nobody sends");
    refuses(w, world_spec("cart.add"), ERGON_E_BAD_PARAMS, "is a method of actors");
    assert_int_equal(w->jobs->actors->by_name.count, 0);
}

ACTOR_TEST(a_mailbox_has_bounds)
{
    static const char *const methods[] = {"box.add", NULL};
    struct actor_policy policy = usual;
    policy.messages = 3;
    policy.mailbox = 10;
    offer(w, "box", &policy, methods);
    post(w, &TELL("box/1", "box.add"));
    post(w, &TELL("box/1", "box.add"));
    uint64_t last = post(w, &TELL("box/1", "box.add"));
    refuses(w, TELL("box/1", "box.add"), ERGON_E_BUSY, "has 3 messages");
    assert_true(world_cancel(w, world_job(w, last)));
    struct job_spec large = TELL("box/1", "box.add");
    large.params = span_text("\x91\xa7 a half");
    refuses(w, large, ERGON_E_BUSY, "bytes");
    post(w, &TELL("box/1", "box.add"));
    large.actor = span_text("box/2");
    post(w, &large);
    large.params = span_text("\x91\xa9 thousand"); /* it never fits, also where nothing waits */
    large.actor = span_text("box/3");
    refuses(w, large, ERGON_E_TOO_LARGE, "has 11 bytes, and the mailbox of \"box/3\" holds 10");
    large.delay = AO_S(1);
    refuses(w, large, ERGON_E_TOO_LARGE, "offer the type with a larger `mailbox`");
    assert_null(actor_of(w, "box/3"));
}

ACTOR_TEST(keys_count_within_an_actor)
{
    offer_usual(w);
    uint64_t a = post(w, &TELL("cart/1", "cart.add", .key = span_text("k")));
    assert_int_equal(post(w, &TELL("cart/1", "cart.add", .key = span_text("k"))), a);
    uint64_t b = post(w, &TELL("cart/2", "cart.add", .key = span_text("k")));
    uint64_t plain = post(w, &WORK(.key = span_text("k")));
    assert_true(a != b && b != plain && a != plain);
    answer(w, a, "\x01");
    assert_int_equal(post(w, &TELL("cart/1", "cart.add", .key = span_text("k"))), a);
    has_state(w, "cart/1", "\x01", 1);
}

ACTOR_TEST(a_step_goes_on_behind_what_came_meanwhile)
{
    offer_usual(w);
    w->room[POOL_OF_WORKERS] = 1;
    uint64_t add = post(w, &TELL("tick/1", "tick.add"));
    answer(w, add, NULL);
    const struct job *step = actor_of(w, "tick/1")->more->step;
    assert_non_null(step);
    assert_true(is_out(w, step->id));
    uint64_t later = post(w, &TELL("cart/1", "cart.add", .priority = 0));
    assert_true(step->id < later && !is_out(w, later));
    answer(w, step->id, NULL);
    assert_true(is_out(w, later) && !is_out(w, step->id)); /* by their arrival, not by their ids */
    uint64_t last = post(w, &TELL("cart/2", "cart.add", .priority = 0));
    answer(w, later, NULL);
    assert_true(is_out(w, step->id) && !is_out(w, last));
    answer(w, step->id, NULL);
    assert_true(is_out(w, last) && !is_out(w, step->id));
}

/* --- Time --- */

ACTOR_TEST(a_message_with_a_time_joins_when_it_is_due)
{
    offer_usual(w);
    uint64_t later = post(w, &TELL("cart/1", "cart.add", .delay = AO_S(5)));
    uint64_t a = tell(w, "cart/1");
    assert_true(is_out(w, a));
    jobs_world_pass(w, AO_S(6));
    is_waiting(w, later, JOB_WHY_ACTOR);
    answer(w, a, NULL);
    assert_true(is_out(w, later));
    answer(w, later, NULL);
}

ACTOR_TEST(an_idle_actor_goes)
{
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    answer(w, tell(w, "cart/2"), "\x01");
    answer(w, tell(w, "cart/none"), NULL); /* it never had a state: nothing is left of it */
    jobs_world_pass(w, AO_S(1));
    assert_null(actor_of(w, "cart/none"));
    stop(w, "cart/2");
    jobs_world_pass(w, AO_S(200));
    answer(w, tell(w, "cart/1"), NULL); /* it is used */
    jobs_world_pass(w, AO_S(200));
    has_state(w, "cart/1", "\x01", 1);
    jobs_world_pass(w, AO_S(200));
    assert_null(actor_of(w, "cart/1"));
    has_state(w, "cart/2", "\x01", 1);
    assert_int_not_equal(counter_read(&w->jobs->actors->shown.bytes), 0);
    start(w, "cart/2");
    jobs_world_pass(w, AO_S(400));
    assert_null(actor_of(w, "cart/2"));
    assert_int_equal(counter_read(&w->jobs->actors->shown.bytes), 0);
    assert_int_equal(w->jobs->table.open_bytes, 0);
}

/* --- Steps --- */

static uint64_t step_of(struct jobs_world *w, const char *name)
{
    struct actor *a = actor_of(w, name);
    return a && a->more && a->more->step ? a->more->step->id : 0;
}

static struct attempt_turn *turn_of(struct jobs_world *w, uint64_t id)
{
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    return r->run.turn;
}

ACTOR_TEST(an_active_actor_is_stepped_again_and_again)
{
    offer_usual(w);
    uint64_t a = post(w, &TELL("tick/1", "tick.add"));
    uint64_t step = step_of(w, "tick/1");
    is_waiting(w, step, JOB_WHY_ACTOR);
    answer(w, a, "\x01");
    for (unsigned i = 2; i < 9; i++) {
        assert_true(is_out(w, step));
        assert_int_equal(turn_of(w, step)->version, i - 1);
        answer(w, step, "\x02");
    }
    uint64_t b = post(w, &TELL("tick/1", "tick.add"));
    assert_true(is_out(w, step) && !is_out(w, b));
    answer(w, step, NULL); /* it goes to the end */
    assert_true(is_out(w, b));
    is_waiting(w, step, JOB_WHY_ACTOR);
    answer(w, b, NULL);
    assert_true(is_out(w, step));
    assert_int_equal(history_next(world_job(w, step)), 2); /* nothing is noted of it */
}

ACTOR_TEST(a_step_sleeps_for_a_time_and_until_it_is_woken)
{
    offer_usual(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = step_of(w, "tick/1");
    assert_null(turn_sleep(turn_of(w, step), AO_S(10)));
    answer(w, step, NULL);
    assert_int_equal(world_state(w, step), JOB_DELAYED);
    assert_int_equal(world_reason(w, step), JOB_WHY_SLEEP);
    assert_int_equal(actor_stage(actor_of(w, "tick/1")), ACTOR_SLEEPING);
    jobs_world_pass(w, AO_S(9));
    answer(w, post(w, &TELL("tick/1", "tick.add")), NULL); /* a message is taken asleep, too */
    assert_false(is_out(w, step));
    jobs_world_pass(w, AO_S(1));
    assert_null(turn_sleep(turn_of(w, step), AO_NEVER));
    answer(w, step, NULL);
    jobs_world_pass(w, AO_S(86400));
    assert_false(is_out(w, step)); /* nor is it idle */
    assert_int_equal(actor_next(actor_of(w, "tick/1")), AO_NEVER);
    assert_true(actor_wake(actor_of(w, "tick/1")));
    effects_apply(w->jobs);
    jobs_world_settle(w);
    assert_true(is_out(w, step));
    assert_false(actor_wake(actor_of(w, "tick/1")));
    answer(w, step, NULL);
}

ACTOR_TEST(a_message_wakes_or_puts_to_sleep)
{
    offer_usual(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = step_of(w, "tick/1");
    assert_null(turn_sleep(turn_of(w, step), AO_NEVER));
    answer(w, step, NULL);
    uint64_t a = post(w, &TELL("tick/1", "tick.add"));
    assert_null(turn_sleep(turn_of(w, a), AO_S(3)));
    answer(w, a, NULL);
    jobs_world_pass(w, AO_S(2));
    assert_false(is_out(w, step));
    jobs_world_pass(w, AO_S(1));
    assert_null(turn_sleep(turn_of(w, step), AO_NEVER));
    answer(w, step, NULL);
    a = post(w, &TELL("tick/1", "tick.add"));
    assert_null(turn_wake(turn_of(w, a)));
    answer(w, a, NULL);
    assert_true(is_out(w, step));
}

ACTOR_TEST(the_first_message_lets_the_first_step_wait)
{
    offer_usual(w);
    uint64_t a = post(w, &TELL("tick/1", "tick.add"));
    assert_null(turn_sleep(turn_of(w, a), AO_S(3)));
    answer(w, a, "\x01");
    uint64_t step = step_of(w, "tick/1");
    assert_int_equal(world_state(w, step), JOB_DELAYED);
    jobs_world_pass(w, AO_S(2));
    assert_false(is_out(w, step));
    jobs_world_pass(w, AO_S(1));
    assert_true(is_out(w, step));
    answer(w, step, NULL);
}

ACTOR_TEST(a_stopped_actor_is_not_stepped)
{
    offer_usual(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = step_of(w, "tick/1");
    assert_true(is_out(w, step));
    stop(w, "tick/1");
    answer(w, step, "\x05");
    has_state(w, "tick/1", "\x05", 2);
    assert_int_equal(step_of(w, "tick/1"), 0);
    start(w, "tick/1");
    step = step_of(w, "tick/1");
    assert_true(is_out(w, step));
    assert_null(turn_sleep(turn_of(w, step), AO_NEVER));
    answer(w, step, NULL);
    stop(w, "tick/1"); /* asleep */
    assert_int_equal(step_of(w, "tick/1"), 0);
    start(w, "tick/1");
    step = step_of(w, "tick/1");
    assert_true(world_cancel(w, world_job(w, step))); /* by hand: that stops it */
    if (world_run_of(w, step))
        world_finish(world_run_of(w, step), "\xc0");
    jobs_world_settle(w);
    assert_int_equal(actor_stage(actor_of(w, "tick/1")), ACTOR_STOPPED);
}

ACTOR_TEST(a_step_that_fails_is_tried_again_and_then_given_time)
{
    offer_usual(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = step_of(w, "tick/1");
    for (unsigned i = 0; i < 4; i++) {
        assert_true(is_out(w, step));
        fail_it(w, step, "FAILED");
        if (i < 3)
            jobs_world_pass(w, AO_S(5));
    }
    assert_int_equal(world_state(w, step), JOB_DEAD);
    assert_int_equal(actor_stage(actor_of(w, "tick/1")), ACTOR_SLEEPING);
    uint64_t next = step_of(w, "tick/1");
    assert_true(next != 0 && next != step);
    jobs_world_pass(w, AO_S(9));
    assert_false(is_out(w, next));
    jobs_world_pass(w, AO_S(2));
    assert_true(is_out(w, next));
    world_retry(w, world_job(w, step)); /* it has another one */
    assert_int_equal(world_state(w, step), JOB_CANCELLED);
    answer(w, next, NULL);
}

ACTOR_TEST(a_step_whose_numbers_end_is_followed_by_another)
{
    offer_usual(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = step_of(w, "tick/1");
    world_job(w, step);
    w->jobs->table.last->attempt = STEP_ATTEMPTS;
    world_run_of(w, step)->run.attempt = STEP_ATTEMPTS;
    answer(w, step, "\x02");
    uint64_t next = step_of(w, "tick/1");
    assert_true(next != step && is_out(w, next));
    has_state(w, "tick/1", "\x02", 2);
}

/* --- What is shown --- */

static struct operation *about(struct jobs_world *w, const struct operation_class *cls,
                               const char *name)
{
    struct operation *op = world_operation(w, cls);
    op->actor.name = span_text(name);
    op->actor.with_state = true;
    world_give(w, op);
    return op;
}

ACTOR_TEST(an_actor_is_shown)
{
    offer_usual(w);
    assert_int_equal(about(w, &operation_actor_get, "cart/1")->reply.error, ERGON_E_NOT_FOUND);
    answer(w, tell(w, "cart/1"), "\x05");
    stage_says(about(w, &operation_actor_get, "cart/1"), "'stage': 'sleeping'");
    stage_says(about(w, &operation_actor_get, "cart/1"), "'state': 5");
    uint64_t a = tell(w, "cart/1");
    tell(w, "cart/1");
    stage_says(about(w, &operation_actor_get, "cart/1"), "'method': 'cart.add', 'attempt': 1");
    stage_says(about(w, &operation_actor_get, "cart/1"), "'waiting': 1");
    stage_says(about(w, &operation_actor_explain, "cart/1"), "1 messages wait behind it");
    stage_says(about(w, &operation_actor_stop, "cart/1"), "'stage': 'stopped'");
    stage_says(about(w, &operation_actor_explain, "cart/1"), "is stopped: by actor.stop");
    answer(w, a, NULL);
    stage_says(about(w, &operation_actor_start, "cart/1"), "'stage': 'active'");
    stage_says(about(w, &operation_actor_drop, "cart/1"), "stage");
}

static struct operation *list(struct jobs_world *w, uint32_t max, struct span cursor)
{
    struct operation *op = world_operation(w, &operation_actor_list);
    op->actors.max = max;
    op->actors.stage = -1;
    op->actors.cursor = cursor;
    world_give(w, op);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return op;
}

ACTOR_TEST(all_are_listed_once_by_name)
{
    enum { COUNT = 25, PAGE = 10 };
    struct span cursor = {0};
    uint32_t seen = 0;
    char name[32];
    offer_usual(w);
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "cart/%u", i * 7 % COUNT + 100);
        answer(w, tell(w, name), "\x01");
    }
    do {
        struct operation *op = list(w, PAGE, cursor);
        struct reader r = reader_of(operation_result(op));
        struct span key, value;
        uint32_t pairs, count = 0;
        assert_true(read_map(&r, &pairs) && read_text(&r, &key) && read_array(&r, &count));
        for (uint32_t i = 0; i < count; i++, seen++) {
            struct reader one;
            assert_true(read_any(&r, &value));
            one = reader_of(value);
            assert_true(read_map(&one, &pairs) && read_text(&one, &key) && read_text(&one, &key));
            snprintf(name, sizeof name, "cart/%u", seen + 100);
            assert_true(span_is(key, name));
        }
        cursor = (struct span){0};
        assert_true(read_text(&r, &key));
        if (!read_nil(&r))
            assert_true(read_text(&r, &cursor));
    } while (cursor.len > 0);
    assert_int_equal(seen, COUNT);
}

ACTOR_TEST(types_are_counted)
{
    struct operation *op = world_operation(w, &operation_actor_types);
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    tell(w, "cart/2");
    stop(w, "cart/1");
    world_give(w, op);
    stage_says(op, "'type': 'cart', 'durable': 'none', 'schema': 1, 'steps': false, "
                   "'pipeline': false, 'actors': 2, 'active': 1, 'stopped': 1, 'failed': 0, "
                   "'messages': 1, 'mailbox': 1000, "
                   "'hosts': true");
}

/* One that fails stops; the next has changes that are refused. */
ACTOR_TEST(turns_and_stages_are_counted_for_others)
{
    static const char *const methods[] = {"box.add", "box.read", NULL};
    struct actor_policy policy = usual;
    struct jobs_info info;
    struct jobs_actor_type_info type;
    policy.on_failure = ACTOR_STOPS;
    policy.retries = 0;
    offer_usual(w);
    offer(w, "box", &policy, methods);
    answer(w, post(w, &TELL("box/1", "box.add")), "\x01");
    answer(w, post(w, &TELL("box/1", "box.read")), NULL);
    fail_it(w, post(w, &TELL("box/1", "box.add")), "FAILED");
    post(w, &TELL("box/1", "box.add"));
    post(w, &TELL("box/2", "box.add"));
    answer(w, tell(w, "cart/1"), "\x01");
    jobs_info(w->jobs, &info);
    assert_int_equal(info.actors.resident, 3);
    assert_int_equal(info.actors.messages, 2);
    assert_int_equal(info.actors.done, 3);
    assert_int_equal(info.actors.failed, 1);
    assert_int_equal(info.actors.bad, 0);
    const struct actor_type *last = jobs_actor_type_info(w->jobs, NULL, &type);
    assert_string_equal(type.name, "box");
    assert_true(type.active == 1 && type.stopped == 1 && type.sleeping == 0);
    last = jobs_actor_type_info(w->jobs, last, &type);
    last = jobs_actor_type_info(w->jobs, last, &type);
    assert_string_equal(type.name, "cart");
    assert_int_equal(type.sleeping, 1);
    assert_null(jobs_actor_type_info(w->jobs, last, &type));
    stage_says(about(w, &operation_actor_types, ""), "'stopped': 1, 'failed': 1, 'messages': 2");
    start(w, "box/1");
    stage_says(about(w, &operation_actor_types, ""), "'stopped': 0, 'failed': 0, 'messages': 2");
    world_offer(w, "box.add", false, "");
    stage_says(about(w, &operation_actor_types, ""), "'messages': 2, 'mailbox': 1000, 'hosts': ");
}

/* --- The feed --- */

/* "actor_stopped cart/1 (sold out)", of all events of actors, one behind the other. */
static const char *feed_of(const struct jobs_world *w)
{
    static char text[1024];
    const struct feed *feed = &w->jobs->table.feed;
    struct feed_event event;
    size_t len = 0;
    for (uint64_t seq = feed_oldest(feed); feed_get(feed, seq, &event); seq++)
        if (feed_kind_is_of_actor(event.kind))
            len += (size_t)snprintf(text + len, sizeof text - len, "%s %.*s (%.*s) ",
                                    feed_kind_name(event.kind), (int)event.actor.len,
                                    (const char *)event.actor.at, (int)event.text.len,
                                    (const char *)event.text.at);
    return text;
}

ACTOR_TEST(the_feed_has_stops_starts_drops_and_changes_of_types)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    struct actor_policy other = usual;
    offer_usual(w);
    answer(w, tell(w, "cart/1"), "\x01");
    assert_true(actor_stop(actor_of(w, "cart/1"), span_text("sold out")));
    assert_true(actor_stop(actor_of(w, "cart/1"), span_text("again"))); /* it is stopped */
    start(w, "cart/1");
    start(w, "cart/1");
    stage_says(about(w, &operation_actor_drop, "cart/1"), "stage");
    offer(w, "cart", &usual, methods); /* as it was */
    other.schema = 2;
    other.idle = AO_S(600);
    offer(w, "cart", &other, methods);
    assert_string_equal(feed_of(w), "actor_stopped cart/1 (sold out) actor_started cart/1 () "
                                    "actor_dropped cart/1 () "
                                    "actor_type_changed cart (schema 1 to 2, idle 5m to 10m) ");
    struct operation *op = world_operation(w, &operation_task_events);
    op->feed = (struct feed_arguments){
        .from_oldest = true, .kinds = feed_kinds_named(span_text("actor_stopped")), .max = 100};
    world_give(w, op);
    jobs_world_pass(w, AO_S(1));
    stage_says(op, "'event': 'actor_stopped', 'id': nil, 'method': nil, 'tenant': nil, 'key': nil, "
                   "'attempt': 0, 'reason': nil, 'text': 'sold out', 'actor': 'cart/1'}");
}

/* --- Tasks from before --- */

ACTOR_TEST(a_task_that_waits_as_its_method_becomes_one_of_actors_fails)
{
    static const char *const methods[] = {"cart.add", NULL};
    struct job_spec spec = world_spec("cart.add");
    spec.keep = AO_S(60);
    world_offer(w, "cart.add", true, "");
    w->room[POOL_OF_WORKERS] = 0;
    uint64_t queued = post(w, &spec), delayed;
    spec.delay = AO_S(10);
    delayed = post(w, &spec);
    offer(w, "cart", &usual, methods);
    world_offer(w, "cart.add", true, ""); /* now there is room */
    jobs_world_settle(w);
    assert_false(is_out(w, queued));
    assert_int_equal(world_state(w, queued), JOB_FAILED);
    const struct job_result *end = world_job(w, queued)->end;
    assert_string_equal(end->code, "BAD_PARAMS");
    stage_holds(end->text,
                "\"cart.add\" is a method of actors: name one, as in {actor: \"cart/KEY\"}");
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(world_state(w, delayed), JOB_FAILED);
}

/* --- Hosts without the step --- */

static void offer_without_step(struct jobs_world *w)
{
    static const char *const methods[] = {"tick.add", NULL};
    offer(w, "tick", &usual, methods);
}

ACTOR_TEST(messages_run_while_nobody_offers_the_step)
{
    offer_usual(w);
    uint64_t a = post(w, &TELL("tick/1", "tick.add")), b = post(w, &TELL("tick/1", "tick.add"));
    uint64_t step = step_of(w, "tick/1");
    world_offer(w, "tick.step", false, "worker w1: gone");
    offer_without_step(w);
    answer(w, a, "\x01");
    answer(w, b, "\x02");
    is_waiting(w, step, JOB_WHY_NO_EXECUTOR);
    assert_int_equal(actor_stage(actor_of(w, "tick/1")), ACTOR_SLEEPING);
    stage_says(about(w, &operation_actor_explain, "tick/1"), "no worker offers \"tick.step\" now");
    answer(w, post(w, &TELL("tick/2", "tick.add")), "\x01"); /* it gets no step meanwhile */
    assert_int_equal(step_of(w, "tick/2"), 0);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x03");
    world_offer(w, "tick.step", true, "");
    jobs_world_settle(w);
    assert_true(is_out(w, step));
    assert_true(is_out(w, step_of(w, "tick/2")));
    answer(w, step, "\x04");
    has_state(w, "tick/1", "\x04", 4);
}

ACTOR_TEST(a_step_that_is_queued_as_its_last_host_leaves_holds_nobody)
{
    offer_usual(w);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x01");
    uint64_t step = step_of(w, "tick/1");
    w->room[POOL_OF_WORKERS] = 0;
    answer(w, step, "\x02");
    assert_int_equal(world_state(w, step), JOB_QUEUED);
    uint64_t a = post(w, &TELL("tick/1", "tick.add"));
    is_waiting(w, a, JOB_WHY_ACTOR);
    world_offer(w, "tick.step", false, "worker w1: gone");
    jobs_world_settle(w);
    is_waiting(w, step, JOB_WHY_NO_EXECUTOR);
    assert_int_equal(world_state(w, a), JOB_QUEUED);
    offer_without_step(w);
    world_offer(w, "tick.add", true, "");
    jobs_world_settle(w);
    struct attempt_turn *turn = turn_of(w, a);
    assert_null(turn_sleep(turn, AO_S(5))); /* it is to come later, whoever offers it */
    answer(w, a, "\x03");
    assert_int_equal(world_state(w, step), JOB_DELAYED);
    world_offer(w, "tick.step", true, "");
    jobs_world_pass(w, AO_S(4));
    assert_false(is_out(w, step));
    jobs_world_pass(w, AO_S(1));
    assert_true(is_out(w, step));
    world_offer(w, "tick.step", false, "worker w1: gone");
    assert_true(is_out(w, step)); /* what runs goes on */
    answer(w, step, NULL);
    is_waiting(w, step, JOB_WHY_NO_EXECUTOR);
}

/* A type has no step any more, and its actors need not stay in memory for one. */
ACTOR_TEST(a_step_that_nobody_offers_is_given_up_without_a_stop)
{
    offer_usual(w);
    uint64_t a = post(w, &TELL("tick/1", "tick.add"));
    uint64_t step = step_of(w, "tick/1");
    world_offer(w, "tick.step", false, "worker w1: gone");
    offer_without_step(w);
    answer(w, a, "\x01");
    is_waiting(w, step, JOB_WHY_NO_EXECUTOR);
    world_cancel(w, world_job(w, step));
    jobs_world_settle(w);
    assert_int_equal(actor_stage(actor_of(w, "tick/1")), ACTOR_SLEEPING);
    assert_null(actor_of(w, "tick/1")->more);
    answer(w, post(w, &TELL("tick/1", "tick.add")), "\x02");
    world_offer(w, "tick.step", true, "");
    jobs_world_settle(w);
    assert_true(is_out(w, step_of(w, "tick/1")));
    answer(w, step_of(w, "tick/1"), NULL);
}
