/* A connection for one run of a command, over libergon's blocking face; prints what goes wrong and
 * turns it into a status.  One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_SESSION_H
#define ERGON_CLI_SESSION_H

#include "base/span.h"
#include "client/cli/cli.h"

struct session {
    const struct globals *globals;
    struct ergon_blocking *connection; /* owned */
    const char *about;                 /* which of several it is asked about; NULL: there is one */
    const char *goes_on;               /* id of a task that outlives an interrupt; NULL: none */
    bool heard;                        /* the server has answered something */
    uint64_t give_up_ns;               /* on clock_monotonic()'s clock; 0: never */
    /* Called when an interrupt ends the program, by the next that waits, or now: to say last words.
     * NULL: none.  session_last_words() sets it. */
    void (*last_words)(void *arg);
    void *last_words_arg;
};

/* The options of libergon that the common options mean; strings are those of `g`. */
struct ergon_options session_options(const struct globals *g);

/* The code of an error that no server answered: "UNREACHABLE". */
const char *session_code(enum ergon_end outcome);

/* What to do about a connection that ended so, for which `why` is the reason that was told; NULL:
 * nothing.  Valid until the next time. */
const char *session_advice(const struct globals *g, enum ergon_end outcome, const char *why);

/* `default_timeout_ms` is used where --timeout is not given; 0: none.  It is for the connection and
 * all requests together.  `durable`, for what takes long and can be asked again: a connection that
 * breaks is made again, as often as it takes, with a message each time.  Another status than
 * STATUS_OK: a message was printed, and it is closed. */
enum status session_open(struct session *s, const struct globals *g, uint32_t default_timeout_ms,
                         bool durable);
/* The same, but nothing is printed: `why` says why there is none, and the end is not
 * ERGON_END_OK. */
enum ergon_end session_connect(struct session *s, const struct globals *g,
                               uint32_t default_timeout_ms, bool durable, char *why,
                               size_t why_size);
void session_close(struct session *s); /* idempotent */

/* Sends `request`, which is gone after that.  STATUS_OK and *result, which is valid until the next
 * request; otherwise a message was printed. */
enum status session_ask(struct session *s, struct ergon_request *request, struct span *result);

/* The same, but a method that is not there, or not allowed, is not worth a message. */
enum status session_try(struct session *s, struct ergon_request *request, struct span *result);

/* The same within `timeout_ms`, and nothing that goes wrong is worth a message. */
enum status session_probe(struct session *s, struct ergon_request *request, uint32_t timeout_ms,
                          struct span *result);

/* session_ask() of what does no harm when it is asked twice: asked until there is an answer, or
 * until the time is up, which gives STATUS_TIMEOUT without a message. */
enum status session_ask_again(struct session *s, struct ergon_request *request,
                              struct span *result);

/* Around each other function of libergon that waits on the connection.  An interrupt between the
 * two ends what waits, the server is told to cancel it, and session_waited() does not return: it
 * ends the program, with STATUS_INTERRUPTED. */
void session_waits(const struct session *s);
void session_waited(struct session *s);
/* From here on an interrupt that comes while nothing waits ends the program only when something
 * would wait, so that `last_words` are said; a second one ends it at once. */
void session_last_words(struct session *s, void (*last_words)(void *arg), void *arg);
/* A handler of SIGINT.  When nothing waits, and the second time, it ends the program at once. */
void session_on_interrupt(int signal_number);

/* What the time limit leaves, in ms and at least 1; 0: there is no limit. */
uint32_t session_time_left(const struct session *s);
/* How long one request of a command that waits on and on is to wait, in ms; the server's own limit
 * may be lower. */
uint64_t session_poll_ms(const struct session *s);

/* "ergon COMMAND: CODE: text", in the words of the command line (wording.h), unless --quiet; the
 * status that it means.  Of a method that is not there the server is asked what is called alike,
 * so `answer` is gone after that. */
enum status session_complain(struct session *s, const char *method,
                             const struct ergon_answer *answer);

/* The same for who has no session: nothing is asked, and it is printed whatever --quiet says. */
void complain_refusal(const struct globals *g, const struct ergon_answer *answer);

#endif
