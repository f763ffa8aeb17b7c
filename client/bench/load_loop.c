/* One thread of a load run: its loop. */
#include "client/bench/load_inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENTS_A_ROUND = 256,
    OPENING_AT_A_TIME = 64, /* handshakes of one thread that are under way together */
    TIMER_SLACK_NS = 1
};

static const uint64_t ROUND_NS = 50 * 1000 * 1000;     /* the longest sleep */
static const uint64_t NEWS_NS = 50 * 1000 * 1000;      /* between two news */
static const uint64_t DRAIN_NS = UINT64_C(5000000000); /* answers are awaited after the end */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t load_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- a round ---- */

static void handle(struct load *l, const struct epoll_event *e)
{
    struct peer *p = e->data.ptr;
    if (p == NULL) {
        l->now = load_now_ns();
        if (l->running)
            load_stop_sending(l);
        else
            l->status = ERGON_END_CANCELLED;
        epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->plan->stop_fd, NULL);
        return;
    }
    if (p->state != PEER_OPEN) {
        if (p->state != PEER_CLOSED)
            load_open_on(l, p);
        return;
    }
    if ((e->events & EPOLLOUT) != 0)
        load_flush(l, p);
    if (p->state == PEER_OPEN)
        load_read(l, p);
}

static void wait_until(struct load *l, uint64_t until_ns)
{
    struct epoll_event events[EVENTS_A_ROUND];
    uint64_t now = load_now_ns();
    uint64_t ns = until_ns > now ? until_ns - now : 0;
    struct timespec timeout = {0, (long)(ns < ROUND_NS ? ns : ROUND_NS)};
    int n = epoll_pwait2(l->epoll, events, EVENTS_A_ROUND, &timeout, NULL);
    if (n < 0 && errno == ENOSYS) /* an old kernel: to the millisecond */
        n = epoll_wait(l->epoll, events, EVENTS_A_ROUND, (int)(timeout.tv_nsec / 1000000));
    for (int i = 0; i < n; i++)
        handle(l, &events[i]);
    l->now = load_now_ns();
}

static void tell(struct load *l, bool now)
{
    if (!now && l->now - l->told_ns < NEWS_NS)
        return;
    l->told_ns = l->now;
    while (write(l->news_fd, &l->news, sizeof l->news) < 0 && errno == EINTR)
        ;
    l->news = (struct load_news){0};
}

/* ---- opening ---- */

static void open_all(struct load *l)
{
    uint32_t next = 0;
    while (l->status == ERGON_END_OK && l->live < l->connections) {
        while (l->status == ERGON_END_OK && next < l->connections && l->opening < OPENING_AT_A_TIME)
            load_open_next(l, &l->peers[next++]);
        wait_until(l, l->now + ROUND_NS);
        load_look_at_timeouts(l);
        if (l->status == ERGON_END_OK && l->result.broken > 0)
            l->status = ERGON_END_UNREACHABLE;
        tell(l, false);
    }
}

/* ---- running ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_ns(const struct load *l)
{
    uint64_t next = l->now + ROUND_NS;
    if (!l->sending)
        return next;
    if (l->plan->rate > 0 && !l->starved)
        next = earlier(next, pace_next(&l->pace));
    if (l->plan->churn > 0 && pace_next(&l->churn) > l->now)
        next = earlier(next, pace_next(&l->churn));
    return earlier(next, l->end_ns);
}

static void send_first(struct load *l)
{
    for (uint32_t i = 0; i < l->connections; i++)
        if (l->peers[i].state == PEER_OPEN)
            load_offer(l, &l->peers[i]);
}

static void run(struct load *l)
{
    send_first(l);
    while (l->live + l->opening > 0 && (l->sending || l->in_flight > 0)) {
        wait_until(l, next_ns(l));
        if (l->plan->rate > 0)
            load_send_due(l);
        if (l->plan->churn > 0)
            load_churn(l);
        load_look_at_timeouts(l);
        tell(l, false);
        if (l->now >= l->end_ns)
            load_stop_sending(l);
        if (!l->sending && l->now > l->sent_last_ns + DRAIN_NS)
            break;
    }
    load_stop_sending(l);
}

static void start(struct load *l, uint64_t start_ns)
{
    const struct load_plan *plan = l->plan;
    struct pace_part requests = {plan->pace, plan->rate, l->index, plan->threads};
    struct pace_part churn = {PACE_FIXED, plan->churn, l->index, plan->threads};
    l->begin_ns = start_ns + plan->warmup_ns;
    l->end_ns = plan->duration_ns > 0 ? l->begin_ns + plan->duration_ns : UINT64_MAX;
    if (plan->rate > 0)
        pace_init(&l->pace, &requests, start_ns);
    if (plan->churn > 0)
        pace_init(&l->churn, &churn, start_ns);
    l->running = l->sending = true;
    l->now = start_ns;
}

static uint64_t since(uint64_t later, uint64_t earlier_ns)
{
    return later > earlier_ns ? later - earlier_ns : 0;
}

static void measure(struct load *l, uint64_t start_ns)
{
    uint64_t busy = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    start(l, start_ns);
    run(l);
    busy = clock_ns(CLOCK_THREAD_CPUTIME_ID) - busy;
    uint64_t last = l->answer_ns > l->sent_last_ns ? l->answer_ns : l->sent_last_ns;
    for (uint32_t i = 0; i < l->connections; i++)
        if (l->peers[i].state == PEER_OPEN && l->peers[i].in_flight > 0)
            l->result.lost += load_lost(l, &l->peers[i]);
    l->result.elapsed_ns = since(last, l->begin_ns);
    l->result.busy = (double)busy / (double)(since(l->now, start_ns) + 1);
}

/* ---- life ---- */

