#include "server/jobs/batches/calls.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "proto/job_options.h"
#include "proto/reader.h"
#include "server/jobs/accessors.h"
#include "server/jobs/batches/batch_rows.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs.h"
#include "server/jobs/life/submit.h"
#include "server/jobs/persist/journal.h"

enum { SEND_WORK = 20 /* of each; see jobs_worked() */ };

static const ao_time again_after = AO_S(1);

/* --- What they are --- */

struct call_parts {
    struct span method, params, options;
};

static bool take_apart(struct span raw, struct call_parts *out)
{
    struct reader r = reader_of(raw);
    uint32_t count;
    *out = (struct call_parts){.params = span_text("\xc0")};
    return read_array(&r, &count) && count >= 1 && count <= 3 && read_text(&r, &out->method) &&
           (count < 2 || read_any(&r, &out->params)) && (count < 3 || read_any(&r, &out->options));
}

struct span calls_method(struct span raw)
{
    struct call_parts call;
    return raw.len > 0 && take_apart(raw, &call) ? call.method : (struct span){0};
}

/* --- Submitted --- */

/* One of a durable batch begins when the row of the batch is on disk. */
static void set_durable(const struct batch *b, struct job_spec *spec)
{
    bool said = spec->said & 1u << JOB_OPTION_durable;
    if (b->durable == DURABLE_NONE) {
        spec->durable = said ? spec->durable : DURABLE_NONE;
        return;
    }
    uint8_t least = b->durable > DURABLE_FSYNC ? b->durable : DURABLE_FSYNC;
    spec->durable = said && spec->durable > least ? spec->durable : least;
}

static bool spec_of(const struct batch *b, enum batch_call which, struct job_spec *spec,
                    struct refusal *why)
{
    const struct jobs_options *o = jobs_options(b->jobs);
    struct call_parts call;
    *spec = (struct job_spec){JOB_SPEC_DEFAULTS, .inner = true};
    why->error = ERGON_E_BAD_PARAMS;
    if (!take_apart(b->calls[which], &call))
        return refusal_set(why, ERGON_E_BAD_PARAMS, "it is no call");
    spec->method = call.method;
    spec->params = call.params;
    if (call.options.len > 0 &&
        (!o->read_turn_options ||
         !o->read_turn_options(call.options, spec, why->text, sizeof why->text)))
        return false;
    spec->tenant = b->tenant->name;
    set_durable(b, spec);
    return true;
}

static void hold(struct batch *b, enum batch_call which, const struct submitted *done)
{
    bool is_new = !done->duplicate && !done->coalesced;
    if (b->durable == DURABLE_NONE || !is_new)
        return;
    assert(durable_is_awaited(done->job->durable));
    journal_hold(b->jobs, done->job);
    b->held[which] = done->job;
}

static bool submit(struct batch *b, enum batch_call which, struct refusal *why)
{
    struct job_spec spec;
    struct submitted done;
    if (!spec_of(b, which, &spec, why))
        return false;
    jobs_worked(b->jobs, SEND_WORK);
    why->error = job_submit(b->jobs, &spec, NULL, &done, why->text, sizeof why->text);
    if (why->error != ERGON_OK)
        return false;
    if (done.hardens)
        job_joined(done.job, &spec);
    batch_set_sent(b, which, done.job->id);
    hold(b, which, &done);
    return true;
}

/* --- What refused it --- */

static void log_trouble(const struct batch *b, enum batch_call which, const struct refusal *why)
{
    char id[ID_TEXT_SIZE];
    log_warn("what a batch submits was refused; it is tried again",
             LOG_STR("batch", id_batch_text(b->by_id.hash, id)),
             LOG_STR("call", batch_call_names[which]), LOG_STR("why", why->text));
}

static void try_again(struct batch *b, enum batch_call which, const struct refusal *why)
{
    if (!b->trouble) {
        log_trouble(b, which, why);
        b->trouble = malloc(sizeof *b->trouble);
    }
    if (b->trouble)
        *b->trouble = *why;
    ao_deactivate(&b->timer);
    ao_sleep_until(&b->timer, table_time_after(jobs_table(b->jobs), again_after));
}

/* --- When --- */

static bool is_due(const struct batch *b, enum batch_call which)
{
    switch (which) {
    case BATCH_ON_SUCCESS:
        return batch_is_frozen(b) && batch_outcome(b) == JOB_DONE;
    case BATCH_ON_FAILURE:
        return !b->cancelled && batch_failures(b) > 0;
    case BATCH_ON_END:
        return batch_is_frozen(b);
    case BATCH_CALL_COUNT:
        break;
    }
    return false;
}

/* False: one was refused. */
static bool send_due(struct batch *b, bool *sent)
{
    for (enum batch_call which = 0; which < BATCH_CALL_COUNT; which++) {
        struct refusal why;
        if (b->calls[which].len == 0 || batch_sent(b, which) > 0 || !is_due(b, which))
            continue;
        if (!submit(b, which, &why)) {
            try_again(b, which, &why);
            return false;
        }
        *sent = true;
    }
    free(b->trouble);
    b->trouble = NULL;
    return true;
}

void calls_settle(struct batch *b)
{
    bool sent = false, ends;
    if (b->state == BATCH_ENDED || b->ended_at > 0 || b->arrives)
        return;
    if ((b->state == BATCH_CLOSED || b->state == BATCH_CANCELLING) && b->open == 0)
        batch_set_state(b, BATCH_ENDING);
    ends = send_due(b, &sent) && b->state == BATCH_ENDING;
    if (ends)
        b->ended_at = table_wall(jobs_table(b->jobs));
    if (b->durable != DURABLE_NONE && (sent || ends))
        batch_rows_write(b, NULL);
    else if (ends)
        batch_over(b);
}
