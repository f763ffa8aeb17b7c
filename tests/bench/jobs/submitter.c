#include "tests/bench/jobs/submitter.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct operation *next_batch(struct submitter *s)
{
    struct operation *op = operation_new(NULL, &operation_task_submit_many);
    size_t size = BATCH * (sizeof(struct job_spec) + PARAMS);
    struct job_spec *specs = op ? (op->memory = block_new(size)).at : NULL;
    if (!specs)
        abort();
    memset(specs, 0, size);
    uint8_t *params = (uint8_t *)(specs + BATCH);
    op->submission.specs = specs;
    for (; op->submission.count < BATCH && s->made < s->of; s->made++, params += PARAMS) {
        struct job_spec *spec = &specs[op->submission.count++];
        job_spec_init(spec);
        spec->params = span_of(params, PARAMS);
        s->fill(s, spec, params);
    }
    return op;
}

static enum ao_verdict submit_some(struct ao *self)
{
    struct submitter *s = ao_of(self, struct submitter, ao);
    for (; s->in_flight < s->batches_max && s->made < s->of; s->in_flight++)
        channel_give(s->channel, next_batch(s));
    return AO_DONE;
}

static void answered(void *arg, struct operation *op)
{
    struct submitter *s = arg;
    s->in_flight--;
    for (uint32_t i = 0; i < op->submission.count; i++)
        s->refused += !op->submission.outcomes || op->submission.outcomes[i].error != ERGON_OK;
    operation_free(op);
    if (s->made < s->of)
        ao_activate(&s->ao);
    else if (s->in_flight == 0)
        activator_stop(s->loop);
}

static void pushed(void *arg, struct operation *op)
{
}

bool submitter_start(struct submitter *s, struct jobs *jobs, struct activator *loop)
{
    const struct channel_port port = {.answered = answered, .pushed = pushed, .arg = s};
    static const struct ao_class class = {.name = "submitter", .step = submit_some};
    s->loop = loop;
    s->channel = channel_open(jobs, loop, &port);
    ao_init(&s->ao, &class, loop);
    ao_activate(&s->ao);
    return s->channel != NULL;
}

void submitter_end(struct submitter *s)
{
    ao_deactivate(&s->ao);
    ao_fini(&s->ao);
}

double resident_bytes(void)
{
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void no_call_ended(void *arg, struct call *call, struct outcome *outcome)
{
}
