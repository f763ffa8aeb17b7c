/* What a module may do with actors: its types, and the turns of its methods. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "proto/encoder.h"
#include "proto/reader.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/attempt.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/task_result.h"
#include "server/tasks/turn.h"

_Static_assert((int)ERGON_FAILURE_STOP == (int)ACTOR_STOPS &&
                   (int)ERGON_FAILURE_RESET == (int)ACTOR_RESETS,
               "what a module says is what the server does");

/* --- Types --- */

static int refuse(struct ergon_module *module, const char *type, const char *why)
{
    if (!module->refused)
        snprintf(module->error, module->error_size, "the actors \"%.64s\" of module \"%s\" %s",
                 type ? type : "?", module->name, why);
    module->refused = true;
    return -1;
}

static bool is_actor_name(struct span name)
{
    return utf8_is_name(name, ACTOR_NAME_MAX) && actor_type_of_name(name).len > 0;
}

/* NULL, or what is wrong with it. */
static const char *fault_of(const struct ergon_actor *actor)
{
    if (actor->size < sizeof *actor)
        return "were built against an older struct ergon_actor";
    if (!actor->type || !registry_may_name(span_text(actor->type)) || strchr(actor->type, '/'))
        return "have a bad name: 1 to 62 of a-z, 0-9, '_', '.' and '-'";
    if (actor->count == 0 || actor->count > ACTOR_METHODS_MAX)
        return "have no methods, or more than 1000";
    if (actor->state_max > ACTOR_STATE_MOST)
        return "want states of more than 1 MiB";
    if (actor->on_failure > ERGON_FAILURE_RESET || actor->intensity > ACTOR_INTENSITY_MAX)
        return "have no such on_failure, or an intensity of more than 1000";
    if (actor->supervisor && !is_actor_name(span_text(actor->supervisor)))
        return "have a supervisor whose name is not TYPE/KEY";
    return NULL;
}

static struct actor_policy policy_of(const struct ergon_actor *actor)
{
    struct actor_policy policy = {ACTOR_POLICY_DEFAULTS, .schema = actor->schema};
    if (actor->state_max > 0)
        policy.state = actor->state_max;
    if (actor->retries > 0)
        policy.retries = actor->retries;
    if (actor->idle_ms > 0)
        policy.idle = AO_MS(actor->idle_ms);
    if (actor->timeout_ms > 0)
        policy.timeout = AO_MS(actor->timeout_ms);
    policy.on_failure = (uint8_t)actor->on_failure;
    policy.pipeline = actor->pipeline;
    if (actor->intensity > 0)
        policy.intensity = actor->intensity;
    if (actor->window_ms > 0)
        policy.window = AO_MS(actor->window_ms);
    if (actor->supervisor)
        snprintf(policy.supervisor, sizeof policy.supervisor, "%s", actor->supervisor);
    return policy;
}

/* The methods are behind it. */
static struct actor_offer *offer_new(const struct ergon_actor *actor)
{
    struct actor_offer *offer = calloc(1, sizeof *offer + actor->count * sizeof(struct method *));
    if (!offer)
        return NULL;
    *offer = (struct actor_offer){.type = span_text(actor->type),
                                  .policy = policy_of(actor),
                                  .methods = (struct method *const *)(offer + 1),
                                  .count = actor->count};
    return offer;
}

/* NULL: it was refused. */
static struct method *add_method(struct ergon_module *module, const struct ergon_actor *actor,
                                 const struct ergon_handler *handler)
{
    struct span name = span_text(handler->name ? handler->name : "");
    size_t len = strlen(actor->type);
    bool fits = span_equal(actor_type_of_method(name), span_text(actor->type));
    if (!fits) {
        refuse(module, actor->type, "have a method that is not named \"type.method\"");
        return NULL;
    }
    if (registry_add(module->registry, module->name, handler, module->error, module->error_size)) {
        module->refused = true;
        return NULL;
    }
    struct method *m = registry_find(module->registry, name);
    method_set_actor(m, ACTOR_METHOD | (handler->flags & ERGON_READS ? ACTOR_READS : 0u) |
                            (span_is(span_behind(name, len + 1), "step") ? ACTOR_STEP : 0u));
    return m;
}

