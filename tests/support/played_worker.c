#include "tests/support/played_worker.h"

#include <stdio.h>
#include <string.h>

#include "server/tasks/task_result.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static bool on_send(void *peer, struct worker_executor *r, struct task *t)
{
    struct played_worker *p = peer;
    assert_ptr_equal(p->executor, r);
    if (p->full)
        return false;
    assert_true(p->count < PLAYED_TASKS);
    p->has[p->count++] = t;
    p->sent++;
    if (!p->slow)
        worker_executor_begun(r, t);
    return true;
}

static void on_unwanted(void *peer, struct task *t, enum task_flag why)
{
    struct played_worker *p = peer;
    assert_true(task_flagged(t) & why);
    p->unwanted++;
    p->why = why;
}

static void on_joined(void *peer, struct worker_executor *r, enum ergon_error error,
                      const char *text)
{
    struct played_worker *p = peer;
    assert_ptr_equal(p->executor, r);
    p->joined++;
    p->error = error;
    snprintf(p->text, sizeof p->text, "%s", text ? text : "");
    if (error != ERGON_OK)
        p->executor = NULL;
}

static void on_settled(void *peer, struct worker_executor *r, bool open)
{
    struct played_worker *p = peer;
    assert_ptr_equal(p->executor, r);
    p->opened += open;
    p->quieted += !open;
}

void played_workers_open(void)
{
    static const struct worker_port port = {on_send, on_unwanted, on_joined, on_settled};
    for (uint32_t i = 0; i < w.plan.loop_count; i++)
        worker_loop_set_port(worker_loop_at(w.tasks, i), &port);
}

void played_join_as(struct played_worker *p, uint32_t loop, const char *methods,
                    const struct worker_executor_spec *rest)
{
    struct span names[WORKER_METHODS_MAX];
    struct worker_executor_spec spec = *rest;
    spec.methods = names;
    spec.slots = spec.slots ? spec.slots : 1;
    spec.share = spec.share ? spec.share : WORKER_SHARE_ALL;
    for (const char *at = methods; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        names[spec.count++] = span_of(at, len);
        at += len;
    }
    *p = (struct played_worker){0};
    p->executor = worker_executor_register(worker_loop_at(w.tasks, loop), &spec, p);
    assert_non_null(p->executor);
}

void played_join(struct played_worker *p, uint32_t loop, const char *methods, uint32_t slots)
{
    played_join_as(p, loop, methods, &(struct worker_executor_spec){.slots = slots});
}

static struct task *take(struct played_worker *p, unsigned n)
{
    struct task *t = p->has[n];
    assert_true(n < p->count);
    memmove(&p->has[n], &p->has[n + 1], (--p->count - n) * sizeof *p->has);
    return t;
}

void played_begin(struct played_worker *p, unsigned n)
{
    assert_true(n < p->count);
    worker_executor_begun(p->executor, p->has[n]);
}

void played_answer(struct played_worker *p, unsigned n)
{
    worker_executor_answer(p->executor, take(p, n));
}

void played_answer_with(struct played_worker *p, unsigned n, size_t bytes)
{
    struct task *t = take(p, n);
    uint8_t *room = task_result_room(t, bytes, bytes);
    assert_non_null(room);
    memset(room, 0, bytes);
    t->result_len = bytes;
    worker_executor_answer(p->executor, t);
}

void played_fail(struct played_worker *p, unsigned n, const char *text)
{
    struct task *t = take(p, n);
    task_fail(t, ERGON_E_FAILED, NULL, span_text(text));
    worker_executor_answer(p->executor, t);
}

void played_answer_all(struct played_worker *p)
{
    while (p->count > 0)
        played_answer(p, 0);
}

void played_lose(struct played_worker *p, const char *why)
{
    struct worker_executor *r = p->executor;
    p->executor = NULL;
    p->count = 0;
    worker_executor_lost(r, why);
}
