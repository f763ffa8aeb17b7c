/* What machines ask: /healthz, /readyz, /metrics, /debug/topology.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_MONITORING_H
#define ERGON_ADMIN_MONITORING_H

#include "server/admin/web.h"

/* 200 "ok" while the process lives and its main thread looks; nobody is asked who it is. */
void monitoring_healthz(struct web_listener *l, struct evhttp_request *req);
/* 200 "ready", or 503 and why not: it starts, drains, or a thread hangs; nobody is asked. */
void monitoring_readyz(struct web_listener *l, struct evhttp_request *req);
/* OpenMetrics for who asks for it, else Prometheus' format before that; smaller for who takes gzip.
 * On loopback and on a Unix socket nobody is asked; elsewhere a session or a bearer
 * token has to have the right to server.info. */
void monitoring_metrics(struct web_listener *l, struct evhttp_request *req);
/* What server.topology answers, to whoever may call it: by a session, a bearer token, or neither
 * where nobody is asked. */
void monitoring_topology(struct web_listener *l, struct evhttp_request *req);

#endif
