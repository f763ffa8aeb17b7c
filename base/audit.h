/* The audit log: who did what to the server, and how that ended; apart from the log, which tells
 * how the server itself is.
 *
 * Its records are lines of JSON in a file of their own, or, where none is named, records of the log
 * at the level "audit", whatever that log's threshold.  Nobody waits for the file: records go
 * through a bounded buffer, as those of the log do (base/log_writer.h).  But no act may be missing
 * there: who wants to do something that must be recorded reserves the room for its record first,
 * and does not do it if there is none.  What cannot be written (a full disk) stays in the buffer
 * and is tried again each second.  In the log there is always room, and what the log drops is
 * counted there.
 *
 * One for the process.  Thread: any, but where it says otherwise. */
#ifndef ERGON_BASE_AUDIT_H
#define ERGON_BASE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

/* Opens the file, or makes it, with mode 0600; `bytes`: of the buffer, at least LOG_RECORD_MAX * 2.
 * Before the threads start; as log_writer_new() says of signals.  False with a text: it cannot be
 * opened, is no regular file or a link, no memory or thread. */
bool audit_open(const char *path, size_t bytes, char *error, size_t size);
/* Opens the file by its name again, after somebody has moved it away.  One thread at a time.  False
 * with a text as above: it goes on with the old one.  Without a file: true. */
bool audit_reopen(char *error, size_t size);
/* Writes out what waits, within `patience` ns; nobody records any more but into the log. */
void audit_close(uint64_t patience);

/* Keeps the room for one record.  False: there is none, so what it would tell must not be done. */
bool audit_reserve(void);
/* The record is not wanted. */
void audit_release(void);
/* That record; `event` is constant, the fields are borrowed. */
void audit_write(const char *event, const struct log_field *fields);

/* A record beside the acts, as of a refusal: of such anybody can make many, so those that repeat
 * are summed up, and what finds no room is dropped and counted, as in the log. */
void audit_note(enum log_level level, const char *event, const struct log_field *fields);
/* There is a file: what stands in the log anyway is to be said there, too. */
bool audit_is_apart(void);

/* Zeros where there is no file. */
struct log_figures audit_figures(void);

#endif
