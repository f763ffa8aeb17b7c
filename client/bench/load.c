/* The threads of a load run, and the sum of what they measured. */
#include "client/bench/load_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROGRESS_MS = 200 };

/* Threads write their news into one pipe; when all are ready, each takes its start from the other.
 * They share nothing else. */
struct crew {
    const struct load_plan *plan;
    struct load *loads; /* owned; plan->threads of them */
    pthread_t *threads; /* owned */
    uint32_t started;   /* how many are there */
    int news[2];
    int go[2];
    uint32_t ready;
    uint32_t ended;
    uint32_t connected;
    uint64_t answers;
    uint64_t start_ns; /* 0: not yet */
};

/* The share of one thread: the first ones have one more. */
static uint64_t share(uint64_t all, uint32_t index, uint32_t threads)
{
    return all / threads + (index < all % threads);
}

static bool crew_init(struct crew *c, const struct load_plan *plan)
{
    *c = (struct crew){.plan = plan, .news = {-1, -1}, .go = {-1, -1}};
    c->loads = calloc(plan->threads, sizeof *c->loads);
    c->threads = calloc(plan->threads, sizeof *c->threads);
    return c->loads != NULL && c->threads != NULL && pipe2(c->news, O_CLOEXEC) == 0 &&
           pipe2(c->go, O_CLOEXEC) == 0;
}

static void crew_fini(struct crew *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->news[i] >= 0)
            close(c->news[i]);
        if (c->go[i] >= 0)
            close(c->go[i]);
    }
    for (uint32_t i = 0; c->loads != NULL && i < c->started; i++)
        load_result_fini(&c->loads[i].result);
    free(c->loads);
    free(c->threads);
}

static bool start_threads(struct crew *c)
{
    const struct load_plan *plan = c->plan;
    for (uint32_t i = 0; i < plan->threads; i++) {
        c->loads[i] = (struct load){
            .plan = plan,
            .index = i,
            .connections = (uint32_t)share(plan->connections, i, plan->threads),
            .requests = share(plan->requests, i, plan->threads),
            .news_fd = c->news[1],
            .go_fd = c->go[0],
            .epoll = -1,
        };
        if (pthread_create(&c->threads[i], NULL, load_thread, &c->loads[i]) != 0)
            return false;
        c->started++;
    }
    return true;
}

/* ---- news ---- */

static void show_progress(const struct crew *c)
{
    if (c->plan->progress == NULL || c->ready < c->started) {
        if (c->plan->progress != NULL && c->connected < c->plan->connections)
            c->plan->progress(c->plan->progress_arg, c->connected, 0, 0);
        return;
    }
    uint64_t now = load_now_ns();
    uint64_t begin = c->start_ns + c->plan->warmup_ns;
    c->plan->progress(c->plan->progress_arg, c->plan->connections, now > begin ? now - begin : 0,
                      c->answers);
}

static void take_news(struct crew *c)
{
    struct load_news news;
    if (read(c->news[0], &news, sizeof news) != (ssize_t)sizeof news)
        return;
    c->connected += news.connected;
    c->answers += news.answers;
    c->ready += news.opened;
    c->ended += news.ended;
}

/* Until *count is the number of all threads. */
static void watch(struct crew *c, const uint32_t *count)
{
    uint64_t shown_ns = load_now_ns();
    while (*count < c->started) {
        struct pollfd p = {.fd = c->news[0], .events = POLLIN};
        if (poll(&p, 1, PROGRESS_MS) > 0)
            take_news(c);
        if (load_now_ns() - shown_ns < PROGRESS_MS * UINT64_C(1000000))
            continue;
        shown_ns = load_now_ns();
        show_progress(c);
    }
}

/* ---- the sum ---- */

static void add_error(struct load_result *to, const struct load_errors *e)
{
    size_t i = 0;
    while (i < to->error_kinds && strcmp(to->errors[i].code, e->code) != 0)
        i++;
    if (i == LOAD_CODES_MAX)
        i--; /* a server with more codes than that has its rest in the last one */
    if (i == to->error_kinds)
        to->errors[to->error_kinds++] = (struct load_errors){0};
    if (to->errors[i].count == 0)
        memcpy(to->errors[i].code, e->code, sizeof e->code);
    to->errors[i].count += e->count;
}

static void add_result(struct load_result *to, const struct load_result *from)
{
    histogram_merge(&to->latency, &from->latency);
    histogram_merge(&to->lag, &from->lag);
    histogram_merge(&to->opening, &from->opening);
    to->due += from->due;
    to->held += from->held;
    to->sent += from->sent;
    to->good += from->good;
    to->lost += from->lost;
    to->churn_due += from->churn_due;
    to->churned += from->churned;
    to->resumed += from->resumed;
    to->broken += from->broken;
    to->bytes_in += from->bytes_in;
    to->bytes_out += from->bytes_out;
    if (from->elapsed_ns > to->elapsed_ns)
        to->elapsed_ns = from->elapsed_ns;
    if (from->busy > to->busy)
        to->busy = from->busy;
    for (size_t i = 0; i < from->error_kinds; i++)
        add_error(to, &from->errors[i]);
    if (from->why[0] != 0)
        memcpy(to->why, from->why, sizeof to->why);
}

static bool result_init(struct load_result *r)
{
    *r = (struct load_result){0};
    return histogram_init(&r->latency) && histogram_init(&r->lag) && histogram_init(&r->opening);
}

void load_result_fini(struct load_result *result)
{
    histogram_fini(&result->latency);
    histogram_fini(&result->lag);
    histogram_fini(&result->opening);
}

/* ---- the run ---- */

/* What kept the first thread from being ready that was kept from it. */
static enum ergon_end opening_status(const struct crew *c, struct load_result *result)
{
    for (uint32_t i = 0; i < c->started; i++)
        if (c->loads[i].status != ERGON_END_OK) {
            memcpy(result->why, c->loads[i].result.why, sizeof result->why);
            return c->loads[i].status;
        }
    return ERGON_END_OK;
}

static void give_start(struct crew *c, uint64_t start_ns)
{
    c->start_ns = start_ns;
    for (uint32_t i = 0; i < c->started; i++)
        while (write(c->go[1], &start_ns, sizeof start_ns) < 0 && errno == EINTR)
            ;
}

static enum ergon_end run_crew(struct crew *c, struct load_result *result)
{
    enum ergon_end status = ERGON_END_UNREACHABLE;
    bool complete = start_threads(c);
    watch(c, &c->ready);
    if (complete)
        status = opening_status(c, result);
    else
        snprintf(result->why, sizeof result->why, "%u threads are too many here", c->plan->threads);
    give_start(c, status == ERGON_END_OK ? load_now_ns() : 0);
    watch(c, &c->ended);
    for (uint32_t i = 0; i < c->started; i++)
        pthread_join(c->threads[i], NULL);
    for (uint32_t i = 0; status == ERGON_END_OK && i < c->started; i++)
        add_result(result, &c->loads[i].result);
    return status;
}

enum ergon_end load_run(const struct load_plan *plan, struct load_result *result)
{
    struct crew crew;
    enum ergon_end status = ERGON_END_UNREACHABLE;
    bool good = result_init(result);
    if (crew_init(&crew, plan) && good)
        status = run_crew(&crew, result);
    else
        snprintf(result->why, sizeof result->why, "out of memory or file descriptors");
    crew_fini(&crew);
    return status;
}
