/* cluster.session: a front says for which client a connection speaks, and the owner believes it.
 *
 * A node's certificate is enough to speak for anybody.  So the method is served on listeners of
 * nodes only, whose authority signs nodes and nobody else.  The owner checks the client's rights by
 * its own tokens and roles as well, and the stricter of the two hold: this keeps a stale
 * configuration from granting more, not a hostile node.
 *
 *   cluster.session [{cluster, version, node, principal, token, tenant, free, rights, peer, hello,
 *                     allow, work}]
 *
 * Thread: the loop's. */
#ifndef ERGON_FRONT_VOUCH_H
#define ERGON_FRONT_VOUCH_H

#include "server/cluster/view.h"
#include "server/rpc/method.h"

/* Of the wire between nodes: another version is refused. */
enum { VOUCH_VERSION = 1 };

/* The parameters for this client.  `view`: of the front. */
void vouch_pack(struct pack *p, const struct connection *c, const struct cluster_view *view);

/* The same for the node itself, which offers its handlers. */
void vouch_pack_node(struct pack *p, const struct cluster_view *view);

/* Refusals of sessions that were logged: a node tries again each second, for each client. */
struct refusals {
    char last[160];
    ao_time at; /* 0: none was logged */
};
/* Should it be logged?  The same text is once a minute, any text once a second. */
bool refusals_news(struct refusals *r, ao_time now, const char *why);

/* Serves the request.  `view`: of this node, which has to own the tasks.  A refusal is AUTH if this
 * node does not know the client as the front does; else it concerns the front. */
void vouch_serve(struct rpc_request *rq, const struct cluster_view *view,
                 struct refusals *refusals);

/* conn_port.vouched: after tokens or roles were read again. */
const struct principal *vouch_again(struct connection *c);

#endif
