#include "server/jobs/core/slots.h"

#include <stdlib.h>

void *slots_new(void)
{
    return calloc(SLOTS_FIRST, sizeof(void *));
}

void *slots_grow(void *slots, uint32_t size)
{
    void **grown = slots;
    if ((size & (size - 1)) == 0) /* full: a large array is moved by its pages, not copied */
        grown = realloc(slots, 2 * (size_t)size * sizeof *grown);
    if (grown)
        grown[size] = NULL;
    return grown;
}
