#include "server/rpc/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/encoder.h"
#include "server/access/rights.h"
#include "server/net/auth/principal.h"
#include "server/rpc/method.h"

/* X(name, whether it is a counter, which is shown as its growth a second).  The page's charts have
 * these names: server/admin/page/samples.js. */
#define FIGURES(X)                                                                                 \
    X(done, true)                                                                                  \
    X(failed, true)                                                                                \
    X(refused, true)                                                                               \
    X(submitted, true)                                                                             \
    X(kept_done, true)                                                                             \
    X(kept_failed, true)                                                                           \
    X(retries, true)                                                                               \
    X(queued, false)                                                                               \
    X(waiting, false)                                                                              \
    X(all_waiting, false)                                                                          \
    X(running, false)                                                                              \
    X(calls_queued, false)                                                                         \
    X(connections, false)                                                                          \
    X(messages, true)                                                                              \
    X(bytes_in, true)                                                                              \
    X(bytes_out, true)                                                                             \
    X(memory, false)                                                                               \
    X(kept_bytes, false)                                                                           \
    X(commits, true)                                                                               \
    X(commit_ms, false)                                                                            \
    X(workers_out, false)                                                                          \
    X(oldest_s, false)

enum figure_id {
#define X(name, counts) FIGURE_##name,
    FIGURES(X)
#undef X
        FIGURE_COUNT
};

/* Of a queue; the first are counters. */
enum { QUEUE_SUBMITTED, QUEUE_DONE, QUEUE_FAILED, QUEUE_QUEUED, QUEUE_WAITING, QUEUE_RUNNING };
static const char *const queue_names[] = {"submitted", "done",    "failed",
                                          "queued",    "waiting", "running"};
enum {
    ROWS = FIGURES_KEPT + 40,
    QUEUE_SERIES = sizeof queue_names / sizeof queue_names[0],
    QUEUE_COUNTERS = QUEUE_QUEUED,
    PLACES = FIGURES_QUEUES + FIGURES_HANDLERS + FIGURES_EXECUTORS,
    SERIES = FIGURE_COUNT + FIGURES_QUEUES * QUEUE_SERIES + FIGURES_HANDLERS + FIGURES_EXECUTORS,
    RESTS = 2 /* samples between two uses of a place, so that no reader mixes them */
};

static const ao_time period = AO_S(1);

/* The bits of floats; 0: no value, so that zeroed memory has none (0.0 is stored as -0.0). */
struct series {
    _Atomic uint32_t at[ROWS];
};

/* The series of a queue, a handler or an executor.  All but `name` is the main thread's. */
struct place {
    _Atomic(const char *) name; /* lasts as long as the server; NULL: there is nothing to show */
    const void *of;             /* what has it; NULL: it is free */
    struct series *series;
    uint64_t freed; /* the sample at which it became free; 0: it was never used */
    uint32_t idle;  /* samples without work up to now */
    bool known;     /* the counters before are those of the last sample */
    double before[QUEUE_COUNTERS];
    char label[sizeof((struct executor_info *)NULL)->name];
};

struct figures {
    const struct rpc_shared *shared;
    ao_time next, last; /* when a sample is due; when the last was taken */
    double seconds;     /* between the last and this; 0: this is the first */
    uint32_t row;       /* of this */
    double before[FIGURE_COUNT];
    _Atomic uint64_t count; /* samples that are complete */
    _Atomic uint64_t at;    /* of the last: Unix ms */
    struct place queues[FIGURES_QUEUES], handlers[FIGURES_HANDLERS], executors[FIGURES_EXECUTORS];
    struct series series[SERIES]; /* those of FIGURES first */
};
_Static_assert(sizeof(struct figures) < 2u << 20, "less than 2 MiB");

/* --- Series --- */

static void put(struct series *s, uint32_t row, double value)
{
    float f = isfinite(value) ? (float)value : 0;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    if (!isfinite(value))
        bits = 0;
    else if (bits == 0)
        bits = UINT32_C(1) << 31;
    atomic_store_explicit(&s->at[row], bits, memory_order_relaxed);
}

/* How fast a counter grew; NAN where it went down, or is not known from before. */
static double speed(double now, double before, double seconds)
{
    return now >= before && seconds > 0 ? (now - before) / seconds : NAN;
}

