/* What a request is made of, and how it is sent. */
#include "client/lib/request.h"

#include "proto/job_options.h"

#include <stdlib.h>

struct ergon_request *request_new(const char *method, size_t parts)
{
    struct ergon_request *r = malloc(sizeof *r);
    if (r == NULL)
        return NULL;
    r->method = method;
    r->refused = NULL;
    pack_init(&r->params);
    pack_array(&r->params, parts);
    return r;
}

void ergon_request_free(struct ergon_request *r)
{
    if (r == NULL)
        return;
    pack_fini(&r->params);
    free(r);
}

struct ergon_request *request_done(struct ergon_request *r)
{
    if (r == NULL || !r->params.failed)
        return r;
    ergon_request_free(r);
    return NULL;
}

static struct ergon_raw raw_params(const struct ergon_request *r)
{
    struct span bytes = pack_bytes(&r->params);
    return (struct ergon_raw){bytes.at, bytes.len};
}

ergon_call_id ergon_client_ask(struct ergon_client *client, struct ergon_request *r,
                               uint32_t timeout_ms, ergon_answer_fn *fn, void *arg)
{
    ergon_call_id id = 0;
    if (r == NULL)
        return id;
    if (r->refused == NULL)
        id = ergon_client_call(client, r->method, raw_params(r), timeout_ms, fn, arg);
    ergon_request_free(r);
    return id;
}

enum ergon_end ergon_blocking_ask(struct ergon_blocking *blocking, struct ergon_request *r,
                                  uint32_t timeout_ms, const struct ergon_answer **answer)
{
    static const struct ergon_answer no_memory = {
        .outcome = ERGON_END_MEMORY, .code = "", .text = "out of memory for the request"};
    if (r == NULL) {
        *answer = &no_memory;
        return ERGON_END_MEMORY;
    }
    if (r->refused != NULL)
        *answer = r->refused;
    else
        ergon_blocking_call(blocking, r->method, raw_params(r), timeout_ms, answer);
    ergon_request_free(r);
    return (*answer)->outcome;
}

/* ---- maps of options ---- */

bool options_copy(void *to, size_t to_size, const void *from)
{
    size_t size;
    memset(to, 0, to_size);
    if (from == NULL)
        return true;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size)
        return false;
    memcpy(to, from, size < to_size ? size : to_size);
    return true;
}

void pairs_init(struct pairs *m)
{
    pack_init(&m->pack);
    m->count = 0;
    m->refused = NULL;
}

void pairs_text(struct pairs *m, const char *key, const char *text)
{
    if (text == NULL)
        return;
    m->count++;
    pack_key_str(&m->pack, key, text);
}

void pairs_number(struct pairs *m, const char *key, uint64_t v)
{
    if (v == 0)
        return;
    m->count++;
    pack_key_uint(&m->pack, key, v == ERGON_ZERO ? 0 : v);
}

void pairs_pack(struct pairs *m, struct ergon_request *r)
{
    struct pack *to = &r->params;
    if (m->refused != NULL)
        r->refused = m->refused;
    pack_map(to, m->count);
    if (m->count > 0)
        pack_raw(to, pack_bytes(&m->pack));
    to->failed |= m->pack.failed;
    pack_fini(&m->pack);
}

static void limit(struct pairs *m, const struct ergon_task_options *o)
{
    if (o->limit_key == NULL)
        return;
    m->count++;
    pack_str(&m->pack, "limit");
    pack_map(&m->pack, 2);
    pack_key_str(&m->pack, "key", o->limit_key);
    pack_key_uint(&m->pack, "max", o->limit_max);
}

static void rate(struct pairs *m, const struct ergon_task_options *o)
{
    if (o->rate_key == NULL)
        return;
    m->count++;
    pack_str(&m->pack, "rate");
    pack_map(&m->pack, 3);
    pack_key_str(&m->pack, "key", o->rate_key);
    pack_key_uint(&m->pack, "max", o->rate_max);
    pack_key_uint(&m->pack, "per", o->rate_per_ms);
}

static void after(struct pairs *m, const struct ergon_task_options *o)
{
    if (o->after_count == 0)
        return;
    m->count++;
    pack_str(&m->pack, "after");
    pack_array(&m->pack, o->after_count);
    for (size_t i = 0; i < o->after_count; i++)
        pack_str(&m->pack, o->after[i]);
}

/* Where the option of a row stands in struct ergon_task_options; its type says how the member is
 * called. */
#define MEMBER_NUMBER(name)   name
#define MEMBER_DURATION(name) name##_ms
#define MEMBER_SIZE(name)     name
#define MEMBER_MOMENT(name)   name##_ms
#define MEMBER_NAME(name)     name
#define MEMBER_LEVEL(name)    name
#define MEMBER_LIMIT(name)    name##_key
#define MEMBER_RATE(name)     name##_key
#define MEMBER_IDS(name)      name
#define X(name, type, ...)    offsetof(struct ergon_task_options, MEMBER_##type(name)),
static const size_t PLACES[JOB_OPTION_COUNT] = {JOB_OPTIONS(X)};
#undef X

static void pairs_option(struct pairs *m, const struct job_option *option, const void *at,
                         const struct ergon_task_options *o)
{
    switch (option->type) {
    case JOB_OPTION_NUMBER:
    case JOB_OPTION_DURATION:
    case JOB_OPTION_SIZE:
    case JOB_OPTION_MOMENT:
        pairs_number(m, option->name, *(const uint64_t *)at);
        return;
    case JOB_OPTION_NAME:
    case JOB_OPTION_LEVEL:
        pairs_text(m, option->name, *(const char *const *)at);
        return;
    case JOB_OPTION_LIMIT:
        limit(m, o);
        return;
    case JOB_OPTION_RATE:
        rate(m, o);
        return;
    case JOB_OPTION_IDS:
        after(m, o);
        return;
    }
}

void pairs_task(struct pairs *m, const struct ergon_task_options *given)
{
    static const struct ergon_answer unsized = {
        .outcome = ERGON_END_INVALID,
        .code = "",
        .text = "the options of a task tell no size: make them by ERGON_TASK(...), or set .size to "
                "sizeof(struct ergon_task_options)"};
    struct ergon_task_options o;
    if (!options_copy(&o, sizeof o, given))
        m->refused = &unsized;
    for (size_t i = 0; i < JOB_OPTION_COUNT; i++)
        pairs_option(m, &job_options[i], (const char *)&o + PLACES[i], &o);
}
