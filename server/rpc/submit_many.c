#include "server/rpc/submit_many.h"

#include <stdlib.h>

#include "server/net/connection.h"
#include "server/rpc/read_spec.h"
#include "server/rpc/trail.h"

static const char many_usage[] =
    "task.submit_many takes [[[method, [params], {options}], ...], {options of "
    "all}]",
                  add_usage[] = "batch.add takes [id, [[method, [params], {options}], ...], "
                                "{options of all}]; an id is the text that batch.create answered";

enum {
    JOBS_MAX = 16384, /* of a request */
    /* Of all arrays and maps of a request: where each spec ends is only known by walking through
     * them, at once, 3 ns each. */
    ELEMENTS_MAX = 1 << 18,
    PART = 1024,   /* specs of a part: about half a millisecond, but for long parameters; */
    SPEC_WORK = 16 /* so many ids of `after` count as one more */
};

/* A list that is being read.  It is malloc'ed and the loop's, if there is more than one part. */
struct reading {
    struct job_request jr;
    struct job_spec common;       /* what each spec starts from */
    uint32_t next;                /* spec to be read */
    const struct rpc_method *own; /* between two parts: the request's method, */
    struct act *act;              /* and its act; NULL: it is none so far */
    uint64_t batch;               /* of batch.add: whose members they are; else 0 */
    const char *usage;
};

enum progress { READ_ALL, READ_SOME, REFUSED };

/* How many specs the request holds; 0: it is not of that shape. */
static uint32_t count_specs(struct rpc_request *rq)
{
    struct reader r;
    uint32_t count, specs;

    read_params(rq->params, &r, &count);
    return count >= 1 && count <= 2 && read_array(&r, &specs) ? specs : 0;
}

/* The same of those behind the id of a batch. */
static uint32_t count_members(struct rpc_request *rq, uint64_t *batch)
{
    struct reader r;
    uint32_t count, specs;

    read_params(rq->params, &r, &count);
    return count >= 2 && count <= 3 && option_batch(&r, batch) && read_array(&r, &specs) ? specs
                                                                                         : 0;
}

static bool read_item(struct reading *g, struct job_spec *spec)
{
    struct job_request *jr = &g->jr;
    uint32_t parts = 1;

    if (read_array(&jr->r, &parts) && parts == 0)
        return spec_refuse(jr, ERGON_E_BAD_PARAMS, "%s", g->usage);
    if (!spec_read(jr, spec, parts, g->usage))
        return false;
    return g->batch == 0 || spec->batch == g->batch ||
           spec_refuse(jr, ERGON_E_BAD_PARAMS, "its option batch names another batch");
}

/* The common options follow the array of specs, and each spec starts from them. */
static bool read_common(struct job_request *jr, struct job_spec *common)
{
    struct job_request ahead = *jr;
    struct span specs;

    spec_defaults(jr, common);
    if (jr->count < 2)
        return true;
    bool good = rpc_read_any(jr->rq, jr->params, &ahead.r, &specs) && spec_options(&ahead, common);
    jr->ids = ahead.ids;
    return good;
}

static enum progress read_part(struct reading *g)
{
    struct job_request *jr = &g->jr;
    struct submission_arguments *s = &jr->op->submission;
    uint32_t work = 0;

    while (g->next < s->count && work < PART * SPEC_WORK) {
        const uint64_t *ids = jr->ids;
        struct job_spec *spec = &s->specs[g->next++];
        *spec = g->common;
        jr->item = g->next;
        if (!read_item(g, spec))
            return REFUSED;
        work += SPEC_WORK + (uint32_t)(jr->ids - ids);
    }
    return g->next < s->count ? READ_SOME : READ_ALL;
}

/* --- Between two parts --- */

static void read_later(struct reading *begun)
{
    struct rpc_request *rq = begun->jr.rq;
    struct reading *g = malloc(sizeof *g);

    if (!g) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        job_request_abort(&begun->jr);
        return;
    }
    *g = *begun;
    g->own = rq->loop->recent_own;
    g->act = trail_take(rq->loop);
    g->jr.op->submission.reading = g;
    job_request_open(&g->jr, CALL_READING);
    conn_begin_parts(rq->conn);
}

static struct reading *reading_of(struct call *call)
{
    return ao_of(call, struct operation, call)->submission.reading;
}

