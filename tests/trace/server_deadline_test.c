/* A deadline passes: the answer comes then, whatever the task does. */

#include "tests/support/rpc_stage.h"

RPC_TEST(while_it_sleeps)
{
    stage_ask(&peer, 1, "task.call", "['sleep', [100], {'deadline': '20ms'}]");
    assert_string_equal(stage_said(),
                        "1 failed: 'DEADLINE: the deadline passed before the result was there'\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[  20] conn 1     wrote 64 bytes, 0 left\n"
               "[  20] executor 1 failed task 1 (CANCELLED) -> home: loop 0\n");
}

/* The blocking executor is not stepped before the deadline is over. */
RPC_TEST(while_it_waits_for_its_thread)
{
    stage_ask(&peer, 1, "task.call", "['block', [], {'deadline': '20ms'}]");
    net_run_ms(30);
    assert_string_equal(stage_said(),
                        "1 failed: 'DEADLINE: the deadline passed before the result was there'\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] manager    task 1 -> executor 2 (loads 0)\n"
               "[  20] conn 1     wrote 64 bytes, 0 left\n"
               "[  30] executor 2 drop task 1\n");
}

RPC_TEST(in_a_nested_call)
{
    stage_ask(&peer, 1, "task.call", "['outer', ['sleep', [100]], {'deadline': '20ms'}]");
    assert_string_equal(stage_said(),
                        "1 failed: 'DEADLINE: the deadline passed before the result was there'\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   0] manager    task 2 -> executor 1 (loads 0)\n"
               "[   0] executor 1 run task 2\n"
               "[  20] conn 1     wrote 64 bytes, 0 left\n"
               "[  20] executor 1 failed task 1 (DEADLINE) -> home: loop 0\n"
               "[  20] executor 1 failed task 2 (CANCELLED) -> home: loop 0\n");
}

RPC_TEST(in_time)
{
    stage_ask(&peer, 1, "task.call", "['sleep', [10], {'deadline': '20ms'}]");
    assert_string_equal(stage_said(), "1: [10]\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[  10] executor 1 done task 1 -> home: loop 0\n"
               "[  10] conn 1     wrote 6 bytes, 0 left\n");
}
