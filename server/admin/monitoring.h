/* What machines ask: /healthz, /readyz, /metrics, /debug/topology.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_MONITORING_H
#define ERGON_ADMIN_MONITORING_H

#include "server/admin/web.h"

/* 200 "ok" while the process lives and its main thread runs; without authentication. */
void monitoring_healthz(struct web_listener *l, struct evhttp_request *req);
/* 200 "ready", or 503 and why not: it starts, drains, or a thread hangs; nobody is asked. */
void monitoring_readyz(struct web_listener *l, struct evhttp_request *req);
/* OpenMetrics if the client asks for it, else Prometheus' older text format; compressed if the
 * client accepts gzip.  Loopback and Unix sockets need no authentication; elsewhere a session or a
 * bearer token has to have the right to server.info. */
void monitoring_metrics(struct web_listener *l, struct evhttp_request *req);
/* What server.topology answers, for a principal that may call it: by a session, a bearer token, or
 * neither where the listener asks for none. */
void monitoring_topology(struct web_listener *l, struct evhttp_request *req);

#endif
