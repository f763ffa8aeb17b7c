#include "server/tasks/calls/nested.h"

#include <stdlib.h>

#include "server/accounts/tally.h"
#include "server/tasks/calls/home.h"

struct ergon_outcome outcome_refused(enum ergon_error error)
{
    return (struct ergon_outcome){.code = error_name(error), .text = error_meaning(error)};
}

/* Bytes of a failure, or of a small result, in memory of their own. */
static uint8_t *copy(const struct outcome *o, size_t code_len)
{
    size_t len = o->error == ERGON_OK ? o->result.len : code_len + 1 + o->text.len + 1;
    uint8_t *at = malloc(len);
    if (!at)
        return NULL;
    if (o->error == ERGON_OK)
        return memcpy(at, o->result.at, len);
    memcpy(at, o->code, code_len + 1);
    if (o->text.len > 0)
        memcpy(at + code_len + 1, o->text.at, o->text.len);
    at[len - 1] = '\0';
    return at;
}

void outcome_keep(struct outcome *o, void **block, struct ergon_outcome *out)
{
    size_t code_len = o->error == ERGON_OK ? 0 : strlen(o->code);
    free(*block);
    *block = o->block ? o->block : copy(o, code_len);
    if (!*block) {
        *out = outcome_refused(ERGON_E_MEMORY);
    } else if (o->error == ERGON_OK) {
        const uint8_t *at = o->block ? o->result.at : *block;
        *out = (struct ergon_outcome){.ok = true, .result = {.at = at, .len = o->result.len}};
    } else {
        const char *text = *block;
        *out = (struct ergon_outcome){.code = text, .text = text + code_len + 1};
    }
    o->block = NULL;
}

struct nested *nested_new(struct task *t, struct home *h)
{
    struct nested *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->task = t;
    n->home = h;
    ao_completion_init(&n->done);
    n->next = t->nested;
    t->nested = n;
    return n;
}

/* Its call has no record yet. */
static bool is_served_in_place(const struct task *t)
{
    return t->call_index == CALL_NONE && !task_is(t, TASK_ALONE | TASK_ATTEMPT);
}

/* The tally of its task's own, where that is this loop's; else one that is alone, since the task is
 * another loop's.  A task that is run in place has none yet, but its call has. */
static struct tally *tally_of(const struct nested *n, bool *failed)
{
    const struct task *t = n->task;
    struct tally *own = is_served_in_place(t) ? n->home->serving->tally : t->tally;
    *failed = false;
    if (!own)
        return NULL;
    if (!task_is(t, TASK_ALONE) && t->home == n->home->index)
        return tally_ref(own);
    struct tally *alone = tally_open_alone(own->account);
    *failed = alone == NULL;
    return alone;
}

bool nested_charge(struct nested *n, uint64_t bytes, enum ergon_error *error)
{
    bool failed;
    n->tally = tally_of(n, &failed);
    *error = failed ? ERGON_E_MEMORY : ERGON_E_BUSY;
    return !failed && !(n->tally && bytes > 0 && tally_lacks_bytes(n->tally, bytes));
}

/* The outcome waits to be looked at, and then until the next one is. */
static void charge_outcome(struct nested *n, const struct outcome *o, bool own_block)
{
    n->held = o->error == ERGON_OK ? o->result.len : o->text.len;
    if (own_block && n->tally)
        tally_charge(n->tally, (int64_t)n->held);
    else
        n->held = 0;
}

static void free_nested(struct nested *n)
{
    if (n->held > 0)
        tally_charge(n->tally, -(int64_t)n->held);
    tally_close(n->tally);
    free(n->block);
    free(n);
}

void nested_refuse(struct nested *n, enum ergon_error error)
{
    n->outcome = outcome_refused(error);
    ao_completion_complete(&n->done, n);
}

void nested_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct nested *n = call->owner;
    (void)arg;
    outcome_keep(outcome, &n->block, &n->outcome);
    charge_outcome(n, outcome, n->block != NULL);
    ao_completion_complete(&n->done, n);
}

/* The one whose outcome was taken last stays, so that taking it twice is noticed. */
static void free_taken(struct task *t)
{
    struct nested **at = &t->nested;
    while (*at && !(*at)->taken)
        at = &(*at)->next;
    struct nested *taken = *at;
    if (!taken)
        return;
    *at = taken->next;
    free_nested(taken);
}

static void abandon(struct nested *n)
{
    if (n->list)
        home_abandon(n->home, n->list);
}

void nested_take(struct nested *n, struct ergon_outcome *out)
{
    struct task *t = n->task;
    free_taken(t);
    abandon(n);
    *out = n->outcome;
    free(t->nested_block);
    t->nested_block = n->block;
    n->block = NULL;
    n->taken = true;
}

bool nested_is_forgotten(const struct task *t)
{
    const struct nested *n = t->nested;
    while (n && (n->awaited || n->taken))
        n = n->next;
    return n != NULL;
}

void nested_drop_all(struct task *t)
{
    while (t->nested) {
        struct nested *n = t->nested;
        abandon(n);
        t->nested = n->next;
        free_nested(n);
    }
}
