/* Is standard error read by journald, and what does it want to see there?
 *
 * Any thread. */
#ifndef ERGON_JOURNALD_H
#define ERGON_JOURNALD_H

#include <stdbool.h>
#include <stdio.h>

#include "base/log.h"

/* Is `fd` the stream that `stream` names, "DEVICE:INODE", as systemd puts it into JOURNAL_STREAM of
 * what it starts?  A service whose standard error was led elsewhere inherits the variable all the
 * same, so only the descriptor tells.  False also of NULL, of text that is none, of a closed `fd`.
 */
bool journald_reads(const char *stream, int fd);

/* Writes `text`, which may have several lines, with `level` in front of each as journald reads it.
 */
void journald_write(FILE *out, enum log_level level, const char *text);

#endif
