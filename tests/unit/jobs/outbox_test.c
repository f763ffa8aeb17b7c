/* The jobs submit what a turn sends as it ends: all or nothing, in order. */
#include "server/jobs/core/ids.h"
#include "server/jobs/effects.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_actors.h"

static void offer_some(struct jobs_world *w)
{
    static const char *const methods[] = {"cart.add", "cart.read", NULL};
    static const char *const small[] = {"box.put", NULL};
    struct actor_policy policy = usual;
    offer(w, "cart", &usual, methods);
    policy.messages = 2;
    offer(w, "box", &policy, small);
}

static struct attempt_turn *turn_of(struct jobs_world *w, uint64_t id)
{
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    return r->run.turn;
}

static void sends_with(struct jobs_world *w, uint64_t id, const char *to, const char *method,
                       struct span options)
{
    struct turn_message_parts parts = {
        .to = span_text(to), .method = span_text(method), .options = options};
    assert_null(turn_send(turn_of(w, id), &parts));
}

static void sends(struct jobs_world *w, uint64_t id, const char *to, const char *method)
{
    sends_with(w, id, to, method, (struct span){0});
}

static uint64_t begin(struct jobs_world *w)
{
    return post(w, &TELL("cart/1", "cart.add", .keep = AO_S(60)));
}

static const struct job *newest(const struct jobs_world *w)
{
    return w->jobs->table.last;
}

ACTOR_TEST(what_a_turn_sends_comes_with_its_end_in_order)
{
    offer_some(w);
    uint64_t a = begin(w), count = w->jobs->table.count;
    sends(w, a, "cart/2", "add");
    sends(w, a, "cart/2", "add");
    sends(w, a, "cart/1", "add");
    sends(w, a, "", "work");
    assert_int_equal(w->jobs->table.count, count);
    answer(w, a, "\x01");
    has_state(w, "cart/1", "\x01", 1);
    assert_int_equal(w->jobs->table.count, count + 4);
    assert_true(is_out(w, a + 1) && !is_out(w, a + 2)); /* cart/2, one by one */
    assert_true(is_out(w, a + 3));                      /* cart/1 itself */
    assert_true(span_is(world_job(w, a + 4)->queue->name, "work"));
    assert_false(world_job(w, a + 4)->is_message);
    answer(w, a + 1, NULL);
    assert_true(is_out(w, a + 2));
}

ACTOR_TEST(a_turn_that_fails_sends_nothing)
{
    offer_some(w);
    uint64_t a = begin(w), count = w->jobs->table.count;
    sends(w, a, "cart/2", "add");
    fail_it(w, a, "FAILED");
    assert_int_equal(w->jobs->table.count, count);
    jobs_world_pass(w, AO_S(1));
    sends(w, a, "cart/2", "add");
    world_lose(world_run_of(w, a), LOSS_IN_COMPANY, "gone");
    jobs_world_settle(w);
    assert_int_equal(w->jobs->table.count, count);
    assert_null(actor_of(w, "cart/2"));
}

/* The turn of `a` is refused what it sends, and nothing has happened but that it failed. */
static void is_refused(struct jobs_world *w, uint64_t a, const char *code, const char *text)
{
    struct job_sums *account = &w->jobs->table.in_memory;
    uint64_t count = w->jobs->table.count, submitted = account->submitted;
    uint64_t failed = account->ended[JOB_FAILED];
    answer(w, a, "\x09");
    const struct job *job = world_job(w, a);
    assert_non_null(job->end);
    assert_string_equal(job->end->code, code);
    stage_holds(job->end->text, text);
    assert_int_equal(w->jobs->table.count, count);
    assert_int_equal(account->submitted, submitted);
    assert_int_equal(account->ended[JOB_FAILED], failed + (job->state == JOB_FAILED));
    has_state(w, "cart/1", NULL, 0);
}

ACTOR_TEST(one_that_is_refused_takes_back_all_of_them)
{
    offer_some(w);
    uint64_t a = begin(w);
    sends(w, a, "cart/2", "add");
    sends(w, a, "", "work");
    sends(w, a, "box/1", "put");
    sends(w, a, "box/1", "put");
    sends(w, a, "box/1", "put");
    is_refused(w, a, "BUSY", "box.put for box/1, which the turn sends, is refused: the mailbox");
    assert_null(actor_of(w, "cart/2"));
    assert_null(actor_of(w, "box/1"));
    assert_int_equal(world_state(w, a), JOB_DELAYED); /* there may be room later */
    jobs_world_pass(w, AO_S(1));
    sends(w, a, "box/1", "put");
    answer(w, a, "\x01");
    has_state(w, "cart/1", "\x01", 1);
    answer(w, newest(w)->id, NULL);
}

