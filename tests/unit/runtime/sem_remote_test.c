/* The semaphore across activators: both race orders, in every interleaving of some rounds. */
#include "tests/support/heap.h"
#include "tests/unit/runtime/stage.h"

enum { ROUNDS = 8 };

struct props {
    struct ao_sem sem;
    struct ao_sem_remote *remote;
    struct ao_port *home, *away;
    int64_t heap;
};

static struct props *props_of(struct actor *a)
{
    return a->stage->props;
}

static void set_up(struct stage *s, struct props *p, uint32_t permits)
{
    p->heap = heap_live();
    stage_open(s, p);
    ao_sem_init(&p->sem, permits);
    p->home = ao_port_new(s->home);
    p->away = ao_port_new(s->away);
    p->remote = ao_sem_share(&p->sem, p->home);
    assert_non_null(p->home);
    assert_non_null(p->away);
    assert_non_null(p->remote);
}

static void tear_down(struct stage *s, struct props *p)
{
    virtual_close(&s->v, s->away);
    virtual_close(&s->v, s->home);
    ao_sem_fini(&p->sem);
    ao_sem_remote_unref(p->remote);
    ao_port_free(p->home);
    ao_port_free(p->away);
    stage_close(s);
    assert_int_equal(heap_live(), p->heap);
}

static enum ao_verdict far_worker(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct props *p = props_of(a);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 ao_sem_remote_acquire(p->remote, p->away, &a->wait));
    actor_say_outcome(a, "is");
    if (a->wait.outcome == AO_WAIT_READY) {
        AO_SLEEP(self, &a->seq, AO_MS(10));
        ao_sem_remote_release(p->remote);
    }
    AO_END(&a->seq);
}

static enum ao_verdict near_worker(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct props *p = props_of(a);

    AO_BEGIN(&a->seq);
    AO_AWAIT(self, &a->seq, &a->wait, ao_sem_acquire(&p->sem, &a->wait));
    actor_say_outcome(a, "is");
    if (a->wait.outcome == AO_WAIT_READY) {
        AO_SLEEP(self, &a->seq, AO_MS(10));
        ao_sem_release(&p->sem);
    }
    AO_END(&a->seq);
}

TEST(order_is_that_of_arrival_at_home)
{
    struct stage s;
    struct props p;
    struct actor a, b, c, d;
    set_up(&s, &p, 1);
    actor_enter(&a, &s, s.home, 'a', near_worker);
    actor_enter(&b, &s, s.away, 'b', far_worker);
    virtual_run_until(&s.v, AO_MS(1));
    actor_enter(&c, &s, s.home, 'c', near_worker);
    actor_enter(&d, &s, s.away, 'd', far_worker);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n[10] b is ready\n[20] c is ready\n[30] d is ready\n");
    assert_int_equal(p.sem.permits, 1);
    tear_down(&s, &p);
}

TEST(deadline_of_a_far_waiter)
{
    struct stage s;
    struct props p;
    struct actor a, b, c;
    set_up(&s, &p, 1);
    actor_enter(&a, &s, s.home, 'a', near_worker);
    actor_enter(&b, &s, s.away, 'b', far_worker);
    b.patience = AO_MS(4);
    actor_enter(&c, &s, s.away, 'c', far_worker);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n[4] b is deadline passed\n[10] c is ready\n");
    assert_int_equal(p.sem.permits, 1);
    tear_down(&s, &p);
}

TEST(the_semaphore_goes_first)
{
    struct stage s;
    struct props p;
    struct actor a, b;
    set_up(&s, &p, 0);
    actor_enter(&a, &s, s.away, 'a', far_worker);
    virtual_run(&s.v);
    ao_sem_fini(&p.sem);
    virtual_run(&s.v);
    actor_enter(&b, &s, s.away, 'b', far_worker);
    ao_sem_remote_release(p.remote);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is closed\n[0] b is closed\n");
    tear_down(&s, &p);
}

TEST(releases_before_home_looks)
{
    struct stage s;
    struct props p;
    set_up(&s, &p, 0);
    assert_ptr_equal(ao_sem_share(&p.sem, p.home), p.remote); /* one remote, held twice */
    ao_sem_remote_unref(p.remote);
    for (int i = 0; i < 3; i++)
        ao_sem_remote_release(p.remote);
    virtual_run(&s.v);
    assert_int_equal(p.sem.permits, 3);
    tear_down(&s, &p);
}

/* --- Interleavings: bit i of `order` says who has the i-th round --- */

static void play(struct stage *s, unsigned order, int from, int to)
{
    for (int i = from; i < to; i++)
        virtual_round(&s->v, order >> i & 1 ? s->away : s->home);
}

