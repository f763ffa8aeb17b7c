#include "server/tracing/exporter.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/endpoint.h"
#include "base/hex.h"
#include "base/log.h"
#include "server/runtime/thread.h"
#include "server/tracing/collector_headers.h"
#include "server/tracing/collector_tls.h"
#include "server/tracing/otlp_answer.h"
#include "server/tracing/retry_after.h"
#include "server/tracing/tracer.h"

enum {
    GATHER_MS = 500, /* so long the first span waits for others */
    PAUSE_MS = 1000, /* before the second try; doubled before each further one */
    PAUSE_MAX_MS = 30 * 1000,
    TIMEOUT_S = 10, /* of a request */
    FAREWELL_MS = 2000,
    BATCH_SPANS = 512,
    BATCH_BYTES = 1 << 20,
    REPLY_MAX = 64 * 1024,
    INSTANCE_SIZE = 33,
    TEXT_SHOWN = 200 /* of what a collector says */
};

static const uint64_t ALL = UINT64_MAX; /* spans of a batch */

/* How the last request ended; a change is logged. */
enum state { WELL, OBJECTS, FAILS };

struct exporter {
    struct tracer *tracer;
    struct endpoint endpoint;
    const char *version;
    char instance[INSTANCE_SIZE]; /* of this life of the process */
    pthread_t thread;
    bool running;
    int wake_fd; /* spans came, or it is to end */
    _Atomic bool ending;
    /* To be in force from the next request on, which takes it (acquire, release). */
    _Atomic(struct collector_headers *) next_headers;

    /* Its thread's. */
    struct event_base *base;
    struct evdns_base *dns;               /* NULL: the host is an address */
    struct collector_headers *headers;    /* NULL: none */
    struct collector_tls *tls;            /* NULL: it is http:// */
    struct evhttp_connection *connection; /* NULL: none yet */
    bool stale;                           /* it is not to be used any more */
    struct event *wake, *timer, *farewell;
    struct tracer_span *waiting;         /* taken from the tracer */
    struct tracer_span *sent, *sent_end; /* the batch that is under way, or is to be tried again */
    size_t sent_bytes;
    unsigned tries; /* of this batch */
    bool asking;    /* a request is under way */
    enum state state;
};

/* ---- the batch ---- */

/* What came since goes behind what waits. */
static void take(struct exporter *e)
{
    struct tracer_span **at = &e->waiting;
    while (*at)
        at = (struct tracer_span **)&(*at)->item.next;
    *at = tracer_take(e->tracer);
}

/* False: there is nothing. */
static bool make_batch(struct exporter *e)
{
    size_t count = 0;
    if (e->sent)
        return true; /* it is tried again */
    take(e);
    e->sent = e->waiting;
    e->sent_bytes = 0;
    e->tries = 0;
    for (struct tracer_span *span = e->sent; span; span = tracer_next(span)) {
        if (count == BATCH_SPANS || (count > 0 && e->sent_bytes + span->len > BATCH_BYTES))
            break;
        e->sent_bytes += span->len;
        e->sent_end = span;
        count++;
    }
    if (e->sent) {
        e->waiting = tracer_next(e->sent_end);
        e->sent_end->item.next = NULL;
    }
    return e->sent != NULL;
}

/* So many of them were dropped: which, the collector does not say. */
static void drop_batch(struct exporter *e, uint64_t dropped)
{
    for (struct tracer_span *span = e->sent, *next; span; span = next) {
        next = tracer_next(span);
        tracer_done(e->tracer, span, dropped == 0);
        dropped -= dropped > 0;
    }
    e->sent = NULL;
}

static bool write_head(const struct exporter *e, struct evbuffer *out)
{
    const struct otlp_attribute resource[] = {
        {.key = "service.name", .text = span_text("ergond")},
        {.key = "service.version", .text = span_text(e->version)},
        {.key = "service.instance.id", .text = span_text(e->instance)},
        {.key = "telemetry.sdk.name", .text = span_text("ergon")},
        {.key = "telemetry.sdk.language", .text = span_text("c")},
        {.key = "telemetry.sdk.version", .text = span_text(e->version)}};
    const struct otlp_head head = {.resource = resource,
                                   .resource_count = sizeof resource / sizeof *resource,
                                   .scope = "ergond",
                                   .version = e->version};
    size_t len = otlp_head_size(&head, e->sent_bytes);
    struct evbuffer_iovec room;
    if (evbuffer_reserve_space(out, (ev_ssize_t)len, &room, 1) != 1)
        return false;
    otlp_head_write(&head, e->sent_bytes, room.iov_base);
    room.iov_len = len;
    return evbuffer_commit_space(out, &room, 1) == 0;
}

