/* task.list: packs one page of tasks, newest first, in turns with other operations. */
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/service/view.h"

enum {
    VISITS = 10000,               /* jobs visited for one page at most, so that it comes soon */
    LIST_HEAD = 5,                /* bytes of the head of an array of any length */
    HEAD_AT = sizeof "tasks" + 1, /* after the head of the map and its first key */
};

/* Packs the head of the array without its length, which end() writes. */
static void begin(struct jobs *jobs, struct operation *op)
{
    static const uint8_t head[LIST_HEAD] = {0xdd};
    struct list_arguments *l = &op->list;
    const struct job *before = l->cursor > 0 ? table_find(&jobs->table, l->cursor) : NULL;

    op->begun = true;
    l->now = table_wall(&jobs->table);
    l->seeks = l->cursor > 0 && !before;
    walk_begin(&jobs->table.walks, &l->walk, before ? before->all_prev : jobs->table.last, true);
    walk_begin(&jobs->table.walks, &l->up, l->seeks ? jobs->table.first : NULL, false);
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 2);
    pack_str(&op->reply.result, "tasks");
    pack_raw(&op->reply.result, span_of(head, sizeof head));
}

/* The task of the cursor is forgotten: finds the task with the next lower id, with which the page
 * begins.  It seeks from both ends of the table, since old tasks are forgotten first. */
static void seek(struct list_arguments *l)
{
    const struct job *down = l->walk.at, *up = l->up.at;

    if (!down || down->id < l->cursor) {
        l->seeks = false;
    } else if (!up || up->id >= l->cursor) {
        l->walk.at = up ? up->all_prev : NULL;
        l->seeks = false;
    } else {
        walk_next(&l->walk);
        walk_next(&l->up);
    }
}

static void visit(struct jobs *jobs, struct operation *op)
{
    struct list_arguments *l = &op->list;
    struct job *job = walk_next(&l->walk);

    l->cursor = job->id;
    l->visits++;
    if (!filter_fits(jobs, op, &l->filter, job, l->now))
        return;
    view_job(jobs, op, job, 0, &op->reply.result);
    l->found++;
}

static bool is_full(const struct operation *op)
{
    const struct list_arguments *l = &op->list;

    return !l->walk.at || l->found >= l->max || l->visits >= VISITS ||
           op->reply.result.buffer.size >= LIST_BYTES_MAX;
}

static void end(struct jobs *jobs, struct operation *op)
{
    struct list_arguments *l = &op->list;
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];

    for (unsigned i = 1; i < LIST_HEAD && !p->failed; i++)
        p->buffer.data[HEAD_AT + i] = (char)(l->found >> (8 * (LIST_HEAD - 1 - i)));
    pack_key_str(p, "next", l->walk.at ? id_text(l->cursor, id) : NULL);
    walk_end(&jobs->table.walks, &l->walk);
    walk_end(&jobs->table.walks, &l->up);
    operation_finish(op);
}

static bool serve(struct jobs *jobs, struct operation *op)
{
    uint32_t begun = jobs->work;

    if (!op->begun)
        begin(jobs, op);
    while (jobs->work - begun < TURN_WORK && (op->list.seeks || !is_full(op))) {
        jobs_worked(jobs, 1);
        if (op->list.seeks)
            seek(&op->list);
        else
            visit(jobs, op);
    }
    if (op->list.seeks || !is_full(op))
        return false;
    end(jobs, op);
    return true;
}

const struct operation_class operation_task_list = {.method = method_task_list,
                                                    .serve_part = serve};