static int host_register_actor(struct ergon_module *module, const struct ergon_actor *actor)
{
    const char *fault = fault_of(actor);
    if (fault)
        return refuse(module, actor->size >= sizeof *actor ? actor->type : NULL, fault);
    struct actor_offer *offer = offer_new(actor);
    struct method **methods = offer ? (struct method **)(offer + 1) : NULL;
    for (uint32_t i = 0; offer && i < actor->count; i++)
        if (!(methods[i] = add_method(module, actor, &actor->methods[i]))) {
            free(offer);
            return -1;
        }
    if (offer && registry_add_actor(module->registry, offer))
        return 0;
    free(offer);
    return refuse(module, actor->type, "have no memory");
}

/* --- Turns --- */

/* NULL: it is none, and has failed by that. */
static struct attempt_turn *turn_of(struct ergon_task *task)
{
    struct task *t = task_of(task);
    struct attempt_turn *turn = task_is(t, TASK_ATTEMPT) ? t->attempt->turn : NULL;
    if (turn_is_of_actor(turn))
        return turn;
    task_fail(t, ERGON_E_BAD_CHANGES, NULL, span_text("this is no turn of an actor"));
    return NULL;
}

/* Of any attempt.  NULL: it is none, or there is no memory, and it has failed by that. */
static struct attempt_turn *sender_of(struct ergon_task *task)
{
    struct task *t = task_of(task);
    struct attempt_turn *turn = NULL;
    if (!task_is(t, TASK_ATTEMPT) || t->attempt->id == 0)
        task_fail(t, ERGON_E_BAD_CHANGES, NULL,
                  span_text("a plain call submits nothing with its end: use task.call or "
                            "task.submit for it"));
    else if (!(turn = attempt_sends(t->attempt)))
        task_fail(t, ERGON_E_MEMORY, NULL, span_text(error_meaning(ERGON_E_MEMORY)));
    return turn;
}

static struct ergon_bytes bytes_of(struct span s)
{
    return (struct ergon_bytes){.at = s.at, .len = s.len};
}

static bool host_turn(struct ergon_task *task, struct ergon_turn *out)
{
    const struct task *t = task_of(task);
    const struct attempt_turn *turn = task_is(t, TASK_ATTEMPT) ? t->attempt->turn : NULL;
    *out = (struct ergon_turn){0};
    if (!turn_is_of_actor(turn))
        return false;
    out->actor = bytes_of(turn->actor);
    out->state = bytes_of(turn->state);
    out->version = turn->version;
    out->schema = turn->schema;
    return true;
}

/* `wrong`: as the functions of turn.h return it. */
static bool changed(struct ergon_task *task, const char *wrong)
{
    if (wrong)
        task_fail(task_of(task), ERGON_E_BAD_CHANGES, NULL, span_text(wrong));
    return !wrong;
}

static bool is_one_value(struct span raw)
{
    struct reader r = reader_of(raw);
    struct span value;
    return raw.len > 0 && read_any(&r, &value) && value.len == raw.len;
}

static bool host_state_set(struct ergon_task *task, const void *value, size_t len)
{
    struct attempt_turn *turn = turn_of(task);
    struct span raw = span_of(value, len);
    if (!turn)
        return false;
    return changed(task, is_one_value(raw) ? turn_set_state(turn, raw, turn->writes)
                                           : "the state is no MessagePack value");
}

static bool host_state_int(struct ergon_task *task, int64_t v)
{
    uint8_t raw[ENC_INT_MAX];
    return host_state_set(task, raw, (size_t)(enc_int(raw, v) - raw));
}

static bool host_state_bin(struct ergon_task *task, const void *bytes, size_t len)
{
    struct attempt_turn *turn = turn_of(task);
    if (!turn)
        return false;
    if (len > turn->state_max)
        return changed(task, TURN_STATE_TOO_LARGE);
    uint8_t *raw = malloc(ENC_HEAD_MAX + len);
    if (!raw)
        return changed(task, "there is no memory for the state");
    struct span value = span_of(raw, (size_t)(enc_bin(raw, span_of(bytes, len)) - raw));
    bool good = changed(task, turn_set_state(turn, value, turn->writes));
    free(raw);
    return good;
}

