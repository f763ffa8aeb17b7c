/* "Did you mean ...?": the candidate that a word was most likely meant to be.
 *
 *     struct suggestion s = suggest_for(span_text(word), 2);
 *     for (...)
 *         suggest_offer(&s, candidate);
 *     if (s.name.len > 0) ...
 *
 * Pure; any thread.  Borrows the word and the candidates. */
#ifndef ERGON_BASE_SUGGEST_H
#define ERGON_BASE_SUGGEST_H

#include "base/span.h"

enum { SUGGEST_WORD_MAX = 48 /* bytes; longer words are not compared */ };

struct suggestion {
    struct span word;
    size_t below;     /* a candidate counts when fewer edits than this lie between them */
    struct span name; /* the first of the nearest candidates so far; empty: none is near */
};

/* At most `edits` bytes put in, left out or replaced make a likeness. */
struct suggestion suggest_for(struct span word, size_t edits);
void suggest_offer(struct suggestion *s, struct span candidate);

#endif