static bool set_up_memory(struct load *l)
{
    const struct load_plan *plan = l->plan;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->peers = calloc(l->connections, sizeof *l->peers);
    l->slots = calloc((size_t)l->connections * plan->in_flight, sizeof *l->slots);
    l->ready = calloc(l->connections, sizeof *l->ready);
    l->dirty = calloc(l->connections, sizeof *l->dirty);
    l->scratch = malloc(LOAD_SCRATCH);
    if (!histogram_init(&l->result.latency) || !histogram_init(&l->result.lag) ||
        !histogram_init(&l->result.opening) || l->epoll < 0 || l->peers == NULL ||
        l->slots == NULL || l->ready == NULL || l->dirty == NULL || l->scratch == NULL ||
        !load_make_request(l)) {
        snprintf(l->result.why, sizeof l->result.why, "out of memory or file descriptors");
        return false;
    }
    for (uint32_t i = 0; i < l->connections; i++) {
        l->peers[i].slots = l->slots + (size_t)i * plan->in_flight;
        l->peers[i].fd = -1;
        peer_free_slots(&l->peers[i], plan->in_flight);
    }
    return true;
}

static enum ergon_end set_up_target(struct load *l)
{
    const struct load_target *t = &l->plan->target;
    if (t->url->scheme == URL_TLS) {
        l->tls = tls_new(&t->tls, l->result.why, sizeof l->result.why);
        if (l->tls == NULL)
            return ERGON_END_INVALID;
        if (t->resume)
            tls_keep_session(l->tls);
    }
    l->target = (struct peer_target){&l->dial, l->tls, t->server_name, t->token};
    return dial_start(&l->dial, t->url, l->result.why, sizeof l->result.why)
               ? ERGON_END_OK
               : ERGON_END_UNREACHABLE;
}

static void set_up(struct load *l)
{
    const struct load_plan *plan = l->plan;
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    l->sizes = (struct bench_random){l->index};
    l->begin_ns = UINT64_MAX; /* nothing counts yet */
    l->now = l->told_ns = load_now_ns();
    l->status = set_up_memory(l) ? set_up_target(l) : ERGON_END_UNREACHABLE;
    if (l->status == ERGON_END_OK && plan->stop_fd >= 0)
        epoll_ctl(l->epoll, EPOLL_CTL_ADD, plan->stop_fd, &(struct epoll_event){.events = EPOLLIN});
}

static void take_down(struct load *l)
{
    for (uint32_t i = 0; l->peers != NULL && i < l->connections; i++)
        peer_close(&l->peers[i]);
    if (l->epoll >= 0)
        close(l->epoll);
    tls_free(l->tls);
    dial_fini(&l->dial);
    buffer_fini(&l->head);
    free(l->payload);
    free(l->peers);
    free(l->slots);
    free(l->ready);
    free(l->dirty);
    free(l->scratch);
}

void *load_thread(void *load)
{
    struct load *l = load;
    uint64_t start_ns = 0;
    set_up(l);
    open_all(l);
    l->news.opened = true;
    tell(l, true);
    while (read(l->go_fd, &start_ns, sizeof start_ns) < 0 && errno == EINTR)
        ;
    if (start_ns > 0)
        measure(l, start_ns);
    take_down(l);
    l->now = load_now_ns();
    l->news.ended = true;
    tell(l, true);
    return NULL;
}
