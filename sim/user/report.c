#include "sim/user/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"
#include "sim/user/expect.h"
#include "sim/user/tasks.h"

enum { LINES_MAX = 12, TEXT = 200 };

struct line {
    uint64_t at;    /* sim_now() */
    uint64_t ahead; /* of sim_now(), the wall clock from then on */
    const struct sim_user_task *task;
    char text[TEXT];
};

static struct line *lines;
static size_t count, room;

static struct line *add(uint64_t at, const struct sim_user_task *t)
{
    if (count == room) {
        room = room * 2 + 256;
        lines = realloc(lines, room * sizeof *lines);
        require(lines != NULL, "no memory for a story");
    }
    lines[count] = (struct line){.at = at, .ahead = sim_wall() - sim_now(), .task = t};
    return &lines[count++];
}

void sim_story_all(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct line *l = add(sim_now(), NULL);
    vsnprintf(l->text, sizeof l->text, format, args);
    va_end(args);
    sim_tell("%s", l->text);
}

void sim_story(const struct sim_user_task *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(add(sim_now(), t)->text, TEXT, format, args);
    va_end(args);
}

/* --- What the server knows of the task: its history --- */

/* How far `at` is outside of a time. */
static uint64_t outside(uint64_t at, uint64_t from, uint64_t to)
{
    return at < from ? from - at : at > to ? at - to : 0;
}

/* The wall clock may have shown one time twice, or never: of the times between two of its leaps the
 * one that fits best, not before `last`, which is that of the event before. */
static uint64_t time_of(uint64_t unix_ms, uint64_t last)
{
    uint64_t best = 0, least = SIM_NEVER, from = 0, ahead = SIM_EPOCH;
    for (size_t n = 0; n <= count; n++) {
        uint64_t to = n < count ? lines[n].at : SIM_NEVER;
        if (n < count && lines[n].ahead == ahead)
            continue;
        uint64_t wall = unix_ms * 1000000, at = wall > ahead ? wall - ahead : 0;
        if (outside(at, from > last ? from : last, to) < least) {
            best = at;
            least = outside(at, from > last ? from : last, to);
        }
        from = to;
        ahead = n < count ? lines[n].ahead : ahead;
    }
    return best > last ? best : last;
}

static void add_event(const struct sim_user_task *t, struct span event, uint64_t at)
{
    struct span name = sim_member_text(event, "event"), text = sim_member_text(event, "text");
    uint64_t attempt = sim_member_uint(event, "attempt");
    struct line *l = add(at, t);
    int len = snprintf(l->text, TEXT, "%.*s", (int)name.len, name.at);
    if (attempt > 0)
        len += snprintf(l->text + len, TEXT - (size_t)len, ", attempt %" PRIu64, attempt);
    if (text.len > 0)
        snprintf(l->text + len, TEXT - (size_t)len, ": %.*s", (int)(text.len < 90 ? text.len : 90),
                 text.at);
}

static void add_events(const struct sim_user_task *t, struct span history)
{
    uint32_t events = 0;
    uint64_t at = 0;
    struct span event;
    struct reader r = reader_of(history);
    if (read_array(&r, &events))
        while (events-- > 0 && read_any(&r, &event)) {
            at = time_of(sim_member_uint(event, "at"), at);
            add_event(t, event, at);
        }
}

/* Its history; `is_open`: and why it does not go on. */
static void ask(const struct sim_user_task *t, bool is_open)
{
    static struct sim_burst burst;
    const struct sim_request *get = sim_burst_add(&burst, SIM_OTHER, "task.get", 2);
    sim_put_text(&burst.out, t->id);
    sim_put_map(&burst.out, 1);
    sim_put_text(&burst.out, "history");
    sim_put_bool(&burst.out, true);
    const struct sim_request *explain = sim_burst_add(&burst, SIM_OTHER, "task.explain", 1);
    sim_put_text(&burst.out, t->id);
    struct sim_link *l = sim_node_connect();
    if (sim_burst_run(&burst, l) && get->error.len == 0 && explain->error.len == 0) {
        struct span state = sim_member_text(explain->result, "state"),
                    text = sim_member_text(explain->result, "text");
        add_events(t, sim_member(get->result, "history"));
        if (is_open)
            snprintf(add(sim_now(), t)->text, TEXT, "still %.*s: %.*s", (int)state.len, state.at,
                     (int)(text.len < 150 ? text.len : 150), text.at);
    }
    sim_net_leave(l);
}