/* --- Places --- */

static uint64_t taken(const struct figures *f)
{
    return atomic_load_explicit(&f->count, memory_order_relaxed);
}

static void clear_place(struct place *p, uint32_t series)
{
    for (uint32_t i = 0; i < series; i++)
        for (uint32_t row = 0; row < ROWS; row++)
            put(&p->series[i], row, NAN);
}

static void free_place(struct figures *f, struct place *p)
{
    atomic_store_explicit(&p->name, NULL, memory_order_relaxed);
    p->of = NULL;
    p->freed = taken(f) + 1;
}

static bool is_free(const struct figures *f, const struct place *p)
{
    return !p->of && (p->freed == 0 || p->freed + RESTS <= taken(f));
}

struct places {
    struct place *at;
    uint32_t count, series;
};

/* NULL: all are in use.  If `works`, one that has been idle for all samples is free soon; and only
 * then a place that was used before is taken, so that idle ones do not take turns. */
static struct place *claim(struct figures *f, const struct places *places, const void *of,
                           bool works)
{
    struct place *idle = NULL;

    for (struct place *p = places->at; p < places->at + places->count; p++) {
        if (is_free(f, p) && (works || p->freed == 0)) {
            if (p->freed > 0)
                clear_place(p, places->series);
            p->known = p->freed == 0; /* it had no work before: its counters were 0 */
            memset(p->before, 0, sizeof p->before);
            p->of = of;
            p->idle = 0;
            return p;
        }
        if (!p->of)
            return NULL;
        if (p->idle >= FIGURES_KEPT)
            idle = p;
    }
    if (idle && works)
        free_place(f, idle);
    return NULL;
}

static struct place *place_of(const struct places *places, const void *of)
{
    for (struct place *p = places->at; p < places->at + places->count && (p->of || p->freed > 0);
         p++)
        if (p->of == of)
            return p;
    return NULL;
}

static void show(struct place *p, const char *name)
{
    atomic_store_explicit(&p->name, name, memory_order_release);
}

/* --- What a sample has --- */

static uint64_t open_in(const struct jobs_queue_info *q)
{
    uint64_t open = 0;
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        open += job_state_open((enum job_state)i) ? q->by_state[i] : 0;
    return open;
}

/* What executors have.  An attempt that has begun counts as assigned until somebody asks for its
 * task or its queue. */
static double with_executors(const uint64_t *by_state)
{
    return (double)(by_state[JOB_ASSIGNED] + by_state[JOB_RUNNING] + by_state[JOB_PARKED]);
}

static void take_queue(struct figures *f, const struct job_queue *of,
                       const struct jobs_queue_info *q)
{
    const double counters[QUEUE_COUNTERS] = {(double)q->submitted, (double)q->done,
                                             (double)q->failed};
    const struct places places = {f->queues, FIGURES_QUEUES, QUEUE_SERIES};
    bool works = open_in(q) > 0;
    struct place *p = place_of(&places, of);

    if (!p && (works || q->submitted > 0))
        p = claim(f, &places, of, works);
    if (!p)
        return;
    for (unsigned i = 0; i < QUEUE_COUNTERS; i++) {
        put(&p->series[i], f->row, p->known ? speed(counters[i], p->before[i], f->seconds) : NAN);
        works |= counters[i] > p->before[i];
        p->before[i] = counters[i];
    }
    put(&p->series[QUEUE_QUEUED], f->row, (double)q->by_state[JOB_QUEUED]);
    put(&p->series[QUEUE_WAITING], f->row,
        (double)(q->by_state[JOB_WAITING] + q->by_state[JOB_DELAYED]));
    put(&p->series[QUEUE_RUNNING], f->row, with_executors(q->by_state));
    p->idle = works ? 0 : p->idle + 1;
    p->known = true;
    show(p, q->method);
}

