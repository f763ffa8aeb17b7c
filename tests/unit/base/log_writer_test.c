/* The thread is real, and so is the pipe: each test waits for what it expects. */
#include "base/log_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"

#define PATIENCE UINT64_C(60000000000)

enum { PIPE_BYTES = 16384, BUFFER = 16384 };

static int ends[2];
static struct log_writer *writer;
static char text[1 << 20];
static size_t length;

static void open_log(size_t bytes, uint32_t repeats)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    assert_int_equal(pipe(ends), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) > 0);
    const struct log_writer_options options = {
        .fd = ends[1], .threshold = LOG_INFO, .bytes = bytes, .repeats = repeats};
    writer = log_writer_new(&options);
    assert_non_null(writer);
    struct log_sink sink = log_writer_sink(writer);
    log_set_sink(&sink);
    length = 0;
    text[0] = '\0';
}

/* Reads on until `words` were read. */
static void read_until(const char *words)
{
    while (!strstr(text, words)) {
        ssize_t n = read(ends[0], text + length, sizeof text - 1 - length);
        assert_true(n > 0);
        length += (size_t)n;
        text[length] = '\0';
    }
}

static void close_log(void)
{
    assert_true(log_writer_stop(writer, PATIENCE));
    close(ends[0]);
    close(ends[1]);
}

static uint32_t count(const char *words)
{
    uint32_t n = 0;

    for (const char *at = text; (at = strstr(at, words)); at++)
        n++;
    return n;
}

TEST(records_come_out_in_order)
{
    open_log(BUFFER, 0);
    for (int i = 0; i < 40; i++)
        log_info("event", LOG_INT("n", i));
    read_until(" n=39\n");
    const char *at = text;
    for (int i = 0; i < 40; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, " level=info msg=event n=%d\n", i);
        assert_memory_equal(at, "time=20", 7);
        at = strstr(at, expected);
        assert_non_null(at);
        at += strlen(expected);
    }
    assert_int_equal(log_figures().records, 40);
    close_log();
}

/* The numbers of the events, in order, where each note stands for as many as it says; the next. */
static int walk_events(void)
{
    static const char event[] = "msg=event n=", note[] = "msg=\"log records dropped\" dropped=";
    int next = 0;

    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *at = strstr(line, "msg=");
        if (strncmp(at, note, strlen(note)) == 0)
            next += atoi(at + strlen(note));
        else if (strncmp(at, event, strlen(event)) == 0)
            assert_int_equal(atoi(at + strlen(event)), next++);
    }
    return next;
}

/* Nobody reads: whoever logs goes on, what finds no room is counted, and said where it is missing.
 */
TEST(a_full_pipe_stops_nobody)
{
    enum { RECORDS = 2000 };

    open_log(BUFFER, 0);
    for (int i = 0; i < RECORDS; i++)
        log_info("event", LOG_INT("n", i));
    assert_true(log_figures().dropped > RECORDS / 4);
    assert_in_range(log_figures().waiting, 1, BUFFER);

    char said[64];
    snprintf(said, sizeof said, " in_all=%d\n", (int)log_figures().dropped);
    read_until(said);
    log_info("behind");
    read_until("msg=behind\n");
    assert_int_equal(walk_events(), RECORDS);
    assert_int_equal(count("msg=event") + log_figures().dropped, RECORDS);
    close_log();
}

/* The buffer's end is in the middle of a record again and again. */
TEST(the_buffer_goes_round)
{
    char expected[600];

    open_log(8192, 0);
    for (int i = 0; i < 300; i++) {
        char value[500];
        int n = 1 + i * 37 % 490;
        memset(value, 'x', (size_t)n);
        value[n] = '\0';
        log_info("event", LOG_STR("value", value), LOG_INT("n", i));
        snprintf(expected, sizeof expected, "msg=event value=%s n=%d\n", value, i);
        length = 0;
        text[0] = '\0';
        read_until(expected);
    }
    assert_int_equal(log_figures().dropped, 0);
    close_log();
}

