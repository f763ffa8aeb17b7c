#include "sim/crons.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/memory.h"
#include "sim/postgres.h"
#include "sim/promises.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"

enum {
    LIVES_MAX = 64,
    FIRED_MAX = 1000,
    SLACK_MS = 500,  /* beside sim_slack(): a time may fire so late */
    JITTER_MS = 2000 /* of a second's cron */
};

static const char name[] = "tick", method[] = "later"; /* which nothing else calls */

static struct {
    const char *overlap, *catch_up;
    uint64_t jitter; /* ms */
} shape = {.overlap = "skip", .catch_up = "none"};

/* Stretches of time, in Unix ms; the last may not have ended: then `to` is SIM_NEVER. */
struct stretches {
    struct {
        uint64_t from, to;
    } list[LIVES_MAX];
    uint32_t count;
};

static struct stretches up;     /* the server serves */
static struct stretches closed; /* nothing fires: from the answer of a pause or a delete, until what
                                   opens it again is asked */
static struct stretches open;   /* all times fire: from the answer, until one of those is asked */
static uint64_t
    deleted[LIVES_MAX]; /* Unix ms: when somebody asked for it; a later put makes another cron */
static uint32_t deleted_count;
static uint32_t unanswered; /* what was asked of the cron may still be done */
static uint64_t close_id;   /* of the last pause or delete, unless something followed it */
static bool may_be_paused;

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
    shape.jitter = sim_one_in(SIM_SHAPE, 3) ? JITTER_MS : 0;
}

static bool lasts(const struct stretches *s)
{
    return s->count > 0 && s->list[s->count - 1].to == SIM_NEVER;
}

static void begin(struct stretches *s)
{
    if (s->count == LIVES_MAX || lasts(s))
        return;
    s->list[s->count].from = now_ms();
    s->list[s->count++].to = SIM_NEVER;
}

static void end(struct stretches *s)
{
    if (lasts(s))
        s->list[s->count - 1].to = now_ms();
}

void sim_crons_node_started(void)
{
    unanswered = 0;
    begin(&up);
}

void sim_crons_node_ended(void)
{
    end(&up);
}

/* --- Deeds --- */

static void look(struct sim_burst *b)
{
    sim_burst_add(b, SIM_OTHER, "cron.list", 0);
}

static void open_again(void)
{
    end(&closed);
    close_id = 0;
}

static void heed_closed(struct sim_request *r)
{
    unanswered--;
    if (r->error.len > 0 || r->id != close_id || unanswered > 0)
        return;
    if (strcmp(r->method, "cron.delete") == 0)
        may_be_paused = false;
    begin(&closed);
}

