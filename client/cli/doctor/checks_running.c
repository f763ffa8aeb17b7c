/* What does not go on: loops, executors, handlers, the server as a whole. */
#include "client/cli/doctor/checks.h"

#include "client/cli/humanize.h"
#include "client/cli/json.h"

#include <string.h>

enum {
    LONG_STEPS = 10,         /* fewer are chance: a busy machine makes some */
    STEPS_A_LONG_ONE = 1000, /* one of so many is what a server may have */
    CRASH_HOURS = 7 * 24     /* an older crash is history */
};

static bool is_silent(const struct visit *v, const char *method)
{
    size_t i;
    json_t *name;
    json_array_foreach(fact(v, "silent"), i, name)
    {
        if (json_is_string(name) && strcmp(json_string_value(name), method) == 0)
            return true;
    }
    return false;
}

static void look_silent(struct visit *v)
{
    if (is_silent(v, "server.info"))
        found(v, "", NULL,
              "the server took the connection and does not answer: the loop that serves it hangs, "
              "limits.memory is full, or the machine has no time for it");
}

/* server.info comes from the connection's loop, and queue.list from the task manager. */
static void look_manager(struct visit *v)
{
    /* A node that knows of no owner, or may not act for its cluster now, puts the question aside:
     * checks_cluster.c says why. */
    const json_t *role = fact(v, "cluster.role"), *owner = fact(v, "cluster.owner");
    if (json_is_false(fact(v, "cluster.may_act")) ||
        (json_is_string(role) && !json_is_string(owner)))
        return;
    if (is_silent(v, "queue.list") && !is_silent(v, "server.info"))
        found(v, "", NULL,
              "the task manager does not answer: submitted tasks, crons and blocking methods stand "
              "still");
}

/* For each executor in this state. */
static void look_state(struct visit *v, const char *state, const char *text)
{
    size_t i;
    json_t *e;
    json_array_foreach(fact(v, "topology.executors"), i, e)
    {
        const char *name = json_text(e, "name"), *running = json_text(e, "running");
        if (strcmp(json_text(e, "state"), state) == 0)
            found(v, name,
                  json_pack("{s:s, s:f, s:O*}", "running", running, "outstanding",
                            json_figure(e, "outstanding"), "loop", json_object_get(e, "loop")),
                  text, name, running[0] != 0 ? running : "some method");
    }
}

static void look_away(struct visit *v)
{
    look_state(v, "away",
               "the loop of %s hangs in a step of %s: its connections and tasks stand still");
}

static void look_outlived(struct visit *v)
{
    look_state(v, "outlived",
               "%s is held by a blocking handler, %s, though nobody wants its result");
}

static void look_steps(struct visit *v)
{
    size_t i;
    json_t *loop;
    json_array_foreach(fact(v, "topology.loops"), i, loop)
    {
        double took_long = json_figure(loop, "long_steps"), steps = json_figure(loop, "steps");
        if (took_long >= LONG_STEPS && took_long * STEPS_A_LONG_ONE >= steps)
            found(v, json_text(loop, "name"),
                  json_pack("{s:f, s:f}", "long_steps", took_long, "steps", steps),
                  "%.0f of %.0f steps of loop %s took longer than step_limit: all of its "
                  "connections waited for them",
                  took_long, steps, json_text(loop, "name"));
    }
}

static void look_no_executor(struct visit *v)
{
    double count = figure(v, "info.no_executor");
    if (count > 0)
        found(v, "", json_pack("{s:f}", "methods", count),
              "%.0f methods have no executor of their kind: calls of them answer NO_EXECUTOR",
              count);
}

/* Hours since a moment of the setup; less than nothing: there was none. */
static double hours_since(const struct visit *v, const char *path)
{
    double at = figure(v, path);
    return at > 0 ? (figure(v, "info.time") - at) / 3.6e6 : -1;
}

/* "3 m ago", by the server's clock. */
static const char *age_of(const struct visit *v, const char *path, char *buf, size_t size)
{
    return humanize_age((int64_t)figure(v, path), (int64_t)figure(v, "info.time"), buf, size);
}

static void look_crashed(struct visit *v)
{
    char age[32];
    double hours = hours_since(v, "info.setup.crashed");
    if (hours >= 0 && hours < CRASH_HOURS)
        found(v, "", json_pack("{s:f, s:f}", "at", figure(v, "info.setup.crashed"), "hours", hours),
              "the server crashed %s", age_of(v, "info.setup.crashed", age, sizeof age));
}

static void look_reload(struct visit *v)
{
    char age[32];
    double hours = hours_since(v, "info.setup.reload_refused");
    if (hours >= 0)
        found(v, "",
              json_pack("{s:f, s:f}", "at", figure(v, "info.setup.reload_refused"), "hours", hours),
              "the last reload, %s, was refused: the server goes on with what it had",
              age_of(v, "info.setup.reload_refused", age, sizeof age));
}

const struct check CHECKS_RUNNING[] = {
    {"server_silent", "error", look_silent,
     "look for \"step has not returned\" in the server's log, and at ergon_account_bytes of its "
     "/metrics; round_limit has the service manager restart a server whose loops hang"},
    {"manager_silent", "error", look_manager,
     "look for \"step has not returned\" in the server's log, or for what keeps its processors "
     "busy; manager.place: own keeps the manager away from handlers"},
    {"loop_hangs", "error", look_away,
     "the server's log says where (\"step has not returned\"): make that handler blocking, or its "
     "steps brief"},
    {"handler_outlived", "warning", look_outlived,
     "the handler must look at ergon_cancelled(); the server's log has its task; "
     "executors.blocking.max bounds the threads that stand in for such"},
    {"long_steps", "warning", look_steps,
     "the server's log names the handlers (\"step too long\"): make them blocking, or their steps "
     "brief"},
    {"crashed", "warning", look_crashed,
     "on its machine, ergon debug show FILE says of what, and what its threads did last: FILE is "
     "the newest ergond-*-crash.rec in recorder.directory, or beside the store"},
    {"reload_refused", "warning", look_reload,
     "the server's log says why, and ergond --check-config with its configuration; then reload "
     "again (systemctl reload ergond)"},
    {"methods_without_executor", "warning", look_no_executor,
     "ergon methods -v shows which; give them executors: executors.blocking.count, or "
     "executors.list"},
    {0},
};
