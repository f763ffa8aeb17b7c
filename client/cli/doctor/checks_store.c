/* The store and the logs: what is to last. */
#include "client/cli/doctor/checks.h"

#include "client/cli/json.h"

enum {
    SLOW_US = 500 * 1000,       /* a commit: submissions that last wait so long */
    FREE_MIN = 256 * (1 << 20), /* bytes of its file system that are left */
    DAY_MS = 86400000,
    BACKUP_DAYS = 8 /* who makes one each week has a day to spare */
};

static void look_error(struct visit *v)
{
    const json_t *error = fact(v, "info.store.error");
    /* An older server does not say whether it fails now. */
    bool works = json_is_false(fact(v, "info.store.failing"));
    if (json_is_string(fact(v, "cluster.trouble")))
        return; /* the database is away, and checks_cluster.c says so */
    if (json_is_string(error))
        found(v, "", json_pack("{s:s}", "error", json_string_value(error)),
              works
                  ? "the store could not write in the last 10 s (%s): it writes again, and durable "
                    "submissions are accepted"
                  : "the store cannot write (%s): durable submissions are refused",
              json_string_value(error));
}

/* Two commits, so that one at an unlucky moment is no finding. */
static void look_slow(struct visit *v)
{
    double took = figure(v, "info.store.commit_us"),
           before = figure(v, "before.info.store.commit_us");
    if (took >= SLOW_US && before >= SLOW_US && grown(v, "info.store.commits") > 0)
        found(
            v, "",
            json_pack("{s:f, s:f}", "commit_us", took, "commits", figure(v, "info.store.commits")),
            "commits of the store take %.0f ms: durable submissions wait for that", took / 1000);
}

/* Something was on its way in both looks, and between them nothing came back. */
static void look_hangs(struct visit *v)
{
    double passed = figure(v, "info.uptime_ms") - figure(v, "before.info.uptime_ms");
    double backlog = figure(v, "info.store.backlog");
    if (backlog > 0 && figure(v, "before.info.store.backlog") > 0 && passed * 1000 >= SLOW_US &&
        fact(v, "before.info.store.commits") != NULL && grown(v, "info.store.commits") <= 0 &&
        !json_is_string(fact(v, "info.store.error")))
        found(
            v, "", json_pack("{s:f, s:f}", "backlog", backlog, "waited_ms", passed),
            "a commit of the store has not ended for %.0f ms or more, and %.0f writes wait for it",
            passed, backlog);
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

/* -1: there is none. */
static double backup_age_days(const struct visit *v)
{
    double at = figure(v, "info.store.backup");
    return at > 0 ? (figure(v, "info.time") - at) / DAY_MS : -1;
}

static void look_backup_old(struct visit *v)
{
    double days = backup_age_days(v);
    double limit = fact(v, "backup_days") != NULL ? figure(v, "backup_days") : BACKUP_DAYS;
    if (days >= limit)
        found(v, "", json_pack("{s:f, s:f}", "at", figure(v, "info.store.backup"), "days", days),
              "the last backup of the store is %.1f days old", days);
}

/* An older server does not say whether there is one. */
static void look_backup_none(struct visit *v)
{
    double held = figure(v, "info.kept.held");
    if (json_is_null(fact(v, "info.store.backup")) && held > 0 &&
        !json_is_object(fact(v, "info.cluster"))) /* a database has backups of its own */
        found(v, "", json_pack("{s:f}", "held", held),
              "the store has never been backed up, and %.0f tasks are kept", held);
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

static void look_collector(struct visit *v)
{
    if (json_is_true(fact(v, "info.spans.failing")))
        found(v, "",
              json_pack("{s:f, s:f}", "waiting", figure(v, "info.spans.waiting"), "dropped",
                        figure(v, "info.spans.dropped")),
              "the last request to the collector of spans failed: %.0f wait",
              figure(v, "info.spans.waiting"));
}

/* One in a thousand is what a collector's restart may cost. */
static void look_spans(struct visit *v)
{
    double dropped = figure(v, "info.spans.dropped"), ended = figure(v, "info.spans.ended");
    double now = grown(v, "info.spans.dropped");
    if (now > 0 || (dropped > 0 && dropped * 1000 >= ended))
        found(v, "",
              json_pack("{s:f, s:f, s:f}", "dropped", dropped, "ended", ended, "just_now", now),
              "%.0f of %.0f spans were dropped, %.0f of them just now: traces have gaps", dropped,
              ended, now);
}

const struct check CHECKS_STORE[] = {
    {"store_fails", "error", look_error,
     "make room on its disk, or put its file back; the server tries again by itself, and its log "
     "says when it works"},
    {"store_slow", "warning", look_slow,
     "put the store on a faster disk, or submit with --durable async what may be lost"},
    {"store_hangs", "error", look_hangs,
     "see to its disk (dmesg, iostat -x 1): until the commit ends no durable submission is "
     "answered"},
    {"store_space", "error", look_space, "make room on its disk, or move the store"},
    {"backup_old", "warning", look_backup_old,
     "make one (ergon store backup FILE COPY, where the server runs) and see why there was none; "
     "who copies the file by other means says so by touch FILE-backup"},
    {"backup_missing", "note", look_backup_none,
     "ergon store backup FILE COPY makes one, where the server runs; who copies the file by other "
     "means says so by touch FILE-backup"},
    {"store_missing", "note", look_none, "store: /var/lib/ergon/tasks.db keeps them"},
    {"log_dropped", "warning", look_log,
     "whoever reads the log is too slow, or its disk is full; log.buffer makes room, log.level "
     "writes less"},
    {"audit_dropped", "warning", look_audit,
     "see to the disk of audit.file; audit.buffer makes room"},
    {"collector_fails", "warning", look_collector,
     "the server's log says why (\"spans are not exported\"): see to the collector that "
     "trace.endpoint names, to trace.ca, or to the token in trace.headers_file"},
    {"spans_dropped", "warning", look_spans,
     "the server's log says why (\"spans are\"), or there were more than the collector takes: "
     "lower trace.sample, or have callers sample less"},
    {0},
};
