#include "server/rpc/options.h"

bool options_read(struct rpc_request *rq, struct reader *r, const struct option *options,
                  uint32_t count)
{
    char error[200];

    if (options_take(r, options, count, error, sizeof error))
        return true;
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", error);
    return false;
}
