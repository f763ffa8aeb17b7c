#include "server/system/machine.h"

#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

/* ---- processors ---- */

TEST(rounds_up)
{
    assert_int_equal(cpus_quota_v2("200000 100000\n"), 2);
    assert_int_equal(cpus_quota_v2("200001 100000\n"), 3);
    assert_int_equal(cpus_quota_v2("1000 100000"), 1);
    assert_int_equal(cpus_quota_v1(150000, 100000), 2);
    assert_int_equal(cpus_quota_v1(50000, 100000), 1);
}

TEST(knows_no_quota)
{
    assert_int_equal(cpus_quota_v2("max 100000\n"), 0);
    assert_int_equal(cpus_quota_v2(""), 0);
    assert_int_equal(cpus_quota_v2("100000 0"), 0);
    assert_int_equal(cpus_quota_v2("-5 100000"), 0);
    assert_int_equal(cpus_quota_v1(-1, 100000), 0);
    assert_int_equal(cpus_quota_v1(100000, 0), 0);
}

SCRATCH_TEST(reads_version_2)
{
    scratch_write("proc/self/cgroup", "0::/app.slice/ergond.service\n");
    scratch_write("sys/fs/cgroup/app.slice/ergond.service/cpu.max", "350000 100000\n");
    assert_int_equal(cpus_quota(scratch.directory), 4);
}

SCRATCH_TEST(a_parent_may_be_tighter)
{
    scratch_write("proc/self/cgroup", "0::/pod/one\n");
    scratch_write("sys/fs/cgroup/pod/one/cpu.max", "max 100000\n");
    scratch_write("sys/fs/cgroup/pod/cpu.max", "200000 100000\n");
    assert_int_equal(cpus_quota(scratch.directory), 2);
    scratch_write("sys/fs/cgroup/pod/one/cpu.max", "50000 100000\n");
    assert_int_equal(cpus_quota(scratch.directory), 1);
}

SCRATCH_TEST(a_container_sees_its_group_at_the_mount)
{
    scratch_write("proc/self/cgroup", "0::/docker/0123/not/mounted/here\n");
    scratch_write("sys/fs/cgroup/cpu.max", "120000 100000\n");
    assert_int_equal(cpus_quota(scratch.directory), 2);
}

SCRATCH_TEST(reads_version_1)
{
    scratch_write("proc/self/cgroup",
                  "12:memory:/x\n4:cpu,cpuacct:/docker/0123\n1:cpuset:/x\n0::/x\n");
    scratch_write("sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_quota_us", "250000\n");
    scratch_write("sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cpus_quota(scratch.directory), 3);
}

SCRATCH_TEST(other_controllers_do_not_count)
{
    scratch_write("proc/self/cgroup", "3:cpuset:/a\n2:cpuacct:/a\nnonsense\n:\n");
    scratch_write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
    scratch_write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cpus_quota(scratch.directory), 0);
}

SCRATCH_TEST(no_files_mean_no_quota)
{
    assert_int_equal(cpus_quota(scratch.directory), 0);
    scratch_write("proc/self/cgroup", "4:cpu:/a\n0::/a\n");
    assert_int_equal(cpus_quota(scratch.directory), 0);
}

TEST(there_is_always_one)
{
    assert_true(cpus_count() >= 1);
}

TEST(not_every_number_of_threads_has_a_processor_each)
{
    assert_int_equal(cpus_spare(1), cpus_quota("") == 0);
    assert_false(cpus_spare(UINT32_MAX));
}

/* ---- memory: files of control groups, both versions, below a directory of ours ---- */

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

/* ---- open files ---- */

TEST(leaves_files_for_itself)
{
    assert_int_equal(fdlimit_connections(20000), 20000 - 64);
    assert_int_equal(fdlimit_connections(100), 50);
    assert_int_equal(fdlimit_connections(0), 0);
    assert_int_equal(fdlimit_connections(UINT64_MAX), 1 << 24);
    assert_true(fdlimit_raise() > 0);
}
