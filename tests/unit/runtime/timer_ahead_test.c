/* Crowded slots of the timer move down ahead of their time, in small batches. */
#include <stdlib.h>
#include <string.h>

#include "server/runtime/object/timer.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"

enum { MANY = 100000 };

/* No look may do more than this beside what is due: some batches, and on each level the rest that
 * was left for the wheel. */
enum { LOOK_MAX = 3 * TIMER_CROWD };

static struct timer timer;
static struct ao objects[MANY];

static int set_up(void **state)
{
    timer_init(&timer, 0);
    memset(objects, 0, sizeof objects);
    return 0;
}

#define TIMER_AHEAD_TEST(name) TEST_WITH(set_up, NULL, name)

static void put(struct ao *ao, uint64_t tick)
{
    ao->due = AO_MS(tick);
    timer_insert(&timer, ao);
}

/* From one object to the next so many ticks, in hundredths. */
static void put_many(unsigned n, uint64_t first, unsigned every)
{
    for (unsigned i = 0; i < n; i++)
        put(&objects[i], first + (uint64_t)i * every / 100);
    assert_true(timer_validate(&timer));
}

/* How many are taken at `now`, in the order of `objects` from `from` on. */
static unsigned take_in_order(ao_time now, unsigned from)
{
    int budget = 2 * MANY;
    unsigned n = 0;
    struct ao *ao;
    for (; (ao = timer_take(&timer, now, &budget)); n++) {
        assert_ptr_equal(ao, &objects[from + n]);
        assert_true(ao->due <= now);
    }
    assert_true(2 * MANY - budget <= (int)n + LOOK_MAX);
    return n;
}

/* As an activator does that has nothing else to do; returns how often it looked. */
static unsigned run_all(unsigned count)
{
    unsigned looks = 0;
    for (unsigned taken = 0; taken < count; looks++) {
        ao_time now = timer_next(&timer);
        taken += take_in_order(now, taken);
        assert_true(timer_next(&timer) > now);
        if (looks % 64 == 0)
            assert_true(timer_validate(&timer));
    }
    assert_int_equal(timer_next(&timer), AO_NEVER);
    return looks;
}

TIMER_AHEAD_TEST(few_wake_nobody_ahead)
{
    put_many(TIMER_CROWD - 1, 10000, 100);
    assert_int_equal(timer_next(&timer), AO_MS(10000));
    put(&objects[TIMER_CROWD], 10000);
    assert_true(timer_next(&timer) < AO_MS(8192));
}

/* Nobody counts who is cancelled; one look finds that few are left. */
TIMER_AHEAD_TEST(a_crowd_that_is_cancelled_wakes_once)
{
    put_many(MANY, 10000, 0);
    for (unsigned i = 1; i < MANY; i++)
        timer_cancel(&timer, &objects[i]);
    assert_true(timer_validate(&timer));
    assert_int_equal(take_in_order(timer_next(&timer), 0), 0);
    assert_int_equal(timer_next(&timer), AO_MS(10000));
    assert_int_equal(take_in_order(AO_MS(10000), 0), 1);
}

/* They begin in the window before that slot, and have moved when it begins. */
TIMER_AHEAD_TEST(a_crowd_moves_in_the_window_before)
{
    enum { FIRST = 5 * 4096, COUNT = 20 * TIMER_CROWD };
    put_many(COUNT, FIRST, 10);
    assert_true(timer_next(&timer) > AO_MS(FIRST - 4096));
    unsigned looks = 0;
    for (ao_time now; (now = timer_next(&timer)) < AO_MS(FIRST - 64); looks++)
        assert_int_equal(take_in_order(now, 0), 0);
    assert_true(timer_validate(&timer));
    assert_true(timer.slots[2][0][5].count < TIMER_CROWD);
    assert_in_range(looks, 20, 80);
    run_all(COUNT);
}

TIMER_AHEAD_TEST(no_look_is_long)
{
    put_many(MANY, 12000, 2);
    run_all(MANY);
    put_many(MANY, (1 << 18) + 7, 60); /* most of them in one slot of the third level */
    run_all(MANY);
}

TIMER_AHEAD_TEST(a_crowd_of_the_fourth_level)
{
    put_many(MANY, (1 << 24) - 100, 2);
    run_all(MANY);
}

/* A wheel that stood in the middle of the window when they came has less time, not none. */
TIMER_AHEAD_TEST(a_crowd_that_comes_late)
{
    assert_int_equal(take_in_order(AO_MS(3000), 0), 0);
    put_many(MANY / 2, 4100, 2);
    run_all(MANY / 2);
}

/* As many in one tick as there are: all are due, so all are taken. */
TIMER_AHEAD_TEST(a_crowd_of_one_tick)
{
    put_many(MANY, 5000, 0);
    run_all(MANY);
}

/* Moves what is to be moved until `tick`, nothing of which is due. */
static void look_until(uint64_t tick)
{
    for (ao_time now; (now = timer_next(&timer)) <= AO_MS(tick);)
        assert_int_equal(take_in_order(now, 0), 0);
    assert_true(timer_validate(&timer));
}

TIMER_AHEAD_TEST(who_comes_during_the_move_comes_last)
{
    enum { COUNT = 8 * TIMER_CROWD };
    put_many(COUNT, 4200, 0);
    look_until(2000);
    assert_in_range(timer.slots[2][0][1].count, TIMER_CROWD, COUNT - TIMER_CROWD);
    put(&objects[COUNT], 4200);
    look_until(4000);
    put(&objects[COUNT + 1], 4200);
    look_until(4199);
    put(&objects[COUNT + 2], 4200);
    assert_int_equal(take_in_order(AO_MS(4200), 0), COUNT + 3);
}

