/* What a task holds: parameters, state, result, failure; each inline and in a block. */
#include "server/tasks/task_result.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static const struct ergon_handler handler = {.state_size = 16}, large = {.state_size = 4096};
static struct method method = {.handler = &handler}, large_method = {.handler = &large};
static uint8_t bytes[4096];

static struct task *begin(struct method *m, size_t params)
{
    static struct task t;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    task_begin(&t, m, span_of(bytes, params), AO_NEVER);
    return &t;
}

TEST(parameters_are_kept)
{
    static const size_t sizes[] = {0, 1, TASK_MEMORY, TASK_MEMORY + 1, 4096};
    int64_t live = heap_live();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct task *t = begin(&method, sizes[i]);
        assert_true(task_keep_params(t));
        assert_int_equal(t->params.len, sizes[i]);
        assert_ptr_not_equal(t->params.at, bytes);
        assert_memory_equal(t->params.at, bytes, sizes[i]);
        assert_int_equal(heap_live() - live, sizes[i] > TASK_MEMORY);
        task_end(t);
        assert_int_equal(heap_live(), live);
    }
    struct task *t = begin(&method, 4096);
    heap_fail_at(1);
    assert_false(task_keep_params(t));
    task_end(t);
}

TEST(state_is_zeroed)
{
    struct task *t = begin(&method, 0);
    memset(t->memory, 1, sizeof t->memory);
    assert_true(task_make_state(t));
    assert_int_equal(((uint8_t *)t->state)[15], 0);
    task_drop_state(t);
    t = begin(&large_method, 0);
    heap_fail_at(1);
    assert_false(task_make_state(t));
    assert_true(task_make_state(t));
    assert_int_equal(((uint8_t *)t->state)[4095], 0);
    task_drop_state(t);
    assert_null(t->state_block);
    task_end(t);
}

TEST(without_a_result_it_is_nil)
{
    struct outcome o;
    struct task *t = begin(&method, 0);
    task_outcome(t, &o);
    assert_int_equal(o.error, ERGON_OK);
    assert_true(span_equal(o.result, span_of("\xc0", 1)));
    assert_null(o.block);
    task_end(t);
}

TEST(a_result_grows_as_it_is_written)
{
    struct outcome o;
    struct task *t = begin(&method, 0);
    for (size_t i = 0; i < 4096; i += 64) {
        uint8_t *p = task_result_more(t, 64, 4096);
        assert_non_null(p);
        memcpy(p, bytes + i, 64);
        t->result_len += 64;
    }
    task_outcome(t, &o);
    assert_true(span_equal(o.result, span_of(bytes, 4096)));
    assert_ptr_equal(o.block, o.result.at);
    assert_null(task_result_more(t, 1, 4096));
    assert_int_equal(t->error, ERGON_E_TOO_LARGE);
    task_end(t);
}

TEST(no_result_is_beyond_all_bounds)
{
    struct task *t = begin(&method, 0);
    assert_non_null(task_result_more(t, 1, 4096));
    t->result_len = 1;
    assert_null(task_result_more(t, SIZE_MAX, 4096));
    assert_int_equal(t->error, ERGON_E_TOO_LARGE);
    task_end(t);
}

TEST(the_last_result_counts)
{
    struct task *t = begin(&method, 0);
    assert_non_null(task_result_room(t, 1000, 4096));
    t->result_len = 1000;
    assert_non_null(task_result_room(t, 4096, 4096));
    assert_int_equal(t->result_len, 0);
    assert_null(task_result_room(t, 4097, 4096));
    assert_null(task_result_room(t, 1, 4096));
    task_end(t);
    t = begin(&method, 0);
    heap_fail_at(1);
    assert_null(task_result_room(t, 1000, 4096));
    assert_int_equal(t->error, ERGON_E_MEMORY);
    task_end(t);
}

TEST(a_failure_is_cut_and_final)
{
    struct outcome o;
    struct task *t = begin(&method, 0);
    char text[1000];
    memset(text, 'x', sizeof text);
    task_fail(t, ERGON_E_FAILED, "MINE", span_of(text, sizeof text));
    task_fail(t, ERGON_E_MEMORY, NULL, span_text("later"));
    task_outcome(t, &o);
    assert_int_equal(o.error, ERGON_E_FAILED);
    assert_string_equal(o.code, "MINE");
    assert_int_equal(o.text.len, TASK_TEXT_MAX);
    task_end(t);
    t = begin(&method, 0);
    heap_fail_at(1);
    task_fail(t, ERGON_E_FAILED, "MINE", span_of(text, sizeof text));
    task_outcome(t, &o);
    assert_string_equal(o.code, "MINE");
    assert_int_equal(o.text.len, TASK_MEMORY - sizeof "MINE");
    task_end(t);
}