static bool write_batch(const struct exporter *e, struct evbuffer *out)
{
    bool good = write_head(e, out);
    for (const struct tracer_span *span = e->sent; good && span; span = tracer_next(span))
        good = evbuffer_add(out, span->bytes, span->len) == 0;
    return good;
}

/* ---- a request, and its answer ---- */

static void arm(struct exporter *e, unsigned ms)
{
    const struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_add(e->timer, &wait);
}

static void finish(struct exporter *e)
{
    drop_batch(e, ALL);
    event_base_loopbreak(e->base);
}

/* A half to the whole of the pause, so that servers that lost the same collector come apart. */
static unsigned pause_of(const struct exporter *e)
{
    unsigned pause = PAUSE_MAX_MS;
    uint16_t chance = 0;
    if (e->tries <= 5)
        pause = (unsigned)PAUSE_MS << (e->tries - 1);
    if (pause > PAUSE_MAX_MS)
        pause = PAUSE_MAX_MS;
    if (!chance_bytes(&chance, sizeof chance))
        chance = 0;
    return pause / 2 + pause / 2 * chance / UINT16_MAX;
}

/* ms; 0: it says nothing. */
static unsigned asked_pause(struct evhttp_request *reply)
{
    const struct evkeyvalq *headers = reply ? evhttp_request_get_input_headers(reply) : NULL;
    if (!headers)
        return 0;
    return 1000 * retry_after(evhttp_find_header(headers, "Retry-After"),
                              evhttp_find_header(headers, "Date"),
                              (time_t)(clock_wall() / AO_S(1)));
}

/* False: it is the state that we know of, and the log has it. */
static bool becomes(struct exporter *e, enum state state)
{
    bool is_new = e->state != state;
    e->state = state;
    tracer_set_failing(e->tracer, state == FAILS);
    return is_new;
}

/* `says`: the collector itself; NULL: nothing. */
static void tell_trouble(struct exporter *e, int status, const char *what, const char *says)
{
    if (becomes(e, FAILS))
        log_warn("spans are not exported", LOG_STR("collector", e->endpoint.authority),
                 LOG_INT("status", status), LOG_STR("why", what), LOG_STR("says", says));
}

/* Empty where it is not protobuf: nothing in it is for us then. */
static struct span body_of(struct evhttp_request *reply)
{
    static const char protobuf[] = "application/x-protobuf";
    const char *type = evhttp_find_header(evhttp_request_get_input_headers(reply), "Content-Type");
    struct evbuffer *body = evhttp_request_get_input_buffer(reply);
    size_t len = evbuffer_get_length(body);
    if (len == 0 || (type && strncasecmp(type, protobuf, strlen(protobuf)) != 0))
        return span_of("", 0);
    const uint8_t *at = evbuffer_pullup(body, -1);
    return span_of(at, at ? len : 0);
}

/* NULL: it is empty. */
static const char *show(struct span text, char buf[static TEXT_SHOWN])
{
    int most = text.len < TEXT_SHOWN ? (int)text.len : TEXT_SHOWN - 1;
    snprintf(buf, TEXT_SHOWN, "%.*s", most, most > 0 ? (const char *)text.at : "");
    return buf[0] != 0 ? buf : NULL;
}

static void taken(struct exporter *e, struct evhttp_request *reply)
{
    struct otlp_answer answer;
    char buf[TEXT_SHOWN];
    otlp_answer_read(body_of(reply), &answer);
    const char *says = show(answer.text, buf);
    if (answer.rejected > 0 || says) {
        if (becomes(e, OBJECTS))
            log_warn(answer.rejected > 0 ? "spans are rejected" : "spans are taken with a warning",
                     LOG_STR("collector", e->endpoint.authority),
                     LOG_UINT("rejected", answer.rejected), LOG_STR("says", says));
    } else if (becomes(e, WELL)) {
        log_info("spans are exported again", LOG_STR("collector", e->endpoint.authority));
    }
    drop_batch(e, answer.rejected);
}

static void refused(struct exporter *e, struct evhttp_request *reply, int status)
{
    struct otlp_answer answer;
    char buf[TEXT_SHOWN];
    otlp_refusal_read(body_of(reply), &answer);
    tell_trouble(e, status, "it refuses them", show(answer.text, buf));
    drop_batch(e, ALL);
}

static const char *why_not_reached(const struct exporter *e)
{
    const char *trouble = e->tls ? collector_tls_trouble(e->tls) : NULL;
    return trouble ? trouble : "it is not reached";
}

