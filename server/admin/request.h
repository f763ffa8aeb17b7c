/* What a request says, and whose it is.
 *
 * Thread: the admin thread.  Texts are the request's. */
#ifndef ERGON_ADMIN_REQUEST_H
#define ERGON_ADMIN_REQUEST_H

#include "server/admin/web.h"

const char *request_header(struct evhttp_request *req, const char *name); /* NULL: it has none */
/* The session that its cookie names; NULL: none, or no such, any more. */
struct session *request_session(struct web *w, struct evhttp_request *req);
/* Behind "Authorization: Bearer"; NULL: there is none. */
const char *request_token(struct evhttp_request *req);
/* Its body, which has to be JSON and say so, as an object: a new reference.  NULL: it was refused,
 * and answered. */
json_t *request_json(struct evhttp_request *req);
/* Where its connection comes from, by the listener it came to. */
struct net_origin request_origin(const struct web_listener *l, struct evhttp_request *req);
/* The address that its connection came to, as text; "" for a Unix socket. */
void request_local_address(struct evhttp_request *req, char *text, size_t size);
/* Can we reach the server by now?  False: it was answered. */
bool request_reaches(struct web *w, struct evhttp_request *req);

#endif
