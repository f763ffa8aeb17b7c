#include "server/jobs/new_limits.h"

#include <string.h>

#include "server/jobs/jobs_parts.h"

static void write_down(struct new_limits *n, const struct jobs_limits *limits)
{
    uint64_t words[NEW_LIMITS_WORDS];

    memcpy(words, limits, sizeof words);
    for (size_t i = 0; i < NEW_LIMITS_WORDS; i++)
        counter_set(&n->words[i], words[i]);
}

static void read_back(const struct new_limits *n, struct jobs_limits *out)
{
    uint64_t words[NEW_LIMITS_WORDS];

    for (size_t i = 0; i < NEW_LIMITS_WORDS; i++)
        words[i] = counter_read(&n->words[i]);
    memcpy(out, words, sizeof words);
}

/* What is kept beyond is forgotten by the jobs' own step. */
static enum ao_verdict take_over(struct ao *self)
{
    struct jobs *jobs = ao_of(self, struct jobs, new_limits.ao);

    read_back(&jobs->new_limits, &jobs->options.settings.limits);
    ao_activate(&jobs->ao);
    return AO_DONE;
}

static const struct ao_class new_limits_class = {.name = "limits of tasks", .step = take_over};

bool new_limits_init(struct jobs *jobs)
{
    struct new_limits *n = &jobs->new_limits;

    write_down(n, &jobs->options.settings.limits);
    ao_init(&n->ao, &new_limits_class, jobs->activator);
    n->handle = ao_handle_new(&n->ao);
    return n->handle != NULL;
}

void new_limits_fini(struct jobs *jobs)
{
    struct new_limits *n = &jobs->new_limits;

    ao_deactivate(&n->ao);
    ao_fini(&n->ao);
    if (n->handle)
        ao_handle_unref(n->handle);
}

void jobs_set_limits(struct jobs *jobs, const struct jobs_limits *limits)
{
    write_down(&jobs->new_limits, limits);
    ao_post(jobs->new_limits.handle, AO_POST_ACTIVATE);
}

void new_limits_show(const struct jobs *jobs, struct jobs_info *out)
{
    read_back(&jobs->new_limits, &out->limits);
}
