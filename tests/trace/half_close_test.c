/* FIN means no more requests: what was asked is answered. */
#include "tests/support/net_world.h"

NET_TEST(answers_come_after_the_fin)
{
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    net_send(&peer, 2, "hold", "");
    net_send(&peer, 3, "poll", "");
    net_send(&peer, 4, "echo", "");
    script_send_eof(&peer);
    net_run_ms(2);
    assert_string_equal(net_answered(&peer), "4");
    echo_release(&net.echo, 2);
    net_run_ms(5);
    assert_false(peer.closed);
    echo_release(&net.echo, 1);
    net_run_ms(6);
    assert_string_equal(net_answered(&peer), "4 1 2 3");
    assert_true(peer.closed);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     wrote 6 bytes, 0 left\n"
               "[   0] conn 1     OPEN -> DRAINING (peer eof, 3 in flight)\n"
               "[   2] conn 1     wrote 10 bytes, 0 left\n"
               "[   5] conn 1     wrote 5 bytes, 0 left\n"
               "[   5] conn 1     DRAINING -> CLOSED (all answered)\n"
               "[   5] conn 1     freed\n");
}

NET_TEST(a_fin_inside_a_message_is_an_end_too)
{
    net_connect(&peer);
    script_send(&peer, span_of("\x94\x00", 2));
    script_send_eof(&peer);
    net_run_ms(1);
    assert_true(peer.closed);
    assert_int_equal(net.loop->partials.total, 0);
}

NET_TEST(the_peer_may_be_gone_when_the_answer_comes)
{
    net_connect(&peer);
    net_send(&peer, 1, "hold", "");
    script_send_eof(&peer);
    net_run_ms(1);
    assert_int_equal(net.echo.gone, 0);
    peer.reset = true;
    echo_release(&net.echo, 1);
    net_run_ms(2);
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 1     OPEN -> DRAINING (peer eof, 1 in flight)\n"
               "[   1] conn 1     DRAINING -> CLOSED (write error)\n"
               "[   1] conn 1     freed\n");
    assert_int_equal(net.echo.gone, 1);
}

/* What the stream itself has to say after a read goes out too, with no answer to push it. */
NET_TEST(what_the_stream_answers_is_written)
{
    struct connection *c = net_connect(&peer);
    net_run_ms(1);
    peer.window = 0;
    peer.reply = 50;
    script_send_eof(&peer);
    net_run_ms(2);
    assert_int_equal(c->state, CONN_DRAINING);
    script_widen(&peer, 50);
    net_run_ms(3);
    assert_true(peer.closed);
}
