/* The outcome of a write is open, or the store keeps no actors for a while: callers learn it, and
 * no state is lost.  A turn and a reset of its actor keep their order. */
#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/commits.h"
#include "server/jobs/actors/leftovers.h"
#include "server/jobs/actors/mailboxes.h"
#include "tests/support/jobs_actors.h"

#define KEPT_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true)

static void begin(struct jobs_world *w)
{
    static const char *const carts[] = {"cart.add", NULL};
    const struct actor_policy unsaid = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                        .durable = ACTOR_DURABLE_UNSAID, .idle = AO_S(3600)};
    offer(w, "cart", &unsaid, carts);
    jobs_world_settle(w);
}

static struct operation *call(struct jobs_world *w, struct job_spec *spec)
{
    struct operation *op = world_operation(w, &operation_actor_call);
    op->submission.specs = spec;
    op->submission.count = 1;
    op->submission.caller = 0;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    return op;
}

static void turn(struct jobs_world *w, const char *state)
{
    uint64_t id = jobs_world_submit(w, &TELL("cart/1", "cart.add"));
    jobs_world_pass(w, AO_MS(20));
    answer(w, id, state);
    jobs_world_pass(w, AO_MS(20));
}

static bool has_row(struct jobs_world *w, const char *state)
{
    const struct store_actor *row =
        memory_rows_actor(&w->store->rows, span_text(""), span_text("cart"), span_text("1"));
    return row && span_is(row->state, state);
}

/* --- Another owner may find it written --- */

KEPT_TEST(a_call_whose_commit_may_have_happened_is_unsure)
{
    struct job_spec spec = TELL("cart/1", "cart.add", .calls = true);
    begin(w);
    struct operation *op = call(w, &spec);
    w->store->error = STORE_UNSURE;
    answer(w, w->runs->run.id, "\x02");
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE);
}

KEPT_TEST(a_call_that_may_have_been_kept_is_unsure)
{
    struct job_spec spec = TELL("cart/1", "cart.add", .key = span_text("k"));
    begin(w);
    w->store->error = STORE_UNSURE;
    assert_int_equal(call(w, &spec)->reply.error, ERGON_E_UNSURE);
}

/* --- A database that is away, or whose upgrade is not finished --- */

/* Nobody said that they are in memory alone: their rows stay. */
KEPT_TEST(states_outlive_a_store_that_does_not_keep_them_now)
{
    begin(w);
    turn(w, "\x01");
    assert_true(has_row(w, "\x01"));
    w->store->lacks_actors = true;
    begin(w);
    jobs_world_pass(w, AO_S(1));
    turn(w, "\x02");
    assert_true(has_row(w, "\x01"));
    w->store->lacks_actors = false;
    leftovers_remove_all(w->jobs->actors);
    jobs_world_pass(w, AO_S(1));
    assert_true(has_row(w, "\x01"));
    actor_types_start(w->jobs->actors);
    jobs_world_pass(w, AO_S(1));
    assert_true(has_row(w, "\x02"));
    turn(w, "\x03");
    assert_true(has_row(w, "\x03"));
}

/* The answer of a read was lost with its connection. */
KEPT_TEST(a_state_whose_answer_was_lost_is_read_again)
{
    begin(w);
    turn(w, "\x01");
    jobs_world_crash(w);
    begin(w);
    w->store->lost_reads = 1;
    uint64_t id = jobs_world_submit(w, &TELL("cart/1", "cart.add"));
    jobs_world_pass(w, AO_MS(5));
    assert_true(span_is(world_run_of(w, id)->run.turn->state, "\x01"));
    assert_int_equal(w->jobs->journal.failures, 0);
    answer(w, id, "\x02");
    jobs_world_pass(w, AO_MS(5));
    assert_true(has_row(w, "\x02"));
}

/* Its row is written once it was read: the stop is added to it. */
KEPT_TEST(a_stop_of_an_actor_that_is_not_read_keeps_its_state)
{
    begin(w);
    turn(w, "\x01");
    jobs_world_crash(w);
    begin(w);
    w->store->lost_reads = 2;
    jobs_world_submit(w, &TELL("cart/1", "cart.add"));
    jobs_world_pass(w, AO_MS(20));
    struct actor *a = actor_of(w, "cart/1");
    assert_int_equal(a->residence, ACTOR_UNREAD);
    assert_true(actor_stop(a, span_text("by hand")));
    commits_save(a);
    jobs_world_pass(w, AO_MS(20));
    assert_true(has_row(w, "\x01"));
    jobs_world_pass(w, AO_S(3));
    assert_true(has_row(w, "\x01"));
    const struct store_actor *row =
        memory_rows_actor(&w->store->rows, span_text(""), span_text("cart"), span_text("1"));
    assert_true(span_is(row->stopped, "by hand"));
    assert_false(a->unsaved);
}

/* --- A reset while a turn is out --- */

/* Its changes come behind the reset. */
KEPT_TEST(a_reset_while_a_turn_is_out)
{
    static const char *const states[] = {NULL, "\x05"};
    begin(w);
    for (unsigned n = 0; n < 2; n++) {
        turn(w, "\x01");
        uint64_t version = actor_of(w, "cart/1")->version;
        uint64_t id = jobs_world_submit(w, &TELL("cart/1", "cart.add"));
        jobs_world_pass(w, AO_MS(5));
        struct operation *op = world_operation(w, &operation_actor_start);
        op->actor.name = span_text("cart/1");
        op->actor.reset = true;
        world_give(w, op);
        answer(w, id, states[n]);
        jobs_world_pass(w, AO_MS(20));
        assert_true(world_answered(w, op));
        has_state(w, "cart/1", states[n], version + 1 + (states[n] != NULL));
        assert_int_equal(has_row(w, "\x05"), states[n] != NULL);
    }
}
