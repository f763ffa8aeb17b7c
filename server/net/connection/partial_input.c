#include "server/net/connection/partial_input.h"

#include <stdlib.h>

enum { PARTIAL_MIN = 256 }; /* bytes; room for a message that drips in */

void partial_copy_scanner(struct scanner *to, const struct scanner *from)
{
    memcpy(to, from, offsetof(struct scanner, awaited) + from->depth * sizeof from->awaited[0]);
}

static size_t partial_size(const struct partial_input *h)
{
    return sizeof *h + h->capacity;
}

static void link_in(struct partial_list *list, struct partial_input *h)
{
    h->prev = NULL;
    h->next = list->first;
    if (list->first != NULL)
        list->first->prev = h;
    list->first = h;
    list->total += partial_size(h);
}

static void link_out(struct partial_list *list, struct partial_input *h)
{
    if (h->prev != NULL)
        h->prev->next = h->next;
    else
        list->first = h->next;
    if (h->next != NULL)
        h->next->prev = h->prev;
    list->total -= partial_size(h);
}

struct partial_input *partial_new(struct partial_list *list, struct connection *owner,
                                  struct span bytes, const struct scanner *scanner)
{
    size_t capacity = bytes.len < PARTIAL_MIN / 2 ? PARTIAL_MIN : bytes.len + PARTIAL_MIN / 2;
    struct partial_input *h = malloc(sizeof *h + capacity);

    if (h == NULL)
        return NULL;
    h->owner = owner;
    h->start = 0;
    h->end = bytes.len;
    h->capacity = capacity;
    partial_copy_scanner(&h->scanner, scanner);
    memcpy(h->bytes, bytes.at, bytes.len);
    link_in(list, h);
    return h;
}

static void move_to_front(struct partial_input *h)
{
    memmove(h->bytes, h->bytes + h->start, h->end - h->start);
    h->end -= h->start;
    h->start = 0;
}

struct partial_input *partial_reserve(struct partial_list *list, struct partial_input *h,
                                      size_t bytes)
{
    if (partial_slack(h) < bytes)
        move_to_front(h);
    if (partial_slack(h) >= bytes)
        return h;
    size_t capacity = 2 * h->capacity;
    if (capacity < h->end + bytes)
        capacity = h->end + bytes;
    link_out(list, h);
    struct partial_input *bigger = realloc(h, sizeof *h + capacity);
    if (bigger != NULL) {
        h = bigger;
        h->capacity = capacity;
    }
    link_in(list, h);
    return bigger;
}

struct partial_input *partial_append(struct partial_list *list, struct partial_input *h,
                                     struct span bytes)
{
    h = partial_reserve(list, h, bytes.len);
    if (h == NULL)
        return NULL;
    memcpy(h->bytes + h->end, bytes.at, bytes.len);
    h->end += bytes.len;
    return h;
}

void partial_free(struct partial_list *list, struct partial_input *h)
{
    if (h == NULL)
        return;
    link_out(list, h);
    free(h);
}

struct partial_input *partial_largest(const struct partial_list *list)
{
    struct partial_input *largest = list->first;

    for (struct partial_input *h = list->first; h != NULL; h = h->next)
        if (h->capacity > largest->capacity)
            largest = h;
    return largest;
}
