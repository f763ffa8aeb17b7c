#include "client/cli/session.h"

#include "base/clock.h"
#include "base/suggest.h"
#include "base/url.h"
#include "client/cli/wording.h"
#include "proto/envelope.h"
#include "proto/reader.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NS_PER_MS = 1000 * 1000, GRACE_MS = 2000 };

/* For the signal handler, which runs on the same thread: relaxed. */
static _Atomic(struct ergon_blocking *) waits_on; /* NULL: nothing waits */
static _Atomic bool interrupted;
static _Atomic bool has_last_words;

static uint32_t milliseconds(uint64_t ns)
{
    uint64_t ms = (ns + NS_PER_MS - 1) / NS_PER_MS;
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

struct ergon_options session_options(const struct globals *g)
{
    return (struct ergon_options){
        .size = sizeof(struct ergon_options),
        .url = g->server,
        .token = g->token,
        .ca_file = g->cacert,
        .cert_file = g->cert,
        .key_file = g->key,
        .server_name = g->server_name,
        .insecure = g->insecure,
        .no_reconnect = true,
        .connect_timeout_ms = milliseconds(g->timeout_ns),
        .message_max = UINT32_MAX, /* no limit here: the server limits what it holds */
    };
}

const char *session_code(enum ergon_end outcome)
{
    switch (outcome) {
    case ERGON_END_UNREACHABLE:
        return "UNREACHABLE";
    case ERGON_END_DENIED:
        return "AUTH";
    case ERGON_END_TIMEOUT:
        return "TIMEOUT";
    case ERGON_END_BROKEN:
        return "BROKEN";
    case ERGON_END_MEMORY:
        return "MEMORY";
    case ERGON_END_INVALID:
        return "USAGE";
    case ERGON_END_CANCELLED:
    case ERGON_END_CLOSED:
        return "CANCELLED";
    case ERGON_END_OK:
    case ERGON_END_ERROR:
        break;
    }
    return "ERROR";
}

/* What to do where a server that has said nothing yet ends the connection, as one does that waits
 * for a handshake; NULL: that is not how it was. */
static const char *tls_advice(const struct globals *g, const char *why)
{
    struct url url = {0};
    bool ended =
        strstr(why, "closed the connection") != NULL || strstr(why, "reset by peer") != NULL;
    return ended && url_parse(g->server, URL_CONNECT, &url) == NULL && url.scheme == URL_TCP
               ? "if the server has TLS there, its URL begins with ergons://"
               : NULL;
}

static bool is_other_file(const struct url *url)
{
    struct stat about;
    return url->scheme == URL_UNIX && stat(url->path, &about) == 0 && !S_ISSOCK(about.st_mode);
}

const char *session_advice(const struct globals *g, enum ergon_end outcome, const char *why)
{
    static char text[400];
    struct url url = {0};
    if (outcome == ERGON_END_DENIED)
        return "give another token with --token-file";
    if (strstr(why, "does not speak MessagePack-RPC") != NULL)
        return "another program may listen there; --server names another server";
    if (outcome != ERGON_END_UNREACHABLE || strstr(why, "the server closes the connection") != NULL)
        return NULL;
    if (strstr(why, "certificate is not for") != NULL)
        return "--server-name says by which of these names the server is known";
    if (strstr(why, "certificate") != NULL)
        return "see --cacert and --server; ergon context show says what is used";
    if (strstr(why, "TLS handshake") != NULL)
        return "if the server has no TLS there, its URL begins with ergon://; ergon context show "
               "says "
               "what is used";
    bool parsed = url_parse(g->server, URL_CONNECT, &url) == NULL;
    if (parsed && is_other_file(&url))
        return "what is there is no socket; --server names another";
    if (parsed && url_is_local(&url) && url.scheme != URL_TLS) {
        snprintf(text, sizeof text,
                 "is a server running? ergond --listen %s starts one; --server names another",
                 g->server);
        return text;
    }
    return "is ergond running there? ergon context show says what is used";
}

/* Until there was a connection session_open() itself says why there is none. */
static void on_state(void *arg, enum ergon_state state, const char *why)
{
    struct session *s = arg;
    if (state == ERGON_STATE_BACKING_OFF && s->connection != NULL && !s->globals->quiet)
        notice("no connection: %s; it is tried again", why);
}

enum ergon_end session_connect(struct session *s, const struct globals *g,
                               uint32_t default_timeout_ms, bool durable, char *why,
                               size_t why_size)
{
    struct ergon_options options = session_options(g);
    uint64_t limit_ns =
        g->timeout_ns > 0 ? g->timeout_ns : (uint64_t)default_timeout_ms * NS_PER_MS;
    *s = (struct session){.globals = g};
    if (limit_ns > 0) {
        options.connect_timeout_ms = milliseconds(limit_ns);
        s->give_up_ns = clock_monotonic() + limit_ns;
    }
    if (durable) {
        options.no_reconnect = false;
        options.on_state = on_state;
        options.on_state_arg = s;
    }
    return ergon_blocking_open(&options, &s->connection, why, why_size);
}

enum status session_open(struct session *s, const struct globals *g, uint32_t default_timeout_ms,
                         bool durable)
{
    char why[512];
    enum ergon_end outcome = session_connect(s, g, default_timeout_ms, durable, why, sizeof why);
    if (outcome == ERGON_END_OK)
        return STATUS_OK;
    if (outcome == ERGON_END_INVALID)
        complain("%s: %s", g->server, why);
    else if (!g->quiet) {
        const char *tls = tls_advice(g, why);
        complain_as(session_code(outcome), tls != NULL ? tls : session_advice(g, outcome, why),
                    "no connection to %s: %s", g->server, why);
    }
    return status_of(outcome, "");
}

void session_close(struct session *s)
{
    ergon_blocking_close(s->connection);
    s->connection = NULL;
}

static void end_if_interrupted(const struct session *s)
{
    if (!atomic_load_explicit(&interrupted, memory_order_relaxed))
        return;
    if (s->last_words != NULL)
        s->last_words(s->last_words_arg);
    ergon_blocking_close(s->connection);
    if (s->goes_on != NULL && !s->globals->quiet)
        notice("task %s goes on; ergon task wait %s", s->goes_on, s->goes_on);
    exit(STATUS_INTERRUPTED);
}

/* Who is interrupted from here on is told by the connection. */
void session_waits(const struct session *s)
{
    atomic_store_explicit(&waits_on, s->connection, memory_order_relaxed);
    end_if_interrupted(s);
}

void session_waited(struct session *s)
{
    atomic_store_explicit(&waits_on, NULL, memory_order_relaxed);
    end_if_interrupted(s);
}

void session_last_words(struct session *s, void (*last_words)(void *arg), void *arg)
{
    s->last_words = last_words;
    s->last_words_arg = arg;
    atomic_store_explicit(&has_last_words, true, memory_order_relaxed);
}

void session_on_interrupt(int signal_number)
{
    struct ergon_blocking *blocking = atomic_load_explicit(&waits_on, memory_order_relaxed);
    (void)signal_number;
    bool waits = blocking != NULL || atomic_load_explicit(&has_last_words, memory_order_relaxed);
    if (!waits || atomic_exchange_explicit(&interrupted, true, memory_order_relaxed))
        _exit(STATUS_INTERRUPTED);
    if (blocking != NULL)
        ergon_blocking_interrupt(blocking);
}

uint32_t session_time_left(const struct session *s)
{
    uint64_t now = clock_monotonic();
    if (s->give_up_ns == 0)
        return 0;
    return now < s->give_up_ns ? milliseconds(s->give_up_ns - now) : 1;
}

uint64_t session_poll_ms(const struct session *s)
{
    enum { POLL_MS = 25 * 1000 };
    uint32_t left = session_time_left(s);
    return left > 0 && left < POLL_MS ? left : POLL_MS;
}

/* Of actors, and called by nobody. */
static bool is_step(struct span name)
{
    static const char step[] = ".step";
    size_t len = sizeof step - 1;
    return name.len > len && memcmp(name.at + name.len - len, step, len) == 0;
}

/* A message is named without its type. */
static struct span as_asked_for(const struct globals *g, const char *asked, struct span name)
{
    size_t type = strcspn(asked, ".") + 1;
    bool sends = g->command != NULL && strncmp(g->command, "actor ", strlen("actor ")) == 0;
    return sends && name.len > type && memcmp(name.at, asked, type) == 0 ? span_behind(name, type)
                                                                         : name;
}

/* Asks the server what it has, and changes the hint where a name is like the one that is not there.
 * Nothing is said where it cannot tell. */
static void suggest_method(const struct session *s, struct wording *w)
{
    const struct ergon_answer *a;
    struct reader r;
    struct span name;
    uint32_t count = 0;
    uint32_t left = session_time_left(s);
    struct suggestion near = suggest_for(span_text(w->method), strlen(w->method) / 2);
    session_waits(s);
    ergon_blocking_call(s->connection, "server.methods", (struct ergon_raw){0},
                        left > 0 && left < GRACE_MS ? left : GRACE_MS, &a);
    r = reader_of(span_of(a->result.at, a->result.len));
    if (a->outcome == ERGON_END_OK && read_array(&r, &count))
        for (; count > 0 && read_text(&r, &name); count--)
            if (!is_step(name))
                suggest_offer(&near, name);
    name = as_asked_for(s->globals, w->method, near.name);
    if (name.len > 0)
        snprintf(w->hint, sizeof w->hint, "did you mean '%.*s'?", (int)name.len,
                 (const char *)name.at);
}

static void wording_of_answer(struct wording *w, const struct globals *g,
                              const struct ergon_answer *a)
{
    bool refused = a->outcome == ERGON_END_ERROR;
    const char *advice = session_advice(g, a->outcome, a->text);
    wording_of(w, a->code, a->text);
    if (w->code[0] == 0)
        snprintf(w->code, sizeof w->code, "%s", refused ? "ERROR" : session_code(a->outcome));
    if (w->hint[0] == 0 && advice != NULL)
        snprintf(w->hint, sizeof w->hint, "%s", advice);
}

static void print_wording(const struct wording *w, const struct globals *g, const char *method)
{
    complain_by(g->command != NULL ? g->command : method, w->code, w->hint[0] != 0 ? w->hint : NULL,
                w->text);
}

void complain_refusal(const struct globals *g, const struct ergon_answer *answer)
{
    struct wording w;
    wording_of_answer(&w, g, answer);
    print_wording(&w, g, NULL);
}

enum status session_complain(struct session *s, const char *method, const struct ergon_answer *a)
{
    struct wording w;
    wording_of_answer(&w, s->globals, a);
    enum status status = status_of(a->outcome, w.code);
    if (s->globals->quiet)
        return status;
    if (w.method[0] != 0) {
        suggest_method(s, &w);
        session_waited(s);
    }
    if (s->about != NULL && strstr(w.text, s->about) == NULL) {
        size_t len = strlen(w.text);
        snprintf(w.text + len, sizeof w.text - len, ": %s", s->about);
    }
    const char *tls = s->heard ? NULL : tls_advice(s->globals, a->text);
    if (tls != NULL)
        snprintf(w.hint, sizeof w.hint, "%s", tls);
    print_wording(&w, s->globals, method);
    return status;
}

typedef enum ergon_end ask_fn(struct ergon_blocking *connection, struct ergon_request *request,
                              uint32_t timeout_ms, const struct ergon_answer **answer);

/* Bit n of `expected`: status n is not worth a message. */
static enum status ask_by(ask_fn *ask, struct session *s, struct ergon_request *request,
                          uint32_t timeout_ms, unsigned expected, struct span *result)
{
    const struct ergon_answer *a;
    char method[METHOD_NAME_MAX + 1] = "";
    if (request != NULL)
        snprintf(method, sizeof method, "%s", ergon_request_method(request));
    session_waits(s);
    ask(s->connection, request, timeout_ms, &a);
    session_waited(s);
    s->heard |= a->outcome == ERGON_END_OK || a->outcome == ERGON_END_ERROR;
    *result = span_of(a->result.at, a->result.len);
    enum status status = status_of(a->outcome, a->code);
    if (status != STATUS_OK && !(expected & 1U << status))
        status = session_complain(s, method, a);
    return status;
}

enum status session_ask(struct session *s, struct ergon_request *request, struct span *result)
{
    return ask_by(ergon_blocking_ask, s, request, session_time_left(s), 0, result);
}

enum status session_try(struct session *s, struct ergon_request *request, struct span *result)
{
    return ask_by(ergon_blocking_ask, s, request, session_time_left(s),
                  1U << STATUS_NOT_FOUND | 1U << STATUS_AUTH, result);
}

enum status session_probe(struct session *s, struct ergon_request *request, uint32_t timeout_ms,
                          struct span *result)
{
    return ask_by(ergon_blocking_ask, s, request, timeout_ms, UINT_MAX, result);
}

enum status session_ask_again(struct session *s, struct ergon_request *request, struct span *result)
{
    uint32_t left = session_time_left(s);
    if (left > 0 && left < UINT32_MAX - GRACE_MS)
        left +=
            GRACE_MS; /* the server waits as long as we would: its answer is worth a little more */
    return ask_by(ergon_blocking_ask_again, s, request, left, 1U << STATUS_TIMEOUT, result);
}
