/* Calls of turns: one at a time, and no cycle of turns that wait for each other. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/jobs_actors.h"
#include "tests/support/random.h"

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

/* A turn that is tried again joins the read that its first attempt called, which may wait for it.
 */
ACTOR_TEST(a_read_that_a_call_joins_may_close_a_cycle)
{
    struct job_spec to_2 = TELL("node/2", "node.read"), to_1 = TELL("node/1", "node.run");
    struct job_spec shared = to_2;
    to_2.key = span_text("first");
    shared.coalesce = span_text("c");
    offer_node(w);
    for (int i = 0; i < 2; i++) {
        struct job_spec *spec = i ? &shared : &to_2;
        uint64_t a = begin(w, "node/1");
        call_with(w, a, spec);
        uint64_t read = w->jobs->table.last->id;
        fail_it(w, a, "LATER");
        struct operation *other = call_with(w, read, &to_1);
        uint64_t behind = w->jobs->table.last->id;
        jobs_world_pass(w, AO_S(1));
        is_refused(w, call_with(w, a, spec), ERGON_E_DEADLOCK,
                   "node/1 calls node/2, which calls node/1");
        answer(w, a, NULL);
        answer(w, behind, NULL);
        assert_true(world_answered(w, other));
        answer(w, read, NULL);
    }
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

/* More by hand: ERGON_GRAPHS graphs, each by its number, from ERGON_GRAPHS_FROM on. */
enum { GRAPHS = 150, NODES = 64, STEPS = 4, MOST = NODES * (STEPS + 1), DEEP = 64 };

/* A message, by the order of arrival. */
struct visit {
    uint64_t id;
    int at, waits, caller; /* waits: the visit that it calls; caller: that calls it; -1: none */
    bool reads, ended;
    struct job_spec spec; /* borrowed until the answer */
    struct operation *op; /* its caller's; NULL: it has none */
};

struct graph {
    struct jobs_world *w;
    uint64_t seed;
    int nodes, count;
    uint32_t forward; /* of 8 calls so many go to the next node */
    struct visit visits[MOST];
};

static uint32_t cycles, longest, granted, too_deep;
static char names[NODES][16];

/* The last message in the mailbox that came before this one; -1: none. */
static int before(const struct graph *g, int node, int visit)
{
    do
        visit--;
    while (visit >= 0 &&
           (g->visits[visit].at != node || g->visits[visit].reads || g->visits[visit].ended));
    return visit;
}

static bool runs(const struct graph *g, int visit)
{
    const struct visit *v = &g->visits[visit];
    return !v->ended && (v->reads || before(g, v->at, visit) < 0);
}

/* So many turns run on the way from one visit to another that would have to end before it; 0: it
 * leads elsewhere. */
static uint32_t leads(const struct graph *g, int from, int to)
{
    uint32_t turns = 0;
    while (from >= 0) {
        bool is_turn = runs(g, from);
        turns += is_turn;
        if (from == to)
            return turns;
        from = is_turn ? g->visits[from].waits : before(g, g->visits[from].at, from);
    }
    return 0;
}

static uint32_t callers(const struct graph *g, int visit)
{
    uint32_t count = 0;
    for (; visit >= 0; visit = g->visits[visit].caller)
        count++;
    return count;
}

static struct visit *add(struct graph *g, int at, bool reads)
{
    struct visit *v = &g->visits[g->count++];
    assert_true(g->count <= MOST);
    *v = (struct visit){.at = at, .waits = -1, .caller = -1, .reads = reads};
    v->spec = TELL(names[at], reads ? "node.read" : "node.run");
    return v;
}

static void tell(struct graph *g)
{
    struct visit *v = add(g, (int)chance(&g->seed, (uint64_t)g->nodes), false);
    v->id = post(g->w, &v->spec);
}

static void call_from(struct graph *g, int from)
{
    int at = g->visits[from].at;
    at = chance(&g->seed, 8) < g->forward ? (at + 1) % g->nodes
                                          : (int)chance(&g->seed, (uint64_t)g->nodes);
    bool reads = chance(&g->seed, 8) == 0;
    uint32_t cycle = reads ? 0 : leads(g, before(g, at, g->count), from);
    if (cycle > DEEP)
        return; /* one that may wait for its deadline */
    struct visit *v = add(g, at, reads);
    v->op = call_with(g->w, g->visits[from].id, &v->spec);
    if (cycle == 0 && callers(g, from) < DEEP) {
        assert_false(world_answered(g->w, v->op));
        v->id = g->w->jobs->table.last->id;
        v->caller = from;
        g->visits[from].waits = g->count - 1;
        granted++;
        return;
    }
    is_refused(g->w, v->op, cycle > 0 ? ERGON_E_DEADLOCK : ERGON_E_TOO_DEEP, "");
    v->ended = true;
    v->op = NULL;
    cycles += cycle > 0;
    too_deep += cycle == 0;
    longest = cycle > longest ? cycle : longest;
}

static void end(struct graph *g, int visit)
{
    struct visit *v = &g->visits[visit];
    answer(g->w, v->id, NULL);
    v->ended = true;
    if (!v->op)
        return;
    assert_true(world_answered(g->w, v->op));
    assert_int_equal(v->op->reply.error, ERGON_OK);
    g->visits[v->caller].waits = -1;
}

/* A turn that waits for no call; -1: there is none. */
static int any_free(struct graph *g)
{
    int first = (int)chance(&g->seed, (uint64_t)g->count + 1);
    for (int i = 0; i < g->count; i++) {
        int visit = (first + i) % g->count;
        if (runs(g, visit) && g->visits[visit].waits < 0)
            return visit;
    }
    return -1;
}

static void act(struct graph *g)
{
    uint32_t which = chance(&g->seed, 8);
    int visit = any_free(g);
    if (visit < 0 || which == 0)
        tell(g);
    else if (which < 7)
        call_from(g, visit);
    else
        end(g, visit);
}

static void run_graph(struct jobs_world *w, uint64_t number)
{
    static struct graph g;
    uint32_t open = 0;
    g = (struct graph){.w = w, .seed = number};
    g.nodes = 1 + (int)chance(&g.seed, 1u << (1 + chance(&g.seed, 6)));
    g.nodes = g.nodes > NODES ? NODES : g.nodes;
    g.forward = chance(&g.seed, 9);
    for (int i = 0; i < g.nodes; i++)
        tell(&g);
    for (int i = 0; i < STEPS * g.nodes; i++)
        act(&g);
    for (int visit; (visit = any_free(&g)) >= 0;)
        end(&g, visit);
    for (int i = 0; i < g.count; i++)
        open += !g.visits[i].ended;
    if (open > 0)
        fail_msg("ERGON_GRAPHS_FROM=%d: a cycle waits", (int)number);
    while (w->answered > 0)
        operation_free(w->operations[--w->answered]);
}

static uint64_t number_of(const char *name, uint64_t else_)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : else_;
}

/* Turns that run call at random; calls and turns end at random.  In the end all have. */
ACTOR_TEST(no_cycle_waits_and_no_call_without_one_is_refused)
{
    uint64_t from = number_of("ERGON_GRAPHS_FROM", 1), count = number_of("ERGON_GRAPHS", GRAPHS);
    offer_node(w);
    w->room[POOL_OF_WORKERS] = MOST;
    for (int i = 0; i < NODES; i++)
        snprintf(names[i], sizeof names[i], "node/%d", i);
    for (uint64_t i = 0; i < count; i++)
        run_graph(w, from + i);
    printf("%d graphs: %u calls granted, %u cycles refused, the longest of %u turns; %u too deep\n",
           (int)count, granted, cycles, longest, too_deep);
    assert_true(granted > 0 && (count < GRAPHS || (cycles > 0 && longest > 8)));
}
