/* Hashes a run over every switch, time and byte: two runs with one hash were the same.  Also prints
 * the narrative of the run, and its finding. */
#ifndef ERGON_SIM_TRACE_H
#define ERGON_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

extern bool sim_verbose; /* print the narrative on stderr */

void sim_hash_number(uint64_t v);
void sim_hash_bytes(struct span bytes);
uint64_t sim_hash(void);

/* Prints a line of the narrative, with the time.  It is no part of the hash. */
void sim_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a broken promise, or why the simulation cannot go on, and ends the process. */
_Noreturn void sim_finding(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a finding of several lines and ends the process with this status.  The text goes to the
 * place that sim_finding_to() named, or else to stderr. */
_Noreturn void sim_found(const char *text, int status);

/* Findings are also written to this text. */
void sim_finding_to(char *text, size_t size);

/* Writes the beginning of a finding to that text, while its report is not complete.  A later
 * finding still ends the process, but replaces the text only if it begins with the same bytes. */
void sim_finding_begin(const char *text);
bool sim_finding_begun(void);

enum { SIM_FOUND = 3 /* exit status of a process that met a finding */ };

#endif
