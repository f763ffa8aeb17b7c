/* Actors by type and stage, and how their turns ended: types with most actors have series of their
 * own, and all others are summed up.  No label has the key of an actor. */
#include <stdio.h>
#include <stdlib.h>

#include "server/metrics/families.h"

enum { TYPES = 100 };

struct list {
    struct jobs_actor_type_info *at;
    uint32_t count, room;
};

static bool read_all(const struct rpc_shared *s, struct list *list)
{
    struct jobs_actor_type_info info;
    const struct actor_type *type = NULL;
    while ((type = jobs_actor_type_info(s->jobs, type, &info))) {
        if (list->count == list->room) {
            uint32_t room = list->room ? list->room * 2 : 16;
            struct jobs_actor_type_info *at = realloc(list->at, room * sizeof *at);
            if (!at)
                return false;
            list->at = at;
            list->room = room;
        }
        list->at[list->count++] = info;
    }
    return true;
}

static uint64_t all_of(const struct jobs_actor_type_info *t)
{
    return t->active + t->sleeping + t->stopped;
}

static int by_count(const void *a, const void *b)
{
    uint64_t x = all_of(a), y = all_of(b);
    return (x < y) - (x > y);
}

/* The last of those that are shown becomes the sum of the others. */
static void sum_up(struct list *list)
{
    if (list->count <= TYPES)
        return;
    struct jobs_actor_type_info *rest = &list->at[TYPES];
    for (uint32_t i = TYPES + 1; i < list->count; i++) {
        rest->active += list->at[i].active;
        rest->sleeping += list->at[i].sleeping;
        rest->stopped += list->at[i].stopped;
    }
    snprintf(rest->name, sizeof rest->name, "_other");
    list->count = TYPES + 1;
}

static void write_stage(struct metrics_text *t, const struct metrics_family *f,
                        const struct jobs_actor_type_info *type, const char *stage, uint64_t count)
{
    char labels[LABELS_MAX] = "";
    metrics_label(labels, sizeof labels, "type", type->name);
    metrics_count(t, f, metrics_label(labels, sizeof labels, "stage", stage), count);
}

static void write_turns(struct metrics_text *t, const struct jobs_actors *a)
{
    static const struct metrics_family f = {
        "ergon_actor_turns", METRICS_COUNTER, NULL,
        "Turns that have returned: done, with changes that were refused (bad), or otherwise "
        "(failed)."};
    metrics_begin(t, &f);
    metrics_count(t, &f, "outcome=\"done\"", a->done);
    metrics_count(t, &f, "outcome=\"bad\"", a->bad);
    metrics_count(t, &f, "outcome=\"failed\"", a->failed);
}

bool write_actors(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family f = {
        "ergon_actors", METRICS_GAUGE, NULL,
        "Actors in memory, or named by tasks there, by type and stage; of the 100 types with most, "
        "the others as \"_other\"."};
    struct jobs_info info;
    struct list list = {0};
    bool good = read_all(s, &list);

    if (list.count > 0)
        qsort(list.at, list.count, sizeof *list.at, by_count);
    sum_up(&list);
    metrics_begin(t, &f);
    for (uint32_t i = 0; i < list.count; i++) {
        write_stage(t, &f, &list.at[i], "active", list.at[i].active);
        write_stage(t, &f, &list.at[i], "sleeping", list.at[i].sleeping);
        write_stage(t, &f, &list.at[i], "stopped", list.at[i].stopped);
    }
    free(list.at);
    jobs_info(s->jobs, &info);
    write_turns(t, &info.actors);
    return good;
}
