#include "server/workers/worker_process.h"

#include <stdio.h>
#include <string.h>

#include "proto/encoder.h"
#include "server/tasks/attempt.h"
#include "server/tasks/call_board.h"
#include "server/tasks/call_params.h"
#include "server/tasks/task_result.h"

enum { LENT_MIN = CALL_PARAMS_BLOCK / 2 }; /* bytes; the socket carries shorter parameters */

static const struct rpc_processes *port(const struct worker_link *link)
{
    return &link->loop->shared->processes;
}

const char *worker_process_module(const struct worker_link *link)
{
    if (!worker_is_process(link))
        return NULL;
    return link->process.module ? link->process.module : "";
}

void worker_process_open(struct worker_link *link)
{
    link->number = conn_module_process(link->conn);
    if (link->number >= 0)
        port(link)->hold(port(link)->arg, (uint32_t)link->number, &link->process);
}

void worker_process_close(struct worker_link *link)
{
    call_board_unref(link->process.board);
    link->process.board = NULL;
    call_params_free(link->process.params);
    link->process.params = NULL;
}

bool worker_process_lend(const struct worker_link *link, struct task *t, uint32_t count,
                         struct span raw, size_t *size)
{
    uint16_t place;

    if (!link->process.params || raw.len < LENT_MIN)
        return false;
    uint8_t *p = call_params_room(link->process.params, ENC_HEAD_MAX + raw.len, &place);
    if (!p)
        return false;
    uint8_t *values = enc_array(p, count);
    memcpy(values, raw.at, raw.len);
    *size = (size_t)(values - p) + raw.len;
    t->out.shared = place + 1;
    return true;
}

void worker_process_answered(const struct worker_link *link, struct task *t)
{
    if (t->out.shared == 0)
        return;
    call_params_release(link->process.params, (uint16_t)(t->out.shared - 1));
    t->out.shared = 0;
}

static void fail(struct worker_executor *r, struct task *t, const char *why)
{
    char text[CALL_BOARD_WHY_MAX + 64];

    snprintf(text, sizeof text, "the handler ended its process: %.*s", CALL_BOARD_WHY_MAX - 1,
             *why ? why : "it exited, or was killed");
    task_fail(t, ERGON_E_FAILED, "CRASHED", span_text(text));
    worker_executor_answer(r, t);
}

/* Nobody has promised that a plain call runs twice.  Where it is not known which one ended the
 * process, attempts count, so that the guilty one does not begin for ever. */
static void settle(struct worker_executor *r, struct task *t, const struct call_board *b)
{
    /* One that had ended before it could register has begun nothing. */
    switch (b ? call_board_fate(b, t->out.request) : CALL_WAITED) {
    case CALL_GUILTY:
        fail(r, t, call_board_why(b));
        break;
    case CALL_WAITED:
        worker_executor_not_begun(t);
        break;
    case CALL_RAN:
        if (task_is(t, TASK_ATTEMPT))
            worker_executor_not_begun(t);
        break;
    case CALL_LOST:
        break;
    }
}

void worker_process_ended(struct worker_link *link)
{
    const struct call_board *b = link->process.board;

    /* It has, as a rule; but one that has closed its connection alone would run on for nobody. */
    port(link)->end(port(link)->arg, (uint32_t)link->number);
    for (struct worker *w = link->first; w; w = w->next) {
        struct task *next;
        struct task *t = w->executor ? worker_executor_tasks(w->executor) : NULL;
        for (; t; t = next) {
            next = worker_executor_task_after(t); /* before it goes home */
            settle(w->executor, t, b);
        }
    }
}

void worker_process_end(const struct worker_link *link, const struct task *t)
{
    if (link->process.board)
        call_board_blame_number(link->process.board, t->out.request, "it did not end in time");
    port(link)->end(port(link)->arg, (uint32_t)link->number);
}
