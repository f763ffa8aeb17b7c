#include "server/rpc/call_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hex.h"
#include "base/log.h"
#include "proto/show.h"
#include "proto/traceparent.h"

enum { MSGID_TEXT = 40, METHOD_TEXT = 256 };

/* As JSON; NULL of a notification, which has none. */
static const char *show_msgid(struct span msgid, char buf[static MSGID_TEXT])
{
    struct reader r = reader_of(msgid);

    if (msgid.len == 0)
        return NULL;
    show_values(&r, 1, buf, MSGID_TEXT);
    return buf;
}

static const char *text_of(struct span name, char *buf, size_t size)
{
    snprintf(buf, size, "%.*s", (int)(name.len < size ? name.len : size), (const char *)name.at);
    return buf;
}

/* NULL: it well ended. */
static const char *name_of(enum ergon_error error)
{
    return error == ERGON_OK ? NULL : error_name(error);
}

void call_log_came(const struct connection *c, const struct envelope *e)
{
    char msgid[MSGID_TEXT], method[METHOD_TEXT];

    log_debug(e->type == ENVELOPE_REQUEST ? "call" : "notification", LOG_UINT("conn", conn_id(c)),
              LOG_STR("request", show_msgid(e->msgid, msgid)),
              LOG_STR("method", text_of(e->method, method, sizeof method)),
              LOG_UINT("bytes", e->params.len));
}

void call_log_refused(const struct rpc_request *rq, enum ergon_error code, const char *text)
{
    bool denied = code == ERGON_E_DENIED || code == ERGON_E_AUTH;
    char msgid[MSGID_TEXT];

    log_debug(denied ? "denied" : "refused", LOG_UINT("conn", conn_id(rq->conn)),
              LOG_STR("request", show_msgid(rq->msgid, msgid)), LOG_STR("error", error_name(code)),
              LOG_STR("reason", text));
}

void call_log_ended(const struct call *call, const struct outcome *outcome)
{
    uint64_t number = call_task_number(call);
    const struct trace_context *context = call_trace(call);
    char msgid[MSGID_TEXT], task[24], trace[2 * TRACE_ID_LEN + 1] = "";

    if (context)
        hex_write(context->trace, sizeof context->trace, trace);
    snprintf(task, sizeof task, "%" PRIu64, number);
    log_debug("answered", LOG_UINT("conn", conn_id(call->owner)),
              LOG_STR("request", show_msgid(span_of(call->msgid, call->msgid_len), msgid)),
              LOG_STR("method", call_method_name(call)), LOG_STR("task", number ? task : NULL),
              LOG_STR("trace", context ? trace : NULL),
              LOG_STR("error", outcome->error == ERGON_OK ? NULL : outcome->code),
              LOG_UINT("bytes", outcome->result.len));
}

void call_log_answered(const struct connection *c, const char *method, struct span msgid,
                       enum ergon_error error)
{
    char text[MSGID_TEXT];

    log_debug("answered", LOG_UINT("conn", conn_id(c)), LOG_STR("request", show_msgid(msgid, text)),
              LOG_STR("method", method), LOG_STR("error", name_of(error)));
}
