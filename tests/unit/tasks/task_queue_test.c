/* Nested calls before the others; the lines of principals take turns, by time; first in, first out
 * in each; what is flagged is swept out. */
#include "server/tasks/manager/task_queue.h"

#include <stdlib.h>

#include "server/accounts/tally.h"
#include "tests/support/cmocka_env.h"

enum { ALICE = 1, CAROL = 5, BOB = 70 }; /* indexes of their accounts */

static struct task tasks[64];
static struct account accounts[BOB + 1];
static struct tally tallies[BOB + 1];
static const struct ergon_handler stepped = {.kind = ERGON_STEPPED},
                                  blocking = {.kind = ERGON_BLOCKING};
static struct method methods[] = {{.handler = &stepped, .service_ns = 50000},
                                  {.handler = &blocking, .service_ns = 1000000},
                                  {.handler = &blocking, .service_ns = 3000000}};

static struct task *numbered(int n, uint8_t depth)
{
    struct task *t = &tasks[n];
    t->number = (uint64_t)n;
    t->depth = depth;
    t->tally = NULL;
    t->method = &methods[0];
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

/* In one step. */
static struct task *sweep(struct task_queue *q)
{
    task_queue_begin_sweep(q);
    struct task *gone = task_queue_sweep(q, UINT32_MAX);
    assert_false(task_queue_sweeping(q));
    return gone;
}

TEST(a_sweep_takes_the_flagged)
{
    struct task_queue q = {0};
    for (int i = 0; i < 6; i++) {
        task_queue_push(&q, numbered(i, i % 2 ? 1 : 0));
        if (i >= 2 && i <= 4)
            atomic_store(&tasks[i].flags, TASK_GONE);
    }
    struct task *swept = sweep(&q);
    static const uint64_t out[] = {3, 2, 4}, left[] = {1, 5, 0};
    for (int i = 0; i < 3; i++, swept = swept->next)
        assert_int_equal(swept->number, out[i]);
    assert_null(swept);
    assert_int_equal(q.length, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(task_queue_pop(&q)->number, left[i]);
    assert_null(sweep(&q));
}

static struct task *of(int n, uint32_t whose, struct method *m)
{
    struct task *t = numbered(n, 0);
    accounts[whose].index = whose;
    tallies[whose].account = &accounts[whose];
    t->tally = &tallies[whose];
    t->method = m;
    return t;
}

static void expect(struct task_queue *q, const uint64_t *order, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(task_queue_pop(q)->number, order[i]);
    assert_null(task_queue_pop(q));
    task_queue_fini(q);
}

TEST(principals_take_turns)
{
    struct task_queue q = {0};
    for (int i = 0; i < 4; i++)
        task_queue_push(&q, of(i, ALICE, &methods[0]));
    task_queue_push(&q, of(4, BOB, &methods[0]));
    task_queue_push(&q, of(5, BOB, &methods[0]));
    task_queue_push(&q, numbered(6, 0));
    task_queue_push(&q, numbered(7, 0));
    expect(&q, (const uint64_t[]){0, 4, 6, 1, 5, 7, 2, 3}, 8);
}

TEST(nested_calls_go_first_and_are_paid_for)
{
    struct task_queue q = {0};
    for (int i = 0; i < 2; i++)
        task_queue_push(&q, of(i, ALICE, &methods[0]));
    for (int i = 2; i < 5; i++)
        task_queue_push(&q, of(i, BOB, &methods[0]));
    for (int i = 5; i < 7; i++) {
        struct task *t = of(i, ALICE, &methods[0]);
        t->depth = 1;
        task_queue_push(&q, t);
    }
    expect(&q, (const uint64_t[]){5, 6, 0, 2, 3, 4, 1}, 7);
    struct task *t = of(0, ALICE, &methods[1]);
    t->depth = 1;
    task_queue_push(&q, t); /* while she has no line */
    assert_int_equal(task_queue_pop(&q)->number, 0);
    task_queue_push(&q, of(1, ALICE, &methods[0]));
    task_queue_push(&q, of(2, BOB, &methods[0]));
    expect(&q, (const uint64_t[]){2, 1}, 2);
}

TEST(turns_are_by_time)
{
    struct task_queue q = {0};
    for (int i = 0; i < 2; i++)
        task_queue_push(&q, of(i, ALICE, &methods[2]));
    for (int i = 2; i < 8; i++)
        task_queue_push(&q, of(i, BOB, &methods[1]));
    expect(&q, (const uint64_t[]){0, 2, 3, 4, 1, 5, 6, 7}, 8);
}

TEST(who_comes_later_has_the_next_turn_and_no_more)
{
    struct task_queue q = {0};
    for (int i = 0; i < 5; i++)
        task_queue_push(&q, of(i, ALICE, &methods[0]));
    assert_int_equal(task_queue_pop(&q)->number, 0);
    assert_int_equal(task_queue_pop(&q)->number, 1);
    for (int i = 5; i < 8; i++)
        task_queue_push(&q, of(i, BOB, &methods[0]));
    expect(&q, (const uint64_t[]){5, 2, 6, 3, 7, 4}, 6);
}

TEST(who_comes_back_at_once_gains_nothing)
{
    struct task_queue q = {0};
    task_queue_push(&q, of(0, ALICE, &methods[0]));
    task_queue_push(&q, of(1, ALICE, &methods[0]));
    task_queue_push(&q, of(2, BOB, &methods[0]));
    assert_int_equal(task_queue_pop(&q)->number, 0);
    assert_int_equal(task_queue_pop(&q)->number, 2);
    task_queue_push(&q, of(3, BOB, &methods[0]));
    task_queue_push(&q, of(4, BOB, &methods[0]));
    expect(&q, (const uint64_t[]){1, 3, 4}, 3);
}

TEST(lines_are_set_aside)
{
    struct task_queue q = {0};
    task_queue_push(&q, of(0, ALICE, &methods[0]));
    task_queue_push(&q, of(1, ALICE, &methods[0]));
    task_queue_push(&q, of(2, BOB, &methods[0]));
    task_queue_push(&q, of(3, BOB + 0, &methods[0]));
    task_queue_push(&q, numbered(4, 0));
    task_queue_push_front(&q, of(5, ALICE, &methods[0]));
    task_queue_set_aside(&q); /* what was given back */
    task_queue_set_aside(&q); /* alice */
    assert_int_equal(task_queue_pop(&q)->number, 2);
    assert_int_equal(task_queue_pop(&q)->number, 4);
    assert_int_equal(task_queue_pop(&q)->number, 3);
    assert_null(task_queue_pop(&q));
    assert_int_equal(q.length, 3);
    task_queue_bring_back(&q);
    expect(&q, (const uint64_t[]){5, 0, 1}, 3);
}

/* Those that are aside stay so, and what came meanwhile does not. */
TEST(a_sweep_leaves_aside_what_is_aside)
{
    struct task_queue q = {0};
    task_queue_push(&q, of(0, ALICE, &methods[0]));
    task_queue_push(&q, of(1, ALICE, &methods[0]));
    task_queue_push(&q, of(2, BOB, &methods[0]));
    task_queue_push(&q, of(3, CAROL, &methods[0]));
    task_queue_set_aside(&q); /* alice */
    task_queue_set_aside(&q); /* bob */
    atomic_store(&tasks[0].flags, TASK_GONE);
    atomic_store(&tasks[2].flags, TASK_GONE);
    const struct task *gone = sweep(&q);
    assert_int_equal(gone->number + gone->next->number, 0 + 2);
    assert_int_equal(q.aside, 1);
    assert_int_equal(task_queue_pop(&q)->number, 3);
    assert_null(task_queue_first(&q));
    task_queue_push(&q, of(4, BOB, &methods[0]));
    assert_int_equal(task_queue_pop(&q)->number, 4);
    assert_null(task_queue_first(&q));
    task_queue_bring_back(&q);
    expect(&q, (const uint64_t[]){1}, 1);
}

TEST(a_line_that_was_swept_away_is_gone)
{
    struct task_queue q = {0};
    for (int i = 0; i < 4; i++)
        task_queue_push(&q, of(i, i == 3 ? BOB : ALICE, &methods[0]));
    for (int i = 0; i < 3; i++)
        atomic_store(&tasks[i].flags, TASK_GONE);
    assert_non_null(sweep(&q));
    expect(&q, (const uint64_t[]){3}, 1);
}

/* Of the tasks that a sweep took out, so many. */
static int gone_in(struct task_queue *q, uint32_t most)
{
    int count = 0;
    for (const struct task *t = task_queue_sweep(q, most); t; t = t->next, count++)
        assert_true(t->flags);
    return count;
}

/* It looks at a few tasks a step; what comes and goes meanwhile keeps its turn. */
TEST(a_sweep_goes_step_by_step)
{
    struct task_queue q = {0};
    for (int i = 0; i < 12; i++) {
        task_queue_push(&q, of(i, ALICE, &methods[0]));
        if (i % 3 != 0)
            atomic_store(&tasks[i].flags, TASK_GONE);
    }
    task_queue_push(&q, of(12, BOB, &methods[0]));
    atomic_store(&tasks[12].flags, TASK_GONE);
    assert_int_equal(gone_in(&q, 100), 0); /* none has begun */
    task_queue_begin_sweep(&q);
    int gone = 0;
    for (uint32_t steps = 0; gone < 4; steps++, gone += gone_in(&q, 4))
        assert_true(steps < 10);
    assert_in_range(gone, 4, 6);
    assert_true(task_queue_sweeping(&q));
    assert_int_equal(q.length, 13 - gone);
    assert_int_equal(task_queue_pop(&q)->number, 0); /* looked at, and kept */
    task_queue_push(&q, of(13, ALICE, &methods[0])); /* comes after it */
    atomic_store(&tasks[13].flags, TASK_GONE);
    task_queue_begin_sweep(&q); /* does nothing */
    while (task_queue_sweeping(&q))
        gone += gone_in(&q, 4);
    assert_int_equal(gone, 9);
    expect(&q, (const uint64_t[]){3, 6, 9, 13}, 4);
}

/* What has been looked at is gone, so the first of the rest is taken out of the sweep's way. */
TEST(what_is_taken_ahead_of_a_sweep_is_not_looked_at)
{
    struct task_queue q = {0};
    for (int i = 0; i < 4; i++) {
        task_queue_push(&q, of(i, ALICE, &methods[0]));
        if (i < 2)
            atomic_store(&tasks[i].flags, TASK_GONE);
    }
    task_queue_begin_sweep(&q);
    while (q.length > 2)
        gone_in(&q, 1);
    assert_true(task_queue_sweeping(&q));
    assert_int_equal(task_queue_pop(&q)->number, 2);
    while (task_queue_sweeping(&q))
        assert_int_equal(gone_in(&q, 1), 0);
    expect(&q, (const uint64_t[]){3}, 1);
}

/* At random, against a list: each is taken out once, in order, and no flagged one stays. */
TEST(sweeps_lose_nobody)
{
    enum { ROUNDS = 2000, MANY = sizeof tasks / sizeof tasks[0] };
    struct task_queue q = {0};
    bool in[MANY] = {0};
    uint32_t length = 0;
    srand(7);
    for (int i = 0; i < ROUNDS; i++) {
        int n = rand() % MANY;
        struct task *t;
        if (!in[n] && rand() % 2) {
            task_queue_push(&q, rand() % 4 ? of(n, (uint32_t)(rand() % 8), &methods[n % 3])
                                           : numbered(n, n % 2 ? 1 : 0));
            in[n] = true;
            length++;
        } else if (in[n] && rand() % 2) {
            atomic_store(&tasks[n].flags, TASK_GONE);
        } else if (rand() % 3 == 0 && (t = task_queue_pop(&q))) {
            assert_true(in[t->number]);
            in[t->number] = false;
            length--;
        }
        if (rand() % 20 == 0)
            task_queue_begin_sweep(&q);
        if (rand() % 10 == 0 && q.nested.length == 0)
            task_queue_set_aside(&q);
        for (t = task_queue_sweep(&q, 3); t; t = t->next, length--) {
            assert_true(in[t->number] && t->flags);
            in[t->number] = false;
        }
        assert_int_equal(q.length, length);
        if (rand() % 5 == 0) {
            task_queue_bring_back(&q);
            assert_true((task_queue_first(&q) != NULL) == (length > 0));
        }
    }
    task_queue_bring_back(&q);
    while (task_queue_pop(&q))
        length--;
    assert_int_equal(length, 0);
    task_queue_fini(&q);
}
