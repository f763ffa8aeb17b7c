#include "server/tasks/turn_messages.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "proto/encoder.h"
#include "proto/envelope.h"
#include "proto/pack.h"
#include "proto/reader.h"
#include "proto/job_options.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/reminder_times.h"

void turn_messages_drop(struct turn_messages *messages)
{
    for (struct turn_message *next; messages->first; messages->first = next) {
        next = messages->first->next;
        free(messages->first);
    }
    *messages = (struct turn_messages){0};
}

/* --- One --- */

static const char *fault_of_reminder(const struct turn_messages *all,
                                     const struct turn_message_parts *p)
{
    if (!utf8_is_name(p->reminder, JOB_NAME_MAX))
        return "a reminder has a name of 1 to 256 bytes of UTF-8 without U+0000";
    for (const struct turn_message *m = all->first; m; m = m->next)
        if (span_equal(m->reminder, p->reminder))
            return "a turn puts or forgets a reminder once";
    if (p->method.len > 0 && !utf8_is_name(p->method, ACTOR_METHOD_MAX - p->type.len - 1))
        return "the name of the method is too long, or no UTF-8";
    return NULL;
}

static const char *fault_of(const struct turn_message_parts *p, struct span type)
{
    size_t max = p->to.len > 0 ? ACTOR_METHOD_MAX - type.len - 1 : METHOD_NAME_MAX;
    if (p->to.len > 0 &&
        (type.len == 0 || type.len >= ACTOR_METHOD_MAX - 1 || !utf8_is_name(p->to, ACTOR_NAME_MAX)))
        return "an actor has a name TYPE/KEY of at most 200 bytes of UTF-8 without U+0000";
    if (!utf8_is_name(p->method, max))
        return "the name of the method is empty or too long, or no UTF-8";
    return NULL;
}

static const char *room_for(const struct turn_messages *all, size_t bytes)
{
    if (all->count >= TURN_MESSAGES_MAX)
        return "a turn or an attempt sends at most 100 messages and tasks";
    if (bytes > TURN_MESSAGES_BYTES - all->bytes)
        return "the messages and tasks of a turn or an attempt have at most 1 MiB";
    return NULL;
}

static struct turn_message *make(const struct turn_message_parts *p, struct span type, size_t bytes)
{
    const struct span nothing = span_text("\x90"), params = p->params.len > 0 ? p->params : nothing;
    struct turn_message *m = malloc(sizeof *m + bytes);
    uint8_t *at = (uint8_t *)(m + 1);
    if (!m)
        return NULL;
    *m = (struct turn_message){.to = span_put(p->to, &at),
                               .reminder = span_put(p->reminder, &at),
                               .in = p->in,
                               .every = p->every,
                               .at = p->at};
    m->method = span_of(at, p->method.len);
    if (type.len > 0 && p->method.len > 0) {
        m->method.len += type.len + 1;
        span_put(type, &at);
        *at++ = '.';
    }
    span_put(p->method, &at);
    m->params = span_put(params, &at);
    m->options = span_put(p->options, &at);
    return m;
}

const char *turn_messages_add(struct turn_messages *all, const struct turn_message_parts *parts)
{
    bool is_reminder = parts->type.len > 0;
    struct span type = is_reminder ? parts->type : actor_type_of_name(parts->to);
    size_t bytes = parts->to.len + parts->reminder.len + type.len + 1 + parts->method.len +
                   parts->params.len + 1 + parts->options.len;
    const char *wrong = is_reminder ? fault_of_reminder(all, parts) : fault_of(parts, type);
    if (!wrong)
        wrong = room_for(all, bytes);
    if (wrong)
        return wrong;
    struct turn_message *m = make(parts, type, bytes);
    if (!m)
        return "there is no memory for the message";
    *(all->last ? &all->last->next : &all->first) = m;
    all->last = m;
    all->count++;
    all->bytes += (uint32_t)bytes;
    return NULL;
}

void turn_message_pack(const struct turn_message *m, struct pack *p)
{
    bool tells = m->to.len > 0;
    size_t type = tells ? actor_type_of_name(m->to).len + 1 : 0; /* a message is named without */
    pack_map(p, 1);
    pack_str(p, tells ? "tell" : "task");
    pack_array(p, 1);
    pack_array(p, tells ? 4 : 3);
    if (tells)
        pack_span(p, m->to);
    pack_span(p, span_behind(m->method, type));
    pack_raw(p, m->params);
    if (m->options.len > 0)
        pack_raw(p, m->options);
    else
        pack_nil(p);
}

/* --- As arrays --- */

struct reading {
    struct turn_messages *all;
    struct span type; /* of the actor */
    char text[160];
};

static bool is_options(struct span raw)
{
    struct reader r = reader_of(raw);
    uint32_t pairs;
    return raw.len == 0 || read_nil(&r) || read_map(&r, &pairs);
}

