/* A task fails: its own way, by a fault, or because of what it called; the connection goes on. */

#include "tests/support/rpc_stage.h"

RPC_TEST(in_its_own_words)
{
    stage_ask(&peer, 1, "fail", "[]");
    stage_ask(&peer, 2, "echo", "[2]");
    assert_string_equal(stage_said(), "1 failed: 'NO_LUCK: none today'\n2: [2]\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   0] executor 1 failed task 1 (NO_LUCK) -> home: loop 0\n"
               "[   0] executor 1 run task 2\n"
               "[   0] executor 1 done task 2 -> home: loop 0\n"
               "[   0] conn 1     wrote 30 bytes, 0 left\n");
}

RPC_TEST(by_a_fault)
{
    stage_ask(&peer, 1, "fault", "[]");
    stage_ask(&peer, 2, "late_fault", "[]");
    stage_ask(&peer, 3, "echo", "[3]");
    assert_string_equal(stage_said(), "1 failed: 'FAILED: fault 7'\n"
                                      "2 failed: 'FAILED: too late'\n"
                                      "3: [3]\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   0] executor 1 failed task 1 (FAILED) -> home: loop 0\n"
               "[   0] executor 1 run task 2\n"
               "[   0] manager    task 3 -> executor 1 (loads 1)\n"
               "[   0] conn 1     wrote 20 bytes, 0 left\n"
               "[   0] executor 1 failed task 2 (FAILED) -> home: loop 0\n"
               "[   0] executor 1 run task 3\n"
               "[   0] executor 1 done task 3 -> home: loop 0\n"
               "[   0] conn 1     wrote 27 bytes, 0 left\n");
}

RPC_TEST(of_a_nested_call)
{
    stage_ask(&peer, 1, "outer", "['fail', []]");
    stage_ask(&peer, 2, "outer", "['fault', []]");
    stage_ask(&peer, 3, "outer", "['none', []]");
    assert_string_equal(stage_said(),
                        "3 failed: 'NO_METHOD: no handler and no server method has this name'\n"
                        "1 failed: 'NO_LUCK: none today'\n"
                        "2 failed: 'FAILED: fault 7'\n");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] executor 1 run task 1\n"
               "[   0] manager    task 2 -> executor 1 (loads 0)\n"
               "[   0] manager    task 3 -> executor 1 (loads 1)\n"
               "[   0] manager    task 4 -> executor 1 (loads 2)\n"
               "[   0] executor 1 run task 2\n"
               "[   0] executor 1 failed task 2 (NO_LUCK) -> home: loop 0\n"
               "[   0] executor 1 run task 3\n"
               "[   0] executor 1 run task 4\n"
               "[   0] executor 1 failed task 4 (NO_METHOD) -> home: loop 0\n"
               "[   0] manager    task 5 -> executor 1 (loads 0)\n"
               "[   0] executor 1 run task 5\n"
               "[   0] executor 1 failed task 5 (FAILED) -> home: loop 0\n"
               "[   0] conn 1     wrote 63 bytes, 0 left\n"
               "[   0] executor 1 failed task 1 (NO_LUCK) -> home: loop 0\n"
               "[   0] executor 1 failed task 3 (FAILED) -> home: loop 0\n"
               "[   0] conn 1     wrote 44 bytes, 0 left\n");
}
