#include "sim/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/attempts.h"
#include "sim/chance.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/schedule.h"
#include "sim/trace.h"
#include "sim/wire.h"

enum {
    WORKERS_MAX = 4,
    SLOTS_MAX = 4,
    READ_MAX = 4096,
    INPUT_MAX = 1 << 17,
    MESSAGE_MIN = 4096,
    CHOKES_AT = 1024,   /* bytes of a request */
    DEADLY_ONE_IN = 24, /* serials that kill whoever takes them: */
    DEADLY_MAX = 72,    /* but few, since the server tries them at a minute's distance */
    OWN_ID = 1 << 30    /* ids of its own requests */
};

/* What it does with a request, once its time has come. */
enum plan {
    ANSWER,
    FAIL,
    FAIL_FOR_GOOD,
    AGAIN,
    TELL_TWICE,
    ANSWER_STRANGE,
    DIE,
    DIE_IN_PART,
    PLANS
};

static const char *const methods[] = {"work.fast", "work.slow"};

struct call {
    uint64_t id;
    struct sim_attempt *attempt;
    enum plan plan;
    uint64_t due;
    bool taken;
};

struct worker {
    uint32_t index;
    /* Drawn from the seed */
    uint32_t slots, weights[PLANS], weight_sum;
    uint64_t message;   /* the longest request that it takes; 0: any */
    uint64_t busy;      /* ns that a request takes, at most */
    uint64_t reads_in;  /* ns that it waits before it reads on, at most */
    bool lease, chokes; /* chokes: long requests kill it as it reads them */
    /* Its connection */
    struct sim_link *link;
    struct call calls[SLOTS_MAX];
    uint64_t next_id, quiet_id; /* quiet_id: of a worker.quiet that waits for its answer */
    uint64_t resumes;           /* when a quiet one opens again */
    uint64_t old_id;            /* of a request on the connection before */
    uint64_t register_id;
    struct sim_attempt *old_attempt;
    bool quiet, leaves;
    uint8_t in[INPUT_MAX];
    size_t in_len;
    uint64_t in_from; /* number of the first byte of `in` in the stream */
    struct sim_bytes out;
};

static struct worker *workers[WORKERS_MAX];
static uint32_t worker_count;
static bool calm;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_WORK, n);
}

static void send_out(struct worker *w)
{
    sim_net_send(w->link, span_of(w->out.at, w->out.len));
    w->out.len = 0;
}

/* --- Answers --- */

static void put_answer(struct worker *w, const struct call *c, enum plan plan)
{
    static const char *const errors[PLANS] = {
        [FAIL] = "it failed: ", [FAIL_FOR_GOOD] = "PERMANENT_OOPS: ", [AGAIN] = "AGAIN: "};
    char result[32], error[64];
    sim_attempt_result(c->attempt, result, sizeof result);
    if (plan == AGAIN)
        snprintf(error, sizeof error, "AGAIN: %ums", (unsigned)below(100));
    else if (errors[plan])
        snprintf(error, sizeof error, "%s%s", errors[plan], result);
    sim_put_response(&w->out, c->id, errors[plan] ? error : NULL, result);
}

/* The moment of the last byte is when the server may know. */
static void send_answer(struct worker *w, struct call *c)
{
    put_answer(w, c, c->plan);
    if (c->plan == TELL_TWICE)
        put_answer(w, c, ANSWER);
    bool fails = c->plan == FAIL || c->plan == FAIL_FOR_GOOD || c->plan == AGAIN;
    struct sim_attempt *a = c->attempt;
    c->taken = false; /* the server may send the next before this one sees its last byte gone */
    sim_attempt_over(a, fails ? SIM_FAILED : SIM_ANSWERED, sim_net_ended_at(w->link));
    send_out(w);
}

