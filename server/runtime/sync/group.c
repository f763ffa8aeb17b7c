/* Groups of children (<ergon/group.h>). */
#include <ergon/group.h>

#include "base/check.h"

static void leave(struct ao_wait *w)
{
    struct ao_group *g = w->on;
    ao_wait_remove(&g->waiters, w);
}

static const struct ao_wait_class group_wait = {.leave = leave};

static void link_child(struct ao_group *g, struct ao_child *child)
{
    struct ao_child *first = g->running;
    child->group = g;
    child->prev = first ? first->prev : child;
    child->next = first ? first : child;
    child->prev->next = child->next->prev = child;
    if (!first)
        g->running = child;
}

static void unlink_child(struct ao_group *g, struct ao_child *child)
{
    if (g->running == child)
        g->running = child->next == child ? NULL : child->next;
    child->prev->next = child->next;
    child->next->prev = child->prev;
    child->group = NULL;
    g->ended++;
}

static void settle_if_ended(struct ao_group *g)
{
    if (g->running)
        return;
    for (struct ao_wait *w; (w = ao_wait_pop(&g->waiters));)
        ao_wait_settle(w, AO_WAIT_READY, NULL);
}

static enum ao_verdict child_step(struct ao *self)
{
    struct ao_child *child = ao_of(self, struct ao_child, ao);
    enum ao_verdict verdict = child->step(self);
    struct ao_group *g = child->group; /* NULL: the child cancelled its own group in this step */
    if (verdict == AO_DONE && g) {
        unlink_child(g, child);
        settle_if_ended(g);
    }
    return verdict;
}

static void child_faulted(struct ao *self, int code, const char *text)
{
    struct ao_child *child = ao_of(self, struct ao_child, ao);
    struct ao_group *g = child->group;
    (void)text; /* the log has it */
    if (!g)
        return;
    if (g->faults++ == 0) {
        g->first_faulted = child;
        g->fault_code = code;
    }
    unlink_child(g, child);
    settle_if_ended(g);
}

static const struct ao_class child_class = {
    .name = "child", .step = child_step, .faulted = child_faulted};

void ao_group_init(struct ao_group *g, struct activator *home)
{
    *g = (struct ao_group){.home = home};
}

int ao_group_start(struct ao_group *g, struct ao_child *child,
                   enum ao_verdict (*step)(struct ao *self))
{
    require(g->running != child, "the child runs already");
    require(step, "the child has no step");
    ao_init(&child->ao, &child_class, g->home);
    child->step = step;
    child->group = NULL;
    int error = ao_activate(&child->ao);
    if (error == 0)
        link_child(g, child);
    return error;
}

void ao_group_await(struct ao_group *g, struct ao_wait *w)
{
    if (!g->running) {
        ao_wait_grant(w, &group_wait, g, NULL);
    } else {
        ao_wait_pend(w, &group_wait, g);
        ao_wait_push(&g->waiters, w);
    }
}

void ao_group_cancel(struct ao_group *g)
{
    while (g->running) {
        struct ao_child *child = g->running;
        unlink_child(g, child);
        (void)ao_deactivate(&child->ao); /* it runs, so it is not faulted */
    }
    settle_if_ended(g);
}
