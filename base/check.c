#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

/* Rare: who requires keeps its registers. */
__attribute__((cold, noinline)) void check_misused(const char *function, const char *text)
{
    fprintf(stderr, "ergon: %s(): %s\n", function, text);
    abort();
}
