#include "server/front/outgoing.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/scanner.h"
#include "server/net/net.h"
#include "server/runtime/activator.h"

enum {
    READ_SIZE = 65536,
    HEADROOM = 4096,  /* bytes before the read buffer, for the rest of the last read */
    READS_A_STEP = 4, /* then other sessions of the loop go on */
    WRITES_A_STEP = 8,
    WRITE_MOST = 1 << 20,
    LEAST_ROOM = 1024,
    KEPT_ROOM = 65536 /* an empty buffer with more bytes is freed */
};
#define CONNECT_TIME AO_S(3)
#define FINISH_TIME  AO_S(5)
/* Of a session that has nothing to send: the owner may have given it up while the network was cut.
 */
static const struct stream_asks asks = {.quiet = 10, .interval = 5, .count = 4};

/* --- Buffers --- */

static size_t buffer_len(const struct outgoing_buffer *b)
{
    return b->end - b->start;
}

static void buffer_free(struct outgoing_buffer *b)
{
    free(b->at);
    *b = (struct outgoing_buffer){0};
}

static void buffer_consume(struct outgoing_buffer *b, size_t n)
{
    b->start += n;
    if (b->start < b->end)
        return;
    b->start = b->end = 0;
    if (b->room > KEPT_ROOM)
        buffer_free(b);
}

static uint8_t *buffer_reserve(struct outgoing_buffer *b, size_t room)
{
    if (b->room - b->end >= room)
        return b->at + b->end;
    if (b->start >= buffer_len(b) && b->room - buffer_len(b) >= room) {
        memmove(b->at, b->at + b->start, buffer_len(b));
    } else {
        size_t size = 2 * buffer_len(b) + room;
        if (size < LEAST_ROOM)
            size = LEAST_ROOM;
        uint8_t *more = malloc(size);
        if (!more)
            return NULL;
        if (buffer_len(b) > 0)
            memcpy(more, b->at + b->start, buffer_len(b));
        free(b->at);
        b->at = more;
        b->room = size;
    }
    b->end -= b->start;
    b->start = 0;
    return b->at + b->end;
}

/* --- The loop --- */

static void on_event(struct poller_watch *w, unsigned what)
{
    struct outgoing *s = ao_of(w, struct outgoing, stream.watch);

    s->ready |= (uint8_t)what;
    outgoing_kick(s);
}

bool outgoing_loop_init(struct outgoing_loop *l, struct activator *activator, struct poller *poller,
                        const struct scan_limits *limits, struct tls_context *tls)
{
    *l = (struct outgoing_loop){.activator = activator,
                                .watcher = {.poller = poller, .on_event = on_event},
                                .limits = limits,
                                .tls = tls,
                                .scratch = malloc(HEADROOM + READ_SIZE),
                                .scanner = malloc(sizeof *l->scanner)};
    return l->scratch && l->scanner;
}

void outgoing_loop_fini(struct outgoing_loop *l)
{
    free(l->scratch);
    free(l->scanner);
    tls_context_unref(l->tls);
    tls_context_unref(atomic_exchange(&l->next_tls, NULL));
    *l = (struct outgoing_loop){0};
}

void outgoing_loop_set_tls(struct outgoing_loop *l, struct tls_context *tls)
{
    tls_context_unref(atomic_exchange(&l->next_tls, tls));
}

bool outgoing_loop_renews(const struct outgoing_loop *l)
{
    return atomic_load_explicit(&l->next_tls, memory_order_relaxed) != NULL;
}

static struct tls_context *context_of(struct outgoing_loop *l)
{
    struct tls_context *next = atomic_exchange(&l->next_tls, NULL);

    if (next) {
        tls_context_unref(l->tls);
        l->tls = next;
    }
    return l->tls;
}

/* --- Its end --- */

static void drop_input(struct outgoing *s)
{
    buffer_free(&s->in);
    free(s->scanner);
    s->scanner = NULL;
}

static void close_stream(struct outgoing *s)
{
    if (s->state != OUTGOING_IDLE)
        s->stream.cls->close(&s->stream);
    s->state = OUTGOING_IDLE;
    s->ready = 0;
    s->full = false;
    drop_input(s);
}

static void forget_output(struct outgoing *s)
{
    buffer_free(&s->out);
    s->handed = 0;
}

void outgoing_lose(struct outgoing *s, const char *why)
{
    close_stream(s);
    s->target = NULL;
    if (s->ending) {
        forget_output(s);
        return;
    }
    s->port->lost(s, why);
    forget_output(s);
}

static void lose_by_stream(struct outgoing *s, ssize_t result)
{
    char text[160] = "it closed the connection";

    if (result == STREAM_ERROR)
        s->stream.cls->explain(&s->stream, text, sizeof text);
    outgoing_lose(s, text);
}

