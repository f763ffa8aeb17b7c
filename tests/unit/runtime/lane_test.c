#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include "server/runtime/threads/lane.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/death.h"
#include "tests/support/heap.h"
#include "tests/support/virtual.h"

enum { ITEMS = 100, CAPACITY = 4 };

struct parcel {
    struct lane_item item;
    int number;
};

/* Takes at most `budget` items a step. */
struct taker {
    struct ao ao;
    struct lane lane;
    int budget, taken;
    bool faults;
};

static enum ao_verdict take(struct taker *t)
{
    struct lane_item *item = NULL;
    for (int n = 0; n < t->budget && (item = lane_take(&t->lane)); n++)
        assert_int_equal(ao_of(item, struct parcel, item)->number, t->taken++);
    lane_release(&t->lane);
    return AO_DONE;
}

static enum ao_verdict taker_step(struct ao *self)
{
    struct taker *t = ao_of(self, struct taker, ao);
    return t->faults ? ao_fault(self, 1, "broken") : take(t);
}

static const struct ao_class taker_class = {.name = "taker", .step = taker_step};

struct giver {
    struct ao ao;
    struct lane *lane;
    struct parcel parcels[ITEMS];
    int given, burst; /* a step */
};

static enum ao_verdict giver_step(struct ao *self)
{
    struct giver *g = ao_of(self, struct giver, ao);
    for (int n = 0; n < g->burst && g->given < ITEMS; n++) {
        g->parcels[g->given].number = g->given;
        lane_push(g->lane, &g->parcels[g->given++].item);
    }
    return g->given < ITEMS ? AO_AGAIN : AO_DONE;
}

static const struct ao_class giver_class = {.name = "giver", .step = giver_step};

struct world {
    struct virtual v;
    struct activator *from, *to;
    struct giver giver;
    struct taker taker;
};

static void link_up_with(struct world *w, struct activator *from, struct activator *to,
                         uint32_t capacity)
{
    w->giver = (struct giver){.lane = &w->taker.lane, .burst = 7};
    w->taker = (struct taker){.budget = 3};
    ao_init(&w->giver.ao, &giver_class, from);
    ao_init(&w->taker.ao, &taker_class, to);
    assert_int_equal(lane_init(&w->taker.lane, capacity, from, &w->taker.ao), 0);
}

static void link_up(struct world *w, struct activator *from, struct activator *to)
{
    link_up_with(w, from, to, CAPACITY);
}

static int set_up(void **state)
{
    static struct world w;
    virtual_init(&w.v);
    w.to = virtual_open(&w.v, "to");
    w.from = virtual_open(&w.v, "from");
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    virtual_fini(&w->v);
    lane_fini(&w->taker.lane);
    return 0;
}

#define LANE_TEST(name) TEST_OF(struct world *w, NULL, set_up, tear_down, name)

LANE_TEST(all_arrive_in_order_past_the_ring)
{
    link_up(w, w->from, w->to);
    ao_activate(&w->giver.ao);
    virtual_run(&w->v);
    assert_int_equal(w->taker.taken, ITEMS);
    assert_true(ring_validate(&w->taker.lane.ring));
}

LANE_TEST(both_ends_on_one_activator)
{
    link_up(w, w->to, w->to);
    ao_activate(&w->giver.ao);
    virtual_run(&w->v);
    assert_int_equal(w->taker.taken, ITEMS);
}

/* Between a giver and a taker in the list: how much was taken when its turn came. */
struct bystander {
    struct ao ao;
    const struct taker *taker;
    int saw;
};

static enum ao_verdict bystander_step(struct ao *self)
{
    struct bystander *b = ao_of(self, struct bystander, ao);
    b->saw = b->taker->taken;
    return AO_DONE;
}

static const struct ao_class bystander_class = {.name = "bystander", .step = bystander_step};

/* One round; the giver gives `burst`. */
static int seen_by_who_stands_between(struct world *w, int burst)
{
    struct bystander b = {.taker = &w->taker};
    link_up_with(w, w->to, w->to, ITEMS);
    w->giver.burst = burst;
    w->taker.budget = ITEMS;
    ao_init(&b.ao, &bystander_class, w->to);
    ao_activate(&w->giver.ao);
    ao_activate(&b.ao);
    virtual_round(&w->v, w->to);
    return b.saw;
}

LANE_TEST(a_batch_is_taken_out_of_turn)
{
    assert_int_equal(seen_by_who_stands_between(w, 16), 16);
    ao_deactivate(&w->giver.ao);
}

LANE_TEST(fewer_wait_until_all_had_their_turn)
{
    assert_int_equal(seen_by_who_stands_between(w, 3), 0);
    assert_int_equal(w->taker.taken, 3);
    ao_deactivate(&w->giver.ao);
}

