#include "base/suggest.h"

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance, a row at a time, in which two neighbours that changed places are one edit
 * (optimal string alignment).  Both have at most SUGGEST_WORD_MAX bytes. */
static size_t distance(struct span a, struct span b)
{
    size_t rows[3][SUGGEST_WORD_MAX + 1]; /* in turn: this one, the one before, that before it */

    for (size_t k = 0; k <= b.len; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a.len; i++) {
        const size_t *before = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t k = 1; k <= b.len; k++) {
            row[k] =
                min3(before[k] + 1, row[k - 1] + 1, before[k - 1] + (a.at[i - 1] != b.at[k - 1]));
            bool swapped =
                i > 1 && k > 1 && a.at[i - 1] == b.at[k - 2] && a.at[i - 2] == b.at[k - 1];
            if (swapped && second[k - 2] + 1 < row[k])
                row[k] = second[k - 2] + 1;
        }
    }
    return rows[a.len % 3][b.len];
}

struct suggestion suggest_for(struct span word, size_t edits)
{
    return (struct suggestion){.word = word, .below = edits + 1};
}

void suggest_offer(struct suggestion *s, struct span candidate)
{
    if (s->word.len > SUGGEST_WORD_MAX || candidate.len > SUGGEST_WORD_MAX)
        return;
    size_t d = distance(s->word, candidate);
    if (d < s->below) {
        s->below = d;
        s->name = candidate;
    }
}
