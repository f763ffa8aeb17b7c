/* A run of bytes that somebody else owns.  A span never frees and never outlives its owner.
 * Pure; any thread. */
#ifndef ERGON_BASE_SPAN_H
#define ERGON_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct span {
    const uint8_t *at; /* undefined when len is 0 */
    size_t len;        /* bytes */
};

static inline struct span span_of(const void *at, size_t len)
{
    return (struct span){.at = at, .len = len};
}

static inline struct span span_text(const char *text)
{
    return span_of(text, strlen(text));
}

/* What follows the first `n` bytes, n <= len. */
static inline struct span span_behind(struct span s, size_t n)
{
    return span_of(s.at + n, s.len - n);
}

/* Copies the bytes to *at, and moves that behind them.  The copy, there. */
static inline struct span span_put(struct span s, uint8_t **at)
{
    struct span copy = span_of(*at, s.len);
    if (s.len > 0)
        memcpy(*at, s.at, s.len);
    *at += s.len;
    return copy;
}

/* A malloc'ed text of these bytes; NULL without memory.  (strndup() may look behind them.) */
static inline char *span_strdup(struct span s)
{
    char *copy = malloc(s.len + 1);
    if (!copy)
        return NULL;
    if (s.len > 0)
        memcpy(copy, s.at, s.len);
    copy[s.len] = '\0';
    return copy;
}

static inline bool span_equal(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* Below 0, 0, above 0: in order of bytes; a shorter one before what begins with it. */
static inline int span_compare(struct span a, struct span b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.at, b.at, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static inline bool span_is(struct span a, const char *text)
{
    return span_equal(a, span_text(text));
}

#endif
