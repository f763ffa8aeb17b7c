/* The threads of a load run, and the sum of what they measured. */
#include "client/bench/load.h"

#include "base/clock.h"
#include "client/bench/generator.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROGRESS_MS = 200 };

/* Threads write their progress into one pipe; when all are ready, each takes its start from the
 * other. They share nothing else. */
struct threads {
    const struct load_plan *plan;
    struct thread {
        struct generator generator;
        pthread_t thread;
        int go;       /* gives one uint64_t: when to start, or 0 for never */
    } * all;          /* owned; plan->threads of them */
    uint32_t started; /* how many are there */
    int progress[2];
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

static bool threads_init(struct threads *t, const struct load_plan *plan)
{
    *t = (struct threads){.plan = plan, .progress = {-1, -1}, .go = {-1, -1}};
    t->all = calloc(plan->threads, sizeof *t->all);
    return t->all != NULL && pipe2(t->progress, O_CLOEXEC) == 0 && pipe2(t->go, O_CLOEXEC) == 0;
}

static void threads_fini(struct threads *t)
{
    for (int i = 0; i < 2; i++) {
        if (t->progress[i] >= 0)
            close(t->progress[i]);
        if (t->go[i] >= 0)
            close(t->go[i]);
    }
    for (uint32_t i = 0; i < t->started; i++)
        load_result_fini(&t->all[i].generator.result);
    free(t->all);
}

static uint64_t since(uint64_t later, uint64_t earlier)
{
    return later > earlier ? later - earlier : 0;
}

static void measure(struct generator *g, uint64_t start_ns)
{
    const struct load_plan *plan = g->plan;
    uint64_t busy = clock_thread();
    generator_start(g, start_ns);
    generator_run(g, plan->duration_ns > 0 ? g->begin_ns + plan->duration_ns : UINT64_MAX);
    generator_drain(g);
    busy = clock_thread() - busy;
    uint64_t last = g->answer_ns > g->sent_last_ns ? g->answer_ns : g->sent_last_ns;
    g->result.elapsed_ns = since(last, g->begin_ns);
    g->result.busy = (double)busy / (double)(since(generator_clock_ns(), start_ns) + 1);
}

/* The life of a thread. */
static void *live(void *thread)
{
    struct thread *t = thread;
    struct generator *g = &t->generator;
    uint64_t start_ns = 0;
    generator_open(g);
    g->progress.opened = true;
    generator_tell_progress(g, true);
    while (read(t->go, &start_ns, sizeof start_ns) < 0 && errno == EINTR)
        ;
    if (start_ns > 0)
        measure(g, start_ns);
    generator_close(g);
    g->progress.ended = true;
    generator_tell_progress(g, true);
    return NULL;
}

static bool start_threads(struct threads *t)
{
    const struct load_plan *plan = t->plan;
    for (uint32_t i = 0; i < plan->threads; i++) {
        t->all[i].go = t->go[0];
        t->all[i].generator = (struct generator){
            .plan = plan,
            .index = i,
            .connections = (uint32_t)share(plan->connections, i, plan->threads),
            .requests = share(plan->requests, i, plan->threads),
            .progress_fd = t->progress[1],
        };
        if (pthread_create(&t->all[i].thread, NULL, live, &t->all[i]) != 0)
            return false;
        t->started++;
    }
    return true;
}

/* ---- progress ---- */

static void show_progress(const struct threads *t)
{
    if (t->plan->progress == NULL || t->ready < t->started) {
        if (t->plan->progress != NULL && t->connected < t->plan->connections)
            t->plan->progress(t->plan->progress_arg, t->connected, 0, 0);
        return;
    }
    uint64_t now = generator_clock_ns();
    uint64_t begin = t->start_ns + t->plan->warmup_ns;
    t->plan->progress(t->plan->progress_arg, t->plan->connections, now > begin ? now - begin : 0,
                      t->answers);
}

static void take_progress(struct threads *t)
{
    struct generator_progress made;
    if (read(t->progress[0], &made, sizeof made) != (ssize_t)sizeof made)
        return;
    t->connected += made.connected;
    t->answers += made.answers;
    t->ready += made.opened;
    t->ended += made.ended;
}

/* Until *count is the number of all threads. */
static void watch(struct threads *t, const uint32_t *count)
{
    uint64_t shown_ns = generator_clock_ns();
    while (*count < t->started) {
        struct pollfd p = {.fd = t->progress[0], .events = POLLIN};
        if (poll(&p, 1, PROGRESS_MS) > 0)
            take_progress(t);
        if (generator_clock_ns() - shown_ns < PROGRESS_MS * UINT64_C(1000000))
            continue;
        shown_ns = generator_clock_ns();
        show_progress(t);
    }
}

/* ---- the run ---- */

/* What kept the first thread from being ready that was kept from it. */
static enum ergon_end opening_end(const struct threads *t, struct load_result *result)
{
    for (uint32_t i = 0; i < t->started; i++)
        if (t->all[i].generator.end != ERGON_END_OK) {
            memcpy(result->why, t->all[i].generator.result.why, sizeof result->why);
            return t->all[i].generator.end;
        }
    return ERGON_END_OK;
}

static void give_start(struct threads *t, uint64_t start_ns)
{
    t->start_ns = start_ns;
    for (uint32_t i = 0; i < t->started; i++)
        while (write(t->go[1], &start_ns, sizeof start_ns) < 0 && errno == EINTR)
            ;
}

static enum ergon_end run_all(struct threads *t, struct load_result *result)
{
    enum ergon_end end = ERGON_END_UNREACHABLE;
    bool complete = start_threads(t);
    watch(t, &t->ready);
    if (complete)
        end = opening_end(t, result);
    else
        snprintf(result->why, sizeof result->why, "%u threads are too many here", t->plan->threads);
    give_start(t, end == ERGON_END_OK ? generator_clock_ns() : 0);
    watch(t, &t->ended);
    for (uint32_t i = 0; i < t->started; i++)
        pthread_join(t->all[i].thread, NULL);
    for (uint32_t i = 0; end == ERGON_END_OK && i < t->started; i++)
        load_result_add(result, &t->all[i].generator.result);
    return end;
}

enum ergon_end load_run(const struct load_plan *plan, struct load_result *result)
{
    struct threads all;
    enum ergon_end end = ERGON_END_UNREACHABLE;
    bool good = load_result_init(result, plan->mix.count);
    if (threads_init(&all, plan) && good)
        end = run_all(&all, result);
    else
        snprintf(result->why, sizeof result->why, "out of memory or file descriptors");
    threads_fini(&all);
    return end;
}
