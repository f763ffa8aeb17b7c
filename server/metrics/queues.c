/* The queues of submitted tasks: those with most that is open have series of their own, and all
 * others are summed up. */
#include <stdlib.h>

#include "server/metrics/families.h"
#include "server/metrics/metrics.h"

struct queue_list {
    struct jobs_queue_info *at;
    uint32_t count, room;
};

static uint64_t open_in(const struct jobs_queue_info *q)
{
    uint64_t open = 0;
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++)
        open += job_state_open((enum job_state)i) ? q->by_state[i] : 0;
    return open;
}

static int by_open(const void *a, const void *b)
{
    const struct jobs_queue_info *p = a, *q = b;
    uint64_t x = open_in(p), y = open_in(q);
    if (x != y)
        return x < y ? 1 : -1;
    return (p->submitted < q->submitted) - (p->submitted > q->submitted);
}

static bool add(struct queue_list *list, const struct jobs_queue_info *q)
{
    if (list->count == list->room) {
        uint32_t room = list->room ? list->room * 2 : 64;
        struct jobs_queue_info *at = realloc(list->at, room * sizeof *at);
        if (!at)
            return false;
        list->at = at;
        list->room = room;
    }
    list->at[list->count++] = *q;
    return true;
}

static bool read_all(const struct rpc_shared *s, struct queue_list *list)
{
    struct jobs_queue_info info;
    const struct job_queue *q = NULL;
    while ((q = jobs_queue_info(s->jobs, q, &info)))
        if (!add(list, &info))
            return false;
    return true;
}

/* The last of those that are shown becomes the sum of the others. */
static void sum_up(struct queue_list *list)
{
    enum { LAST = METRICS_METHODS };
    if (list->count <= LAST)
        return;
    struct jobs_queue_info *rest = &list->at[LAST];
    for (uint32_t i = LAST + 1; i < list->count; i++) {
        const struct jobs_queue_info *q = &list->at[i];
        for (unsigned k = 0; k < JOB_STATE_COUNT; k++)
            rest->by_state[k] += q->by_state[k];
        if (q->oldest > 0 && (rest->oldest == 0 || q->oldest < rest->oldest))
            rest->oldest = q->oldest;
    }
    rest->method = "_other";
    rest->paused = rest->draining = false;
    list->count = LAST + 1;
}

static const char *queue_label(char *labels, size_t size, const struct jobs_queue_info *q)
{
    labels[0] = '\0';
    return metrics_label(labels, size, "method", q->method);
}

static void write_states(struct metrics_text *t, const struct queue_list *list)
{
    static const struct metrics_family f = {
        "ergon_queue_tasks", METRICS_GAUGE, NULL,
        "Submitted tasks of the method that are open, by state; of the 200 queues with most, the "
        "others as \"_other\"."};
    char labels[LABELS_MAX];

    metrics_begin(t, &f);
    for (uint32_t i = 0; i < list->count; i++)
        for (unsigned k = 0; k < JOB_STATE_COUNT; k++) {
            if (!job_state_open((enum job_state)k))
                continue;
            queue_label(labels, sizeof labels, &list->at[i]);
            metrics_count(t, &f, metrics_label(labels, sizeof labels, "state", job_state_names[k]),
                          list->at[i].by_state[k]);
        }
}

static void write_oldest(struct metrics_text *t, const struct queue_list *list)
{
    static const struct metrics_family f = {
        "ergon_queue_oldest_seconds", METRICS_GAUGE, "seconds",
        "When the oldest task of the method that is open was submitted, since 1970; none where "
        "none is open."};
    char labels[LABELS_MAX];

    metrics_begin(t, &f);
    for (uint32_t i = 0; i < list->count; i++)
        if (list->at[i].oldest > 0)
            metrics_ns(t, &f, queue_label(labels, sizeof labels, &list->at[i]), list->at[i].oldest);
}

bool write_queues(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family paused = {
        "ergon_queue_paused", METRICS_GAUGE, NULL,
        "1 where the queue of the method is paused or drained, else 0."};
    struct queue_list list = {0};
    char labels[LABELS_MAX];
    bool good = read_all(s, &list);

    if (list.count > 0)
        qsort(list.at, list.count, sizeof *list.at, by_open);
    sum_up(&list);
    write_states(t, &list);
    write_oldest(t, &list);
    metrics_begin(t, &paused);
    for (uint32_t i = 0; i < list.count; i++)
        metrics_count(t, &paused, queue_label(labels, sizeof labels, &list.at[i]),
                      list.at[i].paused || list.at[i].draining);
    free(list.at);
    return good;
}
