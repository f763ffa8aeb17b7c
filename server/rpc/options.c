#include "server/rpc/options.h"

static const struct option *option_find(const struct option *options, uint32_t count,
                                        struct span name)
{
    for (uint32_t i = 0; i < count; i++)
        if (span_is(name, options[i].name))
            return &options[i];
    return NULL;
}

/* One pair.  `seen` has a bit for each option that came before. */
static bool option_read(struct rpc_request *rq, struct reader *r, const struct option *options,
                        uint32_t count, uint32_t *seen)
{
    struct span name;

    if (!read_text(r, &name)) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "the name of an option must be a string");
        return false;
    }
    const struct option *o = option_find(options, count, name);
    if (!o) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "unknown option \"%.*s\"",
                   (int)(name.len < 64 ? name.len : 64), (const char *)name.at);
        return false;
    }
    uint32_t bit = 1u << (o - options);
    if (*seen & bit) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "option \"%s\" is given twice", o->name);
        return false;
    }
    *seen |= bit;
    if (!o->read(r, o->out)) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "option \"%s\" must be %s", o->name, o->expects);
        return false;
    }
    return true;
}

bool options_read(struct rpc_request *rq, struct reader *r, const struct option *options,
                  uint32_t count)
{
    uint32_t pairs, seen = 0;

    if (read_nil(r))
        return true;
    if (!read_map(r, &pairs)) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "options must be a map");
        return false;
    }
    for (uint32_t i = 0; i < pairs; i++)
        if (!option_read(rq, r, options, count, &seen))
            return false;
    return true;
}
