/* What becomes of an order: keys, shared runs, bounds, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/support/heap.h"
#include "tests/support/ledger_stage.h"

static enum ergon_error refused(struct ledger_world *w, const struct order *o, const char *text)
{
    struct submitted done;
    char said[ASK_TEXT_MAX] = "";
    enum ergon_error error = ledger_submit(w->ledger, o, &done, said, sizeof said);
    if (error != ERGON_OK && !strstr(said, text))
        fail_msg("\"%s\" is not in \"%s\"", text, said);
    return error;
}

static void unknown_methods_are_refused(void **state)
{
    struct order o = world_order("unheard_of");
    assert_int_equal(refused(*state, &o, "\"unheard_of\""), ERGON_E_NO_METHOD);
}

static void a_durable_one_is_refused_without_a_store(void **state)
{
    struct order o = world_order("work");
    o.durable = LEDGER_ASYNC;
    assert_int_equal(refused(*state, &o, "no store"), ERGON_E_STORE);
}

static void a_drained_queue_takes_no_more(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    ledger_world_submit(w, &o);
    w->ledger->queues->draining = true;
    assert_int_equal(refused(w, &o, "queue.resume"), ERGON_E_DRAINING);
}

static void a_server_that_stops_takes_no_more(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    w->source.stop(w->source.arg, false);
    assert_int_equal(refused(w, &o, ""), ERGON_E_DRAINING);
}

static void beyond_the_bound_it_is_busy(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    w->ledger->options.tasks_max = 2;
    ledger_world_submit(w, &o);
    ledger_world_submit(w, &o);
    assert_int_equal(refused(w, &o, "2 tasks, and may not hold more (tasks.max)"), ERGON_E_BUSY);
    w->ledger->options.tasks_max = 10;
    w->ledger->options.bytes_max = w->ledger->bytes + 100;
    assert_int_equal(refused(w, &o, "tasks.bytes"), ERGON_E_BUSY);
    w->ledger->options.bytes_max = 100;
    assert_int_equal(refused(w, &o, "tasks.bytes"), ERGON_E_TOO_LARGE);
}

static void what_has_ended_makes_room(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    w->ledger->options.tasks_max = 2;
    uint64_t id = ledger_world_submit(w, &o);
    ledger_world_settle(w);
    world_finish(world_run_of(w, id), "\x01");
    ledger_world_submit(w, &o);
    ledger_world_submit(w, &o);
    assert_null(world_entry(w, id));
}

static void the_same_key_is_the_same_task(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    o.key = span_text("order 7");
    uint64_t id = ledger_world_submit(w, &o);
    assert_int_equal(ledger_world_submit(w, &o), id);
    ledger_world_settle(w);
    world_finish(world_run_of(w, id), "\x01");
    struct submitted again;
    char text[ASK_TEXT_MAX];
    assert_int_equal(ledger_submit(w->ledger, &o, &again, text, sizeof text), ERGON_OK);
    assert_true(again.duplicate);
    assert_int_equal(again.entry->id, id);
    o.tenant = span_text("other");
    assert_int_not_equal(ledger_world_submit(w, &o), id);
    ledger_world_pass(w, AO_S(3600));
    o.tenant = span_text("");
    assert_int_not_equal(ledger_world_submit(w, &o), id);
}

static void a_shared_run_is_cancelled_by_the_last(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    o.coalesce = span_text("report");
    uint64_t id = ledger_world_submit(w, &o);
    assert_int_equal(ledger_world_submit(w, &o), id);
    assert_false(ledger_cancel(w->ledger, world_entry(w, id)));
    assert_true(ledger_state_open(world_state(w, id)));
    assert_true(ledger_cancel(w->ledger, world_entry(w, id)));
    ledger_world_settle(w);
    assert_int_equal(world_state(w, id), LEDGER_CANCELLED);
    assert_int_not_equal(ledger_world_submit(w, &o), id);
}

static void nobody_joins_a_run_that_is_being_cancelled(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    o.coalesce = span_text("report");
    w->stubborn = true;
    uint64_t id = ledger_world_submit(w, &o);
    ledger_world_settle(w);
    assert_true(ledger_cancel(w->ledger, world_entry(w, id)));
    assert_true(ledger_state_open(world_state(w, id)));
    assert_int_not_equal(ledger_world_submit(w, &o), id);
}

static void another_method_shares_no_run(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    o.coalesce = span_text("report");
    uint64_t id = ledger_world_submit(w, &o);
    o.method = span_text("step");
    assert_int_not_equal(ledger_world_submit(w, &o), id);
}

static struct ask *call(struct ledger_world *w, struct order *o)
{
    struct ask *a = world_ask(w, ASK_CALL);
    a->orders = o;
    a->order_count = 1;
    world_give(w, a);
    return a;
}

static void callers_of_a_shared_run_get_one_result(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    o.coalesce = span_text("report");
    struct ask *a = call(w, &o), *b = call(w, &o), *c = call(w, &o);
    ledger_drop(w->door, b);
    ledger_world_settle(w);
    assert_int_equal(b->error, ERGON_E_CANCELLED);
    assert_int_equal(w->ledger->count, 1);
    world_finish(w->runs, "\x2a");
    ledger_world_settle(w);
    assert_int_equal(a->error, ERGON_OK);
    assert_memory_equal(ask_result(a).at, "\x2a", 1);
    assert_memory_equal(pack_bytes(&c->result).at, "\x2a", 1);
}

static void a_call_that_is_dropped_is_cancelled(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    struct ask *a = call(w, &o);
    uint64_t id = a->outcomes[0].id;
    ledger_drop(w->door, a);
    ledger_world_settle(w);
    assert_true(world_answered(w, a));
    assert_int_equal(world_state(w, id), LEDGER_CANCELLED);
}

static void each_of_many_has_its_own_outcome(void **state)
{
    struct ledger_world *w = *state;
    struct order o[3] = {world_order("work"), world_order("unheard_of"), world_order("step")};
    struct ask *a = world_ask(w, ASK_SUBMIT_MANY);
    a->orders = o;
    a->order_count = 3;
    world_give(w, a);
    assert_true(world_answered(w, a));
    assert_int_equal(a->outcomes[0].error, ERGON_OK);
    assert_int_equal(a->outcomes[1].error, ERGON_E_NO_METHOD);
    assert_int_equal(a->outcomes[2].id, a->outcomes[0].id + 1);
    assert_int_equal(ask_result(a).at[0], 0x93);
}

static void what_is_refused_weighs_nothing(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    w->room[1] = 0;
    uint64_t ids[2] = {ledger_world_submit(w, &o), 12345};
    o.after = ids;
    o.after_count = 2;
    assert_int_equal(refused(w, &o, "no task"), ERGON_E_NOT_FOUND);
    uint64_t bytes = w->ledger->bytes; /* the first is known now to be waited for at times */
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(refused(w, &o, "no task"), ERGON_E_NOT_FOUND);
    assert_int_equal(w->ledger->bytes, bytes);
}

