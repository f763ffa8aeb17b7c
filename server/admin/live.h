/* GET /api/live: a stream of server-sent events of one session.
 *
 * Once a second the session asks the server for its figures, by its own connection, and what its
 * rights do not allow is null.  While a reader has not taken what was sent to it the next event is
 * skipped, and one that takes nothing for WEB_TIMEOUT_S is dropped by evhttp: nothing piles up.  A
 * stream ends with its session.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_LIVE_H
#define ERGON_ADMIN_LIVE_H

#include "server/admin/web.h"

void live_get(struct web_listener *l, struct evhttp_request *req);
/* Each second: asks anew, for each stream whose last event has been taken. */
void lives_tick(struct web *w);
void lives_close(struct web *w); /* ends all of them */

#endif
