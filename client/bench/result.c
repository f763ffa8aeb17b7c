#include "client/bench/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool init_calls(struct load_result *r, uint32_t count)
{
    if (count < 2)
        return true;
    r->calls = calloc(count, sizeof *r->calls);
    if (r->calls == NULL)
        return false;
    for (r->call_count = 0; r->call_count < count; r->call_count++)
        if (!hdr_init(&r->calls[r->call_count].latency))
            return false;
    return true;
}

bool load_result_init(struct load_result *r, uint32_t calls)
{
    *r = (struct load_result){0};
    return hdr_init(&r->latency) && hdr_init(&r->refusal) && hdr_init(&r->accepted) &&
           hdr_init(&r->lag) && hdr_init(&r->opening) && init_calls(r, calls);
}

void load_result_fini(struct load_result *r)
{
    hdr_fini(&r->latency);
    hdr_fini(&r->refusal);
    hdr_fini(&r->accepted);
    hdr_fini(&r->lag);
    hdr_fini(&r->opening);
    series_fini(&r->series);
    for (uint32_t i = 0; i < r->call_count; i++)
        hdr_fini(&r->calls[i].latency);
    free(r->calls);
}

void load_result_note(struct load_result *r, uint32_t call, uint64_t latency_ns, const char *code)
{
    if (code == NULL)
        hdr_add(&r->latency, latency_ns);
    else
        hdr_add(&r->refusal, latency_ns);
    if (code != NULL)
        load_result_add_errors(r, code, 1);
    if (call >= r->call_count)
        return;
    if (code == NULL)
        hdr_add(&r->calls[call].latency, latency_ns);
    else
        r->calls[call].failed++;
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
    hdr_merge(&to->latency, &from->latency);
    hdr_merge(&to->refusal, &from->refusal);
    hdr_merge(&to->accepted, &from->accepted);
    hdr_merge(&to->lag, &from->lag);
    hdr_merge(&to->opening, &from->opening);
    series_merge(&to->series, &from->series);
    to->due += from->due;
    to->held += from->held;
    to->sent += from->sent;
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
    for (uint32_t i = 0; i < to->call_count && i < from->call_count; i++) {
        hdr_merge(&to->calls[i].latency, &from->calls[i].latency);
        to->calls[i].failed += from->calls[i].failed;
    }
    if (from->why[0] != 0)
        memcpy(to->why, from->why, sizeof to->why);
}
