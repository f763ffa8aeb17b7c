#include "server/jobs/core/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/core/history.h"
#include "server/jobs/core/message.h"

void job_list_push(struct job_list *list, struct job *job)
{
    assert(!job->list);
    job->list = list;
    job->prev = list->last;
    job->next = NULL;
    *(list->last ? &list->last->next : &list->first) = job;
    list->last = job;
    list->count++;
}

void job_list_insert(struct job_list *list, struct job *job, struct job *near)
{
    assert(!job->list);
    if (!list->last || list->last->arrival <= job->arrival) {
        job_list_push(list, job);
        return;
    }
    assert(!near || near->list == list);
    struct job *next = near ? near : list->first; /* at the end some job arrived later */
    while (next->arrival <= job->arrival)
        next = next->next;
    while (next->prev && next->prev->arrival > job->arrival)
        next = next->prev;
    job->list = list;
    job->prev = next->prev;
    job->next = next;
    *(next->prev ? &next->prev->next : &list->first) = job;
    next->prev = job;
    list->count++;
}

struct job *job_list_pop(struct job_list *list)
{
    struct job *job = list->first;
    if (job)
        job_list_remove(job);
    return job;
}

void job_list_remove(struct job *job)
{
    struct job_list *list = job->list;
    if (!list)
        return;
    assert(job->prev ? job->prev->next == job : list->first == job);
    *(job->prev ? &job->prev->next : &list->first) = job->next;
    *(job->next ? &job->next->prev : &list->last) = job->prev;
    list->count--;
    job->list = NULL;
    job->prev = job->next = NULL;
}

/* What malloc takes for so many bytes: its header, rounded. */
static size_t held(size_t bytes)
{
    enum { HEADER = 8, GRAIN = 16 };
    return bytes == 0 ? 0 : (bytes + HEADER + GRAIN - 1) / GRAIN * GRAIN;
}

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t more_bytes(const struct job_more *more)
{
    if (!more)
        return 0;
    size_t ids = (size_t)more->after_count + more->after_any_count;
    size_t sum = held(sizeof *more) + held(ids * sizeof *more->after_ids) +
                 held(text_bytes(more->progress_text)) + more->message.size;
    if (more->checkpoint)
        sum += held(blob_size(more->checkpoint));
    if (more->filled)
        sum += held(blob_size(more->filled));
    if (more->trace)
        sum += held(sizeof *more->trace + more->trace->link.state.len);
    if (more->after)
        sum += held(sizeof *more->after + more->after->room * sizeof more->after->of[0]);
    return sum;
}

static size_t end_bytes(const struct job_result *end)
{
    return end ? held(sizeof *end) + held(end->result ? blob_size(end->result) : 0) +
                     held(text_bytes(end->code) + text_bytes(end->text))
               : 0;
}

static size_t body_bytes(uint32_t len)
{
    return len <= JOB_BODY_IN_PLACE ? (size_t)job_cells(len) * JOB_BODY_STEP : held(len);
}

size_t job_bytes(const struct job *job)
{
    return sizeof *job + (size_t)(job_tail(job) - (const uint8_t *)(job + 1)) +
           body_bytes(job->body_len) + more_bytes(job->more) + end_bytes(job->end) +
           history_bytes(job);
}

void job_more_set(struct job_more *more, const struct job_spec *spec)
{
    more->policy = spec->policy;
    more->limit_max = spec->limit;
    more->claim.want = spec->take > 0 ? spec->take : 1;
    more->rate = spec->rate;
    more->rate_per = spec->rate_per;
}

struct job_more *job_more(struct job *job)
{
    struct job_spec plain;
    if (job->more)
        return job->more;
    struct job_policy policy = job_policy(job);
    job->more = malloc(sizeof *job->more);
    job_spec_init(&plain);
    if (!job->more)
        return NULL;
    *job->more = (struct job_more){0};
    job_more_set(job->more, &plain);
    job->more->policy = policy; /* of a message that of its type */
    return job->more;
}

struct job_policy job_policy(const struct job *job)
{
    static const struct job_policy unsaid = JOB_POLICY_UNSAID;
    const struct message *m = job_message(job);
    if (job->more)
        return job->more->policy;
    return m && m->policy ? *m->policy : unsaid;
}

void job_end_text(const struct job *job, char text[JOB_LINE_MAX])
{
    const struct job_result *end = job->end;
    text[0] = '\0';
    if (end && end->code)
        snprintf(text, JOB_LINE_MAX, "%s: %s", end->code, end->text ? end->text : "");
}

void job_result_free(struct job *job)
{
    if (job->end) {
        blob_unref(job->end->result);
        free(job->end->code);
        free(job->end);
    }
    job->end = NULL;
}
