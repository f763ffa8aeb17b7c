/* Cells come zeroed, and warm: last given, first taken. */
#include <string.h>

#include "base/slab.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

enum { MANY = 2000, MORE = 20000 }; /* some chunks full; more than are kept */

struct cell {
    void *link;
    uint64_t number;
    uint8_t memory[496];
};

TEST(last_given_first_taken)
{
    struct slab s;
    slab_init(&s, sizeof(struct cell), SLAB_KEPT);
    struct cell *a = slab_take(&s), *b = slab_take(&s);
    assert_non_null(a);
    assert_ptr_not_equal(a, b);
    assert_int_equal(a->number, 0);
    slab_give(&s, a);
    slab_give(&s, b);
    assert_ptr_equal(slab_take(&s), b);
    assert_ptr_equal(slab_take(&s), a);
    slab_fini(&s);
}

TEST(cells_do_not_overlap)
{
    static struct cell *cells[MANY];
    struct slab s;
    slab_init(&s, sizeof(struct cell), SLAB_KEPT);
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < MANY; i++) {
            cells[i] = slab_take(&s);
            assert_non_null(cells[i]);
            cells[i]->number = i;
            memset(cells[i]->memory, (int)i, sizeof cells[i]->memory);
        }
        for (uint64_t i = 0; i < MANY; i++) {
            assert_int_equal(cells[i]->number, i);
            assert_int_equal(cells[i]->memory[sizeof cells[i]->memory - 1], (uint8_t)i);
        }
        for (int i = 0; i < MANY; i++)
            slab_give(&s, cells[(i * 7 + round) % MANY]);
    }
    slab_fini(&s);
}

TEST(full_chunks_become_roomy_again)
{
    static struct cell *cells[MANY];
    struct slab s;
    slab_init(&s, sizeof(struct cell), SLAB_KEPT);
    for (int i = 0; i < MANY; i++)
        cells[i] = slab_take(&s);
    assert_non_null(LIST_FIRST(&s.full));
    for (int i = 0; i < MANY; i++)
        slab_give(&s, cells[i]);
    assert_null(LIST_FIRST(&s.full));
    assert_non_null(LIST_FIRST(&s.roomy));
    slab_fini(&s);
}

static uint64_t chunk_of(const struct cell *t)
{
    return (uintptr_t)t / SLAB_CHUNK_SIZE;
}

/* As many again as were given back at once come from the same memory; of a burst little stays. */
TEST(some_memory_stays)
{
    static struct cell *cells[MORE];
    uint64_t chunks[SLAB_KEPT];
    struct slab s;
    slab_init(&s, sizeof(struct cell), SLAB_KEPT);
    int count = 0;
    for (int i = 0; i < MORE; i++)
        cells[i] = slab_take(&s);
    for (int i = 0; i < MORE; i++)
        slab_give(&s, cells[i]);
    assert_int_equal(s.empty, SLAB_KEPT);
    for (; s.empty > 0; count++)
        cells[count] = slab_take(&s);
    for (int i = 0, n = 0; i < count; i++)
        if (n == 0 || chunks[n - 1] != chunk_of(cells[i])) {
            assert_true(n < SLAB_KEPT);
            chunks[n++] = chunk_of(cells[i]);
        }
    for (int i = 0; i < count; i++)
        slab_give(&s, cells[i]);
    assert_int_equal(s.empty, SLAB_KEPT);
    slab_fini(&s);
}

TEST(cells_are_of_any_size)
{
    struct slab s;
    slab_init(&s, 40, SLAB_KEPT);
    uint8_t *a = slab_take(&s), *b = slab_take(&s);
    assert_int_equal(b - a, 48);
    assert_int_equal((uintptr_t)a % 16, 0);
    assert_int_equal(slab_taken(&s), 2);
    slab_give(&s, a);
    slab_give(&s, b);
    assert_int_equal(slab_taken(&s), 0);
    slab_fini(&s);
    slab_init(&s, SLAB_CHUNK_SIZE / 2, 0);
    slab_give(&s, slab_take(&s)); /* one a chunk; none is kept */
    assert_null(LIST_FIRST(&s.roomy));
    slab_fini(&s);
}

TEST(without_memory_there_is_none)
{
    struct slab s;
    slab_init(&s, sizeof(struct cell), SLAB_KEPT);
    heap_fail_at(1);
    assert_null(slab_take(&s));
    assert_non_null(slab_take(&s));
    slab_fini(&s);
}
