/* The JSON gateway: sessions, and calls of methods in them.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_API_H
#define ERGON_ADMIN_API_H

#include "server/admin/web.h"

/* GET, POST and DELETE /api/session. */
void api_session_get(struct web_listener *l, struct evhttp_request *req);
void api_session_post(struct web_listener *l, struct evhttp_request *req);
void api_session_delete(struct web_listener *l, struct evhttp_request *req);
/* POST /api/call {"method", "params"}. */
void api_call(struct web_listener *l, struct evhttp_request *req);

/* The session of a request that changes something.  NULL: it was refused, and answered. */
struct session *api_trusted_session(const struct web_listener *l, struct evhttp_request *req);
/* The connection of a session. */
struct gateway_peer *api_peer(const struct session *s);
/* Ends those of this listener that were opened by a certificate which counts no more, by the
 * listener's present context; logged. */
void api_end_distrusted(const struct web_listener *l);
/* Ends it with its connection: what it had under way is answered CLOSED. */
void api_end_session(struct session *s);

#endif