static bool host_state_drop(struct ergon_task *task)
{
    struct attempt_turn *turn = turn_of(task);
    return turn && changed(task, turn_drop_state(turn));
}

static bool host_sleep(struct ergon_task *task, uint64_t ns)
{
    struct attempt_turn *turn = turn_of(task);
    return turn && changed(task, turn_sleep(turn, ns));
}

static bool host_wake(struct ergon_task *task)
{
    struct attempt_turn *turn = turn_of(task);
    return turn && changed(task, turn_wake(turn));
}

static bool host_stop(struct ergon_task *task, const char *why)
{
    struct attempt_turn *turn = turn_of(task);
    return turn && changed(task, turn_stop(turn, span_text(why)));
}

static bool is_options(struct span raw)
{
    struct reader r = reader_of(raw);
    uint32_t pairs;
    return raw.len == 0 || (is_one_value(raw) && read_map(&r, &pairs));
}

static bool host_send(struct ergon_task *task, const struct turn_message_parts *parts)
{
    struct attempt_turn *turn = sender_of(task);
    if (!turn)
        return false;
    if (parts->params.len > 0 && !is_one_value(parts->params))
        return changed(task, "the parameters of a message are no MessagePack value");
    if (!is_options(parts->options))
        return changed(task, "the options of a message are no MessagePack map");
    return changed(task, turn_send(turn, parts));
}

static struct span span_from(struct ergon_bytes b)
{
    return span_of(b.at, b.len);
}

static bool host_tell(struct ergon_task *task, const char *to, const char *method,
                      struct ergon_bytes params, struct ergon_bytes options)
{
    struct turn_message_parts parts = {.to = span_text(to),
                                       .method = span_text(method),
                                       .params = span_from(params),
                                       .options = span_from(options)};
    if (parts.to.len > 0)
        return host_send(task, &parts);
    return sender_of(task) && changed(task, "a message needs the name of an actor");
}

static bool host_submit(struct ergon_task *task, const char *method, struct ergon_bytes params,
                        struct ergon_bytes options)
{
    return host_send(task, &(struct turn_message_parts){.method = span_text(method),
                                                        .params = span_from(params),
                                                        .options = span_from(options)});
}

static bool host_remind(struct ergon_task *task, const char *name, const char *method,
                        struct ergon_bytes params, uint64_t in, uint64_t every)
{
    struct turn_message_parts parts = {.reminder = span_text(name),
                                       .method = span_text(method),
                                       .params = span_from(params),
                                       .in = in,
                                       .every = every};
    struct attempt_turn *turn = turn_of(task);
    if (!turn)
        return false;
    if (parts.method.len == 0)
        return changed(task, "a reminder needs the name of a method");
    if (parts.params.len > 0 && !is_one_value(parts.params))
        return changed(task, "the parameters of a reminder are no MessagePack value");
    if (in >= AO_NEVER || every >= AO_NEVER || (every > 0 && every < AO_MS(1)))
        return changed(task, "a reminder comes after a time, and again after 1 ms or more");
    return changed(task, turn_remind(turn, &parts));
}

static bool host_forget(struct ergon_task *task, const char *name)
{
    struct turn_message_parts parts = {.reminder = span_text(name)};
    struct attempt_turn *turn = turn_of(task);
    return turn && changed(task, turn_remind(turn, &parts));
}

void host_fill_actors(struct ergon_host *to)
{
    to->register_actor = host_register_actor;
    to->turn = host_turn;
    to->state_set = host_state_set;
    to->state_int = host_state_int;
    to->state_bin = host_state_bin;
    to->state_drop = host_state_drop;
    to->sleep = host_sleep;
    to->wake = host_wake;
    to->stop = host_stop;
    to->tell = host_tell;
    to->submit = host_submit;
    to->remind = host_remind;
    to->forget = host_forget;
}
