/* The semaphore across activators: both race orders, in every interleaving of some rounds. */
#include "tests/unit/runtime/sem_stage.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 6 }; /* a tenth of the orders: each stage is ten times as slow */
#else
enum { ROUNDS = 8 };
#endif

static enum ao_verdict far_worker(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 ao_sem_remote_acquire(remote, away_port, &a->wait));
    actor_say_outcome(a, "is");
    if (a->wait.outcome == AO_WAIT_READY) {
        AO_SLEEP(self, &a->seq, AO_MS(10));
        ao_sem_remote_release(remote);
    }
    AO_END(&a->seq);
}

static enum ao_verdict near_worker(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT(self, &a->seq, &a->wait, ao_sem_acquire(&sem, &a->wait));
    actor_say_outcome(a, "is");
    if (a->wait.outcome == AO_WAIT_READY) {
        AO_SLEEP(self, &a->seq, AO_MS(10));
        ao_sem_release(&sem);
    }
    AO_END(&a->seq);
}

TEST(order_is_that_of_arrival_at_home)
{
    set_up(1);
    actor_enter('a', near_worker);
    actor_enter_at(stage.away, 'b', far_worker);
    virtual_run_until(&stage.v, AO_MS(1));
    actor_enter('c', near_worker);
    actor_enter_at(stage.away, 'd', far_worker);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[10] b is ready\n[20] c is ready\n[30] d is ready\n");
    assert_int_equal(sem.permits, 1);
    tear_down();
}

TEST(deadline_of_a_far_waiter)
{
    set_up(1);
    actor_enter('a', near_worker);
    actor_enter_at(stage.away, 'b', far_worker)->patience = AO_MS(4);
    actor_enter_at(stage.away, 'c', far_worker);
    virtual_run_until(&stage.v, AO_MS(5));
    assert_int_equal(ao_sem_waiting(&sem), 1); /* home has heard that it left */
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[4] b is deadline passed\n[10] c is ready\n");
    assert_int_equal(sem.permits, 1);
    tear_down();
}

TEST(the_semaphore_goes_first)
{
    set_up(0);
    actor_enter_at(stage.away, 'a', far_worker);
    virtual_run(&stage.v);
    ao_sem_fini(&sem);
    virtual_run(&stage.v);
    actor_enter_at(stage.away, 'b', far_worker);
    ao_sem_remote_release(remote);
    virtual_run(&stage.v);
    stage_expect("[0] a is closed\n[0] b is closed\n");
    tear_down();
}

TEST(releases_before_home_looks)
{
    set_up(0);
    assert_ptr_equal(ao_sem_share(&sem, home_port), remote); /* one remote, held twice */
    ao_sem_remote_unref(remote);
    for (int i = 0; i < 3; i++)
        ao_sem_remote_release(remote);
    virtual_run(&stage.v);
    assert_int_equal(sem.permits, 3);
    ao_sem_remote_release_n(remote, 4);
    ao_sem_remote_release(remote);
    virtual_run(&stage.v);
    assert_int_equal(sem.permits, 8);
    tear_down();
}

/* --- Interleavings: bit i of `order` says who has the i-th round --- */

static void play(unsigned order, int from, int to)
{
    for (int i = from; i < to; i++)
        virtual_round(&stage.v, order >> i & 1 ? stage.away : stage.home);
}

TEST(release_and_acquire_in_any_order)
{
    for (unsigned order = 0; order < 1u << ROUNDS; order++) {
        set_up(0);
        actor_enter_at(stage.away, 'a', far_worker);
        int cut = (int)(order % ROUNDS); /* the release comes here */
        play(order, 0, cut);
        ao_sem_remote_release(remote);
        play(order, cut, ROUNDS);
        virtual_run(&stage.v);
        stage_expect("[0] a is ready\n");
        assert_int_equal(sem.permits, 1);
        tear_down();
    }
}

/* The waiter goes at any moment: before its acquire arrives, while it waits, while the grant is
 * under way: the next one gets the permit, and it is neither lost nor doubled.  Or it goes when it
 * holds the permit: that stays with it, in the plain form. */
static void cancel_at(unsigned order, int release, int cancel)
{
    set_up(0);
    struct actor *a = actor_enter_at(stage.away, 'a', far_worker);
    struct actor *b = actor_enter_at(stage.away, 'b', far_worker);
    for (int i = 0; i < ROUNDS; i++) {
        if (i == release)
            ao_sem_release(&sem);
        if (i == cancel)
            ao_deactivate(&a->ao);
        play(order, i, i + 1);
    }
    virtual_run(&stage.v);
    bool held = a->wait.outcome == AO_WAIT_READY;
    assert_int_equal(b->wait.outcome, held ? AO_WAIT_PENDING : AO_WAIT_READY);
    assert_int_equal(sem.permits, held ? 0 : 1);
    assert_int_equal(ao_sem_waiting(&sem), held ? 1 : 0);
    assert_null(a->ao.waits);
    ao_deactivate(&b->ao);
    tear_down();
}

