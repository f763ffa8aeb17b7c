#include "server/tasks/turn.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "proto/options.h"
#include "server/tasks/actor_offer.h"

struct attempt_turn *turn_new(struct span actor, struct span state, struct blob *shared)
{
    /* Not by calloc(), which passes by the cache that glibc has for each thread. */
    struct attempt_turn *turn = malloc(sizeof *turn + actor.len + (shared ? 0 : state.len));
    if (!turn)
        return NULL;
    memset(turn, 0, offsetof(struct attempt_turn, changes.stop));
    turn->changes.stop[0] = '\0';
    uint8_t *behind = (uint8_t *)(turn + 1);
    turn->actor = span_put(actor, &behind);
    turn->state = shared ? state : span_put(state, &behind);
    turn->shared = shared ? blob_ref(shared) : NULL;
    turn->state_max = ACTOR_STATE_MAX;
    return turn;
}

void turn_drop_changes(struct attempt_turn *turn)
{
    blob_unref(turn->changes.state);
    turn_messages_drop(&turn->changes.messages);
    turn->changes = (struct turn_changes){0};
}

void turn_free(struct attempt_turn *turn)
{
    if (!turn)
        return;
    blob_unref(turn->changes.state);
    turn_messages_drop(&turn->changes.messages);
    blob_unref(turn->shared);
    free(turn);
}

/* --- One by one --- */

static const char *refusal_of(const struct attempt_turn *turn)
{
    return turn->reads ? "the method is one of `reads`, and changes nothing" : NULL;
}

const char *turn_set_state(struct attempt_turn *turn, struct span raw, uint32_t schema)
{
    const char *refused = refusal_of(turn);
    if (refused)
        return refused;
    if (raw.len > turn->state_max)
        return TURN_STATE_TOO_LARGE;
    struct blob *state = blob_copy(raw);
    if (!state)
        return "there is no memory for the state";
    blob_unref(turn->changes.state);
    turn->changes.state = state;
    turn->changes.schema = schema;
    turn->changes.drops = false;
    return NULL;
}

const char *turn_drop_state(struct attempt_turn *turn)
{
    const char *refused = refusal_of(turn);
    if (refused)
        return refused;
    blob_unref(turn->changes.state);
    turn->changes.state = NULL;
    turn->changes.drops = true;
    return NULL;
}

const char *turn_sleep(struct attempt_turn *turn, ao_time ns)
{
    const char *refused = refusal_of(turn);
    if (refused)
        return refused;
    turn->changes.sleep = ns == AO_NEVER ? TURN_SLEEP_UNTIL_WOKEN : TURN_SLEEP_TIME;
    turn->changes.sleep_for = ns;
    turn->changes.wakes = false;
    return NULL;
}

const char *turn_wake(struct attempt_turn *turn)
{
    const char *refused = refusal_of(turn);
    if (refused)
        return refused;
    turn->changes.wakes = true;
    turn->changes.sleep = TURN_SLEEP_UNSAID;
    return NULL;
}

const char *turn_stop(struct attempt_turn *turn, struct span why)
{
    const char *refused = refusal_of(turn);
    if (refused)
        return refused;
    if (why.len == 0)
        return "`stop` is empty: it has to say why the actor stops";
    turn->changes.stops = true;
    turn->changes.stop[utf8_text(turn->changes.stop, sizeof turn->changes.stop - 1, why)] = '\0';
    return NULL;
}

const char *turn_send(struct attempt_turn *turn, const struct turn_message_parts *parts)
{
    const char *refused = refusal_of(turn);
    return refused ? refused : turn_messages_add(&turn->changes.messages, parts);
}

const char *turn_remind(struct attempt_turn *turn, struct turn_message_parts *parts)
{
    parts->type = actor_type_of_name(turn->actor);
    return turn_send(turn, parts);
}

/* --- As a map --- */

struct changes_map {
    struct span state, stop;
    struct turn_messages_raw send;
    uint64_t schema;
    ao_time sleep;
    bool says_state, says_schema, says_sleep, says_stop, drop, wake;
};