TEST(a_failure_is_utf8)
{
    struct outcome o;
    struct task *t = begin(&method, 0);
    char text[TASK_TEXT_MAX];
    task_fail(t, ERGON_E_FAILED, "MINE", span_text("caf\xe9 closed"));
    task_outcome(t, &o);
    assert_true(span_is(o.text, "caf\xef\xbf\xbd closed"));
    task_end(t);
    t = begin(&method, 0);
    task_fail(t, ERGON_E_FAILED, "MINE", span_of("got \0x\n", 7)); /* a database has no U+0000 */
    task_outcome(t, &o);
    assert_true(span_is(o.text, "got  x\n"));
    task_end(t);
    t = begin(&method, 0);
    memset(text, 0xe9, sizeof text);
    task_fail(t, ERGON_E_FAILED, "MINE", span_of(text, sizeof text));
    task_outcome(t, &o);
    assert_int_equal(o.text.len, TASK_TEXT_MAX / 3 * 3);
    task_end(t);
}

TEST(nothing_stands_in_two_places)
{
    struct outcome o;
    struct task *t = begin(&method, 40);
    assert_true(task_keep_params(t) && task_make_state(t));
    memset(t->state, 1, 16);
    uint8_t *p = task_result_room(t, 50, 4096);
    memset(p, 2, t->result_room);
    t->result_len = 50;
    assert_memory_equal(t->params.at, bytes, 40);
    assert_int_equal(((uint8_t *)t->state)[15], 1);
    assert_in_range(p - t->memory, 0, TASK_MEMORY - 50);
    assert_non_null(task_result_more(t, 200, 4096)); /* from the task's own memory to a block */
    t->result_len += 200;
    task_outcome(t, &o);
    assert_int_equal(o.result.at[49], 2);
    assert_ptr_equal(o.block, o.result.at);
    task_end(t);
}

TEST(a_failure_is_told_where_nothing_has_room)
{
    struct outcome o;
    struct task *t = begin(&method, TASK_MEMORY);
    assert_true(task_keep_params(t));
    heap_fail_at(1);
    task_fail(t, ERGON_E_FAILED, "MINE", span_text("why"));
    task_outcome(t, &o);
    assert_string_equal(o.code, "FAILED");
    assert_int_equal(o.text.len, 0);
    assert_memory_equal(t->params.at, bytes, TASK_MEMORY);
    task_end(t);
}

TEST(a_result_may_be_a_part_of_the_parameters)
{
    static const size_t sizes[] = {100, 4096};
    int64_t live = heap_live();
    struct outcome o;
    for (size_t i = 0; i < 2; i++) {
        struct task *t = begin(&method, sizes[i]);
        assert_non_null(task_result_room(t, 1000, 4096)); /* the last one counts */
        task_result_borrow(t, bytes + 1, sizes[i] - 1);
        assert_true(task_keep_params(t)); /* it moves with them */
        task_outcome(t, &o);
        assert_true(span_equal(o.result, span_of(bytes + 1, sizes[i] - 1)));
        assert_ptr_not_equal(o.result.at, bytes + 1);
        assert_int_equal(o.block != NULL, sizes[i] > TASK_MEMORY);
        task_end(t);
        assert_int_equal(heap_live(), live);
    }
}

TEST(what_is_written_behind_a_part_of_the_parameters_leaves_them)
{
    struct outcome o;
    struct task *t = begin(&method, 10);
    task_result_borrow(t, bytes, 10);
    uint8_t *p = task_result_more(t, 1, 4096);
    assert_non_null(p);
    *p = 99;
    t->result_len++;
    task_outcome(t, &o);
    assert_int_equal(o.result.len, 11);
    assert_memory_equal(o.result.at, bytes, 10);
    assert_int_equal(o.result.at[10], 99);
    assert_int_equal(bytes[10], 10);
    task_end(t);
}

TEST(where_parameters_end)
{
    struct task *t = begin(&method, 11);
    t->params = span_of(bytes + 1, 10);
    assert_true(task_in_params(t, bytes + 1, 10));
    assert_true(task_in_params(t, bytes + 10, 1));
    assert_false(task_in_params(t, bytes, 1));
    assert_false(task_in_params(t, bytes + 10, 2));
    assert_false(task_in_params(t, bytes + 12, 1));
    assert_false(task_in_params(t, bytes + 1, SIZE_MAX));
    task_end(t);
}

TEST(what_it_allocates_goes_with_it)
{
    int64_t live = heap_live();
    struct task *t = begin(&method, 0);
    for (size_t i = 1; i < 100; i++) {
        void *p = task_alloc(t, i);
        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, 1, i);
    }
    assert_null(task_alloc(t, SIZE_MAX));
    heap_fail_at(1);
    assert_null(task_alloc(t, 1));
    task_end(t);
    assert_int_equal(heap_live(), live);
}
