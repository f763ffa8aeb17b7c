/* Orders, as requests hold them. */
#ifndef ERGON_RPC_ORDERS_H
#define ERGON_RPC_ORDERS_H

#include "server/ledger/order_options.h"
#include "server/rpc/asks.h"

/* Defaults of this server for a task that outlives its connection. */
void order_defaults(const struct ask_build *b, struct order *o);

/* Method, parameters and options of an order, from the reader: `count` of the three are there.
 * False: answered; `usage` says what is taken.  The method exists and the peer may call it. */
bool order_read(struct ask_build *b, struct order *o, uint32_t count, const char *usage);

/* Answers the request, and says which of several orders is wrong.  False, always. */
bool order_refuse(struct ask_build *b, enum ergon_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* May the peer submit for this tenant?  False: answered. */
bool order_may_share(struct ask_build *b, const struct order *o);

/* Is there such a handler, and may the peer call it?  False: answered. */
bool order_may_run(struct ask_build *b, struct span method);

/* A map of options.  `more` may be NULL.  False: answered. */
bool order_options(struct ask_build *b, struct order *o, const struct order_more *more);

#endif
