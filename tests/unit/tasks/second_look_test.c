/* The manager looks once more after it has announced that it waits for room: the model of
 * tests/model/manager.pml proves that it must, and here the C is forced into it.  The linker gives
 * us waker_announce(), and so the moment between the first look and the announcement. */
#include "tests/support/cmocka_env.h"
#include "server/tasks/executors/blocking.h"
#include "tests/support/tasks_world.h"

void __real_waker_announce(struct waker *w);
void __wrap_waker_announce(struct waker *w);

enum { CALLS = 8 };

static bool armed;
static uint32_t full; /* so many had the executor when there was no room */

static struct executor *blocking_one(void)
{
    return w.tasks->executors[1];
}

/* The executor ends what it has now, and tells whoever waits: nobody does yet. */
void __wrap_waker_announce(struct waker *waker)
{
    if (armed && waker == &w.tasks->shared.local[POOL_BLOCKING]->waiting_for_room) {
        armed = false;
        full = executor_outstanding(blocking_one());
        lane_flush(blocking_one()->in); /* else what it was given in this round were still here */
        assert_true(blocking_round(blocking_of(blocking_one())));
        assert_int_equal(executor_outstanding(blocking_one()), 0);
    }
    __real_waker_announce(waker);
}

static void rounds(void)
{
    for (int i = 0; i < 8; i++)
        activator_round(w.loops[0], false);
}

TEST(room_that_comes_before_the_announcement_is_seen)
{
    tasks_world_init(1, 1);
    w.quiet = true;
    w.executors[1].queue = 1;
    tasks_world_open();
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
    armed = true;
    rounds();
    assert_false(armed);
    assert_true(full > 0 && 2 * full <= CALLS);
    assert_int_equal(executor_outstanding(blocking_one()), full);
    tasks_world_run();
    assert_int_equal(w.ended, CALLS);
    tasks_world_fini();
}
