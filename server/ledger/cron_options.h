/* The options of a cron: its own, and those of its tasks, in one map. */
#ifndef ERGON_LEDGER_CRON_OPTIONS_H
#define ERGON_LEDGER_CRON_OPTIONS_H

#include "proto/reader.h"
#include "server/ledger/ask.h"

/* Takes the map at the reader; `options` is set to its bytes.  False, and a text. */
bool cron_read_options(struct reader *r, struct cron_order *c, char *error, size_t size);

#endif
