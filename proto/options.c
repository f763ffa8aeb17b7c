#include "proto/options.h"

#include <stdio.h>

struct list {
    const struct option *options;
    uint32_t count;
};

static int find_in_list(void *arg, struct span name, struct option *out)
{
    const struct list *list = arg;

    for (uint32_t i = 0; i < list->count; i++)
        if (span_is(name, list->options[i].name)) {
            *out = list->options[i];
            return (int)i;
        }
    return -1;
}

/* One pair.  `seen` has a bit for each option that came before. */
static bool option_take(struct reader *r, option_find_fn *find, void *arg, uint32_t *seen,
                        char *error, size_t size)
{
    struct option o;
    struct span name;

    if (!read_text(r, &name)) {
        snprintf(error, size, "the name of an option must be a string");
        return false;
    }
    int number = find(arg, name, &o);
    if (number < 0) {
        snprintf(error, size, "unknown option \"%.*s\"", (int)(name.len < 64 ? name.len : 64),
                 (const char *)name.at);
        return false;
    }
    uint32_t bit = 1u << number;
    if (*seen & bit) {
        snprintf(error, size, "option \"%s\" is given twice", o.name);
        return false;
    }
    *seen |= bit;
    if (!o.read(r, o.out)) {
        snprintf(error, size, "option \"%s\" must be %s", o.name, o.expects);
        return false;
    }
    return true;
}

bool options_take_by(struct reader *r, option_find_fn *find, void *arg, char *error, size_t size)
{
    uint32_t pairs, seen = 0;

    if (read_nil(r))
        return true;
    if (!read_map(r, &pairs)) {
        snprintf(error, size, "options must be a map");
        return false;
    }
    for (uint32_t i = 0; i < pairs; i++)
        if (!option_take(r, find, arg, &seen, error, size))
            return false;
    return true;
}

bool options_take(struct reader *r, const struct option *options, uint32_t count, char *error,
                  size_t size)
{
    struct list list = {options, count};
    return options_take_by(r, find_in_list, &list, error, size);
}
