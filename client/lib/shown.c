#include "client/lib/shown.h"

static void fill_text(struct reader *r, char *to, size_t size)
{
    struct span text;
    if (!read_text(r, &text))
        return;
    size_t len = text.len < size ? text.len : size - 1;
    memcpy(to, text.at, len);
    to[len] = 0;
}

static void fill_raw(struct span value, struct ergon_raw *to)
{
    static const uint8_t nil = 0xc0;
    if (value.len != 1 || *value.at != nil)
        *to = (struct ergon_raw){value.at, value.len};
}

static void fill(const struct shown_field *f, struct span value, void *to)
{
    struct reader r = reader_of(value);
    char *at = (char *)to + f->offset;
    switch (f->kind) {
    case SHOWN_TEXT:
        fill_text(&r, at, f->size);
        return;
    case SHOWN_NUMBER:
        read_uint(&r, (uint64_t *)(void *)at);
        return;
    case SHOWN_BOOL:
        read_bool(&r, (bool *)at);
        return;
    case SHOWN_RAW:
        fill_raw(value, (struct ergon_raw *)(void *)at);
        return;
    }
}

/* A key that is no string is an empty one, which no table has. */
static bool read_pair(struct reader *r, struct span *key, struct span *value)
{
    if (!read_text(r, key)) {
        *key = span_of(NULL, 0);
        if (!read_any(r, value))
            return false;
    }
    return read_any(r, value);
}

bool shown_fill(struct ergon_raw value, const struct shown_field *fields, void *to)
{
    struct reader r = reader_of(span_of(value.at, value.len));
    uint32_t pairs;
    struct span key, member;
    if (!read_map(&r, &pairs))
        return false;
    for (; pairs > 0 && read_pair(&r, &key, &member); pairs--)
        for (const struct shown_field *f = fields; f->key != NULL; f++)
            if (span_is(key, f->key))
                fill(f, member, to);
    return true;
}

struct ergon_raw ergon_read_member(struct ergon_raw map, const char *name)
{
    struct reader r = reader_of(span_of(map.at, map.len));
    uint32_t pairs;
    struct span key, member;
    if (read_map(&r, &pairs))
        for (; pairs > 0 && read_pair(&r, &key, &member); pairs--)
            if (span_is(key, name))
                return (struct ergon_raw){member.at, member.len};
    return (struct ergon_raw){NULL, 0};
}

#define FIELD(type, kind, key, member)                                                             \
    {                                                                                              \
        key, kind, offsetof(type, member), sizeof(((type *)0)->member)                             \
    }

/* ---- the answer to a submission ---- */

#define SUBMITTED(kind, member) FIELD(struct ergon_submitted, kind, #member, member)
static const struct shown_field SUBMITTED_FIELDS[] = {
    SUBMITTED(SHOWN_TEXT, id),
    SUBMITTED(SHOWN_TEXT, state),
    SUBMITTED(SHOWN_TEXT, durable),
    SUBMITTED(SHOWN_BOOL, duplicate),
    SUBMITTED(SHOWN_BOOL, coalesced),
    SUBMITTED(SHOWN_TEXT, error),
    {0},
};

bool ergon_read_submitted(struct ergon_raw value, struct ergon_submitted *out)
{
    *out = (struct ergon_submitted){0};
    return shown_fill(value, SUBMITTED_FIELDS, out) && (out->id[0] != 0 || out->error[0] != 0);
}

/* ---- a task ---- */

#define TASK(kind, member) FIELD(struct ergon_task_shown, kind, #member, member)
static const struct shown_field TASK_FIELDS[] = {
    TASK(SHOWN_TEXT, id),        TASK(SHOWN_TEXT, method),     TASK(SHOWN_TEXT, state),
    TASK(SHOWN_TEXT, reason),    TASK(SHOWN_TEXT, tenant),     TASK(SHOWN_TEXT, key),
    TASK(SHOWN_TEXT, durable),   TASK(SHOWN_NUMBER, attempt),  TASK(SHOWN_NUMBER, failures),
    TASK(SHOWN_NUMBER, retries), TASK(SHOWN_NUMBER, crashes),  TASK(SHOWN_NUMBER, priority),
    TASK(SHOWN_NUMBER, created), TASK(SHOWN_NUMBER, due),      TASK(SHOWN_NUMBER, started),
    TASK(SHOWN_NUMBER, ended),   TASK(SHOWN_NUMBER, deadline), TASK(SHOWN_TEXT, error),
    TASK(SHOWN_RAW, result),     TASK(SHOWN_BOOL, cut),        {0},
};

static const struct shown_field PROGRESS_FIELDS[] = {
    FIELD(struct ergon_task_shown, SHOWN_NUMBER, "done", progress_done),
    FIELD(struct ergon_task_shown, SHOWN_NUMBER, "total", progress_total),
    FIELD(struct ergon_task_shown, SHOWN_TEXT, "text", progress_text),
    {0},
};

bool ergon_read_task(struct ergon_raw value, struct ergon_task_shown *out)
{
    *out = (struct ergon_task_shown){0};
    shown_fill(ergon_read_member(value, "progress"), PROGRESS_FIELDS, out);
    return shown_fill(value, TASK_FIELDS, out) && out->id[0] != 0;
}

/* ---- many tasks ---- */

static struct span tasks_of(struct ergon_raw answer)
{
    struct ergon_raw tasks = ergon_read_member(answer, "tasks");
    if (tasks.len == 0)
        tasks = ergon_read_member(answer, "ended");
    return span_of(tasks.at, tasks.len);
}

/* *at counts bytes from the start of the array. */
bool ergon_next_task(struct ergon_raw answer, size_t *at, struct ergon_task_shown *out)
{
    struct span tasks = tasks_of(answer);
    struct reader r = reader_of(tasks);
    struct span one;
    uint32_t count;
    if (!read_array(&r, &count))
        return false;
    if (*at > 0)
        r.at = tasks.at + (*at < tasks.len ? *at : tasks.len);
    if (!read_any(&r, &one))
        return false;
    *at = (size_t)(r.at - tasks.at);
    return ergon_read_task((struct ergon_raw){one.at, one.len}, out);
}

/* ---- an event ---- */

#define EVENT(kind, key, member) FIELD(struct ergon_event, kind, key, member)
const struct shown_field SHOWN_EVENT[] = {
    EVENT(SHOWN_NUMBER, "seq", seq),         EVENT(SHOWN_NUMBER, "at", at),
    EVENT(SHOWN_NUMBER, "attempt", attempt), EVENT(SHOWN_TEXT, "event", name),
    EVENT(SHOWN_TEXT, "reason", reason),     EVENT(SHOWN_TEXT, "text", text),
    EVENT(SHOWN_RAW, "data", data),          {0},
};
