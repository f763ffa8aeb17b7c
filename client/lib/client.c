#include "client/lib/client.h"

#include "client/lib/backoff.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    DEFAULT_CONNECT_MS = 10 * 1000,
    DEFAULT_BACKOFF_MIN_MS = 100,
    DEFAULT_BACKOFF_MAX_MS = 10 * 1000,
    DEFAULT_MESSAGE_MAX = 32 * 1024 * 1024, /* bytes */
    DEFAULT_CALLS_MAX = 1024 * 1024
};

const char *ergon_end_name(enum ergon_end outcome)
{
    switch (outcome) {
    case ERGON_END_OK:
        return "ok";
    case ERGON_END_ERROR:
        return "error";
    case ERGON_END_TIMEOUT:
        return "timeout";
    case ERGON_END_CANCELLED:
        return "cancelled";
    case ERGON_END_BROKEN:
        return "broken";
    case ERGON_END_UNREACHABLE:
        return "unreachable";
    case ERGON_END_DENIED:
        return "denied";
    case ERGON_END_CLOSED:
        return "closed";
    case ERGON_END_INVALID:
        return "invalid";
    case ERGON_END_MEMORY:
        return "memory";
    }
    return "unknown";
}

/* ---- state ---- */

static void enter_state(struct ergon_client *c, enum ergon_state state, const char *why)
{
    c->state = state;
    if (c->options.on_state != NULL && !c->doomed)
        c->options.on_state(c->options.on_state_arg, state, why);
}

static bool arm(struct ergon_client *c, uint32_t ms)
{
    struct timeval delay = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    return event_add(&c->timer, &delay) == 0;
}

static void start_connecting(struct ergon_client *c)
{
    link_open(&c->link);
    arm(c, c->options.connect_timeout_ms);
    enter_state(c, ERGON_STATE_CONNECTING, "");
}

void client_ready(struct ergon_client *c)
{
    event_del(&c->timer);
    c->stats.connects++;
    requests_send_waiting(c);
    enter_state(c, ERGON_STATE_READY, "");
}

static uint32_t randomness(void)
{
    uint32_t r = 0;
    if (getrandom(&r, sizeof r, GRND_NONBLOCK) != (ssize_t)sizeof r)
        r = (uint32_t)getpid(); /* jitter only: worse spread, nothing else */
    return r;
}

/* False: the timer has no memory, and nobody would ever try again. */
static bool back_off(struct ergon_client *c)
{
    const struct ergon_options *o = &c->options;
    uint32_t delay = backoff_delay(c->attempt, o->backoff_min_ms, o->backoff_max_ms, randomness());
    c->attempt++;
    return arm(c, delay);
}

/* What ends is set aside first: callbacks may connect and call again. */
void client_down(struct ergon_client *c, enum ergon_end outcome, const char *why)
{
    bool closed = outcome == ERGON_END_CLOSED;
    bool reconnect = !c->options.no_reconnect && !closed;
    struct call_list waiting = TAILQ_HEAD_INITIALIZER(waiting);
    struct call_list in_flight = TAILQ_HEAD_INITIALIZER(in_flight);
    char text[sizeof c->why];
    snprintf(text, sizeof text, "%s", why);
    memcpy(c->why, text, sizeof text);
    c->last_outcome = outcome;
    link_close(&c->link);
    event_del(&c->timer);
    reconnect = reconnect && back_off(c);
    requests_detach(c, CALL_IN_FLIGHT, &in_flight);
    if (!reconnect || outcome == ERGON_END_DENIED)
        requests_detach(c, CALL_WAITING, &waiting);
    enter_state(c, reconnect ? ERGON_STATE_BACKING_OFF : ERGON_STATE_IDLE, text);
    requests_end(&in_flight, closed ? outcome : ERGON_END_BROKEN, text);
    requests_end(&waiting, outcome, text);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct ergon_client *c = arg;
    (void)fd;
    (void)what;
    client_enter(c);
    if (c->state == ERGON_STATE_BACKING_OFF)
        start_connecting(c);
    else if (c->state == ERGON_STATE_CONNECTING)
        client_down(c, ERGON_END_UNREACHABLE, "no connection within the connect limit");
    client_leave(c);
}

/* ---- the link's port ---- */

static void on_enter(void *owner)
{
    client_enter(owner);
}

static void on_leave(void *owner)
{
    client_leave(owner);
}

static void on_up(void *owner)
{
    struct ergon_client *c = owner;
    if (c->options.token != NULL)
        requests_authenticate(c);
    else
        client_ready(c);
}

static void on_message(void *owner, struct span message)
{
    requests_message(owner, message);
}

static void on_down(void *owner, const char *why)
{
    client_down(owner, ERGON_END_UNREACHABLE, why);
}

static const struct link_port PORT = {on_enter, on_up, on_message, on_down, on_leave};

/* ---- life ---- */

static bool copy_string(const char **field)
{
    if (*field == NULL)
        return true;
    *field = strdup(*field);
    return *field != NULL;
}