/* To what it was not asked, or on a connection before. */
static void send_strange(struct worker *w)
{
    struct call of = {.id = w->old_id ? w->old_id : below(1u << 31), .attempt = w->old_attempt};
    put_answer(w, &of, ANSWER);
    send_out(w);
}

static void send_in_part(struct worker *w, const struct call *c)
{
    put_answer(w, c, ANSWER);
    w->out.len = 1 + below(w->out.len - 1);
    send_out(w);
}

static void send_progress(struct worker *w, const struct call *c)
{
    sim_put_notification(&w->out, "worker.progress", 4);
    sim_put_uint(&w->out, c->id);
    sim_put_uint(&w->out, 1);
    sim_put_uint(&w->out, 2);
    sim_put_text(&w->out, "half");
    sim_put_notification(&w->out, "worker.partial", 2);
    sim_put_uint(&w->out, c->id);
    sim_put_uint(&w->out, 7);
    send_out(w);
}

static void act(struct worker *w, struct call *c)
{
    if (c->plan == DIE_IN_PART)
        send_in_part(w, c);
    w->leaves = c->plan == DIE || c->plan == DIE_IN_PART;
    if (w->leaves)
        return;
    if (c->plan == ANSWER_STRANGE) {
        send_strange(w);
        c->plan = ANSWER;
    }
    send_answer(w, c);
}

/* --- Its own requests --- */

static uint64_t put_own(struct worker *w, const char *method, uint32_t params)
{
    sim_put_request(&w->out, ++w->next_id, method, params);
    sim_tell("asks %" PRIu64 ": %s", w->next_id - OWN_ID, method);
    return w->next_id;
}

static void send_register(struct worker *w)
{
    uint32_t count = sizeof methods / sizeof *methods;
    w->register_id = put_own(w, "worker.register", 2);
    sim_put_array(&w->out, count);
    for (uint32_t n = 0; n < count; n++)
        sim_put_text(&w->out, methods[n]);
    sim_put_map(&w->out, 2u + (w->lease && !calm) + (w->message > 0));
    sim_put_text(&w->out, "slots");
    sim_put_uint(&w->out, w->slots);
    sim_put_text(&w->out, "context");
    sim_put_bool(&w->out, true);
    if (w->lease && !calm) {
        sim_put_text(&w->out, "lease");
        sim_put_text(&w->out, "1s");
    }
    if (w->message > 0) {
        sim_put_text(&w->out, "message");
        sim_put_uint(&w->out, w->message);
    }
    send_out(w);
}

static void send_quiet(struct worker *w)
{
    w->quiet_id = put_own(w, "worker.quiet", 0);
    w->resumes = sim_now() + below(SIM_MS(200));
    send_out(w);
}

static void send_resume(struct worker *w)
{
    w->quiet = false;
    w->quiet_id = 0;
    put_own(w, "worker.resume", 0);
    send_out(w);
}

/* --- What comes --- */

static enum plan choose_plan(struct worker *w, const struct sim_attempt *a)
{
    uint64_t at = below(w->weight_sum);
    uint32_t plan = 0;
    if (a && *a->id && (uint32_t)a->serial <= DEADLY_MAX &&
        (uint32_t)a->serial % DEADLY_ONE_IN == 0)
        return DIE;
    if (calm)
        return ANSWER;
    while (at >= w->weights[plan])
        at -= w->weights[plan++];
    return (enum plan)plan;
}

static struct call *free_call(struct worker *w)
{
    uint32_t taken = 0;
    struct call *c = NULL;
    for (uint32_t n = 0; n < SLOTS_MAX; n++) {
        if (w->calls[n].taken)
            taken++;
        else
            c = &w->calls[n];
    }
    if (taken >= w->slots)
        sim_finding("workers: worker %u with %u slots is given another request", w->index,
                    w->slots);
    return c;
}

