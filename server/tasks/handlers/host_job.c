/* What a handler may ask and say of a task that lasts; of a plain call most of it is nothing. */
#include "proto/reader.h"
#include "base/utf8.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/shared.h"
#include "server/tasks/task_result.h"

static struct attempt *attempt_of(const struct ergon_task *task)
{
    const struct task *t = (const struct task *)task;
    return task_is(t, TASK_ATTEMPT) ? t->attempt : NULL;
}

static bool host_task_id(struct ergon_task *task, char *buf)
{
    const struct attempt *attempt = attempt_of(task);
    buf[0] = '\0';
    if (attempt)
        task_of(task)->executor->shared->source.name(attempt->id, buf);
    return attempt != NULL;
}

static uint32_t host_attempt(struct ergon_task *task)
{
    const struct attempt *attempt = attempt_of(task);
    return attempt ? attempt->attempt : 1;
}

static bool host_progress(struct ergon_task *task, uint64_t done, uint64_t total, const char *text)
{
    uint8_t clean[TASK_TEXT_MAX];
    size_t len = text ? utf8_clean(clean, sizeof clean, span_text(text)) : 0;
    const struct attempt_note note = {.done = done, .total = total, .text = span_of(clean, len)};
    return !attempt_of(task) || attempt_post(task_of(task), &note);
}

static bool is_one_value(struct span raw)
{
    struct reader r = reader_of(raw);
    struct span value;
    return read_any(&r, &value) && value.len == raw.len;
}

static bool host_partial(struct ergon_task *task, const void *value, size_t len)
{
    const struct attempt_note note = {.partial = true, .data = span_of(value, len)};
    if (!is_one_value(note.data))
        return false;
    return !attempt_of(task) || attempt_post(task_of(task), &note);
}

static void host_again(struct ergon_task *task, uint64_t ns)
{
    task_run_again(task_of(task), ns);
}

void host_fill_jobs(struct ergon_host *host)
{
    host->task_id = host_task_id;
    host->attempt = host_attempt;
    host->progress = host_progress;
    host->partial = host_partial;
    host->again = host_again;
}
