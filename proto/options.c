#include "proto/options.h"

#include <stdio.h>

static const struct option *option_find(const struct option *options, uint32_t count,
                                        struct span name)
{
    for (uint32_t i = 0; i < count; i++)
        if (span_is(name, options[i].name))
            return &options[i];
    return NULL;
}

/* One pair.  `seen` has a bit for each option that came before. */
static bool option_take(struct reader *r, const struct option *options, uint32_t count,
                        uint32_t *seen, char *error, size_t size)
{
    struct span name;

    if (!read_text(r, &name)) {
        snprintf(error, size, "the name of an option must be a string");
        return false;
    }
    const struct option *o = option_find(options, count, name);
    if (!o) {
        snprintf(error, size, "unknown option \"%.*s\"", (int)(name.len < 64 ? name.len : 64),
                 (const char *)name.at);
        return false;
    }
    uint32_t bit = 1u << (o - options);
    if (*seen & bit) {
        snprintf(error, size, "option \"%s\" is given twice", o->name);
        return false;
    }
    *seen |= bit;
    if (!o->read(r, o->out)) {
        snprintf(error, size, "option \"%s\" must be %s", o->name, o->expects);
        return false;
    }
    return true;
}

bool options_take(struct reader *r, const struct option *options, uint32_t count, char *error,
                  size_t size)
{
    uint32_t pairs, seen = 0;

    if (read_nil(r))
        return true;
    if (!read_map(r, &pairs)) {
        snprintf(error, size, "options must be a map");
        return false;
    }
    for (uint32_t i = 0; i < pairs; i++)
        if (!option_take(r, options, count, &seen, error, size))
            return false;
    return true;
}
