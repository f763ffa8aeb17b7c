/* The jobs submit what a turn sends as it ends: all or nothing, in order. */
#include "proto/job_options.h"
#include "server/jobs/actors/reminders.h"
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
    is_refused(w, a, "DENIED", "is of the tenant of its own task or actor");
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

/* --- What was there already --- */

static const struct actor_policy lasting = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                            .durable = ACTOR_DURABLE_FSYNC};

/* Tasks wait, and each commit takes one operation, so that one of them can fail by itself. */
static void offer_lasting(struct jobs_world *w)
{
    static const char *const methods[] = {"cart.add", NULL};
    offer(w, "cart", &lasting, methods);
    w->room[0] = 0;
    w->store->most = 1;
}

static void commit(struct jobs_world *w)
{
    jobs_world_pass(w, AO_MS(5));
}

static uint64_t begin_lasting(struct jobs_world *w, const char *to)
{
    uint64_t id = post(w, &TELL(to, "cart.add", .keep = AO_S(60), .said = 1u << JOB_OPTION_keep));
    commit(w);
    assert_true(is_out(w, id));
    return id;
}

#define KEYED span_text("\x81\xa3key\xa1k")
#define SHARED                                                                                     \
    span_text("\x81\xa8"                                                                           \
              "coalesce\xa1"                                                                       \
              "k")

/* The next operation of this kind fails, and no other. */
static void fail_one(struct jobs_world *w, enum store_kind kind)
{
    while (w->store->first->kind != kind)
        jobs_world_pass(w, AO_US(100));
    const struct store_op *op = w->store->first;
    w->store->error = STORE_IO;
    while (w->store->first == op)
        jobs_world_pass(w, AO_US(100));
    w->store->error = STORE_OK;
}

static bool is_kept(struct jobs_world *w, uint64_t id)
{
    return memory_store_row(w->store, id) != NULL;
}

static void finish(struct jobs_world *w, uint64_t id, const char *state, struct span options)
{
    struct attempt_turn *turn = turn_of(w, id);
    sends_with(w, id, "", "work", options);
    if (state)
        assert_null(turn_set_state(turn, span_text(state), turn->writes));
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_settle(w);
}

/* Whenever the message is done, the task is on disk; each of its turns sends that.  Returns how
 * many turns began anew. */
static unsigned done_with(struct jobs_world *w, uint64_t id, uint64_t task, const char *state,
                          struct span options)
{
    unsigned turns = 0;
    for (int i = 0; i < 50000 && world_state(w, id) != JOB_DONE; i++) {
        jobs_world_pass(w, AO_US(100));
        if (!is_out(w, id))
            continue;
        finish(w, id, state, options);
        turns++;
    }
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_true(is_kept(w, task));
    return turns;
}

static struct operation *call(struct jobs_world *w, struct job_spec *spec)
{
    struct operation *op = world_operation(w, &operation_actor_call);
    op->submission.specs = spec;
    op->submission.count = 1;
    op->submission.caller = 0;
    world_give(w, op);
    commit(w);
    assert_true(is_out(w, newest(w)->id));
    return op;
}

STORED_TEST(a_call_that_joins_a_task_in_memory_is_answered_when_that_is_on_disk)
{
    offer_lasting(w);
    struct job_spec to = TELL("cart/1", "cart.add", .calls = true);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t task = post(w, &WORK(.coalesce = span_text("k"), .keep = AO_S(60)));
        struct operation *op = call(w, &to);
        finish(w, newest(w)->id, i ? "\x01" : NULL, SHARED);
        while (!world_answered(w, op))
            jobs_world_pass(w, AO_US(100));
        stage_says(op, "42");
        assert_true(is_kept(w, task));
        assert_int_equal(world_job(w, task)->more->waiters, 2);
        has_state(w, "cart/1", i ? "\x01" : NULL, i);
        w->room[0] = 1; /* the task ends */
        jobs_world_settle(w);
        world_finish(world_run_of(w, task), "\x2a");
        commit(w);
        w->room[0] = 0;
    }
    stage_balances(w);
}

