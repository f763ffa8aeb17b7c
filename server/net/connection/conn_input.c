/* From bytes to messages.
 *
 * Bytes are read into the loop's scratch buffer and scanned there; whole messages go to the port in
 * place.  What is left over (a message that is not whole, or more than the budget) is copied into
 * the connection's partial input.  When more bytes come, a short rest is put back in front of them
 * in the scratch buffer, so that a stream of small messages is always read in large pieces; behind
 * a long one the bytes that its message lacks are read at once, so that none is copied twice. */
#include "server/net/connection/conn_input.h"
#include "server/net/connection/conn_output.h"
#include "server/net/connection/conn_private.h"
#include "server/net/connection/holdings.h"
#include "server/net/connection/partial_budget.h"
#include "server/net/connection/serving.h"

#include <assert.h>
#include <stdio.h>

#include "proto/encoder.h"
#include "proto/envelope_inline.h"
#include "proto/reader.h"
#include "proto/scanner_inline.h"
#include "server/accounts/tally.h"
#include "server/runtime/activator.h"

enum {
    READ_A_ROUND = 256,  /* messages of one account on one loop; these cost as much as a message: */
    READ_PIECE = 4096,   /* bytes, */
    LONG_PIECE = 2048,   /* bytes behind a rest that is kept: they go to fresh memory, */
    ELEMENTS = 128,      /* elements, of whatever size */
    DISCARDS_A_STEP = 4, /* reads of a lingering connection */
    WIDE_LEAST = 8192,   /* bytes of a message: large ones have more, */
    WIDE_ELEMENTS = 1024, /* and a whole read of cheap ones has fewer of these */
    FAR = 16 * READ_MANY  /* bytes that are left below a limit */
};

/* Of its messages. */
static const struct scan_limits *limits_of(const struct connection *c)
{
    return c->unauthenticated ? &c->loop->unauthenticated.scan : &c->loop->limits.scan;
}

/* --- Input that is no message --- */

static void answer_error(struct connection *c, struct span msgid, enum ergon_error code,
                         const char *text)
{
    conn_send_error(c, msgid, &(struct error_answer){.code = code, .text = span_text(text)});
}

/* Its id is readable: answers BAD_REQUEST, and the connection goes on. */
static void refuse_message(struct connection *c, struct span msgid, const char *why)
{
    counter_add(&c->loop->counters.protocol_errors, 1);
    answer_error(c, msgid, ERGON_E_BAD_REQUEST, why);
}

/* The peer could not match an answer to its request: closes, with a log line.  `why` is
 * constant. */
static void refuse_connection(struct connection *c, const char *why)
{
    counter_add(&c->loop->counters.protocol_errors, 1);
    if (c->unauthenticated)
        conn_slot_offend(c->slot, OFFENCE_NOISE);
    conn_close(c, why);
}

/* The id of a request of which only the front is there. */
static bool request_head(struct span bytes, struct span *msgid)
{
    struct reader r = reader_of(bytes);
    uint32_t count;
    uint64_t type;
    uint64_t id;

    if (!read_array(&r, &count) || count != 4 || !read_uint(&r, &type) || type != 0)
        return false;
    const uint8_t *at = r.at;
    if (!read_uint(&r, &id))
        return false;
    *msgid = span_of(at, (size_t)(r.at - at));
    return true;
}

/* The scanner has refused what starts at `bytes`: answers TOO_LARGE when the head of a request is
 * readable, and closes. */
static void refuse_input(struct connection *c, enum scan_verdict verdict, struct span bytes)
{
    const struct scan_limits *limits = limits_of(c);
    char text[128];
    struct span msgid;

    if (verdict != SCAN_MALFORMED && request_head(bytes, &msgid)) {
        if (verdict == SCAN_TOO_DEEP)
            snprintf(text, sizeof text, "the message nests deeper than %u levels; send it flatter",
                     limits->depth_max);
        else
            snprintf(text, sizeof text, "the message is longer than %u bytes; %s",
                     limits->message_max,
                     c->unauthenticated ? "before server.auth none may be" : "send it in parts");
        answer_error(c, msgid, ERGON_E_TOO_LARGE, text);
    }
    refuse_connection(c, scan_verdict_text(verdict));
}

