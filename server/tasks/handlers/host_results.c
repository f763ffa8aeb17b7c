/* Results and failures. */
#include "base/check.h"
#include "base/log.h"
#include "proto/encoder.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/shared.h"
#include "server/tasks/task_name.h"
#include "server/tasks/task_result.h"

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

void host_fill_results(struct ergon_host *host)
{
    host->result_nil = host_result_nil;
    host->result_bool = host_result_bool;
    host->result_int = host_result_int;
    host->result_double = host_result_double;
    host->result_str = host_result_str;
    host->result_bin = host_result_bin;
    host->result_raw = host_result_raw;
    host->result_room = host_result_room;
    host->result_done = host_result_done;
    host->result_write = host_result_write;
    host->fail = host_fail;
}
