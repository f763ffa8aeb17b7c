/* A log that makes nobody wait.
 *
 * Whoever logs formats its record, copies it into a bounded buffer and goes on; a thread of its own
 * writes the buffer out, in the order in which records were accepted.  A record that finds no room
 * is dropped; from then on all are, until a quarter of the buffer is free, and then the log says
 * how many they were, where they would have stood.  Of debug records so many are expected that they
 * have only half of the buffer, and push out nothing else.  What repeats is summed up
 * (base/log_repeats.h), but for debug records: who wants these wants each.
 *
 * Records are written whole, as many at once as a pipe takes in one piece, so that they never mix
 * with what others write to it. */
#ifndef ERGON_BASE_LOG_WRITER_H
#define ERGON_BASE_LOG_WRITER_H

#include <stddef.h>

#include "base/log.h"

struct log_writer;

struct log_writer_options {
    int fd; /* where the records go; stays the caller's, and open for as long as the writer */
    struct log_form form;
    enum log_level threshold;
    size_t bytes;     /* that wait at most; at least LOG_RECORD_MAX * 2 */
    uint32_t repeats; /* records of one kind and source that are written within a second; 0: all */
    bool keep;        /* what cannot be written is not lost, but tried again each second */
};

/* Starts the thread, which inherits the caller's mask of signals: SIGPIPE must be blocked.  NULL:
 * errno is that of an allocation, an eventfd or a thread. */
struct log_writer *log_writer_new(const struct log_writer_options *options);

/* Keeps room for one record, of any length, which is then put in by log_writer_put_reserved(), and
 * neither dropped nor summed up.  False: there is no room.  Any thread. */
bool log_writer_reserve(struct log_writer *w);
void log_writer_release(struct log_writer *w); /* the record is not wanted */
void log_writer_put_reserved(struct log_writer *w, enum log_level level, const char *event,
                             const struct log_field *fields);

/* For log_set_sink().  Its last record is written by the thread that logs it, after the thread of
 * the log has written what was before, with two seconds for each at most. */
struct log_sink log_writer_sink(struct log_writer *w);

/* Writes out what waits, sums included, and frees the writer; nobody logs any more.  False: it is
 * not out within `patience` ns; then the writer stays, for the thread uses it until the process
 * ends. */
bool log_writer_stop(struct log_writer *w, uint64_t patience);

#endif