static void take_request(struct worker *w, const struct sim_message *m, size_t len)
{
    if (span_is(m->method, "worker.ping")) {
        if (w->leaves || (w->lease && !calm && below(4) == 0))
            return; /* silent, once or until it is lost */
        sim_put_response(&w->out, m->id, NULL, NULL);
        send_out(w);
        return;
    }
    if (w->quiet)
        sim_finding("workers: worker %u is given a request, and its quiet was answered", w->index);
    if (w->message > 0 && len > w->message)
        sim_finding("workers: worker %u reads %" PRIu64 " bytes, and is sent %zu", w->index,
                    w->message, len);
    struct call *c = free_call(w);
    struct sim_attempt *a =
        sim_attempt_began(w->link, w->in_from, m->method, m->params, w->slots == 1);
    *c = (struct call){.id = m->id, .attempt = a, .taken = true, .plan = choose_plan(w, a)};
    c->due = sim_now() + below(calm ? SIM_MS(2) : w->busy);
    if (a)
        sim_tell("takes %s of %" PRIu64 ", attempt %" PRIu64 " (plan %d)", a->id, a->serial,
                 a->number, (int)c->plan);
}

static void take_message(struct worker *w, const struct sim_message *m, size_t len)
{
    if (m->type == 1)
        sim_tell("answer %" PRIu64 ": %.*s", m->id - OWN_ID, (int)m->error.len, m->error.at);
    if (m->type == 0)
        take_request(w, m, len);
    else if (m->type == 1 && m->id == w->quiet_id)
        w->quiet = m->error.len == 0;
    if (m->type == 1 && m->id == w->register_id && m->error.len > 0)
        w->leaves = true; /* and asks again */
}

static void drop_input(struct worker *w, size_t len)
{
    w->in_len -= len;
    w->in_from += len;
    memmove(w->in, w->in + len, w->in_len);
}

static void take_messages(struct worker *w)
{
    struct sim_message m;
    size_t len;
    while ((len = sim_read_any_message(span_of(w->in, w->in_len), &m)) > 0) {
        take_message(w, &m, len);
        drop_input(w, len);
    }
}

static size_t receive(struct worker *w, uint64_t until)
{
    require(w->in_len + READ_MAX <= sizeof w->in, "a worker was sent too much");
    size_t len = sim_net_receive(w->link, w->in + w->in_len, READ_MAX, until);
    w->in_len += len;
    return len;
}

/* --- Its life --- */

static uint64_t next_due(const struct worker *w)
{
    uint64_t due = w->quiet || w->quiet_id ? w->resumes : SIM_NEVER;
    for (uint32_t n = 0; n < SLOTS_MAX; n++)
        if (w->calls[n].taken && w->calls[n].due < due)
            due = w->calls[n].due;
    return due;
}

static void act_on_due(struct worker *w)
{
    for (uint32_t n = 0; n < SLOTS_MAX && !w->leaves; n++)
        if (w->calls[n].taken && w->calls[n].due <= sim_now())
            act(w, &w->calls[n]);
    if (!w->leaves && (w->quiet || w->quiet_id) && w->resumes <= sim_now())
        send_resume(w);
}

static void chance_deed(struct worker *w)
{
    struct call *c = &w->calls[below(SLOTS_MAX)];
    if (calm || w->leaves)
        return;
    if (below(64) == 0)
        w->leaves = true;
    else if (below(48) == 0 && !w->quiet && !w->quiet_id)
        send_quiet(w);
    else if (c->taken && below(8) == 0)
        send_progress(w, c);
    if (w->reads_in > 0 && !w->leaves)
        sim_sleep_for(1 + below(w->reads_in));
}

static void choke(struct worker *w)
{
    if (w->chokes && !calm && w->in_len > CHOKES_AT)
        w->leaves = true;
}

/* What the server had sent is all read, so that each attempt that has begun is known.  In between
 * nobody else runs. */
