/* Two activators on two threads hand parcels to and fro over lanes that are far too small.  Every
 * parcel makes every trip; both sleep between. */
#include <stdlib.h>

#include <pthread.h>

#include <ergon/poller.h>
#include <sched.h>

#include "server/runtime/threads/lane.h"
#include "tests/support/cmocka_env.h"

enum { PARCELS = 50, TRIPS = 400, CAPACITY = 8 };

struct parcel {
    struct lane_item item;
    int number, trips;
};

/* Takes what comes and sends it back. */
struct player {
    struct ao ao;
    struct lane inlet;
    struct lane *outlet;
    struct activator *loop;
    struct poller *poller;
    int taken, next; /* of parcels; they keep their order */
    int wrong, finished;
};

static void play(struct player *p, struct parcel *parcel)
{
    p->taken++;
    p->wrong += parcel->number != p->next;
    p->next = (p->next + 1) % PARCELS;
    if (++parcel->trips >= TRIPS)
        p->finished++;
    if (parcel->trips <= TRIPS) /* once more, so that both sides see the end */
        lane_push(p->outlet, &parcel->item);
}

static enum ao_verdict player_step(struct ao *self)
{
    struct player *p = ao_of(self, struct player, ao);
    struct lane_item *item;
    while ((item = lane_take(&p->inlet)))
        play(p, ao_of(item, struct parcel, item));
    lane_release(&p->inlet);
    if (p->finished == PARCELS)
        activator_stop(p->loop);
    return AO_DONE;
}

static const struct ao_class player_class = {.name = "player", .step = player_step};

static void player_open(struct player *p, enum idle_mode idle)
{
    *p = (struct player){.poller = poller_eventfd_new()};
    p->loop = activator_open(&(struct activator_options){
        .poller = p->poller, .core = -1, .idle = idle, .spin = AO_US(5)});
    assert_non_null(p->loop);
    ao_init(&p->ao, &player_class, p->loop);
}

/* What still waits for a slot when it stops is published in further rounds. */
static void *run_player(void *arg)
{
    struct player *p = arg;
    activator_run(p->loop);
    while (activator_round(p->loop, false))
        sched_yield();
    return NULL;
}

static void run(enum idle_mode idle)
{
    struct player x, y;
    struct parcel parcels[PARCELS];
    pthread_t thread;
    player_open(&x, idle);
    player_open(&y, idle);
    assert_int_equal(lane_init(&x.inlet, CAPACITY, y.loop, &x.ao), 0);
    assert_int_equal(lane_init(&y.inlet, CAPACITY, x.loop, &y.ao), 0);
    x.outlet = &y.inlet;
    y.outlet = &x.inlet;
    for (int i = 0; i < PARCELS; i++) {
        parcels[i] = (struct parcel){.number = i};
        lane_push(x.outlet, &parcels[i].item);
    }
    assert_int_equal(pthread_create(&thread, NULL, run_player, &y), 0);
    run_player(&x);
    pthread_join(thread, NULL);
    assert_int_equal(x.wrong + y.wrong, 0);
    assert_int_equal(x.taken + y.taken, (TRIPS + 1) * PARCELS);
    activator_close(x.loop);
    activator_close(y.loop);
    lane_fini(&x.inlet);
    lane_fini(&y.inlet);
    poller_eventfd_free(x.poller);
    poller_eventfd_free(y.poller);
}

TEST(sleeping)
{
    run(IDLE_SLEEP);
}

TEST(spinning_first)
{
    run(IDLE_SPIN);
}
