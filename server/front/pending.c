#include "server/front/pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/encoder.h"
#include "proto/errors.h"
#include "proto/reader.h"

enum { HEAD_MAX = 2 + MSGID_MAX + ENC_HEAD_MAX + METHOD_NAME_MAX, NS_OF_MS = 1000000 };

/* --- Methods --- */

/* All others are PASS_HERE. */
static const uint8_t passings[METHOD_COUNT] = {
    [METHOD_task_submit] = PASS_KEYED,      [METHOD_task_call] = PASS_KEYED,
    [METHOD_task_get] = PASS_READ,          [METHOD_task_wait] = PASS_READ,
    [METHOD_task_list] = PASS_READ,         [METHOD_task_events] = PASS_READ,
    [METHOD_task_explain] = PASS_READ,      [METHOD_queue_list] = PASS_READ,
    [METHOD_queue_explain] = PASS_READ,     [METHOD_queue_tenants] = PASS_READ,
    [METHOD_server_audit] = PASS_READ,      [METHOD_cron_list] = PASS_READ,
    [METHOD_sem_list] = PASS_READ,          [METHOD_sem_explain] = PASS_READ,
    [METHOD_event_wait] = PASS_READ,        [METHOD_worker_list] = PASS_READ,
    [METHOD_task_watch] = PASS_PUSHED,      [METHOD_sem_acquire] = PASS_STATE,
    [METHOD_sem_resume] = PASS_STATE,       [METHOD_worker_register] = PASS_STATE,
    [METHOD_server_cancel] = PASS_CANCEL,   [METHOD_task_submit_many] = PASS_ONCE,
    [METHOD_task_cancel] = PASS_ONCE,       [METHOD_task_retry] = PASS_ONCE,
    [METHOD_task_forget] = PASS_ONCE,       [METHOD_task_change] = PASS_ONCE,
    [METHOD_task_run_now] = PASS_ONCE,      [METHOD_queue_pause] = PASS_ONCE,
    [METHOD_queue_resume] = PASS_ONCE,      [METHOD_queue_drain] = PASS_ONCE,
    [METHOD_cron_put] = PASS_ONCE,          [METHOD_cron_delete] = PASS_ONCE,
    [METHOD_cron_pause] = PASS_ONCE,        [METHOD_cron_resume] = PASS_ONCE,
    [METHOD_cron_run] = PASS_ONCE,          [METHOD_sem_create] = PASS_ONCE,
    [METHOD_sem_delete] = PASS_ONCE,        [METHOD_sem_release] = PASS_ONCE,
    [METHOD_sem_renew] = PASS_ONCE,         [METHOD_sem_revoke] = PASS_ONCE,
    [METHOD_event_set] = PASS_ONCE,         [METHOD_worker_quiet] = PASS_ONCE,
    [METHOD_worker_resume] = PASS_ONCE,     [METHOD_worker_progress] = PASS_ONCE,
    [METHOD_worker_partial] = PASS_ONCE,    [METHOD_worker_submit] = PASS_ONCE,
    [METHOD_worker_checkpoint] = PASS_ONCE, [METHOD_actor_call] = PASS_ONCE,
    [METHOD_actor_tell] = PASS_ONCE,        [METHOD_actor_get] = PASS_READ,
    [METHOD_actor_list] = PASS_READ,        [METHOD_actor_explain] = PASS_READ,
    [METHOD_actor_types] = PASS_READ,       [METHOD_actor_start] = PASS_ONCE,
    [METHOD_actor_stop] = PASS_ONCE,        [METHOD_actor_wake] = PASS_ONCE,
    [METHOD_actor_drop] = PASS_ONCE,        [METHOD_actor_watch] = PASS_READ,
    [METHOD_actor_remind] = PASS_ONCE,      [METHOD_actor_forget] = PASS_ONCE,
    [METHOD_batch_create] = PASS_ONCE,      [METHOD_batch_add] = PASS_ONCE,
    [METHOD_batch_close] = PASS_ONCE,       [METHOD_batch_get] = PASS_READ,
    [METHOD_batch_list] = PASS_READ,        [METHOD_batch_cancel] = PASS_ONCE,
};

enum passing passing_of(enum ergon_method method)
{
    return (enum passing)passings[method];
}

bool passing_is_poll(enum ergon_method method)
{
    return method == METHOD_task_wait || method == METHOD_task_watch ||
           method == METHOD_task_events || method == METHOD_event_wait ||
           method == METHOD_actor_watch || method == METHOD_batch_get ||
           method == METHOD_sem_acquire;
}

