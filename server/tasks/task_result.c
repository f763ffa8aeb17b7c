#include "server/tasks/task_result.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "base/utf8.h"
#include "server/tasks/attempt.h"
#include "server/tasks/held_bytes.h"

static const uint8_t nil[] = {0xc0};

/* All that is left of the task's own memory is the result's. */
static void take_rest(struct task *t)
{
    t->result_room = (size_t)TASK_MEMORY - t->memory_used;
    t->result = task_own_memory(t, t->result_room);
}

static void drop_block(struct task *t)
{
    if (!t->result_block)
        return;
    free(t->result_block);
    t->result_block = NULL;
}

static bool fail_memory(struct task *t)
{
    task_fail(t, ERGON_E_MEMORY, NULL, span_text("no memory for the result"));
    return false;
}

static bool fail_busy(struct task *t)
{
    task_fail(t, ERGON_E_BUSY, NULL,
              span_text("no room for the result (limits.memory or limits.principal_memory): read "
                        "the answers that wait, or try again later"));
    return false;
}

/* A result beyond the task's own memory; `keep` bytes of the one there stay. */
static bool move_to_block(struct task *t, size_t size, size_t keep, uint64_t max)
{
    size_t twice = 2 * t->result_room < max ? 2 * t->result_room : (size_t)max;
    size_t room = keep == 0 || size > twice ? size : twice;
    if (!task_cover_result(t, room))
        return fail_busy(t);
    uint8_t *outside = t->result_block ? NULL : t->result;
    uint8_t *block = realloc(t->result_block, room);
    if (!block)
        return fail_memory(t);
    if (outside && keep > 0)
        memcpy(block, outside, keep);
    t->result = t->result_block = block;
    t->result_room = room;
    return true;
}

/* Room for `size` bytes, of which the first `keep` are there. */
static bool grow(struct task *t, size_t size, size_t keep, uint64_t max)
{
    if (size > max) {
        task_fail(t, ERGON_E_TOO_LARGE, NULL, span_text("the result is larger than a message"));
        return false;
    }
    if (keep == 0 && size <= (size_t)TASK_MEMORY - t->memory_used) {
        take_rest(t);
        return true;
    }
    return move_to_block(t, size, keep, max);
}

uint8_t *task_result_room(struct task *t, size_t size, uint64_t max)
{
    if (t->error != ERGON_OK)
        return NULL;
    t->result_len = 0;
    if (size > t->result_room && !grow(t, size, 0, max))
        return NULL;
    return t->result;
}

uint8_t *task_result_more(struct task *t, size_t more, uint64_t max)
{
    if (t->error != ERGON_OK)
        return NULL;
    size_t size = more < SIZE_MAX - t->result_len ? t->result_len + more : SIZE_MAX;
    if (size > t->result_room && !grow(t, size, t->result_len, max))
        return NULL;
    return t->result + t->result_len;
}

void task_result_borrow(struct task *t, const uint8_t *at, size_t len)
{
    if (t->error != ERGON_OK)
        return;
    drop_block(t);
    t->result = (uint8_t *)(uintptr_t)at; /* with no room: nobody writes there */
    t->result_len = len;
    t->result_room = 0;
}

/* The memory of the result holds the failure: code, a zero, text, traceback. */
static void make_failure_room(struct task *t, size_t size)
{
    if (t->result_block || t->result_room == 0)
        take_rest(t);
    drop_block(t);
    if (size <= t->result_room)
        return;
    t->result_block = malloc(size);
    if (!t->result_block)
        return;
    t->result = t->result_block;
    t->result_room = size;
}

void task_fail_traced(struct task *t, enum ergon_error error, const char *code, struct span text,
                      struct span traceback)
{
    if (t->error != ERGON_OK)
        return;
    t->error = error;
    t->code = error_name(error);
    size_t code_len = code ? strnlen(code, TASK_CODE_MAX) : 0;
    size_t text_len = utf8_valid(text) ? text.len : 3 * text.len; /* when it has been cleaned */
    text_len = text_len < TASK_TEXT_MAX ? text_len : TASK_TEXT_MAX;
    size_t trace_len = traceback.len < TASK_TRACEBACK_MAX ? 3 * traceback.len : TASK_TRACEBACK_MAX;
    trace_len = trace_len < TASK_TRACEBACK_MAX ? trace_len : TASK_TRACEBACK_MAX;
    make_failure_room(t, code_len + 1 + text_len + trace_len);
    t->text = span_of(t->result, 0);
    t->result_len = 0;
    if (t->result_room <= code_len)
        return; /* without memory the table's name has to do */
    if (text_len > t->result_room - code_len - 1)
        text_len = t->result_room - code_len - 1;
    uint8_t *at = t->result;
    if (code) {
        memcpy(at, code, code_len);
        t->code = (const char *)at;
    }
    at[code_len] = '\0';
    text_len = utf8_text(at + code_len + 1, text_len, text);
    t->text = span_of(at + code_len + 1, text_len);
    size_t room = t->result_room - code_len - 1 - text_len;
    if (trace_len > 0)
        t->result_len = utf8_plain_end(at + code_len + 1 + text_len,
                                       room < trace_len ? room : trace_len, traceback);
}

void task_fail(struct task *t, enum ergon_error error, const char *code, struct span text)
{
    task_fail_traced(t, error, code, text, (struct span){0});
}

void task_run_again(struct task *t, uint64_t ns)
{
    char text[120], after[32];
    if (task_is(t, TASK_ATTEMPT)) {
        t->attempt->again = true;
        t->attempt->after = ns;
        return;
    }
    snprintf(text, sizeof text, "ask again in %s; a task that is submitted is run again by itself",
             units_duration_text(ns, after, sizeof after));
    task_fail(t, ERGON_E_BUSY, NULL, span_text(text));
}

void task_outcome(struct task *t, struct outcome *out)
{
    *out = (struct outcome){.error = t->error};
    if (t->error != ERGON_OK) {
        out->code = t->code;
        out->text = t->text;
        if (t->result_len > 0)
            out->result = span_of(t->text.at + t->text.len, t->result_len);
        return;
    }
    if (task_borrows_result(t) && t->params_block) {
        t->result_block = t->params_block; /* so that it can be handed on */
        t->params_block = NULL;
    }
    out->result = t->result_len ? span_of(t->result, t->result_len) : span_of(nil, sizeof nil);
    out->block = t->result_block;
}

void outcome_of(enum ergon_error error, struct outcome *out)
{
    *out = (struct outcome){
        .error = error, .code = error_name(error), .text = span_text(error_meaning(error))};
}
