#include "client/cli/options.h"

#include <string.h>

enum { WORD_MAX = 32 }; /* longer words are not compared */

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein's distance; both words have at most WORD_MAX bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != 0; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = min3(substituted, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[width];
}

const char *suggest(const char *word, const char *(*next)(const void *arg, size_t i),
                    const void *arg)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 2 + 1; /* more than half wrong is no likeness */
    const char *candidate;
    if (strlen(word) > WORD_MAX)
        return NULL;
    for (size_t i = 0; (candidate = next(arg, i)) != NULL; i++) {
        if (strlen(candidate) > WORD_MAX)
            continue;
        size_t d = distance(word, candidate);
        if (d < best_distance) {
            best_distance = d;
            best = candidate;
        }
    }
    return best;
}
