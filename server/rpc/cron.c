/* The namespace cron.*: tasks by calendar. */
#include "server/rpc/orders.h"

static bool read_word(struct reader *r, const char *const *words, uint8_t count, uint8_t *out)
{
    struct reader before = *r;
    struct span name;

    if (!read_text(r, &name))
        return false;
    for (uint8_t i = 0; i < count; i++)
        if (span_is(name, words[i])) {
            *out = i;
            return true;
        }
    *r = before;
    return false;
}

static bool read_overlap(struct reader *r, void *out)
{
    static const char *const words[] = {
        [CRON_SKIP] = "skip", [CRON_ALLOW] = "allow", [CRON_REPLACE] = "replace"};
    return read_word(r, words, 3, out);
}

static bool read_catch_up(struct reader *r, void *out)
{
    static const char *const words[] = {
        [CRON_CATCH_NONE] = "none", [CRON_CATCH_ONE] = "one", [CRON_CATCH_ALL] = "all"};
    return read_word(r, words, 3, out);
}

static const char put_usage[] =
    "cron.put takes [name, schedule, method, [params], {zone, jitter, catch_up, overlap, and "
    "options of its tasks}]";

static bool read_names(struct ask_build *b, struct cron_order *c)
{
    if (b->count >= 3 && b->count <= 5 && option_name(&b->r, &c->name) &&
        option_name(&b->r, &c->schedule) && read_text(&b->r, &c->task.method) &&
        (b->count < 4 || read_any(&b->r, &c->task.params)))
        return true;
    rpc_refuse(b->rq, ERGON_E_BAD_PARAMS, "%s", put_usage);
    return false;
}

static bool read_options(struct ask_build *b, struct cron_order *c)
{
    const struct option own[] = {
        {"zone", option_name, &c->zone, "a name of the time zone database: \"Europe/Berlin\""},
        {"catch_up", read_catch_up, &c->catch_up, "\"none\", \"one\" or \"all\""},
        {"overlap", read_overlap, &c->overlap, "\"skip\", \"allow\" or \"replace\""},
        {"jitter", option_duration, &c->jitter, EXPECTS_DURATION},
    };
    const struct order_more more = {own, sizeof own / sizeof own[0]};
    struct reader before = b->r;

    if (b->count < 5)
        return true;
    if (!order_options(b, &c->task, &more))
        return false;
    c->options = span_of(before.at, (size_t)(b->r.at - before.at));
    if (c->task.delay == 0 && c->task.at == 0 && c->task.key.len == 0 && c->task.after_count == 0)
        return true;
    rpc_refuse(b->rq, ERGON_E_BAD_PARAMS,
               "the tasks of a cron cannot have the options delay, at, key and after");
    return false;
}

static void serve_put(struct rpc_request *rq)
{
    struct ask_build b;

    if (!ask_begin(&b, rq, ASK_CRON_PUT, 0))
        return;
    struct cron_order *c = &b.ask->cron;
    order_defaults(&b, &c->task);
    if (read_names(&b, c) && order_may_run(&b, c->task.method) && read_options(&b, c))
        ask_send(&b, false);
    else
        ask_abort(&b);
}

static void serve_list(struct rpc_request *rq)
{
    struct ask_build b;

    if (ask_begin(&b, rq, ASK_CRON_LIST, 0))
        ask_send(&b, false);
}

static void serve_delete(struct rpc_request *rq)
{
    struct ask_build b;

    if (!ask_begin(&b, rq, ASK_CRON_DELETE, 0))
        return;
    if (b.count == 1 && option_name(&b.r, &b.ask->name)) {
        ask_send(&b, false);
        return;
    }
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "cron.delete takes [name]");
    ask_abort(&b);
}

static const struct rpc_method methods[] = {
    {"cron.put", RPC_OPEN, serve_put,
     "[name: str, schedule: str, method: str, [params], {zone, jitter, catch_up, overlap, ...}]",
     "submit a task by calendar"},
    {"cron.list", RPC_GUARDED, serve_list, "[]", "the crons, and when each comes next"},
    {"cron.delete", RPC_GUARDED, serve_delete, "[name: str]", "forget a cron"},
};
const struct rpc_methods rpc_cron_methods = {methods, sizeof methods / sizeof methods[0]};