/* A run that a call began, and would be forgotten with its answer. */
static void who_joins_finds_the_result(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    o.coalesce = span_text("report");
    o.keep = 0;
    uint64_t id = ledger_world_submit(w, &o);
    o.keep = AO_S(60);
    assert_true(ledger_world_submit(w, &o) == id);
    ledger_world_settle(w);
    world_finish(world_run_of(w, id), "\x2a");
    ledger_world_pass(w, AO_S(59));
    assert_int_equal(world_state(w, id), LEDGER_DONE);
    ledger_world_pass(w, AO_S(2));
    assert_null(world_entry(w, id));
}

/* What is told of the bytes is what they are, after all that changes them. */
static void bytes_are_what_they_are(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    uint64_t sum = 0;
    w->room[1] = 2;
    uint64_t first = ledger_world_submit(w, &o);
    o.after = &first;
    o.after_count = 1;
    o.key = span_text("k");
    ledger_world_submit(w, &o);
    o = world_order("work");
    o.retries = 1;
    uint64_t third = ledger_world_submit(w, &o);
    ledger_world_settle(w);
    world_fail(world_run_of(w, third), "ODD", "not today");
    world_finish(world_run_of(w, first), "\xa4"
                                         "done");
    ledger_world_pass(w, AO_S(10));
    for (const struct entry *e = w->ledger->first; e; e = e->all_next)
        sum += entry_bytes(e);
    assert_int_equal(w->ledger->bytes, sum);
    sum = 0;
    for (const struct entry *e = w->ledger->ended.first; e; e = e->next)
        sum += entry_bytes(e);
    assert_int_equal(w->ledger->ended_bytes, sum);
    assert_true(sum > 0);
}

