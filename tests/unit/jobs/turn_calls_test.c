/* Calls of turns: one at a time, and no cycle of turns that wait for each other. */
#include "tests/support/jobs_actors.h"

static void offer_node(struct jobs_world *w)
{
    static const char *const methods[] = {"node.run", "node.read", NULL};
    struct actor_policy policy = usual;
    policy.timeout = AO_S(100000);
    offer(w, "node", &policy, methods);
    w->room[POOL_OF_WORKERS] = 64;
}

static uint64_t begin(struct jobs_world *w, const char *name)
{
    uint64_t id = post(w, &TELL(name, "node.run"));
    assert_true(is_out(w, id));
    return id;
}

/* The turn of this job calls, with a spec that lasts as long as the operation. */
static struct operation *call_with(struct jobs_world *w, uint64_t caller, struct job_spec *spec)
{
    struct operation *op = world_operation(w, &operation_actor_call);
    op->submission.specs = spec;
    op->submission.count = 1;
    op->submission.caller = caller;
    op->submission.caller_attempt = world_run_of(w, caller)->run.turn->attempt;
    world_give(w, op);
    jobs_world_settle(w);
    return op;
}

static void is_refused(struct jobs_world *w, struct operation *op, enum ergon_error error,
                       const char *text)
{
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, error);
    stage_holds(op->reply.text, text);
}

ACTOR_TEST(a_call_to_itself_is_refused)
{
    struct job_spec own = TELL("node/1", "node.run");
    offer_node(w);
    uint64_t a = begin(w, "node/1"), count = w->jobs->table.count;
    is_refused(w, call_with(w, a, &own), ERGON_E_DEADLOCK, "node/1 calls node/1");
    assert_int_equal(w->jobs->table.count, count);
    answer(w, a, "\x01");
}

ACTOR_TEST(a_cycle_is_refused_as_it_is_closed)
{
    struct job_spec to_2 = TELL("node/2", "node.run"), to_3 = TELL("node/3", "node.run"),
                    to_1 = TELL("node/1", "node.run");
    offer_node(w);
    uint64_t a = begin(w, "node/1"), b = begin(w, "node/2"), c = begin(w, "node/3");
    struct operation *first = call_with(w, a, &to_2), *second = call_with(w, b, &to_3);
    assert_false(world_answered(w, first) || world_answered(w, second));
    is_refused(w, call_with(w, c, &to_1), ERGON_E_DEADLOCK,
               "node/3 calls node/1, which calls node/2, which calls node/3");
    answer(w, c, NULL); /* and all go on */
    answer(w, w->jobs->table.last->id, NULL);
    assert_true(world_answered(w, second));
    answer(w, b, NULL);
}

ACTOR_TEST(reads_close_no_cycle)
{
    struct job_spec to_2 = TELL("node/2", "node.run"), back = TELL("node/1", "node.read");
    offer_node(w);
    uint64_t a = begin(w, "node/1"), b = begin(w, "node/2");
    call_with(w, a, &to_2);
    struct operation *op = call_with(w, b, &back);
    uint64_t read = w->jobs->table.last->id;
    assert_true(is_out(w, read));
    struct job_spec again = TELL("node/2", "node.run"); /* but what a read calls does */
    is_refused(w, call_with(w, read, &again), ERGON_E_DEADLOCK,
               "node/1 calls node/2, which calls node/1");
    answer(w, read, NULL);
    assert_true(world_answered(w, op));
}

ACTOR_TEST(a_turn_has_one_call_out_at_a_time)
{
    struct job_spec to_2 = TELL("node/2", "node.run"), to_3 = TELL("node/3", "node.run");
    offer_node(w);
    uint64_t a = begin(w, "node/1");
    struct operation *op = call_with(w, a, &to_2);
    uint64_t called = w->jobs->table.last->id;
    is_refused(w, call_with(w, a, &to_3), ERGON_E_BUSY, "one call out at a time");
    answer(w, called, NULL);
    assert_true(world_answered(w, op));
    assert_false(world_answered(w, call_with(w, a, &to_3)));
}

ACTOR_TEST(turns_wait_for_each_other_64_deep)
{
    enum { DEEP = 64 };
    static struct job_spec specs[DEEP];
    static char names[DEEP + 1][16];
    struct operation *op = NULL;
    offer_node(w);
    uint64_t turn = begin(w, "node/0");
    for (int i = 0; i < DEEP; i++) {
        snprintf(names[i], sizeof names[i], "node/%d", i + 1);
        specs[i] = TELL(names[i], "node.run");
        op = call_with(w, turn, &specs[i]);
        turn = i < DEEP - 1 ? w->jobs->table.last->id : turn;
    }
    is_refused(w, op, ERGON_E_TOO_DEEP, "64 turns wait for this call");
    struct job_spec back = TELL("node/0", "node.run");
    is_refused(w, call_with(w, turn, &back), ERGON_E_DEADLOCK, "node/63 calls node/0");
}

