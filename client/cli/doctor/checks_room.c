/* What is bounded, and nearly full. */
#include "client/cli/doctor/checks.h"

#include "base/units.h"
#include "client/cli/json.h"

#include <stdio.h>

enum {
    NEAR = 80,      /* percent: of what is refused when it is full */
    NEAR_KEPT = 95, /* of what goes by itself then */
    FILES_OWN =
        64, /* that the server opens for itself: server/system/machine.c keeps so many back */
    SIZE_TEXT = 40
};

/* "3m" */
static const char *size_text(double bytes, char text[SIZE_TEXT])
{
    uint64_t n = bytes > 0 ? (uint64_t)bytes : 0;
    uint64_t unit = n >= 1 << 21 ? 1 << 20 : n >= 1 << 11 ? 1 << 10 : 1;
    return units_size_text(n / unit * unit, text, SIZE_TEXT);
}

/* `what` "take", say, of bytes; the key is that of the limit. */
static void look_bytes(struct visit *v, const char *used_at, const char *limit_at, double percent,
                       const char *what)
{
    char has[SIZE_TEXT], may[SIZE_TEXT];
    double used = figure(v, used_at), limit = figure(v, limit_at);
    if (fills(used, limit, percent))
        found(v, "", json_pack("{s:f, s:f}", "bytes", used, "limit", limit),
              "%s %s of %s (%.0f %%)", what, size_text(used, has), size_text(limit, may),
              100 * used / limit);
}

static void look_tasks_bytes(struct visit *v)
{
    look_bytes(v, "info.kept.bytes", "info.kept.bytes_limit", NEAR, "submitted tasks take");
}

static void look_ended_bytes(struct visit *v)
{
    look_bytes(v, "info.kept.ended_bytes", "info.kept.ended_bytes_limit", NEAR_KEPT,
               "tasks that have ended take");
}

static void look_memory(struct visit *v)
{
    look_bytes(v, "info.memory.bytes", "info.memory.limit", NEAR, "connections and calls hold");
}

static void look_partial(struct visit *v)
{
    look_bytes(v, "info.connections.partial_bytes", "info.connections.partial_limit", NEAR,
               "unfinished messages take");
}

static void look_count(struct visit *v, const char *used_at, const char *limit_at, const char *what)
{
    double used = figure(v, used_at), limit = figure(v, limit_at);
    if (fills(used, limit, NEAR))
        found(v, "", json_pack("{s:f, s:f}", "count", used, "limit", limit),
              "%s: there are %.0f, and there may be %.0f", what, used, limit);
}

static void look_tasks_count(struct visit *v)
{
    look_count(v, "info.kept.held", "info.kept.limit", "submitted tasks");
}

static void look_connections(struct visit *v)
{
    look_count(v, "info.connections.open", "info.connections.limit", "connections");
}

static void look_newcomers(struct visit *v)
{
    look_count(v, "info.connections.newcomers", "info.connections.newcomers_limit",
               "connections that have not said who they are");
}

static void look_gave_way(struct visit *v)
{
    double now = grown(v, "info.connections.gave_way");
    if (now > 0)
        found(v, "",
              json_pack("{s:f, s:f}", "gave_way", figure(v, "info.connections.gave_way"),
                        "just_now", now),
              "%.0f connections were closed just now to make room for others", now);
}

static void look_refused_results(struct visit *v)
{
    double refused = figure(v, "info.memory.refused"), now = grown(v, "info.memory.refused");
    if (now > 0 || grown(v, "info.memory.stopped") > 0)
        found(v, "",
              json_pack("{s:f, s:f, s:f}", "refused", refused, "refused_now", now, "stopped_now",
                        grown(v, "info.memory.stopped")),
              "memory of calls is short: just now %.0f results were refused, and connections were "
              "not read %.0f times",
              now, grown(v, "info.memory.stopped"));
}