static void put_off(struct exporter *e, struct evhttp_request *reply, int status)
{
    unsigned asked = asked_pause(reply);
    tell_trouble(e, status, status > 0 ? "it takes none at the moment" : why_not_reached(e), NULL);
    if (e->tries >= EXPORTER_TRIES)
        drop_batch(e, ALL);
    arm(e, asked > 0 ? asked : pause_of(e));
}

static bool is_retryable(int status)
{
    return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

static void on_reply(struct evhttp_request *reply, void *arg)
{
    struct exporter *e = arg;
    int status = reply ? evhttp_request_get_response_code(reply) : 0;
    e->asking = false;
    e->stale |= status == 0;
    if (status >= 200 && status < 300) {
        taken(e, reply);
        arm(e, e->waiting || e->ending ? 0 : GATHER_MS);
    } else if (!is_retryable(status)) {
        refused(e, reply, status);
        arm(e, 0);
    } else if (e->ending) {
        finish(e);
    } else {
        put_off(e, reply, status);
    }
}

static bool add_headers(struct exporter *e, struct evkeyvalq *to)
{
    struct collector_headers *next =
        atomic_exchange_explicit(&e->next_headers, NULL, memory_order_acquire);
    if (next) {
        collector_headers_free(e->headers);
        e->headers = next;
    }
    for (size_t i = 0; e->headers && i < e->headers->count; i++)
        if (evhttp_add_header(to, e->headers->names[i], e->headers->values[i]) != 0)
            return false;
    return true;
}

static struct evhttp_request *make_request(struct exporter *e)
{
    struct evhttp_request *request = evhttp_request_new(on_reply, e);
    struct evkeyvalq *headers = request ? evhttp_request_get_output_headers(request) : NULL;
    if (request && evhttp_add_header(headers, "Host", e->endpoint.authority) == 0 &&
        evhttp_add_header(headers, "Content-Type", "application/x-protobuf") == 0 &&
        add_headers(e, headers) && write_batch(e, evhttp_request_get_output_buffer(request)))
        return request;
    if (request)
        evhttp_request_free(request);
    return NULL;
}

static void on_closed(struct evhttp_connection *connection, void *arg)
{
    struct exporter *e = arg;
    (void)connection;
    e->stale = true; /* it is still in use further up */
}

static struct bufferevent *new_stream(struct exporter *e)
{
    struct ssl_st *ssl = e->tls ? collector_tls_stream(e->tls) : NULL;
    if (!e->tls)
        return bufferevent_socket_new(e->base, -1, BEV_OPT_CLOSE_ON_FREE);
    struct bufferevent *bev =
        ssl ? bufferevent_openssl_socket_new(e->base, -1, ssl, BUFFEREVENT_SSL_CONNECTING,
                                             BEV_OPT_CLOSE_ON_FREE)
            : NULL;
    if (bev) /* an answer with a length needs no close_notify */
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

/* One that was closed is not used again: of TLS nothing in it would begin anew. */
static bool have_connection(struct exporter *e)
{
    if (e->connection && !e->stale)
        return true;
    if (e->connection)
        evhttp_connection_free(e->connection);
    e->stale = false;
    struct bufferevent *bev = new_stream(e);
    e->connection = bev ? evhttp_connection_base_bufferevent_new(e->base, e->dns, bev,
                                                                 e->endpoint.host, e->endpoint.port)
                        : NULL;
    if (!e->connection)
        return false;
    evhttp_connection_set_closecb(e->connection, on_closed, e);
    evhttp_connection_set_timeout(e->connection, TIMEOUT_S);
    evhttp_connection_set_max_body_size(e->connection, REPLY_MAX);
    evhttp_connection_set_max_headers_size(e->connection, REPLY_MAX);
    return true;
}

static void send_batch(struct exporter *e)
{
    if (e->asking || !make_batch(e)) {
        if (!e->asking && e->ending)
            finish(e);
        return;
    }
    struct evhttp_request *request = have_connection(e) ? make_request(e) : NULL;
    e->tries++;
    /* Both may fail by their answer, in which on_reply() was called, or be without memory. */
    e->asking = request != NULL;
    if (!request ||
        evhttp_make_request(e->connection, request, EVHTTP_REQ_POST, e->endpoint.path) != 0) {
        e->asking = false;
        tell_trouble(e, 0, "no request can be made", NULL);
        drop_batch(e, ALL);
        arm(e, PAUSE_MAX_MS);
    }
}

/* ---- its thread ---- */

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    send_batch(arg);
}

static void on_farewell(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    finish(arg);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval farewell = {.tv_sec = FAREWELL_MS / 1000,
                                     .tv_usec = FAREWELL_MS % 1000 * 1000};
    struct exporter *e = arg;
    eventfd_t told;
    (void)what;
    eventfd_read(fd, &told);
    if (e->ending) {
        event_add(e->farewell, &farewell);
        arm(e, 0);
    } else if (!e->asking && !event_pending(e->timer, EV_TIMEOUT, NULL)) {
        arm(e, GATHER_MS);
    }
}

static void *run(void *arg)
{
    struct exporter *e = arg;
    thread_settle("traces", -1, 0);
    event_base_dispatch(e->base);
    return NULL;
}

/* ---- set-up and tear-down ---- */

static void on_first(void *arg)
{
    const struct exporter *e = arg;
    eventfd_write(e->wake_fd, 1);
}

static bool is_address(const char *host)
{
    return strchr(host, ':') || strspn(host, "0123456789.") == strlen(host);
}

static bool open_events(struct exporter *e)
{
    e->base = event_base_new();
    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!e->base || e->wake_fd < 0)
        return false;
    e->wake = event_new(e->base, e->wake_fd, EV_READ | EV_PERSIST, on_wake, e);
    e->timer = event_new(e->base, -1, 0, on_timer, e);
    e->farewell = event_new(e->base, -1, 0, on_farewell, e);
    return e->wake && e->timer && e->farewell && event_add(e->wake, NULL) == 0;
}