/* Each field is either owned or NULL afterwards, also on failure. */
static bool own_strings(struct ergon_options *o)
{
    const char **fields[] = {&o->url,       &o->token,    &o->ca_file,
                             &o->cert_file, &o->key_file, &o->server_name};
    bool good = true;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        good = copy_string(fields[i]) && good;
    return good;
}

static void free_strings(struct ergon_options *o)
{
    free((void *)o->url);
    if (o->token != NULL)
        explicit_bzero((void *)o->token, strlen(o->token));
    free((void *)o->token);
    free((void *)o->ca_file);
    free((void *)o->cert_file);
    free((void *)o->key_file);
    free((void *)o->server_name);
}

static void fill_default(uint32_t *field, uint32_t value)
{
    if (*field == 0)
        *field = value;
}

static void take_options(struct ergon_options *to, const struct ergon_options *from)
{
    *to = (struct ergon_options){0};
    memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
    fill_default(&to->connect_timeout_ms, DEFAULT_CONNECT_MS);
    fill_default(&to->backoff_min_ms, DEFAULT_BACKOFF_MIN_MS);
    fill_default(&to->backoff_max_ms, DEFAULT_BACKOFF_MAX_MS);
    fill_default(&to->message_max, DEFAULT_MESSAGE_MAX);
    fill_default(&to->calls_max, DEFAULT_CALLS_MAX);
}

static enum ergon_end open_tls(struct ergon_client *c, char *why, size_t why_size)
{
    const struct ergon_options *o = &c->options;
    struct tls_files files = {o->ca_file, o->cert_file, o->key_file, o->insecure};
    if (c->url.scheme != URL_TLS)
        return ERGON_END_OK;
    c->tls = tls_new(&files, why, why_size);
    return c->tls != NULL ? ERGON_END_OK : ERGON_END_INVALID;
}

static void set_up_link(struct ergon_client *c)
{
    link_init(&c->link, c->base, &PORT, c);
    c->link.url = &c->url;
    c->link.tls = c->tls;
    c->link.server_name = c->options.server_name != NULL ? c->options.server_name : c->url.host;
    c->link.limits = (struct scan_limits){c->options.message_max, SCAN_DEPTH_CAP};
    event_assign(&c->timer, c->base, -1, 0, on_timer, c);
}

/* The link and the timer are set up by the caller when all this is good. */
static enum ergon_end set_up(struct ergon_client *c, const struct ergon_options *options, char *why,
                             size_t why_size)
{
    take_options(&c->options, options);
    if (!own_strings(&c->options) || !calls_init(&c->calls)) {
        snprintf(why, why_size, "out of memory");
        return ERGON_END_MEMORY;
    }
    const char *wrong = url_parse(c->options.url, URL_CONNECT, &c->url);
    const char *name = c->options.server_name;
    if (wrong == NULL && name != NULL && (name[0] == 0 || strlen(name) > URL_HOST_MAX))
        wrong = "the server name has 1 to 253 bytes"; /* to OpenSSL "" means: any name will do */
    if (wrong != NULL) {
        snprintf(why, why_size, "%s", wrong);
        return ERGON_END_INVALID;
    }
    return open_tls(c, why, why_size);
}

static void destroy(struct ergon_client *c)
{
    calls_fini(&c->calls);
    tls_free(c->tls);
    free_strings(&c->options);
    free(c);
}

enum ergon_end ergon_client_new(struct event_base *base, const struct ergon_options *options,
                                struct ergon_client **out, char *why, size_t why_size)
{
    *out = NULL;
    if (base == NULL || options->size < offsetof(struct ergon_options, token) ||
        options->url == NULL) {
        snprintf(why, why_size,
                 "an event base, options.url and options.size = sizeof(struct ergon_options) are "
                 "required");
        return ERGON_END_INVALID;
    }
    struct ergon_client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        snprintf(why, why_size, "out of memory");
        return ERGON_END_MEMORY;
    }
    c->base = base;
    TAILQ_INIT(&c->watches);
    enum ergon_end outcome = set_up(c, options, why, why_size);
    if (outcome != ERGON_END_OK) {
        destroy(c);
        return outcome;
    }
    set_up_link(c);
    *out = c;
    return ERGON_END_OK;
}

void ergon_client_free(struct ergon_client *c)
{
    if (c == NULL || c->doomed)
        return;
    client_enter(c);
    c->doomed = true;
    client_down(c, ERGON_END_CLOSED, "the client was freed");
    watches_end(&c->watches);
    client_leave(c);
}

void client_enter(struct ergon_client *c)
{
    c->depth++;
}

void client_leave(struct ergon_client *c)
{
    if (--c->depth > 0 || !c->doomed)
        return;
    link_fini(&c->link);
    event_del(&c->timer);
    destroy(c);
}

void ergon_client_connect(struct ergon_client *c)
{
    if (c->state != ERGON_STATE_IDLE || c->doomed)
        return;
    client_enter(c);
    start_connecting(c);
    client_leave(c);
}

enum ergon_state ergon_client_state(const struct ergon_client *c)
{
    return c->state;
}

void ergon_client_stats(const struct ergon_client *c, struct ergon_client_stats *out)
{
    *out = c->stats;
    out->waiting = c->calls.waiting_count;
    out->in_flight = c->calls.in_flight_count;
}
