/* Watches of one client, so that they end with it. */
#ifndef ERGON_CLIENT_WATCH_H
#define ERGON_CLIENT_WATCH_H

#include <sys/queue.h>

#include <ergon/client_tasks.h>

TAILQ_HEAD(watch_list, ergon_watch);

/* Ends those that have no call out, with CLOSED. */
void watches_end(struct watch_list *watches);

#endif