/* Without a call of the port. */
static void close_now(struct outgoing *s)
{
    close_stream(s);
    forget_output(s);
}

/* --- Connecting --- */

/* A socket that connects to the next of the owner's addresses; -1: *why, as none is left. */
static int dial(struct outgoing *s, char *why, size_t size)
{
    int fd = -1, on = 1;

    snprintf(why, size, "it has no address");
    while (fd < 0 && s->next_address < s->target->count) {
        const struct sockaddr *at = (const struct sockaddr *)&s->target->at[s->next_address];
        socklen_t len = s->target->len[s->next_address++];
        fd = socket(at->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd >= 0 && at->sa_family != AF_UNIX)
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (fd < 0 || connect(fd, at, len) == 0 || errno == EINPROGRESS || errno == EINTR)
            continue;
        char text[96];
        snprintf(why, size, "%s", strerror_r(errno, text, sizeof text));
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool open_stream(struct outgoing *s, int fd)
{
    if (!s->target->tls) {
        stream_plain_open(&s->stream, fd, &s->loop->watcher);
        return true;
    }
    struct tls_context *tls = context_of(s->loop);
    return tls && tls_connect(&s->stream, tls, fd, &s->loop->watcher);
}

/* False: the session was lost. */
static bool open_socket(struct outgoing *s)
{
    char why[128];
    int fd = dial(s, why, sizeof why);

    if (fd >= 0 && open_stream(s, fd))
        return true;
    if (fd >= 0)
        close(fd);
    outgoing_lose(s, fd < 0         ? why
                     : s->loop->tls ? "out of memory"
                                    : "it speaks TLS, and this node has no cluster.cert");
    return false;
}

static void begin(struct outgoing *s)
{
    if (!(s->loop->open ? s->loop->open(s) : open_socket(s)))
        return;
    s->state = OUTGOING_CONNECTING;
    s->until = activator_now(s->loop->activator) + CONNECT_TIME;
    s->ready = 0;
    if (!s->stream.cls->watch(&s->stream, STREAM_WRITE))
        outgoing_lose(s, "out of memory");
}

static void opened(struct outgoing *s)
{
    char name[NET_NAME_MAX];

    if (tls_peer_name(&s->stream, name, sizeof name) != TLS_NAME_FOUND)
        name[0] = '\0';
    if (s->stream.cls->ask_often)
        s->stream.cls->ask_often(&s->stream, &asks);
    s->state = OUTGOING_OPEN;
    s->ready |= STREAM_READ | STREAM_WRITE;
    s->handed = 0;
    if (!s->port->opened(s, name))
        outgoing_lose(s, "it is another node than was expected");
}

static void shake(struct outgoing *s)
{
    int result = s->stream.cls->handshake ? s->stream.cls->handshake(&s->stream) : 0;

    s->ready = 0;
    if (result == 0)
        opened(s);
    else if (result == STREAM_EOF || result == STREAM_ERROR)
        lose_by_stream(s, result);
    else if (!s->stream.cls->watch(&s->stream,
                                   result == STREAM_WANT_WRITE ? STREAM_WRITE : STREAM_READ))
        outgoing_lose(s, "out of memory");
}

/* Tries the owner's next address; the session is lost if there is none. */
static void give_up_address(struct outgoing *s, const char *why)
{
    bool more = s->next_address < s->target->count;

    close_stream(s);
    if (more)
        begin(s);
    else
        outgoing_lose(s, why);
}

static void connected(struct outgoing *s)
{
    int error = 0;
    socklen_t len = sizeof error;
    char text[96];

    if (!(s->ready & STREAM_WRITE))
        return;
    if (s->stream.fd >= 0 && getsockopt(s->stream.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error == 0) {
        s->state = OUTGOING_HANDSHAKE;
        shake(s);
        return;
    }
    give_up_address(s, strerror_r(error, text, sizeof text));
}

/* --- Output --- */

uint64_t outgoing_committed(const struct outgoing *s)
{
    return s->handed + buffer_len(&s->out);
}

size_t outgoing_waits(const struct outgoing *s)
{
    return buffer_len(&s->out);
}

struct span outgoing_unsent(const struct outgoing *s, uint64_t from)
{
    assert(from >= s->handed && from <= outgoing_committed(s));
    size_t skip = (size_t)(from - s->handed);
    return span_of(s->out.at + s->out.start + skip, buffer_len(&s->out) - skip);
}

uint8_t *outgoing_reserve(struct outgoing *s, size_t room)
{
    return buffer_reserve(&s->out, room);
}

void outgoing_commit(struct outgoing *s, uint8_t *end)
{
    s->out.end = (size_t)(end - s->out.at);
    outgoing_kick(s);
}

/* False: the session was lost. */
static bool write_out(struct outgoing *s)
{
    int budget = WRITES_A_STEP;

    while (budget-- > 0 && (buffer_len(&s->out) > 0 || s->stream.backlog > 0)) {
        size_t len = buffer_len(&s->out);
        struct iovec part = {.iov_base = s->out.at + s->out.start,
                             .iov_len = len < WRITE_MOST ? len : WRITE_MOST};
        ssize_t n = s->stream.cls->writev(&s->stream, &part, len > 0);
        if (n == STREAM_WANT_WRITE || n == STREAM_WANT_READ) {
            s->ready &= (uint8_t)~STREAM_WRITE;
            return true;
        }
        if (n < 0) {
            lose_by_stream(s, n);
            return false;
        }
        s->handed += (uint64_t)n;
        buffer_consume(&s->out, (size_t)n);
        s->port->wrote(s);
    }
    return true;
}

/* --- Input --- */

static void give(struct outgoing *s, struct span message, uint8_t **kept)
{
    struct envelope e;
    const char *why;

    if (envelope_read(message, &e, &why) == ENVELOPE_OK)
        s->port->message(s, message, &e, kept);
    else
        outgoing_lose(s, why);
}

/* Keeps the rest of the read buffer, and where the scanner is in it.  False without memory. */
static bool keep(struct outgoing *s, struct span rest)
{
    s->scanner = malloc(sizeof *s->scanner);
    uint8_t *at = s->scanner ? buffer_reserve(&s->in, rest.len) : NULL;

    if (!at)
        return false;
    memcpy(at, rest.at, rest.len);
    s->in.end += rest.len;
    *s->scanner = *s->loop->scanner;
    return true;
}

/* Passes on the whole messages of the scratch buffer; the scanner is at `bytes`. */
static void take(struct outgoing *s, struct span bytes)
{
    struct scanner *scanner = s->loop->scanner;

    while (bytes.len > 0 && s->state == OUTGOING_OPEN) {
        enum scan_verdict verdict = scanner_run(scanner, s->loop->limits, bytes);
        if (verdict == SCAN_MORE) {
            if (!keep(s, bytes))
                outgoing_lose(s, "out of memory");
            return;
        }
        if (verdict != SCAN_WHOLE) {
            outgoing_lose(s, scan_verdict_text(verdict));
            return;
        }
        struct span message = span_of(bytes.at, scanner->done);
        bytes = span_behind(bytes, scanner->done);
        scanner_init(scanner);
        uint8_t *none = NULL;
        give(s, message, &none);
    }
}

/* Reads the rest of a long message behind what has come of it. */
static ssize_t read_longer(struct outgoing *s)
{
    size_t missing = s->scanner->need - buffer_len(&s->in);
    size_t size = missing < READ_SIZE ? missing : READ_SIZE;
    uint8_t *at = buffer_reserve(&s->in, size);

    if (!at)
        return STREAM_ERROR;
    ssize_t n = s->stream.cls->read(&s->stream, at, size);
    if (n <= 0)
        return n;
    s->in.end += (size_t)n;
    struct span bytes = span_of(s->in.at + s->in.start, buffer_len(&s->in));
    enum scan_verdict verdict = scanner_run(s->scanner, s->loop->limits, bytes);
    if (verdict == SCAN_MORE)
        return n;
    if (verdict != SCAN_WHOLE) {
        outgoing_lose(s, scan_verdict_text(verdict));
        return n;
    }
    assert(s->scanner->done == bytes.len); /* it reads no more than the message needs */
    struct outgoing_buffer whole = s->in;
    s->in = (struct outgoing_buffer){0};
    drop_input(s);
    give(s, bytes, &whole.at);
    free(whole.at);
    return n;
}

static ssize_t read_some(struct outgoing *s)
{
    struct outgoing_loop *l = s->loop;
    size_t before = buffer_len(&s->in);

    if (before > HEADROOM)
        return read_longer(s);
    ssize_t n = s->stream.cls->read(&s->stream, l->scratch + HEADROOM, READ_SIZE);
    if (n <= 0)
        return n;
    if (n < READ_SIZE && !s->stream.more)
        s->ready &= (uint8_t)~STREAM_READ; /* drained: it becomes readable again */
    uint8_t *at = l->scratch + HEADROOM - before;
    if (before > 0) {
        memcpy(at, s->in.at + s->in.start, before);
        *l->scanner = *s->scanner;
        drop_input(s);
    } else {
        scanner_init(l->scanner);
    }
    take(s, span_of(at, before + (size_t)n));
    return n;
}

static void read_in(struct outgoing *s)
{
    int budget = READS_A_STEP;

    s->full = false;
    while (s->state == OUTGOING_OPEN && s->ready & STREAM_READ && budget-- > 0) {
        s->full = !s->port->may_read(s);
        if (s->full)
            return;
        ssize_t n = read_some(s);
        if (n > 0 || s->state != OUTGOING_OPEN)
            continue;
        if (n == STREAM_WANT_READ || n == STREAM_WANT_WRITE)
            s->ready &= (uint8_t)~STREAM_READ;
        else
            lose_by_stream(s, n);
    }
}

/* Our side is shut: the session drops what comes, until the peer ends. */
static void discard(struct outgoing *s)
{
    ssize_t n = s->stream.cls->read(&s->stream, s->loop->scratch, READ_SIZE);

    if (n == STREAM_WANT_READ || n == STREAM_WANT_WRITE)
        s->ready &= (uint8_t)~STREAM_READ;
    else if (n < 0)
        outgoing_lose(s, "");
}

static void finish(struct outgoing *s)
{
    if (s->state == OUTGOING_OPEN && buffer_len(&s->out) + s->stream.backlog == 0) {
        s->stream.cls->shut(&s->stream);
        s->state = OUTGOING_FINISHING;
    }
    if (s->ready & STREAM_READ)
        discard(s);
}

/* --- The step --- */

static enum ao_verdict rest(struct outgoing *s)
{
    bool writes = buffer_len(&s->out) + s->stream.backlog > 0;
    bool timed = s->state != OUTGOING_OPEN || s->ending;

    if (s->state >= OUTGOING_OPEN) {
        if ((writes && s->ready & STREAM_WRITE) || (!s->full && s->ready & STREAM_READ))
            return AO_AGAIN;
        unsigned what = (s->full ? 0u : STREAM_READ) | (writes ? STREAM_WRITE : 0u);
        if (!s->stream.cls->watch(&s->stream, what)) {
            outgoing_lose(s, "out of memory");
            return AO_AGAIN;
        }
    }
    if (!timed)
        return AO_DONE;
    ao_sleep_until(&s->ao, s->until);
    return AO_PARK;
}

static void timed_out(struct outgoing *s)
{
    bool waits = s->state == OUTGOING_CONNECTING || s->state == OUTGOING_HANDSHAKE || s->ending;

    if (!waits || s->state == OUTGOING_IDLE || activator_now(s->loop->activator) < s->until)
        return;
    if (s->state == OUTGOING_CONNECTING)
        give_up_address(s, "it does not answer");
    else
        outgoing_lose(s, "it does not answer");
}

static enum ao_verdict outgoing_step(struct ao *self)
{
    struct outgoing *s = ao_of(self, struct outgoing, ao);

    timed_out(s);
    if (s->state == OUTGOING_IDLE && s->target && !s->ending) {
        s->next_address = 0;
        begin(s);
        if (s->state == OUTGOING_IDLE)
            s->target = NULL;
    } else if (s->state == OUTGOING_CONNECTING) {
        connected(s);
    } else if (s->state == OUTGOING_HANDSHAKE && s->ready) {
        shake(s);
    }
    if (s->state >= OUTGOING_OPEN && s->ready & STREAM_WRITE)
        write_out(s);
    if (s->state >= OUTGOING_OPEN && s->ending)
        finish(s);
    else if (s->state == OUTGOING_OPEN)
        read_in(s);
    if (s->state == OUTGOING_OPEN && s->ready & STREAM_WRITE && outgoing_waits(s) > 0)
        write_out(s);
    if (s->state != OUTGOING_IDLE)
        return rest(s);
    s->target = NULL;
    if (s->ending)
        ao_retire(&s->ao);
    return AO_DONE;
}

static void outgoing_retired(struct ao *self)
{
    struct outgoing *s = ao_of(self, struct outgoing, ao);

    ao_fini(&s->ao);
    s->port->ended(s);
}

static const struct ao_class outgoing_class = {
    .name = "outgoing", .step = outgoing_step, .retired = outgoing_retired};

void outgoing_init(struct outgoing *s, struct outgoing_loop *l, const struct outgoing_port *port)
{
    *s = (struct outgoing){.loop = l, .port = port};
    ao_init(&s->ao, &outgoing_class, l->activator);
}

void outgoing_kick(struct outgoing *s)
{
    if (ao_state(&s->ao) == AO_STATE_SLEEPING)
        ao_wake(&s->ao);
    else
        ao_activate(&s->ao);
}

void outgoing_connect(struct outgoing *s, const struct outgoing_target *target)
{
    assert(s->state == OUTGOING_IDLE && !s->ending);
    s->target = target;
    outgoing_kick(s);
}

void outgoing_end(struct outgoing *s)
{
    s->ending = true;
    s->until = activator_now(s->loop->activator) + FINISH_TIME;
    if (s->state != OUTGOING_OPEN)
        close_now(s);
    outgoing_kick(s);
}

void outgoing_fini(struct outgoing *s)
{
    close_now(s);
    if (ao_state(&s->ao) != AO_STATE_INACTIVE)
        ao_deactivate(&s->ao);
    ao_fini(&s->ao);
}