/* What the peer of one that serves asks itself, where another would be stopped.  True: it was
 * refused, or no refusal could be sent. */
__attribute__((noinline)) static bool refuse_own(struct connection *c, const struct envelope *e)
{
    static const char busy[] = "you hold, or have in flight, as much as you may; what a worker "
                               "asks is not kept waiting";
    enum ergon_error refused = serving_refuses(c, e);

    if (e->type == ENVELOPE_REQUEST && serving_overflows(c))
        conn_close(c, "it asks, and reads no answers (limits.output)");
    else if (refused == ERGON_OK)
        return false;
    else if (e->type == ENVELOPE_REQUEST)
        answer_error(c, e->msgid, refused, refused == ERGON_E_BUSY ? busy : error_meaning(refused));
    else
        log_debug("notification dropped", LOG_UINT("conn", conn_id(c)),
                  LOG_STR("reason", error_name(refused)));
    return true;
}

/* --- Whole messages --- */

static inline void hand_over(struct connection *c, const struct envelope *e)
{
    struct net_loop *l = c->loop;

    /* Answers to our requests never wait for the calls of the peer. */
    if (e->type != ENVELOPE_RESPONSE && (c->serves || c->in_flight >= l->limits.in_flight)) {
        if (!c->serves)
            c->reserve++;
        else if (refuse_own(c, e))
            return;
    }
    l->port.message(l->port.arg, c, e);
}

/* One whole value.  It may end the connection. */
static void deliver(struct connection *c, struct span message)
{
    struct envelope e;
    const char *why;

    switch (envelope_read(message, &e, &why)) {
    case ENVELOPE_OK:
        hand_over(c, &e);
        return;
    case ENVELOPE_ANSWERABLE:
        refuse_message(c, e.msgid, why);
        return;
    case ENVELOPE_UNANSWERABLE:
        refuse_connection(c, why);
        return;
    }
}

/* The same of a long one: what the scanner has noted of it is known meanwhile.  Where the message
 * is kept by another, the scanner has gone with it. */
static void deliver_long(struct connection *c, struct span message, struct scanner *scanner)
{
    struct net_loop *l = c->loop;

    assert(l->notes.count == 0); /* of one message at a time */
    l->notes = scanner->notes;
    l->noted = message.at;
    scanner_init(scanner);
    deliver(c, message);
    if (c->put_back && conn_open(c))
        scanner->notes = l->notes;
    l->notes.count = 0;
}

const struct scan_notes *conn_message_notes(const struct connection *c, const uint8_t **first)
{
    *first = c->loop->noted;
    return &c->loop->notes;
}

/* The message that was put back has so many bytes. */
static void keep_for_retry(struct connection *c, size_t len)
{
    assert(c->cold != NULL && c->cold->uses & COLD_ROOM); /* by conn_may_begin() */
    c->put_back = false;
    c->retries = true;
    c->cold->whole = (uint32_t)len;
}

void conn_worked(struct connection *c, size_t messages)
{
    struct net_loop *l = c->loop;

    l->most = messages < l->most ? l->most - (uint32_t)messages : 0;
    l->looked += messages * ELEMENTS;
}

/* What is left in this step is kept for the step behind the last part. */
void conn_begin_parts(struct connection *c)
{
    assert(!c->in_parts);
    c->in_parts = true;
    c->loop->most = 0;
    conn_kick(c);
}

void conn_end_parts(struct connection *c)
{
    assert(c->in_parts);
    c->in_parts = false;
}

/* The message that was put back is at the front.  It is known to be whole, so a new attempt costs
 * the same, however long it is.  Returns how many bytes are used up. */
static size_t hand_over_again(struct connection *c, struct span bytes, struct scanner *scanner,
                              uint32_t *count)
{
    uint32_t len = c->cold->whole;

    assert(len <= bytes.len); /* what is kept begins with the whole message */
    if (!conn_may_read(c))
        return 0;
    c->retries = false;
    holdings_end_use(c);
    if (len > limits_of(c)->message_max) /* it may less than before: refused as others are */
        return 0;
    deliver_long(c, span_of(bytes.at, len), scanner);
    if (c->put_back) {
        keep_for_retry(c, len);
        return 0;
    }
    ++*count;
    return len;
}

