#include "server/system/systemd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

/* ---- the service manager ---- */

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

/* ---- journald ---- */

static int ends[2];

/* What systemd would say of the pipe's end, and `behind` it. */
static const char *stream_of(int fd, const char *behind)
{
    static char text[80];
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    snprintf(text, sizeof text, "%ju:%ju%s", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, behind);
    return text;
}

static int open_pipe(void **state)
{
    (void)state;
    return pipe(ends);
}

static int close_pipe(void **state)
{
    (void)state;
    close(ends[0]);
    return close(ends[1]);
}

#define PIPE_TEST(name) TEST_WITH(open_pipe, close_pipe, name)

PIPE_TEST(the_descriptor_that_the_variable_names_is_journalds)
{
    assert_true(journald_reads(stream_of(ends[1], ""), ends[1]));
}

/* A shell that led its standard error to a file inherits the variable. */
PIPE_TEST(another_descriptor_is_not)
{
    const char *stream = stream_of(ends[1], "");
    FILE *other = tmpfile();

    assert_non_null(other);
    assert_false(journald_reads(stream, fileno(other)));
    fclose(other);
}

PIPE_TEST(a_closed_descriptor_is_not)
{
    assert_false(journald_reads(stream_of(ends[1], ""), 1 << 20));
}

PIPE_TEST(text_that_is_no_stream_names_none)
{
    static const char *const texts[] = {"",    ":",    "1",    "1:",   ":1",
                                        "a:b", "-1:1", " 1:1", "1:1 ", "99999999999999999999999:1"};

    assert_false(journald_reads(NULL, ends[1]));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(journald_reads(texts[i], ends[1]));
    assert_false(journald_reads(stream_of(ends[1], " "), ends[1]));
    assert_false(journald_reads(stream_of(ends[1], ":1"), ends[1]));
}

static const char *written(const char *text)
{
    static char buf[256];
    FILE *out = fmemopen(buf, sizeof buf, "w");

    assert_non_null(out);
    journald_write(out, LOG_ERROR, text);
    fclose(out);
    return buf;
}

TEST(each_line_has_its_level)
{
    assert_string_equal(written("a: wrong\nb: wrong, too\n"), "<3>a: wrong\n<3>b: wrong, too\n");
    assert_string_equal(written("no newline"), "<3>no newline\n");
    assert_string_equal(written("a\n\nb"), "<3>a\n<3>\n<3>b\n");
}