STORED_TEST(a_turn_goes_again_when_what_it_joined_could_not_be_written)
{
    offer_lasting(w);
    uint64_t task = post(w, &WORK(.coalesce = span_text("k"))), a = begin_lasting(w, "cart/1");
    finish(w, a, "\x01", SHARED);
    fail_one(w, STORE_PUT);
    assert_int_equal(done_with(w, a, task, "\x01", SHARED), 1);
    has_state(w, "cart/1", "\x01", 1);
    assert_int_equal(world_job(w, task)->more->waiters, 2);
    stage_balances(w);
}

/* --- What another turn sent, and is not on disk --- */

STORED_TEST(a_turn_waits_for_the_turn_whose_task_it_joins)
{
    offer_lasting(w);
    uint64_t a = begin_lasting(w, "cart/1"), b = begin_lasting(w, "cart/2");
    finish(w, a, "\x01", KEYED);
    uint64_t task = newest(w)->id;
    finish(w, b, "\x02", KEYED);
    assert_int_equal(newest(w)->id, task);
    fail_one(w, STORE_GROUP);
    assert_int_equal(done_with(w, b, task, "\x02", KEYED), 0);
    assert_int_equal(done_with(w, a, task, "\x01", KEYED), 0);
    stage_balances(w);
}

STORED_TEST(what_a_turn_joined_is_sent_by_it_where_the_other_is_undone)
{
    offer_lasting(w);
    struct job_spec to = TELL("cart/1", "cart.add", .calls = true);
    struct operation *op = call(w, &to);
    uint64_t a = newest(w)->id, b = begin_lasting(w, "cart/2");
    finish(w, a, "\x01", SHARED);
    uint64_t task = newest(w)->id;
    finish(w, b, "\x02", SHARED);
    fail_one(w, STORE_GROUP);
    while (!is_out(w, b) && world_state(w, b) != JOB_DONE)
        jobs_world_pass(w, AO_US(100));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_null(world_job(w, task));
    has_state(w, "cart/1", NULL, 0);
    has_state(w, "cart/2", NULL, 0);
    finish(w, b, "\x02", SHARED);
    task = newest(w)->id;
    assert_int_equal(done_with(w, b, task, "\x02", SHARED), 0);
    has_state(w, "cart/2", "\x02", 1);
    assert_int_equal(world_job(w, task)->more->waiters, 1);
    stage_balances(w);
}

/* --- Whichever write fails --- */

/* The handler of cart/..., which counts its messages, and sends what is there, and what is not. */
static void count_one(struct jobs_world *w, struct world_run *r, char key)
{
    char keyed[] = "\x81\xa3key\xa1?";
    keyed[sizeof keyed - 2] = key; /* one that ended is found by it, too */
    struct attempt_turn *turn = r->run.turn;
    char state[2] = {turn->state.len > 0 ? (char)(turn->state.at[0] + 1) : 1};
    assert_null(turn_set_state(turn, span_of(state, 1), turn->writes));
    sends_with(w, r->run.id, "", "work", SHARED);
    sends_with(w, r->run.id, "", "work", span_text(keyed));
    sends_with(w, r->run.id, "", "work", span_text(keyed));
    world_finish(r, "\x2a");
}

static void end_task(struct jobs_world *w, const struct job *task)
{
    w->room[0] = 4;
    jobs_world_settle(w);
    if (world_run_of(w, task->id))
        world_finish(world_run_of(w, task->id), "\x2a");
    w->room[0] = 0;
    jobs_world_pass(w, AO_S(3));
}

static const struct job *of_span(struct jobs_world *w, bool shared)
{
    for (struct job *job = w->jobs->table.last; job; job = job->all_prev)
        if (!job->is_message && job_is_open(job) &&
            (shared ? job->more->coalesce : job->more->key).name.len > 0)
            return job;
    fail();
    return NULL;
}

/* A change of a row that is there is refused by none. */
static bool may_fail(const struct jobs_world *w, enum store_error error)
{
    return error != STORE_REFUSED || (w->store->first && w->store->first->kind != STORE_CHANGE);
}

