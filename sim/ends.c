#include "sim/ends.h"

#include <stdio.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/promises.h"
#include "sim/trace.h"
#include "sim/wire.h"

enum { SHOWN = 400 };

/* Of a task, by its place in sim_tasks.  A number of retries and one: 0 is none yet. */
static struct {
    uint32_t cancelled; /* then its cancel was answered */
    uint32_t ended;     /* then it was seen at its end */
    char state[12];     /* what it had become */
} lives[SIM_TASKS_MAX];

/* 0: a retry may be under way, or have come between question and answer. */
static uint32_t turn_of(const struct sim_task *t, uint32_t mark)
{
    return mark == UINT32_MAX || mark >> 1 != t->retries ? 0 : (mark >> 1) + 1;
}

void sim_saw_cancelled(const struct sim_task *t, uint32_t mark, struct span result)
{
    if (sim_member_true(result, "cancelled") && turn_of(t, mark) > 0)
        lives[t - sim_tasks].cancelled = turn_of(t, mark);
}

static bool is_one_of(struct span state, const char *const *names)
{
    for (; *names; names++)
        if (span_is(state, *names))
            return true;
    return false;
}

void sim_saw_state(const struct sim_task *t, uint32_t mark, struct span result)
{
    static const char *const own[] = {"done", "failed", "dead", NULL};
    static const char *const others[] = {"cancelled", "expired", NULL};
    struct span state = sim_member_text(result, "state");
    uint32_t n = (uint32_t)(t - sim_tasks), turn = turn_of(t, mark);
    bool by_itself = is_one_of(state, own);
    if (turn == 0 || (!by_itself && !is_one_of(state, others)))
        return;
    if (by_itself && lives[n].cancelled == turn)
        sim_finding("ends: the cancel of task %s was answered, and it is %.*s", t->id,
                    (int)state.len, state.at);
    if (lives[n].ended == turn && !span_is(state, lives[n].state))
        sim_finding("ends: task %s was %s, and is %.*s", t->id, lives[n].state, (int)state.len,
                    state.at);
    lives[n].ended = turn;
    snprintf(lives[n].state, sizeof lives[n].state, "%.*s", (int)state.len, state.at);
}

bool sim_check_accounts(struct sim_link *l)
{
    static struct sim_burst burst;
    char text[SHOWN];
    sim_burst_clear(&burst);
    sim_burst_add(&burst, SIM_OTHER, "server.audit", 0);
    if (!sim_burst_run(&burst, l))
        return false;
    const struct sim_request *r = &burst.requests[0];
    struct reader balanced = reader_of(sim_member(r->result, "balanced"));
    sim_show(r->result, text, sizeof text);
    if (r->error.len == 0 && read_nil(&balanced)) /* the power went, and the store knows it */
        return true;
    if (r->error.len > 0 || !sim_member_true(r->result, "balanced"))
        sim_finding("accounts: %.*s %s", (int)r->error.len, r->error.at, text);
    return true;
}
