/* What jobs have of each pool is made when the first of them is queued, whatever its index. */
#include "server/jobs/sched/fair_queue.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

enum { POOLS = 10000 };

TEST(a_pool_without_jobs_has_nothing)
{
    struct pool_table t = {0};
    assert_null(pool_table_find(&t, 0));
    struct pool_jobs *last = pool_table_get(&t, POOLS - 1, AO_S(1));
    assert_non_null(last);
    assert_int_equal(last->queue.pool, POOLS - 1);
    assert_int_equal(last->queue.ageing, AO_S(1));
    for (uint32_t i = 0; i < POOLS - 1; i++)
        assert_null(pool_table_find(&t, i));
    assert_ptr_equal(pool_table_get(&t, POOLS - 1, AO_S(1)), last);
    assert_null(pool_table_find(&t, UINT32_MAX));
    pool_table_fini(&t);
}

/* Its lists are pointed to by jobs: they stay where they are. */
TEST(it_stays_where_it_is)
{
    static struct pool_jobs *made[POOLS];
    struct pool_table t = {0};
    for (uint32_t i = 0; i < POOLS; i++)
        made[i] = pool_table_get(&t, i, 0);
    for (uint32_t i = 0; i < POOLS; i++)
        assert_ptr_equal(pool_table_find(&t, i), made[i]);
    pool_table_fini(&t);
}

static int make_two(void *arg)
{
    struct pool_table t = {0};
    bool made = pool_table_get(&t, 3, 0) && pool_table_get(&t, 300, 0);
    assert_true(made || !pool_table_find(&t, 300));
    pool_table_fini(&t);
    return made ? 0 : -1;
}

TEST(without_memory_there_is_none)
{
    heap_fail_each(make_two, NULL);
}