static void look_tenants(struct visit *v)
{
    double share = figure(v, "info.kept.tenant_share") / 100;
    double bytes = figure(v, "info.kept.bytes_limit") * share;
    double count = figure(v, "info.kept.limit") * share;
    size_t i;
    json_t *t;
    json_array_foreach(fact(v, "tenants"), i, t)
    {
        double open = json_figure(t, "open"), open_bytes = json_figure(t, "open_bytes");
        if (fills(open, count, NEAR) || fills(open_bytes, bytes, NEAR))
            found(
                v, json_text(t, "tenant"),
                json_pack("{s:f, s:f, s:f, s:f}", "open", open, "open_limit", count, "open_bytes",
                          open_bytes, "open_bytes_limit", bytes),
                "open tasks of the tenant %s are near its share: %.0f of %.0f, %.0f of %.0f bytes",
                json_text(t, "tenant"), open, count, open_bytes, bytes);
    }
}

static void look_files(struct visit *v)
{
    double files = figure(v, "info.setup.files"), wanted = figure(v, "info.connections.limit");
    if (files > 0 && wanted > files)
        found(v, "",
              json_pack("{s:f, s:f, s:i}", "files", files, "connections", wanted, "own", FILES_OWN),
              "the server may open %.0f files, and limits.connections promises %.0f connections",
              files, wanted);
}

static void look_configured(struct visit *v)
{
    char has[SIZE_TEXT], may[SIZE_TEXT];
    double machine = figure(v, "info.setup.memory");
    double sum = figure(v, "info.memory.limit") + figure(v, "info.kept.bytes_limit") +
                 figure(v, "info.actors.bytes_limit");
    if (machine > 0 && sum > machine)
        found(
            v, "", json_pack("{s:f, s:f}", "configured", sum, "usable", machine),
            "calls, tasks and actors together may take %s, and the machine or control group has %s",
            size_text(sum, has), size_text(machine, may));
}

const struct check CHECKS_ROOM[] = {
    {"tasks_bytes_near", "warning", look_tasks_bytes,
     "above it submissions answer BUSY: ergon queue tenants shows who has most; raise tasks.bytes "
     "(reloaded), or run more"},
    {"tasks_count_near", "warning", look_tasks_count,
     "above it submissions answer BUSY: raise tasks.max (reloaded), or run more"},
    {"results_kept_near", "note", look_ended_bytes,
     "above it the oldest are forgotten before their time: raise tasks.kept_bytes (reloaded), or "
     "submit with a shorter --keep"},
    {"tenant_near_share", "warning", look_tenants,
     "above it submissions of this tenant answer BUSY: ergon task list --tenant {}; raise "
     "tasks.tenant_share, tasks.bytes or tasks.max (reloaded)"},
    {"memory_near", "warning", look_memory,
     "above it nothing is begun: ergon connection list shows who holds what; raise limits.memory, "
     "or lower limits.principal_memory"},
    {"memory_short", "warning", look_refused_results,
     "ergon connection list shows who holds what; raise limits.memory or limits.principal_memory"},
    {"partial_near", "warning", look_partial,
     "above it the largest is closed: ergon connection list shows partial_bytes; raise "
     "limits.partial"},
    {"connections_near", "warning", look_connections,
     "ergon connection list shows who has them; raise limits.connections, and LimitNOFILE= of the "
     "service"},
    {"newcomers_near", "warning", look_newcomers,
     "ergon connection list --nobody shows where they come from; limits.connections_per_address "
     "bounds one address, limits.newcomers all"},
    {"connections_gave_way", "warning", look_gave_way,
     "ergon connection list shows who has most; raise limits.connections"},
    {"descriptors_short", "error", look_files,
     "raise LimitNOFILE= of the service (ulimit -n), or lower limits.connections"},
    {"memory_promised_twice", "warning", look_configured,
     "lower limits.memory or tasks.bytes, or give the machine or its control group more"},
    {0},
};