LANE_TEST(published_at_the_rounds_end)
{
    struct parcel p = {.number = 0};
    link_up(w, w->from, w->to);
    lane_push(&w->taker.lane, &p.item);
    virtual_round(&w->v, w->to);
    assert_int_equal(w->taker.taken, 0);
    virtual_round(&w->v, w->from);
    virtual_round(&w->v, w->to);
    assert_int_equal(w->taker.taken, 1);
}

LANE_TEST(overflow_keeps_the_producer_busy)
{
    struct parcel p[CAPACITY + 1] = {0};
    link_up(w, w->from, w->to);
    for (int i = 0; i <= CAPACITY; i++) {
        p[i].number = i;
        lane_push(&w->taker.lane, &p[i].item);
    }
    assert_true(virtual_round(&w->v, w->from));
    virtual_round(&w->v, w->to);
    assert_false(virtual_round(&w->v, w->from));
    virtual_run(&w->v);
    assert_int_equal(w->taker.taken, CAPACITY + 1);
}

LANE_TEST(sleeping_receiver_is_woken)
{
    struct parcel p = {.number = 0};
    link_up(w, w->from, w->to);
    ao_sleep_for(&w->taker.ao, AO_S(1));
    lane_push(&w->taker.lane, &p.item);
    virtual_run(&w->v);
    assert_int_equal(w->taker.taken, 1);
    assert_int_equal(w->v.now, 0);
}

/* Else the activator would never block again. */
LANE_TEST(faulted_receiver_leaves_its_items)
{
    struct parcel p = {.number = 0};
    link_up(w, w->from, w->to);
    w->taker.faults = true;
    lane_push(&w->taker.lane, &p.item);
    virtual_run(&w->v);
    assert_int_equal(ao_state(&w->taker.ao), AO_STATE_FAULTED);
    w->taker.faults = false;
    ao_reset(&w->taker.ao);
    virtual_run(&w->v);
    assert_int_equal(w->taker.taken, 1);
}

LANE_TEST(fini_before_the_activators_close)
{
    struct taker other = {.budget = 3};
    struct parcel p = {.number = 0}, q = {.number = 0};
    link_up(w, w->from, w->to);
    ao_init(&other.ao, &taker_class, w->to);
    assert_int_equal(lane_init(&other.lane, CAPACITY, w->from, &other.ao), 0);
    lane_push(&other.lane, &q.item);
    lane_push(&w->taker.lane, &p.item);
    lane_fini(&other.lane);
    virtual_run(&w->v);
    assert_int_equal(w->taker.taken, 1);
    assert_int_equal(other.taken, 0);
}

static void count(void *arg)
{
    ++*(int *)arg;
}

static void count_nothing(void *arg)
{
    (void)arg;
}

LANE_TEST(to_a_plain_thread)
{
    struct waker waker;
    struct parcel p = {.number = 0};
    int wakes = 0;
    waker_init(&waker, count, &wakes);
    w->taker = (struct taker){0};
    assert_int_equal(lane_init_thread(&w->taker.lane, CAPACITY, NULL, &waker), 0);
    waker_announce(&waker);
    lane_push(&w->taker.lane, &p.item);
    assert_false(lane_ready(&w->taker.lane));
    assert_true(lane_flush(&w->taker.lane));
    assert_int_equal(wakes, 1);
    assert_true(lane_ready(&w->taker.lane));
    assert_ptr_equal(lane_take(&w->taker.lane), &p.item);
    lane_release(&w->taker.lane);
}

/* --- Items that are taken back --- */

/* A lane to a plain thread with `count` items, of which CAPACITY fit into the ring. */
static void fill(struct world *w, struct parcel *parcels, int count)
{
    static struct waker waker;
    waker_init(&waker, count_nothing, NULL);
    w->taker = (struct taker){0};
    assert_int_equal(lane_init_thread(&w->taker.lane, CAPACITY, NULL, &waker), 0);
    for (int i = 0; i < count; i++) {
        parcels[i].number = i;
        lane_push(&w->taker.lane, &parcels[i].item);
    }
    lane_flush(&w->taker.lane);
}

/* The last `most` that were not claimed are those numbered from `first` to `last`. */
static void expect_back(struct world *w, uint32_t most, int first, int last)
{
    struct lane_item *item = lane_take_back(&w->taker.lane, most);
    for (; item; item = item->next)
        assert_int_equal(ao_of(item, struct parcel, item)->number, first++);
    assert_int_equal(first, last + 1);
}

static void expect_claimed(struct world *w, int number)
{
    struct lane_item *item = lane_claim(&w->taker.lane);
    assert_non_null(item);
    assert_int_equal(ao_of(item, struct parcel, item)->number, number);
}

LANE_TEST(what_was_not_claimed_is_taken_back)
{
    struct parcel p[3];
    fill(w, p, 3);
    expect_claimed(w, 0);
    expect_back(w, 3, 1, 2);
    expect_back(w, 3, 0, -1);
    assert_true(lane_ready(&w->taker.lane)); /* the slots are in use */
    assert_null(lane_claim(&w->taker.lane));
    assert_false(lane_ready(&w->taker.lane));
    lane_release(&w->taker.lane);
    assert_true(ring_validate(&w->taker.lane.ring));
}

