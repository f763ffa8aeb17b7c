#include "sim/lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/promises.h"
#include "sim/trace.h"

enum { MEMBERS = 8, SHOWN = 120 };

/* The members that a death changes in no item of a list. */
static const struct list {
    const char *method, *key; /* which member names an item */
    const char *members[MEMBERS];
    bool is_whole; /* no item may be missing after the start */
} lists[] = {
    {"cron.list",
     "name",
     {"tenant", "schedule", "zone", "method", "params", "options", "paused"},
     true},
    {"queue.list", "method", {"paused", "draining"}, false},
    {"sem.list", "name", {"tenant", "permits", "durable"}, false},
};
enum { LISTS = sizeof lists / sizeof *lists };

static const char *const explained[MEMBERS] = {"state", "reason", "text", "last_error"};

static struct sim_burst burst;

struct said {
    uint8_t *at;
    size_t len;
};
static struct said said[LISTS], of_tasks[SIM_TASKS_MAX];

static void forget(struct said *s)
{
    free(s->at);
    *s = (struct said){0};
}

void sim_lists_forget(void)
{
    for (int n = 0; n < LISTS; n++)
        forget(&said[n]);
    for (int n = 0; n < SIM_TASKS_MAX; n++)
        forget(&of_tasks[n]);
}

static void note(struct said *s, const struct sim_request *r)
{
    forget(s);
    if (r->error.len > 0)
        return;
    s->at = malloc(r->result.len);
    require(s->at != NULL, "no memory for an answer");
    memcpy(s->at, r->result.at, r->result.len);
    s->len = r->result.len;
}

/* --- Comparison --- */

static void same(const char *method, struct span name, struct span before, struct span after,
                 const char *const *members)
{
    char was[SHOWN], is[SHOWN];
    for (int n = 0; n < MEMBERS && members[n]; n++) {
        if (span_equal(sim_member(before, members[n]), sim_member(after, members[n])))
            continue;
        sim_show(sim_member(before, members[n]), was, sizeof was);
        sim_show(sim_member(after, members[n]), is, sizeof is);
        sim_finding("kept: %s said of %.*s that its `%s` is %s, and says %s after the restart",
                    method, (int)name.len, name.at, members[n], was, is);
    }
}

/* A queue goes when nothing is left of it, and a semaphore with the last who holds it. */
static bool stays(const struct list *list, struct span item)
{
    struct span durable = sim_member_text(item, "durable");
    if (list->is_whole)
        return true;
    return durable.len > 0 ? span_is(durable, "fsync") : sim_member_true(item, "paused");
}

static struct span find(const struct list *list, struct span items, struct span name)
{
    struct reader r = reader_of(items);
    struct span item;
    uint32_t count = 0;
    read_array(&r, &count);
    while (count-- > 0 && read_any(&r, &item))
        if (span_equal(sim_member_text(item, list->key), name))
            return item;
    return span_of(NULL, 0);
}

static void compare_items(const struct list *list, struct span before, struct span after)
{
    struct reader r = reader_of(before);
    struct span item;
    uint32_t count = 0;
    read_array(&r, &count);
    while (count-- > 0 && read_any(&r, &item)) {
        struct span name = sim_member_text(item, list->key);
        struct span now = find(list, after, name);
        if (now.len > 0)
            same(list->method, name, item, now, list->members);
        else if (stays(list, item))
            sim_finding("kept: %s does not list %.*s after the restart", list->method,
                        (int)name.len, name.at);
    }
}

/* --- The lists --- */

static bool ask_lists(struct sim_link *l)
{
    sim_burst_clear(&burst);
    for (int n = 0; n < LISTS; n++)
        sim_burst_add(&burst, SIM_OTHER, lists[n].method, 0);
    return sim_burst_run(&burst, l);
}

/* The next tasks whose answer is noted, or those that have ended. */
static bool ask_tasks(struct sim_link *l, uint32_t *next, bool noted)
{
    sim_burst_clear(&burst);
    for (; *next < sim_task_count && burst.count < SIM_BURST_MAX; ++*next) {
        struct sim_task *t = &sim_tasks[*next];
        if (!t->durable || t->forgotten || (noted ? !of_tasks[*next].at : !t->end_seen))
            continue;
        struct sim_request *r = sim_burst_add(&burst, SIM_OTHER, "task.explain", 1);
        r->task = t;
        sim_put_text(&burst.out, t->id);
    }
    return burst.count == 0 || sim_burst_run(&burst, l);
}

bool sim_lists_note(struct sim_link *l)
{
    uint32_t next = 0;
    if (!ask_lists(l))
        return false;
    for (int n = 0; n < LISTS; n++)
        note(&said[n], &burst.requests[n]);
    while (next < sim_task_count) {
        if (!ask_tasks(l, &next, false))
            return false;
        for (uint32_t n = 0; n < burst.count; n++)
            note(&of_tasks[burst.requests[n].task - sim_tasks], &burst.requests[n]);
    }
    return true;
}

static void compare_task(const struct sim_request *r)
{
    const struct said *s = &of_tasks[r->task - sim_tasks];
    if (r->error.len == 0)
        same("task.explain", span_text(r->task->id), span_of(s->at, s->len), r->result, explained);
    else if (!sim_may_be_forgotten())
        sim_finding("kept: task %s was explained, and now: %.*s", r->task->id, (int)r->error.len,
                    r->error.at);
}

bool sim_lists_compare(struct sim_link *l)
{
    uint32_t next = 0;
    bool good = ask_lists(l);
    for (int n = 0; good && n < LISTS; n++)
        if (said[n].at && burst.requests[n].error.len == 0)
            compare_items(&lists[n], span_of(said[n].at, said[n].len), burst.requests[n].result);
    while (good && next < sim_task_count) {
        good = ask_tasks(l, &next, true);
        for (uint32_t n = 0; good && n < burst.count; n++)
            compare_task(&burst.requests[n]);
    }
    sim_lists_forget();
    return good;
}