TEST(repeated_records_are_summed_up)
{
    open_log(BUFFER, 3);
    for (int i = 0; i < 1000; i++)
        log_warn("refused", LOG_PEER("peer", "192.0.2.1:1"));
    log_warn("refused", LOG_PEER("peer", "192.0.2.2:1"));
    read_until("192.0.2.2");
    assert_int_equal(count("msg=refused peer=192.0.2.1"), 3);
    read_until("level=warn msg=repeated record=refused source=192.0.2.1 times=997 within=");
    assert_int_equal(log_figures().repeated, 997);
    close_log();
}

/* Who wants them wants each. */
TEST(debug_records_are_not_summed_up)
{
    open_log(BUFFER, 3);
    log_set_threshold(LOG_DEBUG);
    for (int i = 0; i < 20; i++)
        log_debug("event", LOG_STR("who", "me"), LOG_INT("n", i));
    read_until(" n=19\n");
    assert_int_equal(count("msg=event"), 20);
    assert_int_equal(log_figures().repeated, 0);
    close_log();
}

/* Once it cannot, the thread of the log has stopped there, and stays until somebody reads. */
static bool can_be_written(void)
{
    struct pollfd out = {.fd = ends[1], .events = POLLOUT};

    return poll(&out, 1, 0) == 1;
}

/* Nobody reads: what they leave free is enough for what matters more. */
TEST(debug_records_push_out_nothing_else)
{
    enum { MORE = 1000, WARNINGS = 50 };
    int records = 0;

    open_log(BUFFER, 0);
    log_set_threshold(LOG_DEBUG);
    while (can_be_written())
        log_debug("event", LOG_INT("n", records++));
    for (int i = 0; i < MORE; i++)
        log_debug("event", LOG_INT("n", records++));
    uint64_t dropped = log_figures().dropped;
    assert_true(dropped > MORE / 4);
    assert_in_range(log_figures().waiting, 1, BUFFER / 2);
    for (int i = 0; i < WARNINGS; i++)
        log_warn("warning", LOG_INT("n", i));
    log_debug("event", LOG_INT("n", records++)); /* not before most of the buffer is free */
    assert_int_equal(log_figures().dropped, dropped + 1);

    char said[64];
    snprintf(said, sizeof said, " in_all=%d\n", (int)dropped + 1);
    read_until(said);
    assert_int_equal(count("msg=warning"), WARNINGS);
    log_debug("behind");
    read_until("msg=behind\n");
    assert_int_equal(walk_events(), records);
    close_log();
}

TEST(a_stop_writes_what_waits)
{
    open_log(BUFFER, 2);
    for (int i = 0; i < 5; i++)
        log_info("event", LOG_STR("who", "me"));
    assert_true(log_writer_stop(writer, PATIENCE));
    close(ends[1]);
    read_until("msg=repeated record=event source=me times=3");
    assert_int_equal(count("msg=event"), 2);
    close(ends[0]);
}

TEST(a_stop_does_not_wait_for_ever)
{
    open_log(2 * BUFFER, 0);
    for (int i = 0; i < 400; i++)
        log_info("event", LOG_INT("n", i));
    assert_false(log_writer_stop(writer, 1));
    read_until("n=399\n");
    close_log();
}

TEST(the_last_record_comes_after_all_others)
{
    open_log(BUFFER, 0);
    for (int i = 0; i < 20; i++)
        log_info("event", LOG_INT("n", i));
    log_last("dying", LOG_STR("signal", "SIGSEGV"));
    read_until("level=error msg=dying signal=SIGSEGV\n");
    assert_int_equal(count("msg=event"), 20);
    assert_true(strstr(text, "n=19\n") < strstr(text, "msg=dying"));
    close_log();
}

/* Whoever reads has stopped: the end does not wait for it. */
TEST(the_last_record_does_not_wait_for_ever)
{
    open_log(BUFFER, 0);
    for (int i = 0; i < 1000; i++)
        log_info("event", LOG_INT("n", i));
    log_last("dying");
    read_until("log records dropped");
    assert_null(strstr(text, "dying"));
    close_log();
}

TEST(a_log_that_nobody_can_read_any_more_is_counted)
{
    open_log(BUFFER, 0);
    close(ends[0]);
    for (int i = 0; i < 10; i++)
        log_info("event", LOG_INT("n", i));
    while (log_figures().waiting > 0)
        poll(NULL, 0, 1);
    assert_int_equal(log_figures().dropped, 10);
    assert_true(log_writer_stop(writer, PATIENCE));
    close(ends[1]);
}
