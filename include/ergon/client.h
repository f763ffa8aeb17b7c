/* libergon: calls methods of an Ergon server, or of any MessagePack-RPC server.
 *
 * Two faces.  `struct ergon_client` is asynchronous on an event base of the caller (libevent):
 * calls may be pipelined without limit but calls_max, answers come in any order, to callbacks.
 * `struct ergon_blocking` is the same with a private event base, for programs that do one thing
 * after the other.
 *
 * Threads: one client belongs to one thread, the one that runs its event base; clients do not share
 * anything.  Blocking: the asynchronous face never blocks but for one thing: a host *name* in the
 * URL is resolved by getaddrinfo() when a connection is made (addresses are not).  Signals: none is
 * raised; a write to a peer that has gone gives an outcome, not SIGPIPE.
 *
 * A client never half-closes, and says so by server.hello, a notification, at the start of each
 * connection: what an Ergon server does for it ends with the connection, and so with the process.
 * Other servers ignore that.
 *
 * Parameters and results are raw MessagePack: pack them with msgpack-c (a msgpack_sbuffer has .data
 * and .size) or by hand. */
#ifndef ERGON_CLIENT_H
#define ERGON_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ERGON_API __attribute__((visibility("default")))

struct event_base;
struct ergon_client;
struct ergon_blocking;

/* Raw MessagePack that somebody else owns. */
struct ergon_raw {
    const void *at; /* undefined when len is 0 */
    size_t len;
};

/* How a call ended, or why a function refused. */
enum ergon_end {
    ERGON_END_OK,        /* the method returned; `result` is valid */
    ERGON_END_ERROR,     /* the server answered with an error: `error`, `code`, `text` */
    ERGON_END_TIMEOUT,   /* no answer in time; if it was sent, the server is told to cancel */
    ERGON_END_CANCELLED, /* by ergon_client_cancel() or ergon_blocking_interrupt() */
    /* The connection broke while the call was in flight: it may have run or not.  It is not sent
     * again. */
    ERGON_END_BROKEN,
    ERGON_END_UNREACHABLE, /* never sent: no connection, or no trust in it (TLS) */
    ERGON_END_DENIED,      /* never sent: the server refused the token */
    ERGON_END_CLOSED,      /* the client was freed */
    ERGON_END_INVALID,     /* an argument is wrong */
    ERGON_END_MEMORY       /* out of memory, or calls_max is reached */
};

/* "unreachable", for a log; a constant. */
ERGON_API const char *ergon_end_name(enum ergon_end outcome);

/* Valid during the callback only (blocking face: until the next function on the same handle). */
struct ergon_answer {
    enum ergon_end outcome;
    struct ergon_raw result; /* raw MessagePack, one value; OK only, else empty */
    struct ergon_raw error;  /* raw MessagePack as it came; ERROR only, else empty */
    const char *code;        /* "BUSY", the name before the colon; "" if there is none */
    const char *text;        /* for a person; "" with OK; long texts are cut, `error` is not */
};

typedef void ergon_answer_fn(void *arg, const struct ergon_answer *answer);

enum ergon_state {
    ERGON_STATE_IDLE,       /* not connected; the next call, or ergon_client_connect(), connects */
    ERGON_STATE_CONNECTING, /* up to and with the TLS handshake and server.auth; calls wait */
    ERGON_STATE_READY,      /* connected */
    ERGON_STATE_BACKING_OFF /* the connection failed; the next attempt is timed; calls wait */
};

/* Called at each change of state; `why` is "" or says what failed, and is valid during the
 * callback.
 */
typedef void ergon_state_fn(void *arg, enum ergon_state state, const char *why);

/* Zero, or NULL, means the default, so `{.size = sizeof(o), .url = "..."}` will do.  Strings are
 * copied, files are read by ergon_client_new(). */
