/* The options of a task, as a map reads into an order. */
#ifndef ERGON_RPC_ORDER_OPTIONS_H
#define ERGON_RPC_ORDER_OPTIONS_H

#include "server/rpc/asks.h"

/* Method, parameters and options of an order, from the reader: `count` of the three are there.
 * False: answered; `usage` says what is taken.  The method exists and the peer may call it. */
bool order_read(struct ask_build *b, struct order *o, uint32_t count, const char *usage);

/* Only a map of options, into an order that has its defaults. */
bool order_read_options(struct ask_build *b, struct order *o);

/* The same with more options of the caller's own. */
bool order_read_options_and(struct ask_build *b, struct order *o, const struct option *more,
                            uint32_t more_count);

/* Defaults of this server for a task that outlives its connection. */
void order_defaults(const struct ask_build *b, struct order *o);

/* Readers that others use too. */
bool option_duration(struct reader *r, void *out);
bool option_flag(struct reader *r, void *out);
bool option_count(struct reader *r, void *out); /* uint32_t, at least 1 */
bool option_name(struct reader *r, void *out);  /* struct span, 1 to ORDER_NAME_MAX bytes */

#define EXPECTS_DURATION "a duration: milliseconds, or text such as \"250ms\""
#define EXPECTS_NAME     "a string of 1 to 256 bytes"

#endif
