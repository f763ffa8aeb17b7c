/* A program that answers: requests that the server sends over a client's connection.
 *
 *   static void on_request(void *arg, struct ergon_served *served)
 *   {
 *       ergon_served_answer(served, served->params);    // now, or later
 *   }
 *   ...
 *   ergon_client_serve(client, &(struct ergon_serve_options){
 *       .size = sizeof(struct ergon_serve_options), .slots = 4, .on_request = on_request});
 *
 * A server sends requests to peers that asked for them, on each connection anew: on_state of struct
 * ergon_options says when one stands (READY) and when it is lost (BACKING_OFF, IDLE), and what is
 * called from there at READY goes out before any request is answered.  Who serves nothing refuses
 * each request with NO_METHOD.
 *
 * Threads: that of the client, for every function here and every callback.  Who works on other
 * threads brings the result back to that one (a pipe that its event base watches, say); params may
 * be read there meanwhile.  No function blocks.  The blocking face serves nothing: its loop does
 * not run between calls.
 *
 * Every request is answered exactly once, or its connection is closed.  What a client holds for it
 * is bounded: `slots` requests of at most message_max bytes each (struct ergon_options), `slots`
 * answers of at most answer_max, and some megabytes of refusals: a server that goes on asking
 * without reading them loses the connection. */
#ifndef ERGON_CLIENT_SERVE_H
#define ERGON_CLIENT_SERVE_H

#include <ergon/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One request.  The program's from on_request until it goes to exactly one of ergon_served_answer()
 * and ergon_served_fail(), which free it whatever they return: also when its connection is lost
 * meanwhile, and when the client has been freed.  All it points to is the request's. */
struct ergon_served {
    const char *method;      /* 1 to 256 bytes */
    struct ergon_raw params; /* one value, an array as a rule; another, x, stands for [x] */
    void *user;              /* whatever the program likes; NULL at first */
};

/* From the event loop.  It may do anything: answer `served` or others, free the client. */
typedef void ergon_served_fn(void *arg, struct ergon_served *served);

/* `method` and `params` are valid during the call only. */
typedef void ergon_told_fn(void *arg, const char *method, struct ergon_raw params);

/* Zero, or NULL, means the default. */
struct ergon_serve_options {
    size_t size; /* sizeof(struct ergon_serve_options): what lies behind it is taken as zero */
    /* Requests at a time; 1.  A slot is taken until the answer has been handed to the kernel, and
     * by a request whose connection was lost until the program lets go of it.  Beyond that: BUSY.
     */
    uint32_t slots;
    uint32_t answer_max; /* bytes of a response, the longest that the server takes; 16 MiB */
    ergon_served_fn *on_request; /* required */

    /* The connection of a request that is not answered was lost, or the client is being freed:
     * nobody waits for the answer.  Once for each such request, after on_state; the request stays
     * the program's, who may stop working on it. */
    ergon_served_fn *on_gone;
    ergon_told_fn *on_notification; /* from the server; without it they are ignored */
    void *arg;                      /* for all three */
};

/* Serves from now on, on this connection and those that follow, or serves otherwise: options are
 * copied, requests that are open stay open.  NULL: serves no more, and hands back what still comes.
 * OK; INVALID: no size or no on_request, answer_max below 4096, or the client is being freed. */
ERGON_API enum ergon_end ergon_client_serve(struct ergon_client *client,
                                            const struct ergon_serve_options *options);

/* Slots that are taken, now. */
ERGON_API uint32_t ergon_client_slots_taken(struct ergon_client *client);

/* The socket of the connection, or -1 unless READY.  It is for a process that shall keep the
 * connection open beyond the end of this one, and closes it when what it works on has ended: until
 * then a server gives that work to nobody else.  The client's own end of a connection is one for
 * all who hold it.  Who reads or writes the socket breaks the connection. */
ERGON_API int ergon_client_socket(const struct ergon_client *client);

/* Its connection was lost, or its client freed: an answer will reach nobody. */
ERGON_API bool ergon_served_gone(const struct ergon_served *served);

/* Answers with `result`: one MessagePack value, copied; empty for nil.  Frees `served`.  NULL is
 * refused (INVALID).
 *   OK       on its way, in the order of the answers; a loss of the connection may still stop it
 *   BROKEN   its connection was lost, or its client is being freed: dropped
 *   CLOSED   its client has been freed: dropped
 *   INVALID  not one whole value (the server is told INTERNAL), or longer than answer_max
 *            (TOO_LARGE)
 *   MEMORY   the server is told MEMORY; if not even that is possible the connection is closed */
ERGON_API enum ergon_end ergon_served_answer(struct ergon_served *served, struct ergon_raw result);

/* Answers with an error, as the text "code: text".  `code`: 1 to 32 capital letters, digits and
 * underscores, no digit first ("NO_SPACE"); NULL, or another text: FAILED.  `text` is for people:
 * bytes that are no UTF-8 are replaced, and it is cut at some 4,000 bytes; NULL or "": what the
 * code means.  Frees `served`.  Returns what ergon_served_answer() does; INVALID only if `served`
 * is NULL. */
ERGON_API enum ergon_end ergon_served_fail(struct ergon_served *served, const char *code,
                                           const char *text);

/* The same with a traceback, lines of text for people: where the failure came from.  Its last
 * 16 KiB are sent, at the size of answer_max fewer; bytes that are no UTF-8 are replaced.  NULL or
 * "": none. */
ERGON_API enum ergon_end ergon_served_fail_with(struct ergon_served *served, const char *code,
                                                const char *text, const char *traceback);

#ifdef __cplusplus
}
#endif

#endif
