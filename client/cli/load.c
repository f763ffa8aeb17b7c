#include "client/cli/load_inside.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENTS_A_ROUND = 256,
    ROUND_MS = 50,                  /* the longest sleep, so that limits are looked at */
    PROGRESS_NS = 200 * 1000 * 1000 /* between two calls of progress() */
};

static const uint64_t DRAIN_NS = UINT64_C(5000000000); /* answers are awaited after the end */

uint64_t load_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void handle(struct load *l, const struct epoll_event *e)
{
    struct peer *p = e->data.ptr;
    l->freed_count = 0;
    if (p == NULL) {
        l->sending = false;
        epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->plan->stop_fd, NULL);
        return;
    }
    if (p->stream.ops != NULL && (e->events & EPOLLOUT) != 0)
        load_write_peer(l, p);
    if (p->stream.ops != NULL)
        load_read_peer(l, p);
}

static void check_limits(struct load *l, uint64_t now)
{
    const struct load_plan *plan = l->plan;
    if (plan->duration_ns > 0 && now - l->start_ns >= plan->duration_ns)
        l->sending = false;
    if (plan->progress != NULL && now - l->progress_ns >= PROGRESS_NS) {
        l->progress_ns = now;
        plan->progress(plan->progress_arg, plan->connections, now - l->start_ns,
                       l->result->latency.count);
    }
}

static void drive(struct load *l)
{
    struct epoll_event events[EVENTS_A_ROUND];
    uint64_t now = l->start_ns;
    uint64_t sent_last = now; /* when sending was last allowed */
    while (l->live > 0 && (l->sending || l->in_flight > 0)) {
        int n = epoll_wait(l->epoll, events, EVENTS_A_ROUND, ROUND_MS);
        for (int i = 0; i < n; i++)
            handle(l, &events[i]);
        now = load_now_ns();
        check_limits(l, now);
        if (l->sending)
            sent_last = now;
        else if (now - sent_last > DRAIN_NS)
            break;
    }
    l->result->lost += l->in_flight;
    l->result->elapsed_ns = now - l->start_ns;
}

static void fill_all(struct load *l)
{
    for (uint32_t i = 0; i < l->plan->connections; i++) {
        for (uint32_t slot = 0; slot < l->plan->in_flight; slot++)
            l->freed[l->freed_count++] = slot;
        load_send_freed(l, &l->peers[i]);
    }
}

static bool told_to_stop(int stop_fd)
{
    struct pollfd p = {.fd = stop_fd, .events = POLLIN};
    return stop_fd >= 0 && poll(&p, 1, 0) > 0;
}

static enum status open_all(struct load *l)
{
    const struct load_plan *plan = l->plan;
    struct load_result *r = l->result;
    for (uint32_t i = 0; i < plan->connections; i++) {
        struct peer *p = &l->peers[i];
        p->sent_ns = l->slots + (size_t)i * plan->in_flight;
        if (told_to_stop(plan->stop_fd))
            return STATUS_INTERRUPTED;
        enum status status = peer_open(p, &plan->target, r->why, sizeof r->why);
        if (status != STATUS_OK)
            return status;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
        if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, p->stream.fd, &e) != 0) {
            snprintf(r->why, sizeof r->why, "epoll refused connection %u", i + 1);
            return STATUS_CONNECT;
        }
        l->live++;
        if (plan->progress != NULL && i % 64 == 63)
            plan->progress(plan->progress_arg, i + 1, 0, 0);
    }
    return STATUS_OK;
}

static bool set_up(struct load *l)
{
    const struct load_plan *plan = l->plan;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->peers = calloc(plan->connections, sizeof *l->peers);
    l->slots = calloc((size_t)plan->connections * plan->in_flight, sizeof *l->slots);
    l->freed = calloc(plan->in_flight, sizeof *l->freed);
    l->scratch = malloc(LOAD_SCRATCH);
    return histogram_init(&l->result->latency) && l->epoll >= 0 && l->peers != NULL &&
           l->slots != NULL && l->freed != NULL && l->scratch != NULL && load_make_frame(l);
}

static void take_down(struct load *l)
{
    for (uint32_t i = 0; l->peers != NULL && i < l->plan->connections; i++)
        peer_close(&l->peers[i]);
    if (l->epoll >= 0)
        close(l->epoll);
    buffer_fini(&l->frame);
    buffer_fini(&l->batch);
    free(l->peers);
    free(l->slots);
    free(l->freed);
    free(l->scratch);
}

enum status load_run(const struct load_plan *plan, struct load_result *result)
{
    struct load l = {.plan = plan, .result = result, .epoll = -1, .sending = true};
    enum status status = STATUS_CONNECT;
    *result = (struct load_result){0};
    if (!set_up(&l)) {
        snprintf(result->why, sizeof result->why, "out of memory or file descriptors");
        goto done;
    }
    status = open_all(&l);
    if (status != STATUS_OK)
        goto done;
    if (plan->stop_fd >= 0)
        epoll_ctl(l.epoll, EPOLL_CTL_ADD, plan->stop_fd, &(struct epoll_event){.events = EPOLLIN});
    l.start_ns = l.progress_ns = load_now_ns();
    fill_all(&l);
    drive(&l);
done:
    take_down(&l);
    return status;
}

void load_result_fini(struct load_result *result)
{
    histogram_fini(&result->latency);
}
