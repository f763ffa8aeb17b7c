/* Lists whose links stand in their elements: <sys/queue.h> (queue(7)), and what it lacks here.
 *
 * Which one: LIST where elements leave from the middle and no order matters, STAILQ for queues that
 * are left at the front, TAILQ for both.  The list borrows its elements.  One thread. */
#ifndef ERGON_BASE_LIST_H
#define ERGON_BASE_LIST_H

#include <sys/queue.h>

/* The first element, taken out; NULL: the list is empty. */
#define LIST_POP(head, field)                                                                      \
    ({                                                                                             \
        __typeof__(LIST_FIRST(head)) first_ = LIST_FIRST(head);                                    \
        if (first_)                                                                                \
            LIST_REMOVE(first_, field);                                                            \
        first_;                                                                                    \
    })
/* All of `from` into `to`, which is empty. */
#define LIST_MOVE(to, from, field)                                                                 \
    do {                                                                                           \
        LIST_FIRST(to) = LIST_FIRST(from);                                                         \
        if (LIST_FIRST(to))                                                                        \
            LIST_FIRST(to)->field.le_prev = &LIST_FIRST(to);                                       \
        LIST_INIT(from);                                                                           \
    } while (0)
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