/* Hands over whole messages from the front of `bytes`; returns how many bytes are used up.  The
 * scanner keeps its position in the rest. */
static size_t take_messages(struct connection *c, struct span bytes, struct scanner *scanner,
                            enum input_end *end)
{
    struct net_loop *l = c->loop;
    struct span rest = {0};
    uint32_t count = 0;

    *end = INPUT_LEFT;
    l->most = MESSAGES_A_STEP;
    size_t at = c->retries ? hand_over_again(c, bytes, scanner, &count) : 0;
    while (conn_open(c)) {
        const struct scan_limits *limits = limits_of(c); /* any message may be server.auth */
        if (at == bytes.len || count >= l->most || !conn_may_read(c)) {
            bool spent = count >= l->most && !c->put_back;
            if (c->put_back) {
                keep_for_retry(c, rest.len);
                at -= rest.len;
                count--;
            }
            *end = at == bytes.len ? INPUT_REST : spent ? INPUT_MORE : INPUT_STOPPED;
            break;
        }
        rest = span_behind(bytes, at);
        struct envelope e;
        bool common = scanner->done == 0 && envelope_begin_inline(rest, limits, scanner, &e);
        uint64_t before = scanner_looked(scanner);
        enum scan_verdict verdict = scanner_run_inline(scanner, limits, rest);
        l->looked += scanner_looked(scanner) - before;
        if (verdict == SCAN_MORE) {
            *end = INPUT_REST;
            break;
        }
        if (verdict != SCAN_WHOLE) {
            refuse_input(c, verdict, rest);
            break;
        }
        at += scanner->done;
        rest.len = scanner->done;
        count++;
        if (__builtin_expect(rest.len > SCAN_LARGE_LEAST, 0)) {
            deliver_long(c, rest, scanner);
            continue;
        }
        scanner_init(scanner);
        if (common) {
            envelope_end(&e, rest);
            hand_over(c, &e);
        } else {
            deliver(c, rest);
        }
    }
    assert(at <= bytes.len);
    counter_add(&l->counters.messages, count);
    c->messages += count;
    return at;
}

static enum input_end run_partial(struct connection *c)
{
    enum input_end end;
    struct partial_input *p = c->partial;

    size_t used = take_messages(c, partial_span(p), &p->scanner, &end);
    if (end == INPUT_LEFT || c->partial == NULL)
        return end; /* and what was kept is dropped, or another's: conn_take_message() */
    p->start += used;
    c->partial_whole = end != INPUT_REST;
    if (p->start == p->end)
        input_drop(c);
    return end;
}

static enum input_end run_scratch(struct connection *c, struct span bytes)
{
    struct net_loop *l = c->loop;
    enum input_end end;
    size_t used = take_messages(c, bytes, &l->scanner, &end);

    if (end == INPUT_LEFT || used == bytes.len)
        return end;
    c->partial = partial_new(&l->partials, c, span_behind(bytes, used), &l->scanner);
    if (c->partial == NULL) {
        conn_out_of_memory(c);
        return INPUT_LEFT;
    }
    c->partial_whole = end != INPUT_REST;
    holdings_settle(c);
    return end;
}

/* What is kept begins a message so long that its rest is read to its place. */
static bool holds_long(const struct connection *c)
{
    return c->partial != NULL && partial_span(c->partial).len > HEADROOM;
}

static enum input_end run_longer(struct connection *c)
{
    holdings_settle(c);
    return run_partial(c);
}

/* The scratch buffer holds `n` fresh bytes behind the headroom. */
static enum input_end run_fresh(struct connection *c, size_t n)
{
    struct net_loop *l = c->loop;
    uint8_t *at = l->scratch + HEADROOM;
    struct partial_input *p = c->partial;

    if (p == NULL) {
        scanner_init(&l->scanner);
        return run_scratch(c, span_of(at, n));
    }
    struct span kept = partial_span(p);
    if (n <= partial_slack(p)) {
        partial_append(p, span_of(at, n));
        return run_longer(c);
    }
    assert(kept.len <= HEADROOM && n <= READ_MANY);
    memcpy(at - kept.len, kept.at, kept.len);
    partial_copy_scanner(&l->scanner, &p->scanner);
    input_drop(c);
    return run_scratch(c, span_of(at - kept.len, kept.len + n));
}