static void take_queues(struct figures *f, double *values, uint64_t wall)
{
    const struct job_queue *q = NULL;
    struct jobs_queue_info info;

    values[FIGURE_kept_done] = values[FIGURE_kept_failed] = values[FIGURE_oldest_s] = 0;
    while ((q = jobs_queue_info(f->shared->jobs, q, &info))) {
        values[FIGURE_kept_done] += (double)info.done;
        values[FIGURE_kept_failed] += (double)info.failed;
        double age = info.oldest < wall ? (double)(wall - info.oldest) / 1e9 : 0;
        if (info.by_state[JOB_QUEUED] > 0 && info.oldest > 0 && age > values[FIGURE_oldest_s])
            values[FIGURE_oldest_s] = age;
        take_queue(f, q, &info);
    }
}

/* The mean time in the handler of a step. */
static void take_handler(struct figures *f, const struct method_info *m)
{
    double steps = (double)m->steps, busy = (double)m->busy_ns / 1e6;
    const struct places places = {f->handlers, FIGURES_HANDLERS, 1};
    bool has_some = m->running > 0 || m->parked > 0;
    struct place *p = place_of(&places, m->name);

    if (!p && (has_some || steps > 0))
        p = claim(f, &places, m->name, has_some);
    if (!p)
        return;
    bool works = steps > p->before[0];
    double grown = busy > p->before[1] ? busy - p->before[1] : 0;
    put(p->series, f->row,
        p->known && works && f->seconds > 0 ? grown / (steps - p->before[0]) : NAN);
    p->before[0] = steps;
    p->before[1] = busy;
    p->idle = works || has_some ? 0 : p->idle + 1;
    p->known = true;
    show(p, m->name);
}

static void take_handlers(struct figures *f, double *values)
{
    uint32_t methods = registry_count(f->shared->registry);
    struct method_info m;

    values[FIGURE_workers_out] = 0;
    for (uint32_t i = 0; i < methods; i++) {
        tasks_method_info(f->shared->tasks, i, &m);
        if (m.at_workers)
            values[FIGURE_workers_out] += (double)m.running;
        take_handler(f, &m);
    }
}

/* Percent of the time in which it was busy. */
static void take_executor(struct figures *f, struct place *p, const struct executor_info *e)
{
    double busy = (double)e->busy_ns / 1e7, share = speed(busy, p->before[0], f->seconds);

    put(p->series, f->row, p->known && share > 100 ? 100 : p->known ? share : NAN);
    if (!p->of)
        memcpy(p->label, e->name, sizeof p->label);
    p->of = p->label;
    p->before[0] = busy;
    p->known = true;
    show(p, p->label);
}

static void take_executors(struct figures *f, const struct tasks_info *t)
{
    for (uint32_t i = 0; i < t->executors && i < FIGURES_EXECUTORS; i++) {
        struct executor_info e;
        tasks_executor_info(f->shared->tasks, i, &e);
        take_executor(f, &f->executors[i], &e);
    }
}

static void take_connections(const struct rpc_shared *s, double *values)
{
    struct net_loop_stats n = {0};

    for (uint32_t i = 0; i < s->loop_count; i++)
        net_loop_add_stats(s->net_loops[i], &n);
    values[FIGURE_connections] = (double)n.connections;
    values[FIGURE_messages] = (double)n.messages;
    values[FIGURE_bytes_in] = (double)n.bytes_in;
    values[FIGURE_bytes_out] = (double)n.bytes_out;
}

static void take_jobs(const struct rpc_shared *s, double *values)
{
    struct jobs_info l;

    jobs_info(s->jobs, &l);
    values[FIGURE_submitted] = (double)l.submitted;
    values[FIGURE_retries] = (double)l.retries;
    values[FIGURE_queued] = (double)l.by_state[JOB_QUEUED];
    values[FIGURE_waiting] = (double)(l.by_state[JOB_WAITING] + l.by_state[JOB_DELAYED]);
    values[FIGURE_all_waiting] = values[FIGURE_queued] + values[FIGURE_waiting];
    values[FIGURE_running] = with_executors(l.by_state);
    values[FIGURE_kept_bytes] = (double)l.bytes;
    values[FIGURE_commits] = l.has_store ? (double)l.commits : NAN;
    values[FIGURE_commit_ms] = l.has_store ? (double)l.commit_ns / 1e6 : NAN;
}

