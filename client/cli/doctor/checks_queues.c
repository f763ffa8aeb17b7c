/* What waits, and does not get on. */
#include "client/cli/doctor/checks.h"

#include "client/cli/json.h"

#include <string.h>

enum {
    BACKLOG = 100,     /* fewer tasks are no backlog */
    BACKLOG_S = 30,    /* nor are those that are done within that */
    REFUSED_IN = 1000, /* one call refused of so many is no trouble, once it is over */
    QUEUE_PERCENT = 80
};

/* Tasks that wait for something that is not a time. */
static double waits(const json_t *queue)
{
    return json_figure(queue, "queued") + json_figure(queue, "waiting");
}

static bool is_stopped(const json_t *queue)
{
    return json_is_true(json_object_get(queue, "paused"));
}

static bool nobody_runs(const json_t *queue)
{
    return strcmp(json_text(queue, "reason"), "no_executor") == 0;
}

/* `evidence`, which is taken, with how long ago the oldest that is open was submitted. */
static json_t *with_oldest(struct visit *v, json_t *evidence, const json_t *queue)
{
    double at = json_figure(queue, "oldest"), age = figure(v, "info.time") - at;
    if (at > 0)
        json_object_set_new(evidence, "oldest_seconds", json_real(age > 0 ? age / 1000 : 0));
    return evidence;
}

static void one_grows(struct visit *v, const json_t *queue, const char *name)
{
    const json_t *was = entry_of(fact(v, "before.queues"), "method", name);
    double seconds = (figure(v, "info.uptime_ms") - figure(v, "before.info.uptime_ms")) / 1000;
    double now = waits(queue), more = now - waits(was);
    double ended = json_figure(queue, "done") + json_figure(queue, "failed") -
                   json_figure(was, "done") - json_figure(was, "failed");
    if (was == NULL || seconds <= 0 || is_stopped(queue) || nobody_runs(queue) || more <= 0 ||
        now < BACKLOG || now < ended / seconds * BACKLOG_S)
        return;
    found(v, name,
          with_oldest(v,
                      json_pack("{s:f, s:f, s:f, s:f}", "waiting", now, "more_a_second",
                                more / seconds, "ended_a_second", ended / seconds, "seconds",
                                seconds),
                      queue),
          "the queue of %s grows: %.0f tasks wait, %.1f more each second, while %.1f end", name,
          now, more / seconds, ended / seconds);
}

static void look_growing(struct visit *v)
{
    each_entry(v, "queues", "method", one_grows);
}

static void one_without(struct visit *v, const json_t *queue, const char *name)
{
    const char *text = json_text(queue, "text");
    if (nobody_runs(queue) && waits(queue) > 0)
        found(v, name,
              with_oldest(v, json_pack("{s:f, s:s}", "waiting", waits(queue), "explained", text),
                          queue),
              "%.0f tasks of %s wait, and neither an executor nor a worker runs them", waits(queue),
              name);
}

static void look_without(struct visit *v)
{
    each_entry(v, "queues", "method", one_without);
}

static void one_paused(struct visit *v, const json_t *queue, const char *name)
{
    const json_t *was = entry_of(fact(v, "before.queues"), "method", name);
    if (is_stopped(queue) && waits(queue) > 0)
        found(v, name,
              with_oldest(v,
                          json_pack("{s:f, s:f}", "waiting", waits(queue), "more",
                                    was != NULL ? waits(queue) - waits(was) : 0),
                          queue),
              "the queue of %s is paused, and %.0f tasks wait in it", name, waits(queue));
}

static void look_paused(struct visit *v)
{
    each_entry(v, "queues", "method", one_paused);
}

static void one_drains(struct visit *v, const json_t *queue, const char *name)
{
    if (json_is_true(json_object_get(queue, "draining")))
        found(v, name, json_pack("{s:f}", "waiting", waits(queue)),
              "the queue of %s drains: submissions of it answer DRAINING", name);
}

static void look_draining_queue(struct visit *v)
{
    each_entry(v, "queues", "method", one_drains);
}

static void look_dead(struct visit *v)
{
    double dead = figure(v, "info.kept.states.dead");
    if (dead > 0)
        found(v, "", json_pack("{s:f}", "dead", dead),
              "%.0f tasks are dead: their retries were used up, or the server or workers died of "
              "them",
              dead);
}

static void look_refused(struct visit *v)
{
    double refused = figure(v, "info.tasks.refused"), calls = figure(v, "info.tasks.calls");
    double now = grown(v, "info.tasks.refused");
    if (now > 0 || (refused > 0 && refused * REFUSED_IN >= calls))
        found(v, "",
              json_pack("{s:f, s:f, s:f}", "refused", refused, "calls", calls, "refused_now", now),
              "%.0f of %.0f calls were answered BUSY, %.0f of them just now", refused, calls, now);
}

static void look_common(struct visit *v)
{
    double queued = figure(v, "topology.manager.queued"),
           room = figure(v, "topology.manager.queue");
    const json_t *first = json_array_get(fact(v, "topology.manager.principals"), 0);
    if (fills(queued, room, QUEUE_PERCENT))
        found(
            v, "",
            json_pack("{s:f, s:f, s:s}", "queued", queued, "queue", room, "principal",
                      json_text(first, "name")),
            "%.0f plain calls stand in the common queue, which takes %.0f; most of them are of %s",
            queued, room, first != NULL ? json_text(first, "name") : "nobody in particular");
}

const struct check CHECKS_QUEUES[] = {
    {"queue_without_worker", "error", look_without,
     "start a worker (ergon worker --method {}; of actors, ergon worker --actor TYPE --method "
     "NAME), load the module that has it, or give it up: ergon task cancel --method {}"},
    {"queue_growing", "warning", look_growing,
     "ergon queue explain {} says what it waits for; more workers, executors.blocking.count or "
     "loops.count run more of it"},
    {"queue_paused", "warning", look_paused, "ergon queue resume {}"},
    {"queue_draining", "note", look_draining_queue,
     "ergon queue resume {} takes submissions again"},
    {"tasks_dead", "warning", look_dead,
     "ergon task list --state dead; then ergon task retry --state dead, or ergon task forget "
     "--state dead"},
    {"calls_refused", "warning", look_refused,
     "clients should try again later, longer each time; manager.queue, limits.principal_in_flight "
     "and tasks.max are the limits; ergon top shows what is busy"},
    {"common_queue_full", "warning", look_common,
     "ergon top shows which handlers take the time; limits.principal_in_flight holds one principal "
     "back, manager.queue makes room"},
    {0},
};
