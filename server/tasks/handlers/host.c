#include "server/tasks/handlers/host.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include <ergon/ao_api.h>
#include <ergon/sem_remote.h>

#include "base/check.h"
#include "base/log.h"
#include "base/units.h"
#include "base/utf8.h"
#include "proto/encoder.h"
#include "proto/reader.h"
#include "server/tasks/calls/home.h"
#include "server/tasks/calls/nested.h"
#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/held_bytes.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/shared.h"
#include "server/tasks/task.h"
#include "server/tasks/attempt.h"
#include "server/tasks/task_result.h"
#include "server/tasks/task_trace.h"
#include "server/tasks/turn.h"
#include "server/tasks/actor_offer.h"

/* --- What a handler may ask of its own task --- */

static void *host_arg(struct ergon_task *task)
{
    return task_of(task)->method->handler->arg;
}

/* A server that stops at once does not wait until each task has been flagged. */
static bool host_cancelled(struct ergon_task *task)
{
    const struct task *t = task_of(task);
    const struct blocking *b =
        t->method->handler->kind == ERGON_BLOCKING ? blocking_of(t->executor) : NULL;
    bool cancelled = b ? blocking_stopping(b) || blocking_unwanted(b, t) : task_flagged(t) != 0;
    if (cancelled && task_is(t, TASK_ATTEMPT))
        t->attempt->cancel_seen = true;
    return cancelled;
}

static uint64_t host_now(struct ergon_task *task)
{
    return executor_clock(task_of(task)->executor);
}

static uint64_t host_time_left(struct ergon_task *task)
{
    ao_time deadline = task_of(task)->deadline;
    if (deadline == AO_NEVER)
        return UINT64_MAX;
    ao_time now = host_now(task);
    return deadline > now ? deadline - now : 0;
}

static uint64_t host_message_max(struct ergon_task *task)
{
    return task_of(task)->executor->shared->plan.message_max;
}

static void *host_alloc(struct ergon_task *task, size_t size)
{
    return task_alloc(task_of(task), size);
}

static struct ao_port *host_port(struct ergon_task *task)
{
    struct task *t = task_of(task);
    return t->method->handler->kind == ERGON_STEPPED ? stepped_of(t->executor)->home->port : NULL;
}

static bool host_traceparent(struct ergon_task *task, char *buf)
{
    const struct task_trace *trace = task_trace(task_of(task));
    _Static_assert((int)ERGON_TRACEPARENT_SIZE == (int)TRACEPARENT_SIZE, "a module's room for it");
    buf[0] = '\0';
    if (trace)
        traceparent_text(&trace->link.context, buf);
    return trace != NULL;
}

static void host_fill_task(struct ergon_host *to)
{
    to->arg = host_arg;
    to->cancelled = host_cancelled;
    to->now = host_now;
    to->time_left = host_time_left;
    to->message_max = host_message_max;
    to->alloc = host_alloc;
    to->port = host_port;
    to->traceparent = host_traceparent;
}

/* --- Parameters, read in place --- */

static struct reader reader_in(const struct ergon_reader *r)
{
    return (struct reader){.at = r->at, .end = r->end};
}

static bool reader_out(struct ergon_reader *r, const struct reader *in, bool read)
{
    r->at = in->at;
    return read;
}

static struct ergon_bytes host_params(struct ergon_task *task)
{
    struct span params = task_of(task)->params;
    return (struct ergon_bytes){.at = params.at, .len = params.len};
}

static uint32_t host_params_open(struct ergon_task *task, struct ergon_reader *r)
{
    struct reader in;
    uint32_t count;
    read_params(task_of(task)->params, &in, &count);
    *r = (struct ergon_reader){.at = in.at, .end = in.end};
    return count;
}

static bool host_read_nil(struct ergon_reader *r)
{
    struct reader in = reader_in(r);
    return reader_out(r, &in, read_nil(&in));
}

