/* A moment as RFC 3339 writes it.  Pure; any thread. */
#ifndef ERGON_BASE_INSTANT_H
#define ERGON_BASE_INSTANT_H

#include "base/span.h"

/* With its offset: "2026-11-22T09:30:00Z", "...+01:00"; fractions of a second are taken.  True and
 * *unix_ns (ns since 1970) set, or false. */
bool instant_parse(struct span text, uint64_t *unix_ns);

#endif
