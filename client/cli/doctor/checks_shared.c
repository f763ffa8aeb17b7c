/* Checks of workers, of semaphores that clients hold, and of crons. */
#include "client/cli/doctor/checks.h"

#include "client/cli/humanize.h"
#include "client/cli/json.h"

#include <string.h>

enum {
    GONE_MANY = 10,    /* workers; fewer that leave are a deployment */
    GONE_AN_HOUR = 10, /* of each that is there */
    GONE_NOW = 3       /* between two looks, a second or so apart */
};

static void look_leaving(struct visit *v)
{
    double gone = figure(v, "info.workers.gone"), here = figure(v, "info.workers.registered");
    double hours = figure(v, "info.uptime_ms") / 3.6e6, now = grown(v, "info.workers.gone");
    double each = here > 1 ? here : 1;
    char since[32];
    if (now >= GONE_NOW || (gone >= GONE_MANY && gone > GONE_AN_HOUR * each * hours))
        found(v, "",
              json_pack("{s:f, s:f, s:f, s:f}", "gone", gone, "just_now", now, "registered", here,
                        "hours", hours),
              "workers come and go: %.0f have gone since the server started %s, and %.0f are there",
              gone, humanize_age(0, (int64_t)figure(v, "info.uptime_ms"), since, sizeof since),
              here);
}

static void look_strange(struct visit *v)
{
    double strange = figure(v, "info.workers.strange");
    if (strange > 0)
        found(v, "", json_pack("{s:f}", "strange", strange),
              "workers gave %.0f answers that nobody had asked for", strange);
}

static void look_late(struct visit *v)
{
    size_t i;
    json_t *w;
    json_array_foreach(fact(v, "workers"), i, w)
    {
        const char *id = json_text(w, "worker");
        if (json_figure(w, "late") > 0)
            found(
                v, id,
                json_pack("{s:f, s:f, s:f}", "late", json_figure(w, "late"), "out",
                          json_figure(w, "out"), "slots", json_figure(w, "slots")),
                "the worker %s goes on with %.0f tasks that nobody waits for: they take its slots",
                id, json_figure(w, "late"));
    }
}

/* Permits that were taken before there were fewer. */
static void look_over(struct visit *v)
{
    size_t i, k;
    json_t *s, *holder;
    json_array_foreach(fact(v, "semaphores"), i, s)
    {
        double taken = 0;
        json_array_foreach(json_object_get(s, "holders"), k, holder)
        {
            taken += json_figure(holder, "permits");
        }
        if (taken > json_figure(s, "permits"))
            found(v, json_text(s, "name"),
                  json_pack("{s:f, s:f, s:O*}", "taken", taken, "permits",
                            json_figure(s, "permits"), "tenant", json_object_get(s, "tenant")),
                  "of the semaphore %s %.0f permits are taken, and it has %.0f",
                  json_text(s, "name"), taken, json_figure(s, "permits"));
    }
}

static void look_gone_holder(struct visit *v)
{
    size_t i, k;
    json_t *s, *holder;
    json_array_foreach(fact(v, "semaphores"), i, s)
    {
        json_array_foreach(json_object_get(s, "holders"), k, holder)
        {
            if (json_is_false(json_object_get(holder, "connected")))
                found(v, json_text(s, "name"),
                      json_pack(
                          "{s:O*, s:s, s:f, s:f, s:f}", "tenant", json_object_get(s, "tenant"),
                          "principal", json_text(holder, "principal"), "permits",
                          json_figure(holder, "permits"), "grace_ms",
                          json_figure(holder, "grace_ms"), "waiting", json_figure(s, "waiting")),
                      "%s holds %.0f permits of %s and is not connected; they come back in %.0f s",
                      json_text(holder, "principal"), json_figure(holder, "permits"),
                      json_text(s, "name"), json_figure(holder, "grace_ms") / 1000);
        }
    }
}

static void look_cron_fails(struct visit *v)
{
    size_t i;
    json_t *c;
    json_array_foreach(fact(v, "crons"), i, c)
    {
        const char *error = json_text(c, "error");
        double late = figure(v, "info.time") - json_figure(c, "next");
        if (error[0] != 0)
            found(v, json_text(c, "name"),
                  json_pack("{s:O*, s:s, s:f, s:f, s:f}", "tenant", json_object_get(c, "tenant"),
                            "error", error, "late_ms", late > 0 ? late : 0, "fired",
                            json_figure(c, "fired"), "skipped", json_figure(c, "skipped")),
                  "the cron %s could not submit its task: %s", json_text(c, "name"), error);
    }
}

static void look_cron_skips(struct visit *v)
{
    size_t i;
    json_t *c;
    json_array_foreach(fact(v, "crons"), i, c)
    {
        if (json_figure(c, "skipped") > 0 && json_text(c, "error")[0] == 0)
            found(v, json_text(c, "name"),
                  json_pack("{s:O*, s:f, s:f}", "tenant", json_object_get(c, "tenant"), "skipped",
                            json_figure(c, "skipped"), "fired", json_figure(c, "fired")),
                  "the cron %s left out %.0f of its times, since its last task was still open",
                  json_text(c, "name"), json_figure(c, "skipped"));
    }
}

const struct check CHECKS_SHARED[] = {
    {"workers_leave", "warning", look_leaving,
     "look at the workers' own logs, and at \"worker\" records of the server's: do they crash, or "
     "connect for each task?"},
    {"workers_strange", "warning", look_strange,
     "ergon worker list --json shows whose (strange): its client answers twice, or with wrong ids"},
    {"worker_late", "warning", look_late,
     "let it look at worker.cancel; workers.give_up closes the connection of one that does not"},
    {"semaphore_over", "note", look_over,
     "ergon sem explain {} shows who holds them; nobody gets more until enough are back"},
    {"semaphore_holder_gone", "warning", look_gone_holder,
     "ergon sem explain {} shows when; a shorter grace in sem.acquire gives them back sooner"},
    {"cron_fails", "warning", look_cron_fails,
     "ergon cron list shows it; its queue, its rights or a limit stand in its way"},
    {"cron_skips", "warning", look_cron_skips,
     "its task takes longer than its schedule: ergon cron put with a longer one, or --overlap "
     "allow or replace"},
    {0},
};
