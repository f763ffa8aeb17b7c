#include "client/bench/generator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    EVENTS_A_ROUND = 256,
    OPENING_AT_A_TIME = 64, /* handshakes that are under way together */
    READ_ROOM = 256 * 1024, /* bytes of one read */
    TIMER_SLACK_NS = 1
};

static const uint64_t ROUND_NS = 50 * 1000 * 1000;     /* the longest sleep */
static const uint64_t PROGRESS_NS = 50 * 1000 * 1000;  /* between two reports of progress */
static const uint64_t LOOK_NS = 100 * 1000 * 1000;     /* between two looks at the timeouts */
static const uint64_t DRAIN_NS = UINT64_C(5000000000); /* answers are awaited after the end */

uint64_t generator_clock_ns(void)
{
    return clock_monotonic();
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool is_open_loop(const struct generator *g)
{
    return g->plan->rate > 0;
}

/* Whether a request that was to be sent then is of what the run reports. */
static bool counts(const struct generator *g, uint64_t since_ns)
{
    return since_ns >= g->begin_ns;
}

/* ---- connections that break ---- */

/* Requests of this connection that count and have no answer. */
static uint64_t unanswered(const struct generator *g, const struct conn *c)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < c->slot_count; i++)
        n += c->slots[i].since_ns > 0 && counts(g, c->slots[i].since_ns);
    return n;
}

/* Counts it and what was in flight; it stays closed. */
static void drop(struct generator *g, struct conn *c, const char *why)
{
    if (why != g->result.why)
        snprintf(g->result.why, sizeof g->result.why, "%s", why);
    g->result.broken++;
    g->result.lost += unanswered(g, c);
    g->in_flight -= c->in_flight;
    g->live--;
    conn_close(c);
}

static void watch(struct generator *g, struct conn *c, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};
    if (c->watched == events)
        return;
    int rc = epoll_ctl(g->epoll, c->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->fd, &e);
    if (rc == 0)
        c->watched = events;
    else if (c->state == CONN_OPEN)
        drop(g, c, "epoll refused the connection");
}

/* ---- requests ---- */

