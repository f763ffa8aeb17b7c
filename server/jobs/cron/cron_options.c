/* The options of a cron, as a request gives them and as the store keeps them. */
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/cron/cron_options.h"
#include "server/jobs/cron/cron.h"
#include "server/jobs/service/spec_options.h"

static bool read_word(struct reader *r, const char *const *words, uint8_t count, uint8_t *out)
{
    struct reader before = *r;
    struct span name;

    if (!read_text(r, &name))
        return false;
    for (uint8_t i = 0; i < count; i++)
        if (span_is(name, words[i])) {
            *out = i;
            return true;
        }
    *r = before;
    return false;
}

static bool read_overlap(struct reader *r, void *out)
{
    static const char *const words[] = {
        [CRON_SKIP] = "skip", [CRON_ALLOW] = "allow", [CRON_REPLACE] = "replace"};
    return read_word(r, words, 3, out);
}

static bool read_catch_up(struct reader *r, void *out)
{
    static const char *const words[] = {
        [CRON_CATCH_NONE] = "none", [CRON_CATCH_ONE] = "one", [CRON_CATCH_ALL] = "all"};
    return read_word(r, words, 3, out);
}

bool cron_read_options(struct reader *r, struct cron_spec *c, char *error, size_t size)
{
    const struct option own[] = {
        {"zone", option_name, &c->zone, "a name of the time zone database: \"Europe/Berlin\""},
        {"jitter", option_duration, &c->jitter, EXPECTS_DURATION},
        {"catch_up", read_catch_up, &c->catch_up, "\"none\", \"one\" or \"all\""},
        {"overlap", read_overlap, &c->overlap, "\"skip\", \"allow\" or \"replace\""},
    };
    const struct spec_extra more = {own, sizeof own / sizeof own[0]};
    uint64_t *none = NULL;
    struct reader before = *r;
    struct job_spec *t = &c->task;

    if (!spec_read_options(r, t, &none, &more, error, size))
        return false;
    c->options = span_of(before.at, (size_t)(r->at - before.at));
    if (t->delay == 0 && t->at == 0 && t->key.len == 0)
        return true;
    snprintf(error, size, "the tasks of a cron cannot have the options delay, at, key and after");
    return false;
}

bool crons_recover(struct jobs *jobs, const struct store_cron *row)
{
    struct cron_spec spec = {.name = row->name, .schedule = row->schedule, .zone = row->zone};
    struct reader r = reader_of(row->options);
    char error[200];

    job_spec_init(&spec.task);
    spec.task.method = row->method;
    spec.task.params = row->params;
    spec.task.tenant = row->tenant;
    spec.task.durable = DURABLE_FSYNC; /* what it was unless its options say otherwise */
    if (row->options.len > 0 && !cron_read_options(&r, &spec, error, sizeof error))
        return true; /* of a newer server: left in the store as it is */
    return crons_add(jobs, &spec, row);
}
