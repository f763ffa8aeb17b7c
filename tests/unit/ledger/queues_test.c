/* queue.pause and queue.resume, with a store: what was answered holds after a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/support/heap.h"
#include "tests/support/ledger_stage.h"
#include "tests/support/notation.h"

static struct ask *ask(struct ledger_world *w, enum ask_verb verb)
{
    struct ask *a = world_ask(w, verb);
    a->name = span_text("work");
    world_give(w, a);
    return a;
}

static void says(struct ask *a, const char *wanted)
{
    char text[800];
    assert_int_equal(a->error, ERGON_OK);
    stage_holds(notation_show(pack_bytes(&a->result), text, sizeof text), wanted);
}

static bool is_paused(struct ledger_world *w)
{
    return ledger_queue(w->ledger, span_text("work"))->paused;
}

static void a_pause_is_answered_when_it_is_on_disk(void **state)
{
    struct ledger_world *w = *state;
    struct ask *a = ask(w, ASK_QUEUE_PAUSE);
    assert_true(is_paused(w));
    assert_false(world_answered(w, a));
    ledger_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, a));
    says(a, "'paused': true");
    assert_true(world_answered(w, ask(w, ASK_QUEUE_PAUSE)));
    ledger_world_crash(w);
    assert_true(is_paused(w));
    a = ask(w, ASK_QUEUE_RESUME);
    ledger_world_pass(w, AO_MS(1));
    says(a, "'paused': false");
    ledger_world_crash(w);
    assert_false(is_paused(w));
}

static void who_changes_a_mind_is_answered_with_the_last_word(void **state)
{
    struct ledger_world *w = *state;
    struct ask *first = ask(w, ASK_QUEUE_PAUSE), *second = ask(w, ASK_QUEUE_RESUME);
    ledger_world_pass(w, AO_MS(1));
    assert_false(world_answered(w, first));
    ledger_world_pass(w, AO_MS(1));
    says(first, "'paused': false");
    says(second, "'paused': false");
    ledger_world_crash(w);
    assert_false(is_paused(w));
}

static void a_pause_that_cannot_be_written_is_said_and_written_later(void **state)
{
    struct ledger_world *w = *state;
    w->store->error = STORE_FULL;
    struct ask *a = ask(w, ASK_QUEUE_PAUSE);
    ledger_world_pass(w, AO_MS(1));
    assert_int_equal(a->error, ERGON_E_STORE);
    assert_true(is_paused(w));
    a = ask(w, ASK_QUEUE_PAUSE);
    ledger_world_pass(w, AO_MS(1));
    assert_int_equal(a->error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    ledger_world_pass(w, AO_S(2));
    ledger_world_crash(w);
    assert_true(is_paused(w));
    w->store->error = STORE_IO;
    a = ask(w, ASK_QUEUE_RESUME);
    ledger_world_pass(w, AO_S(3));
    assert_int_equal(a->error, ERGON_E_STORE);
    assert_false(is_paused(w));
    w->store->error = STORE_OK;
    ledger_world_pass(w, AO_S(2));
    ledger_world_crash(w);
    assert_false(is_paused(w));
}

static void without_memory_it_is_said_too(void **state)
{
    struct ledger_world *w = *state;
    struct ask *a = NULL;
    ask(w, ASK_QUEUE_LIST);
    ledger_queue(w->ledger, span_text("work"));
    for (int64_t n = 1; !a || a->error != ERGON_OK; n++) {
        a = world_ask(w, ASK_QUEUE_PAUSE);
        a->name = span_text("work");
        heap_fail_at(n);
        world_give(w, a);
        ledger_world_pass(w, AO_MS(1));
        heap_fail_at(0);
        assert_true(world_answered(w, a));
    }
    ledger_world_pass(w, AO_S(2));
    ledger_world_crash(w);
    assert_true(is_paused(w));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ledger_stage_stored, ledger_stage_end)
    const struct CMUnitTest tests[] = {
        TEST(a_pause_is_answered_when_it_is_on_disk),
        TEST(who_changes_a_mind_is_answered_with_the_last_word),
        TEST(a_pause_that_cannot_be_written_is_said_and_written_later),
        TEST(without_memory_it_is_said_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