static void written(struct generator *g, struct conn *c, enum stream_verdict v, size_t done)
{
    if (counts(g, g->now))
        g->result.bytes_out += done;
    if (v == STREAM_EOF || v == STREAM_BROKEN)
        drop(g, c, conn_reason(c, v));
    else
        watch(g, c, v == STREAM_OK ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

static void write_out(struct generator *g, struct conn *c)
{
    size_t done;
    enum stream_verdict v = conn_write(c, &g->out, &done);
    written(g, c, v, done);
}

/* Writes what the connection has not sent, and what is gathered for it already.  May drop it. */
static void flush(struct generator *g, struct conn *c)
{
    const struct protocol *protocol = g->plan->protocol;
    struct request *r = &g->request;
    r->connection = c->index;
    while (conn_next_unsent(c, &r->slot)) {
        if (!outgoing_has_room(&g->out)) {
            write_out(g, c);
            if (c->state != CONN_OPEN)
                return;
        }
        r->number++;
        r->call = c->slots[r->slot].call = bench_mix_draw(&g->plan->mix, &g->calls);
        r->payload.len = bench_size_draw(&g->plan->payload, &g->sizes);
        protocol->request(r, &g->out);
    }
    if (g->out.total > 0)
        write_out(g, c);
}

/* What the schedule had up to here and was not sent is counted as due. */
static void stop_sending(struct generator *g)
{
    uint64_t end_ns = earlier(g->now, g->end_ns);
    if (!g->sending)
        return;
    g->sending = false;
    g->sent_last_ns = end_ns;
    if (g->plan->churn > 0)
        g->result.churn_due += pace_skip(&g->churn, g->begin_ns, end_ns);
    bool all_sent = g->requests > 0 && g->result.sent >= g->requests;
    if (is_open_loop(g) && !all_sent)
        g->result.due += pace_skip(&g->pace, g->begin_ns, end_ns);
}

static bool may_send(struct generator *g)
{
    if (g->sending && g->requests > 0 && g->result.sent >= g->requests)
        stop_sending(g);
    return g->sending;
}

static void ask(struct generator *g, struct conn *c, uint64_t since_ns)
{
    conn_take_slot(c, since_ns);
    g->in_flight++;
    if (!counts(g, since_ns))
        return;
    g->result.sent++;
    if (g->plan->series)
        series_note_sent(&g->result.series, since_ns - g->begin_ns);
}

/* ---- when to send, in an open loop ---- */

static void queue(struct generator *g, struct conn *c)
{
    if (c->queued)
        return;
    if (g->waits_for_place)
        g->place_ns = g->now;
    g->waits_for_place = false;
    c->queued = true;
    g->ready[(g->ready_first + g->ready_count++) % g->connections] = c;
}

static struct conn *dequeue(struct generator *g)
{
    while (g->ready_count > 0) {
        struct conn *c = g->ready[g->ready_first];
        g->ready_first = (g->ready_first + 1) % g->connections;
        g->ready_count--;
        c->queued = false;
        if (c->state == CONN_OPEN && !c->retiring && c->free != NO_SLOT)
            return c;
    }
    return NULL;
}

static bool is_due(struct generator *g)
{
    uint64_t next = pace_next(&g->pace);
    return next <= g->now && next < g->end_ns && may_send(g);
}

static void ask_what_is_due(struct generator *g, struct conn *c)
{
    uint64_t since_ns = pace_next(&g->pace);
    ask(g, c, since_ns);
    pace_take(&g->pace);
    if (!counts(g, since_ns))
        return;
    g->result.due++;
    g->result.held += g->place_ns > since_ns;
    hdr_add(&g->result.lag, pace_lag(since_ns, g->place_ns, g->now));
}

static void mark_dirty(struct generator *g, struct conn *c)
{
    if (c->dirty)
        return;
    c->dirty = true;
    g->dirty[g->dirty_count++] = c;
}

static void flush_dirty(struct generator *g)
{
    for (uint32_t i = 0; i < g->dirty_count; i++) {
        g->dirty[i]->dirty = false;
        if (g->dirty[i]->state == CONN_OPEN)
            flush(g, g->dirty[i]);
    }
    g->dirty_count = 0;
}

/* All that is due, as far as there are places. */
static void send_due(struct generator *g)
{
    struct conn *c;
    g->now = generator_clock_ns();
    while (is_due(g) && (c = dequeue(g)) != NULL) {
        do
            ask_what_is_due(g, c);
        while (g->plan->bursts && c->free != NO_SLOT && is_due(g));
        mark_dirty(g, c);
        if (c->free != NO_SLOT)
            queue(g, c);
    }
    g->waits_for_place = g->sending && g->ready_count == 0 && pace_next(&g->pace) <= g->now;
    flush_dirty(g);
}

/* The connection may have free slots: takes them at once (closed loop), or queues it for what is
 * due next. */
static void offer(struct generator *g, struct conn *c)
{
    if (c->retiring || c->free == NO_SLOT || !g->sending)
        return;
    if (is_open_loop(g)) {
        queue(g, c);
        return;
    }
    while (c->free != NO_SLOT && may_send(g))
        ask(g, c, g->now);
}

/* ---- opening ---- */

static void opened(struct generator *g, struct conn *c)
{
    g->opening--;
    g->live++;
    g->progress.connected += !g->running;
    g->now = generator_clock_ns();
    if (g->running == (g->plan->churn > 0)) {
        hdr_add(&g->result.opening, g->now - c->opened_ns);
        g->result.resumed += g->tls != NULL && tls_resumed(&c->stream);
    }
    watch(g, c, EPOLLIN);
    if (g->running && c->state == CONN_OPEN) {
        offer(g, c);
        flush(g, c);
    }
}

static void failed(struct generator *g, enum ergon_end end)
{
    g->opening--;
    if (g->running)
        g->result.broken++;
    else
        g->end = end;
}

static void follow(struct generator *g, struct conn *c, enum conn_need need)
{
    switch (need) {
    case CONN_READY:
        opened(g, c);
        break;
    case CONN_NEEDS_READ:
        watch(g, c, EPOLLIN);
        break;
    case CONN_NEEDS_WRITE:
        watch(g, c, EPOLLOUT);
        break;
    case CONN_UNREACHABLE:
        failed(g, ERGON_END_UNREACHABLE);
        break;
    case CONN_DENIED:
        failed(g, ERGON_END_DENIED);
        break;
    }
}

static void open_one(struct generator *g, struct conn *c)
{
    c->opened_ns = g->now = generator_clock_ns();
    c->retiring = false;
    g->opening++;
    follow(g, c, conn_open(c, &g->target, g->result.why, sizeof g->result.why));
}

static void go_on(struct generator *g, struct conn *c)
{
    g->now = generator_clock_ns();
    follow(g, c, conn_go_on(c, &g->target, g->result.why, sizeof g->result.why));
}

static void look_at_timeouts(struct generator *g)
{
    if (g->opening == 0 || g->now - g->looked_ns < LOOK_NS)
        return;
    g->looked_ns = g->now;
    for (uint32_t i = 0; i < g->connections; i++) {
        struct conn *c = &g->all[i];
        if (c->state == CONN_CLOSED || c->state == CONN_OPEN || g->now < c->opened_ns ||
            g->now - c->opened_ns < g->plan->target.timeout_ns)
            continue;
        snprintf(g->result.why, sizeof g->result.why, "no answer in time");
        conn_close(c);
        failed(g, ERGON_END_UNREACHABLE);
    }
}

/* ---- churn ---- */

/* Of a retiring one that has nothing in flight. */
static void replace(struct generator *g, struct conn *c)
{
    g->live--;
    conn_close(c);
    open_one(g, c);
}

/* NULL: all are on their way in or out. */
static struct conn *next_to_retire(struct generator *g)
{
    for (uint32_t i = 0; i < g->connections; i++) {
        struct conn *c = &g->all[g->churn_next];
        g->churn_next = (g->churn_next + 1) % g->connections;
        if (c->state == CONN_OPEN && !c->retiring)
            return c;
    }
    return NULL;
}

/* Retires as many as are due. */
static void retire(struct generator *g)
{
    while (g->sending && pace_next(&g->churn) <= g->now && pace_next(&g->churn) < g->end_ns) {
        struct conn *c = next_to_retire(g);
        if (c == NULL)
            return;
        bool counted = counts(g, pace_next(&g->churn));
        pace_take(&g->churn);
        g->result.churn_due += counted;
        g->result.churned += counted;
        c->retiring = true;
        if (c->in_flight == 0)
            replace(g, c);
    }
}

/* ---- answers ---- */

/* False, and result.why: it is not what was expected. */
static bool wrong(struct generator *g, const char *at, size_t n)
{
    char *why = g->result.why;
    int len =
        snprintf(why, LOAD_WHY_SIZE, "the server does not speak %s: ", g->plan->protocol->name);
    for (size_t i = 0; i < n && len + 5 < LOAD_WHY_SIZE; i++)
        len += snprintf(why + len, (size_t)(LOAD_WHY_SIZE - len),
                        at[i] >= ' ' && at[i] <= '~' ? "%c" : "\\x%02x", (unsigned char)at[i]);
    return false;
}

/* `code` NULL: without an error.  False, and result.why: nothing of that slot was asked for. */
static bool end_request(struct generator *g, struct conn *c, uint32_t slot, const char *code)
{
    if (g->plan->protocol->ordered) {
        slot = c->oldest;
        c->oldest = slot + 1 < c->slot_count ? slot + 1 : 0;
    }
    if (slot >= c->slot_count || c->slots[slot].since_ns == 0) {
        snprintf(g->result.why, sizeof g->result.why, "an answer to nothing that was asked for");
        return false;
    }
    struct slot ended = c->slots[slot];
    conn_free_slot(c, slot);
    g->in_flight--;
    if (!counts(g, ended.since_ns))
        return true;
    load_result_note(&g->result, ended.call, g->now - ended.since_ns, code);
    if (g->plan->series)
        series_note_answer(&g->result.series, g->now - g->begin_ns, g->now - ended.since_ns,
                           code == NULL);
    return true;
}

/* Its answer says that it goes on; what the protocol asks next stands in g->out. */
static void note_stage(struct generator *g, const struct conn *c, uint32_t slot)
{
    uint64_t since_ns = slot < c->slot_count ? c->slots[slot].since_ns : 0;
    if (since_ns > 0 && counts(g, since_ns))
        hdr_add(&g->result.accepted, g->now - since_ns);
}

/* Bytes of a known message, whose request ends with the last one. */
static bool skip(struct generator *g, struct conn *c, size_t *left)
{
    size_t n = c->skip < *left ? c->skip : *left;
    c->skip -= n;
    *left -= n;
    if (c->skip > 0 || !c->ends)
        return true;
    c->ends = false;
    return end_request(g, c, c->ending, NULL);
}

/* Takes all messages of n bytes; *left: what is at the end of them and not a whole head.  False:
 * result.why. */
static bool take(struct generator *g, struct conn *c, const char *at, size_t n, size_t *left)
{
    const struct load_plan *plan = g->plan;
    struct answer a;
    a.out = &g->out;
    a.connection = c->index;
    *left = n;
    if (c->skip > 0 && !skip(g, c, left))
        return false;
    while (*left > 0) {
        const char *message = at + n - *left;
        enum answer_kind kind = plan->protocol->parse(plan->work, &c->scanner, message, *left, &a);
        if (kind == ANSWER_PARTIAL)
            return true;
        if (kind == ANSWER_WRONG)
            return wrong(g, message, *left);
        if (a.size > *left) {
            c->skip = a.size - *left;
            c->ends = kind == ANSWER_GOOD;
            c->ending = a.slot;
            *left = 0;
            return true;
        }
        *left -= a.size;
        if (kind == ANSWER_STAGE)
            note_stage(g, c, a.slot);
        else if (kind != ANSWER_NONE &&
                 !end_request(g, c, a.slot, kind == ANSWER_GOOD ? NULL : a.code))
            return false;
    }
    return true;
}

/* The common case, whole messages, never copies.  False: result.why. */
static bool take_bytes(struct generator *g, struct conn *c, size_t n)
{
    const char *in = (const char *)g->in;
    uint64_t before = load_result_answers(&g->result);
    size_t left;
    bool good;
    g->now = generator_clock_ns();
    if (counts(g, g->now))
        g->result.bytes_in += n;
    if (buffer_length(&c->part) == 0) {
        if (!take(g, c, in, n, &left))
            return false;
        good = left == 0 || buffer_append(&c->part, span_of(in + n - left, left));
    } else if ((good = buffer_append(&c->part, span_of(in, n)))) {
        struct span all = buffer_span(&c->part);
        if (!take(g, c, (const char *)all.at, all.len, &left))
            return false;
        buffer_drop(&c->part, all.len - left);
    }
    if (!good)
        snprintf(g->result.why, sizeof g->result.why, "out of memory");
    if (load_result_answers(&g->result) > before) {
        g->progress.answers += load_result_answers(&g->result) - before;
        g->answer_ns = g->now;
    }
    return good;
}

static void read_answers(struct generator *g, struct conn *c)
{
    for (;;) {
        size_t n = 0;
        enum stream_verdict v = c->stream.ops->read(&c->stream, g->in, READ_ROOM, &n);
        if (v == STREAM_WANT_READ || v == STREAM_WANT_WRITE)
            break;
        bool taken = v == STREAM_OK && take_bytes(g, c, n);
        if (!taken) {
            outgoing_clear(&g->out);
            drop(g, c, v == STREAM_OK ? g->result.why : conn_reason(c, v));
            return;
        }
        if (g->tls == NULL ? n < READ_ROOM : !tls_pending(&c->stream))
            break; /* nothing more is there: no need to hear so */
    }
    offer(g, c);
    flush(g, c);
    if (c->state == CONN_OPEN && c->retiring && c->in_flight == 0)
        replace(g, c);
}

/* ---- a round ---- */

static void handle(struct generator *g, const struct epoll_event *e)
{
    struct conn *c = e->data.ptr;
    if (c == NULL) {
        g->now = generator_clock_ns();
        if (g->running)
            stop_sending(g);
        else
            g->end = ERGON_END_CANCELLED;
        epoll_ctl(g->epoll, EPOLL_CTL_DEL, g->plan->stop_fd, NULL);
        return;
    }
    if (c->state != CONN_OPEN) {
        if (c->state != CONN_CLOSED)
            go_on(g, c);
        return;
    }
    if ((e->events & EPOLLOUT) != 0) {
        size_t done;
        enum stream_verdict v = conn_resume(c, &done);
        written(g, c, v, done);
    }
    if (c->state == CONN_OPEN && (e->events & ~(uint32_t)EPOLLOUT) != 0)
        read_answers(g, c);
}

static uint64_t next_ns(const struct generator *g)
{
    uint64_t next = g->now + ROUND_NS;
    if (!g->sending)
        return next;
    if (is_open_loop(g) && !g->waits_for_place)
        next = earlier(next, pace_next(&g->pace));
    if (g->plan->churn > 0 && pace_next(&g->churn) > g->now)
        next = earlier(next, pace_next(&g->churn));
    return earlier(next, g->end_ns);
}

/* The time of a closed loop may be that of the last answer, which saves a look at the clock. */
static struct timespec until(const struct generator *g, uint64_t until_ns)
{
    uint64_t now = g->now;
    if (is_open_loop(g)) {
        if (g->sending && g->plan->spins)
            return (struct timespec){0};
        now = generator_clock_ns();
    }
    uint64_t ns = until_ns > now ? until_ns - now : 0;
    return (struct timespec){.tv_nsec = (long)earlier(ns, ROUND_NS)};
}

static void one_round(struct generator *g)
{
    struct epoll_event events[EVENTS_A_ROUND];
    struct timespec timeout = until(g, next_ns(g));
    int n = epoll_pwait2(g->epoll, events, EVENTS_A_ROUND, &timeout, NULL);
    if (n < 0 && errno == ENOSYS) /* an old kernel: to the millisecond */
        n = epoll_wait(g->epoll, events, EVENTS_A_ROUND, (int)(timeout.tv_nsec / 1000000));
    for (int i = 0; i < n; i++)
        handle(g, &events[i]);
    if (n <= 0)
        g->now = generator_clock_ns();
    if (g->sending && is_open_loop(g))
        send_due(g);
    if (g->sending && g->plan->churn > 0)
        retire(g);
    look_at_timeouts(g);
    generator_tell_progress(g, false);
}

void generator_tell_progress(struct generator *g, bool now)
{
    if (g->progress_fd < 0 || (!now && g->now - g->progress_ns < PROGRESS_NS))
        return;
    g->progress_ns = g->now;
    while (write(g->progress_fd, &g->progress, sizeof g->progress) < 0 && errno == EINTR)
        ;
    g->progress = (struct generator_progress){0};
}

/* ---- life ---- */

/* Bytes that do not compress to nothing, the same in every run. */
static bool make_payload(struct generator *g)
{
    size_t size = g->plan->payload.most;
    struct bench_random random = {0};
    g->payload = malloc(size + 1);
    if (g->payload == NULL)
        return false;
    for (size_t i = 0; i < size; i++)
        g->payload[i] = (uint8_t)bench_random_next(&random);
    return true;
}

static bool set_up_memory(struct generator *g)
{
    uint32_t in_flight = g->plan->in_flight;
    g->epoll = epoll_create1(EPOLL_CLOEXEC);
    g->all = calloc(g->connections, sizeof *g->all);
    g->slots = calloc((size_t)g->connections * in_flight, sizeof *g->slots);
    g->ready = calloc(g->connections, sizeof *g->ready);
    g->dirty = calloc(g->connections, sizeof *g->dirty);
    g->in = malloc(READ_ROOM);
    bool memory = load_result_init(&g->result, g->plan->mix.count);
    g->result.series.wanted = g->plan->series;
    if (!memory || g->epoll < 0 || g->all == NULL || g->slots == NULL || g->ready == NULL ||
        g->dirty == NULL || g->in == NULL || !outgoing_init(&g->out) || !make_payload(g)) {
        snprintf(g->result.why, sizeof g->result.why, "out of memory or file descriptors");
        return false;
    }
    for (uint32_t i = 0; i < g->connections; i++)
        conn_init(&g->all[i], i, g->slots + (size_t)i * in_flight, in_flight);
    return true;
}

static enum ergon_end set_up_target(struct generator *g)
{
    const struct load_target *t = &g->plan->target;
    if (t->url->scheme == URL_TLS) {
        g->tls = tls_new(&t->tls, g->result.why, sizeof g->result.why);
        if (g->tls == NULL)
            return ERGON_END_INVALID;
        if (t->resume)
            tls_keep_session(g->tls);
    }
    g->target = (struct conn_target){
        .protocol = g->plan->protocol,
        .work = g->plan->work,
        .payload = span_of(g->payload, g->plan->payload.most),
        .dial = &g->dial,
        .tls = g->tls,
        .server_name = t->server_name,
        .out = &g->out,
    };
    return dial_start(&g->dial, t->url, g->result.why, sizeof g->result.why)
               ? ERGON_END_OK
               : ERGON_END_UNREACHABLE;
}

static void set_up(struct generator *g)
{
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    g->sizes = (struct bench_random){g->index};
    g->calls = (struct bench_random){~(uint64_t)g->index};
    g->begin_ns = UINT64_MAX;
    g->now = g->progress_ns = generator_clock_ns();
    g->end = set_up_memory(g) ? set_up_target(g) : ERGON_END_UNREACHABLE;
    g->request = (struct request){
        .work = g->plan->work, .number = g->now, .payload = span_of(g->payload, 0)};
    if (g->end == ERGON_END_OK && g->plan->stop_fd >= 0)
        epoll_ctl(g->epoll, EPOLL_CTL_ADD, g->plan->stop_fd,
                  &(struct epoll_event){.events = EPOLLIN});
}

void generator_open(struct generator *g)
{
    uint32_t next = 0;
    set_up(g);
    while (g->end == ERGON_END_OK && g->live < g->connections) {
        while (g->end == ERGON_END_OK && next < g->connections && g->opening < OPENING_AT_A_TIME)
            open_one(g, &g->all[next++]);
        one_round(g);
        if (g->end == ERGON_END_OK && g->result.broken > 0)
            g->end = ERGON_END_UNREACHABLE;
    }
}

void generator_start(struct generator *g, uint64_t start_ns)
{
    const struct load_plan *plan = g->plan;
    struct pace_part requests = {plan->pace, plan->rate, g->index, plan->threads, g->starts};
    struct pace_part churn = {PACE_FIXED, plan->churn, g->index, plan->threads, 0};
    g->starts++;
    g->begin_ns = start_ns + plan->warmup_ns;
    g->end_ns = UINT64_MAX;
    g->place_ns = 0;
    if (is_open_loop(g))
        pace_init(&g->pace, &requests, start_ns);
    if (plan->churn > 0)
        pace_init(&g->churn, &churn, start_ns);
    g->running = g->sending = true;
    for (uint32_t i = 0; i < g->connections; i++) {
        g->now = generator_clock_ns();
        if (g->all[i].state != CONN_OPEN)
            continue;
        offer(g, &g->all[i]);
        flush(g, &g->all[i]);
    }
}

void generator_run(struct generator *g, uint64_t end_ns)
{
    g->end_ns = end_ns;
    while (g->live + g->opening > 0 && g->sending && g->now < end_ns)
        one_round(g);
}

void generator_drain(struct generator *g)
{
    stop_sending(g);
    while (g->live + g->opening > 0 && g->in_flight > 0 && g->now <= g->sent_last_ns + DRAIN_NS)
        one_round(g);
    for (uint32_t i = 0; i < g->connections; i++)
        if (g->all[i].state == CONN_OPEN && g->all[i].in_flight > 0)
            g->result.lost += unanswered(g, &g->all[i]);
}

void generator_close(struct generator *g)
{
    for (uint32_t i = 0; g->all != NULL && i < g->connections; i++)
        conn_close(&g->all[i]);
    if (g->epoll >= 0)
        close(g->epoll);
    tls_free(g->tls);
    dial_fini(&g->dial);
    outgoing_fini(&g->out);
    free(g->payload);
    free(g->all);
    free(g->slots);
    free(g->ready);
    free(g->dirty);
    free(g->in);
}
