/* task.list: newest first, a page at a time. */
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/filter.h"
#include "server/jobs/service/view.h"

enum { VISITS = 10000 /* jobs looked at for one page, so that the loop goes on */ };

/* The last with a lower id; from both ends, since what is forgotten first is old. */
static struct job *last_below(const struct jobs *jobs, uint64_t id)
{
    struct job *down = jobs->table.last, *up = jobs->table.first;

    while (down && down->id >= id && up && up->id < id) {
        down = down->all_prev;
        up = up->all_next;
    }
    if (!down || down->id < id)
        return down;
    return up ? up->all_prev : NULL;
}

/* Where the page begins: behind the cursor, whether or not its task is still known. */
static struct job *begin(const struct jobs *jobs, uint64_t cursor)
{
    if (cursor == 0)
        return jobs->table.last;
    const struct job *job = table_find(&jobs->table, cursor);
    return job ? job->all_prev : last_below(jobs, cursor);
}

static void serve(struct jobs *jobs, struct operation *op)
{
    const struct list_arguments *f = &op->list;
    struct pack tasks;
    uint64_t now = table_wall(&jobs->table), cursor = 0;
    uint32_t found = 0, visits = 0;
    char id[ID_TEXT_SIZE];
    struct job *job = begin(jobs, f->cursor);

    pack_init(&tasks);
    for (; job && found < f->max && visits < VISITS && tasks.buffer.size < LIST_BYTES_MAX;
         job = job->all_prev, visits++) {
        cursor = job->id;
        if (!filter_fits(jobs, op, &f->filter, job, now))
            continue;
        view_job(jobs, job, 0, &tasks);
        found++;
    }
    jobs_worked(jobs, visits);
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 2);
    pack_str(&op->reply.result, "tasks");
    pack_array(&op->reply.result, found);
    pack_raw(&op->reply.result, pack_bytes(&tasks));
    op->reply.result.failed |= tasks.failed;
    pack_key_str(&op->reply.result, "next", job ? id_text(cursor, id) : NULL);
    pack_fini(&tasks);
    operation_finish(op);
}

const struct operation_class operation_list = {.method = "task.list", .serve = serve};