struct ergon_options {
    size_t size;           /* sizeof(struct ergon_options): what lies behind it is taken as zero */
    const char *url;       /* ergon://host[:7466], ergons://host[:7467] (TLS), unix:///path */
    const char *token;     /* sent by server.auth first on each connection */
    const char *ca_file;   /* PEM; default: the system's authorities */
    const char *cert_file; /* PEM, with its chain: client certificate */
    const char *key_file;  /* PEM; default: in cert_file */
    const char *server_name; /* what the certificate must name; default: the host of the URL */
    bool insecure;           /* TLS without looking at the server's certificate */
    bool no_reconnect;       /* after a failure stay IDLE until the next call; waiting calls end */
    uint32_t connect_timeout_ms; /* connect, TLS and server.auth together; 10 000 */
    uint32_t call_timeout_ms;    /* for calls that give none; default: none */
    uint32_t backoff_min_ms;     /* 100 */
    uint32_t backoff_max_ms;     /* 10 000; doubled up to this, half of it random */
    uint32_t message_max;        /* bytes of one message from the server; 32 MiB */
    uint32_t calls_max;          /* calls waiting and in flight at a time; 1 048 576 */
    ergon_state_fn *on_state;
    void *on_state_arg;
    /* Instead of connecting to `url`, which then only names the server: a connected stream socket,
     * non-blocking, which is the client's from then on; -1: there is none, and the attempt has
     * failed.  Called from the event loop, once for each attempt, while CONNECTING. */
    int (*open_socket)(void *arg);
    void *open_socket_arg;
};

/* Makes a client in state IDLE; nothing is sent yet.  `base` must outlive it.  On OK *out is the
 * caller's, to be freed with ergon_client_free().  Otherwise (INVALID: options or TLS files;
 * MEMORY) *out is NULL and `why`, of `why_size` bytes (0 and NULL allowed), says what is wrong. */
ERGON_API enum ergon_end ergon_client_new(struct event_base *base,
                                          const struct ergon_options *options,
                                          struct ergon_client **out, char *why, size_t why_size);

/* Ends every call with CLOSED (callbacks run before this returns) and closes the connection.  NULL
 * is allowed; so is a call from inside a callback of this client. */
ERGON_API void ergon_client_free(struct ergon_client *client);

/* Connects if IDLE; in the other states it does nothing. */
ERGON_API void ergon_client_connect(struct ergon_client *client);

ERGON_API enum ergon_state ergon_client_state(const struct ergon_client *client);

/* Names a call of one client; never reused, never 0. */
typedef uint64_t ergon_call_id;

/* Calls `method` (1 to 256 bytes) with `params`: one MessagePack value, an array as a rule; empty
 * for no parameters.  Both are copied before this returns.  The call is sent when the connection is
 * READY, in order.  timeout_ms 0 takes the option's default.
 *
 * A returned id promises exactly one callback: later, from the event loop, or from
 * ergon_client_cancel() or ergon_client_free(); never from here.  0 means refused, and no callback:
 * an argument is wrong, memory or calls_max is exhausted, or the client is being freed. */
ERGON_API ergon_call_id ergon_client_call(struct ergon_client *client, const char *method,
                                          struct ergon_raw params, uint32_t timeout_ms,
                                          ergon_answer_fn *fn, void *arg);

/* Sends a notification: there is no answer, and no promise that it arrives.  One that still waits
 * when the connection fails for good is dropped.  OK, INVALID or MEMORY. */
ERGON_API enum ergon_end ergon_client_notify(struct ergon_client *client, const char *method,
                                             struct ergon_raw params);

/* Ends the call with CANCELLED (its callback runs before this returns) and tells the server by
 * server.cancel, if it was sent.  False: there is no such call, it has ended. */
ERGON_API bool ergon_client_cancel(struct ergon_client *client, ergon_call_id id);

struct ergon_client_stats {
    uint64_t calls;       /* accepted */
    uint64_t answers;     /* matched to a call */
    uint64_t unknown_ids; /* answers to no call: late ones after a timeout or cancel; ignored */
    uint64_t
        unasked; /* requests of the server that were refused, notifications that were ignored */
    uint64_t connects;  /* times READY was reached */
    uint64_t in_flight; /* sent and not ended, now */
    uint64_t waiting;   /* not yet sent, now */
};

ERGON_API void ergon_client_stats(const struct ergon_client *client,
                                  struct ergon_client_stats *out);

/* ---- requests ---- */

