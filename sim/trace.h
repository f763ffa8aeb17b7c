/* The hash of a run, over every switch, time and byte: two runs with one hash were the same.  And
 * its narrative, for people. */
#ifndef ERGON_SIM_TRACE_H
#define ERGON_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

extern bool sim_verbose; /* the narrative goes to stderr */

void sim_hash_number(uint64_t v);
void sim_hash_bytes(struct span bytes);
uint64_t sim_hash(void);

/* A line of the narrative, with the time; it is no part of the hash. */
void sim_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A promise was broken, or the simulation cannot go on: says so, and ends the process. */
_Noreturn void sim_finding(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with a text of many lines, which goes where findings go, or to standard output, and the
 * exit status. */
_Noreturn void sim_found(const char *text, int status);

/* Where the text of a finding goes as well. */
void sim_finding_to(char *text, size_t size);

enum { SIM_FOUND = 3 /* exit status of a process that met a finding */ };

#endif
