/* The choice as a table of cases, and the bound as another. */
#include "server/tasks/manager/placement.h"
#include "tests/support/cmocka_env.h"

#define S(out, bnd, ...)                                                                           \
    {                                                                                              \
        .outstanding = (out), .bound = (bnd), .weight = 1, __VA_ARGS__                             \
    }

struct scene {
    const char *what;
    enum placement_policy policy;
    struct snapshot executors[4];
    uint32_t count;
    int home, last, expected;
};

static const struct scene scenes[] = {
    {"nobody", PLACEMENT_OCCUPANCY, {{0}}, 0, -1, -1, PLACEMENT_NONE},
    {"all full", PLACEMENT_OCCUPANCY, {S(2, 2), S(1, 1)}, 2, 0, -1, PLACEMENT_NONE},
    {"closed", PLACEMENT_OCCUPANCY, {S(0, 0), S(1, 2)}, 2, 0, -1, 1},
    {"the emptier", PLACEMENT_OCCUPANCY, {S(2, 4), S(1, 4), S(3, 4)}, 3, -1, -1, 1},
    {"relative, not absolute", PLACEMENT_OCCUPANCY, {S(2, 16), S(1, 2)}, 2, -1, -1, 0},
    {"absolute", PLACEMENT_LENGTH, {S(2, 16), S(1, 2)}, 2, -1, -1, 1},
    {"home wins a tie", PLACEMENT_OCCUPANCY, {S(1, 4), S(1, 4), S(1, 4)}, 3, 1, 1, 1},
    {"home does not win without one", PLACEMENT_OCCUPANCY, {S(0, 4), S(1, 4)}, 2, 1, -1, 0},
    {"in turn", PLACEMENT_OCCUPANCY, {S(0, 4), S(0, 4), S(0, 4)}, 3, -1, 0, 1},
    {"in turn, around", PLACEMENT_OCCUPANCY, {S(0, 4), S(0, 4), S(0, 4)}, 3, -1, 2, 0},
    {"in turn, past the full", PLACEMENT_OCCUPANCY, {S(0, 4), S(4, 4), S(0, 4)}, 3, -1, 0, 2},
    {"the higher priority, though fuller",
     PLACEMENT_PRIORITY,
     {S(0, 4, .priority = 0), S(3, 4, .priority = -5)},
     2,
     0,
     -1,
     1},
    {"the lower priority when the other is full",
     PLACEMENT_PRIORITY,
     {S(0, 4, .priority = 0), S(4, 4, .priority = -5)},
     2,
     0,
     -1,
     0},
    {"by share of what was given, whatever is outstanding",
     PLACEMENT_WEIGHT,
     {{.outstanding = 0, .bound = 9, .weight = 1, .history = 2},
      {.outstanding = 4, .bound = 9, .weight = 3, .history = 4}},
     2,
     -1,
     -1,
     1},
    {"no weight counts as one",
     PLACEMENT_WEIGHT,
     {{.bound = 9, .history = 1}, {.bound = 9, .weight = 3, .history = 5}},
     2,
     -1,
     -1,
     0},
    {"its share waits for who is full",
     PLACEMENT_WEIGHT,
     {{.bound = 9, .weight = 1, .history = 2},
      {.outstanding = 1, .bound = 1, .weight = 3, .history = 4, .awaited = true}},
     2,
     -1,
     -1,
     PLACEMENT_NONE},
    {"and not for who is stuck",
     PLACEMENT_WEIGHT,
     {{.bound = 9, .weight = 1, .history = 2},
      {.outstanding = 1, .bound = 1, .weight = 3, .history = 4}},
     2,
     -1,
     -1,
     0},
    {"who takes turns beside others begins later",
     PLACEMENT_COMPLETION,
     {S(0, 9, .hand_over_ns = 10000), S(0, 9, .turning = 3)},
     2,
     1,
     -1,
     0},
    {"the fewest that take turns, before home",
     PLACEMENT_OCCUPANCY,
     {S(0, 9, .turning = 2), S(0, 9, .turning = 1), S(0, 9, .turning = 5)},
     3,
     0,
     -1,
     1},
    {"the sooner end",
     PLACEMENT_COMPLETION,
     {S(3, 9, .service_ns = 1000, .hand_over_ns = 10), S(1, 9, .service_ns = 9000)},
     2,
     -1,
     -1,
     0},
    {"home pays no hand-over",
     PLACEMENT_COMPLETION,
     {S(0, 9, .hand_over_ns = 10000), S(1, 9, .service_ns = 500, .hand_over_ns = 10000)},
     2,
     1,
     -1,
     1},
};

TEST(the_choice)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        const struct scene *s = &scenes[i];
        int chosen = placement_choose(s->policy, s->executors, s->count, s->home, s->last);
        if (chosen != s->expected)
            fail_msg("%s: %d instead of %d", s->what, chosen, s->expected);
    }
}

/* What the short cut relies on: no others make the loop prefer them to its own idle executor. */
TEST(an_idle_home_comes_first)
{
    static const enum placement_policy all[] = {PLACEMENT_OCCUPANCY, PLACEMENT_LENGTH,
                                                PLACEMENT_COMPLETION};
    uint64_t random = 7;
    for (int i = 0; i < 10000; i++) {
        struct snapshot s[4];
        for (int n = 0; n < 4; n++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            s[n] = (struct snapshot){.outstanding = (uint32_t)(random >> 33) % 3,
                                     .bound = (uint32_t)(random >> 36) % 5,
                                     .weight = 1,
                                     .service_ns = (random >> 40) % 3000,
                                     .hand_over_ns = (random >> 50) % 3000};
        }
        int home = (int)(random >> 62);
        s[home].outstanding = 0;
        s[home].bound += 1;
        for (size_t m = 0; m < sizeof all / sizeof *all; m++) {
            assert_true(placement_prefers_idle_home(all[m]));
            assert_int_equal(placement_choose(all[m], s, 4, home, i % 4), home);
        }
    }
    assert_false(placement_prefers_idle_home(PLACEMENT_PRIORITY));
    assert_false(placement_prefers_idle_home(PLACEMENT_WEIGHT));
}

TEST(the_bound)
{
    static const struct {
        uint64_t service, hand_over;
        uint32_t cap, expected;
    } cases[] = {
        {0, 0, 64, 5},            /* nothing is known yet: a guess */
        {1000, 3000, 64, 7},      /* 1 + 2Z/S */
        {100, 1, 64, 50},         /* nothing to hide, but 5 us of work delay nobody */
        {500, 5000, 64, 21},      /* brief: a batch covers the hand-over */
        {500, 50000, 64, 40},     /* no more than 20 us of work */
        {500, 5000, 8, 8},        /* the hard cap */
        {1000000, 50000, 64, 2},  /* slow, the hand-over matters a little */
        {10000000, 50000, 64, 1}, /* very slow: nobody waits behind it */
        {10000000, 50000, 0, 0},  /* a cap of none */
        {30000, 3000000, 64, 2},  /* a hand-over longer than all patience */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(placement_bound(cases[i].service, cases[i].hand_over, cases[i].cap),
                         cases[i].expected);
}
