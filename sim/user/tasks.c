#include "sim/user/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/schedule.h"

enum { PAGE = 200 };

struct sim_user_task **sim_user_tasks;
uint32_t sim_user_task_count;
static uint32_t room;
static uint32_t first_open; /* all before it have ended, or have no id */

struct sim_user_task *sim_user_task_add(const char *method)
{
    if (sim_user_task_count == room) {
        room = room * 2 + 64;
        sim_user_tasks = realloc(sim_user_tasks, room * sizeof *sim_user_tasks);
        require(sim_user_tasks != NULL, "no memory for tasks");
    }
    struct sim_user_task *t = calloc(1, sizeof *t);
    require(t != NULL, "no memory for tasks");
    snprintf(t->method, sizeof t->method, "%s", method);
    t->asked_at = sim_now();
    sim_user_tasks[sim_user_task_count++] = t;
    return t;
}

void sim_user_task_named(struct sim_user_task *t, struct span id)
{
    snprintf(t->id, sizeof t->id, "%.*s", (int)id.len, id.at);
    snprintf(t->state, sizeof t->state, "queued");
}

static bool is_open(const struct sim_user_task *t)
{
    return *t->id && !t->ended;
}

uint32_t sim_user_tasks_open(void)
{
    uint32_t count = 0;
    for (uint32_t n = first_open; n < sim_user_task_count; n++)
        count += is_open(sim_user_tasks[n]);
    return count;
}

/* --- Looking --- */

static void take_text(struct span map, const char *key, char *out, size_t size)
{
    struct span text = sim_member_text(map, key);
    snprintf(out, size, "%.*s", (int)text.len, text.at);
}

/* One that is not there any more was forgotten, as the server does by and by with what has ended.
 */
static void heed(struct sim_user_task *t, const struct sim_request *r)
{
    if (r->error.len > 0) {
        t->ended = sim_error_is(r, "NOT_FOUND");
        if (t->ended)
            snprintf(t->state, sizeof t->state, "forgotten");
        return;
    }
    take_text(r->result, "state", t->state, sizeof t->state);
    take_text(r->result, "error", t->error, sizeof t->error);
    t->ended = sim_member_uint(r->result, "ended") > 0;
}

static void put_get(struct sim_burst *b, struct sim_user_task *t)
{
    struct sim_request *r = sim_burst_add(b, SIM_OTHER, "task.get", 2);
    sim_put_text(&b->out, t->id);
    sim_put_map(&b->out, 1);
    sim_put_text(&b->out, "result");
    sim_put_bool(&b->out, false);
    r->note = (uint64_t)(uintptr_t)t;
}

/* Some of those from `from` on; the number behind the last of them. */
static bool look_at_some(struct sim_burst *b, struct sim_link *l, uint32_t *from)
{
    sim_burst_clear(b);
    for (; *from < sim_user_task_count && b->count < PAGE; ++*from)
        if (is_open(sim_user_tasks[*from]))
            put_get(b, sim_user_tasks[*from]);
    if (b->count > 0 && !sim_burst_run(b, l))
        return false;
    for (uint32_t n = 0; n < b->count; n++)
        heed((struct sim_user_task *)(uintptr_t)b->requests[n].note, &b->requests[n]);
    return true;
}

/* --- Those of crons, which the server submits --- */

static struct sim_user_task *find(struct span id)
{
    for (uint32_t n = sim_user_task_count; n-- > 0;)
        if (span_is(id, sim_user_tasks[n]->id))
            return sim_user_tasks[n];
    return NULL;
}

struct sim_user_task *sim_user_task_find(const char *id, const char *method)
{
    struct sim_user_task *t = find(span_text(id));
    if (t)
        return t;
    t = sim_user_task_add(method);
    sim_user_task_named(t, span_text(id));
    return t;
}

/* The newest ids of the last two looks.  Ids grow; a task that was still being written at one look
 * may be listed at the next, behind newer ones, and therefore the search goes back by two. */
static char newest[2][SIM_TASK_ID];

/* A task of a load whose submission has not been answered yet is entered here, too: it then has two
 * entries, of which the client's alone knows its sequences.  False: the task and all behind it were
 * there two looks ago. */
static bool take(struct span task)
{
    struct span id = sim_member_text(task, "id");
    char method[72], text[SIM_TASK_ID];
    snprintf(text, sizeof text, "%.*s", (int)id.len, id.at);
    if (strcmp(text, newest[1]) <= 0)
        return false;
    take_text(task, "method", method, sizeof method);
    sim_user_task_find(text, method);
    return true;
}

static void put_list(struct sim_burst *b, struct span cursor)
{
    sim_burst_clear(b);
    sim_burst_add(b, SIM_OTHER, "task.list", 1);
    sim_put_map(&b->out, cursor.len > 0 ? 2 : 1);
    sim_put_text(&b->out, "limit");
    sim_put_uint(&b->out, PAGE);
    if (cursor.len == 0)
        return;
    char text[80];
    snprintf(text, sizeof text, "%.*s", (int)cursor.len, cursor.at);
    sim_put_text(&b->out, "cursor");
    sim_put_text(&b->out, text);
}

/* True: the next page may have more. */
static bool take_page(struct span tasks, char *first)
{
    uint32_t count;
    struct span task;
    struct reader r = reader_of(tasks);
    if (!read_array(&r, &count))
        return false;
    for (uint32_t n = 0; n < count && read_any(&r, &task); n++) {
        if (*first == '\0')
            take_text(task, "id", first, SIM_TASK_ID);
        if (!take(task))
            return false;
    }
    return true;
}

bool sim_user_tasks_find(struct sim_link *l)
{
    static struct sim_burst burst;
    struct span cursor = {0};
    char first[SIM_TASK_ID] = "";
    do {
        char text[80];
        snprintf(text, sizeof text, "%.*s", (int)cursor.len, cursor.at); /* the input is cleared */
        put_list(&burst, span_text(text));
        if (!sim_burst_run(&burst, l))
            return false;
        cursor = sim_member_text(burst.requests[0].result, "next");
    } while (take_page(sim_member(burst.requests[0].result, "tasks"), first) && cursor.len > 0);
    if (*first && strcmp(first, newest[0]) != 0) {
        memcpy(newest[1], newest[0], sizeof first);
        memcpy(newest[0], first, sizeof first);
    }
    return true;
}

/* --- All of them --- */

bool sim_user_tasks_look(struct sim_link *l)
{
    static struct sim_burst burst;
    for (uint32_t n = first_open; n < sim_user_task_count;)
        if (!look_at_some(&burst, l, &n))
            return false;
    while (first_open < sim_user_task_count && sim_user_tasks[first_open]->ended)
        first_open++;
    return true;
}
