/* A connection on which nothing happens is closed; one that waits for an answer is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/net_world.h"

static void silence_ends_it(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    w.limits.idle_timeout = AO_MS(100);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    net_world_run_ms(&w, 60);
    net_send(&peer, 1, "echo", "");
    net_world_run_ms(&w, 1000);
    net_expect(&w, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[  60] conn 1     wrote 6 bytes, 0 left\n"
                   "[ 160] conn 1     OPEN -> CLOSED (idle for too long)\n"
                   "[ 160] conn 1     freed\n");
    assert_int_equal(w.echo.gone, 1);
    script_fini(&peer);
    net_world_fini(&w);
}

static void a_call_in_flight_is_no_silence(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    w.limits.idle_timeout = AO_MS(100);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    net_send(&peer, 1, "hold", "");
    net_world_run_ms(&w, 1050);
    echo_release(&w.echo, 1);
    net_world_run_ms(&w, 2000);
    net_expect(&w, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[1050] conn 1     wrote 5 bytes, 0 left\n"
                   "[1150] conn 1     OPEN -> CLOSED (idle for too long)\n"
                   "[1150] conn 1     freed\n");
    script_fini(&peer);
    net_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_ends_it),
        cmocka_unit_test(a_call_in_flight_is_no_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
