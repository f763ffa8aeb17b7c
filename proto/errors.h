/* Every error that a peer can be told, once: X(NAME, number, retryable, "what it means").
 *
 * On the wire an error is by default the string "NAME: human text" (first shape); `server.hello`
 * may choose the pair [number, "NAME: text"] or the map {code, message, retryable, data}.  Numbers
 * are stable; those that JSON-RPC knows are JSON-RPC's.
 *
 * Constants and pure functions: any thread. */
#ifndef ERGON_PROTO_ERRORS_H
#define ERGON_PROTO_ERRORS_H

#define ERGON_ERRORS(X)                                                                            \
    X(BAD_REQUEST, -32600, false, "the message is not a MessagePack-RPC message")                  \
    X(NO_METHOD, -32601, false, "no handler and no server method has this name")                   \
    X(BAD_PARAMS, -32602, false, "the parameters do not fit the method")                           \
    X(INTERNAL, -32603, false, "the server failed; its log says why")                              \
    X(FAILED, 1, false, "the handler failed; the text is its own")                                 \
    X(BUSY, 2, true, "a limit is reached; try again later")                                        \
    X(DEADLINE, 3, false, "the deadline passed before the result was there")                       \
    X(CANCELLED, 4, false, "the call was cancelled")                                               \
    X(AUTH, 5, false, "authentication required: server.auth, or a client certificate")             \
    X(DENIED, 6, false, "this principal may not call this method")                                 \
    X(NOT_FOUND, 7, false, "there is no such thing")                                               \
    X(TOO_LARGE, 8, false, "a size limit is exceeded")                                             \
    X(DRAINING, 9, true, "the server is shutting down")                                            \
    X(TOO_DEEP, 10, false, "nested calls are deeper than the limit")                               \
    X(MEMORY, 11, true, "the server is out of memory")                                             \
    X(FENCED, 12, false, "the attempt is not the current one any more")                            \
    X(STORE, 13, true, "the store cannot write: what is to last is refused")                       \
    X(AFTER, 14, false, "what had to be done first was not done")                                  \
    X(NO_EXECUTOR, 15, false, "the server has no executor of the kind that this method needs")     \
    X(WORKER_LOST, 16, false, "the worker that ran it was lost; it may have run")                  \
    X(NO_WORKER, 17, true, "no worker offers this method now")                                     \
    X(UNSURE, 18, false,                                                                           \
      "it may have been done: its server was lost, stopped, or could not write it")                \
    X(STOPPED, 19, false, "the actor is stopped")                                                  \
    X(DEADLOCK, 20, false, "the call would wait for its own end")                                  \
    X(BAD_CHANGES, 21, false, "a turn answered changes that its actor cannot take")

enum ergon_error {
    ERGON_OK = 0,
#define X(name, number, retryable, text) ERGON_E_##name,
    ERGON_ERRORS(X)
#undef X
        ERGON_ERROR_COUNT
};

enum error_shape { ERROR_SHAPE_TEXT, ERROR_SHAPE_PAIR, ERROR_SHAPE_MAP };

/* The strings are constants. */
const char *error_name(enum ergon_error e);    /* "BUSY" */
const char *error_meaning(enum ergon_error e); /* the text above */
int error_number(enum ergon_error e);
_Bool error_retryable(enum ergon_error e);

/* The error of this name; ERGON_OK when there is none. */
enum ergon_error error_find(const char *name);

#endif