/* No other call began since, so it is the first in the list; calls that are over leave the list. */
static struct call *call_being_read(struct connection *c)
{
    struct call *call = *conn_user(c);

    while (!call_is_reading(call))
        call = call->next;
    return call;
}

/* A reload may come between two parts: what was read by wider rights is not submitted. */
static bool still_may(struct reading *g)
{
    const struct rpc_request *rq = g->jr.rq;
    const struct operation *op = g->jr.op;
    const struct principal *who = conn_principal(rq->conn);
    struct span method = span_text(op->cls->method);

    if (!op->rights || (who && rights_within(op->rights, principal_rights(who), method, method)))
        return true;
    if (!who)
        rpc_refuse(g->jr.rq, ERGON_E_AUTH,
                   "authentication required: call server.auth with a token");
    else
        rpc_refuse(g->jr.rq, ERGON_E_DENIED,
                   "the rights for this were reduced while it was read; send it again");
    return false;
}

void submit_many_read_part(void *arg, struct connection *c)
{
    struct rpc_loop *loop = arg;
    struct call *call = call_being_read(c);
    struct reading *g = reading_of(call);
    struct rpc_request rq = {.loop = loop,
                             .conn = c,
                             .msgid = span_of(call->msgid, call->msgid_len),
                             .params = g->jr.params};

    g->jr.rq = &rq;
    conn_worked(c, PART);
    trail_resume(&rq, g->own, g->act);
    enum progress progress = still_may(g) ? read_part(g) : REFUSED;
    if (progress == READ_SOME) {
        g->act = trail_take(loop);
        return;
    }
    conn_end_parts(c);
    if (progress == READ_ALL)
        job_request_give(&g->jr);
    else
        job_request_close(&g->jr);
    trail_served(loop);
    free(g);
}

bool call_is_reading(const struct call *call)
{
    return call->tag & CALL_READING;
}

void submit_many_give_up(struct call *call)
{
    struct reading *g = reading_of(call);

    conn_end_parts(call->owner);
    trail_end(g->act, error_name(ERGON_E_CANCELLED));
    job_request_close(&g->jr);
    free(g);
}

/* --- The request --- */

/* Takes the id of the batch, which was read before. */
static bool skip_batch(struct reading *g)
{
    struct span text;

    if (g->batch == 0)
        return true;
    g->jr.count--;
    return read_text(&g->jr.r, &text);
}

static void read_request(struct reading *g)
{
    struct job_request *jr = &g->jr;
    uint32_t count;
    bool good = skip_batch(g) && read_common(jr, &g->common);
    if (good && g->batch > 0)
        g->common.batch = g->batch;
    good = good && read_array(&jr->r, &count);

    switch (good ? read_part(g) : REFUSED) {
    case READ_ALL:
        job_request_send(jr, false);
        break;
    case READ_SOME:
        read_later(g);
        break;
    case REFUSED:
        job_request_abort(jr);
        break;
    }
}

static void serve(struct rpc_request *rq, struct reading *g, const struct operation_class *cls,
                  uint32_t specs)
{
    if (specs == 0) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", g->usage);
        return;
    }
    if (specs > JOBS_MAX) {
        rpc_refuse(rq, ERGON_E_TOO_LARGE, "at most %d tasks in one request", JOBS_MAX);
        return;
    }
    if (value_length_within(rq->params, ELEMENTS_MAX) == 0) {
        rpc_refuse(rq, ERGON_E_TOO_LARGE,
                   "the arrays and maps of one request have at most %d elements together: submit "
                   "tasks with long ones one by one, or pack these as bin",
                   ELEMENTS_MAX);
        return;
    }
    if (!job_request_begin(&g->jr, rq, cls, specs))
        return;
    conn_worked(rq->conn, specs); /* of which most is to come: all of it was walked through */
    read_request(g);
}

/* task.submit_many [[[method, [params], {options}], ...], {options of all}] */
void serve_task_submit_many(struct rpc_request *rq)
{
    struct reading g = {.usage = many_usage};

    serve(rq, &g, &operation_task_submit_many, count_specs(rq));
}

/* batch.add [id, [[method, [params], {options}], ...], {options of all}] */
void serve_batch_add(struct rpc_request *rq)
{
    struct reading g = {.usage = add_usage};
    uint32_t specs = count_members(rq, &g.batch);

    serve(rq, &g, &operation_batch_add, specs);
}
