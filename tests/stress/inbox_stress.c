/* Threads ask objects of a running activator: no request is lost, and none meets freed memory when
 * it races with ao_retire() or activator_close(). */
#include <stdlib.h>

#include <pthread.h>

#include <ergon/activator.h>
#include <ergon/poller.h>
#include <sched.h>

#include "tests/support/cmocka_env.h"

enum { ASKERS = 2, OBJECTS = 4, ASKS = 30000 };

/* --- No request is lost --- */

struct post {
    struct ao ao;
    struct ao_handle *handle;
    _Atomic uint32_t posted; /* relaxed: ao_post() releases, the inbox acquires */
    uint32_t seen;
};

static struct post posts[OBJECTS];
static struct activator *loop;
static struct ao_handle *ender;
static int ended; /* home */

static enum ao_verdict post_step(struct ao *self)
{
    struct post *p = ao_of(self, struct post, ao);
    p->seen = atomic_load_explicit(&p->posted, memory_order_relaxed);
    return p->seen % 2 ? AO_DONE : AO_PARK;
}

static const struct ao_class post_class = {.name = "post", .step = post_step};

static _Atomic int askers_done;

static enum ao_verdict end_step(struct ao *self)
{
    ended = atomic_load(&askers_done);
    if (ended == ASKERS)
        activator_stop(loop);
    return AO_DONE;
}

static const struct ao_class end_class = {.name = "end", .step = end_step};

static void *ask_all(void *arg)
{
    for (int n = 0; n < ASKS; n++) {
        struct post *p = &posts[n % OBJECTS];
        atomic_fetch_add_explicit(&p->posted, 1, memory_order_relaxed);
        ao_post(p->handle, AO_POST_MESSAGE);
        if (n % 16 == 0)
            sched_yield();
    }
    atomic_fetch_add(&askers_done, 1);
    ao_post(ender, AO_POST_MESSAGE);
    return NULL;
}

TEST(no_request_is_lost)
{
    struct poller *poller = poller_eventfd_new();
    struct ao end;
    pthread_t threads[ASKERS];
    loop = activator_open(&(struct activator_options){.poller = poller, .core = -1});
    ao_init(&end, &end_class, loop);
    ender = ao_handle_new(&end);
    for (int i = 0; i < OBJECTS; i++) {
        ao_init(&posts[i].ao, &post_class, loop);
        posts[i].handle = ao_handle_new(&posts[i].ao);
    }
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_all, NULL), 0);
    activator_run(loop);
    for (int i = 0; i < ASKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < OBJECTS; i++) {
        assert_int_equal(posts[i].seen, ASKERS * ASKS / OBJECTS);
        ao_deactivate(&posts[i].ao);
        ao_handle_unref(posts[i].handle);
        ao_fini(&posts[i].ao);
    }
    ao_handle_unref(ender);
    ao_fini(&end);
    activator_close(loop);
    poller_eventfd_free(poller);
}

/* --- Asking what goes away --- */

enum { LIVES = 3000 };

/* Where askers find the handle of the object that lives now. */
static struct {
    pthread_mutex_t lock;
    struct ao_handle *handle;
} notice = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void publish(struct ao_handle *handle)
{
    pthread_mutex_lock(&notice.lock);
    struct ao_handle *old = notice.handle;
    notice.handle = handle;
    pthread_mutex_unlock(&notice.lock);
    if (old)
        ao_handle_unref(old);
}

static struct ao_handle *look_up(void)
{
    pthread_mutex_lock(&notice.lock);
    struct ao_handle *handle = ao_handle_ref(notice.handle);
    pthread_mutex_unlock(&notice.lock);
    return handle;
}

static int lives;
static struct ao *alive;
static const struct ao_class mayfly_class;

static void be_born(void)
{
    alive = malloc(sizeof *alive);
    ao_init(alive, &mayfly_class, loop);
    publish(ao_handle_new(alive));
}

static enum ao_verdict mayfly_step(struct ao *self)
{
    if (++lives == LIVES) {
        activator_stop(loop);
        return AO_DONE;
    }
    be_born();
    ao_retire(self);
    return AO_DONE;
}

static void mayfly_retired(struct ao *self)
{
    free(self);
}

static const struct ao_class mayfly_class = {
    .name = "mayfly", .step = mayfly_step, .retired = mayfly_retired};

static _Atomic bool closed;

/* An object that has gone answers so at once; goes on until the activator has gone as well. */
static void *pester(void *arg)
{
    uint64_t *refused = arg;
    bool last;
    do {
        last = atomic_load(&closed);
        struct ao_handle *handle = look_up();
        for (int i = 0; i < 4; i++)
            *refused += ao_post(handle, AO_POST_ACTIVATE) == AO_E_CLOSED;
        ao_handle_unref(handle);
    } while (!last);
    return NULL;
}

TEST(objects_and_activator_go_away)
{
    struct poller *poller = poller_eventfd_new();
    pthread_t threads[ASKERS];
    uint64_t refused[ASKERS] = {0};
    loop = activator_open(&(struct activator_options){.poller = poller, .core = -1});
    be_born();
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pester, &refused[i]), 0);
    activator_run(loop);
    struct ao_handle *last = look_up();
    activator_close(loop);
    poller_eventfd_free(poller); /* nobody calls its wake() any more */
    atomic_store(&closed, true);
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(refused[i] >= 4);
    }
    ao_fini(alive);
    free(alive);
    assert_int_equal(lives, LIVES);
    assert_int_equal(ao_post(last, AO_POST_WAKE), AO_E_CLOSED);
    ao_handle_unref(last);
    publish(NULL);
}
