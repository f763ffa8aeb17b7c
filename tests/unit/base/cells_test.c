/* Cells of many sizes: each is whole, aligned and apart from the others, and takes what its size
 * says. */
#include <string.h>

#include "base/cells.h"
#include "tests/support/cmocka_env.h"

enum { EACH = 50 };

TEST(cells_of_all_sizes_are_apart)
{
    static uint8_t *at[CELL_MOST + 1][EACH];
    struct cells c;
    cells_init(&c);
    for (size_t size = 1; size <= CELL_MOST; size++)
        for (size_t i = 0; i < EACH; i++) {
            at[size][i] = cells_take(&c, size);
            assert_non_null(at[size][i]);
            assert_int_equal((uintptr_t)at[size][i] % CELL_STEP, 0);
            memset(at[size][i], (int)(size + i), size);
        }
    for (size_t size = 1; size <= CELL_MOST; size++)
        for (size_t i = 0; i < EACH; i++) {
            for (size_t byte = 0; byte < size; byte++)
                assert_int_equal(at[size][i][byte], (uint8_t)(size + i));
            cells_give(&c, at[size][i], size);
        }
    cells_fini(&c);
}

TEST(a_cell_is_used_again_for_any_length_of_its_size)
{
    struct cells c;
    cells_init(&c);
    void *first = cells_take(&c, CELL_STEP + 1), *other = cells_take(&c, CELL_STEP);
    cells_give(&c, first, CELL_STEP + 1);
    assert_ptr_equal(cells_take(&c, 2 * CELL_STEP), first);
    cells_give(&c, first, 2 * CELL_STEP);
    cells_give(&c, other, CELL_STEP);
    cells_fini(&c);
    assert_int_equal(cell_size(0), 0);
    assert_int_equal(cell_size(1), CELL_STEP);
    assert_int_equal(cell_size(CELL_STEP), CELL_STEP);
    assert_int_equal(cell_size(CELL_STEP + 1), 2 * CELL_STEP);
}
