/* Lists whose links stand in their elements: <sys/queue.h> (queue(7)), and what it lacks here.
 *
 * Which one: LIST where elements leave from the middle and no order matters, STAILQ for queues that
 * are left at the front, TAILQ for both.  The list borrows its elements.  One thread.
 *
 * A walk that ends in _SAFE bears that the element it stands at is taken out or freed. */
#ifndef ERGON_BASE_LIST_H
#define ERGON_BASE_LIST_H

#include <sys/queue.h>

#ifndef LIST_FOREACH_SAFE
#define LIST_FOREACH_SAFE(var, head, field, next)                                                  \
    for ((var) = LIST_FIRST(head); (var) && ((next) = LIST_NEXT(var, field), 1); (var) = (next))
#endif

#ifndef STAILQ_FOREACH_SAFE
#define STAILQ_FOREACH_SAFE(var, head, field, next)                                                \
    for ((var) = STAILQ_FIRST(head); (var) && ((next) = STAILQ_NEXT(var, field), 1); (var) = (next))
#endif

#ifndef TAILQ_FOREACH_SAFE
#define TAILQ_FOREACH_SAFE(var, head, field, next)                                                 \
    for ((var) = TAILQ_FIRST(head); (var) && ((next) = TAILQ_NEXT(var, field), 1); (var) = (next))
#endif

/* The first element, taken out; NULL: the list is empty. */
#define LIST_POP(head, field)                                                                      \
    ({                                                                                             \
        __typeof__(LIST_FIRST(head)) first_ = LIST_FIRST(head);                                    \
        if (first_)                                                                                \
            LIST_REMOVE(first_, field);                                                            \
        first_;                                                                                    \
    })
#define STAILQ_POP(head, field)                                                                    \
    ({                                                                                             \
        __typeof__(STAILQ_FIRST(head)) first_ = STAILQ_FIRST(head);                                \
        if (first_)                                                                                \
            STAILQ_REMOVE_HEAD(head, field);                                                       \
        first_;                                                                                    \
    })
#define TAILQ_POP(head, field)                                                                     \
    ({                                                                                             \
        __typeof__(TAILQ_FIRST(head)) first_ = TAILQ_FIRST(head);                                  \
        if (first_)                                                                                \
            TAILQ_REMOVE(head, first_, field);                                                     \
        first_;                                                                                    \
    })

#endif
