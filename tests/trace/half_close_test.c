/* FIN means no more requests: what was asked is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/net_world.h"

static void answers_come_after_the_fin(void **state)
{
    struct net_world w;
    struct script peer;
    char ids[64];

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    net_send(&peer, 1, "hold", "");
    net_send(&peer, 2, "hold", "");
    net_send(&peer, 3, "poll", "");
    net_send(&peer, 4, "echo", "");
    script_send_eof(&peer);
    net_world_run_ms(&w, 2);
    assert_string_equal(net_answered(&peer, ids, sizeof ids), "4");
    echo_release(&w.echo, 2);
    net_world_run_ms(&w, 5);
    assert_false(peer.closed);
    echo_release(&w.echo, 1);
    net_world_run_ms(&w, 6);
    assert_string_equal(net_answered(&peer, ids, sizeof ids), "4 1 2 3");
    assert_true(peer.closed);
    net_expect(&w, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[   0] conn 1     wrote 6 bytes, 0 left\n"
                   "[   0] conn 1     OPEN -> DRAINING (peer eof, 3 in flight)\n"
                   "[   2] conn 1     wrote 10 bytes, 0 left\n"
                   "[   5] conn 1     wrote 5 bytes, 0 left\n"
                   "[   5] conn 1     DRAINING -> CLOSED (all answered)\n"
                   "[   5] conn 1     freed\n");
    script_fini(&peer);
    net_world_fini(&w);
}

static void a_fin_inside_a_message_is_an_end_too(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    script_send(&peer, span_of("\x94\x00", 2));
    script_send_eof(&peer);
    net_world_run_ms(&w, 1);
    assert_true(peer.closed);
    assert_int_equal(w.loop->partials.total, 0);
    script_fini(&peer);
    net_world_fini(&w);
}

static void the_peer_may_be_gone_when_the_answer_comes(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    net_world_connect(&w, &peer);
    net_send(&peer, 1, "hold", "");
    script_send_eof(&peer);
    net_world_run_ms(&w, 1);
    assert_int_equal(w.echo.gone, 0);
    peer.reset = true;
    echo_release(&w.echo, 1);
    net_world_run_ms(&w, 2);
    net_expect(&w, "[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
                   "[   0] conn 1     OPEN -> DRAINING (peer eof, 1 in flight)\n"
                   "[   1] conn 1     DRAINING -> CLOSED (write error)\n"
                   "[   1] conn 1     freed\n");
    assert_int_equal(w.echo.gone, 1);
    script_fini(&peer);
    net_world_fini(&w);
}

/* What the stream itself has to say after a read goes out too, with no answer to push it. */
static void what_the_stream_answers_is_written(void **state)
{
    struct net_world w;
    struct script peer;

    (void)state;
    net_world_init(&w);
    net_world_open(&w);
    struct connection *c = net_world_connect(&w, &peer);
    net_world_run_ms(&w, 1);
    peer.window = 0;
    peer.reply = 50;
    script_send_eof(&peer);
    net_world_run_ms(&w, 2);
    assert_int_equal(c->state, CONN_DRAINING);
    script_widen(&peer, 50);
    net_world_run_ms(&w, 3);
    assert_true(peer.closed);
    script_fini(&peer);
    net_world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_after_the_fin),
        cmocka_unit_test(a_fin_inside_a_message_is_an_end_too),
        cmocka_unit_test(the_peer_may_be_gone_when_the_answer_comes),
        cmocka_unit_test(what_the_stream_answers_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
