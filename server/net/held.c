#include "server/net/held.h"

#include <stdlib.h>

enum { HELD_MIN = 256 }; /* bytes; room for a message that drips in */

void held_copy_scanner(struct scanner *to, const struct scanner *from)
{
    memcpy(to, from, offsetof(struct scanner, awaited) + from->depth * sizeof from->awaited[0]);
}

static size_t held_size(const struct held *h)
{
    return sizeof *h + h->capacity;
}

static void link_in(struct held_list *list, struct held *h)
{
    h->prev = NULL;
    h->next = list->first;
    if (list->first != NULL)
        list->first->prev = h;
    list->first = h;
    list->total += held_size(h);
}

static void link_out(struct held_list *list, struct held *h)
{
    if (h->prev != NULL)
        h->prev->next = h->next;
    else
        list->first = h->next;
    if (h->next != NULL)
        h->next->prev = h->prev;
    list->total -= held_size(h);
}

struct held *held_new(struct held_list *list, struct connection *owner, struct span bytes,
                      const struct scanner *scanner)
{
    size_t capacity = bytes.len < HELD_MIN / 2 ? HELD_MIN : bytes.len + HELD_MIN / 2;
    struct held *h = malloc(sizeof *h + capacity);

    if (h == NULL)
        return NULL;
    h->owner = owner;
    h->start = 0;
    h->end = bytes.len;
    h->capacity = capacity;
    held_copy_scanner(&h->scanner, scanner);
    memcpy(h->bytes, bytes.at, bytes.len);
    link_in(list, h);
    return h;
}

static void move_to_front(struct held *h)
{
    memmove(h->bytes, h->bytes + h->start, h->end - h->start);
    h->end -= h->start;
    h->start = 0;
}

struct held *held_reserve(struct held_list *list, struct held *h, size_t bytes)
{
    if (held_slack(h) < bytes)
        move_to_front(h);
    if (held_slack(h) >= bytes)
        return h;
    size_t capacity = 2 * h->capacity;
    if (capacity < h->end + bytes)
        capacity = h->end + bytes;
    link_out(list, h);
    struct held *bigger = realloc(h, sizeof *h + capacity);
    if (bigger != NULL) {
        h = bigger;
        h->capacity = capacity;
    }
    link_in(list, h);
    return bigger;
}

struct held *held_append(struct held_list *list, struct held *h, struct span bytes)
{
    h = held_reserve(list, h, bytes.len);
    if (h == NULL)
        return NULL;
    memcpy(h->bytes + h->end, bytes.at, bytes.len);
    h->end += bytes.len;
    return h;
}

void held_free(struct held_list *list, struct held *h)
{
    if (h == NULL)
        return;
    link_out(list, h);
    free(h);
}

struct held *held_largest(const struct held_list *list)
{
    struct held *largest = list->first;

    for (struct held *h = list->first; h != NULL; h = h->next)
        if (h->capacity > largest->capacity)
            largest = h;
    return largest;
}
