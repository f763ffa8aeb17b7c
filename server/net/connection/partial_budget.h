/* Which connections give way so that the messages that are not whole stay within their limit, over
 * all loops (server/accounts/input_budget.h).
 *
 * What a read may leave over has its room before the read: it is taken from the little that is the
 * loop's own, and only beyond that from what all loops share.  So no connection is closed because
 * of what it has just sent, and a short message finds room whatever long ones hold.  A long one
 * takes what it grows by from what is shared, before each read.
 *
 * Where there is no room, the largest goes: the loop that holds most of what is shared closes one,
 * of those there the largest of the principal that holds most, on all loops together.  That is this
 * loop, counted with what it wants, or another, which is asked; then the connection is not read
 * until it has given way, which costs it no more than a moment.  A long message of a loop that
 * others did not make room for in PATIENCE makes it among its own.  Unauthenticated connections are
 * closed before all others.
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

/* Both, before bytes are read.  False: it is not to be read now; it waits, `awaits_input`, and is
 * to try again in a while, or it held most, and was closed. */
/* `size` bytes, which may become fewer, of which any number may have to be kept behind a short
 * rest: partial_settle() is owed for it. */
bool partial_budget_admits(struct connection *c, size_t *size);
/* `bytes` more behind what is long already: partial_reserve() may follow. */
bool partial_budget_take(struct connection *c, size_t bytes);

/* Frees what the connection keeps, if anything. */
void input_drop(struct connection *c);

#endif