static const char *read_one(struct turn_messages *all, struct reader *r, bool tells)
{
    struct turn_message_parts p = {0};
    uint32_t count, least = tells ? 2 : 1;
    if (!read_array(r, &count) || count < least || count > least + 2 ||
        (tells && (!read_text(r, &p.to) || p.to.len == 0)) || !read_text(r, &p.method) ||
        (count > least && !read_any(r, &p.params)) ||
        (count > least + 1 && !read_any(r, &p.options)) || !is_options(p.options))
        return tells ? "expected [actor, method, params, {options}]"
                     : "expected [method, params, {options}]";
    return turn_messages_add(all, &p);
}

static const char *read_tell(struct reading *to, struct reader *r)
{
    return read_one(to->all, r, true);
}

static const char *read_task(struct reading *to, struct reader *r)
{
    return read_one(to->all, r, false);
}

static const char *read_remind(struct reading *to, struct reader *r)
{
    struct turn_message_parts p = {.type = to->type};
    struct reminder_times times;
    struct span raw;
    uint32_t count;
    if (!read_array(r, &count) || count != 4 || !read_text(r, &p.reminder) ||
        !read_text(r, &p.method) || p.method.len == 0 || !read_any(r, &p.params) ||
        !read_any(r, &raw))
        return "expected [name, method, [params], {in or at, every}]";
    struct reader options = reader_of(raw);
    if (!reminder_times_read(&options, &times, NULL, to->text, sizeof to->text))
        return to->text;
    p.in = times.in;
    p.at = times.at;
    p.every = times.every;
    return turn_messages_add(to->all, &p);
}

static const char *read_forget(struct reading *to, struct reader *r)
{
    struct turn_message_parts p = {.type = to->type};
    return read_text(r, &p.reminder) ? turn_messages_add(to->all, &p)
                                     : "expected the name of a reminder";
}

static bool read_all(struct reading *to, const char *name, struct span raw,
                     const char *(*read)(struct reading *to, struct reader *r), char *error,
                     size_t size)
{
    struct reader r = reader_of(raw);
    const char *wrong = NULL;
    uint32_t count = 0;
    if (raw.len > 0 && !read_array(&r, &count)) {
        snprintf(error, size, "option \"%s\" must be an array%s", name,
                 read == read_forget ? " of names" : " of arrays");
        return false;
    }
    for (uint32_t i = 0; i < count && !wrong; i++) {
        wrong = read(to, &r);
        if (wrong)
            snprintf(error, size, "`%s`, entry %u: %s", name, (unsigned)i + 1, wrong);
    }
    return !wrong;
}

bool turn_messages_read(struct turn_messages *all, const struct turn_messages_raw *raw,
                        struct span type, char *error, size_t size)
{
    struct reading to = {.all = all, .type = type};
    return read_all(&to, "tell", raw->tell, read_tell, error, size) &&
           read_all(&to, "task", raw->task, read_task, error, size) &&
           read_all(&to, "remind", raw->remind, read_remind, error, size) &&
           read_all(&to, "forget", raw->forget, read_forget, error, size);
}

/* --- Calls --- */

enum { CALL_MEMBERS = 6 };

static uint8_t *put(uint8_t *p, struct span raw, uint8_t otherwise)
{
    if (raw.len > 0)
        return (uint8_t *)memcpy(p, raw.at, raw.len) + raw.len;
    *p = otherwise;
    return p + 1;
}

uint8_t *turn_call_pack(const struct turn_call *call, size_t *len)
{
    size_t size = call->to.len + call->params.len + call->options.len + CALL_MEMBERS * ENC_INT_MAX +
                  2 * ENC_HEAD_MAX;
    uint8_t *raw = malloc(size);
    if (!raw)
        return NULL;
    uint8_t *p = enc_str(enc_array(raw, CALL_MEMBERS), call->to);
    p = put(put(p, call->params, 0x90), call->options, 0xc0);
    p = enc_uint(enc_uint(enc_uint(p, call->job), call->attempt), call->number);
    *len = (size_t)(p - raw);
    return raw;
}

static bool read_small(struct reader *r, uint32_t *out)
{
    uint64_t v;
    bool good = read_uint(r, &v) && v <= UINT32_MAX;
    if (good)
        *out = (uint32_t)v;
    return good;
}

bool turn_call_read(struct span raw, struct turn_call *call)
{
    struct reader r = reader_of(raw);
    uint32_t count;
    return read_array(&r, &count) && count == CALL_MEMBERS && read_text(&r, &call->to) &&
           read_any(&r, &call->params) && read_any(&r, &call->options) &&
           read_uint(&r, &call->job) && read_small(&r, &call->attempt) &&
           read_small(&r, &call->number);
}
