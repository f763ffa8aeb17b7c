#include "server/jobs/core/job.h"

#include <assert.h>
#include <string.h>

#include "server/jobs/core/history.h"

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

void job_list_push_front(struct job_list *list, struct job *job)
{
    assert(!job->list);
    job->list = list;
    job->prev = NULL;
    job->next = list->first;
    *(list->first ? &list->first->prev : &list->last) = job;
    list->first = job;
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
    size_t sum = held(sizeof *more) + held(more->after_count * sizeof *more->after_ids) +
                 held(text_bytes(more->progress_text));
    for (const struct dependency *edge = more->after; edge; edge = edge->next_of_waits)
        sum += held(sizeof *edge);
    return sum;
}

static size_t end_bytes(const struct job_result *end)
{
    return end ? held(sizeof *end) + held(end->result ? end->result_len : 0) +
                     held(text_bytes(end->code) + text_bytes(end->text))
               : 0;
}

static size_t body_bytes(uint32_t len)
{
    return len <= JOB_BODY_IN_PLACE ? (size_t)job_cells(len) * JOB_BODY_STEP : held(len);
}

size_t job_bytes(const struct job *job)
{
    return sizeof *job + body_bytes(job->body_len) + more_bytes(job->more) + end_bytes(job->end) +
           history_bytes(job);
}