/* The value behind this key of the map at the reader. */
static bool find_option(struct reader *r, const char *name)
{
    struct span key, value;
    uint32_t pairs;

    if (!read_map(r, &pairs))
        return false;
    for (; pairs > 0; pairs--) {
        if (!read_text(r, &key))
            return false;
        if (span_is(key, name))
            return true;
        if (!read_any(r, &value))
            return false;
    }
    return false;
}

/* Behind so many other parameters. */
static bool open_options(struct span params, uint32_t before, struct reader *r)
{
    struct span skipped;
    uint32_t count;

    read_params(params, r, &count);
    if (count != before + 1)
        return false;
    for (; before > 0; before--)
        if (!read_any(r, &skipped))
            return false;
    return true;
}

bool passing_has_key(struct span params)
{
    struct reader r;

    return open_options(params, 2, &r) && find_option(&r, "key") && !read_nil(&r);
}

bool passing_has_push(struct span params)
{
    struct reader r;
    bool push = false;

    return open_options(params, 1, &r) && find_option(&r, "push") && read_bool(&r, &push) && push;
}

bool passing_composes(uint16_t method, struct span params)
{
    static const char key[] = "$result";
    const uint8_t *dollar = params.len > 0 ? memchr(params.at, '$', params.len) : NULL;

    if (method == METHOD_worker_submit)
        return true;
    return dollar &&
           memmem(dollar, params.len - (size_t)(dollar - params.at), key, sizeof key - 1) != NULL;
}

/* The reader is at the value of the option that says how long the client waits; false: there is
 * none. */
static bool find_time(uint16_t method, struct span params, struct reader *r)
{
    static const struct {
        uint16_t method;
        uint8_t before; /* parameters before the options */
        const char *option;
    } times[] = {
        {METHOD_task_wait, 1, "timeout"},   {METHOD_task_watch, 1, "timeout"},
        {METHOD_task_events, 0, "timeout"}, {METHOD_event_wait, 1, "timeout"},
        {METHOD_actor_watch, 1, "timeout"}, {METHOD_sem_acquire, 1, "wait"},
        {METHOD_batch_get, 1, "wait"},      {METHOD_task_submit, 2, "deadline"},
        {METHOD_task_call, 2, "deadline"},
    };

    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (times[i].method == method)
            return open_options(params, times[i].before, r) && find_option(r, times[i].option);
    return false;
}

uint64_t passing_time(uint16_t method, struct span params)
{
    struct reader r;
    uint64_t time;

    return find_time(method, params, &r) && read_duration(&r, &time) ? time : UINT64_MAX;
}

/* The place of the time in the bytes, and the time; false: they name none, or it is 0. */
static bool find_time_in(const struct pending *e, struct span *place, uint64_t *time)
{
    struct envelope message;
    struct reader r;
    const char *why;

    if (envelope_read(span_of(e->bytes, e->len), &message, &why) != ENVELOPE_OK ||
        !find_time(e->method, message.params, &r))
        return false;
    const uint8_t *at = r.at;
    bool good = read_duration(&r, time) && *time > 0;
    *place = span_of(at, (size_t)(r.at - at));
    return good;
}

bool pending_pass_time(struct pending *e, uint64_t now)
{
    struct span place;
    uint64_t time, waited = now - e->counts_from;

    if (!e->bytes || waited < NS_OF_MS || !find_time_in(e, &place, &time))
        return true;
    uint64_t left = time > waited ? (time - waited + NS_OF_MS - 1) / NS_OF_MS : 1;
    size_t before = (size_t)(place.at - e->bytes), behind = e->len - before - place.len;
    uint8_t *bytes = malloc(e->len + ENC_INT_MAX);
    if (!bytes)
        return false;
    memcpy(bytes, e->bytes, before);
    uint8_t *p = enc_uint(bytes + before, left);
    memcpy(p, place.at + place.len, behind);
    free(e->bytes);
    e->bytes = bytes;
    e->len = (uint32_t)(p - bytes + (ptrdiff_t)behind);
    e->counts_from = now;
    return true;
}

/* --- Bytes of messages --- */

/* All but the last part. */
static uint8_t *put_head(uint8_t *p, const struct envelope *e)
{
    *p++ = e->type == ENVELOPE_NOTIFICATION ? 0x93 : 0x94;
    *p++ = (uint8_t)e->type;
    if (e->msgid.len > 0)
        memcpy(p, e->msgid.at, e->msgid.len);
    p += e->msgid.len;
    if (e->type != ENVELOPE_RESPONSE)
        return enc_str(p, e->method);
    memcpy(p, e->error.at, e->error.len);
    return p + e->error.len;
}