/* A method and its packed parameters: what is to be called, apart from where and when.  Made by
 * ergon_request_raw() and by the functions of client_tasks.h, on any thread; they copy all that
 * they are given.  It is the caller's until it goes to exactly one of ergon_client_ask(),
 * ergon_blocking_ask(), ergon_blocking_ask_again() and ergon_request_free(), which free it whatever
 * they return.  Whether its values make sense is for the server to say (BAD_PARAMS). */
struct ergon_request;

/* Any method (1 to 256 bytes) with `params`, one MessagePack value or empty for none.  NULL: out of
 * memory.  What is wrong with the arguments comes out when it is sent: INVALID. */
ERGON_API struct ergon_request *ergon_request_raw(const char *method, struct ergon_raw params);

/* "task.submit", for messages; the request's, and valid as long as it is. */
ERGON_API const char *ergon_request_method(const struct ergon_request *request);

ERGON_API void ergon_request_free(struct ergon_request *request); /* NULL is allowed */

/* ergon_client_call() of a request: a returned id promises one callback.  0, and none: as there, or
 * `request` is NULL, or was made of options that tell no `size`. */
ERGON_API ergon_call_id ergon_client_ask(struct ergon_client *client, struct ergon_request *request,
                                         uint32_t timeout_ms, ergon_answer_fn *fn, void *arg);

/* ---- the blocking face ---- */

/* Connects, and blocks until READY or the first failure.  On OK *out is the caller's, for
 * ergon_blocking_close(); otherwise it is NULL and `why` says what is wrong (UNREACHABLE, DENIED,
 * TIMEOUT, INVALID, MEMORY). on_state of the options is called from inside these functions. */
ERGON_API enum ergon_end ergon_blocking_open(const struct ergon_options *options,
                                             struct ergon_blocking **out, char *why,
                                             size_t why_size);

/* Calls and waits.  *answer is never NULL, owned by `blocking`, and valid until the next function
 * on it.  Returns its outcome: OK, ERROR, TIMEOUT, CANCELLED, BROKEN, UNREACHABLE, DENIED, INVALID
 * (the method or its parameters) or MEMORY.  After a failure the next call connects again, as the
 * options say. */
ERGON_API enum ergon_end ergon_blocking_call(struct ergon_blocking *blocking, const char *method,
                                             struct ergon_raw params, uint32_t timeout_ms,
                                             const struct ergon_answer **answer);

/* The same of a request, which it frees.  INVALID too: it was made of options that tell no `size`,
 * and the text says what to set.  MEMORY: `request` is NULL. */
ERGON_API enum ergon_end ergon_blocking_ask(struct ergon_blocking *blocking,
                                            struct ergon_request *request, uint32_t timeout_ms,
                                            const struct ergon_answer **answer);

/* The same of a request that does no harm when it is sent twice: task.wait, task.get, lists.  When
 * the connection breaks, or the server is about to stop (DRAINING), it is sent again after 100 ms,
 * until there is an answer or timeout_ms are over (0: as long as it takes).  It is for connections
 * that are made again by themselves: without no_reconnect. */
ERGON_API enum ergon_end ergon_blocking_ask_again(struct ergon_blocking *blocking,
                                                  struct ergon_request *request,
                                                  uint32_t timeout_ms,
                                                  const struct ergon_answer **answer);

/* Returns when the bytes are with the kernel: OK, INVALID, MEMORY, or UNREACHABLE. */
ERGON_API enum ergon_end ergon_blocking_notify(struct ergon_blocking *blocking, const char *method,
                                               struct ergon_raw params);

/* The function that waits on `blocking` now, or else the next one that does, returns CANCELLED: the
 * server is told by server.cancel, as at a timeout.  Not ergon_blocking_open() and _notify(), which
 * have their own limits.  From any thread, and from a signal handler; it cannot fail. */
ERGON_API void ergon_blocking_interrupt(struct ergon_blocking *blocking);

/* Closes the connection and frees it.  NULL is allowed. */
ERGON_API void ergon_blocking_close(struct ergon_blocking *blocking);

#ifdef __cplusplus
}
#endif

#endif
