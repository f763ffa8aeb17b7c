/* server.times: how long tasks of the busiest methods waited and ran, as histograms whose counts
 * only grow, so that whoever asks twice knows the time between. */
#include <stdlib.h>

#include "base/clock.h"
#include "server/rpc/method.h"
#include "server/tasks/method_ranks.h"

enum {
    TIMES_USUAL = 20, /* methods that are told of unless it is said */
    TIMES_MOST = 64   /* each has up to 2 x 54 counters at each executor, all of which are read */
};

/* [bucket, count, bucket, count, ...], of those that are not empty. */
static void pack_histogram(struct pack *p, const char *key, const struct histogram_sum *h)
{
    uint32_t used = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        used += h->buckets[i] > 0;
    pack_str(p, key);
    pack_array(p, 2 * used);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (h->buckets[i] > 0) {
            pack_uint(p, i);
            pack_uint(p, h->buckets[i]);
        }
}

static void pack_bounds(struct pack *p)
{
    pack_str(p, "bounds");
    pack_array(p, HISTOGRAM_LAST);
    for (unsigned i = 0; i < HISTOGRAM_LAST; i++)
        pack_uint(p, histogram_bound(i));
}

static void pack_rows(struct pack *p, const struct tasks *tasks, const struct method_rank *ranks,
                      uint32_t count)
{
    pack_str(p, "methods");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++) {
        struct times_sum times;
        struct method_info m;
        tasks_method_times(tasks, ranks[i].index, &times);
        tasks_method_info(tasks, ranks[i].index, &m);
        pack_map(p, 5);
        pack_key_str(p, "name", m.name);
        pack_key_uint(p, "done", m.done);
        pack_key_uint(p, "failed", m.failed);
        pack_histogram(p, "wait", &times.wait);
        pack_histogram(p, "run", &times.run);
    }
}

static bool read_limit(struct reader *r, void *out)
{
    uint64_t n;
    if (!read_uint(r, &n) || n == 0 || n > TIMES_MOST)
        return false;
    *(uint32_t *)out = (uint32_t)n;
    return true;
}

/* [{limit}].  False: answered. */
static bool read_options(struct rpc_request *rq, uint32_t *most)
{
    const struct option options[] = {{"limit", read_limit, most, "a number from 1 to 64"}};
    struct reader r;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count <= 1)
        return count == 0 || rpc_read_options(rq, &r, options, 1);
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "server.times takes [{limit}]");
    return false;
}

/* server.times [{limit}] */
static void serve_times(struct rpc_request *rq)
{
    const struct rpc_shared *s = rq->loop->shared;
    uint32_t most = TIMES_USUAL, methods = registry_count(s->registry);
    struct pack p;

    if (!read_options(rq, &most))
        return;
    struct method_rank *ranks = malloc((methods + 1) * sizeof *ranks);
    if (!ranks) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    uint32_t count = method_ranks(s->tasks, methods, true, ranks);
    pack_init(&p);
    pack_map(&p, 4);
    pack_key_uint(&p, "time", clock_wall() / AO_MS(1));
    pack_key_uint(&p, "more", count > most ? count - most : 0);
    pack_bounds(&p);
    pack_rows(&p, s->tasks, ranks, count < most ? count : most);
    free(ranks);
    rpc_answer_packed(rq, &p);
}

static const struct rpc_method methods_table[] = {
    {"server.times", RPC_GUARDED, RPC_USES, serve_times, "[{limit: int}]",
     "how long tasks of the busiest methods waited and ran"},
};
const struct rpc_methods rpc_times_methods = {methods_table,
                                              sizeof methods_table / sizeof methods_table[0]};