static void name_instance(struct exporter *e)
{
    uint8_t id[INSTANCE_SIZE / 2];
    tracer_span_id(id);
    tracer_span_id(id + SPAN_ID_LEN);
    hex_write(id, sizeof id, e->instance);
}

/* The name is looked up each time that a connection is made. */
static bool open_names(struct exporter *e)
{
    if (is_address(e->endpoint.host))
        return true;
    e->dns = evdns_base_new(e->base,
                            EVDNS_BASE_INITIALIZE_NAMESERVERS | EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    return e->dns != NULL;
}

static bool open_files(struct exporter *e, const struct exporter_options *options, char *error,
                       size_t size)
{
    if (e->endpoint.tls)
        e->tls = collector_tls_new(options->ca, e->endpoint.host, error, size);
    return !!e->tls == e->endpoint.tls &&
           exporter_set_headers(e, options->headers_file, error, size);
}

static bool start(struct exporter *e, char *error, size_t size)
{
    if (open_events(e) && open_names(e)) {
        tracer_on_first(e->tracer, on_first, e);
        arm(e, GATHER_MS); /* spans may be there already */
        e->running = thread_start_undisturbed(&e->thread, run, e) == 0;
    }
    if (!e->running)
        snprintf(error, size, "trace.endpoint: no thread, no descriptor or no memory for it");
    return e->running;
}

struct exporter *exporter_open(const struct exporter_options *options, char *error, size_t size)
{
    struct exporter *e = calloc(1, sizeof *e);
    const char *wrong = e ? endpoint_parse(options->endpoint, &e->endpoint) : "out of memory";
    if (wrong) {
        snprintf(error, size, "trace.endpoint: %s", wrong);
        free(e);
        return NULL;
    }
    e->wake_fd = -1;
    e->tracer = options->tracer;
    e->version = options->version;
    name_instance(e);
    if (open_files(e, options, error, size) && start(e, error, size))
        return e;
    exporter_close(e);
    return NULL;
}

bool exporter_set_headers(struct exporter *e, const char *headers_file, char *error, size_t size)
{
    if (!e)
        return true;
    struct collector_headers *next = headers_file
                                         ? collector_headers_load(headers_file, error, size)
                                         : collector_headers_parse(span_of("", 0), error, size);
    if (!next)
        return false;
    collector_headers_free(atomic_exchange_explicit(&e->next_headers, next, memory_order_acq_rel));
    return true;
}

static void free_event(struct event *event)
{
    if (event)
        event_free(event);
}

void exporter_close(struct exporter *e)
{
    if (!e)
        return;
    if (e->running) {
        e->ending = true;
        eventfd_write(e->wake_fd, 1);
        pthread_join(e->thread, NULL);
    }
    drop_batch(e, ALL);
    for (e->sent = e->waiting; e->sent;)
        drop_batch(e, ALL);
    tracer_on_first(e->tracer, NULL, NULL);
    if (e->connection)
        evhttp_connection_free(e->connection);
    if (e->dns)
        evdns_base_free(e->dns, 0);
    free_event(e->wake);
    free_event(e->timer);
    free_event(e->farewell);
    if (e->base)
        event_base_free(e->base);
    collector_tls_free(e->tls);
    collector_headers_free(e->headers);
    collector_headers_free(e->next_headers);
    if (e->wake_fd >= 0)
        close(e->wake_fd);
    free(e);
}
