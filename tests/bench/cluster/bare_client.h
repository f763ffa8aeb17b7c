/* What PostgreSQL alone takes: the rows of the driver's tables, written by a client that does
 * nothing else.  One pipeline a batch, unnest in binary; no fence, no counters, no outcome. */
#ifndef ERGON_BENCH_CLUSTER_BARE_CLIENT_H
#define ERGON_BENCH_CLUSTER_BARE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

enum bare_kind { BARE_PUT, BARE_END, BARE_REMOVE };

/* Connects and prepares; ends the program with a word where that does not work. */
struct bare_client *bare_open(const char *url);
void bare_close(struct bare_client *c);
/* One batch about the tasks from an id on, with a row of options each or none; returns when it is
 * committed. */
void bare_run(struct bare_client *c, enum bare_kind kind, uint64_t from, uint32_t count,
              bool options);

#endif
