/* Records are named by index and generation: a name that was given back finds nobody. */
#include "server/tasks/calls/call_records.h"
#include "server/tasks/task.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/virtual.h"

static enum ao_verdict due(struct ao *self)
{
    return AO_DONE;
}

static const struct ao_class timer_class = {.name = "timer", .step = due};

static struct call_record *take(struct calls *c, struct activator *a)
{
    struct call_record *r = calls_take(c, NULL, &timer_class, a);
    if (r)
        r->open = true;
    return r;
}

TEST(a_name_dies_with_its_call)
{
    struct virtual v;
    struct calls c;
    virtual_init(&v);
    struct activator *a = virtual_open(&v, "loop");
    calls_init(&c);
    assert_null(calls_find(&c, 0, 0));
    struct call_record *r = take(&c, a);
    uint32_t index = r->call.index, generation = r->call.generation;
    assert_ptr_equal(calls_find(&c, index, generation), r);
    assert_null(calls_find(&c, index, generation + 1));
    assert_null(calls_find(&c, CALL_NONE, 0));
    r->open = false;
    calls_give(&c, r);
    assert_null(calls_find(&c, index, generation));
    assert_ptr_equal(take(&c, a), r);
    assert_null(calls_find(&c, index, generation));
    assert_ptr_equal(calls_find(&c, index, generation + 1), r);
    calls_fini(&c);
    virtual_fini(&v);
}

/* After a burst the memory goes back, and is made anew for the next. */
TEST(a_name_outlives_the_memory_of_its_record)
{
    enum { BURST = (CALLS_KEPT + 2) * CALLS_CHUNK };
    static struct call_record *records[BURST];
    struct virtual v;
    struct calls c;
    virtual_init(&v);
    struct activator *a = virtual_open(&v, "loop");
    calls_init(&c);
    for (int burst = 0; burst < 3; burst++) {
        uint32_t index = BURST - 1, generation;
        for (int i = 0; i < BURST; i++)
            records[i] = take(&c, a);
        assert_int_equal(records[index]->call.index, index);
        generation = records[index]->call.generation;
        assert_ptr_equal(calls_find(&c, index, generation), records[index]);
        for (int i = BURST; i-- > 0;) {
            records[i]->open = false;
            calls_give(&c, records[i]);
        }
        calls_shrink(&c);
        assert_int_equal(c.chunk_count, CALLS_KEPT);
        assert_null(calls_find(&c, index, generation));
        for (int i = 0; i < BURST; i++)
            records[i] = take(&c, a);
        assert_null(calls_find(&c, index, generation)); /* it is another call's record now */
        for (int i = BURST; i-- > 0;) {
            records[i]->open = false;
            calls_give(&c, records[i]);
        }
        calls_shrink(&c);
    }
    calls_fini(&c);
    virtual_fini(&v);
}

TEST(a_walk_finds_the_open_ones)
{
    struct virtual v;
    struct calls c;
    struct call_record *records[2 * CALLS_CHUNK];
    virtual_init(&v);
    struct activator *a = virtual_open(&v, "loop");
    calls_init(&c);
    for (int i = 0; i < 2 * CALLS_CHUNK; i++)
        records[i] = take(&c, a);
    for (int i = 0; i < 2 * CALLS_CHUNK; i++)
        records[i]->open = i % 100 == 0;
    int found = 0;
    for (struct call_record *r = calls_open_from(&c, 0); r;
         r = calls_open_from(&c, r->call.index + 1))
        assert_ptr_equal(r, records[100 * found++]);
    assert_int_equal(found, 3);
    calls_fini(&c);
    virtual_fini(&v);
}

TEST(without_memory_there_is_none)
{
    struct virtual v;
    struct calls c;
    virtual_init(&v);
    struct activator *a = virtual_open(&v, "loop");
    int64_t live = heap_live();
    calls_init(&c);
    for (int n = 1; n <= 2; n++) {
        heap_fail_at(n);
        assert_null(take(&c, a));
        assert_int_equal(c.taken, 0);
    }
    assert_non_null(take(&c, a));
    calls_fini(&c);
    assert_int_equal(heap_live(), live);
    virtual_fini(&v);
}

/* --- After a burst --- */

enum { BURST = 5 * CALLS_GIVEN_BACK * CALLS_CHUNK };

static struct call_record *burst[BURST];

static void take_burst(struct calls *c, struct activator *a, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        burst[i] = take(c, a);
        assert_non_null(burst[i]);
        assert_ptr_equal(calls_find(c, burst[i]->call.index, burst[i]->call.generation), burst[i]);
    }
}

static void give_burst(struct calls *c, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        burst[i]->open = false;
        calls_give(c, burst[i]);
    }
}

TEST(memory_goes_back_in_pieces)
{
    struct virtual v;
    struct calls c;
    int64_t live = heap_live();
    virtual_init(&v);
    struct activator *a = virtual_open(&v, "loop");
    calls_init(&c);
    take_burst(&c, a, 0, BURST);
    assert_int_equal(c.chunk_count, 5 * CALLS_GIVEN_BACK);
    give_burst(&c, 0, BURST - 1);
    assert_false(calls_shrink(&c)); /* one is in use */
    assert_int_equal(c.chunk_count, 5 * CALLS_GIVEN_BACK);
    give_burst(&c, BURST - 1, BURST);
    for (uint32_t left = 5; left > 1; left--) {
        assert_true(calls_shrink(&c));
        assert_int_equal(c.chunk_count, (left - 1) * CALLS_GIVEN_BACK);
    }
    assert_false(calls_shrink(&c));
    assert_int_equal(c.chunk_count, CALLS_KEPT);
    assert_false(calls_shrink(&c));
    calls_fini(&c);
    virtual_fini(&v);
    assert_int_equal(heap_live(), live);
}

/* A call of before the burst's end may still be under way: its name finds nobody, in records that
 * were kept as in those that were made anew. */
TEST(calls_go_on_while_memory_goes_back)
{
    enum { NEW = 3 * CALLS_GIVEN_BACK * CALLS_CHUNK };
    struct virtual v;
    struct calls c;
    virtual_init(&v);
    struct activator *a = virtual_open(&v, "loop");
    calls_init(&c);
    take_burst(&c, a, 0, BURST);
    uint32_t generation = burst[BURST - 1]->call.generation, index = burst[BURST - 1]->call.index;
    give_burst(&c, 0, BURST);
    assert_true(calls_shrink(&c));
    take_burst(&c, a, 0, NEW);
    bool more = true;
    while (more)
        more = calls_shrink(&c);
    assert_int_equal(c.chunk_count, 3 * CALLS_GIVEN_BACK);
    assert_int_equal(c.taken, NEW);
    for (uint32_t i = 0; i < NEW; i++)
        assert_ptr_equal(calls_find(&c, burst[i]->call.index, burst[i]->call.generation), burst[i]);
    take_burst(&c, a, NEW, BURST);
    assert_null(calls_find(&c, index, generation));
    give_burst(&c, 0, BURST);
    calls_fini(&c);
    virtual_fini(&v);
}