static void take_values(struct figures *f, uint64_t wall)
{
    static const bool counts[] = {
#define X(name, counts) counts,
        FIGURES(X)
#undef X
    };
    double values[FIGURE_COUNT];
    struct tasks_info t;
    struct accounts_figures a = accounts_figures(f->shared->accounts);

    tasks_info(f->shared->tasks, &t);
    values[FIGURE_done] = (double)t.done;
    values[FIGURE_failed] = (double)t.failed;
    values[FIGURE_refused] = (double)(t.busy_refused + a.refused);
    values[FIGURE_calls_queued] = t.queued;
    values[FIGURE_memory] = (double)a.bytes;
    take_connections(f->shared, values);
    take_jobs(f->shared, values);
    take_queues(f, values, wall);
    take_handlers(f, values);
    take_executors(f, &t);
    for (unsigned i = 0; i < FIGURE_COUNT; i++) {
        put(&f->series[i], f->row,
            counts[i] ? speed(values[i], f->before[i], f->seconds) : values[i]);
        f->before[i] = values[i];
    }
}

/* --- Samples --- */

static void publish(struct figures *f, uint64_t wall)
{
    atomic_store_explicit(&f->at, wall / AO_MS(1), memory_order_relaxed);
    atomic_store_explicit(&f->count, taken(f) + 1, memory_order_release);
    f->row = (f->row + 1) % ROWS;
}

static void miss_in(struct figures *f, struct place *places, uint32_t count, uint32_t series)
{
    for (struct place *p = places; p < places + count; p++)
        for (uint32_t i = 0; p->of && i < series; i++)
            put(&p->series[i], f->row, NAN);
}

static void miss(struct figures *f, uint64_t wall)
{
    for (unsigned i = 0; i < FIGURE_COUNT; i++)
        put(&f->series[i], f->row, NAN);
    miss_in(f, f->queues, FIGURES_QUEUES, QUEUE_SERIES);
    miss_in(f, f->handlers, FIGURES_HANDLERS, 1);
    miss_in(f, f->executors, FIGURES_EXECUTORS, 1);
    publish(f, wall);
}

static void take(struct figures *f, ao_time now, uint64_t wall)
{
    f->seconds = f->last > 0 ? (double)(now - f->last) / 1e9 : 0;
    take_values(f, wall);
    f->last = now;
    publish(f, wall);
}

ao_time figures_look(struct figures *f, ao_time now, uint64_t wall)
{
    if (now < f->next)
        return f->next - now;
    ao_time missed = f->last > 0 ? (now - f->next) / period : 0;
    for (ao_time i = missed < ROWS ? missed : ROWS; i > 0; i--)
        miss(f, wall);
    take(f, now, wall);
    f->next = f->next > 0 ? f->next + (missed + 1) * period : now + period;
    return f->next > now ? f->next - now : 0;
}

static struct series *give(struct place *places, uint32_t count, uint32_t series, struct series *at)
{
    for (uint32_t i = 0; i < count; i++, at += series)
        places[i].series = at;
    return at;
}

struct figures *figures_new(const struct rpc_shared *shared)
{
    struct figures *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->shared = shared;
    struct series *at = give(f->queues, FIGURES_QUEUES, QUEUE_SERIES, f->series + FIGURE_COUNT);
    at = give(f->handlers, FIGURES_HANDLERS, 1, at);
    give(f->executors, FIGURES_EXECUTORS, 1, at);
    return f;
}

void figures_free(struct figures *f)
{
    free(f);
}

/* --- server.figures --- */

/* The samples that an answer has. */
struct window {
    uint32_t row, count; /* of the first; how many */
};

static void pack_series(struct pack *p, const struct series *s, const struct window *w)
{
    uint8_t bytes[ENC_HEAD_MAX + FIGURES_KEPT * ENC_INT_MAX], *at = enc_array(bytes, w->count);

    for (uint32_t i = 0, row = w->row; i < w->count; i++, row = row + 1 < ROWS ? row + 1 : 0) {
        uint32_t bits = atomic_load_explicit(&s->at[row], memory_order_relaxed);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (bits == 0)
            at = enc_nil(at);
        else if (value >= 0 && value < 1e15f && value == (float)(uint64_t)value)
            at = enc_uint(at, (uint64_t)value);
        else
            at = enc_float(at, value);
    }
    pack_raw(p, span_of(bytes, (size_t)(at - bytes)));
}