TEST(grant_crosses_cancel)
{
    for (unsigned order = 0; order < 1u << ROUNDS; order++)
        for (int release = 0; release < 4; release++)
            for (int cancel = 0; cancel < ROUNDS; cancel++)
                cancel_at(order, release, cancel);
}

/* --- Several permits at once --- */

static enum ao_verdict far_one_with_many(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 ao_sem_remote_acquire_n(remote, (uint32_t)a->i, away_port, &a->wait));
    actor_say_outcome(a, "is");
    if (a->wait.outcome == AO_WAIT_READY) {
        AO_SLEEP(self, &a->seq, AO_MS(10));
        ao_sem_remote_release_n(remote, (uint32_t)a->i);
    }
    AO_END(&a->seq);
}

static struct actor *enter_wanting(char name, int n)
{
    struct actor *a = actor_enter_at(stage.away, name, far_one_with_many);
    a->i = n;
    return a;
}

TEST(far_one_that_wants_many_is_not_overtaken)
{
    set_up(3);
    enter_wanting('a', 2);
    enter_wanting('b', 3);
    virtual_run_until(&stage.v, AO_MS(1));
    actor_enter('c', near_worker);
    enter_wanting('d', 3)->patience = AO_MS(4);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[5] d is deadline passed\n[10] b is ready\n[20] c is ready\n");
    assert_int_equal(sem.permits, 3);
    tear_down();
}

TEST(when_a_far_one_expires_those_behind_get_what_is_free)
{
    set_up(2);
    enter_wanting('a', 3)->patience = AO_MS(4);
    enter_wanting('b', 2);
    virtual_run(&stage.v);
    stage_expect("[4] a is deadline passed\n[4] b is ready\n");
    assert_int_equal(sem.permits, 2);
    tear_down();
}

/* The first of the queue, who wants many, goes at any moment: all that was granted goes to those
 * behind. */
TEST(grant_of_many_crosses_cancel)
{
    for (unsigned order = 0; order < 1u << ROUNDS; order++) {
        set_up(1);
        struct actor *a = enter_wanting('a', 3);
        enter_wanting('b', 1);
        enter_wanting('c', 2);
        play(order, 0, 3);
        ao_sem_remote_release_n(remote, 2);
        play(order, 3, 5);
        ao_deactivate(&a->ao);
        play(order, 5, ROUNDS);
        virtual_run(&stage.v);
        bool held = a->wait.outcome == AO_WAIT_READY;
        assert_int_equal(sem.permits, held ? 0 : 3);
        assert_int_equal(ao_sem_waiting(&sem), held ? 2 : 0);
        tear_down();
    }
}

static enum ao_verdict far_holder(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT(self, &a->seq, &a->permit.wait,
             ao_sem_remote_acquire_scoped(remote, away_port, &a->permit));
    actor_say(a, "begins");
    AO_SLEEP(self, &a->seq, AO_MS(10));
    if (a->name == 'f')
        return ao_fault(self, 1, "on purpose");
    actor_say(a, "ends");
    AO_END(&a->seq);
}

TEST(scoped_from_afar)
{
    set_up(1);
    actor_enter_at(stage.away, 'f', far_holder);
    struct actor *a = actor_enter_at(stage.away, 'a', far_holder);
    actor_enter_at(stage.away, 'b', far_holder);
    virtual_run_until(&stage.v, AO_MS(15));
    ao_deactivate(&a->ao);
    virtual_run(&stage.v);
    stage_expect("[0] f begins\n[10] f faulted: 1 on purpose\n[10] a begins\n"
                 "[15] b begins\n[25] b ends\n");
    assert_int_equal(sem.permits, 1);
    tear_down();
}

/* Everything is taken apart with messages under way, after any number of rounds. */
TEST(taken_apart_under_way)
{
    for (unsigned order = 0; order < 1u << 5; order++) {
        for (int rounds = 0; rounds <= 5; rounds++) {
            set_up(1);
            struct actor *a = actor_enter_at(stage.away, 'a', far_worker);
            struct actor *b = actor_enter_at(stage.away, 'b', far_worker);
            play(order, 0, rounds);
            ao_deactivate(&a->ao);
            ao_deactivate(&b->ao);
            tear_down();
        }
    }
}

TEST(no_memory_is_refused)
{
    set_up(1);
    actor_enter_at(stage.away, 'a', far_worker);
    heap_fail_at(1);
    virtual_run(&stage.v);
    assert_true(heap_failed());
    stage_expect("[0] a is out of memory\n");
    assert_int_equal(sem.permits, 1);
    tear_down();
}

static int make_and_drop(void *arg)
{
    ao_sem_init(&sem, 1);
    struct ao_port *port = ao_port_new(stage.home);
    struct ao_sem_remote *shared = port ? ao_sem_share(&sem, port) : NULL;
    int result = shared ? 0 : -1;
    if (shared)
        ao_sem_remote_unref(shared);
    ao_sem_fini(&sem);
    ao_port_free(port);
    return result;
}

STAGE_TEST(every_allocation_fails)
{
    heap_fail_each(make_and_drop, NULL);
}
