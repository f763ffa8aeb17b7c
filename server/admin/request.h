/* What a request says, and whose it is.
 *
 * Thread: the admin thread.  Texts are the request's. */
#ifndef ERGON_ADMIN_REQUEST_H
#define ERGON_ADMIN_REQUEST_H

#include <event2/util.h>

#include "server/admin/web.h"

const char *request_header(struct evhttp_request *req, const char *name); /* NULL: it has none */
/* The name of a session's cookie, "ergon_session_7468".  A browser keeps the cookies of a host for
 * all its ports: so that the pages of two servers there do not end each other's session, the port
 * by which we were called is part of it. */
enum { REQUEST_COOKIE_SIZE = 32 };
const char *request_cookie(struct evhttp_request *req, char name[static REQUEST_COOKIE_SIZE]);
/* The session that its cookie names; NULL: none, or no such, any more, or it was opened by a
 * certificate that its connection does not show. */
struct session *request_session(const struct web_listener *l, struct evhttp_request *req);
/* Behind "Authorization: Bearer"; NULL: there is none. */
const char *request_token(struct evhttp_request *req);
/* Its body, which has to be JSON and say so, as an object: a new reference.  NULL: it was refused,
 * and answered. */
json_t *request_json(struct evhttp_request *req);
/* Calls fn(fd, what, arg) when its client closes its end, or its connection breaks, before it is
 * answered; evhttp does not look while somebody else answers.  An event of the caller, to be freed
 * before the request is; NULL without memory. */
struct event *request_vanishes(struct evhttp_request *req,
                               void (*fn)(evutil_socket_t fd, short what, void *arg), void *arg);
/* Where the request's connection comes from, and the user that its certificate names, if the
 * listener authenticates by certificate.  The certificate does not count where the browser says
 * that another site caused the request, since a browser shows it to any site.  False: the
 * certificate names no user, and that was answered. */
bool request_origin(const struct web_listener *l, struct evhttp_request *req,
                    struct net_origin *from);
/* What its connection has shown; NULL: it is plain. */
const struct ssl_st *request_tls(struct evhttp_request *req);
/* The address that its connection came to, as text; "" for a Unix socket. */
void request_local_address(struct evhttp_request *req, char *text, size_t size);
/* Can we reach the server by now?  False: it was answered. */
bool request_reaches(struct web *w, struct evhttp_request *req);

#endif