/* Three messages, of which the commit of this number fails. */
static void count_three(struct jobs_world *w, uint8_t pipeline, uint32_t at, enum store_error error)
{
    static const char *const methods[] = {"cart.add", NULL};
    struct actor_policy policy = lasting;
    static char key[2] = "A";
    char name[16];
    uint64_t ids[3];
    key[0]++;
    policy.pipeline = pipeline;
    offer(w, "cart", &policy, methods);
    snprintf(name, sizeof name, "cart/%s", key);
    post(w, &WORK(.coalesce = span_text("k")));
    for (int i = 0; i < 3; i++)
        ids[i] = post(w, &TELL(name, "cart.add", .keep = AO_S(60), .said = 1u << JOB_OPTION_keep));
    jobs_world_pass(w, AO_MS(50));
    unsigned left = 3, done = 0;
    for (uint32_t first = w->store->commits; left > 0;) {
        for (int i = 0; i < 3; i++)
            if (is_out(w, ids[i]))
                count_one(w, world_run_of(w, ids[i]), *key);
        w->store->error = w->store->commits == first + at && may_fail(w, error) ? error : STORE_OK;
        jobs_world_pass(w, AO_US(100));
        left = done = 0;
        for (int i = 0; i < 3; i++) {
            done += world_state(w, ids[i]) == JOB_DONE;
            left += job_state_open(world_state(w, ids[i]));
        }
        if (done > 0)
            assert_true(is_kept(w, of_span(w, true)->id) && is_kept(w, of_span(w, false)->id));
    }
    w->store->error = STORE_OK;
    assert_true(done == 3 || (error == STORE_REFUSED && done == 2));
    char state[2] = {(char)done};
    has_state(w, name, state, done);
    assert_int_equal(of_span(w, true)->more->waiters, 1 + done);
    jobs_world_pass(w, AO_S(3));
    end_task(w, of_span(w, true));
    end_task(w, of_span(w, false));
    stage_balances(w);
}

STORED_TEST(whichever_write_fails_a_turn_and_what_it_joined_are_one)
{
    offer_lasting(w);
    for (uint32_t at = 0; at < 12; at++)
        for (uint8_t pipeline = 0; pipeline < 2; pipeline++) {
            count_three(w, pipeline, at, STORE_IO);
            count_three(w, pipeline, at, STORE_REFUSED);
        }
}

/* Its turn joined a task whose row failed; its next turn is at most a back-off later. */
static void goes_again(struct jobs_world *w, uint64_t id, enum store_error error)
{
    uint64_t task = post(w, &WORK(.coalesce = span_text("k")));
    finish(w, id, "\x01", SHARED);
    while (w->store->first->kind != STORE_PUT || w->store->first->task.id != task)
        jobs_world_pass(w, AO_US(100));
    w->store->error = error;
    while (w->store->first && w->store->first->kind == STORE_PUT)
        jobs_world_pass(w, AO_US(100));
    w->store->error = STORE_OK;
    for (int i = 0; i < 200 && !is_out(w, id); i++)
        jobs_world_pass(w, AO_MS(100));
    assert_true(is_out(w, id));
    assert_int_equal(world_job(w, task)->more->waiters, 1);
    finish(w, id, "\x02", SHARED);
    jobs_world_pass(w, AO_MS(50));
    assert_true(is_kept(w, task));
    assert_int_equal(world_job(w, task)->more->waiters, 2);
    end_task(w, world_job(w, task));
}