/* The function of this name in proto/reader.h, as modules see it. */
#define READ(what, type)                                                                           \
    static bool host_read_##what(struct ergon_reader *r, type *out)                                \
    {                                                                                              \
        struct reader in = reader_in(r);                                                           \
        return reader_out(r, &in, read_##what(&in, out));                                          \
    }
READ(bool, bool)
READ(int, int64_t)
READ(uint, uint64_t)
READ(number, double)
READ(array, uint32_t)
READ(map, uint32_t)
READ(duration, uint64_t)
#undef READ

static bool host_read_bytes(struct ergon_reader *r, struct ergon_bytes *out)
{
    struct reader in = reader_in(r);
    struct span text = {0};
    bool read = read_text(&in, &text);
    if (read)
        *out = (struct ergon_bytes){.at = text.at, .len = text.len};
    return reader_out(r, &in, read);
}

static bool host_read_any(struct ergon_reader *r, struct ergon_bytes *raw)
{
    struct reader in = reader_in(r);
    struct span value = {0};
    bool read = read_any(&in, &value);
    if (read)
        *raw = (struct ergon_bytes){.at = value.at, .len = value.len};
    return reader_out(r, &in, read);
}

static bool host_read_size(struct ergon_reader *r, uint64_t *bytes)
{
    struct reader in = reader_in(r);
    struct reader before = in;
    struct span text;
    bool read = read_uint(&in, bytes) || (read_text(&in, &text) && units_size(text, bytes));
    return reader_out(r, read ? &in : &before, read);
}

static void host_fill_params(struct ergon_host *to)
{
    to->params = host_params;
    to->params_open = host_params_open;
    to->read_nil = host_read_nil;
    to->read_bool = host_read_bool;
    to->read_int = host_read_int;
    to->read_uint = host_read_uint;
    to->read_number = host_read_number;
    to->read_bytes = host_read_bytes;
    to->read_array = host_read_array;
    to->read_map = host_read_map;
    to->read_any = host_read_any;
    to->read_duration = host_read_duration;
    to->read_size = host_read_size;
}

/* --- Results and failures --- */

static uint64_t limit_of(const struct task *t)
{
    return t->executor->shared->plan.message_max;
}

static uint8_t *room(struct task *t, size_t size)
{
    return task_result_room(t, size, limit_of(t));
}

static bool set(struct task *t, const uint8_t *end)
{
    t->result_len = (size_t)(end - t->result);
    return true;
}

static bool host_result_nil(struct ergon_task *task)
{
    struct task *t = task_of(task);
    uint8_t *p = room(t, 1);
    return p && set(t, enc_nil(p));
}

static bool host_result_bool(struct ergon_task *task, bool v)
{
    struct task *t = task_of(task);
    uint8_t *p = room(t, 1);
    return p && set(t, enc_bool(p, v));
}

static bool host_result_int(struct ergon_task *task, int64_t v)
{
    struct task *t = task_of(task);
    uint8_t *p = room(t, ENC_INT_MAX);
    return p && set(t, enc_int(p, v));
}

static bool host_result_double(struct ergon_task *task, double v)
{
    struct task *t = task_of(task);
    uint8_t *p = room(t, ENC_INT_MAX);
    return p && set(t, enc_double(p, v));
}

static bool fits_head(struct task *t, size_t len)
{
    if (len <= UINT32_MAX - ENC_HEAD_MAX)
        return true;
    task_fail(t, ERGON_E_TOO_LARGE, NULL, span_text("the result is longer than 4 GiB"));
    return false;
}

static bool host_result_str(struct ergon_task *task, const void *text, size_t len)
{
    struct task *t = task_of(task);
    uint8_t *p = fits_head(t, len) ? room(t, ENC_HEAD_MAX + len) : NULL;
    return p && set(t, enc_str(p, span_of(text, len)));
}

static bool host_result_bin(struct ergon_task *task, const void *bytes, size_t len)
{
    struct task *t = task_of(task);
    uint8_t *p = fits_head(t, len) ? room(t, ENC_HEAD_MAX + len) : NULL;
    return p && set(t, enc_bin(p, span_of(bytes, len)));
}

static bool host_result_raw(struct ergon_task *task, const void *value, size_t len)
{
    struct task *t = task_of(task);
    if (len > 0 && len <= limit_of(t) && task_in_params(t, value, len)) {
        task_result_borrow(t, value, len);
        return t->error == ERGON_OK;
    }
    uint8_t *p = room(t, len);
    if (!p)
        return false;
    if (len > 0)
        memcpy(p, value, len);
    return set(t, p + len);
}

static uint8_t *host_result_room(struct ergon_task *task, size_t size)
{
    return room(task_of(task), size);
}

static void host_result_done(struct ergon_task *task, size_t len)
{
    struct task *t = task_of(task);
    if (t->error != ERGON_OK)
        return;
    require(len <= t->result_room, "the result is longer than the room that was asked for");
    t->result_len = len;
}

static int host_result_write(void *task, const char *bytes, size_t len)
{
    struct task *t = task;
    uint8_t *p = task_result_more(t, len, limit_of(t));
    if (!p)
        return -1;
    if (len > 0)
        memcpy(p, bytes, len);
    t->result_len += len;
    return 0;
}

static bool well_coded(const char *code)
{
    size_t len = strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return len >= 1 && len <= TASK_CODE_MAX && code[len] == '\0';
}

static void complain_of_code(const struct task *t, const char *code)
{
    char name[TASK_NAME_MAX];
    task_own_name(t, name);
    if (method_complain(t->method, COMPLAINT_CODE))
        log_error("a handler failed with a code that is none: it counts as FAILED",
                  LOG_STR("code", code), LOG_STR("module", t->method->module),
                  LOG_STR("method", method_name(t->method)), LOG_STR("task", name));
}

static void host_fail(struct ergon_task *task, const char *code, const char *text)
{
    const char *own = code && well_coded(code) ? code : NULL;
    if (code && !own)
        complain_of_code(task_of(task), code);
    task_fail(task_of(task), ERGON_E_FAILED, own, text ? span_text(text) : (struct span){0});
}

static void host_fill_results(struct ergon_host *to)
{
    to->result_nil = host_result_nil;
    to->result_bool = host_result_bool;
    to->result_int = host_result_int;
    to->result_double = host_result_double;
    to->result_str = host_result_str;
    to->result_bin = host_result_bin;
    to->result_raw = host_result_raw;
    to->result_room = host_result_room;
    to->result_done = host_result_done;
    to->result_write = host_result_write;
    to->fail = host_fail;
}

/* --- Parameters and results by letters; <ergon/params.h> has them --- */

enum { EXPECTED_MAX = 80, REFUSAL_MAX = 240 };

static void refuse_params(struct ergon_task *task, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void refuse_params(struct ergon_task *task, const char *format, ...)
{
    char text[REFUSAL_MAX];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    host_fail(task, error_name(ERGON_E_BAD_PARAMS), text);
}

/* What a letter wants, for people. */
static void put_expected(char letter, size_t size, char *buf)
{
    const char *text = letter == 'd'   ? "a number"
                       : letter == 'B' ? "true or false"
                       : letter == 's' ? "text"
                       : letter == 'b' ? "bytes or text"
                       : letter == 't' ? "a duration (\"250ms\", or milliseconds)"
                       : letter == 'z' ? "a size (\"64k\", or bytes)"
                       : letter == 'l' ? "an array"
                       : letter == 'm' ? "a map"
                                       : "a value";

    if (letter == 'i' && size == sizeof(int32_t))
        text = "an integer from -2147483648 to 2147483647";
    else if (letter == 'i')
        text = "an integer from -9223372036854775808 to 9223372036854775807";
    else if (letter == 'u' && size == sizeof(uint32_t))
        text = "an integer from 0 to 4294967295";
    else if (letter == 'u')
        text = "an integer from 0 to 18446744073709551615";
    snprintf(buf, EXPECTED_MAX, "%s", text);
}

/* The type of the next value, for messages. */
static const char *kind_of(const struct reader *r)
{
    uint8_t head = *r->at;

    if (head <= 0x7f || head >= 0xe0 || (head >= 0xcc && head <= 0xd3))
        return "an integer";
    if (head <= 0x8f || head >= 0xde)
        return "a map";
    if (head <= 0x9f || head >= 0xdc)
        return "an array";
    if (head <= 0xbf || head >= 0xd9)
        return "text";
    if (head == 0xc0)
        return "nil";
    if (head <= 0xc3)
        return head == 0xc2 ? "false" : "true";
    if (head <= 0xc6)
        return "bytes";
    return head == 0xca || head == 0xcb ? "a number with a fraction" : "an extension";
}

static bool take_int(struct reader *r, const struct ergon_param *to)
{
    int64_t v;

    if (!read_int(r, &v) || (to->size == sizeof(int32_t) && v != (int32_t)v))
        return false;
    if (to->size == sizeof(int32_t))
        *(int32_t *)to->to = (int32_t)v;
    else
        *(int64_t *)to->to = v;
    return true;
}

static bool take_uint(struct reader *r, const struct ergon_param *to)
{
    uint64_t v;

    if (!read_uint(r, &v) || (to->size == sizeof(uint32_t) && v > UINT32_MAX))
        return false;
    if (to->size == sizeof(uint32_t))
        *(uint32_t *)to->to = (uint32_t)v;
    else
        *(uint64_t *)to->to = v;
    return true;
}

static bool take_size(struct reader *r, const struct ergon_param *to)
{
    struct ergon_reader out = {.at = r->at, .end = r->end};
    bool read = host_read_size(&out, to->to);

    r->at = out.at;
    return read;
}

/* Does the next value have the shape that the letter wants of bytes? */
static bool is_shaped(const struct reader *r, char letter)
{
    const char *kind = kind_of(r);
    bool text = strcmp(kind, "text") == 0;

    return letter == 's'   ? text
           : letter == 'b' ? text || strcmp(kind, "bytes") == 0
           : letter == 'l' ? strcmp(kind, "an array") == 0
           : letter == 'm' ? strcmp(kind, "a map") == 0
                           : letter == 'a';
}

static bool take_bytes(struct reader *r, char letter, const struct ergon_param *to)
{
    struct span v;

    if (!is_shaped(r, letter))
        return false;
    if (!(letter == 's' || letter == 'b' ? read_text(r, &v) : read_any(r, &v)))
        return false;
    *(struct ergon_bytes *)to->to = (struct ergon_bytes){.at = v.at, .len = v.len};
    return true;
}

static bool take(struct reader *r, char letter, const struct ergon_param *to)
{
    switch (letter) {
    case 'i':
        return take_int(r, to);
    case 'u':
        return take_uint(r, to);
    case 'd':
        return read_number(r, to->to);
    case 'B':
        return read_bool(r, to->to);
    case 't':
        return read_duration(r, to->to);
    case 'z':
        return take_size(r, to);
    default:
        return take_bytes(r, letter, to);
    }
}

static void refuse_param(struct ergon_task *task, const struct reader *r, uint32_t number,
                         char letter, size_t size)
{
    const char *method = task_of(task)->method->handler->name, *kind = kind_of(r);
    char expected[EXPECTED_MAX];

    put_expected(letter, size, expected);
    if (((letter == 'i' || letter == 'u') && strcmp(kind, "an integer") == 0) || letter == 't' ||
        letter == 'z')
        refuse_params(task, "parameter %" PRIu32 " of %s must be %s", number, method, expected);
    else
        refuse_params(task, "parameter %" PRIu32 " of %s must be %s, not %s", number, method,
                      letter == 'i' || letter == 'u' ? "an integer" : expected, kind);
}

static bool refuse_count(struct ergon_task *task, uint32_t given, uint32_t least, uint32_t most)
{
    const char *method = task_of(task)->method->handler->name;
    bool too_few = given < least;
    uint32_t bound = too_few ? least : most;

    refuse_params(task, "%s takes %s%" PRIu32 " parameter%s, not %" PRIu32, method,
                  least == most ? ""
                  : too_few     ? "at least "
                                : "at most ",
                  bound, bound == 1 ? "" : "s", given);
    return false;
}

static bool host_take_params(struct ergon_task *task, const char *letters,
                             const struct ergon_param *to, uint32_t count)
{
    uint32_t least = (uint32_t)strcspn(letters, "|"), given;
    struct reader r;

    read_params(task_of(task)->params, &r, &given);
    if (given < least || given > count)
        return refuse_count(task, given, least, count);
    for (uint32_t i = 0; i < given; i++) {
        char letter = letters[i + (i >= least)];
        if (i >= least && read_nil(&r))
            continue;
        const struct reader before = r;
        if (take(&r, letter, &to[i]))
            continue;
        refuse_param(task, &before, i + 1, letter, to[i].size);
        return false;
    }
    return true;
}

/* Of all of them, at most.  SIZE_MAX: one is longer than MessagePack can say. */
static size_t room_of_values(const char *letters, const union ergon_value *values, uint32_t count)
{
    size_t size = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (!strchr("sba", letters[i])) {
            size += ENC_INT_MAX;
            continue;
        }
        if (values[i].b.len > UINT32_MAX - ENC_HEAD_MAX)
            return SIZE_MAX;
        size += (letters[i] == 'a' ? 0 : ENC_HEAD_MAX) + values[i].b.len;
    }
    return size;
}

static uint8_t *put_value(uint8_t *p, char letter, const union ergon_value *v)
{
    switch (letter) {
    case 'i':
        return enc_int(p, v->i);
    case 'u':
        return enc_uint(p, v->u);
    case 'd':
        return enc_double(p, v->d);
    case 'B':
        return enc_bool(p, v->i != 0);
    case 's':
        return v->b.at ? enc_str(p, span_of(v->b.at, v->b.len)) : enc_nil(p);
    case 'b':
        return enc_bin(p, span_of(v->b.at, v->b.len));
    default:
        require(letter == 'a', "a result has a letter that is none");
        if (v->b.len > 0)
            memcpy(p, v->b.at, v->b.len);
        return p + v->b.len;
    }
}

static bool host_result_values(struct ergon_task *task, const char *letters,
                               const union ergon_value *values, uint32_t count)
{
    struct task *t = task_of(task);
    char opening = *letters;
    bool map = opening == '{', within = map || opening == '[';

    if (opening == 'n')
        return host_result_nil(task);
    if (opening == 'a')
        return host_result_raw(task, values->b.at, values->b.len);
    letters += within;
    size_t size = room_of_values(letters, values, count);
    uint8_t *p = fits_head(t, size) ? room(t, size + (within ? ENC_HEAD_MAX : 0)) : NULL;
    if (!p)
        return false;
    if (within)
        p = map ? enc_map(p, count / 2) : enc_array(p, count);
    for (uint32_t i = 0; i < count; i++)
        p = put_value(p, letters[i], &values[i]);
    return set(t, p);
}

static void host_fill_letters(struct ergon_host *to)
{
    to->take_params = host_take_params;
    to->result_values = host_result_values;
}

/* --- Nested calls --- */

static struct method *method_of(const struct task *t, const char *name)
{
    return registry_find(t->executor->shared->plan.registry, span_text(name));
}

static struct nested *nested_of(struct ergon_call *call)
{
    return (struct nested *)call;
}

/* `message`: it calls an actor. */
static enum ergon_error send(struct nested *n, struct method *m, struct span params, bool message)
{
    if (!m)
        return ERGON_E_NO_METHOD;
    if (n->task->depth + 1 > TASK_DEPTH_MAX)
        return ERGON_E_TOO_DEEP;
    enum ergon_error error;
    if (!nested_charge(n, method_wants(m, params.len), &error))
        return error;
    const struct call_request request = {
        .owner = n, .list = &n->list, .params = params, .deadline = AO_NEVER, .tally = n->tally};
    const struct call_plan plan = {
        .request = &request, .ended = nested_ended, .parent = n->task, .message = message};
    return home_send(n->home, m, &plan);
}

static struct ergon_call *host_call_start(struct ergon_task *task, const char *method,
                                          struct ergon_bytes params)
{
    struct task *t = task_of(task);
    if (t->method->handler->kind != ERGON_STEPPED)
        return NULL;
    struct nested *n = nested_new(t, stepped_of(t->executor)->home);
    enum ergon_error refused =
        n ? send(n, method_of(t, method), span_of(params.at, params.len), false) : ERGON_OK;
    if (refused != ERGON_OK)
        nested_refuse(n, refused);
    return (struct ergon_call *)n;
}

static bool host_call_await(struct ergon_call *call, struct ao_wait *wait)
{
    require(!nested_of(call)->taken, "the outcome of the call was taken before");
    nested_of(call)->awaited = true;
    ao_completion_await(&nested_of(call)->done, wait);
    return true;
}

static void host_call_outcome(struct ergon_call *call, struct ergon_outcome *out)
{
    require(!nested_of(call)->taken, "the outcome of the call was taken before");
    nested_take(nested_of(call), out);
}

static void host_call(struct ergon_task *task, const char *method, struct ergon_bytes params,
                      struct ergon_outcome *out)
{
    struct task *t = task_of(task);
    if (t->method->handler->kind == ERGON_BLOCKING) {
        blocking_call(t, method_of(t, method), span_of(params.at, params.len), out);
        return;
    }
    *out = (struct ergon_outcome){.code = error_name(ERGON_E_FAILED),
                                  .text = "a stepped handler starts calls and awaits them"};
}

static bool is_one_value(struct span raw)
{
    struct reader r = reader_of(raw);
    struct span value;
    return read_any(&r, &value) && value.len == raw.len;
}

static bool is_one_value_or_none(struct span raw)
{
    return raw.len == 0 || is_one_value(raw);
}

/* --- Calls of turns --- */

/* A message that is to be called: its method, and the parameters of the call, which are malloc'ed.
 * Not ERGON_OK: neither is there. */
struct message_call {
    struct method *method;
    uint8_t *raw;
    size_t len;
};

static enum ergon_error message_begin(struct task *t, const struct turn_message_parts *parts,
                                      struct message_call *out)
{
    struct attempt_turn *turn = task_is(t, TASK_ATTEMPT) ? t->attempt->turn : NULL;
    struct span type = actor_type_of_name(parts->to);
    char name[ACTOR_METHOD_MAX + 1];
    if (!turn_is_of_actor(turn) || type.len == 0 || !is_one_value_or_none(parts->params) ||
        !is_one_value_or_none(parts->options))
        return ERGON_E_BAD_PARAMS;
    int len = snprintf(name, sizeof name, "%.*s.%.*s", (int)type.len, (const char *)type.at,
                       (int)parts->method.len, (const char *)parts->method.at);
    out->method = (size_t)len < sizeof name ? method_of(t, name) : NULL;
    if (!out->method)
        return ERGON_E_NO_METHOD;
    const struct turn_call call = {.to = parts->to,
                                   .params = parts->params,
                                   .options = parts->options,
                                   .job = t->attempt->id,
                                   .attempt = turn->attempt,
                                   .number = ++turn->calls};
    out->raw = turn_call_pack(&call, &out->len);
    return out->raw ? ERGON_OK : ERGON_E_MEMORY;
}

static struct turn_message_parts parts_of(const char *to, const char *method,
                                          struct ergon_bytes params, struct ergon_bytes options)
{
    return (struct turn_message_parts){.to = span_text(to),
                                       .method = span_text(method),
                                       .params = span_of(params.at, params.len),
                                       .options = span_of(options.at, options.len)};
}

static void host_call_actor(struct ergon_task *task, const char *to, const char *method,
                            struct ergon_bytes params, struct ergon_bytes options,
                            struct ergon_outcome *out)
{
    struct task *t = task_of(task);
    struct turn_message_parts parts = parts_of(to, method, params, options);
    struct message_call call = {0};
    enum ergon_error refused = ERGON_E_FAILED; /* of a stepped handler */
    if (t->method->handler->kind == ERGON_BLOCKING)
        refused = message_begin(t, &parts, &call);
    if (refused == ERGON_OK)
        blocking_call_actor(t, call.method, span_of(call.raw, call.len), out);
    else
        *out = outcome_refused(refused);
    free(call.raw);
}

static struct ergon_call *host_call_actor_start(struct ergon_task *task, const char *to,
                                                const char *method, struct ergon_bytes params,
                                                struct ergon_bytes options)
{
    struct task *t = task_of(task);
    struct turn_message_parts parts = parts_of(to, method, params, options);
    struct message_call call = {0};
    if (t->method->handler->kind != ERGON_STEPPED)
        return NULL;
    struct nested *n = nested_new(t, stepped_of(t->executor)->home);
    enum ergon_error refused = n ? message_begin(t, &parts, &call) : ERGON_OK;
    if (n && refused == ERGON_OK)
        refused = send(n, call.method, span_of(call.raw, call.len), true);
    free(call.raw);
    if (refused != ERGON_OK)
        nested_refuse(n, refused);
    return (struct ergon_call *)n;
}

static void host_fill_calls(struct ergon_host *to)
{
    to->call = host_call;
    to->call_start = host_call_start;
    to->call_await = host_call_await;
    to->call_outcome = host_call_outcome;
    to->call_actor = host_call_actor;
    to->call_actor_start = host_call_actor_start;
}

/* --- Tasks that last; of a plain call most of it is nothing --- */

static struct attempt *attempt_of(const struct ergon_task *task)
{
    const struct task *t = (const struct task *)task;
    return task_is(t, TASK_ATTEMPT) ? t->attempt : NULL;
}

static bool host_task_id(struct ergon_task *task, char *buf)
{
    const struct attempt *attempt = attempt_of(task);
    bool has_id = attempt && attempt->id != 0;
    buf[0] = '\0';
    if (has_id)
        task_of(task)->executor->shared->source.name(attempt->id, buf);
    return has_id;
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

static bool host_partial(struct ergon_task *task, const void *value, size_t len)
{
    const struct attempt_note note = {.kind = NOTE_PARTIAL, .data = span_of(value, len)};
    if (!is_one_value(note.data))
        return false;
    return !attempt_of(task) || attempt_post(task_of(task), &note);
}

static bool host_checkpoint(struct ergon_task *task, const void *value, size_t len)
{
    const struct attempt_note note = {.kind = NOTE_CHECKPOINT, .data = span_of(value, len)};
    const struct attempt *a = attempt_of(task);
    if (!is_one_value(note.data) || len > CHECKPOINT_MAX || (a && turn_is_of_actor(a->turn)))
        return false;
    return !a || attempt_post(task_of(task), &note);
}

static bool host_last_checkpoint(struct ergon_task *task, struct ergon_bytes *value)
{
    const struct attempt *a = attempt_of(task);
    bool has = a && a->turn && !turn_is_of_actor(a->turn) && a->turn->state.len > 0;
    *value = (struct ergon_bytes){0};
    if (has)
        *value = (struct ergon_bytes){.at = a->turn->state.at, .len = a->turn->state.len};
    return has;
}

static bool batch_name(struct ergon_task *task, uint64_t id, char *buf)
{
    buf[0] = '\0';
    if (id > 0)
        task_of(task)->executor->shared->source.batch_name(id, buf);
    return id > 0;
}

static bool host_batch(struct ergon_task *task, char *buf)
{
    const struct attempt *a = attempt_of(task);
    return batch_name(task, a && a->batches ? a->batches->member_of : 0, buf);
}

static bool host_callback_of(struct ergon_task *task, char *buf)
{
    const struct attempt *a = attempt_of(task);
    return batch_name(task, a && a->batches ? a->batches->callback_of : 0, buf);
}

static void host_again(struct ergon_task *task, uint64_t ns)
{
    task_run_again(task_of(task), ns);
}

static void host_fill_jobs(struct ergon_host *to)
{
    to->task_id = host_task_id;
    to->attempt = host_attempt;
    to->progress = host_progress;
    to->partial = host_partial;
    to->again = host_again;
    to->checkpoint = host_checkpoint;
    to->last_checkpoint = host_last_checkpoint;
    to->batch = host_batch;
    to->callback_of = host_callback_of;
}

/* --- Semaphores, which handlers of both kinds make, and blocking ones acquire --- */

static struct ao_sem_remote *host_sem_new(struct ergon_task *task, uint32_t permits)
{
    struct ao_port *here = host_port(task);
    return ao_sem_remote_new(here ? here : task_of(task)->executor->shared->port, permits);
}

static enum ao_wait_outcome host_sem_acquire(struct ergon_task *task, struct ao_sem_remote *sem,
                                             uint32_t permits, uint64_t limit)
{
    struct task *t = task_of(task);
    if (t->method->handler->kind != ERGON_BLOCKING)
        check_misused("ergon_sem_acquire", "a stepped handler parks: ao_sem_remote_acquire_n()");
    if (permits == 0)
        check_misused("ergon_sem_acquire", "0 permits are asked for");
    enum ao_wait_outcome outcome = blocking_acquire(t, sem, permits, limit);
    if (outcome == AO_WAIT_CANCELLED)
        (void)host_cancelled(task); /* the handler knows now */
    return outcome;
}

static void host_fill_sems(struct ergon_host *to)
{
    to->sem_new = host_sem_new;
    to->sem_acquire = host_sem_acquire;
}

/* --- The table --- */

static struct ergon_host table;

/* The part of the table that is the runtime itself. */
static const struct ao_api api = {.size = sizeof api,
#define X(name) .name = ao_##name,
                                  AO_API(X)
#undef X
};

/* The first refusal is the one that people see. */
static int host_register_handler(struct ergon_module *module, const struct ergon_handler *handler)
{
    char error[256];
    if (registry_add(module->registry, module->name, handler, error, sizeof error) == 0)
        return 0;
    log_error("handler refused", LOG_STR("module", module->name), LOG_STR("text", error));
    if (!module->refused)
        snprintf(module->error, module->error_size, "%s", error);
    module->refused = true;
    return -1;
}

static void host_log(int level, const char *module, const char *text)
{
    enum log_level at = level < LOG_DEBUG   ? LOG_DEBUG
                        : level > LOG_ERROR ? LOG_ERROR
                                            : (enum log_level)level;
    LOG_AT(at, "module", LOG_STR("module", module), LOG_STR("text", text));
}

static void fill(void)
{
    table.size = sizeof table;
    table.major = ERGON_ABI_MAJOR;
    table.minor = ERGON_ABI_MINOR;
    table.register_handler = host_register_handler;
    table.log = host_log;
    host_fill_task(&table);
    host_fill_params(&table);
    host_fill_results(&table);
    host_fill_letters(&table);
    host_fill_calls(&table);
    host_fill_jobs(&table);
    host_fill_sems(&table);
    host_fill_actors(&table);
    table.ao = &api;
}

const struct ergon_host *host_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return &table;
}
