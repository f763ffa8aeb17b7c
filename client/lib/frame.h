/* Whole messages of the client's side, and what an error value says.  Pure, but for the caller's
 * buffer; any thread. */
#ifndef ERGON_CLIENT_FRAME_H
#define ERGON_CLIENT_FRAME_H

#include "client/lib/buffer.h"

/* Append one message; false: out of memory, nothing appended.  `params` is one raw value, empty for
 * none. */
bool frame_request(struct buffer *b, uint32_t id, struct span method, struct span params);
bool frame_notification(struct buffer *b, struct span method, struct span params);

/* What goes first on a connection, a whole message: the notification that its client never
 * half-closes, so that to the server FIN is the end.  A server that does not know that ignores it.
 * Constant. */
struct span frame_hello(void);

/* A request of server.auth with this token. */
bool frame_auth(struct buffer *b, uint32_t id, const char *token);

/* What an error value says to a person: of "CODE: text", of [number, "CODE: text"], or of a map
 * with code and message.  Any other value has no code and a text that says so. */
struct error_text {
    char code[32];  /* "" if there is none */
    char text[512]; /* cut if longer; control characters become spaces */
};

void error_text_read(struct span error, struct error_text *out);

#endif
