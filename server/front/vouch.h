/* cluster.session: a front names the client for which a session speaks, and the owner believes it.
 *
 * With its certificate a node can speak for anybody.  So the owner serves the method on listeners
 * of nodes only, whose authority signs nodes and nothing else.  The owner also determines the
 * client's rights by its own tokens and roles, and grants what both grant: this protects against a
 * stale configuration, not against a hostile node.
 *
 *   cluster.session [{cluster, version, node, principal, token, tenant, free, rights, peer, hello,
 *                     allow, work}]
 *
 * Thread: the loop's. */
#ifndef ERGON_FRONT_VOUCH_H
#define ERGON_FRONT_VOUCH_H

#include "server/cluster/view.h"
#include "server/rpc/method.h"

/* Version of the protocol between nodes; others are refused. */
enum { VOUCH_VERSION = 1 };

/* The owner's answer is a map with this, true: it knows results as parameters, and worker.submit.
 * One of the version before the schema 3 answers true alone.  So while an upgrade is under way this
 * node passes neither on to such an owner, which would do something else, or nothing. */
#define VOUCH_COMPOSES "composes"
bool vouch_composes(struct span answer);
extern const char vouch_too_old[]; /* what is said then */

/* Packs the parameters for this client.  `view`: that of the front. */
void vouch_pack(struct pack *p, const struct connection *c, const struct cluster_view *view);

/* The same for the node itself, as a worker. */
void vouch_pack_node(struct pack *p, const struct cluster_view *view);

/* The refusal that was logged last: nodes that are refused try again each second. */
struct refusals {
    char last[160];
    ao_time at; /* 0: none was logged */
};
/* Should it be logged?  The same text once a minute, another one once a second. */
bool refusals_news(struct refusals *r, ao_time now, const char *why);

/* Serves the request.  `view`: that of this node, which has to own the tasks.  AUTH refuses the
 * client, as this node and the front disagree about it; DENIED and BUSY refuse the front. */
void vouch_serve(struct rpc_request *rq, const struct cluster_view *view,
                 struct refusals *refusals);

/* conn_port.vouched: the principal after tokens or roles were read again. */
const struct principal *vouch_again(struct connection *c);

#endif
