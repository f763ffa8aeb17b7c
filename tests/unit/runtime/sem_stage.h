/* A semaphore at home, shared with `away`: the stage of the tests about other threads.  Each test
 * of a program sets it up and tears it down; what was allocated is back then. */
#ifndef ERGON_TESTS_SEM_STAGE_H
#define ERGON_TESTS_SEM_STAGE_H

#include "tests/support/heap.h"
#include "tests/unit/runtime/stage.h"

static struct ao_sem sem;
static struct ao_sem_remote *remote;
static struct ao_port *home_port, *away_port;
static int64_t heap;

static void set_up(uint32_t permits)
{
    heap = heap_live();
    stage_open();
    ao_sem_init(&sem, permits);
    home_port = ao_port_new(stage.home);
    away_port = ao_port_new(stage.away);
    remote = ao_sem_share(&sem, home_port);
    assert_non_null(home_port);
    assert_non_null(away_port);
    assert_non_null(remote);
}

static void tear_down(void)
{
    virtual_close(&stage.v, stage.away);
    virtual_close(&stage.v, stage.home);
    ao_sem_fini(&sem);
    ao_sem_remote_unref(remote);
    ao_port_free(home_port);
    ao_port_free(away_port);
    stage_close();
    assert_int_equal(heap_live(), heap);
}

#endif
