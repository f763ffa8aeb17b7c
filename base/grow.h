/* An array by index that grows to what is asked for: elements that were not set are zero.
 *
 *     struct x *grown = grow_array(t->all, &t->room, index, sizeof *grown);
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

/* `array`, malloc'ed or NULL, has `*room` elements of `each` bytes, and is returned with room for
 * `index` at least, which is less than 2^31; the caller has it in place of the old one.  NULL
 * without memory: then nothing has changed. */
static inline void *grow_array(void *array, uint32_t *room, uint32_t index, size_t each)
{
    uint32_t more = *room > 0 ? *room : GROW_LEAST;
    while (more <= index)
        more *= 2;
    if (more == *room)
        return array;
    char *grown = realloc(array, more * each);
    if (!grown)
        return NULL;
    memset(grown + *room * each, 0, (more - *room) * each);
    *room = more;
    return grown;
}

#endif
