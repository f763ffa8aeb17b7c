#include "server/ledger/order.h"

void order_init(struct order *o)
{
    *o = (struct order){.timeout = AO_NEVER,
                        .deadline = AO_NEVER,
                        .backoff = ORDER_BACKOFF,
                        .backoff_max = ORDER_BACKOFF_MAX,
                        .jitter = ORDER_JITTER,
                        .priority = ORDER_PRIORITY,
                        .durable = LEDGER_ASYNC,
                        .keep = ORDER_KEEP,
                        .keep_size = ORDER_KEEP_SIZE};
}
