#include "client/bench/result.h"

#include <stdio.h>
#include <string.h>

bool load_result_init(struct load_result *r)
{
    *r = (struct load_result){0};
    return histogram_init(&r->latency) && histogram_init(&r->lag) && histogram_init(&r->opening);
}

void load_result_fini(struct load_result *r)
{
    histogram_fini(&r->latency);
    histogram_fini(&r->lag);
    histogram_fini(&r->opening);
}

void load_result_add_errors(struct load_result *r, const char *code, uint64_t count)
{
    size_t i = 0;
    while (i < r->error_kinds && strcmp(r->errors[i].code, code) != 0)
        i++;
    if (i == LOAD_CODES_MAX)
        i--; /* a server with more codes than that has its rest in the last one */
    if (i == r->error_kinds) {
        snprintf(r->errors[i].code, sizeof r->errors[i].code, "%s", code);
        r->error_kinds++;
    }
    r->errors[i].count += count;
}

void load_result_add(struct load_result *to, const struct load_result *from)
{
    histogram_merge(&to->latency, &from->latency);
    histogram_merge(&to->lag, &from->lag);
    histogram_merge(&to->opening, &from->opening);
    to->due += from->due;
    to->held += from->held;
    to->sent += from->sent;
    to->good += from->good;
    to->lost += from->lost;
    to->churn_due += from->churn_due;
    to->churned += from->churned;
    to->resumed += from->resumed;
    to->broken += from->broken;
    to->bytes_in += from->bytes_in;
    to->bytes_out += from->bytes_out;
    if (from->elapsed_ns > to->elapsed_ns)
        to->elapsed_ns = from->elapsed_ns;
    if (from->busy > to->busy)
        to->busy = from->busy;
    for (size_t i = 0; i < from->error_kinds; i++)
        load_result_add_errors(to, from->errors[i].code, from->errors[i].count);
    if (from->why[0] != 0)
        memcpy(to->why, from->why, sizeof to->why);
}
