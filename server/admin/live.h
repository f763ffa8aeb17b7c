/* /api/live: a stream of server-sent events of one session.
 *
 * Once a second the session asks the server for its figures, by its own connection, and what its
 * rights do not allow is null.  While a reader has not taken what was sent to it the next event is
 * skipped, and one that takes nothing for admin.request_timeout is dropped by evhttp: nothing piles
 * up.  A stream ends with its session.
 *
 * Beside these it sends what its page wants of the feed (follow.h), which says so by a POST that
 * names the stream by its number, the first thing that it sends.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_LIVE_H
#define ERGON_ADMIN_LIVE_H

#include "server/admin/web.h"

void live_get(struct web_listener *l, struct evhttp_request *req);
/* POST {"stream", "follow"}: options of task.events, or null. */
void live_post(struct web_listener *l, struct evhttp_request *req);
/* Each second: asks anew, for each stream whose last event has been taken. */
void lives_tick(struct web *w);
void lives_close(struct web *w); /* ends all of them */

#endif
