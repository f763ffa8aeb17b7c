/* The views of `ergon top`: what of a model (rates.h) is shown, in which columns and order.
 *
 * Pure, but for the clock; one thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_TOP_VIEWS_H
#define ERGON_CLI_TOP_VIEWS_H

#include "client/cli/top/frame.h"

#include <jansson.h>

enum view_id {
    VIEW_ALL, /* some of handlers, queues and executors */
    VIEW_HANDLERS,
    VIEW_QUEUES,
    VIEW_EXECUTORS,
    VIEW_LOOPS,
    VIEW_CONNECTIONS,
    VIEW_WORKERS,
    VIEW_COUNT
};

struct view_state {
    enum view_id view;
    size_t sort[VIEW_COUNT];   /* the column, from 0 */
    bool reversed[VIEW_COUNT]; /* the least first, or texts from z to a */
    char filter[64]; /* of rows: those with this in their name, or another text; "": all */
    size_t scroll;   /* rows passed over */
};

/* Each view by what is worth most. */
void view_state_init(struct view_state *s);

const char *view_name(enum view_id view);

/* The next column, or with `by` < 0 the one before. */
void view_sort_by(struct view_state *s, int by);

/* The figures of the whole server, three lines or more; `url` is where it is. */
void view_header(struct frame *f, const json_t *model, const char *url);

/* The rows of the view, as many as there is room for. */
void view_rows(struct frame *f, const json_t *model, const struct view_state *s);

#endif