LANE_TEST(the_last_ones_are_taken_back)
{
    struct parcel p[4];
    fill(w, p, 4);
    expect_back(w, 0, 0, -1);
    expect_back(w, 1, 3, 3);
    expect_back(w, 1, 2, 2);
    lane_push(&w->taker.lane, &p[2].item); /* there is no slot for it */
    lane_flush(&w->taker.lane);
    expect_claimed(w, 0);
    expect_claimed(w, 1);
    assert_null(lane_claim(&w->taker.lane));
    lane_release(&w->taker.lane);
    lane_flush(&w->taker.lane);
    expect_claimed(w, 2);
    lane_release(&w->taker.lane);
}

LANE_TEST(what_has_no_slot_yet_is_taken_back_first)
{
    struct parcel p[7];
    fill(w, p, 7);
    expect_back(w, 2, 5, 6);
    expect_back(w, 1, 4, 4);
    lane_push(&w->taker.lane, &p[4].item);
    expect_back(w, 3, 2, 4);
    expect_claimed(w, 0);
    expect_claimed(w, 1);
    assert_null(lane_claim(&w->taker.lane));
    lane_release(&w->taker.lane);
}

/* Staged, and not published. */
LANE_TEST(what_the_consumer_cannot_see_yet_is_taken_back)
{
    struct parcel p[2];
    fill(w, p, 1);
    p[1].number = 1;
    lane_push(&w->taker.lane, &p[1].item);
    expect_back(w, 1, 1, 1);
    lane_flush(&w->taker.lane);
    expect_claimed(w, 0);
    assert_null(lane_claim(&w->taker.lane));
    lane_release(&w->taker.lane);
}

/* --- One thread at each end --- */

static void *push_one(void *arg)
{
    static struct parcel p;
    lane_push(arg, &p.item);
    return NULL;
}

static void *take_one(void *arg)
{
    lane_take(arg);
    return NULL;
}

static void on_a_thread(void *(*act)(void *), struct lane *l)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, act, l), 0);
    pthread_join(thread, NULL);
}

/* While its activator runs, another thread does what is the object's. */
struct trespass {
    struct ao ao;
    struct virtual *v;
    struct lane *lane;
    void *(*act)(void *);
};

static enum ao_verdict trespass_step(struct ao *self)
{
    struct trespass *t = ao_of(self, struct trespass, ao);
    on_a_thread(t->act, t->lane);
    return AO_DONE;
}

static const struct ao_class trespass_class = {.name = "trespass", .step = trespass_step};

static void trespass(void *arg)
{
    struct trespass *t = arg;
    ao_activate(&t->ao);
    virtual_run(t->v);
}

LANE_TEST(only_its_activator_pushes)
{
    struct trespass t = {.v = &w->v, .lane = &w->taker.lane, .act = push_one};
    link_up(w, w->from, w->to);
    ao_init(&t.ao, &trespass_class, w->from);
    expect_broken_assert(trespass, &t, "producer");
}

LANE_TEST(only_its_activator_takes)
{
    struct trespass t = {.v = &w->v, .lane = &w->taker.lane, .act = take_one};
    link_up(w, w->from, w->to);
    ao_init(&t.ao, &trespass_class, w->to);
    expect_broken_assert(trespass, &t, "consumer");
}

static void push_on_two_threads(void *lane)
{
    on_a_thread(push_one, lane);
    push_one(lane);
}

static void take_on_two_threads(void *lane)
{
    on_a_thread(take_one, lane);
    take_one(lane);
}

LANE_TEST(a_plain_end_is_of_one_thread)
{
    struct waker waker;
    waker_init(&waker, count, &(int){0});
    w->taker = (struct taker){0};
    assert_int_equal(lane_init_thread(&w->taker.lane, CAPACITY, NULL, &waker), 0);
    expect_broken_assert(push_on_two_threads, &w->taker.lane, "pusher");
    expect_broken_assert(take_on_two_threads, &w->taker.lane, "taker");
    on_a_thread(push_one, &w->taker.lane);
    assert_true(lane_flush(&w->taker.lane));
    on_a_thread(take_one, &w->taker.lane);
    lane_threads_ended(&w->taker.lane);
    take_one(&w->taker.lane);
    lane_release(&w->taker.lane);
}

static int init(void *arg)
{
    struct world *w = arg;
    struct lane lane;
    if (lane_init(&lane, CAPACITY, w->from, &w->taker.ao) != 0)
        return -1;
    lane_fini(&lane);
    return 0;
}

LANE_TEST(without_memory)
{
    link_up(w, w->from, w->to);
    heap_fail_each(init, w);
}