TEST(release_and_acquire_in_any_order)
{
    for (unsigned order = 0; order < 1u << ROUNDS; order++) {
        struct stage s;
        struct props p;
        struct actor a;
        set_up(&s, &p, 0);
        actor_enter(&a, &s, s.away, 'a', far_worker);
        int cut = (int)(order % ROUNDS); /* the release comes here */
        play(&s, order, 0, cut);
        ao_sem_remote_release(p.remote);
        play(&s, order, cut, ROUNDS);
        virtual_run(&s.v);
        stage_expect(&s, "[0] a is ready\n");
        assert_int_equal(p.sem.permits, 1);
        tear_down(&s, &p);
    }
}

/* The waiter goes at any moment: before its acquire arrives, while it waits, while the grant is
 * under way: the next one gets the permit, and it is neither lost nor doubled.  Or it goes when it
 * holds the permit: that stays with it, in the plain form. */
static void cancel_at(unsigned order, int release, int cancel)
{
    struct stage s;
    struct props p;
    struct actor a, b;
    set_up(&s, &p, 0);
    actor_enter(&a, &s, s.away, 'a', far_worker);
    actor_enter(&b, &s, s.away, 'b', far_worker);
    for (int i = 0; i < ROUNDS; i++) {
        if (i == release)
            ao_sem_release(&p.sem);
        if (i == cancel)
            ao_deactivate(&a.ao);
        play(&s, order, i, i + 1);
    }
    virtual_run(&s.v);
    bool held = a.wait.outcome == AO_WAIT_READY;
    assert_int_equal(b.wait.outcome, held ? AO_WAIT_PENDING : AO_WAIT_READY);
    assert_int_equal(p.sem.permits, held ? 0 : 1);
    assert_int_equal(ao_sem_waiting(&p.sem), held ? 1 : 0);
    assert_null(a.ao.waits);
    ao_deactivate(&b.ao);
    tear_down(&s, &p);
}

TEST(grant_crosses_cancel)
{
    for (unsigned order = 0; order < 1u << ROUNDS; order++)
        for (int release = 0; release < 4; release++)
            for (int cancel = 0; cancel < ROUNDS; cancel++)
                cancel_at(order, release, cancel);
}

static enum ao_verdict far_holder(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct props *p = props_of(a);

    AO_BEGIN(&a->seq);
    AO_AWAIT(self, &a->seq, &a->permit.wait,
             ao_sem_remote_acquire_scoped(p->remote, p->away, &a->permit));
    actor_say(a, "begins");
    AO_SLEEP(self, &a->seq, AO_MS(10));
    if (a->name == 'f')
        return ao_fault(self, 1, "on purpose");
    actor_say(a, "ends");
    AO_END(&a->seq);
}

TEST(scoped_from_afar)
{
    struct stage s;
    struct props p;
    struct actor f, a, b;
    set_up(&s, &p, 1);
    actor_enter(&f, &s, s.away, 'f', far_holder);
    actor_enter(&a, &s, s.away, 'a', far_holder);
    actor_enter(&b, &s, s.away, 'b', far_holder);
    virtual_run_until(&s.v, AO_MS(15));
    ao_deactivate(&a.ao);
    virtual_run(&s.v);
    stage_expect(&s, "[0] f begins\n[10] f faulted: 1 on purpose\n[10] a begins\n"
                     "[15] b begins\n[25] b ends\n");
    assert_int_equal(p.sem.permits, 1);
    tear_down(&s, &p);
}

/* Everything is taken apart with messages under way, after any number of rounds. */
TEST(taken_apart_under_way)
{
    for (unsigned order = 0; order < 1u << 5; order++) {
        for (int rounds = 0; rounds <= 5; rounds++) {
            struct stage s;
            struct props p;
            struct actor a, b;
            set_up(&s, &p, 1);
            actor_enter(&a, &s, s.away, 'a', far_worker);
            actor_enter(&b, &s, s.away, 'b', far_worker);
            play(&s, order, 0, rounds);
            ao_deactivate(&a.ao);
            ao_deactivate(&b.ao);
            tear_down(&s, &p);
        }
    }
}

TEST(no_memory_is_refused)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, 1);
    actor_enter(&a, &s, s.away, 'a', far_worker);
    heap_fail_at(1);
    virtual_run(&s.v);
    assert_true(heap_failed());
    stage_expect(&s, "[0] a is out of memory\n");
    assert_int_equal(p.sem.permits, 1);
    tear_down(&s, &p);
}

struct attempt {
    struct stage *s;
    struct ao_sem sem;
};

static int make_and_drop(void *arg)
{
    struct attempt *t = arg;
    ao_sem_init(&t->sem, 1);
    struct ao_port *port = ao_port_new(t->s->home);
    struct ao_sem_remote *remote = port ? ao_sem_share(&t->sem, port) : NULL;
    int result = remote ? 0 : -1;
    if (remote)
        ao_sem_remote_unref(remote);
    ao_sem_fini(&t->sem);
    ao_port_free(port);
    return result;
}

TEST(every_allocation_fails)
{
    struct stage s;
    struct attempt t = {.s = &s};
    stage_open(&s, NULL);
    heap_fail_each(make_and_drop, &t);
    stage_close(&s);
}