static void leave(struct worker *w)
{
    uint64_t over = sim_net_ended_at(w->link);
    bool was_up = sim_node_up() && !sim_net_ended(w->link);
    w->leaves = true;
    while (receive(w, sim_now()) > 0)
        take_messages(w);
    if (w->in_len > 0)
        sim_attempt_in_part(w->link, w->in_from, span_of(w->in, w->in_len), w->slots == 1,
                            was_up ? SIM_LOST : SIM_ABANDONED);
    sim_net_leave(w->link);
    w->old_id = 0;
    for (uint32_t n = 0; n < SLOTS_MAX; n++) {
        struct call *c = &w->calls[n];
        if (!c->taken)
            continue;
        sim_attempt_over(c->attempt, was_up ? SIM_LOST : SIM_ABANDONED, over);
        w->old_id = c->id;
        w->old_attempt = c->attempt;
        c->taken = false;
    }
    w->in_from += w->in_len;
    w->in_len = 0;
}

static void serve_connection(struct worker *w)
{
    w->link = sim_node_connect();
    if (w->chokes)
        sim_net_narrow(w->link, CHOKES_AT);
    w->in_from = w->in_len = w->out.len = 0;
    w->quiet_id = 0;
    w->quiet = w->leaves = false;
    send_register(w);
    while (!w->leaves && !sim_net_ended(w->link)) {
        if (receive(w, next_due(w)) > 0)
            take_messages(w);
        choke(w);
        act_on_due(w);
        chance_deed(w);
    }
    leave(w);
    sim_tell("worker %u leaves", w->index);
}

static void run_worker(void *arg)
{
    struct worker *w = arg;
    for (;;) {
        if (!sim_node_up()) {
            sim_wait_for(workers, SIM_NEVER);
            continue;
        }
        serve_connection(w);
        sim_sleep_for(1 + below(calm ? SIM_MS(50) : SIM_MS(100)));
    }
}

/* --- The run's --- */

static void shape(struct worker *w, bool they_choke)
{
    static const uint32_t some[] = {0, 0, 1, 4};
    w->slots = 1 + (uint32_t)sim_below(SIM_SHAPE, SLOTS_MAX);
    w->busy = SIM_MS(1) << sim_below(SIM_SHAPE, 10);
    w->message = sim_one_in(SIM_SHAPE, 4) ? MESSAGE_MIN : 0;
    w->reads_in = sim_one_in(SIM_SHAPE, 3) ? SIM_MS(10) : 0;
    w->lease = sim_one_in(SIM_SHAPE, 4);
    w->chokes = they_choke && !sim_one_in(SIM_SHAPE, 4);
    for (uint32_t n = 0; n < PLANS; n++) {
        w->weights[n] = n == ANSWER ? 4 : some[sim_below(SIM_SHAPE, sizeof some / sizeof *some)];
        w->weight_sum += w->weights[n];
    }
}

void sim_workers_shape(void)
{
    bool they_choke = sim_one_in(SIM_SHAPE, 4);
    worker_count = (uint32_t)sim_below(SIM_SHAPE, WORKERS_MAX + 1);
    for (uint32_t n = 0; n < worker_count; n++) {
        workers[n] = calloc(1, sizeof *workers[n]);
        require(workers[n] != NULL, "no memory for a worker");
        workers[n]->index = n;
        workers[n]->next_id = OWN_ID;
        shape(workers[n], they_choke);
    }
}

void sim_workers_spawn(void)
{
    for (uint32_t n = 0; n < worker_count; n++) {
        char name[24];
        snprintf(name, sizeof name, "worker %u", n);
        sim_spawn(SIM_WORLD, name, run_worker, workers[n]);
    }
}

bool sim_workers_there(void)
{
    return worker_count > 0;
}

const char *sim_worker_any(void)
{
    return methods[sim_below(SIM_DEEDS, sizeof methods / sizeof *methods)];
}

void sim_workers_calm(void)
{
    calm = true;
}

void sim_workers_wake(void)
{
    sim_wake_all(workers);
}
