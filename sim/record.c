#include "sim/record.h"

#include <string.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/params.h"
#include "sim/points.h"
#include "sim/schedule.h"
#include "sim/wire.h"

static struct sim_line *lines;
static uint32_t *count;
static uint64_t began; /* when the life took requests */
static bool serves, quiet;

static struct sim_line *add(enum sim_line_kind kind)
{
    static struct sim_line lost;
    if (!lines || *count == SIM_LINES_MAX)
        return &lost;
    struct sim_line *l = &lines[(*count)++];
    *l = (struct sim_line){.kind = kind, .at = (sim_now() - began) / 1000};
    return l;
}

/* Those of a start are not: a script begins to count when the server serves.  Nor are those that
 * would take the room of requests: at atomics there are many. */
static void note_stall(const char *point, uint64_t ns)
{
    if (!serves || ns < 1000 || *count >= SIM_LINES_MAX / 2)
        return;
    struct sim_line *l = add(SIM_LINE_STALL);
    l->number = ns / 1000;
    strncpy(l->fiber, sim_fiber_word(), sizeof l->fiber - 1);
    strncpy(l->point, point, sizeof l->point - 1);
}

void sim_record_into(struct sim_line *room, uint32_t *counted)
{
    lines = room;
    count = counted;
    sim_on_stall(note_stall);
}

void sim_record_others(uint64_t seed)
{
    add(SIM_LINE_OTHERS)->number = seed;
}

void sim_record_flag(const char *flag, const char *value)
{
    struct sim_line *l = add(SIM_LINE_FLAG);
    strncpy(l->method, flag, sizeof l->method - 1);
    strncpy(l->params, value, sizeof l->params - 1);
}

void sim_record_disk(uint64_t ms, uint64_t tear)
{
    add(SIM_LINE_DISK)->number = ms;
    add(SIM_LINE_TEAR)->number = tear;
}

void sim_record_begin(void)
{
    began = sim_now();
    serves = true;
}

void sim_record_quiet(bool on)
{
    quiet = on;
    if (!on && !serves)
        sim_record_begin();
}

/* --- Requests --- */

/* The next request of the bytes that are to be sent. */
static void record_request(uint32_t client, struct reader *r)
{
    uint32_t parts;
    uint64_t type, id;
    struct span method, params;
    if (!read_array(r, &parts) || !read_uint(r, &type) || !read_uint(r, &id) ||
        !read_text(r, &method) || !read_any(r, &params) || method.len >= SIM_METHOD)
        return;
    struct sim_line *l = add(SIM_LINE_REQUEST);
    l->client = client;
    l->label = span_is(method, "task.submit") ? id : 0;
    memcpy(l->method, method.at, method.len);
    if (lines && !sim_params_show(params, l->params, sizeof l->params))
        --*count; /* it is too long */
}

void sim_record_burst(uint32_t client, const struct sim_burst *b)
{
    struct reader r = reader_of(span_of(b->out.at, b->out.len));
    for (uint32_t n = 0; lines && n < b->count; n++)
        record_request(client, &r);
}

void sim_record_answers(const struct sim_burst *b)
{
    for (uint32_t n = 0; lines && n < b->count; n++) {
        const struct sim_request *r = &b->requests[n];
        struct span id = sim_member_text(r->result, "id");
        if (r->answered && r->error.len == 0 && id.len > 0)
            sim_label(r->id, id);
    }
}

void sim_record_leave(uint32_t client)
{
    add(SIM_LINE_LEAVE)->client = client;
}

/* --- The node --- */

void sim_record_cut(uint64_t call)
{
    add(serves ? SIM_LINE_CUT : SIM_LINE_START)->number = call;
}

/* A start that was cut goes without saying. */
void sim_record_end(enum sim_end how)
{
    if (!serves)
        return;
    struct sim_line *l = add(SIM_LINE_END);
    l->how = how;
    l->quiet = quiet;
    serves = false;
}