STORED_TEST(a_step_and_a_reminder_go_again_when_what_they_joined_could_not_be_written)
{
    static const char *const methods[] = {"tick.add", "tick.step", NULL};
    struct actor_policy policy = lasting;
    offer_lasting(w);
    policy.intensity = 0;
    offer(w, "tick", &policy, methods);
    uint64_t a = post(w, &TELL("tick/1", "tick.add"));
    jobs_world_pass(w, AO_MS(50));
    answer(w, a, NULL);
    jobs_world_pass(w, AO_MS(50));
    uint64_t step = actor_of(w, "tick/1")->more->step->id;
    for (int i = 0; i < 2; i++) {
        jobs_world_pass(w, AO_S(20));
        goes_again(w, step, i ? STORE_REFUSED : STORE_IO);
    }
    has_state(w, "tick/1", "\x02", 2);
    struct job_spec spec =
        TELL("cart/1", "cart.add", .reminder = span_text("r"), .delay = AO_S(1), .every = AO_S(10));
    struct operation *op = world_operation(w, &operation_actor_remind);
    op->submission.specs = &spec;
    op->submission.count = 1;
    world_give(w, op);
    jobs_world_pass(w, AO_S(2));
    for (int i = 0; i < 2; i++) {
        goes_again(w, reminders_find(actor_of(w, "cart/1"), span_text("r"))->id,
                   i ? STORE_REFUSED : STORE_IO);
        jobs_world_pass(w, AO_S(10));
    }
    has_state(w, "cart/1", "\x02", 2);
    stage_balances(w);
}

/* --- A message that others join --- */

static struct operation *tell(struct jobs_world *w, struct job_spec *spec)
{
    struct operation *op = world_operation(w, &operation_actor_tell);
    op->submission.specs = spec;
    op->submission.count = 1;
    op->submission.caller = 0;
    world_give(w, op);
    return op;
}

/* Its turn has changed the actor, and comes to its end while the message is to be kept, too. */
STORED_TEST(a_message_in_memory_is_joined_while_its_turn_is_written)
{
    offer_lasting(w);
    w->store->most = 0;
    for (uint8_t error = 0; error < 2; error++) {
        char to[] = "cart/0";
        to[5] = (char)('0' + error);
        struct job_spec spec = TELL(to, "cart.add", .key = span_text("k"), .keep = AO_S(600),
                                    .said = 1u << JOB_OPTION_durable | 1u << JOB_OPTION_keep);
        uint64_t a = post(w, &spec);
        commit(w);
        answer(w, a, "\x01");
        has_state(w, to, NULL, 0);
        spec.durable = DURABLE_FSYNC;
        w->store->error = error ? STORE_IO : STORE_OK;
        struct operation *op = tell(w, &spec);
        commit(w);
        w->store->error = STORE_OK;
        jobs_world_pass(w, AO_S(3));
        assert_true(world_answered(w, op));
        assert_int_equal(world_state(w, a), error ? JOB_FAILED : JOB_DONE);
        assert_int_equal(op->reply.error, error ? ERGON_E_STORE : ERGON_OK);
        assert_true(error || is_kept(w, a));
        a = post(w, &TELL(to, "cart.add")); /* the next */
        commit(w);
        answer(w, a, "\x02");
    }
    jobs_world_pass(w, AO_S(3));
    stage_balances(w);
}

/* A task that is in memory alone stays so, though it is joined. */
STORED_TEST(a_message_to_an_actor_in_memory_is_not_made_durable)
{
    static const char *const methods[] = {"box.put", NULL};
    offer(w, "box", &usual, methods);
    struct job_spec spec = TELL("box/1", "box.put", .key = span_text("k"));
    uint64_t a = post(w, &spec);
    spec.durable = DURABLE_FSYNC;
    spec.said = 1u << JOB_OPTION_durable;
    struct operation *op = tell(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "`durable` of a message can only be \"none\"");
    answer(w, a, "\x01");
    assert_int_equal(world_state(w, a), JOB_DONE);
    assert_false(is_kept(w, a));
}

/* It says nothing of its own, and its type is durable. */
STORED_TEST(a_message_that_joins_one_in_memory_is_as_durable_as_its_type)
{
    offer_lasting(w);
    struct job_spec spec =
        TELL("cart/1", "cart.add", .key = span_text("k"), .said = 1u << JOB_OPTION_durable);
    uint64_t a = post(w, &spec);
    spec.said = 0;
    struct operation *op = tell(w, &spec);
    assert_false(world_answered(w, op));
    commit(w);
    stage_says(op, "'durable': 'fsync'");
    assert_true(is_kept(w, a));
}

