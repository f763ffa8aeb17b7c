/* The memory of messages that are not whole: never more than the limit, to the byte. */
#include "server/accounts/input_budget.h"

#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

enum { LIMIT = 1000 };

TEST(what_is_taken_never_exceeds_the_limit)
{
    struct input_budget b;

    input_budget_init(&b);
    assert_false(input_budget_take(&b, LIMIT + 1, LIMIT));
    assert_true(input_budget_take(&b, 600, LIMIT));
    assert_false(input_budget_take(&b, 401, LIMIT));
    assert_false(input_budget_take(&b, SIZE_MAX, LIMIT));
    assert_int_equal(input_budget_bytes(&b), 600);
    assert_true(input_budget_take(&b, 400, LIMIT));
    assert_false(input_budget_take(&b, 1, LIMIT));
    input_budget_give(&b, 600);
    assert_true(input_budget_take(&b, 1, LIMIT));
    input_budget_give(&b, 401);
    assert_int_equal(input_budget_bytes(&b), 0);
    input_budget_fini(&b);
}

static int asked[2];

static enum ao_verdict look(struct ao *self);

static const struct ao_class keeper_class = {.name = "keeper", .step = look};
static struct ao keepers[2];

static enum ao_verdict look(struct ao *self)
{
    asked[self - keepers]++;
    return AO_DONE;
}

TEST(who_finds_too_little_asks_the_others)
{
    struct input_budget b;
    struct input_keeper loops[2] = {0};
    struct virtual v;

    virtual_init(&v);
    struct activator *on = virtual_open(&v, "loop");
    input_budget_init(&b);
    for (int i = 0; i < 2; i++) {
        asked[i] = 0;
        ao_init(&keepers[i], &keeper_class, on);
        loops[i].handle = ao_handle_new(&keepers[i]);
        input_budget_add(&b, &loops[i]);
    }
    for (int press = 0; press < 2; press++) {
        input_budget_ask(&b, &loops[0], press);
        virtual_run(&v);
        assert_int_equal(asked[0], 0);
        assert_int_equal(asked[1], press + 1);
        assert_false(input_budget_was_pressed(&b, &loops[0]));
        assert_int_equal(input_budget_was_pressed(&b, &loops[1]), press);
        assert_false(input_budget_was_pressed(&b, &loops[1]));
    }
    for (int i = 0; i < 2; i++) {
        input_budget_remove(&b, &loops[i]);
        if (ao_state(&keepers[i]) != AO_STATE_INACTIVE)
            ao_deactivate(&keepers[i]);
        ao_fini(&keepers[i]);
        ao_handle_unref(loops[i].handle);
    }
    input_budget_fini(&b);
    virtual_fini(&v);
}
