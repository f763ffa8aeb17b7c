/* After certificates were read again: the connections of one loop whose peers' certificates are
 * named by the new list of revoked ones are closed, in small steps (walk.h).
 *
 * Thread: the loop's.  Nothing here fails. */
#ifndef ERGON_NET_REVOKE_H
#define ERGON_NET_REVOKE_H

struct net_loop;

void revoke_start(struct net_loop *l);

#endif
