/* A client on a listener that allows few methods.
 *
 * rights: methods that the listener does not allow are answered DENIED, and others are not
 * (PROTOCOL.md, "Who you are"). */
#ifndef ERGON_SIM_GUEST_H
#define ERGON_SIM_GUEST_H

#define SIM_GUEST_MAY "echo,task.get,task.list,queue.list,server.info"

void sim_guest_spawn(void);
void sim_guest_wake(void); /* the node has come up, or has gone */
void sim_guest_calm(void); /* it sends no more requests */

#endif