/* Those of the task, and the same one of other tasks. */
static void add_effects(const struct sim_user_task *t, const struct sim_effect *f)
{
    for (uint32_t n = 0; n < sim_effect_count; n++) {
        const struct sim_effect *e = &sim_effects[n];
        bool is_same = f && e->key == f->key && strcmp(e->name, f->name) == 0;
        bool is_own = *e->task ? strcmp(e->task, t->id) == 0 : sim_seq_is(&t->seqs, e->key);
        if (!is_same && !is_own)
            continue;
        struct line *l = add(e->at, t);
        int len = snprintf(l->text, TEXT, "effect %s(%" PRIu64 ")", e->name, e->key);
        if (e->attempt > 0)
            len += snprintf(l->text + len, TEXT - (size_t)len, " of attempt %" PRIu32, e->attempt);
        if (!is_own && *e->task)
            snprintf(l->text + len, TEXT - (size_t)len, " of task %s", e->task);
    }
}

/* --- Writing --- */

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Keeps the lines of the task, and what happened to all between the first and the last of them. */
static void choose(const struct sim_user_task *t)
{
    uint64_t first = UINT64_MAX, last = 0;
    size_t kept = 0;
    for (size_t n = 0; n < count; n++)
        if (lines[n].task == t) {
            first = lines[n].at < first ? lines[n].at : first;
            last = lines[n].at > last ? lines[n].at : last;
        }
    for (size_t n = 0; n < count; n++)
        if (lines[n].task == t || (!lines[n].task && lines[n].at >= first && lines[n].at <= last))
            lines[kept++] = lines[n];
    count = kept;
}

static void write_story(FILE *to)
{
    size_t cut = count > LINES_MAX ? count - LINES_MAX : 0;
    for (size_t n = 0; n < count; n++) {
        if (cut > 0 && n >= LINES_MAX / 2 && n < LINES_MAX / 2 + cut) {
            if (n == LINES_MAX / 2)
                fprintf(to, "       ...      %zu more\n", cut);
            continue;
        }
        uint64_t ms = lines[n].at / 1000000;
        fprintf(to, "  %8" PRIu64 ".%03" PRIu64 " s  %s\n", ms / 1000, ms % 1000, lines[n].text);
    }
}

static const char *advice(enum sim_expect_kind kind)
{
    static const char *const of[] = {
        [SIM_EXPECT_ENDS] = "What keeps a task open: docs/tasks.md.",
        [SIM_EXPECT_NO_TASK] = "When a task is tried again, and when it is not: docs/tasks.md.",
        [SIM_EXPECT_ONCE] = "Why a task may run twice, and what to do: docs/promises.md.",
        [SIM_EXPECT_AT_MOST_ONCE] = "Why a task may run twice, and what to do: docs/promises.md.",
        [SIM_EXPECT_IN_ORDER] =
            "Tasks run side by side, unless a limit says otherwise: docs/tasks.md."};
    return of[kind];
}

void sim_report(const struct sim_expect *e, const struct sim_user_task *t,
                const struct sim_effect *f, const char *format, ...)
{
    char *text = NULL;
    size_t size;
    va_list args;
    FILE *to = open_memstream(&text, &size);
    require(to != NULL, "no memory for a report");
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    fputc('\n', to);
    fflush(to);
    sim_finding_begin(text); /* asking the server for the history takes time */
    if (e)
        fprintf(to, "  expected: %s\n", e->text);
    if (t) {
        if (*t->id)
            ask(t, e && e->kind == SIM_EXPECT_ENDS);
        add_effects(t, f);
        choose(t);
        qsort(lines, count, sizeof *lines, by_time);
        write_story(to);
    }
    if (e)
        fprintf(to, "  %s\n", advice(e->kind));
    fclose(to);
    sim_found(text, SIM_FOUND);
}

void sim_report_refused(const char *name, struct span error)
{
    char text[TEXT + 300];
    snprintf(text, sizeof text, "the server refuses %s: %.*s\n", name,
             (int)(error.len < TEXT ? error.len : TEXT), error.at);
    sim_found(text, SIM_UNUSABLE);
}
