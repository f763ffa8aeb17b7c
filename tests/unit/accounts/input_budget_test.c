/* The memory of messages that are not whole: never more than the limit, to the byte. */
#include "server/accounts/input_budget.h"

#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

enum { LIMIT = 1000 };

TEST(what_is_taken_never_exceeds_the_limit)
{
    struct input_budget b;
    struct input_keeper k = {0};

    input_budget_init(&b);
    assert_false(input_budget_take(&b, &k, LIMIT + 1, LIMIT));
    assert_true(input_budget_take(&b, &k, 600, LIMIT));
    assert_false(input_budget_take(&b, &k, 401, LIMIT));
    assert_false(input_budget_take(&b, &k, SIZE_MAX, LIMIT));
    assert_int_equal(input_budget_bytes(&b), 600);
    assert_true(input_budget_take(&b, &k, 400, LIMIT));
    assert_false(input_budget_take(&b, &k, 1, LIMIT));
    input_budget_give(&b, &k, 600);
    assert_true(input_budget_take(&b, &k, 1, LIMIT));
    input_budget_give(&b, &k, 401);
    assert_int_equal(input_budget_bytes(&b), 0);
    input_budget_fini(&b);
}

static int asked[3];

static enum ao_verdict look(struct ao *self);

static const struct ao_class keeper_class = {.name = "keeper", .step = look};
static struct ao keepers[3];

static enum ao_verdict look(struct ao *self)
{
    asked[self - keepers]++;
    return AO_DONE;
}

/* Three loops; the first wants what is not there. */
TEST(who_has_most_is_asked_and_one_at_a_time)
{
    enum { LOOPS = 3 };
    static const size_t has[LOOPS] = {100, 300, 600};
    struct input_budget b;
    struct input_keeper loops[LOOPS] = {0};
    struct virtual v;

    virtual_init(&v);
    struct activator *on = virtual_open(&v, "loop");
    input_budget_init(&b);
    for (int i = 0; i < LOOPS; i++) {
        asked[i] = 0;
        ao_init(&keepers[i], &keeper_class, on);
        loops[i].handle = ao_handle_new(&keepers[i]);
        input_budget_add(&b, &loops[i]);
        assert_true(input_budget_take(&b, &loops[i], has[i], LIMIT));
    }
    assert_false(input_budget_ask(&b, &loops[0], 500)); /* it would have as much itself */
    assert_false(input_budget_ask(&b, &loops[2], 1));
    assert_true(input_budget_ask(&b, &loops[0], 499));
    assert_true(input_budget_ask(&b, &loops[1], 10)); /* it is asked already */
    virtual_run(&v);
    assert_true(asked[0] == 0 && asked[1] == 0 && asked[2] == 1);
    assert_false(input_budget_is_asked(&b, &loops[1], LIMIT));
    assert_true(input_budget_is_asked(&b, &loops[2], LIMIT));
    input_budget_give(&b, &loops[2], 498);
    assert_true(input_budget_is_asked(&b, &loops[2], LIMIT));
    input_budget_give(&b, &loops[2], 1);
    assert_false(input_budget_is_asked(&b, &loops[2], LIMIT)); /* there is enough */
    input_budget_answer(&b, &loops[1]);                        /* was not asked */
    assert_true(input_budget_ask(&b, &loops[0], 1) && asked[1] == 0);
    input_budget_answer(&b, &loops[2]);
    assert_true(input_budget_ask(&b, &loops[0], 1)); /* the second has most now */
    virtual_run(&v);
    assert_int_equal(asked[1], 1);
    for (int i = 0; i < LOOPS; i++) {
        input_budget_give(&b, &loops[i], (size_t)atomic_load(&loops[i].shared));
        input_budget_remove(&b, &loops[i]);
        if (ao_state(&keepers[i]) != AO_STATE_INACTIVE)
            ao_deactivate(&keepers[i]);
        ao_fini(&keepers[i]);
        ao_handle_unref(loops[i].handle);
    }
    input_budget_fini(&b);
    virtual_fini(&v);
}
