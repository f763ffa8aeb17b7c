#include "sim/user/expect.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "server/jobs/core/states.h"
#include "sim/user/effects.h"
#include "sim/user/report.h"
#include "sim/user/tasks.h"

/* --- Reading --- */

static const struct {
    enum sim_expect_kind kind;
    const char *words; /* the user writes a name in place of a word in <> */
} forms[] = {
    {SIM_EXPECT_ENDS, "every task of <method> ends within <duration> of calm"},
    {SIM_EXPECT_NO_TASK, "no task of <method> is <state>"},
    {SIM_EXPECT_ONCE, "effect <effect> happens once for each <sequence>"},
    {SIM_EXPECT_AT_MOST_ONCE, "effect <effect> happens at most once for each <sequence>"},
    {SIM_EXPECT_IN_ORDER, "effect <effect> happens in order of <sequence>"},
};
enum { FORMS = sizeof forms / sizeof *forms };

static struct span next_word(const char **at)
{
    *at += strspn(*at, " ");
    struct span word = span_of(*at, strcspn(*at, " "));
    *at += word.len;
    return word;
}

static bool copy(struct span from, char *to, size_t size)
{
    snprintf(to, size, "%.*s", (int)from.len, from.at);
    return from.len > 0 && from.len < size;
}

static bool is_state(struct span word)
{
    for (uint32_t n = 0; n < JOB_STATE_COUNT; n++)
        if (span_is(word, job_state_names[n]))
            return true;
    return false;
}

static bool take(struct sim_expect *e, struct span name, struct span word)
{
    if (span_is(name, "<method>"))
        return copy(word, e->method, sizeof e->method);
    if (span_is(name, "<state>"))
        return is_state(word) && copy(word, e->state, sizeof e->state);
    if (span_is(name, "<effect>"))
        return copy(word, e->effect, sizeof e->effect);
    if (span_is(name, "<sequence>"))
        return copy(word, e->sequence, sizeof e->sequence);
    if (span_is(name, "<duration>"))
        return units_duration(word, &e->within) && e->within > 0;
    return word.len == name.len && memcmp(word.at, name.at, name.len) == 0;
}

static bool matches(const char *words, const char *text, struct sim_expect *e)
{
    struct span name, word;
    do {
        name = next_word(&words);
        word = next_word(&text);
    } while (name.len > 0 && word.len > 0 && take(e, name, word));
    return name.len == 0 && word.len == 0;
}

const char *sim_expect_read(const char *text, struct sim_expect *e)
{
    for (int n = 0; n < FORMS; n++) {
        *e = (struct sim_expect){.kind = forms[n].kind, .text = text};
        if (matches(forms[n].words, text, e))
            return NULL;
    }
    return "this sentence is not known; there are:\n"
           "  every task of orders.* ends within 1h of calm\n"
           "  no task of orders.* is dead\n"
           "  effect charge happens once for each order\n"
           "  effect charge happens at most once for each order\n"
           "  effect charge happens in order of order";
}

/* --- Of tasks --- */

static bool is_meant(const struct sim_expect *e, const struct sim_user_task *t)
{
    return *t->id && fnmatch(e->method, t->method, 0) == 0;
}

static void check_ends(const struct sim_expect *e)
{
    for (uint32_t n = 0; n < sim_user_task_count; n++) {
        const struct sim_user_task *t = sim_user_tasks[n];
        if (is_meant(e, t) && !t->ended)
            sim_report(e, t, NULL, "task %s of %s has not ended; it is %s", t->id, t->method,
                       t->state);
    }
}

static void check_state(const struct sim_expect *e)
{
    for (uint32_t n = 0; n < sim_user_task_count; n++) {
        const struct sim_user_task *t = sim_user_tasks[n];
        if (is_meant(e, t) && strcmp(t->state, e->state) == 0)
            sim_report(e, t, NULL, "task %s of %s is %s%s%s", t->id, t->method, t->state,
                       *t->error ? ": " : "", t->error);
    }
}

/* --- Of effects --- */

/* The task that has the number of this effect; or else the one that reported it, if it is known. */
static const struct sim_user_task *task_of(const char *sequence, const struct sim_effect *f)
{
    for (uint32_t n = 0; n < sim_user_task_count; n++)
        if (sim_seq_of(&sim_user_tasks[n]->seqs, sequence) == f->key)
            return sim_user_tasks[n];
    for (uint32_t n = 0; *f->task && n < sim_user_task_count; n++)
        if (strcmp(sim_user_tasks[n]->id, f->task) == 0)
            return sim_user_tasks[n];
    return NULL;
}

static void check_more_than_once(const struct sim_expect *e)
{
    for (uint32_t n = 0; n < sim_effect_count; n++) {
        const struct sim_effect *f = &sim_effects[n];
        if (strcmp(f->name, e->effect) == 0 && f->times_before > 0)
            sim_report(e, task_of(e->sequence, f), f,
                       "%s happened %" PRIu32 " times for %s %" PRIu64, e->effect,
                       sim_effect_times(e->effect, f->key), e->sequence, f->key);
    }
}

static void check_never(const struct sim_expect *e)
{
    for (uint32_t n = 0; n < sim_user_task_count; n++) {
        const struct sim_user_task *t = sim_user_tasks[n];
        uint64_t number = sim_seq_of(&t->seqs, e->sequence);
        if (number > 0 && strcmp(t->state, "done") == 0 && sim_effect_times(e->effect, number) == 0)
            sim_report(e, t, NULL, "%s never happened for %s %" PRIu64 ", and its task is done",
                       e->effect, e->sequence, number);
    }
}

static void check_order(const struct sim_expect *e)
{
    uint64_t last = 0;
    for (uint32_t n = 0; n < sim_effect_count; n++) {
        const struct sim_effect *f = &sim_effects[n];
        if (strcmp(f->name, e->effect) != 0 || f->times_before > 0)
            continue;
        if (f->key < last)
            sim_report(e, task_of(e->sequence, f), f,
                       "%s happened for %s %" PRIu64 " after it had for %" PRIu64, e->effect,
                       e->sequence, f->key, last);
        last = f->key;
    }
}

void sim_expect_check(const struct sim_expect *e)
{
    switch (e->kind) {
    case SIM_EXPECT_ENDS:
        check_ends(e);
        break;
    case SIM_EXPECT_NO_TASK:
        check_state(e);
        break;
    case SIM_EXPECT_ONCE:
        check_more_than_once(e);
        check_never(e);
        break;
    case SIM_EXPECT_AT_MOST_ONCE:
        check_more_than_once(e);
        break;
    case SIM_EXPECT_IN_ORDER:
        check_order(e);
        break;
    }
}
