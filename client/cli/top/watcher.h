/* Samples of a server for `ergon top`, over a connection that is made again when it breaks.
 *
 * One thread, as cli.h says of the whole folder.  Blocks while it asks. */
#ifndef ERGON_CLI_TOP_WATCHER_H
#define ERGON_CLI_TOP_WATCHER_H

#include "client/cli/session.h"
#include "client/cli/top/views.h"

#include <jansson.h>

struct watcher {
    struct globals globals; /* a copy that says nothing */
    struct session session;
    bool connected;
    json_t *before;     /* the sample of before; NULL: none */
    json_t *model;      /* of the last samples; NULL: there was none */
    char trouble[160];  /* "": none; else what is wrong with the last sample */
    enum status status; /* of the last try */
};

/* Connects.  Another status than STATUS_OK: a message was printed. */
enum status watcher_open(struct watcher *w, const struct globals *g);
void watcher_close(struct watcher *w);

/* Takes a sample with what the view needs, and makes w->model of it and the one before; connects
 * first where there is no connection.  Where that fails the model stays as it was, and w->trouble
 * says why. */
void watcher_look(struct watcher *w, enum view_id view);

#endif
