#include "sim/crons.h"

#include <inttypes.h>
#include <string.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/promises.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"

enum {
    STARTS_MAX = 64,
    FIRED_MAX = 1000,
    SLACK_MS = 500 /* a time that was missed may fire so long after a start */
};

static const char name[] = "tick", method[] = "later"; /* which nothing else calls */

static struct {
    const char *overlap, *catch_up;
    uint64_t jitter; /* ms */
} shape;
static uint64_t starts[STARTS_MAX]; /* Unix ms */
static uint32_t start_count;

/* Between them nothing fires: when the answer of a pause or a delete came, and when what opens it
 * again was asked.  SIM_NEVER: it may fire. */
static uint64_t closed_since = SIM_NEVER;
static struct {
    uint64_t from, to; /* Unix ms */
} closed[STARTS_MAX];
static uint32_t closed_count;
static uint64_t deleted[STARTS_MAX]; /* Unix ms, when somebody asked: what comes then is another */
static uint32_t deleted_count;
static uint32_t unanswered; /* what was asked of the cron may still be done */
static uint64_t close_id;   /* of the last pause or delete, unless something followed it */

static uint64_t now_ms(void)
{
    return sim_wall() / 1000000;
}

void sim_crons_shape(void)
{
    static const char *const overlaps[] = {"skip", "allow", "replace"};
    static const char *const catch_ups[] = {"none", "one"};
    shape.overlap = overlaps[sim_below(SIM_SHAPE, 3)];
    shape.catch_up = catch_ups[sim_below(SIM_SHAPE, 2)];
    shape.jitter = sim_one_in(SIM_SHAPE, 3) ? 500 : 0;
}

void sim_crons_node_started(void)
{
    unanswered = 0;
    if (start_count < STARTS_MAX)
        starts[start_count++] = now_ms();
}

/* --- Deeds --- */

static void look(struct sim_burst *b)
{
    sim_burst_add(b, SIM_OTHER, "cron.list", 0);
}

static void open_again(void)
{
    if (closed_since != SIM_NEVER && closed_count < STARTS_MAX) {
        closed[closed_count].from = closed_since;
        closed[closed_count++].to = now_ms();
    }
    closed_since = SIM_NEVER;
    close_id = 0;
}

static void heed_closed(struct sim_request *r)
{
    unanswered--;
    if (r->error.len == 0 && r->id == close_id && unanswered == 0 && closed_since == SIM_NEVER)
        closed_since = now_ms();
}

static void heed_open(struct sim_request *r)
{
    (void)r;
    unanswered--;
}

static void put_name(struct sim_burst *b, const char *what, uint32_t params)
{
    sim_burst_add(b, SIM_OTHER, what, params)->heed = heed_open;
    unanswered++;
    sim_put_text(&b->out, name);
}

static void close_it(struct sim_burst *b, const char *what)
{
    put_name(b, what, 1);
    b->requests[b->count - 1].heed = heed_closed;
    close_id = b->requests[b->count - 1].id;
}

void sim_put_cron(struct sim_burst *b, uint32_t client)
{
    if (client != 0) {
        look(b);
        return;
    }
    open_again();
    put_name(b, "cron.put", 5);
    sim_put_text(&b->out, "every 1s");
    sim_put_text(&b->out, method);
    sim_put_array(&b->out, 1);
    sim_put_uint(&b->out, sim_below(SIM_DEEDS, 3000));
    sim_put_map(&b->out, 3);
    sim_put_text(&b->out, "overlap");
    sim_put_text(&b->out, shape.overlap);
    sim_put_text(&b->out, "catch_up");
    sim_put_text(&b->out, shape.catch_up);
    sim_put_text(&b->out, "jitter");
    sim_put_uint(&b->out, shape.jitter);
}

void sim_pause_cron(struct sim_burst *b, uint32_t client)
{
    if (client == 0)
        close_it(b, "cron.pause");
    else
        look(b);
}

void sim_resume_cron(struct sim_burst *b, uint32_t client)
{
    if (client != 0) {
        look(b);
        return;
    }
    open_again();
    put_name(b, "cron.resume", 1);
}

void sim_delete_cron(struct sim_burst *b, uint32_t client)
{
    if (client != 0 || deleted_count == STARTS_MAX) {
        look(b);
        return;
    }
    deleted[deleted_count++] = now_ms();
    close_it(b, "cron.delete");
}

void sim_cron_delete(struct sim_burst *b)
{
    put_name(b, "cron.delete", 1);
}

/* --- What has fired --- */

static struct fired {
    uint64_t created, ended; /* Unix ms */
    char id[SIM_ID];
} fired[FIRED_MAX];
static uint32_t fired_count;

static void note(struct span task)
{
    struct fired f = {sim_member_uint(task, "created"), sim_member_uint(task, "ended"), ""};
    struct span id = sim_member_text(task, "id");
    uint32_t n = fired_count;
    if (n == FIRED_MAX)
        return;
    memcpy(f.id, id.at, id.len < SIM_ID ? id.len : SIM_ID - 1);
    for (; n > 0 && fired[n - 1].created > f.created; n--)
        fired[n] = fired[n - 1];
    fired[n] = f;
    fired_count++;
}

static bool is_after_start(uint64_t ms)
{
    for (uint32_t n = 0; n < start_count; n++)
        if (ms + 1 >= starts[n] && ms < starts[n] + SLACK_MS)
            return true;
    return false;
}

static bool is_another(uint64_t from, uint64_t to)
{
    for (uint32_t n = 0; n < deleted_count; n++)
        if (deleted[n] + SLACK_MS >= from && deleted[n] <= to)
            return true;
    return false;
}

static void check_pair(const struct fired *a, const struct fired *b)
{
    if (is_another(a->created, b->created))
        return;
    if (strcmp(shape.overlap, "skip") == 0 && b->created < a->ended)
        sim_finding("crons: task %s was made %" PRIu64
                    " ms before the end of %s, and overlap is skip",
                    b->id, a->ended - b->created, a->id);
    if (shape.jitter == 0 && a->created / 1000 == b->created / 1000 &&
        !is_after_start(a->created) && !is_after_start(b->created))
        sim_finding("crons: a time fired twice: %s and %s, at %" PRIu64 " and %" PRIu64, a->id,
                    b->id, a->created, b->created);
}

static void check_closed(const struct fired *f)
{
    for (uint32_t n = 0; n < closed_count; n++)
        if (f->created > closed[n].from && f->created < closed[n].to)
            sim_finding("crons: task %s was made while the cron was paused or gone", f->id);
}

static struct span ask(struct sim_burst *b, struct sim_link *l)
{
    sim_burst_clear(b);
    sim_burst_add(b, SIM_OTHER, "task.list", 1);
    sim_put_map(&b->out, 2);
    sim_put_text(&b->out, "method");
    sim_put_text(&b->out, method);
    sim_put_text(&b->out, "limit");
    sim_put_uint(&b->out, FIRED_MAX);
    return sim_burst_run(b, l) ? b->requests[0].result : span_of(NULL, 0);
}

void sim_check_cron(struct sim_burst *b, struct sim_link *l)
{
    if (sim_clock_leapt())
        return;
    struct reader r = reader_of(sim_member(ask(b, l), "tasks"));
    struct span task;
    uint32_t count = 0;
    read_array(&r, &count);
    for (uint32_t n = 0; n < count && read_any(&r, &task); n++)
        note(task);
    for (uint32_t n = 0; n < fired_count; n++) {
        check_closed(&fired[n]);
        if (n > 0)
            check_pair(&fired[n - 1], &fired[n]);
    }
}
