/* The identity of a connection's peer, and its rights: both its principal and its listener restrict
 * them.
 *
 * Thread: the loop's that owns the connection. */
#ifndef ERGON_NET_CONNECTION_RIGHTS_H
#define ERGON_NET_CONNECTION_RIGHTS_H

#include "base/span.h"

struct connection;
struct principal;   /* server/net/auth/principal.h */
struct role_table;  /* server/access/rights.h */
struct token_table; /* server/net/auth/token.h */

/* The principal of the peer: set by certificate, socket credentials, server.auth, or by address
 * where the listener asks for no authentication.  NULL: there is none yet, so the connection shakes
 * hands, or its peer may only greet and authenticate. It is borrowed until it is set again; setting
 * takes a reference. */
const struct principal *conn_principal(const struct connection *c);
void conn_set_principal(struct connection *c, const struct principal *p);
/* The peer is a node of the cluster, which speaks for another peer: `via` names the node, `peer` is
 * what conn_peer() says from then on.  Both last until `release`, which is called when another
 * takes its place or the connection is freed. */
struct conn_vouched {
    const char *peer, *via;
    bool works; /* the node speaks for itself: for the handlers of its modules */
    void (*release)(struct conn_vouched *v);
};
/* Takes `v` over.  False without memory: it is still the caller's. */
bool conn_vouch(struct connection *c, struct conn_vouched *v);
struct conn_vouched *conn_vouched(const struct connection *c); /* NULL: nobody speaks for it */
/* Did it come by a listener of nodes (LISTENER_AUTH_NODE)?  Then the node's name, which is empty of
 * one on a Unix socket. */
bool conn_is_of_node(const struct connection *c, char *name, size_t size);
/* Does it take over submissions of a database (LISTENER_AUTH_DATABASE)? */
bool conn_is_of_database(const struct connection *c);
/* The number of the process of a module that the peer is (LISTENER_AUTH_MODULE); -1: it is none. */
int32_t conn_module_process(const struct connection *c);
/* What it holds is charged to this: that of its principal, or of its address (or Unix user) while
 * there is none.  Borrowed, as the principal.  Of a connection that is open, or was. */
struct tally *conn_tally(const struct connection *c);
/* The node of the cluster that speaks for the peer; NULL: the peer is connected to this one.  Lasts
 * as the principal. */
const char *conn_via(const struct connection *c);
/* May the peer call the method: do both its principal, which it has to have, and its listener allow
 * it?  The same of a right over others. */
bool conn_may(const struct connection *c, struct span method);
/* What conn_may() said holds for all connections of this number, which is never 0. */
uint64_t conn_rights(const struct connection *c);
/* What may be called on its listener; NULL: all.  Lasts as long as the server. */
const char *conn_allow(const struct connection *c);
/* Nothing limits which methods are called; but for rights over others. */
bool conn_unlimited(const struct connection *c);
/* Has it been closed since its rights had ended, or had become less? */
bool conn_was_shut_out(const struct connection *c);
/* Counts and logs a failed authentication.  False: that was the last, the connection closes. */
bool conn_auth_failed(struct connection *c);
/* The roles of its loop; the same. */
struct role_table *conn_roles(const struct connection *c);
/* The tokens of its loop; borrowed during a message.  NULL: none are configured. */
const struct token_table *conn_tokens(const struct connection *c);

#endif