/* A pause lasts over a put. */
static void heed_open(struct sim_request *r)
{
    unanswered--;
    if (r->error.len > 0 || unanswered > 0)
        return;
    if (strcmp(r->method, "cron.resume") == 0)
        may_be_paused = false;
    if (!may_be_paused)
        begin(&open);
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
    may_be_paused |= strcmp(what, "cron.pause") == 0;
    end(&open);
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

/* Its task has no key, so it is none of the cron's times. */
void sim_run_cron(struct sim_burst *b, uint32_t client)
{
    if (client != 0) {
        look(b);
        return;
    }
    sim_burst_add(b, SIM_OTHER, "cron.run", 1);
    sim_put_text(&b->out, name);
}

void sim_delete_cron(struct sim_burst *b, uint32_t client)
{
    if (client != 0 || deleted_count == LIVES_MAX) {
        look(b);
        return;
    }
    deleted[deleted_count++] = now_ms();
    close_it(b, "cron.delete");
}

void sim_cron_delete(struct sim_burst *b)
{
    close_it(b, "cron.delete");
}

/* --- What has fired --- */

static struct fired {
    uint64_t due, created, ended; /* Unix ms */
    char id[SIM_ID];
} fired[FIRED_MAX]; /* by `created` */
static uint32_t fired_count;

/* The key says which of the cron's times it is. */
static uint64_t due_of(struct span key)
{
    uint64_t seconds = 0;
    size_t at = key.len;
    while (at > 0 && key.at[at - 1] != ' ')
        at--;
    for (; at < key.len; at++)
        seconds = seconds * 10 + (uint64_t)(key.at[at] - '0');
    return seconds * 1000;
}

static struct fired *known(struct span id)
{
    for (uint32_t n = 0; n < fired_count; n++)
        if (span_is(id, fired[n].id))
            return &fired[n];
    return NULL;
}

static void note(struct span task)
{
    if (sim_member_text(task, "key").len == 0)
        return; /* of cron.run */
    struct span id = sim_member_text(task, "id");
    struct fired *was = known(id), f = {.due = due_of(sim_member_text(task, "key")),
                                        .created = sim_member_uint(task, "created"),
                                        .ended = sim_member_uint(task, "ended")};
    uint32_t n = fired_count;
    if (was)
        was->ended = f.ended;
    if (was || n == FIRED_MAX)
        return;
    memcpy(f.id, id.at, id.len < SIM_ID ? id.len : SIM_ID - 1);
    for (; n > 0 && fired[n - 1].created > f.created; n--)
        fired[n] = fired[n - 1];
    fired[n] = f;
    fired_count++;
}

static bool is_another(uint64_t from, uint64_t to)
{
    uint64_t late = SLACK_MS + 20 * sim_slack() / 1000000; /* it is done so long after */
    for (uint32_t n = 0; n < deleted_count; n++)
        if (deleted[n] + late >= from && deleted[n] <= to)
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
}

static void check_once(const struct fired *f)
{
    for (const struct fired *e = fired; e < f; e++)
        if (e->due == f->due)
            sim_finding("crons: the time %" PRIu64 " fired twice: %s and %s", f->due, e->id, f->id);
}

static void check_closed(const struct fired *f)
{
    for (uint32_t n = 0; n < closed.count; n++)
        if (f->created > closed.list[n].from && f->created < closed.list[n].to)
            sim_finding("crons: task %s was made while the cron was paused or gone", f->id);
}

static bool has_fired(uint64_t due)
{
    for (uint32_t n = 0; n < fired_count; n++)
        if (fired[n].due == due)
            return true;
    return false;
}

/* True: the whole of it lies within one of these. */
static bool within(const struct stretches *s, uint64_t from, uint64_t to)
{
    for (uint32_t n = 0; n < s->count; n++)
        if (s->list[n].from <= from && s->list[n].to >= to)
            return true;
    return false;
}

/* A time is missed only if the server was down until its jitter was over.  A server that dies in
 * the millisecond of the time may not have come to it. */
static void check_time(uint64_t due, uint64_t late)
{
    uint64_t last = due + shape.jitter; /* at which it fires */
    uint64_t there = shape.jitter > 2 * late ? last - late : due;
    if (within(&open, due - late, last + late) && within(&up, there, last + late) &&
        (there > due || within(&up, due - late, due + 1)) && !has_fired(due))
        sim_finding("crons: the time %" PRIu64 " did not fire", due);
}

/* With `overlap: skip` a time may be left out; where threads stay away for long, the few steps that
 * a cron takes may last as long as the server lives; and without memory, or while its database is
 * away, it tries again each second. */
static void check_all_times(void)
{
    uint64_t late = SLACK_MS + sim_slack() / 1000000;
    if (strcmp(shape.overlap, "skip") == 0 || fired_count == FIRED_MAX || late > SLACK_MS + 10 ||
        sim_memory_failed_within(sim_now()) || sim_postgres_falters())
        return;
    for (uint32_t n = 0; n < open.count; n++)
        for (uint64_t due = open.list[n].from / 1000 * 1000; due < open.list[n].to; due += 1000)
            check_time(due, late);
}

/* Asks for the page at the cursor, "" for the first.  The result is valid until the burst is
 * cleared. */
static struct span ask(struct sim_burst *b, struct sim_link *l, const char *cursor)
{
    sim_burst_clear(b);
    sim_burst_add(b, SIM_OTHER, "task.list", 1);
    sim_put_map(&b->out, 2 + (*cursor != '\0'));
    sim_put_text(&b->out, "method");
    sim_put_text(&b->out, method);
    sim_put_text(&b->out, "limit");
    sim_put_uint(&b->out, FIRED_MAX);
    if (*cursor) {
        sim_put_text(&b->out, "cursor");
        sim_put_text(&b->out, cursor);
    }
    return sim_burst_run(b, l) ? b->requests[0].result : span_of(NULL, 0);
}

static void take_page(struct span tasks)
{
    struct reader r = reader_of(tasks);
    struct span task;
    uint32_t count = 0;
    read_array(&r, &count);
    for (uint32_t n = 0; n < count && read_any(&r, &task); n++)
        note(task);
}

void sim_crons_look(struct sim_burst *b, struct sim_link *l)
{
    char cursor[80] = "";
    do {
        struct span page = ask(b, l, cursor), next = sim_member_text(page, "next");
        take_page(sim_member(page, "tasks"));
        snprintf(cursor, sizeof cursor, "%.*s", (int)next.len, next.at);
    } while (*cursor);
}

void sim_check_cron(struct sim_burst *b, struct sim_link *l)
{
    sim_crons_look(b, l);
    if (sim_clock_leapt())
        return;
    check_all_times();
    for (uint32_t n = 0; n < fired_count; n++) {
        check_closed(&fired[n]);
        check_once(&fired[n]);
        if (n > 0)
            check_pair(&fired[n - 1], &fired[n]);
    }
}
