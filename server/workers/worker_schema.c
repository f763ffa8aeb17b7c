/* Which form of its actors' states a worker writes. */
#include "server/workers/worker_loop.h"

uint32_t worker_executor_schema(const struct worker_executor *r, struct span method)
{
    struct span type = actor_type_of_method(method);
    for (uint32_t i = 0; i < r->type_count; i++)
        if (span_equal(r->types[i].type, type))
            return r->types[i].policy.schema;
    return 0;
}
