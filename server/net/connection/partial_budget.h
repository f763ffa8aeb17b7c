/* Which connections give way so that the messages that are not whole stay within their limit, over
 * all loops (server/accounts/input_budget.h).
 *
 * Each loop has a part of the limit, and may use what the others have left.  A connection whose
 * message grows takes the memory first; where it is not there, the connections of its own loop that
 * hold most are closed for it, or it is closed itself.  So that it does not come to that, a loop
 * that has more than its part gives way before: when all together have nearly all that there is, it
 * closes those of its own that hold most, by itself or since another asks.  A part may be less than
 * one message may be: a message that is alone in its loop stays beyond it while nobody else wants
 * the memory, and goes when a loop that is within its part asks.
 *
 * Who has not said who it is goes before all others, and then it goes by principal.
 *
 * Thread: the loop's. */
#ifndef ERGON_NET_PARTIAL_BUDGET_H
#define ERGON_NET_PARTIAL_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

struct connection;
struct net_loop;

/* Set-up and tear-down, once each.  False without memory: then nothing is left to take apart. */
bool partial_budget_open(struct net_loop *l);
/* When its connections are gone. */
void partial_budget_close(struct net_loop *l);

/* Before `bytes` are read for a message that is long: the memory is not there, though the loop has
 * no more than its part.  The others are asked; the connection is not read until they have given
 * way, or for a moment, and then true. */
bool partial_budget_waits(struct connection *c, size_t bytes);
/* Takes what the connection's input needs for `bytes` more: partial_cost().  False: it is the one
 * that holds most, and was closed. */
bool partial_budget_take(struct connection *c, size_t bytes);
/* The loop's input grew: where all have nearly all that there is, some of its connections may be
 * closed, this one too. */
void partial_budget_grown(struct connection *c);

/* Frees what the connection keeps, if anything. */
void input_drop(struct connection *c);

#endif
