#include "server/logging.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum { RECORD_MAX = 4096 };

static uint64_t wall_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* One write for one record: records of several threads never mix within a line. */
static void put_record(char *record, int length)
{
    record[length++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, record, (size_t)length);
    (void)ignored; /* a log that cannot be written has nobody left to tell */
}

static void write_logfmt(void *arg, enum log_level level, const char *event,
                         const struct log_field *fields)
{
    char record[RECORD_MAX];
    int saved = errno;

    (void)arg;
    put_record(record,
               log_format_logfmt(record, RECORD_MAX - 1, wall_clock(), level, event, fields));
    errno = saved;
}

static void write_json(void *arg, enum log_level level, const char *event,
                       const struct log_field *fields)
{
    char record[RECORD_MAX];
    int saved = errno;

    (void)arg;
    put_record(record, log_format_json(record, RECORD_MAX - 1, wall_clock(), level, event, fields));
    errno = saved;
}

struct log_sink log_stderr_sink(enum config_log_format format, enum log_level threshold)
{
    return (struct log_sink){.threshold = threshold,
                             .write = format == CONFIG_LOG_JSON ? write_json : write_logfmt};
}
