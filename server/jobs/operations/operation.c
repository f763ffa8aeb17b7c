#include "server/jobs/operations/operation.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/ids.h"
#include "server/jobs/core/message.h"
#include "server/jobs/accessors.h"
#include "server/jobs/operations/channel.h"

enum {
    ZEROED = offsetof(struct operation, reply.code),
    ARGUMENTS = offsetof(struct operation, submission)
};

struct operation *operation_new(struct slab *cells, const struct operation_class *cls)
{
    struct operation *op = cells ? slab_take(cells) : malloc(sizeof *op);
    if (!op)
        return NULL;
    memset(op, 0, ZEROED);
    if (cls->is_submission) {
        op->submission.count = op->submission.taken = 0;
        op->submission.outcomes = NULL;
    } else {
        memset((uint8_t *)op + ARGUMENTS, 0, offsetof(struct operation, room) - ARGUMENTS);
    }
    op->cells = cells;
    op->cls = cls;
    op->reply.code[0] = op->reply.text[0] = '\0';
    return op;
}

void operation_free(struct operation *op)
{
    if (!op)
        return;
    assert(!op->act);                                 /* the rpc layer has recorded it */
    assert(!op->waiting.at && !op->waiting.due.next); /* no list of the jobs has it */
    if (op->cls->fini)
        op->cls->fini(op);
    pack_fini(&op->reply.result);
    blob_unref(op->push.events);
    rights_unref(op->rights);
    block_free(&op->memory);
    block_free(&op->message);
    if (op->cells)
        slab_give(op->cells, op);
    else
        free(op);
}

uint8_t *operation_room(struct operation *op, size_t bytes)
{
    assert(!op->memory.at); /* called once: there is no second room */
    if (bytes <= sizeof op->room)
        return op->room;
    op->memory = block_new(bytes);
    return op->memory.at;
}

void operation_drop_arguments(struct operation *op)
{
    assert(op->cls->is_submission);
    if (!op->memory.at && !op->message.at)
        return;
    block_free(&op->memory);
    block_free(&op->message);
    op->submission.specs = NULL;
}

struct span operation_result(const struct operation *op)
{
    const struct operation_reply *reply = &op->reply;
    return reply->short_result > 0 ? span_of(reply->text, reply->short_result)
                                   : pack_bytes(&reply->result);
}

void operation_finish(struct operation *op)
{
    struct operation_reply *reply = &op->reply;
    assert(!op->waiting.held);
    assert(!op->waiting.at && !op->waiting.due.next);
    assert(!op->cls->due || !op->poll.timer.cls); /* its timer belongs to the jobs' thread */
    if (reply->result.failed && reply->error == ERGON_OK) {
        reply->error = ERGON_E_MEMORY;
        snprintf(reply->text, sizeof reply->text, "%s", error_meaning(ERGON_E_MEMORY));
    }
    channel_return(op);
}

void operation_refuse(struct operation *op, enum ergon_error error, const char *format, ...)
{
    va_list args;
    assert(error != ERGON_OK);
    op->reply.error = error;
    va_start(args, format);
    vsnprintf(op->reply.text, sizeof op->reply.text, format, args);
    va_end(args);
    operation_finish(op);
}

void operation_refuse_plain(struct operation *op, enum ergon_error error)
{
    operation_refuse(op, error, "%s", error_meaning(error));
}

static struct rights_object object_of(const struct job *job)
{
    struct span key = job->more ? job->more->key.name : (struct span){0};
    return (struct rights_object){.tenant = job->tenant->name,
                                  .queue = job->queue->name,
                                  .key = job->is_message ? message_actor(job) : key};
}

static bool covers(const struct operation *op, struct span method, const struct rights_object *o)
{
    return !op->rights || rights_cover(op->rights, method, o, op->others);
}

bool operation_may_know(const struct operation *op, const struct job *job)
{
    const struct rights_object o = object_of(job);
    return covers(op, span_text(op->cls->method), &o);
}

bool operation_may_name(const struct operation *op, const struct job *job, const struct job *other)
{
    return job->tenant == other->tenant && operation_may_know(op, other);
}

/* The same, where the listener's `allow` has a say, too. */
static bool covers_here(const struct operation *op, struct span name, const struct rights_object *o)
{
    return covers(op, name, o) && (!op->allow || patterns_fit(op->allow, name));
}

bool operation_may_run(const struct operation *op, const struct job *job)
{
    const struct rights_object o = object_of(job);
    return covers_here(op, o.queue, &o);
}

unsigned operation_sees_object(const struct operation *op, const struct rights_object *object)
{
    if (covers_here(op, span_text(RIGHT_CONTENTS), object))
        return SEES_CONTENTS | SEES_RESULTS;
    return covers_here(op, object->queue, object) ? SEES_RESULTS : 0;
}

unsigned operation_sees(const struct operation *op, const struct job *job)
{
    const struct rights_object o = object_of(job);
    return operation_sees_object(op, &o);
}

bool operation_may_wait(const struct operation *op, const struct job *job, const struct job *on)
{
    const struct rights_object o = object_of(on);
    return covers(op, job->queue->name, &o);
}

bool operation_admit_run(struct operation *op, const struct job *job)
{
    if (operation_may_run(op, job))
        return true;
    operation_refuse(op, ERGON_E_DENIED,
                     "to have the task run, a principal needs the right to call its method "
                     "\"%.*s\"; a role, or the line in the token file, has to name it",
                     (int)job->queue->name.len, (const char *)job->queue->name.at);
    return false;
}

bool operation_may_object(const struct operation *op, const struct rights_object *object)
{
    return covers(op, span_text(op->cls->method), object);
}

bool operation_may_queue(const struct operation *op, struct span queue)
{
    return !op->rights || rights_cover_queue(op->rights, span_text(op->cls->method), queue);
}

void operation_meet(struct operation *op, const struct job *job)
{
    bool is_own = span_equal(job->tenant->name, op->tenant);

    op->met_own |= is_own;
    op->met_others |= !is_own;
}

struct job *operation_find_job(struct jobs *jobs, struct operation *op, uint64_t id)
{
    struct job *job = table_find(jobs_table(jobs), id);
    char text[ID_TEXT_SIZE];
    if (job && operation_may_know(op, job)) {
        operation_meet(op, job);
        return job;
    }
    operation_refuse(op, ERGON_E_NOT_FOUND, "no task %s: it never existed, or was forgotten",
                     id_text(id, text));
    return NULL;
}