ACTOR_TEST(what_is_no_message_fails_the_turn)
{
    offer_some(w);
    uint64_t a = begin(w);
    sends(w, a, "cart/2", "gone");
    is_refused(w, a, "NO_METHOD", "cart.gone");
    assert_int_equal(world_state(w, a), JOB_FAILED); /* it would not be there later, either */
    a = begin(w);
    sends(w, a, "", "cart.add");
    is_refused(w, a, "BAD_PARAMS", "cart.add for a task");
    a = begin(w);
    sends_with(w, a, "cart/2", "add", span_text("\x81\xa5stale\x01"));
    is_refused(w, a, "BAD_CHANGES", "unknown option \"stale\"");
    jobs_world_pass(w, AO_S(1));
    sends_with(w, a, "cart/2", "add",
               span_text("\x81\xa5"
                         "after\x90"));
    is_refused(w, a, "BAD_CHANGES", "cannot have the options after and after_any");
    jobs_world_pass(w, AO_S(1));
    sends_with(w, a, "cart/2", "add",
               span_text("\x81\xa5"
                         "actor\xa6"
                         "cart/3"));
    is_refused(w, a, "BAD_CHANGES", "named twice");
    a = begin(w);
    jobs_world_pass(w, AO_S(20)); /* the one before is tried for the last time */
    fail_it(w, a - 1, "PERMANENT");
    sends_with(w, a, "cart/2", "add", span_text("\x81\xa6tenant\xa1x"));
    is_refused(w, a, "DENIED", "for the tenant of its actor alone");
}

ACTOR_TEST(options_are_those_of_tasks)
{
    offer_some(w);
    uint64_t a = begin(w);
    sends_with(w, a, "cart/2", "add",
               span_text("\x82\xa3key\xa1k\xa5"
                         "delay\xa2"
                         "5s"));
    sends_with(w, a, "cart/2", "add", span_text("\x81\xa3key\xa1k")); /* it is there */
    sends_with(w, a, "", "cart.add",
               span_text("\x81\xa5"
                         "actor\xa6"
                         "cart/3"));
    answer(w, a, "\x01");
    assert_int_equal(world_state(w, a + 1), JOB_DELAYED);
    assert_int_equal(newest(w)->id, a + 2);
    assert_true(is_out(w, a + 2));
    assert_non_null(actor_of(w, "cart/3"));
    answer(w, a + 2, NULL);
    jobs_world_pass(w, AO_S(5));
    assert_true(is_out(w, a + 1));
    answer(w, a + 1, NULL);
}

ACTOR_TEST(a_run_that_it_joined_is_left_again)
{
    static const char shared[] = "\x81\xa8"
                                 "coalesce\xa1"
                                 "c";
    offer_some(w);
    w->room[0] = 0;
    uint64_t a = begin(w);
    uint64_t run = post(w, &WORK(.coalesce = span_text("c")));
    sends_with(w, a, "", "work", span_text(shared));
    sends(w, a, "cart/2", "gone");
    answer(w, a, NULL);
    assert_int_equal(world_job(w, run)->more->waiters, 1);
    assert_true(job_is_open(world_job(w, run)));
}

ACTOR_TEST(a_turn_that_stops_its_actor_sends)
{
    offer_some(w);
    uint64_t a = begin(w);
    sends(w, a, "cart/1", "add");
    sends(w, a, "cart/2", "add");
    assert_null(turn_stop(turn_of(w, a), span_text("sold out")));
    answer(w, a, NULL);
    is_waiting(w, a + 1, JOB_WHY_STOPPED);
    assert_true(is_out(w, a + 2));
}

ACTOR_TEST(without_memory_nothing_is_sent)
{
    offer_some(w);
    for (int at = 1; at < 12; at++) {
        uint64_t a = begin(w);
        sends(w, a, "cart/2", "add");
        assert_null(turn_stop(turn_of(w, a), span_text("why not")));
        world_finish(world_run_of(w, a), "\x2a");
        heap_fail_at(at);
        jobs_world_settle(w);
        bool went_well = world_state(w, a) == JOB_DONE;
        heap_fail_at(0);
        assert_int_equal(actor_of(w, "cart/2") != NULL, went_well);
        assert_int_equal(actor_stage(actor_of(w, "cart/1")) == ACTOR_STOPPED, went_well);
        if (went_well)
            break;
        world_cancel(w, world_job(w, a));
        jobs_world_settle(w);
    }
}

STORED_TEST(a_task_is_durable_where_there_is_a_store)
{
    offer_some(w);
    uint64_t a = begin(w);
    sends(w, a, "", "work");
    sends(w, a, "cart/2", "add");
    sends_with(w, a, "", "work",
               span_text("\x81\xa7"
                         "durable\xa4none"));
    answer(w, a, "\x01");
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(world_job(w, a + 1)->durable, DURABLE_FSYNC);
    assert_int_equal(world_job(w, a + 1)->saved, JOB_SAVED_FIRST);
    assert_int_equal(world_job(w, a + 2)->durable, DURABLE_NONE);
    assert_int_equal(world_job(w, a + 3)->durable, DURABLE_NONE);
    stage_balances(w);
}

STORED_TEST(a_durable_task_that_is_taken_back_leaves_no_row)
{
    offer_some(w);
    uint64_t a = begin(w), rows = w->jobs->table.count;
    sends(w, a, "", "work");
    sends_with(w, a, "", "work",
               span_text("\x81\xa7"
                         "durable\xa5"
                         "async"));
    sends(w, a, "cart/2", "gone");
    answer(w, a, "\x01");
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(w->jobs->table.count, rows);
    stage_balances(w);
}