ACTOR_TEST(a_call_has_the_deadline_and_the_trace_of_its_turn)
{
    struct job_spec first = TELL("node/1", "node.run", .deadline = AO_S(50));
    struct job_spec to_2 = TELL("node/2", "node.run"), to_3 = TELL("node/3", "node.run"),
                    to_4 = TELL("node/4", "node.run", .deadline = AO_S(3));
    offer_node(w);
    assert_true(traceparent_parse(
        span_text("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), &first.traceparent));
    uint64_t a = post(w, &first);
    jobs_world_pass(w, AO_S(10));
    struct operation *op = call_with(w, a, &to_2);
    const struct job *called = w->jobs->table.last;
    assert_int_equal(called->deadline, world_job(w, a)->deadline);
    assert_memory_equal(called->more->trace->link.context.trace, first.traceparent.trace,
                        sizeof first.traceparent.trace);
    answer(w, called->id, NULL);
    assert_true(world_answered(w, op));
    call_with(w, a, &to_4);
    assert_true(w->jobs->table.last->deadline < world_job(w, a)->deadline);
    answer(w, w->jobs->table.last->id, NULL);
    uint64_t b = begin(w, "node/5");
    call_with(w, b, &to_3);
    assert_int_equal(w->jobs->table.last->deadline, AO_NEVER);
    assert_null(w->jobs->table.last->more);
}

ACTOR_TEST(an_attempt_that_counts_no_more_calls_nobody)
{
    struct job_spec to_2 = TELL("node/2", "node.run");
    offer_node(w);
    uint64_t a = begin(w, "node/1");
    struct operation *op = world_operation(w, &operation_actor_call);
    op->submission.specs = &to_2;
    op->submission.count = 1;
    op->submission.caller = a;
    op->submission.caller_attempt = world_run_of(w, a)->run.turn->attempt;
    world_lose(world_run_of(w, a), LOSS_IN_COMPANY, "gone");
    jobs_world_settle(w);
    world_give(w, op);
    jobs_world_settle(w);
    is_refused(w, op, ERGON_E_FENCED, "");
}

/* A turn that is tried again makes its call again, which has ended: that waits for nobody. */
ACTOR_TEST(a_call_that_was_answered_closes_no_cycle)
{
    struct job_spec to_2 = TELL("node/2", "node.run"), to_1 = TELL("node/1", "node.run");
    to_2.key = span_text("first");
    offer_node(w);
    uint64_t a = begin(w, "node/1");
    struct operation *first = call_with(w, a, &to_2);
    answer(w, w->jobs->table.last->id, NULL);
    assert_true(world_answered(w, first));
    fail_it(w, a, "LATER");
    uint64_t b = begin(w, "node/2");
    struct operation *other = call_with(w, b, &to_1);
    uint64_t behind = w->jobs->table.last->id;
    jobs_world_pass(w, AO_S(1));
    struct operation *again = call_with(w, a, &to_2);
    assert_true(world_answered(w, again));
    assert_int_equal(again->reply.error, ERGON_OK);
    answer(w, a, "\x01");
    answer(w, behind, "\x02");
    assert_true(world_answered(w, other));
    answer(w, b, NULL);
}

/* The keys of its calls begin with this number of its turn. */
static uint32_t round_of(struct jobs_world *w, uint64_t id)
{
    assert_true(is_out(w, id));
    return world_run_of(w, id)->run.turn->round;
}

ACTOR_TEST(each_step_calls_anew_but_one_that_is_tried_again)
{
    static const char *const methods[] = {"tick.run", "tick.step", NULL};
    offer(w, "tick", &usual, methods);
    answer(w, post(w, &TELL("tick/1", "tick.run")), "\x01");
    uint64_t step = actor_of(w, "tick/1")->more->step->id;
    uint32_t first = round_of(w, step);
    fail_it(w, step, "LATER");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(round_of(w, step), first);
    answer(w, step, "\x02");
    uint32_t second = round_of(w, step);
    assert_int_not_equal(second, first);
    answer(w, step, NULL);
    assert_int_not_equal(round_of(w, step), first);
    assert_int_not_equal(round_of(w, step), second);
}

/* --- Random graphs --- */

enum { NODES = 8, STEPS = 400 };

/* Does the chain of calls from `from` lead to `to`? */
static bool leads(const int *waits, int from, int to)
{
    for (int n = 0; from >= 0 && n <= NODES; n++, from = waits[from])
        if (from == to)
            return true;
    return false;
}

/* Turns that run call at random; the ends of calls and of turns follow at random. */
ACTOR_TEST(no_cycle_waits_and_no_call_without_one_is_refused)
{
    static struct job_spec specs[STEPS];
    static char names[NODES][16];
    uint64_t turns[NODES], calls[NODES];
    int waits[NODES];
    uint64_t random = 12345;
    offer_node(w);
    for (int i = 0; i < NODES; i++) {
        snprintf(names[i], sizeof names[i], "node/%d", i);
        turns[i] = begin(w, names[i]);
        calls[i] = 0;
        waits[i] = -1;
    }
    for (int step = 0; step < STEPS; step++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int from = (int)(random >> 33) % NODES, to = (int)(random >> 43) % NODES;
        if (waits[from] >= 0) { /* its call is given up */
            world_cancel(w, world_job(w, calls[from]));
            jobs_world_settle(w);
            waits[from] = -1;
            continue;
        }
        bool cycle = leads(waits, to, from);
        specs[step] = TELL(names[to], "node.run");
        struct operation *op = call_with(w, turns[from], &specs[step]);
        assert_int_equal(world_answered(w, op), cycle);
        if (cycle)
            assert_int_equal(op->reply.error, ERGON_E_DEADLOCK);
        else {
            calls[from] = w->jobs->table.last->id;
            waits[from] = to;
        }
    }
}
