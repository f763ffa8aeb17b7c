#include "server/rpc/pack.h"

void pack_answer(struct pack *p, struct rpc_request *rq)
{
    if (p->failed)
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    else
        rpc_answer(rq, pack_bytes(p));
    pack_fini(p);
}