static enum input_end read_failed(struct connection *c, ssize_t result)
{
    char text[128];

    if (result == STREAM_EOF) {
        if (c->partial != NULL)
            log_debug("peer closed inside a message", LOG_UINT("conn", conn_id(c)));
        return INPUT_EOF;
    }
    c->stream.cls->explain(&c->stream, text, sizeof text);
    log_debug("read failed", LOG_UINT("conn", conn_id(c)), LOG_STR("reason", text));
    conn_enter(c, CONN_CLOSED, "read error");
    return INPUT_LEFT;
}

/* A whole read, or more, brought `count` messages. */
__attribute__((noinline)) static void note_large(struct connection *c, size_t n, uint64_t count,
                                                 uint64_t looked)
{
    c->wide = count * WIDE_LEAST <= n && looked < WIDE_ELEMENTS;
    c->gathers = count > 0;
}

/* The bytes in the scratch buffer, and how many there are. */
static enum input_end run_read(struct connection *c, size_t n)
{
    struct net_loop *l = c->loop;
    uint64_t before = counter_read(&l->counters.messages), looked = l->looked;
    enum input_end end = run_fresh(c, n);

    uint64_t count = counter_read(&l->counters.messages) - before;
    c->wide = false;
    if (n >= READ_SIZE)
        note_large(c, n, count, l->looked - looked);
    c->single = count == 1;
    return end;
}

/* What a read returned: true when it brought bytes, else `*end` says how to go on. */
static bool note_read(struct connection *c, ssize_t n, size_t size, enum input_end *end)
{
    if (c->stream.backlog > 0 && !(c->stream.watched & STREAM_WRITE))
        output_wanted(c);
    if (n == STREAM_WANT_READ || n == STREAM_WANT_WRITE) {
        c->ready &= (uint8_t)~STREAM_READ;
        *end = INPUT_REST;
        return false;
    }
    if (n < 0) {
        *end = read_failed(c, n);
        return false;
    }
    assert(n > 0 && (size_t)n <= size); /* the contract of stream_class.read */
    if ((size_t)n < size && !c->stream.more)
        c->ready &= (uint8_t)~STREAM_READ;
    c->since = activator_now(c->loop->activator);
    counter_add(&c->loop->counters.bytes_in, (uint64_t)n);
    return true;
}

static enum input_end not_now(const struct connection *c)
{
    return conn_open(c) ? INPUT_STOPPED : INPUT_LEFT;
}

/* To where they belong, behind what is kept, and not beyond the end of the message. */
static enum input_end read_longer(struct connection *c, size_t size)
{
    struct net_loop *l = c->loop;
    size_t missing = c->partial->scanner.need - partial_span(c->partial).len;
    size_t room = missing < size ? missing : size;
    enum input_end end;

    assert(missing > 0 && missing <= c->partial->scanner.need);
    if (!partial_budget_take(c, room))
        return not_now(c);
    struct partial_input *p = partial_reserve(&l->partials, c->partial, room);
    if (p == NULL) {
        conn_out_of_memory(c);
        return INPUT_LEFT;
    }
    c->partial = p;
    ssize_t n = c->stream.cls->read(&c->stream, p->bytes + p->end, room);
    if (!note_read(c, n, room, &end))
        return end;
    p->end += (size_t)n;
    return run_longer(c);
}

static enum input_end read_fresh(struct connection *c, size_t size)
{
    struct net_loop *l = c->loop;
    enum input_end end;

    bool fits = partial_fits(&l->partials, HEADROOM + size);
    if (!fits && !partial_budget_admits(c, &size))
        return not_now(c);
    ssize_t n = c->stream.cls->read(&c->stream, l->scratch + HEADROOM, size);
    if (note_read(c, n, size, &end))
        end = run_read(c, (size_t)n);
    if (!fits)
        partial_settle(&l->partials);
    return end;
}

/* Each connection of a principal may exceed a limit by what it reads in one round, so one that is
 * not far from its limits reads less at a time. */
