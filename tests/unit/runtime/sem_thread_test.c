/* The semaphore from threads that are no activator's: the order of arrival is that of all, and a
 * grant that meets the thread's leaving either counts or goes back, in every interleaving. */
#include <pthread.h>
#include <stdlib.h>

#include "server/runtime/sync/semaphore_remote.h"
#include "tests/unit/runtime/sem_stage.h"

enum { ROUNDS = 6, LEAVES_NEVER = ROUNDS };

/* What a thread would be: this one plays all of them. */
struct thread {
    struct thread_wait *wait;
    int woken;
};

static void wake(void *arg)
{
    struct thread *t = arg;
    t->woken++;
}

static void ask(uint32_t n, struct thread *self)
{
    *self = (struct thread){0};
    self->wait = sem_remote_wait(remote, n, (struct thread_bell){wake, self});
    assert_non_null(self->wait);
}

/* The answer, or NONE while there is none. */
static enum ao_wait_outcome take(struct thread *t)
{
    assert_int_equal(t->woken, thread_wait_answered(t->wait));
    return t->woken ? thread_wait_take(t->wait) : AO_WAIT_NONE;
}

static enum ao_verdict worker(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    if (a->name == 'n')
        AO_AWAIT(self, &a->seq, &a->wait, ao_sem_acquire_n(&sem, 2, &a->wait));
    else
        AO_AWAIT(self, &a->seq, &a->wait, ao_sem_remote_acquire_n(remote, 2, away_port, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

TEST(threads_and_objects_stand_in_one_queue)
{
    struct thread first, second;
    set_up(0);
    ask(3, &first);
    virtual_run(&stage.v);
    actor_enter('n', worker);
    virtual_run(&stage.v);
    ask(1, &second);
    virtual_run(&stage.v);
    actor_enter_at(stage.away, 'f', worker);
    virtual_run(&stage.v);
    assert_int_equal(ao_sem_waiting(&sem), 4);

    ao_sem_release_n(&sem, 2);
    virtual_run(&stage.v);
    assert_int_equal(take(&first), AO_WAIT_NONE);
    ao_sem_remote_release(remote);
    virtual_run(&stage.v);
    assert_int_equal(take(&first), AO_WAIT_READY);
    ao_sem_remote_release_n(remote, 2);
    virtual_run(&stage.v);
    stage_expect("[0] n is ready\n");
    assert_int_equal(take(&second), AO_WAIT_NONE);
    ao_sem_remote_release_n(remote, 3);
    virtual_run(&stage.v);
    assert_int_equal(take(&second), AO_WAIT_READY);
    stage_expect("[0] f is ready\n");
    assert_int_equal(sem.permits, 0);
    tear_down();
}

/* One that wants three leaves before the round `leave`, and the release comes before `release`: the
 * permits are its own or go to the two behind it, whichever was first at home. */
static void leaves_at(int release, int leave)
{
    struct thread first, second, third;
    set_up(1);
    ask(3, &first);
    ask(1, &second);
    ask(2, &third);
    bool left = false;
    for (int i = 0; i < ROUNDS; i++) {
        if (i == release)
            ao_sem_remote_release_n(remote, 2);
        if (i == leave)
            left = thread_wait_leave(first.wait);
        virtual_round(&stage.v, stage.home);
    }
    virtual_run(&stage.v);
    enum ao_wait_outcome behind = left ? AO_WAIT_READY : AO_WAIT_NONE;
    if (!left)
        assert_int_equal(take(&first), AO_WAIT_READY);
    assert_int_equal(ao_sem_waiting(&sem), left ? 0 : 2);
    assert_int_equal(take(&second), behind);
    assert_int_equal(take(&third), behind);
    assert_int_equal(sem.permits, 0);
    if (!left) {
        assert_true(thread_wait_leave(second.wait));
        assert_true(thread_wait_leave(third.wait));
    }
    assert_true(left || leave > release);
    assert_true(!left || first.woken == 0);
    tear_down();
}

TEST(grant_meets_leaving)
{
    for (int release = 0; release < ROUNDS; release++)
        for (int leave = 0; leave <= LEAVES_NEVER; leave++)
            leaves_at(release, leave);
}

/* Those behind it get what is free at once, without a release. */
TEST(who_leaves_lets_those_behind_it_go_on)
{
    struct thread first, second;
    set_up(2);
    ask(3, &first);
    ask(2, &second);
    virtual_run(&stage.v);
    assert_false(thread_wait_answered(second.wait));
    assert_true(thread_wait_leave(first.wait));
    virtual_run(&stage.v);
    assert_int_equal(take(&second), AO_WAIT_READY);
    assert_int_equal(sem.permits, 0);
    tear_down();
}

TEST(the_semaphore_goes_first)
{
    struct thread early, late, gone;
    set_up(0);
    ask(1, &early);
    virtual_run(&stage.v);
    ao_sem_fini(&sem);
    ask(1, &late);
    ask(1, &gone);
    assert_true(thread_wait_leave(gone.wait));
    virtual_run(&stage.v);
    assert_int_equal(take(&early), AO_WAIT_CLOSED);
    assert_int_equal(take(&late), AO_WAIT_CLOSED);
    assert_int_equal(gone.woken, 0);
    tear_down();
}

/* The letters still lie in the port when it is freed. */
TEST(the_port_goes_first)
{
    struct thread waits, gone;
    set_up(1);
    ask(1, &waits);
    ask(1, &gone);
    assert_true(thread_wait_leave(gone.wait));
    virtual_close(&stage.v, stage.home);
    virtual_close(&stage.v, stage.away);
    ao_port_free(home_port);
    assert_int_equal(take(&waits), AO_WAIT_CLOSED);
    assert_int_equal(gone.woken, 0);
    ao_sem_fini(&sem);
    ao_sem_remote_unref(remote);
    ao_port_free(away_port);
    stage_close();
    assert_int_equal(heap_live(), heap);
}

/* One that lives in its face is closed with the port of its home, for whoever waits: nobody else
 * would.  An object's wait is withdrawn with its activator, and leaves nothing. */
TEST(the_port_closes_what_lives_in_its_face)
{
    struct thread waits, behind, gone, late;
    set_up(0);
    struct ao_sem_remote *shared_one = remote;
    remote = ao_sem_remote_new(home_port, 1);
    assert_non_null(remote);
    ask(2, &waits);
    ask(1, &behind);
    ask(1, &gone);
    actor_enter_at(stage.away, 'f', worker);
    virtual_run(&stage.v);
    assert_int_equal(take(&waits), AO_WAIT_NONE);
    virtual_close(&stage.v, stage.away);
    virtual_close(&stage.v, stage.home);
    assert_true(thread_wait_leave(gone.wait));
    ao_port_free(home_port);
    assert_int_equal(take(&waits), AO_WAIT_CLOSED);
    assert_int_equal(take(&behind), AO_WAIT_CLOSED);
    assert_int_equal(gone.woken, 0);

    ask(1, &late);
    assert_int_equal(take(&late), AO_WAIT_CLOSED);
    ao_sem_remote_release(remote);
    assert_int_equal(ao_sem_remote_acquire_blocking(remote, 1, AO_NEVER), AO_WAIT_CLOSED);
    ao_sem_remote_unref(remote);
    ao_sem_fini(&sem);
    ao_sem_remote_unref(shared_one);
    ao_port_free(away_port);
    stage_close();
    assert_int_equal(heap_live(), heap);
}

static void *waits_without_limit(void *semaphore)
{
    enum ao_wait_outcome outcome;
    while ((outcome = ao_sem_remote_acquire_blocking(semaphore, 1, AO_NEVER)) == AO_WAIT_READY)
        ao_sem_remote_release(semaphore);
    ao_sem_remote_unref(semaphore);
    return (void *)(uintptr_t)outcome;
}

/* Whatever it is about when home goes. */
TEST(a_thread_without_a_limit_ends_with_its_home)
{
    for (int rounds = 0; rounds < 40; rounds++) {
        pthread_t thread;
        void *outcome;
        set_up(0);
        struct ao_sem_remote *own = ao_sem_remote_new(home_port, 1);
        assert_non_null(own);
        assert_int_equal(pthread_create(&thread, NULL, waits_without_limit, own), 0);
        for (int i = 0; i < rounds; i++)
            virtual_run(&stage.v);
        virtual_close(&stage.v, stage.away);
        virtual_close(&stage.v, stage.home);
        ao_sem_fini(&sem);
        ao_sem_remote_unref(remote);
        ao_port_free(home_port);
        pthread_join(thread, &outcome);
        assert_int_equal((uintptr_t)outcome, AO_WAIT_CLOSED);
        ao_port_free(away_port);
        stage_close();
        assert_int_equal(heap_live(), heap);
    }
}

static int made_and_asked(void *arg)
{
    struct ao_port *port = ao_port_new(stage.home);
    struct ao_sem_remote *r = port ? ao_sem_remote_new(port, 1) : NULL;
    struct thread_wait *t = r ? sem_remote_wait(r, 1, (struct thread_bell){wake, arg}) : NULL;
    int result = t ? 0 : -1;
    if (t)
        assert_true(thread_wait_leave(t));
    if (r)
        ao_sem_remote_unref(r);
    if (t) {
        heap_fail_at(0); /* the rounds are no part of it */
        virtual_run(&stage.v);
    }
    ao_port_free(port);
    return result;
}

STAGE_TEST(every_allocation_fails)
{
    struct thread self = {0};
    heap_fail_each(made_and_asked, &self);
}

/* --- Threads that wait --- */

TEST(the_limit_passes)
{
    set_up(1);
    assert_int_equal(ao_sem_remote_acquire_blocking(remote, 1, 0), AO_WAIT_DEADLINE);
    assert_int_equal(ao_sem_remote_acquire_blocking(remote, 1, AO_MS(1)), AO_WAIT_DEADLINE);
    virtual_run(&stage.v);
    assert_int_equal(sem.permits, 1);
    assert_int_equal(ao_sem_waiting(&sem), 0);
    tear_down();
}

TEST(no_memory_is_refused)
{
    set_up(1);
    heap_fail_at(1);
    assert_int_equal(ao_sem_remote_acquire_blocking(remote, 1, AO_NEVER), AO_WAIT_REFUSED);
    assert_true(heap_failed());
    tear_down();
}

static _Atomic bool over;

static void *acquires_and_releases(void *semaphore)
{
    for (int i = 0; i < 100; i++) {
        ao_time limit = i % 2 ? AO_NEVER : AO_S(3600);
        if (ao_sem_remote_acquire_blocking(semaphore, 2, limit) != AO_WAIT_READY)
            abort();
        ao_sem_remote_release_n(semaphore, 2);
    }
    ao_sem_remote_unref(semaphore);
    atomic_store(&over, true);
    return NULL;
}

/* One that lives in its face: the last reference to it is a thread's, and it ends with that. */
TEST(a_thread_waits_until_home_has_answered)
{
    pthread_t thread;
    set_up(0);
    struct ao_sem_remote *own = ao_sem_remote_new(home_port, 2);
    assert_non_null(own);
    assert_int_equal(pthread_create(&thread, NULL, acquires_and_releases, own), 0);
    while (!atomic_load(&over))
        virtual_run(&stage.v);
    pthread_join(thread, NULL);
    virtual_run(&stage.v);
    tear_down();
}
