/* A client on a listener that allows little.
 *
 * rights: what the listener does not allow is answered DENIED, and what it allows is not
 * (PROTOCOL.md, "Who you are"). */
#ifndef ERGON_SIM_GUEST_H
#define ERGON_SIM_GUEST_H

#define SIM_GUEST_MAY "echo,task.get,task.list,queue.list,server.info"

void sim_guest_spawn(void);
void sim_guest_wake(void); /* the node has come up, or has gone */
void sim_guest_calm(void); /* it asks for nothing more */

#endif
