#include "base/suggest.h"

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance, a row at a time.  Both have at most SUGGEST_WORD_MAX bytes. */
static size_t distance(struct span a, struct span b)
{
    size_t row[SUGGEST_WORD_MAX + 1];

    for (size_t k = 0; k <= b.len; k++)
        row[k] = k;
    for (size_t i = 1; i <= a.len; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t k = 1; k <= b.len; k++) {
            size_t above = row[k];
            row[k] = min3(above + 1, row[k - 1] + 1, corner + (a.at[i - 1] != b.at[k - 1]));
            corner = above;
        }
    }
    return row[b.len];
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
