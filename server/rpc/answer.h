/* Responses: the encoding of an outcome into a connection's output, in the shape that its peer
 * chose.  To a peer that is gone, nothing is written.  Thread: the connection's loop. */
#ifndef ERGON_RPC_ANSWER_H
#define ERGON_RPC_ANSWER_H

#include "proto/pack.h"
#include "server/net/connection.h"
#include "server/tasks/call.h"

/* The response to `msgid`.  A large result is not copied: its block is handed over, and
 * outcome->block is NULL afterwards; a result without a block is written at once. */
void answer_outcome(struct connection *c, struct span msgid, struct outcome *outcome);

void answer_result(struct connection *c, struct span msgid, struct span result);

/* What was packed, which has not failed.  Its shares are not copied: the output holds a reference
 * to each until it is written. */
void answer_packed(struct connection *c, struct span msgid, const struct pack *p);

/* Whole messages that no request asked for, one after the other; shared like the above. */
void answer_push(struct connection *c, struct blob *messages);

/* Of a request that a lost owner may have done: an error that another try may overcome says nothing
 * of that.  Such an error becomes UNSURE, and `text` (of `size` bytes) says why, with what it said
 * before, cut to fit.  False: the error stays. */
bool answer_is_unsure(enum ergon_error error, char *text, size_t size);

/* `code` NULL: the error's name; else it is a handler's own, whose DRAINING goes into the text,
 * since clients and fronts repeat what the server answers so.  `text` is cut to fit. */
void answer_error(struct connection *c, struct span msgid, enum ergon_error error, const char *code,
                  struct span text);

#endif
