/* Hooks: callbacks that run once, at the end of a round or when there is no work. */
#include "base/check.h"
#include "server/runtime/activator.h"
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

static void arm_until(struct activator *a, struct round_hook *hook, ao_time delay, bool blocks)
{
    activator_assert_owner(a);
    if (hook->armed)
        return;
    require(hook->run, "the hook has nothing to run");
    hook->armed = true;
    hook->due = a->now + delay;
    hook->blocks = blocks;
    hook_append(&a->hooks_idle, hook);
}

void activator_when_idle(struct activator *a, struct round_hook *hook, ao_time longest_delay)
{
    require(longest_delay < AO_NEVER - a->now, "the delay is not finite");
    arm_until(a, hook, longest_delay, false);
}

void activator_after(struct activator *a, struct round_hook *hook, ao_time delay)
{
    require(delay < AO_NEVER - a->now, "the delay is not finite");
    arm_until(a, hook, delay, true);
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

static bool is_due(const struct activator *a, const struct round_hook *hook)
{
    return hook->due <= a->now;
}

static bool is_for_rest(const struct activator *a, const struct round_hook *hook)
{
    return !hook->blocks || is_due(a, hook);
}

static void add_idle(struct activator *a,
                     bool (*wanted)(const struct activator *a, const struct round_hook *hook))
{
    struct round_hook *next;
    for (struct round_hook *hook = a->hooks_idle.first; hook; hook = next) {
        next = hook->next;
        if (!wanted(a, hook))
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
    add_idle(a, is_due);
    run_all(&a->hooks_running);
}

bool hooks_run_idle(struct activator *a)
{
    a->hooks_running = (struct hook_list){0};
    add_idle(a, is_for_rest);
    bool any = a->hooks_running.first;
    run_all(&a->hooks_running);
    return any;
}

bool hooks_forbid_rest(const struct activator *a)
{
    const struct round_hook *hook = a->hooks_idle.first;
    while (hook && !is_for_rest(a, hook))
        hook = hook->next;
    return hook;
}

ao_time hooks_next(const struct activator *a)
{
    ao_time next = AO_NEVER;
    for (const struct round_hook *hook = a->hooks_idle.first; hook; hook = hook->next)
        next = hook->due < next ? hook->due : next;
    return next;
}

void hooks_disarm(struct activator *a)
{
    while (hook_disarm_first(&a->hooks) || hook_disarm_first(&a->hooks_idle))
        continue;
}
