/* Hooks: callbacks that run once, at the end of a round or when there is no work. */
#include "base/check.h"
#include "server/runtime/round.h"

static void hook_append(struct hook_list *list, struct round_hook *hook)
{
    hook->next = NULL;
    if (list->first)
        list->last->next = hook;
    else
        list->first = hook;
    list->last = hook;
}

static bool hook_remove(struct hook_list *list, const struct round_hook *hook)
{
    struct round_hook *before = NULL;
    struct round_hook **link = &list->first;
    for (; *link && *link != hook; link = &before->next)
        before = *link;
    if (!*link)
        return false;
    *link = hook->next;
    if (list->last == hook)
        list->last = before;
    return true;
}

void activator_at_round_end(struct activator *a, struct round_hook *hook)
{
    activator_assert_owner(a);
    if (hook->armed)
        return;
    require(hook->run, "the hook has nothing to run");
    hook->armed = true;
    hook_append(&a->hooks, hook);
}

void activator_when_idle(struct activator *a, struct round_hook *hook, ao_time longest_delay)
{
    activator_assert_owner(a);
    if (hook->armed)
        return;
    require(hook->run, "the hook has nothing to run");
    require(longest_delay < AO_NEVER - a->now, "the delay is not finite");
    hook->armed = true;
    hook->due = a->now + longest_delay;
    hook_append(&a->hooks_idle, hook);
}

void activator_forget_hook(struct activator *a, struct round_hook *hook)
{
    activator_assert_owner(a);
    if (!hook->armed)
        return;
    hook->armed = false;
    bool found = hook_remove(&a->hooks, hook) || hook_remove(&a->hooks_running, hook) ||
                 hook_remove(&a->hooks_idle, hook);
    require(found, "the hook is armed at another activator");
}

static struct round_hook *hook_disarm_first(struct hook_list *list)
{
    struct round_hook *hook = list->first;
    if (hook) {
        hook_remove(list, hook);
        hook->armed = false;
    }
    return hook;
}

static void run_all(struct hook_list *list)
{
    struct round_hook *hook;
    while ((hook = hook_disarm_first(list)))
        hook->run(hook);
}

/* Adds the hooks that have waited for their longest delay. */
static void add_overdue(struct activator *a)
{
    struct round_hook *next;
    for (struct round_hook *hook = a->hooks_idle.first; hook; hook = next) {
        next = hook->next;
        if (hook->due > a->now)
            continue;
        hook_remove(&a->hooks_idle, hook);
        hook_append(&a->hooks_running, hook);
    }
}

/* A hook that is armed by a hook runs in the next round.  A hook may also forget another one that
 * is still to run. */
void hooks_run(struct activator *a)
{
    a->hooks_running = a->hooks;
    a->hooks = (struct hook_list){0};
    add_overdue(a);
    run_all(&a->hooks_running);
}

bool hooks_run_idle(struct activator *a)
{
    bool any = a->hooks_idle.first;
    a->hooks_running = a->hooks_idle;
    a->hooks_idle = (struct hook_list){0};
    run_all(&a->hooks_running);
    return any;
}

void hooks_disarm(struct activator *a)
{
    while (hook_disarm_first(&a->hooks) || hook_disarm_first(&a->hooks_idle))
        continue;
}
