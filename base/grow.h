/* An array of pointers by index that grows to what is asked for: those that were not set are NULL.
 *
 *     struct x **grown = grow_pointers(t->all, &t->room, index);
 *     if (!grown)
 *         return NULL;
 *     t->all = grown;
 *
 * Thread: whoever has the array. */
#ifndef ERGON_BASE_GROW_H
#define ERGON_BASE_GROW_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GROW_LEAST = 16 };

/* `array`, malloc'ed or NULL, has `*room` places, and is returned with room for `index` at least;
 * the caller has it in place of the old one.  NULL without memory: then nothing has changed. */
static inline void *grow_pointers(void *array, uint32_t *room, uint32_t index)
{
    uint32_t more = *room > 0 ? *room : GROW_LEAST;
    while (more <= index)
        more *= 2;
    if (more == *room)
        return array;
    char *grown = realloc(array, more * sizeof(void *));
    if (!grown)
        return NULL;
    memset(grown + *room * sizeof(void *), 0, (more - *room) * sizeof(void *));
    *room = more;
    return grown;
}

#endif