/* The strings of the operation are gone afterwards. */
static void put_cron(struct jobs_world *w, const char *actor, const char *method,
                     struct span options)
{
    char name[16];
    snprintf(name, sizeof name, "%s", actor);
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){
        .name = span_text(actor), .schedule = span_text("every 10s"), .task = TELL(name, method)};
    op->cron.options = options;
    world_give(w, op);
    commit(w);
    assert_int_equal(op->reply.error, ERGON_OK);
    memset(name, 'x', sizeof name);
}

STORED_TEST(a_cron_of_a_durable_actor_outlives_a_crash)
{
    static const char *const methods[] = {"box.put", NULL};
    offer_lasting(w);
    offer(w, "box", &usual, methods);
    put_cron(w, "cart/1", "cart.add",
             span_text("\x81\xa5"
                       "actor\xa6"
                       "cart/1"));
    jobs_world_pass(w, AO_S(10));
    assert_true(newest(w)->is_message && is_out(w, newest(w)->id));
    answer(w, newest(w)->id, "\x07");
    commit(w);
    put_cron(w, "box/1", "box.put",
             span_text("\x81\xa5"
                       "actor\xa5"
                       "box/1"));
    jobs_world_crash(w);
    offer_lasting(w);
    struct operation *op = world_operation(w, &operation_cron_list);
    world_give(w, op);
    stage_says(op, "'name': 'cart/1'");
    assert_null(strstr((const char *)operation_result(op).at, "box/1"));
    jobs_world_pass(w, AO_S(11));
    assert_true(is_out(w, newest(w)->id));
    answer(w, newest(w)->id, "\x01");
    commit(w);
    has_state(w, "cart/1", "\x01", 2);
    op = world_operation(w, &operation_cron_delete);
    op->named.name = span_text("cart/1");
    world_give(w, op);
    commit(w);
    jobs_world_crash(w);
    op = world_operation(w, &operation_cron_list);
    world_give(w, op);
    stage_says(op, "[]");
}

/* So do its options, and the ids that it waited for: memory_rows.c looks.  A message that runs for
 * a millisecond has a row of its life. */
STORED_TEST(a_message_that_was_done_takes_its_rows_along)
{
    const struct job_spec specs[] = {TELL("cart/1", "cart.add"),
                                     TELL("cart/1", "cart.add", .priority = 7),
                                     TELL("cart/1", "cart.add", .delay = AO_MS(1))};
    offer_lasting(w);
    for (int i = 0; i < 6; i++) {
        uint64_t id = post(w, &specs[i / 2]);
        for (int n = 0; n < 100 && !is_out(w, id); n++)
            jobs_world_pass(w, AO_US(100));
        jobs_world_pass(w, i % 2 ? AO_MS(2) : 0);
        assert_true(is_kept(w, id));
        answer(w, id, "\x01");
        commit(w);
        assert_false(is_kept(w, id));
    }
    stage_balances(w);
}

/* Handlers are waited for when the server stops, and what they did counts. */
STORED_TEST(what_a_turn_sends_as_the_server_stops_begins_under_the_next)
{
    offer_lasting(w);
    uint64_t a = begin_lasting(w, "cart/1");
    sends(w, a, "cart/2", "add");
    sends(w, a, "", "work");
    w->source.stop(w->source.arg, false);
    answer(w, a, "\x01");
    commit(w);
    assert_int_equal(world_state(w, a), JOB_DONE);
    has_state(w, "cart/1", "\x01", 1);
    assert_false(is_out(w, a + 1));
    jobs_world_restart(w);
    offer_lasting(w);
    commit(w);
    assert_true(is_out(w, a + 1));
    assert_non_null(world_job(w, a + 2));
}

STORED_TEST(a_task_from_outside_is_refused_while_the_server_stops)
{
    offer_lasting(w);
    w->source.stop(w->source.arg, false);
    struct submitted done;
    char text[JOB_TEXT_MAX];
    assert_int_equal(
        job_submit(w->jobs, &TELL("cart/1", "cart.add"), NULL, &done, text, sizeof text),
        ERGON_E_DRAINING);
}
