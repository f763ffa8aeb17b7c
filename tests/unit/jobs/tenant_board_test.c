/* The tenants that have most open jobs, and who keeps a place among them. */
#include "server/jobs/core/tenant_board.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

enum { TENANTS = TENANT_PLACES + 10 };

struct world {
    struct tenant_board board;
    uint16_t marks[TENANTS];
};

static int set_up(void **state)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    *state = &w;
    return 0;
}

#define BOARD_TEST(name) TEST_OF(struct world *w, NULL, set_up, NULL, name)

static void note(struct world *w, unsigned tenant, uint32_t open)
{
    char name[16];
    snprintf(name, sizeof name, "tenant %u", tenant);
    tenant_board_note(&w->board, &w->marks[tenant], span_text(name), open);
}

/* -1: it is not shown. */
static long shown(const struct world *w, const char *name)
{
    char found[TENANT_NAME_SHOWN];
    uint64_t open;
    for (unsigned i = 0; i < TENANT_PLACES; i++)
        if (tenant_board_read(&w->board, i, found, &open) && strcmp(found, name) == 0)
            return (long)open;
    return -1;
}

static void fill(struct world *w, uint32_t open)
{
    for (unsigned i = 0; i < TENANT_PLACES; i++)
        note(w, i, open);
}

BOARD_TEST(who_has_open_jobs_is_shown)
{
    note(w, 1, 1);
    note(w, 2, 1);
    note(w, 1, 2);
    note(w, 3, 0);
    assert_int_equal(shown(w, "tenant 1"), 2);
    assert_int_equal(shown(w, "tenant 2"), 1);
    assert_int_equal(shown(w, "tenant 3"), -1);
    note(w, 1, 0);
    assert_int_equal(shown(w, "tenant 1"), 0);
}

BOARD_TEST(who_leaves_is_shown_no_more_and_another_has_the_place)
{
    fill(w, 5);
    note(w, 100, 1);
    assert_int_equal(shown(w, "tenant 100"), -1);
    tenant_board_leave(&w->board, &w->marks[40]);
    assert_int_equal(shown(w, "tenant 40"), -1);
    note(w, 100, 3);
    assert_int_equal(shown(w, "tenant 100"), 3);
    assert_int_equal(w->marks[100], 41);
}

BOARD_TEST(a_place_is_given_up_to_who_has_more_than_twice_as_many)
{
    fill(w, 5);
    note(w, 7, 4);
    for (uint32_t open = 1; open <= 15; open++)
        note(w, 100, open);
    assert_int_equal(shown(w, "tenant 100"), -1); /* 8 is not more than 2 x 4 */
    note(w, 100, 16);
    assert_int_equal(shown(w, "tenant 100"), 16);
    assert_int_equal(shown(w, "tenant 7"), -1);
    assert_int_equal(w->marks[7], 0);
    note(w, 7, 3); /* it goes on without a place */
    assert_int_equal(shown(w, "tenant 7"), -1);
    tenant_board_leave(&w->board, &w->marks[7]);
    assert_int_equal(shown(w, "tenant 100"), 16);
}

BOARD_TEST(who_has_nothing_gives_its_place_to_the_next)
{
    fill(w, 5);
    note(w, 7, 0);
    note(w, 100, 1);
    assert_int_equal(shown(w, "tenant 100"), 1);
}

BOARD_TEST(a_long_name_is_cut)
{
    char name[2 * TENANT_NAME_SHOWN + 1], cut[TENANT_NAME_SHOWN];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memset(cut, 'x', sizeof cut - 1);
    cut[sizeof cut - 1] = '\0';
    tenant_board_note(&w->board, &w->marks[0], span_text(name), 4);
    assert_int_equal(shown(w, cut), 4);
}

BOARD_TEST(a_name_that_changes_is_not_read)
{
    note(w, 1, 1);
    atomic_fetch_add(&w->board.places[0].version, 1);
    assert_int_equal(shown(w, "tenant 1"), -1);
}
