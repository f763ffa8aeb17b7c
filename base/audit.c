#include "base/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log_writer.h"

enum { REFUSALS_A_SECOND = 20 /* of one kind and source */ };

/* Set before the threads start, and cleared after they have ended. */
static struct {
    struct log_writer *writer; /* NULL: the log */
    struct log_sink sink;
    char *path; /* owned */
    int fd;
} audit = {.fd = -1};

/* A descriptor, or -1 with a text. */
static int open_file(const char *path, char *error, size_t size)
{
    struct stat status;
    char text[96];
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return fd;
    const char *why = fd >= 0          ? "it is no regular file"
                      : errno == ELOOP ? "it is a link"
                                       : strerror_r(errno, text, sizeof text);
    snprintf(error, size, "audit.file: %s: %s", path, why);
    if (fd >= 0)
        close(fd);
    return -1;
}

bool audit_open(const char *path, size_t bytes, char *error, size_t size)
{
    int fd = open_file(path, error, size);

    if (fd < 0)
        return false;
    char *name = strdup(path);
    const struct log_writer_options options = {.fd = fd,
                                               .form = {.json = true},
                                               .threshold = LOG_DEBUG,
                                               .bytes = bytes,
                                               .repeats = REFUSALS_A_SECOND,
                                               .keep = true};
    struct log_writer *writer = name ? log_writer_new(&options) : NULL;
    if (!writer) {
        snprintf(error, size, "audit.file: out of memory");
        free(name);
        close(fd);
        return false;
    }
    audit.writer = writer;
    audit.sink = log_writer_sink(writer);
    audit.path = name;
    audit.fd = fd;
    return true;
}

/* The number of the descriptor stays, so that whoever writes need not know. */
bool audit_reopen(char *error, size_t size)
{
    if (!audit.writer)
        return true;
    int fd = open_file(audit.path, error, size);
    if (fd < 0)
        return false;
    bool good = dup3(fd, audit.fd, O_CLOEXEC) >= 0;
    if (!good)
        snprintf(error, size, "audit.file: %s: no descriptor is left", audit.path);
    close(fd);
    return good;
}

void audit_close(uint64_t patience)
{
    struct log_writer *writer = audit.writer;

    if (!writer)
        return;
    audit.writer = NULL;
    if (log_writer_stop(writer, patience))
        close(audit.fd);
    else
        log_error("the audit log is not complete", LOG_STR("file", audit.path));
    free(audit.path);
    audit.path = NULL;
}

bool audit_reserve(void)
{
    return !audit.writer || log_writer_reserve(audit.writer);
}

void audit_release(void)
{
    if (audit.writer)
        log_writer_release(audit.writer);
}

void audit_write(const char *event, const struct log_field *fields)
{
    if (audit.writer)
        log_writer_put_reserved(audit.writer, LOG_AUDIT, event, fields);
    else
        log_write(LOG_AUDIT, event, fields);
}

void audit_note(enum log_level level, const char *event, const struct log_field *fields)
{
    if (audit.writer)
        audit.sink.write(audit.sink.arg, level, event, fields);
    else if ((int)level >= atomic_load_explicit(&log_threshold, memory_order_relaxed))
        log_write(level, event, fields);
}

bool audit_is_apart(void)
{
    return audit.writer != NULL;
}

struct log_figures audit_figures(void)
{
    struct log_figures figures = {0};

    if (audit.writer)
        audit.sink.figures(audit.sink.arg, &figures);
    return figures;
}