static int submit_all_kinds(void *arg)
{
    struct ledger_world *w = arg;
    struct order o = world_order("work");
    struct submitted done;
    char text[ASK_TEXT_MAX];
    uint64_t first = w->first_id;
    o.coalesce = span_text("c");
    o.limit_key = span_text("l");
    o.limit = 1;
    o.rate_key = span_text("r");
    o.rate = 1;
    o.rate_per = AO_S(1);
    o.after = &first;
    o.after_count = 1;
    o.delay = AO_S(1);
    int64_t live = heap_live();
    if (ledger_submit(w->ledger, &o, &done, text, sizeof text) != ERGON_OK) {
        assert_int_equal(heap_live(), live);
        return -1;
    }
    ledger_cancel(w->ledger, done.entry);
    keep_forget(w->ledger, done.entry);
    return 0;
}

/* What stays for good (a queue, a tenant, rooms in tables) is made by the first. */
static void without_memory_nothing_stays(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    w->room[1] = 0;
    w->quiet = true;
    ledger_world_submit(w, &o);
    assert_int_equal(submit_all_kinds(w), 0);
    for (int64_t n = 1;; n++) {
        heap_fail_at(n);
        int result = submit_all_kinds(w);
        bool met = heap_failed();
        heap_fail_at(0);
        if (!met) {
            assert_int_equal(result, 0);
            break;
        }
    }
}

/* Behind the entry up to some size, beyond it by themselves. */
static void parameters_are_of_any_size(void **state)
{
    static const size_t sizes[] = {0,
                                   1,
                                   ENTRY_BODY_STEP,
                                   ENTRY_BODY_STEP + 1,
                                   ENTRY_BODY_IN_PLACE,
                                   ENTRY_BODY_IN_PLACE + 1,
                                   100000};
    static uint8_t bytes[100000];
    struct ledger_world *w = *state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct order o = world_order("work");
        o.delay = AO_S(60);
        memset(bytes, (int)i + 1, sizes[i]);
        o.params = span_of(bytes, sizes[i]);
        const struct entry *e = world_entry(w, ledger_world_submit(w, &o));
        assert_true(span_equal(entry_params(e), o.params));
        assert_true(entry_bytes(e) >= sizeof *e + sizes[i]);
    }
}

int main(void)
{
#define SUBMIT(test) cmocka_unit_test_setup_teardown(test, ledger_stage, ledger_stage_end)
    const struct CMUnitTest tests[] = {
        SUBMIT(unknown_methods_are_refused),
        SUBMIT(a_durable_one_is_refused_without_a_store),
        SUBMIT(a_drained_queue_takes_no_more),
        SUBMIT(who_joins_finds_the_result),
        SUBMIT(a_server_that_stops_takes_no_more),
        SUBMIT(beyond_the_bound_it_is_busy),
        SUBMIT(what_has_ended_makes_room),
        SUBMIT(the_same_key_is_the_same_task),
        SUBMIT(a_shared_run_is_cancelled_by_the_last),
        SUBMIT(nobody_joins_a_run_that_is_being_cancelled),
        SUBMIT(another_method_shares_no_run),
        SUBMIT(callers_of_a_shared_run_get_one_result),
        SUBMIT(a_call_that_is_dropped_is_cancelled),
        SUBMIT(each_of_many_has_its_own_outcome),
        SUBMIT(what_is_refused_weighs_nothing),
        SUBMIT(bytes_are_what_they_are),
        SUBMIT(parameters_are_of_any_size),
        SUBMIT(without_memory_nothing_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
