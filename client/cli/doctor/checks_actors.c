/* Actors and their mailboxes. */
#include "client/cli/doctor/checks.h"

#include "client/cli/json.h"

#include <stdio.h>
#include <string.h>

enum {
    MAILBOX_PERCENT = 80,
    HOLDS_S = 60,            /* a turn that others wait for */
    DEADLOCK_S = 600,        /* what is older is no news */
    UNFOLDED = 4 * (1 << 16) /* rows: the store folds at a quarter of that */
};

static void one_failed(struct visit *v, const json_t *type, const char *name)
{
    double failed = json_figure(type, "failed");
    if (failed > 0)
        found(v, name, json_pack("{s:f}", "failed", failed),
              "actors of the type %s that were stopped by a failure: %.0f", name, failed);
}

static void look_failed(struct visit *v)
{
    each_entry(v, "actor_types", "type", one_failed);
}

static void one_without(struct visit *v, const json_t *type, const char *name)
{
    double messages = json_figure(type, "messages");
    if (json_is_false(json_object_get(type, "hosts")) && messages > 0)
        found(v, name, json_pack("{s:f}", "messages", messages),
              "no host of the type %s is there, and %.0f messages wait", name, messages);
}

static void look_without(struct visit *v)
{
    each_entry(v, "actor_types", "type", one_without);
}

static const json_t *type_of(const struct visit *v, const char *actor)
{
    char type[64];
    snprintf(type, sizeof type, "%.*s", (int)strcspn(actor, "/"), actor);
    return entry_of(fact(v, "actor_types"), "type", type);
}

static void one_fills(struct visit *v, const json_t *actor, const char *name)
{
    double waiting = json_figure(actor, "waiting"), most = json_figure(type_of(v, name), "mailbox");
    if (fills(waiting, most, MAILBOX_PERCENT))
        found(v, name, json_pack("{s:f, s:f}", "waiting", waiting, "limit", most),
              "%.0f messages wait at the actor %s, and its mailbox takes %.0f", waiting, name,
              most);
}

static void look_mailboxes(struct visit *v)
{
    each_entry(v, "actors.actors", "actor", one_fills);
}

static void one_holds(struct visit *v, const json_t *actor, const char *name)
{
    const json_t *turn = json_object_get(actor, "turn");
    double began = json_figure(turn, "started"), waiting = json_figure(actor, "waiting");
    double seconds = (figure(v, "info.time") - began) / 1000;
    if (began > 0 && waiting > 0 && seconds >= HOLDS_S)
        found(v, name, json_pack("{s:f, s:f}", "seconds", seconds, "waiting", waiting),
              "%s of the actor %s runs for %.0f s, and %.0f messages wait behind it",
              json_text(turn, "method"), name, seconds, waiting);
}

static void look_holds(struct visit *v)
{
    each_entry(v, "actors.actors", "actor", one_holds);
}

static void look_deadlocks(struct visit *v)
{
    double last = figure(v, "info.actors.last_deadlock"),
           seconds = (figure(v, "info.time") - last) / 1000;
    if (last > 0 && seconds < DEADLOCK_S)
        found(v, "",
              json_pack("{s:f, s:f}", "deadlocks", figure(v, "info.actors.deadlocks"), "seconds",
                        seconds),
              "%.0f s ago an actor called another that waited for it, and was answered DEADLOCK",
              seconds > 0 ? seconds : 0);
}

static void look_unfolded(struct visit *v)
{
    double unfolded = figure(v, "info.store.unfolded");
    if (unfolded >= UNFOLDED)
        found(v, "", json_pack("{s:f}", "unfolded", unfolded),
              "%.0f turns of actors are in the store and not yet in the rows of their actors",
              unfolded);
}

const struct check CHECKS_ACTORS[] = {
    {"actors_without_host", "error", look_without,
     "start a host of the type, or give the messages up: ergon actor list --type {}, then ergon "
     "actor drop"},
    {"actors_failed", "warning", look_failed,
     "ergon actor list --type {} --stage stopped says why; mend it, then ergon actor start"},
    {"actor_mailbox_near", "warning", look_mailboxes,
     "ergon actor explain {} says what its turn waits for; beyond the bound senders are answered "
     "BUSY"},
    {"actor_holds", "warning", look_holds,
     "ergon actor explain {} names the turn; ergon task cancel ends it, and the type's timeout "
     "bounds it"},
    {"actors_deadlock", "note", look_deadlocks,
     "the answer names the actors: let one of them tell instead of call, or make the method one of "
     "reads"},
    {"actors_unfolded", "note", look_unfolded,
     "the store is busy or its disk slow: ergon info shows the commits; a start takes longer "
     "meanwhile"},
    {0},
};
