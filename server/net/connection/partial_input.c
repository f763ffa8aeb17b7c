#include "server/net/connection/partial_input.h"

#include <stdlib.h>

#include "server/accounts/account.h"

enum { PARTIAL_MIN = 256 }; /* bytes; room for a message that drips in */

void partial_copy_scanner(struct scanner *to, const struct scanner *from)
{
    memcpy(to, from, offsetof(struct scanner, awaited) + from->depth * sizeof from->awaited[0]);
}

static void count(struct partial_list *list, int64_t bytes)
{
    list->total += (uint64_t)bytes;
    if (list->accounts)
        accounts_keep(list->accounts, bytes);
}

static void link_in(struct partial_list *list, struct partial_input *p)
{
    LIST_INSERT_HEAD(&list->all, p, link);
    count(list, (int64_t)partial_size(p));
}

static void link_out(struct partial_list *list, struct partial_input *p)
{
    LIST_REMOVE(p, link);
    count(list, -(int64_t)partial_size(p));
}

struct partial_input *partial_new(struct partial_list *list, struct connection *owner,
                                  struct span bytes, const struct scanner *scanner)
{
    size_t capacity = bytes.len < PARTIAL_MIN / 2 ? PARTIAL_MIN : bytes.len + PARTIAL_MIN / 2;
    struct partial_input *p = malloc(sizeof *p + capacity);

    if (p == NULL)
        return NULL;
    p->owner = owner;
    p->start = 0;
    p->end = bytes.len;
    p->capacity = capacity;
    partial_copy_scanner(&p->scanner, scanner);
    memcpy(p->bytes, bytes.at, bytes.len);
    link_in(list, p);
    return p;
}

static void move_to_front(struct partial_input *p)
{
    memmove(p->bytes, p->bytes + p->start, p->end - p->start);
    p->end -= p->start;
    p->start = 0;
}

struct partial_input *partial_reserve(struct partial_list *list, struct partial_input *p,
                                      size_t bytes)
{
    if (partial_slack(p) < bytes)
        move_to_front(p);
    if (partial_slack(p) >= bytes)
        return p;
    size_t capacity = 2 * p->capacity;
    if (capacity < p->end + bytes)
        capacity = p->end + bytes;
    link_out(list, p);
    struct partial_input *bigger = realloc(p, sizeof *p + capacity);
    if (bigger != NULL) {
        p = bigger;
        p->capacity = capacity;
    }
    link_in(list, p);
    return bigger;
}

struct partial_input *partial_append(struct partial_list *list, struct partial_input *p,
                                     struct span bytes)
{
    p = partial_reserve(list, p, bytes.len);
    if (p == NULL)
        return NULL;
    memcpy(p->bytes + p->end, bytes.at, bytes.len);
    p->end += bytes.len;
    return p;
}

void partial_free(struct partial_list *list, struct partial_input *p)
{
    if (p == NULL)
        return;
    link_out(list, p);
    free(p);
}
