/* A plain number that the server shows: where it stands in the struct that its room publishes, and
 * how server.info and /metrics show it.  Each room has a table of its own; what may be nil,
 * repeats, or has labels is shown by hand.  Constant; any thread. */
#ifndef ERGON_BASE_FIGURE_H
#define ERGON_BASE_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct figure {
    const char *group;   /* those of a group are shown together: a map of server.info */
    size_t offset, size; /* of the member: 4 or 8 bytes, unsigned */
    const char *key;     /* in that map; NULL: not there */
    const char *family;  /* of /metrics; NULL: not there */
    bool counts;         /* it only grows */
    const char *unit;    /* with which the family ends; NULL: none */
    const char *help;
};

/* The offset and the size of a member; one of another size does not compile. */
#define FIGURE_AT(type, member) offsetof(type, member), FIGURE_SIZE(sizeof(((type *)0)->member))
#define FIGURE_SIZE(size)       ((size) * sizeof(char[(size) == 4 || (size) == 8 ? 1 : -1]))

static inline uint64_t figure_value(const struct figure *f, const void *published)
{
    const char *at = (const char *)published + f->offset;
    uint32_t narrow;
    uint64_t wide;

    if (f->size == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

static inline bool figure_is_of(const struct figure *f, const char *group)
{
    return strcmp(f->group, group) == 0;
}

#endif
