#include "server/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/fdlimit.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

static char message[512];

static int manager_listens(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", scratch.directory);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    return fd;
}

static const char *next(int fd)
{
    ssize_t n = recv(fd, message, sizeof message - 1, 0);

    message[n > 0 ? n : 0] = '\0';
    return message;
}

SCRATCH_TEST(tells_the_manager)
{
    int fd = manager_listens();
    notify_ready("2 loops");
    assert_string_equal(next(fd), "READY=1\nSTATUS=2 loops");
    notify_reloading();
    assert_memory_equal(next(fd), "RELOADING=1\nMONOTONIC_USEC=", 27);
    notify_stopping("draining");
    assert_string_equal(next(fd), "STOPPING=1\nSTATUS=draining");
    notify_watchdog();
    assert_string_equal(next(fd), "WATCHDOG=1");
    unsetenv("NOTIFY_SOCKET");
    notify_ready("nobody listens");
    assert_string_equal(next(fd), "");
    close(fd);
}

TEST(pings_at_half_the_time)
{
    char pid[16];

    unsetenv("WATCHDOG_USEC");
    assert_int_equal(notify_watchdog_period(), 0);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    setenv("WATCHDOG_USEC", "30000000", 1);
    assert_int_equal(notify_watchdog_period(), UINT64_C(15000000000));
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

TEST(leaves_files_for_itself)
{
    assert_int_equal(fdlimit_connections(20000), 20000 - 64);
    assert_int_equal(fdlimit_connections(100), 50);
    assert_int_equal(fdlimit_connections(0), 0);
    assert_int_equal(fdlimit_connections(UINT64_MAX), 1 << 24);
    assert_true(fdlimit_raise() > 0);
}
