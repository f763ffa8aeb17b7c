/* How much memory there is: files of control groups, both versions, below a directory of ours. */
#include "server/memory.h"

#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

enum { MEGA = 1 << 20 };

SCRATCH_TEST(version_2_counts)
{
    scratch_write("proc/self/cgroup", "0::/pod/one\n");
    scratch_write("sys/fs/cgroup/pod/one/memory.max", "max\n");
    scratch_write("sys/fs/cgroup/pod/memory.max", "268435456\n");
    assert_int_equal(memory_usable(scratch.directory), 256 * MEGA);
    scratch_write("sys/fs/cgroup/pod/one/memory.high", "134217728\n");
    assert_int_equal(memory_usable(scratch.directory), 128 * MEGA);
}

SCRATCH_TEST(version_1_counts)
{
    scratch_write("proc/self/cgroup", "4:cpu:/x\n12:memory:/docker/0123\n0::/x\n");
    scratch_write("sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes", "67108864\n");
    assert_int_equal(memory_usable(scratch.directory), 64 * MEGA);
}

/* Version 1 says so of a group without a limit. */
SCRATCH_TEST(without_a_limit_it_is_the_machine)
{
    uint64_t machine = memory_usable("/nonexistent");

    assert_true(machine > 0);
    scratch_write("proc/self/cgroup", "12:memory:/x\n");
    scratch_write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(memory_usable(scratch.directory), machine);
}