static void pack_values(struct pack *p, const struct figures *f, const struct window *w)
{
    static const char *const names[] = {
#define X(name, counts) #name,
        FIGURES(X)
#undef X
    };

    pack_str(p, "values");
    pack_map(p, FIGURE_COUNT);
    for (unsigned i = 0; i < FIGURE_COUNT; i++) {
        pack_str(p, names[i]);
        pack_series(p, &f->series[i], w);
    }
}

/* A queue that the principal may not see is not there for it. */
static bool may_see(const struct rpc_request *rq, const char *queue)
{
    const struct principal *who = conn_principal(rq->conn);

    return !who ||
           rights_cover_queue(principal_rights(who), span_text("server.figures"), span_text(queue));
}

static void pack_queues(struct pack *p, const struct rpc_request *rq, const struct window *w)
{
    const struct figures *f = rq->loop->shared->figures;
    const char *names[FIGURES_QUEUES];
    uint32_t shown = 0;

    for (uint32_t i = 0; i < FIGURES_QUEUES; i++) {
        names[i] = atomic_load_explicit(&f->queues[i].name, memory_order_acquire);
        if (names[i] && !may_see(rq, names[i]))
            names[i] = NULL;
        shown += names[i] != NULL;
    }
    pack_str(p, "queues");
    pack_map(p, shown);
    for (uint32_t i = 0; i < FIGURES_QUEUES; i++) {
        if (!names[i])
            continue;
        pack_str(p, names[i]);
        pack_map(p, QUEUE_SERIES);
        for (unsigned k = 0; k < QUEUE_SERIES; k++) {
            pack_str(p, queue_names[k]);
            pack_series(p, &f->queues[i].series[k], w);
        }
    }
}

static void pack_places(struct pack *p, const char *key, const struct place *places, uint32_t count,
                        const struct window *w)
{
    const char *names[FIGURES_HANDLERS > FIGURES_EXECUTORS ? FIGURES_HANDLERS : FIGURES_EXECUTORS];
    uint32_t shown = 0;

    for (uint32_t i = 0; i < count; i++) {
        names[i] = atomic_load_explicit(&places[i].name, memory_order_acquire);
        shown += names[i] != NULL;
    }
    pack_str(p, key);
    pack_map(p, shown);
    for (uint32_t i = 0; i < count; i++)
        if (names[i]) {
            pack_str(p, names[i]);
            pack_series(p, places[i].series, w);
        }
}

static bool read_seconds(struct reader *r, void *out)
{
    uint64_t n;

    if (!read_uint(r, &n) || n == 0 || n > FIGURES_KEPT)
        return false;
    *(uint32_t *)out = (uint32_t)n;
    return true;
}

/* [{seconds}].  False: answered. */
static bool read_options(struct rpc_request *rq, uint32_t *seconds)
{
    const struct option options[] = {{"seconds", read_seconds, seconds, "a number from 1 to 600"}};
    struct reader r;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count <= 1)
        return count == 0 || rpc_read_options(rq, &r, options, 1);
    rpc_refuse_params(rq, "");
    return false;
}

/* server.figures [{seconds}] */
void serve_server_figures(struct rpc_request *rq)
{
    const struct figures *f = rq->loop->shared->figures;
    uint32_t seconds = FIGURES_KEPT;
    struct pack p;

    if (!read_options(rq, &seconds))
        return;
    uint64_t count = atomic_load_explicit(&f->count, memory_order_acquire);
    struct window w = {.count = count < seconds ? (uint32_t)count : seconds};
    w.row = (uint32_t)((count - w.count) % ROWS);
    pack_init(&p);
    pack_map(&p, 6);
    pack_key_uint(&p, "at", atomic_load_explicit(&f->at, memory_order_relaxed));
    pack_key_uint(&p, "step_ms", period / AO_MS(1));
    pack_values(&p, f, &w);
    pack_queues(&p, rq, &w);
    pack_places(&p, "handlers", f->handlers, FIGURES_HANDLERS, &w);
    pack_places(&p, "executors", f->executors, FIGURES_EXECUTORS, &w);
    rpc_answer_packed(rq, &p);
}
