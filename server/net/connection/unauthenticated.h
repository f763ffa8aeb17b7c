/* Unauthenticated connections: those of one loop whose peers have not authenticated yet.
 *
 * A connection is one from its beginning to the end of its TLS handshake; and on a listener that
 * asks for tokens, until a certificate or server.auth identifies the peer.  An unauthenticated
 * connection gets little: a limited time, small messages, and a place only as long as there are not
 * too many of them.  When there are, the loop closes one of the address that has the most of them.
 * So a flood from one address affects that address, and no client at another.  The loop closes the
 * oldest if that had a second to speak: a real client authenticates at once, and a peer that only
 * holds places loses them.  Otherwise many came at once, and the loop closes the youngest, whose
 * client must connect again.  (A random early drop, as of OpenSSH's MaxStartups, would close
 * connections that are about to authenticate as often.)
 *
 * Thread: the loop's.  What may fail says so. */
#ifndef ERGON_NET_UNAUTHENTICATED_H
#define ERGON_NET_UNAUTHENTICATED_H

#include "server/net/connection/conn_private.h"

enum { UNAUTHENTICATED_MESSAGE_MAX = 4096 /* bytes */ };

/* For a loop whose limits are set. */
void unauthenticated_init(struct net_loop *l);
void unauthenticated_fini(struct net_loop *l); /* when its connections are gone */

/* A new connection, if it is one.  False without memory. */
bool unauthenticated_add(struct connection *c);

/* A connection that was known and is nobody's any more: its time begins again.  False without
 * memory: it is none. */
bool unauthenticated_again(struct connection *c);

/* It is authenticated, or need not be, or is closed: it is one no longer.  Twice is fine. */
void unauthenticated_remove(struct connection *c);

/* It leaves HANDSHAKE.  Twice is fine. */
void unauthenticated_shook(struct connection *c);

/* The time by which it must be authenticated, of the activators' clock; AO_NEVER: that has no
 * limit, it still shakes hands, or it is none. */
ao_time unauthenticated_deadline(const struct connection *c);

/* A connection of this key (peer_key()) has a place among these, or has it no more. */
void places_join(struct places *p, struct place *place, uint64_t key);
void places_leave(struct places *p, struct place *place);
/* The oldest of this origin, and the youngest; NULL: of all, where there are some.  O(1): otherwise
 * a client with many addresses could cause a search through all for each connection. */
struct place *places_first(const struct places *p, const struct origin *origin);
struct place *places_last(const struct places *p, const struct origin *origin);

#endif