static bool is_far_from_limits(const struct connection *c)
{
    uint64_t own = c->loop->limits.connection_bytes;
    const struct tally *t = c->tally;

    return (own == 0 || own >= FAR) && (!t || account_bytes_left(t->account, &t->change) >= FAR);
}

static size_t read_most(const struct connection *c)
{
    bool at_limit = (c->in_flight >= c->loop->limits.in_flight && !c->serves) || c->unauthenticated;

    if (at_limit || !c->wide)
        return at_limit ? READ_SHORT : READ_SIZE;
    return c->gathers && is_far_from_limits(c) ? READ_MANY : READ_WIDE;
}

static enum input_end read_and_run(struct connection *c)
{
    size_t size = read_most(c);
    enum input_end end = holds_long(c) ? read_longer(c, size) : read_fresh(c, size);

    return end == INPUT_REST && (c->ready & STREAM_READ) ? INPUT_MORE : end;
}

enum input_end input_run_partial(struct connection *c)
{
    return c->partial != NULL && c->partial_whole ? run_partial(c) : INPUT_REST;
}

static enum input_end run(struct connection *c)
{
    if (c->partial != NULL && c->partial_whole) {
        enum input_end end = run_partial(c);
        if (end != INPUT_REST || !(c->ready & STREAM_READ))
            return end;
        return INPUT_MORE;
    }
    if (!(c->ready & STREAM_READ))
        return INPUT_REST;
    if (!conn_may_read(c))
        return INPUT_STOPPED;
    return read_and_run(c);
}

/* The connections of one account are read in turns: in each turn each of them once, and in a round
 * only so much of all; what a round has left of a turn comes in the next.  So a thousand
 * connections of one hold up another's for no longer than two do, and long messages, or such of
 * millions of elements, for no longer than short ones.  True: not in this round. */
static bool must_wait(struct connection *c)
{
    struct tally *t = c->tally;
    uint64_t round = activator_rounds(c->loop->activator) + 1;

    if (t->round != round) {
        if (!t->behind)
            t->turn++;
        t->behind = false;
        t->read = 0;
        t->round = round;
    }
    if (c->turn == (uint16_t)t->turn)
        return true;
    t->behind |= t->read >= READ_A_ROUND;
    if (t->behind)
        return true;
    c->turn = (uint16_t)t->turn;
    return false;
}

void input_run_part(struct connection *c)
{
    struct net_loop *l = c->loop;
    bool in_turn = accounts_several(l->tallies->accounts);

    if (in_turn && must_wait(c))
        return;
    uint64_t looked = l->looked;
    l->port.part(l->port.arg, c);
    if (in_turn)
        c->tally->read += (uint32_t)((l->looked - looked) / ELEMENTS);
}

static enum input_end run_in_turn(struct connection *c)
{
    const struct net_loop *l = c->loop;
    const struct loop_counters *n = &l->counters;

    if (!(c->ready & STREAM_READ) && !(c->partial && c->partial_whole))
        return INPUT_REST;
    if (must_wait(c))
        return INPUT_MORE;
    uint64_t messages = counter_read(&n->messages), bytes = counter_read(&n->bytes_in);
    uint64_t looked = l->looked;
    unsigned piece = holds_long(c) ? LONG_PIECE : READ_PIECE;
    enum input_end end = run(c);
    messages = counter_read(&n->messages) - messages;
    bytes = counter_read(&n->bytes_in) - bytes;
    looked = l->looked - looked;
    c->tally->read += (uint32_t)(messages + bytes / piece + looked / ELEMENTS);
    return end;
}

enum input_end input_run(struct connection *c)
{
    return accounts_several(c->loop->tallies->accounts) ? run_in_turn(c) : run(c);
}

void input_discard(struct connection *c)
{
    for (int i = 0; i < DISCARDS_A_STEP; i++) {
        ssize_t n = c->stream.cls->read(&c->stream, c->loop->scratch, READ_SIZE);
        if (n == STREAM_WANT_READ || n == STREAM_WANT_WRITE)
            return;
        if (n < 0) {
            conn_enter(c, CONN_CLOSED, n == STREAM_EOF ? "peer eof" : "read error");
            return;
        }
    }
}
