#include "client/lib/decode.h"

#include <ergon/client_actors.h>

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

static void fill(const struct decode_field *f, struct span value, void *to)
{
    struct reader r = reader_of(value);
    char *at = (char *)to + f->offset;
    switch (f->kind) {
    case DECODE_TEXT:
        fill_text(&r, at, f->size);
        return;
    case DECODE_NUMBER:
        read_uint(&r, (uint64_t *)(void *)at);
        return;
    case DECODE_BOOL:
        read_bool(&r, (bool *)at);
        return;
    case DECODE_RAW:
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

bool decode_map(struct ergon_raw value, const struct decode_field *fields, void *to)
{
    struct reader r = reader_of(span_of(value.at, value.len));
    uint32_t pairs;
    struct span key, member;
    if (!read_map(&r, &pairs))
        return false;
    for (; pairs > 0 && read_pair(&r, &key, &member); pairs--)
        for (const struct decode_field *f = fields; f->key != NULL; f++)
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
static const struct decode_field SUBMITTED_FIELDS[] = {
    SUBMITTED(DECODE_TEXT, id),
    SUBMITTED(DECODE_TEXT, state),
    SUBMITTED(DECODE_TEXT, durable),
    SUBMITTED(DECODE_BOOL, duplicate),
    SUBMITTED(DECODE_BOOL, coalesced),
    SUBMITTED(DECODE_TEXT, error),
    {0},
};

bool ergon_read_submitted(struct ergon_raw value, struct ergon_submitted *out)
{
    *out = (struct ergon_submitted){0};
    return decode_map(value, SUBMITTED_FIELDS, out) && (out->id[0] != 0 || out->error[0] != 0);
}

/* ---- a task ---- */

#define TASK(kind, member) FIELD(struct ergon_task_shown, kind, #member, member)
static const struct decode_field TASK_FIELDS[] = {
    TASK(DECODE_TEXT, id),
    TASK(DECODE_TEXT, method),
    TASK(DECODE_TEXT, state),
    TASK(DECODE_TEXT, reason),
    TASK(DECODE_TEXT, tenant),
    TASK(DECODE_TEXT, key),
    TASK(DECODE_TEXT, durable),
    TASK(DECODE_NUMBER, attempt),
    TASK(DECODE_NUMBER, failures),
    TASK(DECODE_NUMBER, retries),
    TASK(DECODE_NUMBER, crashes),
    TASK(DECODE_NUMBER, priority),
    TASK(DECODE_NUMBER, created),
    TASK(DECODE_NUMBER, due),
    TASK(DECODE_NUMBER, started),
    TASK(DECODE_NUMBER, ended),
    TASK(DECODE_NUMBER, deadline),
    TASK(DECODE_TEXT, error),
    TASK(DECODE_RAW, result),
    TASK(DECODE_BOOL, cut),
    TASK(DECODE_BOOL, result_hidden),
    TASK(DECODE_RAW, params),
    TASK(DECODE_TEXT, params_text),
    TASK(DECODE_NUMBER, params_size),
    TASK(DECODE_TEXT, params_hidden),
    TASK(DECODE_RAW, options),
    {0},
};

static const struct decode_field PROGRESS_FIELDS[] = {
    FIELD(struct ergon_task_shown, DECODE_NUMBER, "done", progress_done),
    FIELD(struct ergon_task_shown, DECODE_NUMBER, "total", progress_total),
    FIELD(struct ergon_task_shown, DECODE_TEXT, "text", progress_text),
    {0},
};

bool ergon_read_task(struct ergon_raw value, struct ergon_task_shown *out)
{
    *out = (struct ergon_task_shown){0};
    decode_map(ergon_read_member(value, "progress"), PROGRESS_FIELDS, out);
    return decode_map(value, TASK_FIELDS, out) && out->id[0] != 0;
}

/* ---- many tasks ---- */

static struct span tasks_of(struct ergon_raw answer)
{
    struct ergon_raw tasks = ergon_read_member(answer, "tasks");
    if (tasks.len == 0)
        tasks = ergon_read_member(answer, "ended");
    return span_of(tasks.at, tasks.len);
}

/* The next of a list; *at counts bytes from its start. */
static bool next_of(struct span list, size_t *at, struct ergon_raw *out)
{
    struct reader r = reader_of(list);
    struct span one;
    uint32_t count;
    if (!read_array(&r, &count))
        return false;
    if (*at > 0)
        r.at = list.at + (*at < list.len ? *at : list.len);
    if (!read_any(&r, &one))
        return false;
    *at = (size_t)(r.at - list.at);
    *out = (struct ergon_raw){one.at, one.len};
    return true;
}

bool ergon_next_task(struct ergon_raw answer, size_t *at, struct ergon_task_shown *out)
{
    struct ergon_raw one;
    return next_of(tasks_of(answer), at, &one) && ergon_read_task(one, out);
}

/* ---- actors ---- */

#define ACTOR(kind, key, member) FIELD(struct ergon_actor_shown, kind, key, member)
static const struct decode_field ACTOR_FIELDS[] = {
    ACTOR(DECODE_TEXT, "actor", actor),
    ACTOR(DECODE_TEXT, "tenant", tenant),
    ACTOR(DECODE_TEXT, "stage", stage),
    ACTOR(DECODE_NUMBER, "next", next),
    ACTOR(DECODE_NUMBER, "version", version),
    ACTOR(DECODE_NUMBER, "schema", schema),
    ACTOR(DECODE_TEXT, "durable", durable),
    ACTOR(DECODE_NUMBER, "waiting", waiting),
    ACTOR(DECODE_NUMBER, "oldest", oldest),
    ACTOR(DECODE_NUMBER, "failures", failures),
    ACTOR(DECODE_TEXT, "stopped", stopped),
    ACTOR(DECODE_RAW, "state", state),
    ACTOR(DECODE_BOOL, "state_hidden", state_hidden),
    ACTOR(DECODE_TEXT, "reason", reason),
    ACTOR(DECODE_TEXT, "text", text),
    ACTOR(DECODE_BOOL, "resident", resident),
    {0},
};

static const struct decode_field TURN_FIELDS[] = {
    ACTOR(DECODE_TEXT, "id", turn_id),
    ACTOR(DECODE_TEXT, "method", turn_method),
    ACTOR(DECODE_NUMBER, "attempt", turn_attempt),
    ACTOR(DECODE_NUMBER, "started", turn_started),
    {0},
};

#define VERSION(kind, key, member) FIELD(struct ergon_actor_version, kind, key, member)
static const struct decode_field VERSION_FIELDS[] = {
    VERSION(DECODE_NUMBER, "version", version),         VERSION(DECODE_TEXT, "stage", stage),
    VERSION(DECODE_BOOL, "timeout", timeout),           VERSION(DECODE_RAW, "state", state),
    VERSION(DECODE_BOOL, "state_hidden", state_hidden), {0},
};

#define TYPE(kind, key, member) FIELD(struct ergon_actor_type_shown, kind, key, member)
static const struct decode_field TYPE_FIELDS[] = {
    TYPE(DECODE_TEXT, "type", type),
    TYPE(DECODE_NUMBER, "schema", schema),
    TYPE(DECODE_BOOL, "steps", steps),
    TYPE(DECODE_BOOL, "pipeline", pipeline),
    TYPE(DECODE_TEXT, "durable", durable),
    TYPE(DECODE_NUMBER, "actors", actors),
    TYPE(DECODE_NUMBER, "active", active),
    TYPE(DECODE_NUMBER, "stopped", stopped),
    TYPE(DECODE_TEXT, "on_failure", on_failure),
    TYPE(DECODE_NUMBER, "intensity", intensity),
    TYPE(DECODE_NUMBER, "window", window_ms),
    TYPE(DECODE_TEXT, "supervisor", supervisor),
    {0},
};

bool ergon_read_actor(struct ergon_raw value, struct ergon_actor_shown *out)
{
    *out = (struct ergon_actor_shown){0};
    decode_map(ergon_read_member(value, "turn"), TURN_FIELDS, out);
    return decode_map(value, ACTOR_FIELDS, out) && out->actor[0] != 0;
}

bool ergon_read_actor_version(struct ergon_raw value, struct ergon_actor_version *out)
{
    *out = (struct ergon_actor_version){0};
    return decode_map(value, VERSION_FIELDS, out) && out->stage[0] != 0;
}

bool ergon_next_actor(struct ergon_raw answer, size_t *at, struct ergon_actor_shown *out)
{
    struct ergon_raw actors = ergon_read_member(answer, "actors"), one;
    return next_of(span_of(actors.at, actors.len), at, &one) && ergon_read_actor(one, out);
}

bool ergon_next_actor_type(struct ergon_raw answer, size_t *at, struct ergon_actor_type_shown *out)
{
    struct ergon_raw one;
    *out = (struct ergon_actor_type_shown){0};
    return next_of(span_of(answer.at, answer.len), at, &one) && decode_map(one, TYPE_FIELDS, out) &&
           out->type[0] != 0;
}

/* ---- an event ---- */

#define EVENT(kind, key, member) FIELD(struct ergon_event, kind, key, member)
const struct decode_field DECODE_EVENT[] = {
    EVENT(DECODE_NUMBER, "seq", seq),
    EVENT(DECODE_NUMBER, "at", at),
    EVENT(DECODE_NUMBER, "attempt", attempt),
    EVENT(DECODE_TEXT, "event", name),
    EVENT(DECODE_TEXT, "reason", reason),
    EVENT(DECODE_TEXT, "text", text),
    EVENT(DECODE_RAW, "data", data),
    EVENT(DECODE_RAW, "traceback", traceback),
    {0},
};