/* Both what has moved and what has not; first, last and others. */
TIMER_AHEAD_TEST(cancel_during_the_move)
{
    enum { COUNT = 8 * TIMER_CROWD };
    put_many(COUNT, 4200, 0);
    look_until(2000);
    for (unsigned i = 0; i < COUNT; i += TIMER_CROWD / 4) {
        timer_cancel(&timer, &objects[i]);
        timer_cancel(&timer, &objects[COUNT - 1 - i]);
        assert_true(timer_validate(&timer));
    }
    for (unsigned i = 0; i < COUNT; i++)
        if (i % (TIMER_CROWD / 4) != 0 && (COUNT - 1 - i) % (TIMER_CROWD / 4) != 0)
            timer_cancel(&timer, &objects[i]);
    assert_true(timer_validate(&timer));
    assert_int_equal(timer_next(&timer), AO_NEVER);
}

/* The wheel leaves the window before the move has ended, and several more with it. */
TIMER_AHEAD_TEST(clock_jumps_during_the_move)
{
    enum { COUNT = 8 * TIMER_CROWD };
    static const uint64_t to[] = {4150, 5000, 9000, 20000, 1 << 19};
    for (unsigned i = 0; i < sizeof to / sizeof to[0]; i++) {
        timer_init(&timer, 0);
        put_many(COUNT, 4200, 100);
        look_until(2000);
        uint64_t due = to[i] < 4200 ? 0 : to[i] - 4200 + 1;
        unsigned taken = 0;
        int budget = 10 * COUNT;
        for (struct ao *ao; (ao = timer_take(&timer, AO_MS(to[i]), &budget)); taken++)
            assert_ptr_equal(ao, &objects[taken]);
        assert_int_equal(taken, due < COUNT ? due : COUNT);
        assert_true(timer_validate(&timer));
        while (taken < COUNT)
            taken += take_in_order(timer_next(&timer), taken);
    }
}

/* --- Against a model: all come out once, by tick, then by insertion --- */

enum { CROWD = 12000, TURNS = 6000, CLUSTER = 3000 };

struct job {
    struct ao ao;
    uint64_t tick, serial;
    bool in;
};

struct model {
    struct job entries[CROWD];
    uint64_t seed, serial, now; /* ms */
    uint64_t last_tick, last_serial;
    unsigned ahead; /* times that a window held some before it began */
};

static void insert(struct model *m, struct job *e, uint64_t tick)
{
    e->tick = tick;
    e->serial = m->serial++;
    e->in = true;
    put(&e->ao, tick);
}

static void cancel(struct job *e)
{
    timer_cancel(&timer, &e->ao);
    e->in = false;
}

/* Many come, some of them in each other's ticks, or some that are in go. */
static void change(struct model *m)
{
    unsigned some = (unsigned)chance(&m->seed, 40) == 0 ? CLUSTER : 20;
    uint64_t from = m->now + 1 + chance(&m->seed, UINT64_C(1) << chance(&m->seed, 20));
    uint64_t range = UINT64_C(1) << chance(&m->seed, 14);
    bool cancels = chance(&m->seed, 3) == 0;
    for (unsigned i = 0; i < some; i++) {
        struct job *e = &m->entries[chance(&m->seed, CROWD)];
        if (e->in && cancels)
            cancel(e);
        else if (!e->in)
            insert(m, e, from + chance(&m->seed, range));
    }
}

static void take_one(struct model *m, struct ao *ao)
{
    struct job *e = ao_of(ao, struct job, ao);
    assert_true(e->in && e->tick <= m->now);
    assert_true(e->tick > m->last_tick || (e->tick == m->last_tick && e->serial > m->last_serial));
    m->last_tick = e->tick;
    m->last_serial = e->serial;
    e->in = false;
}

static uint64_t first_tick(const struct model *m)
{
    uint64_t first = UINT64_MAX;
    for (const struct job *e = m->entries; e < m->entries + CROWD; e++)
        if (e->in && e->tick < first)
            first = e->tick;
    return first;
}

static void take_due(struct model *m)
{
    int budget = chance(&m->seed, 2) ? (int)chance(&m->seed, 700) : 1000000;
    for (struct ao *ao; (ao = timer_take(&timer, AO_MS(m->now), &budget));)
        take_one(m, ao);
    if (budget <= 0)
        return;
    uint64_t first = first_tick(m);
    ao_time next = timer_next(&timer);
    assert_true(first > m->now && next > AO_MS(m->now));
    assert_true(first == UINT64_MAX ? next == AO_NEVER : next <= AO_MS(first));
}

/* Mostly to the next look, at times over many windows. */
static void pass_time(struct model *m)
{
    ao_time next = timer_next(&timer);
    if (chance(&m->seed, 50) == 0)
        m->now += chance(&m->seed, UINT64_C(1) << chance(&m->seed, 20));
    else if (chance(&m->seed, 4) == 0)
        m->now += chance(&m->seed, 100);
    else if (next != AO_NEVER && next > AO_MS(m->now))
        m->now = next / AO_MS(1);
}

/* The windows after that of the wheel have parity of their own. */
static bool some_ahead(void)
{
    for (unsigned level = 0; level < TIMER_LEVELS - 1; level++)
        if (timer.occupied[level][~(timer.tick >> ((level + 1) * TIMER_BITS)) & 1])
            return true;
    return false;
}

TIMER_AHEAD_TEST(random_crowds_against_their_order)
{
    static struct model m;
    m.seed = 7;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        change(&m);
        pass_time(&m);
        take_due(&m);
        m.ahead += some_ahead();
        if (turn % 16 == 0)
            assert_true(timer_validate(&timer));
    }
    assert_in_range(m.ahead, TURNS / 10, TURNS);
}
