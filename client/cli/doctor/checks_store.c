/* The store and the logs: what is to last. */
#include "client/cli/doctor/checks.h"

#include "client/cli/json.h"

enum {
    SLOW_US = 500 * 1000,      /* a commit: submissions that last wait so long */
    FREE_MIN = 256 * (1 << 20) /* bytes of its file system that are left */
};

static void look_error(struct visit *v)
{
    const json_t *error = fact(v, "info.store.error");
    if (json_is_string(error))
        found(v, "", json_pack("{s:s}", "error", json_string_value(error)),
              "the store cannot write (%s): durable submissions are refused",
              json_string_value(error));
}

/* Seen twice, so that one commit at an unlucky moment is no finding. */
static void look_slow(struct visit *v)
{
    double took = figure(v, "info.store.commit_us"),
           before = figure(v, "before.info.store.commit_us");
    if (took >= SLOW_US && before >= SLOW_US)
        found(
            v, "",
            json_pack("{s:f, s:f}", "commit_us", took, "commits", figure(v, "info.store.commits")),
            "commits of the store take %.0f ms: durable submissions wait for that", took / 1000);
}

/* A store may grow by what it has, when its log is written back. */
static void look_space(struct visit *v)
{
    const json_t *left = fact(v, "info.store.free_bytes");
    double bytes = figure(v, "info.store.bytes"), free = json_number_value(left);
    double wanted = bytes / 4 > FREE_MIN ? bytes / 4 : FREE_MIN;
    if (json_is_number(left) && free < wanted)
        found(v, "", json_pack("{s:f, s:f}", "free_bytes", free, "bytes", bytes),
              "the file system of the store has %.0f MiB left; the store has %.0f MiB",
              free / (1 << 20), bytes / (1 << 20));
}

static void look_none(struct visit *v)
{
    double submitted = figure(v, "info.kept.submitted");
    if (json_is_null(fact(v, "info.store")) && submitted > 0)
        found(v, "", json_pack("{s:f}", "submitted", submitted),
              "%.0f tasks were submitted, and the server has no store: a restart loses them",
              submitted);
}

static void look_dropped(struct visit *v, const char *path, const char *which)
{
    double dropped = figure(v, path);
    if (dropped > 0)
        found(v, "", json_pack("{s:f, s:f}", "dropped", dropped, "just_now", grown(v, path)),
              "%.0f records of the %s were dropped, %.0f of them just now", dropped, which,
              grown(v, path));
}

static void look_log(struct visit *v)
{
    look_dropped(v, "info.log.dropped", "log");
}

static void look_audit(struct visit *v)
{
    look_dropped(v, "info.audit.dropped", "audit log");
}

const struct check CHECKS_STORE[] = {
    {"store_fails", "error", look_error,
     "make room on its disk, or put its file back; the server tries again by itself, and its log "
     "says when it works"},
    {"store_slow", "warning", look_slow,
     "put the store on a faster disk, or submit with --durable async what may be lost"},
    {"store_space", "error", look_space, "make room on its disk, or move the store"},
    {"store_missing", "note", look_none, "store: /var/lib/ergon/tasks.db keeps them"},
    {"log_dropped", "warning", look_log,
     "whoever reads the log is too slow, or its disk is full; log.buffer makes room, log.level "
     "writes less"},
    {"audit_dropped", "warning", look_audit,
     "see to the disk of audit.file; audit.buffer makes room"},
    {0},
};
