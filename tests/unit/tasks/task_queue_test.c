/* First in, first out, nested calls before the others; what is flagged is swept out. */
#include "server/tasks/manager/task_queue.h"
#include "tests/support/cmocka_env.h"

static struct task tasks[8];

static struct task *numbered(int n, uint8_t depth)
{
    struct task *t = &tasks[n];
    t->number = (uint64_t)n;
    t->depth = depth;
    atomic_store(&t->flags, 0);
#ifndef NDEBUG
    t->owner = TASK_OF_MANAGER;
#endif
    return t;
}

TEST(nested_calls_come_first)
{
    struct task_queue q = {0};
    assert_null(task_queue_first(&q));
    assert_null(task_queue_pop(&q));
    task_queue_push(&q, numbered(1, 0));
    task_queue_push(&q, numbered(2, 0));
    task_queue_push(&q, numbered(3, 1));
    task_queue_push(&q, numbered(4, 2));
    static const uint64_t order[] = {3, 4, 1, 2};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(q.length, 4 - i);
        struct task *first = task_queue_first(&q);
        assert_ptr_equal(task_queue_pop(&q), first);
        assert_int_equal(first->number, order[i]);
    }
    assert_int_equal(q.length, 0);
    assert_null(task_queue_first(&q));
}

TEST(what_was_given_back_goes_first)
{
    struct task_queue q = {0};
    task_queue_push_front(&q, numbered(1, 0));
    task_queue_push(&q, numbered(2, 0));
    task_queue_push_front(&q, numbered(0, 0));
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(task_queue_pop(&q)->number, i);
}

TEST(a_sweep_takes_the_flagged)
{
    struct task_queue q = {0};
    for (int i = 0; i < 6; i++) {
        task_queue_push(&q, numbered(i, i % 2 ? 1 : 0));
        if (i >= 2 && i <= 4)
            atomic_store(&tasks[i].flags, TASK_GONE);
    }
    struct task *swept = task_queue_sweep(&q);
    static const uint64_t out[] = {3, 2, 4}, left[] = {1, 5, 0};
    for (int i = 0; i < 3; i++, swept = swept->next)
        assert_int_equal(swept->number, out[i]);
    assert_null(swept);
    assert_int_equal(q.length, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(task_queue_pop(&q)->number, left[i]);
    assert_null(task_queue_sweep(&q));
}