static struct span tail_of(const struct envelope *e)
{
    return e->type == ENVELOPE_RESPONSE ? e->result : e->params;
}

size_t message_room(const struct envelope *e)
{
    return HEAD_MAX + e->error.len + tail_of(e).len;
}

uint8_t *message_put(uint8_t *at, const struct envelope *e)
{
    struct span tail = tail_of(e);

    at = put_head(at, e);
    if (tail.len > 0)
        memcpy(at, tail.at, tail.len);
    return at + tail.len;
}

/* --- The table --- */

/* A client whose ids collide slows down its own requests alone. */
static uint64_t hash_of(struct span msgid)
{
    uint64_t parts[2] = {msgid.len, 0};

    memcpy(parts, msgid.at, msgid.len < sizeof parts[0] ? msgid.len : sizeof parts[0]);
    if (msgid.len > sizeof parts[0])
        memcpy(&parts[1], msgid.at + sizeof parts[0], msgid.len - sizeof parts[0]);
    uint64_t h = (parts[0] ^ parts[1] << 56 ^ msgid.len) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static struct span msgid_of(const struct pending *e)
{
    return span_of(e->msgid, e->msgid_len);
}

void pendings_init(struct pendings *p)
{
    *p = (struct pendings){0};
    hash_table_init(&p->by_id);
    TAILQ_INIT(&p->all);
}

void pendings_fini(struct pendings *p)
{
    hash_table_fini(&p->by_id);
}

void pendings_add(struct pendings *p, struct pending *e, struct span msgid)
{
    e->msgid_len = (uint8_t)msgid.len;
    if (msgid.len > 0) {
        memcpy(e->msgid, msgid.at, msgid.len);
        e->link.hash = hash_of(msgid);
        hash_add(&p->by_id, &e->link);
    }
    TAILQ_INSERT_TAIL(&p->all, e, next);
    p->count++;
}

struct pending *pendings_find(const struct pendings *p, struct span msgid)
{
    for (struct hash_link *l = hash_first(&p->by_id, hash_of(msgid)); l; l = hash_next(l)) {
        struct pending *e = (struct pending *)((char *)l - offsetof(struct pending, link));
        if (span_equal(msgid_of(e), msgid))
            return e;
    }
    return NULL;
}

struct pending *pendings_of_number(const struct pendings *p, uint64_t id)
{
    struct pending *e;
    uint64_t number;

    TAILQ_FOREACH(e, &p->all, next)
    {
        struct reader r = reader_of(msgid_of(e));
        if (e->msgid_len > 0 && !e->identity && read_uint(&r, &number) && number == id)
            return e;
    }
    return NULL;
}

void pendings_remove(struct pendings *p, struct pending *e)
{
    if (e->msgid_len > 0)
        hash_remove(&p->by_id, &e->link);
    TAILQ_REMOVE(&p->all, e, next);
    p->count--;
}

/* "CODE: text", or the code alone. */
static struct span error_text(const struct envelope *e)
{
    struct reader r = reader_of(e->error);
    struct span text = {0};
    uint32_t count;

    if (read_array(&r, &count) && count == 2)
        read_any(&r, &text);
    if (!read_text(&r, &text) && read_map(&r, &count)) {
        struct span skipped; /* its first value that is a text is the message */
        while (read_any(&r, &skipped) && !read_text(&r, &text) && read_any(&r, &skipped))
            ;
    }
    return text;
}

const char *pending_outcome(const struct envelope *e, char *buf, size_t size)
{
    if (!envelope_is_error(e))
        return "ok";
    struct span text = error_text(e);
    size_t len = 0;
    while (len < text.len && len + 1 < size && text.at[len] != ':')
        len++;
    snprintf(buf, size, "%.*s", (int)len, len > 0 ? (const char *)text.at : "error");
    return len > 0 ? buf : "error";
}

bool pending_hands_over(const struct envelope *e)
{
    const char *code = error_name(ERGON_E_DRAINING);
    char whole[128];

    if (!envelope_is_error(e))
        return false;
    struct span text = error_text(e);
    snprintf(whole, sizeof whole, "%s: %s", code, error_meaning(ERGON_E_DRAINING));
    return span_is(text, code) || span_is(text, whole);
}
