#include "client/cli/doctor/gather.h"

#include "client/cli/doctor/local.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/look.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

enum {
    ANSWER_MS = 5000,     /* a server that takes longer does not answer */
    EXPLAIN_MAX = 50,     /* queues that are asked why */
    SEMAPHORES_MAX = 100, /* whose holders are asked for */
    TENANTS_MAX = 1000,
    WORKERS_MAX = 10000
};

struct looker {
    struct session *session;
    json_t *facts;
    uint32_t timeout_ms;
    bool ended; /* the connection has */
};

/* What was not answered is kept as a fact of its own. */
static json_t *answered(struct looker *l, const char *method, json_t *answer, enum status status)
{
    if (status == STATUS_CONNECT)
        l->ended = true;
    else if (status != STATUS_OK)
        json_array_append_new(
            json_object_get(l->facts, status == STATUS_TIMEOUT ? "silent" : "not_asked"),
            json_string(method));
    return answer;
}

static json_t *ask(struct looker *l, const char *method, json_t *params)
{
    enum status status;
    if (l->ended) {
        json_decref(params);
        return NULL;
    }
    json_t *answer = look_at(l->session, method, params, l->timeout_ms, &status);
    return answered(l, method, answer, status);
}

/* Of one thing, which may have gone since it was listed. */
static json_t *ask_of_one(struct looker *l, const char *method, json_t *params)
{
    enum status status;
    if (l->ended) {
        json_decref(params);
        return NULL;
    }
    json_t *answer = look_at(l->session, method, params, l->timeout_ms, &status);
    return answered(l, method, answer, status == STATUS_NOT_FOUND ? STATUS_OK : status);
}

static json_t *ask_pages(struct looker *l, const char *method, const char *key, size_t limit)
{
    enum status status;
    if (l->ended)
        return NULL;
    json_t *answer = look_at_pages(l->session, method, key, limit, l->timeout_ms, &status);
    return answered(l, method, answer, status);
}

static void keep(struct looker *l, const char *key, json_t *value)
{
    if (value != NULL)
        json_object_set_new(l->facts, key, value);
}

/* A server that says nothing is not asked for more. */
static bool is_silent(const struct looker *l)
{
    return json_array_size(json_object_get(l->facts, "silent")) > 0;
}

static void explain_queue(struct looker *l, json_t *queue)
{
    const char *const keys[] = {"reason", "text"};
    json_t *said = ask_of_one(l, "queue.explain", json_pack("[s]", json_text(queue, "method")));
    for (size_t i = 0; said != NULL && i < sizeof keys / sizeof *keys; i++)
        json_object_set(queue, keys[i], json_object_get(said, keys[i]));
    json_decref(said);
}

static json_int_t count_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* Where something waits and nothing runs. */
static void explain_queues(struct looker *l)
{
    size_t i, asked = 0;
    json_t *q;
    json_array_foreach(json_object_get(l->facts, "queues"), i, q)
    {
        bool stands = count_of(q, "queued") + count_of(q, "waiting") > 0 &&
                      count_of(q, "running") + count_of(q, "assigned") == 0;
        if (stands && asked++ < EXPLAIN_MAX)
            explain_queue(l, q);
    }
}

static void ask_holders(struct looker *l)
{
    size_t i, asked = 0;
    json_t *s;
    json_array_foreach(json_object_get(l->facts, "semaphores"), i, s)
    {
        if (count_of(s, "held") == 0 || asked++ >= SEMAPHORES_MAX)
            continue;
        json_t *of = json_pack("{s:s}", "tenant", json_text(s, "tenant"));
        json_t *said = ask_of_one(l, "sem.explain", json_pack("[s, o]", json_text(s, "name"), of));
        json_object_set(s, "holders", json_object_get(said, "holders"));
        json_decref(said);
    }
}

static void look_first(struct looker *l)
{
    json_t *before = json_object(), *info = ask(l, "server.info", NULL);
    json_t *queues = is_silent(l) ? NULL : ask(l, "queue.list", NULL);
    if (info != NULL)
        json_object_set_new(before, "info", info);
    if (queues != NULL)
        json_object_set_new(before, "queues", queues);
    keep(l, "before", before);
}

static void look_again(struct looker *l)
{
    uint64_t asked = clock_monotonic();
    json_t *info = ask(l, "server.info", NULL);
    if (info != NULL) {
        keep(l, "info", info);
        keep(l, "now", json_integer(now_ms()));
        keep(l, "asked_ms", json_integer((json_int_t)((clock_monotonic() - asked) / 1000000)));
    }
    keep(l, "topology", ask(l, "server.topology", NULL));
    if (json_is_object(json_object_get(info, "cluster")))
        keep(l, "cluster", ask(l, "cluster.status", NULL));
    if (!is_silent(l))
        keep(l, "queues", ask(l, "queue.list", NULL));
    if (is_silent(l))
        return;
    explain_queues(l);
    keep(l, "tenants", ask_pages(l, "queue.tenants", "tenants", TENANTS_MAX));
    keep(l, "crons", ask(l, "cron.list", NULL));
    keep(l, "semaphores", ask(l, "sem.list", NULL));
    keep(l, "workers", ask_pages(l, "worker.list", "workers", WORKERS_MAX));
    ask_holders(l);
    keep(l, "actor_types", ask(l, "actor.types", NULL));
    keep(l, "actors", ask(l, "actor.list", json_pack("[{s:s}]", "sort", "waiting")));
}

/* Each once. */
static void without_repeats(json_t *names)
{
    for (size_t i = 0; i < json_array_size(names); i++)
        for (size_t k = json_array_size(names) - 1; k > i; k--)
            if (json_equal(json_array_get(names, i), json_array_get(names, k)))
                json_array_remove(names, k);
}

json_t *facts_gather(struct session *s, uint64_t between_ns, bool local)
{
    const uint64_t second = UINT64_C(1000000000);
    const struct timespec pause = {.tv_sec = (time_t)(between_ns / second),
                                   .tv_nsec = (long)(between_ns % second)};
    uint64_t limit_ms = s->globals->timeout_ns / 1000000;
    struct looker l = {.session = s,
                       .facts = json_pack("{s:[], s:[]}", "silent", "not_asked"),
                       .timeout_ms =
                           limit_ms > 0 && limit_ms < ANSWER_MS ? (uint32_t)limit_ms : ANSWER_MS};
    look_first(&l);
    if (!is_silent(&l) && !l.ended) {
        nanosleep(&pause, NULL);
        look_again(&l);
    } else if (!l.ended && json_object_get(json_object_get(l.facts, "before"), "info") != NULL) {
        look_again(&l); /* its manager hangs, and its loops answer */
    }
    if (l.ended) {
        json_decref(l.facts);
        return NULL;
    }
    without_repeats(json_object_get(l.facts, "silent"));
    without_repeats(json_object_get(l.facts, "not_asked"));
    if (local)
        keep(&l, "local", local_facts(s->globals->server, json_object_get(l.facts, "info")));
    return l.facts;
}
