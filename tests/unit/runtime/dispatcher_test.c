#include <stdlib.h>
#include <string.h>

#include "server/runtime/object/dispatcher.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

/* --- The list by itself --- */

TEST(walk_in_order)
{
    struct dispatcher d;
    struct ao x[3] = {0};
    dispatcher_init(&d);
    assert_null(dispatcher_front(&d));
    for (int i = 0; i < 3; i++)
        dispatcher_append(&d, &x[i]);
    assert_true(dispatcher_validate(&d));
    assert_ptr_equal(dispatcher_front(&d), &x[0]);
    dispatcher_begin(&d);
    assert_true(dispatcher_validate(&d));
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(dispatcher_next(&d), &x[i]);
    assert_null(dispatcher_next(&d));
    dispatcher_end(&d);
    assert_true(dispatcher_validate(&d));
}

TEST(removed_before_its_turn)
{
    struct dispatcher d;
    struct ao x[3] = {0};
    dispatcher_init(&d);
    for (int i = 0; i < 3; i++)
        dispatcher_append(&d, &x[i]);
    dispatcher_begin(&d);
    assert_ptr_equal(dispatcher_next(&d), &x[0]);
    dispatcher_remove(&d, &x[1]); /* the cursor stands on it */
    dispatcher_remove(&d, &x[0]); /* the one being stepped */
    dispatcher_append(&d, &x[1]); /* after the mark: not in this walk */
    assert_ptr_equal(dispatcher_next(&d), &x[2]);
    assert_null(dispatcher_next(&d));
    dispatcher_end(&d);
    assert_true(dispatcher_validate(&d));
    assert_int_equal(d.count, 2);
    assert_null(x[0].prev);
}

TEST(run_next_is_visited_next)
{
    struct dispatcher d;
    struct ao x[4] = {0};
    dispatcher_init(&d);
    for (int i = 0; i < 3; i++)
        dispatcher_append(&d, &x[i]);
    dispatcher_begin(&d);
    assert_ptr_equal(dispatcher_next(&d), &x[0]);
    dispatcher_run_next(&d, &x[2]); /* before its turn */
    dispatcher_run_next(&d, &x[2]); /* it is next already */
    assert_ptr_equal(dispatcher_next(&d), &x[2]);
    dispatcher_run_next(&d, &x[0]); /* once more */
    assert_ptr_equal(dispatcher_next(&d), &x[0]);
    assert_ptr_equal(dispatcher_next(&d), &x[1]);
    assert_true(dispatcher_at_end(&d));
    dispatcher_append(&d, &x[3]);
    dispatcher_run_next(&d, &x[3]); /* in this walk yet */
    assert_ptr_equal(dispatcher_next(&d), &x[3]);
    assert_null(dispatcher_next(&d));
    dispatcher_end(&d);
    assert_true(dispatcher_validate(&d));
}

TEST(validate_sees_a_wrong_link)
{
    struct dispatcher d;
    struct ao x = {0}, y = {0};
    dispatcher_init(&d);
    dispatcher_append(&d, &x);
    dispatcher_append(&d, &y);
    y.prev = &d.first;
    assert_false(dispatcher_validate(&d));
}

/* --- Random changes during walks, against a model ---
 *
 * Each step makes one to three changes to objects at random, itself included.  A model says which
 * objects this round must step, and in which order. */

enum { CROWD = 40, ROUNDS = 4000 };

struct member {
    struct ao ao;
    struct crowd *crowd;
    int number;
    uint64_t joined;  /* when it became active last, as a serial number */
    uint64_t stepped; /* in which round last */
};

struct crowd {
    struct virtual v;
    struct activator *loop;
    struct member members[CROWD];
    uint64_t serial; /* counts activations */
    uint64_t limit;  /* serial when this round began: later ones are for the next */
    uint64_t round;
    uint64_t last; /* serial of the object stepped before in this round */
};

static void join(struct member *m)
{
    bool was = ao_state(&m->ao) == AO_STATE_ACTIVE;
    if (ao_activate(&m->ao) == 0 && !was)
        m->joined = ++m->crowd->serial;
}

static void rouse(struct member *m)
{
    bool was = ao_state(&m->ao) == AO_STATE_SLEEPING;
    ao_wake(&m->ao);
    if (was)
        m->joined = ++m->crowd->serial;
}

static void change(struct crowd *c)
{
    struct member *m = &c->members[activator_random(c->loop) % CROWD];
    switch (activator_random(c->loop) % 4) {
    case 0:
    case 1:
        join(m);
        return;
    case 2:
        ao_deactivate(&m->ao);
        return;
    case 3:
        rouse(m);
        return;
    }
}

static enum ao_verdict member_step(struct ao *self)
{
    struct member *m = ao_of(self, struct member, ao);
    struct crowd *c = m->crowd;
    assert_true(m->joined <= c->limit); /* active when the round began */
    assert_true(m->joined > c->last);   /* in order */
    assert_true(m->stepped < c->round); /* once */
    c->last = m->joined;
    m->stepped = c->round;
    for (uint64_t n = activator_random(c->loop) % 3 + 1; n > 0; n--)
        change(c);
    switch (activator_random(c->loop) % 8) {
    case 0:
        return AO_PARK;
    case 1:
        return AO_DONE;
    default:
        return AO_AGAIN;
    }
}

static const struct ao_class member_class = {.name = "member", .step = member_step};

/* Who was active when the round began, and is still where it stood, has been stepped. */
static void check_none_left_out(struct crowd *c)
{
    for (int i = 0; i < CROWD; i++) {
        struct member *m = &c->members[i];
        if (ao_state(&m->ao) == AO_STATE_ACTIVE && m->joined <= c->limit)
            assert_int_equal(m->stepped, c->round);
    }
}

TEST(random_changes_while_walked)
{
    struct crowd *c = calloc(1, sizeof *c);
    virtual_init(&c->v);
    c->loop = virtual_open_with(&c->v, (struct activator_options){.seed = 7});
    for (int i = 0; i < CROWD; i++) {
        c->members[i] = (struct member){.crowd = c, .number = i};
        ao_init(&c->members[i].ao, &member_class, c->loop);
    }
    for (c->round = 1; c->round <= ROUNDS; c->round++) {
        for (int i = 0; i < 3; i++)
            change(c);
        c->limit = c->serial;
        c->last = 0;
        activator_round(c->loop, false);
        check_none_left_out(c);
    }
    for (int i = 0; i < CROWD; i++)
        ao_deactivate(&c->members[i].ao);
    virtual_fini(&c->v);
    free(c);
}