static bool read_state(struct reader *r, void *out)
{
    struct changes_map *map = out;
    map->says_state = true;
    return read_any(r, &map->state);
}

static bool read_schema(struct reader *r, void *out)
{
    struct changes_map *map = out;
    map->says_schema = true;
    return read_uint(r, &map->schema) && map->schema <= UINT32_MAX;
}

/* True: until it is woken. */
static bool read_sleep(struct reader *r, void *out)
{
    struct changes_map *map = out;
    bool until_woken;
    map->says_sleep = true;
    if (!read_bool(r, &until_woken))
        return read_duration(r, &map->sleep) && map->sleep < AO_NEVER;
    map->sleep = AO_NEVER;
    return until_woken;
}

static bool read_true(struct reader *r, void *out)
{
    bool *flag = out;
    return read_bool(r, flag) && *flag;
}

static bool read_stop(struct reader *r, void *out)
{
    struct changes_map *map = out;
    map->says_stop = true;
    return read_text(r, &map->stop);
}

static bool read_raw(struct reader *r, void *out)
{
    return read_any(r, out);
}

static bool refuse(struct attempt_turn *turn, const char *why, char *error, size_t size)
{
    snprintf(error, size, "%s", why);
    turn_drop_changes(turn);
    return false;
}

static const char *take(struct attempt_turn *turn, const struct changes_map *map)
{
    const char *wrong = NULL;
    if (map->says_state && map->drop)
        return "`state` and `drop` exclude each other";
    if (map->says_sleep && map->wake)
        return "`sleep` and `wake` exclude each other";
    if (map->says_schema && !map->says_state)
        return "`schema` is that of a new state, and there is no `state`";
    if (map->says_state)
        wrong = turn_set_state(turn, map->state, (uint32_t)map->schema);
    if (!wrong && map->drop)
        wrong = turn_drop_state(turn);
    if (!wrong && map->says_sleep)
        wrong = turn_sleep(turn, map->sleep);
    if (!wrong && map->wake)
        wrong = turn_wake(turn);
    return !wrong && map->says_stop ? turn_stop(turn, map->stop) : wrong;
}

bool turn_read_changes(struct attempt_turn *turn, struct span raw, char *error, size_t size)
{
    struct changes_map map = {.schema = turn->writes};
    struct reader r = reader_of(raw);
    const struct option options[] = {
        {"state", read_state, &map, "a value"},
        {"schema", read_schema, &map, "a number from 0 to 4294967295"},
        {"drop", read_true, &map.drop, "true"},
        {"sleep", read_sleep, &map, "a duration, or true: until it is woken"},
        {"wake", read_true, &map.wake, "true"},
        {"stop", read_stop, &map, "a text: why"},
        {"tell", read_raw, &map.send.tell, "an array"},
        {"task", read_raw, &map.send.task, "an array"},
        {"remind", read_raw, &map.send.remind, "an array"},
        {"forget", read_raw, &map.send.forget, "an array"},
    };
    turn_drop_changes(turn);
    if (!options_take(&r, options, sizeof options / sizeof *options, error, size))
        return false;
    if (!reader_at_end(&r))
        return refuse(turn, "something follows the changes", error, size);
    const char *wrong = take(turn, &map);
    if (!wrong &&
        map.send.tell.len + map.send.task.len + map.send.remind.len + map.send.forget.len > 0)
        wrong = refusal_of(turn);
    if (wrong)
        return refuse(turn, wrong, error, size);
    bool sends = turn_messages_read(&turn->changes.messages, &map.send,
                                    actor_type_of_name(turn->actor), error, size);
    if (!sends)
        turn_drop_changes(turn);
    return sends;
}

bool turn_read_sends(struct attempt_turn *turn, struct span raw, char *error, size_t size)
{
    struct turn_messages_raw send = {0};
    struct reader r = reader_of(raw);
    const struct option options[] = {{"task", read_raw, &send.task, "an array"},
                                     {"tell", read_raw, &send.tell, "an array"}};
    return options_take(&r, options, sizeof options / sizeof *options, error, size) &&
           turn_messages_read(&turn->changes.messages, &send, (struct span){0}, error, size);
}
