#include "client/lib/buffer.h"

#include <assert.h>
#include <stdlib.h>

enum {
    BUFFER_FIRST = 4096,    /* bytes of the first block */
    BUFFER_KEPT = 64 * 1024 /* an empty buffer keeps no more than this */
};

void buffer_fini(struct buffer *b)
{
    free(b->at);
    *b = (struct buffer){0};
}

static void move_to_front(struct buffer *b)
{
    size_t len = buffer_length(b);
    if (len > 0)
        memmove(b->at, b->at + b->start, len);
    b->start = 0;
    b->end = len;
}

static bool grow(struct buffer *b, size_t wanted)
{
    size_t cap = b->cap > 0 ? b->cap : BUFFER_FIRST;
    while (cap < wanted) {
        if (cap > SIZE_MAX / 2)
            return false;
        cap *= 2;
    }
    uint8_t *at = realloc(b->at, cap);
    if (at == NULL)
        return false;
    b->at = at;
    b->cap = cap;
    return true;
}

uint8_t *buffer_reserve(struct buffer *b, size_t room)
{
    if (b->cap - b->end >= room && b->cap > 0)
        return b->at + b->end;
    size_t len = buffer_length(b);
    if (room > SIZE_MAX - len)
        return NULL;
    /* Moving costs what lies in front of it at most: each byte is moved a bounded number of times.
     */
    if (b->start >= len && b->cap - len >= room && b->cap > 0)
        move_to_front(b);
    else if (!grow(b, b->end + room))
        return NULL;
    return b->at + b->end;
}

void buffer_filled(struct buffer *b, size_t len)
{
    assert(len <= b->cap - b->end);
    b->end += len;
}

bool buffer_append(struct buffer *b, struct span bytes)
{
    uint8_t *at = buffer_reserve(b, bytes.len);
    if (at == NULL)
        return false;
    if (bytes.len > 0)
        memcpy(at, bytes.at, bytes.len);
    buffer_filled(b, bytes.len);
    return true;
}

void buffer_drop(struct buffer *b, size_t len)
{
    assert(len <= buffer_length(b));
    b->start += len;
    if (b->start < b->end)
        return;
    b->start = b->end = 0;
    if (b->cap > BUFFER_KEPT)
        buffer_fini(b);
}
