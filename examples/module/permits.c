/* A semaphore that all tasks of the server share: three work at a time, whichever threads run them.
 *
 *     ergon call permits.work 7           works for two seconds
 *     ergon call permits.work 7 100ms     works for so long
 *     ergon call permits.alone 100ms      the same on a thread of its own, while no other works
 *
 * Answers how many were at work when it began, itself included. */
#include <time.h>

#include <ergon/handler.h>

enum { PERMITS = 3 };

/* Made by the first task, for ever.  Release by who made it, acquire by who finds it: the
 * semaphore behind it is complete. */
static _Atomic(struct ao_sem_remote *) permits;

/* A figure: the permits keep the order. */
static _Atomic int at_work;

struct work_state {
    struct ao_seq seq;
    struct ao_wait wait;
    uint64_t duration; /* ns */
    bool working;      /* holds a permit, and is counted in at_work */
};

/* It lives on one loop or another; all tasks reach it by messages. */
static struct ao_sem_remote *make(struct ergon_task *task)
{
    struct ao_sem_remote *made = ergon_sem_new(task, PERMITS), *other = NULL;

    if (!made || atomic_compare_exchange_strong(&permits, &other, made))
        return made;
    ao_sem_remote_unref(made); /* a task of another thread was first */
    return other;
}

static struct ao_sem_remote *shared(struct ergon_task *task)
{
    struct ao_sem_remote *there = atomic_load(&permits);

    return there ? there : make(task);
}

static enum ao_verdict work(struct ao *self, struct ergon_task *task, void *state)
{
    struct work_state *s = state;
    struct ergon_bytes number;

    AO_BEGIN(&s->seq);
    s->duration = AO_S(2);
    if (!ergon_params(task, "a|t", &number, &s->duration))
        return AO_DONE;
    if (!shared(task)) {
        ergon_fail(task, "MEMORY", "no memory for the semaphore");
        return AO_DONE;
    }
    AO_AWAIT(self, &s->seq, &s->wait,
             ao_sem_remote_acquire(shared(task), ergon_port(task), &s->wait));
    if (s->wait.outcome != AO_WAIT_READY) {
        ergon_fail(task, NULL, "got no permit");
        return AO_DONE;
    }
    s->working = true;
    ergon_result(task, "i", atomic_fetch_add(&at_work, 1) + 1);
    AO_SLEEP(self, &s->seq, s->duration);
    AO_END(&s->seq);
}

/* However it ended: after its sleep, cancelled in the middle of it, at its deadline. */
static void end_work(struct ergon_task *task, void *state)
{
    struct work_state *s = state;

    if (!s->working)
        return;
    atomic_fetch_sub(&at_work, 1);
    ao_sem_remote_release(shared(task));
}

/* The thread sleeps in pieces, so that it ends soon after a cancel. */
static void sleep_wanted(struct ergon_task *task, uint64_t ns)
{
    while (ns > 0 && !ergon_cancelled(task)) {
        uint64_t piece = ns < AO_MS(10) ? ns : AO_MS(10);

        nanosleep(&(struct timespec){.tv_nsec = (long)piece}, NULL);
        ns -= piece;
    }
}

/* It takes all permits at once.  Those who came before it go first, and nobody who comes after it,
 * even if one permit is free meanwhile. */
static void work_alone(struct ergon_task *task)
{
    uint64_t ns;

    if (!ergon_params(task, "t", &ns))
        return;
    if (!shared(task)) {
        ergon_fail(task, "MEMORY", "no memory for the semaphore");
        return;
    }
    /* The thread waits here, and the server's other threads go on. */
    if (ergon_sem_acquire(task, shared(task), PERMITS, AO_S(60)) != AO_WAIT_READY) {
        ergon_fail(task, NULL, "got no permits");
        return;
    }
    ergon_result(task, "i", atomic_fetch_add(&at_work, 1) + 1);
    sleep_wanted(task, ns);
    atomic_fetch_sub(&at_work, 1);
    ao_sem_remote_release_n(shared(task), PERMITS);
}

static const struct ergon_handler stepped = {.size = sizeof stepped,
                                             .kind = ERGON_STEPPED,
                                             .name = "permits.work",
                                             .summary = "works when one of three permits is free",
                                             .params = "[number, duration?]",
                                             .step = work,
                                             .state_size = sizeof(struct work_state),
                                             .cleanup = end_work};

static const struct ergon_handler blocking = {.size = sizeof blocking,
                                              .kind = ERGON_BLOCKING,
                                              .name = "permits.alone",
                                              .summary = "works when all three permits are free",
                                              .params = "[duration]",
                                              .run = work_alone};

ERGON_MODULE(permits_module, "permits", "1.0")
{
    return ergon_register(module, &stepped) || ergon_register(module, &blocking) ? -1 : 0;
}
